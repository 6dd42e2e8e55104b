/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as people read them, and UTF-8 that cannot hurt a terminal. Nothing here depends on the
 * locale. */
#ifndef VIEWER_TEXT_H
#define VIEWER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A short text by value, for use as an argument: printf("%s", view_time(ns).text). */
struct view_word {
    char text[48];
};

struct view_word view_time(int64_t ns);      /* "41.2 µs": three digits that matter */
struct view_word view_moment(int64_t ns);    /* "1.204 567 891 s": all digits */
struct view_word view_bytes(uint64_t bytes); /* "2.1 MiB" */
struct view_word view_count(uint64_t count); /* "39 804" */
struct view_word view_things(uint64_t count, const char *noun); /* "1 gap", "2 dispatches" */
struct view_word view_share(int64_t part, int64_t whole);       /* "61.2 %"; "-" of nothing */
struct view_word view_ratio(uint64_t part, uint64_t whole);     /* "2.5"; "-" of nothing */

struct view_word view_right(const char *text, int columns); /* blanks before it */

/* Exactly so many columns: the text's begin, then blanks. `bytes`: at least 4 per column. */
void view_pad(const char *text, int columns, char *out, size_t bytes);

/* Takes one character off *text, which must not be at its end. Broken UTF-8 gives U+FFFD. */
uint32_t view_utf8_next(const char **text);

/* Writes the character and returns its bytes, at most 4; no end mark. */
size_t view_utf8_write(uint32_t character, char out[4]);

/* Columns that a terminal gives the character: 0, 1 or 2; -1 for control characters. */
int view_width(uint32_t character);

/* Bytes of the text that fit into so many columns, broken at a blank when there is one, and not
 * between a number and its unit. */
size_t view_fitting(const char *text, int columns);

/* The nearest character that any terminal has. */
char view_ascii(uint32_t character);

/* Adds a text, or the path of a file, as one word for a shell; `bytes` for all of it. */
void view_add_word(char *out, size_t bytes, const char *text);
void view_add_file(char *out, size_t bytes, const char *path);

#endif
