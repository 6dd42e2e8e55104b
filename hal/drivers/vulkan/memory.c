/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers, and how the host sees them. */
#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "hal/drivers/vulkan/vulkan.h"

#include <inttypes.h>

/* Kernels of our own, and views of odd ranges, work by words. */
enum { ROUND_BYTES = 16 };

static VkResult create_buffer(struct vulkan_device *device, uint64_t bytes, const void *next,
                              VkBuffer *out_buffer, VkMemoryRequirements *out_needs)
{
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .pNext = next,
        .size = hal_align_up(bytes, ROUND_BYTES),
        .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT |
                 VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
    };
    const VkResult result = vk.CreateBuffer(device->device, &info, NULL, out_buffer);
    if (result == VK_SUCCESS)
        vk.GetBufferMemoryRequirements(device->device, *out_buffer, out_needs);
    else
        *out_buffer = VK_NULL_HANDLE;
    return result;
}

static enum hal_status create_bound(struct vulkan_device *device, uint64_t bytes,
                                    VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags also,
                                    VkBuffer *out_buffer, struct vulkan_memory *out_memory)
{
    VkMemoryRequirements needs;
    VkResult result = create_buffer(device, bytes, NULL, out_buffer, &needs);
    if (result != VK_SUCCESS)
        return vulkan_fail(result, "a buffer of %s", hal_count(bytes, "byte", "bytes").text);
    const enum hal_status status = vulkan_memory_take(device, &needs, wanted, also, out_memory);
    if (status == HAL_OK) {
        result = vk.BindBufferMemory(device->device, *out_buffer, out_memory->block->memory,
                                     out_memory->offset);
        if (result == VK_SUCCESS)
            return HAL_OK;
        vulkan_memory_give(device, out_memory);
    }
    vk.DestroyBuffer(device->device, *out_buffer, NULL);
    return status != HAL_OK ? status : vulkan_fail(result, "memory for a buffer");
}

/* ---- The driver's own ----------------------------------------------------------------------- */

enum hal_status vulkan_staging_create(struct vulkan_device *device, uint64_t bytes,
                                      struct vulkan_staging *out_staging)
{
    struct vulkan_staging staging = {0};
    HAL_TRY(create_bound(device, bytes,
                         VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                         VK_MEMORY_PROPERTY_HOST_CACHED_BIT, &staging.buffer, &staging.memory));
    staging.data = staging.memory.block->data + staging.memory.offset;
    *out_staging = staging;
    return HAL_OK;
}

void vulkan_staging_destroy(struct vulkan_device *device, struct vulkan_staging *staging)
{
    if (!staging->buffer)
        return;
    vk.DestroyBuffer(device->device, staging->buffer, NULL);
    vulkan_memory_give(device, &staging->memory);
    *staging = (struct vulkan_staging){0};
}

/* ---- Buffers -------------------------------------------------------------------------------- */

static const struct {
    uint32_t hal;
    VkMemoryPropertyFlags vulkan;
} properties[] = {
    {HAL_MEMORY_DEVICE_LOCAL, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT},
    {HAL_MEMORY_HOST_VISIBLE, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT},
    {HAL_MEMORY_HOST_COHERENT, VK_MEMORY_PROPERTY_HOST_COHERENT_BIT},
    {HAL_MEMORY_HOST_CACHED, VK_MEMORY_PROPERTY_HOST_CACHED_BIT},
};

static VkMemoryPropertyFlags to_vulkan_properties(uint32_t memory)
{
    VkMemoryPropertyFlags flags = 0;
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++)
        flags |= memory & properties[i].hal ? properties[i].vulkan : 0;
    return flags;
}

/* What a buffer cannot do without. Speed it can: few devices have memory of every kind. */
static VkMemoryPropertyFlags needed(VkMemoryPropertyFlags asked)
{
    const VkMemoryPropertyFlags host =
        asked & (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    return host ? host : asked;
}

static uint32_t to_hal_memory(VkMemoryPropertyFlags flags)
{
    uint32_t memory = 0;
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++)
        memory |= flags & properties[i].vulkan ? properties[i].hal : 0;
    return memory;
}

