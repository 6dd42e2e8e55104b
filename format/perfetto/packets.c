/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a trace that Perfetto understands. */
#include "format/perfetto/packets.h"

#include "format/base/json.h"
#include "format/container/frames.h"
#include "format/limits.h"
#include "format/perfetto/slices.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    CLOCK_REALTIME_ID = 1,
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
    trace_channels_finish(&packets->channels);
    free(packets->collectives);
    hal_idmap_finish(&packets->buffers);
    free(packets->sizes);
    free(packets->free_indices);
    *packets = (struct trace_packets){0};
}

static Haltrace__TracePacket new_packet(int64_t time_ns)
{
    Haltrace__TracePacket packet = HALTRACE__TRACE_PACKET__INIT;
    packet.timestamp = time_ns > 0 ? (uint64_t)time_ns : 0;
    packet.trusted_packet_sequence_id = TRACE_SLICE_SEQUENCE;
    packet.timestamp_clock_id = TRACE_SLICE_CLOCK;
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

/* ---- Tracks ------------------------------------------------------------------------------- */

enum hal_status trace_packets_begin(struct trace_packets *packets,
                                    const struct trace_header *header, struct trace_bytes *raw)
{
    Haltrace__ClockSnapshot__Clock monotonic = HALTRACE__CLOCK_SNAPSHOT__CLOCK__INIT;
    Haltrace__ClockSnapshot__Clock wall = HALTRACE__CLOCK_SNAPSHOT__CLOCK__INIT;
    Haltrace__ClockSnapshot__Clock *clocks[] = {&monotonic, &wall};
    monotonic.clock_id = TRACE_SLICE_CLOCK;
    monotonic.timestamp = (uint64_t)header->start_ns;
    wall.clock_id = CLOCK_REALTIME_ID;
    wall.timestamp = (uint64_t)header->start_wall_ns;
    Haltrace__ClockSnapshot snapshot = HALTRACE__CLOCK_SNAPSHOT__INIT;
    snapshot.n_clocks = 2;
    snapshot.clocks = clocks;
    snapshot.primary_trace_clock = TRACE_SLICE_CLOCK;
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
    HAL_TRY(describe_thread(packets, thread, raw));
    if (scope->head.kind == TRACE_SCOPE_END)
        return trace_slice_end(raw, THREAD_TRACK(thread), scope->head.end_ns);
    const struct trace_string *label = trace_tables_string(packets->tables, scope->name);
    if (label)
        trace_utf8_copy(name, sizeof name, label->text, label->length);
    else
        snprintf(name, sizeof name, "scope");
    const struct trace_slice slice = {.begin_ns = scope->head.begin_ns, .name = name};
    return trace_slice_begin(raw, THREAD_TRACK(thread), &slice);
}

/* A slice on a track of the queue where nothing is at that time; none when all are taken. `tracks`
 * is added to the numbers of tracks, `word` to their names. */
static enum hal_status add_in_lane(struct trace_lane *lanes, uint32_t queue, uint64_t tracks,
                                   const char *word, struct trace_slice *slice,
                                   struct trace_bytes *raw)
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
    return trace_slice_append(raw, LANE_TRACK(queue, lane) + tracks, slice);
}

static bool copy_string(const struct trace_packets *packets, uint32_t id, char out[NAME_BYTES])
{
    const struct trace_string *string = trace_tables_string(packets->tables, id);
    if (string)
        trace_utf8_copy(out, NAME_BYTES, string->text, string->length);
    return string != NULL;
}

/* ---- Work --------------------------------------------------------------------------------- */

static enum hal_status keep_collective(struct trace_packets *packets, uint32_t thread,
                                       const struct trace_collective *collective)
{
    const size_t old = packets->collective_capacity;
    void *list = packets->collectives;
    const bool grown = hal_grow(&list, &packets->collective_capacity, (size_t)thread + 1,
                                sizeof *packets->collectives);
    packets->collectives = list;
    if (!grown)
        return hal_fail(HAL_NO_MEMORY, "no memory for the collectives of thread %u", thread);
    if (packets->collective_capacity > old)
        memset(packets->collectives + old, 0,
               (packets->collective_capacity - old) * sizeof *packets->collectives);
    packets->collectives[thread] = *collective;
    return HAL_OK;
}

/* What the submission did on a channel; NULL: nothing, or an end that another thread saw. */
static const struct trace_collective *collective_of(const struct trace_packets *packets,
                                                    uint32_t thread, uint64_t submission)
{
    if (thread >= packets->collective_capacity)
        return NULL;
    const struct trace_collective *last = &packets->collectives[thread];
    return last->head.kind == TRACE_COLLECTIVE && last->submission == submission ? last : NULL;
}

struct collective_texts {
    char name[TRACE_COLLECTIVE_NAME_BYTES], channel[NAME_BYTES + 64];
};

static void describe_collective(const struct trace_packets *packets,
                                const struct trace_collective *collective,
                                struct trace_slice *slice, struct collective_texts *texts)
{
    char label[NAME_BYTES];
    const struct trace_channel_create *channel =
        trace_channels_find(&packets->channels, collective->channel);
    trace_slice_text(slice, "collective", trace_collective_name(collective, texts->name));
    trace_slice_number(slice, "elements", collective->count);
    if (channel) {
        if (!channel->label || !copy_string(packets, channel->label, label))
            snprintf(label, sizeof label, "group %" PRIu64, channel->group);
        snprintf(texts->channel, sizeof texts->channel, "%s, rank %u of %u", label, channel->rank,
                 channel->count);
        trace_slice_text(slice, "channel", texts->channel);
    }
    if (trace_collective_has_peer(collective->collective))
        trace_slice_number(slice, "peer", collective->peer);
    if (collective->send_size)
        trace_slice_number(slice, "sent bytes", collective->send_size);
    if (collective->receive_size)
        trace_slice_number(slice, "received bytes", collective->receive_size);
}

