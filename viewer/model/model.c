/* SPDX-License-Identifier: Apache-2.0 */
/* Finding things in a model. */
#include "viewer/model/build.h"

#include "hal/base/order.h"

#include <stdlib.h>

/* ---- What the file holds ------------------------------------------------------------------ */

static enum hal_status visit_chunk(const struct trace_chunk *chunk, const struct view_task *task,
                                   trace_visit *visit, void *user)
{
    const struct trace_event *event = chunk->events;
    for (uint32_t i = 0; i < chunk->event_count; i++) {
        const struct trace_segment *segments = NULL;
        const uint8_t *next = (const uint8_t *)event + event->bytes;
        HAL_TRY(view_task_check(task));
        if (event->kind == TRACE_COMMAND_BUFFER_SEAL) {
            segments = (const void *)next;
            next += TRACE_AS(trace_command_buffer_seal, event)->segment_bytes;
        }
        HAL_TRY(visit(user, event, segments));
        event = (const void *)next;
    }
    return HAL_OK;
}

enum hal_status view_model_each(const struct view_model *model, struct view_task *task,
                                trace_visit *visit, void *user)
{
    const size_t count = trace_reader_chunk_count(model->reader);
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < count && status == HAL_OK; i++) {
        struct trace_chunk chunk;
        pthread_mutex_lock(model->reading);
        status = trace_reader_chunk(model->reader, i, &chunk);
        pthread_mutex_unlock(model->reading);
        if (status == HAL_OK)
            status = visit_chunk(&chunk, task, visit, user);
        trace_chunk_free(&chunk);
        view_task_advance(task, i + 1, count);
    }
    return status;
}

struct ordered_pass {
    const struct view_model *model;
    struct view_task *task;
    trace_visit *visit;
    void *user;
    size_t loaded;
};

static enum hal_status load_chunk(void *user, struct trace_reader *reader, size_t chunk,
                                  struct trace_chunk *out_chunk)
{
    struct ordered_pass *pass = user;
    pthread_mutex_lock(pass->model->reading);
    const enum hal_status status = trace_reader_chunk(reader, chunk, out_chunk);
    pthread_mutex_unlock(pass->model->reading);
    view_task_advance(pass->task, ++pass->loaded, trace_reader_chunk_count(reader));
    return status;
}

static enum hal_status visit_ordered(void *user, const struct trace_event *event,
                                     const struct trace_segment *segments)
{
    struct ordered_pass *pass = user;
    HAL_TRY(view_task_check(pass->task));
    return pass->visit(pass->user, event, segments);
}

enum hal_status view_model_each_in_order(const struct view_model *model, struct view_task *task,
                                         trace_visit *visit, void *user)
{
    struct ordered_pass pass = {.model = model, .task = task, .visit = visit, .user = user};
    return trace_reader_each_in_order(
        model->reader,
        &(struct trace_walk){.visit = visit_ordered, .load = load_chunk, .user = &pass});
}

bool view_model_is_whole(const struct view_model *model)
{
    return model->health && model->health->status == HAL_OK;
}

enum hal_status view_model_content(const struct view_model *model, uint64_t content, void *out,
                                   size_t bytes)
{
    pthread_mutex_lock(model->reading);
    const enum hal_status status = trace_reader_content(model->reader, content, out, bytes);
    pthread_mutex_unlock(model->reading);
    return status;
}

/* ---- Questions ---------------------------------------------------------------------------- */

const char *view_model_string(const struct view_model *model, uint32_t string)
{
    const char *text = trace_reader_string(model->reader, string);
    return text ? text : "";
}

uint32_t view_model_submission(const struct view_model *model, uint64_t number)
{
    size_t low = 0, high = model->submissions_count;
    HAL_BISECT(low, high, middle, model->submissions[middle].number < number)
    const bool found = low < model->submissions_count && model->submissions[low].number == number;
    return found ? (uint32_t)low : VIEW_NO_REF;
}

uint32_t view_model_reached(const struct view_model *model, uint32_t semaphore, uint64_t value)
{
    const struct view_semaphore *s = &model->semaphores[semaphore];
    const struct view_step *steps = model->steps + s->first_step;
    size_t low = 0, high = s->step_count; /* values only rise */
    HAL_BISECT(low, high, middle, steps[middle].value < value && steps[middle].status == HAL_OK)
    return low < s->step_count ? s->first_step + (uint32_t)low : VIEW_NO_REF;
}

