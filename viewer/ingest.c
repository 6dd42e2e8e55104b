/* SPDX-License-Identifier: Apache-2.0 */
/* The file's records become the model's tables. Records may name objects whose creation comes
 * later in the file, on another thread's chunk: the first mention makes the table's row. */
#include "hal/base/idmap.h"
#include "viewer/build.h"

/* A call outside [start - an hour, start + a year] has a damaged time, not a long life. */
#define EARLIEST_NS (-3600 * INT64_C(1000000000))
#define LATEST_NS   (366 * 24 * 3600 * INT64_C(1000000000))

struct ingest {
    struct view_model *model;
    struct hal_idmap hosts, buffers, executables, command_buffers, semaphores, submissions, others,
        ops;
    struct open_scopes *open_scopes; /* by host */
    size_t open_scopes_count, open_scopes_capacity;
};

/* Scopes of a thread that have begun and not ended, outermost first. */
struct open_scopes {
    uint32_t *scopes;
    size_t scopes_count, scopes_capacity;
};

enum hal_status view_build_room(void *array, size_t *capacity, size_t count, size_t extra,
                                size_t bytes_each, const char *what)
{
    void *elements;
    if (count + extra >= VIEW_NO_REF)
        return hal_fail(HAL_UNSUPPORTED, "more than %u %s", VIEW_NO_REF - 1, what);
    memcpy(&elements, array, sizeof elements);
    if (!hal_grow(&elements, capacity, count + extra, bytes_each))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu %s", count + extra, what);
    memcpy(array, &elements, sizeof elements);
    return HAL_OK;
}

/* ---- Rows by id --------------------------------------------------------------------------- */

static enum hal_status find_row(struct hal_idmap *ids, uint64_t id, size_t count, uint32_t *out_row)
{
    if (!hal_idmap_add(ids, id, (uint32_t)count, out_row))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu numbers", count);
    return HAL_OK;
}

