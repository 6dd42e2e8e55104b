/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory. Vulkan allows few allocations and makes them slowly: small ranges share blocks,
 * whose gaps are kept in a list; large ones have a block of their own. */
#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "hal/drivers/vulkan/vulkan.h"

#include <inttypes.h>

enum { SHARED_BYTES = 32 << 20, LARGE_BYTES = SHARED_BYTES / 4 };

struct vulkan_gap {
    struct vulkan_gap *next;
    uint64_t offset, bytes;
};

void vulkan_heap_init(struct vulkan_device *device)
{
    pthread_mutex_init(&device->heap.lock, NULL);
}

static void free_block(struct vulkan_device *device, struct vulkan_block *block)
{
    while (block->gaps) {
        struct vulkan_gap *gap = block->gaps;
        block->gaps = gap->next;
        free(gap);
    }
    if (block->memory)
        vk.FreeMemory(device->device, block->memory, NULL);
    device->heap.allocated_bytes -= block->memory && !block->is_imported ? block->bytes : 0;
    free(block);
}

void vulkan_heap_finish(struct vulkan_device *device)
{
    while (device->heap.blocks) {
        struct vulkan_block *block = device->heap.blocks;
        device->heap.blocks = block->next;
        free_block(device, block);
    }
    pthread_mutex_destroy(&device->heap.lock);
}

/* ---- Blocks --------------------------------------------------------------------------------- */

static VkMemoryPropertyFlags properties_of(const struct vulkan_device *device, uint32_t type)
{
    return device->memories.memoryTypes[type].propertyFlags;
}

static VkResult allocate(struct vulkan_device *device, struct vulkan_block *block)
{
    const VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = block->bytes,
        .memoryTypeIndex = block->type,
    };
    VkResult result = vk.AllocateMemory(device->device, &info, NULL, &block->memory);
    if (result != VK_SUCCESS) {
        block->memory = VK_NULL_HANDLE;
        return result;
    }
    device->heap.allocated_bytes += block->bytes;
    void *data = NULL;
    if (properties_of(device, block->type) & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
        result = vk.MapMemory(device->device, block->memory, 0, VK_WHOLE_SIZE, 0, &data);
    block->data = data;
    return result;
}

