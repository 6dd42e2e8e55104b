/* SPDX-License-Identifier: Apache-2.0 */
/* Ended command buffers into records: a copy of the list, with ids for pointers. */
#include "capture/encode/encode.h"

#include "format/limits.h"
#include "hal/base/mem.h"
#include "hal/base/text.h"

#include <string.h>

SAME_NUMBER(TRACE_BARRIER, HAL_COMMAND_BARRIER);
SAME_NUMBER(TRACE_FILL, HAL_COMMAND_FILL);
SAME_NUMBER(TRACE_COPY, HAL_COMMAND_COPY);
SAME_NUMBER(TRACE_UPDATE, HAL_COMMAND_UPDATE);
SAME_NUMBER(TRACE_PUSH_CONSTANTS, HAL_COMMAND_PUSH_CONSTANTS);
SAME_NUMBER(TRACE_PUSH_DESCRIPTOR_SET, HAL_COMMAND_PUSH_DESCRIPTOR_SET);
SAME_NUMBER(TRACE_DISPATCH, HAL_COMMAND_DISPATCH);
SAME_NUMBER(TRACE_DEBUG_BEGIN, HAL_COMMAND_DEBUG_BEGIN);
SAME_NUMBER(TRACE_DEBUG_END, HAL_COMMAND_DEBUG_END);
SAME_NUMBER(TRACE_DISPATCH_INDIRECT, HAL_COMMAND_DISPATCH_INDIRECT);
SAME_NUMBER(TRACE_EVENT_SIGNAL, HAL_COMMAND_EVENT_SIGNAL);
SAME_NUMBER(TRACE_EVENT_RESET, HAL_COMMAND_EVENT_RESET);
SAME_NUMBER(TRACE_EVENTS_WAIT, HAL_COMMAND_EVENTS_WAIT);

/* Records of commands have the commands' own layout, with ids for pointers, but for two kinds. */
#define SAME_SIZE(format, hal) _Static_assert(sizeof(format) == sizeof(hal), #format)
SAME_SIZE(struct trace_segment, struct hal_command);
SAME_SIZE(struct trace_barrier, struct hal_command_barrier);
SAME_SIZE(struct trace_buffer_barrier, struct hal_buffer_barrier);
SAME_SIZE(struct trace_fill, struct hal_command_fill);
SAME_SIZE(struct trace_copy, struct hal_command_copy);
SAME_SIZE(struct trace_update, struct hal_command_update);
SAME_SIZE(struct trace_push_constants, struct hal_command_push_constants);
SAME_SIZE(struct trace_push_descriptor_set, struct hal_command_push_descriptor_set);
SAME_SIZE(struct trace_binding, struct hal_binding);
SAME_SIZE(struct trace_event_command, struct hal_command_event);
SAME_SIZE(struct trace_events_wait, struct hal_command_events_wait);
SAME_SIZE(struct trace_dispatch_indirect, struct hal_command_dispatch_indirect);

