/* SPDX-License-Identifier: Apache-2.0 */
/* All slices of a trace's timeline, and what a file does not get while it is written: debug groups
 * (from their first to their last timed dispatch, or all of the work when they hold all of its
 * commands), arrows from a submission to its work and from what signals a semaphore to what waits
 * for it, commands, and counters of memory by its type and of submissions in flight. */
#include "format/tool/export/export.h"
#include "format/tool/support/table.h"

#include "format/base/arena.h"
#include "hal/base/mem.h"
#include "hal/base/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    THREAD_TRACKS = 1000,   /* plus the thread's number */
    OTHER_TRACKS = 1000000, /* from here on, as they come */
    MOST_TRACKS = 4096,     /* of queues: no more work exists, but in a made-up file */
    NAME_BYTES = 96,
    COMMANDS_AT_ONCE = 500,
    MOST_ENDS = 16,
};

/* Flows have one numbering: even for submissions, odd for semaphore values. */
#define SUBMISSION_FLOW(number) (2 * (uint64_t)(number) + 2)
#define SIGNAL_FLOW(index)      (2 * (uint64_t)(index) + 1)

struct extent {
    int64_t begin_ns, end_ns; /* end 0: nothing was timed */
};

struct work {
    const struct trace_submit *submit;
    struct extent *groups; /* of all command buffers, one after the other; NULL: no times */
    size_t group_count;    /* of `groups`: a command buffer recorded again may have more */
};

/* A value that a semaphore gets. */
struct signal {
    uint64_t semaphore, value;
};

struct timeline {
    struct trace_reader *reader;
    struct export_sink *sink;
    struct trace_arena arena;
    struct trace_timeline drawn;
    struct tool_table works; /* by submission */
    struct signal *signals;
    size_t signal_count, signal_capacity;
    uint64_t next_track;
    int64_t start_ns, in_flight;
    struct trace_wire_track memory_tracks[TRACE_MEMORY_TYPES], flight_track;
    char memory_names[TRACE_MEMORY_TYPES][NAME_BYTES];
};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for the timeline");
}

/* ---- Before: signals and collectives ---- */

static enum hal_status add_signal(struct timeline *t, uint64_t semaphore, uint64_t value)
{
    if (!HAL_GROW(t->signals, &t->signal_capacity, t->signal_count + 1))
        return no_memory();
    t->signals[t->signal_count++] = (struct signal){semaphore, value};
    return HAL_OK;
}

static enum hal_status look_ahead(void *user, const struct trace_event *event,
                                  const struct trace_segment *segments)
{
    struct timeline *t = user;
    const struct trace_submit *submit = (const void *)event;
    const struct trace_semaphore_event *signal = (const void *)event;
    (void)segments;
    if (event->kind == TRACE_SEMAPHORE_SIGNAL)
        return add_signal(t, signal->semaphore, signal->value);
    if (event->kind == TRACE_COLLECTIVE) /* which may stand behind the end of its work */
        trace_recorded_event(&t->drawn.recorded, event);
    for (uint32_t i = 0; event->kind == TRACE_SUBMIT && i < submit->signal_count; i++)
        HAL_TRY(add_signal(t, submit->values[submit->wait_count + i].semaphore,
                           submit->values[submit->wait_count + i].value));
    return HAL_OK;
}

HAL_COMPARE_2(compare_signals, struct signal, semaphore, value)

/* The flow of the first signal that reaches the value; 0: nothing does. */
static uint64_t flow_of(const struct timeline *t, uint64_t semaphore, uint64_t value)
{
    const struct signal wanted = {semaphore, value};
    size_t first = 0, end = t->signal_count;
    HAL_BISECT(first, end, middle, compare_signals(&t->signals[middle], &wanted) < 0)
    return first < t->signal_count && t->signals[first].semaphore == semaphore ? SIGNAL_FLOW(first)
                                                                               : 0;
}

