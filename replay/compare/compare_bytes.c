/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/compare/compare_bytes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Types --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t bytes;
    bool is_float, is_signed;
} types[REPLAY_TYPES] = {
    [REPLAY_TYPE_UNKNOWN] = {"bytes", 1, false, false},
    [REPLAY_F64] = {"f64", 8, true, true},
    [REPLAY_F32] = {"f32", 4, true, true},
    [REPLAY_F16] = {"f16", 2, true, true},
    [REPLAY_BF16] = {"bf16", 2, true, true},
    [REPLAY_I64] = {"i64", 8, false, true},
    [REPLAY_I32] = {"i32", 4, false, true},
    [REPLAY_I16] = {"i16", 2, false, true},
    [REPLAY_I8] = {"i8", 1, false, true},
    [REPLAY_U64] = {"u64", 8, false, false},
    [REPLAY_U32] = {"u32", 4, false, false},
    [REPLAY_U16] = {"u16", 2, false, false},
    [REPLAY_U8] = {"u8", 1, false, false},
};

const char *replay_type_name(enum replay_type type)
{
    return types[type].name;
}

uint32_t replay_type_bytes(enum replay_type type)
{
    return types[type].bytes;
}

bool replay_type_is_float(enum replay_type type)
{
    return types[type].is_float;
}

enum replay_type replay_type_parse(const char *name, size_t length)
{
    for (int i = REPLAY_F64; i < REPLAY_TYPES; i++) {
        if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0)
            return (enum replay_type)i;
    }
    return REPLAY_TYPE_UNKNOWN;
}

bool replay_pattern_fits(const char *pattern, const char *text)
{
    const char *star = NULL, *retry = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            retry = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

enum replay_type replay_type_of(const struct replay_type_rule *rules, size_t count,
                                const char *label, uint64_t id)
{
    for (size_t i = 0; i < count; i++) {
        const char *buffer = rules[i].buffer;
        char *end = NULL;
        if (!buffer || (label && replay_pattern_fits(buffer, label)))
            return rules[i].type;
        if (buffer[0] == '#' && strtoull(buffer + 1, &end, 10) == id && end != buffer + 1 && !*end)
            return rules[i].type;
    }
    return REPLAY_TYPE_UNKNOWN;
}

/* ---- Tolerances ---------------------------------------------------------------------------- */

static bool parse_part(const char *text, size_t length, struct replay_tolerance *tolerance)
{
    char value[64], *end;
    const size_t prefix = 4; /* "abs:" */
    if (length <= prefix || length - prefix >= sizeof value)
        return false;
    memcpy(value, text + prefix, length - prefix);
    value[length - prefix] = '\0';
    if ((value[0] < '0' || value[0] > '9') && value[0] != '.')
        return false;
    errno = 0;
    if (strncmp(text, "ulp:", prefix) == 0) {
        tolerance->ulp = strtoull(value, &end, 10);
        return !*end && errno == 0;
    }
    const double number = strtod(value, &end);
    if (*end || !isfinite(number) || number < 0)
        return false;
    if (strncmp(text, "abs:", prefix) == 0)
        tolerance->absolute = number;
    else if (strncmp(text, "rel:", prefix) == 0)
        tolerance->relative = number;
    else
        return false;
    return true;
}

bool replay_tolerance_parse(const char *text, struct replay_tolerance *out_tolerance)
{
    *out_tolerance = (struct replay_tolerance){0};
    for (;;) {
        const size_t length = strcspn(text, ",");
        if (!parse_part(text, length, out_tolerance))
            return false;
        if (!text[length])
            return true;
        text += length + 1;
    }
}

bool replay_tolerance_is_exact(const struct replay_tolerance *tolerance)
{
    return tolerance->absolute <= 0 && tolerance->relative <= 0 && tolerance->ulp == 0;
}

/* ---- Elements ------------------------------------------------------------------------------ */

static uint64_t load(const uint8_t *bytes, uint32_t count)
{
    uint64_t bits = 0;
    memcpy(&bits, bytes, count);
    return bits;
}

static double from_half(uint64_t bits)
{
    const int exponent = (int)(bits >> 10 & 31), mantissa = (int)(bits & 1023);
    const double sign = bits >> 15 & 1 ? -1 : 1;
    if (exponent == 31)
        return mantissa ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24));
}

