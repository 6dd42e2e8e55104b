/* SPDX-License-Identifier: Apache-2.0 */
/* Internal names of the standard library that sources use nevertheless, mostly to overload the
 * library for types of their own. The last argument of a function selects its precision. */
#ifndef MSL_BUILTINS_H
#define MSL_BUILTINS_H

#include "msl/integer.h"
#include "msl/simd.h"

#define MSL_BUILTIN(name)                                                                          \
    template <class T> MSL_INLINE T __metal_##name(T x, int = 0)                                   \
    {                                                                                              \
        return metal::name(x);                                                                     \
    }
MSL_BUILTIN(acos)
MSL_BUILTIN(acosh)
MSL_BUILTIN(asin)
MSL_BUILTIN(asinh)
MSL_BUILTIN(atan)
MSL_BUILTIN(atanh)
MSL_BUILTIN(ceil)
MSL_BUILTIN(cos)
MSL_BUILTIN(cosh)
MSL_BUILTIN(cospi)
MSL_BUILTIN(exp)
MSL_BUILTIN(exp10)
MSL_BUILTIN(exp2)
MSL_BUILTIN(fabs)
MSL_BUILTIN(floor)
MSL_BUILTIN(fract)
MSL_BUILTIN(log)
MSL_BUILTIN(log10)
MSL_BUILTIN(log2)
MSL_BUILTIN(rint)
MSL_BUILTIN(round)
MSL_BUILTIN(rsqrt)
MSL_BUILTIN(saturate)
MSL_BUILTIN(sin)
MSL_BUILTIN(sinh)
MSL_BUILTIN(sinpi)
MSL_BUILTIN(sqrt)
MSL_BUILTIN(tan)
MSL_BUILTIN(tanh)
MSL_BUILTIN(tanpi)
MSL_BUILTIN(trunc)
#undef MSL_BUILTIN
#define MSL_BUILTIN(name)                                                                          \
    template <class T> MSL_INLINE T __metal_##name(T a, msl::given<T> b, int = 0)                  \
    {                                                                                              \
        return metal::name(a, b);                                                                  \
    }
MSL_BUILTIN(atan2)
MSL_BUILTIN(copysign)
MSL_BUILTIN(divide)
MSL_BUILTIN(fdim)
MSL_BUILTIN(fmax)
MSL_BUILTIN(fmin)
MSL_BUILTIN(fmod)
MSL_BUILTIN(nextafter)
MSL_BUILTIN(pow)
MSL_BUILTIN(powr)
#undef MSL_BUILTIN
#define MSL_BUILTIN(name)                                                                          \
    template <class T> MSL_INLINE T __metal_##name(T a, msl::given<T> b, msl::given<T> c, int = 0) \
    {                                                                                              \
        return metal::name(a, b, c);                                                               \
    }
MSL_BUILTIN(fma)
MSL_BUILTIN(fmax3)
MSL_BUILTIN(fmedian3)
MSL_BUILTIN(fmin3)
MSL_BUILTIN(clamp)
MSL_BUILTIN(mix)
#undef MSL_BUILTIN
template <class T> MSL_INLINE T __metal_frexp(T x, int *e)
{
    return metal::frexp(x, *e);
}
template <class T> MSL_INLINE T __metal_ldexp(T x, int e, int = 0)
{
    return metal::ldexp(x, e);
}
template <class T> MSL_INLINE T __metal_modf(T x, T *whole, int = 0)
{
    return metal::modf(x, *whole);
}
template <class T> MSL_INLINE T __metal_sincos(T x, T *cosine, int = 0)
{
    return metal::sincos(x, *cosine);
}
namespace msl
{
template <class F, class T> MSL_INLINE T by_bits(F f, T x)
{
    if constexpr (metal::is_floating_point_v<T>)
        return __builtin_bit_cast(T, f(__builtin_bit_cast(typename bits_of<sizeof(T)>::type, x)));
    else
        return f(x);
}
} // namespace msl
#define MSL_BUILTIN(name)                                                                          \
    template <class T> MSL_INLINE auto __metal_simd_##name(T x)                                    \
    {                                                                                              \
        return metal::simd_##name(x);                                                              \
    }                                                                                              \
    template <class T> MSL_INLINE auto __metal_quad_##name(T x)                                    \
    {                                                                                              \
        return metal::quad_##name(x);                                                              \
    }
MSL_BUILTIN(sum)
MSL_BUILTIN(product)
MSL_BUILTIN(min)
MSL_BUILTIN(max)
MSL_BUILTIN(prefix_inclusive_sum)
MSL_BUILTIN(prefix_exclusive_sum)
MSL_BUILTIN(prefix_inclusive_product)
MSL_BUILTIN(prefix_exclusive_product)
MSL_BUILTIN(broadcast_first)
#undef MSL_BUILTIN
/* Sources also use these for floating-point numbers. */
#define MSL_BUILTIN(name)                                                                          \
    template <class T> MSL_INLINE T __metal_simd_##name(T x)                                       \
    {                                                                                              \
        return msl::by_bits([](auto bits) { return metal::simd_##name(bits); }, x);                \
    }                                                                                              \
    template <class T> MSL_INLINE T __metal_quad_##name(T x)                                       \
    {                                                                                              \
        return msl::by_bits([](auto bits) { return metal::quad_##name(bits); }, x);                \
    }
MSL_BUILTIN(and)
MSL_BUILTIN(or)
MSL_BUILTIN(xor)
#undef MSL_BUILTIN
#define MSL_BUILTIN(name)                                                                          \
    template <class T> MSL_INLINE T __metal_simd_##name(T x, ushort which)                         \
    {                                                                                              \
        return metal::simd_##name(x, which);                                                       \
    }                                                                                              \
    template <class T> MSL_INLINE T __metal_quad_##name(T x, ushort which)                         \
    {                                                                                              \
        return metal::quad_##name(x, which);                                                       \
    }
MSL_BUILTIN(broadcast)
MSL_BUILTIN(shuffle)
MSL_BUILTIN(shuffle_up)
MSL_BUILTIN(shuffle_down)
MSL_BUILTIN(shuffle_xor)
MSL_BUILTIN(shuffle_rotate_up)
MSL_BUILTIN(shuffle_rotate_down)
#undef MSL_BUILTIN
template <class T>
MSL_INLINE T __metal_simd_shuffle_and_fill_up(T x, T fill, ushort delta, ushort modulo = 32)
{
    return metal::simd_shuffle_and_fill_up(x, fill, delta, modulo);
}
template <class T>
MSL_INLINE T __metal_simd_shuffle_and_fill_down(T x, T fill, ushort delta, ushort modulo = 32)
{
    return metal::simd_shuffle_and_fill_down(x, fill, delta, modulo);
}
template <class T> MSL_INLINE T __metal_get_simdgroup_size(T)
{
    return T(MSL_ABI_SIMD_WIDTH);
}
template <class T> MSL_INLINE T __metal_get_quadgroup_size(T)
{
    return T(4);
}

#endif
