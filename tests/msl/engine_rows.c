/* SPDX-License-Identifier: Apache-2.0 */
/* What rows.metal computes, in double. */
#include "tests/msl/engine.h"
#include "tests/msl/engine_blocks.h"
#include "tests/unit/msl/msl_fixture.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, COUNT = 200 };

static void check_rms_norm(const struct engine_check *check)
{
    float *const x = engine_random(ROWS * COUNT), *const weight = engine_random(COUNT);
    float *const more = engine_random(ROWS * COUNT), *const out = engine_random(ROWS * COUNT);
    struct args_rows args = {.count = COUNT, .rows = ROWS, .eps = 1e-3f};
    engine_run(check, &(struct engine_launch){{x, weight, more, out, &args}, {ROWS, 1, 1}});
    for (size_t i = 0; i < ROWS * COUNT; i++) {
        const float *const row = x + i / COUNT * COUNT;
        double squares = 0;
        for (size_t k = 0; k < COUNT; k++)
            squares += (double)row[k] * (double)row[k];
        const double wanted =
            (double)x[i] / sqrt(squares / COUNT + 1e-3) * (double)weight[i % COUNT] +
            (double)more[i];
        engine_expect(check, i, (double)out[i], wanted, 1e-5);
    }
    free(x);
    free(weight);
    free(more);
    free(out);
}

static void check_layer_norm(const struct engine_check *check)
{
    float *const x = engine_random(ROWS * COUNT), *const out = engine_random(ROWS * COUNT);
    struct args_rows args = {.count = COUNT, .rows = ROWS, .eps = 1e-3f};
    engine_run(check, &(struct engine_launch){{x, out, &args}, {ROWS, 1, 1}});
    for (size_t i = 0; i < ROWS * COUNT; i++) {
        const float *const row = x + i / COUNT * COUNT;
        double mean = 0, squares = 0;
        for (size_t k = 0; k < COUNT; k++)
            mean += (double)row[k] / COUNT;
        for (size_t k = 0; k < COUNT; k++)
            squares += ((double)row[k] - mean) * ((double)row[k] - mean);
        engine_expect(check, i, (double)out[i],
                      ((double)x[i] - mean) / sqrt(squares / COUNT + 1e-3), 1e-5);
    }
    free(x);
    free(out);
}

/* Place of the number that `rank` others go before, by counting. */
static size_t place_of_rank(const float *row, size_t rank, bool up)
{
    for (size_t i = 0; i < COUNT; i++) {
        size_t before = 0;
        for (size_t k = 0; k < COUNT; k++)
            before += (up ? row[k] < row[i] : row[k] > row[i]) || (row[k] == row[i] && k < i);
        if (before == rank)
            return i;
    }
    return COUNT;
}

static void run_sort(const struct engine_check *check, int top, bool up)
{
    float *const x = engine_random(ROWS * COUNT);
    int32_t out[ROWS * COUNT];
    for (size_t i = 0; i < ROWS * COUNT; i += 7)
        x[i] = 0.5f; /* equal ones */
    struct args_sort args = {.count = COUNT, .rows = ROWS, .top = top, .padded = 256};
    engine_run(check, &(struct engine_launch){{x, out, &args}, {ROWS, 1, 1}});
    for (size_t i = 0; i < (size_t)ROWS * (size_t)top; i++)
        engine_expect(check, i, out[i],
                      (double)place_of_rank(x + i / (size_t)top * COUNT, i % (size_t)top, up), 0);
    free(x);
}

static void check_arg_sort(const struct engine_check *check)
{
    run_sort(check, COUNT, strcmp(check->kernel, "arg_sort_asc") == 0);
}

static void check_top_k(const struct engine_check *check)
{
    run_sort(check, 9, false);
}

