/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/base/moment.h"

#include <string.h>

/* ---- Parsing ------------------------------------------------------------------------------- */

struct number {
    bool negative;
    uint64_t whole;
    double fraction; /* below 1 */
};

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* By hand, since strtod takes the point of the program's locale. */
static bool take_number(const char **text, struct number *out_number)
{
    const char *at = *text;
    double fraction = 0, scale = 1;
    *out_number = (struct number){.negative = *at == '-'};
    at += *at == '-' || *at == '+';
    const bool has_digits = is_digit(*at) || (*at == '.' && is_digit(at[1]));
    for (; is_digit(*at); at++) {
        if (__builtin_mul_overflow(out_number->whole, 10, &out_number->whole) ||
            __builtin_add_overflow(out_number->whole, (uint64_t)(*at - '0'), &out_number->whole))
            return false;
    }
    for (at += *at == '.'; is_digit(*at); at++) {
        if (scale < 1e15) { /* of what is behind, nothing is left in nanoseconds */
            fraction = 10 * fraction + (*at - '0');
            scale *= 10;
        }
    }
    out_number->fraction = fraction / scale;
    *text = at;
    return has_digits;
}

/* 0: none of that name. */
static uint64_t unit_of(const char *name, int64_t unit_ns)
{
    const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1},
                 {"us", 1000},
                 {"µs", 1000},
                 {"ms", 1000000},
                 {"s", 1000000000},
                 {"m", 60000000000},
                 {"min", 60000000000},
                 {"h", 3600000000000},
                 {"", (uint64_t)unit_ns}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(name, units[i].name) == 0)
            return units[i].ns;
    }
    return 0;
}

bool hal_time_parse(const char *text, int64_t unit_ns, int64_t *out_ns)
{
    struct number number;
    uint64_t ns;
    if (!take_number(&text, &number))
        return false;
    while (*text == ' ')
        text++;
    const uint64_t unit = unit_of(text, unit_ns);
    if (!unit || __builtin_mul_overflow(number.whole, unit, &ns) ||
        __builtin_add_overflow(ns, (uint64_t)(number.fraction * (double)unit + 0.5), &ns) ||
        ns > INT64_MAX)
        return false;
    *out_ns = number.negative ? -(int64_t)ns : (int64_t)ns;
    return true;
}

bool hal_moment_parse(const char *text, int64_t unit_ns, int64_t *out_ns)
{
    return hal_time_parse(text + (*text == '@'), unit_ns, out_ns);
}

bool hal_duration_parse(const char *text, int64_t least_ns, int64_t most_ns, int64_t *out_ns)
{
    int64_t ns;
    if (!hal_time_parse(text, 1000000000, &ns) || ns < least_ns || ns > most_ns)
        return false;
    *out_ns = ns;
    return true;
}

/* ---- Printing ------------------------------------------------------------------------------ */

/* `value` in units of 10^-decimals; by hand, since a dump has millions. */
static void print(char *to, bool negative, uint64_t value, int decimals, const char *unit)
{
    char digits[24];
    int count = 0;
    for (; value || count <= decimals; value /= 10)
        digits[count++] = (char)('0' + value % 10);
    if (negative)
        *to++ = '-';
    while (count) {
        *to++ = digits[--count];
        if (count == decimals && decimals)
            *to++ = '.';
    }
    strcpy(to, unit);
}

static uint64_t size_of(int64_t ns)
{
    return ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
}

struct hal_time_text hal_duration_text(int64_t ns)
{
    struct hal_time_text out;
    const uint64_t size = size_of(ns);
    if (size < 1000)
        print(out.text, ns < 0, size, 0, " ns");
    else if (size < 1000000)
        print(out.text, ns < 0, size, 3, " us");
    else if (size < 1000000000 - 500)
        print(out.text, ns < 0, (size + 500) / 1000, 3, " ms");
    else
        print(out.text, ns < 0, (size + 500000) / 1000000, 3, " s");
    return out;
}

struct hal_time_text hal_moment_text(int64_t ns)
{
    struct hal_time_text out = {"@"};
    print(out.text + 1, ns < 0, size_of(ns), 6, "ms");
    return out;
}
