/* SPDX-License-Identifier: Apache-2.0 */
/* Life of the view: the parts that it has. */
#include "viewer/ui/panes.h"

#include "hal/base/mem.h"
#include "viewer/describe/stacks.h"
#include "viewer/model/path.h"
#include "viewer/text/text.h"
#include "viewer/ui/commands.h"
#include "viewer/ui/counters.h"
#include "viewer/ui/filter.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panels/contents.h"
#include "viewer/ui/panels/iteration_panel.h"
#include "viewer/ui/panels/kernels.h"
#include "viewer/ui/prompt.h"

/* ---- Keys that always work ----------------------------------------------------------------- */

static void panel_by_number(struct view *view, int key)
{
    view_show_panel(view, (enum view_panel)(key - '1'));
}

static void next_panel(struct view *view, int key)
{
    const unsigned count = view_panel_count(view), by = key == VIEW_KEY_TAB ? 1 : count - 1;
    view_show_panel(view, (enum view_panel)(((unsigned)view->panel + by) % count));
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

static const struct view_binding bindings[] = {
    {'1', '2', "1 to 9",
     "summary, details, submissions, gaps, findings, kernels, memory, iterations, contents",
     panel_by_number},
    {'3', '4', "", NULL, panel_by_number},
    {'5', '6', "", NULL, panel_by_number},
    {'7', '8', "", NULL, panel_by_number},
    {'9', VIEW_KEY_NONE, "", NULL, panel_by_number},
    {':', VIEW_KEY_NONE, ":", "commands by name; Tab completes", .prompt = &view_command_prompt},
    {VIEW_KEY_TAB, VIEW_KEY_BACK_TAB, "Tab", "next panel", next_panel},
    {'_', VIEW_KEY_NONE, "_", "panel on the whole screen, and back", full_panel},
    {'J', 'K', "J K", "move in the panel", NULL},
    {'?', VIEW_KEY_NONE, "?", "this help", help},
    {'M', VIEW_KEY_NONE, "M", "mouse on or off (wheel zooms, click selects, drag marks)",
     toggle_mouse},
    {'R', VIEW_KEY_NONE, "R", "redraw everything", redraw},
    {'q', VIEW_KEY_NONE, "q", "close what is open, then quit", quit},
    {0, 0, NULL, NULL, NULL},
};

static const struct view_pane common = {.name = "Panels", .bindings = bindings};

/* ---- Life ---------------------------------------------------------------------------------- */

static const struct view_pane *const parts[VIEW_PART_COUNT] = {
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
    [VIEW_PART_MOVES] = &view_navigation_part,
    [VIEW_PART_ROWS] = &view_rows_part,
    [VIEW_PART_FIND] = &view_find_part,
    [VIEW_PART_PROMPT] = &view_prompt_part,
    [VIEW_PART_HISTORY] = &view_history_part,
    [VIEW_PART_COPIES] = &view_copies_part,
    [VIEW_PART_ACTIONS] = &view_actions_part,
    [VIEW_PART_RANGE] = &view_range_part,
    [VIEW_PART_METERS] = &view_meters_part,
    [VIEW_PART_COMMON] = &common,
    [VIEW_PART_COLUMNS] = &view_columns_part,
    [VIEW_PART_SEEK] = &view_seek_part,
};

void view_destroy(struct view *view)
{
    if (!view)
        return;
    view_jobs_finish(view);
    for (unsigned i = 0; view->states && i < VIEW_PART_COUNT; i++) {
        if (view->states[i] && view_pane_order(view, parts[i]))
            free(view_pane_order(view, parts[i])->rows);
        if (view->states[i] && parts[i]->finish)
            parts[i]->finish(view);
        free(view->states[i]);
    }
    free(view->states);
    free(view->open);
    free(view->places);
    view_filter_destroy(view->filter);
    free(view->hidden);
    free(view->pinned);
    free(view);
}

/* When the first submission was made; the trace's begin when there was none. */
static int64_t first_submission(const struct view_model *m)
{
    int64_t first_ns = m->last_ns;
    for (size_t q = 0; q < TRACE_MAX_QUEUES; q++) {
        if (m->queue_tracks[q] == VIEW_NO_TRACK)
            continue;
        const int64_t ns = view_spans_at(&m->tracks[m->queue_tracks[q]].events, 0).begin_ns;
        first_ns = ns < first_ns ? ns : first_ns;
    }
    return first_ns < m->last_ns ? first_ns : m->first_ns;
}

/* The whole trace; but a long start-up, such as compiling kernels, is excluded, with a note. */
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

enum { JOBS_FROM = 30000 }; /* number examined in a frame's time */

static bool make_states(struct view *view)
{
    bool made = (view->states = hal_alloc(VIEW_PART_COUNT, sizeof *view->states)) != NULL;
    for (unsigned i = 0; made && i < VIEW_PART_COUNT; i++) {
        if (parts[i]->state_bytes)
            made = (view->states[i] = hal_alloc(1, parts[i]->state_bytes)) != NULL;
    }
    return made;
}

enum hal_status view_create(const struct view_model *model, struct view **out_view)
{
    struct view *view = hal_alloc(1, sizeof *view);
    *out_view = NULL;
    if (!view)
        return hal_fail(HAL_NO_MEMORY, "no memory for a view");
    view->model = model;
    view->parts = parts;
    view->open = hal_alloc(model->tracks_count, sizeof *view->open);
    view->hidden = hal_alloc(model->tracks_count, sizeof *view->hidden);
    view->pinned = hal_alloc(model->tracks_count, sizeof *view->pinned);
    view->places = hal_alloc(model->tracks_count, sizeof *view->places);
    if (!make_states(view) || !view->open || !view->places || !view->hidden || !view->pinned) {
        view_destroy(view);
        return hal_fail(HAL_NO_MEMORY, "no memory for a view");
    }
    for (uint32_t i = 0; i < model->tracks_count; i++) {
        view->open[i] = model->tracks[i].starts_open;
        view->places[i] = i;
    }
    view->layout.axis = 1;
    view->track_height = 1;
    choose_first_window(view);
    view->track = model->tracks_count ? 0 : VIEW_NO_TRACK;
    view->event = VIEW_NO_REF;
    view->jobs_from = JOBS_FROM;
    view->mouse = true;
    for (unsigned i = 0; i < VIEW_PART_COUNT; i++) {
        if (parts[i]->init)
            parts[i]->init(view);
    }
    *out_view = view;
    return HAL_OK;
}

bool view_poll(struct view *view)
{
    const bool more = view_seek_step(view);
    return view_jobs_poll(view) || more;
}
