/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatches and what they see: descriptors, constants, counts from buffers. */
#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "hal/drivers/vulkan/program.h"

#include <inttypes.h>

/* ---- Descriptors ---------------------------------------------------------------------------- */

struct launch {
    const struct hal_executable *executable;
    uint32_t entry, state;
};

static const struct vulkan_entry *entry_of(const struct launch *launch)
{
    return &to_vulkan_executable(launch->executable)->entries[launch->entry];
}

static enum hal_status check_binding(const struct vulkan_builder *builder,
                                     const struct launch *launch, const struct spirv_binding *place,
                                     const struct hal_binding *binding)
{
    const VkPhysicalDeviceLimits *limits = &builder->device->limits;
    char name[HAL_OBJECT_NAME_BYTES], buffer[HAL_OBJECT_NAME_BYTES];
    if (!place->is_uniform && binding->bytes > limits->maxStorageBufferRange)
        return hal_fail(HAL_UNSUPPORTED,
                        "%s, dispatch %u: kernel '%s', set %u, binding %u: %s of %s are bound, the "
                        "device's limit is %u",
                        hal_object_name(&builder->commands->object, name), builder->dispatch_number,
                        launch->executable->entry_points[launch->entry].name, place->set,
                        place->binding, hal_count(binding->bytes, "byte", "bytes").text,
                        hal_object_name(&binding->buffer->object, buffer),
                        limits->maxStorageBufferRange);
    return HAL_OK;
}

struct writes {
    VkDescriptorBufferInfo buffers[SPIRV_MAX_BINDINGS + 1];
    VkWriteDescriptorSet list[SPIRV_MAX_BINDINGS + 1];
    uint32_t count;
};

/* Its place in the set that the writes go to. */
static void add_write(struct writes *writes, uint32_t binding, bool is_uniform, VkDescriptorSet set,
                      VkDescriptorBufferInfo buffer)
{
    writes->buffers[writes->count] = buffer;
    writes->list[writes->count] = (VkWriteDescriptorSet){
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
        .dstSet = set,
        .dstBinding = binding,
        .descriptorCount = 1,
        .descriptorType =
            is_uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        .pBufferInfo = &writes->buffers[writes->count],
    };
    writes->count++;
}

/* What was pushed, then zeros. */
static void fill_constants(const struct vulkan_builder *builder, const struct launch *launch,
                           uint8_t *out_constants)
{
    const uint32_t bytes = entry_of(launch)->constant_bytes;
    const struct hal_dispatch_state *state = &builder->commands->states[launch->state];
    const uint32_t pushed = state->constant_bytes < bytes ? state->constant_bytes : bytes;
    if (pushed)
        memcpy(out_constants, state->constants, pushed);
    memset(out_constants + pushed, 0, bytes - pushed);
}

uint64_t vulkan_constants_alignment(const struct vulkan_device *device)
{
    const uint64_t alignment = device->limits.minStorageBufferOffsetAlignment;
    return alignment > VULKAN_STAGING_ALIGNMENT ? alignment : VULKAN_STAGING_ALIGNMENT;
}

/* Where they are in the staging buffer. */
static uint64_t stage_constants(struct vulkan_builder *builder, const struct launch *launch)
{
    const uint64_t offset =
        hal_align_up(builder->staged, vulkan_constants_alignment(builder->device));
    fill_constants(builder, launch, builder->program->staging.data + offset);
    builder->staged =
        hal_align_up(offset + entry_of(launch)->constant_bytes, VULKAN_STAGING_ALIGNMENT);
    return offset;
}

