/* SPDX-License-Identifier: Apache-2.0 */
/* Records an ended command buffer of the plan again, through the public API. */
#include "hal/base/mem.h"
#include "replay/player/player.h"

static struct hal_buffer *buffer_of(const struct replay_player *player, uint64_t index)
{
    return player->live[index].buffer;
}

/* In the player's list. */
static void make_buffer_barriers(struct replay_player *player,
                                 const struct trace_buffer_barrier *barriers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_buffer_barrier *barrier = &barriers[i];
        player->barriers[i] = (struct hal_buffer_barrier){
            .buffer = buffer_of(player, barrier->buffer),
            .offset = barrier->offset,
            .bytes = barrier->size,
            .source_access = barrier->source_access,
            .target_access = barrier->target_access,
        };
    }
}

static enum hal_status record_barrier(struct replay_player *player,
                                      struct hal_command_buffer *commands,
                                      const struct trace_barrier *segment)
{
    make_buffer_barriers(player, segment->buffers, segment->buffer_count);
    const struct hal_barrier_desc desc = {
        .source_stages = segment->source_stages,
        .target_stages = segment->target_stages,
        .source_access = segment->source_access,
        .target_access = segment->target_access,
        .buffers = player->barriers,
        .buffer_count = segment->buffer_count,
    };
    return hal_command_barrier(commands, &desc);
}

static enum hal_status record_events_wait(struct replay_player *player,
                                          struct hal_command_buffer *commands,
                                          const struct trace_events_wait *segment)
{
    make_buffer_barriers(player, segment->buffers, segment->buffer_count);
    for (uint32_t i = 0; i < segment->event_count; i++)
        player->events[i] = player->live[trace_waited_events(segment)[i]].event;
    const struct hal_barrier_desc desc = {
        .source_stages = segment->source_stages,
        .target_stages = segment->target_stages,
        .source_access = segment->source_access,
        .target_access = segment->target_access,
        .buffers = player->barriers,
        .buffer_count = segment->buffer_count,
    };
    return hal_command_events_wait(commands, player->events, segment->event_count, &desc);
}

static enum hal_status record_descriptor_set(struct replay_player *player,
                                             struct hal_command_buffer *commands,
                                             const struct trace_push_descriptor_set *segment)
{
    struct hal_binding bindings[HAL_MAX_BINDINGS];
    for (uint32_t i = 0; i < segment->binding_count; i++) {
        const struct trace_binding *binding = &segment->bindings[i];
        bindings[i] = (struct hal_binding){.buffer = buffer_of(player, binding->buffer),
                                           .offset = binding->offset,
                                           .bytes = binding->size};
    }
    return hal_command_push_descriptor_set(commands, segment->set, bindings,
                                           segment->binding_count);
}

static inline enum hal_status record_fill(const struct replay_player *player,
                                          struct hal_command_buffer *commands,
                                          const struct trace_fill *fill)
{
    return hal_command_fill(commands, buffer_of(player, fill->target), fill->offset, fill->size,
                            fill->pattern, fill->pattern_bytes);
}