static size_t flows_of(const struct timeline *t, const struct trace_semaphore_value *values,
                       size_t count, uint64_t out[MOST_ENDS])
{
    size_t found = 0;
    for (size_t i = 0; i < count && found < MOST_ENDS; i++) {
        const uint64_t flow =
            values[i].value ? flow_of(t, values[i].semaphore, values[i].value) : 0;
        if (flow)
            out[found++] = flow;
    }
    return found;
}

/* ---- Tracks ---- */

static const char *string_in(const void *reader, uint32_t id)
{
    return trace_reader_string(reader, id);
}

static const struct trace_thread *thread_in(const void *reader, uint32_t id)
{
    return trace_reader_find_thread(reader, id);
}

static enum hal_status thread_track(struct timeline *t, uint32_t number, uint64_t *out_track)
{
    bool is_new;
    *out_track = THREAD_TRACKS + (uint64_t)number;
    HAL_TRY(trace_timeline_thread(&t->drawn, number, &is_new));
    if (!is_new)
        return HAL_OK;
    const struct trace_thread *thread = trace_reader_find_thread(t->reader, number);
    const char *name = thread ? trace_reader_string(t->reader, thread->name) : NULL;
    const struct trace_wire_track track = {.id = *out_track,
                                           .kind = WIRE_THREAD,
                                           .name = name ? name : "",
                                           .process_id = t->sink->process_id,
                                           .thread_id = thread ? thread->system_id : number};
    t->sink->track(t->sink, &track);
    return HAL_OK;
}

/* Adds what the device did on a track of its queue. */
static enum hal_status add_on_queue(struct timeline *t, enum trace_track_kind kind, uint32_t queue,
                                    uint32_t depth, const struct trace_slice *slice,
                                    struct export_slice *out)
{
    struct trace_track *track;
    HAL_TRY(trace_timeline_track(&t->drawn, kind, queue, depth, slice, &track));
    if (!track)
        track = &t->drawn.tracks[0];
    if (!track->id) {
        char name[TRACE_TRACK_NAME_BYTES];
        track->id = t->next_track++;
        trace_track_name(track, name);
        t->sink->track(
            t->sink, &(struct trace_wire_track){.id = track->id, .kind = WIRE_QUEUE, .name = name});
    }
    out->track = track->id;
    out->begin_ns = slice->begin_ns;
    out->end_ns = slice->end_ns;
    out->name = slice->name;
    t->sink->slice(t->sink, out);
    return HAL_OK;
}

/* ---- Counters ---- */

static void count(struct timeline *t, struct trace_wire_track *track, const char *name,
                  bool in_bytes, int64_t ns, int64_t value)
{
    if (!track->id) {
        *track = (struct trace_wire_track){
            .id = t->next_track++, .kind = WIRE_COUNTER, .name = name, .in_bytes = in_bytes};
        t->sink->track(t->sink, track);
    }
    t->sink->count(t->sink, track, ns, value);
}

static void count_flight(struct timeline *t, int64_t ns, int change)
{
    t->in_flight += change;
    count(t, &t->flight_track, "submissions in flight", false, ns, t->in_flight);
}

static enum hal_status count_memory(struct timeline *t, const struct trace_event *event)
{
    struct trace_memory_change change;
    HAL_TRY(trace_memory_take(&t->drawn.memory, event, &change));
    if (change.type == TRACE_MEMORY_TYPES)
        return HAL_OK;
    char *name = t->memory_names[change.type];
    if (!*name) {
        char words[NAME_BYTES - sizeof "buffers "];
        snprintf(name, NAME_BYTES, "buffers%s%s", change.type ? " " : "",
                 change.type ? trace_column_text("buffer_create", "memory", change.type, words,
                                                 sizeof words)
                             : "");
    }
    count(t, &t->memory_tracks[change.type], name, true, change.ns,
          (int64_t)t->drawn.memory.bytes[change.type]);
    return HAL_OK;
}

