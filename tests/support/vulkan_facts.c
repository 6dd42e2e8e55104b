/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/vulkan_facts.h"

#include <stdio.h>
#include <string.h>

#define NEXT(name) static PFN_vk##name next_##name
NEXT(AllocateMemory);
NEXT(CmdBeginDebugUtilsLabelEXT);
NEXT(CmdEndDebugUtilsLabelEXT);
NEXT(CmdPushConstants);
NEXT(CreateCommandPool);
NEXT(CreateDevice);
NEXT(EnumerateDeviceExtensionProperties);
NEXT(FlushMappedMemoryRanges);
NEXT(GetBufferMemoryRequirements);
NEXT(GetCalibratedTimestampsEXT);
NEXT(GetDeviceQueue);
NEXT(GetPhysicalDeviceFeatures2);
NEXT(GetPhysicalDeviceMemoryProperties);
NEXT(GetPhysicalDeviceProperties2);
NEXT(GetPhysicalDeviceQueueFamilyProperties);
NEXT(GetQueryPoolResults);
NEXT(InvalidateMappedMemoryRanges);
NEXT(SetDebugUtilsObjectNameEXT);

enum { POOR_NS = 10000000, FAIR_NS = 30000 };

static struct vulkan_shim_facts *facts(void)
{
    return &vulkan_shim()->facts;
}

static uint32_t or_own(uint32_t instead, uint32_t own)
{
    return instead ? instead : own;
}

/* ---- Versions, features, limits, extensions ------------------------------------------------ */

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceProperties2(VkPhysicalDevice physical,
                                                               VkPhysicalDeviceProperties2 *out)
{
    next_GetPhysicalDeviceProperties2(physical, out);
    VkPhysicalDeviceLimits *limits = &out->properties.limits;
    out->properties.apiVersion = or_own(facts()->version, out->properties.apiVersion);
    out->properties.driverVersion = or_own(facts()->driver_version, out->properties.driverVersion);
    if (facts()->uuid)
        memcpy(out->properties.pipelineCacheUUID, &facts()->uuid, sizeof facts()->uuid);
    limits->maxStorageBufferRange = or_own(facts()->storage_range, limits->maxStorageBufferRange);
    limits->maxComputeSharedMemorySize =
        or_own(facts()->group_memory, limits->maxComputeSharedMemorySize);
    limits->maxPushConstantsSize = or_own(facts()->pushed_bytes, limits->maxPushConstantsSize);
    for (VkBaseOutStructure *part = out->pNext; part; part = part->pNext) {
        if (part->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES &&
            facts()->allocation_bytes)
            ((VkPhysicalDeviceMaintenance3Properties *)(void *)part)->maxMemoryAllocationSize =
                facts()->allocation_bytes;
    }
    limits->maxComputeWorkGroupCount[0] =
        or_own(facts()->group_count, limits->maxComputeWorkGroupCount[0]);
}

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceFeatures2(VkPhysicalDevice physical,
                                                             VkPhysicalDeviceFeatures2 *out)
{
    next_GetPhysicalDeviceFeatures2(physical, out);
    if (facts()->has_no_int64)
        out->features.shaderInt64 = VK_FALSE;
    for (VkBaseOutStructure *part = out->pNext; part; part = part->pNext) {
        if (part->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES &&
            facts()->has_no_timelines)
            ((VkPhysicalDeviceVulkan12Features *)(void *)part)->timelineSemaphore = VK_FALSE;
    }
}

static VKAPI_ATTR void VKAPI_CALL CmdPushConstants(VkCommandBuffer target, VkPipelineLayout layout,
                                                   VkShaderStageFlags stages, uint32_t offset,
                                                   uint32_t bytes, const void *data)
{
    atomic_fetch_add(&vulkan_shim()->constants_pushed, 1);
    next_CmdPushConstants(target, layout, stages, offset, bytes, data);
}

