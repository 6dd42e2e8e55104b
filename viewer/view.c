/* SPDX-License-Identifier: Apache-2.0 */
/* Life of the view, and which pane a key or the pointer goes to. */
#include "viewer/panes.h"

#include "hal/base/mem.h"
#include "viewer/commands.h"
#include "viewer/contents.h"
#include "viewer/counters.h"
#include "viewer/filter.h"
#include "viewer/follow.h"
#include "viewer/job.h"
#include "viewer/kernels.h"
#include "viewer/path.h"
#include "viewer/prompt.h"
#include "viewer/repeats.h"
#include "viewer/stacks.h"
#include "viewer/text.h"

const struct view_pane *view_panel_pane(enum view_panel panel)
{
    static const struct view_pane *const panes[VIEW_PANEL_COUNT] = {
        [VIEW_PANEL_SUMMARY] = &view_summary_pane,
        [VIEW_PANEL_DETAILS] = &view_details_pane,
        [VIEW_PANEL_SUBMISSIONS] = &view_submissions_pane,
        [VIEW_PANEL_GAPS] = &view_gaps_pane,
        [VIEW_PANEL_FINDINGS] = &view_findings_pane,
        [VIEW_PANEL_KERNELS] = &view_kernels_pane,
        [VIEW_PANEL_MEMORY] = &view_memory_pane,
        [VIEW_PANEL_ITERATIONS] = &view_iterations_pane,
        [VIEW_PANEL_CONTENTS] = &view_contents_pane,
        [VIEW_PANEL_DIFFERENCE] = &view_difference_pane,
    };
    return panes[panel];
}

unsigned view_panel_count(const struct view *view)
{
    return view->difference.text ? VIEW_PANEL_COUNT : VIEW_PANEL_DIFFERENCE;
}

void view_destroy(struct view *view)
{
    if (!view)
        return;
    view_jobs_finish(view);
    view_growth_destroy(view->growth);
    view_search_finish(view);
    free(view->open);
    free(view->places);
    view_shadow_close(view);
    free(view->submissions.rows);
    free(view->gaps.rows);
    free(view->buffers.rows);
    view_repeats_destroy(view->iterations);
    free(view->repeats.rows);
    if (view->path)
        view_path_finish(view->path);
    free(view->path);
    view_counters_destroy(view->counters);
    view_kernels_destroy(view->kernels);
    view_range_kernels_destroy(view->range_kernels);
    view_contents_destroy(view->contents);
    view_filter_destroy(view->filter);
    free(view->hidden);
    free(view->pinned);
    view_findings_finish(&view->findings);
    view_stacks_destroy(view->stacks);
    view_lines_finish(&view->difference);
    free(view);
}

bool view_order_init(struct view_order *order, size_t count)
{
    order->rows = hal_alloc(count, sizeof *order->rows);
    order->count = count;
    for (uint32_t i = 0; order->rows && i < count; i++)
        order->rows[i] = i;
    return order->rows != NULL;
}

/* When the first submission was made; the trace's begin when there was none. */
static int64_t first_submission(const struct view_model *m)
{
    int64_t first_ns = m->last_ns;
    for (size_t q = 0; q < TRACE_MAX_QUEUES; q++) {
        if (m->queue_lanes[q] == VIEW_NO_LANE)
            continue;
        const int64_t ns = view_spans_at(&m->lanes[m->queue_lanes[q]].events, 0).begin_ns;
        first_ns = ns < first_ns ? ns : first_ns;
    }
    return first_ns < m->last_ns ? first_ns : m->first_ns;
}

/* The whole trace; but a long start-up, kernels being compiled say, is left out and said so. */
static void choose_first_window(struct view *view)
{
    const struct view_model *m = view->model;
    const int64_t whole_ns = m->last_ns - m->first_ns, work_ns = first_submission(m);
    view->window = (struct view_window){.begin_ns = m->first_ns, .span_ns = whole_ns};
    if (work_ns - m->first_ns > whole_ns / 3) {
        const int64_t margin_ns = (m->last_ns - work_ns) / 32;
        view->window.begin_ns = work_ns - margin_ns;
        view->window.span_ns = m->last_ns - work_ns + margin_ns;
        view->skipped_ns = view->window.begin_ns;
    }
    view->cursor_ns = view->window.begin_ns;
}

