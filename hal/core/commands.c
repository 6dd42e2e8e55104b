/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: each command is checked and becomes a segment. */
#include "hal/core/recording.h"

static uint64_t resolve(const struct hal_buffer *buffer, uint64_t offset, uint64_t bytes)
{
    return bytes == HAL_WHOLE_BUFFER ? buffer->bytes - offset : bytes;
}

/* ---- Barriers ----------------------------------------------------------------------------- */

static const struct hal_barrier_desc order_everything = {0};

/* The part that barriers and waits for events share; false when memory is out. */
static bool fill_barrier(struct hal_command_buffer *commands, struct hal_segment_barrier *segment,
                         const struct hal_barrier_desc *desc)
{
    static const uint32_t all_access = HAL_ACCESS_READ | HAL_ACCESS_WRITE;
    segment->source_stages = desc->source_stages ? desc->source_stages : HAL_STAGE_ALL;
    segment->target_stages = desc->target_stages ? desc->target_stages : HAL_STAGE_ALL;
    segment->source_access = desc->source_access ? desc->source_access : all_access;
    segment->target_access = desc->target_access ? desc->target_access : all_access;
    segment->buffer_count = (uint32_t)desc->buffer_count;
    segment->reserved = 0;
    for (size_t i = 0; i < desc->buffer_count; i++) {
        struct hal_buffer_barrier *barrier = &segment->buffers[i];
        *barrier = desc->buffers[i];
        barrier->bytes = resolve(barrier->buffer, barrier->offset, barrier->bytes);
        if (!barrier->source_access)
            barrier->source_access = segment->source_access;
        if (!barrier->target_access)
            barrier->target_access = segment->target_access;
        if (!hal_record_retain(commands, &barrier->buffer->object))
            return false;
        barrier->buffer = hal_root_of(barrier->buffer, &barrier->offset);
    }
    return true;
}

enum hal_status hal_command_barrier(struct hal_command_buffer *commands,
                                    const struct hal_barrier_desc *desc)
{
    HAL_KNOW(hal_barrier_desc, desc);
    if (!desc)
        desc = &order_everything;
    HAL_TRY(hal_check_barrier(commands, desc));
    struct hal_segment_barrier *segment =
        hal_record_room(commands, HAL_SEGMENT_BARRIER,
                        sizeof *segment + desc->buffer_count * sizeof(struct hal_buffer_barrier));
    if (!segment || !fill_barrier(commands, segment, desc))
        return hal_record_no_memory(commands);
    return hal_record_commit(commands, &segment->head);
}

/* ---- Events ------------------------------------------------------------------------------- */

static enum hal_status record_event(struct hal_command_buffer *commands, struct hal_event *event,
                                    enum hal_segment_kind kind, uint32_t source_stages)
{
    struct hal_segment_event *segment = hal_record_room(commands, kind, sizeof *segment);
    if (!segment || !hal_record_retain(commands, &event->object))
        return hal_record_no_memory(commands);
    segment->event = event;
    segment->source_stages = source_stages;
    segment->reserved = 0;
    commands->recording->has_events = true;
    return hal_record_commit(commands, &segment->head);
}

enum hal_status hal_command_event_signal(struct hal_command_buffer *commands,
                                         struct hal_event *event, uint32_t source_stages)
{
    HAL_TRY(hal_check_events(commands, &event, 1, source_stages));
    return record_event(commands, event, HAL_SEGMENT_EVENT_SIGNAL,
                        source_stages ? source_stages : HAL_STAGE_ALL);
}

enum hal_status hal_command_event_reset(struct hal_command_buffer *commands,
                                        struct hal_event *event)
{
    HAL_TRY(hal_check_events(commands, &event, 1, 0));
    return record_event(commands, event, HAL_SEGMENT_EVENT_RESET, 0);
}

_Static_assert(offsetof(struct hal_segment_events_wait, buffers) ==
                       offsetof(struct hal_segment_barrier, buffers) &&
                   offsetof(struct hal_segment_events_wait, event_count) ==
                       offsetof(struct hal_segment_barrier, reserved),
               "a wait begins like a barrier");