static void check_arg_max(const struct engine_check *check)
{
    float *const x = engine_random(ROWS * COUNT);
    int32_t out[ROWS];
    struct args_rows args = {.count = COUNT, .rows = ROWS};
    engine_run(check, &(struct engine_launch){{x, out, &args}, {ROWS, 1, 1}});
    for (size_t row = 0; row < ROWS; row++)
        engine_expect(check, row, out[row], (double)place_of_rank(x + row * COUNT, 0, false), 0);
    free(x);
}

static void check_sums(const struct engine_check *check)
{
    const bool running = strcmp(check->kernel, "cumulative_sum") == 0;
    float *const x = engine_random(ROWS * COUNT), *const out = engine_random(ROWS * COUNT);
    struct args_rows args = {.count = COUNT, .rows = ROWS};
    engine_run(check, &(struct engine_launch){{x, out, &args}, {ROWS, 1, 1}});
    for (size_t row = 0; row < ROWS; row++) {
        double sum = 0;
        for (size_t k = 0; k < COUNT; k++) {
            sum += (double)x[row * COUNT + k];
            if (running)
                engine_expect(check, row * COUNT + k, (double)out[row * COUNT + k], sum, 1e-4);
        }
        if (!running)
            engine_expect(check, row, (double)out[row], sum / COUNT, 1e-6);
    }
    free(x);
    free(out);
}

static void check_count_equal(const struct engine_check *check)
{
    int32_t a[COUNT], b[COUNT];
    uint32_t count = 5, wanted = 5;
    for (size_t i = 0; i < COUNT; i++) {
        a[i] = (int32_t)(fixture_random() % 3);
        b[i] = (int32_t)(fixture_random() % 3);
        wanted += a[i] == b[i];
    }
    struct args_rows args = {.count = COUNT};
    engine_run(check, &(struct engine_launch){{a, b, &count, &args}, {4, 1, 1}});
    engine_expect(check, 0, count, wanted, 0);
}

/* The family gives operation 4. */
static void check_unary(const struct engine_check *check)
{
    const struct engine_format *const format = engine_format(check->format);
    uint8_t *const x = engine_random_blocks(format, 96), *const out =
                                                             engine_random_blocks(format, 96);
    struct args_rows args = {.count = 90};
    engine_run(check, &(struct engine_launch){{x, out, &args}, {2, 1, 1}});
    for (size_t i = 0; i < 90; i++) {
        const double v = engine_value(format, x, i);
        engine_expect(check, i, engine_value(format, out, i), v * fmax(0, fmin(1, v / 6 + 0.5)),
                      4e-3);
    }
    free(x);
    free(out);
}

static void check_gated(const struct engine_check *check)
{
    enum { HEIGHT = 6, REPEATED = 2, WIDTH = 32 };
    float *const a = engine_random(HEIGHT * WIDTH), *const b = engine_random(REPEATED * WIDTH);
    float *const out = engine_random(HEIGHT * WIDTH);
    struct args_rows args = {.count = WIDTH, .rows = HEIGHT, .extra = REPEATED};
    engine_run(check, &(struct engine_launch){{a, b, out, &args}, {1, HEIGHT, 1}});
    for (size_t i = 0; i < HEIGHT * WIDTH; i++) {
        const double x = (double)a[i];
        const double y = (double)b[i / WIDTH % REPEATED * WIDTH + i % WIDTH];
        engine_expect(check, i, (double)out[i], x / (1 + exp(-x)) * y, 1e-6);
    }
    free(a);
    free(b);
    free(out);
}

static const struct args_image image = {9, 7, 2, 5, 4, 3, 2, 2, 1, 1};

static bool in_image(int x, int y)
{
    return x >= 0 && x < image.width && y >= 0 && y < image.height;
}

