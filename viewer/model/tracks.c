/* SPDX-License-Identifier: Apache-2.0 */
/* The model's tables become tracks: what a row of the timeline shows, ordered by time. */
#include "hal/base/order.h"
#include "viewer/model/build.h"

enum { MAX_SCOPE_TRACKS = 8 };

/* ---- Making a track ------------------------------------------------------------------------ */

/* The events of one track while they are gathered, as codes that tables resolve. */
struct bucket {
    uint32_t *codes;
    size_t codes_count, codes_capacity;
};

/* What the spans of a kind of track are. */
struct shown {
    view_span_tell *event, *painted; /* NULL: the events are painted */
    enum view_class first, last;     /* of what is painted */
};

static enum hal_status put(struct bucket *bucket, uint32_t code)
{
    HAL_TRY(VIEW_ROOM(bucket, codes, 1));
    bucket->codes[bucket->codes_count++] = code;
    return HAL_OK;
}

static enum hal_status make_buckets(size_t count, struct bucket **out_buckets)
{
    *out_buckets = hal_alloc(count, sizeof **out_buckets);
    return *out_buckets ? HAL_OK : hal_fail(HAL_NO_MEMORY, "no memory for %zu tracks", count);
}

static void free_buckets(struct bucket *buckets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(buckets[i].codes);
    free(buckets);
}

/* Brings what the bucket holds into order; its codes become the track's. */
static enum hal_status take_bucket(struct view_model *m, struct bucket *bucket,
                                   view_span_tell *tell, uint32_t **out_codes,
                                   struct view_spans *out_spans)
{
    const size_t bytes = bucket->codes_count * sizeof *bucket->codes;
    uint32_t *fitting = realloc(bucket->codes, bytes ? bytes : sizeof *bucket->codes);
    bucket->codes = fitting ? fitting : bucket->codes;
    HAL_TRY(view_spans_order(&bucket->codes, bucket->codes_count, tell, m, out_spans));
    *out_codes = bucket->codes;
    *bucket = (struct bucket){0};
    return HAL_OK;
}

/* Fills the track with what is in the buckets, which it takes over. */
static enum hal_status fill_track(struct view_model *m, struct view_track *track,
                                  struct bucket *events, struct bucket *painted,
                                  const struct shown *shown)
{
    struct view_spans spans;
    HAL_TRY(take_bucket(m, events, shown->event, &track->event_codes, &track->events));
    spans = track->events;
    if (shown->painted)
        HAL_TRY(take_bucket(m, painted, shown->painted, &track->painted_codes, &spans));
    HAL_TRY(view_series_of(&track->series, &spans, shown->first, shown->last));
    if (track->series.owned) { /* cut: what was cut is not needed any more */
        free(track->painted_codes);
        track->painted_codes = NULL;
    }
    return HAL_OK;
}

static enum hal_status add_track(struct view_model *m, struct view_track track,
                                 struct bucket *events, const struct shown *shown)
{
    HAL_TRY(VIEW_ROOM(m, tracks, 1));
    m->tracks[m->tracks_count++] = track; /* freed with the model if this fails */
    return fill_track(m, &m->tracks[m->tracks_count - 1], events, NULL, shown);
}

/* A track of a table's rows from `first` on. */
static enum hal_status add_rows_track(struct view_model *m, struct view_track track, uint32_t first,
                                      size_t count, const struct shown *shown)
{
    struct bucket rows = {0};
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < count && status == HAL_OK; i++)
        status = put(&rows, first + (uint32_t)i);
    if (status == HAL_OK)
        status = add_track(m, track, &rows, shown);
    free(rows.codes);
    return status;
}

/* ---- Scopes ------------------------------------------------------------------------------- */

