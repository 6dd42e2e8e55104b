/* SPDX-License-Identifier: Apache-2.0 */
/* An ended command buffer as one of Vulkan, recorded once. */
#include "hal/drivers/vulkan/program.h"

#include "hal/base/mem.h"

/* ---- Transfers ------------------------------------------------------------------------------ */

static void copy_staged(struct vulkan_builder *builder, struct vulkan_place target,
                        const void *data, uint64_t bytes)
{
    const VkBufferCopy range = {builder->staged, target.offset, bytes};
    memcpy(builder->program->staging.data + builder->staged, data, bytes);
    vk.CmdCopyBuffer(builder->target, builder->program->staging.buffer, target.buffer, 1, &range);
    builder->staged = hal_align_up(builder->staged + bytes, VULKAN_STAGING_ALIGNMENT);
}

/* The pattern's bytes from the n-th on. */
static uint32_t rotate(uint32_t pattern, uint64_t n)
{
    const uint32_t bits = (uint32_t)(n % VULKAN_WORD_BYTES) * 8;
    return bits ? pattern >> bits | pattern << (32 - bits) : pattern;
}

/* Whole words by the command for it, up to three bytes at either end as copies. */
static void add_fill(struct vulkan_builder *builder, const struct hal_command_fill *fill)
{
    const uint64_t to_word =
        (VULKAN_WORD_BYTES - fill->offset % VULKAN_WORD_BYTES) % VULKAN_WORD_BYTES;
    const uint64_t head = to_word < fill->bytes ? to_word : fill->bytes;
    const uint64_t words = (fill->bytes - head) / VULKAN_WORD_BYTES * VULKAN_WORD_BYTES;
    const uint64_t tail = fill->bytes - head - words;
    const uint32_t inner = rotate(fill->pattern, head);
    const struct vulkan_place first = vulkan_place_of(fill->target, fill->offset);
    const struct vulkan_place whole = {first.buffer, first.offset + head};
    const struct vulkan_place last = {first.buffer, whole.offset + words};
    if (head)
        copy_staged(builder, first, &fill->pattern, head);
    if (words)
        vk.CmdFillBuffer(builder->target, whole.buffer, whole.offset, words, inner);
    if (tail)
        copy_staged(builder, last, &inner, tail);
}

static void add_copy(struct vulkan_builder *builder, const struct hal_command_copy *copy)
{
    const struct vulkan_place source = vulkan_place_of(copy->source, copy->source_offset);
    const struct vulkan_place target = vulkan_place_of(copy->target, copy->target_offset);
    const VkBufferCopy range = {source.offset, target.offset, copy->bytes};
    if (copy->bytes)
        vk.CmdCopyBuffer(builder->target, source.buffer, target.buffer, 1, &range);
}

static bool is_odd(const struct hal_command_update *update)
{
    return (update->offset | update->bytes) % VULKAN_WORD_BYTES != 0;
}

static void add_update(struct vulkan_builder *builder, const struct hal_command_update *update)
{
    const struct vulkan_place target = vulkan_place_of(update->target, update->offset);
    if (update->bytes == 0)
        return;
    if (is_odd(update))
        copy_staged(builder, target, update->data, update->bytes);
    else
        vk.CmdUpdateBuffer(builder->target, target.buffer, target.offset, update->bytes,
                           update->data);
}

/* ---- Commands ------------------------------------------------------------------------------- */

static void begin_group(struct vulkan_builder *builder, const struct hal_command_debug *debug)
{
    const VkDebugUtilsLabelEXT label = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
        .pLabelName = debug->label,
        .color = {(float)(debug->color >> 16 & 0xFF) / 255.0F,
                  (float)(debug->color >> 8 & 0xFF) / 255.0F, (float)(debug->color & 0xFF) / 255.0F,
                  debug->color ? 1.0F : 0.0F},
    };
    if (vulkan_has_debug_utils)
        vk.CmdBeginDebugUtilsLabelEXT(builder->target, &label);
}