/* Defines `name(ingest, id, &row)`: the table's row of that id, made when it is new. */
#define ROW_BY_ID(name, table, ...)                                                                \
    static enum hal_status name(struct ingest *in, uint64_t id, uint32_t *out_row)                 \
    {                                                                                              \
        struct view_model *m = in->model;                                                          \
        HAL_TRY(VIEW_ROOM(m, table, 1));                                                           \
        HAL_TRY(find_row(&in->table, id, m->table##_count, out_row));                              \
        if (*out_row == m->table##_count) {                                                        \
            m->table[*out_row] = __VA_ARGS__;                                                      \
            m->table##_count++;                                                                    \
        }                                                                                          \
        return HAL_OK;                                                                             \
    }

ROW_BY_ID(buffer_row, buffers,
          (struct view_buffer){.id = id, .create_ns = VIEW_NO_TIME, .destroy_ns = VIEW_NO_TIME})
ROW_BY_ID(executable_row, executables, (struct view_executable){.id = id})
ROW_BY_ID(other_row, others, (struct view_other){.id = id})
ROW_BY_ID(semaphore_row, semaphores, (struct view_semaphore){.id = id})
ROW_BY_ID(command_buffer_row, command_buffers,
          (struct view_command_buffer){.id = id,
                                       .create_ns = VIEW_NO_TIME,
                                       .seal_ns = VIEW_NO_TIME,
                                       .create_host = VIEW_NO_REF,
                                       .seal_host = VIEW_NO_REF})
ROW_BY_ID(submission_row, submissions,
          (struct view_submission){.number = id,
                                   .submit_ns = VIEW_NO_TIME,
                                   .submit_end_ns = VIEW_NO_TIME,
                                   .ready_ns = VIEW_NO_TIME,
                                   .begin_ns = VIEW_NO_TIME,
                                   .end_ns = VIEW_NO_TIME,
                                   .call = VIEW_NO_REF})
ROW_BY_ID(host_row, hosts, (struct view_host){.thread = (uint32_t)id, .lane = VIEW_NO_LANE})

#undef ROW_BY_ID

static enum hal_status add_host(struct ingest *in, uint32_t thread, uint32_t *out_host)
{
    HAL_TRY(host_row(in, thread, out_host));
    if (*out_host < in->open_scopes_count)
        return HAL_OK;
    HAL_TRY(VIEW_ROOM(in, open_scopes, 1));
    in->open_scopes[in->open_scopes_count++] = (struct open_scopes){0};
    const struct trace_thread *known = trace_reader_find_thread(in->model->reader, thread);
    if (known) {
        in->model->hosts[*out_host].name = known->name;
        in->model->hosts[*out_host].system_id = known->system_id;
    }
    return HAL_OK;
}

/* ---- Times -------------------------------------------------------------------------------- */

static bool plausible(const struct ingest *in, int64_t absolute_ns, int64_t *out_ns)
{
    return !__builtin_sub_overflow(absolute_ns, in->model->header->start_ns, out_ns) &&
           *out_ns >= EARLIEST_NS && *out_ns <= LATEST_NS;
}

/* A moment is inside the trace when the trace ends after it. */
static void include_moment(struct view_model *m, int64_t ns)
{
    if (ns < m->first_ns)
        m->first_ns = ns;
    if (ns >= m->last_ns)
        m->last_ns = ns + 1;
}

/* Begin and end as the model's times; false, and counted, when they cannot be. */
static bool take_times(struct ingest *in, int64_t begin, int64_t end, int64_t *out_begin_ns,
                       int64_t *out_end_ns)
{
    struct view_model *m = in->model;
    if (!plausible(in, begin, out_begin_ns) || !plausible(in, end, out_end_ns) || end < begin) {
        m->summary.implausible++;
        return false;
    }
    include_moment(m, *out_begin_ns);
    if (*out_end_ns > m->last_ns)
        m->last_ns = *out_end_ns;
    return true;
}

/* ---- Calls -------------------------------------------------------------------------------- */

static enum hal_status add_call(struct ingest *in, const struct trace_event *event, uint32_t object,
                                uint64_t offset, uint64_t size)
{
    struct view_model *m = in->model;
    struct view_call call = {.kind = event->kind,
                             .status = event->status,
                             .stack = event->stack,
                             .object = object,
                             .offset = offset,
                             .size = size};
    HAL_TRY(add_host(in, event->thread, &call.host));
    HAL_TRY(VIEW_ROOM(m, calls, 1));
    if (event->status != HAL_OK && event->status != HAL_TIMEOUT)
        m->summary.failed_calls++;
    if (take_times(in, event->begin_ns, event->end_ns, &call.begin_ns, &call.end_ns))
        m->calls[m->calls_count++] = call;
    return HAL_OK;
}

static enum hal_status add_values(struct ingest *in, const struct trace_semaphore_value *values,
                                  uint32_t count, uint32_t *out_first)
{
    struct view_model *m = in->model;
    *out_first = (uint32_t)m->values_count;
    HAL_TRY(VIEW_ROOM(m, values, count));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t semaphore;
        HAL_TRY(semaphore_row(in, values[i].semaphore, &semaphore));
        m->values[m->values_count++] =
            (struct view_value){.value = values[i].value, .semaphore = semaphore};
    }
    return HAL_OK;
}

static enum hal_status take_mapping(struct ingest *in, const struct trace_mapping_event *event)
{
    uint32_t buffer;
    HAL_TRY(buffer_row(in, event->buffer, &buffer));
    return add_call(in, &event->head, buffer, event->offset, event->size);
}

static enum hal_status take_buffer(struct ingest *in, const struct trace_buffer_create *event)
{
    uint32_t buffer;
    HAL_TRY(buffer_row(in, event->buffer, &buffer));
    in->model->buffers[buffer].bytes = event->size;
    in->model->buffers[buffer].label = event->label;
    if (event->flags & TRACE_FLAG_SNAPSHOT)
        return HAL_OK;
    return add_call(in, &event->head, buffer, 0, event->size);
}

static enum hal_status take_executable(struct ingest *in,
                                       const struct trace_executable_create *event)
{
    struct view_model *m = in->model;
    uint32_t row;
    HAL_TRY(executable_row(in, event->executable, &row));
    HAL_TRY(VIEW_ROOM(m, kernels, event->entry_point_count));
    HAL_TRY(trace_reflection_add(&m->reflection, event->executable, event));
    m->executables[row].label = event->label;
    m->executables[row].first_kernel = (uint32_t)m->kernels_count;
    m->executables[row].kernel_count = event->entry_point_count;
    for (uint32_t i = 0; i < event->entry_point_count; i++) {
        struct view_kernel *kernel = &m->kernels[m->kernels_count++];
        kernel->name = event->entry_points[i].name;
        memcpy(kernel->group_size, event->entry_points[i].group_size, sizeof kernel->group_size);
    }
    if (event->flags & TRACE_FLAG_SNAPSHOT)
        return HAL_OK;
    return add_call(in, &event->head, row, 0, event->size);
}

static enum hal_status take_destroy(struct ingest *in, const struct trace_object_event *event)
{
    uint32_t object = VIEW_NO_REF;
    if (event->head.kind == TRACE_BUFFER_DESTROY)
        HAL_TRY(buffer_row(in, event->object, &object));
    else if (event->head.kind == TRACE_EXECUTABLE_DESTROY)
        HAL_TRY(executable_row(in, event->object, &object));
    else if (event->head.kind == TRACE_COMMAND_BUFFER_DESTROY)
        HAL_TRY(command_buffer_row(in, event->object, &object));
    else if (event->head.kind == TRACE_SEMAPHORE_DESTROY)
        HAL_TRY(semaphore_row(in, event->object, &object));
    else
        HAL_TRY(other_row(in, event->object, &object));
    return add_call(in, &event->head, object, 0, 0);
}

static enum hal_status take_other(struct ingest *in, const struct trace_event *event, uint64_t id,
                                  uint32_t label)
{
    uint32_t row;
    HAL_TRY(other_row(in, id, &row));
    in->model->others[row].label = label;
    return add_call(in, event, row, 0, 0);
}

static enum hal_status take_wait(struct ingest *in, const struct trace_semaphore_wait *event)
{
    struct view_model *m = in->model;
    const size_t calls = m->calls_count;
    uint32_t first;
    HAL_TRY(add_values(in, event->values, event->value_count, &first));
    HAL_TRY(add_call(in, &event->head, VIEW_NO_REF, (uint64_t)event->timeout_ns, event->mode));
    if (m->calls_count > calls) {
        m->calls[calls].first_value = first;
        m->calls[calls].value_count = event->value_count;
    }
    return HAL_OK;
}

/* ---- Semaphores --------------------------------------------------------------------------- */

static enum hal_status add_step(struct ingest *in, struct view_step step)
{
    struct view_model *m = in->model;
    HAL_TRY(VIEW_ROOM(m, steps, 1));
    m->steps[m->steps_count++] = step;
    if (step.time_ns != VIEW_NO_TIME)
        include_moment(m, step.time_ns);
    return HAL_OK;
}

static enum hal_status take_semaphore(struct ingest *in, const struct trace_semaphore_create *event)
{
    struct view_model *m = in->model;
    struct view_step step = {.time_ns = VIEW_NO_TIME, /* of a snapshot: from the start */
                             .value = event->initial_value,
                             .submission = VIEW_NO_REF,
                             .call = VIEW_NO_REF};
    const size_t calls = m->calls_count;
    HAL_TRY(semaphore_row(in, event->semaphore, &step.semaphore));
    m->semaphores[step.semaphore].label = event->label;
    if (!(event->flags & TRACE_FLAG_SNAPSHOT)) {
        HAL_TRY(add_call(in, &event->head, step.semaphore, event->initial_value, 0));
        if (m->calls_count == calls)
            return HAL_OK;
        step.time_ns = m->calls[calls].end_ns;
        step.call = (uint32_t)calls;
    }
    return add_step(in, step);
}

static enum hal_status take_semaphore_event(struct ingest *in,
                                            const struct trace_semaphore_event *event)
{
    struct view_model *m = in->model;
    const size_t calls = m->calls_count;
    struct view_step step = {.value = event->value,
                             .submission = VIEW_NO_REF,
                             .call = (uint32_t)calls,
                             .status = event->head.status};
    HAL_TRY(semaphore_row(in, event->semaphore, &step.semaphore));
    HAL_TRY(add_call(in, &event->head, step.semaphore, event->value, event->message));
    const bool steps = event->head.kind == TRACE_SEMAPHORE_FAIL ||
                       (event->head.kind == TRACE_SEMAPHORE_SIGNAL && event->head.status == HAL_OK);
    if (!steps || m->calls_count == calls)
        return HAL_OK;
    step.time_ns = m->calls[calls].begin_ns;
    return add_step(in, step);
}

/* Once everything is known: what finished submissions signalled, and each semaphore's steps. */
static int compare_steps(const void *left, const void *right)
{
    const struct view_step *a = left, *b = right;
    if (a->semaphore != b->semaphore)
        return a->semaphore < b->semaphore ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->value < b->value ? -1 : a->value > b->value;
}

static enum hal_status finish_steps(struct ingest *in)
{
    struct view_model *m = in->model;
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        for (uint32_t k = 0; k < s->signal_count && s->done && s->end_ns != VIEW_NO_TIME; k++) {
            const struct view_value *signal = &m->values[s->first_signal + k];
            HAL_TRY(add_step(in, (struct view_step){.time_ns = s->end_ns,
                                                    .value = signal->value,
                                                    .semaphore = signal->semaphore,
                                                    .submission = i,
                                                    .call = VIEW_NO_REF,
                                                    .status = s->status}));
        }
    }
    for (uint32_t i = 0; i < m->steps_count; i++) {
        if (m->steps[i].time_ns == VIEW_NO_TIME)
            m->steps[i].time_ns = m->first_ns;
    }
    if (m->steps_count)
        qsort(m->steps, m->steps_count, sizeof *m->steps, compare_steps);
    for (uint32_t i = 0; i < m->steps_count; i++) {
        struct view_semaphore *semaphore = &m->semaphores[m->steps[i].semaphore];
        if (!semaphore->step_count++)
            semaphore->first_step = i;
    }
    return HAL_OK;
}

