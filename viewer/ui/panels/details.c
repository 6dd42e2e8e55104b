/* SPDX-License-Identifier: Apache-2.0 */
/* The second panel: everything about the selected event. */
#include "viewer/describe/stacks.h"
#include "viewer/ui/counters.h"
#include "viewer/ui/panes.h"

#include <string.h>

/* The panel's state: names of functions; NULL: not asked for yet. */
static struct view_stacks **stacks_of(const struct view *view)
{
    return view_state(view, VIEW_PANEL_DETAILS);
}

/* What the event is comes first, then what it means for the whole, then the rest. */
static void join(struct view_lines *out, const struct view_lines *facts,
                 const struct view_lines *meaning)
{
    const char *end = facts->text ? strchr(facts->text, '\n') : NULL;
    const size_t first = end ? (size_t)(end - facts->text) + 1 : 0;
    view_lines_add_text(out, facts->text, first);
    view_lines_add_text(out, meaning->text, meaning->length);
    view_lines_add_text(out, facts->text + first, facts->length - first);
}

static void draw(struct view *view, struct view_area area)
{
    struct view_lines lines = {0}, facts = {0}, path = {0};
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    view_describe_range(view, &lines);
    if (event) {
        struct view_stacks **stacks = stacks_of(view);
        if (!*stacks && view_stacks_create(view->model, stacks) != HAL_OK)
            view_say(view, "%s", hal_message());
        facts.stacks = *stacks;
        view_describe(view->model, &view->model->tracks[view->track], event, &facts);
        view_describe_path(view, &path);
        join(&lines, &facts, &path);
        view_lines_finish(&facts);
        view_lines_finish(&path);
    } else if (view->range == VIEW_RANGE_NONE) {
        view_lines_add(&lines, "", "nothing is selected here");
        view_lines_add(&lines, "[ ]", "previous and next event of this track");
        view_lines_add(&lines, "{ }", "previous and next gap of the device");
        view_lines_add(&lines, "( )", "previous and next host synchronisation");
    }
    view_describe_counters(view, &lines);
    view_draw_lines(view, area, &lines);
    view_lines_finish(&lines);
}

static void finish(struct view *view)
{
    view_stacks_destroy(*stacks_of(view));
}

const struct view_pane view_details_pane = {
    .name = "Details", .state_bytes = sizeof(struct view_stacks *), .finish = finish, .draw = draw};
