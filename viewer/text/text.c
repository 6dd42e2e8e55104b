/* SPDX-License-Identifier: Apache-2.0 */
/* Formatting of numbers; decoding, widths and ASCII replacements of characters. */
#include "viewer/text/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Numbers ------------------------------------------------------------------------------- */

/* Three significant digits. */
static struct view_word scaled(double value, const char *unit)
{
    struct view_word word;
    const double size = value < 0 ? -value : value;
    const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    snprintf(word.text, sizeof word.text, "%.*f %s", decimals, value, unit);
    return word;
}

struct view_word view_bytes(uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct view_word word;
    double value = (double)bytes;
    size_t unit = 0;
    if (bytes < 1024) {
        snprintf(word.text, sizeof word.text, "%" PRIu64 " B", bytes);
        return word;
    }
    for (value /= 1024; value >= 999.5 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1024;
    return scaled(value, units[unit]);
}

struct view_word view_count(uint64_t count)
{
    struct view_word word;
    char digits[24];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
    size_t at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            word.text[at++] = ' ';
        word.text[at++] = digits[i];
    }
    word.text[at] = '\0';
    return word;
}

struct view_word view_things(uint64_t count, const char *noun)
{
    struct view_word word;
    const size_t length = strlen(noun);
    const bool hisses = length > 1 && noun[length - 1] == 'h';
    snprintf(word.text, sizeof word.text, "%.26s %.18s%s", view_count(count).text, noun,
             count == 1 ? ""
             : hisses   ? "es"
                        : "s");
    return word;
}

struct view_word view_share(int64_t part, int64_t whole)
{
    struct view_word word = {"-"};
    if (whole > 0)
        snprintf(word.text, sizeof word.text, "%.1f %%", 100.0 * (double)part / (double)whole);
    return word;
}

struct view_word view_ratio(uint64_t part, uint64_t whole)
{
    struct view_word word = {"-"};
    if (whole > 0 && part % whole == 0)
        return view_count(part / whole);
    if (whole > 0)
        snprintf(word.text, sizeof word.text, "%.2f", (double)part / (double)whole);
    return word;
}

struct view_word view_right(const char *text, int columns)
{
    struct view_word word;
    int taken = 0;
    for (const char *at = text; *at;)
        taken += view_width(view_utf8_next(&at)) > 0;
    snprintf(word.text, sizeof word.text, "%*s%s", columns > taken ? columns - taken : 0, "", text);
    return word;
}

/* ---- Characters ---------------------------------------------------------------------------- */

enum { REPLACEMENT = 0xFFFD };

uint32_t view_utf8_next(const char **text)
{
    const unsigned char *bytes = (const unsigned char *)*text;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = 1;
    uint32_t character = bytes[0];
    if (bytes[0] >= 0xF0 && bytes[0] < 0xF5)
        length = 4, character = bytes[0] & 7u;
    else if (bytes[0] >= 0xE0)
        length = 3, character = bytes[0] & 15u;
    else if (bytes[0] >= 0xC0)
        length = 2, character = bytes[0] & 31u;
    bool good = bytes[0] < 0x80 || (bytes[0] >= 0xC2 && bytes[0] < 0xF5);
    for (int i = 1; i < length && good; i++) {
        good = (bytes[i] & 0xC0) == 0x80;
        character = character << 6 | (bytes[i] & 0x3Fu);
    }
    good = good && character >= least[length] && character < 0x110000 &&
           (character < 0xD800 || character > 0xDFFF);
    *text += good ? length : 1;
    return good ? character : REPLACEMENT;
}

size_t view_utf8_write(uint32_t character, char out[4])
{
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    const size_t length = character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = length - 1; i > 0; i--, character >>= 6)
        out[i] = (char)(0x80u | (character & 0x3Fu));
    out[0] = (char)(lead[length] | character);
    return length;
}

struct range {
    uint32_t first, last;
};

static bool within(const struct range *ranges, size_t count, uint32_t character)
{
    for (size_t i = 0; i < count && character >= ranges[i].first; i++) {
        if (character <= ranges[i].last)
            return true;
    }
    return false;
}

void view_pad(const char *text, int columns, char *out, size_t bytes)
{
    size_t length = 0;
    int taken = 0;
    while (*text) {
        const char *from = text;
        const int width = view_width(view_utf8_next(&text));
        const size_t count = (size_t)(text - from);
        taken += width < 0 ? 1 : width;
        if (taken > columns || length + count + (size_t)columns + 1 > bytes) {
            taken -= width < 0 ? 1 : width;
            break;
        }
        memcpy(out + length, from, count);
        length += count;
    }
    snprintf(out + length, bytes - length, "%*s", columns - taken, "");
}

