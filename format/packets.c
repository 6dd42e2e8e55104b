/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a trace that Perfetto understands. */
#include "format/packets.h"

#include "format/frames.h"
#include "format/json.h"
#include "format/limits.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    SEQUENCE = 1,
    CLOCK_REALTIME_ID = 1,
    CLOCK_MONOTONIC_ID = 3,
    STATE_CLEARED = 1, /* SEQ_INCREMENTAL_STATE_CLEARED */
    LANES = 64,
    NAME_BYTES = 256,
};

/* Tracks are numbered by what they show, so that nothing needs to be remembered. */
#define PROCESS_TRACK    1u
#define MEMORY_TRACK     2u
#define THREAD_TRACK(id) (1000u + (uint64_t)(id))
#define LANE_TRACK(q, l) (1000000u + (uint64_t)(q)*1000u + (uint64_t)(l))
#define DISPATCH_TRACKS  1000000u /* added to the track of the lane of work */

enum hal_status trace_packets_init(struct trace_packets *packets, const struct trace_header *header,
                                   const struct trace_tables *tables)
{
    *packets = (struct trace_packets){.process_id = header->process_id, .tables = tables};
    if (header->mode && strcmp(header->mode, "queue") != 0)
        trace_kernels_init(&packets->kernels);
    packets->lanes = hal_alloc(TRACE_MAX_QUEUES * LANES, sizeof *packets->lanes);
    packets->dispatch_lanes = hal_alloc(TRACE_MAX_QUEUES * LANES, sizeof *packets->dispatch_lanes);
    return packets->lanes && packets->dispatch_lanes
               ? HAL_OK
               : hal_fail(HAL_NO_MEMORY, "no memory for tracks");
}

void trace_packets_finish(struct trace_packets *packets)
{
    free(packets->described_threads);
    free(packets->lanes);
    free(packets->dispatch_lanes);
    trace_kernels_finish(&packets->kernels);
    hal_idmap_finish(&packets->buffers);
    free(packets->sizes);
    free(packets->free_indices);
    *packets = (struct trace_packets){0};
}

static Haltrace__TracePacket new_packet(int64_t time_ns)
{
    Haltrace__TracePacket packet = HALTRACE__TRACE_PACKET__INIT;
    packet.timestamp = time_ns > 0 ? (uint64_t)time_ns : 0;
    packet.trusted_packet_sequence_id = SEQUENCE;
    packet.timestamp_clock_id = CLOCK_MONOTONIC_ID;
    return packet;
}

static enum hal_status add_packet(struct trace_bytes *raw, const Haltrace__TracePacket *packet)
{
    return trace_field_append(raw, TRACE_FIELD_PACKET, &packet->base);
}

static enum hal_status add_track(struct trace_bytes *raw, Haltrace__TrackDescriptor *track)
{
    Haltrace__TracePacket packet = new_packet(0);
    packet.timestamp_clock_id = 0;
    packet.data_case = HALTRACE__TRACE_PACKET__DATA_TRACK_DESCRIPTOR;
    packet.track_descriptor = track;
    return add_packet(raw, &packet);
}

static enum hal_status add_event(struct trace_bytes *raw, int64_t time_ns, uint64_t track,
                                 Haltrace__TrackEvent__Type type, Haltrace__TrackEvent *event)
{
    Haltrace__TracePacket packet = new_packet(time_ns);
    event->type = type;
    event->track_uuid = track;
    packet.data_case = HALTRACE__TRACE_PACKET__DATA_TRACK_EVENT;
    packet.track_event = event;
    return add_packet(raw, &packet);
}

/* ---- Slices ------------------------------------------------------------------------------- */

enum { MOST_ARGUMENTS = 8 };

struct slice {
    int64_t begin_ns, end_ns;
    char *name;
    bool has_flow, flow_ends; /* of the submission that it belongs to */
    uint64_t flow;
    Haltrace__DebugAnnotation arguments[MOST_ARGUMENTS];
    size_t argument_count;
};

static Haltrace__DebugAnnotation *add_argument(struct slice *slice, char *name)
{
    Haltrace__DebugAnnotation *argument = &slice->arguments[slice->argument_count++];
    haltrace__debug_annotation__init(argument);
    argument->name = name;
    return argument;
}

