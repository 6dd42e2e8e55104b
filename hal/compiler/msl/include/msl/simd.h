/* SPDX-License-Identifier: Apache-2.0 */
/* <metal_simdgroup>, <metal_quadgroup>, barriers: cooperation between threads. */
#ifndef MSL_SIMD_H
#define MSL_SIMD_H

#include "msl/abi.h"
#include "msl/atomic.h"

/* Defined in each compiled source that uses them (tail.h); hal/compiler/msl/fission knows them by
 * name. They must neither move nor merge: the address of the call identifies lanes that execute the
 * same operation. */
extern "C" {
#define MSL_TOGETHER inline __attribute__((noinline, convergent, nomerge, visibility("hidden")))
MSL_TOGETHER void __msl_group_barrier(void);
MSL_TOGETHER void __msl_simdgroup_barrier(void);
MSL_TOGETHER const void *__msl_exchange(const void *value, uint32_t bytes, uint32_t *out_active);
MSL_TOGETHER uint32_t __msl_lane(void);
/* A lane's two elements of an 8x8 tile that it holds whole; the tile of all lanes' elements. */
MSL_TOGETHER void __msl_spread(const void *tile, void *pair, uint32_t element_bytes);
MSL_TOGETHER void __msl_collect(const void *pair, void *tile, uint32_t element_bytes);
#undef MSL_TOGETHER
}

namespace msl
{
/* All lanes' values of one operation, as seen by one lane. */
template <class T> struct exchanged {
    const char *values;
    uint32_t active;
    MSL_INLINE explicit exchanged(const T &value)
    {
        static_assert(sizeof(T) <= MSL_ABI_LANE_BYTES && (sizeof(T) & (sizeof(T) - 1)) == 0,
                      "simd operations take at most 16 bytes");
        values = (const char *)__msl_exchange(&value, sizeof(T), &active);
    }
    MSL_INLINE T of(uint32_t lane) const
    {
        T value;
        __builtin_memcpy(&value, values + lane % MSL_ABI_SIMD_WIDTH * sizeof(T), sizeof(T));
        return value;
    }
    MSL_INLINE bool has(uint32_t lane) const
    {
        return active >> lane & 1;
    }
};

/* Combines two values: numbers, or vectors of one number per lane. */
#define MSL_REDUCTION(name, expression, vectors)                                                   \
    struct name {                                                                                  \
        template <class T> static MSL_INLINE T apply(const T &a, const T &b)                       \
        {                                                                                          \
            return T(expression);                                                                  \
        }                                                                                          \
        template <class V> static MSL_INLINE V combine(V a, V b)                                   \
        {                                                                                          \
            return vectors;                                                                        \
        }                                                                                          \
    };
MSL_REDUCTION(with_sum, a + b, a + b)
MSL_REDUCTION(with_product, a *b, a *b)
MSL_REDUCTION(with_min, metal::min(a, b), __builtin_elementwise_min(a, b))
MSL_REDUCTION(with_max, metal::max(a, b), __builtin_elementwise_max(a, b))
MSL_REDUCTION(with_and, a &b, a &b)
MSL_REDUCTION(with_or, a | b, a | b)
MSL_REDUCTION(with_xor, a ^ b, a ^ b)
#undef MSL_REDUCTION

/* Folds the participating lanes of [first, last), in order. */
template <class F, class T>
MSL_INLINE T fold(const exchanged<T> &all, uint32_t first, uint32_t last, T start)
{
    for (uint32_t lane = first; lane < last; lane++)
        if (all.has(lane))
            start = F::apply(start, all.of(lane));
    return start;
}
template <class T, int n> using row_of = T __attribute__((ext_vector_type(n)));
template <int bytes> struct bits_of;
template <> struct bits_of<1> {
    typedef uint8_t type;
};
template <> struct bits_of<2> {
    typedef uint16_t type;
};
template <> struct bits_of<4> {
    typedef uint32_t type;
};
template <> struct bits_of<8> {
    typedef uint64_t type;
};

/* The identity element, for lanes that do not take part. */
template <class F, class T> MSL_INLINE T neutral(const exchanged<T> &all)
{
    if constexpr (__is_same(F, with_sum) && metal::is_floating_point_v<T>)
        return T(-0.0f);
    else if constexpr (__is_same(F, with_sum) || __is_same(F, with_or) || __is_same(F, with_xor))
        return T(0);
    else if constexpr (__is_same(F, with_product))
        return T(1);
    else if constexpr (__is_same(F, with_and))
        return T(~T(0));
    else
        return all.of(uint32_t(__builtin_ctz(all.active)));
}

/* Adds halves to halves, the order that all lowerings use. */
template <class F, class T> MSL_INLINE T reduce_numbers(const exchanged<T> &all)
{
    typedef typename bits_of<sizeof(T)>::type bits;
    constexpr row_of<uint32_t, 32> lane = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                           11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                           22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    row_of<T, 32> v;
    __builtin_memcpy(&v, all.values, sizeof v);
    const row_of<bits, 32> has =
        __builtin_convertvector(row_of<uint32_t, 32>(all.active) >> lane & 1u, row_of<bits, 32>);
    v = has != row_of<bits, 32>(bits(0)) ? v : row_of<T, 32>(neutral<F>(all));
    const row_of<T, 16> a = F::combine(row_of<T, 16>(v.lo), row_of<T, 16>(v.hi));
    const row_of<T, 8> b = F::combine(row_of<T, 8>(a.lo), row_of<T, 8>(a.hi));
    const row_of<T, 4> c = F::combine(row_of<T, 4>(b.lo), row_of<T, 4>(b.hi));
    const row_of<T, 2> d = F::combine(row_of<T, 2>(c.lo), row_of<T, 2>(c.hi));
    return F::apply(T(d.x), T(d.y));
}

template <class F, class T> MSL_INLINE T reduce(const T &value)
{
    const exchanged<T> all(value);
    if constexpr (is_number<T> && !is_bfloat<T> && !__is_same(T, bool)) {
        return reduce_numbers<F>(all);
    } else {
        const uint32_t first = uint32_t(__builtin_ctz(all.active));
        return fold<F>(all, first + 1, MSL_ABI_SIMD_WIDTH, all.of(first));
    }
}
} // namespace msl

