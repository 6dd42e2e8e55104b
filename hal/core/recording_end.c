/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a recording: finds the state that each dispatch sees; the list stays as recorded. */
#include "hal/core/recording.h"

enum { CONSTANT_CHUNK_BYTES = 65536 };

/* The state as the pushes so far left it, and the last one that a dispatch took. */
struct resolver {
    struct hal_command_buffer *commands;
    struct hal_dispatch_state now;
    const uint8_t *pushed;  /* `now.constants` is exactly this push, or NULL: `merged` */
    bool constants_changed; /* since the last state */
    bool changed;           /* anything since the last state */
    size_t capacity;        /* of commands->states */
    uint8_t merged[HAL_MAX_CONSTANT_BYTES]; /* set up to `now.constant_bytes` */
};

static uint8_t *keep_constants(struct hal_recording *recording, const uint8_t *data, size_t bytes)
{
    struct hal_constant_chunk *chunk = recording->constants;
    const size_t padded = hal_align_up(bytes, 8);
    if (!chunk || chunk->capacity - chunk->used < padded) {
        chunk = malloc(sizeof *chunk + CONSTANT_CHUNK_BYTES);
        if (!chunk)
            return NULL;
        chunk->next = recording->constants;
        chunk->used = 0;
        chunk->capacity = CONSTANT_CHUNK_BYTES;
        recording->constants = chunk;
    }
    uint8_t *place = chunk->data + chunk->used;
    memcpy(place, data, bytes);
    chunk->used += padded;
    return place;
}

static void push_constants(struct resolver *resolver, const struct hal_command_push_constants *push)
{
    const uint32_t end = push->offset + push->bytes;
    uint8_t *target = resolver->merged + push->offset;
    resolver->commands->info.constants_count++;
    if (end <= resolver->now.constant_bytes && memcmp(target, push->data, push->bytes) == 0) {
        resolver->commands->info.redundant_constants_count++;
        return;
    }
    if (push->offset > resolver->now.constant_bytes)
        memset(resolver->merged + resolver->now.constant_bytes, 0,
               push->offset - resolver->now.constant_bytes);
    memcpy(target, push->data, push->bytes);
    if (end > resolver->now.constant_bytes)
        resolver->now.constant_bytes = end;
    const bool whole = push->offset == 0 && push->bytes == resolver->now.constant_bytes;
    resolver->pushed = whole ? push->data : NULL;
    resolver->constants_changed = resolver->changed = true;
}

static void push_set(struct resolver *resolver, const struct hal_command_push_descriptor_set *push)
{
    struct hal_dispatch_state *now = &resolver->now;
    resolver->commands->info.set_count++;
    if (now->binding_count[push->set] == push->binding_count &&
        (push->binding_count == 0 || memcmp(now->bindings[push->set], push->bindings,
                                            push->binding_count * sizeof *push->bindings) == 0)) {
        resolver->commands->info.redundant_set_count++;
        return;
    }
    now->binding_count[push->set] = push->binding_count;
    now->bindings[push->set] = push->binding_count ? push->bindings : NULL;
    resolver->changed = true;
}

/* The index of the state that a dispatch here sees. */
static bool take_state(struct resolver *resolver, uint32_t *out_index)
{
    struct hal_command_buffer *commands = resolver->commands;
    if (resolver->changed) {
        if (!HAL_GROW(commands->states, &resolver->capacity, (size_t)commands->state_count + 1))
            return false;
        if (resolver->constants_changed)
            resolver->now.constants = resolver->pushed
                                          ? resolver->pushed
                                          : keep_constants(commands->recording, resolver->merged,
                                                           resolver->now.constant_bytes);
        if (resolver->constants_changed && !resolver->now.constants)
            return false;
        commands->states[commands->state_count++] = resolver->now;
        resolver->changed = resolver->constants_changed = false;
    }
    *out_index = commands->state_count - 1;
    return true;
}

/* Of a dispatch; other commands take no state. */
static bool take_dispatch(struct resolver *resolver, struct hal_command *command)
{
    if (command->kind == HAL_COMMAND_DISPATCH)
        return take_state(resolver, &((struct hal_command_dispatch *)command)->state);
    if (command->kind == HAL_COMMAND_DISPATCH_INDIRECT)
        return take_state(resolver, &((struct hal_command_dispatch_indirect *)command)->state);
    return true;
}

static void count_command(struct hal_command_buffer_info *info, enum hal_command_kind kind)
{
    info->barrier_count += kind == HAL_COMMAND_BARRIER || kind == HAL_COMMAND_EVENTS_WAIT;
    info->transfer_count +=
        kind == HAL_COMMAND_FILL || kind == HAL_COMMAND_COPY || kind == HAL_COMMAND_UPDATE;
}

static bool resolve_states(struct hal_command_buffer *commands)
{
    struct resolver resolver;
    memset(&resolver, 0, offsetof(struct resolver, merged));
    resolver.commands = commands;
    resolver.changed = true;
    commands->info = (struct hal_command_buffer_info){0};
    hal_each_command (commands, command) {
        count_command(&commands->info, (enum hal_command_kind)command->kind);
        if (command->kind == HAL_COMMAND_PUSH_CONSTANTS)
            push_constants(&resolver, (const void *)command);
        else if (command->kind == HAL_COMMAND_PUSH_DESCRIPTOR_SET)
            push_set(&resolver, (const void *)command);
        else if (!take_dispatch(&resolver, (struct hal_command *)(uintptr_t)command))
            return false;
    }
    return true;
}

static void forget_states(struct hal_command_buffer *commands)
{
    free(commands->states);
    commands->states = NULL;
    commands->state_count = 0;
    commands->is_ended = false;
}

enum hal_status hal_command_buffer_end(struct hal_command_buffer *commands)
{
    HAL_TRY(hal_check_end(commands));
    if (commands->recording->has_events)
        HAL_TRY(hal_events_resolve(commands));
    if (!resolve_states(commands)) {
        forget_states(commands);
        return hal_record_no_memory(commands);
    }
    struct hal_device *device = commands->object.device;
    enum hal_status status = commands->dispatch_count ? hal_check_dispatches(commands) : HAL_OK;
    if (status == HAL_OK)
        status = hal_device_enter(device);
    if (status == HAL_OK) {
        /* Not before: a layer that begins while this thread stands at the gate looks at all command
         * buffers, and takes an ended one for prepared. */
        commands->is_ended = true;
        commands->notes = hal_record_notes(commands);
        status = device->top->ops->command_buffer_prepare(device->top, commands);
        commands->notes = NULL;
        if (status != HAL_OK)
            commands->is_ended = false; /* nor afterwards, when it is not */
        hal_gate_leave(&device->gate);
    }
    if (status != HAL_OK)
        forget_states(commands);
    return status;
}

enum hal_status hal_command_buffer_get_info(const struct hal_command_buffer *commands,
                                            struct hal_command_buffer_info *out_info)
{
    HAL_TRY(hal_check_object(commands ? &commands->object : NULL, "command buffer"));
    HAL_TRY(hal_check_place(out_info, "the information about a command buffer"));
    HAL_TRY(hal_check_ended(commands));
    struct hal_command_buffer_info info = commands->info;
    info.label = commands->object.label;
    info.mode = commands->mode;
    info.categories = commands->categories;
    info.command_count = commands->command_count;
    info.dispatch_count = commands->dispatch_count;
    info.state_count = commands->state_count;
    return HAL_GIVE(hal_command_buffer_info, out_info, &info);
}