static double from_single(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return (double)value;
}

static int64_t extend_sign(uint64_t bits, uint32_t bytes)
{
    const uint32_t unused = 64 - 8 * bytes;
    return (int64_t)(bits << unused) >> unused;
}

double replay_element(const uint8_t *bytes, enum replay_type type)
{
    const uint64_t bits = load(bytes, types[type].bytes);
    double value;
    switch (type) {
    case REPLAY_F64: memcpy(&value, &bits, sizeof value); return value;
    case REPLAY_F32: return from_single(bits);
    case REPLAY_BF16: return from_single(bits << 16);
    case REPLAY_F16: return from_half(bits);
    case REPLAY_I64:
    case REPLAY_I32:
    case REPLAY_I16:
    case REPLAY_I8: return (double)extend_sign(bits, types[type].bytes);
    case REPLAY_TYPE_UNKNOWN:
    case REPLAY_U64:
    case REPLAY_U32:
    case REPLAY_U16:
    case REPLAY_U8:
    case REPLAY_TYPES: return (double)bits;
    }
    return 0;
}

/* A number whose differences are distances: floats by value, with both zeros at one place. */
static uint64_t place(uint64_t bits, enum replay_type type)
{
    const uint32_t width = 8 * types[type].bytes;
    const uint64_t sign = UINT64_C(1) << (width - 1);
    if (types[type].is_float)
        return bits & sign ? sign - (bits & ~sign) : sign + bits;
    return types[type].is_signed ? bits ^ sign : bits;
}

struct comparison {
    const struct replay_tolerance *tolerance;
    enum replay_type type;
    uint64_t bytes; /* of the range */
    struct replay_errors *errors;
};

static void note_nan(const struct comparison *c, uint64_t offset, bool expected, bool actual)
{
    struct replay_errors *errors = c->errors;
    if (!errors->nan_map[0])
        memset(errors->nan_map, '.', REPLAY_NAN_CELLS);
    char *cell = &errors->nan_map[offset * REPLAY_NAN_CELLS / c->bytes];
    errors->expected_nan += expected;
    errors->actual_nan += actual;
    const char here = !actual ? 'e' : !expected ? 'a' : 'b';
    *cell = *cell == '.' || *cell == here ? here : 'b';
}

static void note_wrong(struct replay_errors *errors, uint64_t offset)
{
    if (errors->wrong++ == 0)
        errors->first_wrong = offset;
}

/* For two elements that are numbers; true: within the tolerance. */
static bool measure(const struct comparison *c, uint64_t offset, const uint8_t *expected,
                    const uint8_t *actual)
{
    const uint32_t size = types[c->type].bytes;
    const uint64_t a = place(load(expected, size), c->type), b = place(load(actual, size), c->type);
    const uint64_t ulp = a > b ? a - b : b - a;
    const double wanted = replay_element(expected, c->type), got = replay_element(actual, c->type);
    /* 64-bit integers keep their differences, whatever a double can hold. */
    const double absolute = types[c->type].is_float ? fabs(got - wanted) : (double)ulp;
    const double relative = absolute / fabs(wanted); /* of zero: infinite, or no number */
    struct replay_errors *errors = c->errors;
    const struct replay_tolerance *tolerance = c->tolerance;
    if (absolute > errors->worst_absolute || (errors->wrong + errors->inexact == 0)) {
        errors->worst_absolute = absolute;
        errors->worst_offset = offset;
        errors->worst_expected = wanted;
        errors->worst_actual = got;
    }
    if (relative > errors->worst_relative)
        errors->worst_relative = relative;
    if (ulp > errors->worst_ulp)
        errors->worst_ulp = ulp;
    if (fabs(wanted) > errors->largest)
        errors->largest = fabs(wanted);
    if (replay_tolerance_is_exact(tolerance) || isinf(wanted) || isinf(got))
        return false;
    return (tolerance->absolute > 0 && absolute <= tolerance->absolute) ||
           (tolerance->relative > 0 && absolute <= tolerance->relative * fabs(wanted)) ||
           ulp <= tolerance->ulp;
}

