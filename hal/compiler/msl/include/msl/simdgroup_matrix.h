/* SPDX-License-Identifier: Apache-2.0 */
/* <metal_simdgroup_matrix>: 8x8 matrices that the 32 lanes of a simdgroup hold together. */
#ifndef MSL_SIMDGROUP_MATRIX_H
#define MSL_SIMDGROUP_MATRIX_H

#include "msl/simd.h"

namespace msl
{
/* The position of a lane's two adjacent elements, as the pair's number in rows of four. The
 * language leaves it open; sources rely on the layout of Apple's GPUs: 4x4 quadrants of eight
 * lanes, two columns each. */
MSL_INLINE uint32_t pair_of(uint32_t lane)
{
    const uint32_t quad = lane / 4, row = (quad & 4) + lane / 2 % 4;
    return row * 4 + (quad & 2) + lane % 2;
}

/* A whole matrix, as every lane temporarily sees it: rows of machine numbers. */
template <class T> struct element_of {
    typedef T type;
};
template <> struct element_of<bfloat> {
    typedef uint16_t type;
};
template <class T> using tile_row = row_of<typename element_of<T>::type, 8>;
template <class T> struct tile {
    alignas(64) tile_row<T> row[8];
};

template <class T> MSL_INLINE row_of<float, 8> to_floats(tile_row<T> row)
{
    if constexpr (is_bfloat<T>) {
        typedef row_of<uint32_t, 8> bits;
        typedef row_of<float, 8> floats;
        const bits wide = __builtin_convertvector(row, bits) << 16;
        return __builtin_bit_cast(floats, wide);
    } else {
        typedef row_of<float, 8> floats;
        return __builtin_convertvector(row, floats);
    }
}
template <class T> MSL_INLINE tile_row<T> from_floats(row_of<float, 8> row)
{
    if constexpr (is_bfloat<T>) {
        typedef row_of<uint32_t, 8> bits;
        const bits wide = __builtin_bit_cast(bits, row);
        const bits rounded = (wide + 0x7fffu + (wide >> 16 & 1u)) >> 16;
        const bits number = (wide & 0x7fffffffu) > 0x7f800000u ? (wide >> 16 | 0x40u) : rounded;
        return __builtin_convertvector(number, tile_row<bfloat>);
    } else {
        typedef tile_row<T> result;
        return __builtin_convertvector(row, result);
    }
}
template <class T> MSL_INLINE typename element_of<T>::type to_element(T value)
{
    if constexpr (is_bfloat<T>)
        return value.bits;
    else
        return value;
}
template <class T> MSL_INLINE T from_element(typename element_of<T>::type value)
{
    if constexpr (is_bfloat<T>)
        return __builtin_bit_cast(bfloat, value);
    else
        return value;
}

template <class T> MSL_INLINE metal::vec<T, 2> spread(const tile<T> &all)
{
    metal::vec<T, 2> pair;
    __msl_spread(&all, &pair, sizeof(T));
    return pair;
}
template <class T> MSL_INLINE tile<T> collect(const metal::vec<T, 2> &pair)
{
    tile<T> all;
    __msl_collect(&pair, &all, sizeof(T));
    return all;
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
        msl::tile<T> all = {};
#pragma clang loop unroll(full)
        for (int i = 0; i < 8; i++)
            all.row[i][i] = msl::to_element(diagonal);
        elements = msl::spread(all);
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
    msl::tile<T> all;
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; i++)
        all.row[i] = msl::tile_row<T>(msl::to_element(value));
    simdgroup_matrix<T, C, R> m;
    m.elements = msl::spread(all);
    return m;
}
template <class T, int C> MSL_INLINE simdgroup_matrix<T, C, C> make_filled_simdgroup_matrix(T value)
{
    return make_filled_simdgroup_matrix<T, C, C>(value);
}

/* All lanes call these with the same arguments; each could do it alone. */
template <class T, class U>
MSL_INLINE void simdgroup_load(simdgroup_matrix<T, 8, 8> &m, const U *source,
                               ulong elements_per_row = 8, vec<ulong, 2> origin = vec<ulong, 2>(0),
                               bool transposed = false)
{
    msl::tile<T> all;
    source += origin.y * elements_per_row + origin.x;
    if (transposed) {
#pragma clang loop unroll(full)
        for (int row = 0; row < 8; row++)
#pragma clang loop unroll(full)
            for (int column = 0; column < 8; column++)
                all.row[row][column] = msl::to_element(T(source[column * elements_per_row + row]));
    } else {
#pragma clang loop unroll(full)
        for (int row = 0; row < 8; row++) {
            msl::tile_row<U> numbers;
            __builtin_memcpy(&numbers, source + row * elements_per_row, 8 * sizeof(U));
            if constexpr (__is_same(T, U))
                all.row[row] = numbers;
            else
                all.row[row] = msl::from_floats<T>(msl::to_floats<U>(numbers));
        }
    }
    m.elements = msl::spread(all);
}
template <class T, class U>
MSL_INLINE void simdgroup_store(const simdgroup_matrix<T, 8, 8> &m, U *target,
                                ulong elements_per_row = 8, vec<ulong, 2> origin = vec<ulong, 2>(0),
                                bool transposed = false)
{
    const msl::tile<T> all = msl::collect(m.elements);
    target += origin.y * elements_per_row + origin.x;
    if (__msl_lane() == 0 && transposed) {
#pragma clang loop unroll(full)
        for (int row = 0; row < 8; row++)
#pragma clang loop unroll(full)
            for (int column = 0; column < 8; column++)
                target[column * elements_per_row + row] =
                    U(msl::from_element<T>(all.row[row][column]));
    } else if (__msl_lane() == 0) {
#pragma clang loop unroll(full)
        for (int row = 0; row < 8; row++) {
            msl::tile_row<U> numbers;
            if constexpr (__is_same(T, U))
                numbers = all.row[row];
            else
                numbers = msl::from_floats<U>(msl::to_floats<T>(all.row[row]));
            __builtin_memcpy(target + row * elements_per_row, &numbers, 8 * sizeof(U));
        }
    }
    simdgroup_barrier(mem_flags::mem_none);
}
template <class D, class A, class B, class C>
MSL_INLINE void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8> &d,
                                              const simdgroup_matrix<A, 8, 8> &a,
                                              const simdgroup_matrix<B, 8, 8> &b,
                                              const simdgroup_matrix<C, 8, 8> &c)
{
    const msl::tile<A> left = msl::collect(a.elements);
    const msl::tile<B> right = msl::collect(b.elements);
    const msl::tile<C> addend = msl::collect(c.elements);
    msl::tile<D> all;
#pragma clang loop unroll(full)
    for (int row = 0; row < 8; row++) {
        const msl::row_of<float, 8> factors = msl::to_floats<A>(left.row[row]);
        msl::row_of<float, 8> sum = factors[0] * msl::to_floats<B>(right.row[0]);
#pragma clang loop unroll(full)
        for (int k = 1; k < 8; k++)
            sum += factors[k] * msl::to_floats<B>(right.row[k]);
        all.row[row] = msl::from_floats<D>(sum + msl::to_floats<C>(addend.row[row]));
    }
    d.elements = msl::spread(all);
}
template <class D, class A, class B>
MSL_INLINE void simdgroup_multiply(simdgroup_matrix<D, 8, 8> &d, const simdgroup_matrix<A, 8, 8> &a,
                                   const simdgroup_matrix<B, 8, 8> &b)
{
    const simdgroup_matrix<D, 8, 8> zero = make_filled_simdgroup_matrix<D, 8, 8>(D(0));
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
