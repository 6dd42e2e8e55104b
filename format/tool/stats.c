/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace stats: what was executed how often, in numbers. */
#include "format/tool/collectives.h"
#include "format/tool/failures.h"
#include "format/tool/host_calls.h"
#include "format/tool/table.h"
#include "format/tool/tool.h"

#include "hal/base/mem.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* An entry point of an executable. */
struct kernel {
    uint64_t executable;
    uint32_t name, entry;
    uint32_t group_size[3];
    uint64_t dispatches, groups;
    uint64_t alone_ns, alone; /* device time of submissions that are one dispatch */
    uint64_t timed_ns, timed; /* of dispatches that the device timed */
};

/* What a command buffer adds to the counts each time that it runs. */
struct commands {
    size_t first_use, use_count; /* in `uses` */
    size_t first_dispatch;       /* in `dispatched` */
    uint64_t barriers, fills, copies, updates, transfer_bytes, dispatches, indirect;
};

struct use {
    size_t kernel; /* its place in `kernels` */
    uint64_t dispatches, groups;
};

struct submission {
    uint64_t id;
    size_t first_commands, commands_count; /* in `submitted` */
    int64_t device_ns;
};

struct tally {
    uint64_t count, bytes;
    int64_t ns;
};

struct stats {
    struct trace_reader *reader;
    struct failures failures;
    struct exchanges exchanges;
    struct host_calls host_calls;
    struct tool_table kernels, commands, submissions; /* of structs of that name */
    struct use *uses;
    uint64_t *submitted;  /* command buffer ids */
    uint32_t *dispatched; /* places in `kernels`, dispatch by dispatch */
    size_t use_count, use_capacity, submitted_count, submitted_capacity;
    size_t dispatched_count, dispatched_capacity;
    struct tally waits, uploads, readbacks, submits;
    struct commands total;
    int64_t device_ns;
};

#define ROOM(stats, list, count, extra)                                                            \
    room(&(stats)->list, &(stats)->count##_capacity, (stats)->count##_count + (extra),             \
         sizeof *(stats)->list)

static enum hal_status room(void *list, size_t *capacity, size_t wanted, size_t bytes_each)
{
    void *array;
    memcpy(&array, list, sizeof array);
    if (wanted >= UINT32_MAX || !hal_grow(&array, capacity, wanted, bytes_each))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu rows", wanted);
    memcpy(list, &array, sizeof array);
    return HAL_OK;
}

static enum hal_status no_row(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to count more");
}

/* ---- Kernels and command buffers ---- */

/* Executable and entry as one number; a collision is looked for. */
static enum hal_status kernel_row(struct stats *s, uint64_t executable, uint32_t entry,
                                  struct kernel **out)
{
    for (uint64_t id = executable * 0x9e3779b97f4a7c15ull + entry;; id++) {
        const size_t known = s->kernels.count;
        struct kernel *kernel = tool_table_add(&s->kernels, id);
        if (!kernel)
            return no_row();
        if (s->kernels.count > known)
            *kernel = (struct kernel){.executable = executable, .entry = entry};
        *out = kernel;
        if (kernel->executable == executable && kernel->entry == entry)
            return HAL_OK;
    }
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
        c->transfer_bytes += ((const struct trace_fill *)typed)->size;
        break;
    case TRACE_COPY:
        c->copies++;
        c->transfer_bytes += ((const struct trace_copy *)typed)->size;
        break;
    case TRACE_UPDATE:
        c->updates++;
        c->transfer_bytes += ((const struct trace_update *)typed)->size;
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
    if (event->head.begin_ns && event->head.end_ns > event->head.begin_ns)
        submission->device_ns = event->head.end_ns - event->head.begin_ns;
    return HAL_OK;
}

