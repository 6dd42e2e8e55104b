/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/ui/carry.h"

#include "hal/base/mem.h"
#include "viewer/model/path.h"
#include "viewer/ui/counters.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panels/kernels.h"
#include "viewer/ui/panels/repeats.h"

#include <string.h>

/* ---- What takes long ---------------------------------------------------------------------- */

void view_wishes_of(const struct view *view, struct view_wishes *out_wishes)
{
    const int64_t offset_ns = view->model->offset_ns;
    const struct view_filter *next = view_job_work(view, VIEW_JOB_FILTER);
    const struct view_filter *filter = next ? next : view->filter;
    const bool has_range = view->range_kernels != NULL && view->range == VIEW_RANGE_SET;
    *out_wishes = (struct view_wishes){
        .of = {[VIEW_WISH_SUBMISSIONS_BY] = view->submissions.by,
               [VIEW_WISH_GAPS_BY] = view->gaps.by,
               [VIEW_WISH_BUFFERS_BY] = view->buffers.by,
               [VIEW_WISH_REPEATS_BY] = view->repeats.by,
               [VIEW_WISH_KERNELS_BY] = view->kernels_by,
               [VIEW_WISH_FINDINGS_BY] = view->findings_by,
               [VIEW_WISH_KERNELS] = view->kernels != NULL,
               [VIEW_WISH_ITERATIONS] = view->iterations != NULL,
               [VIEW_WISH_FINDINGS] = view->has_findings,
               [VIEW_WISH_PATH] = view->path != NULL,
               [VIEW_WISH_COUNTERS] = view->counters != NULL,
               [VIEW_WISH_RANGE] = has_range,
               [VIEW_WISH_RANGE_BEGIN_NS] = has_range ? view->range_begin_ns + offset_ns : 0,
               [VIEW_WISH_RANGE_END_NS] = has_range ? view->range_end_ns + offset_ns : 0}};
    if (filter)
        snprintf(out_wishes->filter, sizeof out_wishes->filter, "%s", filter->text);
}

bool view_wishes_equal(const struct view_wishes *a, const struct view_wishes *b)
{
    for (size_t i = 0; i < VIEW_WISH_COUNT; i++) {
        if (a->of[i] != b->of[i])
            return false;
    }
    return strcmp(a->filter, b->filter) == 0;
}

/* Lists are sorted as they were; those that are not there yet, once they are. */
static void prepare_orders(struct view *view, const int64_t *wish)
{
    view->submissions.by = (int)wish[VIEW_WISH_SUBMISSIONS_BY];
    view->gaps.by = (int)wish[VIEW_WISH_GAPS_BY];
    view->buffers.by = (int)wish[VIEW_WISH_BUFFERS_BY];
    if (view->submissions.by)
        view_submissions_sort(view);
    if (view->gaps.by)
        view_gaps_sort(view);
    if (view->buffers.by)
        view_buffers_sort(view);
    view->repeats.by = (int)wish[VIEW_WISH_REPEATS_BY];
    view->kernels_by = (int)wish[VIEW_WISH_KERNELS_BY];
    view->findings_by = (int)wish[VIEW_WISH_FINDINGS_BY];
}

static void prepare_range(struct view *view, const int64_t *wish)
{
    struct view_lines lines = {0};
    view->range = VIEW_RANGE_SET;
    view->range_begin_ns = wish[VIEW_WISH_RANGE_BEGIN_NS] - view->model->offset_ns;
    view->range_end_ns = wish[VIEW_WISH_RANGE_END_NS] - view->model->offset_ns;
    view_describe_range(view, &lines); /* which makes what it tells */
    view_lines_finish(&lines);
}

void view_prepare(struct view *view, const struct view_wishes *wishes)
{
    const int64_t *wish = wishes->of;
    prepare_orders(view, wish);
    if (*wishes->filter)
        view_filter_by(view, wishes->filter);
    if (wish[VIEW_WISH_KERNELS])
        (void)view_kernels_work(view);
    if (wish[VIEW_WISH_ITERATIONS])
        (void)view_iterations_pane.list->count(view);
    if (wish[VIEW_WISH_FINDINGS])
        (void)view_findings_pane.list->count(view);
    if (wish[VIEW_WISH_PATH])
        (void)view_critical_path(view);
    if (wish[VIEW_WISH_COUNTERS])
        (void)view_counters_of(view);
    if (wish[VIEW_WISH_RANGE])
        prepare_range(view, wish);
}

/* ---- The same part of a longer trace ------------------------------------------------------ */

/* Rows are numbered as the file mentions them first: a longer file gives the same numbers. */
static uint32_t same_lane(const struct view_model *m, const struct view_lane *lane)
{
    for (uint32_t i = 0; i < m->lanes_count; i++) {
        const struct view_lane *other = &m->lanes[i];
        if (other->kind == lane->kind && other->object == lane->object &&
            other->depth == lane->depth)
            return i;
    }
    return VIEW_NO_LANE;
}

