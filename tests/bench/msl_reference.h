/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of bench-msl compute, as loops written by hand; compiled as kernels are. */
#ifndef TESTS_BENCH_MSL_REFERENCE_H
#define TESTS_BENCH_MSL_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

void reference_add(const float *restrict a, const float *restrict b, float *restrict c, size_t n);
void reference_saxpy(float a, const float *restrict x, float *restrict y, size_t n);
/* Tiles of 16x16 and 8x8; square matrices of n, a multiple of 16. */
void reference_matmul_16(const float *restrict a, const float *restrict b, float *restrict c,
                         size_t n);
void reference_matmul_8(const float *restrict a, const float *restrict b, float *restrict c,
                        size_t n);
/* Each group's sum of `length` numbers: in 32 partial sums; 1024 at a time, each 32 of 256 sums
 * folded to one and those to one, as the kernel does; and by halves, 256 at a time. */
void reference_reduce(const float *restrict in, float *restrict out, size_t groups, size_t length);
void reference_reduce_folded(const float *restrict in, float *restrict out, size_t groups,
                             size_t length);
void reference_tree(const float *restrict in, float *restrict out, size_t groups);
/* scales: _Float16, one per row. columns: a multiple of 32. */
void reference_matrix_vector(const int8_t *restrict weights, const float *restrict x,
                             const void *restrict scales, float *restrict y, size_t rows,
                             size_t columns);

#endif
