/* SPDX-License-Identifier: Apache-2.0 */
/* A module that tests put where a compiled kernel is expected: its one kernel calls run(buffer)
 * with the buffer of binding 0, which it may write. Header only, once in a module. */
#ifndef TESTS_SUPPORT_PLANTED_H
#define TESTS_SUPPORT_PLANTED_H

#include "hal/compiler/msl/include/msl/abi.h"

#define PLANT(kernel_name, run)                                                                    \
    static void run_groups(const struct msl_abi_launch *launch, uint64_t first, uint64_t last)     \
    {                                                                                              \
        (void)first;                                                                               \
        (void)last;                                                                                \
        run(launch->buffers[0]);                                                                   \
    }                                                                                              \
    static const char tag;                                                                         \
    static const struct msl_abi_kernel kernel = {.name = (kernel_name),                            \
                                                 .tag = &tag,                                      \
                                                 .run_groups = run_groups,                         \
                                                 .lowering = "",                                   \
                                                 .buffer_mask = 1,                                 \
                                                 .buffer_access = {2},                             \
                                                 .buffer_alignment = {4}};                         \
    static const struct msl_abi_runtime *runtime;                                                  \
    extern const struct msl_abi_module msl_abi_module;                                             \
    __attribute__((visibility("default"))) const struct msl_abi_module msl_abi_module = {          \
        .first_kernel = &kernel, .last_kernel = &kernel + 1, .runtime = &runtime}

#endif
