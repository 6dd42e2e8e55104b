/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers, and events as their two halves. */
#include "hal/base/mem.h"
#include "hal/drivers/vulkan/program.h"

static VkPipelineStageFlags stages_of(uint32_t stages)
{
    return (stages & HAL_STAGE_TRANSFER ? VK_PIPELINE_STAGE_TRANSFER_BIT : 0U) |
           (stages & HAL_STAGE_DISPATCH ? VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT : 0U) |
           (stages & HAL_STAGE_HOST ? VK_PIPELINE_STAGE_HOST_BIT : 0U);
}

static VkAccessFlags access_of(uint32_t stages, uint32_t access)
{
    VkAccessFlags flags = 0;
    if (stages & HAL_STAGE_TRANSFER)
        flags |= (access & HAL_ACCESS_READ ? VK_ACCESS_TRANSFER_READ_BIT : 0U) |
                 (access & HAL_ACCESS_WRITE ? VK_ACCESS_TRANSFER_WRITE_BIT : 0U);
    if (stages & HAL_STAGE_DISPATCH)
        flags |= (access & HAL_ACCESS_READ ? VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_UNIFORM_READ_BIT
                                           : 0U) |
                 (access & HAL_ACCESS_WRITE ? VK_ACCESS_SHADER_WRITE_BIT : 0U);
    if (stages & HAL_STAGE_HOST)
        flags |= (access & HAL_ACCESS_READ ? VK_ACCESS_HOST_READ_BIT : 0U) |
                 (access & HAL_ACCESS_WRITE ? VK_ACCESS_HOST_WRITE_BIT : 0U);
    return flags;
}

/* What a barrier or a wait makes visible: everything, or ranges of buffers. */
struct ranges {
    VkMemoryBarrier all;
    uint32_t all_count, count;
    VkBufferMemoryBarrier *list; /* to be freed */
};

static enum hal_status list_ranges(const struct vulkan_builder *builder,
                                   const struct vulkan_barrier *barrier, struct ranges *out_ranges)
{
    *out_ranges = (struct ranges){
        .all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                .srcAccessMask = access_of(barrier->source_stages, barrier->source_access),
                .dstAccessMask = access_of(barrier->target_stages, barrier->target_access)},
        .all_count = barrier->buffer_count == 0,
        .list = hal_alloc(barrier->buffer_count, sizeof *out_ranges->list),
    };
    if (!out_ranges->list)
        return vulkan_no_memory(builder);
    for (uint32_t i = 0; i < barrier->buffer_count; i++) {
        const struct hal_buffer_barrier *range = &barrier->buffers[i];
        if (range->bytes == 0)
            continue;
        const struct vulkan_place place = vulkan_place_of(range->buffer, range->offset);
        out_ranges->list[out_ranges->count++] = (VkBufferMemoryBarrier){
            .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
            .srcAccessMask = access_of(barrier->source_stages, range->source_access),
            .dstAccessMask = access_of(barrier->target_stages, range->target_access),
            .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
            .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
            .buffer = place.buffer,
            .offset = place.offset,
            .size = range->bytes,
        };
    }
    return HAL_OK;
}

enum hal_status vulkan_add_barrier(struct vulkan_builder *builder,
                                   const struct vulkan_barrier *barrier)
{
    struct ranges ranges;
    HAL_TRY(list_ranges(builder, barrier, &ranges));
    vk.CmdPipelineBarrier(builder->target, stages_of(barrier->source_stages),
                          stages_of(barrier->target_stages), 0, ranges.all_count, &ranges.all,
                          ranges.count, ranges.list, 0, NULL);
    free(ranges.list);
    return HAL_OK;
}

/* ---- Events --------------------------------------------------------------------------------- */

/* Each signal has an event of Vulkan of its own: an event of the HAL may be signalled again, and
 * its waits are for the signal before them. The host's part is in the submission's order. */
void vulkan_add_signal(struct vulkan_builder *builder, const struct hal_command_event *signal)
{
    const VkPipelineStageFlags stages =
        stages_of(signal->source_stages) & ~(VkPipelineStageFlags)VK_PIPELINE_STAGE_HOST_BIT;
    struct vulkan_signal *const last = &builder->signals[builder->signal_count];
    last->event = signal->event;
    last->stages = stages ? stages : VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT;
    vk.CmdSetEvent(builder->target, builder->program->events[builder->signal_count], last->stages);
    builder->signal_count++;
}

static VkEvent find_signal(const struct vulkan_builder *builder, const struct hal_event *event,
                           VkPipelineStageFlags *io_stages)
{
    size_t i = builder->signal_count;
    while (i > 0 && builder->signals[i - 1].event != event)
        i--;
    if (i == 0)
        return VK_NULL_HANDLE; /* hal_command_buffer_end has checked that it is signalled */
    *io_stages |= builder->signals[i - 1].stages;
    return builder->program->events[i - 1];
}

enum hal_status vulkan_add_wait(struct vulkan_builder *builder,
                                const struct hal_command_events_wait *wait)
{
    const struct vulkan_barrier barrier = {wait->source_stages & ~(uint32_t)HAL_STAGE_HOST,
                                           wait->target_stages,
                                           wait->source_access,
                                           wait->target_access,
                                           wait->buffers,
                                           wait->buffer_count};
    struct hal_event *const *const waited = hal_waited_events(wait);
    VkEvent *events = hal_alloc(wait->event_count, sizeof *events);
    VkPipelineStageFlags stages = 0;
    struct ranges ranges;
    uint32_t count = 0;
    if (!events)
        return vulkan_no_memory(builder);
    const enum hal_status status = list_ranges(builder, &barrier, &ranges);
    for (uint32_t i = 0; status == HAL_OK && i < wait->event_count; i++) {
        events[count] = find_signal(builder, waited[i], &stages);
        count += events[count] != VK_NULL_HANDLE;
    }
    if (count)
        vk.CmdWaitEvents(builder->target, count, events, stages, stages_of(wait->target_stages),
                         ranges.all_count, &ranges.all, ranges.count, ranges.list, 0, NULL);
    if (status == HAL_OK)
        free(ranges.list);
    free(events);
    return status;
}