/* One that is hidden keeps its place, under a name that nobody asks for. */
static VKAPI_ATTR VkResult VKAPI_CALL EnumerateDeviceExtensionProperties(VkPhysicalDevice physical,
                                                                         const char *layer,
                                                                         uint32_t *io_count,
                                                                         VkExtensionProperties *out)
{
    const VkResult result = next_EnumerateDeviceExtensionProperties(physical, layer, io_count, out);
    for (uint32_t i = 0; out && i < *io_count; i++) {
        if (facts()->hidden_extension &&
            strcmp(out[i].extensionName, facts()->hidden_extension) == 0)
            out[i].extensionName[0] = '-';
        if (strcmp(out[i].extensionName, VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME) == 0)
            vulkan_shim()->can_calibrate = true;
    }
    return result;
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* The type behind those that are added. */
static uint32_t seen_type;

static VKAPI_ATTR void VKAPI_CALL
GetPhysicalDeviceMemoryProperties(VkPhysicalDevice physical, VkPhysicalDeviceMemoryProperties *out)
{
    static const VkMemoryPropertyFlags coherent =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    next_GetPhysicalDeviceMemoryProperties(physical, out);
    const VkPhysicalDeviceMemoryProperties own = *out;
    if (facts()->has_more_memory) {
        seen_type = 0;
        while ((own.memoryTypes[seen_type].propertyFlags & coherent) != coherent)
            seen_type++;
        const VkMemoryType type = own.memoryTypes[seen_type];
        out->memoryTypes[VULKAN_SHIM_LOOSE] = out->memoryTypes[VULKAN_SHIM_FAR] = type;
        out->memoryTypes[VULKAN_SHIM_LOOSE].propertyFlags =
            VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
        out->memoryTypes[VULKAN_SHIM_FAR].propertyFlags = coherent;
        for (uint32_t i = 0; i < own.memoryTypeCount; i++)
            out->memoryTypes[VULKAN_SHIM_MORE_TYPES + i] = own.memoryTypes[i];
        out->memoryTypeCount += VULKAN_SHIM_MORE_TYPES;
    }
    for (uint32_t i = 0; i < out->memoryTypeCount && facts()->has_no_local; i++) {
        VkMemoryPropertyFlags *flags = &out->memoryTypes[i].propertyFlags;
        if (*flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
            *flags &= ~(VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    }
    vulkan_shim()->has_local = false;
    for (uint32_t i = 0; i < out->memoryTypeCount; i++)
        vulkan_shim()->has_local |= (out->memoryTypes[i].propertyFlags &
                                     (coherent | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)) ==
                                    (coherent | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
}

static VKAPI_ATTR void VKAPI_CALL GetBufferMemoryRequirements(VkDevice device, VkBuffer buffer,
                                                              VkMemoryRequirements *out)
{
    next_GetBufferMemoryRequirements(device, buffer, out);
    if (facts()->has_more_memory)
        out->memoryTypeBits = out->memoryTypeBits << VULKAN_SHIM_MORE_TYPES |
                              (out->memoryTypeBits >> seen_type & 1 ? 3 : 0);
}

static VKAPI_ATTR VkResult VKAPI_CALL AllocateMemory(VkDevice device,
                                                     const VkMemoryAllocateInfo *info,
                                                     const VkAllocationCallbacks *callbacks,
                                                     VkDeviceMemory *out)
{
    struct vulkan_shim *shim = vulkan_shim();
    VkMemoryAllocateInfo real = *info;
    const int result = atomic_load(&shim->allocate_result);
    if (result)
        return (VkResult)result;
    atomic_fetch_add(&shim->allocations, 1);
    atomic_store(&shim->last_type, info->memoryTypeIndex);
    if (facts()->has_more_memory)
        real.memoryTypeIndex = info->memoryTypeIndex < VULKAN_SHIM_MORE_TYPES
                                   ? seen_type
                                   : info->memoryTypeIndex - VULKAN_SHIM_MORE_TYPES;
    return next_AllocateMemory(device, &real, callbacks, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL FlushMappedMemoryRanges(VkDevice device, uint32_t count,
                                                              const VkMappedMemoryRange *ranges)
{
    struct vulkan_shim *shim = vulkan_shim();
    atomic_fetch_add(&shim->flushes, count);
    shim->last_flush = (struct vulkan_shim_range){ranges[count - 1].offset, ranges[count - 1].size};
    return next_FlushMappedMemoryRanges(device, count, ranges);
}

static VKAPI_ATTR VkResult VKAPI_CALL
InvalidateMappedMemoryRanges(VkDevice device, uint32_t count, const VkMappedMemoryRange *ranges)
{
    struct vulkan_shim *shim = vulkan_shim();
    atomic_fetch_add(&shim->invalidations, count);
    shim->last_invalidation =
        (struct vulkan_shim_range){ranges[count - 1].offset, ranges[count - 1].size};
    return next_InvalidateMappedMemoryRanges(device, count, ranges);
}

/* ---- Queues --------------------------------------------------------------------------------- */

/* Behind the families that are said to be there. */
static uint32_t real_family;

static VKAPI_ATTR void VKAPI_CALL GetPhysicalDeviceQueueFamilyProperties(
    VkPhysicalDevice physical, uint32_t *io_count, VkQueueFamilyProperties *out)
{
    next_GetPhysicalDeviceQueueFamilyProperties(physical, io_count, out);
    if (facts()->has_more_families && *io_count >= 1) {
        real_family = 0;
        while (!(out[real_family].queueFlags & VK_QUEUE_COMPUTE_BIT))
            real_family++;
        const VkQueueFamilyProperties family = out[real_family];
        out[0] = out[1] = out[2] = family;
        out[0].queueCount = 1;
        out[1].queueCount = VULKAN_SHIM_QUEUES;
        out[2].queueCount = 16;
        out[2].queueFlags = VK_QUEUE_TRANSFER_BIT;
        *io_count = 3;
    }
    for (uint32_t i = 0; i < *io_count && facts()->computes_nowhere; i++)
        out[i].queueFlags &= ~(VkQueueFlags)VK_QUEUE_COMPUTE_BIT;
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateDevice(VkPhysicalDevice physical,
                                                   const VkDeviceCreateInfo *info,
                                                   const VkAllocationCallbacks *callbacks,
                                                   VkDevice *out)
{
    VkDeviceCreateInfo real = *info;
    VkDeviceQueueCreateInfo queues = *info->pQueueCreateInfos;
    vulkan_shim()->family = queues.queueFamilyIndex;
    vulkan_shim()->queues = queues.queueCount;
    if (facts()->has_more_families) {
        queues.queueFamilyIndex = real_family;
        queues.queueCount = 1;
        real.pQueueCreateInfos = &queues;
    }
    return next_CreateDevice(physical, &real, callbacks, out);
}

/* Queues that there are not have an address here, and are the one that there is. */
static VkQueue real_queue;
static char seeming[VULKAN_SHIM_QUEUES];

static VKAPI_ATTR void VKAPI_CALL GetDeviceQueue(VkDevice device, uint32_t family, uint32_t index,
                                                 VkQueue *out)
{
    if (!facts()->has_more_families) {
        next_GetDeviceQueue(device, family, index, out);
        return;
    }
    next_GetDeviceQueue(device, real_family, 0, &real_queue);
    *out = (VkQueue)(void *)&seeming[index];
}

VkQueue vulkan_facts_queue(VkQueue queue)
{
    for (size_t i = 0; i < VULKAN_SHIM_QUEUES; i++) {
        if ((char *)queue != &seeming[i])
            continue;
        atomic_fetch_add(&vulkan_shim()->submitted[i], 1);
        return real_queue;
    }
    return queue;
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateCommandPool(VkDevice device,
                                                        const VkCommandPoolCreateInfo *info,
                                                        const VkAllocationCallbacks *callbacks,
                                                        VkCommandPool *out)
{
    VkCommandPoolCreateInfo real = *info;
    if (facts()->has_more_families)
        real.queueFamilyIndex = real_family;
    return next_CreateCommandPool(device, &real, callbacks, out);
}

/* ---- Times ---------------------------------------------------------------------------------- */

/* The parameters are Vulkan's. NOLINTNEXTLINE(readability-function-size) */
static VKAPI_ATTR VkResult VKAPI_CALL GetQueryPoolResults(VkDevice device, VkQueryPool pool,
                                                          uint32_t first, uint32_t count,
                                                          size_t bytes, void *data,
                                                          VkDeviceSize stride,
                                                          VkQueryResultFlags flags)
{
    struct vulkan_shim *shim = vulkan_shim();
    const VkResult result =
        next_GetQueryPoolResults(device, pool, first, count, bytes, data, stride, flags);
    uint64_t *ticks = data;
    const bool is_first = atomic_fetch_add(&shim->reads, 1) == 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i + 2 >= count)
            shim->ticks[i + 2 - count] = ticks[i];
        ticks[i] += facts()->ticks_ahead - (is_first ? facts()->late_ticks : 0);
    }
    return result;
}

/* The driver asks for the device's clock first. */
static VKAPI_ATTR VkResult VKAPI_CALL GetCalibratedTimestampsEXT(
    VkDevice device, uint32_t count, const VkCalibratedTimestampInfoEXT *infos,
    uint64_t *out_stamps, uint64_t *out_deviation)
{
    struct vulkan_shim *shim = vulkan_shim();
    const VkResult result =
        next_GetCalibratedTimestampsEXT(device, count, infos, out_stamps, out_deviation);
    const unsigned number = atomic_fetch_add(&shim->calibrations, 1);
    if (shim->facts.calibrates_poorly) {
        out_stamps[0] += number == 2 ? 0 : POOR_NS;
        *out_deviation = number == 2 ? FAIR_NS : POOR_NS;
    }
    if (*out_deviation < shim->least_deviation_ns) {
        shim->least_deviation_ns = *out_deviation;
        shim->calibrated_ticks = out_stamps[0];
        shim->calibrated_ns = (int64_t)out_stamps[1];
    }
    out_stamps[0] += facts()->ticks_ahead;
    return result;
}

/* ---- Names ---------------------------------------------------------------------------------- */

static void note(char out_texts[VULKAN_SHIM_TEXTS][VULKAN_SHIM_TEXT_BYTES], unsigned number,
                 const char *text)
{
    if (number < VULKAN_SHIM_TEXTS)
        snprintf(out_texts[number], VULKAN_SHIM_TEXT_BYTES, "%s", text);
}

static VKAPI_ATTR VkResult VKAPI_CALL
SetDebugUtilsObjectNameEXT(VkDevice device, const VkDebugUtilsObjectNameInfoEXT *info)
{
    struct vulkan_shim *shim = vulkan_shim();
    note(shim->name, atomic_fetch_add(&shim->names, 1), info->pObjectName);
    return next_SetDebugUtilsObjectNameEXT(device, info);
}

static VKAPI_ATTR void VKAPI_CALL CmdBeginDebugUtilsLabelEXT(VkCommandBuffer target,
                                                             const VkDebugUtilsLabelEXT *info)
{
    struct vulkan_shim *shim = vulkan_shim();
    note(shim->label, atomic_fetch_add(&shim->labels, 1), info->pLabelName);
    memcpy(shim->last_color, info->color, sizeof shim->last_color);
    next_CmdBeginDebugUtilsLabelEXT(target, info);
}

static VKAPI_ATTR void VKAPI_CALL CmdEndDebugUtilsLabelEXT(VkCommandBuffer target)
{
    atomic_fetch_add(&vulkan_shim()->label_ends, 1);
    next_CmdEndDebugUtilsLabelEXT(target);
}

PFN_vkVoidFunction vulkan_facts_before(const char *name, PFN_vkVoidFunction found)
{
    STAND_BEFORE(AllocateMemory)
    STAND_BEFORE(CmdBeginDebugUtilsLabelEXT)
    STAND_BEFORE(CmdEndDebugUtilsLabelEXT)
    STAND_BEFORE(CmdPushConstants)
    STAND_BEFORE(CreateCommandPool)
    STAND_BEFORE(CreateDevice)
    STAND_BEFORE(EnumerateDeviceExtensionProperties)
    STAND_BEFORE(FlushMappedMemoryRanges)
    STAND_BEFORE(GetBufferMemoryRequirements)
    STAND_BEFORE(GetCalibratedTimestampsEXT)
    STAND_BEFORE(GetDeviceQueue)
    STAND_BEFORE(GetPhysicalDeviceFeatures2)
    STAND_BEFORE(GetPhysicalDeviceMemoryProperties)
    STAND_BEFORE(GetPhysicalDeviceProperties2)
    STAND_BEFORE(GetPhysicalDeviceQueueFamilyProperties)
    STAND_BEFORE(GetQueryPoolResults)
    STAND_BEFORE(InvalidateMappedMemoryRanges)
    STAND_BEFORE(SetDebugUtilsObjectNameEXT)
    return found;
}