/* Its memory is bound. */
static void complete(struct vulkan_device *device, const struct hal_buffer_desc *desc,
                     struct vulkan_buffer *buffer)
{
    const uint32_t has =
        to_hal_memory(device->memories.memoryTypes[buffer->memory.block->type].propertyFlags);
    hal_object_init(&buffer->base.object, HAL_OBJECT_BUFFER);
    buffer->base.bytes = desc->bytes;
    buffer->base.memory = has;
    buffer->base.usage = desc->usage;
    buffer->is_coherent = has & HAL_MEMORY_HOST_COHERENT;
    vulkan_name(device, VK_OBJECT_TYPE_BUFFER, (uint64_t)(uintptr_t)buffer->buffer, desc->label);
}

enum hal_status vulkan_buffer_create(struct hal_driver_device *self,
                                     const struct hal_buffer_desc *desc, struct hal_buffer **out)
{
    struct vulkan_device *device = to_vulkan_device(self);
    struct vulkan_buffer *buffer = hal_alloc(1, sizeof *buffer);
    const VkMemoryPropertyFlags asked = to_vulkan_properties(desc->memory);
    const VkMemoryPropertyFlags wanted = needed(asked);
    const char *label = desc->label ? desc->label : "";
    if (!buffer)
        return hal_fail(HAL_NO_MEMORY, "no memory for buffer '%s'", label);
    enum hal_status status = hal_engine_check_buffer(&device->engine);
    if (status == HAL_OK)
        status = create_bound(device, desc->bytes, wanted, asked & ~wanted, &buffer->buffer,
                              &buffer->memory);
    if (status != HAL_OK) {
        free(buffer);
        return hal_add_context(status, "buffer '%s' of %s", label,
                               hal_count(desc->bytes, "byte", "bytes").text);
    }
    complete(device, desc, buffer);
    *out = &buffer->base;
    return HAL_OK;
}

/* ---- Imported ------------------------------------------------------------------------------- */

/* What every offset in a buffer may have to be a multiple of, counted from its pages. */
static uint64_t alignment_of_places(const struct vulkan_device *device)
{
    const uint64_t storage = device->limits.minStorageBufferOffsetAlignment;
    const uint64_t uniform = device->limits.minUniformBufferOffsetAlignment;
    const uint64_t larger = storage > uniform ? storage : uniform;
    return larger > ROUND_BYTES ? larger : ROUND_BYTES;
}

/* One of Vulkan over all pages that hold the memory. */
static enum hal_status import_pages(struct vulkan_device *device, uint64_t bytes, void *pages,
                                    struct vulkan_buffer *buffer)
{
    static const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
    };
    const uint64_t whole = hal_align_up(bytes, device->import_alignment);
    VkMemoryRequirements needs;
    VkResult result = create_buffer(device, bytes, &external, &buffer->buffer, &needs);
    if (result != VK_SUCCESS)
        return vulkan_fail(result, "a buffer over %" PRIu64 " bytes of the host", bytes);
    const enum hal_status status =
        needs.size > whole
            ? hal_fail(HAL_UNSUPPORTED, "the device needs %s of memory, the pages have %" PRIu64,
                       hal_count((uint64_t)needs.size, "byte", "bytes").text, whole)
            : vulkan_memory_import(device, &needs, pages, whole, &buffer->memory);
    if (status == HAL_OK) {
        result =
            vk.BindBufferMemory(device->device, buffer->buffer, buffer->memory.block->memory, 0);
        if (result == VK_SUCCESS)
            return HAL_OK;
        vulkan_memory_give(device, &buffer->memory);
    }
    vk.DestroyBuffer(device->device, buffer->buffer, NULL);
    return status != HAL_OK ? status : vulkan_fail(result, "the host memory of a buffer");
}

