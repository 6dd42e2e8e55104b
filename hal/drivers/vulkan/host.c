/* SPDX-License-Identifier: Apache-2.0 */
/* Host calls of submissions: what the host cannot see is copied to where it can, and back. */
#include "hal/drivers/vulkan/vulkan.h"

/* ---- Copies --------------------------------------------------------------------------------- */

static VkResult record(VkCommandBuffer commands, VkBuffer source, VkBuffer target,
                       const VkBufferCopy *range)
{
    static const VkMemoryBarrier before = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
    };
    static const VkMemoryBarrier after = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_MEMORY_READ_BIT,
    };
    const VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    const VkResult result = vk.BeginCommandBuffer(commands, &info);
    if (result != VK_SUCCESS)
        return result;
    vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                          VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1, &before, 0, NULL, 0, NULL);
    vk.CmdCopyBuffer(commands, source, target, 1, range);
    vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                          VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1,
                          &after, 0, NULL, 0, NULL);
    return vk.EndCommandBuffer(commands);
}

static VkResult run_and_wait(struct vulkan_device *device, VkCommandBuffer commands)
{
    const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .commandBufferCount = 1,
        .pCommandBuffers = &commands,
    };
    struct vulkan_hardware_queue *hardware = &device->hardware[0];
    VkFence fence;
    VkResult result = vk.CreateFence(device->device, &fence_info, NULL, &fence);
    if (result != VK_SUCCESS)
        return result;
    pthread_mutex_lock(&hardware->lock);
    result = vk.QueueSubmit(hardware->queue, 1, &submit, fence);
    pthread_mutex_unlock(&hardware->lock);
    if (result == VK_SUCCESS)
        result = vk.WaitForFences(device->device, 1, &fence, VK_TRUE, UINT64_MAX);
    vk.DestroyFence(device->device, fence, NULL);
    return result;
}

static enum hal_status copy_now(struct vulkan_device *device, VkBuffer source, VkBuffer target,
                                const VkBufferCopy *range)
{
    struct vulkan_command_pool *pool;
    HAL_TRY(vulkan_command_pool_take(device, &pool));
    VkResult result = record(pool->commands, source, target, range);
    if (result == VK_SUCCESS)
        result = run_and_wait(device, pool->commands);
    vulkan_command_pool_give(device, pool);
    return result == VK_SUCCESS ? HAL_OK : vulkan_fail(result, "a copy for the host");
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static enum hal_status call_on_copy(struct vulkan_device *device, const struct hal_work *work)
{
    const struct hal_host_call *host = &work->host;
    const struct vulkan_place place = vulkan_place_of(work->buffer, work->offset);
    const VkBufferCopy there = {.srcOffset = place.offset, .dstOffset = 0, .size = work->bytes};
    const VkBufferCopy back = {.srcOffset = 0, .dstOffset = place.offset, .size = work->bytes};
    struct vulkan_staging staging;
    HAL_TRY(vulkan_staging_create(device, work->bytes, &staging));
    enum hal_status status = copy_now(device, place.buffer, staging.buffer, &there);
    if (status == HAL_OK)
        status = host->run(host->user, staging.data, work->bytes);
    if (status == HAL_OK && host->writes)
        status = copy_now(device, staging.buffer, place.buffer, &back);
    vulkan_staging_destroy(device, &staging);
    return status;
}

enum hal_status vulkan_host_call(struct hal_work *work)
{
    struct hal_driver_device *self = &work->engine->base;
    const uint8_t *data = to_vulkan_buffer(work->buffer)->memory.block->data;
    struct hal_mapping mapping = {.buffer = work->buffer,
                                  .offset = work->offset,
                                  .bytes = work->bytes,
                                  .mode = HAL_MAP_READ | HAL_MAP_WRITE};
    if (!data && work->bytes)
        return hal_engine_note_loss(work->engine, call_on_copy(to_vulkan_device(self), work));
    HAL_TRY(vulkan_buffer_map(self, mapping.buffer, &mapping));
    HAL_TRY(work->host.run(work->host.user, mapping.data, work->bytes));
    return work->host.writes ? vulkan_buffer_unmap(self, &mapping) : HAL_OK;
}
