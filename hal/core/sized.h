/* SPDX-License-Identifier: Apache-2.0 */
/* Extensible structs of the API: hal/hal.h, "Growth". An entry point reads the program's structs
 * through HAL_KNOW before it accesses any other member, and writes them through HAL_GIVE. */
#ifndef HAL_CORE_SIZED_H
#define HAL_CORE_SIZED_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* `type` is the name for messages, `bytes` the size known to this library. `value` is not NULL and
 * begins with its struct_size.
 *
 * HAL_INVALID: struct_size is not a valid size, as in an uninitialised struct. */
enum hal_status hal_check_struct_size(const char *type, const void *value,
                                      size_t bytes) HAL_CHECKED;

/* Copies the program's description; members that the program does not know are zero in `out_known`.
 * HAL_INVALID: it uses members unknown to this library. */
enum hal_status hal_struct_read(const char *type, const void *value, void *out_known,
                                size_t bytes) HAL_CHECKED;

/* Writes as much of `known` as fits the program's struct; zeroes the rest of a larger one. */
enum hal_status hal_struct_write(const char *type, void *out_value, const void *known,
                                 size_t bytes) HAL_CHECKED;

static inline bool hal_struct_is_known(const void *value, size_t bytes)
{
    const size_t own = value ? *(const size_t *)value : 0;
    return own == 0 || own == bytes;
}

/* Makes `desc`, a parameter of that struct type which may be NULL, point to a struct of the size
 * known to this library: nearly always the program's own. Declares a copy otherwise. */
#define HAL_KNOW(type, desc)                                                                       \
    struct type desc##_known;                                                                      \
    if (!hal_struct_is_known(desc, sizeof desc##_known)) {                                         \
        HAL_TRY(hal_struct_read(#type, desc, &desc##_known, sizeof desc##_known));                 \
        (desc) = &desc##_known;                                                                    \
    }

#define HAL_GIVE(type, out_value, known)                                                           \
    hal_struct_write(#type, out_value, known, sizeof(struct type))

#endif
