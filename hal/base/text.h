/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted text - labels, kernel names, compiler messages - for display: invalid UTF-8, control
 * characters and bidirectional overrides become '?', so that a file cannot control a terminal. */
#ifndef HAL_BASE_TEXT_H
#define HAL_BASE_TEXT_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number with what it counts, by value: hal_count(1, "byte is", "bytes are").text. */
struct hal_counted {
    char text[96];
};
HAL_API struct hal_counted hal_count(uint64_t count, const char *one, const char *many);

/* Size of the character at `data`; 0: not UTF-8, or `bytes` is 0. */
HAL_API size_t hal_utf8_length(const char *data, size_t bytes);

/* Whether a character of that length must not be printed. */
HAL_API bool hal_utf8_is_control(const char *data, size_t length);

/* Sanitises in place. `keep_lines` keeps line ends and tabs. */
HAL_API void hal_text_clean(char *text, size_t bytes, bool keep_lines);

enum { HAL_SHOWN_BYTES = 6144 }; /* a message, with its lines indented */
struct hal_shown {
    char text[HAL_SHOWN_BYTES];
};

/* A sanitised copy of one line, valid for the enclosing expression:
 *     printf("%s\n", hal_shown(label).text);
 * Longer text ends in "..."; NULL is "". */
HAL_API struct hal_shown hal_shown(const char *foreign);

/* The same for several lines: all but the first are indented, so none looks like a line of the
 * program itself. */
HAL_API struct hal_shown hal_shown_lines(const char *foreign);

#endif
