/* SPDX-License-Identifier: Apache-2.0 */
/* What threads of a workgroup do together: threadgroup memory, barriers, atomics, simdgroups; types
 * of arguments. */
#include "tests/conformance/suite.h"

/* ---- Threadgroups --------------------------------------------------------------------------- */

static void rotate(struct suite *suite, uint64_t groups)
{
    const size_t words = groups * 128;
    uint32_t *in = suite_random_words(suite, words), *wanted = suite_memory(suite, words * 4);
    struct hal_buffer *x = suite_buffer_with(suite, "x", in, words * 4);
    for (size_t i = 0; i < words; i++)
        wanted[i] = in[i / 128 * 128 + (i + 127) % 128];
    suite_launch_alone(
        suite, &(struct suite_launch){KERNEL_ROTATE, {(uint32_t)groups, 1, 1}, {x}, {0}, 0});
    check_buffer(suite, x, 0, wanted, words * 4);
}

static void reduce(struct suite *suite, uint64_t groups)
{
    const size_t words = groups * 256;
    uint32_t *in = suite_random_words(suite, words), *wanted = suite_memory(suite, groups * 4);
    struct hal_buffer *x = suite_buffer_with(suite, "in", in, words * 4);
    struct hal_buffer *y = suite_buffer(suite, "out", groups * 4);
    for (size_t i = 0; i < words; i++)
        wanted[i / 256] += in[i];
    suite_launch_alone(
        suite, &(struct suite_launch){KERNEL_REDUCE, {(uint32_t)groups, 1, 1}, {x, y}, {0}, 0});
    check_buffer(suite, y, 0, wanted, groups * 4);
}

static void scan(struct suite *suite, uint64_t groups)
{
    const size_t words = groups * 256;
    uint32_t *in = suite_random_words(suite, words);
    struct hal_buffer *x = suite_buffer_with(suite, "x", in, words * 4);
    for (size_t i = 0; i < words; i++)
        in[i] += i % 256 ? in[i - 1] : 0;
    suite_launch_alone(suite,
                       &(struct suite_launch){KERNEL_SCAN, {(uint32_t)groups, 1, 1}, {x}, {0}, 0});
    check_buffer(suite, x, 0, in, words * 4);
}

static void transpose(struct suite *suite, uint64_t unused)
{
    (void)unused;
    enum { COLUMNS = 80, ROWS = 48 };
    uint32_t *in = suite_random_words(suite, COLUMNS * ROWS);
    uint32_t *wanted = suite_memory(suite, COLUMNS * ROWS * 4);
    struct hal_buffer *x = suite_buffer_with(suite, "in", in, COLUMNS * ROWS * 4);
    struct hal_buffer *y = suite_buffer(suite, "out", COLUMNS * ROWS * 4);
    for (size_t row = 0; row < ROWS; row++) {
        for (size_t column = 0; column < COLUMNS; column++)
            wanted[column * ROWS + row] = in[row * COLUMNS + column];
    }
    suite_launch_alone(
        suite, &(struct suite_launch){
                   KERNEL_TRANSPOSE, {COLUMNS / 16, ROWS / 16, 1}, {x, y}, {COLUMNS, ROWS}, 2});
    check_buffer(suite, y, 0, wanted, COLUMNS * ROWS * 4);
}

static void histogram(struct suite *suite, uint64_t groups)
{
    const size_t words = groups * 64;
    uint32_t *in = suite_random_words(suite, words), wanted[16] = {0};
    struct hal_buffer *x = suite_buffer_with(suite, "in", in, words * 4);
    struct hal_buffer *bins = suite_buffer(suite, "bins", 64);
    suite_clear(suite, bins, 0);
    for (size_t i = 0; i < words; i++)
        wanted[in[i] % 16]++;
    suite_launch_alone(suite, &(struct suite_launch){
                                  KERNEL_HISTOGRAM, {(uint32_t)groups, 1, 1}, {x, bins}, {0}, 0});
    check_buffer(suite, bins, 0, wanted, 64);
}

/* ---- Simdgroups and types ------------------------------------------------------------------- */

enum { SIMD_RESULTS = 12 };

/* What one simdgroup of 32 computes, thread by thread. */
static void simd_model(const uint32_t *v, uint32_t (*out)[SIMD_RESULTS])
{
    uint32_t sum = 0, least = UINT32_MAX, most = 0, all_xor = 0, ballot = 0, any = 0, all = 1;
    for (uint32_t i = 0; i < 32; i++) {
        out[i][4] = sum;
        sum += v[i];
        out[i][5] = sum;
        least = v[i] < least ? v[i] : least;
        most = v[i] > most ? v[i] : most;
        all_xor ^= v[i];
        ballot |= (v[i] & 1) << i;
        any |= v[i] == 77;
        all &= v[i] < 1000000;
        out[i][6] = v[i ^ 5];
        out[i][7] = v[9];
        out[i][8] = v[i * 7 % 32];
        out[i][10] = v[(i + 3) % 32];
    }
    for (size_t i = 0; i < 32; i++) {
        out[i][0] = sum;
        out[i][1] = least;
        out[i][2] = most;
        out[i][3] = all_xor;
        out[i][9] = any + 2 * all;
        out[i][11] = ballot;
    }
}

