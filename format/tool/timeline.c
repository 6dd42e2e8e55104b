/* SPDX-License-Identifier: Apache-2.0 */
/* Which events of a trace are slices on which track, and which arrows go between them.
 *
 * Calls are slices on the tracks of their threads. What the device did is on tracks of its queue,
 * as many as overlap: work of submissions, dispatches that were timed, debug groups (from their
 * first to their last timed dispatch, or all of the work when they hold all of its commands).
 * Arrows go from a submission to its work, and from what signals a semaphore to what waits for it.
 */
#include "format/tool/export.h"
#include "format/tool/order.h"

#include "format/arena.h"
#include "hal/base/idmap.h"
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

struct group {
    uint32_t label, depth;
    uint32_t first_dispatch, end_dispatch;
    bool is_all; /* holds all commands */
};

struct kernel_use {
    uint64_t executable;
    uint32_t entry;
};

struct commands {
    struct kernel_use *dispatches;
    struct group *groups;
    uint32_t dispatch_count, group_count;
};

struct extent {
    int64_t begin_ns, end_ns; /* end 0: nothing was timed */
};

struct work {
    const struct trace_submit *submit;
    struct extent *groups; /* of all command buffers, one after the other; NULL: no times */
};

/* A value that something gives a semaphore. */
struct signal {
    uint64_t semaphore, value;
};

struct timeline {
    struct trace_reader *reader;
    struct export_sink *sink;
    struct trace_arena arena;
    struct hal_idmap buffers, command_buffers, executables, submissions;
    const struct trace_buffer_create **buffer_list;
    struct commands *command_list;
    const struct trace_executable_create **executable_list;
    struct work *work_list;
    struct signal *signals;
    struct lane *lanes;
    uint8_t *threads; /* described */
    size_t buffer_capacity, command_capacity, executable_capacity, work_capacity;
    size_t buffer_count, command_count, executable_count, work_count;
    size_t signal_count, signal_capacity, lane_count, lane_capacity, thread_capacity;
    uint64_t next_track;
    int64_t memory[16], in_flight; /* bytes by memory type */
    struct export_track memory_tracks[16], flight_track;
    char memory_names[16][96];
    int64_t start_ns;
};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for the timeline");
}

static void *keep(struct timeline *t, const void *record, size_t bytes)
{
    void *copy = trace_arena_alloc(&t->arena, bytes);
    if (copy)
        memcpy(copy, record, bytes);
    return copy;
}

/* The row of an id, and room for it in an array. */
#define ROW(t, map, list, count, id, out)                                                          \
    row_of(&(t)->map, &(t)->list, &(t)->count##_capacity, &(t)->count##_count, sizeof *(t)->list,  \
           (id), (out))

static enum hal_status row_of(struct hal_idmap *map, void *list, size_t *capacity, size_t *count,
                              size_t bytes, uint64_t id, uint32_t *out_row)
{
    void *array;
    const size_t old = *capacity;
    memcpy(&array, list, sizeof array);
    const bool grown = hal_grow(&array, capacity, *count + 1, bytes);
    memcpy(list, &array, sizeof array);
    if (!grown || *count >= UINT32_MAX - 1 || !hal_idmap_add(map, id, (uint32_t)*count, out_row))
        return no_memory();
    if (*capacity > old)
        memset((uint8_t *)array + old * bytes, 0, (*capacity - old) * bytes);
    *count += *out_row == *count;
    return HAL_OK;
}

/* ---- Before: signals, and what events later name ---- */

static enum hal_status add_signal(struct timeline *t, uint64_t semaphore, uint64_t value)
{
    void *signals = t->signals;
    if (!hal_grow(&signals, &t->signal_capacity, t->signal_count + 1, sizeof *t->signals))
        return no_memory();
    t->signals = signals;
    t->signals[t->signal_count++] = (struct signal){semaphore, value};
    return HAL_OK;
}

