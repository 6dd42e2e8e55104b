/* SPDX-License-Identifier: Apache-2.0 */
/* When each dispatch ran, for submissions that ask for it. Their command buffers are recorded once
 * more, with a barrier before each dispatch and its begin and end written between: the times are
 * those of dispatches that run alone. */
#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "hal/drivers/vulkan/vulkan.h"

enum hal_status vulkan_times_create(struct vulkan_device *device, struct vulkan_program *program,
                                    uint32_t dispatches, VkCommandBuffer target)
{
    const VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = 2 * dispatches,
    };
    program->timed = hal_alloc(dispatches, sizeof *program->timed);
    if (!program->timed)
        return hal_fail(HAL_NO_MEMORY, "no memory for the times of %u dispatches", dispatches);
    const VkResult result = vk.CreateQueryPool(device->device, &info, NULL, &program->times);
    if (result != VK_SUCCESS) {
        program->times = VK_NULL_HANDLE;
        return vulkan_fail(result, "the times of %s",
                           hal_count(dispatches, "dispatch", "dispatches").text);
    }
    vk.CmdResetQueryPool(target, program->times, 0, 2 * dispatches);
    return HAL_OK;
}

void vulkan_times_destroy(struct vulkan_device *device, struct vulkan_program *program)
{
    if (program->times)
        vk.DestroyQueryPool(device->device, program->times, NULL);
    free(program->timed);
}

void vulkan_time_begin(struct vulkan_program *program, VkCommandBuffer target)
{
    if (!program->times)
        return;
    vk.CmdPipelineBarrier(target, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                          VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 0, NULL);
    vk.CmdWriteTimestamp(target, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, program->times,
                         2 * program->timed_count);
}

void vulkan_time_end(struct vulkan_program *program, VkCommandBuffer target, uint32_t dispatch)
{
    if (!program->times)
        return;
    vk.CmdWriteTimestamp(target, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, program->times,
                         2 * program->timed_count + 1);
    program->timed[program->timed_count++] = dispatch;
}

size_t vulkan_times_read(struct vulkan_device *device, const struct vulkan_program *program,
                         uint32_t command_buffer, struct hal_dispatch_time *out_times)
{
    const size_t count = program->timed_count;
    uint64_t *ticks = hal_alloc(2 * count, sizeof *ticks);
    if (!count || !ticks ||
        vk.GetQueryPoolResults(device->device, program->times, 0, (uint32_t)(2 * count),
                               2 * count * sizeof *ticks, ticks, sizeof *ticks,
                               VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT) != VK_SUCCESS) {
        free(ticks);
        return 0;
    }
    const int64_t now_ns = hal_clock_ns();
    for (size_t i = 0; i < count; i++)
        out_times[i] = (struct hal_dispatch_time){
            .command_buffer = command_buffer,
            .dispatch = program->timed[i],
            .begin_ns = vulkan_clock_ns(device, ticks[2 * i], now_ns),
            .end_ns = vulkan_clock_ns(device, ticks[2 * i + 1], now_ns),
        };
    free(ticks);
    return count;
}
