/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a trace that Perfetto understands. */
#include "format/perfetto/packets.h"

#include "format/limits.h"
#include "format/perfetto/track_event.h"
#include "format/perfetto/wire.h"

#include <inttypes.h>
#include <stdio.h>

enum { LANES = 64, NAME_BYTES = TRACE_SLICE_NAME_BYTES };

/* Tracks are numbered by what they show, so that nothing needs to be remembered. */
#define MEMORY_TRACK     2u
#define THREAD_TRACK(id) (1000u + (uint64_t)(id))
#define LANE_TRACK(q, l) (1000000u + (uint64_t)(q)*1000u + (uint64_t)(l))
#define DISPATCH_TRACKS  1000000u /* added to the track of the lane of work */

static const char *string_in(const void *tables, uint32_t id)
{
    const struct trace_string *string = trace_tables_string(tables, id);
    return string ? string->text : NULL;
}

static const struct trace_thread *thread_in(const void *tables, uint32_t id)
{
    return trace_tables_thread(tables, id);
}

void trace_packets_init(struct trace_packets *packets, const struct trace_header *header,
                        const struct trace_tables *tables)
{
    const bool times_dispatches = header->mode && strcmp(header->mode, "queue") != 0;
    *packets = (struct trace_packets){.process_id = header->process_id,
                                      .timeline = {
                                          .source = {tables, string_in, thread_in},
                                          .most_tracks = SIZE_MAX,
                                          .most_lanes = LANES,
                                          .recorded = {.is_bounded = true,
                                                       .without_commands = !times_dispatches,
                                                       .without_groups = true},
                                      }};
}

void trace_packets_finish(struct trace_packets *packets)
{
    trace_timeline_finish(&packets->timeline);
    trace_channels_finish(&packets->channels);
}

/* The string, cut, as UTF-8. False: the trace does not have it. */
static bool copy_string(const struct trace_packets *packets, uint32_t id, char out[NAME_BYTES])
{
    const char *string = string_in(packets->timeline.source.of, id);
    if (string)
        trace_utf8_copy(out, NAME_BYTES, string, strlen(string));
    return string != NULL;
}

/* ---- Tracks ------------------------------------------------------------------------------- */

static enum hal_status move_text(struct trace_text *text, struct trace_bytes *raw)
{
    const bool has_room = !text->is_failed && trace_bytes_reserve(raw, text->bytes);
    if (has_room) {
        memcpy(raw->data + raw->count, text->data, text->bytes);
        raw->count += text->bytes;
    }
    trace_text_finish(text);
    return has_room ? HAL_OK : hal_fail(HAL_NO_MEMORY, "no memory for tracks");
}

static enum hal_status add_track(struct trace_packets *packets, struct trace_wire_track track,
                                 struct trace_bytes *raw)
{
    struct trace_text text = {0};
    track.process_id = packets->process_id;
    trace_wire_track(&text, &track);
    return move_text(&text, raw);
}

enum hal_status trace_packets_begin(struct trace_packets *packets,
                                    const struct trace_header *header, struct trace_bytes *raw)
{
    struct trace_text text = {0};
    char name[NAME_BYTES];
    trace_wire_clocks(&text, header);
    HAL_TRY(move_text(&text, raw));
    trace_utf8_copy(name, sizeof name, header->program, strlen(header->program));
    const struct trace_wire_track process = {
        .id = WIRE_PROCESS_TRACK, .kind = WIRE_PROCESS, .name = name};
    return add_track(packets, process, raw);
}

/* Describes the thread's track when it is first used, and again when its name is known. */
static enum hal_status describe_thread(struct trace_packets *packets, uint32_t id,
                                       struct trace_bytes *raw)
{
    const struct trace_thread *thread = thread_in(packets->timeline.source.of, id);
    char name[NAME_BYTES] = "";
    bool is_new;
    HAL_TRY(trace_timeline_thread(&packets->timeline, id, &is_new));
    if (!is_new)
        return HAL_OK;
    if (thread)
        copy_string(packets, thread->name, name);
    const struct trace_wire_track track = {.id = THREAD_TRACK(id),
                                           .kind = WIRE_THREAD,
                                           .name = name,
                                           .thread_id = thread ? thread->system_id : id};
    return add_track(packets, track, raw);
}

