/* SPDX-License-Identifier: Apache-2.0 */
/* The fourth panel: when the device was idle, and why. */
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"

/* The panel's state. */
static struct view_order *order_of(const struct view *view)
{
    return view_state(view, VIEW_PANEL_GAPS);
}

static size_t count(struct view *view)
{
    return view->model->gaps_count;
}

static size_t current(struct view *view)
{
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    const bool is_gap = event && view->track == view->model->gap_track;
    return view_order_find(order_of(view), is_gap ? event->ref : VIEW_NO_REF);
}

static void row(struct view *view, size_t index, char *out, size_t bytes)
{
    const struct view_gap *gap = &view->model->gaps[view_order_row(order_of(view), index)];
    const struct view_class_info *info = view_class_info(gap->cause);
    char host[200];
    view_describe_host(view->model, gap, host, sizeof host);
    snprintf(out, bytes, "%s %s  %c %-10s %s",
             view_right(hal_moment_text(gap->begin_ns).text, 16).text,
             view_right(hal_duration_text(gap->end_ns - gap->begin_ns).text, 10).text, info->letter,
             info->name, host);
}

static void choose(struct view *view, size_t index)
{
    view_select(view, view->model->gap_track, view_order_row(order_of(view), index));
}

static const struct view_column columns[] = {
    {"from", 17}, {"length", 29}, {"cause", 42}, {"meanwhile", 0}};

static const struct view_list list = {
    .header = "            from     length  cause        meanwhile",
    .columns = columns,
    .count = count,
    .current = current,
    .row = row,
    .select = choose,
    .order = order_of,
};

static int64_t sort_key(const void *of, uint32_t row, int by)
{
    const struct view_model *m = of;
    const struct view_gap *gap = &m->gaps[row];
    return by ? gap->end_ns - gap->begin_ns : 0;
}

static void init(struct view *view)
{
    static const char *const names[] = {"time", "length, longest first"};
    static const struct view_ordering ordering = {VIEW_JOB_SORT_GAPS, "gaps", names, 2, sort_key};
    *order_of(view) = (struct view_order){
        .ordering = &ordering, .of = view->model, .count = view->model->gaps_count};
}

static const struct view_binding bindings[] = {
    {'S', VIEW_KEY_NONE, "S", "sort by time, length", view_list_sort},
    {0, 0, NULL, NULL, NULL},
};

const struct view_pane view_gaps_pane = {.name = "Gaps",
                                         .state_bytes = sizeof(struct view_order),
                                         .init = init,
                                         .list = &list,
                                         .bindings = bindings};