static VkResult add_block(struct vulkan_device *device, uint32_t type, uint64_t bytes,
                          struct vulkan_block **out_block)
{
    const bool is_shared = bytes < LARGE_BYTES;
    struct vulkan_block *block = hal_alloc(1, sizeof *block);
    struct vulkan_gap *gap = hal_alloc(1, sizeof *gap);
    if (!block || !gap) {
        free(block);
        free(gap);
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    *block = (struct vulkan_block){
        .type = type, .is_shared = is_shared, .bytes = is_shared ? SHARED_BYTES : bytes};
    block->gaps = gap;
    gap->bytes = block->bytes;
    const VkResult result = allocate(device, block);
    if (result != VK_SUCCESS) {
        free_block(device, block);
        return result;
    }
    block->next = device->heap.blocks;
    device->heap.blocks = block;
    device->heap.block_count++;
    *out_block = block;
    return VK_SUCCESS;
}

/* ---- Gaps ----------------------------------------------------------------------------------- */

/* The part before the aligned begin stays a gap, and the rest after it becomes one. */
static bool take_gap(struct vulkan_block *block, uint64_t bytes, uint64_t alignment,
                     struct vulkan_memory *out_memory)
{
    for (struct vulkan_gap **place = &block->gaps; *place; place = &(*place)->next) {
        struct vulkan_gap *gap = *place;
        const uint64_t begin = (gap->offset + alignment - 1) / alignment * alignment;
        const uint64_t lost = begin - gap->offset;
        if (gap->bytes < lost || gap->bytes - lost < bytes)
            continue;
        const uint64_t rest = gap->bytes - lost - bytes;
        if (lost && rest) {
            struct vulkan_gap *behind = hal_alloc(1, sizeof *behind);
            if (!behind)
                return false;
            *behind = (struct vulkan_gap){gap->next, begin + bytes, rest};
            gap->next = behind;
            gap->bytes = lost;
        } else if (lost) {
            gap->bytes = lost;
        } else if (rest) {
            gap->offset += bytes;
            gap->bytes = rest;
        } else {
            *place = gap->next;
            free(gap);
        }
        *out_memory = (struct vulkan_memory){block, begin, bytes};
        return true;
    }
    return false;
}

/* Joined with its neighbours. Without memory for a gap of its own the range is lost. */
static void give_gap(struct vulkan_block *block, uint64_t offset, uint64_t bytes)
{
    struct vulkan_gap *before = NULL, *after = block->gaps;
    while (after && after->offset < offset) {
        before = after;
        after = after->next;
    }
    const bool joins_before = before && before->offset + before->bytes == offset;
    const bool joins_after = after && offset + bytes == after->offset;
    if (joins_before) {
        before->bytes += bytes;
        if (joins_after) {
            before->bytes += after->bytes;
            before->next = after->next;
            free(after);
        }
    } else if (joins_after) {
        after->offset = offset;
        after->bytes += bytes;
    } else {
        struct vulkan_gap *gap = hal_alloc(1, sizeof *gap);
        if (!gap)
            return;
        *gap = (struct vulkan_gap){after, offset, bytes};
        *(before ? &before->next : &block->gaps) = gap;
    }
}

/* ---- Taking and giving ---------------------------------------------------------------------- */

static VkResult take_of_type(struct vulkan_device *device, uint32_t type, uint64_t bytes,
                             uint64_t alignment, struct vulkan_memory *out_memory)
{
    struct vulkan_block *block;
    for (block = device->heap.blocks; block && bytes < LARGE_BYTES; block = block->next) {
        if (block->type == type && block->is_shared &&
            take_gap(block, bytes, alignment, out_memory))
            return VK_SUCCESS;
    }
    const VkResult result = add_block(device, type, bytes, &block);
    if (result != VK_SUCCESS)
        return result;
    return take_gap(block, bytes, alignment, out_memory) ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
}

static VkResult take_with(struct vulkan_device *device, const VkMemoryRequirements *needs,
                          VkMemoryPropertyFlags wanted, struct vulkan_memory *out_memory)
{
    const uint64_t atom = device->limits.nonCoherentAtomSize;
    VkResult result = VK_ERROR_FEATURE_NOT_PRESENT;
    for (uint32_t i = 0; i < device->memories.memoryTypeCount && result != VK_SUCCESS; i++) {
        const VkMemoryPropertyFlags has = properties_of(device, i);
        const uint64_t alignment = needs->alignment > atom ? needs->alignment : atom;
        if (!(needs->memoryTypeBits >> i & 1) || (has & wanted) != wanted ||
            (has & VK_MEMORY_PROPERTY_PROTECTED_BIT))
            continue;
        result =
            take_of_type(device, i, (needs->size + atom - 1) / atom * atom, alignment, out_memory);
    }
    return result;
}

enum hal_status vulkan_memory_take(struct vulkan_device *device, const VkMemoryRequirements *needs,
                                   VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags also,
                                   struct vulkan_memory *out_memory)
{
    pthread_mutex_lock(&device->heap.lock);
    /* Without all of it, what the host reads fast is worth more than what the device does: uncached
     * reads from a device are slower by orders of magnitude. */
    const VkMemoryPropertyFlags tries[] = {
        wanted | also, wanted | (also & VK_MEMORY_PROPERTY_HOST_CACHED_BIT), wanted};
    VkResult result = take_with(device, needs, tries[0], out_memory);
    for (size_t i = 1; i < sizeof tries / sizeof *tries && result != VK_SUCCESS; i++) {
        if (tries[i] != tries[i - 1])
            result = take_with(device, needs, tries[i], out_memory);
    }
    if (result == VK_SUCCESS)
        device->heap.used_bytes += out_memory->bytes;
    const uint64_t used = device->heap.used_bytes;
    pthread_mutex_unlock(&device->heap.lock);
    if (result == VK_SUCCESS)
        return HAL_OK;
    if (result == VK_ERROR_FEATURE_NOT_PRESENT)
        return hal_fail(HAL_UNSUPPORTED, "the device has no memory with the properties 0x%x",
                        wanted);
    return vulkan_fail(result, "%s, while %" PRIu64 " are in use",
                       hal_count((uint64_t)needs->size, "byte", "bytes").text, used);
}

/* A type that needs no flushing, as the host has no call at which it could be done. */
static VkResult find_import_type(struct vulkan_device *device, uint32_t types, uint32_t *out_type)
{
    static const VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    for (uint32_t i = 0; i < device->memories.memoryTypeCount; i++) {
        *out_type = i;
        if ((types >> i & 1) && (properties_of(device, i) & wanted) == wanted)
            return VK_SUCCESS;
    }
    return VK_ERROR_FEATURE_NOT_PRESENT;
}

static VkResult import_block(struct vulkan_device *device, uint32_t types, void *pages,
                             struct vulkan_block *block)
{
    VkMemoryHostPointerPropertiesEXT properties = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    const VkImportMemoryHostPointerInfoEXT import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT,
        .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT,
        .pHostPointer = pages,
    };
    VkResult result =
        vk.GetMemoryHostPointerPropertiesEXT(device->device, import.handleType, pages, &properties);
    if (result == VK_SUCCESS)
        result = find_import_type(device, types & properties.memoryTypeBits, &block->type);
    if (result != VK_SUCCESS)
        return result;
    const VkMemoryAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &import,
        .allocationSize = block->bytes,
        .memoryTypeIndex = block->type,
    };
    return vk.AllocateMemory(device->device, &info, NULL, &block->memory);
}

enum hal_status vulkan_memory_import(struct vulkan_device *device,
                                     const VkMemoryRequirements *needs, void *pages, uint64_t bytes,
                                     struct vulkan_memory *out_memory)
{
    struct vulkan_block *block = hal_alloc(1, sizeof *block);
    if (!block)
        return hal_fail(HAL_NO_MEMORY, "no memory to import %" PRIu64 " bytes", bytes);
    *block = (struct vulkan_block){.data = pages, .bytes = bytes, .is_imported = true};
    const VkResult result = import_block(device, needs->memoryTypeBits, pages, block);
    if (result != VK_SUCCESS) {
        free(block);
        return result == VK_ERROR_FEATURE_NOT_PRESENT
                   ? hal_fail(HAL_UNSUPPORTED,
                              "the device has no coherent type for this host memory")
                   : vulkan_fail(result, "host memory at %p, %s", pages,
                                 hal_count(bytes, "byte", "bytes").text);
    }
    *out_memory = (struct vulkan_memory){block, 0, bytes};
    return HAL_OK;
}

void vulkan_memory_give(struct vulkan_device *device, const struct vulkan_memory *memory)
{
    struct vulkan_block *block = memory->block;
    if (!block)
        return;
    pthread_mutex_lock(&device->heap.lock);
    if (block->is_imported) {
        free_block(device, block);
        pthread_mutex_unlock(&device->heap.lock);
        return;
    }
    device->heap.used_bytes -= memory->bytes;
    give_gap(block, memory->offset, memory->bytes);
    if (!block->is_shared) {
        struct vulkan_block **place = &device->heap.blocks;
        while (*place != block)
            place = &(*place)->next;
        *place = block->next;
        device->heap.block_count--;
        free_block(device, block);
    }
    pthread_mutex_unlock(&device->heap.lock);
}