/* A kernel sees no more of a uniform buffer than its struct, however long the binding. */
static enum hal_status list_writes(struct vulkan_builder *builder, const struct launch *launch,
                                   uint32_t set, VkDescriptorSet target, struct writes *out_writes)
{
    const struct vulkan_entry *entry = entry_of(launch);
    const struct hal_dispatch_state *state = &builder->commands->states[launch->state];
    const uint64_t most_uniform = builder->device->limits.maxUniformBufferRange;
    out_writes->count = 0;
    if (set == 0 && entry->carries_constants)
        add_write(out_writes, VULKAN_CARRIED_BINDING, false, target,
                  (VkDescriptorBufferInfo){builder->program->staging.buffer,
                                           stage_constants(builder, launch),
                                           entry->constant_bytes});
    for (uint32_t i = 0; i < entry->binding_count; i++) {
        const struct spirv_binding *place = &entry->bindings[i];
        if (place->set != set)
            continue;
        const struct hal_binding *binding = &state->bindings[set][place->binding];
        HAL_TRY(check_binding(builder, launch, place, binding));
        const uint64_t bytes =
            place->is_uniform && binding->bytes > most_uniform ? most_uniform : binding->bytes;
        const struct vulkan_place bound = vulkan_place_of(binding->buffer, binding->offset);
        add_write(out_writes, place->binding, place->is_uniform, target,
                  (VkDescriptorBufferInfo){bound.buffer, bound.offset, bytes});
    }
    return HAL_OK;
}

static enum hal_status take_set(struct vulkan_builder *builder, VkDescriptorSetLayout layout,
                                VkDescriptorSet *out_set)
{
    const VkDescriptorSetAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = builder->program->pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &layout,
    };
    const VkResult result = vk.AllocateDescriptorSets(builder->device->device, &info, out_set);
    return result == VK_SUCCESS ? HAL_OK : vulkan_fail(result, "a descriptor set");
}

static void write_set(struct vulkan_builder *builder, const struct vulkan_entry *entry,
                      uint32_t set, VkDescriptorSet target, const struct writes *writes)
{
    if (!target) {
        vk.CmdPushDescriptorSetKHR(builder->target, VK_PIPELINE_BIND_POINT_COMPUTE, entry->layout,
                                   set, writes->count, writes->list);
        return;
    }
    vk.UpdateDescriptorSets(builder->device->device, writes->count, writes->list, 0, NULL);
    vk.CmdBindDescriptorSets(builder->target, VK_PIPELINE_BIND_POINT_COMPUTE, entry->layout, set, 1,
                             &target, 0, NULL);
}

static enum hal_status bind_sets(struct vulkan_builder *builder, const struct launch *launch)
{
    const struct vulkan_entry *entry = entry_of(launch);
    for (uint32_t set = 0; set < entry->set_count; set++) {
        struct writes writes;
        VkDescriptorSet target = VK_NULL_HANDLE;
        HAL_TRY(list_writes(builder, launch, set, VK_NULL_HANDLE, &writes));
        if (writes.count == 0)
            continue;
        if (set != 0 || !entry->is_pushed)
            HAL_TRY(take_set(builder, entry->sets[set], &target));
        for (uint32_t i = 0; i < writes.count; i++)
            writes.list[i].dstSet = target;
        write_set(builder, entry, set, target, &writes);
    }
    return HAL_OK;
}

/* ---- Dispatches ----------------------------------------------------------------------------- */

static void push_constants(struct vulkan_builder *builder, const struct launch *launch)
{
    const struct vulkan_entry *entry = entry_of(launch);
    uint8_t constants[HAL_MAX_CONSTANT_BYTES];
    if (!entry->constant_bytes || entry->carries_constants)
        return;
    fill_constants(builder, launch, constants);
    vk.CmdPushConstants(builder->target, entry->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        entry->constant_bytes, constants);
}

static enum hal_status bind(struct vulkan_builder *builder, const struct launch *launch)
{
    const struct vulkan_entry *entry = entry_of(launch);
    if (builder->entry == entry && builder->state == launch->state)
        return HAL_OK;
    if (builder->entry != entry)
        vk.CmdBindPipeline(builder->target, VK_PIPELINE_BIND_POINT_COMPUTE, entry->pipeline);
    HAL_TRY(bind_sets(builder, launch));
    push_constants(builder, launch);
    builder->entry = entry;
    builder->state = launch->state;
    return HAL_OK;
}

enum hal_status vulkan_add_dispatch(struct vulkan_builder *builder,
                                    const struct hal_command_dispatch *dispatch)
{
    const struct launch launch = {dispatch->executable, dispatch->entry, dispatch->state};
    const uint32_t *counts = dispatch->workgroup_count;
    const bool runs_none = !counts[0] || !counts[1] || !counts[2];
    if (!runs_none)
        HAL_TRY(vulkan_check_counts(builder->device,
                                    &dispatch->executable->entry_points[dispatch->entry], counts));
    HAL_TRY(bind(builder, &launch));
    if (!runs_none) {
        vulkan_time_begin(builder->program, builder->target);
        vk.CmdDispatch(builder->target, counts[0], counts[1], counts[2]);
        vulkan_time_end(builder->program, builder->target, builder->dispatch_number);
    }
    builder->dispatch_number++;
    return HAL_OK;
}