static enum hal_status add_command(struct vulkan_builder *builder,
                                   const struct hal_command *command)
{
    switch ((enum hal_command_kind)command->kind) {
    case HAL_COMMAND_BARRIER: {
        const struct hal_command_barrier *it = (const void *)command;
        const struct vulkan_barrier barrier = {it->source_stages, it->target_stages,
                                               it->source_access, it->target_access,
                                               it->buffers,       it->buffer_count};
        HAL_TRY(vulkan_add_barrier(builder, &barrier));
        return vulkan_add_count_checks(builder, hal_command_next(builder->commands, command));
    }
    case HAL_COMMAND_EVENT_SIGNAL: vulkan_add_signal(builder, (const void *)command); return HAL_OK;
    case HAL_COMMAND_EVENTS_WAIT:
        HAL_TRY(vulkan_add_wait(builder, (const void *)command));
        return vulkan_add_count_checks(builder, hal_command_next(builder->commands, command));
    case HAL_COMMAND_FILL: add_fill(builder, (const void *)command); return HAL_OK;
    case HAL_COMMAND_COPY: add_copy(builder, (const void *)command); return HAL_OK;
    case HAL_COMMAND_UPDATE: add_update(builder, (const void *)command); return HAL_OK;
    case HAL_COMMAND_DISPATCH: return vulkan_add_dispatch(builder, (const void *)command);
    case HAL_COMMAND_DISPATCH_INDIRECT: return vulkan_add_indirect(builder, (const void *)command);
    case HAL_COMMAND_DEBUG_BEGIN: begin_group(builder, (const void *)command); return HAL_OK;
    case HAL_COMMAND_DEBUG_END:
        if (vulkan_has_debug_utils)
            vk.CmdEndDebugUtilsLabelEXT(builder->target);
        return HAL_OK;
    case HAL_COMMAND_PUSH_CONSTANTS: /* in the states */
    case HAL_COMMAND_PUSH_DESCRIPTOR_SET:
    case HAL_COMMAND_EVENT_RESET: /* a signal has an event of its own */ return HAL_OK;
    }
    return HAL_OK;
}

/* ---- Programs ------------------------------------------------------------------------------- */

/* What all commands need together. */
struct needs {
    uint64_t staging_bytes;
    uint32_t checks, sets, storage, uniforms, dispatches, signals;
    bool has_work;
};

static void count_sets(const struct vulkan_device *device, const struct vulkan_entry *entry,
                       struct needs *needs)
{
    for (uint32_t i = 0; i < entry->binding_count; i++) {
        if (entry->is_pushed && entry->bindings[i].set == 0)
            continue;
        needs->storage += !entry->bindings[i].is_uniform;
        needs->uniforms += entry->bindings[i].is_uniform;
    }
    needs->sets += entry->set_count;
    if (!entry->carries_constants)
        return;
    needs->storage += !entry->is_pushed;
    needs->staging_bytes += entry->constant_bytes + 2 * vulkan_constants_alignment(device);
}

static struct needs count_needs(const struct vulkan_device *device,
                                const struct hal_command_buffer *commands)
{
    struct needs needs = {0};
    hal_each_command (commands, command) {
        const struct hal_command_update *update = (const void *)command;
        const struct hal_command_dispatch *dispatch = (const void *)command;
        const struct hal_command_dispatch_indirect *indirect = (const void *)command;
        needs.has_work |= command->kind != HAL_COMMAND_PUSH_CONSTANTS &&
                          command->kind != HAL_COMMAND_PUSH_DESCRIPTOR_SET &&
                          command->kind != HAL_COMMAND_EVENT_SIGNAL &&
                          command->kind != HAL_COMMAND_EVENT_RESET;
        needs.dispatches +=
            command->kind == HAL_COMMAND_DISPATCH || command->kind == HAL_COMMAND_DISPATCH_INDIRECT;
        needs.signals += command->kind == HAL_COMMAND_EVENT_SIGNAL;
        if (command->kind == HAL_COMMAND_FILL)
            needs.staging_bytes += (uint64_t)2 * VULKAN_STAGING_ALIGNMENT;
        else if (command->kind == HAL_COMMAND_UPDATE && is_odd(update))
            needs.staging_bytes += hal_align_up(update->bytes, VULKAN_STAGING_ALIGNMENT);
        else if (command->kind == HAL_COMMAND_DISPATCH)
            count_sets(device,
                       &to_vulkan_executable(dispatch->executable)->entries[dispatch->entry],
                       &needs);
        else if (command->kind == HAL_COMMAND_DISPATCH_INDIRECT) {
            count_sets(device,
                       &to_vulkan_executable(indirect->executable)->entries[indirect->entry],
                       &needs);
            count_sets(device, &device->count_check, &needs);
            needs.checks++;
        }
    }
    return needs;
}

static enum hal_status make_pool(struct vulkan_builder *builder, const struct needs *needs)
{
    VkDescriptorPoolSize sizes[2];
    uint32_t count = 0;
    if (needs->storage)
        sizes[count++] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, needs->storage};
    if (needs->uniforms)
        sizes[count++] = (VkDescriptorPoolSize){VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, needs->uniforms};
    if (!count)
        return HAL_OK;
    const VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = needs->sets,
        .poolSizeCount = count,
        .pPoolSizes = sizes,
    };
    const VkResult result =
        vk.CreateDescriptorPool(builder->device->device, &info, NULL, &builder->program->pool);
    return result == VK_SUCCESS ? HAL_OK : vulkan_fail(result, "%u descriptor sets", needs->sets);
}

