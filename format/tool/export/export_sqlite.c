/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace export --format=sqlite: traces as rows of a database, for questions to many of them.
 * Events come in the order of the file; the database joins what belongs together in the end. */
#include "format/tool/export/database.h"
#include "format/tool/export/export.h"
#include "format/tool/support/host_calls.h"
#include "format/tool/support/tool.h"

#include "format/columns/collectives.h"
#include "hal/base/idmap.h"
#include "hal/base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Scopes that are open in a thread; what is deeper counts as in the deepest kept. */
enum { MOST_SCOPES = 64 };
struct thread_scopes {
    uint32_t names[MOST_SCOPES];
    uint32_t depth;
};

struct exporter {
    struct database db;
    struct tool_progress progress;
    /* State of the current trace. */
    struct trace_reader *reader;
    int64_t origin_ns;
    struct hal_idmap threads; /* positions in `scopes` */
    struct thread_scopes *scopes;
    struct host_calls host_calls;
};

#define INSERT(x, ...) DATABASE_INSERT(&(x)->db, __VA_ARGS__)

/* ---- Events --------------------------------------------------------------------------------- */

/* Times count from the beginning of the capture; 0 is "not known" in a trace. */
static struct database_value time_of(struct exporter *x, int64_t ns)
{
    return ns ? NUMBER(tool_since(x->origin_ns, ns)) : NOTHING;
}

static struct database_value string_of(struct exporter *x, uint32_t id)
{
    const char *string = id ? trace_reader_string(x->reader, id) : NULL;
    return string ? TEXT(string) : NOTHING;
}

static struct thread_scopes *scopes_of(struct exporter *x, uint32_t thread)
{
    uint32_t position;
    return hal_idmap_find(&x->threads, thread, &position) ? &x->scopes[position] : NULL;
}

static struct database_value scope_of(struct exporter *x, uint32_t thread)
{
    const struct thread_scopes *scopes = scopes_of(x, thread);
    if (!scopes || !scopes->depth)
        return NOTHING;
    const uint32_t depth = scopes->depth < MOST_SCOPES ? scopes->depth : MOST_SCOPES;
    return string_of(x, scopes->names[depth - 1]);
}

static void take_scope(struct exporter *x, const struct trace_scope *scope)
{
    struct thread_scopes *scopes = scopes_of(x, scope->head.thread);
    if (!scopes)
        return;
    if (scope->head.kind == TRACE_SCOPE_END)
        scopes->depth -= scopes->depth > 0;
    else if (scopes->depth++ < MOST_SCOPES)
        scopes->names[scopes->depth - 1] = scope->name;
}

static enum hal_status take_executable(struct exporter *x,
                                       const struct trace_executable_create *event)
{
    for (uint32_t i = 0; i < event->entry_point_count; i++) {
        const struct trace_entry_point *entry = &event->entry_points[i];
        HAL_TRY(INSERT(
            x, ROW_KERNEL, NUMBER(x->db.trace), NUMBER(event->executable), NUMBER(i),
            string_of(x, entry->name),
            NUMBER((uint64_t)entry->group_size[0] * entry->group_size[1] * entry->group_size[2])));
    }
    return HAL_OK;
}

static enum hal_status take_seal(struct exporter *x, const struct trace_command_buffer_seal *seal,
                                 const struct trace_segment *segment)
{
    uint32_t number = 0;
    for (uint32_t i = 0; i < seal->segment_count; i++) {
        const struct trace_dispatch *plain = (const void *)segment;
        const struct trace_dispatch_indirect *indirect = (const void *)segment;
        if (segment->kind == TRACE_DISPATCH)
            HAL_TRY(INSERT(x, ROW_ENDED, NUMBER(seal->command_buffer), NUMBER(number),
                           NUMBER(plain->executable), NUMBER(plain->entry),
                           NUMBER(plain->workgroup_count[0]), NUMBER(plain->workgroup_count[1]),
                           NUMBER(plain->workgroup_count[2])));
        else if (segment->kind == TRACE_DISPATCH_INDIRECT)
            HAL_TRY(INSERT(x, ROW_ENDED, NUMBER(seal->command_buffer), NUMBER(number),
                           NUMBER(indirect->executable), NUMBER(indirect->entry), NOTHING, NOTHING,
                           NOTHING));
        number += trace_is_dispatch(segment->kind);
        segment = trace_next_segment(segment);
    }
    return HAL_OK;
}

static enum hal_status take_submit(struct exporter *x, const struct trace_submit *event)
{
    char operation[64];
    const uint64_t *commands = trace_submit_command_buffers(event);
    if (event->head.status != HAL_OK)
        return HAL_OK; /* there is no such submission */
    for (uint32_t i = 0; i < event->command_buffer_count; i++)
        HAL_TRY(
            INSERT(x, ROW_SUBMITTED, NUMBER(event->submission), NUMBER(i), NUMBER(commands[i])));
    return INSERT(x, ROW_SUBMIT, NUMBER(x->db.trace), NUMBER(event->submission),
                  NUMBER(event->queue), NUMBER(event->head.thread),
                  TEXT(trace_column_text("submit", "operation", event->operation, operation,
                                         sizeof operation)),
                  scope_of(x, event->head.thread), time_of(x, event->head.begin_ns));
}

