/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of descriptor sets and of what entry points take, and the rules that they bring. */
#include "hal/base/mem.h"
#include "hal/core.h"

#include <inttypes.h>

/* ---- Set layouts -------------------------------------------------------------------------- */

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

static enum hal_status check_set_desc(const struct hal_device *device,
                                      const struct hal_set_layout_desc *desc)
{
    uint32_t seen = 0;
    HAL_TRY(hal_check_device(device));
    if (!desc)
        return hal_fail(HAL_INVALID, "a set layout needs a description");
    const char *label = desc->label ? desc->label : "";
    if (desc->binding_count > HAL_MAX_BINDINGS || (desc->binding_count && !desc->bindings))
        return hal_fail(HAL_INVALID, "set layout '%s' with %zu bindings%s: the limit is %d", label,
                        desc->binding_count, desc->bindings ? "" : " at NULL", HAL_MAX_BINDINGS);
    for (size_t i = 0; i < desc->binding_count; i++)
        HAL_TRY(check_binding(label, &desc->bindings[i], &seen));
    return HAL_OK;
}

static int by_index(const void *left, const void *right)
{
    const struct hal_layout_binding *a = left, *b = right;
    return (a->index > b->index) - (a->index < b->index);
}

enum hal_status hal_set_layout_create(struct hal_device *device,
                                      const struct hal_set_layout_desc *desc,
                                      struct hal_set_layout **out_layout)
{
    HAL_TRY(check_set_desc(device, desc));
    HAL_TRY(hal_check_place(out_layout, "the set layout"));
    const size_t count = desc->binding_count;
    struct hal_set_layout *layout =
        hal_alloc(1, sizeof *layout + count * sizeof *layout->bindings); /* the list behind it */
    if (!layout)
        return hal_fail(HAL_NO_MEMORY, "no memory for set layout '%s'",
                        desc->label ? desc->label : "");
    layout->bindings = (struct hal_layout_binding *)(void *)(layout + 1);
    layout->binding_count = count;
    for (size_t i = 0; i < count; i++) {
        layout->bindings[i] = desc->bindings[i];
        layout->dynamic_count += (desc->bindings[i].flags & HAL_BINDING_DYNAMIC) != 0;
        if (layout->bindings[i].kind == HAL_BINDING_UNIFORM)
            layout->bindings[i].flags |= HAL_BINDING_READ_ONLY;
    }
    if (count)
        qsort(layout->bindings, count, sizeof *layout->bindings, by_index);
    const enum hal_status status =
        hal_object_announce(&layout->object, HAL_OBJECT_SET_LAYOUT, device, desc->label);
    if (status != HAL_OK) {
        free(layout);
        return status;
    }
    *out_layout = layout;
    return HAL_OK;
}

void hal_set_layout_retain(struct hal_set_layout *layout)
{
    hal_object_retain(layout ? &layout->object : NULL);
}

void hal_set_layout_release(struct hal_set_layout *layout)
{
    hal_object_release(layout ? &layout->object : NULL);
}

/* ---- Pipeline layouts --------------------------------------------------------------------- */

static enum hal_status check_pipeline_desc(const struct hal_device *device,
                                           const struct hal_pipeline_layout_desc *desc)
{
    HAL_TRY(hal_check_device(device));
    if (!desc)
        return hal_fail(HAL_INVALID, "a pipeline layout needs a description");
    const char *label = desc->label ? desc->label : "";
    if (desc->set_count > HAL_MAX_SETS || (desc->set_count && !desc->sets))
        return hal_fail(HAL_INVALID, "pipeline layout '%s' with %zu sets%s: the limit is %d", label,
                        desc->set_count, desc->sets ? "" : " at NULL", HAL_MAX_SETS);
    for (size_t i = 0; i < desc->set_count; i++)
        HAL_TRY(
            hal_check_belongs(desc->sets[i] ? &desc->sets[i]->object : NULL, "set layout", device));
    const struct hal_device_info *info = &device->info;
    if (desc->constant_bytes > info->max_constant_bytes || desc->constant_bytes % 4)
        return hal_fail(HAL_INVALID,
                        "pipeline layout '%s': %u bytes of constants are no multiple of 4 up to "
                        "%u, the limit of device '%s'",
                        label, desc->constant_bytes, info->max_constant_bytes, info->uri);
    return HAL_OK;
}

static void release_sets(struct hal_pipeline_layout *layout)
{
    for (size_t i = 0; i < layout->set_count; i++)
        hal_set_layout_release(layout->sets[i]);
}

