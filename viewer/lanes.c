/* SPDX-License-Identifier: Apache-2.0 */
/* The model's tables become lanes: what a row of the timeline shows, ordered by time. */
#include "viewer/build.h"

enum { MAX_SCOPE_LANES = 8 };

/* Class of a call's span; VIEW_CLASS_NONE: it is not drawn on the thread's lane. */
static enum view_class class_of_call(const struct view_model *m, const struct view_call *call)
{
    switch ((enum trace_event_kind)call->kind) {
    case TRACE_BUFFER_CREATE:
    case TRACE_SEMAPHORE_CREATE:
    case TRACE_EVENT_CREATE:
    case TRACE_SET_LAYOUT_CREATE:
    case TRACE_PIPELINE_LAYOUT_CREATE: return VIEW_CREATE;
    case TRACE_EXECUTABLE_CREATE: return VIEW_COMPILE;
    case TRACE_BUFFER_MAP:
    case TRACE_BUFFER_UNMAP:
    case TRACE_MAPPING_FLUSH:
    case TRACE_MAPPING_INVALIDATE: return VIEW_MAP;
    case TRACE_BUFFER_DESTROY:
    case TRACE_EXECUTABLE_DESTROY:
    case TRACE_COMMAND_BUFFER_DESTROY:
    case TRACE_SEMAPHORE_DESTROY:
    case TRACE_EVENT_DESTROY:
    case TRACE_SET_LAYOUT_DESTROY:
    case TRACE_PIPELINE_LAYOUT_DESTROY: return VIEW_DESTROY;
    case TRACE_SEMAPHORE_QUERY: return VIEW_QUERY;
    case TRACE_SEMAPHORE_SIGNAL:
    case TRACE_SEMAPHORE_FAIL: return VIEW_SIGNAL;
    case TRACE_SEMAPHORE_WAIT:
    case TRACE_WAIT_IDLE: return view_call_is_sync(m, call) ? VIEW_WAIT : VIEW_QUERY;
    case TRACE_SUBMIT: return VIEW_SUBMIT;
    case TRACE_HOST_WRITE:
    case TRACE_HOST_READ:
    case TRACE_COMMAND_BUFFER_CREATE:
    case TRACE_COMMAND_BUFFER_SEAL:
    case TRACE_SUBMISSION_DONE:
    case TRACE_SCOPE_BEGIN:
    case TRACE_SCOPE_END:
    case TRACE_SUBSPAN_CREATE:
    case TRACE_SUBSPAN_DESTROY:
    case TRACE_HOST_CALL_BEGIN:
    case TRACE_HOST_CALL_END:
    case TRACE_QUEUE_FLUSH:
    case TRACE_DISPATCH_TIMES:
    case TRACE_COMMAND_STACKS:
    case TRACE_FILE:
    case TRACE_UNSUPPORTED:
    case TRACE_STRING:
    case TRACE_STACK:
    case TRACE_MODULE:
    case TRACE_THREAD: break;
    }
    return VIEW_CLASS_NONE;
}

bool view_call_is_sync(const struct view_model *model, const struct view_call *call)
{
    return (call->kind == TRACE_SEMAPHORE_WAIT || call->kind == TRACE_WAIT_IDLE) &&
           view_call_what(model, call)->offset != 0;
}

/* A wait that met its limit did what it was asked to. */
static uint8_t failed(uint16_t status)
{
    return status != HAL_OK && status != HAL_TIMEOUT ? VIEW_SPAN_FAILED : 0;
}

int64_t view_build_submission_end(const struct view_model *model,
                                  const struct view_submission *submission)
{
    if (submission->end_ns != VIEW_NO_TIME)
        return submission->end_ns;
    return submission->done ? submission->submit_end_ns : model->last_ns;
}

/* ---- Making a lane ------------------------------------------------------------------------ */

/* The spans of one lane while they are gathered. */
struct bucket {
    struct view_span *spans;
    size_t spans_count, spans_capacity;
};

static enum hal_status put(struct bucket *bucket, struct view_span span)
{
    HAL_TRY(VIEW_ROOM(bucket, spans, 1));
    if (!span.overlap)
        span.overlap = 1;
    bucket->spans[bucket->spans_count++] = span;
    return HAL_OK;
}

