/* SPDX-License-Identifier: Apache-2.0 */
/* Text of somebody else's making - labels, names of kernels, messages of compilers - as it may be
 * shown: bytes that are no UTF-8, control characters and marks that reverse the order of what
 * follows become '?', so that no terminal does what a file says. */
#ifndef HAL_BASE_TEXT_H
#define HAL_BASE_TEXT_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character that `data` begins with; 0: it is no UTF-8, or `bytes` is 0. */
HAL_API size_t hal_utf8_length(const char *data, size_t bytes);

/* Whether a character of that length is none to print. */
HAL_API bool hal_utf8_is_control(const char *data, size_t length);

/* In place. Ends of lines stay when they are told to, and so do tabs. */
HAL_API void hal_text_clean(char *text, size_t bytes, bool keep_lines);

enum { HAL_SHOWN_BYTES = 6144 }; /* a message, and its lines indented */
struct hal_shown {
    char text[HAL_SHOWN_BYTES];
};

/* A clean copy of one line, for as long as the expression that it is part of:
 *     printf("%s\n", hal_shown(label).text);
 * What is longer ends in "..."; NULL is "". */
HAL_API struct hal_shown hal_shown(const char *foreign);

/* The same for a message of several lines: those behind the first are indented, and pass for
 * nobody's. */
HAL_API struct hal_shown hal_shown_lines(const char *foreign);

#endif
