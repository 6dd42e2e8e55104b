/* SPDX-License-Identifier: Apache-2.0 */
/* <metal_simdgroup>, <metal_quadgroup>, barriers: what threads do together. */
#ifndef MSL_SIMD_H
#define MSL_SIMD_H

#include "msl/abi.h"
#include "msl/atomic.h"

/* Defined once per compiled source. They must neither move nor merge: the address of the call
 * tells which lanes execute the same operation. */
extern "C" {
#define MSL_TOGETHER __attribute__((convergent, nomerge, visibility("hidden")))
MSL_TOGETHER void __msl_group_barrier(void);
MSL_TOGETHER const void *__msl_exchange(const void *value, uint32_t bytes, msl_abi_reduce *reduce,
                                        uint32_t *out_active);
MSL_TOGETHER uint32_t __msl_lane(void);
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
        static_assert(sizeof(T) <= MSL_ABI_LANE_BYTES, "simd operations take at most 16 bytes");
        values = (const char *)__msl_exchange(&value, sizeof(T), nullptr, &active);
    }
    MSL_INLINE T of(uint32_t lane) const
    {
        T value;
        __builtin_memcpy(&value, values + lane % MSL_ABI_SIMD_WIDTH * MSL_ABI_LANE_BYTES,
                         sizeof(T));
        return value;
    }
    MSL_INLINE bool has(uint32_t lane) const
    {
        return active >> lane & 1;
    }
};

template <class T, class F>
__attribute__((noinline)) void reduce_lanes(const void *lanes, uint32_t active, void *result)
{
    const char *values = (const char *)lanes;
    T sum, next;
    __builtin_memcpy(&sum, values + __builtin_ctz(active) * MSL_ABI_LANE_BYTES, sizeof(T));
    for (uint32_t rest = active & (active - 1); rest; rest &= rest - 1) {
        __builtin_memcpy(&next, values + __builtin_ctz(rest) * MSL_ABI_LANE_BYTES, sizeof(T));
        sum = F::apply(sum, next);
    }
    __builtin_memcpy(result, &sum, sizeof(T));
}

template <class F, class T> MSL_INLINE T reduce(const T &value)
{
    static_assert(sizeof(T) <= MSL_ABI_LANE_BYTES, "simd operations take at most 16 bytes");
    uint32_t active;
    T result;
    __builtin_memcpy(&result, __msl_exchange(&value, sizeof(T), reduce_lanes<T, F>, &active),
                     sizeof(T));
    return result;
}

#define MSL_REDUCTION(name, expression)                                                            \
    struct name {                                                                                  \
        template <class T> static MSL_INLINE T apply(const T &a, const T &b)                       \
        {                                                                                          \
            return T(expression);                                                                  \
        }                                                                                          \
    };
MSL_REDUCTION(with_sum, a + b)
MSL_REDUCTION(with_product, a *b)
MSL_REDUCTION(with_min, metal::min(a, b))
MSL_REDUCTION(with_max, metal::max(a, b))
MSL_REDUCTION(with_and, a &b)
MSL_REDUCTION(with_or, a | b)
MSL_REDUCTION(with_xor, a ^ b)
#undef MSL_REDUCTION

/* Folds the lanes [first, last) that take part, in order. */
template <class F, class T>
MSL_INLINE T fold(const exchanged<T> &all, uint32_t first, uint32_t last, T start)
{
    for (uint32_t lane = first; lane < last; lane++)
        if (all.has(lane))
            start = F::apply(start, all.of(lane));
    return start;
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
    const uint32_t nothing = 0;
    uint32_t active;
    __msl_exchange(&nothing, sizeof nothing, nullptr, &active);
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

/* A lane outside the simdgroup gives the caller's own value. */
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

/* Lanes that would come from outside come from the other end of `fill`, `modulo` lanes wide. */
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

class simd_vote
{
  public:
    typedef uint64_t vote_t;
    MSL_INLINE constexpr explicit simd_vote(vote_t v = 0) : bits(v) {}
    MSL_INLINE constexpr explicit operator vote_t() const
    {
        return bits;
    }
    MSL_INLINE constexpr bool all() const
    {
        return bits == 0xffffffffu;
    }
    MSL_INLINE constexpr bool any() const
    {
        return bits != 0;
    }

  private:
    vote_t bits;
};
MSL_INLINE simd_vote simd_ballot(bool value)
{
    const msl::exchanged<uint> all(value);
    uint64_t bits = 0;
    for (uint32_t lane = 0; lane < MSL_ABI_SIMD_WIDTH; lane++)
        if (all.has(lane) && all.of(lane))
            bits |= 1ul << lane;
    return simd_vote(bits);
}
MSL_INLINE simd_vote simd_active_threads_mask()
{
    return simd_ballot(true);
}
} // namespace metal

#endif