enum hal_status hal_command_events_wait(struct hal_command_buffer *commands,
                                        struct hal_event *const *events, size_t event_count,
                                        const struct hal_barrier_desc *desc)
{
    HAL_KNOW(hal_barrier_desc, desc);
    if (!desc)
        desc = &order_everything;
    HAL_TRY(hal_check_events(commands, events, event_count, 0));
    HAL_TRY(hal_check_barrier(commands, desc));
    const size_t list = desc->buffer_count * sizeof(struct hal_buffer_barrier);
    struct hal_segment_events_wait *segment = hal_record_room(
        commands, HAL_SEGMENT_EVENTS_WAIT, sizeof *segment + list + event_count * sizeof *events);
    if (!segment || !fill_barrier(commands, (struct hal_segment_barrier *)(void *)segment, desc))
        return hal_record_no_memory(commands);
    segment->source_stages = desc->source_stages;
    segment->event_count = (uint32_t)event_count;
    memcpy((uint8_t *)(segment + 1) + list, events, event_count * sizeof *events);
    for (size_t i = 0; i < event_count; i++) {
        if (!hal_record_retain(commands, &events[i]->object))
            return hal_record_no_memory(commands);
    }
    commands->recording->has_events = true;
    return hal_record_commit(commands, &segment->head);
}

/* ---- Transfers ---------------------------------------------------------------------------- */

static uint32_t repeat_pattern(uint32_t pattern, uint32_t pattern_bytes)
{
    if (pattern_bytes == 1)
        return (pattern & 0xFF) * 0x01010101U;
    if (pattern_bytes == 2)
        return (pattern & 0xFFFF) * 0x00010001U;
    return pattern;
}

enum hal_status hal_command_fill(struct hal_command_buffer *commands, struct hal_buffer *target,
                                 uint64_t offset, uint64_t bytes, uint32_t pattern,
                                 uint32_t pattern_bytes)
{
    HAL_TRY(hal_check_transfer(commands, target, offset, bytes));
    bytes = resolve(target, offset, bytes);
    HAL_TRY(hal_check_fill(commands, pattern_bytes));
    struct hal_segment_fill *segment = hal_record_room(commands, HAL_SEGMENT_FILL, sizeof *segment);
    if (!segment || !hal_record_retain(commands, &target->object))
        return hal_record_no_memory(commands);
    segment->target = hal_root_of(target, &offset);
    segment->offset = offset;
    segment->bytes = bytes;
    segment->pattern = repeat_pattern(pattern, pattern_bytes);
    segment->pattern_bytes = pattern_bytes;
    return hal_record_commit(commands, &segment->head);
}

enum hal_status hal_command_copy(struct hal_command_buffer *commands, struct hal_buffer *source,
                                 uint64_t source_offset, struct hal_buffer *target,
                                 uint64_t target_offset, uint64_t bytes)
{
    HAL_TRY(hal_check_transfer(commands, source, source_offset, bytes));
    bytes = resolve(source, source_offset, bytes);
    HAL_TRY(hal_check_transfer(commands, target, target_offset, bytes));
    HAL_TRY(hal_check_overlap(source, source_offset, target, target_offset, bytes));
    struct hal_segment_copy *segment = hal_record_room(commands, HAL_SEGMENT_COPY, sizeof *segment);
    if (!segment || !hal_record_retain(commands, &source->object) ||
        !hal_record_retain(commands, &target->object))
        return hal_record_no_memory(commands);
    segment->source = hal_root_of(source, &source_offset);
    segment->target = hal_root_of(target, &target_offset);
    segment->source_offset = source_offset;
    segment->target_offset = target_offset;
    segment->bytes = bytes;
    return hal_record_commit(commands, &segment->head);
}

enum hal_status hal_command_update(struct hal_command_buffer *commands, const void *data,
                                   struct hal_buffer *target, uint64_t offset, uint64_t bytes)
{
    HAL_TRY(hal_check_transfer(commands, target, offset, bytes));
    bytes = resolve(target, offset, bytes);
    HAL_TRY(hal_check_update(commands, data, bytes));
    struct hal_segment_update *segment =
        hal_record_room(commands, HAL_SEGMENT_UPDATE, sizeof *segment + bytes);
    if (!segment || !hal_record_retain(commands, &target->object))
        return hal_record_no_memory(commands);
    segment->target = hal_root_of(target, &offset);
    segment->offset = offset;
    segment->bytes = bytes;
    if (bytes)
        memcpy(segment->data, data, bytes);
    return hal_record_commit(commands, &segment->head);
}

/* ---- Dispatches --------------------------------------------------------------------------- */

enum hal_status hal_command_push_constants(struct hal_command_buffer *commands, uint32_t offset,
                                           const void *data, uint32_t bytes)
{
    HAL_TRY(hal_check_constants(commands, data, offset, bytes));
    struct hal_segment_push_constants *segment =
        hal_record_room(commands, HAL_SEGMENT_PUSH_CONSTANTS, sizeof *segment + bytes);
    if (!segment)
        return hal_record_no_memory(commands);
    segment->offset = offset;
    segment->bytes = bytes;
    if (bytes)
        memcpy(segment->data, data, bytes);
    return hal_record_commit(commands, &segment->head);
}