/* ---- Command buffers ---------------------------------------------------------------------- */

static enum hal_status take_command_buffer(struct ingest *in,
                                           const struct trace_object_event *event)
{
    uint32_t row, host;
    int64_t end_ns;
    HAL_TRY(add_host(in, event->head.thread, &host));
    HAL_TRY(command_buffer_row(in, event->object, &row));
    struct view_command_buffer *commands = &in->model->command_buffers[row];
    commands->label = event->label;
    commands->create_host = host;
    if (!take_times(in, event->head.begin_ns, event->head.end_ns, &commands->create_ns, &end_ns))
        commands->create_ns = VIEW_NO_TIME;
    return HAL_OK;
}

static struct view_op op_of(const struct trace_segment *segment)
{
    const void *record = segment;
    struct view_op op;
    memset(&op, 0, sizeof op); /* padding too: ops are compared as bytes */
    op.kind = segment->kind;
    switch ((enum trace_segment_kind)segment->kind) {
    case TRACE_BARRIER: op.object = ((const struct trace_barrier *)record)->buffer_count; break;
    case TRACE_FILL: op.bytes = ((const struct trace_fill *)record)->size; break;
    case TRACE_COPY: op.bytes = ((const struct trace_copy *)record)->size; break;
    case TRACE_UPDATE: op.bytes = ((const struct trace_update *)record)->size; break;
    case TRACE_PUSH_CONSTANTS:
        op.bytes = ((const struct trace_push_constants *)record)->size;
        break;
    case TRACE_PUSH_DESCRIPTOR_SET:
        op.object = ((const struct trace_push_descriptor_set *)record)->set;
        op.bytes = ((const struct trace_push_descriptor_set *)record)->binding_count;
        break;
    case TRACE_DISPATCH: {
        const struct trace_dispatch *dispatch = record;
        op.entry = dispatch->entry;
        memcpy(op.groups, dispatch->workgroup_count, sizeof op.groups);
        break;
    }
    case TRACE_DISPATCH_INDIRECT:
        op.entry = ((const struct trace_dispatch_indirect *)record)->entry;
        break;
    case TRACE_EVENTS_WAIT:
        op.object = ((const struct trace_events_wait *)record)->event_count;
        break;
    case TRACE_EVENT_SIGNAL:
    case TRACE_EVENT_RESET: break;
    case TRACE_DEBUG_BEGIN: op.object = ((const struct trace_debug *)record)->label; break;
    case TRACE_DEBUG_END: break;
    }
    return op;
}

