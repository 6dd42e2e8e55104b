/* SPDX-License-Identifier: Apache-2.0 */
/* The whole language: this header is precompiled and precedes every kernel source. */
#ifndef MSL_MODULE_H
#define MSL_MODULE_H

#include "msl/abi.h"
#include "msl/atomic.h"
#include "msl/builtins.h"
#include "msl/entry.h"
#include "msl/geometry.h"
#include "msl/integer.h"
#include "msl/limits.h"
#include "msl/math.h"
#include "msl/matrix.h"
#include "msl/packed.h"
#include "msl/simd.h"
#include "msl/simdgroup_matrix.h"
#include "msl/tail.h"
#include "msl/traits.h"
#include "msl/vector.h"

namespace metal
{
template <class T, size_t N> struct array {
    T elements[N];
    MSL_INLINE constexpr T &operator[](size_t i)
    {
        return elements[i];
    }
    MSL_INLINE constexpr const T &operator[](size_t i) const
    {
        return elements[i];
    }
    MSL_INLINE constexpr T *data()
    {
        return elements;
    }
    MSL_INLINE constexpr const T *data() const
    {
        return elements;
    }
    MSL_INLINE constexpr T *begin()
    {
        return elements;
    }
    MSL_INLINE constexpr const T *begin() const
    {
        return elements;
    }
    MSL_INLINE constexpr T *end()
    {
        return elements + N;
    }
    MSL_INLINE constexpr const T *end() const
    {
        return elements + N;
    }
    MSL_INLINE constexpr T &front()
    {
        return elements[0];
    }
    MSL_INLINE constexpr const T &front() const
    {
        return elements[0];
    }
    MSL_INLINE constexpr T &back()
    {
        return elements[N - 1];
    }
    MSL_INLINE constexpr const T &back() const
    {
        return elements[N - 1];
    }
    static constexpr size_t size()
    {
        return N;
    }
    static constexpr bool empty()
    {
        return N == 0;
    }
};
template <class T> using uniform = T;
template <class T> MSL_INLINE constexpr T make_uniform(T value)
{
    return value;
}
} // namespace metal

namespace simd
{
using namespace metal;
}

/* Our only macros visible to sources, with reserved names: generated code needs them. */
#define __MSL_KERNEL    static inline __attribute__((always_inline))
#define __MSL_ENTRIES   __attribute__((used, section("msl_kernels")))
#define __MSL_VARIABLES __attribute__((used, section("msl_variables")))
#define __MSL_CONSTANTS __attribute__((used, section("msl_constants")))
#undef MSL_INLINE

#endif
