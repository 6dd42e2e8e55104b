/* SPDX-License-Identifier: Apache-2.0 */
/* What attention.metal computes, in double. */
#include "tests/msl/engine.h"
#include "tests/msl/engine_blocks.h"
#include "tests/unit/msl/msl_fixture.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 128 };

/* Weights of one query's keys; returns nothing when all are masked away. */
static void weigh(double *scores, size_t count)
{
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++)
        top = fmax(top, scores[i]);
    for (size_t i = 0; i < count; i++)
        sum += scores[i] = exp(scores[i] - top);
    for (size_t i = 0; i < count; i++)
        scores[i] /= sum;
}

static double mask_at(const uint8_t *mask, size_t i)
{
    return engine_value(engine_format("f16"), mask, i);
}

static void check_soft_max(const struct engine_check *check)
{
    struct args_attention args = {.queries = 3,
                                  .keys = 100,
                                  .heads = 2,
                                  .key_heads = 2,
                                  .scale = 0.7f,
                                  .slope_base = 0.5f,
                                  .has_mask = 1};
    float *const from = engine_random(600), *const to = engine_random(600);
    uint8_t *const mask = engine_random_blocks(engine_format("f16"), 320);
    engine_run(check, &(struct engine_launch){{from, mask, to, &args}, {3, 2, 1}});
    for (size_t row = 0; row < 6; row++) {
        double scores[MOST_KEYS];
        const size_t head = row / 3;
        const double slope = pow(0.5, (double)head + 1);
        for (size_t k = 0; k < 100; k++)
            scores[k] = (double)from[row * 100 + k] * (double)args.scale +
                        slope * mask_at(mask, row % 3 * 100 + k);
        weigh(scores, 100);
        for (size_t k = 0; k < 100; k++)
            engine_expect(check, row * 100 + k, (double)to[row * 100 + k], scores[k],
                          1e-6 + 1e-5 * scores[k]);
    }
    free(from);
    free(to);
    free(mask);
}

struct attention {
    const struct engine_format *format;
    struct args_attention args;
    size_t dims;
    float *q, *out;
    uint8_t *keys, *values, *mask;
};

/* Number d of a query's result. */
static void attend(const struct attention *a, size_t head, size_t query, double *out)
{
    double scores[MOST_KEYS];
    const size_t keys = (size_t)a->args.keys, dims = a->dims;
    const size_t own = head / ((size_t)a->args.heads / (size_t)a->args.key_heads);
    const size_t row = (head * (size_t)a->args.queries + query) * dims;
    for (size_t k = 0; k < keys; k++) {
        double score = 0;
        for (size_t d = 0; d < dims; d++)
            score += (double)a->q[row + d] * (double)a->args.scale *
                     engine_value(a->format, a->keys, (own * keys + k) * dims + d);
        const double cap = (double)a->args.cap;
        score = cap > 0 ? cap * tanh(score / cap) : score;
        scores[k] = score + pow((double)a->args.slope_base, (double)head + 1) *
                                mask_at(a->mask, query * keys + k);
    }
    weigh(scores, keys);
    for (size_t d = 0; d < dims; d++) {
        out[d] = 0;
        for (size_t k = 0; k < keys; k++)
            out[d] += scores[k] * engine_value(a->format, a->values, (own * keys + k) * dims + d);
    }
}

/* The first key is always seen, every fifth one behind it never. */
static void hide_some(uint8_t *mask, size_t queries, size_t keys)
{
    const uint16_t hidden = 0xfc00;
    for (size_t i = 0; i < queries * keys; i++)
        if (i % keys && i % 5 == 0)
            memcpy(mask + 2 * i, &hidden, sizeof hidden);
}

static void run_attention(const struct engine_check *check, size_t dims, uint32_t groups,
                          double tolerance)
{
    enum { QUERIES = 11, KEYS = 75, HEADS = 4, KEY_HEADS = 2 };
    struct attention a = {.format = engine_format(check->format), .dims = dims};
    a.args = (struct args_attention){.queries = QUERIES,
                                     .keys = KEYS,
                                     .heads = HEADS,
                                     .key_heads = KEY_HEADS,
                                     .scale = 0.3f,
                                     .cap = 5,
                                     .slope_base = 0.75f,
                                     .has_mask = 1};
    a.q = engine_random(HEADS * QUERIES * dims);
    a.out = engine_random(HEADS * QUERIES * dims);
    a.keys = engine_random_blocks(a.format, KEY_HEADS * KEYS * dims);
    a.values = engine_random_blocks(a.format, KEY_HEADS * KEYS * dims);
    a.mask = engine_random_blocks(engine_format("f16"), (QUERIES * KEYS + 15) / 16 * 16);
    hide_some(a.mask, QUERIES, KEYS);
    engine_run(check, &(struct engine_launch){{&a.args, a.q, a.keys, a.values, a.mask, a.out},
                                              {groups, HEADS, 1}});
    for (size_t row = 0; row < HEADS * QUERIES; row++) {
        double wanted[128];
        attend(&a, row / QUERIES, row % QUERIES, wanted);
        for (size_t d = 0; d < dims; d++)
            engine_expect(check, row * dims + d, (double)a.out[row * dims + d], wanted[d],
                          tolerance);
    }
    free(a.q);
    free(a.out);
    free(a.keys);
    free(a.values);
    free(a.mask);
}

