/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of decode.metal for devices that run SPIR-V: each is compiled with KERNEL_name
 * defined, under that name, and all are linked into one module. Buffer n is binding n. */
#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types : require

/* Must agree with model.h. */
const uint block_columns = 32; /* weights that share one scale */
const uint norm_threads = 256; /* threads of the norm's single workgroup */

#define BUFFER(n, type, name) layout(set = 0, binding = n, std430) buffer B##n { type name[]; };
#define CONSTANTS(members) layout(push_constant) uniform Constants { members };
#define GROUP(x) layout(local_size_x = x) in;

#if defined(KERNEL_rms_norm)
GROUP(norm_threads)
BUFFER(0, float, state)
BUFFER(1, float, gain)
BUFFER(2, float, normalized)
CONSTANTS(uint width; float epsilon;)
shared float partial[norm_threads];
void main()
{
    const uint thread_index = gl_LocalInvocationID.x;
    float sum = 0.0;
    for (uint i = thread_index; i < width; i += norm_threads)
        sum += state[i] * state[i];
    partial[thread_index] = sum;
    barrier();

    for (uint half_count = norm_threads / 2; half_count > 0; half_count /= 2) {
        if (thread_index < half_count)
            partial[thread_index] += partial[thread_index + half_count];
        barrier();
    }

    const float inverse_rms = inversesqrt(partial[0] / float(width) + epsilon);
    for (uint i = thread_index; i < width; i += norm_threads)
        normalized[i] = state[i] * inverse_rms * gain[i];
}
#elif defined(KERNEL_matrix_vector)
GROUP(64)
BUFFER(0, i8vec4, weights)
BUFFER(1, float16_t, scales)
BUFFER(2, float, bias)
BUFFER(3, vec4, normalized)
BUFFER(4, float, projected)
CONSTANTS(uint width;)
void main()
{
    const uint row = gl_GlobalInvocationID.x;
    if (row >= width)
        return;
    float sum = bias[row];
    for (uint block = 0; block < width / block_columns; block++) {
        float block_sum = 0.0;
        for (uint i = 0; i < block_columns / 4; i++) {
            const uint group = block * (block_columns / 4) + i;
            block_sum += dot(vec4(weights[group * width + row]), normalized[group]);
        }
        sum += block_sum * float(scales[block * width + row]);
    }
    projected[row] = sum;
}
#elif defined(KERNEL_silu)
GROUP(64)
BUFFER(0, float, projected)
CONSTANTS(uint width;)
void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i >= width)
        return;
    const float x = projected[i];
    projected[i] = x / (1.0 + exp(-x));
}
#elif defined(KERNEL_residual_add)
GROUP(64)
BUFFER(0, float, state)
BUFFER(1, float, projected)
CONSTANTS(uint width;)
void main()
{
    const uint i = gl_GlobalInvocationID.x;
    if (i < width)
        state[i] += projected[i];
}
#endif
