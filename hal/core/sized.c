/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/core/sized.h"

#include <stdint.h>
#include <string.h>

/* Far above what any struct of the API will ever have, and far below what pointers look like. */
enum { MOST_STRUCT_BYTES = 4096 };

enum hal_status hal_check_struct_size(const char *type, const void *value, size_t bytes)
{
    const size_t own = *(const size_t *)value;
    if (own == 0 || (own >= sizeof own && own % sizeof own == 0 && own <= MOST_STRUCT_BYTES))
        return HAL_OK;
    return hal_fail(
        HAL_INVALID,
        "%s: struct_size is %zu, which is neither 0 nor the size of one (%zu here): was "
        "it initialised?",
        type, own, bytes);
}

enum hal_status hal_struct_read(const char *type, const void *value, void *out_known, size_t bytes)
{
    HAL_TRY(hal_check_struct_size(type, value, bytes));
    const uint8_t *from = value;
    const size_t own = *(const size_t *)value, given = own ? own : bytes;
    for (size_t i = bytes; i < given; i++) {
        if (from[i])
            return hal_fail(
                HAL_INVALID,
                "%s: the program uses its byte %zu, this libhal knows the first %zu: it "
                "is older than the program",
                type, i, bytes);
    }
    const size_t common = given < bytes ? given : bytes;
    memcpy(out_known, from, common);
    memset((uint8_t *)out_known + common, 0, bytes - common);
    *(size_t *)out_known = bytes;
    return HAL_OK;
}

enum hal_status hal_struct_write(const char *type, void *out_value, const void *known, size_t bytes)
{
    HAL_TRY(hal_check_struct_size(type, out_value, bytes));
    const size_t own = *(const size_t *)out_value, room = own ? own : bytes;
    const size_t common = room < bytes ? room : bytes;
    memcpy(out_value, known, common);
    memset((uint8_t *)out_value + common, 0, room - common);
    *(size_t *)out_value = own;
    return HAL_OK;
}
