/* SPDX-License-Identifier: Apache-2.0 */
/* Sealed command lists into records: a copy of the list, with ids for pointers. */
#include "capture/encode.h"

#include "format/limits.h"
#include "hal/base/mem.h"

#include <string.h>

SAME_NUMBER(TRACE_BARRIER, HAL_SEGMENT_BARRIER);
SAME_NUMBER(TRACE_FILL, HAL_SEGMENT_FILL);
SAME_NUMBER(TRACE_COPY, HAL_SEGMENT_COPY);
SAME_NUMBER(TRACE_UPDATE, HAL_SEGMENT_UPDATE);
SAME_NUMBER(TRACE_PUSH_CONSTANTS, HAL_SEGMENT_PUSH_CONSTANTS);
SAME_NUMBER(TRACE_PUSH_DESCRIPTOR_SET, HAL_SEGMENT_PUSH_DESCRIPTOR_SET);
SAME_NUMBER(TRACE_DISPATCH, HAL_SEGMENT_DISPATCH);
SAME_NUMBER(TRACE_DEBUG_BEGIN, HAL_SEGMENT_DEBUG_BEGIN);
SAME_NUMBER(TRACE_DEBUG_END, HAL_SEGMENT_DEBUG_END);
SAME_NUMBER(TRACE_DISPATCH_INDIRECT, HAL_SEGMENT_DISPATCH_INDIRECT);
SAME_NUMBER(TRACE_EVENT_SIGNAL, HAL_SEGMENT_EVENT_SIGNAL);
SAME_NUMBER(TRACE_EVENT_RESET, HAL_SEGMENT_EVENT_RESET);
SAME_NUMBER(TRACE_EVENTS_WAIT, HAL_SEGMENT_EVENTS_WAIT);

/* Records of segments have the segments' own layout, with ids for pointers, but for two kinds. */
#define SAME_SIZE(format, hal) _Static_assert(sizeof(format) == sizeof(hal), #format)
SAME_SIZE(struct trace_segment, struct hal_segment);
SAME_SIZE(struct trace_barrier, struct hal_segment_barrier);
SAME_SIZE(struct trace_buffer_barrier, struct hal_buffer_barrier);
SAME_SIZE(struct trace_fill, struct hal_segment_fill);
SAME_SIZE(struct trace_copy, struct hal_segment_copy);
SAME_SIZE(struct trace_update, struct hal_segment_update);
SAME_SIZE(struct trace_push_constants, struct hal_segment_push_constants);
SAME_SIZE(struct trace_push_descriptor_set, struct hal_segment_push_descriptor_set);
SAME_SIZE(struct trace_binding, struct hal_binding);
SAME_SIZE(struct trace_event_command, struct hal_segment_event);
SAME_SIZE(struct trace_events_wait, struct hal_segment_events_wait);
SAME_SIZE(struct trace_dispatch_indirect, struct hal_segment_dispatch_indirect);

