/* SPDX-License-Identifier: Apache-2.0 */
/* Host calls of submissions: a few threads that may block, started when they are first needed.
 * What the host cannot see is copied to where it can, and back. */
#include "hal/base/mem.h"
#include "hal/drivers/vulkan/vulkan.h"

#include <stdio.h>

enum { MOST_THREADS = 4 };

struct vulkan_host {
    struct vulkan_device *device;
    pthread_mutex_t lock;
    pthread_cond_t wanted;
    struct hal_line calls;
    uint32_t queued;                /* of these */
    uint32_t waiting, thread_count; /* threads that wait for a call, and all */
    bool is_stopping;
    pthread_t threads[MOST_THREADS];
};

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
    struct vulkan_recorder *recorder;
    HAL_TRY(vulkan_recorder_take(device, &recorder));
    VkResult result = record(recorder->commands, source, target, range);
    if (result == VK_SUCCESS)
        result = run_and_wait(device, recorder->commands);
    vulkan_recorder_give(device, recorder);
    return result == VK_SUCCESS ? HAL_OK : vulkan_fail(result, "a copy for the host");
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static enum hal_status call_on_copy(struct vulkan_device *device, struct vulkan_host_call *call)
{
    const struct vulkan_place place = vulkan_place_of(&call->buffer->base, call->offset);
    const VkBufferCopy there = {.srcOffset = place.offset, .dstOffset = 0, .size = call->bytes};
    const VkBufferCopy back = {.srcOffset = 0, .dstOffset = place.offset, .size = call->bytes};
    struct vulkan_staging staging;
    HAL_TRY(vulkan_staging_create(device, call->bytes, &staging));
    enum hal_status status = copy_now(device, place.buffer, staging.buffer, &there);
    if (status == HAL_OK)
        status = call->host.run(call->host.user, staging.data, call->bytes);
    if (status == HAL_OK && call->host.writes)
        status = copy_now(device, staging.buffer, place.buffer, &back);
    vulkan_staging_destroy(device, &staging);
    return status;
}

static enum hal_status run_call(struct vulkan_device *device, struct vulkan_host_call *call)
{
    const uint8_t *data = call->buffer->memory.block->data;
    struct hal_mapping mapping = {.buffer = &call->buffer->base,
                                  .offset = call->offset,
                                  .bytes = call->bytes,
                                  .mode = HAL_MAP_READ | HAL_MAP_WRITE};
    if (!data && call->bytes)
        return call_on_copy(device, call);
    HAL_TRY(vulkan_buffer_map(&device->base, mapping.buffer, &mapping));
    HAL_TRY(call->host.run(call->host.user, mapping.data, call->bytes));
    return call->host.writes ? vulkan_buffer_unmap(&device->base, &mapping) : HAL_OK;
}

static void *work(void *argument)
{
    struct vulkan_host *host = argument;
    pthread_mutex_lock(&host->lock);
    for (;;) {
        while (!host->calls.first && !host->is_stopping) {
            host->waiting++;
            pthread_cond_wait(&host->wanted, &host->lock);
            host->waiting--;
        }
        struct vulkan_host_call *call =
            hal_line_take(&host->calls, offsetof(struct vulkan_host_call, coming));
        if (!call)
            break;
        host->queued--;
        pthread_mutex_unlock(&host->lock);
        call->begin_ns = hal_clock_ns();
        const enum hal_status status = run_call(host->device, call);
        call->end_ns = hal_clock_ns();
        call->done(call, status);
        pthread_mutex_lock(&host->lock);
    }
    pthread_mutex_unlock(&host->lock);
    return NULL;
}

/* One more when all are busy or have a call coming: one that blocks should not keep the others
 * waiting. */
static enum hal_status start_thread_locked(struct vulkan_host *host)
{
    char name[32];
    if (host->waiting > host->queued || host->thread_count == MOST_THREADS)
        return HAL_OK;
    snprintf(name, sizeof name, "hal-vk-host-%u", host->thread_count);
    const enum hal_status status =
        hal_thread_start(name, work, host, &host->threads[host->thread_count]);
    if (status == HAL_OK)
        host->thread_count++;
    return host->thread_count > 0 ? HAL_OK : status;
}

void vulkan_host_start(struct vulkan_host *host, struct vulkan_host_call *call)
{
    pthread_mutex_lock(&host->lock);
    const enum hal_status status = start_thread_locked(host);
    if (status == HAL_OK) {
        hal_line_join(&host->calls, &call->coming);
        host->queued++;
        pthread_cond_signal(&host->wanted);
    }
    pthread_mutex_unlock(&host->lock);
    if (status != HAL_OK)
        call->done(call, status);
}

enum hal_status vulkan_host_create(struct vulkan_device *device, struct vulkan_host **out_host)
{
    struct vulkan_host *host = hal_alloc(1, sizeof *host);
    if (!host)
        return hal_fail(HAL_NO_MEMORY, "no memory for host calls");
    host->device = device;
    pthread_mutex_init(&host->lock, NULL);
    pthread_cond_init(&host->wanted, NULL);
    *out_host = host;
    return HAL_OK;
}

void vulkan_host_destroy(struct vulkan_host *host)
{
    if (!host)
        return;
    pthread_mutex_lock(&host->lock);
    host->is_stopping = true;
    pthread_cond_broadcast(&host->wanted);
    pthread_mutex_unlock(&host->lock);
    for (uint32_t i = 0; i < host->thread_count; i++)
        pthread_join(host->threads[i], NULL);
    pthread_cond_destroy(&host->wanted);
    pthread_mutex_destroy(&host->lock);
    free(host);
}
