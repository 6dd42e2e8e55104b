/* SPDX-License-Identifier: Apache-2.0 */
/* Text for machines and terminals. */
#include "format/base/json.h"

#include "hal/base/mem.h"
#include "hal/base/print.h"
#include "hal/base/text.h"

#include <math.h>
#include <stdio.h>

static bool reserve(struct trace_text *text, size_t bytes)
{
    if (text->is_failed || bytes > SIZE_MAX - text->bytes ||
        !HAL_GROW(text->data, &text->capacity, text->bytes + bytes)) {
        text->is_failed = true;
        return false;
    }
    return true;
}

void trace_text_finish(struct trace_text *text)
{
    free(text->data);
    *text = (struct trace_text){0};
}

void trace_text_append(struct trace_text *text, const char *data, size_t bytes)
{
    if (bytes > text->capacity - text->bytes && !reserve(text, bytes))
        return;
    if (!bytes || text->is_failed)
        return;
    memcpy(text->data + text->bytes, data, bytes);
    text->bytes += bytes;
}

static void append(void *text, const char *data, size_t bytes)
{
    trace_text_append(text, data, bytes);
}

void trace_text_printf(struct trace_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hal_print_va(append, text, format, arguments);
    va_end(arguments);
}

char *trace_text_room(struct trace_text *text, size_t bytes)
{
    if (text->is_failed || (bytes > text->capacity - text->bytes && !reserve(text, bytes)))
        return NULL;
    return text->data + text->bytes;
}

static size_t count_digits(uint64_t value)
{
    size_t count = 1;
    for (; value >= 10000; value /= 10000)
        count += 4;
    return count + (value >= 10) + (value >= 100) + (value >= 1000);
}

char *trace_digits(char *to, uint64_t value)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233"
        "34353637383940414243444546474849505152535455565758596061626364656667"
        "6869707172737475767778798081828384858687888990919293949596979899";
    char *const end = to + count_digits(value);
    char *at = end;
    for (; value >= 100; value /= 100)
        memcpy(at -= 2, pairs + 2 * (value % 100), 2);
    if (value >= 10)
        memcpy(at - 2, pairs + 2 * value, 2);
    else
        at[-1] = (char)('0' + value);
    return end;
}

char *trace_put_letters(char *to, const char *letters)
{
    const size_t count = strlen(letters);
    memcpy(to, letters, count + 1);
    return to + count;
}

char *trace_put_digits(char *to, uint64_t number)
{
    char *end = trace_digits(to, number);
    *end = '\0';
    return end;
}

void trace_text_u64(struct trace_text *text, uint64_t value)
{
    char digits[20];
    trace_text_append(text, digits, (size_t)(trace_digits(digits, value) - digits));
}