static enum hal_status find_op(struct ingest *in, const struct view_op *op, uint32_t *out_op)
{
    struct view_model *m = in->model;
    uint64_t words[sizeof *op / 8], hash = in->ops.seed;
    HAL_TRY(VIEW_ROOM(m, ops, 1));
    memcpy(words, op, sizeof *op);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = ((hash ^ words[i]) * 0x9e3779b97f4a7c15ull) ^ (hash >> 29);
    for (;; hash++) {
        HAL_TRY(find_row(&in->ops, hash, m->ops_count, out_op));
        if (*out_op == m->ops_count) {
            m->ops[m->ops_count++] = *op;
            return HAL_OK;
        }
        if (memcmp(&m->ops[*out_op], op, sizeof *op) == 0)
            return HAL_OK;
    }
}

static enum hal_status take_seal(struct ingest *in, const struct trace_command_buffer_seal *event,
                                 const struct trace_segment *segment)
{
    struct view_model *m = in->model;
    uint32_t row, host;
    int64_t begin_ns;
    HAL_TRY(add_host(in, event->head.thread, &host));
    HAL_TRY(command_buffer_row(in, event->command_buffer, &row));
    HAL_TRY(VIEW_ROOM(m, segments, event->segment_count));
    struct view_command_buffer *commands = &m->command_buffers[row];
    commands->seal_host = host;
    if (take_times(in, event->head.begin_ns, event->head.end_ns, &begin_ns, &commands->seal_ns))
        include_moment(m, commands->seal_ns); /* all of a recording that began elsewhere */
    else
        commands->seal_ns = VIEW_NO_TIME;
    commands->first_op = (uint32_t)m->segments_count;
    commands->op_count = event->segment_count;
    commands->dispatch_count = commands->barrier_count = commands->transfer_count = 0;
    for (uint32_t i = 0; i < event->segment_count; i++, segment = trace_next_segment(segment)) {
        struct view_op op = op_of(segment);
        if (op.kind == TRACE_DISPATCH)
            HAL_TRY(executable_row(
                in, ((const struct trace_dispatch *)(const void *)segment)->executable,
                &op.object));
        else if (op.kind == TRACE_DISPATCH_INDIRECT)
            HAL_TRY(executable_row(
                in, ((const struct trace_dispatch_indirect *)(const void *)segment)->executable,
                &op.object));
        else if (op.kind == TRACE_EVENT_SIGNAL || op.kind == TRACE_EVENT_RESET)
            HAL_TRY(other_row(in,
                              ((const struct trace_event_command *)(const void *)segment)->event,
                              &op.object));
        HAL_TRY(find_op(in, &op, &m->segments[m->segments_count]));
        m->segments_count++;
        commands->dispatch_count += trace_is_dispatch(op.kind);
        commands->barrier_count += op.kind == TRACE_BARRIER;
        commands->transfer_count +=
            op.kind == TRACE_COPY || op.kind == TRACE_FILL || op.kind == TRACE_UPDATE;
    }
    return HAL_OK;
}