static inline uint32_t record_bytes(const struct hal_segment *segment)
{
    if (segment->kind == HAL_SEGMENT_DISPATCH)
        return sizeof(struct trace_dispatch);
    if (segment->kind == HAL_SEGMENT_DEBUG_BEGIN)
        return sizeof(struct trace_debug);
    return segment->bytes;
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

static void fill_barrier(void *out, const struct hal_segment *segment, struct trace_segment head)
{
    const struct hal_segment_barrier *barrier = (const void *)segment;
    struct trace_barrier *record = out;
    *record = (struct trace_barrier){.head = head,
                                     .source_stages = barrier->source_stages,
                                     .target_stages = barrier->target_stages,
                                     .source_access = barrier->source_access,
                                     .target_access = barrier->target_access,
                                     .buffer_count = barrier->buffer_count};
    fill_buffer_barriers(record->buffers, barrier->buffers, barrier->buffer_count);
}

static void fill_events_wait(void *out, const struct hal_segment *segment,
                             struct trace_segment head)
{
    const struct hal_segment_events_wait *wait = (const void *)segment;
    struct trace_events_wait *record = out;
    *record = (struct trace_events_wait){.head = head,
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

static void fill_update(void *out, const struct hal_segment *segment, struct trace_segment head)
{
    const struct hal_segment_update *update = (const void *)segment;
    struct trace_update *record = out;
    *record = (struct trace_update){.head = head,
                                    .target = capture_buffer_id(update->target),
                                    .offset = update->offset,
                                    .size = update->bytes};
    memcpy(record->data, update->data, update->bytes);
    if (update->bytes % 8)
        memset(record->data + update->bytes, 0, head.bytes - sizeof *record - update->bytes);
}

static void fill_push_constants(void *out, const struct hal_segment *segment,
                                struct trace_segment head)
{
    const struct hal_segment_push_constants *push = (const void *)segment;
    struct trace_push_constants *record = out;
    *record =
        (struct trace_push_constants){.head = head, .offset = push->offset, .size = push->bytes};
    memcpy(record->data, push->data, push->bytes);
    if (push->bytes % 8)
        memset(record->data + push->bytes, 0, head.bytes - sizeof *record - push->bytes);
}

static void fill_push_descriptor_set(void *out, const struct hal_segment *segment,
                                     struct trace_segment head)
{
    const struct hal_segment_push_descriptor_set *push = (const void *)segment;
    struct trace_push_descriptor_set *record = out;
    *record = (struct trace_push_descriptor_set){
        .head = head, .set = push->set, .binding_count = push->binding_count};
    for (uint32_t i = 0; i < push->binding_count; i++) {
        const struct hal_binding *from = &push->bindings[i];
        record->bindings[i] = (struct trace_binding){
            .buffer = capture_buffer_id(from->buffer), .offset = from->offset, .size = from->bytes};
    }
}

static void fill_segment(void *out, const struct hal_segment *segment, struct trace_segment head,
                         uint32_t label)
{
    switch ((enum hal_segment_kind)segment->kind) {
    case HAL_SEGMENT_BARRIER: fill_barrier(out, segment, head); break;
    case HAL_SEGMENT_EVENT_SIGNAL:
    case HAL_SEGMENT_EVENT_RESET: {
        const struct hal_segment_event *event = (const void *)segment;
        *(struct trace_event_command *)out = (struct trace_event_command){
            .head = head, .event = event->event->object.id, .source_stages = event->source_stages};
        break;
    }
    case HAL_SEGMENT_EVENTS_WAIT: fill_events_wait(out, segment, head); break;
    case HAL_SEGMENT_FILL: {
        const struct hal_segment_fill *fill = (const void *)segment;
        *(struct trace_fill *)out = (struct trace_fill){.head = head,
                                                        .target = capture_buffer_id(fill->target),
                                                        .offset = fill->offset,
                                                        .size = fill->bytes,
                                                        .pattern = fill->pattern,
                                                        .pattern_bytes = fill->pattern_bytes};
        break;
    }
    case HAL_SEGMENT_COPY: {
        const struct hal_segment_copy *copy = (const void *)segment;
        *(struct trace_copy *)out = (struct trace_copy){.head = head,
                                                        .source = capture_buffer_id(copy->source),
                                                        .target = capture_buffer_id(copy->target),
                                                        .source_offset = copy->source_offset,
                                                        .target_offset = copy->target_offset,
                                                        .size = copy->bytes};
        break;
    }
    case HAL_SEGMENT_UPDATE: fill_update(out, segment, head); break;
    case HAL_SEGMENT_PUSH_CONSTANTS: fill_push_constants(out, segment, head); break;
    case HAL_SEGMENT_PUSH_DESCRIPTOR_SET: fill_push_descriptor_set(out, segment, head); break;
    case HAL_SEGMENT_DISPATCH: {
        const struct hal_segment_dispatch *dispatch = (const void *)segment;
        *(struct trace_dispatch *)out = (struct trace_dispatch){
            .head = head,
            .executable = dispatch->executable->object.id,
            .entry = dispatch->entry,
            .workgroup_count = {dispatch->workgroup_count[0], dispatch->workgroup_count[1],
                                dispatch->workgroup_count[2]}};
        break;
    }
    case HAL_SEGMENT_DISPATCH_INDIRECT: {
        const struct hal_segment_dispatch_indirect *dispatch = (const void *)segment;
        *(struct trace_dispatch_indirect *)out =
            (struct trace_dispatch_indirect){.head = head,
                                             .executable = dispatch->executable->object.id,
                                             .counts = capture_buffer_id(dispatch->counts),
                                             .offset = dispatch->offset,
                                             .entry = dispatch->entry};
        break;
    }
    case HAL_SEGMENT_DEBUG_BEGIN: {
        const struct hal_segment_debug *debug = (const void *)segment;
        *(struct trace_debug *)out =
            (struct trace_debug){.head = head, .color = debug->color, .label = label};
        break;
    }
    case HAL_SEGMENT_DEBUG_END: *(struct trace_segment *)out = head; break;
    }
}

/* All strings of the command buffer get their numbers before the seal: nothing may come between a
 * seal and its segments. */
static bool number_labels(struct capture_thread *thread, const struct hal_command_buffer *commands)
{
    hal_each_segment (commands, segment) {
        const struct hal_segment_debug *debug = (const void *)segment;
        if (segment->kind == HAL_SEGMENT_DEBUG_BEGIN && !capture_string(thread, debug->label))
            return false;
    }
    return true;
}

struct sizes {
    uint64_t total;
    uint64_t largest;
    size_t longest_list;
    bool labels;
};

static size_t longest_list(const struct hal_segment *segment)
{
    if (segment->kind == HAL_SEGMENT_BARRIER)
        return ((const struct hal_segment_barrier *)(const void *)segment)->buffer_count;
    if (segment->kind != HAL_SEGMENT_EVENTS_WAIT)
        return 0;
    const struct hal_segment_events_wait *wait = (const void *)segment;
    return wait->buffer_count > wait->event_count ? wait->buffer_count : wait->event_count;
}

static struct sizes measure(const struct hal_command_buffer *commands)
{
    struct sizes sizes = {0};
    hal_each_segment (commands, segment) {
        const uint32_t bytes = record_bytes(segment);
        sizes.total += bytes;
        if (bytes > sizes.largest)
            sizes.largest = bytes;
        sizes.labels |= segment->kind == HAL_SEGMENT_DEBUG_BEGIN;
        const size_t longest = longest_list(segment);
        if (longest > sizes.longest_list)
            sizes.longest_list = longest;
    }
    return sizes;
}

static bool seal_fits(const struct capture_call *call, const struct hal_command_buffer *commands,
                      const struct sizes *sizes)
{
    struct capture_stream *stream = call->thread->stream;
    if (!capture_list_fits(call, "buffer barriers or events", sizes->longest_list))
        return false;
    if (commands->segment_count > TRACE_MAX_SEGMENTS)
        capture_stop(stream, HAL_UNSUPPORTED,
                     "a command buffer of %u commands: a trace holds at most %u",
                     commands->segment_count, TRACE_MAX_SEGMENTS);
    else if (capture_can_hold(call->thread, sizes->largest))
        return true;
    atomic_fetch_add(&stream->lost_records, 1 + commands->segment_count);
    return false;
}

/* Segments are published many at a time: until the seal is whole nobody can use them anyway. */
enum { BATCH_BYTES = 16 << 10 };

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void record_segments(struct capture_thread *thread,
                            const struct hal_command_buffer *commands, const struct sizes *sizes)
{
    const uint64_t most = larger(sizes->largest, smaller(BATCH_BYTES, thread->ring->bytes / 4));
    uint64_t left = sizes->total, room = 0, used = 0;
    uint8_t *batch = NULL;
    hal_each_segment (commands, segment) {
        const uint32_t bytes = record_bytes(segment);
        uint32_t label = 0;
        /* Known already; but nothing may ask for strings between reserving and publishing. */
        if (__builtin_expect(segment->kind == HAL_SEGMENT_DEBUG_BEGIN, 0)) {
            if (used)
                capture_publish(thread, used);
            room = used = 0;
            label = capture_string(
                thread, ((const struct hal_segment_debug *)(const void *)segment)->label);
        }
        if (__builtin_expect(used + bytes > room, 0)) {
            if (used)
                capture_publish(thread, used);
            room = smaller(left, most);
            used = 0;
            batch = capture_reserve(thread, room);
            if (!batch)
                return;
        }
        fill_segment(batch + used, segment,
                     (struct trace_segment){.kind = segment->kind, .bytes = bytes}, label);
        used += bytes;
        left -= bytes;
    }
    if (used)
        capture_publish(thread, used);
}

/* Where they were recorded. */
static void record_stacks(const struct capture_call *call,
                          const struct hal_command_buffer *commands)
{
    for (uint32_t first = 0, count; first < commands->segment_count; first += count) {
        const uint32_t left = commands->segment_count - first;
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

void capture_record_seal(const struct capture_call *call, const struct hal_command_buffer *commands,
                         uint32_t flags)
{
    const struct sizes sizes = measure(commands);
    if (!seal_fits(call, commands, &sizes))
        return;
    if (sizes.labels && !number_labels(call->thread, commands))
        return;
    if (commands->notes)
        record_stacks(call, commands);
    struct trace_command_buffer_seal *record = capture_reserve(call->thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_command_buffer_seal){
        .head = capture_head(call, TRACE_COMMAND_BUFFER_SEAL, sizeof *record),
        .command_buffer = commands->object.id,
        .segment_count = commands->segment_count,
        .dispatch_count = commands->dispatch_count,
        .segment_bytes = sizes.total,
        .flags = flags,
    };
    capture_publish(call->thread, sizeof *record);
    record_segments(call->thread, commands, &sizes);
}
