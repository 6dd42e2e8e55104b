/* SPDX-License-Identifier: Apache-2.0 */
/* Walks from event to event along the edges known to a trace: a call submits, a value is waited
 * for, a queue runs one submission after the other, a thread continues when its wait returns. */
#include "viewer/model/path.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"
#include "viewer/model/build.h"
#include "viewer/text/text.h"

#include <stdio.h>

const char *const view_path_names[VIEW_PATH_KIND_COUNT] = {
    [VIEW_PATH_HOST] = "host",
    [VIEW_PATH_LAUNCH] = "launch",
    [VIEW_PATH_DEVICE] = "device",
    [VIEW_PATH_WAKE] = "wake-up",
};

static struct view_node node_of(enum view_node_kind kind, uint32_t index)
{
    return (struct view_node){.kind = index == VIEW_NO_REF ? VIEW_NODE_NONE : kind, .index = index};
}

enum { HAND_OVER_NS = 50000 }; /* what waking another thread may take */

/* ---- Neighbours --------------------------------------------------------------------------- */

uint32_t view_path_awaited(const struct view_model *model, const struct view_call *wait)
{
    const struct view_what *what = view_call_what(model, wait);
    uint32_t last = VIEW_NO_REF;
    for (uint32_t k = wait->object; k < wait->object + what->value_count; k++) {
        const struct view_value *value = &model->values[k];
        const uint32_t step = view_model_reached(model, value->semaphore, value->value);
        if (step == VIEW_NO_REF || !model->steps)
            continue;
        const uint32_t submission = model->steps[step].submission;
        if (submission != VIEW_NO_REF && (last == VIEW_NO_REF || submission > last))
            last = submission;
    }
    return last;
}

/* The value that the submission waited for that came last, or VIEW_NO_REF. */
static uint32_t last_step(const struct view_model *m, const struct view_submission *s)
{
    uint32_t last = VIEW_NO_REF;
    for (uint32_t k = s->first_wait; k < s->first_wait + s->wait_count; k++) {
        const uint32_t step = view_model_reached(m, m->values[k].semaphore, m->values[k].value);
        if (step != VIEW_NO_REF &&
            (last == VIEW_NO_REF || m->steps[step].time_ns > m->steps[last].time_ns))
            last = step;
    }
    return last;
}

static bool is_wait(const struct view_model *m, const struct view_span *event)
{
    return event->class == VIEW_WAIT && view_call_is_sync(m, &m->calls[event->ref]);
}

/* The thread's last wait that ended by that moment, or VIEW_NO_REF. With `blocking`: one that
 * returned because a submission ended meanwhile. `task` may be NULL. */
static uint32_t wait_before(const struct view_model *m, const struct view_task *task, uint32_t host,
                            int64_t ns, bool blocking)
{
    if (m->hosts[host].track == VIEW_NO_TRACK)
        return VIEW_NO_REF;
    const struct view_track *track = &m->tracks[m->hosts[host].track];
    for (size_t i = view_spans_before(&track->events, ns); i-- > 0 && !view_task_stopped(task);) {
        const struct view_span made = view_spans_at(&track->events, i), *event = &made;
        if (!is_wait(m, event) || event->end_ns > ns)
            continue;
        if (!blocking)
            return event->ref;
        const uint32_t awaited = view_path_awaited(m, &m->calls[event->ref]);
        const struct view_submission *s = awaited == VIEW_NO_REF ? NULL : &m->submissions[awaited];
        if (s && s->end_ns != VIEW_NO_TIME && s->end_ns > event->begin_ns &&
            s->end_ns <= event->end_ns)
            return event->ref;
    }
    return VIEW_NO_REF;
}

static uint32_t submit_after(const struct view_model *m, uint32_t host, int64_t ns)
{
    if (m->hosts[host].track == VIEW_NO_TRACK)
        return VIEW_NO_REF;
    const struct view_track *track = &m->tracks[m->hosts[host].track];
    size_t i = view_spans_before(&track->events, ns);
    while (i < track->events.count && view_spans_at(&track->events, i).class != VIEW_SUBMIT)
        i++;
    return i < track->events.count ? view_spans_at(&track->events, i).ref : VIEW_NO_REF;
}

