/* SPDX-License-Identifier: Apache-2.0 */
/* Which events of a trace are slices on which track, and which arrows go between them.
 *
 * Calls are slices on the tracks of their threads. What the device did is on tracks of its queue,
 * as many as overlap: work of submissions, dispatches that were timed, debug groups (from their
 * first to their last timed dispatch, or all of the work when they hold all of its commands).
 * Arrows go from a submission to its work, and from what signals a semaphore to what waits for it.
 */
#include "format/tool/export/counters.h"
#include "format/tool/export/export.h"
#include "format/tool/support/recorded.h"

#include "format/base/arena.h"
#include "format/columns/collectives.h"
#include "hal/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PROCESS_TRACK = 1,
    THREAD_TRACKS = 1000,   /* plus the thread's number */
    OTHER_TRACKS = 1000000, /* from here on, as they come */
    NAME_BYTES = 200,
    MOST_LANES = 4096,
    COMMANDS_AT_ONCE = 500,
    MOST_ENDS = 16,
};

/* Flows have one numbering: even for submissions, odd for semaphore values. */
#define SUBMISSION_FLOW(number) (2 * (uint64_t)(number) + 2)
#define SIGNAL_FLOW(index)      (2 * (uint64_t)(index) + 1)

enum lane_class { LANE_WORK, LANE_DISPATCH, LANE_GROUP };

struct lane {
    enum lane_class class;
    uint32_t queue, depth;
    int64_t free_ns;
    uint64_t track;
};

struct extent {
    int64_t begin_ns, end_ns; /* end 0: nothing was timed */
};

struct work {
    const struct trace_submit *submit; /* NULL: not yet */
    uint32_t collective;               /* what it did with other ranks; 0: nothing */
    struct extent *groups; /* of all command buffers, one after the other; NULL: no times */
    size_t group_count;    /* of `groups`: a command buffer recorded again may have more */
};

/* A value that something gives a semaphore. */
struct signal {
    uint64_t semaphore, value;
};

struct timeline {
    struct trace_reader *reader;
    struct export_sink *sink;
    struct trace_arena arena;
    struct recorded recorded;
    struct counters counters;
    struct tool_table works; /* by submission */
    struct signal *signals;
    struct lane *lanes;
    uint8_t *threads; /* described */
    size_t signal_count, signal_capacity, lane_count, lane_capacity, thread_capacity;
    uint64_t next_track;
    int64_t start_ns;
};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for the timeline");
}

/* ---- Before: signals and collectives ---- */

static enum hal_status add_signal(struct timeline *t, uint64_t semaphore, uint64_t value)
{
    void *signals = t->signals;
    if (!hal_grow(&signals, &t->signal_capacity, t->signal_count + 1, sizeof *t->signals))
        return no_memory();
    t->signals = signals;
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
    if (event->kind == TRACE_COLLECTIVE) {
        const struct trace_collective *collective = (const void *)event;
        struct work *work = tool_table_add(&t->works, collective->submission);
        if (!work)
            return no_memory();
        work->collective = collective->collective;
        return HAL_OK;
    }
    for (uint32_t i = 0; event->kind == TRACE_SUBMIT && i < submit->signal_count; i++)
        HAL_TRY(add_signal(t, submit->values[submit->wait_count + i].semaphore,
                           submit->values[submit->wait_count + i].value));
    return HAL_OK;
}