static enum hal_status take_times(struct exporter *x, const struct trace_dispatch_times *event)
{
    for (uint32_t i = 0; i < event->time_count; i++) {
        const struct trace_dispatch_time *time = &event->times[i];
        HAL_TRY(INSERT(x, ROW_TIMED, NUMBER(event->submission), NUMBER(time->command_buffer),
                       NUMBER(time->dispatch), time_of(x, time->begin_ns),
                       time_of(x, time->end_ns)));
    }
    return HAL_OK;
}

static enum hal_status take_transfer(struct exporter *x, const struct trace_content_event *event)
{
    if (event->flags & (TRACE_FLAG_SNAPSHOT | TRACE_FLAG_FILE) ||
        host_calls_hold(&x->host_calls, &event->head))
        return HAL_OK;
    return INSERT(x, ROW_TRANSFER, NUMBER(x->db.trace), NUMBER(event->head.thread),
                  TEXT(event->head.kind == TRACE_HOST_WRITE ? "write" : "read"),
                  NUMBER(event->buffer), NUMBER(event->size), time_of(x, event->head.begin_ns),
                  time_of(x, event->head.end_ns));
}

static enum hal_status take_channel(struct exporter *x, const struct trace_channel_create *event)
{
    if (event->head.status != HAL_OK)
        return HAL_OK;
    return INSERT(x, ROW_CHANNEL, NUMBER(x->db.trace), NUMBER(event->channel),
                  string_of(x, event->label), NUMBER(event->group), NUMBER(event->rank),
                  NUMBER(event->count));
}

static enum hal_status take_collective(struct exporter *x, const struct trace_collective *event)
{
    char operation[TRACE_COLLECTIVE_NAME_BYTES], type[TRACE_COLLECTIVE_NAME_BYTES];
    char reduction[TRACE_COLLECTIVE_NAME_BYTES];
    return INSERT(
        x, ROW_COLLECTIVE, NUMBER(x->db.trace), NUMBER(event->submission), NUMBER(event->channel),
        TEXT(trace_collective_operation_name(event->collective, operation)),
        TEXT(trace_element_type_name(event->type, type)),
        event->reduction ? TEXT(trace_reduction_name(event->reduction, reduction)) : NOTHING,
        trace_collective_has_peer(event->collective) ? NUMBER(event->peer) : NOTHING,
        NUMBER(event->count), NUMBER(event->number), NUMBER(event->send_size),
        NUMBER(event->receive_size), TEXT(hal_status_name((enum hal_status)event->head.status)));
}

static enum hal_status take(void *user, const struct trace_event *event,
                            const struct trace_segment *segments)
{
    struct exporter *x = user;
    const void *typed = event;
    const struct trace_submission_done *done = typed;
    HAL_TRY(host_calls_take(&x->host_calls, event));
    switch (event->kind) {
    case TRACE_CHANNEL_CREATE: return take_channel(x, typed);
    case TRACE_COLLECTIVE: return take_collective(x, typed);
    case TRACE_EXECUTABLE_CREATE: return take_executable(x, typed);
    case TRACE_COMMAND_BUFFER_SEAL: return take_seal(x, typed, segments);
    case TRACE_SUBMIT: return take_submit(x, typed);
    case TRACE_DISPATCH_TIMES: return take_times(x, typed);
    case TRACE_SUBMISSION_DONE:
        return INSERT(x, ROW_DONE, NUMBER(x->db.trace), NUMBER(done->submission),
                      NUMBER(done->queue), time_of(x, done->ready_ns), time_of(x, event->begin_ns),
                      time_of(x, event->end_ns),
                      TEXT(hal_status_name((enum hal_status)event->status)));
    case TRACE_SEMAPHORE_WAIT:
    case TRACE_WAIT_IDLE:
        return INSERT(x, ROW_WAIT, NUMBER(x->db.trace), NUMBER(event->thread),
                      scope_of(x, event->thread), time_of(x, event->begin_ns),
                      time_of(x, event->end_ns),
                      TEXT(hal_status_name((enum hal_status)event->status)));
    case TRACE_HOST_WRITE:
    case TRACE_HOST_READ: return take_transfer(x, typed);
    case TRACE_SCOPE_BEGIN:
    case TRACE_SCOPE_END: take_scope(x, typed); return HAL_OK;
    default: return HAL_OK; /* nothing that a table has */
    }
}

/* ---- A trace -------------------------------------------------------------------------------- */

