/* SPDX-License-Identifier: Apache-2.0 */
/* A loaded library and its functions. Private to hal/compiler/msl. */
#ifndef HAL_MSL_LIBRARY_H
#define HAL_MSL_LIBRARY_H

#include "hal/compiler/msl/include/msl/abi.h"
#include "hal/compiler/msl/msl.h"

struct msl_function {
    struct msl_function_info info;
    const struct msl_abi_kernel *kernel; /* in the module */
};

struct msl_library {
    char *file; /* name of the source, for messages */
    void *module;
    bool from_cache; /* nothing had to be compiled */
    struct msl_function *functions;
    size_t function_count;
    const struct msl_abi_constant *constants; /* in the module */
    size_t constant_count;
};

/* Applies msl_object_check to a file of the cache. */
enum hal_status msl_library_check(const char *path, const char *what) HAL_CHECKED;

/* Checks and loads a compiled source. HAL_CORRUPT: not a valid one. */
enum hal_status msl_library_load(const char *path, const char *file, const char *what,
                                 struct msl_library **out_library) HAL_CHECKED;

/* Functions that modules call; run.c. */
extern const struct msl_abi_runtime msl_runtime;

#endif