/* ---- What the device did ---- */

static struct work *work_of(const struct timeline *t, uint64_t submission)
{
    return tool_table_find(&t->works, submission);
}

static enum hal_status load_submit(struct timeline *t, const struct trace_submit *submit)
{
    if (submit->head.status != HAL_OK)
        return HAL_OK;
    struct work *work = tool_table_add(&t->works, submit->submission);
    void *copy = trace_arena_alloc(&t->arena, submit->head.bytes);
    if (!work || !copy)
        return no_memory();
    memcpy(copy, submit, submit->head.bytes);
    *work = (struct work){.submit = copy};
    count_flight(t, submit->head.begin_ns, 1);
    return HAL_OK;
}

static const struct trace_group *groups_of(const struct timeline *t,
                                           const struct trace_submit *submit,
                                           uint32_t command_buffer, uint32_t *out_count)
{
    return trace_recorded_groups(&t->drawn.recorded,
                                 trace_submit_command_buffers(submit)[command_buffer], out_count);
}

static size_t count_groups(const struct timeline *t, const struct trace_submit *submit,
                           uint32_t command_buffers)
{
    size_t groups = 0;
    for (uint32_t i = 0; i < command_buffers; i++) {
        uint32_t count;
        groups_of(t, submit, i, &count);
        groups += count;
    }
    return groups;
}

/* The groups that a timed dispatch is inside of grow by its time. */
static enum hal_status extend_groups(struct timeline *t, struct work *work,
                                     const struct trace_dispatch_time *time)
{
    const struct trace_submit *submit = work->submit;
    uint32_t count;
    if (time->command_buffer >= submit->command_buffer_count)
        return HAL_OK;
    const struct trace_group *groups = groups_of(t, submit, time->command_buffer, &count);
    if (!count)
        return HAL_OK;
    if (!work->groups) {
        work->group_count = count_groups(t, submit, submit->command_buffer_count);
        work->groups = trace_arena_array(&t->arena, work->group_count, sizeof *work->groups);
        if (!work->groups)
            return no_memory();
        memset(work->groups, 0, work->group_count * sizeof *work->groups);
    }
    const size_t first = count_groups(t, submit, time->command_buffer);
    if (first > work->group_count || count > work->group_count - first)
        return HAL_OK;
    struct extent *extents = work->groups + first;
    for (uint32_t i = 0; i < count; i++) {
        if (time->dispatch < groups[i].first_dispatch || time->dispatch >= groups[i].end_dispatch)
            continue;
        if (!extents[i].end_ns || time->begin_ns < extents[i].begin_ns)
            extents[i].begin_ns = time->begin_ns;
        if (time->end_ns > extents[i].end_ns)
            extents[i].end_ns = time->end_ns;
    }
    return HAL_OK;
}

static enum hal_status add_dispatches(struct timeline *t, const struct trace_dispatch_times *times)
{
    struct work *work = work_of(t, times->submission);
    for (uint32_t i = 0; i < times->time_count; i++) {
        struct trace_slice slice;
        trace_timeline_dispatch(&t->drawn, times, i, &slice);
        if (work)
            HAL_TRY(extend_groups(t, work, &times->times[i]));
        HAL_TRY(add_on_queue(t, TRACE_TRACK_DISPATCHES, times->queue, 0, &slice,
                             &(struct export_slice){0}));
        HAL_TRY(t->sink->flush(t->sink, false));
    }
    return HAL_OK;
}

