/* SPDX-License-Identifier: Apache-2.0 */
/* hal/compiler/spirv translates SPIR-V to MSL and reports the slots of its buffers. */
#include "hal/drivers/shared/kernels.h"

#include "hal/base/mem.h"

_Static_assert((int)HAL_CONSTANT_BOOL == (int)SPIRV_BOOL &&
                   (int)HAL_CONSTANT_INT32 == (int)SPIRV_INT32 &&
                   (int)HAL_CONSTANT_UINT32 == (int)SPIRV_UINT32 &&
                   (int)HAL_CONSTANT_FLOAT32 == (int)SPIRV_FLOAT32 &&
                   (int)HAL_CONSTANT_INT8 == (int)SPIRV_INT8 &&
                   (int)HAL_CONSTANT_UINT64 == (int)SPIRV_UINT64,
               "constants are handed on by a cast");
_Static_assert((int)HAL_MAX_BINDINGS == (int)SPIRV_MAX_BINDINGS &&
                   (int)HAL_MAX_SETS == (int)SPIRV_MAX_SETS,
               "both have the same limits");
_Static_assert((int)HAL_ACCESS_READ == (int)SPIRV_READ && (int)HAL_ACCESS_WRITE == (int)SPIRV_WRITE,
               "accesses have the same bits");

void hal_kernel_slots_of_msl(const struct hal_entry_point *wanted,
                             struct hal_kernel_slots *out_slots)
{
    out_slots->constant_bytes = wanted->constant_bytes;
    out_slots->constants_slot = wanted->constants_slot;
    out_slots->sizes_slot = SPIRV_NO_SLOT;
    for (uint8_t i = 0; i < HAL_MAX_BINDINGS; i++)
        out_slots->places[i] = (struct hal_kernel_place){0, i};
}

enum hal_status hal_kernel_slots_of_spirv(const struct hal_entry_point *wanted,
                                          const struct spirv_entry *where,
                                          struct hal_kernel_slots *out_slots)
{
    HAL_TRY(hal_check_entry_constants(wanted, where->constant_bytes));
    out_slots->constant_bytes = where->constant_bytes;
    out_slots->constants_slot = where->constants_slot;
    out_slots->sizes_slot = where->sizes_slot;
    for (uint32_t i = 0; i < where->binding_count; i++)
        out_slots->places[where->bindings[i].slot] =
            (struct hal_kernel_place){where->bindings[i].set, where->bindings[i].binding};
    return HAL_OK;
}

const struct hal_binding *hal_kernel_binding(const struct hal_kernel_slots *slots, uint32_t slot,
                                             const struct hal_dispatch_state *state)
{
    const struct hal_kernel_place place = slots->places[slot];
    if (place.binding >= state->binding_count[place.set])
        return NULL;
    const struct hal_binding *binding = &state->bindings[place.set][place.binding];
    return binding->buffer ? binding : NULL;
}

void hal_kernel_list_sizes(const struct hal_kernel_slots *slots,
                           const struct hal_dispatch_state *state,
                           uint32_t out_sizes[HAL_MAX_BINDINGS])
{
    for (uint32_t i = 0; i < HAL_MAX_BINDINGS; i++) {
        const struct hal_binding *binding = hal_kernel_binding(slots, i, state);
        const uint64_t bytes = binding ? binding->bytes : 0;
        out_sizes[i] = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
    }
}

struct spirv_constant *hal_kernel_constants(const struct hal_executable_desc *desc)
{
    struct spirv_constant *constants = hal_alloc(desc->constant_count, sizeof *constants);
    for (size_t i = 0; constants && i < desc->constant_count; i++)
        constants[i] = (struct spirv_constant){
            .id = desc->constants[i].index,
            .type = (enum spirv_constant_type)desc->constants[i].type,
            .bits = desc->constants[i].bits,
        };
    return constants;
}

enum hal_status hal_kernel_translate(const struct hal_executable_desc *desc,
                                     const struct hal_executable_variant *variant,
                                     struct spirv_translation **out_translation)
{
    struct spirv_constant *constants = hal_kernel_constants(desc);
    struct spirv_entry_point *entries = hal_alloc(desc->entry_point_count, sizeof *entries);
    for (size_t i = 0; entries && i < desc->entry_point_count; i++) {
        entries[i].name = desc->entry_points[i].name;
        memcpy(entries[i].workgroup_size, desc->entry_points[i].workgroup_size,
               sizeof entries[i].workgroup_size);
    }
    const struct spirv_source source = {
        .name = desc->label,
        .data = variant->data,
        .bytes = variant->bytes,
        .constants = constants,
        .constant_count = desc->constant_count,
        .entry_points = entries,
        .entry_point_count = desc->entry_point_count,
    };
    const enum hal_status status =
        constants && entries
            ? spirv_translate(&source, out_translation)
            : hal_fail(HAL_NO_MEMORY, "no memory for %zu constants and %zu entry points",
                       desc->constant_count, desc->entry_point_count);
    free(constants);
    free(entries);
    return status;
}

/* ---- Reflection ---------------------------------------------------------------------------- */

enum hal_status hal_kernel_list_layout(const struct hal_entry_point *wanted,
                                       const struct hal_pipeline_layout *layout,
                                       struct hal_entry_binding **out_bindings, uint32_t *out_count)
{
    size_t count = 0;
    for (size_t set = 0; set < layout->set_count; set++)
        count += layout->sets[set]->binding_count;
    struct hal_entry_binding *bindings = hal_alloc(count, sizeof *bindings);
    *out_bindings = bindings;
    *out_count = 0;
    if (!bindings)
        return hal_fail(HAL_NO_MEMORY, "no memory for the bindings of kernel '%s'", wanted->name);
    for (uint32_t set = 0; set < layout->set_count; set++) {
        for (size_t i = 0; i < layout->sets[set]->binding_count; i++) {
            const struct hal_layout_binding *binding = &layout->sets[set]->bindings[i];
            const bool only = binding->flags & HAL_BINDING_READ_ONLY;
            bindings[(*out_count)++] = (struct hal_entry_binding){
                .set = set,
                .index = binding->index,
                .access = HAL_ACCESS_READ | (only ? 0U : (uint32_t)HAL_ACCESS_WRITE)};
        }
    }
    return HAL_OK;
}

struct hal_constant_info hal_kernel_constant_info(const struct spirv_constant_info *constant)
{
    return (struct hal_constant_info){
        .name = constant->name,
        .index = constant->id,
        .type = (enum hal_constant_type)constant->type,
        .components = 1,
    };
}

static int compare_constants(const void *left, const void *right)
{
    const struct hal_constant_info *a = left, *b = right;
    return a->index != b->index ? (a->index > b->index) - (a->index < b->index)
                                : strcmp(a->name, b->name);
}

void hal_kernel_order_constants(struct hal_constant_info *constants, size_t count,
                                const struct hal_constant *given, size_t given_count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < given_count; k++)
            constants[i].is_given |= given[k].index == constants[i].index;
    }
    if (count)
        qsort(constants, count, sizeof *constants, compare_constants);
}
