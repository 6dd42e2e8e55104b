/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors: vec<T, 2..4>, their operators, and the names of all vector types. */
#ifndef MSL_VECTOR_H
#define MSL_VECTOR_H

#include "msl/swizzles.h"
#include "msl/traits.h"

namespace metal
{
template <class T, int N> struct vec;
template <class T, int N> struct packed_vec;
} // namespace metal

namespace msl
{
/* The compiler's own vector of the same layout, if it has one for the component type. */
template <class T> struct native {
    static constexpr bool exists = true;
    using type = T;
};
template <> struct native<bool> {
    static constexpr bool exists = false;
    using type = uint8_t;
};
template <> struct native<bfloat> {
    static constexpr bool exists = false;
    using type = uint16_t;
};
template <class T> inline constexpr int vector_length = 0;
template <class T, int N> inline constexpr int vector_length<metal::vec<T, N>> = N;
} // namespace msl

namespace metal
{
#define MSL_OPERATOR(op)                                                                           \
    MSL_INLINE friend constexpr vec operator op(const vec &a, const vec &b)                        \
    {                                                                                              \
        if constexpr (msl::native<T>::exists)                                                      \
            if (!__builtin_is_constant_evaluated())                                                \
                return from_native(a.native op b.native);                                          \
        return vec::generate([&](int i) { return T(a.at(i) op b.at(i)); });                        \
    }                                                                                              \
    MSL_INLINE constexpr vec &operator op##=(const vec &b)                                         \
    {                                                                                              \
        return *this = *this op b;                                                                 \
    }
/* Only the lowest bits of the distance count, as for scalars
 * (hal/compiler/msl/fission/arithmetic.h). */
#define MSL_SHIFT(op)                                                                              \
    MSL_INLINE friend constexpr vec operator op(const vec &a, const vec &b)                        \
    {                                                                                              \
        constexpr T mask = T(8 * sizeof(T) - 1);                                                   \
        if constexpr (msl::native<T>::exists)                                                      \
            if (!__builtin_is_constant_evaluated())                                                \
                return from_native(a.native op(b.native & native_type(mask)));                     \
        return vec::generate([&](int i) { return T(a.at(i) op(b.at(i) & mask)); });                \
    }                                                                                              \
    MSL_INLINE constexpr vec &operator op##=(const vec &b)                                         \
    {                                                                                              \
        return *this = *this op b;                                                                 \
    }
#define MSL_COMPARISON(op)                                                                         \
    MSL_INLINE friend constexpr vec<bool, length> operator op(const vec &a, const vec &b)          \
    {                                                                                              \
        return vec<bool, length>::generate([&](int i) { return bool(a.at(i) op b.at(i)); });       \
    }
#define MSL_VECTOR_BODY(N)                                                                         \
    static constexpr int length = N;                                                               \
    using component = T;                                                                           \
    vec() = default;                                                                               \
    /* bfloat is a class: C++ would not convert twice. */                                          \
    template <class U,                                                                             \
              class = enable_if_t<msl::is_bfloat<T> && msl::is_number<U> && !msl::is_bfloat<U>>>   \
    MSL_INLINE constexpr vec(U a) : vec(T(a))                                                      \
    {                                                                                              \
    }                                                                                              \
    template <class U>                                                                             \
    MSL_INLINE constexpr explicit vec(const vec<U, N> &o)                                          \
        : vec(generate([&](int i) { return T(o.at(i)); }))                                         \
    {                                                                                              \
    }                                                                                              \
    MSL_INLINE constexpr vec(const packed_vec<T, N> &o)                                            \
        : vec(generate([&](int i) { return o.at(i); }))                                            \
    {                                                                                              \
    }                                                                                              \
    template <class U, class = enable_if_t<!is_same_v<U, T>>>                                      \
    MSL_INLINE constexpr explicit vec(const packed_vec<U, N> &o)                                   \
        : vec(generate([&](int i) { return T(o.at(i)); }))                                         \
    {                                                                                              \
    }                                                                                              \
    static MSL_INLINE vec from_native(native_type value)                                           \
    {                                                                                              \
        vec r;                                                                                     \
        r.native = value;                                                                          \
        return r;                                                                                  \
    }                                                                                              \
    MSL_INLINE constexpr T &operator[](long i)                                                     \
    {                                                                                              \
        return (&x)[i];                                                                            \
    }                                                                                              \
    MSL_INLINE constexpr const T &operator[](long i) const                                         \
    {                                                                                              \
        return (&x)[i];                                                                            \
    }                                                                                              \
    MSL_OPERATOR(+)                                                                                \
    MSL_OPERATOR(-)                                                                                \
    MSL_OPERATOR(*)                                                                                \
    MSL_OPERATOR(/)                                                                                \
    MSL_OPERATOR(%)                                                                                \
    MSL_OPERATOR(&)                                                                                \
    MSL_OPERATOR(|)                                                                                \
    MSL_OPERATOR(^)                                                                                \
    MSL_SHIFT(<<)                                                                                  \
    MSL_SHIFT(>>)                                                                                  \
    MSL_COMPARISON(<)                                                                              \
    MSL_COMPARISON(>)                                                                              \
    MSL_COMPARISON(<=)                                                                             \
    MSL_COMPARISON(>=)                                                                             \
    MSL_COMPARISON(==)                                                                             \
    MSL_COMPARISON(!=)                                                                             \
    MSL_COMPARISON(&&)                                                                             \
    MSL_COMPARISON(||)                                                                             \
    MSL_INLINE constexpr vec operator+() const                                                     \
    {                                                                                              \
        return *this;                                                                              \
    }                                                                                              \
    MSL_INLINE constexpr vec operator-() const                                                     \
    {                                                                                              \
        return generate([&](int i) { return T(-at(i)); });                                         \
    }                                                                                              \
    MSL_INLINE constexpr vec operator~() const                                                     \
    {                                                                                              \
        return generate([&](int i) { return T(~at(i)); });                                         \
    }                                                                                              \
    MSL_INLINE constexpr vec<bool, N> operator!() const                                            \
    {                                                                                              \
        return vec<bool, N>::generate([&](int i) { return !at(i); });                              \
    }                                                                                              \
    MSL_INLINE constexpr vec &operator++()                                                         \
    {                                                                                              \
        return *this += vec(T(1));                                                                 \
    }                                                                                              \
    MSL_INLINE constexpr vec &operator--()                                                         \
    {                                                                                              \
        return *this -= vec(T(1));                                                                 \
    }                                                                                              \
    MSL_INLINE constexpr vec operator++(int)                                                       \
    {                                                                                              \
        vec old = *this;                                                                           \
        *this += vec(T(1));                                                                        \
        return old;                                                                                \
    }                                                                                              \
    MSL_INLINE constexpr vec operator--(int)                                                       \
    {                                                                                              \
        vec old = *this;                                                                           \
        *this -= vec(T(1));                                                                        \
        return old;                                                                                \
    }                                                                                              \
    MSL_SWIZZLES_##N

template <class T> struct vec<T, 2> {
    typedef typename msl::native<T>::type native_type __attribute__((ext_vector_type(2)));
    union {
        struct {
            T x, y;
        };
        struct {
            T r, g;
        };
        native_type native;
    };

    MSL_INLINE constexpr vec(T a) : x(a), y(a) {}
    MSL_INLINE constexpr vec(T a, T b) : x(a), y(b) {}
    MSL_INLINE constexpr T at(int i) const
    {
        return i == 0 ? x : y;
    }
    template <class F> static MSL_INLINE constexpr vec generate(F f)
    {
        return vec(f(0), f(1));
    }
    MSL_VECTOR_BODY(2)
};

template <class T> struct vec<T, 3> {
    typedef typename msl::native<T>::type native_type __attribute__((ext_vector_type(3)));
    union {
        struct {
            T x, y, z;
        };
        struct {
            T r, g, b;
        };
        native_type native;
    };

    MSL_INLINE constexpr vec(T a) : x(a), y(a), z(a) {}
    MSL_INLINE constexpr vec(T a, T b, T c) : x(a), y(b), z(c) {}
    MSL_INLINE constexpr vec(T a, T b) : x(a), y(b), z(T(0)) {} /* {a, b}: the rest is zero */
    MSL_INLINE constexpr vec(vec<T, 2> a, T c) : x(a.x), y(a.y), z(c) {}
    MSL_INLINE constexpr vec(T a, vec<T, 2> b) : x(a), y(b.x), z(b.y) {}
    MSL_INLINE constexpr T at(int i) const
    {
        return i == 0 ? x : i == 1 ? y : z;
    }
    template <class F> static MSL_INLINE constexpr vec generate(F f)
    {
        return vec(f(0), f(1), f(2));
    }
    MSL_VECTOR_BODY(3)
};

template <class T> struct vec<T, 4> {
    typedef typename msl::native<T>::type native_type __attribute__((ext_vector_type(4)));
    union {
        struct {
            T x, y, z, w;
        };
        struct {
            T r, g, b, a;
        };
        native_type native;
    };

    MSL_INLINE constexpr vec(T s) : x(s), y(s), z(s), w(s) {}
    MSL_INLINE constexpr vec(T p, T q, T s, T t) : x(p), y(q), z(s), w(t) {}
    /* {p, q, s}: the rest is zero. */
    MSL_INLINE constexpr vec(T p, T q, T s) : x(p), y(q), z(s), w(T(0)) {}
    MSL_INLINE constexpr vec(T p, T q) : x(p), y(q), z(T(0)), w(T(0)) {}
    MSL_INLINE constexpr vec(vec<T, 2> p, vec<T, 2> q) : x(p.x), y(p.y), z(q.x), w(q.y) {}
    MSL_INLINE constexpr vec(vec<T, 2> p, T s, T t) : x(p.x), y(p.y), z(s), w(t) {}
    MSL_INLINE constexpr vec(T s, vec<T, 2> p, T t) : x(s), y(p.x), z(p.y), w(t) {}
    MSL_INLINE constexpr vec(T s, T t, vec<T, 2> p) : x(s), y(t), z(p.x), w(p.y) {}
    MSL_INLINE constexpr vec(vec<T, 3> p, T t) : x(p.x), y(p.y), z(p.z), w(t) {}
    MSL_INLINE constexpr vec(T s, vec<T, 3> p) : x(s), y(p.x), z(p.y), w(p.z) {}
    MSL_INLINE constexpr T at(int i) const
    {
        return i == 0 ? x : i == 1 ? y : i == 2 ? z : w;
    }
    template <class F> static MSL_INLINE constexpr vec generate(F f)
    {
        return vec(f(0), f(1), f(2), f(3));
    }
    MSL_VECTOR_BODY(4)
};
#undef MSL_OPERATOR
#undef MSL_SHIFT
#undef MSL_COMPARISON
#undef MSL_VECTOR_BODY
} // namespace metal