/* What format/analysis/access.h reads in both. */
#define SAME_PLACE(format, member, hal, hal_member)                                                \
    _Static_assert(offsetof(format, member) == offsetof(hal, hal_member) &&                        \
                       sizeof((format){0}.member) == sizeof((hal){0}.hal_member),                  \
                   #format "." #member)
SAME_PLACE(struct trace_segment, kind, struct hal_command, kind);
SAME_PLACE(struct trace_fill, target, struct hal_command_fill, target);
SAME_PLACE(struct trace_fill, offset, struct hal_command_fill, offset);
SAME_PLACE(struct trace_fill, size, struct hal_command_fill, bytes);
SAME_PLACE(struct trace_copy, source, struct hal_command_copy, source);
SAME_PLACE(struct trace_copy, target, struct hal_command_copy, target);
SAME_PLACE(struct trace_copy, source_offset, struct hal_command_copy, source_offset);
SAME_PLACE(struct trace_copy, target_offset, struct hal_command_copy, target_offset);
SAME_PLACE(struct trace_copy, size, struct hal_command_copy, bytes);
SAME_PLACE(struct trace_update, target, struct hal_command_update, target);
SAME_PLACE(struct trace_update, offset, struct hal_command_update, offset);
SAME_PLACE(struct trace_update, size, struct hal_command_update, bytes);
SAME_PLACE(struct trace_dispatch, workgroup_count, struct hal_command_dispatch, workgroup_count);
SAME_PLACE(struct trace_dispatch_indirect, counts, struct hal_command_dispatch_indirect, counts);
SAME_PLACE(struct trace_dispatch_indirect, offset, struct hal_command_dispatch_indirect, offset);
SAME_PLACE(struct trace_binding, buffer, struct hal_binding, buffer);
SAME_PLACE(struct trace_binding, offset, struct hal_binding, offset);
SAME_PLACE(struct trace_binding, size, struct hal_binding, bytes);
_Static_assert((int)TRACE_COUNTS_BYTES == (int)HAL_COUNTS_BYTES, "the counts of a dispatch");

static inline struct trace_segment same_head(const struct hal_command *command)
{
    return (struct trace_segment){.kind = command->kind, .bytes = command->bytes};
}

static void fill_buffer_barriers(struct trace_buffer_barrier *out,
                                 const struct hal_buffer_barrier *buffers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = (struct trace_buffer_barrier){.buffer = capture_buffer_id(buffers[i].buffer),
                                               .offset = buffers[i].offset,
                                               .size = buffers[i].bytes,
                                               .source_access = buffers[i].source_access,
                                               .target_access = buffers[i].target_access};
}

static void fill_barrier(void *out, const struct hal_command *command)
{
    const struct hal_command_barrier *barrier = (const void *)command;
    struct trace_barrier *record = out;
    *record = (struct trace_barrier){.head = same_head(command),
                                     .source_stages = barrier->source_stages,
                                     .target_stages = barrier->target_stages,
                                     .source_access = barrier->source_access,
                                     .target_access = barrier->target_access,
                                     .buffer_count = barrier->buffer_count};
    fill_buffer_barriers(record->buffers, barrier->buffers, barrier->buffer_count);
}

static void fill_events_wait(void *out, const struct hal_command *command)
{
    const struct hal_command_events_wait *wait = (const void *)command;
    struct trace_events_wait *record = out;
    *record = (struct trace_events_wait){.head = same_head(command),
                                         .source_stages = wait->source_stages,
                                         .target_stages = wait->target_stages,
                                         .source_access = wait->source_access,
                                         .target_access = wait->target_access,
                                         .buffer_count = wait->buffer_count,
                                         .event_count = wait->event_count};
    fill_buffer_barriers(record->buffers, wait->buffers, wait->buffer_count);
    for (uint32_t i = 0; i < wait->event_count; i++)
        trace_waited_events(record)[i] = hal_waited_events(wait)[i]->object.id;
}

/* Most commands are copied as they are: padding is zero there, too. Both are aligned to 8 bytes. */
static inline void copy_command(void *out, const struct hal_command *command)
{
    uint8_t *to = out;
    const uint8_t *from = (const uint8_t *)command, *end = from + command->bytes;
    for (; end - from >= 16; from += 16, to += 16)
        memcpy(to, from, 16);
    if (from < end)
        memcpy(to, from, 8);
}

static inline void fill_push_descriptor_set(void *out, const struct hal_command *command)
{
    const struct hal_command_push_descriptor_set *push = (const void *)command;
    struct trace_push_descriptor_set *record = out;
    struct trace_binding *binding = record->bindings;
    const struct hal_binding *from = push->bindings, *end = from + push->binding_count;
    memcpy(record, push, sizeof *record);
    for (; from < end; from++, binding++)
        *binding = (struct trace_binding){
            .buffer = capture_buffer_id(from->buffer), .offset = from->offset, .size = from->bytes};
}

static inline void fill_fill(void *out, const struct hal_command *command)
{
    const struct hal_command_fill *fill = (const void *)command;
    *(struct trace_fill *)out = (struct trace_fill){.head = same_head(command),
                                                    .target = capture_buffer_id(fill->target),
                                                    .offset = fill->offset,
                                                    .size = fill->bytes,
                                                    .pattern = fill->pattern,
                                                    .pattern_bytes = fill->pattern_bytes};
}

static inline void fill_copy(void *out, const struct hal_command *command)
{
    const struct hal_command_copy *copy = (const void *)command;
    *(struct trace_copy *)out = (struct trace_copy){.head = same_head(command),
                                                    .source = capture_buffer_id(copy->source),
                                                    .target = capture_buffer_id(copy->target),
                                                    .source_offset = copy->source_offset,
                                                    .target_offset = copy->target_offset,
                                                    .size = copy->bytes};
}

static inline void fill_dispatch_indirect(void *out, const struct hal_command *command)
{
    const struct hal_command_dispatch_indirect *dispatch = (const void *)command;
    *(struct trace_dispatch_indirect *)out =
        (struct trace_dispatch_indirect){.head = same_head(command),
                                         .executable = dispatch->executable->object.id,
                                         .counts = capture_buffer_id(dispatch->counts),
                                         .offset = dispatch->offset,
                                         .entry = dispatch->entry};
}

/* Returns the record's bytes; there is room for as many as the command has. */
static inline uint32_t fill_command(void *out, const struct hal_command *command, uint32_t label)
{
    switch ((enum hal_command_kind)command->kind) {
    case HAL_COMMAND_BARRIER:
        if (((const struct hal_command_barrier *)(const void *)command)->buffer_count)
            fill_barrier(out, command);
        else
            copy_command(out, command);
        break;
    case HAL_COMMAND_EVENT_SIGNAL:
    case HAL_COMMAND_EVENT_RESET: {
        const struct hal_command_event *event = (const void *)command;
        *(struct trace_event_command *)out =
            (struct trace_event_command){.head = same_head(command),
                                         .event = event->event->object.id,
                                         .source_stages = event->source_stages};
        break;
    }
    case HAL_COMMAND_EVENTS_WAIT: fill_events_wait(out, command); break;
    case HAL_COMMAND_FILL: fill_fill(out, command); break;
    case HAL_COMMAND_COPY: fill_copy(out, command); break;
    case HAL_COMMAND_UPDATE:
        copy_command(out, command);
        ((struct trace_update *)out)->target =
            capture_buffer_id(((const struct hal_command_update *)(const void *)command)->target);
        break;
    case HAL_COMMAND_PUSH_CONSTANTS: copy_command(out, command); break;
    case HAL_COMMAND_PUSH_DESCRIPTOR_SET: fill_push_descriptor_set(out, command); break;
    case HAL_COMMAND_DISPATCH: {
        const struct hal_command_dispatch *dispatch = (const void *)command;
        *(struct trace_dispatch *)out = (struct trace_dispatch){
            .head = {.kind = HAL_COMMAND_DISPATCH, .bytes = sizeof(struct trace_dispatch)},
            .executable = dispatch->executable->object.id,
            .entry = dispatch->entry,
            .workgroup_count = {dispatch->workgroup_count[0], dispatch->workgroup_count[1],
                                dispatch->workgroup_count[2]}};
        return sizeof(struct trace_dispatch);
    }
    case HAL_COMMAND_DISPATCH_INDIRECT: fill_dispatch_indirect(out, command); break;
    case HAL_COMMAND_DEBUG_BEGIN: {
        const struct hal_command_debug *debug = (const void *)command;
        *(struct trace_debug *)out = (struct trace_debug){
            .head = {.kind = HAL_COMMAND_DEBUG_BEGIN, .bytes = sizeof(struct trace_debug)},
            .color = debug->color,
            .label = label};
        return sizeof(struct trace_debug);
    }
    case HAL_COMMAND_DEBUG_END: copy_command(out, command); break;
    }
    return command->bytes;
}

/* Strings get their numbers before the seal: nothing may come between it and its segments. */
static bool number_labels(struct capture_thread *thread, const struct hal_command_buffer *commands)
{
    hal_each_command (commands, command) {
        const struct hal_command_debug *debug = (const void *)command;
        if (command->kind == HAL_COMMAND_DEBUG_BEGIN && !capture_string(thread, debug->label))
            return false;
    }
    return true;
}

/* False: too large, or (as the stream says) memory is out. */
static bool commands_fit(const struct capture_call *call, const struct hal_command_buffer *commands,
                         const struct capture_survey *survey)
{
    static const char name[] = "hal_command_buffer_end";
    struct capture_stream *stream = call->thread->stream;
    const uint64_t id = commands->object.id;
    if (survey->longest_list > TRACE_MAX_LIST)
        capture_record_unsupported(call, capture_ticket(stream), id, name,
                                   "a command with %u buffer barriers or events: a trace holds at "
                                   "most %u",
                                   survey->longest_list, TRACE_MAX_LIST);
    else if (commands->command_count > TRACE_MAX_SEGMENTS)
        capture_record_unsupported(call, capture_ticket(stream), id, name,
                                   "a command buffer of %s: a trace holds at most %u",
                                   hal_count(commands->command_count, "command", "commands").text,
                                   TRACE_MAX_SEGMENTS);
    else if (survey->largest_bytes > TRACE_MAX_RECORD_BYTES)
        capture_record_unsupported(
            call, capture_ticket(stream), id, name, "a command of %s: a trace holds at most %u",
            hal_count(survey->largest_bytes, "byte", "bytes").text, TRACE_MAX_RECORD_BYTES);
    else
        return true;
    return false;
}

/* Segments are published in batches: they are useless until the seal is complete. */
enum { BATCH_BYTES = 16 << 10 };

/* A piece of the ring that is being filled. */
struct batch {
    uint8_t *begin, *at, *end;
    uint64_t left; /* bytes of records that are still to come, those of this batch included */
};

static void publish_batch(struct capture_thread *thread, struct batch *batch)
{
    const uint64_t used = (uint64_t)(batch->at - batch->begin);
    if (used)
        capture_publish(thread, used);
    batch->left -= used;
    batch->begin = batch->at = batch->end = NULL;
}

static bool next_batch(struct capture_thread *thread, struct batch *batch, uint64_t most)
{
    publish_batch(thread, batch);
    const uint64_t room = hal_min_u64(batch->left, most);
    batch->begin = batch->at = capture_reserve(thread, room);
    batch->end = batch->begin ? batch->begin + room : NULL;
    return batch->begin != NULL;
}

static void record_commands(struct capture_thread *thread,
                            const struct hal_command_buffer *commands,
                            const struct capture_survey *survey)
{
    const uint64_t most =
        hal_max_u64(survey->largest_bytes, hal_min_u64(BATCH_BYTES, thread->ring->bytes / 4));
    struct batch batch = {.left = survey->record_bytes};
    const uint8_t *at = commands->arena, *end = at + commands->arena_bytes;
    for (; at < end; at += ((const struct hal_command *)(const void *)at)->bytes) {
        const struct hal_command *command = (const void *)at;
        uint32_t label = 0;
        /* Known already; but nothing may ask for strings between reserving and publishing. */
        if (__builtin_expect(command->kind == HAL_COMMAND_DEBUG_BEGIN, 0)) {
            publish_batch(thread, &batch);
            label = capture_string(
                thread, ((const struct hal_command_debug *)(const void *)command)->label);
        }
        if (__builtin_expect(!batch.at || (uint64_t)(batch.end - batch.at) < command->bytes, 0) &&
            !next_batch(thread, &batch, most))
            return;
        batch.at += fill_command(batch.at, command, label);
    }
    publish_batch(thread, &batch);
}

/* Where they were recorded. */
static void record_stacks(const struct capture_call *call,
                          const struct hal_command_buffer *commands)
{
    for (uint32_t first = 0, count; first < commands->command_count; first += count) {
        const uint32_t left = commands->command_count - first;
        count = left < CAPTURE_MOST_TIMES ? left : CAPTURE_MOST_TIMES;
        const uint64_t used = sizeof(struct trace_command_stacks) + count * sizeof(uint32_t);
        const uint64_t bytes = hal_align_up(used, 8);
        struct trace_command_stacks *record = capture_reserve(call->thread, bytes);
        if (!record)
            return;
        memset((uint8_t *)record + used, 0, bytes - used);
        *record = (struct trace_command_stacks){
            .head = capture_head(call, TRACE_COMMAND_STACKS, bytes),
            .command_buffer = commands->object.id,
            .first = first,
            .stack_count = count,
        };
        memcpy(record->stacks, commands->notes + first, count * sizeof(uint32_t));
        record->head.ticket = 0;
        capture_publish(call->thread, bytes);
    }
}

void capture_record_command_buffer_end(const struct capture_call *call,
                                       const struct hal_command_buffer *commands,
                                       const struct capture_survey *survey, uint32_t flags)
{
    const bool fits = commands_fit(call, commands, survey);
    if (fits && !capture_can_hold(call->thread, survey->largest_bytes)) {
        capture_lose(call->thread->stream, 1 + commands->command_count);
        return;
    }
    if (fits && survey->has_labels && !number_labels(call->thread, commands))
        return;
    if (fits && commands->notes)
        record_stacks(call, commands);
    struct trace_command_buffer_seal *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_command_buffer_seal){
        .head = capture_head(call, TRACE_COMMAND_BUFFER_SEAL, sizeof *record),
        .command_buffer = commands->object.id,
        .segment_count = fits ? commands->command_count : 0,
        .dispatch_count = fits ? commands->dispatch_count : 0,
        .segment_bytes = fits ? survey->record_bytes : 0,
        .flags = flags,
    };
    capture_publish(call->thread, sizeof *record);
    if (fits)
        record_commands(call->thread, commands, survey);
}