static void simd(struct suite *suite, uint64_t groups)
{
    if (suite_info(suite)->simd_width != 32)
        suite_skip(suite, "the model is one of simdgroups of 32");
    const size_t words = groups * 64;
    uint32_t *in = suite_random_words(suite, words);
    uint32_t(*wanted)[SIMD_RESULTS] = suite_memory(suite, words * sizeof *wanted);
    for (size_t i = 0; i < words; i += 32) {
        for (size_t lane = 0; lane < 32; lane++) /* some simdgroups are all below a million */
            in[i + lane] %= i / 32 % 3 == 0 ? 1000000 : UINT32_MAX;
        if (i / 32 % 2)
            in[i + 17] = 77;
        simd_model(in + i, wanted + i);
    }
    struct hal_buffer *x = suite_buffer_with(suite, "in", in, words * 4);
    struct hal_buffer *y = suite_buffer(suite, "out", words * sizeof *wanted);
    suite_launch_alone(
        suite, &(struct suite_launch){KERNEL_SIMD, {(uint32_t)groups, 1, 1}, {x, y}, {0}, 0});
    check_buffer(suite, y, 0, wanted, words * sizeof *wanted);
}

static void mixed_types(struct suite *suite, uint64_t unused)
{
    (void)unused;
    enum { COUNT = 32 };
    int8_t c[COUNT];
    uint16_t s[COUNT], h[COUNT];
    int64_t l[COUNT];
    float f[COUNT][4], turned[COUNT][4];
    for (int i = 0; i < COUNT; i++) {
        c[i] = (int8_t)(i * 7 - 100);
        s[i] = (uint16_t)(i * 2047);
        h[i] = (uint16_t)((15 + i % 10) << 10 | i); /* halves from 1 to 1023, exactly halved */
        l[i] = ((int64_t)i - 16) * 1234567;
        for (int k = 0; k < 4; k++)
            f[i][k] = (float)(i * 4 + k) * 0.125F;
    }
    struct hal_binding bindings[5] = {
        {suite_buffer_with(suite, "char", c, sizeof c), 0, sizeof c},
        {suite_buffer_with(suite, "ushort", s, sizeof s), 0, sizeof s},
        {suite_buffer_with(suite, "half", h, sizeof h), 0, sizeof h},
        {suite_buffer_with(suite, "long", l, sizeof l), 0, sizeof l},
        {suite_buffer_with(suite, "float4", f, sizeof f), 0, sizeof f},
    };
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, bindings, 5));
    check_ok(suite, hal_command_dispatch(commands, suite_kernels(suite), KERNEL_MIXED_TYPES,
                                         (uint32_t[3]){1, 1, 1}));
    suite_run(suite, commands);
    for (int i = 0; i < COUNT; i++) {
        c[i] = (int8_t)-c[i];
        s[i] = (uint16_t)(s[i] * 3);
        h[i] = (uint16_t)(h[i] - (1 << 10)); /* one less in the exponent */
        l[i] *= 1000003;
        for (int k = 0; k < 4; k++)
            turned[i][k] = f[i][3 - k] * 2;
    }
    check_buffer(suite, bindings[0].buffer, 0, c, sizeof c);
    check_buffer(suite, bindings[1].buffer, 0, s, sizeof s);
    check_buffer(suite, bindings[2].buffer, 0, h, sizeof h);
    check_buffer(suite, bindings[3].buffer, 0, l, sizeof l);
    check_buffer(suite, bindings[4].buffer, 0, turned, sizeof turned);
}

/* An executable is kept by the command buffers that name it. */
static void executable_is_kept(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const uint32_t wanted[2] = {40, 41};
    struct hal_buffer *out = suite_buffer(suite, "out", 256);
    struct hal_executable *executable;
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    const struct hal_binding binding = {out, 0, 256};
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, &binding, 1));
    check_ok(suite, hal_command_push_constants(commands, 0, wanted, 4));
    check_ok(suite, hal_executable_create(suite_device(suite), suite_kernels_desc(), &executable));
    const enum hal_status status =
        hal_command_dispatch(commands, executable, KERNEL_NUMBER, (uint32_t[3]){1, 1, 1});
    hal_executable_release(executable);
    check_ok(suite, status);
    suite_run(suite, commands);
    check_buffer(suite, out, 0, wanted, sizeof wanted);
}

static const struct suite_case cases[] = {
    {"rotate_1_group", rotate, 1},   {"rotate_300_groups", rotate, 300},
    {"reduce_1_group", reduce, 1},   {"reduce_100_groups", reduce, 100},
    {"scan_1_group", scan, 1},       {"scan_50_groups", scan, 50},
    {"transpose", transpose, 0},     {"histogram", histogram, 200},
    {"simd_1_group", simd, 1},       {"simd_60_groups", simd, 60},
    {"mixed_types", mixed_types, 0}, {"executable_is_kept", executable_is_kept, 0},
};

const struct suite_area area_groups = {"groups", cases, SUITE_COUNT(cases)};
