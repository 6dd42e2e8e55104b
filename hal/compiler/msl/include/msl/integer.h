/* SPDX-License-Identifier: Apache-2.0 */
/* <metal_integer> and <metal_pack>. */
#ifndef MSL_INTEGER_H
#define MSL_INTEGER_H

#include "msl/geometry.h"

namespace metal
{
#define MSL_INTEGER template <class T, class = enable_if_t<is_integral_v<T>>> MSL_INLINE
#define MSL_EACH_1(name)                                                                           \
    template <class T, int N> MSL_INLINE vec<T, N> name(const vec<T, N> &x)                        \
    {                                                                                              \
        return vec<T, N>::generate([&](int i) { return name(x.at(i)); });                          \
    }
#define MSL_EACH_2(name)                                                                           \
    template <class T, int N> MSL_INLINE vec<T, N> name(const vec<T, N> &a, const vec<T, N> &b)    \
    {                                                                                              \
        return vec<T, N>::generate([&](int i) { return name(a.at(i), b.at(i)); });                 \
    }
#define MSL_EACH_3(name)                                                                           \
    template <class T, int N>                                                                      \
    MSL_INLINE vec<T, N> name(const vec<T, N> &a, const vec<T, N> &b, const vec<T, N> &c)          \
    {                                                                                              \
        return vec<T, N>::generate([&](int i) { return name(a.at(i), b.at(i), c.at(i)); });        \
    }
MSL_INTEGER T popcount(T x)
{
    return T(__builtin_popcountl(make_unsigned_t<T>(x)));
}
MSL_INTEGER T clz(T x)
{
    const uint64_t bits = make_unsigned_t<T>(x);
    return T(bits ? __builtin_clzl(bits) - (64 - 8 * int(sizeof(T))) : 8 * int(sizeof(T)));
}
MSL_INTEGER T ctz(T x)
{
    const uint64_t bits = make_unsigned_t<T>(x);
    return T(bits ? __builtin_ctzl(bits) : 8 * int(sizeof(T)));
}
MSL_INTEGER T reverse_bits(T x)
{
    return T(__builtin_bitreverse64(make_unsigned_t<T>(x)) >> (64 - 8 * sizeof(T)));
}
MSL_INTEGER T rotate(T x, msl::given<T> by)
{
    using U = make_unsigned_t<T>;
    const int width = 8 * int(sizeof(T)), n = int(by) & (width - 1);
    return n ? T(U(U(x) << n) | U(U(x) >> (width - n))) : x;
}
MSL_INTEGER make_unsigned_t<T> absdiff(T a, msl::given<T> b)
{
    using U = make_unsigned_t<T>;
    return a < b ? U(U(b) - U(a)) : U(U(a) - U(b));
}
MSL_INTEGER T addsat(T a, msl::given<T> b)
{
    T sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return b > T(0) ? numeric_limits<T>::max() : numeric_limits<T>::min();
}
MSL_INTEGER T subsat(T a, msl::given<T> b)
{
    T difference;
    if (!__builtin_sub_overflow(a, b, &difference))
        return difference;
    return b > T(0) ? numeric_limits<T>::min() : numeric_limits<T>::max();
}
MSL_INTEGER T hadd(T a, msl::given<T> b)
{
    return T((a & b) + ((a ^ b) >> 1));
}
MSL_INTEGER T rhadd(T a, msl::given<T> b)
{
    return T((a | b) - ((a ^ b) >> 1));
}
MSL_INTEGER T mulhi(T a, msl::given<T> b)
{
    if constexpr (sizeof(T) == 8) {
        using wide = conditional_t<is_signed_v<T>, __int128, unsigned __int128>;
        return T(wide(a) * wide(b) >> 64);
    } else {
        return T(int64_t(a) * int64_t(b) >> 8 * sizeof(T));
    }
}
template <> MSL_INLINE uint mulhi<uint>(uint a, uint b)
{
    return uint(uint64_t(a) * b >> 32);
}
MSL_INTEGER T madhi(T a, msl::given<T> b, msl::given<T> c)
{
    return T(mulhi(a, b) + c);
}
MSL_INTEGER T madsat(T a, msl::given<T> b, msl::given<T> c)
{
    using wide = conditional_t<is_signed_v<T>, __int128, unsigned __int128>;
    const wide exact = wide(a) * wide(b) + wide(c);
    const T low = numeric_limits<T>::min(), high = numeric_limits<T>::max();
    return exact < wide(low) ? low : exact > wide(high) ? high : T(exact);
}
MSL_INTEGER T mul24(T a, msl::given<T> b)
{
    using U = make_unsigned_t<T>;
    return T(U(a) * U(b));
}
MSL_INTEGER T mad24(T a, msl::given<T> b, msl::given<T> c)
{
    using U = make_unsigned_t<T>;
    return T(U(a) * U(b) + U(c));
}
MSL_INTEGER T extract_bits(T x, uint offset, uint count)
{
    using U = make_unsigned_t<T>;
    const uint width = 8 * sizeof(T);
    if (count == 0)
        return T(0);
    return T(T(U(x) << (width - offset - count)) >> (width - count));
}
MSL_INTEGER T insert_bits(T base, msl::given<T> insert, uint offset, uint count)
{
    using U = make_unsigned_t<T>;
    const uint width = 8 * sizeof(T);
    if (count == 0)
        return base;
    const U mask = U(U(U(~U(0)) >> (width - count)) << offset);
    return T((U(base) & U(~mask)) | (U(U(insert) << offset) & mask));
}
MSL_EACH_1(popcount)
MSL_EACH_1(clz)
MSL_EACH_1(ctz)
MSL_EACH_1(reverse_bits)
MSL_EACH_2(rotate)
MSL_EACH_2(addsat)
MSL_EACH_2(subsat)
MSL_EACH_2(hadd)
MSL_EACH_2(rhadd)
MSL_EACH_2(mulhi)
MSL_EACH_2(mul24)
MSL_EACH_3(mad24)
MSL_EACH_3(madhi)
MSL_EACH_3(madsat)
template <class T, int N>
MSL_INLINE vec<make_unsigned_t<T>, N> absdiff(const vec<T, N> &a, const vec<T, N> &b)
{
    return vec<make_unsigned_t<T>, N>::generate([&](int i) { return absdiff(a.at(i), b.at(i)); });
}
template <class T, int N>
MSL_INLINE vec<T, N> insert_bits(const vec<T, N> &base, const vec<T, N> &insert, uint o, uint n)
{
    return vec<T, N>::generate([&](int i) { return insert_bits(base.at(i), insert.at(i), o, n); });
}
template <class T, int N> MSL_INLINE vec<T, N> extract_bits(const vec<T, N> &x, uint o, uint n)
{
    return vec<T, N>::generate([&](int i) { return extract_bits(x.at(i), o, n); });
}
#undef MSL_INTEGER
#undef MSL_EACH_1
#undef MSL_EACH_2
#undef MSL_EACH_3

MSL_UNPACKING(popcount)
MSL_UNPACKING(clz)
MSL_UNPACKING(ctz)
MSL_UNPACKING(reverse_bits)
MSL_UNPACKING(rotate)
MSL_UNPACKING(absdiff)
MSL_UNPACKING(addsat)
MSL_UNPACKING(subsat)
MSL_UNPACKING(hadd)
MSL_UNPACKING(rhadd)
MSL_UNPACKING(mulhi)
MSL_UNPACKING(mul24)
MSL_UNPACKING(mad24)
MSL_UNPACKING(madhi)
MSL_UNPACKING(madsat)
MSL_UNPACKING(extract_bits)
MSL_UNPACKING(insert_bits)
#undef MSL_UNPACKING
} // namespace metal

