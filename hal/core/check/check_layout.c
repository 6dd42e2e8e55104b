/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for layouts, and for what is pushed by them. */
#include "hal/core/core.h"

#include "hal/base/text.h"

#include <inttypes.h>

static enum hal_status check_binding(const char *label, const struct hal_layout_binding *binding,
                                     uint32_t *seen)
{
    static const uint32_t known = HAL_BINDING_READ_ONLY | HAL_BINDING_DYNAMIC;
    if (binding->index >= HAL_MAX_BINDINGS)
        return hal_fail(HAL_INVALID, "set layout '%s': binding %u, the last is %d", label,
                        binding->index, HAL_MAX_BINDINGS - 1);
    if (*seen >> binding->index & 1)
        return hal_fail(HAL_INVALID, "set layout '%s' has binding %u twice", label, binding->index);
    if (binding->kind != HAL_BINDING_STORAGE && binding->kind != HAL_BINDING_UNIFORM)
        return hal_fail(HAL_INVALID, "set layout '%s', binding %u: there is no kind %d", label,
                        binding->index, (int)binding->kind);
    if (binding->flags & ~known)
        return hal_fail(HAL_INVALID,
                        "set layout '%s', binding %u: flags 0x%x have unknown bits (known: 0x%x)",
                        label, binding->index, binding->flags, known);
    *seen |= UINT32_C(1) << binding->index;
    return HAL_OK;
}

enum hal_status hal_check_set_layout_desc(const struct hal_device *device,
                                          const struct hal_set_layout_desc *desc)
{
    uint32_t seen = 0;
    HAL_TRY(hal_check_device(device));
    if (!desc)
        return hal_fail(HAL_INVALID, "a set layout needs a description");
    const char *label = desc->label ? desc->label : "";
    if (desc->binding_count > HAL_MAX_BINDINGS || (desc->binding_count && !desc->bindings))
        return hal_fail(HAL_INVALID, "set layout '%s' with %s%s: the limit is %d", label,
                        hal_count(desc->binding_count, "binding", "bindings").text,
                        desc->bindings ? "" : " at NULL", HAL_MAX_BINDINGS);
    for (size_t i = 0; i < desc->binding_count; i++)
        HAL_TRY(check_binding(label, &desc->bindings[i], &seen));
    return HAL_OK;
}

enum hal_status hal_check_pipeline_layout_desc(const struct hal_device *device,
                                               const struct hal_pipeline_layout_desc *desc)
{
    HAL_TRY(hal_check_device(device));
    if (!desc)
        return hal_fail(HAL_INVALID, "a pipeline layout needs a description");
    const char *label = desc->label ? desc->label : "";
    if (desc->set_count > HAL_MAX_SETS || (desc->set_count && !desc->sets))
        return hal_fail(HAL_INVALID, "pipeline layout '%s' with %s%s: the limit is %d", label,
                        hal_count(desc->set_count, "set", "sets").text,
                        desc->sets ? "" : " at NULL", HAL_MAX_SETS);
    for (size_t i = 0; i < desc->set_count; i++)
        HAL_TRY(
            hal_check_belongs(desc->sets[i] ? &desc->sets[i]->object : NULL, "set layout", device));
    const struct hal_device_info *info = &device->info;
    if (desc->constant_bytes > info->max_constant_bytes || desc->constant_bytes % 4)
        return hal_fail(
            HAL_INVALID,
            "pipeline layout '%s': %s of constants are not a multiple of 4 up to %u, the "
            "limit of device '%s'",
            label, hal_count(desc->constant_bytes, "byte", "bytes").text, info->max_constant_bytes,
            info->uri);
    return HAL_OK;
}

/* The bindings of the layout and no others, with offsets that exist. */
static enum hal_status check_push_bindings(const struct hal_push_set_desc *desc)
{
    const struct hal_set_layout *layout = desc->layout;
    const uint64_t *offset = desc->dynamic_offsets;
    uint32_t left = 0;
    char name[HAL_OBJECT_NAME_BYTES];
    hal_object_name(&layout->object, name);
    for (uint32_t i = 0; i < desc->binding_count; i++)
        left |= desc->bindings[i].buffer ? UINT32_C(1) << i : 0;
    for (size_t i = 0; i < layout->binding_count; i++) {
        const uint32_t index = layout->bindings[i].index;
        uint64_t moved;
        if (!(left >> index & 1))
            return hal_fail(HAL_INVALID, "descriptor set %u lacks binding %u of %s", desc->set,
                            index, name);
        left &= ~(UINT32_C(1) << index);
        if (!(layout->bindings[i].flags & HAL_BINDING_DYNAMIC))
            continue;
        if (__builtin_add_overflow(desc->bindings[index].offset, *offset++, &moved))
            return hal_fail(HAL_INVALID,
                            "descriptor set %u of %s, binding %u: offset %" PRIu64 " + %" PRIu64
                            " is more than 2^64-1",
                            desc->set, name, index, desc->bindings[index].offset, offset[-1]);
    }
    if (left)
        return hal_fail(HAL_INVALID, "descriptor set %u: %s has no binding %d", desc->set, name,
                        __builtin_ctz(left));
    return HAL_OK;
}

enum hal_status hal_check_push_set(const struct hal_command_buffer *commands,
                                   const struct hal_push_set_desc *desc)
{
    char name[HAL_OBJECT_NAME_BYTES];
    HAL_TRY(hal_check_recording(commands));
    if (!desc)
        return hal_fail(HAL_INVALID, "pushing a descriptor set needs a description");
    const struct hal_set_layout *layout = desc->layout;
    HAL_TRY(
        hal_check_belongs(layout ? &layout->object : NULL, "set layout", commands->object.device));
    hal_object_name(&layout->object, name);
    if (desc->binding_count > HAL_MAX_BINDINGS || (desc->binding_count && !desc->bindings))
        return hal_fail(HAL_INVALID, "descriptor set %u of %s with %s%s: the limit is %d",
                        desc->set, name, hal_count(desc->binding_count, "binding", "bindings").text,
                        desc->bindings ? "" : " at NULL", HAL_MAX_BINDINGS);
    if (desc->dynamic_offset_count != layout->dynamic_count ||
        (layout->dynamic_count && !desc->dynamic_offsets))
        return hal_fail(HAL_INVALID,
                        "descriptor set %u of %s with %zu dynamic offsets%s: it has %zu dynamic "
                        "bindings",
                        desc->set, name, desc->dynamic_offset_count,
                        desc->dynamic_offsets ? "" : " at NULL", layout->dynamic_count);
    return check_push_bindings(desc);
}