static void check_columns(const struct engine_check *check)
{
    enum { PLACES = 5 * 4, PATCH = 2 * 2 * 3 };
    float *const x = engine_random(9 * 7 * 2);
    uint8_t *const out = engine_random_blocks(engine_format("bf16"), PLACES * PATCH);
    struct args_image args = image;
    engine_run(check, &(struct engine_launch){{x, out, &args}, {1, 2, 1}});
    for (int i = 0; i < PLACES * PATCH; i++) {
        const int place = i / PATCH, channel = i % PATCH / 6, ky = i % 6 / 3, kx = i % 3;
        const int ix = place % 5 * 2 + kx - 1, iy = place / 5 * 2 + ky - 1;
        const double wanted =
            in_image(ix, iy) ? engine_bfloat((double)x[(channel * 7 + iy) * 9 + ix]) : 0;
        engine_expect(check, (size_t)i, engine_value(engine_format("bf16"), out, (size_t)i), wanted,
                      0);
    }
    free(x);
    free(out);
}

static void check_pool(const struct engine_check *check)
{
    float *const x = engine_random(9 * 7 * 2), *const out = engine_random(5 * 4 * 2);
    struct args_image args = image;
    engine_run(check, &(struct engine_launch){{x, out, &args}, {1, 4, 2}});
    for (int i = 0; i < 5 * 4 * 2; i++) {
        double sum = 0;
        int count = 0;
        for (int k = 0; k < 6; k++) {
            const int ix = i % 5 * 2 + k % 3 - 1, iy = i / 5 % 4 * 2 + k / 3 - 1;
            if (!in_image(ix, iy))
                continue;
            sum += (double)x[(i / 20 * 7 + iy) * 9 + ix];
            count++;
        }
        engine_expect(check, (size_t)i, (double)out[i], sum / count, 1e-6);
    }
    free(x);
    free(out);
}

static void check_scan(const struct engine_check *check)
{
    enum { SIDE = 32, TOKENS = 5 };
    float *const keys = engine_random(2 * TOKENS * SIDE), *const values =
                                                              engine_random(2 * TOKENS * SIDE);
    float *const decay = engine_random(2 * TOKENS * SIDE);
    float *const before = engine_random(2 * SIDE * SIDE);
    float *const out = engine_random(2 * TOKENS * SIDE);
    struct args_rows args = {.count = TOKENS};
    engine_run(check,
               &(struct engine_launch){{keys, values, decay, before, out, &args}, {2, 1, 1}});
    for (size_t s = 0; s < 2; s++)
        for (size_t channel = 0; channel < SIDE; channel++) {
            double state[SIDE];
            for (size_t i = 0; i < SIDE; i++)
                state[i] = (double)before[(s * SIDE + i) * SIDE + channel];
            for (size_t token = 0; token < TOKENS; token++) {
                const size_t at = (s * TOKENS + token) * SIDE;
                double sum = 0;
                for (size_t i = 0; i < SIDE; i++)
                    sum += state[i] = state[i] * (double)decay[at + i] +
                                      (double)keys[at + i] * (double)values[at + channel];
                engine_expect(check, at + channel, (double)out[at + channel], sum, 1e-4);
            }
        }
    free(keys);
    free(values);
    free(decay);
    free(before);
    free(out);
}

static const struct engine_check rows[] = {
    {"rms_norm_mul_add", 96, check_rms_norm, NULL},
    {"layer_norm", 128, check_layer_norm, NULL},
    {"arg_sort_asc", 256, check_arg_sort, NULL},
    {"arg_sort_desc", 256, check_arg_sort, NULL},
    {"top_k", 32, check_top_k, NULL},
    {"arg_max", 96, check_arg_max, NULL},
    {"mean_rows", 64, check_sums, NULL},
    {"cumulative_sum", 64, check_sums, NULL},
    {"count_equal", 64, check_count_equal, NULL},
    {"unary_f16", 64, check_unary, "f16"},
    {"unary_bf16", 64, check_unary, "bf16"},
    {"binary_gated", 32, check_gated, NULL},
    {"image_to_columns_bf16", 32, check_columns, NULL},
    {"pool", 32, check_pool, NULL},
    {"linear_scan", 32, check_scan, NULL},
};

const struct engine_family engine_rows_family = {
    "rows", rows, sizeof rows / sizeof *rows, {{1, MSL_INT32, 4}, {4, MSL_UINT32, 1}}};
