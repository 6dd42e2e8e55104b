/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-written loops for bench-msl. */
#include "tests/bench/msl_reference.h"

void reference_add(const float *restrict a, const float *restrict b, float *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

void reference_saxpy(float a, const float *restrict x, float *restrict y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

void reference_matmul_16(const float *restrict a, const float *restrict b, float *restrict c,
                         size_t n)
{
    float left[16][16], right[16][16];
    for (size_t row = 0; row < n; row += 16)
        for (size_t column = 0; column < n; column += 16) {
            float sum[16][16] = {{0}};
            for (size_t k = 0; k < n; k += 16) {
                for (size_t y = 0; y < 16; y++)
                    for (size_t x = 0; x < 16; x++) {
                        left[y][x] = a[(row + y) * n + k + x];
                        right[y][x] = b[(k + y) * n + column + x];
                    }
                for (size_t y = 0; y < 16; y++)
                    for (size_t j = 0; j < 16; j++)
                        for (size_t x = 0; x < 16; x++)
                            sum[y][x] += left[y][j] * right[j][x];
            }
            for (size_t y = 0; y < 16; y++)
                for (size_t x = 0; x < 16; x++)
                    c[(row + y) * n + column + x] = sum[y][x];
        }
}

void reference_matmul_8(const float *restrict a, const float *restrict b, float *restrict c,
                        size_t n)
{
    for (size_t row = 0; row < n; row += 8)
        for (size_t column = 0; column < n; column += 8) {
            float sum[8][8] = {{0}};
            for (size_t k = 0; k < n; k++)
                for (size_t y = 0; y < 8; y++) {
                    const float factor = a[(row + y) * n + k];
                    for (size_t x = 0; x < 8; x++)
                        sum[y][x] += factor * b[k * n + column + x];
                }
            for (size_t y = 0; y < 8; y++)
                for (size_t x = 0; x < 8; x++)
                    c[(row + y) * n + column + x] = sum[y][x];
        }
}

void reference_reduce(const float *restrict in, float *restrict out, size_t groups, size_t length)
{
    for (size_t g = 0; g < groups; g++) {
        float partial[32] = {0}, sum = 0;
        for (size_t i = 0; i < length; i += 32)
            for (size_t k = 0; k < 32; k++)
                partial[k] += in[g * length + i + k];
        for (size_t k = 0; k < 32; k++)
            sum += partial[k];
        out[g] = sum;
    }
}

void reference_reduce_folded(const float *restrict in, float *restrict out, size_t groups,
                             size_t length)
{
    for (size_t g = 0; g < groups; g++) {
        float sum = 0;
        for (size_t chunk = 0; chunk < length; chunk += 1024) {
            const float *const at = in + g * length + chunk;
            float parts[32] = {0};
            for (size_t simd = 0; simd < 8; simd++) {
                float lanes[32];
                for (size_t k = 0; k < 32; k++) {
                    const float *const own = at + simd * 32 + k;
                    lanes[k] = own[0] + own[256] + own[512] + own[768];
                }
                for (size_t half = 16; half; half /= 2)
                    for (size_t k = 0; k < half; k++)
                        lanes[k] += lanes[k + half];
                parts[simd] = lanes[0];
            }
            for (size_t half = 16; half; half /= 2)
                for (size_t k = 0; k < half; k++)
                    parts[k] += parts[k + half];
            sum += parts[0];
        }
        out[g] = sum;
    }
}

void reference_tree(const float *restrict in, float *restrict out, size_t groups)
{
    float sum[256];
    for (size_t g = 0; g < groups; g++) {
        for (size_t i = 0; i < 256; i++)
            sum[i] = in[g * 256 + i];
        for (size_t half = 128; half; half /= 2)
#pragma clang loop vectorize(assume_safety)
            for (size_t i = 0; i < half; i++)
                sum[i] += sum[i + half];
        out[g] = sum[0];
    }
}

void reference_matrix_vector(const int8_t *restrict weights, const float *restrict x,
                             const void *restrict scales, float *restrict y, size_t rows,
                             size_t columns)
{
    const _Float16 *const scale = scales;
    for (size_t row = 0; row < rows; row++) {
        float partial[32] = {0}, sum = 0;
        for (size_t i = 0; i < columns; i += 32)
            for (size_t k = 0; k < 32; k++)
                partial[k] += (float)weights[row * columns + i + k] * x[i + k];
        for (size_t k = 0; k < 32; k++)
            sum += partial[k];
        y[row] = sum * (float)scale[row];
    }
}