static enum hal_status collect_signals(void *user, const struct trace_event *event,
                                       const struct trace_segment *segments)
{
    struct timeline *t = user;
    const struct trace_submit *submit = (const void *)event;
    const struct trace_semaphore_event *signal = (const void *)event;
    (void)segments;
    if (event->kind == TRACE_SEMAPHORE_SIGNAL)
        return add_signal(t, signal->semaphore, signal->value);
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

/* ---- Command buffers ---- */

/* Sizes first, then both lists. */
static void count_commands(const struct trace_command_buffer_seal *seal,
                           const struct trace_segment *segment, struct commands *commands)
{
    for (uint32_t i = 0; i < seal->segment_count; i++, segment = trace_next_segment(segment)) {
        commands->dispatch_count += trace_is_dispatch(segment->kind);
        commands->group_count += segment->kind == TRACE_DEBUG_BEGIN;
    }
}

static void list_commands(const struct trace_command_buffer_seal *seal,
                          const struct trace_segment *segment, struct commands *commands,
                          uint32_t *open)
{
    uint32_t dispatches = 0, groups = 0, depth = 0;
    for (uint32_t i = 0; i < seal->segment_count; i++, segment = trace_next_segment(segment)) {
        const void *any = segment;
        const struct trace_dispatch *direct = any;
        const struct trace_dispatch_indirect *indirect = any;
        if (segment->kind == TRACE_DISPATCH) {
            commands->dispatches[dispatches++] =
                (struct kernel_use){direct->executable, direct->entry};
        } else if (segment->kind == TRACE_DISPATCH_INDIRECT) {
            commands->dispatches[dispatches++] =
                (struct kernel_use){indirect->executable, indirect->entry};
        } else if (segment->kind == TRACE_DEBUG_BEGIN) {
            commands->groups[groups] =
                (struct group){.label = ((const struct trace_debug *)any)->label,
                               .depth = depth,
                               .first_dispatch = dispatches,
                               .end_dispatch = UINT32_MAX,
                               .is_all = i == depth};
            open[depth++] = groups++;
        } else if (segment->kind == TRACE_DEBUG_END && depth) {
            struct group *group = &commands->groups[open[--depth]];
            group->end_dispatch = dispatches;
            group->is_all &= i + depth + 1 == seal->segment_count;
        }
    }
}

static enum hal_status load_commands(struct timeline *t,
                                     const struct trace_command_buffer_seal *seal,
                                     const struct trace_segment *segments)
{
    uint32_t row = 0;
    struct commands commands = {0};
    HAL_TRY(ROW(t, command_buffers, command_list, command, seal->command_buffer, &row));
    count_commands(seal, segments, &commands);
    commands.dispatches =
        trace_arena_array(&t->arena, commands.dispatch_count, sizeof *commands.dispatches);
    commands.groups = trace_arena_array(&t->arena, commands.group_count, sizeof *commands.groups);
    uint32_t *open = hal_alloc(commands.group_count, sizeof *open);
    if (!commands.dispatches || !commands.groups || !open) {
        free(open);
        return no_memory();
    }
    list_commands(seal, segments, &commands, open);
    free(open);
    t->command_list[row] = commands;
    return HAL_OK;
}

static const struct commands *commands_of(const struct timeline *t, uint64_t id)
{
    uint32_t row = 0;
    return hal_idmap_find(&t->command_buffers, id, &row) ? &t->command_list[row] : NULL;
}

static const char *kernel_name(const struct timeline *t, const struct kernel_use *use)
{
    uint32_t row = 0;
    if (!hal_idmap_find(&t->executables, use->executable, &row))
        return "dispatch";
    const struct trace_executable_create *made = t->executable_list[row];
    const char *name = made && use->entry < made->entry_point_count
                           ? trace_reader_string(t->reader, made->entry_points[use->entry].name)
                           : NULL;
    return name && *name ? name : "dispatch";
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

/* ---- Counters ---- */

static void count(struct timeline *t, struct export_track *track, const char *name, bool in_bytes,
                  int64_t ns, int64_t value)
{
    if (!track->id) {
        *track = (struct export_track){
            .id = t->next_track++, .kind = EXPORT_COUNTER, .name = name, .in_bytes = in_bytes};
        t->sink->track(t->sink, track);
    }
    t->sink->count(t->sink, track, ns, value);
}

static void count_memory(struct timeline *t, const struct trace_buffer_create *buffer, bool is_new,
                         int64_t ns)
{
    const uint32_t type = buffer->memory % 16;
    char *name = t->memory_names[type];
    t->memory[type] =
        (int64_t)((uint64_t)t->memory[type] + (is_new ? buffer->size : 0 - buffer->size));
    if (!*name) {
        static const char *const words[] = {"device_local", "host_visible", "host_coherent",
                                            "host_cached"};
        size_t used = (size_t)snprintf(name, sizeof t->memory_names[0], "buffers");
        for (unsigned i = 0; i < 4; i++) {
            if (type >> i & 1)
                used += (size_t)snprintf(name + used, sizeof t->memory_names[0] - used, "%s%s",
                                         used > 7 ? "|" : " ", words[i]);
        }
    }
    count(t, &t->memory_tracks[type], name, true, ns, t->memory[type]);
}

static enum hal_status count_buffers(struct timeline *t, const struct trace_event *event)
{
    const struct trace_buffer_create *create = (const void *)event;
    const struct trace_object_event *destroy = (const void *)event;
    uint32_t row = 0;
    if (event->status != HAL_OK)
        return HAL_OK;
    if (event->kind == TRACE_BUFFER_CREATE) {
        HAL_TRY(ROW(t, buffers, buffer_list, buffer, create->buffer, &row));
        t->buffer_list[row] = keep(t, create, sizeof *create);
        if (!t->buffer_list[row])
            return no_memory();
        count_memory(t, create, true, event->end_ns);
    } else if (hal_idmap_find(&t->buffers, destroy->object, &row) && t->buffer_list[row]) {
        count_memory(t, t->buffer_list[row], false, event->begin_ns);
        t->buffer_list[row] = NULL;
    }
    return HAL_OK;
}

/* ---- What the device did ---- */

static struct work *work_of(const struct timeline *t, uint64_t submission)
{
    uint32_t row = 0;
    return hal_idmap_find(&t->submissions, submission, &row) ? &t->work_list[row] : NULL;
}

static enum hal_status load_submit(struct timeline *t, const struct trace_submit *submit)
{
    uint32_t row = 0;
    if (submit->head.status != HAL_OK)
        return HAL_OK;
    HAL_TRY(ROW(t, submissions, work_list, work, submit->submission, &row));
    t->work_list[row] = (struct work){.submit = keep(t, submit, submit->head.bytes)};
    if (!t->work_list[row].submit)
        return no_memory();
    count(t, &t->flight_track, "submissions in flight", false, submit->head.begin_ns,
          ++t->in_flight);
    return HAL_OK;
}

static uint32_t count_groups(const struct timeline *t, const struct trace_submit *submit,
                             uint32_t command_buffers)
{
    uint32_t groups = 0;
    for (uint32_t i = 0; i < command_buffers; i++) {
        const struct commands *commands = commands_of(t, trace_submit_command_buffers(submit)[i]);
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
    const struct commands *commands =
        commands_of(t, trace_submit_command_buffers(submit)[time->command_buffer]);
    const uint32_t all = count_groups(t, submit, submit->command_buffer_count);
    if (!commands || !all)
        return HAL_OK;
    if (!work->groups) {
        work->groups = trace_arena_array(&t->arena, all, sizeof *work->groups);
        if (!work->groups)
            return no_memory();
        memset(work->groups, 0, all * sizeof *work->groups);
    }
    struct extent *extents = work->groups + count_groups(t, submit, time->command_buffer);
    for (uint32_t i = 0; i < commands->group_count; i++) {
        const struct group *group = &commands->groups[i];
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
            const struct commands *commands =
                time->command_buffer < submit->command_buffer_count
                    ? commands_of(t, trace_submit_command_buffers(submit)[time->command_buffer])
                    : NULL;
            if (commands && time->dispatch < commands->dispatch_count)
                slice.name = kernel_name(t, &commands->dispatches[time->dispatch]);
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
    uint32_t number = 0;
    for (uint32_t i = 0; i < submit->command_buffer_count; i++) {
        const struct commands *commands = commands_of(t, trace_submit_command_buffers(submit)[i]);
        for (uint32_t k = 0; commands && k < commands->group_count; k++, number++) {
            const struct group *group = &commands->groups[k];
            struct extent extent = {0};
            if (work->groups)
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
    char name[NAME_BYTES];
    uint64_t flows[MOST_ENDS], ends[MOST_ENDS + 1];
    const struct work *work = work_of(t, done->submission);
    struct export_slice slice = {.begin_ns = done->head.begin_ns,
                                 .end_ns = done->head.end_ns,
                                 .name = name,
                                 .event = &done->head,
                                 .flows = flows,
                                 .ends = ends};
    const bool is_timed = done->head.begin_ns && done->head.end_ns;
    snprintf(name, sizeof name, "#s%" PRIu64 "%s%s", done->submission,
             done->head.status ? " (failed)" : "", is_timed ? "" : " (no times)");
    if (!is_timed) /* an instant where it was submitted */
        slice.begin_ns = slice.end_ns = work ? work->submit->head.end_ns : t->start_ns;
    if (work) {
        const struct trace_submit *submit = work->submit;
        slice.flow_count =
            flows_of(t, submit->values + submit->wait_count, submit->signal_count, flows);
        slice.end_count = flows_of(t, submit->values, submit->wait_count, ends);
        ends[slice.end_count++] = SUBMISSION_FLOW(done->submission);
        count(t, &t->flight_track, "submissions in flight", false, slice.end_ns, --t->in_flight);
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
    if (event->kind == TRACE_SCOPE_BEGIN) {
        const char *scope =
            trace_reader_string(t->reader, ((const struct trace_scope *)(const void *)event)->name);
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
        flows[slice.flow_count++] =
            SUBMISSION_FLOW(((const struct trace_submit *)(const void *)event)->submission);
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

static enum hal_status load_executable(struct timeline *t,
                                       const struct trace_executable_create *made)
{
    uint32_t row = 0;
    HAL_TRY(ROW(t, executables, executable_list, executable, made->executable, &row));
    t->executable_list[row] = keep(t, made, made->head.bytes);
    return t->executable_list[row] ? HAL_OK : no_memory();
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
    if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
        HAL_TRY(load_commands(t, any, segments));
    else if (event->kind == TRACE_SUBMIT)
        HAL_TRY(load_submit(t, any));
    else if (event->kind == TRACE_EXECUTABLE_CREATE)
        HAL_TRY(load_executable(t, any));
    else if (event->kind == TRACE_BUFFER_CREATE || event->kind == TRACE_BUFFER_DESTROY)
        HAL_TRY(count_buffers(t, event));
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
    HAL_TRY(trace_reader_each(t->reader, collect_signals, t));
    if (t->signal_count)
        qsort(t->signals, t->signal_count, sizeof *t->signals, compare_signals);
    t->sink->begin(t->sink, header);
    t->sink->track(t->sink, &process);
    HAL_TRY(tool_each_in_order(t->reader, NULL, visit, t));
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
    sink->printer.reader = reader;
    sink->process_id = trace_reader_header(reader)->process_id;
    const enum hal_status status = run(&t);
    hal_idmap_finish(&t.buffers);
    hal_idmap_finish(&t.command_buffers);
    hal_idmap_finish(&t.executables);
    hal_idmap_finish(&t.submissions);
    free(t.buffer_list);
    free(t.command_list);
    free(t.executable_list);
    free(t.work_list);
    free(t.signals);
    free(t.lanes);
    free(t.threads);
    trace_arena_finish(&t.arena);
    return status;
}
