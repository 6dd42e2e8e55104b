/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people, and UTF-8 that is harmless to a terminal. Independent of the locale. */
#ifndef VIEWER_TEXT_H
#define VIEWER_TEXT_H

#include "hal/base/moment.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A short text by value, for use as an argument: printf("%s", view_bytes(bytes).text).
 * hal/base/moment.h prints times. */
struct view_word {
    char text[48];
};

struct view_word view_bytes(uint64_t bytes);                    /* "2.1 MiB" */
struct view_word view_count(uint64_t count);                    /* "39 804" */
struct view_word view_things(uint64_t count, const char *noun); /* "1 gap", "2 dispatches" */
struct view_word view_share(int64_t part, int64_t whole);   /* "61.2 %"; "-" if the whole is 0 */
struct view_word view_ratio(uint64_t part, uint64_t whole); /* "2.5"; "-" if the whole is 0 */

struct view_word view_right(const char *text, int columns); /* right-aligned */

/* Exactly `columns` wide: the text's begin, then blanks. `bytes`: at least 4 per column. */
void view_pad(const char *text, int columns, char *out, size_t bytes);

/* Decodes and skips one character of *text, not at its end. Invalid UTF-8 gives U+FFFD. */
uint32_t view_utf8_next(const char **text);

/* Encodes the character and returns its size, at most 4; not terminated. */
size_t view_utf8_write(uint32_t character, char out[4]);

/* Terminal columns of the character: 0, 1 or 2; -1 for control characters. */
int view_width(uint32_t character);

/* Bytes of the text that fit into `columns`, to a blank if any, not between number and unit. */
size_t view_fitting(const char *text, int columns);

/* The nearest ASCII character. */
char view_ascii(uint32_t character);

/* Appends a text or a path, quoted as one shell word; `bytes` is the total capacity. */
void view_add_word(char *out, size_t bytes, const char *text);
void view_add_file(char *out, size_t bytes, const char *path);

#endif