static enum hal_status fill_scopes(struct view_model *m, const uint32_t *hosts,
                                   struct bucket *buckets)
{
    static const struct shown shown = {view_event_scope, NULL, VIEW_SCOPE, VIEW_SCOPE};
    for (uint32_t i = 0; i < m->scopes_count; i++) {
        const struct view_scope *scope = &m->scopes[i];
        const uint32_t depth =
            scope->depth < MAX_SCOPE_TRACKS ? scope->depth : MAX_SCOPE_TRACKS - 1;
        HAL_TRY(put(&buckets[scope->host * MAX_SCOPE_TRACKS + depth], i));
    }
    for (size_t h = 0; h < m->hosts_count; h++) {
        uint32_t depth = 0, parent = VIEW_NO_TRACK;
        for (struct bucket *b = &buckets[hosts[h] * MAX_SCOPE_TRACKS];
             depth < MAX_SCOPE_TRACKS && b[depth].codes_count; depth++) {
            struct view_track track = {.kind = VIEW_TRACK_SCOPE,
                                       .object = hosts[h],
                                       .depth = depth,
                                       .parent = parent,
                                       .starts_open = true};
            track.has_children = depth == 0 && b[1].codes_count;
            if (depth == 0)
                parent = (uint32_t)m->tracks_count;
            HAL_TRY(add_track(m, track, &b[depth], &shown));
        }
    }
    return HAL_OK;
}

static enum hal_status add_scope_tracks(struct view_model *m, const uint32_t *hosts)
{
    struct bucket *buckets;
    HAL_TRY(make_buckets(m->hosts_count * MAX_SCOPE_TRACKS, &buckets));
    const enum hal_status status = fill_scopes(m, hosts, buckets);
    free_buckets(buckets, m->hosts_count * MAX_SCOPE_TRACKS);
    return status;
}

/* ---- Host threads ------------------------------------------------------------------------- */

/* From the call that made a command buffer to the one that ended it, if on one thread. */
static enum hal_status put_recording(const struct view_model *m, uint32_t commands,
                                     struct bucket *hosts)
{
    const struct view_command_buffer *c = &m->command_buffers[commands];
    const bool made = c->create_host != VIEW_NO_REF && c->create_ns != VIEW_NO_TIME;
    const bool ended = c->end_host != VIEW_NO_REF && c->end_ns != VIEW_NO_TIME;
    if (made && ended && c->create_host == c->end_host && c->create_ns <= c->end_ns)
        return put(&hosts[c->create_host], view_event_code(commands, VIEW_EVENT_RECORDING));
    if (made)
        HAL_TRY(put(&hosts[c->create_host], view_event_code(commands, VIEW_EVENT_MAKE)));
    return ended ? put(&hosts[c->end_host], view_event_code(commands, VIEW_EVENT_END)) : HAL_OK;
}

static enum hal_status fill_hosts(struct view_model *m, const uint32_t *hosts,
                                  struct bucket *buckets)
{
    static const struct shown shown = {view_event_host, NULL, VIEW_RECORD, VIEW_WAIT};
    for (uint32_t i = 0; i < m->calls_count; i++)
        HAL_TRY(put(&buckets[m->calls[i].host], view_event_code(i, VIEW_EVENT_CALL)));
    for (uint32_t i = 0; i < m->command_buffers_count; i++)
        HAL_TRY(put_recording(m, i, buckets));
    for (size_t h = 0; h < m->hosts_count; h++) {
        if (!buckets[hosts[h]].codes_count)
            continue;
        m->hosts[hosts[h]].track = (uint32_t)m->tracks_count;
        const struct view_track track = {
            .kind = VIEW_TRACK_HOST, .object = hosts[h], .parent = VIEW_NO_TRACK};
        HAL_TRY(add_track(m, track, &buckets[hosts[h]], &shown));
    }
    return HAL_OK;
}

static enum hal_status add_host_tracks(struct view_model *m, const uint32_t *hosts)
{
    struct bucket *buckets;
    HAL_TRY(make_buckets(m->hosts_count, &buckets));
    const enum hal_status status = fill_hosts(m, hosts, buckets);
    free_buckets(buckets, m->hosts_count);
    return status;
}

/* ---- Queues and the device ---------------------------------------------------------------- */

static enum hal_status put_submission(const struct view_model *m, uint32_t index,
                                      struct bucket *events, struct bucket *states,
                                      struct bucket *executions)
{
    const struct view_submission *s = &m->submissions[index];
    const struct view_span span = view_event_submission(m, index);
    struct view_span parts[3];
    const size_t count = view_build_states(m, index, parts);
    if (span.begin_ns != VIEW_NO_TIME && span.end_ns >= span.begin_ns)
        HAL_TRY(put(&events[s->queue], index));
    for (size_t i = 0; i < count; i++) {
        HAL_TRY(put(&states[s->queue], view_event_state_code(index, &parts[i])));
        if (parts[i].class == VIEW_EXECUTE)
            HAL_TRY(put(executions, index));
    }
    return HAL_OK;
}

