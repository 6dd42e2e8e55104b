/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the selected event's submission through the tracks: call, queue, device, the semaphores
 * it moved, the wait that saw it. Lines run through blank cells only: they hide nothing. */
#include "viewer/model/path.h"
#include "viewer/ui/panes.h"

enum { MAX_NEIGHBOURS = 4 };

struct flow {
    struct view *view;
    struct view_area area; /* the axis of all rows */
};

/* The submission that the selection belongs to, or VIEW_NO_REF. */
static uint32_t submission_of(const struct view_model *m, const struct view_track *track,
                              const struct view_span *event)
{
    const struct view_node node = view_node_of(m, track, event);
    if (node.kind == VIEW_NODE_SUBMISSION)
        return node.index;
    if (node.kind == VIEW_NODE_NONE)
        return VIEW_NO_REF;
    const struct view_call *call = &m->calls[node.index];
    return call->kind == TRACE_SUBMIT           ? call->object
           : call->kind == TRACE_SEMAPHORE_WAIT ? view_path_awaited(m, call)
                                                : VIEW_NO_REF;
}

/* Row of a shown track within the area; -1: not on the screen. */
static int row_of(const struct flow *flow, uint32_t track)
{
    if (track == VIEW_NO_TRACK || !view_track_shown(flow->view, track))
        return -1;
    return view_drawn_row(flow->view, track, flow->area.rows);
}

static bool is_background(uint32_t character)
{
    return character == ' ' || character == 0x2500 || character == 0x250A;
}

/* Adjacent rows have no space for a line: draws a head before the effect, or beside the cause. */
static void draw_step(const struct flow *flow, int from, int to, int column)
{
    const unsigned style = VIEW_STYLE_FLOW | VIEW_BOLD;
    if (is_background(view_character(flow->area, to, column)))
        view_put(flow->area, to, column, to > from ? 0x25BC : 0x25B2, style);
    else if (column > 0 && is_background(view_character(flow->area, to, column - 1)))
        view_put(flow->area, to, column - 1, 0x25BA, style);
    else if (is_background(view_character(flow->area, from, column)))
        view_put(flow->area, from, column, to > from ? 0x25BC : 0x25B2, style);
}

/* A line from one track to another at a moment, with its head at the target. */
static void draw_link(const struct flow *flow, uint32_t from_track, uint32_t to_track, int64_t ns)
{
    const int from = row_of(flow, from_track), to = row_of(flow, to_track);
    const int column = view_column_of(flow->view->window, flow->area.columns, ns);
    if (from < 0 || to < 0 || from == to || column < 0 || column >= flow->area.columns)
        return;
    const int by = to > from ? 1 : -1;
    if (to == from + by) {
        draw_step(flow, from, to, column);
        return;
    }
    for (int row = from + by; row != to; row += by) {
        if (is_background(view_character(flow->area, row, column)))
            view_put(flow->area, row, column, row + by == to ? (by > 0 ? 0x25BC : 0x25B2) : 0x2502,
                     VIEW_STYLE_FLOW | VIEW_BOLD);
    }
}

/* Underlines what belongs to the same submission; an arrow marks events outside of the window. */
static void mark(const struct flow *flow, uint32_t track, int64_t begin_ns, int64_t end_ns)
{
    const int row = row_of(flow, track), axis = flow->area.columns;
    const struct view_window w = flow->view->window;
    if (row < 0 || track == flow->view->track)
        return;
    int from = view_column_of(w, axis, begin_ns);
    int to = end_ns > begin_ns ? view_column_of(w, axis, end_ns - 1) : from;
    if (to < 0 || from >= axis) {
        const int edge = to < 0 ? 0 : axis - 1;
        const uint32_t character = view_character(flow->area, row, edge);
        if (is_background(character) || (character >= 0x2580 && character < 0x25A0))
            view_put(flow->area, row, edge, to < 0 ? 0x25C4 : 0x25BA, VIEW_STYLE_FLOW | VIEW_BOLD);
        return;
    }
    from = from < 0 ? 0 : from;
    to = to < axis ? to : axis - 1;
    view_highlight(flow->area, row, from, to - from + 1, VIEW_STYLE_FLOW | VIEW_UNDERLINE);
}

