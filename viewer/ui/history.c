/* SPDX-License-Identifier: Apache-2.0 */
/* Following: from an event to what it waited for and to what waited for it, back to earlier
 * selections, how far the lines of the flow go, and the critical path over the tracks. */
#include "viewer/text/text.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panes.h"

#include "hal/base/mem.h"
#include "viewer/model/path.h"

#include <string.h>

struct history {
    enum view_flow flow;
    struct view_path *path; /* NULL: not asked for yet */
    bool shows_path;
};

static struct history *history_of(const struct view *view)
{
    return view_state(view, VIEW_PART_HISTORY);
}

enum view_flow view_flow_of(const struct view *view)
{
    return history_of(view)->flow;
}

/* ---- Selections before this one ----------------------------------------------------------- */

static void back(struct view *view, int key)
{
    (void)key;
    if (!view->visited_count) {
        view_say(view, "no previous selection");
        return;
    }
    const struct view_visited last = view->visited[view->visited_count - 1];
    const int count = view->visited_count - 1;
    view_select(view, last.track, last.event);
    view->visited_count = count;
}

/* ---- Producers and consumers -------------------------------------------------------------- */

/* From a track of the device one stays there where that is possible. */
static bool select_node(struct view *view, struct view_node node)
{
    const struct view_model *m = view->model;
    uint32_t track = VIEW_NO_TRACK, event = VIEW_NO_REF;
    if (node.kind == VIEW_NODE_CALL) {
        event = view_model_host_event(m, node.index, &track);
    } else {
        const struct view_span span = {.ref = node.index, .class = VIEW_EXECUTE};
        const enum view_track_kind kind = m->tracks[view->track].kind;
        if ((kind == VIEW_TRACK_DEVICE || kind == VIEW_TRACK_COMMANDS ||
             kind == VIEW_TRACK_BARRIERS) &&
            m->submissions[node.index].begin_ns != VIEW_NO_TIME) {
            track = view->track;
            event = view_track_event_of(m, &m->tracks[track], &span);
        }
        if (event == VIEW_NO_REF)
            event = view_model_queue_event(m, node.index, &track);
    }
    if (event == VIEW_NO_REF)
        return false;
    view_select(view, track, event);
    return true;
}

/* The value that a submission waits for and that never came, in words. */
static bool say_never(struct view *view, struct view_node node)
{
    const struct view_model *m = view->model;
    char name[64];
    if (node.kind != VIEW_NODE_SUBMISSION)
        return false;
    const struct view_submission *s = &m->submissions[node.index];
    for (uint32_t k = s->first_wait; k < s->first_wait + s->wait_count; k++) {
        if (view_model_reached(m, m->values[k].semaphore, m->values[k].value) != VIEW_NO_REF)
            continue;
        view_semaphore_name(m, m->values[k].semaphore, name, sizeof name);
        view_say(view, "it waits for %s >= %llu, which nothing in this file signals", name,
                 (unsigned long long)m->values[k].value);
        return true;
    }
    return false;
}

static void follow(struct view *view, int key)
{
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    const struct view_model *m = view->model;
    if (!event) {
        view_say(view, "nothing is selected: [ ] select the track's events");
        return;
    }
    const struct view_track *track = &m->tracks[view->track];
    const struct view_node node = view_node_of(m, track, event);
    const bool gap = track->kind == VIEW_TRACK_GAPS && node.kind != VIEW_NODE_NONE;
    const bool step = track->kind == VIEW_TRACK_SEMAPHORE || track->kind == VIEW_TRACK_SEMAPHORES;
    struct view_node next = {.kind = VIEW_NODE_NONE};
    if (node.kind != VIEW_NODE_NONE)
        next = key == '<' ? view_node_producer(m, node) : view_node_consumer(m, node);
    /* The gap ends with it; the value came from there. */
    if ((gap && key == '>') || (step && key == '<'))
        next = node;
    if (next.kind != VIEW_NODE_NONE && select_node(view, next))
        return;
    if (key == '<' && say_never(view, node))
        return;
    view_say(view, "%s",
             node.kind == VIEW_NODE_NONE ? "neither its cause nor its effect is known"
             : key == '<'                ? "nothing in this file led to it"
                                         : "nothing in this file waited for it");
}

static void change_depth(struct view *view, int key)
{
    static const char *const depths[VIEW_FLOW_COUNT] = {
        [VIEW_FLOW_NEIGHBOURS] = "lines of the selection and its neighbours",
        [VIEW_FLOW_CHAIN] = "the whole chain of the selection",
        [VIEW_FLOW_NONE] = "no lines",
    };
    (void)key;
    struct history *t = history_of(view);
    t->flow = (enum view_flow)((t->flow + 1) % VIEW_FLOW_COUNT);
    view_say(view, "%s", depths[t->flow]);
}

/* ---- The critical path -------------------------------------------------------------------- */

static enum hal_status find_path(const struct view_model *model, void *work, struct view_task *task)
{
    return view_path_find(model, task, work);
}

static void destroy_path(void *work)
{
    if (work)
        view_path_finish(work);
    free(work);
}

static void say_path(struct view *view)
{
    char text[160];
    const struct view_path *path = history_of(view)->path;
    view_path_text(path, text, sizeof text);
    view_say(view, path->parts_count ? "critical path: %s" : "nothing ran: no critical path%.0s",
             text);
}

static void take_path(struct view *view, void *work)
{
    history_of(view)->path = work;
    if (history_of(view)->shows_path)
        say_path(view);
}

static void give_up_path(struct view *view, const void *work)
{
    (void)work;
    history_of(view)->shows_path = false;
}

