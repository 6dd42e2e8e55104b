/* SPDX-License-Identifier: Apache-2.0 */
/* Which part of the view handles a key or the pointer. */
#include "viewer/ui/job.h"
#include "viewer/ui/prompt.h"

#include <string.h>

/* ---- Keys ---------------------------------------------------------------------------------- */

static bool run(struct view *view, const struct view_pane *pane, int key)
{
    for (const struct view_binding *b = pane->bindings; b && b->shown; b++) {
        if (key != b->key && key != b->alias)
            continue;
        if (b->run)
            b->run(view, key);
        else if (b->prompt)
            view_prompt_start(view, b->prompt, "");
        else if (b->menu)
            view_menu_open(view, b->menu);
        else
            continue;
        return true;
    }
    return false;
}

/* Rows to move in the panel for a key; 0: not such a key. */
static int panel_rows(const struct view *view, int key, bool all_keys)
{
    const int page = view->layout.panel.rows > 2 ? view->layout.panel.rows - 1 : 1;
    if (key == 'J' || (all_keys && (key == 'j' || key == VIEW_KEY_DOWN)))
        return 1;
    if (key == 'K' || (all_keys && (key == 'k' || key == VIEW_KEY_UP)))
        return -1;
    return !all_keys ? 0 : key == VIEW_KEY_PAGE_DOWN ? page : key == VIEW_KEY_PAGE_UP ? -page : 0;
}

static bool move_in_panel(struct view *view, int key)
{
    const bool over = view->help || view_panel_covers(view);
    const int rows = panel_rows(view, key, over);
    const struct view_pane *pane = view_panel_pane(view, view->panel);
    if (!rows)
        return false;
    if (view->help || !pane->list)
        view->scroll += view->scroll + rows < 0 ? -view->scroll : rows;
    else
        view_list_move(view, pane->list, rows);
    return true;
}

static bool close_overlay(struct view *view, int key)
{
    if (view->help && (key == VIEW_KEY_ESCAPE || key == 'q' || key == '?')) {
        view->help = false;
        view->scroll = 0;
        return true;
    }
    if (view_panel_covers(view) && (key == VIEW_KEY_ESCAPE || key == 'q')) {
        view->panel_full = false;
        return true;
    }
    return false;
}

/* Whether Esc closes something in the foreground. */
static bool is_asking(const struct view *view)
{
    return view->next_key || view->prompt || view->menu || view->help;
}

/* What runs ends, unless something is asked. */
static bool give_up(struct view *view)
{
    const bool searches = view_has_steps(view);
    view_seek_stop(view);
    if (searches)
        view_say(view, "the search was cancelled");
    return searches || (!is_asking(view) && view_jobs_give_up(view));
}

static bool run_any(struct view *view, int key)
{
    if (key == VIEW_KEY_ENTER && view_list_enter(view))
        return true;
    for (unsigned i = VIEW_PANEL_COUNT; i < VIEW_PART_COUNT; i++) {
        if (run(view, view->parts[i], key))
            return true;
    }
    return false;
}

void view_key(struct view *view, int key)
{
    if (key == VIEW_KEY_NONE)
        return;
    view->message[0] = '\0';
    view->keys++;
    if (key == VIEW_KEY_ESCAPE && give_up(view))
        return;
    view_seek_stop(view);
    void (*const take)(struct view *, int) = view->next_key;
    view->next_key = NULL;
    if (take)
        take(view, key);
    else if (view->prompt)
        view_prompt_key(view, key);
    else if (view->menu)
        view_menu_key(view, key);
    else if (!close_overlay(view, key) && !move_in_panel(view, key) &&
             !run(view, view->parts[VIEW_PART_COMMON], key) && !view->help &&
             !run(view, view_panel_pane(view, view->panel), key) && !run_any(view, key) &&
             key != VIEW_KEY_ESCAPE)
        view_say(view, "this key does nothing: ? shows those that do");
}

/* ---- The pointer --------------------------------------------------------------------------- */

static void point_in(struct view *view, const struct view_pane *pane, struct view_area area,
                     struct view_pointer pointer)
{
    view_key(view, pane->point(view, area, pointer));
}