static void compare_element(const struct comparison *c, uint64_t offset, const uint8_t *expected,
                            const uint8_t *actual)
{
    struct replay_errors *errors = c->errors;
    const bool differs = memcmp(expected, actual, types[c->type].bytes) != 0;
    const bool is_float = types[c->type].is_float;
    const bool expected_nan = is_float && isnan(replay_element(expected, c->type));
    const bool actual_nan = is_float && isnan(replay_element(actual, c->type));
    bool wrong;
    errors->elements++;
    if (expected_nan || actual_nan) {
        note_nan(c, offset, expected_nan, actual_nan);
        wrong =
            differs && !(expected_nan && actual_nan && !replay_tolerance_is_exact(c->tolerance));
    } else {
        wrong = differs && !measure(c, offset, expected, actual);
    }
    if (wrong)
        note_wrong(errors, offset);
    else
        errors->inexact += differs;
}

/* A partial element. */
static void compare_rest(const struct comparison *c, uint64_t offset, const uint8_t *expected,
                         const uint8_t *actual, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        if (expected[i] != actual[i])
            note_wrong(c->errors, offset + i);
    }
}

void replay_compare_bytes(const struct replay_tolerance *tolerance, enum replay_type type,
                          const struct replay_pair *pair, struct replay_errors *out_errors)
{
    const uint64_t offset = pair->offset, bytes = pair->bytes;
    const uint8_t *expected = pair->expected, *actual = pair->actual;
    const bool exact = replay_tolerance_is_exact(tolerance);
    *out_errors = (struct replay_errors){.type = type};
    if (type == REPLAY_TYPE_UNKNOWN && !exact) {
        type = out_errors->type = replay_type_guess(expected, bytes, offset);
        out_errors->guessed = true;
    }
    const uint64_t size = types[type].bytes;
    const struct comparison c = {tolerance, type, bytes, out_errors};
    const uint64_t misaligned = offset % size ? size - offset % size : 0;
    const uint64_t head = misaligned < bytes ? misaligned : bytes;
    const uint64_t whole = (bytes - head) / size * size;
    if (!types[type].is_float && memcmp(expected, actual, (size_t)bytes) == 0) {
        out_errors->elements = whole / size;
        return;
    }
    compare_rest(&c, 0, expected, actual, head);
    for (uint64_t at = head; at < head + whole; at += size)
        compare_element(&c, at, expected + at, actual + at);
    compare_rest(&c, head + whole, expected + head + whole, actual + head + whole,
                 bytes - head - whole);
}

bool replay_errors_add(struct replay_errors *all, const struct replay_errors *more)
{
    const bool fresh = all->wrong + all->inexact == 0 && more->wrong + more->inexact > 0;
    const bool worse = fresh || more->worst_absolute > all->worst_absolute;
    if (all->wrong == 0 && more->wrong > 0) {
        all->first_wrong = more->first_wrong;
        memcpy(all->nan_map, more->nan_map, sizeof all->nan_map);
    }
    if (worse) {
        all->type = more->type;
        all->guessed = more->guessed;
        all->worst_absolute = more->worst_absolute;
        all->worst_offset = more->worst_offset;
        all->worst_expected = more->worst_expected;
        all->worst_actual = more->worst_actual;
    }
    if (more->worst_relative > all->worst_relative)
        all->worst_relative = more->worst_relative;
    if (more->worst_ulp > all->worst_ulp)
        all->worst_ulp = more->worst_ulp;
    if (more->largest > all->largest)
        all->largest = more->largest;
    all->elements += more->elements;
    all->wrong += more->wrong;
    all->inexact += more->inexact;
    all->expected_nan += more->expected_nan;
    all->actual_nan += more->actual_nan;
    return worse;
}