struct view_node view_node_of(const struct view_model *model, const struct view_track *track,
                              const struct view_span *event)
{
    switch (track->kind) {
    case VIEW_TRACK_QUEUE:
    case VIEW_TRACK_DEVICE:
    case VIEW_TRACK_COMMANDS:
    case VIEW_TRACK_BARRIERS:
    case VIEW_TRACK_DISPATCHES:
        return node_of(VIEW_NODE_SUBMISSION, view_span_submission(model, track, event));
    case VIEW_TRACK_SEMAPHORES:
    case VIEW_TRACK_SEMAPHORE: {
        const struct view_step *step = &model->steps[event->ref];
        return step->submission != VIEW_NO_REF ? node_of(VIEW_NODE_SUBMISSION, step->submission)
                                               : node_of(VIEW_NODE_CALL, step->call);
    }
    case VIEW_TRACK_MEMORY:
        return node_of(VIEW_NODE_SUBMISSION, model->levels[event->ref].submission);
    case VIEW_TRACK_GAPS: return node_of(VIEW_NODE_SUBMISSION, model->gaps[event->ref].after);
    case VIEW_TRACK_HOST:
        return event->class == VIEW_RECORD ? node_of(VIEW_NODE_NONE, 0)
                                           : node_of(VIEW_NODE_CALL, event->ref);
    case VIEW_TRACK_SCOPE:
    case VIEW_TRACK_TRANSFERS: break;
    }
    return node_of(VIEW_NODE_NONE, 0);
}

struct view_node view_node_producer(const struct view_model *model, struct view_node node)
{
    if (node.kind == VIEW_NODE_SUBMISSION) {
        const struct view_submission *s = &model->submissions[node.index];
        const uint32_t step = last_step(model, s);
        if (step == VIEW_NO_REF)
            return node_of(VIEW_NODE_CALL, s->call);
        const struct view_step *found = &model->steps[step];
        if (found->submission != VIEW_NO_REF)
            return node_of(VIEW_NODE_SUBMISSION, found->submission);
        return node_of(VIEW_NODE_CALL, found->call != VIEW_NO_REF ? found->call : s->call);
    }
    if (node.kind != VIEW_NODE_CALL)
        return node;
    const struct view_call *call = &model->calls[node.index];
    if (call->kind == TRACE_SEMAPHORE_WAIT)
        return node_of(VIEW_NODE_SUBMISSION, view_path_awaited(model, call));
    return node_of(VIEW_NODE_CALL, wait_before(model, NULL, call->host, call->begin_ns, false));
}

/* The first submission that waited for what the call signalled. */
static uint32_t signalled(const struct view_model *m, uint32_t call)
{
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        for (uint32_t k = s->first_wait; k < s->first_wait + s->wait_count; k++) {
            const uint32_t step = view_model_reached(m, m->values[k].semaphore, m->values[k].value);
            if (step != VIEW_NO_REF && m->steps[step].call == call &&
                m->steps[step].submission == VIEW_NO_REF)
                return i;
        }
    }
    return VIEW_NO_REF;
}

struct view_node view_node_consumer(const struct view_model *model, struct view_node node)
{
    if (node.kind == VIEW_NODE_SUBMISSION) {
        const uint32_t next = view_model_consumer(model, node.index, VIEW_NO_REF);
        return next != VIEW_NO_REF
                   ? node_of(VIEW_NODE_SUBMISSION, next)
                   : node_of(VIEW_NODE_CALL, view_model_observer(model, node.index));
    }
    if (node.kind != VIEW_NODE_CALL)
        return node;
    const struct view_call *call = &model->calls[node.index];
    switch (call->kind) {
    case TRACE_SUBMIT: return node_of(VIEW_NODE_SUBMISSION, call->object);
    case TRACE_SEMAPHORE_SIGNAL:
    case TRACE_SEMAPHORE_FAIL: return node_of(VIEW_NODE_SUBMISSION, signalled(model, node.index));
    default: return node_of(VIEW_NODE_CALL, submit_after(model, call->host, call->end_ns));
    }
}

