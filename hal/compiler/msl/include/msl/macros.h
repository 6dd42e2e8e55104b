/* SPDX-License-Identifier: Apache-2.0 */
/* The content of <metal_stdlib> and its parts while a source is preprocessed: macros only. The
 * declarations follow later, precompiled. */
#ifndef MSL_MACROS_H
#define MSL_MACROS_H

#define INFINITY    (__builtin_inff())
#define NAN         (__builtin_nanf(""))
#define HUGE_VALF   (__builtin_inff())
#define HUGE_VALH   (half(__builtin_inff()))
#define MAXFLOAT    0x1.fffffep127f
#define MAXHALF     65504.0h
#define FP_ILOGB0   (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)

#define METAL_FUNC     inline __attribute__((always_inline))
#define METAL_INTERNAL inline __attribute__((always_inline))
#define METAL_CONST    __attribute__((const))
#define METAL_PURE     __attribute__((pure))
#ifdef __MSL_FAST_MATH
#define __METAL_FAST_MATH__    1
#define __METAL_PRECISE_MATH__ 0
#else
#define __METAL_FAST_MATH__    0
#define __METAL_PRECISE_MATH__ 1
#endif
#define __METAL_MAYBE_FAST_MATH__ 0

#define CHAR_BIT  8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN  SCHAR_MIN
#define CHAR_MAX  SCHAR_MAX
#define SHRT_MIN  (-32768)
#define SHRT_MAX  32767
#define USHRT_MAX 65535
#define INT_MIN   (-2147483647 - 1)
#define INT_MAX   2147483647
#define UINT_MAX  4294967295U
#define LONG_MIN  (-9223372036854775807L - 1)
#define LONG_MAX  9223372036854775807L
#define ULONG_MAX 18446744073709551615UL

#define FLT_DIG         6
#define FLT_MANT_DIG    24
#define FLT_MAX_10_EXP  38
#define FLT_MAX_EXP     128
#define FLT_MIN_10_EXP  (-37)
#define FLT_MIN_EXP     (-125)
#define FLT_RADIX       2
#define FLT_MAX         0x1.fffffep127f
#define FLT_MIN         0x1.0p-126f
#define FLT_EPSILON     0x1.0p-23f
#define FLT_DECIMAL_DIG 9

#define HALF_DIG         3
#define HALF_MANT_DIG    11
#define HALF_MAX_10_EXP  4
#define HALF_MAX_EXP     16
#define HALF_MIN_10_EXP  (-4)
#define HALF_MIN_EXP     (-13)
#define HALF_RADIX       2
#define HALF_MAX         65504.0h
#define HALF_MIN         6.103515625e-05h
#define HALF_EPSILON     9.765625e-04h
#define HALF_DECIMAL_DIG 5

#define M_E_F        2.71828182845904523536f
#define M_LOG2E_F    1.44269504088896340736f
#define M_LOG10E_F   0.434294481903251827651f
#define M_LN2_F      0.693147180559945309417f
#define M_LN10_F     2.30258509299404568402f
#define M_PI_F       3.14159265358979323846f
#define M_PI_2_F     1.57079632679489661923f
#define M_PI_4_F     0.785398163397448309616f
#define M_1_PI_F     0.318309886183790671538f
#define M_2_PI_F     0.636619772367581343076f
#define M_2_SQRTPI_F 1.12837916709551257390f
#define M_SQRT2_F    1.41421356237309504880f
#define M_SQRT1_2_F  0.707106781186547524401f
#define M_E_H        2.71828182845904523536h
#define M_LOG2E_H    1.44269504088896340736h
#define M_LOG10E_H   0.434294481903251827651h
#define M_LN2_H      0.693147180559945309417h
#define M_LN10_H     2.30258509299404568402h
#define M_PI_H       3.14159265358979323846h
#define M_PI_2_H     1.57079632679489661923h
#define M_PI_4_H     0.785398163397448309616h
#define M_1_PI_H     0.318309886183790671538h
#define M_2_PI_H     0.636619772367581343076h
#define M_2_SQRTPI_H 1.12837916709551257390h
#define M_SQRT2_H    1.41421356237309504880h
#define M_SQRT1_2_H  0.707106781186547524401h

#endif
