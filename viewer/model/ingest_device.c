/* SPDX-License-Identifier: Apache-2.0 */
/* What the device is given: command buffers, and their submissions. */
#include "hal/base/hash.h"
#include "viewer/model/ingest.h"

/* ---- Command buffers ---------------------------------------------------------------------- */

static void add_call(struct view_command_buffer *commands, int64_t ns)
{
    const uint64_t sum = commands->calls_ns + (uint64_t)ns;
    commands->calls_ns = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

enum hal_status view_ingest_command_buffer(struct ingest *in,
                                           const struct trace_command_buffer_create *event)
{
    uint32_t row, host;
    int64_t end_ns;
    HAL_TRY(view_ingest_host(in, event->head.thread, &host));
    HAL_TRY(view_ingest_command_buffer_row(in, event->command_buffer, &row));
    struct view_command_buffer *commands = &in->model->command_buffers[row];
    commands->label = event->label;
    commands->is_reusable = event->mode == TRACE_REUSABLE;
    commands->transfers = !event->categories || event->categories & TRACE_TRANSFER_COMMANDS;
    commands->dispatches = !event->categories || event->categories & TRACE_DISPATCH_COMMANDS;
    commands->create_host = host;
    if (!view_ingest_times(in, event->head.begin_ns, event->head.end_ns, &commands->create_ns,
                           &end_ns))
        commands->create_ns = VIEW_NO_TIME;
    else
        add_call(commands, end_ns - commands->create_ns);
    return HAL_OK;
}

static struct view_op op_of(const struct trace_segment *segment)
{
    const void *record = segment;
    struct view_op op;
    memset(&op, 0, sizeof op); /* padding too: ops are compared as bytes */
    op.kind = segment->kind;
    switch ((enum trace_segment_kind)segment->kind) {
    case TRACE_BARRIER: op.object = TRACE_AS(trace_barrier, record)->buffer_count; break;
    case TRACE_FILL: op.bytes = TRACE_AS(trace_fill, record)->size; break;
    case TRACE_COPY: op.bytes = TRACE_AS(trace_copy, record)->size; break;
    case TRACE_UPDATE: op.bytes = TRACE_AS(trace_update, record)->size; break;
    case TRACE_PUSH_CONSTANTS: op.bytes = TRACE_AS(trace_push_constants, record)->size; break;
    case TRACE_PUSH_DESCRIPTOR_SET:
        op.object = TRACE_AS(trace_push_descriptor_set, record)->set;
        op.bytes = TRACE_AS(trace_push_descriptor_set, record)->binding_count;
        break;
    case TRACE_DISPATCH: {
        const struct trace_dispatch *dispatch = record;
        op.entry = dispatch->entry;
        memcpy(op.groups, dispatch->workgroup_count, sizeof op.groups);
        break;
    }
    case TRACE_DISPATCH_INDIRECT:
        op.entry = TRACE_AS(trace_dispatch_indirect, record)->entry;
        break;
    case TRACE_EVENTS_WAIT: op.object = TRACE_AS(trace_events_wait, record)->event_count; break;
    case TRACE_EVENT_SIGNAL:
    case TRACE_EVENT_RESET: break;
    case TRACE_DEBUG_BEGIN: op.object = TRACE_AS(trace_debug, record)->label; break;
    case TRACE_DEBUG_END: break;
    }
    return op;
}

/* The next one usually follows the last one found. */
static bool is_same_op(const void *user, uint32_t index)
{
    const struct view_model *m = user;
    return memcmp(&m->ops[index], &m->ops[m->ops_count], sizeof *m->ops) == 0;
}

static enum hal_status find_op(struct ingest *in, const struct view_op *op, uint32_t *out_op)
{
    struct view_model *m = in->model;
    uint64_t words[sizeof *op / 8], hash = in->ops.seed;
    HAL_TRY(VIEW_ROOM(m, ops, 1));
    memcpy(words, op, sizeof *op);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = hal_hash_add(hash, words[i]);
    uint32_t *recent = &in->recent_ops[hash >> 54];
    if (*recent < m->ops_count && memcmp(&m->ops[*recent], op, sizeof *op) == 0) {
        *out_op = *recent;
        return HAL_OK;
    }
    m->ops[m->ops_count] = *op;
    if (!hal_idmap_intern(&in->ops, hash, is_same_op, m, (uint32_t)m->ops_count, out_op))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu commands", m->ops_count);
    m->ops_count += *out_op == m->ops_count;
    *recent = *out_op;
    return HAL_OK;
}

/* What the segment is, with rows in the place of ids. */
static enum hal_status take_op(struct ingest *in, const struct trace_segment *segment,
                               uint32_t *out_op)
{
    struct view_op op = op_of(segment);
    const void *record = segment;
    if (trace_is_dispatch(op.kind))
        HAL_TRY(view_ingest_executable_row(in, trace_dispatched(segment).executable, &op.object));
    else if (op.kind == TRACE_EVENT_SIGNAL || op.kind == TRACE_EVENT_RESET)
        HAL_TRY(
            view_ingest_other_row(in, TRACE_AS(trace_event_command, record)->event, &op.object));
    return find_op(in, &op, out_op);
}

static struct view_body body_of(const struct view_model *m, uint32_t first, uint32_t count)
{
    struct view_body body = {.first_op = first, .op_count = count};
    for (uint32_t i = first; i < first + count; i++) {
        const uint32_t kind = m->ops[m->segments[i]].kind;
        body.dispatch_count += trace_is_dispatch(kind);
        body.barrier_count += kind == TRACE_BARRIER;
        body.transfer_count += trace_is_transfer(kind);
    }
    return body;
}

static bool is_same_body(const void *user, uint32_t index)
{
    const struct view_model *m = user;
    const struct view_body *known = &m->bodies[index], *wanted = &m->bodies[m->bodies_count];
    return known->op_count == wanted->op_count &&
           (!known->op_count ||
            memcmp(m->segments + known->first_op, m->segments + wanted->first_op,
                   known->op_count * sizeof *m->segments) == 0);
}

/* The last `count` segments as a body: one that is known already takes their place. */
static enum hal_status find_body(struct ingest *in, uint32_t count, uint32_t *out_body)
{
    struct view_model *m = in->model;
    const uint32_t first = (uint32_t)m->segments_count - count;
    uint64_t hash = in->ops.seed ^ count;
    HAL_TRY(VIEW_ROOM(m, bodies, 1));
    for (uint32_t i = first; i < first + count; i++)
        hash = hal_hash_add(hash, m->segments[i]);
    m->bodies[m->bodies_count] = (struct view_body){.first_op = first, .op_count = count};
    if (!hal_idmap_intern(&in->bodies, hash, is_same_body, m, (uint32_t)m->bodies_count, out_body))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu command buffers", m->bodies_count);
    if (*out_body == m->bodies_count)
        m->bodies[m->bodies_count++] = body_of(m, first, count);
    else
        m->segments_count = first;
    return HAL_OK;
}

enum hal_status view_ingest_no_body(struct ingest *in)
{
    uint32_t body;
    return find_body(in, 0, &body);
}

static enum hal_status add_body(struct ingest *in, const struct trace_command_buffer_seal *event,
                                const struct trace_segment *segment, uint32_t *out_body)
{
    struct view_model *m = in->model;
    HAL_TRY(VIEW_ROOM(m, segments, event->segment_count));
    for (uint32_t i = 0; i < event->segment_count; i++, segment = trace_next_segment(segment)) {
        HAL_TRY(take_op(in, segment, &m->segments[m->segments_count]));
        m->segments_count++;
    }
    return find_body(in, event->segment_count, out_body);
}

enum hal_status view_ingest_command_buffer_end(struct ingest *in,
                                               const struct trace_command_buffer_seal *event,
                                               const struct trace_segment *segment)
{
    struct view_model *m = in->model;
    uint32_t row, host;
    int64_t begin_ns;
    in->read += event->segment_count;
    HAL_TRY(view_ingest_host(in, event->head.thread, &host));
    HAL_TRY(view_ingest_command_buffer_row(in, event->command_buffer, &row));
    struct view_command_buffer *commands = &m->command_buffers[row];
    commands->end_host = host;
    if (view_ingest_times(in, event->head.begin_ns, event->head.end_ns, &begin_ns,
                          &commands->end_ns)) {
        view_ingest_moment(m, commands->end_ns); /* all of a recording that began elsewhere */
        add_call(commands, commands->end_ns - begin_ns);
    } else {
        commands->end_ns = VIEW_NO_TIME;
    }
    return add_body(in, event, segment, &m->command_buffers[row].body);
}

/* ---- Submissions -------------------------------------------------------------------------- */

static enum hal_status check_queue(const struct trace_event *event, uint32_t queue)
{
    if (queue < TRACE_MAX_QUEUES)
        return HAL_OK;
    return hal_fail(HAL_CORRUPT, "%s on queue %u: there are at most %u queues",
                    trace_event_name(event->kind), queue, TRACE_MAX_QUEUES);
}

enum hal_status view_ingest_submit(struct ingest *in, const struct trace_submit *event)
{
    struct view_model *m = in->model;
    const uint64_t *ids = trace_submit_command_buffers(event);
    const size_t calls = m->calls_count;
    uint32_t row, waits;
    HAL_TRY(check_queue(&event->head, event->queue));
    HAL_TRY(view_ingest_call(in, &event->head, VIEW_NO_REF, 0, 0));
    if (event->head.status != HAL_OK)
        return HAL_OK;
    HAL_TRY(view_ingest_submission_row(in, event->submission, &row));
    HAL_TRY(view_ingest_values(in, event->values, event->wait_count + event->signal_count, &waits));
    struct view_submission *s = &m->submissions[row];
    s->queue = (uint16_t)event->queue;
    s->operation = (uint16_t)(event->operation < UINT16_MAX ? event->operation : UINT16_MAX);
    s->range_bytes = event->size;
    s->first_wait = waits, s->wait_count = event->wait_count;
    s->signal_count = event->signal_count;
    s->first_commands = (uint32_t)m->submitted_count;
    s->commands_count = event->command_buffer_count;
    if (m->calls_count > calls && s->call == VIEW_NO_REF)
        s->call = (uint32_t)calls;
    HAL_TRY(VIEW_ROOM(m, submitted, event->command_buffer_count));
    for (uint32_t i = 0; i < event->command_buffer_count; i++)
        HAL_TRY(view_ingest_command_buffer_row(in, ids[i], &m->submitted[m->submitted_count++]));
    return HAL_OK;
}

static enum hal_status find_buffer(struct ingest *in, uint64_t id, uint32_t *out_row)
{
    *out_row = VIEW_NO_REF;
    return id ? view_ingest_buffer_row(in, id, out_row) : HAL_OK;
}

enum hal_status view_ingest_collective(struct ingest *in, const struct trace_collective *event)
{
    struct view_model *m = in->model;
    struct view_collective c = {.submission = event->submission,
                                .count = event->count,
                                .number = event->number,
                                .send_bytes = event->send_size,
                                .receive_bytes = event->receive_size,
                                .peer = event->peer};
    c.kind = (uint8_t)(event->collective <= UINT8_MAX ? event->collective : UINT8_MAX);
    c.type = (uint8_t)(event->type <= UINT8_MAX ? event->type : UINT8_MAX);
    c.reduction = (uint8_t)(event->reduction <= UINT8_MAX ? event->reduction : UINT8_MAX);
    HAL_TRY(view_ingest_other_row(in, event->channel, &c.channel));
    HAL_TRY(find_buffer(in, event->send, &c.send));
    HAL_TRY(find_buffer(in, event->receive, &c.receive));
    HAL_TRY(VIEW_ROOM(m, collectives, 1));
    m->collectives[m->collectives_count++] = c;
    return HAL_OK;
}

enum hal_status view_ingest_done(struct ingest *in, const struct trace_submission_done *event)
{
    struct view_model *m = in->model;
    uint32_t row;
    HAL_TRY(check_queue(&event->head, event->queue));
    HAL_TRY(view_ingest_submission_row(in, event->submission, &row));
    struct view_submission *s = &m->submissions[row];
    s->done = true;
    s->queue = (uint16_t)event->queue;
    s->status = event->head.status;
    s->message = event->message;
    s->busy_ns = event->busy_ns;
    const bool known = event->head.begin_ns != 0 && event->head.end_ns != 0;
    if (!known ||
        !view_ingest_times(in, event->head.begin_ns, event->head.end_ns, &s->begin_ns, &s->end_ns))
        s->begin_ns = s->end_ns = VIEW_NO_TIME;
    if (event->ready_ns == 0 || !view_ingest_plausible(in, event->ready_ns, &s->ready_ns))
        s->ready_ns = VIEW_NO_TIME;
    return HAL_OK;
}