static void add_number(struct slice *slice, char *name, uint64_t value)
{
    Haltrace__DebugAnnotation *argument = add_argument(slice, name);
    argument->value_case = HALTRACE__DEBUG_ANNOTATION__VALUE_UINT_VALUE;
    argument->uint_value = value;
}

/* `text` stays as long as the slice. */
static void add_text(struct slice *slice, char *name, char *text)
{
    Haltrace__DebugAnnotation *argument = add_argument(slice, name);
    argument->value_case = HALTRACE__DEBUG_ANNOTATION__VALUE_STRING_VALUE;
    argument->string_value = text;
}

static enum hal_status add_slice(struct trace_bytes *raw, uint64_t track, struct slice *slice)
{
    Haltrace__DebugAnnotation *arguments[MOST_ARGUMENTS];
    Haltrace__TrackEvent begin = HALTRACE__TRACK_EVENT__INIT, end = HALTRACE__TRACK_EVENT__INIT;
    const int64_t end_ns = slice->end_ns > slice->begin_ns ? slice->end_ns : slice->begin_ns;
    begin.name = slice->name;
    begin.n_debug_annotations = slice->argument_count;
    begin.debug_annotations = arguments;
    for (size_t i = 0; i < slice->argument_count; i++)
        arguments[i] = &slice->arguments[i];
    if (slice->has_flow && slice->flow_ends) {
        begin.n_terminating_flow_ids = 1;
        begin.terminating_flow_ids = &slice->flow;
    } else if (slice->has_flow) {
        begin.n_flow_ids = 1;
        begin.flow_ids = &slice->flow;
    }
    HAL_TRY(add_event(raw, slice->begin_ns, track, HALTRACE__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN,
                      &begin));
    return add_event(raw, end_ns, track, HALTRACE__TRACK_EVENT__TYPE__TYPE_SLICE_END, &end);
}

/* ---- Tracks ------------------------------------------------------------------------------- */

enum hal_status trace_packets_begin(struct trace_packets *packets,
                                    const struct trace_header *header, struct trace_bytes *raw)
{
    Haltrace__ClockSnapshot__Clock monotonic = HALTRACE__CLOCK_SNAPSHOT__CLOCK__INIT;
    Haltrace__ClockSnapshot__Clock wall = HALTRACE__CLOCK_SNAPSHOT__CLOCK__INIT;
    Haltrace__ClockSnapshot__Clock *clocks[] = {&monotonic, &wall};
    monotonic.clock_id = CLOCK_MONOTONIC_ID;
    monotonic.timestamp = (uint64_t)header->start_ns;
    wall.clock_id = CLOCK_REALTIME_ID;
    wall.timestamp = (uint64_t)header->start_wall_ns;
    Haltrace__ClockSnapshot snapshot = HALTRACE__CLOCK_SNAPSHOT__INIT;
    snapshot.n_clocks = 2;
    snapshot.clocks = clocks;
    snapshot.primary_trace_clock = CLOCK_MONOTONIC_ID;
    Haltrace__TracePacket packet = new_packet(header->start_ns);
    packet.sequence_flags = STATE_CLEARED;
    packet.data_case = HALTRACE__TRACE_PACKET__DATA_CLOCK_SNAPSHOT;
    packet.clock_snapshot = &snapshot;
    HAL_TRY(add_packet(raw, &packet));

    char name[NAME_BYTES];
    trace_utf8_copy(name, sizeof name, header->program, strlen(header->program));
    Haltrace__ProcessDescriptor process = HALTRACE__PROCESS_DESCRIPTOR__INIT;
    process.pid = (int32_t)packets->process_id;
    process.process_name = name;
    Haltrace__TrackDescriptor track = HALTRACE__TRACK_DESCRIPTOR__INIT;
    track.uuid = PROCESS_TRACK;
    track.process = &process;
    return add_track(raw, &track);
}