static enum hal_status make_events(struct vulkan_builder *builder, uint32_t count)
{
    static const VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    struct vulkan_program *program = builder->program;
    builder->signals = hal_alloc(count, sizeof *builder->signals);
    program->events = hal_alloc(count, sizeof *program->events);
    if (!builder->signals || !program->events)
        return vulkan_no_memory(builder);
    for (uint32_t i = 0; i < count; i++) {
        const VkResult result =
            vk.CreateEvent(builder->device->device, &info, NULL, &program->events[i]);
        if (result != VK_SUCCESS)
            return vulkan_fail(result, "event %u of %u", i, count);
        program->event_count++;
    }
    return HAL_OK;
}

static enum hal_status make_room(struct vulkan_builder *builder, const struct needs *needs)
{
    struct vulkan_program *program = builder->program;
    HAL_TRY(vulkan_command_pool_take(builder->device, &program->command_pool));
    HAL_TRY(make_pool(builder, needs));
    if (needs->staging_bytes)
        HAL_TRY(vulkan_staging_create(builder->device, needs->staging_bytes, &program->staging));
    if (needs->signals)
        HAL_TRY(make_events(builder, needs->signals));
    program->is_exclusive = needs->checks || needs->signals;
    if (!needs->checks)
        return HAL_OK;
    program->checks = hal_alloc(needs->checks, sizeof *program->checks);
    if (!program->checks)
        return vulkan_no_memory(builder);
    program->check_count = needs->checks;
    return vulkan_staging_create(
        builder->device, needs->checks * sizeof(struct vulkan_checked_counts), &program->checked);
}

/* For the next run, which waits for this one to end. */
static void reset_events(const struct vulkan_builder *builder)
{
    const struct vulkan_program *program = builder->program;
    if (!program->event_count || builder->commands->mode != HAL_REUSABLE)
        return;
    vk.CmdPipelineBarrier(builder->target, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                          VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 0, NULL, 0, NULL, 0, NULL);
    for (size_t i = 0; i < program->event_count; i++)
        vk.CmdResetEvent(builder->target, program->events[i], VK_PIPELINE_STAGE_ALL_COMMANDS_BIT);
}

static enum hal_status record_all(struct vulkan_builder *builder, uint32_t timed)
{
    const struct hal_command_buffer *commands = builder->commands;
    const VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = commands->mode == HAL_REUSABLE ? VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
                                                : VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    builder->target = builder->program->command_pool->commands;
    VkResult result = vk.BeginCommandBuffer(builder->target, &info);
    if (result != VK_SUCCESS)
        return vulkan_fail(result, "beginning to record");
    if (timed)
        HAL_TRY(vulkan_times_create(builder->device, builder->program, timed, builder->target));
    HAL_TRY(vulkan_add_count_checks(builder, hal_command_first(commands)));
    hal_each_command (commands, command)
        HAL_TRY(add_command(builder, command));
    reset_events(builder);
    result = vk.EndCommandBuffer(builder->target);
    return result == VK_SUCCESS ? HAL_OK : vulkan_fail(result, "recording");
}

enum hal_status vulkan_program_create(struct vulkan_device *device,
                                      const struct hal_command_buffer *commands,
                                      enum vulkan_program_kind kind,
                                      struct vulkan_program **out_program)
{
    struct vulkan_program *program = hal_alloc(1, sizeof *program);
    struct vulkan_builder builder = {.device = device, .commands = commands, .program = program};
    if (!program)
        return vulkan_no_memory(&builder);
    const struct needs needs = count_needs(device, commands);
    enum hal_status status = HAL_OK;
    program->commands = commands;
    program->is_empty = !needs.has_work;
    if (needs.has_work) {
        status = make_room(&builder, &needs);
        if (status == HAL_OK)
            status = record_all(&builder, kind == VULKAN_TIMED ? needs.dispatches : 0);
    }
    free(builder.signals);
    if (status != HAL_OK) {
        vulkan_program_destroy(device, program);
        return status;
    }
    if (program->command_pool)
        vulkan_name(device, VK_OBJECT_TYPE_COMMAND_BUFFER,
                    (uint64_t)(uintptr_t)program->command_pool->commands, commands->object.label);
    *out_program = program;
    return HAL_OK;
}

void vulkan_program_destroy(struct vulkan_device *device, struct vulkan_program *program)
{
    if (!program)
        return;
    vulkan_command_pool_give(device, program->command_pool);
    if (program->pool)
        vk.DestroyDescriptorPool(device->device, program->pool, NULL);
    vulkan_staging_destroy(device, &program->staging);
    vulkan_staging_destroy(device, &program->checked);
    vulkan_times_destroy(device, program);
    for (size_t i = 0; i < program->event_count; i++)
        vk.DestroyEvent(device->device, program->events[i], NULL);
    free(program->events);
    free(program->checks);
    free(program);
}
