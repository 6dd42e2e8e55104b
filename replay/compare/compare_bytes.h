/* SPDX-License-Identifier: Apache-2.0 */
/* Compares bytes as elements of a type, within a tolerance: which elements are wrong, and by how
 * much. Knows neither plans nor devices. All functions but the parsers are pure; any thread. */
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

/* An element is right if its bits are the expected ones, if both are NaN, or if it meets one of the
 * three limits. All zero: only the bits count; -0 and NaN of another payload are wrong. */
struct replay_tolerance {
    double absolute; /* |actual - expected| */
    double relative; /* the same, relative to |expected| */
    uint64_t ulp;    /* representable values between them; for integers: units */
};

/* The element type of a buffer. */
struct replay_type_rule {
    const char *buffer; /* label, with * as a wildcard, or "#17": recorded id; NULL: all others */
    enum replay_type type;
};

enum { REPLAY_NAN_CELLS = 64 };

struct replay_errors {
    enum replay_type type; /* the type used for comparison */
    bool guessed;
    uint64_t elements;
    uint64_t wrong;   /* outside the tolerance */
    uint64_t inexact; /* different bits, within the tolerance */
    uint64_t expected_nan, actual_nan;
    uint64_t first_wrong;  /* byte offset in the range, if wrong > 0 */
    uint64_t worst_offset; /* of the largest error, if any, like the members below */
    double worst_absolute, worst_relative;
    uint64_t worst_ulp;
    double largest; /* |expected| of elements with different bits */
    double worst_expected, worst_actual;
    /* Positions of NaNs, with the range cut into equal cells: '.' none, 'e' only expected, 'a' only
     * actual, 'b' both; "": no NaNs. */
    char nan_map[REPLAY_NAN_CELLS + 1];
};

const char *replay_type_name(enum replay_type type); /* "f32"; "bytes" */
uint32_t replay_type_bytes(enum replay_type type);   /* 1 for unknown */
bool replay_type_is_float(enum replay_type type);
/* REPLAY_TYPE_UNKNOWN: no such type. */
enum replay_type replay_type_parse(const char *name, size_t length);

/* Parses "abs:1e-5,rel:0.01,ulp:4". False: malformed. */
bool replay_tolerance_parse(const char *text, struct replay_tolerance *out_tolerance);
bool replay_tolerance_is_exact(const struct replay_tolerance *tolerance);

/* The type of the first matching rule; label NULL: the buffer has none. */
enum replay_type replay_type_of(const struct replay_type_rule *rules, size_t count,
                                const char *label, uint64_t id);

/* Whether `text` matches the pattern, in which * matches any characters. */
bool replay_pattern_fits(const char *pattern, const char *text);

/* Guesses the type of the bytes from the distribution of exponents. */
enum replay_type replay_type_guess(const uint8_t *bytes, uint64_t count, uint64_t offset);

/* One element as a number; NaN stays NaN. */
double replay_element(const uint8_t *bytes, enum replay_type type);

/* A range of a buffer, as it should be and as it is. */
struct replay_pair {
    uint64_t offset, bytes;
    const uint8_t *expected, *actual;
};

/* Elements are aligned in the buffer. Partial elements at both ends are compared as bytes. */
void replay_compare_bytes(const struct replay_tolerance *tolerance, enum replay_type type,
                          const struct replay_pair *pair, struct replay_errors *out_errors);

/* Adds the result of a range to those of others; offsets are those of the first range with a wrong
 * element and of the one with the largest error. True: `more` has the largest error of all. */
bool replay_errors_add(struct replay_errors *all, const struct replay_errors *more);

#endif