/* On a track of the queue where nothing is at that time; none when all are taken. */
static enum hal_status add_in_lane(struct trace_packets *packets, enum trace_track_kind kind,
                                   uint32_t queue, const struct trace_slice *slice,
                                   struct trace_track_event *event, struct trace_bytes *raw)
{
    struct trace_track *track;
    char name[TRACE_TRACK_NAME_BYTES];
    HAL_TRY(trace_timeline_track(&packets->timeline, kind, queue, 0, slice, &track));
    if (!track)
        return HAL_OK;
    if (!track->id) {
        track->id =
            LANE_TRACK(queue, track->lane) + (kind == TRACE_TRACK_DISPATCHES ? DISPATCH_TRACKS : 0);
        trace_track_name(track, name);
        HAL_TRY(add_track(
            packets, (struct trace_wire_track){.id = track->id, .kind = WIRE_QUEUE, .name = name},
            raw));
    }
    event->begin_ns = slice->begin_ns;
    event->end_ns = slice->end_ns;
    return trace_track_event_append(raw, track->id, event);
}

/* ---- Work --------------------------------------------------------------------------------- */

struct collective_texts {
    char name[TRACE_COLLECTIVE_NAME_BYTES], channel[NAME_BYTES + 64];
};

static void describe_collective(const struct trace_packets *packets,
                                const struct trace_collective *collective,
                                struct trace_track_event *event, struct collective_texts *texts)
{
    char label[NAME_BYTES];
    const struct trace_channel_create *channel =
        trace_channels_find(&packets->channels, collective->channel);
    trace_track_event_text(event, "collective", trace_collective_name(collective, texts->name));
    trace_track_event_number(event, "elements", collective->count);
    if (channel) {
        if (!channel->label || !copy_string(packets, channel->label, label))
            snprintf(label, sizeof label, "group %" PRIu64, channel->group);
        snprintf(texts->channel, sizeof texts->channel, "%s, rank %u of %u", label, channel->rank,
                 channel->count);
        trace_track_event_text(event, "channel", texts->channel);
    }
    if (trace_collective_has_peer(collective->collective))
        trace_track_event_number(event, "peer", collective->peer);
    if (collective->send_size)
        trace_track_event_number(event, "sent bytes", collective->send_size);
    if (collective->receive_size)
        trace_track_event_number(event, "received bytes", collective->receive_size);
}

static enum hal_status add_work(struct trace_packets *packets,
                                const struct trace_submission_done *done, struct trace_bytes *raw)
{
    char message[NAME_BYTES];
    struct collective_texts texts;
    struct trace_slice slice;
    trace_timeline_work(&packets->timeline, done, &slice);
    if (done->queue >= TRACE_MAX_QUEUES || !slice.is_timed)
        return HAL_OK;
    struct trace_track_event event = {
        .name = slice.name, .has_flow = true, .flow_ends = true, .flow = done->submission};
    trace_track_event_number(&event, "queue", done->queue);
    if (done->ready_ns > 0 && done->ready_ns <= done->head.begin_ns)
        trace_track_event_number(&event, "ready for ns",
                                 (uint64_t)(done->head.begin_ns - done->ready_ns));
    if (done->busy_ns)
        trace_track_event_number(&event, "busy ns", (uint64_t)done->busy_ns);
    if (slice.collective)
        describe_collective(packets, slice.collective, &event, &texts);
    if (done->head.status)
        trace_track_event_text(&event, "status",
                               hal_status_name((enum hal_status)done->head.status));
    if (done->message && copy_string(packets, done->message, message))
        trace_track_event_text(&event, "message", message);
    return add_in_lane(packets, TRACE_TRACK_WORK, done->queue, &slice, &event, raw);
}

/* The place of a dispatch: submission, command buffer if it is not the first, dispatch in it. */
static void name_place(const struct trace_dispatch_times *times,
                       const struct trace_dispatch_time *time, char place[64])
{
    if (time->command_buffer) {
        snprintf(place, 64, "#s%" PRIu64 " command buffer %u, dispatch %u", times->submission,
                 time->command_buffer, time->dispatch);
        return;
    }
    char *end = trace_put_digits(trace_put_letters(place, "#s"), times->submission);
    trace_put_digits(trace_put_letters(end, ".d"), time->dispatch);
}

/* Named by its kernel, or its place where that is unknown. */
static enum hal_status add_dispatch(struct trace_packets *packets,
                                    const struct trace_dispatch_times *times, uint32_t index,
                                    struct trace_bytes *raw)
{
    char place[64], name[NAME_BYTES], groups[64];
    struct trace_slice slice;
    trace_timeline_dispatch(&packets->timeline, times, index, &slice);
    if (!slice.is_timed)
        return HAL_OK;
    name_place(times, &times->times[index], place);
    struct trace_track_event event = {.name = place};
    trace_track_event_text(&event, "dispatch", place);
    trace_track_event_number(&event, "queue", times->queue);
    if (slice.kernel) {
        const uint32_t *count = slice.kernel->groups;
        trace_utf8_copy(name, sizeof name, slice.name, strlen(slice.name));
        snprintf(groups, sizeof groups, "%u x %u x %u", count[0], count[1], count[2]);
        event.name = name;
        trace_track_event_text(&event, "kernel", name);
        trace_track_event_text(&event, "workgroups",
                               count[0] | count[1] | count[2] ? groups : "as a buffer says");
    }
    return add_in_lane(packets, TRACE_TRACK_DISPATCHES, times->queue, &slice, &event, raw);
}

