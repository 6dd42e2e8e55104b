/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder's numbers: seeded random weights in the layout that the kernels read, and the same
 * computation in plain C to check them. Knows nothing of the HAL.
 *
 * A layer computes  state += silu(weights * rms_norm(state, gain) + bias). */
#ifndef WORKLOADS_DECODE_MODEL_H
#define WORKLOADS_DECODE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Must agree with decode.metal. */
enum { MODEL_BLOCK_COLUMNS = 32, MODEL_NORM_THREADS = 256 };
#define MODEL_EPSILON 1e-5f

/* Keeps every size below within 64 bits. */
enum { MODEL_MAX_WIDTH = 16384, MODEL_MAX_LAYERS = 1024 };

struct model {
    uint32_t width;  /* values per token, a multiple of MODEL_BLOCK_COLUMNS */
    uint32_t layers; /* each array below holds the layers one after the other */
    uint64_t seed;
    int8_t *weights;  /* [column / 4][row][column % 4] */
    uint16_t *scales; /* half: [column / MODEL_BLOCK_COLUMNS][row] */
    float *bias;      /* [row] */
    float *gain;      /* [column] */
};

/* Elements of one layer. */
size_t model_layer_weights(const struct model *model);
size_t model_layer_scales(const struct model *model);

/* Fills a model with width, layers and seed given. False: memory is out. Either way the caller
 * finishes it. */
bool model_init(struct model *model);
void model_finish(struct model *model);

/* The input for the token `token` at a position: `width` values of [-1, 1). */
void model_embed(const struct model *model, uint64_t position, uint32_t token, float *out_state);

/* Runs all layers on `state` in place, in double precision. `scratch` has 2 * width elements. */
void model_reference(const struct model *model, double *state, double *scratch);

/* The token that the final state means: the index of its largest value. */
uint32_t model_next_token(const struct model *model, const float *state);

#endif