/* ---- Submissions -------------------------------------------------------------------------- */

static enum hal_status check_queue(const struct trace_event *event, uint32_t queue)
{
    if (queue < TRACE_MAX_QUEUES)
        return HAL_OK;
    return hal_fail(HAL_CORRUPT, "%s on queue %u: there are at most %u queues",
                    trace_event_name(event->kind), queue, TRACE_MAX_QUEUES);
}

static enum hal_status take_submit(struct ingest *in, const struct trace_submit *event)
{
    struct view_model *m = in->model;
    const uint64_t *ids = trace_submit_command_buffers(event);
    const size_t calls = m->calls_count;
    uint32_t row, waits, signals;
    HAL_TRY(check_queue(&event->head, event->queue));
    HAL_TRY(add_call(in, &event->head, VIEW_NO_REF, 0, 0));
    if (event->head.status != HAL_OK)
        return HAL_OK;
    HAL_TRY(submission_row(in, event->submission, &row));
    HAL_TRY(add_values(in, event->values, event->wait_count, &waits));
    HAL_TRY(add_values(in, event->values + event->wait_count, event->signal_count, &signals));
    struct view_submission *s = &m->submissions[row];
    s->queue = (uint16_t)event->queue;
    s->operation = (uint16_t)(event->operation < UINT16_MAX ? event->operation : UINT16_MAX);
    s->range_bytes = event->size;
    s->first_wait = waits, s->wait_count = event->wait_count;
    s->first_signal = signals, s->signal_count = event->signal_count;
    s->first_commands = (uint32_t)m->submitted_count;
    s->commands_count = event->command_buffer_count;
    if (m->calls_count > calls && s->call == VIEW_NO_REF) {
        s->call = (uint32_t)calls;
        s->submit_ns = m->calls[calls].begin_ns;
        s->submit_end_ns = m->calls[calls].end_ns;
    }
    HAL_TRY(VIEW_ROOM(m, submitted, event->command_buffer_count));
    for (uint32_t i = 0; i < event->command_buffer_count; i++)
        HAL_TRY(command_buffer_row(in, ids[i], &m->submitted[m->submitted_count++]));
    return HAL_OK;
}