#include "msl/packed.h"

#define MSL_VECTOR_NAMES(T, name)                                                                  \
    typedef metal::vec<T, 2> name##2;                                                              \
    typedef metal::vec<T, 3> name##3;                                                              \
    typedef metal::vec<T, 4> name##4;                                                              \
    typedef metal::packed_vec<T, 2> packed_##name##2;                                              \
    typedef metal::packed_vec<T, 3> packed_##name##3;                                              \
    typedef metal::packed_vec<T, 4> packed_##name##4;
#define MSL_ALL_VECTOR_NAMES                                                                       \
    MSL_VECTOR_NAMES(bool, bool)                                                                   \
    MSL_VECTOR_NAMES(int8_t, char)                                                                 \
    MSL_VECTOR_NAMES(uchar, uchar)                                                                 \
    MSL_VECTOR_NAMES(short, short)                                                                 \
    MSL_VECTOR_NAMES(ushort, ushort)                                                               \
    MSL_VECTOR_NAMES(int, int)                                                                     \
    MSL_VECTOR_NAMES(uint, uint)                                                                   \
    MSL_VECTOR_NAMES(long, long)                                                                   \
    MSL_VECTOR_NAMES(ulong, ulong)                                                                 \
    MSL_VECTOR_NAMES(half, half)                                                                   \
    MSL_VECTOR_NAMES(bfloat, bfloat)                                                               \
    MSL_VECTOR_NAMES(float, float)
MSL_ALL_VECTOR_NAMES
namespace metal
{
MSL_ALL_VECTOR_NAMES
} // namespace metal
#undef MSL_ALL_VECTOR_NAMES
#undef MSL_VECTOR_NAMES

#endif