static enum hal_status add_count_check(struct vulkan_builder *builder,
                                       const struct hal_command_dispatch_indirect *dispatch,
                                       uint32_t number)
{
    struct vulkan_device *device = builder->device;
    const struct vulkan_entry *entry = &device->count_check;
    const uint64_t alignment = device->limits.minStorageBufferOffsetAlignment;
    const struct vulkan_place counts = vulkan_place_of(dispatch->counts, dispatch->offset);
    const uint64_t begin = counts.offset / alignment * alignment;
    const uint32_t index = (uint32_t)builder->checks_done++;
    const struct hal_entry_point *point = &dispatch->executable->entry_points[dispatch->entry];
    const struct vulkan_count_check_constants constants = vulkan_count_check_constants_of(
        device, point, (uint32_t)(counts.offset - begin) / VULKAN_WORD_BYTES, index);
    VkDescriptorSet target = VK_NULL_HANDLE;
    struct writes writes = {.count = 0};
    if (!entry->is_pushed)
        HAL_TRY(take_set(builder, entry->sets[0], &target));
    add_write(
        &writes, 0, false, target,
        (VkDescriptorBufferInfo){counts.buffer, begin, counts.offset - begin + HAL_COUNTS_BYTES});
    add_write(&writes, 1, false, target,
              (VkDescriptorBufferInfo){builder->program->checked.buffer, 0, VK_WHOLE_SIZE});
    vk.CmdBindPipeline(builder->target, VK_PIPELINE_BIND_POINT_COMPUTE, entry->pipeline);
    write_set(builder, entry, 0, target, &writes);
    vk.CmdPushConstants(builder->target, entry->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        sizeof constants, &constants);
    vk.CmdDispatch(builder->target, 1, 1, 1);
    builder->program->checks[index] =
        (struct vulkan_count_check){.entry = point, .dispatch = number};
    builder->entry = NULL;
    return HAL_OK;
}

static bool ends_interval(const struct hal_command *command)
{
    return command->kind == HAL_COMMAND_BARRIER || command->kind == HAL_COMMAND_EVENTS_WAIT;
}

/* Those of all dispatches up to the next barrier, with one barrier of their own. The results of an
 * earlier run have been read by then: a program with checks runs once at a time. */
enum hal_status vulkan_add_count_checks(struct vulkan_builder *builder,
                                        const struct hal_command *command)
{
    static const VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_INDIRECT_COMMAND_READ_BIT,
    };
    const size_t before = builder->checks_done;
    uint32_t number = builder->dispatch_number;
    for (; command && !ends_interval(command);
         command = hal_command_next(builder->commands, command)) {
        if (command->kind == HAL_COMMAND_DISPATCH_INDIRECT)
            HAL_TRY(add_count_check(builder, (const void *)command, number));
        number +=
            command->kind == HAL_COMMAND_DISPATCH || command->kind == HAL_COMMAND_DISPATCH_INDIRECT;
    }
    if (builder->checks_done > before)
        vk.CmdPipelineBarrier(builder->target, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                              VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, 0, 1, &barrier, 0, NULL, 0,
                              NULL);
    return HAL_OK;
}

enum hal_status vulkan_add_indirect(struct vulkan_builder *builder,
                                    const struct hal_command_dispatch_indirect *dispatch)
{
    const struct launch launch = {dispatch->executable, dispatch->entry, dispatch->state};
    HAL_TRY(bind(builder, &launch));
    vulkan_time_begin(builder->program, builder->target);
    vk.CmdDispatchIndirect(builder->target, builder->program->checked.buffer,
                           builder->checks_used++ * sizeof(struct vulkan_checked_counts));
    vulkan_time_end(builder->program, builder->target, builder->dispatch_number);
    builder->dispatch_number++;
    return HAL_OK;
}
