/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the file's records to the model's tables: transfers and scopes here, calls of host
 * threads in ingest_host.c, command buffers and submissions in ingest_device.c. Records may name
 * objects whose creation comes later in the file, in another thread's chunk: the first mention
 * creates the table's row. */
#include "viewer/model/ingest.h"

#include "hal/base/order.h"

/* ---- Transfers and scopes ----------------------------------------------------------------- */

/* Pieces of one range have one ticket. */
static bool join(struct view_transfer *last, const struct view_transfer *piece)
{
    if (last->ticket != piece->ticket || last->buffer != piece->buffer ||
        last->class != piece->class || last->offset + last->bytes != piece->offset)
        return false;
    last->bytes += piece->bytes;
    last->end_ns = piece->end_ns > last->end_ns ? piece->end_ns : last->end_ns;
    return true;
}

static enum hal_status add_piece(struct ingest *in, const struct trace_content_event *event,
                                 uint32_t buffer, enum view_class class)
{
    struct view_model *m = in->model;
    const bool found = event->flags & TRACE_FLAG_SNAPSHOT;
    int64_t time_ns = VIEW_NO_TIME;
    if (!event->content || (!found && !view_ingest_plausible(in, event->head.end_ns, &time_ns)))
        return HAL_OK;
    HAL_TRY(VIEW_ROOM(m, pieces, 1));
    m->pieces[m->pieces_count++] =
        (struct view_piece){.time_ns = time_ns,
                            .content = event->content,
                            .offset = event->offset,
                            .bytes = event->size,
                            .buffer = buffer,
                            .class = (uint8_t) class,
                            .stored = !(event->flags & TRACE_FLAG_DIGEST)};
    return HAL_OK;
}

static enum hal_status take_content(struct ingest *in, const struct trace_content_event *event)
{
    struct view_model *m = in->model;
    struct view_transfer transfer = {
        .bytes = event->size, .ticket = event->head.ticket, .offset = event->offset};
    transfer.class = event->head.kind == TRACE_HOST_WRITE ? VIEW_UPLOAD
                     : event->flags & TRACE_FLAG_OBSERVED ? VIEW_OBSERVED
                                                          : VIEW_READBACK;
    HAL_TRY(view_ingest_host(in, event->head.thread, &transfer.host));
    HAL_TRY(view_ingest_buffer_row(in, event->buffer, &transfer.buffer));
    HAL_TRY(add_piece(in, event, transfer.buffer, (enum view_class)transfer.class));
    if (event->flags & TRACE_FLAG_SNAPSHOT)
        return HAL_OK;
    HAL_TRY(VIEW_ROOM(m, transfers, 1));
    if (!view_ingest_times(in, event->head.begin_ns, event->head.end_ns, &transfer.begin_ns,
                           &transfer.end_ns))
        return HAL_OK;
    if (m->transfers_count > 0 && join(&m->transfers[m->transfers_count - 1], &transfer))
        return HAL_OK;
    m->transfers[m->transfers_count++] = transfer;
    return HAL_OK;
}

static enum hal_status take_failure(struct ingest *in, const struct trace_failure *event)
{
    struct view_model *m = in->model;
    struct view_failure failure = {.call = event->call,
                                   .status = event->head.status,
                                   .message = event->message,
                                   .stack = event->head.stack};
    int64_t end_ns;
    HAL_TRY(view_ingest_host(in, event->head.thread, &failure.host));
    if (!view_ingest_times(in, event->head.begin_ns, event->head.end_ns, &failure.begin_ns,
                           &end_ns))
        failure.begin_ns = VIEW_NO_TIME;
    HAL_TRY(VIEW_ROOM(m, failures, 1));
    m->failures[m->failures_count++] = failure;
    if (m->summary.failed_calls < m->failures_count) /* not all of them have a row */
        m->summary.failed_calls = m->failures_count;
    return HAL_OK;
}

static enum hal_status take_scope_begin(struct ingest *in, const struct trace_scope *event)
{
    struct view_model *m = in->model;
    uint32_t host;
    int64_t end_ns;
    HAL_TRY(view_ingest_host(in, event->head.thread, &host));
    struct open_scopes *open = &in->open_scopes[host];
    struct view_scope scope = {
        .name = event->name,
        .host = host,
        .depth = (uint16_t)(open->scopes_count < UINT16_MAX ? open->scopes_count : UINT16_MAX),
        .open = true};
    if (!view_ingest_times(in, event->head.begin_ns, event->head.begin_ns, &scope.begin_ns,
                           &end_ns))
        scope.begin_ns = VIEW_NO_TIME;
    HAL_TRY(VIEW_ROOM(m, scopes, 1));
    HAL_TRY(VIEW_ROOM(open, scopes, 1));
    open->scopes[open->scopes_count++] = (uint32_t)m->scopes_count;
    m->scopes[m->scopes_count++] = scope;
    if (open->scopes_count > m->hosts[host].scope_depth)
        m->hosts[host].scope_depth = (uint32_t)open->scopes_count;
    return HAL_OK;
}