static bool holds(struct view_area area, struct view_pointer *pointer)
{
    const int row = pointer->row - area.top, column = pointer->column - area.left;
    if (row < 0 || column < 0 || row >= area.rows || column >= area.columns)
        return false;
    pointer->row = row;
    pointer->column = column;
    return true;
}

static void point_at_bar(struct view *view, int column)
{
    int left = 1;
    for (unsigned p = view_first_tab(view); p < view_panel_count(view);
         left += view_tab_columns(view, p++)) {
        if (column >= left && column < left + view_tab_columns(view, p))
            view_show_panel(view, (enum view_panel)p);
    }
}

/* On the tracks a range, on the ruler the window: the grabbed moment stays under the pointer. */
static void drag(struct view *view, int column)
{
    const struct view_window w = view->window;
    const int axis = view->layout.axis;
    column -= view->layout.gutter;
    column = column < 0 ? 0 : column >= axis ? axis - 1 : column;
    const int64_t ns = view_column_begin(w, axis, column);
    if (view->drag == VIEW_DRAG_WINDOW) {
        view_set_window(view, w.begin_ns + view->drag_ns - ns, w.span_ns, 'a');
    } else if (view->drag == VIEW_DRAG_RANGE && ns != view->drag_ns) {
        view->range = VIEW_RANGE_SET;
        view->range_begin_ns = view->drag_ns;
        view->range_end_ns = ns;
        memset(view->given_up, 0, sizeof view->given_up);
        view->panel = VIEW_PANEL_DETAILS;
        view->scroll = 0;
    }
}

static void begin_drag(struct view *view, struct view_pointer pointer)
{
    const struct view_layout *l = &view->layout;
    const int column = pointer.column - l->gutter;
    struct view_pointer inside = pointer;
    view->drag = VIEW_DRAG_NONE;
    if (pointer.kind != VIEW_POINTER_CLICK || column < 0 || column >= l->axis)
        return;
    if (holds(l->tracks, &inside))
        view->drag = VIEW_DRAG_RANGE;
    else if (holds(l->ruler, &inside))
        view->drag = VIEW_DRAG_WINDOW;
    view->drag_ns = view_column_begin(view->window, l->axis, column);
}

void view_point(struct view *view, struct view_pointer pointer)
{
    const struct view_layout *l = &view->layout;
    const struct view_pane *pane = view_panel_pane(view, view->panel);
    if (pointer.kind == VIEW_POINTER_DRAG) {
        drag(view, pointer.column);
        return;
    }
    begin_drag(view, pointer);
    view_seek_stop(view);
    view->message[0] = '\0';
    view->next_key = NULL;
    if (view->help || view->prompt) {
        if (pointer.kind == VIEW_POINTER_IN || pointer.kind == VIEW_POINTER_OUT)
            move_in_panel(view, pointer.kind == VIEW_POINTER_IN ? 'K' : 'J');
        return;
    }
    if (view->menu) {
        if (holds(l->panel, &pointer))
            point_in(view, &view_menu_pane, l->panel, pointer);
        else if (pointer.kind == VIEW_POINTER_CLICK)
            view->menu = NULL;
        return;
    }
    if (pointer.kind == VIEW_POINTER_LEFT || pointer.kind == VIEW_POINTER_RIGHT) {
        view_key(view, pointer.kind == VIEW_POINTER_LEFT ? 'a' : 'd');
    } else if (holds(l->bar, &pointer)) {
        point_at_bar(view, pointer.column);
    } else if (holds(l->panel, &pointer)) {
        if (pane->list && !pane->draw)
            view_list_point(view, pane->list, l->panel, pointer);
        else if (pointer.kind == VIEW_POINTER_IN || pointer.kind == VIEW_POINTER_OUT)
            move_in_panel(view, pointer.kind == VIEW_POINTER_IN ? 'K' : 'J');
    } else if (holds(l->tracks, &pointer)) {
        point_in(view, &view_timeline_pane, l->tracks, pointer);
    } else if (holds(l->ruler, &pointer)) {
        point_in(view, &view_ruler_pane, l->ruler, pointer);
    } else if (holds(l->overview, &pointer)) {
        point_in(view, &view_overview_pane, l->overview, pointer);
    }
}
