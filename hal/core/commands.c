/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: each command is checked and becomes a command. */
#include "hal/core/recording.h"

static uint64_t resolve(const struct hal_buffer *buffer, uint64_t offset, uint64_t bytes)
{
    return bytes == HAL_WHOLE_BUFFER ? buffer->bytes - offset : bytes;
}

/* ---- Barriers ----------------------------------------------------------------------------- */

static const struct hal_barrier_desc order_everything = {0};

/* The part that barriers and waits for events share; false when memory is out. */
static bool fill_barrier(struct hal_command_buffer *commands, struct hal_command_barrier *command,
                         const struct hal_barrier_desc *desc)
{
    static const uint32_t all_access = HAL_ACCESS_READ | HAL_ACCESS_WRITE;
    command->source_stages = desc->source_stages ? desc->source_stages : HAL_STAGE_ALL;
    command->target_stages = desc->target_stages ? desc->target_stages : HAL_STAGE_ALL;
    command->source_access = desc->source_access ? desc->source_access : all_access;
    command->target_access = desc->target_access ? desc->target_access : all_access;
    command->buffer_count = (uint32_t)desc->buffer_count;
    command->reserved = 0;
    for (size_t i = 0; i < desc->buffer_count; i++) {
        struct hal_buffer_barrier *barrier = &command->buffers[i];
        *barrier = desc->buffers[i];
        barrier->bytes = resolve(barrier->buffer, barrier->offset, barrier->bytes);
        if (!barrier->source_access)
            barrier->source_access = command->source_access;
        if (!barrier->target_access)
            barrier->target_access = command->target_access;
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
    struct hal_command_barrier *command =
        hal_record_room(commands, HAL_COMMAND_BARRIER,
                        sizeof *command + desc->buffer_count * sizeof(struct hal_buffer_barrier));
    if (!command || !fill_barrier(commands, command, desc))
        return hal_record_no_memory(commands);
    return hal_record_commit(commands, &command->head);
}

/* ---- Events ------------------------------------------------------------------------------- */

static enum hal_status record_event(struct hal_command_buffer *commands, struct hal_event *event,
                                    enum hal_command_kind kind, uint32_t source_stages)
{
    struct hal_command_event *command = hal_record_room(commands, kind, sizeof *command);
    if (!command || !hal_record_retain(commands, &event->object))
        return hal_record_no_memory(commands);
    command->event = event;
    command->source_stages = source_stages;
    command->reserved = 0;
    commands->recording->has_events = true;
    return hal_record_commit(commands, &command->head);
}

enum hal_status hal_command_event_signal(struct hal_command_buffer *commands,
                                         struct hal_event *event, uint32_t source_stages)
{
    HAL_TRY(hal_check_events(commands, &event, 1, source_stages));
    return record_event(commands, event, HAL_COMMAND_EVENT_SIGNAL,
                        source_stages ? source_stages : HAL_STAGE_ALL);
}

enum hal_status hal_command_event_reset(struct hal_command_buffer *commands,
                                        struct hal_event *event)
{
    HAL_TRY(hal_check_events(commands, &event, 1, 0));
    return record_event(commands, event, HAL_COMMAND_EVENT_RESET, 0);
}

_Static_assert(offsetof(struct hal_command_events_wait, buffers) ==
                       offsetof(struct hal_command_barrier, buffers) &&
                   offsetof(struct hal_command_events_wait, event_count) ==
                       offsetof(struct hal_command_barrier, reserved),
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
    struct hal_command_events_wait *command = hal_record_room(
        commands, HAL_COMMAND_EVENTS_WAIT, sizeof *command + list + event_count * sizeof *events);
    if (!command || !fill_barrier(commands, (struct hal_command_barrier *)(void *)command, desc))
        return hal_record_no_memory(commands);
    command->source_stages = desc->source_stages;
    command->event_count = (uint32_t)event_count;
    memcpy((uint8_t *)(command + 1) + list, events, event_count * sizeof *events);
    for (size_t i = 0; i < event_count; i++) {
        if (!hal_record_retain(commands, &events[i]->object))
            return hal_record_no_memory(commands);
    }
    commands->recording->has_events = true;
    return hal_record_commit(commands, &command->head);
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
    struct hal_command_fill *command = hal_record_room(commands, HAL_COMMAND_FILL, sizeof *command);
    if (!command || !hal_record_retain(commands, &target->object))
        return hal_record_no_memory(commands);
    command->target = hal_root_of(target, &offset);
    command->offset = offset;
    command->bytes = bytes;
    command->pattern = repeat_pattern(pattern, pattern_bytes);
    command->pattern_bytes = pattern_bytes;
    return hal_record_commit(commands, &command->head);
}

enum hal_status hal_command_copy(struct hal_command_buffer *commands, struct hal_buffer *source,
                                 uint64_t source_offset, struct hal_buffer *target,
                                 uint64_t target_offset, uint64_t bytes)
{
    HAL_TRY(hal_check_transfer(commands, source, source_offset, bytes));
    bytes = resolve(source, source_offset, bytes);
    HAL_TRY(hal_check_transfer(commands, target, target_offset, bytes));
    HAL_TRY(hal_check_overlap(source, source_offset, target, target_offset, bytes));
    struct hal_command_copy *command = hal_record_room(commands, HAL_COMMAND_COPY, sizeof *command);
    if (!command || !hal_record_retain(commands, &source->object) ||
        !hal_record_retain(commands, &target->object))
        return hal_record_no_memory(commands);
    command->source = hal_root_of(source, &source_offset);
    command->target = hal_root_of(target, &target_offset);
    command->source_offset = source_offset;
    command->target_offset = target_offset;
    command->bytes = bytes;
    return hal_record_commit(commands, &command->head);
}

enum hal_status hal_command_update(struct hal_command_buffer *commands, const void *data,
                                   struct hal_buffer *target, uint64_t offset, uint64_t bytes)
{
    HAL_TRY(hal_check_transfer(commands, target, offset, bytes));
    bytes = resolve(target, offset, bytes);
    HAL_TRY(hal_check_update(commands, data, bytes));
    struct hal_command_update *command =
        hal_record_room(commands, HAL_COMMAND_UPDATE, sizeof *command + bytes);
    if (!command || !hal_record_retain(commands, &target->object))
        return hal_record_no_memory(commands);
    command->target = hal_root_of(target, &offset);
    command->offset = offset;
    command->bytes = bytes;
    if (bytes)
        memcpy(command->data, data, bytes);
    return hal_record_commit(commands, &command->head);
}

/* ---- Dispatches --------------------------------------------------------------------------- */

enum hal_status hal_command_push_constants(struct hal_command_buffer *commands, uint32_t offset,
                                           const void *data, uint32_t bytes)
{
    HAL_TRY(hal_check_constants(commands, data, offset, bytes));
    struct hal_command_push_constants *command =
        hal_record_room(commands, HAL_COMMAND_PUSH_CONSTANTS, sizeof *command + bytes);
    if (!command)
        return hal_record_no_memory(commands);
    command->offset = offset;
    command->bytes = bytes;
    if (bytes)
        memcpy(command->data, data, bytes);
    return hal_record_commit(commands, &command->head);
}

enum hal_status hal_command_push_descriptor_set(struct hal_command_buffer *commands, uint32_t set,
                                                const struct hal_binding *bindings,
                                                size_t binding_count)
{
    HAL_TRY(hal_check_bindings(commands, set, bindings, binding_count));
    struct hal_command_push_descriptor_set *command =
        hal_record_room(commands, HAL_COMMAND_PUSH_DESCRIPTOR_SET,
                        sizeof *command + binding_count * sizeof *bindings);
    if (!command)
        return hal_record_no_memory(commands);
    command->set = set;
    command->binding_count = (uint32_t)binding_count;
    for (size_t i = 0; i < binding_count; i++) {
        command->bindings[i] = bindings[i];
        if (!bindings[i].buffer) {
            command->bindings[i] = (struct hal_binding){0};
            continue;
        }
        command->bindings[i].bytes =
            resolve(bindings[i].buffer, bindings[i].offset, bindings[i].bytes);
        if (!hal_record_retain(commands, &bindings[i].buffer->object))
            return hal_record_no_memory(commands);
        command->bindings[i].buffer = hal_root_of(bindings[i].buffer, &command->bindings[i].offset);
    }
    return hal_record_commit(commands, &command->head);
}

enum hal_status hal_command_dispatch(struct hal_command_buffer *commands,
                                     struct hal_executable *executable, uint32_t entry,
                                     const uint32_t workgroup_count[3])
{
    HAL_TRY(hal_check_dispatch(commands, executable, entry, workgroup_count));
    struct hal_command_dispatch *command =
        hal_record_room(commands, HAL_COMMAND_DISPATCH, sizeof *command);
    if (!command || !hal_record_retain(commands, &executable->object))
        return hal_record_no_memory(commands);
    command->executable = executable;
    command->entry = entry;
    for (size_t i = 0; i < 3; i++)
        command->workgroup_count[i] = workgroup_count[i];
    command->state = UINT32_MAX;
    command->reserved = 0;
    commands->dispatch_count++;
    return hal_record_commit(commands, &command->head);
}

enum hal_status hal_command_dispatch_indirect(struct hal_command_buffer *commands,
                                              struct hal_executable *executable, uint32_t entry,
                                              struct hal_buffer *counts, uint64_t offset)
{
    HAL_TRY(hal_check_dispatch_indirect(commands, executable, entry, counts, offset));
    struct hal_command_dispatch_indirect *command =
        hal_record_room(commands, HAL_COMMAND_DISPATCH_INDIRECT, sizeof *command);
    if (!command || !hal_record_retain(commands, &executable->object) ||
        !hal_record_retain(commands, &counts->object))
        return hal_record_no_memory(commands);
    command->executable = executable;
    command->counts = hal_root_of(counts, &offset);
    command->offset = offset;
    command->entry = entry;
    command->state = UINT32_MAX;
    commands->dispatch_count++;
    return hal_record_commit(commands, &command->head);
}

/* ---- Debug groups ------------------------------------------------------------------------- */

enum hal_status hal_command_debug_begin(struct hal_command_buffer *commands, const char *label,
                                        uint32_t color)
{
    HAL_TRY(hal_check_debug(commands, label, color));
    const size_t length = label ? strlen(label) : 0;
    struct hal_command_debug *command =
        hal_record_room(commands, HAL_COMMAND_DEBUG_BEGIN, sizeof *command + length + 1);
    if (!command)
        return hal_record_no_memory(commands);
    command->color = color;
    command->label_bytes = (uint32_t)length;
    if (length)
        memcpy(command->label, label, length);
    command->label[length] = '\0';
    commands->recording->open_groups++;
    return hal_record_commit(commands, &command->head);
}

enum hal_status hal_command_debug_end(struct hal_command_buffer *commands)
{
    HAL_TRY(hal_check_debug_end(commands));
    struct hal_command *command = hal_record_room(commands, HAL_COMMAND_DEBUG_END, sizeof *command);
    if (!command)
        return hal_record_no_memory(commands);
    commands->recording->open_groups--;
    return hal_record_commit(commands, command);
}