static enum hal_status make_buckets(size_t count, struct bucket **out_buckets)
{
    *out_buckets = hal_alloc(count, sizeof **out_buckets);
    return *out_buckets ? HAL_OK : hal_fail(HAL_NO_MEMORY, "no memory for %zu lanes", count);
}

static void free_buckets(struct bucket *buckets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(buckets[i].spans);
    free(buckets);
}

/* Adds a lane that takes over the bucket's spans as its events, and paints those of `paint`,
 * which stay the caller's; NULL: paints the events. */
static enum hal_status add_lane(struct view_model *m, struct view_lane lane, struct bucket *events,
                                struct bucket *paint, enum view_class first, enum view_class last)
{
    HAL_TRY(VIEW_ROOM(m, lanes, 1));
    struct bucket *painted = paint ? paint : events;
    view_spans_sort(events->spans, events->spans_count);
    HAL_TRY(view_series_init(&lane.series, painted->spans, painted->spans_count, first, last));
    lane.events = lane.owned = events->spans;
    lane.event_count = events->spans_count;
    *events = (struct bucket){0};
    if (paint && !lane.series.owned) {
        lane.series.owned = paint->spans;
        *paint = (struct bucket){0};
    }
    m->lanes[m->lanes_count++] = lane;
    return HAL_OK;
}

/* ---- Scopes ------------------------------------------------------------------------------- */

static enum hal_status fill_scopes(struct view_model *m, const uint32_t *hosts,
                                   struct bucket *buckets)
{
    for (uint32_t i = 0; i < m->scopes_count; i++) {
        const struct view_scope *scope = &m->scopes[i];
        const uint32_t depth = scope->depth < MAX_SCOPE_LANES ? scope->depth : MAX_SCOPE_LANES - 1;
        HAL_TRY(put(&buckets[scope->host * MAX_SCOPE_LANES + depth],
                    (struct view_span){.begin_ns = scope->begin_ns,
                                       .end_ns = scope->end_ns,
                                       .ref = i,
                                       .class = VIEW_SCOPE,
                                       .flags = scope->open ? VIEW_SPAN_OPEN : 0}));
    }
    for (size_t h = 0; h < m->hosts_count; h++) {
        uint32_t depth = 0, parent = VIEW_NO_LANE;
        for (struct bucket *b = &buckets[hosts[h] * MAX_SCOPE_LANES];
             depth < MAX_SCOPE_LANES && b[depth].spans_count; depth++) {
            struct view_lane lane = {.kind = VIEW_LANE_SCOPE,
                                     .object = hosts[h],
                                     .depth = depth,
                                     .parent = parent,
                                     .starts_open = true};
            lane.has_children = depth == 0 && b[1].spans_count;
            if (depth == 0)
                parent = (uint32_t)m->lanes_count;
            HAL_TRY(add_lane(m, lane, &b[depth], NULL, VIEW_SCOPE, VIEW_SCOPE));
        }
    }
    return HAL_OK;
}

static enum hal_status add_scope_lanes(struct view_model *m, const uint32_t *hosts)
{
    struct bucket *buckets;
    HAL_TRY(make_buckets(m->hosts_count * MAX_SCOPE_LANES, &buckets));
    const enum hal_status status = fill_scopes(m, hosts, buckets);
    free_buckets(buckets, m->hosts_count * MAX_SCOPE_LANES);
    return status;
}

/* ---- Host threads ------------------------------------------------------------------------- */

/* From the call that made a command buffer to the one that sealed it, if on one thread. */
static enum hal_status put_recording(const struct view_model *m, uint32_t commands,
                                     struct bucket *hosts)
{
    const struct view_command_buffer *c = &m->command_buffers[commands];
    struct view_span span = {
        .begin_ns = c->create_ns, .end_ns = c->seal_ns, .ref = commands, .class = VIEW_RECORD};
    const bool made = c->create_host != VIEW_NO_REF && c->create_ns != VIEW_NO_TIME;
    const bool sealed = c->seal_host != VIEW_NO_REF && c->seal_ns != VIEW_NO_TIME;
    if (made && sealed && c->create_host == c->seal_host && c->create_ns <= c->seal_ns)
        return put(&hosts[c->create_host], span);
    span.end_ns = c->create_ns;
    if (made)
        HAL_TRY(put(&hosts[c->create_host], span));
    span.begin_ns = span.end_ns = c->seal_ns;
    return sealed ? put(&hosts[c->seal_host], span) : HAL_OK;
}