/* Describes the thread's track when it is first used, and again when its name is known. */
static enum hal_status describe_thread(struct trace_packets *packets, uint32_t id,
                                       struct trace_bytes *raw)
{
    const struct trace_thread *thread = trace_tables_thread(packets->tables, id);
    const struct trace_string *label =
        thread ? trace_tables_string(packets->tables, thread->name) : NULL;
    const uint8_t wanted = label ? 2 : 1;
    const size_t old = packets->thread_capacity;
    void *described = packets->described_threads;
    if (!hal_grow(&described, &packets->thread_capacity, (size_t)id + 1, 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for tracks");
    packets->described_threads = described;
    if (packets->thread_capacity > old)
        memset(packets->described_threads + old, 0, packets->thread_capacity - old);
    if (packets->described_threads[id] >= wanted)
        return HAL_OK;
    packets->described_threads[id] = wanted;
    char name[NAME_BYTES] = "";
    if (label)
        trace_utf8_copy(name, sizeof name, label->text, label->length);
    Haltrace__ThreadDescriptor descriptor = HALTRACE__THREAD_DESCRIPTOR__INIT;
    descriptor.pid = (int32_t)packets->process_id;
    descriptor.tid = (int32_t)(thread ? thread->system_id : id);
    descriptor.thread_name = name;
    Haltrace__TrackDescriptor track = HALTRACE__TRACK_DESCRIPTOR__INIT;
    track.uuid = THREAD_TRACK(id);
    track.parent_uuid = PROCESS_TRACK;
    track.thread = &descriptor;
    return add_track(raw, &track);
}

static enum hal_status add_scope(struct trace_packets *packets, uint32_t thread,
                                 const struct trace_scope *scope, struct trace_bytes *raw)
{
    char name[NAME_BYTES];
    Haltrace__TrackEvent event = HALTRACE__TRACK_EVENT__INIT;
    HAL_TRY(describe_thread(packets, thread, raw));
    if (scope->head.kind == TRACE_SCOPE_END)
        return add_event(raw, scope->head.end_ns, THREAD_TRACK(thread),
                         HALTRACE__TRACK_EVENT__TYPE__TYPE_SLICE_END, &event);
    const struct trace_string *label = trace_tables_string(packets->tables, scope->name);
    if (label)
        trace_utf8_copy(name, sizeof name, label->text, label->length);
    else
        snprintf(name, sizeof name, "scope");
    event.name = name;
    return add_event(raw, scope->head.begin_ns, THREAD_TRACK(thread),
                     HALTRACE__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, &event);
}

/* A slice on a track of the queue where nothing is at that time; none when all are taken. `tracks`
 * is added to the numbers of tracks, `word` to their names. */
static enum hal_status add_in_lane(struct trace_lane *lanes, uint32_t queue, uint64_t tracks,
                                   const char *word, struct slice *slice, struct trace_bytes *raw)
{
    char track_name[64];
    uint32_t lane = 0;
    lanes += (size_t)queue * LANES;
    while (lane < LANES && lanes[lane].free_ns > slice->begin_ns)
        lane++;
    if (lane == LANES)
        return HAL_OK;
    if (!lanes[lane].is_described) {
        Haltrace__TrackDescriptor track = HALTRACE__TRACK_DESCRIPTOR__INIT;
        snprintf(track_name, sizeof track_name, "queue %u%s", queue, word);
        track.uuid = LANE_TRACK(queue, lane) + tracks;
        track.parent_uuid = PROCESS_TRACK;
        track.name = track_name;
        HAL_TRY(add_track(raw, &track));
        lanes[lane].is_described = true;
    }
    lanes[lane].free_ns = slice->end_ns;
    return add_slice(raw, LANE_TRACK(queue, lane) + tracks, slice);
}

static bool copy_string(const struct trace_packets *packets, uint32_t id, char out[NAME_BYTES])
{
    const struct trace_string *string = trace_tables_string(packets->tables, id);
    if (string)
        trace_utf8_copy(out, NAME_BYTES, string->text, string->length);
    return string != NULL;
}

static enum hal_status add_work(struct trace_packets *packets,
                                const struct trace_submission_done *done, struct trace_bytes *raw)
{
    char name[NAME_BYTES], message[NAME_BYTES];
    if (done->queue >= TRACE_MAX_QUEUES || !done->head.end_ns)
        return HAL_OK;
    snprintf(name, sizeof name, "#s%" PRIu64 "%s", done->submission,
             done->head.status ? " (failed)" : "");
    struct slice slice = {.begin_ns = done->head.begin_ns,
                          .end_ns = done->head.end_ns,
                          .name = name,
                          .has_flow = true,
                          .flow_ends = true,
                          .flow = done->submission};
    add_number(&slice, "queue", done->queue);
    if (done->ready_ns > 0 && done->ready_ns <= done->head.begin_ns)
        add_number(&slice, "ready for ns", (uint64_t)(done->head.begin_ns - done->ready_ns));
    if (done->busy_ns)
        add_number(&slice, "busy ns", (uint64_t)done->busy_ns);
    if (done->head.status)
        add_text(&slice, "status",
                 (char *)(uintptr_t)hal_status_name((enum hal_status)done->head.status));
    if (done->message && copy_string(packets, done->message, message))
        add_text(&slice, "message", message);
    return add_in_lane(packets->lanes, done->queue, 0, "", &slice, raw);
}

/* Named by its kernel; its place is by submission, command buffer, where it is not the first one,
 * and dispatch in it, and is the name of one whose kernel is unknown. */
static enum hal_status add_dispatch(struct trace_packets *packets,
                                    const struct trace_dispatch_times *times,
                                    const struct trace_dispatch_time *time, struct trace_bytes *raw)
{
    char place[64], name[NAME_BYTES], groups[64];
    struct trace_kernel kernel;
    if (time->command_buffer)
        snprintf(place, sizeof place, "#s%" PRIu64 " command buffer %u, dispatch %u",
                 times->submission, time->command_buffer, time->dispatch);
    else
        snprintf(place, sizeof place, "#s%" PRIu64 ".d%u", times->submission, time->dispatch);
    struct slice slice = {.begin_ns = time->begin_ns, .end_ns = time->end_ns, .name = place};
    add_text(&slice, "dispatch", place);
    add_number(&slice, "queue", times->queue);
    if (trace_kernels_find(&packets->kernels, times->submission, time, &kernel) &&
        copy_string(packets, kernel.name, name)) {
        const uint32_t *count = kernel.groups;
        snprintf(groups, sizeof groups, "%u x %u x %u", count[0], count[1], count[2]);
        slice.name = name;
        add_text(&slice, "kernel", name);
        add_text(&slice, "workgroups",
                 count[0] | count[1] | count[2] ? groups : "as a buffer says");
    }
    return add_in_lane(packets->dispatch_lanes, times->queue, DISPATCH_TRACKS, " dispatches",
                       &slice, raw);
}

static enum hal_status add_dispatches(struct trace_packets *packets,
                                      const struct trace_dispatch_times *times,
                                      struct trace_bytes *raw)
{
    for (uint32_t i = 0; times->queue < TRACE_MAX_QUEUES && i < times->time_count; i++) {
        if (times->times[i].end_ns)
            HAL_TRY(add_dispatch(packets, times, &times->times[i], raw));
    }
    return HAL_OK;
}

/* ---- Memory ------------------------------------------------------------------------------- */

static enum hal_status count_memory(struct trace_packets *packets, int64_t time_ns,
                                    struct trace_bytes *raw)
{
    if (!packets->counts_memory) {
        Haltrace__CounterDescriptor counter = HALTRACE__COUNTER_DESCRIPTOR__INIT;
        Haltrace__TrackDescriptor track = HALTRACE__TRACK_DESCRIPTOR__INIT;
        counter.unit = HALTRACE__COUNTER_DESCRIPTOR__UNIT__UNIT_SIZE_BYTES;
        track.uuid = MEMORY_TRACK;
        track.parent_uuid = PROCESS_TRACK;
        track.name = "memory of buffers";
        track.counter = &counter;
        HAL_TRY(add_track(raw, &track));
        packets->counts_memory = true;
    }
    Haltrace__TrackEvent event = HALTRACE__TRACK_EVENT__INIT;
    event.counter_value = (int64_t)packets->memory_bytes;
    return add_event(raw, time_ns, MEMORY_TRACK, HALTRACE__TRACK_EVENT__TYPE__TYPE_COUNTER, &event);
}

static bool remember_size(struct trace_packets *packets, uint64_t buffer, uint64_t size)
{
    void *sizes = packets->sizes, *indices = packets->free_indices;
    const bool reuses = packets->free_count > 0;
    const uint32_t fresh =
        reuses ? packets->free_indices[packets->free_count - 1] : packets->size_count;
    uint32_t index;
    if (!hal_grow(&sizes, &packets->size_capacity, (size_t)fresh + 1, sizeof *packets->sizes))
        return false;
    packets->sizes = sizes;
    /* Room for its end, too: that must not fail. */
    if (!hal_grow(&indices, &packets->free_capacity, packets->size_capacity,
                  sizeof *packets->free_indices))
        return false;
    packets->free_indices = indices;
    if (!hal_idmap_add(&packets->buffers, buffer, fresh, &index))
        return false;
    if (index == fresh) {
        packets->free_count -= reuses;
        packets->size_count += !reuses;
    } else {
        packets->memory_bytes -= packets->sizes[index];
    }
    packets->sizes[index] = size;
    packets->memory_bytes += size;
    return true;
}

static enum hal_status add_buffer(struct trace_packets *packets,
                                  const struct trace_buffer_create *create, struct trace_bytes *raw)
{
    if (create->head.status || !create->buffer)
        return HAL_OK;
    if (!remember_size(packets, create->buffer, create->size))
        return hal_fail(HAL_NO_MEMORY, "no memory for the sizes of buffers");
    return count_memory(packets, create->head.end_ns, raw);
}

static enum hal_status remove_buffer(struct trace_packets *packets,
                                     const struct trace_object_event *destroy,
                                     struct trace_bytes *raw)
{
    uint32_t index;
    if (!hal_idmap_remove(&packets->buffers, destroy->object, &index))
        return HAL_OK;
    packets->free_indices[packets->free_count++] = index;
    packets->memory_bytes -= packets->sizes[index];
    return count_memory(packets, destroy->head.begin_ns, raw);
}

/* ---- Events ------------------------------------------------------------------------------- */

static void describe_submit(const struct trace_submit *submit, struct slice *slice)
{
    slice->has_flow = true;
    slice->flow = submit->submission;
    add_number(slice, "queue", submit->queue);
    add_number(slice, "command buffers", submit->command_buffer_count);
    add_number(slice, "waits", submit->wait_count);
    add_number(slice, "signals", submit->signal_count);
    if (submit->size)
        add_number(slice, "bytes", submit->size);
}

enum hal_status trace_packets_event(struct trace_packets *packets, uint32_t thread,
                                    const struct trace_event *event, struct trace_bytes *raw)
{
    char name[NAME_BYTES];
    const void *record = event;
    const struct trace_submit *submit = record;
    struct slice slice = {.begin_ns = event->begin_ns, .end_ns = event->end_ns, .name = name};
    switch (event->kind) {
    case TRACE_SCOPE_BEGIN:
    case TRACE_SCOPE_END: return add_scope(packets, thread, record, raw);
    case TRACE_SUBMISSION_DONE: return add_work(packets, record, raw);
    case TRACE_DISPATCH_TIMES: return add_dispatches(packets, record, raw);
    case TRACE_BUFFER_CREATE: return add_buffer(packets, record, raw);
    case TRACE_BUFFER_DESTROY: return remove_buffer(packets, record, raw);
    case TRACE_SUBMIT:
        snprintf(name, sizeof name, "submit #s%" PRIu64, submit->submission);
        describe_submit(record, &slice);
        break;
    case TRACE_SEMAPHORE_WAIT:
        snprintf(name, sizeof name, "%s", trace_event_name(event->kind));
        add_number(&slice, "semaphores",
                   ((const struct trace_semaphore_wait *)record)->value_count);
        break;
    case TRACE_WAIT_IDLE: snprintf(name, sizeof name, "%s", trace_event_name(event->kind)); break;
    default: return HAL_OK;
    }
    if (event->status)
        add_text(&slice, "status",
                 (char *)(uintptr_t)hal_status_name((enum hal_status)event->status));
    HAL_TRY(describe_thread(packets, thread, raw));
    return add_slice(raw, THREAD_TRACK(thread), &slice);
}
