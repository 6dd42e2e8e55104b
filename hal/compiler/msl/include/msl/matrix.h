/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices by columns: matrix<T, C, R>, float2x2 to half4x4. */
#ifndef MSL_MATRIX_H
#define MSL_MATRIX_H

#include "msl/vector.h"

namespace metal
{
template <class T, int C, int R> struct matrix {
    vec<T, R> columns[C];

    matrix() = default;
    /* A scalar fills the diagonal. */
    template <class U, class = enable_if_t<msl::is_number<U>>>
    MSL_INLINE constexpr explicit matrix(U diagonal)
    {
        for (int i = 0; i < C; i++) {
            columns[i] = vec<T, R>(T(0));
            if (i < R)
                columns[i][i] = T(diagonal);
        }
    }
    template <class... A,
              class = enable_if_t<sizeof...(A) == C && (is_convertible_v<A, vec<T, R>> && ...)>>
    MSL_INLINE constexpr matrix(const A &...a) : columns{vec<T, R>(a)...}
    {
    }
    template <class A, class... B,
              class = enable_if_t<sizeof...(B) + 1 == C * R && msl::is_number<A>>, class = void>
    MSL_INLINE constexpr matrix(A a, B... b)
    {
        const T all[] = {T(a), T(b)...};
        for (int c = 0; c < C; c++)
            for (int r = 0; r < R; r++)
                columns[c][r] = all[c * R + r];
    }
    template <class U> MSL_INLINE constexpr explicit matrix(const matrix<U, C, R> &o)
    {
        for (int i = 0; i < C; i++)
            columns[i] = vec<T, R>(o.columns[i]);
    }
    MSL_INLINE constexpr vec<T, R> &operator[](long i)
    {
        return columns[i];
    }
    MSL_INLINE constexpr const vec<T, R> &operator[](long i) const
    {
        return columns[i];
    }

    MSL_INLINE friend constexpr matrix operator+(matrix a, const matrix &b)
    {
        for (int i = 0; i < C; i++)
            a.columns[i] += b.columns[i];
        return a;
    }
    MSL_INLINE friend constexpr matrix operator-(matrix a, const matrix &b)
    {
        for (int i = 0; i < C; i++)
            a.columns[i] -= b.columns[i];
        return a;
    }
    MSL_INLINE friend constexpr matrix operator*(matrix a, T s)
    {
        for (int i = 0; i < C; i++)
            a.columns[i] *= s;
        return a;
    }
    MSL_INLINE friend constexpr matrix operator*(T s, const matrix &a)
    {
        return a * s;
    }
    MSL_INLINE friend constexpr matrix operator/(matrix a, T s)
    {
        for (int i = 0; i < C; i++)
            a.columns[i] /= s;
        return a;
    }
    MSL_INLINE friend constexpr vec<T, R> operator*(const matrix &a, const vec<T, C> &v)
    {
        vec<T, R> sum = a.columns[0] * v[0];
        for (int i = 1; i < C; i++)
            sum += a.columns[i] * v[i];
        return sum;
    }
    MSL_INLINE friend constexpr vec<T, C> operator*(const vec<T, R> &v, const matrix &a)
    {
        vec<T, C> result;
        for (int i = 0; i < C; i++) {
            T sum = v[0] * a.columns[i][0];
            for (int j = 1; j < R; j++)
                sum += v[j] * a.columns[i][j];
            result[i] = sum;
        }
        return result;
    }
    MSL_INLINE friend constexpr bool operator==(const matrix &a, const matrix &b)
    {
        for (int c = 0; c < C; c++)
            for (int r = 0; r < R; r++)
                if (a.columns[c][r] != b.columns[c][r])
                    return false;
        return true;
    }
    MSL_INLINE friend constexpr bool operator!=(const matrix &a, const matrix &b)
    {
        return !(a == b);
    }
    MSL_INLINE constexpr matrix operator-() const
    {
        return *this * T(-1);
    }
    MSL_INLINE constexpr matrix &operator+=(const matrix &b)
    {
        return *this = *this + b;
    }
    MSL_INLINE constexpr matrix &operator-=(const matrix &b)
    {
        return *this = *this - b;
    }
    MSL_INLINE constexpr matrix &operator/=(T s)
    {
        return *this = *this / s;
    }
    template <class U> MSL_INLINE constexpr matrix &operator*=(const U &b)
    {
        return *this = *this * b;
    }
};

template <class T, int K, int R, int C>
MSL_INLINE constexpr matrix<T, C, R> operator*(const matrix<T, K, R> &a, const matrix<T, C, K> &b)
{
    matrix<T, C, R> result;
    for (int i = 0; i < C; i++)
        result.columns[i] = a * b.columns[i];
    return result;
}

template <class T, int C, int R>
MSL_INLINE constexpr matrix<T, R, C> transpose(const matrix<T, C, R> &a)
{
    matrix<T, R, C> result;
    for (int c = 0; c < C; c++)
        for (int r = 0; r < R; r++)
            result.columns[r][c] = a.columns[c][r];
    return result;
}

template <class T> MSL_INLINE constexpr T determinant(const matrix<T, 2, 2> &m)
{
    return m[0][0] * m[1][1] - m[1][0] * m[0][1];
}
template <class T> MSL_INLINE constexpr T determinant(const matrix<T, 3, 3> &m)
{
    return m[0][0] * (m[1][1] * m[2][2] - m[2][1] * m[1][2]) -
           m[1][0] * (m[0][1] * m[2][2] - m[2][1] * m[0][2]) +
           m[2][0] * (m[0][1] * m[1][2] - m[1][1] * m[0][2]);
}
template <class T> MSL_INLINE constexpr T determinant(const matrix<T, 4, 4> &m)
{
    T sum = T(0);
    for (int c = 0; c < 4; c++) {
        matrix<T, 3, 3> minor;
        for (int i = 0, k = 0; i < 4; i++)
            if (i != c)
                minor[k++] = vec<T, 3>(m[i][1], m[i][2], m[i][3]);
        const T part = m[c][0] * determinant(minor);
        sum = c % 2 ? sum - part : sum + part;
    }
    return sum;
}
} // namespace metal

#define MSL_MATRIX_NAMES(T)                                                                        \
    typedef metal::matrix<T, 2, 2> T##2x2;                                                         \
    typedef metal::matrix<T, 2, 3> T##2x3;                                                         \
    typedef metal::matrix<T, 2, 4> T##2x4;                                                         \
    typedef metal::matrix<T, 3, 2> T##3x2;                                                         \
    typedef metal::matrix<T, 3, 3> T##3x3;                                                         \
    typedef metal::matrix<T, 3, 4> T##3x4;                                                         \
    typedef metal::matrix<T, 4, 2> T##4x2;                                                         \
    typedef metal::matrix<T, 4, 3> T##4x3;                                                         \
    typedef metal::matrix<T, 4, 4> T##4x4;
MSL_MATRIX_NAMES(float)
MSL_MATRIX_NAMES(half)
namespace metal
{
MSL_MATRIX_NAMES(float)
MSL_MATRIX_NAMES(half)
} // namespace metal
#undef MSL_MATRIX_NAMES

#endif