enum hal_status hal_command_push_descriptor_set(struct hal_command_buffer *commands, uint32_t set,
                                                const struct hal_binding *bindings,
                                                size_t binding_count)
{
    HAL_TRY(hal_check_bindings(commands, set, bindings, binding_count));
    struct hal_segment_push_descriptor_set *segment =
        hal_record_room(commands, HAL_SEGMENT_PUSH_DESCRIPTOR_SET,
                        sizeof *segment + binding_count * sizeof *bindings);
    if (!segment)
        return hal_record_no_memory(commands);
    segment->set = set;
    segment->binding_count = (uint32_t)binding_count;
    for (size_t i = 0; i < binding_count; i++) {
        segment->bindings[i] = bindings[i];
        if (!bindings[i].buffer) {
            segment->bindings[i] = (struct hal_binding){0};
            continue;
        }
        segment->bindings[i].bytes =
            resolve(bindings[i].buffer, bindings[i].offset, bindings[i].bytes);
        if (!hal_record_retain(commands, &bindings[i].buffer->object))
            return hal_record_no_memory(commands);
        segment->bindings[i].buffer = hal_root_of(bindings[i].buffer, &segment->bindings[i].offset);
    }
    return hal_record_commit(commands, &segment->head);
}

enum hal_status hal_command_dispatch(struct hal_command_buffer *commands,
                                     struct hal_executable *executable, uint32_t entry,
                                     const uint32_t workgroup_count[3])
{
    HAL_TRY(hal_check_dispatch(commands, executable, entry, workgroup_count));
    struct hal_segment_dispatch *segment =
        hal_record_room(commands, HAL_SEGMENT_DISPATCH, sizeof *segment);
    if (!segment || !hal_record_retain(commands, &executable->object))
        return hal_record_no_memory(commands);
    segment->executable = executable;
    segment->entry = entry;
    for (size_t i = 0; i < 3; i++)
        segment->workgroup_count[i] = workgroup_count[i];
    segment->state = UINT32_MAX;
    segment->reserved = 0;
    commands->dispatch_count++;
    return hal_record_commit(commands, &segment->head);
}

enum hal_status hal_command_dispatch_indirect(struct hal_command_buffer *commands,
                                              struct hal_executable *executable, uint32_t entry,
                                              struct hal_buffer *counts, uint64_t offset)
{
    HAL_TRY(hal_check_dispatch_indirect(commands, executable, entry, counts, offset));
    struct hal_segment_dispatch_indirect *segment =
        hal_record_room(commands, HAL_SEGMENT_DISPATCH_INDIRECT, sizeof *segment);
    if (!segment || !hal_record_retain(commands, &executable->object) ||
        !hal_record_retain(commands, &counts->object))
        return hal_record_no_memory(commands);
    segment->executable = executable;
    segment->counts = hal_root_of(counts, &offset);
    segment->offset = offset;
    segment->entry = entry;
    segment->state = UINT32_MAX;
    commands->dispatch_count++;
    return hal_record_commit(commands, &segment->head);
}

/* ---- Debug groups ------------------------------------------------------------------------- */

enum hal_status hal_command_debug_begin(struct hal_command_buffer *commands, const char *label,
                                        uint32_t color)
{
    HAL_TRY(hal_check_debug(commands, label, color));
    const size_t length = label ? strlen(label) : 0;
    struct hal_segment_debug *segment =
        hal_record_room(commands, HAL_SEGMENT_DEBUG_BEGIN, sizeof *segment + length + 1);
    if (!segment)
        return hal_record_no_memory(commands);
    segment->color = color;
    segment->label_bytes = (uint32_t)length;
    if (length)
        memcpy(segment->label, label, length);
    segment->label[length] = '\0';
    commands->recording->open_groups++;
    return hal_record_commit(commands, &segment->head);
}

enum hal_status hal_command_debug_end(struct hal_command_buffer *commands)
{
    HAL_TRY(hal_check_debug_end(commands));
    struct hal_segment *segment = hal_record_room(commands, HAL_SEGMENT_DEBUG_END, sizeof *segment);
    if (!segment)
        return hal_record_no_memory(commands);
    commands->recording->open_groups--;
    return hal_record_commit(commands, segment);
}