static enum hal_status fill_hosts(struct view_model *m, const uint32_t *hosts,
                                  struct bucket *buckets)
{
    for (uint32_t i = 0; i < m->calls_count; i++) {
        const struct view_call *call = &m->calls[i];
        HAL_TRY(
            put(&buckets[call->host], (struct view_span){.begin_ns = call->begin_ns,
                                                         .end_ns = call->end_ns,
                                                         .ref = i,
                                                         .class = (uint8_t)class_of_call(m, call),
                                                         .flags = failed(call->status)}));
    }
    for (uint32_t i = 0; i < m->command_buffers_count; i++)
        HAL_TRY(put_recording(m, i, buckets));
    for (size_t h = 0; h < m->hosts_count; h++) {
        if (!buckets[hosts[h]].spans_count)
            continue;
        m->hosts[hosts[h]].lane = (uint32_t)m->lanes_count;
        const struct view_lane lane = {
            .kind = VIEW_LANE_HOST, .object = hosts[h], .parent = VIEW_NO_LANE};
        HAL_TRY(add_lane(m, lane, &buckets[hosts[h]], NULL, VIEW_RECORD, VIEW_WAIT));
    }
    return HAL_OK;
}

static enum hal_status add_host_lanes(struct view_model *m, const uint32_t *hosts)
{
    struct bucket *buckets;
    HAL_TRY(make_buckets(m->hosts_count, &buckets));
    const enum hal_status status = fill_hosts(m, hosts, buckets);
    free_buckets(buckets, m->hosts_count);
    return status;
}

/* ---- Queues and the device ---------------------------------------------------------------- */

size_t view_build_states(const struct view_model *model, uint32_t index, struct view_span *out)
{
    const struct view_submission *s = &model->submissions[index];
    const bool ran = s->begin_ns != VIEW_NO_TIME;
    struct view_span span = {.ref = index, .overlap = 1, .flags = failed(s->status)};
    size_t count = 0;
    if (s->submit_ns != VIEW_NO_TIME) {
        int64_t begin_ns = s->submit_ns, ready_ns = s->ready_ns;
        const int64_t end_ns = ran ? s->begin_ns : view_build_submission_end(model, s);
        enum view_class rest = VIEW_QUEUED_READY;
        if (!s->wait_count && ran)
            ready_ns = begin_ns;
        if (ready_ns == VIEW_NO_TIME || !ran)
            rest = VIEW_QUEUED_UNKNOWN;
        else if (ready_ns > begin_ns) {
            ready_ns = ready_ns < end_ns ? ready_ns : end_ns;
            span.begin_ns = begin_ns, span.end_ns = ready_ns, span.class = VIEW_QUEUED_WAITING;
            if (ready_ns > begin_ns)
                out[count++] = span;
            begin_ns = ready_ns;
        }
        span.begin_ns = begin_ns, span.end_ns = end_ns, span.class = (uint8_t)rest;
        if (end_ns > begin_ns)
            out[count++] = span;
    }
    span.begin_ns = s->begin_ns, span.end_ns = s->end_ns, span.class = VIEW_EXECUTE;
    if (ran)
        out[count++] = span;
    return count;
}

static enum hal_status put_submission(const struct view_model *m, uint32_t index,
                                      struct bucket *events, struct bucket *states,
                                      struct bucket *executions)
{
    const struct view_submission *s = &m->submissions[index];
    const struct view_span span = {
        .begin_ns = s->submit_ns != VIEW_NO_TIME ? s->submit_ns : s->begin_ns,
        .end_ns = view_build_submission_end(m, s),
        .ref = index,
        .class = VIEW_EXECUTE,
        .flags = (uint8_t)(failed(s->status) | (s->done ? 0 : VIEW_SPAN_OPEN))};
    struct view_span parts[3];
    const size_t count = view_build_states(m, index, parts);
    if (span.begin_ns != VIEW_NO_TIME && span.end_ns >= span.begin_ns)
        HAL_TRY(put(&events[s->queue], span));
    for (size_t i = 0; i < count; i++) {
        HAL_TRY(put(&states[s->queue], parts[i]));
        if (parts[i].class == VIEW_EXECUTE)
            HAL_TRY(put(executions, parts[i]));
    }
    return HAL_OK;
}

