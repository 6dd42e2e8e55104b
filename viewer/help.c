/* SPDX-License-Identifier: Apache-2.0 */
/* The help, made from the same tables that keys are looked up in, and what letters mean. */
#include "viewer/view.h"

static void add_bindings(const char *title, const struct view_binding *bindings,
                         struct view_lines *lines)
{
    view_lines_add(lines, title, "%s", "");
    for (; bindings->shown; bindings++) {
        char shown[40];
        if (!bindings->help)
            continue;
        snprintf(shown, sizeof shown, "  %s", bindings->shown);
        view_lines_add(lines, shown, "%s", bindings->help);
    }
}

static void add_letters(struct view_lines *lines)
{
    static const char *const gaps[] = {
        "nothing was submitted", "queued, why it did not run is not known",
        "queued, its semaphores were not there yet", "could have run, was not started yet"};
    view_lines_add(lines, "Lanes", "%s", "");
    view_lines_add(lines, "  threads", "%s",
                   "r record  s submit  w wait  m map  c create  d destroy  x compile  q poll  "
                   "g signal");
    view_lines_add(lines, "  queues", "%s",
                   "░ waits for a semaphore, or why is not known  ▒ could run  █ runs");
    view_lines_add(lines, "  ~ commands", "%s",
                   "order of a submission's commands; their single times are not known");
    view_lines_add(lines, "  semaphores", "%s", "● a value  ◆ several  ✕ failed");
    view_lines_add(lines, "  transfers", "%s", "↑ upload  ↓ read-back  · visible to the host");
    for (size_t c = 0; c < 4; c++) {
        const struct view_class_info *info = view_class_info((enum view_class)(VIEW_GAP_HOST + c));
        view_lines_add(lines, c == 0 ? "  gaps" : "", "%c %s: %s", info->letter, info->name,
                       gaps[c]);
    }
    view_lines_add(lines, "  !", "%s", "failed");
    view_lines_add(lines, "  ▁ to █", "%s",
                   "several events in a column: how much of it the most frequent kind fills");
}

static void draw(struct view *view, struct view_area area)
{
    struct view_lines lines = {0};
    add_bindings("Moving", view_move_bindings, &lines);
    add_bindings("Finding", view_find_bindings, &lines);
    add_bindings("Panels", view_common_bindings, &lines);
    for (unsigned p = 0; p < VIEW_PANEL_COUNT; p++) {
        const struct view_pane *pane = view_panel_pane((enum view_panel)p);
        if (pane->bindings)
            add_bindings(pane->name, pane->bindings, &lines);
    }
    add_letters(&lines);
    view_draw_lines(view, area, &lines);
    view_lines_finish(&lines);
}

const struct view_pane view_help_pane = {.name = "Help", .draw = draw};