static const struct view_job_type path_type = {.kind = VIEW_JOB_PATH,
                                               .name = "critical path",
                                               .work_bytes = sizeof(struct view_path),
                                               .run = find_path,
                                               .take = take_path,
                                               .give_up = give_up_path,
                                               .destroy = destroy_path};

/* NULL: it is not there yet, was given up, or memory is out, which is said. */
static const struct view_path *critical_path(struct view *view)
{
    if (!history_of(view)->path)
        view_job_ask(view, &path_type);
    return history_of(view)->path;
}

static void toggle_path(struct view *view, int key)
{
    struct history *t = history_of(view);
    (void)key;
    t->shows_path = !t->shows_path;
    view->given_up[VIEW_JOB_PATH] = false;
    if (t->shows_path && t->path)
        say_path(view);
    else if (t->shows_path)
        (void)critical_path(view);
    else
        view_job_stop(view, VIEW_JOB_PATH);
}

/* The track on which a part of the path happens, or VIEW_NO_TRACK. */
static uint32_t track_of(const struct view_model *m, const struct view_path_part *part)
{
    switch (part->kind) {
    case VIEW_PATH_HOST:
    case VIEW_PATH_WAKE: return m->hosts[part->ref].track;
    case VIEW_PATH_LAUNCH: return m->queue_tracks[m->submissions[part->ref].queue];
    case VIEW_PATH_DEVICE: return view_model_device_track(m, m->submissions[part->ref].queue);
    case VIEW_PATH_KIND_COUNT: break;
    }
    return m->device_track;
}

/* Per column, the track that the end waited for most: underlined, or a line where it is blank. */
void view_draw_path(struct view *view, struct view_area axis)
{
    const struct view_window w = view->window;
    const struct view_path *path = history_of(view)->shows_path ? critical_path(view) : NULL;
    for (int column = 0; path && column < axis.columns; column++) {
        const int64_t begin_ns = view_column_begin(w, axis.columns, column);
        const int64_t end_ns = view_column_begin(w, axis.columns, column + 1);
        const size_t first = view_path_first(path, begin_ns);
        const struct view_path_part *most = NULL;
        int64_t most_ns = 0;
        for (size_t i = first; i < path->parts_count && i < first + 64; i++) {
            const struct view_path_part *part = &path->parts[i];
            const int64_t from_ns = part->begin_ns > begin_ns ? part->begin_ns : begin_ns;
            const int64_t to_ns = part->end_ns < end_ns ? part->end_ns : end_ns;
            if (to_ns - from_ns > most_ns) {
                most_ns = to_ns - from_ns;
                most = part;
            }
        }
        const uint32_t track = most ? track_of(view->model, most) : VIEW_NO_TRACK;
        if (track == VIEW_NO_TRACK || !view_track_shown(view, track))
            continue;
        const int row = view_drawn_row(view, track, axis.rows);
        if (row < 0)
            continue;
        if (view_is_blank(axis, row, column))
            view_put(axis, row, column, 0x2550, VIEW_STYLE_FLOW | VIEW_BOLD);
        else
            view_highlight(axis, row, column, 1, VIEW_STYLE_FLOW | VIEW_UNDERLINE | VIEW_BOLD);
    }
}

/* Of the selected submission, for its details. */
void view_describe_path(struct view *view, struct view_lines *lines)
{
    enum { CHEAP = 100000 }; /* submissions */
    const struct view_model *m = view->model;
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    const struct view_node node = event ? view_node_of(m, &m->tracks[view->track], event)
                                        : (struct view_node){.kind = VIEW_NODE_NONE};
    if (node.kind != VIEW_NODE_SUBMISSION || m->submissions[node.index].begin_ns == VIEW_NO_TIME)
        return;
    const struct view_path *path =
        history_of(view)->path || m->submissions_count <= CHEAP ? critical_path(view) : NULL;
    const size_t i = path ? view_path_first(path, m->submissions[node.index].begin_ns) : 0;
    const bool critical = path && i < path->parts_count &&
                          path->parts[i].kind == VIEW_PATH_DEVICE &&
                          path->parts[i].ref == node.index;
    const int64_t slack_ns = view_path_slack(m, node.index);
    char slack[96] = "nothing in this file waits for it";
    if (slack_ns == 0)
        snprintf(slack, sizeof slack, "but something waits for its end");
    else if (slack_ns != VIEW_NO_TIME)
        snprintf(slack, sizeof slack, "it may end %s later before anything waits for it",
                 hal_duration_text(slack_ns).text);
    if (critical)
        view_lines_add(lines, "critical", "yes: every nanosecond of it delays the end");
    else
        view_lines_add(lines, path ? "critical" : "slack", "%s%s", path ? "no, " : "", slack);
}

static const struct view_binding bindings[] = {
    {'<', VIEW_KEY_NONE, "< >", "what the event waited for; what waited for it", follow},
    {'>', VIEW_KEY_NONE, "", NULL, follow},
    {'B', VIEW_KEY_NONE, "B", "back to the previous selection", back},
    {'e', VIEW_KEY_NONE, "e", "lines: neighbours, the whole chain, none", change_depth},
    {'c', VIEW_KEY_NONE, "c", "critical path, on or off", toggle_path},
    {0, 0, NULL, NULL, NULL},
};

static void finish(struct view *view)
{
    destroy_path(history_of(view)->path);
}

static void restore(struct view *view, const struct view *old)
{
    const struct history *before = history_of(old);
    history_of(view)->flow = before->flow;
    history_of(view)->shows_path = before->shows_path;
    if (before->path)
        (void)critical_path(view);
}

const struct view_pane view_history_part = {.name = "Following",
                                            .state_bytes = sizeof(struct history),
                                            .finish = finish,
                                            .restore = restore,
                                            .bindings = bindings};
