/* SPDX-License-Identifier: Apache-2.0 */
/* Entry points of buffers and mappings, as those of devices (device.c). */
#include "hal/base/mem.h"
#include "hal/core/core.h"

struct hal_buffer_desc hal_buffer_desc_resolve(const struct hal_buffer_desc *desc)
{
    struct hal_buffer_desc full = *desc;
    if (full.memory == 0)
        full.memory = HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT;
    if (full.memory & (HAL_MEMORY_HOST_COHERENT | HAL_MEMORY_HOST_CACHED))
        full.memory |= HAL_MEMORY_HOST_VISIBLE;
    if (full.usage == 0) {
        full.usage = HAL_USAGE_TRANSFER | HAL_USAGE_DISPATCH;
        if (full.memory & HAL_MEMORY_HOST_VISIBLE)
            full.usage |= HAL_USAGE_MAPPING;
    }
    return full;
}

/* The buffer is destroyed: undoes its export (host.c). */
static void end_export(struct hal_driver_device *top, struct hal_buffer *buffer)
{
    if (!buffer->exported.data)
        return;
    hal_mapping_forget(&buffer->exported);
    if (top->ops->buffer_unmap(top, &buffer->exported) != HAL_OK)
        return; /* the buffer is destroyed anyway */
}

static void destroy_buffer(struct hal_driver_device *top, struct hal_object *object)
{
    struct hal_buffer *buffer = (struct hal_buffer *)object;
    struct hal_pool *pool = buffer->is_slab ? &object->device->pool : NULL;
    const uint64_t bytes = buffer->bytes;
    end_export(top, buffer);
    hal_account_sub(object->device, bytes, buffer->memory);
    top->ops->object_destroy(top, object);
    if (pool)
        hal_pool_slab_gone(pool, bytes);
}

enum hal_status hal_buffer_create(struct hal_device *device, const struct hal_buffer_desc *desc,
                                  struct hal_buffer **out_buffer)
{
    HAL_KNOW(hal_buffer_desc, desc);
    char *label;
    struct hal_buffer *buffer;
    HAL_TRY(hal_check_buffer_desc(device, desc));
    HAL_TRY(hal_check_place(out_buffer, "the buffer"));
    const struct hal_buffer_desc full = hal_buffer_desc_resolve(desc);
    HAL_TRY(hal_copy_label(desc->label, &label));
    enum hal_status status = hal_device_enter(device);
    if (status != HAL_OK)
        goto fail_label;
    status = device->top->ops->buffer_create(device->top, &full, &buffer);
    if (status != HAL_OK)
        goto fail_gate;
    hal_account_add(device, buffer);
    buffer->object.destroy = destroy_buffer;
    hal_object_publish(&buffer->object, device, label);
    hal_gate_leave(&device->gate);
    *out_buffer = buffer;
    return HAL_OK;

fail_gate:
    hal_gate_leave(&device->gate);
fail_label:
    free(label);
    return status;
}

HAL_REFERENCED(hal_buffer)

uint64_t hal_buffer_bytes(const struct hal_buffer *buffer)
{
    return buffer ? buffer->bytes : 0;
}

/* Both with the gate entered. */
static enum hal_status map_inside(struct hal_device *device, struct hal_buffer *buffer,
                                  uint32_t mode, uint64_t offset, uint64_t bytes,
                                  struct hal_mapping *out_mapping)
{
    *out_mapping =
        (struct hal_mapping){.buffer = buffer, .offset = offset, .bytes = bytes, .mode = mode};
    const enum hal_status status = device->top->ops->buffer_map(device->top, buffer, out_mapping);
    if (status == HAL_OK)
        hal_object_retain(&buffer->object);
    else
        *out_mapping = (struct hal_mapping){0};
    return status;
}

static enum hal_status unmap_inside(struct hal_device *device, struct hal_mapping *mapping)
{
    return device->top->ops->buffer_unmap(device->top, mapping);
}

/* The buffer stays: the caller has a reference. */
static void take_back(struct hal_device *device, struct hal_mapping *mapping)
{
    struct hal_buffer *buffer = mapping->buffer;
    (void)unmap_inside(device, mapping);
    *mapping = (struct hal_mapping){0};
    hal_buffer_release(buffer);
}

