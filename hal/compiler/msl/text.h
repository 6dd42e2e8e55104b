/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text: generated source code, program output. Private to hal/compiler/msl. */
#ifndef HAL_MSL_TEXT_H
#define HAL_MSL_TEXT_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* All zero is the empty text. The first failed allocation makes it `failed` permanently: check once
 * at the end. */
struct msl_text {
    char *bytes; /* terminated unless NULL */
    size_t length, capacity;
    bool failed;
};

void msl_text_append(struct msl_text *text, const char *bytes, size_t length);
void msl_text_append_string(struct msl_text *text, const char *string);
void msl_text_print(struct msl_text *text, const char *format, ...) HAL_PRINTF(2, 3);
void msl_text_finish(struct msl_text *text);

/* HAL_NO_MEMORY if an append failed. */
enum hal_status msl_text_check(const struct msl_text *text) HAL_CHECKED;

#endif
