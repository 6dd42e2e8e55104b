/* SPDX-License-Identifier: Apache-2.0 */
/* Text for machines and terminals: JSON that every reader accepts, for any strings and in any
 * locale, and labels without control characters.
 *
 *     struct trace_text text = {0};
 *     trace_json_open(&text, '{');
 *     trace_json_key(&text, "events");
 *     trace_json_u64(&text, 42);
 *     trace_json_close(&text, '}');
 *
 * Commas are inserted automatically. A text remembers a failed allocation: check at the end. */
#ifndef FORMAT_JSON_H
#define FORMAT_JSON_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A growing text; all zero is empty. */
struct trace_text {
    char *data; /* not terminated; NULL while empty */
    size_t bytes, capacity;
    bool needs_comma;
    bool is_failed; /* out of memory */
};

void trace_text_finish(struct trace_text *text);
void trace_text_append(struct trace_text *text, const char *data, size_t bytes);
/* Like hal_print: text inserted by %s stays on one line, without control characters. */
void trace_text_printf(struct trace_text *text, const char *format, ...) HAL_PRINTF(2, 3);
void trace_text_u64(struct trace_text *text, uint64_t value);
/* Writes the decimal digits, at most 20, and returns their end. */
char *trace_digits(char *to, uint64_t value);
/* Write letters or digits and an end after them, and return where the end is. */
char *trace_put_letters(char *to, const char *letters);
char *trace_put_digits(char *to, uint64_t number);
/* Where `bytes` more fit, to be added to text->bytes; NULL: memory is out. */
char *trace_text_room(struct trace_text *text, size_t bytes);
void trace_text_i64(struct trace_text *text, int64_t value);

/* For display on a terminal: valid UTF-8, with control characters shown as '?'. */
void trace_text_label(struct trace_text *text, const char *data, size_t bytes);

/* `bracket` is one of "{[" and "}]". */
void trace_json_open(struct trace_text *text, char bracket);
void trace_json_close(struct trace_text *text, char bracket);
/* `key` is our own: ASCII that needs no escapes. */
void trace_json_key(struct trace_text *text, const char *key);

/* Invalid UTF-8 becomes U+FFFD. */
void trace_json_string(struct trace_text *text, const char *data, size_t bytes);
void trace_json_text(struct trace_text *text, const char *string);
void trace_json_u64(struct trace_text *text, uint64_t value);
void trace_json_i64(struct trace_text *text, int64_t value);
/* The shortest digits that parse back to the same value; null if not finite. */
void trace_json_double(struct trace_text *text, double value);
void trace_json_bool(struct trace_text *text, bool value);
void trace_json_hex(struct trace_text *text, const void *data, size_t bytes);

/* A member of an object: key and value. NULL means the empty text. */
void trace_json_member_open(struct trace_text *text, const char *key, char bracket);
void trace_json_member_text(struct trace_text *text, const char *key, const char *string);
void trace_json_member_u64(struct trace_text *text, const char *key, uint64_t value);
void trace_json_member_i64(struct trace_text *text, const char *key, int64_t value);
void trace_json_member_double(struct trace_text *text, const char *key, double value);
void trace_json_member_bool(struct trace_text *text, const char *key, bool value);
void trace_json_member_null(struct trace_text *text, const char *key);
void trace_json_member_hex(struct trace_text *text, const char *key, const void *data,
                           size_t bytes);

/* Length of the valid UTF-8 character at `data`; 0: none. */
size_t trace_utf8_length(const char *data, size_t bytes);

/* Copies as many whole characters as fit, with invalid bytes as '?', and terminates the text. */
void trace_utf8_copy(char *out, size_t capacity, const char *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
