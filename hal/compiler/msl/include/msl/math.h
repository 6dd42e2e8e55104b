/* SPDX-License-Identifier: Apache-2.0 */
/* <metal_math>, <metal_common>. */
#ifndef MSL_MATH_H
#define MSL_MATH_H

#include "msl/limits.h"
#include "msl/matrix.h"

/* Functions are the same in both math modes: a source that asks for precise::divide gets it. The
 * source's own operators follow the mode. */
#pragma float_control(precise, on, push)
#pragma clang fp contract(off)

namespace msl
{
/* Integer arguments of floating-point functions become float; bfloat stays bfloat. */
template <class T> inline constexpr bool is_promoted = metal::is_integral_v<T> || is_bfloat<T>;
template <class T> using promoted = metal::conditional_t<is_bfloat<T>, bfloat, float>;
template <class T> using if_promoted = metal::enable_if_t<is_promoted<T>>;
/* Two different scalar types, or two that need promotion. */
template <class A, class B>
using if_mixed = metal::enable_if_t<is_number<A> && is_number<B> &&
                                    (is_promoted<A> || is_promoted<B> || !__is_same(A, B))>;
template <class A, class B>
using mixed = metal::conditional_t<is_bfloat<A> && is_bfloat<B>, bfloat, float>;

inline constexpr float pi = 3.14159265358979323846f;

MSL_INLINE float rsqrt(float x)
{
    return 1.0f / __builtin_sqrtf(x);
}
/* Stays below 1 even where the rest is rounded to the type. */
template <class T> MSL_INLINE T fract(T x, float greatest)
{
    const T part = T(float(x) - __builtin_floorf(float(x)));
    return float(part) < 1.0f || float(part) != float(part) ? part : T(greatest);
}
template <class T> MSL_INLINE T nextafter(T x, T y)
{
    const float from = float(x), to = float(y);
    if (from != from || to != to)
        return T(from + to);
    if (from == to)
        return y;
    const uint16_t bits = __builtin_bit_cast(uint16_t, x);
    if (from == 0.0f)
        return __builtin_bit_cast(T, uint16_t(to < 0.0f ? 0x8001 : 1));
    return __builtin_bit_cast(T, uint16_t((from < to) == (from > 0.0f) ? bits + 1 : bits - 1));
}
/* Rounds to odd: if `rest` is not zero, returns the neighbour whose last bit is set. A second
 * rounding, to fewer bits, then equals a single rounding. */
template <class F, class B> MSL_INLINE F to_odd(F nearest, F rest)
{
    B bits = __builtin_bit_cast(B, nearest);
    if (!(rest < F(0)) && !(rest > F(0)))
        return nearest;
    if ((rest < F(0)) != (nearest < F(0)))
        bits--;
    return __builtin_bit_cast(F, B(bits | 1));
}
/* The product of two narrow numbers is exact in double. */
template <class T> MSL_INLINE T fma_narrow(T a, T b, T c)
{
    const double product = double(float(a)) * double(float(b)), added = double(float(c));
    const double sum = product + added, part = sum - product;
    const double rest = (product - (sum - part)) + (added - part);
    const double wide = to_odd<double, uint64_t>(sum, rest);
    const float nearest = float(wide);
    return T(to_odd<float, uint32_t>(nearest, float(wide - double(nearest))));
}
MSL_INLINE float sign(float x)
{
    return x > 0 ? 1.0f : x < 0 ? -1.0f : x == x ? x : 0.0f;
}
MSL_INLINE float saturate(float x)
{
    return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f;
}
/* Exact reduction first: sin(pi x) has period 2, and its halves are mirrored. */
MSL_INLINE float half_turns(float x)
{
    return x - 2.0f * __builtin_rintf(x * 0.5f);
}
MSL_INLINE float quarter_turns(float half_turns)
{
    const float magnitude = __builtin_fabsf(half_turns);
    return magnitude > 0.5f ? __builtin_copysignf(1.0f - magnitude, half_turns) : half_turns;
}
MSL_INLINE float sinpi(float x)
{
    return __builtin_sinf(quarter_turns(half_turns(x)) * pi);
}
MSL_INLINE float cospi(float x)
{
    const float magnitude = __builtin_fabsf(half_turns(x));
    const float sine = __builtin_sinf((0.5f - magnitude) * pi);
    return magnitude < 0.25f ? __builtin_cosf(magnitude * pi) : sine;
}
MSL_INLINE float tanpi(float x)
{
    return sinpi(x) / cospi(x);
}
MSL_INLINE float exp10(float x)
{
    return __builtin_powf(10.0f, x);
}
MSL_INLINE float step(float edge, float x)
{
    return x < edge ? 0.0f : 1.0f;
}
MSL_INLINE float divide(float a, float b)
{
    return a / b;
}
} // namespace msl