static void check_attend_vec(const struct engine_check *check)
{
    run_attention(check, 64, 11, 1e-5);
}

/* Queries and weights are rounded to the keys' type, eight or eleven bits of it. */
static void check_attend_tile(const struct engine_check *check)
{
    const char *const name = check->format;
    run_attention(check, 32, 2,
                  strcmp(name, "f32") == 0   ? 1e-5
                  : strcmp(name, "f16") == 0 ? 2e-3
                                             : 2e-2);
}

static void expect_rope(const struct engine_check *check, const struct args_rope *args, bool neox,
                        const uint8_t *from, const int32_t *positions, const uint8_t *to)
{
    const struct engine_format *const format = engine_format(check->format);
    const size_t count = (size_t)args->count, rotated = (size_t)args->rotated;
    for (size_t row = 0; row < (size_t)args->heads * (size_t)args->tokens; row++)
        for (size_t i = 0; i < count; i += 2) {
            const size_t one = row * count + (i < rotated && neox ? i / 2 : i);
            const size_t two = one + (i < rotated && neox ? rotated / 2 : 1);
            const double x = engine_value(format, from, one), y = engine_value(format, from, two);
            const size_t token = row / (size_t)args->heads, pair = i / 2;
            const double plain =
                positions[token] * pow((double)args->base, -(double)i / (double)rotated);
            double ramp = ((double)pair - (double)args->corr_low) /
                          (double)(args->corr_high - args->corr_low);
            ramp = (1 - fmin(1, fmax(0, ramp))) * (double)args->ext_factor;
            const double angle = (double)args->freq_scale * plain * (1 - ramp) + plain * ramp;
            const double strength =
                (double)args->attn_factor * (1 + 0.1 * log(1 / (double)args->freq_scale));
            const bool turns = i < rotated;
            const double c = turns ? cos(angle) * strength : 1;
            const double s = turns ? sin(angle) * strength : 0;
            const double close = strcmp(check->format, "f32") == 0 ? 1e-5 : 1e-2;
            engine_expect(check, one, engine_value(format, to, one), x * c - y * s, close);
            engine_expect(check, two, engine_value(format, to, two), x * s + y * c, close);
        }
}

static void run_rope(const struct engine_check *check, bool neox)
{
    enum { COUNT = 48, ROTATED = 32, HEADS = 2, TOKENS = 3 };
    struct args_rope args = {COUNT, ROTATED, HEADS, TOKENS, 10000, 0.25f, 1, 1.5f, 3, 9};
    int32_t positions[TOKENS] = {0, 5, 11};
    float factors[ROTATED / 2];
    const struct engine_format *const format = engine_format(check->format);
    uint8_t *const from = engine_random_blocks(format, COUNT * HEADS * TOKENS);
    uint8_t *const to = engine_random_blocks(format, COUNT * HEADS * TOKENS);
    for (size_t i = 0; i < ROTATED / 2; i++)
        factors[i] = 1;
    engine_run(check,
               &(struct engine_launch){{&args, from, positions, factors, to}, {HEADS, TOKENS, 1}});
    expect_rope(check, &args, neox, from, positions, to);
    free(from);
    free(to);
}

static void check_rope_neox(const struct engine_check *check)
{
    run_rope(check, true);
}

static void check_rope_pairs(const struct engine_check *check)
{
    run_rope(check, false);
}

static void check_slope(const struct engine_check *check)
{
    float *const from = engine_random(100), *const to = engine_random(100);
    struct args_rows args = {.count = 100};
    engine_run(check, &(struct engine_launch){{from, to, &args}, {4, 1, 1}});
    for (size_t i = 0; i < 100; i++)
        engine_expect(check, i, (double)to[i],
                      from[i] < 0 ? 0.25 * (double)from[i] : (double)from[i], 0);
    free(from);
    free(to);
}

static const struct engine_check attention[] = {
    {"soft_max_f16", 64, check_soft_max, "f16"},
    {"attend_vec_f16_64", 128, check_attend_vec, "f16"},
    {"attend_vec_bf16_64", 128, check_attend_vec, "bf16"},
    {"attend_tile_f16_32", 128, check_attend_tile, "f16"},
    {"attend_tile_bf16_32", 128, check_attend_tile, "bf16"},
    {"rope_f32", 32, check_rope_neox, "f32"},
    {"rope_bf16", 32, check_rope_neox, "bf16"},
};
/* No function constant is given: the source's own values hold. */
static const struct engine_check defaults[] = {
    {"rope_f32", 32, check_rope_pairs, "f32"},
    {"unary_f32", 32, check_slope, NULL},
};

const struct engine_family engine_attention_family = {
    "attention", attention, sizeof attention / sizeof *attention, {{3, MSL_BOOL, 1}}};
const struct engine_family engine_defaults_family = {
    "defaults", defaults, sizeof defaults / sizeof *defaults, {{0, 0, 0}}};
