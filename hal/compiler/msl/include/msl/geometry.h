/* SPDX-License-Identifier: Apache-2.0 */
/* <metal_relational>, <metal_geometric>; and the namespaces precise and fast. */
#ifndef MSL_GEOMETRY_H
#define MSL_GEOMETRY_H

#include "msl/math.h"

namespace metal
{
#define MSL_PREDICATE(name, call)                                                                  \
    MSL_INLINE bool name(float x)                                                                  \
    {                                                                                              \
        return call(x);                                                                            \
    }                                                                                              \
    MSL_INLINE bool name(half x)                                                                   \
    {                                                                                              \
        return call(float(x));                                                                     \
    }                                                                                              \
    template <class B, class = msl::if_bfloat<B>> MSL_INLINE bool name(B x)                        \
    {                                                                                              \
        return call(float(x));                                                                     \
    }                                                                                              \
    template <class T, int N> MSL_INLINE vec<bool, N> name(const vec<T, N> &x)                     \
    {                                                                                              \
        return vec<bool, N>::generate([&](int i) { return name(x.at(i)); });                       \
    }
MSL_PREDICATE(isnan, __builtin_isnan)
MSL_PREDICATE(isinf, __builtin_isinf)
MSL_PREDICATE(isfinite, __builtin_isfinite)
MSL_PREDICATE(signbit, __builtin_signbit)
#undef MSL_PREDICATE
/* A subnormal half is a normal float, so the widths differ here. */
MSL_INLINE bool isnormal(float x)
{
    return __builtin_isnormal(x);
}
MSL_INLINE bool isnormal(half x)
{
    const float magnitude = __builtin_fabsf(float(x));
    return magnitude >= 0x1p-14f && magnitude <= 65504.0f;
}
template <class T, int N> MSL_INLINE vec<bool, N> isnormal(const vec<T, N> &x)
{
    return vec<bool, N>::generate([&](int i) { return isnormal(x.at(i)); });
}
template <class T> MSL_INLINE auto isunordered(T a, T b)
{
    return isnan(a) || isnan(b);
}
template <class T> MSL_INLINE auto isordered(T a, T b)
{
    return !isunordered(a, b);
}
MSL_INLINE bool any(bool x)
{
    return x;
}
MSL_INLINE bool all(bool x)
{
    return x;
}
template <int N> MSL_INLINE bool any(const vec<bool, N> &x)
{
    bool result = false;
    for (int i = 0; i < N; i++)
        result |= x.at(i);
    return result;
}
template <int N> MSL_INLINE bool all(const vec<bool, N> &x)
{
    bool result = true;
    for (int i = 0; i < N; i++)
        result &= x.at(i);
    return result;
}

template <class T, int N> MSL_INLINE T dot(const vec<T, N> &a, const vec<T, N> &b)
{
    T sum = a.at(0) * b.at(0);
    for (int i = 1; i < N; i++)
        sum += a.at(i) * b.at(i);
    return sum;
}
template <class T> MSL_INLINE vec<T, 3> cross(const vec<T, 3> &a, const vec<T, 3> &b)
{
    return vec<T, 3>(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
template <class T, int N> MSL_INLINE T length_squared(const vec<T, N> &a)
{
    return dot(a, a);
}
template <class T, int N> MSL_INLINE T length(const vec<T, N> &a)
{
    return sqrt(dot(a, a));
}
template <class T, int N> MSL_INLINE T distance_squared(const vec<T, N> &a, const vec<T, N> &b)
{
    return length_squared(a - b);
}
template <class T, int N> MSL_INLINE T distance(const vec<T, N> &a, const vec<T, N> &b)
{
    return length(a - b);
}
template <class T, int N> MSL_INLINE vec<T, N> normalize(const vec<T, N> &a)
{
    return a * rsqrt(dot(a, a));
}
template <class T, int N> MSL_INLINE vec<T, N> reflect(const vec<T, N> &i, const vec<T, N> &n)
{
    return i - n * (T(2) * dot(n, i));
}
template <class T, int N>
MSL_INLINE vec<T, N> refract(const vec<T, N> &i, const vec<T, N> &n, msl::given<T> eta)
{
    const T d = dot(n, i), k = T(1) - eta * eta * (T(1) - d * d);
    return k < T(0) ? vec<T, N>(T(0)) : i * eta - n * (eta * d + sqrt(k));
}
template <class T, int N>
MSL_INLINE vec<T, N> faceforward(const vec<T, N> &n, const vec<T, N> &i, const vec<T, N> &reference)
{
    return dot(reference, i) < T(0) ? n : -n;
}

/* Both are the precise versions: results do not depend on a source's choice. Each name is declared
 * in the namespaces, because sources add overloads there. */
#define MSL_EACH_NAME(apply)                                                                       \
    apply(acos) apply(acosh) apply(asin) apply(asinh) apply(atan) apply(atan2) apply(atanh) apply( \
        ceil) apply(copysign) apply(cos) apply(cosh) apply(cospi) apply(divide) apply(exp)         \
        apply(exp10) apply(exp2) apply(fabs) apply(fdim) apply(floor) apply(fma) apply(fmax)       \
            apply(fmax3) apply(fmedian3) apply(fmin) apply(fmin3) apply(fmod) apply(fract)         \
                apply(frexp) apply(ilogb) apply(ldexp) apply(log) apply(log10) apply(log2)         \
                    apply(modf) apply(nextafter) apply(pow) apply(powr) apply(rint) apply(round)   \
                        apply(rsqrt) apply(sign) apply(sin) apply(sincos) apply(sinh) apply(sinpi) \
                            apply(sqrt) apply(tan) apply(tanh) apply(tanpi) apply(trunc)           \
                                apply(abs) apply(clamp) apply(max) apply(max3) apply(median3)      \
                                    apply(min) apply(min3) apply(mix) apply(saturate)              \
                                        apply(smoothstep) apply(step) apply(cross) apply(distance) \
                                            apply(distance_squared) apply(dot) apply(faceforward)  \
                                                apply(length) apply(length_squared)                \
                                                    apply(normalize) apply(reflect) apply(refract) \
                                                        apply(isnan) apply(isinf) apply(isfinite)  \
                                                            apply(isnormal) apply(isordered)       \
                                                                apply(isunordered) apply(signbit)  \
                                                                    apply(select)
/* Converts packed vectors for functions, as the operators do. */
#define MSL_UNPACKING(name)                                                                        \
    template <class... A, class = enable_if_t<(msl::is_packed<A> || ...)>>                         \
    MSL_INLINE auto name(const A &...arguments)                                                    \
    {                                                                                              \
        return name(msl::unpacked(arguments)...);                                                  \
    }
MSL_EACH_NAME(MSL_UNPACKING)
MSL_UNPACKING(mad)
#define MSL_USING(name) using metal::name;
namespace precise
{
MSL_EACH_NAME(MSL_USING)
}
namespace fast
{
MSL_EACH_NAME(MSL_USING)
}
#undef MSL_USING
#undef MSL_EACH_NAME
} // namespace metal

#endif