namespace msl
{
/* Component `i` of `bits`, `width` bits wide, as a number in [0, 1] or [-1, 1]. */
MSL_INLINE float unpack_unorm(uint64_t bits, int i, int width)
{
    const uint64_t mask = (1ul << width) - 1;
    return float(bits >> (i * width) & mask) / float(mask);
}
MSL_INLINE float unpack_snorm(uint64_t bits, int i, int width)
{
    const int64_t value = int64_t(bits << (64 - (i + 1) * width)) >> (64 - width);
    const float x = float(value) / float((1ul << (width - 1)) - 1);
    return x < -1.0f ? -1.0f : x;
}
MSL_INLINE uint64_t pack_unorm(float x, int i, int width)
{
    const float limit = float((1ul << width) - 1);
    return uint64_t(__builtin_rintf(saturate(x) * limit)) << (i * width);
}
MSL_INLINE uint64_t pack_snorm(float x, int i, int width)
{
    const float limit = float((1ul << (width - 1)) - 1);
    const float inside = x > -1.0f ? (x < 1.0f ? x : 1.0f) : x == x ? -1.0f : 0.0f;
    return (uint64_t(int64_t(__builtin_rintf(inside * limit))) & ((1ul << width) - 1))
           << (i * width);
}
} // namespace msl

