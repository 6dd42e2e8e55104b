/* SPDX-License-Identifier: Apache-2.0 */
/* A sealed command buffer as one of Vulkan, recorded once. */
#include "hal/base/mem.h"
#include "hal/vulkan/guard.h"

#include <inttypes.h>

enum { STAGING_ALIGNMENT = 16, WORD = 4 };

struct builder {
    struct vulkan_device *device;
    const struct hal_command_buffer *commands;
    struct vulkan_program *program;
    VkCommandBuffer target;
    uint64_t staged; /* bytes of the staging buffer that are in use */
    uint32_t dispatch_number;
    size_t guards_done; /* whose kernels are recorded */
    size_t guards_used;
    /* What was bound last. */
    const struct vulkan_entry *entry;
    uint32_t state;
};

static enum hal_status no_memory(const struct builder *builder)
{
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_NO_MEMORY, "no memory to prepare %s",
                    hal_object_name(&builder->commands->object, name));
}

/* ---- Recorders ------------------------------------------------------------------------------ */

enum hal_status vulkan_recorder_take(struct vulkan_device *device,
                                     struct vulkan_recorder **out_recorder)
{
    pthread_mutex_lock(&device->spare_lock);
    struct vulkan_recorder *recorder = device->recorders;
    if (recorder)
        device->recorders = recorder->next;
    pthread_mutex_unlock(&device->spare_lock);
    if (recorder) {
        *out_recorder = recorder;
        return HAL_OK;
    }
    const VkCommandPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = device->family,
    };
    recorder = hal_alloc(1, sizeof *recorder);
    VkResult result = recorder ? vk.CreateCommandPool(device->device, &info, NULL, &recorder->pool)
                               : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (result == VK_SUCCESS) {
        const VkCommandBufferAllocateInfo allocate = {
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            .commandPool = recorder->pool,
            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            .commandBufferCount = 1,
        };
        result = vk.AllocateCommandBuffers(device->device, &allocate, &recorder->commands);
        if (result != VK_SUCCESS)
            vk.DestroyCommandPool(device->device, recorder->pool, NULL);
    }
    if (result != VK_SUCCESS) {
        free(recorder);
        return vulkan_fail(result, "a command buffer");
    }
    *out_recorder = recorder;
    return HAL_OK;
}

void vulkan_recorder_give(struct vulkan_device *device, struct vulkan_recorder *recorder)
{
    if (!recorder)
        return;
    (void)vk.ResetCommandPool(device->device, recorder->pool, 0);
    pthread_mutex_lock(&device->spare_lock);
    recorder->next = device->recorders;
    device->recorders = recorder;
    pthread_mutex_unlock(&device->spare_lock);
}

void vulkan_recorders_free(struct vulkan_device *device)
{
    while (device->recorders) {
        struct vulkan_recorder *recorder = device->recorders;
        device->recorders = recorder->next;
        vk.DestroyCommandPool(device->device, recorder->pool, NULL);
        free(recorder);
    }
}

/* ---- Barriers ------------------------------------------------------------------------------- */

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

struct barrier {
    uint32_t source_stages, target_stages, source_access, target_access;
    const struct hal_buffer_barrier *buffers;
    uint32_t buffer_count;
};

static enum hal_status add_barrier(struct builder *builder, const struct barrier *barrier)
{
    const VkMemoryBarrier all = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = access_of(barrier->source_stages, barrier->source_access),
        .dstAccessMask = access_of(barrier->target_stages, barrier->target_access),
    };
    VkBufferMemoryBarrier *ranges = hal_alloc(barrier->buffer_count, sizeof *ranges);
    if (!ranges)
        return no_memory(builder);
    uint32_t count = 0;
    for (uint32_t i = 0; i < barrier->buffer_count; i++) {
        const struct hal_buffer_barrier *range = &barrier->buffers[i];
        if (range->bytes == 0)
            continue;
        ranges[count++] = (VkBufferMemoryBarrier){
            .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
            .srcAccessMask = access_of(barrier->source_stages, range->source_access),
            .dstAccessMask = access_of(barrier->target_stages, range->target_access),
            .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
            .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
            .buffer = to_vulkan_buffer(range->buffer)->buffer,
            .offset = range->offset,
            .size = range->bytes,
        };
    }
    vk.CmdPipelineBarrier(builder->target, stages_of(barrier->source_stages),
                          stages_of(barrier->target_stages), 0, barrier->buffer_count ? 0 : 1, &all,
                          count, ranges, 0, NULL);
    builder->program->barrier_count++;
    free(ranges);
    return HAL_OK;
}