enum { JOBS_FROM = 30000 }; /* so many are looked at in a frame's time */

enum hal_status view_create(const struct view_model *model, struct view **out_view)
{
    struct view *view = hal_alloc(1, sizeof *view);
    *out_view = NULL;
    if (view)
        view->open = hal_alloc(model->lanes_count, sizeof *view->open);
    if (view)
        view->hidden = hal_alloc(model->lanes_count, sizeof *view->hidden);
    if (view)
        view->pinned = hal_alloc(model->lanes_count, sizeof *view->pinned);
    if (view)
        view->places = hal_alloc(model->lanes_count, sizeof *view->places);
    if (!view || !view->open || !view->places || !view->hidden || !view->pinned ||
        !view_order_init(&view->submissions, model->submissions_count) ||
        !view_order_init(&view->gaps, model->gaps_count) ||
        !view_order_init(&view->buffers, model->buffers_count)) {
        view_destroy(view);
        return hal_fail(HAL_NO_MEMORY, "no memory for a view");
    }
    view->model = model;
    for (uint32_t i = 0; i < model->lanes_count; i++) {
        view->open[i] = model->lanes[i].starts_open;
        view->places[i] = i;
    }
    view->layout.axis = 1;
    choose_first_window(view);
    view->lane = model->lanes_count ? 0 : VIEW_NO_LANE;
    view->event = VIEW_NO_REF;
    view->finding = SIZE_MAX;
    view->kernels_by = -1;
    view->jobs_from = JOBS_FROM;
    for (size_t i = 0; i < VIEW_MARKS; i++)
        view->marks[i] = VIEW_NO_TIME;
    view->kernel = view->buffer = VIEW_NO_REF;
    view->content_buffer = view->content_of = view->content_choice = VIEW_NO_REF;
    view_buffers_sort(view);
    view->mouse = true;
    *out_view = view;
    return HAL_OK;
}

bool view_poll(struct view *view)
{
    const bool more = view_seek_step(view);
    return view_jobs_poll(view) || more;
}

void view_say(struct view *view, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(view->message, sizeof view->message, format, arguments);
    va_end(arguments);
}

/* ---- Keys --------------------------------------------------------------------------------- */

bool view_run_binding(struct view *view, const struct view_binding *bindings, int key)
{
    for (; bindings->shown; bindings++) {
        if (bindings->run && (key == bindings->key || key == bindings->alias)) {
            bindings->run(view, key);
            return true;
        }
    }
    return false;
}

/* Rows to move in the panel for a key; 0: it is none of those. */
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
    const struct view_pane *pane = view_panel_pane(view->panel);
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

/* Whether Esc closes something that lies before everything else. */
static bool is_asking(const struct view *view)
{
    return view->next_key || view->prompt || view->menu || view->help;
}

/* What runs ends, unless something is asked. */
static bool give_up(struct view *view)
{
    const bool searches = view->seek.want != NULL;
    view_seek_stop(view);
    if (searches)
        view_say(view, "the search was given up");
    return searches || (!is_asking(view) && view_jobs_give_up(view));
}