static enum hal_status add_dispatches(struct trace_packets *packets,
                                      const struct trace_dispatch_times *times,
                                      struct trace_bytes *raw)
{
    for (uint32_t i = 0; times->queue < TRACE_MAX_QUEUES && i < times->time_count; i++)
        HAL_TRY(add_dispatch(packets, times, i, raw));
    return HAL_OK;
}

/* ---- Memory ------------------------------------------------------------------------------- */

static enum hal_status count_memory(struct trace_packets *packets, const struct trace_event *event,
                                    struct trace_bytes *raw)
{
    static const struct trace_wire_track track = {
        .id = MEMORY_TRACK, .kind = WIRE_COUNTER, .name = "memory of buffers", .in_bytes = true};
    struct trace_memory_change change;
    HAL_TRY(trace_memory_take(&packets->timeline.memory, event, &change));
    if (change.type == TRACE_MEMORY_TYPES)
        return HAL_OK;
    if (!packets->counts_memory)
        HAL_TRY(add_track(packets, track, raw));
    packets->counts_memory = true;
    return trace_track_event_counter(raw, MEMORY_TRACK, change.ns,
                                     packets->timeline.memory.all_bytes);
}

/* ---- Events ------------------------------------------------------------------------------- */

static void describe_submit(const struct trace_submit *submit, struct trace_track_event *event)
{
    event->has_flow = true;
    event->flow = submit->submission;
    trace_track_event_number(event, "queue", submit->queue);
    trace_track_event_number(event, "command buffers", submit->command_buffer_count);
    trace_track_event_number(event, "waits", submit->wait_count);
    trace_track_event_number(event, "signals", submit->signal_count);
    if (submit->size)
        trace_track_event_number(event, "bytes", submit->size);
}

static enum hal_status add_call(struct trace_packets *packets, uint32_t thread,
                                const struct trace_event *event, struct trace_bytes *raw)
{
    char name[NAME_BYTES];
    struct trace_slice slice;
    const void *record = event;
    HAL_TRY(describe_thread(packets, thread, raw));
    trace_timeline_call(&packets->timeline, event, &slice);
    if (slice.phase == TRACE_SLICE_ENDS)
        return trace_track_event_end(raw, THREAD_TRACK(thread), slice.begin_ns);
    struct trace_track_event call = {
        .begin_ns = slice.begin_ns, .end_ns = slice.end_ns, .name = slice.name};
    if (slice.phase == TRACE_SLICE_BEGINS) {
        trace_utf8_copy(name, sizeof name, slice.name, strlen(slice.name));
        call.name = name;
        return trace_track_event_begin(raw, THREAD_TRACK(thread), &call);
    }
    if (event->kind == TRACE_SUBMIT)
        describe_submit(record, &call);
    else if (event->kind == TRACE_SEMAPHORE_WAIT)
        trace_track_event_number(&call, "semaphores",
                                 TRACE_AS(trace_semaphore_wait, record)->value_count);
    if (event->status)
        trace_track_event_text(&call, "status", hal_status_name((enum hal_status)event->status));
    return trace_track_event_append(raw, THREAD_TRACK(thread), &call);
}

enum hal_status trace_packets_event(struct trace_packets *packets, uint32_t thread,
                                    const struct trace_event *event, struct trace_bytes *raw)
{
    const void *record = event;
    switch (event->kind) {
    case TRACE_SCOPE_BEGIN:
    case TRACE_SCOPE_END:
    case TRACE_SUBMIT:
    case TRACE_SEMAPHORE_WAIT:
    case TRACE_WAIT_IDLE: return add_call(packets, thread, event, raw);
    case TRACE_SUBMISSION_DONE: return add_work(packets, record, raw);
    case TRACE_CHANNEL_CREATE: return trace_channels_take(&packets->channels, record);
    case TRACE_DISPATCH_TIMES: return add_dispatches(packets, record, raw);
    case TRACE_BUFFER_CREATE:
    case TRACE_BUFFER_DESTROY: return count_memory(packets, event, raw);
    default: return HAL_OK;
    }
}
