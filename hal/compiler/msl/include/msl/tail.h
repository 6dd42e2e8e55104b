/* SPDX-License-Identifier: Apache-2.0 */
/* Part of every compiled source: calls to its runtime, and the one exported symbol. */
#ifndef MSL_TAIL_H
#define MSL_TAIL_H

#include "msl/simdgroup_matrix.h"

static const msl_abi_runtime *__msl_runtime;

extern "C" {
inline void __msl_group_barrier(void)
{
    __msl_runtime->group_barrier();
}
inline void __msl_simdgroup_barrier(void)
{
    const uint32_t nothing = 0;
    uint32_t active;
    __msl_runtime->exchange(&nothing, sizeof nothing, __builtin_return_address(0), &active);
}
inline const void *__msl_exchange(const void *value, uint32_t bytes, uint32_t *out_active)
{
    return __msl_runtime->exchange(value, bytes, __builtin_return_address(0), out_active);
}
/* hal/compiler/msl/fission/positions.c inserts the calls. */
__attribute__((used, noinline)) void __msl_position(const uint32_t *words, uint32_t count)
{
    __msl_runtime->position(words, count);
}
inline uint32_t __msl_lane(void)
{
    return __msl_runtime->lane();
}
inline void __msl_spread(const void *tile, void *pair, uint32_t element_bytes)
{
    const uint32_t at = msl::pair_of(__msl_runtime->lane()) * 2 * element_bytes;
    __builtin_memcpy(pair, (const char *)tile + at, 2 * element_bytes);
}
inline void __msl_collect(const void *pair, void *tile, uint32_t element_bytes)
{
    uint32_t active;
    const char *pairs = (const char *)__msl_runtime->exchange(pair, 2 * element_bytes,
                                                              __builtin_return_address(0), &active);
    for (uint32_t lane = 0; lane < MSL_ABI_SIMD_WIDTH; lane++)
        __builtin_memcpy((char *)tile + msl::pair_of(lane) * 2 * element_bytes,
                         pairs + lane * 2 * element_bytes, 2 * element_bytes);
}

#ifdef __MSL_CHECK_BOUNDS
/* Applied to every address that is read or written (hal/compiler/msl/fission/bounds.c). Untagged
 * addresses are the thread's own memory. */
__attribute__((used)) void *__msl_checked(void *address, uint64_t bytes, uint32_t is_write)
{
    return (uint64_t)address >> MSL_ABI_TAG_SHIFT ? __msl_runtime->check(address, bytes, is_write)
                                                  : address;
}

/* clang calls this for an index outside of an array of known length. */
struct __msl_type_name {
    uint16_t kind, info;
    char name[1];
};
struct __msl_array_fault {
    const char *file;
    uint32_t line, column;
    const __msl_type_name *array, *index;
};
__attribute__((used)) void __ubsan_handle_out_of_bounds(void *fault, uintptr_t index)
{
    const __msl_array_fault *const known = (const __msl_array_fault *)fault;
    __msl_runtime->bad_index(known->file, known->line, known->array->name, index);
}
#endif

/* The linker defines these for the sections of those names, if they have any entry. */
#define MSL_BOUND __attribute__((weak, visibility("hidden")))
extern MSL_BOUND const msl_abi_kernel __start_msl_kernels[], __stop_msl_kernels[];
extern MSL_BOUND msl_abi_group_variables __start_msl_variables[], __stop_msl_variables[];
extern MSL_BOUND const msl_abi_constant __start_msl_constants[], __stop_msl_constants[];

extern __attribute__((visibility("default"))) const msl_abi_module msl_abi_module;
const struct msl_abi_module msl_abi_module = {
    __start_msl_kernels, __stop_msl_kernels,    __start_msl_variables, __stop_msl_variables,
    &__msl_runtime,      __start_msl_constants, __stop_msl_constants};
}

#endif
