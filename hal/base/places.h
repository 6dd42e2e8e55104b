/* SPDX-License-Identifier: Apache-2.0 */
/* What of the system libhal uses, for a program that locks itself in before it opens a device. */
#ifndef HAL_BASE_PLACES_H
#define HAL_BASE_PLACES_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Where what can be made again is kept: $HAL_CACHE_DIR, else $XDG_CACHE_HOME/haltrace, else
 * ~/.cache/haltrace. False: the environment names none, or it is too long. It may not exist. */
HAL_API bool hal_cache_directory(char *out_path, size_t bytes);

/* The programs that compiling kernels on the CPU may start: paths, each with an end, one behind the
 * other, and an empty one last. HAL_NOT_FOUND: there is no usable compiler. Any thread; blocks
 * while a compiler that is new is asked who it is. libhal has it, base alone does not. */
HAL_API enum hal_status hal_kernel_programs(char *out_paths, size_t bytes) HAL_CHECKED;

#endif
