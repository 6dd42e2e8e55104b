/* SPDX-License-Identifier: Apache-2.0 */
/* The help, made from the same tables that keys are looked up in, and what letters mean. */
#include "viewer/ui/panes.h"

static void add_bindings(const struct view_pane *pane, struct view_lines *lines)
{
    if (!pane->bindings)
        return;
    view_lines_add(lines, pane->name, "%s", "");
    for (const struct view_binding *b = pane->bindings; b->shown; b++) {
        char shown[40];
        if (!b->help)
            continue;
        snprintf(shown, sizeof shown, "  %s", b->shown);
        view_lines_add(lines, shown, "%s", b->help);
    }
}

static bool has_track(const struct view *view, enum view_track_kind kind)
{
    for (uint32_t i = 0; i < view->model->tracks_count; i++) {
        if (view->model->tracks[i].kind == kind && view_track_shown(view, i))
            return true;
    }
    return false;
}

void view_legend(const struct view *view, bool all, struct view_lines *lines)
{
    const struct view_model *model = view->model;
    static const struct {
        enum view_track_kind kind;
        const char *key, *text;
    } tracks[] = {
        {VIEW_TRACK_SCOPE, "scopes", "[name] from begin to end  ▏ a short one"},
        {VIEW_TRACK_HOST, "threads",
         "r record  s submit  w wait  m map  c create  d destroy  x compile  q poll  g signal"},
        {VIEW_TRACK_QUEUE, "queues", "░ waits for a semaphore, or unknown  ▒ ready  █ running"},
        {VIEW_TRACK_COMMANDS, "~ commands",
         "order of a submission's commands; their individual times are unknown"},
        {VIEW_TRACK_BARRIERS, "~ barriers",
         "│ orders something  x orders nothing  ? depends on what kernels write"},
        {VIEW_TRACK_DISPATCHES, "dispatches",
         "when each dispatch ran; a kernel always has the same colour"},
        {VIEW_TRACK_SEMAPHORE, "semaphores", "● a value  ◆ several  ✕ failed"},
        {VIEW_TRACK_TRANSFERS, "transfers", "↑ upload  ↓ read-back  · visible to the host"},
        {VIEW_TRACK_MEMORY, "memory", "▁ to █ memory of buffers, relative to its peak  ▲ peak"},
    };
    static const char *const gaps[] = {
        "nothing was submitted", "nothing was submitted: the host wrote into buffers",
        "queued, the reason is unknown", "queued, waiting for its semaphores",
        "ready, not started yet"};
    view_lines_add(lines, "overview", "▁ to █ device utilisation over the whole trace%s",
                   all || view->window.span_ns < model->last_ns - model->first_ns
                       ? "  [ ] the visible part"
                       : "");
    for (size_t i = 0; i < sizeof tracks / sizeof *tracks; i++) {
        if (all || has_track(view, tracks[i].kind))
            view_lines_add(lines, tracks[i].key, "%s", tracks[i].text);
    }
    bool first = true;
    for (size_t c = 0; c < VIEW_GAP_COUNT; c++) {
        const struct view_class_info *info = view_class_info((enum view_class)(VIEW_GAP_HOST + c));
        if (!all && !model->summary.gaps[c].ns)
            continue;
        view_lines_add(lines, first ? "gaps" : "", "%c %s: %s", info->letter, info->name, gaps[c]);
        first = false;
    }
    if (all || model->summary.failed_submissions || model->summary.failed_calls)
        view_lines_add(lines, "!", "failed");
    view_lines_add(lines, "▁ to █",
                   "several events in a column: the share of the most frequent kind");
}

static void draw(struct view *view, struct view_area area)
{
    struct view_lines lines = {0};
    for (unsigned i = VIEW_PANEL_COUNT; i < VIEW_PART_COUNT; i++)
        add_bindings(view->parts[i], &lines);
    for (unsigned i = 0; i < VIEW_PANEL_COUNT; i++)
        add_bindings(view->parts[i], &lines);
    view_lines_add(&lines, "What tracks show", "%s", "");
    view_legend(view, true, &lines);
    view_draw_lines(view, area, &lines);
    view_lines_finish(&lines);
}

const struct view_pane view_help_pane = {.name = "Help", .draw = draw};