/* ---- Guessing ------------------------------------------------------------------------------ */

enum { GUESS_ELEMENTS = 4096 };

/* The spread of the binary logarithms of non-zero numbers; negative: there are none, or one that no
 * program computes. */
static double spread(const uint8_t *bytes, uint64_t count, enum replay_type type)
{
    const uint64_t size = types[type].bytes;
    double sum = 0, squares = 0;
    uint64_t used = 0, strange = 0, looked_at = 0;
    for (uint64_t at = 0; at + size <= count && looked_at < GUESS_ELEMENTS; at += size) {
        const double value = fabs(replay_element(bytes + at, type));
        looked_at++;
        if (value <= 0)
            continue;
        if (!isfinite(value) || value > 0x1p60 || value < 0x1p-60) {
            strange++;
            continue;
        }
        const double logarithm = log2(value);
        sum += logarithm;
        squares += logarithm * logarithm;
        used++;
    }
    if (!used || strange * 20 > looked_at)
        return -1;
    const double mean = sum / (double)used, variance = squares / (double)used - mean * mean;
    return variance > 0 ? sqrt(variance) : 0;
}

/* Numbers that are distributed in the usual ways are spread over 1.6 octaves or so; read as another
 * type, exponents and mantissas mix, and they are spread eight times as far, or as little. */
static double strangeness(const uint8_t *bytes, uint64_t count, enum replay_type type)
{
    const double octaves = spread(bytes, count, type);
    return octaves < 0 ? (double)INFINITY : fabs(log2((octaves + 0.05) / 1.6));
}

/* Floats with short mantissas, read as 16-bit ones, are zero at every other place. */
static bool has_zero_halves(const uint8_t *bytes, uint64_t count)
{
    uint64_t zeros = 0, pairs = 0;
    for (uint64_t at = 0; at + 4 <= count && pairs < GUESS_ELEMENTS; at += 4, pairs++)
        zeros += load(bytes + at, 2) == 0;
    return pairs && zeros * 10 > pairs * 9;
}

static bool are_small_integers(const uint8_t *bytes, uint64_t count)
{
    uint64_t small = 0, looked_at = 0;
    for (uint64_t at = 0; at + 4 <= count && looked_at < GUESS_ELEMENTS; at += 4, looked_at++) {
        const int64_t value = extend_sign(load(bytes + at, 4), 4);
        small += value > -(1 << 23) && value < 1 << 23;
    }
    return looked_at && small * 20 >= looked_at * 19;
}

enum replay_type replay_type_guess(const uint8_t *bytes, uint64_t count, uint64_t offset)
{
    const uint64_t skip = offset % 4 ? 4 - offset % 4 : 0;
    if (skip + 4 > count)
        return REPLAY_U8;
    bytes += skip;
    count -= skip;
    if (are_small_integers(bytes, count))
        return REPLAY_I32;
    const double single = strangeness(bytes, count, REPLAY_F32);
    const double half = strangeness(bytes, count, REPLAY_F16);
    const double brain = strangeness(bytes, count, REPLAY_BF16);
    const enum replay_type narrow = half < brain ? REPLAY_F16 : REPLAY_BF16;
    const double narrow_strangeness = half < brain ? half : brain;
    const double most = 2.5;
    if (narrow_strangeness <= most && narrow_strangeness <= single + 0.25 &&
        !has_zero_halves(bytes, count))
        return narrow;
    return single <= most ? REPLAY_F32 : REPLAY_U8;
}
