/* SPDX-License-Identifier: Apache-2.0 */
/* Packed vectors: with the size and alignment of their components. Computations use plain vectors;
 * part of vector.h. */
#ifndef MSL_PACKED_H
#define MSL_PACKED_H

#include "msl/vector.h"

namespace msl
{
template <class T> inline constexpr bool is_packed = false;
template <class T, int N> inline constexpr bool is_packed<metal::packed_vec<T, N>> = true;

/* Converts packed vectors to plain ones, and returns everything else unchanged. */
template <class T> MSL_INLINE constexpr const T &unpacked(const T &x)
{
    return x;
}
template <class T, int N>
MSL_INLINE constexpr metal::vec<T, N> unpacked(const metal::packed_vec<T, N> &x)
{
    return metal::vec<T, N>(x);
}
} // namespace msl

namespace metal
{
#define MSL_OPERATOR(op)                                                                           \
    MSL_INLINE friend constexpr auto operator op(const packed_vec &a, const packed_vec &b)         \
    {                                                                                              \
        return plain(a) op plain(b);                                                               \
    }                                                                                              \
    MSL_INLINE friend constexpr auto operator op(const packed_vec &a, const plain &b)              \
    {                                                                                              \
        return plain(a) op b;                                                                      \
    }                                                                                              \
    MSL_INLINE friend constexpr auto operator op(const plain &a, const packed_vec &b)              \
    {                                                                                              \
        return a op plain(b);                                                                      \
    }                                                                                              \
    MSL_INLINE friend constexpr auto operator op(const packed_vec &a, T b)                         \
    {                                                                                              \
        return plain(a) op plain(b);                                                               \
    }                                                                                              \
    MSL_INLINE friend constexpr auto operator op(T a, const packed_vec &b)                         \
    {                                                                                              \
        return plain(a) op plain(b);                                                               \
    }
#define MSL_ASSIGNING(op)                                                                          \
    MSL_OPERATOR(op)                                                                               \
    template <class U> MSL_INLINE constexpr packed_vec &operator op##=(const U &b)                 \
    {                                                                                              \
        return *this = plain(*this) op plain(b);                                                   \
    }
#define MSL_PACKED_BODY(N)                                                                         \
    using plain = vec<T, N>;                                                                       \
    using component = T;                                                                           \
    packed_vec() = default;                                                                        \
    MSL_INLINE constexpr packed_vec(T s) : packed_vec(plain(s)) {}                                 \
    template <class U, class = enable_if_t<!is_same_v<U, T>>>                                      \
    MSL_INLINE constexpr explicit packed_vec(const vec<U, N> &o) : packed_vec(plain(o))            \
    {                                                                                              \
    }                                                                                              \
    template <class U, class = enable_if_t<!is_same_v<U, T>>>                                      \
    MSL_INLINE constexpr explicit packed_vec(const packed_vec<U, N> &o) : packed_vec(plain(o))     \
    {                                                                                              \
    }                                                                                              \
    template <class A, class B, class... C>                                                        \
    MSL_INLINE constexpr packed_vec(A a, B b, C... c) : packed_vec(plain(a, b, c...))              \
    {                                                                                              \
    }                                                                                              \
    MSL_INLINE constexpr T &operator[](long i)                                                     \
    {                                                                                              \
        return (&x)[i];                                                                            \
    }                                                                                              \
    MSL_INLINE constexpr const T &operator[](long i) const                                         \
    {                                                                                              \
        return (&x)[i];                                                                            \
    }                                                                                              \
    MSL_ASSIGNING(+)                                                                               \
    MSL_ASSIGNING(-)                                                                               \
    MSL_ASSIGNING(*)                                                                               \
    MSL_ASSIGNING(/)                                                                               \
    MSL_ASSIGNING(%)                                                                               \
    MSL_ASSIGNING(&)                                                                               \
    MSL_ASSIGNING(|)                                                                               \
    MSL_ASSIGNING(^)                                                                               \
    MSL_ASSIGNING(<<)                                                                              \
    MSL_ASSIGNING(>>)                                                                              \
    MSL_OPERATOR(<)                                                                                \
    MSL_OPERATOR(>)                                                                                \
    MSL_OPERATOR(<=)                                                                               \
    MSL_OPERATOR(>=)                                                                               \
    MSL_OPERATOR(==)                                                                               \
    MSL_OPERATOR(!=)                                                                               \
    MSL_OPERATOR(&&)                                                                               \
    MSL_OPERATOR(||)                                                                               \
    MSL_INLINE constexpr plain operator+() const                                                   \
    {                                                                                              \
        return plain(*this);                                                                       \
    }                                                                                              \
    MSL_INLINE constexpr plain operator-() const                                                   \
    {                                                                                              \
        return -plain(*this);                                                                      \
    }                                                                                              \
    MSL_INLINE constexpr plain operator~() const                                                   \
    {                                                                                              \
        return ~plain(*this);                                                                      \
    }                                                                                              \
    MSL_INLINE constexpr vec<bool, N> operator!() const                                            \
    {                                                                                              \
        return !plain(*this);                                                                      \
    }                                                                                              \
    MSL_INLINE constexpr packed_vec &operator++()                                                  \
    {                                                                                              \
        return *this += T(1);                                                                      \
    }                                                                                              \
    MSL_INLINE constexpr packed_vec &operator--()                                                  \
    {                                                                                              \
        return *this -= T(1);                                                                      \
    }                                                                                              \
    MSL_INLINE constexpr packed_vec operator++(int)                                                \
    {                                                                                              \
        const packed_vec old = *this;                                                              \
        *this += T(1);                                                                             \
        return old;                                                                                \
    }                                                                                              \
    MSL_INLINE constexpr packed_vec operator--(int)                                                \
    {                                                                                              \
        const packed_vec old = *this;                                                              \
        *this -= T(1);                                                                             \
        return old;                                                                                \
    }                                                                                              \
    MSL_SWIZZLES_##N

template <class T> struct packed_vec<T, 2> {
    union {
        struct {
            T x, y;
        };
        struct {
            T r, g;
        };
    };
    MSL_INLINE constexpr packed_vec(const vec<T, 2> &o) : x(o.x), y(o.y) {}
    MSL_INLINE constexpr T at(int i) const
    {
        return i == 0 ? x : y;
    }
    MSL_PACKED_BODY(2)
};
template <class T> struct packed_vec<T, 3> {
    union {
        struct {
            T x, y, z;
        };
        struct {
            T r, g, b;
        };
    };
    MSL_INLINE constexpr packed_vec(const vec<T, 3> &o) : x(o.x), y(o.y), z(o.z) {}
    MSL_INLINE constexpr T at(int i) const
    {
        return i == 0 ? x : i == 1 ? y : z;
    }
    MSL_PACKED_BODY(3)
};
template <class T> struct packed_vec<T, 4> {
    union {
        struct {
            T x, y, z, w;
        };
        struct {
            T r, g, b, a;
        };
    };
    MSL_INLINE constexpr packed_vec(const vec<T, 4> &o) : x(o.x), y(o.y), z(o.z), w(o.w) {}
    MSL_INLINE constexpr T at(int i) const
    {
        return i == 0 ? x : i == 1 ? y : i == 2 ? z : w;
    }
    MSL_PACKED_BODY(4)
};
#undef MSL_OPERATOR
#undef MSL_ASSIGNING
#undef MSL_PACKED_BODY
} // namespace metal

#endif