static enum hal_status add_groups(struct timeline *t, const struct trace_submission_done *done,
                                  const struct work *work)
{
    const struct trace_submit *submit = work->submit;
    size_t number = 0;
    for (uint32_t i = 0; i < submit->command_buffer_count; i++) {
        uint32_t count;
        const struct trace_group *groups = groups_of(t, submit, i, &count);
        for (uint32_t k = 0; k < count; k++, number++) {
            struct extent extent = {0};
            if (number < work->group_count)
                extent = work->groups[number];
            else if (groups[k].is_all && submit->command_buffer_count == 1)
                extent = (struct extent){done->head.begin_ns, done->head.end_ns};
            if (!extent.end_ns)
                continue;
            const char *label = trace_reader_string(t->reader, groups[k].label);
            const struct trace_slice slice = {.begin_ns = extent.begin_ns,
                                              .end_ns = extent.end_ns,
                                              .name = label && *label ? label : "group"};
            HAL_TRY(add_on_queue(t, TRACE_TRACK_GROUPS, done->queue, groups[k].depth, &slice,
                                 &(struct export_slice){0}));
        }
    }
    return HAL_OK;
}

static enum hal_status add_work(struct timeline *t, const struct trace_submission_done *done)
{
    uint64_t flows[MOST_ENDS], ends[MOST_ENDS + 1];
    const struct work *work = work_of(t, done->submission);
    struct export_slice shown = {.event = &done->head, .flows = flows, .ends = ends};
    struct trace_slice slice;
    trace_timeline_work(&t->drawn, done, &slice);
    if (!slice.is_timed) /* an instant where it was submitted */
        slice.begin_ns = slice.end_ns = work ? work->submit->head.end_ns : t->start_ns;
    if (work) {
        const struct trace_submit *submit = work->submit;
        shown.flow_count =
            flows_of(t, submit->values + submit->wait_count, submit->signal_count, flows);
        shown.end_count = flows_of(t, submit->values, submit->wait_count, ends);
        ends[shown.end_count++] = SUBMISSION_FLOW(done->submission);
        count_flight(t, slice.end_ns, -1);
    }
    HAL_TRY(add_on_queue(t, TRACE_TRACK_WORK, done->queue, 0, &slice, &shown));
    return work && slice.is_timed ? add_groups(t, done, work) : HAL_OK;
}

/* ---- What threads did ---- */

static enum hal_status add_commands(struct timeline *t,
                                    const struct trace_command_buffer_seal *seal,
                                    const struct trace_segment *segment, uint64_t track)
{
    for (uint32_t i = 0; i < seal->segment_count;) {
        uint32_t many = seal->segment_count - i;
        if (many > COMMANDS_AT_ONCE)
            many = COMMANDS_AT_ONCE;
        const struct export_slice slice = {.track = track,
                                           .begin_ns = seal->head.end_ns,
                                           .end_ns = seal->head.end_ns,
                                           .name = "commands",
                                           .segments = segment,
                                           .command_buffer = seal->command_buffer,
                                           .first = i,
                                           .segment_count = many};
        t->sink->slice(t->sink, &slice);
        HAL_TRY(t->sink->flush(t->sink, false));
        for (; many > 0; many--, i++)
            segment = trace_next_segment(segment);
    }
    return HAL_OK;
}

/* A host wait ends where it observed the value: the arrow points there. */
static void add_reached(struct timeline *t, const struct trace_semaphore_wait *wait, uint64_t track)
{
    uint64_t ends[MOST_ENDS];
    const struct export_slice slice = {
        .track = track,
        .begin_ns = wait->head.end_ns,
        .end_ns = wait->head.end_ns,
        .name = "reached",
        .ends = ends,
        .end_count =
            wait->head.status == HAL_OK ? flows_of(t, wait->values, wait->value_count, ends) : 0};
    if (slice.end_count)
        t->sink->slice(t->sink, &slice);
}