static const struct shown executed = {view_event_execution, NULL, VIEW_EXECUTE, VIEW_EXECUTE};

/* A device's track, and those of each submission's contents below it: all have the same spans. */
static enum hal_status add_device_tracks(struct view_model *m, uint32_t index,
                                         struct bucket *executions)
{
    struct view_track track = {
        .kind = VIEW_TRACK_DEVICE, .object = index, .parent = VIEW_NO_TRACK, .has_children = true};
    const uint32_t device = (uint32_t)m->tracks_count;
    if (!executions->codes_count)
        return HAL_OK;
    HAL_TRY(add_track(m, track, executions, &executed));
    m->devices[index].track = device;
    HAL_TRY(VIEW_ROOM(m, tracks, 2));
    track = m->tracks[device];
    track.kind = VIEW_TRACK_COMMANDS;
    track.parent = device;
    track.has_children = false;
    track.borrowed = true;
    m->tracks[m->tracks_count++] = track;
    track.kind = VIEW_TRACK_BARRIERS;
    m->tracks[m->tracks_count++] = track;
    return HAL_OK;
}

/* The tracks of one device's queues. */
static enum hal_status fill_queues(struct view_model *m, uint32_t device, struct bucket *events,
                                   struct bucket *states)
{
    static const struct shown shown = {view_event_submission, view_event_state, VIEW_QUEUED_UNKNOWN,
                                       VIEW_EXECUTE};
    for (uint32_t q = 0; q < TRACE_MAX_QUEUES; q++) {
        if (!events[q].codes_count || view_model_device(m, q) != device)
            continue;
        m->queue_tracks[q] = (uint32_t)m->tracks_count;
        const struct view_track track = {
            .kind = VIEW_TRACK_QUEUE, .object = q, .parent = VIEW_NO_TRACK};
        HAL_TRY(VIEW_ROOM(m, tracks, 1));
        m->tracks[m->tracks_count++] = track;
        HAL_TRY(fill_track(m, &m->tracks[m->tracks_count - 1], &events[q], &states[q], &shown));
    }
    return HAL_OK;
}

static enum hal_status fill_device(struct view_model *m, struct bucket *events,
                                   struct bucket *states, struct bucket *executions)
{
    for (uint32_t i = 0; i < m->submissions_count; i++)
        HAL_TRY(put_submission(m, i, events, states, executions));
    HAL_TRY(fill_queues(m, 0, events, states));
    HAL_TRY(add_device_tracks(m, 0, executions));
    m->device_track = m->devices[0].track;
    return HAL_OK;
}

/* What all devices do, and then what each one does and the queues that it does it from. */
static enum hal_status fill_devices(struct view_model *m, struct bucket *events,
                                    struct bucket *states, struct bucket *executions)
{
    const struct view_track track = {
        .kind = VIEW_TRACK_DEVICE, .object = VIEW_NO_REF, .parent = VIEW_NO_TRACK};
    struct bucket *all = executions + m->devices_count;
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        const uint32_t device = view_model_device(m, m->submissions[i].queue);
        HAL_TRY(put_submission(m, i, events, states, &executions[device]));
    }
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        if (m->submissions[i].begin_ns != VIEW_NO_TIME)
            HAL_TRY(put(all, i));
    }
    if (all->codes_count) {
        m->device_track = (uint32_t)m->tracks_count;
        HAL_TRY(add_track(m, track, all, &executed));
    }
    for (uint32_t i = 0; i < m->devices_count; i++) {
        HAL_TRY(add_device_tracks(m, i, &executions[i]));
        HAL_TRY(fill_queues(m, i, events, states));
    }
    return HAL_OK;
}