/* ---- Transfers ------------------------------------------------------------------------------ */

static void copy_staged(struct builder *builder, VkBuffer target, uint64_t offset, const void *data,
                        uint64_t bytes)
{
    const VkBufferCopy range = {builder->staged, offset, bytes};
    memcpy(builder->program->staging.data + builder->staged, data, bytes);
    vk.CmdCopyBuffer(builder->target, builder->program->staging.buffer, target, 1, &range);
    builder->staged = hal_align_up(builder->staged + bytes, STAGING_ALIGNMENT);
}

/* The pattern's bytes from the n-th on. */
static uint32_t rotate(uint32_t pattern, uint64_t n)
{
    const uint32_t bits = (uint32_t)(n % WORD) * 8;
    return bits ? pattern >> bits | pattern << (32 - bits) : pattern;
}

/* Whole words by the command for it, up to three bytes at either end as copies. */
static void add_fill(struct builder *builder, const struct hal_segment_fill *fill)
{
    const VkBuffer target = to_vulkan_buffer(fill->target)->buffer;
    const uint64_t to_word = (WORD - fill->offset % WORD) % WORD;
    const uint64_t head = to_word < fill->bytes ? to_word : fill->bytes;
    const uint64_t words = (fill->bytes - head) / WORD * WORD;
    const uint64_t tail = fill->bytes - head - words;
    const uint32_t inner = rotate(fill->pattern, head);
    if (head)
        copy_staged(builder, target, fill->offset, &fill->pattern, head);
    if (words)
        vk.CmdFillBuffer(builder->target, target, fill->offset + head, words, inner);
    if (tail)
        copy_staged(builder, target, fill->offset + head + words, &inner, tail);
}

static void add_copy(struct builder *builder, const struct hal_segment_copy *copy)
{
    const VkBufferCopy range = {copy->source_offset, copy->target_offset, copy->bytes};
    if (copy->bytes)
        vk.CmdCopyBuffer(builder->target, to_vulkan_buffer(copy->source)->buffer,
                         to_vulkan_buffer(copy->target)->buffer, 1, &range);
}

static bool is_odd(const struct hal_segment_update *update)
{
    return (update->offset | update->bytes) % WORD != 0;
}

static void add_update(struct builder *builder, const struct hal_segment_update *update)
{
    const VkBuffer target = to_vulkan_buffer(update->target)->buffer;
    if (update->bytes == 0)
        return;
    if (is_odd(update))
        copy_staged(builder, target, update->offset, update->data, update->bytes);
    else
        vk.CmdUpdateBuffer(builder->target, target, update->offset, update->bytes, update->data);
}

/* ---- Descriptors ---------------------------------------------------------------------------- */

struct launch {
    const struct hal_executable *executable;
    uint32_t entry, state;
};

static const struct vulkan_entry *entry_of(const struct launch *launch)
{
    return &to_vulkan_executable(launch->executable)->entries[launch->entry];
}

