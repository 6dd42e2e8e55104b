/* SPDX-License-Identifier: Apache-2.0 */
/* The block formats of tests/msl/engine, in plain C: what the kernels' results are held against. */
#ifndef TESTS_MSL_ENGINE_BLOCKS_H
#define TESTS_MSL_ENGINE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

struct engine_format {
    const char *name;
    size_t numbers, bytes; /* of a block */
    size_t halves[2];      /* where scales lie, as half; SIZE_MAX: none */
    double (*value)(const uint8_t *block, size_t i);
};

/* f32, f16, bf16, n4, n4m, n5, n5m, b8, f4, k4, k6, k2, t3; ends with a NULL name. */
extern const struct engine_format engine_formats[];

const struct engine_format *engine_format(const char *name);

/* Rows of random numbers in blocks, scales around 0.05. The caller owns them. */
uint8_t *engine_random_blocks(const struct engine_format *format, size_t numbers);

/* Number i of an array of blocks. */
double engine_value(const struct engine_format *format, const uint8_t *blocks, size_t i);

double engine_bfloat(double value); /* rounded */
double engine_half(double value);

#endif