static enum hal_status take_done(struct ingest *in, const struct trace_submission_done *event)
{
    struct view_model *m = in->model;
    uint32_t row;
    HAL_TRY(check_queue(&event->head, event->queue));
    HAL_TRY(submission_row(in, event->submission, &row));
    struct view_submission *s = &m->submissions[row];
    s->done = true;
    s->queue = (uint16_t)event->queue;
    s->status = event->head.status;
    s->message = event->message;
    s->busy_ns = event->busy_ns;
    const bool known = event->head.begin_ns != 0 && event->head.end_ns != 0;
    if (!known ||
        !take_times(in, event->head.begin_ns, event->head.end_ns, &s->begin_ns, &s->end_ns))
        s->begin_ns = s->end_ns = VIEW_NO_TIME;
    if (event->ready_ns == 0 || !plausible(in, event->ready_ns, &s->ready_ns))
        s->ready_ns = VIEW_NO_TIME;
    return HAL_OK;
}

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

static enum hal_status take_content(struct ingest *in, const struct trace_content_event *event)
{
    struct view_model *m = in->model;
    struct view_transfer transfer = {
        .bytes = event->size, .ticket = event->head.ticket, .offset = event->offset};
    if (event->flags & TRACE_FLAG_SNAPSHOT)
        return HAL_OK;
    transfer.class = event->head.kind == TRACE_HOST_WRITE ? VIEW_UPLOAD
                     : event->flags & TRACE_FLAG_OBSERVED ? VIEW_OBSERVED
                                                          : VIEW_READBACK;
    HAL_TRY(add_host(in, event->head.thread, &transfer.host));
    HAL_TRY(buffer_row(in, event->buffer, &transfer.buffer));
    HAL_TRY(VIEW_ROOM(m, transfers, 1));
    if (!take_times(in, event->head.begin_ns, event->head.end_ns, &transfer.begin_ns,
                    &transfer.end_ns))
        return HAL_OK;
    if (m->transfers_count > 0 && join(&m->transfers[m->transfers_count - 1], &transfer))
        return HAL_OK;
    m->transfers[m->transfers_count++] = transfer;
    return HAL_OK;
}

