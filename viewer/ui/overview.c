/* SPDX-License-Identifier: Apache-2.0 */
/* The whole trace in one row: how busy the device was, and which part of it the tracks show. */
#include "viewer/ui/panes.h"

static struct view_window whole(const struct view *view)
{
    return (struct view_window){.begin_ns = view->model->first_ns,
                                .span_ns = view->model->last_ns - view->model->first_ns};
}

/* Of the device; for a trace without device times, of the first track. */
static const struct view_track *shown_track(const struct view_model *m)
{
    if (m->device_track != VIEW_NO_TRACK)
        return &m->tracks[m->device_track];
    return m->tracks_count ? &m->tracks[0] : NULL;
}

static void draw_density(struct view *view, struct view_area axis)
{
    const struct view_track *track = shown_track(view->model);
    const struct view_window w = whole(view);
    struct view_measure measure;
    for (int column = 0; track && column < axis.columns; column++) {
        const int64_t begin_ns = view_column_begin(w, axis.columns, column);
        const int64_t end_ns = view_column_begin(w, axis.columns, column + 1);
        view_series_measure(&track->series, begin_ns, end_ns, &measure);
        if (measure.first >= measure.last)
            continue;
        const double share = (double)view_measure_busy(&measure) /
                             (double)(end_ns > begin_ns ? end_ns - begin_ns : 1);
        view_put(axis, 0, column, 0x2581u + (uint32_t)(share >= 1 ? 7 : share * 8),
                 VIEW_STYLE_EXECUTE);
    }
}

static void draw(struct view *view, struct view_area area)
{
    const int gutter = view->layout.gutter;
    const struct view_area axis = view_area_part(area, 0, gutter, 1, area.columns - gutter);
    const struct view_window w = whole(view), shown = view->window;
    view_write_cut(area, 0, 1, gutter - 2, VIEW_STYLE_DIM, "overview");
    draw_density(view, axis);
    const int from = view_column_of(w, axis.columns, shown.begin_ns);
    int to = view_column_of(w, axis.columns, shown.begin_ns + shown.span_ns - 1);
    to = to < axis.columns ? to : axis.columns - 1;
    if (shown.span_ns >= w.span_ns)
        return;
    const bool narrow = to - from < 2; /* within it, brackets would hide what is there */
    if (narrow)
        view_highlight(axis, 0, from, to - from + 1, VIEW_STYLE_TITLE | VIEW_REVERSE);
    view_put(axis, 0, from - narrow, '[', VIEW_STYLE_TITLE | VIEW_BOLD);
    view_put(axis, 0, to + narrow, ']', VIEW_STYLE_TITLE | VIEW_BOLD);
}

static int point(struct view *view, struct view_area area, struct view_pointer pointer)
{
    const int axis = area.columns - view->layout.gutter;
    const int column = pointer.column - view->layout.gutter;
    if (column < 0 || axis < 1)
        return VIEW_KEY_NONE;
    const int64_t ns = view_column_begin(whole(view), axis, column);
    view_set_window(view, ns - view->window.span_ns / 2, view->window.span_ns, VIEW_KEY_NONE);
    view_set_cursor(view, ns);
    return VIEW_KEY_NONE;
}

const struct view_pane view_overview_pane = {.name = "Overview", .draw = draw, .point = point};