/* The device's lane, and below it those that tell what each submission consists of: all are of the
 * same spans. */
static enum hal_status add_device_lanes(struct view_model *m, struct bucket *executions)
{
    struct view_lane lane = {
        .kind = VIEW_LANE_DEVICE, .parent = VIEW_NO_LANE, .has_children = true};
    const uint32_t device = (uint32_t)m->lanes_count;
    HAL_TRY(add_lane(m, lane, executions, NULL, VIEW_EXECUTE, VIEW_EXECUTE));
    m->device_lane = device;
    HAL_TRY(VIEW_ROOM(m, lanes, 2));
    lane = m->lanes[device];
    lane.kind = VIEW_LANE_COMMANDS;
    lane.parent = device;
    lane.has_children = false;
    lane.borrowed = true;
    m->lanes[m->lanes_count++] = lane;
    lane.kind = VIEW_LANE_BARRIERS;
    m->lanes[m->lanes_count++] = lane;
    return HAL_OK;
}

static enum hal_status fill_queues(struct view_model *m, struct bucket *events,
                                   struct bucket *states, struct bucket *executions)
{
    for (uint32_t i = 0; i < m->submissions_count; i++)
        HAL_TRY(put_submission(m, i, events, states, executions));
    for (uint32_t q = 0; q < TRACE_MAX_QUEUES; q++) {
        m->queue_lanes[q] = VIEW_NO_LANE;
        if (!events[q].spans_count)
            continue;
        m->queue_lanes[q] = (uint32_t)m->lanes_count;
        const struct view_lane lane = {
            .kind = VIEW_LANE_QUEUE, .object = q, .parent = VIEW_NO_LANE};
        HAL_TRY(add_lane(m, lane, &events[q], &states[q], VIEW_QUEUED_UNKNOWN, VIEW_EXECUTE));
    }
    m->device_lane = VIEW_NO_LANE;
    return executions->spans_count ? add_device_lanes(m, executions) : HAL_OK;
}

static enum hal_status add_queue_lanes(struct view_model *m)
{
    struct bucket *buckets;
    HAL_TRY(make_buckets(2 * TRACE_MAX_QUEUES + 1, &buckets));
    const enum hal_status status =
        fill_queues(m, buckets, buckets + TRACE_MAX_QUEUES, buckets + 2 * TRACE_MAX_QUEUES);
    free_buckets(buckets, 2 * TRACE_MAX_QUEUES + 1);
    return status;
}

/* ---- Dispatches --------------------------------------------------------------------------- */

static enum hal_status add_dispatch_lane(struct view_model *m)
{
    const struct view_lane lane = {.kind = VIEW_LANE_DISPATCHES, .parent = VIEW_NO_LANE};
    struct bucket spans = {0};
    enum hal_status status = HAL_OK;
    m->dispatch_lane = VIEW_NO_LANE;
    for (uint32_t i = 0; i < m->dispatches_count && status == HAL_OK; i++)
        status = put(&spans, (struct view_span){.begin_ns = m->dispatches[i].begin_ns,
                                                .end_ns = m->dispatches[i].end_ns,
                                                .ref = i,
                                                .class = VIEW_EXECUTE});
    if (status == HAL_OK && spans.spans_count) {
        m->dispatch_lane = (uint32_t)m->lanes_count;
        status = add_lane(m, lane, &spans, NULL, VIEW_EXECUTE, VIEW_EXECUTE);
    }
    free(spans.spans);
    return status;
}

/* ---- Semaphores --------------------------------------------------------------------------- */

