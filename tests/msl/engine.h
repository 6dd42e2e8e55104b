/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the kernels in tests/msl/engine: a family of them is compiled at once, as an engine asks
 * for what it needs, and must run as loops; each is held against plain C. */
#ifndef TESTS_MSL_ENGINE_H
#define TESTS_MSL_ENGINE_H

#include <stddef.h>
#include <stdint.h>

/* A kernel, the threads of its groups, and its check. */
struct engine_check {
    const char *kernel;
    uint32_t threads;
    void (*run)(const struct engine_check *check);
    const char *format; /* of what it reads; NULL: plain numbers */
};

struct engine_constant {
    uint32_t index;
    int type; /* enum msl_constant_type */
    uint32_t bits;
};

struct engine_family {
    const char *name;
    const struct engine_check *checks;
    size_t count;
    struct engine_constant constants[4]; /* ends with type 0 */
};
extern const struct engine_family engine_blocks_family, engine_vectors_family, engine_tiles_family,
    engine_more_tiles_family, engine_attention_family, engine_rows_family, engine_defaults_family;

enum { ENGINE_MOST_BUFFERS = 8 };
/* Buffers in the order of the kernel's parameters, ends with NULL. Every [[threadgroup]] argument
 * gets 12 KiB. */
struct engine_launch {
    void *buffers[ENGINE_MOST_BUFFERS];
    uint32_t groups[3];
};

/* Runs the checked kernel of the family that is being tested. */
void engine_run(const struct engine_check *check, const struct engine_launch *launch);

/* The arguments of the kernels, as formats.metal has them. */
struct args_matrix {
    int32_t inner, rows, columns, batch_rows;
    uint64_t row_bytes;
};
struct args_rows {
    int32_t count, rows;
    float eps, scale;
    int32_t groups, extra;
};
struct args_attention {
    int32_t queries, keys, heads, key_heads;
    float scale, cap, slope_base;
    int32_t has_mask;
};
struct args_rope {
    int32_t count, rotated, heads, tokens;
    float base, freq_scale, ext_factor, attn_factor, corr_low, corr_high;
};
struct args_image {
    int32_t width, height, channels, out_width, out_height, kernel_width, kernel_height, stride,
        padding, dilation;
};
struct args_sort {
    int32_t count, rows, top, padded;
};
struct args_copy {
    int32_t ne[4];
    uint64_t from[4], to[4];
};

float *engine_random(size_t count); /* in [-1, 1) */

/* Fails the test when they are further apart than `tolerance`, an absolute one. */
void engine_expect(const struct engine_check *check, size_t i, double got, double wanted,
                   double tolerance);

#endif