const struct view_op *view_model_dispatch(const struct view_model *model,
                                          const struct view_submission *submission, uint64_t index)
{
    for (uint32_t k = 0; k < submission->commands_count; k++) {
        const struct view_body *commands =
            view_body(model, model->submitted[submission->first_commands + k]);
        if (index >= commands->dispatch_count) {
            index -= commands->dispatch_count;
            continue;
        }
        for (uint32_t i = 0; i < commands->op_count; i++) {
            const struct view_op *op = &model->ops[model->segments[commands->first_op + i]];
            if (trace_is_dispatch(op->kind) && index-- == 0)
                return op;
        }
    }
    return NULL;
}

/* Whether one of the values was brought by this submission. */
static bool any_from(const struct view_model *m, uint32_t first, uint32_t count,
                     uint32_t submission)
{
    for (uint32_t k = first; k < first + count; k++) {
        const uint32_t step = view_model_reached(m, m->values[k].semaphore, m->values[k].value);
        if (step != VIEW_NO_REF && m->steps[step].submission == submission)
            return true;
    }
    return false;
}

uint32_t view_model_consumer(const struct view_model *model, uint32_t submission, uint32_t after)
{
    enum { LOOK_AHEAD = 256 };
    const uint32_t last = submission + LOOK_AHEAD;
    for (uint32_t i = after == VIEW_NO_REF ? submission + 1 : after + 1;
         i < model->submissions_count && i <= last; i++) {
        const struct view_submission *s = &model->submissions[i];
        if (any_from(model, s->first_wait, s->wait_count, submission))
            return i;
    }
    return VIEW_NO_REF;
}

uint32_t view_model_observer(const struct view_model *model, uint32_t submission)
{
    enum { LOOK_AROUND = 256 };
    const struct view_submission *s = &model->submissions[submission];
    uint32_t best = VIEW_NO_REF;
    for (size_t h = 0; h < model->hosts_count && s->end_ns != VIEW_NO_TIME; h++) {
        if (model->hosts[h].track == VIEW_NO_TRACK)
            continue;
        const struct view_track *track = &model->tracks[model->hosts[h].track];
        const size_t at = view_spans_before(&track->events, s->end_ns);
        size_t i = at > LOOK_AROUND ? at - LOOK_AROUND : 0;
        for (; i < track->events.count && i < at + LOOK_AROUND; i++) {
            const struct view_span made = view_spans_at(&track->events, i), *event = &made;
            if (event->class != VIEW_WAIT || event->end_ns < s->end_ns ||
                !any_from(model, model->calls[event->ref].object,
                          view_call_what(model, &model->calls[event->ref])->value_count,
                          submission))
                continue;
            if (best == VIEW_NO_REF || event->end_ns < model->calls[best].end_ns)
                best = event->ref;
            break;
        }
    }
    return best;
}

void view_gap_causes(const struct view_model *model, const struct view_gap *gap,
                     int64_t out_ns[VIEW_GAP_COUNT])
{
    struct view_measure measure;
    view_series_measure(&model->tracks[model->gap_track].series, gap->begin_ns, gap->end_ns,
                        &measure);
    for (size_t c = 0; c < VIEW_GAP_COUNT; c++)
        out_ns[c] = measure.busy_ns[VIEW_GAP_HOST + c];
}

/* ---- Events of tracks ---------------------------------------------------------------------- */

/* When the event with that ref begins on a track of that kind. */
static int64_t event_begin(const struct view_model *m, const struct view_track *track,
                           const struct view_span *span)
{
    switch (track->kind) {
    case VIEW_TRACK_SCOPE: return m->scopes[span->ref].begin_ns;
    case VIEW_TRACK_HOST: {
        if (span->class != VIEW_RECORD)
            return m->calls[span->ref].begin_ns;
        const struct view_command_buffer *c = &m->command_buffers[span->ref];
        return c->create_host == track->object && c->create_ns != VIEW_NO_TIME ? c->create_ns
                                                                               : c->end_ns;
    }
    case VIEW_TRACK_QUEUE: {
        const struct view_submission *s = &m->submissions[span->ref];
        return view_submit_ns(m, s) != VIEW_NO_TIME ? view_submit_ns(m, s) : s->begin_ns;
    }
    case VIEW_TRACK_DEVICE:
    case VIEW_TRACK_COMMANDS:
    case VIEW_TRACK_BARRIERS: return m->submissions[span->ref].begin_ns;
    case VIEW_TRACK_DISPATCHES: return m->dispatches[span->ref].begin_ns;
    case VIEW_TRACK_SEMAPHORES:
    case VIEW_TRACK_SEMAPHORE: return m->steps[span->ref].time_ns;
    case VIEW_TRACK_TRANSFERS: return m->transfers[span->ref].begin_ns;
    case VIEW_TRACK_MEMORY: return m->levels[span->ref].time_ns;
    case VIEW_TRACK_GAPS: return m->gaps[span->ref].begin_ns;
    }
    return span->begin_ns;
}

