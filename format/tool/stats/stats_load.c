/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what a trace executed: command buffers once, submissions by what they consist of. */
#include "format/tool/stats/stats.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROOM(stats, list, count, extra)                                                            \
    room(&(stats)->list, &(stats)->count##_capacity, (stats)->count##_count + (extra),             \
         sizeof *(stats)->list)

static enum hal_status room(void *list, size_t *capacity, size_t wanted, size_t bytes_each)
{
    return wanted < UINT32_MAX && hal_grow_typed(list, capacity, wanted, bytes_each)
               ? HAL_OK
               : hal_fail(HAL_NO_MEMORY, "no memory for %zu rows", wanted);
}

static enum hal_status no_row(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to count more");
}

/* ---- Kernels and command buffers ---- */

static enum hal_status kernel_row(struct stats *s, uint64_t executable, uint32_t entry,
                                  struct kernel **out)
{
    *out = tool_table_add_pair(&s->kernels, executable, entry);
    return *out ? HAL_OK : no_row();
}

static enum hal_status take_executable(struct stats *s, const struct trace_executable_create *event)
{
    for (uint32_t i = 0; i < event->entry_point_count; i++) {
        struct kernel *kernel;
        HAL_TRY(kernel_row(s, event->executable, i, &kernel));
        kernel->name = event->entry_points[i].name;
        memcpy(kernel->group_size, event->entry_points[i].group_size, sizeof kernel->group_size);
    }
    return HAL_OK;
}

static enum hal_status add_use(struct stats *s, struct commands *commands, uint64_t executable,
                               uint32_t entry, uint64_t groups)
{
    struct kernel *row;
    HAL_TRY(kernel_row(s, executable, entry, &row));
    const size_t kernel = tool_table_place(&s->kernels, row);
    HAL_TRY(ROOM(s, dispatched, dispatched, 1));
    s->dispatched[s->dispatched_count++] = (uint32_t)kernel;
    commands->dispatches++;
    for (size_t i = s->use_count; i-- > commands->first_use;) {
        if (s->uses[i].kernel == kernel) {
            s->uses[i].dispatches++;
            s->uses[i].groups += groups;
            return HAL_OK;
        }
    }
    HAL_TRY(ROOM(s, uses, use, 1));
    s->uses[s->use_count++] = (struct use){.kernel = kernel, .dispatches = 1, .groups = groups};
    return HAL_OK;
}

static enum hal_status take_segment(struct stats *s, struct commands *c,
                                    const struct trace_segment *segment)
{
    const void *typed = segment;
    switch ((enum trace_segment_kind)segment->kind) {
    case TRACE_DISPATCH: {
        const struct trace_dispatch *dispatch = typed;
        return add_use(s, c, dispatch->executable, dispatch->entry,
                       (uint64_t)dispatch->workgroup_count[0] * dispatch->workgroup_count[1] *
                           dispatch->workgroup_count[2]);
    }
    case TRACE_DISPATCH_INDIRECT: {
        const struct trace_dispatch_indirect *dispatch = typed;
        c->indirect++;
        return add_use(s, c, dispatch->executable, dispatch->entry, 0);
    }
    case TRACE_BARRIER: c->barriers++; break;
    case TRACE_FILL:
        c->fills++;
        c->transfer_bytes += TRACE_AS(trace_fill, typed)->size;
        break;
    case TRACE_COPY:
        c->copies++;
        c->transfer_bytes += TRACE_AS(trace_copy, typed)->size;
        break;
    case TRACE_UPDATE:
        c->updates++;
        c->transfer_bytes += TRACE_AS(trace_update, typed)->size;
        break;
    case TRACE_EVENTS_WAIT:
    case TRACE_EVENT_SIGNAL:
    case TRACE_EVENT_RESET:
    case TRACE_PUSH_CONSTANTS:
    case TRACE_PUSH_DESCRIPTOR_SET:
    case TRACE_DEBUG_BEGIN:
    case TRACE_DEBUG_END: break;
    }
    return HAL_OK;
}

static enum hal_status take_seal(struct stats *s, const struct trace_command_buffer_seal *seal,
                                 const struct trace_segment *segment)
{
    struct commands commands = {.first_use = s->use_count, .first_dispatch = s->dispatched_count};
    for (uint32_t i = 0; i < seal->segment_count; i++, segment = trace_next_segment(segment))
        HAL_TRY(take_segment(s, &commands, segment));
    commands.use_count = s->use_count - commands.first_use;
    struct commands *row = tool_table_add(&s->commands, seal->command_buffer);
    if (!row)
        return no_row();
    *row = commands;
    return HAL_OK;
}

/* ---- Submissions ---- */

static enum hal_status submission_row(struct stats *s, uint64_t id, struct submission **out)
{
    *out = tool_table_add(&s->submissions, id);
    if (!*out)
        return no_row();
    (*out)->id = id;
    return HAL_OK;
}

