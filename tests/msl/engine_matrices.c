/* SPDX-License-Identifier: Apache-2.0 */
/* What matrices.metal computes: rows of blocks, products, conversions. */
#include "tests/msl/engine.h"
#include "tests/msl/engine_blocks.h"
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#include <math.h>

enum { INNER = 512 };

static struct args_matrix matrix_of(const struct engine_format *format, int rows, int columns)
{
    return (struct args_matrix){.inner = INNER,
                                .rows = rows,
                                .columns = columns,
                                .batch_rows = rows,
                                .row_bytes = INNER / format->numbers * format->bytes};
}

static void check_get_rows(const struct engine_check *check)
{
    enum { ROWS = 5 };
    const struct engine_format *const format = engine_format(check->format);
    int32_t which[] = {3, 0, 4};
    uint8_t *const weights = engine_random_blocks(format, ROWS * INNER);
    float *const out = engine_random(3 * INNER);
    struct args_matrix args = matrix_of(format, ROWS, 1);
    engine_run(check, &(struct engine_launch){{weights, which, out, &args}, {3, 1, 1}});
    for (size_t i = 0; i < 3 * INNER; i++) {
        const double wanted =
            engine_value(format, weights, (size_t)which[i / INNER] * INNER + i % INNER);
        engine_expect(check, i, (double)out[i], wanted, 1e-5 * (1 + fabs(wanted)));
    }
    free(weights);
    free(out);
}

/* Row r of the weights with a column; `scale` is the sum of the magnitudes. */
static double product(const struct engine_format *format, const uint8_t *weights, size_t r,
                      const float *column, double (*round)(double), double *out_scale)
{
    double sum = 0;
    *out_scale = 0;
    for (size_t k = 0; k < INNER; k++) {
        const double w = engine_value(format, weights, r * INNER + k);
        const double x = (double)column[k];
        const double term = round ? round(w) * round(x) : w * x;
        sum += term;
        *out_scale += fabs(term);
    }
    return sum;
}

static void expect_products(const struct engine_check *check, const struct args_matrix *args,
                            const uint8_t *weights, const float *x, const float *out,
                            double (*round)(double))
{
    const struct engine_format *const format = engine_format(check->format);
    for (size_t c = 0; c < (size_t)args->columns; c++)
        for (size_t r = 0; r < (size_t)args->rows; r++) {
            double scale;
            const double wanted = product(format, weights, r, x + c * INNER, round, &scale);
            const size_t at = c * (size_t)args->rows + r;
            engine_expect(check, at, (double)out[at], wanted, (round ? 2e-4 : 2e-6) * scale);
        }
}

static void run_mul(const struct engine_check *check, int rows, int columns, uint32_t groups_x,
                    uint32_t groups_y, double (*round)(double))
{
    const struct engine_format *const format = engine_format(check->format);
    uint8_t *const weights = engine_random_blocks(format, (size_t)rows * INNER);
    float *const x = engine_random((size_t)columns * INNER);
    float *const out = engine_random((size_t)rows * (size_t)columns);
    struct args_matrix args = matrix_of(format, rows, columns);
    engine_run(check, &(struct engine_launch){{&args, weights, x, out}, {groups_x, groups_y, 1}});
    expect_products(check, &args, weights, x, out, round);
    free(weights);
    free(x);
    free(out);
}

static void check_mul_vec(const struct engine_check *check)
{
    run_mul(check, 11, 3, 6, 3, NULL);
}

static void check_mul_vec_wide(const struct engine_check *check)
{
    run_mul(check, 5, 2, 5, 2, NULL);
}

/* Ragged edges on both sides. */
static void check_mul_mat(const struct engine_check *check)
{
    const char *const name = check->format;
    const bool is_float = strcmp(name, "f32") == 0 || strcmp(name, "f4") == 0;
    run_mul(check, 77, 39, 2, 2,
            is_float                    ? NULL
            : strcmp(name, "bf16") == 0 ? engine_bfloat
                                        : engine_half);
}

static void check_mul_expert(const struct engine_check *check)
{
    enum { ROWS = 6, EXPERTS = 3, COLUMNS = 4 };
    const struct engine_format *const format = engine_format(check->format);
    int32_t experts[COLUMNS] = {2, 0, 2, 1};
    uint8_t *const weights = engine_random_blocks(format, EXPERTS * ROWS * INNER);
    float *const x = engine_random(COLUMNS * INNER);
    float out[COLUMNS * ROWS];
    struct args_matrix args = matrix_of(format, ROWS, COLUMNS);
    engine_run(check, &(struct engine_launch){{&args, weights, x, out, experts}, {2, COLUMNS, 1}});
    for (size_t c = 0; c < COLUMNS; c++)
        for (size_t r = 0; r < ROWS; r++) {
            double scale;
            const double wanted = product(format, weights, (size_t)experts[c] * ROWS + r,
                                          x + c * INNER, NULL, &scale);
            engine_expect(check, c * ROWS + r, (double)out[c * ROWS + r], wanted, 2e-6 * scale);
        }
    free(weights);
    free(x);
}