enum hal_status vulkan_buffer_import(struct hal_driver_device *self,
                                     const struct hal_buffer_desc *desc, void *pointer,
                                     struct hal_buffer **out)
{
    struct vulkan_device *device = to_vulkan_device(self);
    const char *label = desc->label ? desc->label : "";
    const uint64_t alignment = alignment_of_places(device);
    HAL_TRY(hal_add_context(hal_engine_check(&device->engine), "buffer '%s'", label));
    if (!device->import_alignment)
        return hal_fail(
            HAL_UNSUPPORTED,
            "buffer '%s': '%s' cannot import host memory (it has no VK_EXT_external_memory_host)",
            label, device->properties.deviceName);
    if ((uintptr_t)pointer % alignment)
        return hal_fail(HAL_INVALID,
                        "buffer '%s': imported memory at %p must be a multiple of %" PRIu64, label,
                        pointer, alignment);
    const uint64_t origin = (uintptr_t)pointer % device->import_alignment;
    if (desc->bytes > device->max_allocation_bytes - origin)
        return hal_fail(HAL_NO_MEMORY, "buffer '%s' of %s: the device's limit is %" PRIu64 " bytes",
                        label, hal_count(desc->bytes, "byte", "bytes").text,
                        device->max_allocation_bytes);
    struct vulkan_buffer *buffer = hal_alloc(1, sizeof *buffer);
    if (!buffer)
        return hal_fail(HAL_NO_MEMORY, "no memory for buffer '%s'", label);
    buffer->origin = origin;
    const enum hal_status status =
        import_pages(device, origin + desc->bytes, (uint8_t *)pointer - origin, buffer);
    if (status != HAL_OK) {
        free(buffer);
        return hal_add_context(status, "buffer '%s' of %s", label,
                               hal_count(desc->bytes, "byte", "bytes").text);
    }
    complete(device, desc, buffer);
    buffer->base.imported = pointer;
    *out = &buffer->base;
    return HAL_OK;
}

void vulkan_buffer_destroy(struct vulkan_device *device, struct vulkan_buffer *buffer)
{
    vk.DestroyBuffer(device->device, buffer->buffer, NULL);
    vulkan_memory_give(device, &buffer->memory);
    free(buffer);
}

/* ---- Mappings ------------------------------------------------------------------------------- */

/* Whole atoms: the ranges that the heap hands out consist of them. */
static VkMappedMemoryRange range_of(const struct vulkan_device *device,
                                    const struct vulkan_buffer *buffer, uint64_t offset,
                                    uint64_t bytes)
{
    const uint64_t atom = device->limits.nonCoherentAtomSize;
    const uint64_t begin = (buffer->memory.offset + offset) / atom * atom;
    const uint64_t end = buffer->memory.offset + offset + bytes;
    return (VkMappedMemoryRange){
        .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE,
        .memory = buffer->memory.block->memory,
        .offset = begin,
        .size = (end - begin + atom - 1) / atom * atom,
    };
}

static enum hal_status keep(struct hal_driver_device *self, const struct hal_mapping *mapping,
                            uint64_t offset, uint64_t bytes, bool flushes)
{
    struct vulkan_device *device = to_vulkan_device(self);
    const struct vulkan_buffer *buffer = to_vulkan_buffer(mapping->buffer);
    if (buffer->is_coherent || bytes == 0)
        return HAL_OK;
    const VkMappedMemoryRange range = range_of(device, buffer, mapping->offset + offset, bytes);
    const VkResult result = flushes ? vk.FlushMappedMemoryRanges(device->device, 1, &range)
                                    : vk.InvalidateMappedMemoryRanges(device->device, 1, &range);
    return result == VK_SUCCESS ? HAL_OK : vulkan_fail(result, "keeping a mapping coherent");
}

enum hal_status vulkan_mapping_flush(struct hal_driver_device *self,
                                     const struct hal_mapping *mapping, uint64_t offset,
                                     uint64_t bytes)
{
    return keep(self, mapping, offset, bytes, true);
}

enum hal_status vulkan_mapping_invalidate(struct hal_driver_device *self,
                                          const struct hal_mapping *mapping, uint64_t offset,
                                          uint64_t bytes)
{
    return keep(self, mapping, offset, bytes, false);
}

/* Also when it is only written: what is flushed around the range must be what is there. */
enum hal_status vulkan_buffer_map(struct hal_driver_device *self, struct hal_buffer *base,
                                  struct hal_mapping *out)
{
    const struct vulkan_buffer *buffer = to_vulkan_buffer(base);
    out->data = buffer->memory.block->data + buffer->memory.offset + buffer->origin + out->offset;
    struct hal_mapping mapping = *out;
    mapping.buffer = base;
    return keep(self, &mapping, 0, out->bytes, false);
}

enum hal_status vulkan_buffer_unmap(struct hal_driver_device *self,
                                    const struct hal_mapping *mapping)
{
    if (!(mapping->mode & HAL_MAP_WRITE) || (mapping->mode & HAL_MAP_PERSISTENT))
        return HAL_OK;
    return keep(self, mapping, 0, mapping->bytes, true);
}