static void tally(struct tally *tally, const struct trace_event *event, uint64_t bytes)
{
    tally->count++;
    tally->bytes += bytes;
    tally->ns += event->end_ns > event->begin_ns ? event->end_ns - event->begin_ns : 0;
}

static enum hal_status take_submit(struct stats *s, const struct trace_submit *event)
{
    struct submission *submission;
    tally(&s->submits, &event->head, 0);
    if (event->head.status != HAL_OK)
        return HAL_OK;
    HAL_TRY(submission_row(s, event->submission, &submission));
    HAL_TRY(ROOM(s, submitted, submitted, event->command_buffer_count));
    submission->first_commands = s->submitted_count;
    submission->commands_count = event->command_buffer_count;
    if (event->command_buffer_count)
        memcpy(s->submitted + s->submitted_count, trace_submit_command_buffers(event),
               event->command_buffer_count * sizeof *s->submitted);
    s->submitted_count += event->command_buffer_count;
    return HAL_OK;
}

static enum hal_status take_done(struct stats *s, const struct trace_submission_done *event)
{
    struct submission *submission;
    HAL_TRY(submission_row(s, event->submission, &submission));
    if (event->head.begin_ns && event->head.end_ns > event->head.begin_ns) {
        submission->begin_ns = event->head.begin_ns;
        submission->device_ns = event->head.end_ns - event->head.begin_ns;
    }
    return HAL_OK;
}

static enum hal_status add_sample(struct stats *s, size_t kernel, int64_t begin_ns, int64_t ns)
{
    HAL_TRY(ROOM(s, samples, samples, 1));
    s->samples[s->samples_count++] = (struct stats_sample){kernel, begin_ns, ns};
    return HAL_OK;
}

/* They follow the submission to which they belong. */
static enum hal_status take_times(struct stats *s, const struct trace_dispatch_times *event)
{
    struct submission *submission = tool_table_find(&s->submissions, event->submission);
    for (uint32_t i = 0; submission && i < event->time_count; i++) {
        const struct trace_dispatch_time *time = &event->times[i];
        const struct commands *commands = NULL;
        if (time->command_buffer < submission->commands_count)
            commands = tool_table_find(
                &s->commands, s->submitted[submission->first_commands + time->command_buffer]);
        if (!commands || time->dispatch >= commands->dispatches || time->end_ns <= time->begin_ns)
            continue;
        const size_t place = s->dispatched[commands->first_dispatch + time->dispatch];
        struct kernel *kernel = tool_table_row(&s->kernels, place);
        const uint64_t ns = (uint64_t)time->end_ns - (uint64_t)time->begin_ns;
        kernel->timed++;
        kernel->timed_ns += ns;
        submission->is_timed = true;
        HAL_TRY(add_sample(s, place, time->begin_ns, ns < INT64_MAX ? (int64_t)ns : INT64_MAX));
    }
    return HAL_OK;
}

static enum hal_status take(void *user, const struct trace_event *event,
                            const struct trace_segment *segments)
{
    struct stats *s = user;
    const void *typed = event;
    const struct trace_content_event *content = typed;
    HAL_TRY(exchanges_take(&s->exchanges, event));
    HAL_TRY(host_calls_take(&s->host_calls, event));
    if (event->kind == TRACE_EXECUTABLE_CREATE)
        return take_executable(s, typed);
    if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
        return take_seal(s, typed, segments);
    if (event->kind == TRACE_SUBMIT)
        return take_submit(s, typed);
    if (event->kind == TRACE_SUBMISSION_DONE)
        return take_done(s, typed);
    if (event->kind == TRACE_DISPATCH_TIMES)
        return take_times(s, typed);
    if (event->kind == TRACE_FAILURE)
        return failures_take(&s->failures, typed);
    if (event->kind == TRACE_SEMAPHORE_WAIT || event->kind == TRACE_WAIT_IDLE)
        tally(&s->waits, event, 0);
    else if (host_calls_hold(&s->host_calls, event))
        return HAL_OK; /* what files and collectives moved */
    else if (event->kind == TRACE_HOST_WRITE && !(content->flags & TRACE_FLAG_SNAPSHOT))
        tally(&s->uploads, event, content->size);
    else if (event->kind == TRACE_HOST_READ)
        tally(&s->readbacks, event, content->size);
    return HAL_OK;
}

/* ---- Totals ---- */

static void run_commands(struct stats *s, const struct commands *c)
{
    struct commands *total = &s->total;
    total->barriers += c->barriers;
    total->fills += c->fills;
    total->copies += c->copies;
    total->updates += c->updates;
    total->transfer_bytes += c->transfer_bytes;
    total->dispatches += c->dispatches;
    total->indirect += c->indirect;
    for (size_t i = 0; i < c->use_count; i++) {
        const struct use *use = &s->uses[c->first_use + i];
        struct kernel *kernel = tool_table_row(&s->kernels, use->kernel);
        kernel->dispatches += use->dispatches;
        kernel->groups += use->groups;
    }
}