/* When the first event was, by the time of day. */
static int64_t origin_wall_ns(const struct exporter *x)
{
    const struct trace_header *header = trace_reader_header(x->reader);
    const int64_t after_ns = tool_since(header->start_ns, trace_reader_origin_ns(x->reader));
    return (int64_t)((uint64_t)header->start_wall_ns + (uint64_t)after_ns);
}

static enum hal_status add_header(struct exporter *x, const char *path)
{
    const struct trace_header *header = trace_reader_header(x->reader);
    const struct trace_health *health = trace_reader_health(x->reader);
    const struct trace_counts *counts = trace_reader_counts(x->reader);
    const char *missing = trace_reader_truncated(x->reader);
    struct trace_text arguments = {0};
    trace_json_open(&arguments, '[');
    for (size_t i = 0; i < header->argument_count; i++)
        trace_json_text(&arguments, header->arguments[i]);
    trace_json_close(&arguments, ']');
    trace_text_append(&arguments, "", 1);
    enum hal_status status =
        arguments.is_failed ? hal_fail(HAL_NO_MEMORY, "no memory for the arguments") : HAL_OK;
    if (status == HAL_OK)
        status =
            INSERT(x, ROW_TRACE, NUMBER(x->db.trace), TEXT(path), TEXT(header->program),
                   TEXT(arguments.data), TEXT(header->host), TEXT(header->system),
                   NUMBER(header->process_id), NUMBER(origin_wall_ns(x)), TEXT(header->mode),
                   TEXT(header->writer), TEXT(header->device.uri), TEXT(header->device.driver),
                   TEXT(header->device.name), *missing ? TEXT(missing) : NOTHING,
                   NUMBER(counts->events), NUMBER(tool_since(counts->first_ns, counts->last_ns)),
                   health ? NUMBER(health->overhead_ns) : NOTHING);
    trace_text_finish(&arguments);
    for (size_t i = 0; status == HAL_OK && i < trace_reader_thread_count(x->reader); i++) {
        const struct trace_thread *thread = trace_reader_thread(x->reader, i);
        status = INSERT(x, ROW_THREAD, NUMBER(x->db.trace), NUMBER(thread->id),
                        NUMBER(thread->system_id), string_of(x, thread->name));
    }
    return status;
}

static enum hal_status prepare(struct exporter *x)
{
    const size_t count = trace_reader_thread_count(x->reader);
    x->origin_ns = trace_reader_origin_ns(x->reader);
    host_calls_init(&x->host_calls);
    x->scopes = hal_alloc(count + 1, sizeof *x->scopes);
    bool is_enough = x->scopes != NULL;
    for (size_t i = 0; is_enough && i < count; i++)
        is_enough = hal_idmap_add(&x->threads, trace_reader_thread(x->reader, i)->id, (uint32_t)i,
                                  &(uint32_t){0});
    return is_enough ? HAL_OK : hal_fail(HAL_NO_MEMORY, "no memory for %zu threads", count);
}

/* All of it or nothing. */
static enum hal_status add_whole(struct exporter *x, const char *path)
{
    HAL_TRY(database_begin(&x->db, path));
    enum hal_status status = add_header(x, path);
    if (status == HAL_OK)
        status = trace_reader_each(x->reader, take, x);
    return database_end(&x->db, status);
}

/* Under its whole path: it is the same trace from wherever it is named. */
static enum hal_status add_trace(struct exporter *x, const char *path)
{
    HAL_TRY(trace_reader_open(path, &x->reader));
    char *whole = realpath(path, NULL);
    if (*trace_reader_truncated(x->reader))
        tool_error("'%s' is incomplete: %s", path, trace_reader_truncated(x->reader));
    enum hal_status status = prepare(x);
    if (status == HAL_OK && !whole)
        status = hal_fail(HAL_IO, "'%s': %s", path, strerror(errno));
    if (status == HAL_OK)
        status = add_whole(x, whole);
    free(whole);
    free(x->scopes);
    host_calls_finish(&x->host_calls);
    hal_idmap_finish(&x->threads);
    x->threads = (struct hal_idmap){0};
    trace_reader_close(x->reader);
    return status;
}

int export_sqlite(const char *path, char *const *traces, int count)
{
    struct exporter x = {0};
    int result = TOOL_OK;
    enum hal_status status = database_open(&x.db, path);
    tool_progress_begin(&x.progress, "exporting", (uint64_t)count);
    for (int i = 0; status == HAL_OK && i < count; i++) {
        tool_progress(&x.progress, (uint64_t)i);
        const enum hal_status added = add_trace(&x, traces[i]);
        if (x.db.is_broken)
            status = added;
        else if (added != HAL_OK)
            result = tool_fail(added);
    }
    tool_progress_end(&x.progress);
    const int code = tool_fail(database_close(&x.db, status));
    return code == TOOL_OK ? result : code;
}
