/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of one decoder layer: RMS norm, int8 matrix-vector product, SiLU, residual add.
 * Every kernel takes its sizes as push constants and leaves threads beyond them idle. */
#include <metal_stdlib>

using namespace metal;

/* Must agree with model.h. */
constant uint block_columns = 32; /* weights that share one scale */
constant uint norm_threads = 256; /* threads of the norm's single threadgroup */

struct norm_constants {
    uint width;
    float epsilon;
};

/* normalized = state / rms(state) * gain. One threadgroup: each thread sums a strided part, then
 * the parts are added pairwise in threadgroup memory. */
kernel void rms_norm(device const float *state [[buffer(0)]],
                     device const float *gain [[buffer(1)]],
                     device float *normalized [[buffer(2)]],
                     constant norm_constants &constants [[buffer(3)]],
                     uint thread_index [[thread_position_in_threadgroup]])
{
    threadgroup float partial[norm_threads];

    float sum = 0.0f;
    for (uint i = thread_index; i < constants.width; i += norm_threads)
        sum += state[i] * state[i];
    partial[thread_index] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);

    for (uint half_count = norm_threads / 2; half_count > 0; half_count /= 2) {
        if (thread_index < half_count)
            partial[thread_index] += partial[thread_index + half_count];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }

    const float inverse_rms = rsqrt(partial[0] / float(constants.width) + constants.epsilon);
    for (uint i = thread_index; i < constants.width; i += norm_threads)
        normalized[i] = state[i] * inverse_rms * gain[i];
}

/* projected = weights * normalized + bias, one thread per row. Four neighbouring columns of a row
 * form one char4, and those of neighbouring rows lie side by side, so neighbouring threads read
 * neighbouring bytes. */
kernel void matrix_vector(device const char4 *weights [[buffer(0)]],
                          device const half *scales [[buffer(1)]],
                          device const float *bias [[buffer(2)]],
                          device const float4 *normalized [[buffer(3)]],
                          device float *projected [[buffer(4)]],
                          constant uint &width [[buffer(5)]],
                          uint row [[thread_position_in_grid]])
{
    if (row >= width)
        return;
    float sum = bias[row];
    for (uint block = 0; block < width / block_columns; block++) {
        float block_sum = 0.0f;
        for (uint i = 0; i < block_columns / 4; i++) {
            const uint group = block * (block_columns / 4) + i;
            block_sum += dot(float4(weights[group * width + row]), normalized[group]);
        }
        sum += block_sum * float(scales[block * width + row]);
    }
    projected[row] = sum;
}

/* projected = projected * sigmoid(projected), in place. */
kernel void silu(device float *projected [[buffer(0)]],
                 constant uint &width [[buffer(1)]],
                 uint i [[thread_position_in_grid]])
{
    if (i >= width)
        return;
    const float x = projected[i];
    projected[i] = x / (1.0f + exp(-x));
}

/* state += projected. */
kernel void residual_add(device float *state [[buffer(0)]],
                         device const float *projected [[buffer(1)]],
                         constant uint &width [[buffer(2)]],
                         uint i [[thread_position_in_grid]])
{
    if (i < width)
        state[i] += projected[i];
}