static int compare_signals(const void *left, const void *right)
{
    const struct signal *a = left, *b = right;
    if (a->semaphore != b->semaphore)
        return a->semaphore < b->semaphore ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

/* The flow of the first signal that reaches the value; 0: nothing does. */
static uint64_t flow_of(const struct timeline *t, uint64_t semaphore, uint64_t value)
{
    const struct signal wanted = {semaphore, value};
    size_t first = 0, end = t->signal_count;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        if (compare_signals(&t->signals[middle], &wanted) < 0)
            first = middle + 1;
        else
            end = middle;
    }
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

static enum hal_status thread_track(struct timeline *t, uint32_t number, uint64_t *out_track)
{
    void *threads = t->threads;
    const size_t old = t->thread_capacity;
    *out_track = THREAD_TRACKS + (uint64_t)number;
    if (!hal_grow(&threads, &t->thread_capacity, (size_t)number + 1, 1))
        return no_memory();
    t->threads = threads;
    if (t->thread_capacity > old)
        memset(t->threads + old, 0, t->thread_capacity - old);
    if (t->threads[number])
        return HAL_OK;
    t->threads[number] = 1;
    const struct trace_thread *thread = trace_reader_find_thread(t->reader, number);
    const char *name = thread ? trace_reader_string(t->reader, thread->name) : NULL;
    const struct export_track track = {.id = *out_track,
                                       .kind = EXPORT_THREAD,
                                       .name = name ? name : "",
                                       .system_id = thread ? thread->system_id : number};
    t->sink->track(t->sink, &track);
    return HAL_OK;
}

/* A track of the queue where nothing is at that time. */
static enum hal_status lane_track(struct timeline *t, enum lane_class class, uint32_t queue,
                                  uint32_t depth, int64_t begin_ns, int64_t end_ns,
                                  uint64_t *out_track)
{
    static const char *const words[] = {"", " dispatches", " groups"};
    struct lane *lane = NULL;
    for (size_t i = 0; i < t->lane_count && !lane; i++) {
        struct lane *known = &t->lanes[i];
        if (known->class == class && known->queue == queue && known->depth == depth &&
            known->free_ns <= begin_ns)
            lane = known;
    }
    if (!lane) {
        char name[64];
        void *lanes = t->lanes;
        if (t->lane_count == MOST_LANES) { /* no such work exists: a damaged or made-up file */
            *out_track = t->lanes[0].track;
            return HAL_OK;
        }
        if (!hal_grow(&lanes, &t->lane_capacity, t->lane_count + 1, sizeof *t->lanes))
            return no_memory();
        t->lanes = lanes;
        lane = &t->lanes[t->lane_count++];
        *lane = (struct lane){.class = class, .queue = queue, .depth = depth};
        lane->track = t->next_track++;
        snprintf(name, sizeof name, "queue %u%s", queue, words[class]);
        const struct export_track track = {.id = lane->track, .kind = EXPORT_QUEUE, .name = name};
        t->sink->track(t->sink, &track);
    }
    lane->free_ns = end_ns;
    *out_track = lane->track;
    return HAL_OK;
}

/* ---- What the device did ---- */

static struct work *work_of(const struct timeline *t, uint64_t submission)
{
    struct work *work = tool_table_find(&t->works, submission);
    return work && work->submit ? work : NULL;
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
    work->submit = copy;
    work->groups = NULL;
    work->group_count = 0;
    counters_flight(&t->counters, submit->head.begin_ns, 1);
    return HAL_OK;
}

static size_t count_groups(const struct timeline *t, const struct trace_submit *submit,
                           uint32_t command_buffers)
{
    size_t groups = 0;
    for (uint32_t i = 0; i < command_buffers; i++) {
        const struct recorded_commands *commands =
            recorded_commands(&t->recorded, trace_submit_command_buffers(submit)[i]);
        groups += commands ? commands->group_count : 0;
    }
    return groups;
}

/* The groups that a timed dispatch is inside of grow by its time. */
static enum hal_status extend_groups(struct timeline *t, struct work *work,
                                     const struct trace_dispatch_time *time)
{
    const struct trace_submit *submit = work->submit;
    if (time->command_buffer >= submit->command_buffer_count)
        return HAL_OK;
    const struct recorded_commands *commands =
        recorded_commands(&t->recorded, trace_submit_command_buffers(submit)[time->command_buffer]);
    if (!commands || !commands->group_count)
        return HAL_OK;
    if (!work->groups) {
        work->group_count = count_groups(t, submit, submit->command_buffer_count);
        work->groups = trace_arena_array(&t->arena, work->group_count, sizeof *work->groups);
        if (!work->groups)
            return no_memory();
        memset(work->groups, 0, work->group_count * sizeof *work->groups);
    }
    const size_t first = count_groups(t, submit, time->command_buffer);
    if (first > work->group_count || commands->group_count > work->group_count - first)
        return HAL_OK;
    struct extent *extents = work->groups + first;
    for (uint32_t i = 0; i < commands->group_count; i++) {
        const struct recorded_group *group = &commands->groups[i];
        if (time->dispatch < group->first_dispatch || time->dispatch >= group->end_dispatch)
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
        const struct trace_dispatch_time *time = &times->times[i];
        struct export_slice slice = {
            .begin_ns = time->begin_ns, .end_ns = time->end_ns, .name = "dispatch"};
        if (work) {
            const struct trace_submit *submit = work->submit;
            const struct recorded_commands *commands =
                time->command_buffer < submit->command_buffer_count
                    ? recorded_commands(&t->recorded,
                                        trace_submit_command_buffers(submit)[time->command_buffer])
                    : NULL;
            if (commands && time->dispatch < commands->dispatch_count)
                slice.name = recorded_kernel(&t->recorded, &commands->dispatches[time->dispatch]);
            HAL_TRY(extend_groups(t, work, time));
        }
        HAL_TRY(lane_track(t, LANE_DISPATCH, times->queue, 0, time->begin_ns, time->end_ns,
                           &slice.track));
        t->sink->slice(t->sink, &slice);
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
        const struct recorded_commands *commands =
            recorded_commands(&t->recorded, trace_submit_command_buffers(submit)[i]);
        for (uint32_t k = 0; commands && k < commands->group_count; k++, number++) {
            const struct recorded_group *group = &commands->groups[k];
            struct extent extent = {0};
            if (number < work->group_count)
                extent = work->groups[number];
            else if (group->is_all && submit->command_buffer_count == 1)
                extent = (struct extent){done->head.begin_ns, done->head.end_ns};
            if (!extent.end_ns)
                continue;
            const char *label = trace_reader_string(t->reader, group->label);
            struct export_slice slice = {.begin_ns = extent.begin_ns,
                                         .end_ns = extent.end_ns,
                                         .name = label && *label ? label : "group"};
            HAL_TRY(lane_track(t, LANE_GROUP, done->queue, group->depth, extent.begin_ns,
                               extent.end_ns, &slice.track));
            t->sink->slice(t->sink, &slice);
        }
    }
    return HAL_OK;
}

static enum hal_status add_work(struct timeline *t, const struct trace_submission_done *done)
{
    char name[NAME_BYTES], operation[TRACE_COLLECTIVE_NAME_BYTES] = "";
    uint64_t flows[MOST_ENDS], ends[MOST_ENDS + 1];
    const struct work *work = work_of(t, done->submission);
    struct export_slice slice = {.begin_ns = done->head.begin_ns,
                                 .end_ns = done->head.end_ns,
                                 .name = name,
                                 .event = &done->head,
                                 .flows = flows,
                                 .ends = ends};
    const bool is_timed = done->head.begin_ns && done->head.end_ns;
    if (work && work->collective)
        trace_collective_operation_name(work->collective, operation);
    snprintf(name, sizeof name, "#s%" PRIu64 "%s%s%s%s", done->submission, *operation ? " " : "",
             operation, done->head.status ? " (failed)" : "", is_timed ? "" : " (no times)");
    if (!is_timed) /* an instant where it was submitted */
        slice.begin_ns = slice.end_ns = work ? work->submit->head.end_ns : t->start_ns;
    if (work) {
        const struct trace_submit *submit = work->submit;
        slice.flow_count =
            flows_of(t, submit->values + submit->wait_count, submit->signal_count, flows);
        slice.end_count = flows_of(t, submit->values, submit->wait_count, ends);
        ends[slice.end_count++] = SUBMISSION_FLOW(done->submission);
        counters_flight(&t->counters, slice.end_ns, -1);
    }
    HAL_TRY(lane_track(t, LANE_WORK, done->queue, 0, slice.begin_ns, slice.end_ns, &slice.track));
    t->sink->slice(t->sink, &slice);
    return work && is_timed ? add_groups(t, done, work) : HAL_OK;
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

/* A host wait ends where it saw the value: the arrow goes there. */
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

static const char *event_name(const struct timeline *t, const struct trace_event *event,
                              char name[NAME_BYTES])
{
    const struct trace_submit *submit = (const void *)event;
    if (event->kind == TRACE_SUBMIT) {
        snprintf(name, NAME_BYTES, "submit #s%" PRIu64, submit->submission);
        return name;
    }
    if (event->kind == TRACE_COLLECTIVE)
        return trace_collective_name((const void *)event, name);
    if (event->kind == TRACE_SCOPE_BEGIN) {
        const char *scope = trace_reader_string(t->reader, TRACE_AS(trace_scope, event)->name);
        return scope && *scope ? scope : "scope";
    }
    return trace_event_name(event->kind);
}

static enum hal_status add_call(struct timeline *t, const struct trace_event *event,
                                const struct trace_segment *segments)
{
    char name[NAME_BYTES];
    uint64_t flows[1];
    const struct trace_semaphore_event *signal = (const void *)event;
    struct export_slice slice = {.begin_ns = event->begin_ns,
                                 .end_ns = event->end_ns,
                                 .name = event_name(t, event, name),
                                 .event = event,
                                 .flows = flows};
    if (event->kind == TRACE_SUBMIT && event->status == HAL_OK) {
        flows[slice.flow_count++] = SUBMISSION_FLOW(TRACE_AS(trace_submit, event)->submission);
    } else if (event->kind == TRACE_SEMAPHORE_SIGNAL) {
        flows[0] = flow_of(t, signal->semaphore, signal->value);
        slice.flow_count = flows[0] != 0;
    } else if (event->kind == TRACE_DISPATCH_TIMES) {
        slice.begin_ns = slice.end_ns; /* the device's times: an instant on the thread */
    } else if (event->kind == TRACE_SCOPE_BEGIN) {
        slice.phase = EXPORT_BEGINS;
    } else if (event->kind == TRACE_SCOPE_END) {
        slice.phase = EXPORT_ENDS;
        slice.begin_ns = slice.end_ns;
    }
    HAL_TRY(thread_track(t, event->thread, &slice.track));
    t->sink->slice(t->sink, &slice);
    if (event->kind == TRACE_SEMAPHORE_WAIT)
        add_reached(t, (const void *)event, slice.track);
    return segments ? add_commands(t, (const void *)event, segments, slice.track) : HAL_OK;
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
    HAL_TRY(recorded_take(&t->recorded, event, segments));
    HAL_TRY(counters_take(&t->counters, event));
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
    const struct export_track process = {.id = PROCESS_TRACK,
                                         .kind = EXPORT_PROCESS,
                                         .name = header->program,
                                         .system_id = header->process_id};
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
                         .start_ns = trace_reader_header(reader)->start_ns};
    trace_arena_init(&t.arena, SIZE_MAX);
    t.works.row_bytes = sizeof(struct work);
    recorded_init(&t.recorded, reader);
    counters_init(&t.counters, sink, &t.next_track);
    sink->printer.reader = reader;
    sink->process_id = trace_reader_header(reader)->process_id;
    const enum hal_status status = run(&t);
    recorded_finish(&t.recorded);
    counters_finish(&t.counters);
    tool_table_finish(&t.works);
    free(t.signals);
    free(t.lanes);
    free(t.threads);
    trace_arena_finish(&t.arena);
    return status;
}
