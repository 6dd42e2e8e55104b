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
#define THREAD_TRACK(id) (1000u + (uint64_t)(id))
#define LANE_TRACK(q, l) (1000000u + (uint64_t)(q)*1000u + (uint64_t)(l))
#define DISPATCH_TRACKS  1000000u /* added to the track of the lane of work */

enum hal_status trace_packets_init(struct trace_packets *packets, uint64_t process_id,
                                   const struct trace_tables *tables)
{
    *packets = (struct trace_packets){.process_id = process_id, .tables = tables};
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

/* A slice of known begin and end. `flow`: 0 for none. */
static enum hal_status add_slice(struct trace_bytes *raw, int64_t begin_ns, int64_t end_ns,
                                 uint64_t track, char *name, uint64_t flow, bool flow_ends)
{
    Haltrace__TrackEvent begin = HALTRACE__TRACK_EVENT__INIT, end = HALTRACE__TRACK_EVENT__INIT;
    begin.name = name;
    if (flow && flow_ends) {
        begin.n_terminating_flow_ids = 1;
        begin.terminating_flow_ids = &flow;
    } else if (flow) {
        begin.n_flow_ids = 1;
        begin.flow_ids = &flow;
    }
    HAL_TRY(add_event(raw, begin_ns, track, HALTRACE__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, &begin));
    return add_event(raw, end_ns > begin_ns ? end_ns : begin_ns, track,
                     HALTRACE__TRACK_EVENT__TYPE__TYPE_SLICE_END, &end);
}

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
                                   const char *word, int64_t begin_ns, int64_t end_ns, char *name,
                                   uint64_t flow, struct trace_bytes *raw)
{
    char track_name[64];
    uint32_t lane = 0;
    lanes += (size_t)queue * LANES;
    while (lane < LANES && lanes[lane].free_ns > begin_ns)
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
    lanes[lane].free_ns = end_ns;
    return add_slice(raw, begin_ns, end_ns, LANE_TRACK(queue, lane) + tracks, name, flow, true);
}

static enum hal_status add_work(struct trace_packets *packets,
                                const struct trace_submission_done *done, struct trace_bytes *raw)
{
    char name[NAME_BYTES];
    if (done->queue >= TRACE_MAX_QUEUES || !done->head.end_ns)
        return HAL_OK;
    snprintf(name, sizeof name, "#s%" PRIu64 "%s", done->submission,
             done->head.status ? " (failed)" : "");
    return add_in_lane(packets->lanes, done->queue, 0, "", done->head.begin_ns, done->head.end_ns,
                       name, done->submission, raw);
}

/* Named by submission, command buffer, where it is not the first one, and dispatch in it. */
static enum hal_status add_dispatches(struct trace_packets *packets,
                                      const struct trace_dispatch_times *times,
                                      struct trace_bytes *raw)
{
    char name[NAME_BYTES];
    for (uint32_t i = 0; times->queue < TRACE_MAX_QUEUES && i < times->time_count; i++) {
        const struct trace_dispatch_time *time = &times->times[i];
        if (!time->end_ns)
            continue;
        if (time->command_buffer)
            snprintf(name, sizeof name, "#s%" PRIu64 " command buffer %u, dispatch %u",
                     times->submission, time->command_buffer, time->dispatch);
        else
            snprintf(name, sizeof name, "#s%" PRIu64 ".d%u", times->submission, time->dispatch);
        HAL_TRY(add_in_lane(packets->dispatch_lanes, times->queue, DISPATCH_TRACKS, " dispatches",
                            time->begin_ns, time->end_ns, name, 0, raw));
    }
    return HAL_OK;
}

enum hal_status trace_packets_event(struct trace_packets *packets, uint32_t thread,
                                    const struct trace_event *event, struct trace_bytes *raw)
{
    char name[NAME_BYTES];
    uint64_t flow = 0;
    const void *record = event;
    switch (event->kind) {
    case TRACE_SCOPE_BEGIN:
    case TRACE_SCOPE_END: return add_scope(packets, thread, record, raw);
    case TRACE_SUBMISSION_DONE: return add_work(packets, record, raw);
    case TRACE_DISPATCH_TIMES: return add_dispatches(packets, record, raw);
    case TRACE_SUBMIT:
        flow = ((const struct trace_submit *)record)->submission;
        snprintf(name, sizeof name, "submit #s%" PRIu64, flow);
        break;
    case TRACE_SEMAPHORE_WAIT:
    case TRACE_WAIT_IDLE: snprintf(name, sizeof name, "%s", trace_event_name(event->kind)); break;
    default: return HAL_OK;
    }
    HAL_TRY(describe_thread(packets, thread, raw));
    return add_slice(raw, event->begin_ns, event->end_ns, THREAD_TRACK(thread), name, flow, false);
}