enum hal_status hal_pipeline_layout_create(struct hal_device *device,
                                           const struct hal_pipeline_layout_desc *desc,
                                           struct hal_pipeline_layout **out_layout)
{
    HAL_TRY(check_pipeline_desc(device, desc));
    HAL_TRY(hal_check_place(out_layout, "the pipeline layout"));
    struct hal_pipeline_layout *layout = hal_alloc(1, sizeof *layout);
    if (!layout)
        return hal_fail(HAL_NO_MEMORY, "no memory for pipeline layout '%s'",
                        desc->label ? desc->label : "");
    layout->set_count = desc->set_count;
    layout->constant_bytes = desc->constant_bytes;
    for (size_t i = 0; i < desc->set_count; i++) {
        layout->sets[i] = desc->sets[i];
        hal_set_layout_retain(layout->sets[i]);
    }
    const enum hal_status status =
        hal_object_announce(&layout->object, HAL_OBJECT_PIPELINE_LAYOUT, device, desc->label);
    if (status != HAL_OK) {
        release_sets(layout);
        free(layout);
        return status;
    }
    *out_layout = layout;
    return HAL_OK;
}

void hal_pipeline_layout_retain(struct hal_pipeline_layout *layout)
{
    hal_object_retain(layout ? &layout->object : NULL);
}

void hal_pipeline_layout_release(struct hal_pipeline_layout *layout)
{
    hal_object_release(layout ? &layout->object : NULL);
}

void hal_own_object_free(struct hal_object *object)
{
    if (object->kind == HAL_OBJECT_PIPELINE_LAYOUT)
        release_sets((struct hal_pipeline_layout *)(void *)object);
    free(object);
}

/* ---- Pushing ------------------------------------------------------------------------------ */

static enum hal_status check_push(const struct hal_command_buffer *commands,
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
        return hal_fail(HAL_INVALID, "descriptor set %u of %s with %zu bindings%s: the limit is %d",
                        desc->set, name, desc->binding_count, desc->bindings ? "" : " at NULL",
                        HAL_MAX_BINDINGS);
    if (desc->dynamic_offset_count != layout->dynamic_count ||
        (layout->dynamic_count && !desc->dynamic_offsets))
        return hal_fail(HAL_INVALID,
                        "descriptor set %u of %s with %zu dynamic offsets%s: it has %zu dynamic "
                        "bindings",
                        desc->set, name, desc->dynamic_offset_count,
                        desc->dynamic_offsets ? "" : " at NULL", layout->dynamic_count);
    return HAL_OK;
}

/* The bindings that the layout has, moved by their offsets. The others are no part of it. */
static enum hal_status resolve_push(const struct hal_push_set_desc *desc,
                                    struct hal_binding out_bindings[HAL_MAX_BINDINGS],
                                    size_t *out_count)
{
    const struct hal_set_layout *layout = desc->layout;
    const uint64_t *offset = desc->dynamic_offsets;
    uint32_t left = 0;
    char name[HAL_OBJECT_NAME_BYTES];
    hal_object_name(&layout->object, name);
    for (uint32_t i = 0; i < desc->binding_count; i++)
        left |= desc->bindings[i].buffer ? UINT32_C(1) << i : 0;
    *out_count = 0;
    for (size_t i = 0; i < layout->binding_count; i++) {
        const struct hal_layout_binding *binding = &layout->bindings[i];
        const uint32_t index = binding->index;
        if (!(left >> index & 1))
            return hal_fail(HAL_INVALID, "descriptor set %u lacks binding %u of %s", desc->set,
                            index, name);
        out_bindings[index] = desc->bindings[index];
        if ((binding->flags & HAL_BINDING_DYNAMIC) &&
            __builtin_add_overflow(out_bindings[index].offset, *offset++,
                                   &out_bindings[index].offset))
            return hal_fail(HAL_INVALID,
                            "descriptor set %u of %s, binding %u: offset %" PRIu64 " + %" PRIu64
                            " is more than 2^64-1",
                            desc->set, name, index, desc->bindings[index].offset, offset[-1]);
        left &= ~(UINT32_C(1) << index);
        *out_count = index + 1;
    }
    if (left)
        return hal_fail(HAL_INVALID, "descriptor set %u: %s has no binding %d", desc->set, name,
                        __builtin_ctz(left));
    return HAL_OK;
}

enum hal_status hal_command_push_set(struct hal_command_buffer *commands,
                                     const struct hal_push_set_desc *desc)
{
    struct hal_binding bindings[HAL_MAX_BINDINGS] = {{0}};
    size_t count;
    char name[HAL_OBJECT_NAME_BYTES];
    HAL_TRY(check_push(commands, desc));
    HAL_TRY(resolve_push(desc, bindings, &count));
    return hal_add_context(hal_command_push_descriptor_set(commands, desc->set, bindings, count),
                           "%s", hal_object_name(&desc->layout->object, name));
}