namespace metal
{
MSL_INLINE void threadgroup_barrier(mem_flags)
{
    __msl_group_barrier();
}
MSL_INLINE void threadgroup_barrier(mem_flags, memory_order, thread_scope = thread_scope_device)
{
    __msl_group_barrier();
}
MSL_INLINE void simdgroup_barrier(mem_flags)
{
    __msl_simdgroup_barrier();
}
MSL_INLINE void simdgroup_barrier(mem_flags flags, memory_order, thread_scope = thread_scope_device)
{
    simdgroup_barrier(flags);
}

#define MSL_REDUCTION(name)                                                                        \
    template <class T> MSL_INLINE T simd_##name(T value)                                           \
    {                                                                                              \
        return msl::reduce<msl::with_##name>(value);                                               \
    }                                                                                              \
    template <class T> MSL_INLINE T quad_##name(T value)                                           \
    {                                                                                              \
        const msl::exchanged<T> all(value);                                                        \
        const uint32_t first = __msl_lane() & ~3u, group = all.active >> first & 15;               \
        const uint32_t start = first + __builtin_ctz(group);                                       \
        return msl::fold<msl::with_##name>(all, start + 1, first + 4, all.of(start));              \
    }
MSL_REDUCTION(sum)
MSL_REDUCTION(product)
MSL_REDUCTION(min)
MSL_REDUCTION(max)
MSL_REDUCTION(and)
MSL_REDUCTION(or)
MSL_REDUCTION(xor)
#undef MSL_REDUCTION
MSL_INLINE bool simd_any(bool value)
{
    return simd_or(uchar(value));
}
MSL_INLINE bool simd_all(bool value)
{
    return simd_and(uchar(value));
}
MSL_INLINE bool quad_any(bool value)
{
    return quad_or(uchar(value));
}
MSL_INLINE bool quad_all(bool value)
{
    return quad_and(uchar(value));
}

/* A lane outside of the simdgroup yields the caller's own value. */
#define MSL_SHUFFLE(name, parameter, simd_from, quad_from)                                         \
    template <class T> MSL_INLINE T simd_##name(T value, ushort parameter)                         \
    {                                                                                              \
        const int lane = int(__msl_lane()), from = (simd_from);                                    \
        const msl::exchanged<T> all(value);                                                        \
        return from >= 0 && from < MSL_ABI_SIMD_WIDTH ? all.of(uint32_t(from)) : value;            \
    }                                                                                              \
    template <class T> MSL_INLINE T quad_##name(T value, ushort parameter)                         \
    {                                                                                              \
        const int own = int(__msl_lane()), lane = own & 3, from = (quad_from);                     \
        const msl::exchanged<T> all(value);                                                        \
        return from >= 0 && from < 4 ? all.of(uint32_t((own & ~3) + from)) : value;                \
    }
MSL_SHUFFLE(shuffle, from_lane, ((void)lane, from_lane & 31), ((void)lane, from_lane & 3))
MSL_SHUFFLE(broadcast, from_lane, ((void)lane, from_lane & 31), ((void)lane, from_lane & 3))
MSL_SHUFFLE(shuffle_xor, mask, (lane ^ mask) & 31, (lane ^ mask) & 3)
MSL_SHUFFLE(shuffle_up, delta, lane - delta, lane - delta)
MSL_SHUFFLE(shuffle_down, delta, lane + delta, lane + delta)
MSL_SHUFFLE(shuffle_rotate_up, delta, (lane - delta) & 31, (lane - delta) & 3)
MSL_SHUFFLE(shuffle_rotate_down, delta, (lane + delta) & 31, (lane + delta) & 3)
#undef MSL_SHUFFLE

/* Lanes from outside wrap to the other end of `fill`, `modulo` lanes wide. */
template <class T>
MSL_INLINE T simd_shuffle_and_fill_up(T value, T fill, ushort delta, ushort modulo = 32)
{
    const int lane = int(__msl_lane()), in = lane % modulo, base = lane - in;
    const msl::exchanged<T> all(value);
    const T direct = all.of(uint32_t(base + in - delta));
    const msl::exchanged<T> filled(fill);
    return in >= delta ? direct : filled.of(uint32_t(base + in - delta + modulo));
}
template <class T>
MSL_INLINE T simd_shuffle_and_fill_down(T value, T fill, ushort delta, ushort modulo = 32)
{
    const int lane = int(__msl_lane()), in = lane % modulo, base = lane - in;
    const msl::exchanged<T> all(value);
    const T direct = all.of(uint32_t(base + in + delta));
    const msl::exchanged<T> filled(fill);
    return in + delta < modulo ? direct : filled.of(uint32_t(base + in + delta - modulo));
}
template <class T> MSL_INLINE T simd_broadcast_first(T value)
{
    const msl::exchanged<T> all(value);
    return all.of(uint32_t(__builtin_ctz(all.active)));
}
template <class T> MSL_INLINE T quad_broadcast_first(T value)
{
    const msl::exchanged<T> all(value);
    const uint32_t first = __msl_lane() & ~3u;
    return all.of(first + uint32_t(__builtin_ctz(all.active >> first)));
}
MSL_INLINE bool simd_is_first()
{
    const msl::exchanged<uint> all(0u);
    return __msl_lane() == uint32_t(__builtin_ctz(all.active));
}
MSL_INLINE bool quad_is_first()
{
    const msl::exchanged<uint> all(0u);
    const uint32_t first = __msl_lane() & ~3u;
    return __msl_lane() == first + uint32_t(__builtin_ctz(all.active >> first));
}
#define MSL_PREFIX(name, neutral)                                                                  \
    template <class T> MSL_INLINE T simd_prefix_inclusive_##name(T value)                          \
    {                                                                                              \
        const msl::exchanged<T> all(value);                                                        \
        return msl::fold<msl::with_##name>(all, 0, __msl_lane() + 1, T(neutral));                  \
    }                                                                                              \
    template <class T> MSL_INLINE T simd_prefix_exclusive_##name(T value)                          \
    {                                                                                              \
        const msl::exchanged<T> all(value);                                                        \
        return msl::fold<msl::with_##name>(all, 0, __msl_lane(), T(neutral));                      \
    }                                                                                              \
    template <class T> MSL_INLINE T quad_prefix_inclusive_##name(T value)                          \
    {                                                                                              \
        const msl::exchanged<T> all(value);                                                        \
        return msl::fold<msl::with_##name>(all, __msl_lane() & ~3u, __msl_lane() + 1, T(neutral)); \
    }                                                                                              \
    template <class T> MSL_INLINE T quad_prefix_exclusive_##name(T value)                          \
    {                                                                                              \
        const msl::exchanged<T> all(value);                                                        \
        return msl::fold<msl::with_##name>(all, __msl_lane() & ~3u, __msl_lane(), T(neutral));     \
    }
MSL_PREFIX(sum, 0)
MSL_PREFIX(product, 1)
#undef MSL_PREFIX

#define MSL_VOTE(name, word, everybody)                                                            \
    class name                                                                                     \
    {                                                                                              \
      public:                                                                                      \
        typedef word vote_t;                                                                       \
        MSL_INLINE constexpr explicit name(vote_t v = 0) : bits(v) {}                              \
        MSL_INLINE constexpr explicit operator vote_t() const                                      \
        {                                                                                          \
            return bits;                                                                           \
        }                                                                                          \
        MSL_INLINE constexpr bool all() const                                                      \
        {                                                                                          \
            return bits == (everybody);                                                            \
        }                                                                                          \
        MSL_INLINE constexpr bool any() const                                                      \
        {                                                                                          \
            return bits != 0;                                                                      \
        }                                                                                          \
                                                                                                   \
      private:                                                                                     \
        vote_t bits;                                                                               \
    };
MSL_VOTE(simd_vote, uint64_t, 0xffffffffu)
MSL_VOTE(quad_vote, uint64_t, 15u)
#undef MSL_VOTE
MSL_INLINE simd_vote simd_ballot(bool value)
{
    const msl::exchanged<uchar> all(value);
    msl::row_of<uint8_t, 32> said;
    __builtin_memcpy(&said, all.values, sizeof said);
    const msl::row_of<bool, 32> votes = __builtin_convertvector(said, msl::row_of<bool, 32>);
    uint32_t bits;
    __builtin_memcpy(&bits, &votes, sizeof bits);
    return simd_vote(bits & all.active);
}
MSL_INLINE simd_vote simd_active_threads_mask()
{
    return simd_vote(msl::exchanged<uchar>(uchar(0)).active);
}
MSL_INLINE quad_vote quad_ballot(bool value)
{
    const uint64_t bits = uint64_t(simd_ballot(value));
    return quad_vote(bits >> (__msl_lane() & ~3u) & 15u);
}
MSL_INLINE quad_vote quad_active_threads_mask()
{
    return quad_ballot(true);
}
} // namespace metal

#endif