/* What a submission consists of. */
struct made_of {
    bool has_work;
    size_t kernel; /* its only one; SIZE_MAX: none or several, or transfers */
    uint64_t dispatches;
};

static void add_commands(const struct stats *s, const struct commands *c, struct made_of *made_of)
{
    const bool moves = c->fills || c->copies || c->updates;
    if (!c->use_count && !moves)
        return;
    const size_t kernel = c->use_count == 1 && !moves ? s->uses[c->first_use].kernel : SIZE_MAX;
    made_of->kernel = !made_of->has_work || kernel == made_of->kernel ? kernel : SIZE_MAX;
    made_of->dispatches += c->dispatches;
    made_of->has_work = true;
}

static enum hal_status count_all(struct stats *s)
{
    for (size_t i = 0; i < s->submissions.count; i++) {
        const struct submission *submission = tool_table_row(&s->submissions, i);
        struct made_of made_of = {.kernel = SIZE_MAX};
        s->device_ns += submission->device_ns;
        exchanges_took(&s->exchanges, submission->id, submission->device_ns);
        for (size_t k = 0; k < submission->commands_count; k++) {
            const struct commands *commands =
                tool_table_find(&s->commands, s->submitted[submission->first_commands + k]);
            if (!commands)
                continue;
            run_commands(s, commands);
            add_commands(s, commands, &made_of);
        }
        if (made_of.kernel == SIZE_MAX || !submission->device_ns)
            continue;
        struct kernel *kernel = tool_table_row(&s->kernels, made_of.kernel);
        if (made_of.dispatches == 1 && submission->commands_count == 1) {
            kernel->alone++;
            kernel->alone_ns += (uint64_t)submission->device_ns;
        }
        if (!submission->is_timed)
            HAL_TRY(add_sample(s, made_of.kernel, submission->begin_ns,
                               submission->device_ns / (int64_t)made_of.dispatches));
    }
    return HAL_OK;
}

HAL_COMPARE_2(compare_samples, struct stats_sample, kernel, begin_ns)

static enum hal_status find_typical_times(struct stats *s)
{
    const size_t count = s->samples_count;
    int64_t *values = hal_alloc(count, sizeof *values);
    enum hal_status status = values ? HAL_OK : no_row();
    if (values && count)
        qsort(s->samples, count, sizeof *s->samples, compare_samples);
    for (size_t i = 0; i < count && status == HAL_OK;) {
        struct kernel *kernel = tool_table_row(&s->kernels, s->samples[i].kernel);
        const size_t first = i;
        for (; i < count && s->samples[i].kernel == s->samples[first].kernel; i++)
            values[i] = s->samples[i].ns;
        status = trace_typical_of(values + first, i - first, &kernel->each);
    }
    free(values);
    return status;
}

static int compare_kernels(const void *left, const void *right)
{
    const struct kernel *a = left, *b = right;
    if (a->dispatches != b->dispatches)
        return a->dispatches > b->dispatches ? -1 : 1;
    if (a->executable != b->executable)
        return a->executable < b->executable ? -1 : 1;
    return a->entry < b->entry ? -1 : a->entry > b->entry;
}

enum hal_status stats_load(struct stats *stats, struct trace_reader *reader)
{
    *stats = (struct stats){.reader = reader,
                            .kernels.row_bytes = sizeof(struct kernel),
                            .commands.row_bytes = sizeof(struct commands),
                            .submissions.row_bytes = sizeof(struct submission)};
    host_calls_init(&stats->host_calls);
    struct tool_progress progress;
    tool_progress_begin(&progress, "counting", trace_reader_counts(reader)->events);
    const enum hal_status status = tool_each(reader, &progress, take, stats);
    tool_progress_end(&progress);
    if (status != HAL_OK)
        return status;
    HAL_TRY(count_all(stats));
    HAL_TRY(find_typical_times(stats));
    if (stats->kernels.count)
        qsort(stats->kernels.rows, stats->kernels.count, sizeof(struct kernel), compare_kernels);
    return HAL_OK;
}

void stats_finish(struct stats *stats)
{
    failures_finish(&stats->failures);
    exchanges_finish(&stats->exchanges);
    host_calls_finish(&stats->host_calls);
    tool_table_finish(&stats->kernels);
    tool_table_finish(&stats->commands);
    tool_table_finish(&stats->submissions);
    free(stats->uses);
    free(stats->submitted);
    free(stats->dispatched);
    free(stats->samples);
    trace_reader_close(stats->reader);
}