static uint32_t same_event(const struct view_lane *lane, const struct view_span *event,
                           int64_t by_ns)
{
    const int64_t begin_ns = event->begin_ns + by_ns;
    uint32_t found = VIEW_NO_REF;
    for (size_t i = view_spans_before(&lane->events, begin_ns);
         i < lane->events.count && view_spans_at(&lane->events, i).begin_ns == begin_ns; i++) {
        if (view_spans_at(&lane->events, i).class != event->class)
            continue;
        if (view_spans_at(&lane->events, i).ref == event->ref)
            return (uint32_t)i;
        found = found == VIEW_NO_REF ? (uint32_t)i : found;
    }
    return found;
}

static int64_t moved(int64_t ns, int64_t by_ns)
{
    return ns == VIEW_NO_TIME ? ns : ns + by_ns;
}

static void carry_window(struct view *view, const struct view *old, int64_t by_ns)
{
    const struct view_window w = old->window;
    const bool at_end = w.begin_ns + w.span_ns >= old->model->last_ns;
    for (int i = 0; i < old->past_count; i++) {
        view->past[i] = old->past[i];
        view->past[i].begin_ns += by_ns;
    }
    for (int i = 0; i < old->future_count; i++) {
        view->future[i] = old->future[i];
        view->future[i].begin_ns += by_ns;
    }
    view->past_count = old->past_count;
    view->future_count = old->future_count;
    view->moved_by = old->moved_by;
    view->layout = old->layout;
    if (at_end && !old->past_count) /* never moved: everything, as at the start */
        return;
    view->window = w;
    view->window.begin_ns += by_ns;
    if (at_end && w.begin_ns <= old->model->first_ns)
        view->window = (struct view_window){view->model->first_ns,
                                            view->model->last_ns - view->model->first_ns};
    else if (at_end)
        view->window.begin_ns = view->model->last_ns - w.span_ns;
}

/* Lanes that are new stand behind those that were there, children behind their parents. */
static void carry_places(struct view *view, const struct view *old)
{
    const struct view_model *m = view->model, *before = old->model;
    size_t at = 0;
    bool *placed = hal_alloc(m->lanes_count, sizeof *placed);
    for (size_t i = 0; placed && i < before->lanes_count; i++) {
        const uint32_t lane = same_lane(m, &before->lanes[old->places[i]]);
        if (lane == VIEW_NO_LANE || placed[lane] || m->lanes[lane].parent != VIEW_NO_LANE)
            continue;
        placed[lane] = true;
        view->places[at++] = lane;
        for (uint32_t k = 0; k < m->lanes_count; k++) {
            if (m->lanes[k].parent != lane)
                continue;
            placed[k] = true;
            view->places[at++] = k;
        }
    }
    for (uint32_t i = 0; placed && i < m->lanes_count; i++) {
        if (!placed[i])
            view->places[at++] = i;
    }
    free(placed);
}

static void carry_lanes(struct view *view, const struct view *old, int64_t by_ns)
{
    const struct view_model *m = view->model, *before = old->model;
    for (uint32_t i = 0; i < before->lanes_count; i++) {
        const uint32_t lane = same_lane(m, &before->lanes[i]);
        if (lane == VIEW_NO_LANE)
            continue;
        view->open[lane] = old->open[i];
        view->hidden[lane] = old->hidden[i];
        view->pinned[lane] = old->pinned[i];
    }
    carry_places(view, old);
    if (old->lane == VIEW_NO_LANE)
        return;
    const uint32_t lane = same_lane(m, &before->lanes[old->lane]);
    view->lane = lane == VIEW_NO_LANE ? view->lane : lane;
    view->event = VIEW_NO_REF;
    if (lane != VIEW_NO_LANE && old->event != VIEW_NO_REF) {
        const struct view_span event = view_spans_at(&before->lanes[old->lane].events, old->event);
        view->event = same_event(&m->lanes[lane], &event, by_ns);
    }
}

/* What was visited and is there still. */
static void carry_visited(struct view *view, const struct view *old, int64_t by_ns)
{
    for (int i = 0; i < old->visited_count; i++) {
        const struct view_lane *lane = &old->model->lanes[old->visited[i].lane];
        const struct view_span event = view_spans_at(&lane->events, old->visited[i].event);
        const uint32_t now = same_lane(view->model, lane);
        const uint32_t at =
            now == VIEW_NO_LANE ? VIEW_NO_REF : same_event(&view->model->lanes[now], &event, by_ns);
        if (at != VIEW_NO_REF)
            view->visited[view->visited_count++] = (struct view_visited){now, at};
    }
}

/* ---- What is chosen ----------------------------------------------------------------------- */

static uint32_t same_buffer(const struct view *view, const struct view *old, uint32_t buffer)
{
    const struct view_model *m = view->model, *before = old->model;
    const bool is_same = buffer < before->buffers_count && buffer < m->buffers_count &&
                         before->buffers[buffer].id == m->buffers[buffer].id;
    return is_same ? buffer : VIEW_NO_REF;
}

