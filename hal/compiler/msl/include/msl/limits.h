/* SPDX-License-Identifier: Apache-2.0 */
/* <metal_limits>. */
#ifndef MSL_LIMITS_H
#define MSL_LIMITS_H

#include "msl/traits.h"

namespace metal
{
template <class T> struct numeric_limits {
    static constexpr bool is_specialized = is_integral_v<T>;
    static constexpr bool is_integer = is_integral_v<T>;
    static constexpr bool is_signed = is_signed_v<T>;
    static constexpr bool has_infinity = false;
    static constexpr bool has_quiet_NaN = false;
    static constexpr bool has_signaling_NaN = false;
    static constexpr bool is_iec559 = false;
    static constexpr bool is_exact = true;
    static constexpr bool is_bounded = true;
    static constexpr bool is_modulo = !is_signed;
    static constexpr int radix = 2;
    static constexpr int digits = int(sizeof(T) * 8) - (is_signed ? 1 : 0);
    static constexpr int digits10 = digits * 3 / 10;
    static constexpr T epsilon()
    {
        return T(0);
    }
    static constexpr T max()
    {
        return T(is_signed ? (1ul << (sizeof(T) * 8 - 1)) - 1 : ~0ul);
    }
    static constexpr T min()
    {
        return is_signed ? T(-max() - 1) : T(0);
    }
    static constexpr T lowest()
    {
        return min();
    }
};
template <> struct numeric_limits<bool> : numeric_limits<uint8_t> {
    static constexpr int digits = 1;
    static constexpr int digits10 = 0;
    static constexpr bool max()
    {
        return true;
    }
    static constexpr bool min()
    {
        return false;
    }
    static constexpr bool lowest()
    {
        return false;
    }
};
#define MSL_FLOAT_LIMITS(T, mantissa, greatest, smallest, gap, least, exponent, decimals)          \
    template <> struct numeric_limits<T> {                                                         \
        static constexpr bool is_specialized = true;                                               \
        static constexpr bool is_integer = false;                                                  \
        static constexpr bool is_signed = true;                                                    \
        static constexpr bool has_infinity = true;                                                 \
        static constexpr bool has_quiet_NaN = true;                                                \
        static constexpr bool has_signaling_NaN = true;                                            \
        static constexpr bool has_denorm = true;                                                   \
        static constexpr bool is_iec559 = true;                                                    \
        static constexpr bool is_exact = false;                                                    \
        static constexpr bool is_bounded = true;                                                   \
        static constexpr bool is_modulo = false;                                                   \
        static constexpr int radix = 2;                                                            \
        static constexpr int digits = mantissa;                                                    \
        static constexpr int digits10 = (mantissa - 1) * 3 / 10;                                   \
        static constexpr int max_digits10 = decimals;                                              \
        static constexpr int max_exponent = exponent;                                              \
        static constexpr int min_exponent = 3 - exponent;                                          \
        static constexpr T denorm_min()                                                            \
        {                                                                                          \
            return T(least);                                                                       \
        }                                                                                          \
        static constexpr T round_error()                                                           \
        {                                                                                          \
            return T(0.5f);                                                                        \
        }                                                                                          \
        static constexpr T max()                                                                   \
        {                                                                                          \
            return T(greatest);                                                                    \
        }                                                                                          \
        static constexpr T min()                                                                   \
        {                                                                                          \
            return T(smallest);                                                                    \
        }                                                                                          \
        static constexpr T lowest()                                                                \
        {                                                                                          \
            return T(-greatest);                                                                   \
        }                                                                                          \
        static constexpr T epsilon()                                                               \
        {                                                                                          \
            return T(gap);                                                                         \
        }                                                                                          \
        static constexpr T infinity()                                                              \
        {                                                                                          \
            return T(__builtin_inff());                                                            \
        }                                                                                          \
        static constexpr T quiet_NaN()                                                             \
        {                                                                                          \
            return T(__builtin_nanf(""));                                                          \
        }                                                                                          \
        static constexpr T signaling_NaN()                                                         \
        {                                                                                          \
            return T(__builtin_nansf(""));                                                         \
        }                                                                                          \
    };
MSL_FLOAT_LIMITS(float, 24, 0x1.fffffep127f, 0x1p-126f, 0x1p-23f, 0x1p-149f, 128, 9)
MSL_FLOAT_LIMITS(half, 11, 65504.0f, 0x1p-14f, 0x1p-10f, 0x1p-24f, 16, 5)
MSL_FLOAT_LIMITS(bfloat, 8, 0x1.fep127f, 0x1p-126f, 0x1p-7f, 0x1p-133f, 128, 4)
#undef MSL_FLOAT_LIMITS
} // namespace metal

#endif