/* ---- Slack -------------------------------------------------------------------------------- */

int64_t view_path_slack(const struct view_model *model, uint32_t submission)
{
    enum { MOST_CONSUMERS = 64 };
    const struct view_submission *s = &model->submissions[submission];
    int64_t needed_ns = INT64_MAX;
    uint32_t next = VIEW_NO_REF;
    if (s->end_ns == VIEW_NO_TIME)
        return VIEW_NO_TIME;
    for (int k = 0; k < MOST_CONSUMERS; k++) {
        next = view_model_consumer(model, submission, next);
        if (next == VIEW_NO_REF)
            break;
        const struct view_submission *c = &model->submissions[next];
        const int64_t submit_ns = view_submit_ns(model, c);
        if (submit_ns != VIEW_NO_TIME && submit_ns < needed_ns)
            needed_ns = submit_ns;
    }
    const uint32_t observer = view_model_observer(model, submission);
    if (observer != VIEW_NO_REF && model->calls[observer].begin_ns < needed_ns)
        needed_ns = model->calls[observer].begin_ns;
    if (needed_ns == INT64_MAX)
        return VIEW_NO_TIME;
    return needed_ns > s->end_ns ? needed_ns - s->end_ns : 0;
}

/* ---- The critical path -------------------------------------------------------------------- */

/* The walk, backwards in time. */
struct walk {
    const struct view_model *model;
    const struct view_task *task;
    struct view_path *path;
    enum hal_status status;
    int64_t start_ns;    /* the first call that submitted: what came before is start-up */
    int64_t at_ns;       /* everything from here on is explained */
    uint32_t submission; /* that has to run before that */
};

static void add(struct walk *w, enum view_path_kind kind, uint32_t ref, int64_t begin_ns)
{
    begin_ns = begin_ns < w->at_ns ? begin_ns : w->at_ns;
    if (begin_ns == w->at_ns || w->status != HAL_OK)
        return;
    w->status = VIEW_ROOM(w->path, parts, 1);
    if (w->status == HAL_OK)
        w->path->parts[w->path->parts_count++] = (struct view_path_part){
            .begin_ns = begin_ns, .end_ns = w->at_ns, .ref = ref, .kind = kind};
    w->at_ns = begin_ns;
}

/* The execution on the same queue that ended last before this one began, among those submitted
 * shortly before it; or VIEW_NO_REF. */
static uint32_t before_on_queue(const struct view_model *m, uint32_t index)
{
    enum { LOOK_BACK = 64 };
    const struct view_submission *s = &m->submissions[index];
    uint32_t best = VIEW_NO_REF;
    for (uint32_t i = index; i > 0 && index - i < LOOK_BACK;) {
        const struct view_submission *p = &m->submissions[--i];
        if (p->queue == s->queue && p->end_ns != VIEW_NO_TIME && p->end_ns <= s->begin_ns &&
            (best == VIEW_NO_REF || p->end_ns > m->submissions[best].end_ns))
            best = i;
    }
    return best;
}

/* When the dense group of calls of a thread before that moment began. */
static int64_t burst_begin(const struct walk *w, uint32_t host, int64_t ns)
{
    const struct view_model *m = w->model;
    const struct view_track *track = &m->tracks[m->hosts[host].track];
    int64_t begin_ns = ns;
    for (size_t i = view_spans_before(&track->events, ns);
         i-- > 0 && !view_task_stopped(w->task);) {
        if (view_spans_at(&track->events, i).end_ns < begin_ns - HAND_OVER_NS)
            break;
        begin_ns = view_spans_at(&track->events, i).begin_ns < begin_ns
                       ? view_spans_at(&track->events, i).begin_ns
                       : begin_ns;
    }
    return begin_ns;
}