void trace_text_i64(struct trace_text *text, int64_t value)
{
    if (value < 0)
        trace_text_append(text, "-", 1);
    trace_text_u64(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* ---- UTF-8 -------------------------------------------------------------------------------- */

size_t trace_utf8_length(const char *data, size_t bytes)
{
    return hal_utf8_length(data, bytes);
}

void trace_utf8_copy(char *out, size_t capacity, const char *data, size_t bytes)
{
    size_t to = 0;
    for (size_t at = 0; at < bytes && data[at];) {
        const size_t length = trace_utf8_length(data + at, bytes - at);
        if (to + (length ? length : 1) >= capacity)
            break;
        if (length)
            memcpy(out + to, data + at, length);
        else
            out[to] = '?';
        to += length ? length : 1;
        at += length ? length : 1;
    }
    out[to] = '\0';
}

void trace_text_label(struct trace_text *text, const char *data, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const size_t length = trace_utf8_length(data + at, bytes - at);
        if (!length || hal_utf8_is_control(data + at, length))
            trace_text_append(text, "?", 1);
        else
            trace_text_append(text, data + at, length);
        at += length ? length : 1;
    }
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void separate(struct trace_text *text)
{
    if (text->needs_comma)
        trace_text_append(text, ",", 1);
    text->needs_comma = true;
}

void trace_json_open(struct trace_text *text, char bracket)
{
    separate(text);
    trace_text_append(text, &bracket, 1);
    text->needs_comma = false;
}

void trace_json_close(struct trace_text *text, char bracket)
{
    trace_text_append(text, &bracket, 1);
    text->needs_comma = true;
}

/* For up to three bytes of UTF-8. */
static unsigned control_code(const char *data, size_t length)
{
    const uint8_t *s = (const uint8_t *)data;
    return length == 1   ? s[0]
           : length == 2 ? (s[0] & 31u) << 6 | (s[1] & 63u)
                         : (s[0] & 15u) << 12 | (s[1] & 63u) << 6 | (s[2] & 63u);
}

static void quote(struct trace_text *text, const char *data, size_t bytes)
{
    static const char hex[] = "0123456789abcdef";
    trace_text_append(text, "\"", 1);
    size_t plain = 0, at = 0;
    while (at < bytes) {
        const uint8_t c = (uint8_t)data[at];
        const size_t length = trace_utf8_length(data + at, bytes - at);
        if (length && c != '"' && c != '\\' && !hal_utf8_is_control(data + at, length)) {
            at += length;
            continue;
        }
        trace_text_append(text, data + plain, at - plain);
        if (!length) {
            trace_text_append(text, "\xEF\xBF\xBD", 3);
        } else if (c == '"' || c == '\\') {
            const char escaped[2] = {'\\', (char)c};
            trace_text_append(text, escaped, 2);
        } else {
            const unsigned code = control_code(data + at, length);
            const char escaped[6] = {
                '\\',          'u', hex[code >> 12 & 15], hex[code >> 8 & 15], hex[code >> 4 & 15],
                hex[code & 15]};
            trace_text_append(text, escaped, 6);
        }
        at += length ? length : 1;
        plain = at;
    }
    trace_text_append(text, data + plain, at - plain);
    trace_text_append(text, "\"", 1);
}

void trace_json_key(struct trace_text *text, const char *key)
{
    const size_t length = strlen(key);
    char *to = trace_text_room(text, length + 4);
    if (!to)
        return;
    if (text->needs_comma)
        *to++ = ',';
    *to++ = '"';
    for (size_t i = 0; i < length; i++)
        *to++ = key[i];
    *to++ = '"';
    *to++ = ':';
    text->bytes = (size_t)(to - text->data);
    text->needs_comma = false;
}

void trace_json_string(struct trace_text *text, const char *data, size_t bytes)
{
    separate(text);
    quote(text, data, bytes);
}

void trace_json_text(struct trace_text *text, const char *string)
{
    trace_json_string(text, string, strlen(string));
}

void trace_json_u64(struct trace_text *text, uint64_t value)
{
    separate(text);
    trace_text_u64(text, value);
}

void trace_json_i64(struct trace_text *text, int64_t value)
{
    separate(text);
    trace_text_i64(text, value);
}

void trace_json_double(struct trace_text *text, double value)
{
    char digits[40];
    separate(text);
    if (!isfinite(value)) {
        trace_text_append(text, "null", 4);
        return;
    }
    for (int precision = 6; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    /* The locale's decimal separator, whatever it is, is the only foreign character. */
    size_t to = 0;
    for (const char *c = digits; *c; c++) {
        const bool is_own = (*c >= '0' && *c <= '9') || *c == '-' || *c == '+' || *c == 'e';
        if (is_own)
            digits[to++] = *c;
        else if (to && digits[to - 1] != '.')
            digits[to++] = '.';
    }
    trace_text_append(text, digits, to);
}

void trace_json_bool(struct trace_text *text, bool value)
{
    separate(text);
    trace_text_append(text, value ? "true" : "false", value ? 4 : 5);
}

void trace_json_hex(struct trace_text *text, const void *data, size_t bytes)
{
    static const char hex[] = "0123456789abcdef";
    separate(text);
    trace_text_append(text, "\"", 1);
    for (size_t i = 0; i < bytes; i++) {
        const uint8_t byte = ((const uint8_t *)data)[i];
        const char pair[2] = {hex[byte >> 4], hex[byte & 15]};
        trace_text_append(text, pair, 2);
    }
    trace_text_append(text, "\"", 1);
}

/* ---- Members ------------------------------------------------------------------------------ */

void trace_json_member_open(struct trace_text *text, const char *key, char bracket)
{
    trace_json_key(text, key);
    trace_json_open(text, bracket);
}

void trace_json_member_text(struct trace_text *text, const char *key, const char *string)
{
    trace_json_key(text, key);
    trace_json_text(text, string ? string : "");
}

void trace_json_member_u64(struct trace_text *text, const char *key, uint64_t value)
{
    trace_json_key(text, key);
    trace_json_u64(text, value);
}

void trace_json_member_i64(struct trace_text *text, const char *key, int64_t value)
{
    trace_json_key(text, key);
    trace_json_i64(text, value);
}

void trace_json_member_double(struct trace_text *text, const char *key, double value)
{
    trace_json_key(text, key);
    trace_json_double(text, value);
}

void trace_json_member_bool(struct trace_text *text, const char *key, bool value)
{
    trace_json_key(text, key);
    trace_json_bool(text, value);
}

void trace_json_member_null(struct trace_text *text, const char *key)
{
    trace_json_key(text, key);
    separate(text);
    trace_text_append(text, "null", 4);
}

void trace_json_member_hex(struct trace_text *text, const char *key, const void *data, size_t bytes)
{
    trace_json_key(text, key);
    trace_json_hex(text, data, bytes);
}
