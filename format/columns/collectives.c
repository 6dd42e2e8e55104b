/* SPDX-License-Identifier: Apache-2.0 */
#include "format/columns/collectives.h"

#include "hal/base/mem.h"

#include <stdio.h>
#include <stdlib.h>

enum hal_status trace_channels_take(struct trace_channels *channels,
                                    const struct trace_channel_create *record)
{
    uint32_t row = 0;
    if (record->head.status != HAL_OK)
        return HAL_OK; /* there is no such channel */
    const bool has_room = channels->count < UINT32_MAX - 1 &&
                          HAL_GROW(channels->list, &channels->capacity, channels->count + 1);
    if (!has_room ||
        !hal_idmap_add(&channels->ids, record->channel, (uint32_t)channels->count, &row))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu channels", channels->count + 1);
    channels->list[row] = *record;
    channels->count += row == channels->count;
    return HAL_OK;
}

void trace_channels_finish(struct trace_channels *channels)
{
    hal_idmap_finish(&channels->ids);
    free(channels->list);
    *channels = (struct trace_channels){0};
}

const struct trace_channel_create *trace_channels_find(const struct trace_channels *channels,
                                                       uint64_t channel)
{
    uint32_t row;
    return hal_idmap_find(&channels->ids, channel, &row) ? &channels->list[row] : NULL;
}

static const char *name_in(const char *column, uint32_t number,
                           char out[TRACE_COLLECTIVE_NAME_BYTES])
{
    return trace_column_text("collective", column, number, out, TRACE_COLLECTIVE_NAME_BYTES);
}

const char *trace_collective_operation_name(uint32_t operation,
                                            char out[TRACE_COLLECTIVE_NAME_BYTES])
{
    return name_in("collective", operation, out);
}

const char *trace_element_type_name(uint32_t type, char out[TRACE_COLLECTIVE_NAME_BYTES])
{
    return name_in("type", type, out);
}

const char *trace_reduction_name(uint32_t reduction, char out[TRACE_COLLECTIVE_NAME_BYTES])
{
    return name_in("reduction", reduction, out);
}

const char *trace_collective_name(const struct trace_collective *collective,
                                  char out[TRACE_COLLECTIVE_NAME_BYTES])
{
    char operation[TRACE_COLLECTIVE_NAME_BYTES], type[TRACE_COLLECTIVE_NAME_BYTES];
    char reduction[TRACE_COLLECTIVE_NAME_BYTES];
    trace_collective_operation_name(collective->collective, operation);
    trace_element_type_name(collective->type, type);
    trace_reduction_name(collective->reduction, reduction);
    snprintf(out, TRACE_COLLECTIVE_NAME_BYTES, "%.20s%s%.20s %.20s", operation,
             collective->reduction ? " " : "", collective->reduction ? reduction : "", type);
    return out;
}

bool trace_collective_has_peer(uint32_t operation)
{
    return operation == TRACE_BROADCAST || operation == TRACE_SEND || operation == TRACE_RECEIVE;
}
