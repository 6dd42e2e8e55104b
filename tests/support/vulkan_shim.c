/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/vulkan_facts.h"

#include <dlfcn.h>
#include <sched.h>
#include <string.h>

__attribute__((visibility("default"))) PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance,
                                                                                const char *name);

static struct vulkan_shim shim;

struct vulkan_shim *vulkan_shim(void)
{
    return &shim;
}

/* ---- What stands before Vulkan's functions ------------------------------------------------- */

#define NEXT(name) static PFN_vk##name next_##name
NEXT(CmdDispatch);
NEXT(CmdFillBuffer);
NEXT(CmdPipelineBarrier);
NEXT(CmdResetEvent);
NEXT(CmdSetEvent);
NEXT(CmdWaitEvents);
NEXT(CmdWriteTimestamp);
NEXT(QueueSubmit);
NEXT(WaitSemaphores);

static VKAPI_ATTR void VKAPI_CALL CmdDispatch(VkCommandBuffer target, uint32_t x, uint32_t y,
                                              uint32_t z)
{
    atomic_fetch_add(&shim.dispatches, 1);
    next_CmdDispatch(target, x, y, z);
}

static VKAPI_ATTR void VKAPI_CALL CmdFillBuffer(VkCommandBuffer target, VkBuffer buffer,
                                                VkDeviceSize offset, VkDeviceSize bytes,
                                                uint32_t pattern)
{
    next_CmdFillBuffer(target, buffer, offset + (atomic_load(&shim.fills_wrongly) ? 2 : 0), bytes,
                       pattern);
}

/* The parameters are Vulkan's. NOLINTNEXTLINE(readability-function-size) */
static VKAPI_ATTR void VKAPI_CALL CmdPipelineBarrier(
    VkCommandBuffer target, VkPipelineStageFlags source, VkPipelineStageFlags destination,
    VkDependencyFlags flags, uint32_t memory_count, const VkMemoryBarrier *memory,
    uint32_t buffer_count, const VkBufferMemoryBarrier *buffers, uint32_t image_count,
    const VkImageMemoryBarrier *images)
{
    const unsigned number = atomic_fetch_add(&shim.barriers, 1);
    if (number < VULKAN_SHIM_BARRIERS) {
        struct vulkan_shim_barrier *barrier = &shim.list[number];
        *barrier = (struct vulkan_shim_barrier){
            source, destination, memory_count, buffer_count, 0, 0, 0, 0};
        if (memory_count) {
            barrier->source_access = memory->srcAccessMask;
            barrier->target_access = memory->dstAccessMask;
        } else if (buffer_count) {
            barrier->source_access = buffers->srcAccessMask;
            barrier->target_access = buffers->dstAccessMask;
            barrier->offset = buffers->offset;
            barrier->bytes = buffers->size;
        }
    }
    next_CmdPipelineBarrier(target, source, destination, flags, memory_count, memory, buffer_count,
                            buffers, image_count, images);
}

static VKAPI_ATTR void VKAPI_CALL CmdResetEvent(VkCommandBuffer target, VkEvent event,
                                                VkPipelineStageFlags stages)
{
    atomic_fetch_add(&shim.resets, 1);
    next_CmdResetEvent(target, event, stages);
}

static VKAPI_ATTR void VKAPI_CALL CmdSetEvent(VkCommandBuffer target, VkEvent event,
                                              VkPipelineStageFlags stages)
{
    atomic_fetch_add(&shim.signals, 1);
    next_CmdSetEvent(target, event, stages);
}

/* The parameters are Vulkan's. NOLINTNEXTLINE(readability-function-size) */
static VKAPI_ATTR void VKAPI_CALL CmdWaitEvents(
    VkCommandBuffer target, uint32_t count, const VkEvent *events, VkPipelineStageFlags source,
    VkPipelineStageFlags destination, uint32_t memory_count, const VkMemoryBarrier *memory,
    uint32_t buffer_count, const VkBufferMemoryBarrier *buffers, uint32_t image_count,
    const VkImageMemoryBarrier *images)
{
    atomic_fetch_add(&shim.waits, 1);
    next_CmdWaitEvents(target, count, events, source, destination, memory_count, memory,
                       buffer_count, buffers, image_count, images);
}

static VKAPI_ATTR void VKAPI_CALL CmdWriteTimestamp(VkCommandBuffer target,
                                                    VkPipelineStageFlagBits stage, VkQueryPool pool,
                                                    uint32_t query)
{
    atomic_fetch_add(&shim.timestamps, 1);
    next_CmdWriteTimestamp(target, stage, pool, query);
}

static VKAPI_ATTR VkResult VKAPI_CALL QueueSubmit(VkQueue queue, uint32_t count,
                                                  const VkSubmitInfo *infos, VkFence fence)
{
    const int result = atomic_load(&shim.submit_result);
    atomic_fetch_add(&shim.submissions, 1);
    atomic_store(&shim.last_command_buffers, count ? infos[0].commandBufferCount : 0);
    atomic_store(&shim.last_waits, count ? infos[0].waitSemaphoreCount : 0);
    return result ? (VkResult)result
                  : next_QueueSubmit(vulkan_facts_queue(queue), count, infos, fence);
}

static VKAPI_ATTR VkResult VKAPI_CALL WaitSemaphores(VkDevice device,
                                                     const VkSemaphoreWaitInfo *info,
                                                     uint64_t timeout)
{
    const int result = atomic_load(&shim.wait_result);
    if (result == VK_TIMEOUT)
        return VK_TIMEOUT;
    /* A device that is lost does no more: what it had has to end first. */
    const VkResult real = next_WaitSemaphores(device, info, timeout);
    while (atomic_load(&shim.holds_ends))
        sched_yield();
    return result ? (VkResult)result : real;
}

/* ---- The loader ---------------------------------------------------------------------------- */

static PFN_vkGetInstanceProcAddr find_real(void)
{
    static const char *const places[] = {SHIM_VULKAN, "/usr/lib/libvulkan.so.1",
                                         "/usr/lib64/libvulkan.so.1"};
    PFN_vkGetInstanceProcAddr find = NULL;
    void *library = NULL;
    for (unsigned i = 0; !library && i < sizeof places / sizeof places[0]; i++)
        library = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    memcpy(&find, &symbol, sizeof find);
    return find;
}

PFN_vkVoidFunction vkGetInstanceProcAddr(VkInstance instance, const char *name)
{
    static PFN_vkGetInstanceProcAddr find;
    if (!find)
        find = find_real();
    const PFN_vkVoidFunction found = find ? find(instance, name) : NULL;
    if (!found)
        return NULL;
    STAND_BEFORE(CmdDispatch)
    STAND_BEFORE(CmdFillBuffer)
    STAND_BEFORE(CmdPipelineBarrier)
    STAND_BEFORE(CmdResetEvent)
    STAND_BEFORE(CmdSetEvent)
    STAND_BEFORE(CmdWaitEvents)
    STAND_BEFORE(CmdWriteTimestamp)
    STAND_BEFORE(QueueSubmit)
    STAND_BEFORE(WaitSemaphores)
    return vulkan_facts_before(name, found);
}