/* No further from the number than the step of the block's scale allows. */
static void check_quantize(const struct engine_check *check)
{
    enum { COUNT = 320 };
    const struct engine_format *const format = engine_format(check->format);
    static const struct {
        const char *name;
        double steps; /* over the whole range from the least to the greatest magnitude */
    } finest[] = {{"n4", 8}, {"n4m", 7.5}, {"n5", 16}, {"b8", 127}};
    double steps = 0;
    for (size_t i = 0; i < sizeof finest / sizeof *finest; i++)
        if (strcmp(finest[i].name, format->name) == 0)
            steps = finest[i].steps;
    float *const from = engine_random(COUNT);
    uint8_t *const to = engine_random_blocks(format, COUNT);
    struct args_rows args = {.count = COUNT};
    engine_run(check, &(struct engine_launch){{from, to, &args}, {1, 1, 1}});
    for (size_t i = 0; i < COUNT; i++)
        engine_expect(check, i, engine_value(format, to, i), (double)from[i], 1.05 / steps);
    free(from);
    free(to);
}

/* Transposed while it is copied. */
static void check_copy(const struct engine_check *check)
{
    enum { WIDTH = 70, HEIGHT = 6 };
    const struct engine_format *const format = engine_format("bf16");
    uint8_t *const from = engine_random_blocks(format, 432);
    uint16_t to[WIDTH * HEIGHT];
    struct args_copy args = {
        .ne = {WIDTH, HEIGHT, 1, 1}, .from = {2, 2 * WIDTH, 0, 0}, .to = {2 * HEIGHT, 2, 0, 0}};
    engine_run(check, &(struct engine_launch){{&args, from, to}, {HEIGHT, 1, 1}});
    for (size_t y = 0; y < HEIGHT; y++)
        for (size_t x = 0; x < WIDTH; x++)
            engine_expect(check, y * WIDTH + x, (double)fixture_from_half(to[x * HEIGHT + y]),
                          engine_half(engine_value(format, from, y * WIDTH + x)), 0);
    free(from);
}

#define ROWS(format)                                                                               \
    {                                                                                              \
        "get_rows_" format, 64, check_get_rows, format                                             \
    }
static const struct engine_check blocks[] = {
    ROWS("f32"),
    ROWS("f16"),
    ROWS("bf16"),
    ROWS("n4"),
    ROWS("n4m"),
    ROWS("n5"),
    ROWS("n5m"),
    ROWS("b8"),
    ROWS("f4"),
    ROWS("k4"),
    ROWS("k6"),
    ROWS("k2"),
    ROWS("t3"),
    {"quantize_n4", 32, check_quantize, "n4"},
    {"quantize_n4m", 32, check_quantize, "n4m"},
    {"quantize_n5", 32, check_quantize, "n5"},
    {"quantize_b8", 32, check_quantize, "b8"},
    {"copy_bf16_f16", 32, check_copy, NULL},
};
#define VECTOR(format)                                                                             \
    {                                                                                              \
        "mul_vec_" format, 64, check_mul_vec, format                                               \
    }
static const struct engine_check vectors[] = {
    VECTOR("f32"),
    VECTOR("bf16"),
    VECTOR("n4"),
    VECTOR("n5m"),
    VECTOR("b8"),
    VECTOR("f4"),
    VECTOR("k4"),
    VECTOR("k6"),
    VECTOR("t3"),
    {"mul_vec_wide_f16", 128, check_mul_vec_wide, "f16"},
    {"mul_vec_expert_b8", 64, check_mul_expert, "b8"},
};
#define TILES(format)                                                                              \
    {                                                                                              \
        "mul_mat_" format, 128, check_mul_mat, format                                              \
    }
static const struct engine_check tiles[] = {TILES("n4")};
static const struct engine_check more_tiles[] = {TILES("f32"), TILES("bf16"), TILES("k6"),
                                                 TILES("t3")};

const struct engine_family engine_blocks_family = {
    "blocks", blocks, sizeof blocks / sizeof *blocks, {{0, MSL_BOOL, 1}}};
const struct engine_family engine_vectors_family = {
    "vectors", vectors, sizeof vectors / sizeof *vectors, {{0, MSL_BOOL, 1}}};
const struct engine_family engine_tiles_family = {
    "tiles", tiles, sizeof tiles / sizeof *tiles, {{0, MSL_BOOL, 1}}};
const struct engine_family engine_more_tiles_family = {
    "more_tiles", more_tiles, sizeof more_tiles / sizeof *more_tiles, {{0, MSL_BOOL, 1}}};
