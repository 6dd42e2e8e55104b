/* SPDX-License-Identifier: Apache-2.0 */
/* Moving: the window over the trace, its history, the cursor, and from lane to lane. */
#include "viewer/ui/panes.h"

static void undo(struct view *view, int key)
{
    const bool later = key == VIEW_KEY_REDO;
    if (!view_window_again(view, later))
        view_say(view, "no %s view", later ? "later" : "earlier");
}

/* The moment under the cursor stays in its column. */
static void zoom(struct view *view, int64_t span_ns, int64_t around_ns, int key)
{
    const struct view_window w = view->window;
    const struct view_window next = view_allowed_window(view, w.begin_ns, span_ns);
    const double share = (double)(around_ns - w.begin_ns) / (double)w.span_ns;
    view_set_window(view, around_ns - (int64_t)(share * (double)next.span_ns), next.span_ns, key);
}

static int64_t zoom_center(struct view *view)
{
    view_reveal(view, view->cursor_ns, VIEW_KEY_NONE);
    return view->cursor_ns;
}

static void zoom_in(struct view *view, int key)
{
    (void)key;
    const int64_t center_ns = zoom_center(view);
    zoom(view, view->window.span_ns / 2, center_ns, 'w');
}

static void zoom_out(struct view *view, int key)
{
    (void)key;
    const int64_t center_ns = zoom_center(view);
    zoom(view, view->window.span_ns * 2, center_ns, 's');
}

static void show_all(struct view *view, int key)
{
    (void)key;
    view_set_window(view, view->model->first_ns, view->model->last_ns - view->model->first_ns,
                    VIEW_KEY_NONE);
}

static void fit(struct view *view, int key)
{
    (void)key;
    view_fit(view);
}

static void pan(struct view *view, int64_t by_ns, int key)
{
    const int64_t before_ns = view->window.begin_ns;
    view_set_window(view, before_ns + by_ns, view->window.span_ns, key);
    const int64_t moved_ns = view->window.begin_ns - before_ns;
    view_set_cursor(view, view->cursor_ns + (moved_ns ? moved_ns : by_ns));
}

static void pan_left(struct view *view, int key)
{
    (void)key;
    pan(view, -view->window.span_ns / 8, 'a');
}

static void pan_right(struct view *view, int key)
{
    (void)key;
    pan(view, view->window.span_ns / 8, 'a');
}

static void screen_left(struct view *view, int key)
{
    (void)key;
    pan(view, -view->window.span_ns, 'a');
}

static void screen_right(struct view *view, int key)
{
    (void)key;
    pan(view, view->window.span_ns, 'a');
}

/* ---- The cursor --------------------------------------------------------------------------- */

static void step(struct view *view, int columns)
{
    const struct view_window w = view->window;
    const int axis = view->layout.axis;
    const int column = view_column_of(w, axis, view->cursor_ns);
    int64_t ns = view->cursor_ns + w.span_ns / axis * columns;
    if (column >= 0 && column < axis && column + columns >= 0 && column + columns < axis)
        ns = view_column_begin(w, axis, column + columns);
    view->cursor_ns = view_clamp(ns, view->model->first_ns, view->model->last_ns - 1);
    view_reveal(view, view->cursor_ns, 'a');
    view_set_cursor(view, view->cursor_ns);
}

static void step_left(struct view *view, int key)
{
    (void)key;
    step(view, -1);
}

static void step_right(struct view *view, int key)
{
    (void)key;
    step(view, 1);
}

/* ---- Lanes -------------------------------------------------------------------------------- */

static void lane_by(struct view *view, int64_t rows)
{
    if (view->lane != VIEW_NO_LANE)
        view_go_to_row(view, (int64_t)view_row_of(view, view->lane) + rows);
}

static void lane_down(struct view *view, int key)
{
    (void)key;
    lane_by(view, 1);
}

static void lane_up(struct view *view, int key)
{
    (void)key;
    lane_by(view, -1);
}

static void page_down(struct view *view, int key)
{
    (void)key;
    lane_by(view, view->layout.lanes.rows);
}

static void page_up(struct view *view, int key)
{
    (void)key;
    lane_by(view, -view->layout.lanes.rows);
}

static void first_moment(struct view *view, int key)
{
    (void)key;
    view->cursor_ns = view->model->first_ns;
    view_reveal(view, view->cursor_ns, VIEW_KEY_NONE);
    view_set_cursor(view, view->cursor_ns);
}

static void last_moment(struct view *view, int key)
{
    (void)key;
    view->cursor_ns = view->model->last_ns - 1;
    view_reveal(view, view->cursor_ns, VIEW_KEY_NONE);
    view_set_cursor(view, view->cursor_ns);
}

static void expand(struct view *view, int key)
{
    (void)key;
    if (view->lane == VIEW_NO_LANE)
        return;
    const struct view_lane *lane = &view->model->lanes[view->lane];
    const uint32_t parent = lane->has_children ? view->lane : lane->parent;
    if (parent == VIEW_NO_LANE) {
        view_say(view, "this lane has nothing to open");
        return;
    }
    view->open[parent] = !view->open[parent];
    if (!view->open[parent] && view->lane != parent) {
        view->lane = parent;
        view_set_cursor(view, view->cursor_ns);
    }
}

static const struct view_binding bindings[] = {
    {'h', VIEW_KEY_LEFT, "h l  Left Right", "cursor one column", step_left},
    {'l', VIEW_KEY_RIGHT, "", NULL, step_right},
    {'H', VIEW_KEY_NONE, "H L", "one screen", screen_left},
    {'L', VIEW_KEY_NONE, "", NULL, screen_right},
    {'a', VIEW_KEY_NONE, "a d", "pan", pan_left},
    {'d', VIEW_KEY_NONE, "", NULL, pan_right},
    {'w', '+', "w s  + -", "zoom in and out at the cursor", zoom_in},
    {'=', VIEW_KEY_NONE, "", NULL, zoom_in},
    {'s', '-', "", NULL, zoom_out},
    {'0', VIEW_KEY_NONE, "0", "whole trace", show_all},
    {'f', VIEW_KEY_NONE, "f", "fit the selected event; a moment with its neighbours", fit},
    {'u', VIEW_KEY_BACKSPACE, "u  Ctrl-r", "view before, view after", undo},
    {VIEW_KEY_REDO, VIEW_KEY_NONE, "", NULL, undo},
    {VIEW_KEY_HOME, VIEW_KEY_NONE, "Home End", "first and last moment", first_moment},
    {VIEW_KEY_END, VIEW_KEY_NONE, "", NULL, last_moment},
    {'j', VIEW_KEY_DOWN, "j k  Down Up", "lane", lane_down},
    {'k', VIEW_KEY_UP, "", NULL, lane_up},
    {VIEW_KEY_PAGE_DOWN, VIEW_KEY_NONE, "PgDn PgUp", "lanes by screen", page_down},
    {VIEW_KEY_PAGE_UP, VIEW_KEY_NONE, "", NULL, page_up},
    {VIEW_KEY_ENTER, ' ', "Enter Space", "open or close a lane; Enter in a list: go to its event",
     expand},
    {0, 0, NULL, NULL, NULL},
};

const struct view_pane view_moves_part = {.name = "Moving", .bindings = bindings};