static enum hal_status record_segment(struct replay_player *player,
                                      struct hal_command_buffer *commands,
                                      const struct trace_segment *head)
{
    const void *segment = head;
    switch ((enum trace_segment_kind)head->kind) {
    case TRACE_BARRIER: return record_barrier(player, commands, segment);
    case TRACE_EVENT_SIGNAL: {
        const struct trace_event_command *signal = segment;
        return hal_command_event_signal(commands, player->live[signal->event].event,
                                        signal->source_stages);
    }
    case TRACE_EVENT_RESET:
        return hal_command_event_reset(
            commands, player->live[TRACE_AS(trace_event_command, segment)->event].event);
    case TRACE_EVENTS_WAIT: return record_events_wait(player, commands, segment);
    case TRACE_FILL: return record_fill(player, commands, segment);
    case TRACE_COPY: {
        const struct trace_copy *copy = segment;
        return hal_command_copy(commands, buffer_of(player, copy->source), copy->source_offset,
                                buffer_of(player, copy->target), copy->target_offset, copy->size);
    }
    case TRACE_UPDATE: {
        const struct trace_update *update = segment;
        return hal_command_update(commands, update->data, buffer_of(player, update->target),
                                  update->offset, update->size);
    }
    case TRACE_PUSH_CONSTANTS: {
        const struct trace_push_constants *push = segment;
        return hal_command_push_constants(commands, push->offset, push->data, push->size);
    }
    case TRACE_PUSH_DESCRIPTOR_SET: return record_descriptor_set(player, commands, segment);
    case TRACE_DISPATCH: {
        const struct trace_dispatch *dispatch = segment;
        HAL_TRY(hal_command_dispatch(commands, player->live[dispatch->executable].executable,
                                     dispatch->entry, dispatch->workgroup_count));
        return player->breadcrumbs ? replay_breadcrumbs_dispatch(player->breadcrumbs, commands)
                                   : HAL_OK;
    }
    case TRACE_DISPATCH_INDIRECT: {
        const struct trace_dispatch_indirect *dispatch = segment;
        HAL_TRY(hal_command_dispatch_indirect(
            commands, player->live[dispatch->executable].executable, dispatch->entry,
            buffer_of(player, dispatch->counts), dispatch->offset));
        return player->breadcrumbs ? replay_breadcrumbs_dispatch(player->breadcrumbs, commands)
                                   : HAL_OK;
    }
    case TRACE_DEBUG_BEGIN: {
        const struct trace_debug *debug = segment;
        return hal_command_debug_begin(
            commands, trace_reader_string(player->plan->reader, debug->label), debug->color);
    }
    case TRACE_DEBUG_END: return hal_command_debug_end(commands);
    }
    return hal_fail(HAL_CORRUPT, "segment kind %u", head->kind);
}

/* Passes the most frequent commands on before distinguishing kinds: fills, and barriers without
 * buffers, which differ only in four numbers. `plain` has no buffers, and keeps the last four. */
static inline enum hal_status record_any(struct replay_player *player,
                                         struct hal_command_buffer *commands,
                                         const struct trace_segment *head,
                                         struct hal_barrier_desc *plain)
{
    const void *segment = head;
    const struct trace_barrier *barrier = segment;
    if (head->kind == TRACE_FILL)
        return record_fill(player, commands, segment);
    if (head->kind != TRACE_BARRIER || barrier->buffer_count)
        return record_segment(player, commands, head);
    plain->source_stages = barrier->source_stages;
    plain->target_stages = barrier->target_stages;
    plain->source_access = barrier->source_access;
    plain->target_access = barrier->target_access;
    return hal_command_barrier(commands, plain);
}

/* The loaded data is no longer in the caches. Events follow each other in this order. */
enum { AHEAD_BYTES = 1024 };

static enum hal_status record_all(struct replay_player *player, uint32_t object,
                                  struct hal_command_buffer *commands)
{
    const struct replay_object *planned = &player->plan->objects[object];
    const struct trace_segment *segment = planned->commands.segments;
    const uint32_t count = planned->commands.seal->segment_count;
    struct hal_barrier_desc plain = {0};
    char name[REPLAY_NAME_BYTES];
    if (player->breadcrumbs)
        HAL_TRY(replay_breadcrumbs_begin(player->breadcrumbs, object, commands));
    for (uint32_t left = count; left; left--, segment = trace_next_segment(segment)) {
        __builtin_prefetch((const uint8_t *)segment + AHEAD_BYTES);
        const enum hal_status status = record_any(player, commands, segment, &plain);
        if (status != HAL_OK)
            return hal_add_context(status, "%s, segment %u (%s)",
                                   replay_object_name(player->plan, object, name), count - left,
                                   trace_segment_name(segment->kind));
    }
    return hal_command_buffer_end(commands);
}

enum hal_status replay_record_commands(struct replay_player *player, uint32_t object,
                                       struct hal_command_buffer **out_commands)
{
    const struct replay_object *planned = &player->plan->objects[object];
    const struct trace_command_buffer_create *created = (const void *)planned->created;
    const struct hal_command_buffer_desc desc = {
        .label = created->label ? replay_object_label(player->plan, object) : NULL,
        .mode = (enum hal_command_buffer_mode)created->mode,
        .categories = created->categories,
    };
    struct hal_command_buffer *commands;
    HAL_TRY(hal_command_buffer_create(player->device, &desc, &commands));
    const enum hal_status status = record_all(player, object, commands);
    if (status != HAL_OK) {
        hal_command_buffer_release(commands);
        return status;
    }
    *out_commands = commands;
    return HAL_OK;
}