static enum hal_status take_scope_begin(struct ingest *in, const struct trace_scope *event)
{
    struct view_model *m = in->model;
    uint32_t host;
    int64_t end_ns;
    HAL_TRY(add_host(in, event->head.thread, &host));
    struct open_scopes *open = &in->open_scopes[host];
    struct view_scope scope = {
        .name = event->name,
        .host = host,
        .depth = (uint16_t)(open->scopes_count < UINT16_MAX ? open->scopes_count : UINT16_MAX),
        .open = true};
    if (!take_times(in, event->head.begin_ns, event->head.begin_ns, &scope.begin_ns, &end_ns))
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
    HAL_TRY(add_host(in, event->head.thread, &host));
    struct open_scopes *open = &in->open_scopes[host];
    if (!open->scopes_count)
        return HAL_OK;
    struct view_scope *scope = &in->model->scopes[open->scopes[--open->scopes_count]];
    if (scope->begin_ns != VIEW_NO_TIME &&
        take_times(in, scope->begin_ns + in->model->header->start_ns, event->head.end_ns, &begin_ns,
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

static enum hal_status take(void *user, const struct trace_event *event,
                            const struct trace_segment *segments)
{
    struct ingest *in = user;
    const void *record = event;
    switch ((enum trace_event_kind)event->kind) {
    case TRACE_BUFFER_CREATE: return take_buffer(in, record);
    case TRACE_BUFFER_MAP:
    case TRACE_BUFFER_UNMAP:
    case TRACE_MAPPING_FLUSH:
    case TRACE_MAPPING_INVALIDATE: return take_mapping(in, record);
    case TRACE_HOST_WRITE:
    case TRACE_HOST_READ: return take_content(in, record);
    case TRACE_EXECUTABLE_CREATE: return take_executable(in, record);
    case TRACE_BUFFER_DESTROY:
    case TRACE_EXECUTABLE_DESTROY:
    case TRACE_COMMAND_BUFFER_DESTROY:
    case TRACE_SEMAPHORE_DESTROY:
    case TRACE_EVENT_DESTROY:
    case TRACE_SET_LAYOUT_DESTROY:
    case TRACE_PIPELINE_LAYOUT_DESTROY: return take_destroy(in, record);
    case TRACE_EVENT_CREATE: {
        const struct trace_object_event *created = record;
        return take_other(in, event, created->object, created->label);
    }
    case TRACE_SET_LAYOUT_CREATE: {
        const struct trace_set_layout_create *created = record;
        return take_other(in, event, created->layout, created->label);
    }
    case TRACE_PIPELINE_LAYOUT_CREATE: {
        const struct trace_pipeline_layout_create *created = record;
        return take_other(in, event, created->layout, created->label);
    }
    case TRACE_COMMAND_BUFFER_CREATE: return take_command_buffer(in, record);
    case TRACE_COMMAND_BUFFER_SEAL: return take_seal(in, record, segments);
    case TRACE_SEMAPHORE_CREATE: return take_semaphore(in, record);
    case TRACE_SEMAPHORE_QUERY:
    case TRACE_SEMAPHORE_SIGNAL:
    case TRACE_SEMAPHORE_FAIL: return take_semaphore_event(in, record);
    case TRACE_SEMAPHORE_WAIT: return take_wait(in, record);
    case TRACE_SUBMIT: return take_submit(in, record);
    case TRACE_SUBMISSION_DONE: return take_done(in, record);
    case TRACE_WAIT_IDLE:
        return add_call(in, event, VIEW_NO_REF,
                        (uint64_t)((const struct trace_wait_idle *)record)->timeout_ns, 0);
    case TRACE_SCOPE_BEGIN: return take_scope_begin(in, record);
    case TRACE_SCOPE_END: return take_scope_end(in, record);
    case TRACE_SUBSPAN_CREATE:
    case TRACE_SUBSPAN_DESTROY:
    case TRACE_HOST_CALL_BEGIN:
    case TRACE_HOST_CALL_END:
    case TRACE_QUEUE_FLUSH:
    case TRACE_DISPATCH_TIMES:
    case TRACE_COMMAND_STACKS:
    case TRACE_STRING:
    case TRACE_STACK:
    case TRACE_MODULE:
    case TRACE_THREAD: break;
    }
    return HAL_OK;
}

static int compare_submissions(const void *left, const void *right)
{
    const struct view_submission *a = left, *b = right;
    return a->number < b->number ? -1 : a->number > b->number;
}

static void order_submissions(struct view_model *m)
{
    bool sorted = true;
    for (size_t i = 1; i < m->submissions_count; i++)
        sorted = sorted && m->submissions[i - 1].number < m->submissions[i].number;
    if (!sorted)
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
                                &in->others,          &in->ops};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        hal_idmap_finish(maps[i]);
    for (size_t i = 0; i < in->open_scopes_count; i++)
        free(in->open_scopes[i].scopes);
    free(in->open_scopes);
}

enum hal_status view_build_tables(struct view_model *model)
{
    struct ingest in = {.model = model};
    model->first_ns = INT64_MAX;
    model->last_ns = INT64_MIN;
    enum hal_status status = trace_reader_each(model->reader, take, &in);
    if (status == HAL_OK) {
        order_submissions(model);
        if (model->first_ns > model->last_ns)
            include_moment(model, 0);
        status = finish_steps(&in);
        finish_scopes(&in);
        view_build_origin(model);
    }
    finish_ingest(&in);
    return status;
}