/* The other thread that called at that moment or shortly before, or VIEW_NO_REF. */
static uint32_t handed_over_by(const struct view_model *m, uint32_t host, int64_t ns)
{
    uint32_t best = VIEW_NO_REF;
    int64_t best_ns = ns - HAND_OVER_NS;
    for (uint32_t h = 0; h < m->hosts_count; h++) {
        if (h == host || m->hosts[h].track == VIEW_NO_TRACK)
            continue;
        const struct view_track *track = &m->tracks[m->hosts[h].track];
        const size_t before = view_spans_before(&track->events, ns);
        if (!before)
            continue;
        const int64_t end_ns = hal_min_i64(view_spans_at(&track->events, before - 1).end_ns, ns);
        if (end_ns > best_ns) {
            best_ns = end_ns;
            best = h;
        }
    }
    return best;
}

/* A quiet thread that never waits got its work from another: most likely the last that called. */
static uint32_t walk_burst(struct walk *w, uint32_t host)
{
    const struct view_model *m = w->model;
    if (m->hosts[host].track == VIEW_NO_TRACK)
        return VIEW_NO_REF;
    const int64_t begin_ns = burst_begin(w, host, w->at_ns);
    const uint32_t other = begin_ns > w->start_ns ? handed_over_by(m, host, begin_ns) : VIEW_NO_REF;
    if (other != VIEW_NO_REF)
        add(w, VIEW_PATH_HOST, host, begin_ns);
    return other;
}

/* A thread worked until at_ns: since its last wait that blocked, or since it began. */
static bool walk_host(struct walk *w, uint32_t host)
{
    const struct view_model *m = w->model;
    uint32_t wait = wait_before(m, w->task, host, w->at_ns, true);
    if (wait == VIEW_NO_REF) {
        const uint32_t other = walk_burst(w, host);
        host = other == VIEW_NO_REF ? host : other;
        wait = other == VIEW_NO_REF ? VIEW_NO_REF : wait_before(m, w->task, other, w->at_ns, true);
    }
    if (wait == VIEW_NO_REF) {
        add(w, VIEW_PATH_HOST, host, w->start_ns);
        return false;
    }
    w->submission = view_path_awaited(m, &m->calls[wait]);
    add(w, VIEW_PATH_HOST, host, m->calls[wait].end_ns);
    add(w, VIEW_PATH_WAKE, host, m->submissions[w->submission].end_ns);
    return true;
}

/* One submission, and what it waited for last: its call, a value, or the queue. */
static bool walk_submission(struct walk *w)
{
    const struct view_model *m = w->model;
    const uint32_t index = w->submission;
    const struct view_submission *s = &m->submissions[index];
    add(w, VIEW_PATH_DEVICE, index, s->begin_ns);
    const uint32_t queued = before_on_queue(m, index), index_of_step = last_step(m, s);
    const struct view_step *step = index_of_step == VIEW_NO_REF ? NULL : &m->steps[index_of_step];
    const int64_t called_ns = view_submit_ns(m, s) == VIEW_NO_TIME
                                  ? INT64_MIN
                                  : hal_min_i64(view_submit_end_ns(m, s), s->begin_ns);
    const int64_t step_ns = step ? step->time_ns : INT64_MIN;
    const int64_t free_ns = queued == VIEW_NO_REF ? INT64_MIN : m->submissions[queued].end_ns;
    if (free_ns >= called_ns && free_ns >= step_ns && queued != VIEW_NO_REF) {
        add(w, VIEW_PATH_LAUNCH, index, free_ns);
        w->submission = queued;
        return true;
    }
    if (step && step_ns > called_ns && step_ns <= s->begin_ns) {
        add(w, VIEW_PATH_LAUNCH, index, step_ns);
        w->submission = step->submission;
        if (step->submission != VIEW_NO_REF)
            return m->submissions[step->submission].begin_ns != VIEW_NO_TIME;
        return step->call != VIEW_NO_REF && walk_host(w, m->calls[step->call].host);
    }
    if (s->call == VIEW_NO_REF || called_ns == INT64_MIN)
        return false;
    add(w, VIEW_PATH_LAUNCH, index, called_ns);
    return walk_host(w, m->calls[s->call].host);
}