int view_width(uint32_t character)
{
    static const struct range none[] = {
        {0x0300, 0x036F},   {0x0483, 0x0489},  {0x0591, 0x05BD}, {0x0610, 0x061A}, {0x064B, 0x065F},
        {0x06D6, 0x06DC},   {0x0900, 0x0902},  {0x093C, 0x093C}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A},
        {0x1AB0, 0x1AFF},   {0x1DC0, 0x1DFF},  {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},
        {0x20D0, 0x20FF},   {0xFE00, 0xFE0F},  {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB},
        {0x1F3FB, 0x1F3FF}, {0xE0000, 0xE0FFF}};
    static const struct range two[] = {
        {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23F3},
        {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26A1, 0x26A1},
        {0x2705, 0x2705},   {0x274C, 0x274C},   {0x2753, 0x2757},   {0x2795, 0x2797},
        {0x2B1B, 0x2B1C},   {0x2B50, 0x2B55},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},
        {0xA960, 0xA97C},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},
        {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18AFF},
        {0x1AFF0, 0x1B2FB}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF}, {0x1F18E, 0x1F19A},
        {0x1F200, 0x1F320}, {0x1F32D, 0x1F64F}, {0x1F680, 0x1F6FC}, {0x1F7E0, 0x1F7EB},
        {0x1F90C, 0x1FAFF}, {0x20000, 0x3FFFD}};
    if (character < 0x20 || (character >= 0x7F && character < 0xA0))
        return -1;
    if (character < 0x300)
        return character == 0xAD ? 0 : 1;
    if (within(none, sizeof none / sizeof *none, character))
        return 0;
    return within(two, sizeof two / sizeof *two, character) ? 2 : 1;
}

char view_ascii(uint32_t character)
{
    static const struct {
        uint32_t from;
        char to;
    } stand_ins[] = {
        {0x00B0, 'o'},  {0x00B5, 'u'},  {0x00B7, '.'},  {0x00D7, 'x'}, {0x2013, '-'}, {0x2014, '-'},
        {0x2018, '\''}, {0x2019, '\''}, {0x201C, '"'},  {0x201D, '"'}, {0x2026, '~'}, {0x203A, '>'},
        {0x2190, '<'},  {0x2191, '^'},  {0x2192, '>'},  {0x2193, 'v'}, {0x2195, '|'}, {0x2264, '<'},
        {0x2265, '>'},  {0x2500, '-'},  {0x2502, '|'},  {0x250A, ':'}, {0x251C, '+'}, {0x2524, '+'},
        {0x252C, '+'},  {0x2534, '+'},  {0x253C, '+'},  {0x256D, '+'}, {0x256E, '+'}, {0x256F, '+'},
        {0x2570, '+'},  {0x2574, '-'},  {0x2575, '\''}, {0x2581, '.'}, {0x2582, ':'}, {0x2583, '-'},
        {0x2584, '='},  {0x2585, '+'},  {0x2586, '*'},  {0x2587, '%'}, {0x2588, '#'}, {0x258F, '|'},
        {0x2591, '.'},  {0x2592, ':'},  {0x2593, '%'},  {0x25B2, '^'}, {0x25B8, '+'}, {0x25BA, '>'},
        {0x25BC, 'v'},  {0x25BE, '-'},  {0x25C4, '<'},  {0x25C6, 'O'}, {0x25CB, 'o'}, {0x25CF, 'o'},
        {0x2715, 'x'},
    };
    if (character < 0x7F)
        return (char)character;
    for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++) {
        if (stand_ins[i].from == character)
            return stand_ins[i].to;
    }
    return '?';
}

/* Whether what stands behind a blank belongs to the digit before it: "1.250 ms", "39 804". */
static bool belongs_to_number(const char *word)
{
    static const char *const units[] = {"ns",  "us",  "ms",  "s",   "B",   "KiB", "MiB",
                                        "GiB", "TiB", "PiB", "EiB", "B/s", "%"};
    const size_t length = strcspn(word, " ,;:.)");
    if (*word >= '0' && *word <= '9')
        return true;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strlen(units[i]) == length && memcmp(units[i], word, length) == 0)
            return true;
    }
    return false;
}

size_t view_fitting(const char *text, int columns)
{
    const char *at = text, *blank = NULL;
    for (int taken = 0; *at;) {
        const char *next = at;
        const uint32_t character = view_utf8_next(&next);
        const int width = view_width(character);
        taken += width < 0 ? 1 : width;
        if (taken > columns)
            return (size_t)((blank ? blank : at > text ? at : next) - text);
        const bool is_number = at > text && at[-1] >= '0' && at[-1] <= '9';
        at = next;
        if (character == ' ' && !(is_number && belongs_to_number(at)))
            blank = at;
    }
    return (size_t)(at - text);
}

/* ---- Words of a shell ---------------------------------------------------------------------- */

void view_add_word(char *out, size_t bytes, const char *text)
{
    size_t length = strlen(out);
    const char *const harmless =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=,:@%+";
    if (*text && !text[strspn(text, harmless)]) {
        snprintf(out + length, bytes - length, "%s", text);
        return;
    }
    if (length + 1 < bytes)
        out[length++] = '\'';
    for (; *text && length + 6 < bytes; text++) {
        if (*text == '\'') {
            memcpy(out + length, "'\\''", 4);
            length += 4;
        } else {
            out[length++] = *text;
        }
    }
    if (length + 1 < bytes)
        out[length++] = '\'';
    out[length < bytes ? length : bytes - 1] = '\0';
}

/* A path that begins with a dash must not look like an option. */
void view_add_file(char *out, size_t bytes, const char *path)
{
    const size_t length = strlen(out);
    snprintf(out + length, bytes - length, "%s", *path == '-' ? "./" : "");
    view_add_word(out, bytes, path);
}