enum hal_status hal_buffer_map(struct hal_buffer *buffer, uint32_t mode, uint64_t offset,
                               uint64_t bytes, struct hal_mapping *out_mapping)
{
    HAL_TRY(hal_check_map(buffer, mode, offset, bytes));
    char name[HAL_OBJECT_NAME_BYTES];
    HAL_TRY(hal_add_context(hal_check_place(out_mapping, "the mapping"), "%s",
                            hal_object_name(&buffer->object, name)));
    if (bytes == HAL_WHOLE_BUFFER)
        bytes = buffer->bytes - offset;
    buffer = hal_root_of(buffer, &offset);
    struct hal_device *device = buffer->object.device;
    HAL_TRY(hal_device_enter(device));
    enum hal_status status = map_inside(device, buffer, mode, offset, bytes, out_mapping);
    if (status == HAL_OK) {
        status = hal_mapping_note(out_mapping);
        if (status != HAL_OK)
            take_back(device, out_mapping);
    }
    hal_gate_leave(&device->gate);
    return status;
}

enum hal_status hal_buffer_unmap(struct hal_mapping *mapping)
{
    HAL_TRY(hal_check_mapping(mapping, 0, 0));
    struct hal_buffer *buffer = mapping->buffer;
    struct hal_device *device = buffer->object.device;
    HAL_TRY(hal_device_enter(device));
    const enum hal_status status = unmap_inside(device, mapping);
    hal_mapping_forget(mapping);
    hal_gate_leave(&device->gate);
    *mapping = (struct hal_mapping){0};
    hal_buffer_release(buffer);
    return status;
}

enum hal_status hal_mapping_flush(struct hal_mapping *mapping, uint64_t offset, uint64_t bytes)
{
    HAL_TRY(hal_check_mapping(mapping, offset, bytes));
    if (bytes == HAL_WHOLE_BUFFER)
        bytes = mapping->bytes - offset;
    struct hal_device *device = mapping->buffer->object.device;
    HAL_TRY(hal_device_enter(device));
    const enum hal_status status =
        device->top->ops->mapping_flush(device->top, mapping, offset, bytes);
    hal_gate_leave(&device->gate);
    return status;
}

enum hal_status hal_mapping_invalidate(struct hal_mapping *mapping, uint64_t offset, uint64_t bytes)
{
    HAL_TRY(hal_check_mapping(mapping, offset, bytes));
    if (bytes == HAL_WHOLE_BUFFER)
        bytes = mapping->bytes - offset;
    struct hal_device *device = mapping->buffer->object.device;
    HAL_TRY(hal_device_enter(device));
    const enum hal_status status =
        device->top->ops->mapping_invalidate(device->top, mapping, offset, bytes);
    hal_gate_leave(&device->gate);
    return status;
}

/* Either `source` or `target` is given. The gate stays entered: a capture sees all or nothing. */
static enum hal_status transfer(struct hal_buffer *buffer, uint32_t mode, uint64_t offset,
                                const void *source, void *target, uint64_t bytes)
{
    struct hal_mapping mapping;
    HAL_TRY(hal_check_map(buffer, mode, offset, bytes));
    HAL_TRY(hal_check_transfer_memory(buffer, source ? source : target, bytes));
    if (bytes == HAL_WHOLE_BUFFER)
        bytes = buffer->bytes - offset;
    buffer = hal_root_of(buffer, &offset);
    struct hal_device *device = buffer->object.device;
    HAL_TRY(hal_device_enter(device));
    enum hal_status status = map_inside(device, buffer, mode, offset, bytes, &mapping);
    if (status == HAL_OK) {
        if (source && device->top->ops->mapping_store)
            device->top->ops->mapping_store(device->top, &mapping, source);
        else if (source)
            memcpy(mapping.data, source, bytes);
        else if (target) /* NULL for no bytes */
            memcpy(target, mapping.data, bytes);
        status = unmap_inside(device, &mapping);
    }
    hal_gate_leave(&device->gate);
    if (mapping.buffer)
        hal_buffer_release(buffer);
    return status;
}

enum hal_status hal_buffer_write(struct hal_buffer *buffer, uint64_t offset, const void *data,
                                 uint64_t bytes)
{
    if (bytes == 0)
        return hal_check_range(buffer, offset, 0);
    return transfer(buffer, HAL_MAP_WRITE | HAL_MAP_DISCARD, offset, data, NULL, bytes);
}

enum hal_status hal_buffer_read(struct hal_buffer *buffer, uint64_t offset, void *out_data,
                                uint64_t bytes)
{
    if (bytes == 0)
        return hal_check_range(buffer, offset, 0);
    return transfer(buffer, HAL_MAP_READ, offset, NULL, out_data, bytes);
}