/* In time order, and their sums. */
static void arrange(struct view_path *path)
{
    for (size_t i = 0; i < path->parts_count / 2; i++) {
        const struct view_path_part part = path->parts[i];
        path->parts[i] = path->parts[path->parts_count - 1 - i];
        path->parts[path->parts_count - 1 - i] = part;
    }
    for (uint32_t i = 0; i < path->parts_count; i++) {
        const struct view_path_part *part = &path->parts[i];
        const uint32_t longest = path->longest[part->kind];
        path->ns[part->kind] += part->end_ns - part->begin_ns;
        if (longest == VIEW_NO_REF ||
            part->end_ns - part->begin_ns >
                path->parts[longest].end_ns - path->parts[longest].begin_ns)
            path->longest[part->kind] = i;
    }
}

enum hal_status view_path_find(const struct view_model *model, struct view_task *task,
                               struct view_path *out)
{
    enum { SHIFT = 10 }; /* of nanoseconds: VIEW_TASK_WHOLE times as many still fit */
    struct walk w = {.model = model,
                     .task = task,
                     .path = out,
                     .start_ns = model->last_ns,
                     .submission = VIEW_NO_REF};
    *out = (struct view_path){0};
    for (int kind = 0; kind < VIEW_PATH_KIND_COUNT; kind++)
        out->longest[kind] = VIEW_NO_REF;
    for (uint32_t i = 0; i < model->submissions_count && !view_task_stopped(task); i++) {
        const struct view_submission *s = &model->submissions[i];
        const int64_t submit_ns = view_submit_ns(model, s);
        if (submit_ns != VIEW_NO_TIME && submit_ns < w.start_ns)
            w.start_ns = submit_ns;
        if (s->begin_ns != VIEW_NO_TIME && (w.submission == VIEW_NO_REF || s->end_ns > w.at_ns)) {
            w.submission = i;
            w.at_ns = s->end_ns;
        }
    }
    /* Every submission is passed at most once; a file whose times contradict each other ends the
     * walk sooner. */
    for (size_t steps = 0; steps < model->submissions_count && w.submission != VIEW_NO_REF;
         steps++) {
        if (w.status == HAL_OK)
            w.status = view_task_check(task);
        view_task_advance(task, (size_t)((model->last_ns - w.at_ns) >> SHIFT),
                          (size_t)((model->last_ns - w.start_ns) >> SHIFT));
        if (w.status != HAL_OK || model->submissions[w.submission].begin_ns > w.at_ns ||
            !walk_submission(&w))
            break;
    }
    if (w.status == HAL_OK)
        w.status = view_task_check(task);
    if (w.status != HAL_OK)
        view_path_finish(out);
    else
        arrange(out);
    return w.status;
}

void view_path_finish(struct view_path *path)
{
    free(path->parts);
    *path = (struct view_path){0};
}

size_t view_path_first(const struct view_path *path, int64_t ns)
{
    size_t low = 0, high = path->parts_count;
    HAL_BISECT(low, high, middle, path->parts[middle].end_ns <= ns)
    return low;
}

void view_path_text(const struct view_path *path, char *out, size_t bytes)
{
    int64_t whole_ns = 0;
    size_t length = 0;
    for (int kind = 0; kind < VIEW_PATH_KIND_COUNT; kind++)
        whole_ns += path->ns[kind];
    *out = '\0';
    for (int kind = 0; kind < VIEW_PATH_KIND_COUNT && length + 40 < bytes; kind++)
        length +=
            (size_t)snprintf(out + length, bytes - length, "%s%s %s", kind ? ", " : "",
                             view_path_names[kind], view_share(path->ns[kind], whole_ns).text);
}