static enum hal_status add_steps_lane(struct view_model *m, struct view_lane lane, uint32_t first,
                                      uint32_t count)
{
    struct bucket steps = {0};
    enum hal_status status = HAL_OK;
    for (uint32_t i = first; i < first + count && status == HAL_OK; i++)
        status = put(&steps, (struct view_span){.begin_ns = m->steps[i].time_ns,
                                                .end_ns = m->steps[i].time_ns,
                                                .ref = i,
                                                .class = VIEW_STEP,
                                                .flags = failed(m->steps[i].status)});
    if (status == HAL_OK)
        status = add_lane(m, lane, &steps, NULL, VIEW_STEP, VIEW_STEP);
    free(steps.spans);
    return status;
}

/* Several semaphores share a lane that opens into theirs. */
static enum hal_status add_semaphore_lanes(struct view_model *m)
{
    enum { OPEN_AT_MOST = 4 };
    struct view_lane lane = {.kind = VIEW_LANE_SEMAPHORES,
                             .parent = VIEW_NO_LANE,
                             .has_children = true,
                             .starts_open = m->semaphores_count <= OPEN_AT_MOST};
    uint32_t parent = VIEW_NO_LANE;
    if (m->semaphores_count > 1) {
        parent = (uint32_t)m->lanes_count;
        HAL_TRY(add_steps_lane(m, lane, 0, (uint32_t)m->steps_count));
    }
    for (uint32_t i = 0; i < m->semaphores_count; i++) {
        lane = (struct view_lane){.kind = VIEW_LANE_SEMAPHORE, .object = i, .parent = parent};
        HAL_TRY(add_steps_lane(m, lane, m->semaphores[i].first_step, m->semaphores[i].step_count));
    }
    return HAL_OK;
}

/* ---- Transfers ---------------------------------------------------------------------------- */

static enum hal_status add_transfer_lane(struct view_model *m)
{
    const struct view_lane lane = {.kind = VIEW_LANE_TRANSFERS, .parent = VIEW_NO_LANE};
    struct bucket spans = {0};
    enum hal_status status = HAL_OK;
    m->transfer_lane = VIEW_NO_LANE;
    for (uint32_t i = 0; i < m->transfers_count && status == HAL_OK; i++)
        status = put(&spans, (struct view_span){.begin_ns = m->transfers[i].begin_ns,
                                                .end_ns = m->transfers[i].end_ns,
                                                .ref = i,
                                                .class = m->transfers[i].class});
    if (status == HAL_OK && spans.spans_count) {
        m->transfer_lane = (uint32_t)m->lanes_count;
        status = add_lane(m, lane, &spans, NULL, VIEW_OBSERVED, VIEW_READBACK);
    }
    free(spans.spans);
    return status;
}

/* ---- All ---------------------------------------------------------------------------------- */

static int compare_keys(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Threads by their number in the trace, which is the order in which they appeared. */
static enum hal_status order_hosts(const struct view_model *m, uint32_t *out_hosts)
{
    uint64_t *keys = hal_alloc(m->hosts_count, sizeof *keys);
    if (!keys)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu threads", m->hosts_count);
    for (uint32_t i = 0; i < m->hosts_count; i++)
        keys[i] = (uint64_t)m->hosts[i].thread << 32 | i;
    qsort(keys, m->hosts_count, sizeof *keys, compare_keys);
    for (uint32_t i = 0; i < m->hosts_count; i++)
        out_hosts[i] = (uint32_t)keys[i];
    free(keys);
    return HAL_OK;
}

enum hal_status view_build_lanes(struct view_model *model)
{
    uint32_t *hosts = hal_alloc(model->hosts_count, sizeof *hosts);
    if (!hosts)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu threads", model->hosts_count);
    enum hal_status status = order_hosts(model, hosts);
    if (status == HAL_OK)
        status = add_scope_lanes(model, hosts);
    if (status == HAL_OK)
        status = add_host_lanes(model, hosts);
    if (status == HAL_OK)
        status = add_queue_lanes(model);
    if (status == HAL_OK)
        status = add_dispatch_lane(model);
    if (status == HAL_OK)
        status = add_semaphore_lanes(model);
    if (status == HAL_OK)
        status = add_transfer_lane(model);
    if (status == HAL_OK)
        status = view_build_memory(model);
    free(hosts);
    return status;
}
