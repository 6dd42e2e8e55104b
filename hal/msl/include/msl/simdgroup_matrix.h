/* SPDX-License-Identifier: Apache-2.0 */
/* <metal_simdgroup_matrix>: 8x8 matrices that the 32 lanes of a simdgroup hold together. */
#ifndef MSL_SIMDGROUP_MATRIX_H
#define MSL_SIMDGROUP_MATRIX_H

#include "msl/simd.h"

namespace msl
{
/* Where a lane's two neighbouring elements lie. The language leaves it open; sources rely on the
 * layout of Apple's GPUs: 4x4 quadrants of eight lanes, two columns each. */
struct place {
    int row, column;
};
MSL_INLINE place place_of(uint32_t lane)
{
    const int quad = int(lane / 4);
    return place{(quad & 4) + int(lane / 2 % 4), (quad & 2) * 2 + int(lane % 2) * 2};
}

/* What one lane brings into a multiplication, and the multiplication of all. */
struct factors {
    float a[2], b[2];
};
__attribute__((noinline, unused)) static void multiply_8x8(const void *lanes, uint32_t,
                                                           void *result)
{
    const factors *all = (const factors *)lanes;
    float a[8][8], b[8][8];
    for (uint32_t lane = 0; lane < MSL_ABI_SIMD_WIDTH; lane++) {
        const place p = place_of(lane);
        for (int i = 0; i < 2; i++) {
            a[p.row][p.column + i] = all[lane].a[i];
            b[p.row][p.column + i] = all[lane].b[i];
        }
    }
    float(*product)[8] = (float(*)[8])result;
    for (int row = 0; row < 8; row++) {
        float sum[8] = {};
        for (int k = 0; k < 8; k++)
            for (int column = 0; column < 8; column++)
                sum[column] += a[row][k] * b[k][column];
        for (int column = 0; column < 8; column++)
            product[row][column] = sum[column];
    }
}
} // namespace msl

namespace metal
{
template <class T, int C, int R = C> struct simdgroup_matrix {
    static_assert(C == 8 && R == 8, "simdgroup matrices are 8x8");
    typedef vec<T, 2> storage_type;
    storage_type elements;

    simdgroup_matrix() = default;
    MSL_INLINE explicit simdgroup_matrix(T diagonal)
    {
        const msl::place p = msl::place_of(__msl_lane());
        elements = storage_type(p.row == p.column ? diagonal : T(0),
                                p.row == p.column + 1 ? diagonal : T(0));
    }
    MSL_INLINE storage_type &thread_elements()
    {
        return elements;
    }
    MSL_INLINE const storage_type &thread_elements() const
    {
        return elements;
    }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

template <class T, int C, int R>
MSL_INLINE simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(T value)
{
    simdgroup_matrix<T, C, R> m;
    m.elements = vec<T, 2>(value);
    return m;
}
template <class T, int C> MSL_INLINE simdgroup_matrix<T, C, C> make_filled_simdgroup_matrix(T value)
{
    return make_filled_simdgroup_matrix<T, C, C>(value);
}

template <class T, class U>
MSL_INLINE void simdgroup_load(simdgroup_matrix<T, 8, 8> &m, const U *source,
                               ulong elements_per_row = 8, vec<ulong, 2> origin = vec<ulong, 2>(0),
                               bool transposed = false)
{
    const msl::place p = msl::place_of(__msl_lane());
    for (int i = 0; i < 2; i++) {
        const ulong row = transposed ? p.column + i : p.row,
                    column = transposed ? p.row : p.column + i;
        m.elements[i] = T(source[(row + origin.y) * elements_per_row + column + origin.x]);
    }
}
template <class T, class U>
MSL_INLINE void simdgroup_store(const simdgroup_matrix<T, 8, 8> &m, U *target,
                                ulong elements_per_row = 8, vec<ulong, 2> origin = vec<ulong, 2>(0),
                                bool transposed = false)
{
    const msl::place p = msl::place_of(__msl_lane());
    for (int i = 0; i < 2; i++) {
        const ulong row = transposed ? p.column + i : p.row,
                    column = transposed ? p.row : p.column + i;
        target[(row + origin.y) * elements_per_row + column + origin.x] = U(m.elements[i]);
    }
    simdgroup_barrier(mem_flags::mem_none);
}
template <class D, class A, class B, class C>
MSL_INLINE void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8> &d,
                                              const simdgroup_matrix<A, 8, 8> &a,
                                              const simdgroup_matrix<B, 8, 8> &b,
                                              const simdgroup_matrix<C, 8, 8> &c)
{
    const msl::factors own = {{float(a.elements.x), float(a.elements.y)},
                              {float(b.elements.x), float(b.elements.y)}};
    uint32_t active;
    const float *product =
        (const float *)__msl_exchange(&own, sizeof own, msl::multiply_8x8, &active);
    const msl::place p = msl::place_of(__msl_lane());
    product += p.row * 8 + p.column;
    d.elements =
        vec<D, 2>(D(product[0] + float(c.elements.x)), D(product[1] + float(c.elements.y)));
}
template <class D, class A, class B>
MSL_INLINE void simdgroup_multiply(simdgroup_matrix<D, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a,
                                   const simdgroup_matrix<B, 8, 8> &b)
{
    simdgroup_matrix<D, 8, 8> zero;
    zero.elements = vec<D, 2>(D(0));
    simdgroup_multiply_accumulate(d, a, b, zero);
}
template <class A, class B>
MSL_INLINE simdgroup_matrix<A, 8, 8> operator*(const simdgroup_matrix<A, 8, 8> &a,
                                               const simdgroup_matrix<B, 8, 8> &b)
{
    simdgroup_matrix<A, 8, 8> d;
    simdgroup_multiply(d, a, b);
    return d;
}
} // namespace metal

#endif
