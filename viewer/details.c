/* SPDX-License-Identifier: Apache-2.0 */
/* The second panel: everything about the selected event. */
#include "viewer/view.h"

static void draw(struct view *view, struct view_area area)
{
    struct view_lines lines = {0};
    const struct view_span *event = view_selected(view);
    view_describe_range(view, &lines);
    if (event) {
        view_describe(view->model, &view->model->lanes[view->lane], event, &lines);
    } else if (view->range == VIEW_RANGE_NONE) {
        view_lines_add(&lines, "", "nothing is selected here");
        view_lines_add(&lines, "[ ]", "previous and next event of this lane");
        view_lines_add(&lines, "{ }", "previous and next gap of the device");
        view_lines_add(&lines, "( )", "previous and next host synchronisation");
    }
    view_draw_lines(view, area, &lines);
    view_lines_finish(&lines);
}

const struct view_pane view_details_pane = {.name = "Details", .draw = draw};