static enum hal_status add_work(struct trace_packets *packets, uint32_t thread,
                                const struct trace_submission_done *done, struct trace_bytes *raw)
{
    char name[NAME_BYTES], message[NAME_BYTES], operation[TRACE_COLLECTIVE_NAME_BYTES];
    struct collective_texts texts;
    const struct trace_collective *collective = collective_of(packets, thread, done->submission);
    if (done->queue >= TRACE_MAX_QUEUES || !done->head.end_ns)
        return HAL_OK;
    char *end = trace_slice_digits(trace_slice_letters(name, "#s"), done->submission);
    if (collective) {
        trace_collective_operation_name(collective->collective, operation);
        end = trace_slice_letters(trace_slice_letters(end, " "), operation);
    }
    trace_slice_letters(end, done->head.status ? " (failed)" : "");
    struct trace_slice slice = {.begin_ns = done->head.begin_ns,
                                .end_ns = done->head.end_ns,
                                .name = name,
                                .has_flow = true,
                                .flow_ends = true,
                                .flow = done->submission};
    trace_slice_number(&slice, "queue", done->queue);
    if (done->ready_ns > 0 && done->ready_ns <= done->head.begin_ns)
        trace_slice_number(&slice, "ready for ns",
                           (uint64_t)(done->head.begin_ns - done->ready_ns));
    if (done->busy_ns)
        trace_slice_number(&slice, "busy ns", (uint64_t)done->busy_ns);
    if (collective)
        describe_collective(packets, collective, &slice, &texts);
    if (done->head.status)
        trace_slice_text(&slice, "status", hal_status_name((enum hal_status)done->head.status));
    if (done->message && copy_string(packets, done->message, message))
        trace_slice_text(&slice, "message", message);
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
        trace_slice_digits(
            trace_slice_letters(
                trace_slice_digits(trace_slice_letters(place, "#s"), times->submission), ".d"),
            time->dispatch);
    struct trace_slice slice = {.begin_ns = time->begin_ns, .end_ns = time->end_ns, .name = place};
    trace_slice_text(&slice, "dispatch", place);
    trace_slice_number(&slice, "queue", times->queue);
    if (trace_kernels_find(&packets->kernels, times->submission, time, &kernel) &&
        copy_string(packets, kernel.name, name)) {
        const uint32_t *count = kernel.groups;
        snprintf(groups, sizeof groups, "%u x %u x %u", count[0], count[1], count[2]);
        slice.name = name;
        trace_slice_text(&slice, "kernel", name);
        trace_slice_text(&slice, "workgroups",
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
    return trace_slice_counter(raw, MEMORY_TRACK, time_ns, packets->memory_bytes);
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

static void describe_submit(const struct trace_submit *submit, struct trace_slice *slice)
{
    slice->has_flow = true;
    slice->flow = submit->submission;
    trace_slice_number(slice, "queue", submit->queue);
    trace_slice_number(slice, "command buffers", submit->command_buffer_count);
    trace_slice_number(slice, "waits", submit->wait_count);
    trace_slice_number(slice, "signals", submit->signal_count);
    if (submit->size)
        trace_slice_number(slice, "bytes", submit->size);
}

enum hal_status trace_packets_event(struct trace_packets *packets, uint32_t thread,
                                    const struct trace_event *event, struct trace_bytes *raw)
{
    char name[NAME_BYTES];
    const void *record = event;
    const struct trace_submit *submit = record;
    struct trace_slice slice = {.begin_ns = event->begin_ns, .end_ns = event->end_ns, .name = name};
    switch (event->kind) {
    case TRACE_SCOPE_BEGIN:
    case TRACE_SCOPE_END: return add_scope(packets, thread, record, raw);
    case TRACE_SUBMISSION_DONE: return add_work(packets, thread, record, raw);
    case TRACE_CHANNEL_CREATE: return trace_channels_take(&packets->channels, record);
    case TRACE_COLLECTIVE: return keep_collective(packets, thread, record);
    case TRACE_DISPATCH_TIMES: return add_dispatches(packets, record, raw);
    case TRACE_BUFFER_CREATE: return add_buffer(packets, record, raw);
    case TRACE_BUFFER_DESTROY: return remove_buffer(packets, record, raw);
    case TRACE_SUBMIT:
        trace_slice_digits(trace_slice_letters(name, "submit #s"), submit->submission);
        describe_submit(record, &slice);
        break;
    case TRACE_SEMAPHORE_WAIT:
        slice.name = trace_event_name(event->kind);
        trace_slice_number(&slice, "semaphores",
                           TRACE_AS(trace_semaphore_wait, record)->value_count);
        break;
    case TRACE_WAIT_IDLE: slice.name = trace_event_name(event->kind); break;
    default: return HAL_OK;
    }
    if (event->status)
        trace_slice_text(&slice, "status", hal_status_name((enum hal_status)event->status));
    HAL_TRY(describe_thread(packets, thread, raw));
    return trace_slice_append(raw, THREAD_TRACK(thread), &slice);
}