/* An end without a begin belongs to a scope that began before the capture: nothing to draw. */
static enum hal_status take_scope_end(struct ingest *in, const struct trace_scope *event)
{
    uint32_t host;
    int64_t begin_ns;
    HAL_TRY(view_ingest_host(in, event->head.thread, &host));
    struct open_scopes *open = &in->open_scopes[host];
    if (!open->scopes_count)
        return HAL_OK;
    struct view_scope *scope = &in->model->scopes[open->scopes[--open->scopes_count]];
    if (scope->begin_ns != VIEW_NO_TIME &&
        view_ingest_times(in, scope->begin_ns + in->model->origin_ns, event->head.end_ns, &begin_ns,
                          &scope->end_ns))
        scope->open = false;
    return HAL_OK;
}

static void finish_scopes(struct ingest *in)
{
    struct view_model *m = in->model;
    size_t kept = 0;
    for (size_t i = 0; i < m->scopes_count; i++) {
        struct view_scope scope = m->scopes[i];
        if (scope.begin_ns == VIEW_NO_TIME)
            continue;
        if (scope.open)
            scope.end_ns = m->last_ns;
        m->scopes[kept++] = scope;
    }
    m->scopes_count = kept;
}

/* ---- All ---------------------------------------------------------------------------------- */

/* Now and then. */
static enum hal_status tell(struct ingest *in)
{
    enum { STEP = 1 << 16 };
    const struct trace_counts *counts = trace_reader_counts(in->model->reader);
    if (!in->progress || in->read - in->told < STEP)
        return HAL_OK;
    in->told = in->read;
    if (in->progress->tell(in->progress->user, in->model->reader, in->read,
                           counts->events + counts->segments))
        return HAL_OK;
    return hal_fail(HAL_TIMEOUT, "reading '%s' was cancelled", in->model->path);
}

static void count_written(struct view_model *model, const struct trace_submission_outputs *event)
{
    model->written_ranges += event->output_count;
    for (uint32_t i = 0; i < event->output_count; i++)
        model->written_digests += event->outputs[i].state == TRACE_WRITTEN_KNOWN;
}

static enum hal_status take_other(struct ingest *in, const struct trace_event *event)
{
    const void *record = event;
    if (event->kind == TRACE_SET_LAYOUT_CREATE) {
        const struct trace_set_layout_create *created = record;
        return view_ingest_other(in, event, created->layout, created->label);
    }
    if (event->kind == TRACE_PIPELINE_LAYOUT_CREATE) {
        const struct trace_pipeline_layout_create *created = record;
        return view_ingest_other(in, event, created->layout, created->label);
    }
    const struct trace_object_event *created = record;
    return view_ingest_other(in, event, created->object, created->label);
}

static enum hal_status take(void *user, const struct trace_event *event,
                            const struct trace_segment *segments)
{
    struct ingest *in = user;
    in->read++;
    HAL_TRY(tell(in));
    const void *record = event;
    switch ((enum trace_event_kind)event->kind) {
    case TRACE_BUFFER_CREATE: return view_ingest_buffer(in, record);
    case TRACE_BUFFER_MAP:
    case TRACE_BUFFER_UNMAP:
    case TRACE_MAPPING_FLUSH:
    case TRACE_MAPPING_INVALIDATE: return view_ingest_mapping(in, record);
    case TRACE_HOST_WRITE:
    case TRACE_HOST_READ: return take_content(in, record);
    case TRACE_EXECUTABLE_CREATE: return view_ingest_executable(in, record);
    case TRACE_BUFFER_DESTROY:
    case TRACE_EXECUTABLE_DESTROY:
    case TRACE_COMMAND_BUFFER_DESTROY:
    case TRACE_SEMAPHORE_DESTROY:
    case TRACE_EVENT_DESTROY:
    case TRACE_SET_LAYOUT_DESTROY:
    case TRACE_CHANNEL_DESTROY:
    case TRACE_PIPELINE_LAYOUT_DESTROY: return view_ingest_destroy(in, record);
    case TRACE_EVENT_CREATE:
    case TRACE_SET_LAYOUT_CREATE:
    case TRACE_PIPELINE_LAYOUT_CREATE: return take_other(in, event);
    case TRACE_CHANNEL_CREATE: return view_ingest_channel(in, record);
    case TRACE_COMMAND_BUFFER_CREATE: return view_ingest_command_buffer(in, record);
    case TRACE_COMMAND_BUFFER_SEAL: return view_ingest_command_buffer_end(in, record, segments);
    case TRACE_SEMAPHORE_CREATE: return view_ingest_semaphore(in, record);
    case TRACE_SEMAPHORE_QUERY:
    case TRACE_SEMAPHORE_SIGNAL:
    case TRACE_SEMAPHORE_FAIL: return view_ingest_semaphore_event(in, record);
    case TRACE_SEMAPHORE_WAIT: return view_ingest_wait(in, record);
    case TRACE_SUBMIT: return view_ingest_submit(in, record);
    case TRACE_SUBMISSION_DONE: return view_ingest_done(in, record);
    case TRACE_COLLECTIVE: return view_ingest_collective(in, record);
    case TRACE_WAIT_IDLE:
        return view_ingest_call(in, event, VIEW_NO_REF,
                                (uint64_t)TRACE_AS(trace_wait_idle, record)->timeout_ns, 0);
    case TRACE_DISPATCH_TIMES: return view_ingest_dispatch_times(in, record);
    case TRACE_SUBMISSION_OUTPUTS: count_written(in->model, record); break;
    case TRACE_SCOPE_BEGIN: return take_scope_begin(in, record);
    case TRACE_SCOPE_END: return take_scope_end(in, record);
    case TRACE_FAILURE: return take_failure(in, record);
    case TRACE_MAPPED_CHANGE:
    case TRACE_SUBSPAN_CREATE:
    case TRACE_SUBSPAN_DESTROY:
    case TRACE_HOST_CALL_BEGIN:
    case TRACE_HOST_CALL_END:
    case TRACE_QUEUE_FLUSH:
    case TRACE_COMMAND_STACKS:
    case TRACE_FILE:
    case TRACE_UNSUPPORTED:
    case TRACE_STRING:
    case TRACE_STACK:
    case TRACE_MODULE:
    case TRACE_THREAD: break;
    }
    return HAL_OK;
}