static enum hal_status add_call(struct timeline *t, const struct trace_event *event,
                                const struct trace_segment *segments)
{
    uint64_t flows[1];
    const struct trace_semaphore_event *signal = (const void *)event;
    struct trace_slice call;
    trace_timeline_call(&t->drawn, event, &call);
    struct export_slice slice = {.phase = call.phase,
                                 .begin_ns = call.begin_ns,
                                 .end_ns = call.end_ns,
                                 .name = call.name,
                                 .event = event,
                                 .flows = flows};
    if (event->kind == TRACE_SUBMIT && event->status == HAL_OK) {
        flows[slice.flow_count++] = SUBMISSION_FLOW(TRACE_AS(trace_submit, event)->submission);
    } else if (event->kind == TRACE_SEMAPHORE_SIGNAL) {
        flows[0] = flow_of(t, signal->semaphore, signal->value);
        slice.flow_count = flows[0] != 0;
    }
    HAL_TRY(thread_track(t, event->thread, &slice.track));
    t->sink->slice(t->sink, &slice);
    if (event->kind == TRACE_SEMAPHORE_WAIT)
        add_reached(t, (const void *)event, slice.track);
    return segments ? add_commands(t, (const void *)event, segments, slice.track) : HAL_OK;
}

static enum hal_status record(struct timeline *t, const struct trace_event *event,
                              const struct trace_segment *segment)
{
    const struct trace_command_buffer_seal *seal = (const void *)event;
    trace_recorded_event(&t->drawn.recorded, event);
    for (uint32_t i = 0; segment && i < seal->segment_count; i++) {
        trace_recorded_segment(&t->drawn.recorded, seal->command_buffer, segment);
        segment = trace_next_segment(segment);
    }
    return t->drawn.recorded.is_failed ? no_memory() : HAL_OK;
}

static enum hal_status visit(void *user, const struct trace_event *event,
                             const struct trace_segment *segments)
{
    struct timeline *t = user;
    const void *any = event;
    if (event->kind == TRACE_SUBMISSION_DONE) {
        HAL_TRY(add_work(t, any));
        return t->sink->flush(t->sink, false);
    }
    HAL_TRY(record(t, event, segments));
    HAL_TRY(count_memory(t, event));
    if (event->kind == TRACE_SUBMIT)
        HAL_TRY(load_submit(t, any));
    else if (event->kind == TRACE_DISPATCH_TIMES)
        HAL_TRY(add_dispatches(t, any));
    HAL_TRY(add_call(t, event, segments));
    return t->sink->flush(t->sink, false);
}

/* ---- All of it ---- */

static enum hal_status run(struct timeline *t)
{
    const struct trace_header *header = trace_reader_header(t->reader);
    const struct trace_wire_track process = {.id = WIRE_PROCESS_TRACK,
                                             .kind = WIRE_PROCESS,
                                             .name = header->program,
                                             .process_id = header->process_id};
    HAL_TRY(trace_reader_each(t->reader, look_ahead, t));
    if (t->signal_count)
        qsort(t->signals, t->signal_count, sizeof *t->signals, compare_signals);
    t->sink->begin(t->sink, header);
    t->sink->track(t->sink, &process);
    HAL_TRY(trace_reader_each_in_order(t->reader, &(struct trace_walk){.visit = visit, .user = t}));
    t->sink->end(t->sink);
    return t->sink->flush(t->sink, true);
}

enum hal_status export_timeline(struct trace_reader *reader, struct export_sink *sink)
{
    struct timeline t = {.reader = reader,
                         .sink = sink,
                         .next_track = OTHER_TRACKS,
                         .start_ns = trace_reader_header(reader)->start_ns,
                         .works = {.row_bytes = sizeof(struct work)},
                         .drawn = {.source = {reader, string_in, thread_in},
                                   .most_tracks = MOST_TRACKS,
                                   .most_lanes = SIZE_MAX}};
    trace_arena_init(&t.arena, SIZE_MAX);
    sink->printer.reader = reader;
    sink->printer.origin_ns = trace_reader_origin_ns(reader);
    sink->process_id = trace_reader_header(reader)->process_id;
    const enum hal_status status = run(&t);
    trace_timeline_finish(&t.drawn);
    tool_table_finish(&t.works);
    free(t.signals);
    trace_arena_finish(&t.arena);
    return status;
}
