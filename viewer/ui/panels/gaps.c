/* SPDX-License-Identifier: Apache-2.0 */
/* The fourth panel: when the device was idle, and why. */
#include "viewer/text/text.h"
#include "viewer/ui/panes.h"

static size_t count(struct view *view)
{
    return view->model->gaps_count;
}

static size_t current(struct view *view)
{
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    const bool is_gap = event && view->lane == view->model->gap_lane;
    return view_order_find(&view->gaps, is_gap ? event->ref : VIEW_NO_REF);
}

static void row(struct view *view, size_t index, char *out, size_t bytes)
{
    const struct view_gap *gap = &view->model->gaps[view->gaps.rows[index]];
    const struct view_class_info *info = view_class_info(gap->cause);
    char host[200];
    view_describe_host(view->model, gap, host, sizeof host);
    snprintf(out, bytes, "%-21s %s  %c %-10s %s", view_moment(gap->begin_ns).text,
             view_right(view_time(gap->end_ns - gap->begin_ns).text, 9).text, info->letter,
             info->name, host);
}

static void choose(struct view *view, size_t index)
{
    view_select(view, view->model->gap_lane, view->gaps.rows[index]);
}

static const struct view_column columns[] = {
    {"from", 22}, {"length", 33}, {"cause", 46}, {"meanwhile", 0}};

static const struct view_list list = {
    .header = "from                     length  cause        meanwhile",
    .columns = columns,
    .count = count,
    .current = current,
    .row = row,
    .select = choose,
};

static int64_t sort_key(const void *of, uint32_t row, int by)
{
    const struct view_model *m = of;
    const struct view_gap *gap = &m->gaps[row];
    return by ? gap->end_ns - gap->begin_ns : 0;
}

static void sort_by_key(struct view *view)
{
    view_order_sort(view, &view->gaps, sort_key, view->model);
}

static void sort(struct view *view, int key)
{
    (void)key;
    view->gaps.by = !view->gaps.by;
    view_say(view, "gaps by %s", view->gaps.by ? "length, longest first" : "time");
    sort_by_key(view);
}

static const struct view_binding bindings[] = {
    {'S', VIEW_KEY_NONE, "S", "sort by time, length", sort},
    {0, 0, NULL, NULL, NULL},
};

static void restore(struct view *view, const struct view *old)
{
    view_order_restore(view, &view->gaps, &old->gaps, sort_by_key);
}

const struct view_pane view_gaps_pane = {
    .name = "Gaps", .restore = restore, .list = &list, .bindings = bindings};