/* Kernels are called the same. */
static void carry_kernel(struct view *view, struct view *old)
{
    const struct view_work *before = old->kernels ? view_kernels_work(old) : NULL;
    const struct view_work *now = view->kernels ? view_kernels_work(view) : NULL;
    char name[256], other[256];
    if (!before || !now || old->kernel == VIEW_NO_REF)
        return;
    view_work_name(before, old->kernel, name, sizeof name);
    for (uint32_t i = 0; i < now->kernels_count && view->kernel == VIEW_NO_REF; i++) {
        view_work_name(now, i, other, sizeof other);
        if (strcmp(name, other) == 0)
            view->kernel = i;
    }
}

/* One of the same kind, as many before it as there were. */
static void carry_finding(struct view *view, const struct view *old)
{
    const struct view_findings *before = &old->findings, *now = &view->findings;
    size_t nth = 0;
    if (old->finding >= before->list_count)
        return;
    const enum view_finding_kind kind = before->list[old->finding].kind;
    for (size_t i = 0; i < old->finding; i++)
        nth += before->list[i].kind == kind;
    for (size_t i = 0; i < now->list_count; i++) {
        if (now->list[i].kind == kind && nth-- == 0) {
            view->finding = i;
            return;
        }
    }
}

static void carry_chosen(struct view *view, struct view *old)
{
    carry_kernel(view, old);
    carry_finding(view, old);
    view->buffer = same_buffer(view, old, old->buffer);
    view->content_buffer = same_buffer(view, old, old->content_buffer);
    view->content_choice = same_buffer(view, old, old->content_choice);
    view->content_of = old->content_of;
    view->content_row = old->content_row;
    view->content_type = old->content_type;
}

/* Its lines tell what was compared. */
static void carry_difference(struct view *view, struct view *old)
{
    static const char later[] = "the trace has grown since: D compares again";
    view->shadow = old->shadow;
    view->difference = old->difference;
    old->shadow = NULL;
    old->difference = (struct view_lines){0};
    if (view->difference.text && !strstr(view->difference.text, later))
        view_lines_add(&view->difference, "then", "%s", later);
}

/* What somebody just does. */
static void carry_dialogue(struct view *view, const struct view *old, int64_t by_ns)
{
    view->help = old->help;
    view->scroll = old->scroll;
    view->next_key = old->next_key;
    view->menu = old->menu;
    view->menu_row = old->menu_row;
    view->prompt = old->prompt;
    memcpy(view->typed, old->typed, sizeof view->typed);
    view->typed_at = old->typed_at;
    memcpy(view->message, old->message, sizeof view->message);
    for (size_t i = 0; i < VIEW_JOB_COUNT; i++)
        view->given_up[i] |= old->given_up[i];
    view->drag = old->drag;
    view->drag_ns = old->drag_ns + by_ns;
    view->mouse = old->mouse;
    view->quit = old->quit;
}

/* ---- All ---------------------------------------------------------------------------------- */

void view_carry_prepared(struct view *view, struct view *old)
{
    const int64_t by_ns = old->model->offset_ns - view->model->offset_ns;
    carry_window(view, old, by_ns);
    const int64_t cursor_ns = old->cursor_ns + by_ns, last_ns = view->model->last_ns - 1;
    /* time began elsewhere where nothing had happened yet */
    view->cursor_ns = cursor_ns < view->model->first_ns ? view->model->first_ns
                      : cursor_ns > last_ns             ? last_ns
                                                        : cursor_ns;
    carry_lanes(view, old, by_ns);
    carry_visited(view, old, by_ns);
    for (size_t i = 0; i < VIEW_MARKS; i++)
        view->marks[i] = moved(old->marks[i], by_ns);
    view->range = old->range;
    view->range_begin_ns = old->range_begin_ns + by_ns;
    view->range_end_ns = old->range_end_ns + by_ns;
    view->first_row = old->first_row;
    if (old->has_search)
        (void)view_search_begin(view, old->searched);
    carry_chosen(view, old);
    carry_difference(view, old);
    view->panel = old->panel;
    view->flow = old->flow;
    view->shows_path = old->shows_path;
    view->shows_counters = old->shows_counters;
    memcpy(view->hidden_columns, old->hidden_columns, sizeof view->hidden_columns);
    view->panel_full = old->panel_full;
    view->is_live = old->is_live;
    view->jobs_from = old->jobs_from;
    view->following = old->following;
    view->frames = old->frames;
    view->show_frames = old->show_frames;
    carry_dialogue(view, old, by_ns);
}

void view_carry(struct view *view, struct view *old)
{
    struct view_wishes wishes;
    view_wishes_of(old, &wishes);
    view_prepare(view, &wishes);
    view_carry_prepared(view, old);
}