static enum hal_status add_queue_tracks(struct view_model *m)
{
    const size_t count = 2 * TRACE_MAX_QUEUES + m->devices_count + 1;
    struct bucket *buckets;
    HAL_TRY(make_buckets(count, &buckets));
    for (uint32_t q = 0; q < TRACE_MAX_QUEUES; q++)
        m->queue_tracks[q] = VIEW_NO_TRACK;
    m->device_track = VIEW_NO_TRACK;
    const enum hal_status status = (m->devices_count > 1 ? fill_devices : fill_device)(
        m, buckets, buckets + TRACE_MAX_QUEUES, buckets + 2 * TRACE_MAX_QUEUES);
    free_buckets(buckets, count);
    return status;
}

/* ---- Dispatches and transfers ------------------------------------------------------------- */

static enum hal_status add_dispatch_track(struct view_model *m)
{
    static const struct shown shown = {view_event_dispatch, NULL, VIEW_EXECUTE, VIEW_EXECUTE};
    const struct view_track track = {.kind = VIEW_TRACK_DISPATCHES, .parent = VIEW_NO_TRACK};
    m->dispatch_track = m->dispatches_count ? (uint32_t)m->tracks_count : VIEW_NO_TRACK;
    return m->dispatches_count ? add_rows_track(m, track, 0, m->dispatches_count, &shown) : HAL_OK;
}

static enum hal_status add_transfer_track(struct view_model *m)
{
    static const struct shown shown = {view_event_transfer, NULL, VIEW_OBSERVED, VIEW_READBACK};
    const struct view_track track = {.kind = VIEW_TRACK_TRANSFERS, .parent = VIEW_NO_TRACK};
    m->transfer_track = m->transfers_count ? (uint32_t)m->tracks_count : VIEW_NO_TRACK;
    return m->transfers_count ? add_rows_track(m, track, 0, m->transfers_count, &shown) : HAL_OK;
}

enum hal_status view_build_memory_track(struct view_model *model)
{
    static const struct shown shown = {view_event_level, NULL, VIEW_MEMORY, VIEW_MEMORY};
    const struct view_track track = {.kind = VIEW_TRACK_MEMORY, .parent = VIEW_NO_TRACK};
    model->memory_track = (uint32_t)model->tracks_count;
    return add_rows_track(model, track, 0, model->levels_count, &shown);
}

/* ---- Semaphores --------------------------------------------------------------------------- */

/* Several semaphores share a track that opens into theirs. */
static enum hal_status add_semaphore_tracks(struct view_model *m)
{
    enum { OPEN_AT_MOST = 4 };
    static const struct shown shown = {view_event_step, NULL, VIEW_STEP, VIEW_STEP};
    struct view_track track = {.kind = VIEW_TRACK_SEMAPHORES,
                               .parent = VIEW_NO_TRACK,
                               .has_children = true,
                               .starts_open = m->semaphores_count <= OPEN_AT_MOST};
    uint32_t parent = VIEW_NO_TRACK;
    if (m->semaphores_count > 1) {
        parent = (uint32_t)m->tracks_count;
        HAL_TRY(add_rows_track(m, track, 0, m->steps_count, &shown));
    }
    for (uint32_t i = 0; i < m->semaphores_count; i++) {
        track = (struct view_track){.kind = VIEW_TRACK_SEMAPHORE, .object = i, .parent = parent};
        HAL_TRY(add_rows_track(m, track, m->semaphores[i].first_step, m->semaphores[i].step_count,
                               &shown));
    }
    return HAL_OK;
}

/* ---- All ---------------------------------------------------------------------------------- */

HAL_COMPARE_VALUES(compare_keys, uint64_t)

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

enum hal_status view_build_tracks(struct view_model *model)
{
    HAL_TRY(view_event_check(model));
    uint32_t *hosts = hal_alloc(model->hosts_count, sizeof *hosts);
    if (!hosts)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu threads", model->hosts_count);
    enum hal_status status = order_hosts(model, hosts);
    if (status == HAL_OK)
        status = add_scope_tracks(model, hosts);
    if (status == HAL_OK)
        status = add_host_tracks(model, hosts);
    if (status == HAL_OK)
        status = add_queue_tracks(model);
    if (status == HAL_OK)
        status = add_dispatch_track(model);
    if (status == HAL_OK)
        status = add_semaphore_tracks(model);
    if (status == HAL_OK)
        status = add_transfer_track(model);
    if (status == HAL_OK)
        status = view_build_memory(model);
    free(hosts);
    return status;
}
