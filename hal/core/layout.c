/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of descriptor sets and of what entry points take. Their rules: check_layout.c. */
#include "hal/base/mem.h"
#include "hal/base/order.h"
#include "hal/core/core.h"

/* ---- Set layouts -------------------------------------------------------------------------- */

HAL_COMPARE(by_index, struct hal_layout_binding, index)

static void destroy_set_layout(struct hal_driver_device *top, struct hal_object *object)
{
    top->ops->object_destroy(top, object);
    free(object);
}

enum hal_status hal_set_layout_create(struct hal_device *device,
                                      const struct hal_set_layout_desc *desc,
                                      struct hal_set_layout **out_layout)
{
    HAL_KNOW(hal_set_layout_desc, desc);
    HAL_TRY(hal_check_set_layout_desc(device, desc));
    HAL_TRY(hal_check_place(out_layout, "the set layout"));
    const size_t count = desc->binding_count;
    struct hal_set_layout *layout =
        hal_alloc(1, sizeof *layout + count * sizeof *layout->bindings); /* the list follows it */
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
    layout->object.destroy = destroy_set_layout;
    const enum hal_status status =
        hal_object_announce(&layout->object, HAL_OBJECT_SET_LAYOUT, device, desc->label);
    if (status != HAL_OK) {
        free(layout);
        return status;
    }
    *out_layout = layout;
    return HAL_OK;
}

HAL_REFERENCED(hal_set_layout)

/* ---- Pipeline layouts --------------------------------------------------------------------- */

static void release_sets(struct hal_pipeline_layout *layout)
{
    for (size_t i = 0; i < layout->set_count; i++)
        hal_set_layout_release(layout->sets[i]);
}

static void destroy_pipeline_layout(struct hal_driver_device *top, struct hal_object *object)
{
    struct hal_pipeline_layout *layout = (struct hal_pipeline_layout *)(void *)object;
    top->ops->object_destroy(top, object);
    release_sets(layout);
    free(layout);
}

enum hal_status hal_pipeline_layout_create(struct hal_device *device,
                                           const struct hal_pipeline_layout_desc *desc,
                                           struct hal_pipeline_layout **out_layout)
{
    HAL_KNOW(hal_pipeline_layout_desc, desc);
    HAL_TRY(hal_check_pipeline_layout_desc(device, desc));
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
    layout->object.destroy = destroy_pipeline_layout;
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

HAL_REFERENCED(hal_pipeline_layout)

/* ---- Pushing ------------------------------------------------------------------------------ */

/* The bindings that the layout has, moved by their offsets. Returns how many there are. */
static size_t resolve_push(const struct hal_push_set_desc *desc,
                           struct hal_binding out_bindings[HAL_MAX_BINDINGS])
{
    const struct hal_set_layout *layout = desc->layout;
    const uint64_t *offset = desc->dynamic_offsets;
    size_t count = 0;
    for (size_t i = 0; i < layout->binding_count; i++) {
        const uint32_t index = layout->bindings[i].index;
        out_bindings[index] = desc->bindings[index];
        if (layout->bindings[i].flags & HAL_BINDING_DYNAMIC)
            out_bindings[index].offset += *offset++;
        count = index + 1;
    }
    return count;
}

enum hal_status hal_command_push_set(struct hal_command_buffer *commands,
                                     const struct hal_push_set_desc *desc)
{
    HAL_KNOW(hal_push_set_desc, desc);
    struct hal_binding bindings[HAL_MAX_BINDINGS] = {{0}};
    char name[HAL_OBJECT_NAME_BYTES];
    HAL_TRY(hal_check_push_set(commands, desc));
    const size_t count = resolve_push(desc, bindings);
    return hal_add_context(hal_command_push_descriptor_set(commands, desc->set, bindings, count),
                           "%s", hal_object_name(&desc->layout->object, name));
}