namespace metal
{
#define MSL_VECTOR_1(name)                                                                         \
    template <class T, int N> MSL_INLINE vec<T, N> name(const vec<T, N> &x)                        \
    {                                                                                              \
        return vec<T, N>::generate([&](int i) { return name(x.at(i)); });                          \
    }
#define MSL_FLOAT_1(name, call)                                                                    \
    MSL_INLINE float name(float x)                                                                 \
    {                                                                                              \
        return call(x);                                                                            \
    }                                                                                              \
    MSL_INLINE half name(half x)                                                                   \
    {                                                                                              \
        return half(call(float(x)));                                                               \
    }                                                                                              \
    template <class T, class = msl::if_promoted<T>> MSL_INLINE msl::promoted<T> name(T x)          \
    {                                                                                              \
        return msl::promoted<T>(call(float(x)));                                                   \
    }                                                                                              \
    MSL_VECTOR_1(name)
MSL_FLOAT_1(acos, __builtin_acosf)
MSL_FLOAT_1(acosh, __builtin_acoshf)
MSL_FLOAT_1(asin, __builtin_asinf)
MSL_FLOAT_1(asinh, __builtin_asinhf)
MSL_FLOAT_1(atan, __builtin_atanf)
MSL_FLOAT_1(atanh, __builtin_atanhf)
MSL_FLOAT_1(ceil, __builtin_ceilf)
MSL_FLOAT_1(cos, __builtin_cosf)
MSL_FLOAT_1(cosh, __builtin_coshf)
MSL_FLOAT_1(cospi, msl::cospi)
MSL_FLOAT_1(exp, __builtin_expf)
MSL_FLOAT_1(exp10, msl::exp10)
MSL_FLOAT_1(exp2, __builtin_exp2f)
MSL_FLOAT_1(fabs, __builtin_fabsf)
MSL_FLOAT_1(floor, __builtin_floorf)
MSL_FLOAT_1(log, __builtin_logf)
MSL_FLOAT_1(log10, __builtin_log10f)
MSL_FLOAT_1(log2, __builtin_log2f)
MSL_FLOAT_1(rint, __builtin_rintf)
MSL_FLOAT_1(round, __builtin_roundf)
MSL_FLOAT_1(rsqrt, msl::rsqrt)
MSL_FLOAT_1(saturate, msl::saturate)
MSL_FLOAT_1(sign, msl::sign)
MSL_FLOAT_1(sin, __builtin_sinf)
MSL_FLOAT_1(sinh, __builtin_sinhf)
MSL_FLOAT_1(sinpi, msl::sinpi)
MSL_FLOAT_1(sqrt, __builtin_sqrtf)
MSL_FLOAT_1(tan, __builtin_tanf)
MSL_FLOAT_1(tanh, __builtin_tanhf)
MSL_FLOAT_1(tanpi, msl::tanpi)
MSL_FLOAT_1(trunc, __builtin_truncf)
#undef MSL_FLOAT_1
MSL_INLINE float fract(float x)
{
    return msl::fract(x, 0x1.fffffep-1f);
}
MSL_INLINE half fract(half x)
{
    return msl::fract(x, 0x1.ffcp-1f);
}
template <class T, class = msl::if_promoted<T>> MSL_INLINE msl::promoted<T> fract(T x)
{
    return msl::fract(msl::promoted<T>(x), msl::is_bfloat<T> ? 0x1.fep-1f : 0x1.fffffep-1f);
}
MSL_VECTOR_1(fract)
#undef MSL_VECTOR_1

#define MSL_VECTOR_2(name)                                                                         \
    template <class T, int N> MSL_INLINE vec<T, N> name(const vec<T, N> &a, const vec<T, N> &b)    \
    {                                                                                              \
        return vec<T, N>::generate([&](int i) { return name(a.at(i), b.at(i)); });                 \
    }                                                                                              \
    template <class T, int N> MSL_INLINE vec<T, N> name(const vec<T, N> &a, msl::given<T> b)       \
    {                                                                                              \
        return name(a, vec<T, N>(b));                                                              \
    }                                                                                              \
    template <class T, int N> MSL_INLINE vec<T, N> name(msl::given<T> a, const vec<T, N> &b)       \
    {                                                                                              \
        return name(vec<T, N>(a), b);                                                              \
    }
#define MSL_FLOAT_2(name, call)                                                                    \
    MSL_INLINE float name(float a, float b)                                                        \
    {                                                                                              \
        return call(a, b);                                                                         \
    }                                                                                              \
    MSL_INLINE half name(half a, half b)                                                           \
    {                                                                                              \
        return half(call(float(a), float(b)));                                                     \
    }                                                                                              \
    template <class A, class B, class = msl::if_mixed<A, B>>                                       \
    MSL_INLINE msl::mixed<A, B> name(A a, B b)                                                     \
    {                                                                                              \
        return msl::mixed<A, B>(call(float(a), float(b)));                                         \
    }                                                                                              \
    MSL_VECTOR_2(name)
MSL_FLOAT_2(atan2, __builtin_atan2f)
MSL_FLOAT_2(copysign, __builtin_copysignf)
MSL_FLOAT_2(divide, msl::divide)
MSL_FLOAT_2(fdim, __builtin_fdimf)
MSL_FLOAT_2(fmax, __builtin_fmaxf)
MSL_FLOAT_2(fmin, __builtin_fminf)
MSL_FLOAT_2(fmod, __builtin_fmodf)
MSL_FLOAT_2(pow, __builtin_powf)
MSL_FLOAT_2(powr, __builtin_powf)
MSL_FLOAT_2(step, msl::step)
#undef MSL_FLOAT_2
MSL_INLINE float nextafter(float x, float y)
{
    return __builtin_nextafterf(x, y);
}
MSL_INLINE half nextafter(half x, half y)
{
    return msl::nextafter(x, y);
}
template <class A, class B, class = msl::if_mixed<A, B>>
MSL_INLINE msl::mixed<A, B> nextafter(A x, B y)
{
    if constexpr (msl::is_bfloat<msl::mixed<A, B>>)
        return msl::nextafter(x, y);
    else
        return nextafter(float(x), float(y));
}
MSL_VECTOR_2(nextafter)

/* min, max, clamp, abs, select: one overload per scalar type, so that mixed calls are ambiguous
 * exactly where they are in the language. */
#define MSL_COMMON(T)                                                                              \
    MSL_INLINE constexpr T min(T a, T b)                                                           \
    {                                                                                              \
        return b < a ? b : a;                                                                      \
    }                                                                                              \
    MSL_INLINE constexpr T max(T a, T b)                                                           \
    {                                                                                              \
        return a < b ? b : a;                                                                      \
    }                                                                                              \
    MSL_INLINE constexpr T clamp(T x, T low, T high)                                               \
    {                                                                                              \
        return min(max(x, low), high);                                                             \
    }                                                                                              \
    MSL_INLINE constexpr T abs(T x)                                                                \
    {                                                                                              \
        return x < T(0) ? T(0 - make_unsigned_t<T>(x)) : x;                                        \
    }                                                                                              \
    MSL_INLINE constexpr T select(T a, T b, bool c)                                                \
    {                                                                                              \
        return c ? b : a;                                                                          \
    }
MSL_COMMON(char)
MSL_COMMON(int8_t)
MSL_COMMON(uchar)
MSL_COMMON(short)
MSL_COMMON(ushort)
MSL_COMMON(int)
MSL_COMMON(uint)
MSL_COMMON(long)
MSL_COMMON(ulong)
#undef MSL_COMMON
/* A number wins over a NaN argument, as in fmin and fmax. */
#define MSL_COMMON_FLOAT(T)                                                                        \
    MSL_INLINE constexpr T min(T a, T b)                                                           \
    {                                                                                              \
        return b < a || a != a ? b : a;                                                            \
    }                                                                                              \
    MSL_INLINE constexpr T max(T a, T b)                                                           \
    {                                                                                              \
        return a < b || a != a ? b : a;                                                            \
    }                                                                                              \
    MSL_INLINE constexpr T clamp(T x, T low, T high)                                               \
    {                                                                                              \
        return min(max(x, low), high);                                                             \
    }                                                                                              \
    MSL_INLINE constexpr T abs(T x)                                                                \
    {                                                                                              \
        return T(__builtin_fabsf(float(x)));                                                       \
    }                                                                                              \
    MSL_INLINE constexpr T select(T a, T b, bool c)                                                \
    {                                                                                              \
        return c ? b : a;                                                                          \
    }
MSL_COMMON_FLOAT(float)
MSL_COMMON_FLOAT(half)
#undef MSL_COMMON_FLOAT
/* Templates for bfloat: sources define their own overloads of these names. */
#define MSL_BFLOAT template <class B, class = msl::if_bfloat<B>> MSL_INLINE
MSL_BFLOAT B min(B a, msl::given<B> b)
{
    return float(b) < float(a) || float(a) != float(a) ? b : a;
}
MSL_BFLOAT B max(B a, msl::given<B> b)
{
    return float(a) < float(b) || float(a) != float(a) ? b : a;
}
MSL_BFLOAT B clamp(B x, msl::given<B> low, msl::given<B> high)
{
    return min(max(x, low), high);
}
MSL_BFLOAT B abs(B x)
{
    return B(__builtin_fabsf(float(x)));
}
MSL_BFLOAT B select(B a, msl::given<B> b, bool c)
{
    return c ? b : a;
}
MSL_BFLOAT B fma(B a, msl::given<B> b, msl::given<B> c)
{
    return msl::fma_narrow(a, b, c);
}
#undef MSL_BFLOAT
MSL_VECTOR_2(min)
MSL_VECTOR_2(max)
#undef MSL_VECTOR_2

template <class T, int N> MSL_INLINE vec<T, N> abs(const vec<T, N> &x)
{
    return vec<T, N>::generate([&](int i) { return abs(x.at(i)); });
}
template <class T, int N>
MSL_INLINE vec<T, N> clamp(const vec<T, N> &x, msl::given<vec<T, N>> low,
                           msl::given<vec<T, N>> high)
{
    return min(max(x, low), high);
}
template <class T, int N>
MSL_INLINE vec<T, N> select(const vec<T, N> &a, const vec<T, N> &b, const vec<bool, N> &c)
{
    return vec<T, N>::generate([&](int i) { return c.at(i) ? b.at(i) : a.at(i); });
}
template <class T, int N>
MSL_INLINE vec<T, N> select(const vec<T, N> &a, const vec<T, N> &b, bool c)
{
    return c ? b : a;
}
template <class T> MSL_INLINE T min3(T a, T b, T c)
{
    return min(min(a, b), c);
}
template <class T> MSL_INLINE T max3(T a, T b, T c)
{
    return max(max(a, b), c);
}
template <class T> MSL_INLINE T median3(T a, T b, T c)
{
    return max(min(a, b), min(max(a, b), c));
}
template <class T> MSL_INLINE T fmin3(T a, T b, T c)
{
    return fmin(fmin(a, b), c);
}
template <class T> MSL_INLINE T fmax3(T a, T b, T c)
{
    return fmax(fmax(a, b), c);
}
template <class T> MSL_INLINE T fmedian3(T a, T b, T c)
{
    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

MSL_INLINE float fma(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}
MSL_INLINE half fma(half a, half b, half c)
{
    return msl::fma_narrow(a, b, c);
}
template <class T, int N>
MSL_INLINE vec<T, N> fma(const vec<T, N> &a, msl::given<vec<T, N>> b, msl::given<vec<T, N>> c)
{
    return vec<T, N>::generate([&](int i) { return fma(a.at(i), b.at(i), c.at(i)); });
}
template <class T> MSL_INLINE T mad(T a, msl::given<T> b, msl::given<T> c)
{
    return a * b + c;
}

MSL_INLINE float mix(float a, float b, float t)
{
    return a + (b - a) * t;
}
MSL_INLINE half mix(half a, half b, half t)
{
    return a + (b - a) * t;
}
template <class T, int N>
MSL_INLINE vec<T, N> mix(const vec<T, N> &a, const vec<T, N> &b, msl::given<vec<T, N>> t)
{
    return a + (b - a) * t;
}
MSL_INLINE float smoothstep(float low, float high, float x)
{
    const float t = clamp((x - low) / (high - low), 0.0f, 1.0f);
    return t * t * (3.0f - 2.0f * t);
}
MSL_INLINE half smoothstep(half low, half high, half x)
{
    return half(smoothstep(float(low), float(high), float(x)));
}
template <class T, int N>
MSL_INLINE vec<T, N> smoothstep(msl::given<vec<T, N>> low, msl::given<vec<T, N>> high,
                                const vec<T, N> &x)
{
    return vec<T, N>::generate([&](int i) { return smoothstep(low.at(i), high.at(i), x.at(i)); });
}

MSL_INLINE float modf(float x, float &whole)
{
    whole = __builtin_truncf(x);
    return __builtin_isinf(x) ? __builtin_copysignf(0.0f, x) : __builtin_copysignf(x - whole, x);
}
MSL_INLINE half modf(half x, half &whole)
{
    float w;
    const half part = half(modf(float(x), w));
    whole = half(w);
    return part;
}
MSL_INLINE float sincos(float x, float &cosine)
{
    cosine = __builtin_cosf(x);
    return __builtin_sinf(x);
}
MSL_INLINE half sincos(half x, half &cosine)
{
    cosine = half(__builtin_cosf(float(x)));
    return half(__builtin_sinf(float(x)));
}
MSL_INLINE float ldexp(float x, int e)
{
    return __builtin_ldexpf(x, e);
}
MSL_INLINE half ldexp(half x, int e)
{
    return half(__builtin_ldexpf(float(x), e));
}
MSL_INLINE float frexp(float x, int &e)
{
    return __builtin_frexpf(x, &e);
}
MSL_INLINE half frexp(half x, int &e)
{
    return half(__builtin_frexpf(float(x), &e));
}
MSL_INLINE int ilogb(float x)
{
    return __builtin_ilogbf(x);
}
MSL_INLINE int ilogb(half x)
{
    return __builtin_ilogbf(float(x));
}
/* For bfloat; sources may overload it. */
template <class B, class = msl::if_bfloat<B>> MSL_INLINE B modf(B x, B &whole)
{
    float w;
    const B part = B(modf(float(x), w));
    whole = B(w);
    return part;
}
template <class B, class = msl::if_bfloat<B>> MSL_INLINE B sincos(B x, B &cosine)
{
    cosine = B(__builtin_cosf(float(x)));
    return B(__builtin_sinf(float(x)));
}
template <class B, class = msl::if_bfloat<B>> MSL_INLINE B ldexp(B x, int e)
{
    return B(__builtin_ldexpf(float(x), e));
}
template <class B, class = msl::if_bfloat<B>> MSL_INLINE B frexp(B x, int &e)
{
    return B(__builtin_frexpf(float(x), &e));
}
template <class B, class = msl::if_bfloat<B>> MSL_INLINE int ilogb(B x)
{
    return __builtin_ilogbf(float(x));
}
#define MSL_FLOAT_OUT(name, other)                                                                 \
    template <class T, int N> MSL_INLINE vec<T, N> name(const vec<T, N> &x, vec<other, N> &out)    \
    {                                                                                              \
        vec<T, N> result;                                                                          \
        for (int i = 0; i < N; i++)                                                                \
            result[i] = name(x[i], out[i]);                                                        \
        return result;                                                                             \
    }
MSL_FLOAT_OUT(modf, T)
MSL_FLOAT_OUT(sincos, T)
MSL_FLOAT_OUT(frexp, int)
#undef MSL_FLOAT_OUT
template <class T, int N> MSL_INLINE vec<T, N> ldexp(const vec<T, N> &x, const vec<int, N> &e)
{
    return vec<T, N>::generate([&](int i) { return ldexp(x.at(i), e.at(i)); });
}
template <class T, int N> MSL_INLINE vec<int, N> ilogb(const vec<T, N> &x)
{
    return vec<int, N>::generate([&](int i) { return ilogb(x.at(i)); });
}
} // namespace metal

#pragma float_control(pop)

#endif
