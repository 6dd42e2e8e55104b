/* SPDX-License-Identifier: Apache-2.0 */
#include "format/analysis/reflection.h"

#include "format/limits.h"
#include "hal/base/mem.h"
#include "hal/base/order.h"

enum { ACCESS_READ = 1, ACCESS_WRITE = 2, ACCESS_BOTH = 3 }; /* enum hal_access */

static uint64_t place_of(const struct trace_entry_binding *binding)
{
    return (uint64_t)binding->entry << 16 | binding->set << 8 | binding->index;
}

bool trace_reflection_is_sound(const struct trace_executable_create *record)
{
    const struct trace_entry_binding *bindings = trace_executable_bindings(record);
    for (uint32_t i = 0; i < record->binding_count; i++) {
        const struct trace_entry_binding *binding = &bindings[i];
        if (binding->entry >= record->entry_point_count || binding->set >= TRACE_MAX_SETS ||
            binding->index >= TRACE_MAX_BINDINGS || binding->access > ACCESS_BOTH ||
            (i && place_of(binding) <= place_of(binding - 1)))
            return false;
    }
    return true;
}

enum hal_status trace_reflection_add(struct trace_reflection *reflection, uint64_t id,
                                     const struct trace_executable_create *record)
{
    uint32_t index;
    if (!(record->flags & TRACE_FLAG_REFLECTED) || !trace_reflection_is_sound(record) ||
        hal_idmap_find(&reflection->ids, id, &index))
        return HAL_OK;
    const size_t bytes = record->binding_count * sizeof(struct trace_entry_binding);
    struct trace_entry_binding *bindings = hal_alloc(1, bytes ? bytes : 1);
    const bool grown =
        bindings && HAL_GROW(reflection->lists, &reflection->capacity, reflection->count + 1);
    if (!grown || !hal_idmap_add(&reflection->ids, id, (uint32_t)reflection->count, &index)) {
        free(bindings);
        return hal_fail(HAL_NO_MEMORY, "no memory for the bindings of %zu executables",
                        reflection->count + 1);
    }
    memcpy(bindings, trace_executable_bindings(record), bytes);
    reflection->lists[reflection->count++] =
        (struct trace_reflection_list){bindings, record->binding_count};
    return HAL_OK;
}

void trace_reflection_finish(struct trace_reflection *reflection)
{
    for (size_t i = 0; i < reflection->count; i++)
        free(reflection->lists[i].bindings);
    free(reflection->lists);
    hal_idmap_finish(&reflection->ids);
    *reflection = (struct trace_reflection){0};
}

enum trace_access_mode trace_reflection_mode(void *user, uint64_t executable, uint32_t entry,
                                             uint32_t set, uint32_t binding)
{
    const struct trace_reflection *reflection = user;
    const struct trace_entry_binding wanted = {.entry = entry, .set = set, .index = binding};
    uint32_t index;
    if (!hal_idmap_find(&reflection->ids, executable, &index))
        return TRACE_ACCESS_UNKNOWN;
    const struct trace_entry_binding *bindings = reflection->lists[index].bindings;
    size_t first = 0, end = reflection->lists[index].count;
    HAL_BISECT(first, end, middle, place_of(&bindings[middle]) < place_of(&wanted))
    if (first == reflection->lists[index].count || place_of(&bindings[first]) != place_of(&wanted))
        return TRACE_ACCESS_NONE;
    return bindings[first].access & ACCESS_WRITE ? TRACE_ACCESS_MAY_WRITE
           : bindings[first].access              ? TRACE_ACCESS_MAY_READ
                                                 : TRACE_ACCESS_UNKNOWN; /* unknown to the device */
}