static enum hal_status check_binding(const struct builder *builder, const struct launch *launch,
                                     const struct spirv_binding *place,
                                     const struct hal_binding *binding)
{
    const VkPhysicalDeviceLimits *limits = &builder->device->limits;
    char name[HAL_OBJECT_NAME_BYTES], buffer[HAL_OBJECT_NAME_BYTES];
    if (!place->is_uniform && binding->bytes > limits->maxStorageBufferRange)
        return hal_fail(HAL_UNSUPPORTED,
                        "%s, dispatch %u: kernel '%s', set %u, binding %u: %" PRIu64
                        " bytes of %s are bound, the device's limit is %u",
                        hal_object_name(&builder->commands->object, name), builder->dispatch_number,
                        launch->executable->entry_points[launch->entry].name, place->set,
                        place->binding, binding->bytes,
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
static void fill_constants(const struct builder *builder, const struct launch *launch,
                           uint8_t *out_constants)
{
    const uint32_t bytes = entry_of(launch)->constant_bytes;
    const struct hal_dispatch_state *state = &builder->commands->states[launch->state];
    const uint32_t pushed = state->constant_bytes < bytes ? state->constant_bytes : bytes;
    if (pushed)
        memcpy(out_constants, state->constants, pushed);
    memset(out_constants + pushed, 0, bytes - pushed);
}

static uint64_t constants_alignment(const struct vulkan_device *device)
{
    const uint64_t alignment = device->limits.minStorageBufferOffsetAlignment;
    return alignment > STAGING_ALIGNMENT ? alignment : STAGING_ALIGNMENT;
}

/* Where they are in the staging buffer. */
static uint64_t stage_constants(struct builder *builder, const struct launch *launch)
{
    const uint64_t offset = hal_align_up(builder->staged, constants_alignment(builder->device));
    fill_constants(builder, launch, builder->program->staging.data + offset);
    builder->staged = hal_align_up(offset + entry_of(launch)->constant_bytes, STAGING_ALIGNMENT);
    return offset;
}

/* A kernel sees no more of a uniform buffer than its struct, however long the binding. */
static enum hal_status list_writes(struct builder *builder, const struct launch *launch,
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
        add_write(out_writes, place->binding, place->is_uniform, target,
                  (VkDescriptorBufferInfo){to_vulkan_buffer(binding->buffer)->buffer,
                                           binding->offset, bytes});
    }
    return HAL_OK;
}

static enum hal_status take_set(struct builder *builder, VkDescriptorSetLayout layout,
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

static void write_set(struct builder *builder, const struct vulkan_entry *entry, uint32_t set,
                      VkDescriptorSet target, const struct writes *writes)
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

static enum hal_status bind_sets(struct builder *builder, const struct launch *launch)
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

static void push_constants(struct builder *builder, const struct launch *launch)
{
    const struct vulkan_entry *entry = entry_of(launch);
    uint8_t constants[HAL_MAX_CONSTANT_BYTES];
    if (!entry->constant_bytes || entry->carries_constants)
        return;
    fill_constants(builder, launch, constants);
    vk.CmdPushConstants(builder->target, entry->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        entry->constant_bytes, constants);
}

static enum hal_status bind(struct builder *builder, const struct launch *launch)
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

static enum hal_status add_dispatch(struct builder *builder,
                                    const struct hal_segment_dispatch *dispatch)
{
    const struct launch launch = {dispatch->executable, dispatch->entry, dispatch->state};
    const uint32_t *counts = dispatch->workgroup_count;
    const bool runs_none = !counts[0] || !counts[1] || !counts[2];
    if (!runs_none)
        HAL_TRY(vulkan_check_counts(builder->device,
                                    &dispatch->executable->entry_points[dispatch->entry], counts));
    HAL_TRY(bind(builder, &launch));
    if (!runs_none)
        vk.CmdDispatch(builder->target, counts[0], counts[1], counts[2]);
    builder->dispatch_number++;
    return HAL_OK;
}

static enum hal_status add_guard(struct builder *builder,
                                 const struct hal_segment_dispatch_indirect *dispatch,
                                 uint32_t number)
{
    struct vulkan_device *device = builder->device;
    const struct vulkan_entry *entry = &device->guard;
    const uint64_t alignment = device->limits.minStorageBufferOffsetAlignment;
    const uint64_t begin = dispatch->offset / alignment * alignment;
    const uint32_t index = (uint32_t)builder->guards_done++;
    const struct hal_entry_point *point = &dispatch->executable->entry_points[dispatch->entry];
    const struct vulkan_guard_constants constants = vulkan_guard_constants_of(
        device, point, (uint32_t)(dispatch->offset - begin) / WORD, index);
    VkDescriptorSet target = VK_NULL_HANDLE;
    struct writes writes = {.count = 0};
    if (!entry->is_pushed)
        HAL_TRY(take_set(builder, entry->sets[0], &target));
    add_write(&writes, 0, false, target,
              (VkDescriptorBufferInfo){to_vulkan_buffer(dispatch->counts)->buffer, begin,
                                       dispatch->offset - begin + HAL_COUNTS_BYTES});
    add_write(&writes, 1, false, target,
              (VkDescriptorBufferInfo){builder->program->guarded.buffer, 0, VK_WHOLE_SIZE});
    vk.CmdBindPipeline(builder->target, VK_PIPELINE_BIND_POINT_COMPUTE, entry->pipeline);
    write_set(builder, entry, 0, target, &writes);
    vk.CmdPushConstants(builder->target, entry->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        sizeof constants, &constants);
    vk.CmdDispatch(builder->target, 1, 1, 1);
    builder->program->guards[index] = (struct vulkan_guard){.entry = point, .dispatch = number};
    builder->entry = NULL;
    return HAL_OK;
}

static bool ends_interval(const struct hal_segment *segment)
{
    return segment->kind == HAL_SEGMENT_BARRIER || segment->kind == HAL_SEGMENT_EVENTS_WAIT;
}

/* Those of all dispatches up to the next barrier, with one barrier of their own. The results of an
 * earlier run have been read by then: a program with guards runs once at a time. */
static enum hal_status add_guards(struct builder *builder, const struct hal_segment *segment)
{
    static const VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_INDIRECT_COMMAND_READ_BIT,
    };
    const size_t before = builder->guards_done;
    uint32_t number = builder->dispatch_number;
    for (; segment && !ends_interval(segment);
         segment = hal_segment_next(builder->commands, segment)) {
        if (segment->kind == HAL_SEGMENT_DISPATCH_INDIRECT)
            HAL_TRY(add_guard(builder, (const void *)segment, number));
        number +=
            segment->kind == HAL_SEGMENT_DISPATCH || segment->kind == HAL_SEGMENT_DISPATCH_INDIRECT;
    }
    if (builder->guards_done > before)
        vk.CmdPipelineBarrier(builder->target, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                              VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, 0, 1, &barrier, 0, NULL, 0,
                              NULL);
    return HAL_OK;
}

static enum hal_status add_indirect(struct builder *builder,
                                    const struct hal_segment_dispatch_indirect *dispatch)
{
    const struct launch launch = {dispatch->executable, dispatch->entry, dispatch->state};
    HAL_TRY(bind(builder, &launch));
    vk.CmdDispatchIndirect(builder->target, builder->program->guarded.buffer,
                           builder->guards_used++ * sizeof(struct vulkan_guarded));
    builder->dispatch_number++;
    return HAL_OK;
}

/* ---- Segments ------------------------------------------------------------------------------- */

static void begin_group(struct builder *builder, const struct hal_segment_debug *debug)
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

static enum hal_status add_segment(struct builder *builder, const struct hal_segment *segment)
{
    switch ((enum hal_segment_kind)segment->kind) {
    case HAL_SEGMENT_BARRIER: {
        const struct hal_segment_barrier *it = (const void *)segment;
        const struct barrier barrier = {it->source_stages, it->target_stages, it->source_access,
                                        it->target_access, it->buffers,       it->buffer_count};
        HAL_TRY(add_barrier(builder, &barrier));
        return add_guards(builder, hal_segment_next(builder->commands, segment));
    }
    case HAL_SEGMENT_EVENTS_WAIT: {
        const struct hal_segment_events_wait *it = (const void *)segment;
        const struct barrier barrier = {it->source_stages, it->target_stages, it->source_access,
                                        it->target_access, it->buffers,       it->buffer_count};
        HAL_TRY(add_barrier(builder, &barrier));
        return add_guards(builder, hal_segment_next(builder->commands, segment));
    }
    case HAL_SEGMENT_FILL: add_fill(builder, (const void *)segment); return HAL_OK;
    case HAL_SEGMENT_COPY: add_copy(builder, (const void *)segment); return HAL_OK;
    case HAL_SEGMENT_UPDATE: add_update(builder, (const void *)segment); return HAL_OK;
    case HAL_SEGMENT_DISPATCH: return add_dispatch(builder, (const void *)segment);
    case HAL_SEGMENT_DISPATCH_INDIRECT: return add_indirect(builder, (const void *)segment);
    case HAL_SEGMENT_DEBUG_BEGIN: begin_group(builder, (const void *)segment); return HAL_OK;
    case HAL_SEGMENT_DEBUG_END:
        if (vulkan_has_debug_utils)
            vk.CmdEndDebugUtilsLabelEXT(builder->target);
        return HAL_OK;
    case HAL_SEGMENT_PUSH_CONSTANTS: /* in the states */
    case HAL_SEGMENT_PUSH_DESCRIPTOR_SET:
    case HAL_SEGMENT_EVENT_SIGNAL: /* a wait is a barrier */
    case HAL_SEGMENT_EVENT_RESET: return HAL_OK;
    }
    return HAL_OK;
}

/* ---- Programs ------------------------------------------------------------------------------- */

/* What all segments need together. */
struct needs {
    uint64_t staging_bytes;
    uint32_t guards, sets, storage, uniforms;
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
    needs->staging_bytes += entry->constant_bytes + 2 * constants_alignment(device);
}

static struct needs count_needs(const struct vulkan_device *device,
                                const struct hal_command_buffer *commands)
{
    struct needs needs = {0};
    hal_each_segment (commands, segment) {
        const struct hal_segment_update *update = (const void *)segment;
        const struct hal_segment_dispatch *dispatch = (const void *)segment;
        const struct hal_segment_dispatch_indirect *indirect = (const void *)segment;
        needs.has_work |= segment->kind != HAL_SEGMENT_PUSH_CONSTANTS &&
                          segment->kind != HAL_SEGMENT_PUSH_DESCRIPTOR_SET &&
                          segment->kind != HAL_SEGMENT_EVENT_SIGNAL &&
                          segment->kind != HAL_SEGMENT_EVENT_RESET;
        if (segment->kind == HAL_SEGMENT_FILL)
            needs.staging_bytes += (uint64_t)2 * STAGING_ALIGNMENT;
        else if (segment->kind == HAL_SEGMENT_UPDATE && is_odd(update))
            needs.staging_bytes += hal_align_up(update->bytes, STAGING_ALIGNMENT);
        else if (segment->kind == HAL_SEGMENT_DISPATCH)
            count_sets(device,
                       &to_vulkan_executable(dispatch->executable)->entries[dispatch->entry],
                       &needs);
        else if (segment->kind == HAL_SEGMENT_DISPATCH_INDIRECT) {
            count_sets(device,
                       &to_vulkan_executable(indirect->executable)->entries[indirect->entry],
                       &needs);
            count_sets(device, &device->guard, &needs);
            needs.guards++;
        }
    }
    return needs;
}

static enum hal_status make_pool(struct builder *builder, const struct needs *needs)
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

static enum hal_status make_room(struct builder *builder, const struct needs *needs)
{
    struct vulkan_program *program = builder->program;
    HAL_TRY(vulkan_recorder_take(builder->device, &program->recorder));
    HAL_TRY(make_pool(builder, needs));
    if (needs->staging_bytes)
        HAL_TRY(vulkan_staging_create(builder->device, needs->staging_bytes, &program->staging));
    if (!needs->guards)
        return HAL_OK;
    program->guards = hal_alloc(needs->guards, sizeof *program->guards);
    if (!program->guards)
        return no_memory(builder);
    program->guard_count = needs->guards;
    return vulkan_staging_create(builder->device, needs->guards * sizeof(struct vulkan_guarded),
                                 &program->guarded);
}

static enum hal_status record_all(struct builder *builder)
{
    const struct hal_command_buffer *commands = builder->commands;
    const VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = commands->mode == HAL_REUSABLE ? VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT
                                                : VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    builder->target = builder->program->recorder->commands;
    VkResult result = vk.BeginCommandBuffer(builder->target, &info);
    if (result != VK_SUCCESS)
        return vulkan_fail(result, "beginning to record");
    HAL_TRY(add_guards(builder, hal_segment_first(commands)));
    hal_each_segment (commands, segment)
        HAL_TRY(add_segment(builder, segment));
    result = vk.EndCommandBuffer(builder->target);
    return result == VK_SUCCESS ? HAL_OK : vulkan_fail(result, "recording");
}

enum hal_status vulkan_program_create(struct vulkan_device *device,
                                      const struct hal_command_buffer *commands,
                                      struct vulkan_program **out_program)
{
    struct vulkan_program *program = hal_alloc(1, sizeof *program);
    struct builder builder = {.device = device, .commands = commands, .program = program};
    if (!program)
        return no_memory(&builder);
    const struct needs needs = count_needs(device, commands);
    enum hal_status status = HAL_OK;
    program->commands = commands;
    program->is_empty = !needs.has_work;
    if (needs.has_work) {
        status = make_room(&builder, &needs);
        if (status == HAL_OK)
            status = record_all(&builder);
    }
    if (status != HAL_OK) {
        vulkan_program_destroy(device, program);
        return status;
    }
    if (program->recorder)
        vulkan_name(device, VK_OBJECT_TYPE_COMMAND_BUFFER,
                    (uint64_t)(uintptr_t)program->recorder->commands, commands->object.label);
    *out_program = program;
    return HAL_OK;
}

void vulkan_program_destroy(struct vulkan_device *device, struct vulkan_program *program)
{
    if (!program)
        return;
    vulkan_recorder_give(device, program->recorder);
    if (program->pool)
        vk.DestroyDescriptorPool(device->device, program->pool, NULL);
    vulkan_staging_destroy(device, &program->staging);
    vulkan_staging_destroy(device, &program->guarded);
    free(program->guards);
    free(program);
}
