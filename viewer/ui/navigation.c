/* SPDX-License-Identifier: Apache-2.0 */
/* Moving: the window over the trace, its history, the cursor, and from track to track. */
#include "viewer/ui/panes.h"

static void undo(struct view *view, int key)
{
    const bool later = key == VIEW_KEY_REDO;
    if (!view_window_again(view, later))
        view_say(view, "no %s view", later ? "later" : "earlier");
}

/* The moment of the cursor stays in its column. */
static void zoom(struct view *view, int key)
{
    const bool out = key == 's' || key == '-';
    view_reveal(view, view->cursor_ns, VIEW_KEY_NONE);
    const struct view_window w = view->window;
    const struct view_window next =
        view_allowed_window(view, w.begin_ns, out ? w.span_ns * 2 : w.span_ns / 2);
    const double share = (double)(view->cursor_ns - w.begin_ns) / (double)w.span_ns;
    view_set_window(view, view->cursor_ns - (int64_t)(share * (double)next.span_ns), next.span_ns,
                    out ? 's' : 'w');
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

static void pan(struct view *view, int key)
{
    const struct view_window w = view->window;
    const int64_t length_ns = key == 'H' || key == 'L' ? w.span_ns : w.span_ns / 8;
    const int64_t by_ns = key == 'H' || key == 'a' ? -length_ns : length_ns;
    view_set_window(view, w.begin_ns + by_ns, w.span_ns, 'a');
    const int64_t moved_ns = view->window.begin_ns - w.begin_ns;
    view_set_cursor(view, view->cursor_ns + (moved_ns ? moved_ns : by_ns));
}

/* ---- The cursor --------------------------------------------------------------------------- */

static void go_to(struct view *view, int64_t ns, int key)
{
    view->cursor_ns = view_clamp(ns, view->model->first_ns, view->model->last_ns - 1);
    view_reveal(view, view->cursor_ns, key);
    view_set_cursor(view, view->cursor_ns);
}

static void step(struct view *view, int key)
{
    const struct view_window w = view->window;
    const int axis = view->layout.axis, by = key == 'h' || key == VIEW_KEY_LEFT ? -1 : 1;
    const int column = view_column_of(w, axis, view->cursor_ns);
    int64_t ns = view->cursor_ns + w.span_ns / axis * by;
    if (column >= 0 && column < axis && column + by >= 0 && column + by < axis)
        ns = view_column_begin(w, axis, column + by);
    go_to(view, ns, 'a');
}

static void first_or_last(struct view *view, int key)
{
    const bool first = key == VIEW_KEY_HOME;
    go_to(view, first ? view->model->first_ns : view->model->last_ns - 1, VIEW_KEY_NONE);
}

/* ---- Tracks -------------------------------------------------------------------------------- */

static void track_by(struct view *view, int key)
{
    const bool page = key == VIEW_KEY_PAGE_UP || key == VIEW_KEY_PAGE_DOWN;
    const bool up = key == 'k' || key == VIEW_KEY_UP || key == VIEW_KEY_PAGE_UP;
    const int64_t rows = page ? view->layout.tracks.rows : 1;
    if (view->track != VIEW_NO_TRACK)
        view_go_to_row(view, (int64_t)view_row_of(view, view->track) + (up ? -rows : rows));
}

static void expand(struct view *view, int key)
{
    (void)key;
    if (view->track == VIEW_NO_TRACK)
        return;
    const struct view_track *track = &view->model->tracks[view->track];
    const uint32_t parent = track->has_children ? view->track : track->parent;
    if (parent == VIEW_NO_TRACK) {
        view_say(view, "this track has nothing to open");
        return;
    }
    view->open[parent] = !view->open[parent];
    if (!view->open[parent] && view->track != parent) {
        view->track = parent;
        view_set_cursor(view, view->cursor_ns);
    }
}

static const struct view_binding bindings[] = {
    {'h', VIEW_KEY_LEFT, "h l  Left Right", "cursor one column", step},
    {'l', VIEW_KEY_RIGHT, "", NULL, step},
    {'H', VIEW_KEY_NONE, "H L", "one screen", pan},
    {'L', VIEW_KEY_NONE, "", NULL, pan},
    {'a', VIEW_KEY_NONE, "a d", "pan", pan},
    {'d', VIEW_KEY_NONE, "", NULL, pan},
    {'w', '+', "w s  + -", "zoom in and out at the cursor", zoom},
    {'=', VIEW_KEY_NONE, "", NULL, zoom},
    {'s', '-', "", NULL, zoom},
    {'0', VIEW_KEY_NONE, "0", "whole trace", show_all},
    {'f', VIEW_KEY_NONE, "f", "fit the selected event; a moment with its neighbours", fit},
    {'u', VIEW_KEY_BACKSPACE, "u  Ctrl-r", "previous view, next view", undo},
    {VIEW_KEY_REDO, VIEW_KEY_NONE, "", NULL, undo},
    {VIEW_KEY_HOME, VIEW_KEY_NONE, "Home End", "first and last moment", first_or_last},
    {VIEW_KEY_END, VIEW_KEY_NONE, "", NULL, first_or_last},
    {'j', VIEW_KEY_DOWN, "j k  Down Up", "track", track_by},
    {'k', VIEW_KEY_UP, "", NULL, track_by},
    {VIEW_KEY_PAGE_DOWN, VIEW_KEY_NONE, "PgDn PgUp", "tracks by screen", track_by},
    {VIEW_KEY_PAGE_UP, VIEW_KEY_NONE, "", NULL, track_by},
    {VIEW_KEY_ENTER, ' ', "Enter Space", "open or close a track; Enter in a list: go to its event",
     expand},
    {0, 0, NULL, NULL, NULL},
};

const struct view_pane view_navigation_part = {.name = "Moving", .bindings = bindings};
