/* SPDX-License-Identifier: Apache-2.0 */
/* What all parts of the view have in common: the window over the trace and its history, the cursor,
 * the selection, the panel, the message. */
#include "viewer/ui/filter.h"
#include "viewer/ui/panes.h"

#include <stdarg.h>
#include <string.h>

void view_say(struct view *view, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(view->message, sizeof view->message, format, arguments);
    va_end(arguments);
}

void view_show_panel(struct view *view, enum view_panel panel)
{
    const struct view_pane *pane = view_panel_pane(view, panel);
    view->panel = panel;
    view->scroll = 0;
    view->help = false;
    memset(view->given_up, 0, sizeof view->given_up);
    if (view->layout.panel.rows == 1 &&
        !view->panel_full) /* which has room for the selection only */
        view_say(view, "_ opens %s", pane->name);
    if (pane->open)
        pane->open(view);
}

/* ---- Time and columns ---------------------------------------------------------------------- */

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

/* ---- The window ---------------------------------------------------------------------------- */

static void push(struct view_history *history, struct view_window window)
{
    if (history->count == VIEW_HISTORY) {
        memmove(history->list, history->list + 1, (VIEW_HISTORY - 1) * sizeof window);
        history->count--;
    }
    history->list[history->count++] = window;
}

struct view_window view_allowed_window(const struct view *view, int64_t begin_ns, int64_t span_ns)
{
    const struct view_model *m = view->model;
    const int64_t whole_ns = m->last_ns - m->first_ns;
    const int64_t least_ns = view->layout.axis < whole_ns ? view->layout.axis : whole_ns;
    const int64_t span = view_clamp(span_ns, least_ns, whole_ns);
    return (struct view_window){.begin_ns = view_clamp(begin_ns, m->first_ns, m->last_ns - span),
                                .span_ns = span};
}

void view_set_window(struct view *view, int64_t begin_ns, int64_t span_ns, int key)
{
    const struct view_window window = view_allowed_window(view, begin_ns, span_ns);
    if (window.begin_ns == view->window.begin_ns && window.span_ns == view->window.span_ns)
        return;
    if (key == VIEW_KEY_NONE || key != view->moved_by) {
        push(&view->past, view->window);
        view->future.count = 0;
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

bool view_window_again(struct view *view, bool later)
{
    struct view_history *from = later ? &view->future : &view->past;
    if (!from->count)
        return false;
    push(later ? &view->past : &view->future, view->window);
    view->window = from->list[--from->count];
    view->moved_by = VIEW_KEY_NONE;
    return true;
}

/* ---- Cursor and selection ------------------------------------------------------------------ */

void view_set_cursor(struct view *view, int64_t ns)
{
    view->cursor_ns = view_clamp(ns, view->model->first_ns, view->model->last_ns - 1);
    view->event = VIEW_NO_REF;
    if (view->track == VIEW_NO_TRACK)
        return;
    const struct view_window w = view->window;
    const int axis = view->layout.axis, column = view_column_of(w, axis, view->cursor_ns);
    int64_t begin_ns = view->cursor_ns, end_ns = view->cursor_ns + 1;
    if (column >= 0 && column < axis) {
        begin_ns = view_column_begin(w, axis, column);
        end_ns = view_column_begin(w, axis, column + 1);
    }
    const struct view_track *track = &view->model->tracks[view->track];
    view->event = view_track_at(view->model, track, begin_ns, end_ns);
    if (view->event == VIEW_NO_REF)
        return;
    const struct view_span event = view_spans_at(&track->events, view->event);
    if (!view_shows(view, track, &event))
        view->event = VIEW_NO_REF;
}

bool view_shows(const struct view *view, const struct view_track *track,
                const struct view_span *event)
{
    return !view->filter || view_filter_passes(view->filter, track, event);
}

/* Keeps the selection, to come back to it. */
static void remember(struct view *view)
{
    if (!view_selected(view, &(struct view_span){0}))
        return;
    if (view->visited_count == VIEW_VISITED) {
        memmove(view->visited, view->visited + 1, (VIEW_VISITED - 1) * sizeof *view->visited);
        view->visited_count--;
    }
    view->visited[view->visited_count++] =
        (struct view_visited){.track = view->track, .event = view->event};
}

uint32_t view_selected_submission(const struct view *view)
{
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    if (!event)
        return VIEW_NO_REF;
    return view_span_submission(view->model, &view->model->tracks[view->track], event);
}

const struct view_span *view_selected(const struct view *view, struct view_span *out_span)
{
    if (view->track == VIEW_NO_TRACK || view->event == VIEW_NO_REF)
        return NULL;
    *out_span = view_spans_at(&view->model->tracks[view->track].events, view->event);
    return out_span;
}

void view_select(struct view *view, uint32_t track, uint32_t event)
{
    const struct view_span made = view_spans_at(&view->model->tracks[track].events, event),
                           *span = &made;
    const uint32_t parent = view->model->tracks[track].parent;
    if (track != view->track || event != view->event)
        remember(view);
    if (parent != VIEW_NO_TRACK) {
        view->open[parent] = true;
        view->hidden[parent] = false;
    }
    view->hidden[track] = false;
    view->track = track;
    view->event = event;
    view->cursor_ns = span->begin_ns;
    view_reveal(view, span->begin_ns, ']');
    if (view->panel == VIEW_PANEL_SUMMARY)
        view->panel = VIEW_PANEL_DETAILS;
    if (view->panel == VIEW_PANEL_DETAILS)
        view->scroll = 0;
}

/* A moment has no length that could fill the screen: its neighbours in the track do. */
void view_show_neighbours(struct view *view)
{
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    enum { NEIGHBOURS = 4 };
    const struct view_track *track = &view->model->tracks[view->track];
    const size_t at = view->event, last = track->events.count - 1;
    const int64_t from_ns =
        view_spans_at(&track->events, at > NEIGHBOURS ? at - NEIGHBOURS : 0).begin_ns;
    const int64_t to_ns =
        view_spans_at(&track->events, last - at > NEIGHBOURS ? at + NEIGHBOURS : last).end_ns;
    if (to_ns <= from_ns) {
        view_reveal(view, event->begin_ns, VIEW_KEY_NONE);
        view_say(view, "no more events on this track: zoom with w and s");
        return;
    }
    const int64_t margin_ns = (to_ns - from_ns) / 16;
    view_set_window(view, from_ns - margin_ns, to_ns - from_ns + 2 * margin_ns, VIEW_KEY_NONE);
}

void view_fit(struct view *view)
{
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
