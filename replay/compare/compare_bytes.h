/* SPDX-License-Identifier: Apache-2.0 */
/* Compares bytes as elements of a type, within a tolerance: which elements are wrong, and how much.
 * Knows neither plans nor devices. All pure functions but the parsers, any thread. */
#ifndef REPLAY_COMPARE_BYTES_H
#define REPLAY_COMPARE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum replay_type {
    REPLAY_TYPE_UNKNOWN, /* compared as bytes; with a tolerance, guessed */
    REPLAY_F64,
    REPLAY_F32,
    REPLAY_F16,
    REPLAY_BF16,
    REPLAY_I64,
    REPLAY_I32,
    REPLAY_I16,
    REPLAY_I8,
    REPLAY_U64,
    REPLAY_U32,
    REPLAY_U16,
    REPLAY_U8,
    REPLAY_TYPES
};

/* An element is right when its bits are the expected ones, when both are NaN, or when one of the
 * three is met. All zero: bits alone count, -0 and NaN of another payload are wrong. */
struct replay_tolerance {
    double absolute; /* |actual - expected| */
    double relative; /* the same, as a part of |expected| */
    uint64_t ulp;    /* representable values between them; of integers: units */
};

/* What the elements of a buffer are. */
struct replay_type_rule {
    const char *buffer; /* label, with * for anything, or "#17": recorded id; NULL: all others */
    enum replay_type type;
};

enum { REPLAY_NAN_CELLS = 64 };

struct replay_errors {
    enum replay_type type; /* that was compared as */
    bool guessed;
    uint64_t elements;
    uint64_t wrong;   /* outside the tolerance */
    uint64_t inexact; /* other bits, within it */
    uint64_t expected_nan, actual_nan;
    uint64_t first_wrong;  /* byte offset in the range, when wrong > 0 */
    uint64_t worst_offset; /* of the largest error, when there is one; as is the rest */
    double worst_absolute, worst_relative;
    uint64_t worst_ulp;
    double largest; /* |expected| of elements with other bits */
    double worst_expected, worst_actual;
    /* Where NaNs are, the range cut into equal cells: '.' none, 'e' only expected, 'a' only actual,
     * 'b' both; "": there are none. */
    char nan_map[REPLAY_NAN_CELLS + 1];
};

const char *replay_type_name(enum replay_type type); /* "f32"; "bytes" */
uint32_t replay_type_bytes(enum replay_type type);   /* 1 for unknown */
bool replay_type_is_float(enum replay_type type);
/* REPLAY_TYPE_UNKNOWN: no such type. */
enum replay_type replay_type_parse(const char *name, size_t length);

/* "abs:1e-5,rel:0.01,ulp:4". False: not of that form. */
bool replay_tolerance_parse(const char *text, struct replay_tolerance *out_tolerance);
bool replay_tolerance_is_exact(const struct replay_tolerance *tolerance);

/* The first rule that fits; label NULL: the buffer has none. */
enum replay_type replay_type_of(const struct replay_type_rule *rules, size_t count,
                                const char *label, uint64_t id);

/* `text` has the pattern's form, where * stands for anything. */
bool replay_pattern_fits(const char *pattern, const char *text);

/* What the bytes look like: a guess from how the exponents are spread. */
enum replay_type replay_type_guess(const uint8_t *bytes, uint64_t count, uint64_t offset);

/* One element as a number; NaN stays NaN. */
double replay_element(const uint8_t *bytes, enum replay_type type);

/* Compares `bytes` bytes that begin at `offset` of their buffer, where elements are aligned. Bytes
 * before the first whole element and behind the last are compared as such. */
void replay_compare_bytes(const struct replay_tolerance *tolerance, enum replay_type type,
                          uint64_t offset, const uint8_t *expected, const uint8_t *actual,
                          uint64_t bytes, struct replay_errors *out_errors);

/* Adds what was found in a range to what was found in others; offsets are those of the first range
 * with a wrong element and of the one with the largest error. True: `more` has the largest error of
 * all. */
bool replay_errors_add(struct replay_errors *all, const struct replay_errors *more);

#endif
