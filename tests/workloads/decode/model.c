/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded weights, and the reference that the device's results are checked against. */
#include "tests/workloads/decode/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Half precision ----------------------------------------------------------------------- */

/* Rounds to nearest, ties to even; for finite values inside half's range. */
static uint16_t half_from_float(float value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    const float fraction = frexpf(fabsf(value), &exponent); /* [0.5, 1) */
    if (exponent < -13 || value == 0.0f)                    /* subnormal: multiples of 2^-24 */
        return (uint16_t)(sign | (uint16_t)lrintf(ldexpf(fabsf(value), 24)));
    const long mantissa = lrintf(ldexpf(fraction, 11)); /* [1024, 2048]: 2048 carries over */
    return (uint16_t)(sign | (uint16_t)(((exponent + 13) << 10) + mantissa));
}

static float float_from_half(uint16_t half)
{
    const int exponent = (half >> 10) & 31, mantissa = half & 1023;
    const float magnitude = exponent == 0 ? ldexpf((float)mantissa, -24)
                                          : ldexpf((float)(mantissa + 1024), exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

/* ---- Weights ------------------------------------------------------------------------------ */

/* SplitMix64: one step, and a stream of them. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static uint64_t next_random(uint64_t *stream)
{
    *stream += 0x9e3779b97f4a7c15u;
    return mix(*stream);
}

/* [-1, 1), a multiple of 2^-23: exact in float. */
static float unit_from_bits(uint64_t bits)
{
    return (float)((int32_t)(bits >> 40) - (1 << 23)) * 0x1p-23f;
}

size_t model_layer_weights(const struct model *model)
{
    return (size_t)model->width * model->width;
}

size_t model_layer_scales(const struct model *model)
{
    return model_layer_weights(model) / MODEL_BLOCK_COLUMNS;
}

static void *allocate(size_t count, size_t bytes_each)
{
    return calloc(count ? count : 1, bytes_each);
}

bool model_init(struct model *model)
{
    const size_t weights = model->layers * model_layer_weights(model);
    const size_t scales = model->layers * model_layer_scales(model);
    const size_t vectors = (size_t)model->layers * model->width;
    model->weights = allocate(weights, sizeof *model->weights);
    model->scales = allocate(scales, sizeof *model->scales);
    model->bias = allocate(vectors, sizeof *model->bias);
    model->gain = allocate(vectors, sizeof *model->gain);
    if (!model->weights || !model->scales || !model->bias || !model->gain)
        return false;

    uint64_t stream = mix(model->seed);
    for (size_t i = 0; i < weights; i++)
        model->weights[i] = (int8_t)(next_random(&stream) % 255) - 127;
    /* A row of `width` weights times normalized inputs then has a variance of about one, at any
     * width, so that neither depth nor size drives the state out of range. */
    const float scale = sqrtf(3.0f / (float)model->width) / 127.0f;
    for (size_t i = 0; i < scales; i++)
        model->scales[i] =
            half_from_float(scale * (1.0f + 0.25f * unit_from_bits(next_random(&stream))));
    for (size_t i = 0; i < vectors; i++) {
        model->bias[i] = 0.5f * unit_from_bits(next_random(&stream));
        model->gain[i] = 1.0f + 0.25f * unit_from_bits(next_random(&stream));
    }
    return true;
}

void model_finish(struct model *model)
{
    free(model->weights);
    free(model->scales);
    free(model->bias);
    free(model->gain);
    *model = (struct model){0};
}

void model_embed(const struct model *model, uint64_t position, uint32_t token, float *out_state)
{
    uint64_t stream = mix(mix(mix(~model->seed) + position) + token);
    for (uint32_t i = 0; i < model->width; i++)
        out_state[i] = unit_from_bits(next_random(&stream));
}

/* ---- Reference ---------------------------------------------------------------------------- */

static void normalize(const struct model *model, const float *gain, const double *state,
                      double *out_normalized)
{
    double sum = 0;
    for (uint32_t i = 0; i < model->width; i++)
        sum += state[i] * state[i];
    const double inverse_rms = 1.0 / sqrt(sum / model->width + (double)MODEL_EPSILON);
    for (uint32_t i = 0; i < model->width; i++)
        out_normalized[i] = state[i] * inverse_rms * (double)gain[i];
}

static void project(const struct model *model, uint32_t layer, const double *normalized,
                    double *out_projected)
{
    const size_t width = model->width;
    const int8_t *weights = model->weights + layer * model_layer_weights(model);
    const uint16_t *scales = model->scales + layer * model_layer_scales(model);
    for (size_t row = 0; row < width; row++)
        out_projected[row] = (double)model->bias[layer * width + row];
    for (size_t block = 0; block < width / MODEL_BLOCK_COLUMNS; block++) {
        for (size_t row = 0; row < width; row++) {
            double sum = 0;
            for (size_t i = 0; i < MODEL_BLOCK_COLUMNS; i++) {
                const size_t column = block * MODEL_BLOCK_COLUMNS + i;
                const int weight = weights[(column / 4 * width + row) * 4 + column % 4];
                sum += weight * normalized[column];
            }
            out_projected[row] += sum * (double)float_from_half(scales[block * width + row]);
        }
    }
}

void model_reference(const struct model *model, double *state, double *scratch)
{
    double *normalized = scratch, *projected = scratch + model->width;
    for (uint32_t layer = 0; layer < model->layers; layer++) {
        normalize(model, model->gain + (size_t)layer * model->width, state, normalized);
        project(model, layer, normalized, projected);
        for (uint32_t i = 0; i < model->width; i++)
            state[i] += projected[i] / (1.0 + exp(-projected[i]));
    }
}

uint32_t model_next_token(const struct model *model, const float *state)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < model->width; i++) {
        if (state[i] > state[best])
            best = i;
    }
    return best;
}
