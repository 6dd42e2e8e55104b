/* SPDX-License-Identifier: Apache-2.0 */
/* Moving: the window over the trace, its history, the cursor, and from lane to lane. */
#include "viewer/panes.h"
#include "viewer/text.h"

#include <string.h>

/* ---- Time and columns --------------------------------------------------------------------- */

int64_t view_column_begin(struct view_window window, int columns, int column)
{
    const int64_t whole = window.span_ns / columns, rest = window.span_ns % columns;
    return window.begin_ns + whole * column + rest * column / columns;
}

int view_column_of(struct view_window window, int columns, int64_t ns)
{
    if (ns < window.begin_ns)
        return -1;
    if (ns - window.begin_ns >= window.span_ns)
        return columns;
    int column = (int)((double)(ns - window.begin_ns) / (double)window.span_ns * columns);
    while (column > 0 && view_column_begin(window, columns, column) > ns)
        column--;
    while (column + 1 < columns && view_column_begin(window, columns, column + 1) <= ns)
        column++;
    return column;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* ---- The window --------------------------------------------------------------------------- */

static void push(struct view_window *stack, int *count, struct view_window window)
{
    if (*count == VIEW_HISTORY) {
        memmove(stack, stack + 1, (VIEW_HISTORY - 1) * sizeof *stack);
        --*count;
    }
    stack[(*count)++] = window;
}

/* As near as possible to what is asked for: at least a nanosecond per column, inside the trace. */
static struct view_window allowed(const struct view *view, int64_t begin_ns, int64_t span_ns)
{
    const struct view_model *m = view->model;
    const int64_t whole_ns = m->last_ns - m->first_ns;
    const int64_t least_ns = view->layout.axis < whole_ns ? view->layout.axis : whole_ns;
    const int64_t span = clamp(span_ns, least_ns, whole_ns);
    return (struct view_window){.begin_ns = clamp(begin_ns, m->first_ns, m->last_ns - span),
                                .span_ns = span};
}

void view_set_window(struct view *view, int64_t begin_ns, int64_t span_ns, int key)
{
    const struct view_window window = allowed(view, begin_ns, span_ns);
    if (window.begin_ns == view->window.begin_ns && window.span_ns == view->window.span_ns)
        return;
    if (key == VIEW_KEY_NONE || key != view->moved_by) {
        push(view->past, &view->past_count, view->window);
        view->future_count = 0;
    }
    view->moved_by = key;
    view->window = window;
}

void view_reveal(struct view *view, int64_t ns, int key)
{
    const struct view_window w = view->window;
    const int64_t margin_ns = w.span_ns / 8;
    if (ns < w.begin_ns)
        view_set_window(view, ns - margin_ns, w.span_ns, key);
    else if (ns - w.begin_ns >= w.span_ns)
        view_set_window(view, ns - w.span_ns + 1 + margin_ns, w.span_ns, key);
}

static void undo(struct view *view, int key)
{
    (void)key;
    if (!view->past_count) {
        view_say(view, "no earlier view");
        return;
    }
    push(view->future, &view->future_count, view->window);
    view->window = view->past[--view->past_count];
    view->moved_by = VIEW_KEY_NONE;
}

static void redo(struct view *view, int key)
{
    (void)key;
    if (!view->future_count) {
        view_say(view, "no later view");
        return;
    }
    push(view->past, &view->past_count, view->window);
    view->window = view->future[--view->future_count];
    view->moved_by = VIEW_KEY_NONE;
}

/* The moment under the cursor stays in its column. */
static void zoom(struct view *view, int64_t span_ns, int64_t around_ns, int key)
{
    const struct view_window w = view->window;
    const struct view_window next = allowed(view, w.begin_ns, span_ns);
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

/* A moment has no length that could fill the screen: its neighbours in the lane do. */
void view_show_neighbours(struct view *view)
{
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    enum { NEIGHBOURS = 4 };
    const struct view_lane *lane = &view->model->lanes[view->lane];
    const size_t at = view->event, last = lane->events.count - 1;
    const int64_t from_ns =
        view_spans_at(&lane->events, at > NEIGHBOURS ? at - NEIGHBOURS : 0).begin_ns;
    const int64_t to_ns =
        view_spans_at(&lane->events, last - at > NEIGHBOURS ? at + NEIGHBOURS : last).end_ns;
    if (to_ns <= from_ns) {
        view_reveal(view, event->begin_ns, VIEW_KEY_NONE);
        view_say(view, "the lane has nothing else: zoom with w and s");
        return;
    }
    const int64_t margin_ns = (to_ns - from_ns) / 16;
    view_set_window(view, from_ns - margin_ns, to_ns - from_ns + 2 * margin_ns, VIEW_KEY_NONE);
}

static void fit(struct view *view, int key)
{
    (void)key;
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    if (!event) {
        view_say(view, "nothing is selected: move onto an event with [ ] or the arrows");
        return;
    }
    const int64_t length_ns = event->end_ns - event->begin_ns;
    if (!length_ns) {
        view_show_neighbours(view);
        return;
    }
    const int64_t span_ns = length_ns + length_ns / 2 + 2;
    view_set_window(view, event->begin_ns - span_ns / 6, span_ns, VIEW_KEY_NONE);
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

void view_set_cursor(struct view *view, int64_t ns)
{
    view->cursor_ns = clamp(ns, view->model->first_ns, view->model->last_ns - 1);
    view->event = VIEW_NO_REF;
    if (view->lane == VIEW_NO_LANE)
        return;
    const struct view_window w = view->window;
    const int axis = view->layout.axis, column = view_column_of(w, axis, view->cursor_ns);
    int64_t begin_ns = view->cursor_ns, end_ns = view->cursor_ns + 1;
    if (column >= 0 && column < axis) {
        begin_ns = view_column_begin(w, axis, column);
        end_ns = view_column_begin(w, axis, column + 1);
    }
    const struct view_lane *lane = &view->model->lanes[view->lane];
    view->event = view_lane_at(view->model, lane, begin_ns, end_ns);
    if (view->event == VIEW_NO_REF)
        return;
    const struct view_span event = view_spans_at(&lane->events, view->event);
    if (!view_shows(view, lane, &event))
        view->event = VIEW_NO_REF;
}

static void step(struct view *view, int columns)
{
    const struct view_window w = view->window;
    const int axis = view->layout.axis;
    const int column = view_column_of(w, axis, view->cursor_ns);
    int64_t ns = view->cursor_ns + w.span_ns / axis * columns;
    if (column >= 0 && column < axis && column + columns >= 0 && column + columns < axis)
        ns = view_column_begin(w, axis, column + columns);
    view->cursor_ns = clamp(ns, view->model->first_ns, view->model->last_ns - 1);
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

void view_go_to_row(struct view *view, int64_t row)
{
    const int64_t last = (int64_t)view_row_count(view) - 1;
    if (last < 0)
        return;
    view->lane = view_lane_of_row(view, (uint32_t)clamp(row, 0, last));
    view_set_cursor(view, view->cursor_ns);
}

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
    if (key == VIEW_KEY_ENTER && view_list_enter(view))
        return;
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

const struct view_span *view_selected(const struct view *view, struct view_span *out_span)
{
    if (view->lane == VIEW_NO_LANE || view->event == VIEW_NO_REF)
        return NULL;
    *out_span = view_spans_at(&view->model->lanes[view->lane].events, view->event);
    return out_span;
}

void view_select(struct view *view, uint32_t lane, uint32_t event)
{
    const struct view_span made = view_spans_at(&view->model->lanes[lane].events, event),
                           *span = &made;
    const uint32_t parent = view->model->lanes[lane].parent;
    if (lane != view->lane || event != view->event)
        view_remember(view);
    if (parent != VIEW_NO_LANE) {
        view->open[parent] = true;
        view->hidden[parent] = false;
    }
    view->hidden[lane] = false;
    view->lane = lane;
    view->event = event;
    view->cursor_ns = span->begin_ns;
    view_reveal(view, span->begin_ns, ']');
    if (view->panel == VIEW_PANEL_SUMMARY)
        view->panel = VIEW_PANEL_DETAILS;
    if (view->panel == VIEW_PANEL_DETAILS)
        view->scroll = 0;
}

const struct view_binding view_move_bindings[] = {
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
    {VIEW_KEY_REDO, VIEW_KEY_NONE, "", NULL, redo},
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
