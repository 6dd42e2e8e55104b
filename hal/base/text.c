/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

size_t hal_utf8_length(const char *data, size_t bytes)
{
    const uint8_t *s = (const uint8_t *)data;
    if (bytes == 0)
        return 0;
    if (s[0] < 0x80)
        return 1;
    const size_t length = s[0] >= 0xF0 ? 4 : s[0] >= 0xE0 ? 3 : 2;
    if (s[0] < 0xC2 || s[0] > 0xF4 || bytes < length)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    }
    /* Overlong forms, surrogates, and what is past the last character. */
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] > 0x9F) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] > 0x8F))
        return 0;
    return length;
}

/* C0, DEL, and C1, which UTF-8 encodes as C2 80 to C2 9F; U+2028 and U+2029, which end lines; and
 * U+202A to U+202E and U+2066 to U+2069, which reverse the direction of the following text. */
bool hal_utf8_is_control(const char *data, size_t length)
{
    const uint8_t *s = (const uint8_t *)data;
    if (length == 1)
        return s[0] < 0x20 || s[0] == 0x7F;
    if (length == 2)
        return s[0] == 0xC2 && s[1] < 0xA0;
    return length == 3 && s[0] == 0xE2 &&
           ((s[1] == 0x80 && s[2] >= 0xA8 && s[2] <= 0xAE) ||
            (s[1] == 0x81 && s[2] >= 0xA6 && s[2] <= 0xA9));
}

static bool is_layout(char c)
{
    return c == '\n' || c == '\t';
}

void hal_text_clean(char *text, size_t bytes, bool keep_lines)
{
    for (size_t at = 0; at < bytes;) {
        if (text[at] >= 0x20 && text[at] < 0x7F) { /* nearly all of it */
            at++;
            continue;
        }
        const size_t length = hal_utf8_length(text + at, bytes - at), step = length ? length : 1;
        if (!length ||
            (hal_utf8_is_control(text + at, length) && !(keep_lines && is_layout(text[at]))))
            memset(text + at, '?', step);
        at += step;
    }
}

/* ---- Copies -------------------------------------------------------------------------------- */

static void put(struct hal_shown *shown, size_t *used, const char *text, size_t bytes)
{
    memcpy(shown->text + *used, text, bytes);
    *used += bytes;
}

static struct hal_shown copy(const char *foreign, bool lines)
{
    static const char indent[] = "\n    ", cut[] = "...";
    struct hal_shown shown;
    const size_t room = sizeof shown.text - sizeof cut;
    const size_t bytes = foreign ? strlen(foreign) : 0;
    size_t at = 0, used = 0;
    while (at < bytes && used + sizeof indent <= room) {
        const size_t length = hal_utf8_length(foreign + at, bytes - at);
        if (lines && foreign[at] == '\n')
            put(&shown, &used, indent, foreign[at + 1] ? sizeof indent - 1 : 0);
        else if (lines && foreign[at] == '\t')
            put(&shown, &used, " ", 1);
        else if (!length || hal_utf8_is_control(foreign + at, length))
            put(&shown, &used, "?", 1);
        else
            put(&shown, &used, foreign + at, length);
        at += length ? length : 1;
    }
    put(&shown, &used, cut, at < bytes ? sizeof cut - 1 : 0);
    shown.text[used] = '\0';
    return shown;
}

struct hal_shown hal_shown(const char *foreign)
{
    return copy(foreign, false);
}

struct hal_shown hal_shown_lines(const char *foreign)
{
    return copy(foreign, true);
}

/* ---- Counts --------------------------------------------------------------------------------- */

struct hal_counted hal_count(uint64_t count, const char *one, const char *many)
{
    struct hal_counted out;
    snprintf(out.text, sizeof out.text, "%" PRIu64 " %s", count, count == 1 ? one : many);
    return out;
}