/* They come behind the submission that they are of. */
static void take_times(struct stats *s, const struct trace_dispatch_times *event)
{
    const struct submission *submission = tool_table_find(&s->submissions, event->submission);
    for (uint32_t i = 0; submission && i < event->time_count; i++) {
        const struct trace_dispatch_time *time = &event->times[i];
        const struct commands *commands = NULL;
        if (time->command_buffer < submission->commands_count)
            commands = tool_table_find(
                &s->commands, s->submitted[submission->first_commands + time->command_buffer]);
        if (!commands || time->dispatch >= commands->dispatches || time->end_ns <= time->begin_ns)
            continue;
        struct kernel *kernel =
            tool_table_row(&s->kernels, s->dispatched[commands->first_dispatch + time->dispatch]);
        kernel->timed++;
        kernel->timed_ns += (uint64_t)time->end_ns - (uint64_t)time->begin_ns;
    }
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
        take_times(s, typed);
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

static void count_all(struct stats *s)
{
    for (size_t i = 0; i < s->submissions.count; i++) {
        const struct submission *submission = tool_table_row(&s->submissions, i);
        const struct commands *only = NULL;
        s->device_ns += submission->device_ns;
        exchanges_took(&s->exchanges, submission->id, submission->device_ns);
        for (size_t k = 0; k < submission->commands_count; k++) {
            const struct commands *commands =
                tool_table_find(&s->commands, s->submitted[submission->first_commands + k]);
            if (!commands)
                continue;
            run_commands(s, commands);
            only = commands;
        }
        if (submission->commands_count == 1 && only && only->dispatches == 1 && !only->fills &&
            !only->copies && !only->updates && submission->device_ns) {
            struct kernel *kernel = tool_table_row(&s->kernels, s->uses[only->first_use].kernel);
            kernel->alone++;
            kernel->alone_ns += (uint64_t)submission->device_ns;
        }
    }
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

/* ---- Output ---- */

static void add(struct trace_text *text, const char *key, uint64_t value)
{
    trace_json_key(text, key);
    trace_json_u64(text, value);
}

static void json_kernels(struct trace_text *text, const struct stats *s)
{
    trace_json_key(text, "kernels");
    trace_json_open(text, '[');
    for (size_t i = 0; i < s->kernels.count; i++) {
        const struct kernel *k = tool_table_row(&s->kernels, i);
        const char *name = trace_reader_string(s->reader, k->name);
        trace_json_open(text, '{');
        trace_json_key(text, "name");
        trace_json_text(text, name ? name : "");
        add(text, "executable", k->executable);
        add(text, "entry", k->entry);
        add(text, "dispatches", k->dispatches);
        add(text, "workgroups", k->groups);
        add(text, "threads_per_group",
            (uint64_t)k->group_size[0] * k->group_size[1] * k->group_size[2]);
        add(text, "alone", k->alone);
        add(text, "alone_ns", k->alone_ns);
        add(text, "timed", k->timed);
        add(text, "timed_ns", k->timed_ns);
        trace_json_close(text, '}');
    }
    trace_json_close(text, ']');
}

static void json_tally(struct trace_text *text, const char *key, const struct tally *tally)
{
    trace_json_key(text, key);
    trace_json_open(text, '{');
    add(text, "count", tally->count);
    add(text, "bytes", tally->bytes);
    add(text, "ns", (uint64_t)tally->ns);
    trace_json_close(text, '}');
}

static void print_json(struct trace_text *text, const char *path, struct stats *s)
{
    trace_json_open(text, '{');
    trace_json_key(text, "file");
    trace_json_text(text, path);
    add(text, "submissions", s->submissions.count);
    add(text, "device_ns", (uint64_t)s->device_ns);
    add(text, "dispatches", s->total.dispatches);
    add(text, "indirect_dispatches", s->total.indirect);
    add(text, "barriers", s->total.barriers);
    add(text, "fills", s->total.fills);
    add(text, "copies", s->total.copies);
    add(text, "updates", s->total.updates);
    add(text, "transfer_bytes", s->total.transfer_bytes);
    json_tally(text, "submit_calls", &s->submits);
    json_tally(text, "host_waits", &s->waits);
    json_tally(text, "uploads", &s->uploads);
    json_tally(text, "readbacks", &s->readbacks);
    json_kernels(text, s);
    exchanges_json(&s->exchanges, s->reader, text);
    failures_json(&s->failures, s->reader, text);
    trace_json_close(text, '}');
    trace_text_append(text, "\n", 1);
}

static void print_tally(struct trace_text *text, const char *name, const struct tally *tally)
{
    trace_text_printf(text, "%-12s %" PRIu64 " in %.3f ms", name, tally->count,
                      (double)tally->ns / 1e6);
    if (tally->bytes)
        trace_text_printf(text, ", %" PRIu64 " bytes", tally->bytes);
    trace_text_append(text, "\n", 1);
}

static void print_mean(struct trace_text *text, uint64_t count, uint64_t ns)
{
    if (count)
        trace_text_printf(text, "%9.3f us  ", (double)ns / (double)count / 1e3);
    else
        trace_text_printf(text, "%12s  ", "-");
}

static void print_text(struct trace_text *text, struct stats *s)
{
    trace_text_printf(text, "submissions  %zu, %.3f ms on the device\n", s->submissions.count,
                      (double)s->device_ns / 1e6);
    trace_text_printf(text,
                      "executed     %" PRIu64 " dispatches (%" PRIu64 " indirect), %" PRIu64
                      " barriers, %" PRIu64 " fills, %" PRIu64 " copies, %" PRIu64
                      " updates, %" PRIu64 " bytes moved\n",
                      s->total.dispatches, s->total.indirect, s->total.barriers, s->total.fills,
                      s->total.copies, s->total.updates, s->total.transfer_bytes);
    print_tally(text, "submit calls", &s->submits);
    print_tally(text, "host waits", &s->waits);
    print_tally(text, "uploads", &s->uploads);
    print_tally(text, "read-backs", &s->readbacks);
    failures_print(&s->failures, s->reader, text);
    trace_text_printf(text, "\n%12s %14s %12s  %12s  %s\n", "dispatches", "workgroups",
                      "alone, mean", "timed, mean", "kernel");
    for (size_t i = 0; i < s->kernels.count; i++) {
        const struct kernel *k = tool_table_row(&s->kernels, i);
        const char *name = trace_reader_string(s->reader, k->name);
        trace_text_printf(text, "%12" PRIu64 " %14" PRIu64 " ", k->dispatches, k->groups);
        print_mean(text, k->alone, k->alone_ns);
        print_mean(text, k->timed, k->timed_ns);
        trace_text_label(text, name ? name : "", strlen(name ? name : ""));
        trace_text_printf(text, " (%u x %u x %u, executable %" PRIu64 ")\n", k->group_size[0],
                          k->group_size[1], k->group_size[2], k->executable);
    }
    exchanges_print(&s->exchanges, s->reader, text);
}

static void finish(struct stats *s)
{
    failures_finish(&s->failures);
    exchanges_finish(&s->exchanges);
    host_calls_finish(&s->host_calls);
    tool_table_finish(&s->kernels);
    tool_table_finish(&s->commands);
    tool_table_finish(&s->submissions);
    free(s->uses);
    free(s->submitted);
    free(s->dispatched);
    trace_reader_close(s->reader);
}

/* `out_written`: the output can still be written. */
static int stats(const char *path, bool as_json, bool *out_written)
{
    struct stats s = {.kernels.row_bytes = sizeof(struct kernel),
                      .commands.row_bytes = sizeof(struct commands),
                      .submissions.row_bytes = sizeof(struct submission)};
    host_calls_init(&s.host_calls);
    struct trace_text text = {0};
    enum hal_status status = trace_reader_open(path, &s.reader);
    if (status != HAL_OK)
        return tool_fail(status);
    if (*trace_reader_truncated(s.reader))
        tool_error("'%s' is incomplete: %s", path, trace_reader_truncated(s.reader));
    struct tool_progress progress;
    tool_progress_begin(&progress, "counting", trace_reader_counts(s.reader)->events);
    status = tool_each(s.reader, &progress, take, &s);
    tool_progress_end(&progress);
    if (status == HAL_OK) {
        count_all(&s);
        if (s.kernels.count)
            qsort(s.kernels.rows, s.kernels.count, sizeof(struct kernel), compare_kernels);
        if (as_json)
            print_json(&text, path, &s);
        else
            print_text(&text, &s);
        status = tool_write(&text, true);
        *out_written = status == HAL_OK;
    }
    const int code = tool_fail(status);
    trace_text_finish(&text);
    finish(&s);
    return code;
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {0}};
    bool as_json = false, is_written = true;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option != 'j')
            return tool_wrong_option("stats", argv);
        as_json = true;
    }
    if (optind >= argc - 1 || !as_json) {
        const char *path = tool_one_file(argc, argv, optind);
        return path ? stats(path, as_json, &is_written) : TOOL_USAGE;
    }
    /* Of many traces: one that cannot be read does not keep the others out. */
    int result = TOOL_OK;
    for (int i = optind; i < argc && is_written; i++) {
        const int code = stats(argv[i], true, &is_written);
        result = code == TOOL_OK ? result : code;
    }
    return result;
}

const struct tool_command tool_stats = {
    .name = "stats",
    .summary = "what was executed how often",
    .help =
        "usage: hal-trace stats FILE\n"
        "       hal-trace stats --json FILE...\n\n"
        "Counts what the device executed: submissions, dispatches by kernel, transfers; and what\n"
        "the host did: submit calls, waits, uploads, read-backs. 'alone' is the mean device time\n"
        "of those submissions that consist of one dispatch of the kernel, 'timed' that of the\n"
        "dispatches which the device timed one by one (a capture of mode 'dispatch'). Of\n"
        "collectives: what this rank sent and received, by channel.\n\n"
        "  --json   as one JSON object on a line for each file; times are nanoseconds\n",
    .run = run,
};