HAL_COMPARE(compare_submissions, struct view_submission, number)

HAL_COMPARE_3(compare_pieces, struct view_piece, buffer, time_ns, offset)

/* Most rows are in order, followed by those of other threads: merges these. False: too many. */
static bool merge_strays(struct view_model *m)
{
    struct view_submission *rows = m->submissions;
    const size_t count = m->submissions_count;
    size_t strays = 0, kept = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++) {
        strays += rows[i].number < most;
        most = rows[i].number > most ? rows[i].number : most;
    }
    struct view_submission *side = strays <= count / 8 ? hal_alloc(strays, sizeof *side) : NULL;
    if (!side)
        return false;
    most = 0;
    for (size_t i = 0, next = 0; i < count; i++) {
        if (rows[i].number < most) {
            side[next++] = rows[i];
            continue;
        }
        most = rows[i].number;
        if (kept != i)
            rows[kept] = rows[i];
        kept++;
    }
    qsort(side, strays, sizeof *side, compare_submissions);
    while (strays > 0) { /* from the end, where there is room */
        const bool stray = !kept || compare_submissions(&rows[kept - 1], &side[strays - 1]) < 0;
        rows[kept + strays - 1] = stray ? side[strays - 1] : rows[kept - 1];
        strays -= stray;
        kept -= !stray;
    }
    free(side);
    return true;
}

/* Numbers without holes: each row is swapped to its place. False: there are holes. */
static bool place_submissions(struct view_model *m)
{
    const size_t count = m->submissions_count;
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < count; i++) {
        least = m->submissions[i].number < least ? m->submissions[i].number : least;
        most = m->submissions[i].number > most ? m->submissions[i].number : most;
    }
    if (!count || most - least != count - 1) /* numbers are different: rows have one each */
        return false;
    for (size_t i = 0; i < count; i++) {
        while (m->submissions[i].number - least != i) {
            const size_t place = (size_t)(m->submissions[i].number - least);
            const struct view_submission other = m->submissions[place];
            m->submissions[place] = m->submissions[i];
            m->submissions[i] = other;
        }
    }
    return true;
}

static void order_submissions(struct view_model *m)
{
    bool sorted = true;
    for (size_t i = 1; i < m->submissions_count; i++)
        sorted = sorted && m->submissions[i - 1].number < m->submissions[i].number;
    if (!sorted && !merge_strays(m) && !place_submissions(m))
        qsort(m->submissions, m->submissions_count, sizeof *m->submissions, compare_submissions);
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        if (m->submissions[i].call != VIEW_NO_REF)
            m->calls[m->submissions[i].call].object = i;
    }
}

static void finish_ingest(struct ingest *in)
{
    struct hal_idmap *maps[] = {&in->hosts,           &in->buffers,    &in->executables,
                                &in->command_buffers, &in->semaphores, &in->submissions,
                                &in->others,          &in->ops,        &in->bodies};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        hal_idmap_finish(maps[i]);
    for (size_t i = 0; i < in->open_scopes_count; i++)
        free(in->open_scopes[i].scopes);
    free(in->open_scopes);
    free(in->times);
}

enum hal_status view_build_tables(struct view_model *model, const struct view_progress *progress)
{
    struct ingest in = {.model = model, .progress = progress};
    model->origin_ns = trace_reader_origin_ns(model->reader);
    view_ingest_moment(model, 0);
    enum hal_status status = view_ingest_no_body(&in);
    if (status == HAL_OK)
        status = trace_reader_each(model->reader, take, &in);
    if (status == HAL_OK) {
        order_submissions(model);
        if (model->pieces_count)
            qsort(model->pieces, model->pieces_count, sizeof *model->pieces, compare_pieces);
        status = view_ingest_finish_steps(&in);
        if (status == HAL_OK)
            status = view_ingest_finish_times(&in);
        finish_scopes(&in);
        if (status == HAL_OK)
            status = view_build_ranks(model);
    }
    finish_ingest(&in);
    return status;
}