namespace metal
{
#define MSL_PACK(N, width, kind, word, shape)                                                      \
    MSL_INLINE vec<float, N> unpack_##kind##shape##_to_float(word bits)                            \
    {                                                                                              \
        return vec<float, N>::generate([&](int i) { return msl::unpack_##kind(bits, i, width); }); \
    }                                                                                              \
    MSL_INLINE vec<half, N> unpack_##kind##shape##_to_half(word bits)                              \
    {                                                                                              \
        return vec<half, N>(unpack_##kind##shape##_to_float(bits));                                \
    }                                                                                              \
    MSL_INLINE word pack_float_to_##kind##shape(const vec<float, N> &x)                            \
    {                                                                                              \
        uint64_t bits = 0;                                                                         \
        for (int i = 0; i < N; i++)                                                                \
            bits |= msl::pack_##kind(x.at(i), i, width);                                           \
        return word(bits);                                                                         \
    }                                                                                              \
    MSL_INLINE word pack_half_to_##kind##shape(const vec<half, N> &x)                              \
    {                                                                                              \
        return pack_float_to_##kind##shape(vec<float, N>(x));                                      \
    }
MSL_PACK(4, 8, unorm, uint, 4x8)
MSL_PACK(4, 8, snorm, uint, 4x8)
MSL_PACK(2, 16, unorm, uint, 2x16)
MSL_PACK(2, 16, snorm, uint, 2x16)
#undef MSL_PACK
} // namespace metal

namespace msl
{
MSL_INLINE float from_srgb(float x)
{
    return x <= 0.04045f ? x / 12.92f : __builtin_powf((x + 0.055f) / 1.055f, 2.4f);
}
MSL_INLINE float to_srgb(float x)
{
    return x <= 0.0031308f ? x * 12.92f : 1.055f * __builtin_powf(x, 1.0f / 2.4f) - 0.055f;
}
/* Components of different widths, the lowest bits first. */
template <int N> struct fields {
    static MSL_INLINE metal::vec<float, N> unpack(uint64_t bits, const int (&width)[N])
    {
        metal::vec<float, N> result;
        for (int i = 0; i < N; bits >>= width[i++])
            result[i] = unpack_unorm(bits, 0, width[i]);
        return result;
    }
    static MSL_INLINE uint64_t pack(const metal::vec<float, N> &x, const int (&width)[N])
    {
        uint64_t bits = 0;
        for (int i = 0, at = 0; i < N; at += width[i++])
            bits |= pack_unorm(x.at(i), 0, width[i]) << at;
        return bits;
    }
};
inline constexpr int fields_10a2[4] = {10, 10, 10, 2};
inline constexpr int fields_565[3] = {5, 6, 5};
} // namespace msl

namespace metal
{
#define MSL_PACK(N, word, shape)                                                                   \
    MSL_INLINE vec<float, N> unpack_unorm##shape##_to_float(word bits)                             \
    {                                                                                              \
        return msl::fields<N>::unpack(bits, msl::fields_##shape);                                  \
    }                                                                                              \
    MSL_INLINE vec<half, N> unpack_unorm##shape##_to_half(word bits)                               \
    {                                                                                              \
        return vec<half, N>(unpack_unorm##shape##_to_float(bits));                                 \
    }                                                                                              \
    MSL_INLINE word pack_float_to_unorm##shape(const vec<float, N> &x)                             \
    {                                                                                              \
        return word(msl::fields<N>::pack(x, msl::fields_##shape));                                 \
    }                                                                                              \
    MSL_INLINE word pack_half_to_unorm##shape(const vec<half, N> &x)                               \
    {                                                                                              \
        return pack_float_to_unorm##shape(vec<float, N>(x));                                       \
    }
MSL_PACK(4, uint, 10a2)
MSL_PACK(3, ushort, 565)
#undef MSL_PACK
MSL_INLINE vec<float, 4> unpack_unorm4x8_srgb_to_float(uint bits)
{
    vec<float, 4> v = unpack_unorm4x8_to_float(bits);
    for (int i = 0; i < 3; i++)
        v[i] = msl::from_srgb(v[i]);
    return v;
}
MSL_INLINE vec<half, 4> unpack_unorm4x8_srgb_to_half(uint bits)
{
    return vec<half, 4>(unpack_unorm4x8_srgb_to_float(bits));
}
MSL_INLINE uint pack_float_to_srgb_unorm4x8(const vec<float, 4> &x)
{
    vec<float, 4> v = x;
    for (int i = 0; i < 3; i++)
        v[i] = msl::to_srgb(msl::saturate(v[i]));
    return pack_float_to_unorm4x8(v);
}
MSL_INLINE uint pack_half_to_srgb_unorm4x8(const vec<half, 4> &x)
{
    return pack_float_to_srgb_unorm4x8(vec<float, 4>(x));
}
} // namespace metal

#endif
