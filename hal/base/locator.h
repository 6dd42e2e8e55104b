/* SPDX-License-Identifier: Apache-2.0 */
/* Places in a run as every program takes and names them (docs/locators.md): "#s12" is submission
 * 12, "#s12.d40" its dispatch 40, both counted from 0. Whoever types may leave "#s" out. */
#ifndef HAL_BASE_LOCATOR_H
#define HAL_BASE_LOCATOR_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct hal_locator {
    uint64_t submission;
    bool has_dispatch; /* else all of the submission */
    uint32_t dispatch;
};

/* Both ends belong to it. */
struct hal_locator_range {
    bool has_first, has_last; /* false: from the beginning, to the end; never both */
    struct hal_locator first, last;
};

enum { HAL_LOCATOR_BYTES = 48 };

/* All of the text. HAL_INVALID: the message has the text and says what a place looks like. */
HAL_API enum hal_status hal_locator_parse(const char *text,
                                          struct hal_locator *out_locator) HAL_CHECKED;

/* "#s3", "#s3..#s7.d4", "#s3..", "..#s7", "3-7". The text ends there, or, when `out_rest` is not
 * NULL, goes on with a comma, to which that points then, else to the end. HAL_INVALID: as above. */
HAL_API enum hal_status hal_locator_range_parse(const char *text,
                                                struct hal_locator_range *out_range,
                                                const char **out_rest) HAL_CHECKED;

/* The submissions of a range; a dispatch stands for the submission that it is in. */
HAL_API void hal_locator_submissions(const struct hal_locator_range *range, uint64_t *out_first,
                                     uint64_t *out_last);

/* In its one form. Returns `out`. */
HAL_API const char *hal_locator_print(const struct hal_locator *locator,
                                      char out[HAL_LOCATOR_BYTES]);

#endif