void view_key(struct view *view, int key)
{
    const struct view_pane *pane = view_panel_pane(view->panel);
    if (key == VIEW_KEY_NONE)
        return;
    view->message[0] = '\0';
    view->awaits_finding = false;
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
    else if (close_overlay(view, key) || move_in_panel(view, key))
        return;
    else if (!view_run_binding(view, view_common_bindings, key) && !view->help &&
             !(pane->bindings && view_run_binding(view, pane->bindings, key)) &&
             !view_run_binding(view, view_move_bindings, key) &&
             !view_run_binding(view, view_row_bindings, key) &&
             !view_run_binding(view, view_column_bindings, key) &&
             !view_run_binding(view, view_action_bindings, key) &&
             !view_run_binding(view, view_find_bindings, key) &&
             !view_run_binding(view, view_trail_bindings, key) &&
             !view_run_binding(view, view_copy_bindings, key) &&
             !view_run_binding(view, view_range_bindings, key) &&
             !view_run_binding(view, view_meter_bindings, key) && key != VIEW_KEY_ESCAPE)
        view_say(view, "this key does nothing: ? shows those that do");
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

static void show_panel(struct view *view, enum view_panel panel)
{
    view->panel = panel;
    view->scroll = 0;
    view->help = false;
    memset(view->given_up, 0, sizeof view->given_up);
    if (view->layout.panel.rows == 1 &&
        !view->panel_full) /* which has room for the selection only */
        view_say(view, "_ opens %s", view_panel_pane(panel)->name);
    if (panel == VIEW_PANEL_KERNELS && view_kernels_work(view) && view_kernels_hint(view))
        view_say(view, "%s", view_kernels_hint(view));
}

static void point_at_bar(struct view *view, int column)
{
    int left = 1;
    for (unsigned p = view_first_tab(view); p < view_panel_count(view);
         left += view_tab_columns(view, p++)) {
        if (column >= left && column < left + view_tab_columns(view, p))
            show_panel(view, (enum view_panel)p);
    }
}

/* On the lanes a range, on the ruler the window: the grabbed moment stays under the pointer. */
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
    if (holds(l->lanes, &inside))
        view->drag = VIEW_DRAG_RANGE;
    else if (holds(l->ruler, &inside))
        view->drag = VIEW_DRAG_WINDOW;
    view->drag_ns = view_column_begin(view->window, l->axis, column);
}

void view_point(struct view *view, struct view_pointer pointer)
{
    const struct view_layout *l = &view->layout;
    const struct view_pane *pane = view_panel_pane(view->panel);
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
            view_menu_pane.point(view, l->panel, pointer);
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
    } else if (holds(l->lanes, &pointer)) {
        view_timeline_pane.point(view, l->lanes, pointer);
    } else if (holds(l->ruler, &pointer)) {
        view_ruler_pane.point(view, l->ruler, pointer);
    } else if (holds(l->overview, &pointer)) {
        view_overview_pane.point(view, l->overview, pointer);
    }
}

/* ---- Keys that always work ---------------------------------------------------------------- */

static void panel_by_number(struct view *view, int key)
{
    show_panel(view, (enum view_panel)(key - '1'));
}

static void next_panel(struct view *view, int key)
{
    const unsigned count = view_panel_count(view), by = key == VIEW_KEY_TAB ? 1 : count - 1;
    show_panel(view, (enum view_panel)(((unsigned)view->panel + by) % count));
}

static void full_panel(struct view *view, int key)
{
    (void)key;
    view->panel_full = !view->panel_full;
}

static void help(struct view *view, int key)
{
    (void)key;
    view->help = true;
    view->scroll = 0;
}

static void start_command(struct view *view, int key)
{
    (void)key;
    view_prompt_start(view, &view_command_prompt, "");
}

static void toggle_mouse(struct view *view, int key)
{
    (void)key;
    view->mouse = !view->mouse;
    view_say(view, "mouse %s", view->mouse ? "on" : "off: the terminal selects text");
}

static void redraw(struct view *view, int key)
{
    (void)key;
    view->wants_redraw = true;
}

static void quit(struct view *view, int key)
{
    (void)key;
    view->quit = true;
}

const struct view_binding view_common_bindings[] = {
    {'1', '2', "1 to 9",
     "summary, details, submissions, gaps, findings, kernels, memory, iterations, contents",
     panel_by_number},
    {'3', '4', "", NULL, panel_by_number},
    {'5', '6', "", NULL, panel_by_number},
    {'7', '8', "", NULL, panel_by_number},
    {'9', VIEW_KEY_NONE, "", NULL, panel_by_number},
    {':', VIEW_KEY_NONE, ":", "commands by name; Tab completes", start_command},
    {VIEW_KEY_TAB, VIEW_KEY_BACK_TAB, "Tab", "next panel", next_panel},
    {'_', VIEW_KEY_NONE, "_", "panel on the whole screen, and back", full_panel},
    {'J', 'K', "J K", "move in the panel", NULL},
    {'?', VIEW_KEY_NONE, "?", "this help", help},
    {'M', VIEW_KEY_NONE, "M", "mouse on or off (wheel zooms, click selects, drag marks)",
     toggle_mouse},
    {'R', VIEW_KEY_NONE, "R", "draw everything anew", redraw},
    {'q', VIEW_KEY_NONE, "q", "close what is open, then quit", quit},
    {0, 0, NULL, NULL, NULL},
};