static void draw_producers(const struct flow *flow, const struct view_submission *s,
                           uint32_t queue_track)
{
    const struct view_model *m = flow->view->model;
    for (uint32_t k = 0; k < s->wait_count && k < MAX_NEIGHBOURS; k++) {
        const struct view_value *value = &m->values[s->first_wait + k];
        const uint32_t index = view_model_reached(m, value->semaphore, value->value);
        if (index == VIEW_NO_REF)
            continue;
        const struct view_step *step = &m->steps[index];
        if (step->submission != VIEW_NO_REF)
            draw_link(flow, m->queue_tracks[m->submissions[step->submission].queue], queue_track,
                      step->time_ns);
        else if (step->call != VIEW_NO_REF)
            draw_link(flow, m->hosts[m->calls[step->call].host].track, queue_track, step->time_ns);
    }
}

static void draw_consumers(const struct flow *flow, uint32_t index)
{
    const struct view_model *m = flow->view->model;
    const struct view_submission *s = &m->submissions[index];
    uint32_t consumer = VIEW_NO_REF;
    for (uint32_t k = 0; k < MAX_NEIGHBOURS; k++) {
        consumer = view_model_consumer(m, index, consumer);
        if (consumer == VIEW_NO_REF)
            return;
        draw_link(flow, m->queue_tracks[s->queue], m->queue_tracks[m->submissions[consumer].queue],
                  s->end_ns);
    }
}

static uint32_t semaphore_track(const struct view *view, uint32_t semaphore)
{
    for (uint32_t i = 0; i < view->model->tracks_count; i++) {
        const struct view_track *track = &view->model->tracks[i];
        if (track->kind == VIEW_TRACK_SEMAPHORE && track->object == semaphore)
            return i;
    }
    return VIEW_NO_TRACK;
}

static void draw_submission(const struct flow *flow, uint32_t index)
{
    const struct view_model *m = flow->view->model;
    const struct view_submission *s = &m->submissions[index];
    const uint32_t queue = m->queue_tracks[s->queue], observer = view_model_observer(m, index);
    const uint32_t device = view_model_device_track(m, s->queue);
    if (s->call != VIEW_NO_REF) {
        const uint32_t host = m->hosts[m->calls[s->call].host].track;
        mark(flow, host, view_submit_ns(m, s), view_submit_end_ns(m, s));
        draw_link(flow, host, queue, view_submit_ns(m, s));
    }
    draw_producers(flow, s, queue);
    if (s->begin_ns == VIEW_NO_TIME)
        return;
    mark(flow, queue, s->begin_ns, s->end_ns);
    mark(flow, device, s->begin_ns, s->end_ns);
    draw_link(flow, queue, device, s->begin_ns);
    draw_consumers(flow, index);
    for (uint32_t k = 0; k < s->signal_count && k < MAX_NEIGHBOURS; k++)
        draw_link(
            flow, device,
            semaphore_track(flow->view, m->values[s->first_wait + s->wait_count + k].semaphore),
            s->end_ns);
    if (observer == VIEW_NO_REF)
        return;
    const struct view_call *wait = &m->calls[observer];
    mark(flow, m->hosts[wait->host].track, wait->begin_ns, wait->end_ns);
    draw_link(flow, queue, m->hosts[wait->host].track, s->end_ns);
}

/* From submission to submission, over the calls between them. */
static void draw_chain(const struct flow *flow, uint32_t submission,
                       struct view_node (*next)(const struct view_model *model,
                                                struct view_node node))
{
    enum { MAX_CHAIN = 64 };
    struct view_node node = {.kind = VIEW_NODE_SUBMISSION, .index = submission};
    for (int i = 0; i < MAX_CHAIN; i++) {
        node = next(flow->view->model, node);
        if (node.kind == VIEW_NODE_NONE)
            return;
        if (node.kind == VIEW_NODE_SUBMISSION)
            draw_submission(flow, node.index);
    }
}

void view_draw_flow(struct view *view, struct view_area area)
{
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    if (!event)
        return;
    const int gutter = view->layout.gutter;
    const struct flow flow = {
        .view = view, .area = view_area_part(area, 0, gutter, area.rows, area.columns - gutter)};
    const uint32_t submission =
        submission_of(view->model, &view->model->tracks[view->track], event);
    if (submission == VIEW_NO_REF || view_flow_of(view) == VIEW_FLOW_NONE)
        return;
    draw_submission(&flow, submission);
    if (view_flow_of(view) == VIEW_FLOW_CHAIN) {
        draw_chain(&flow, submission, view_node_producer);
        draw_chain(&flow, submission, view_node_consumer);
    }
}
