/* SPDX-License-Identifier: Apache-2.0 */
/* <metal_atomic>: atomics on device and threadgroup memory, orders, scopes, fences. */
#ifndef MSL_ATOMIC_H
#define MSL_ATOMIC_H

#include "msl/math.h"

namespace metal
{
enum memory_order {
    memory_order_relaxed = __ATOMIC_RELAXED,
    memory_order_acquire = __ATOMIC_ACQUIRE,
    memory_order_release = __ATOMIC_RELEASE,
    memory_order_acq_rel = __ATOMIC_ACQ_REL,
    memory_order_seq_cst = __ATOMIC_SEQ_CST
};
enum thread_scope {
    thread_scope_thread,
    thread_scope_simdgroup,
    thread_scope_threadgroup,
    thread_scope_device,
    thread_scope_system
};
enum class mem_flags {
    mem_none = 0,
    mem_device = 1,
    mem_threadgroup = 2,
    mem_texture = 4,
    mem_threadgroup_imageblock = 8,
    mem_object_data = 16
};
MSL_INLINE constexpr mem_flags operator|(mem_flags a, mem_flags b)
{
    return mem_flags(int(a) | int(b));
}

/* Plain storage: every access goes through the functions below. Explicitly aligned: accesses to
 * unaligned data would be library calls. */
template <class T> struct alignas(sizeof(T)) atomic {
    T stored;
};
template <class T> using _atomic = atomic<T>;
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<bool> atomic_bool;
typedef atomic<float> atomic_float;
typedef atomic<ulong> atomic_ulong;
typedef atomic<long> atomic_long;
} // namespace metal

namespace msl
{
template <class T> using atomic_pointer = volatile metal::atomic<T> *;

template <class T, class F> MSL_INLINE T atomic_update(atomic_pointer<T> object, F next, int order)
{
    T old, wanted;
    __atomic_load(&object->stored, &old, __ATOMIC_RELAXED);
    do
        wanted = next(old);
    while (
        !__atomic_compare_exchange(&object->stored, &old, &wanted, true, order, __ATOMIC_RELAXED));
    return old;
}
} // namespace msl

namespace metal
{
template <class T>
MSL_INLINE T atomic_load_explicit(const volatile atomic<T> *object, memory_order order)
{
    T value;
    __atomic_load(&object->stored, &value, order);
    return value;
}
template <class T>
MSL_INLINE void atomic_store_explicit(volatile atomic<T> *object, msl::given<T> value,
                                      memory_order order)
{
    __atomic_store(&object->stored, &value, order);
}
template <class T>
MSL_INLINE T atomic_exchange_explicit(volatile atomic<T> *object, msl::given<T> value,
                                      memory_order order)
{
    T old;
    __atomic_exchange(&object->stored, &value, &old, order);
    return old;
}
template <class T>
MSL_INLINE bool atomic_compare_exchange_weak_explicit(volatile atomic<T> *object, T *expected,
                                                      msl::given<T> desired, memory_order success,
                                                      memory_order failure)
{
    return __atomic_compare_exchange(&object->stored, expected, &desired, true, success, failure);
}
template <class T>
MSL_INLINE bool atomic_compare_exchange_strong_explicit(volatile atomic<T> *object, T *expected,
                                                        msl::given<T> desired, memory_order success,
                                                        memory_order failure)
{
    return __atomic_compare_exchange(&object->stored, expected, &desired, false, success, failure);
}

#define MSL_FETCH(name, expression)                                                                \
    template <class T>                                                                             \
    MSL_INLINE T atomic_fetch_##name##_explicit(volatile atomic<T> *object, msl::given<T> value,   \
                                                memory_order order)                                \
    {                                                                                              \
        if constexpr (is_integral_v<T>)                                                            \
            return __atomic_fetch_##name(&object->stored, value, order);                           \
        else                                                                                       \
            return msl::atomic_update<T>(                                                          \
                object, [&](T old) { return T(expression); }, order);                              \
    }
MSL_FETCH(add, old + value)
MSL_FETCH(sub, old - value)
#undef MSL_FETCH
#define MSL_FETCH(name)                                                                            \
    template <class T>                                                                             \
    MSL_INLINE T atomic_fetch_##name##_explicit(volatile atomic<T> *object, msl::given<T> value,   \
                                                memory_order order)                                \
    {                                                                                              \
        return __atomic_fetch_##name(&object->stored, value, order);                               \
    }
MSL_FETCH(and)
MSL_FETCH(or)
MSL_FETCH(xor)
#undef MSL_FETCH
#define MSL_FETCH(name)                                                                            \
    template <class T>                                                                             \
    MSL_INLINE T atomic_fetch_##name##_explicit(volatile atomic<T> *object, msl::given<T> value,   \
                                                memory_order order)                                \
    {                                                                                              \
        return msl::atomic_update<T>(                                                              \
            object, [&](T old) { return name(old, value); }, order);                               \
    }                                                                                              \
    template <class T>                                                                             \
    MSL_INLINE void atomic_##name##_explicit(volatile atomic<T> *object, msl::given<T> value,      \
                                             memory_order order)                                   \
    {                                                                                              \
        atomic_fetch_##name##_explicit(object, value, order);                                      \
    }
MSL_FETCH(min)
MSL_FETCH(max)
#undef MSL_FETCH

MSL_INLINE void atomic_thread_fence(mem_flags, memory_order order,
                                    thread_scope = thread_scope_device)
{
    __atomic_thread_fence(order);
}
} // namespace metal

#endif
