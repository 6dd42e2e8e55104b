/* SPDX-License-Identifier: Apache-2.0 */
/* Structs of the API that grow: hal/hal.h, "Growth". An entry point passes what the program gave it
 * through HAL_KNOW before it looks at any other member, and hands out through HAL_GIVE. */
#ifndef HAL_CORE_SIZED_H
#define HAL_CORE_SIZED_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* `type` is the name for messages, `bytes` the size that this library knows. `value` begins with
 * its struct_size, and is not NULL.
 *
 * HAL_INVALID: struct_size is no size of such a struct, which is how a struct that was not
 * initialised looks. */
enum hal_status hal_check_struct_size(const char *type, const void *value,
                                      size_t bytes) HAL_CHECKED;

/* Copies what the program described: members that it does not know are zero in `out_known`.
 * HAL_INVALID: it uses members that this library does not know. */
enum hal_status hal_struct_read(const char *type, const void *value, void *out_known,
                                size_t bytes) HAL_CHECKED;

/* Writes as much of `known` as the program's struct has; the rest of a longer one becomes zero. */
enum hal_status hal_struct_write(const char *type, void *out_value, const void *known,
                                 size_t bytes) HAL_CHECKED;

static inline bool hal_struct_is_known(const void *value, size_t bytes)
{
    const size_t own = value ? *(const size_t *)value : 0;
    return own == 0 || own == bytes;
}

/* Makes `desc`, a parameter of that struct type which may be NULL, point to a struct of the size
 * that this library knows: nearly always to the program's own. Declares the other one. */
#define HAL_KNOW(type, desc)                                                                       \
    struct type desc##_known;                                                                      \
    if (!hal_struct_is_known(desc, sizeof desc##_known)) {                                         \
        HAL_TRY(hal_struct_read(#type, desc, &desc##_known, sizeof desc##_known));                 \
        (desc) = &desc##_known;                                                                    \
    }

#define HAL_GIVE(type, out_value, known)                                                           \
    hal_struct_write(#type, out_value, known, sizeof(struct type))

#endif