uint32_t view_track_event_of(const struct view_model *model, const struct view_track *track,
                             const struct view_span *span)
{
    if (span->ref == VIEW_NO_REF)
        return VIEW_NO_REF;
    const int64_t begin_ns = event_begin(model, track, span);
    const bool by_class = track->kind == VIEW_TRACK_HOST; /* whose refs are of two tables */
    for (size_t i = view_spans_before(&track->events, begin_ns);
         i < track->events.count && view_spans_at(&track->events, i).begin_ns == begin_ns; i++) {
        const struct view_span made = view_spans_at(&track->events, i), *event = &made;
        if (event->ref == span->ref && (!by_class || event->class == span->class))
            return (uint32_t)i;
    }
    return VIEW_NO_REF;
}

uint32_t view_span_submission(const struct view_model *model, const struct view_track *track,
                              const struct view_span *span)
{
    switch (track->kind) {
    case VIEW_TRACK_QUEUE:
    case VIEW_TRACK_DEVICE:
    case VIEW_TRACK_COMMANDS:
    case VIEW_TRACK_BARRIERS: return span->ref;
    case VIEW_TRACK_DISPATCHES: return model->dispatches[span->ref].submission;
    case VIEW_TRACK_HOST:
        return span->class == VIEW_SUBMIT ? model->calls[span->ref].object : VIEW_NO_REF;
    case VIEW_TRACK_SCOPE:
    case VIEW_TRACK_SEMAPHORES:
    case VIEW_TRACK_SEMAPHORE:
    case VIEW_TRACK_TRANSFERS:
    case VIEW_TRACK_MEMORY:
    case VIEW_TRACK_GAPS: break;
    }
    return VIEW_NO_REF;
}

uint32_t view_track_at(const struct view_model *model, const struct view_track *track,
                       int64_t begin_ns, int64_t end_ns)
{
    enum { LOOK_BACK = 4096 };
    const size_t first = view_series_first(&track->series, begin_ns);
    if (first >= track->series.spans.count)
        return VIEW_NO_REF;
    const struct view_span painted = view_spans_at(&track->series.spans, first), *span = &painted;
    if (span->begin_ns >= end_ns)
        return VIEW_NO_REF;
    const uint32_t event = view_track_event_of(model, track, span);
    if (event != VIEW_NO_REF)
        return event;
    /* Several overlap: the one that began last. */
    const size_t before = view_spans_before(&track->events, span->begin_ns + 1);
    for (size_t i = before; i > 0 && before - i < LOOK_BACK; i--) {
        if (view_spans_at(&track->events, i - 1).end_ns > span->begin_ns)
            return (uint32_t)(i - 1);
    }
    return VIEW_NO_REF;
}

uint32_t view_model_queue_event(const struct view_model *model, uint32_t submission,
                                uint32_t *out_track)
{
    const struct view_span span = {.ref = submission, .class = VIEW_EXECUTE};
    *out_track = model->queue_tracks[model->submissions[submission].queue];
    if (*out_track == VIEW_NO_TRACK)
        return VIEW_NO_REF;
    return view_track_event_of(model, &model->tracks[*out_track], &span);
}

uint32_t view_model_host_event(const struct view_model *model, uint32_t call, uint32_t *out_track)
{
    const struct view_call *c = &model->calls[call];
    struct view_span span = {.ref = call};
    *out_track = model->hosts[c->host].track;
    if (*out_track == VIEW_NO_TRACK)
        return VIEW_NO_REF;
    const struct view_track *track = &model->tracks[*out_track];
    for (size_t i = view_spans_before(&track->events, c->begin_ns);
         i < track->events.count && view_spans_at(&track->events, i).begin_ns == c->begin_ns; i++) {
        span.class = view_spans_at(&track->events, i).class;
        if (view_spans_at(&track->events, i).ref == call && span.class != VIEW_RECORD)
            return (uint32_t)i;
    }
    return VIEW_NO_REF;
}
