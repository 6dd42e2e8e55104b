/* SPDX-License-Identifier: Apache-2.0 */
/* The second panel: everything about the selected event. */
#include "viewer/describe/stacks.h"
#include "viewer/ui/counters.h"
#include "viewer/ui/panes.h"

#include <string.h>

/* One line of a text of key\tvalue lines; returns the next one. */
static const char *add_line(struct view_lines *lines, const char *at)
{
    char key[64], value[1024];
    const char *tab = strchr(at, '\t'), *end = strchr(at, '\n');
    snprintf(key, sizeof key, "%.*s", (int)(tab - at), at);
    snprintf(value, sizeof value, "%.*s", (int)(end - tab - 1), tab + 1);
    view_lines_add(lines, key, "%s", value);
    return end + 1;
}

/* What the event is comes first, then what it means for the whole, then the rest. */
static void join(struct view_lines *out, const struct view_lines *facts,
                 const struct view_lines *meaning)
{
    const char *at = facts->text, *more = meaning->text;
    if (at && *at)
        at = add_line(out, at);
    while (more && *more)
        more = add_line(out, more);
    while (at && *at)
        at = add_line(out, at);
}

static void draw(struct view *view, struct view_area area)
{
    struct view_lines lines = {0}, facts = {0}, path = {0};
    struct view_span selected;
    const struct view_span *event = view_selected(view, &selected);
    view_describe_range(view, &lines);
    if (event) {
        if (!view->stacks && view_stacks_create(view->model, &view->stacks) != HAL_OK)
            view_say(view, "%s", hal_message());
        facts.stacks = view->stacks;
        view_describe(view->model, &view->model->lanes[view->lane], event, &facts);
        view_describe_path(view, &path);
        join(&lines, &facts, &path);
        view_lines_finish(&facts);
        view_lines_finish(&path);
    } else if (view->range == VIEW_RANGE_NONE) {
        view_lines_add(&lines, "", "nothing is selected here");
        view_lines_add(&lines, "[ ]", "previous and next event of this lane");
        view_lines_add(&lines, "{ }", "previous and next gap of the device");
        view_lines_add(&lines, "( )", "previous and next host synchronisation");
    }
    view_describe_counters(view, &lines);
    view_draw_lines(view, area, &lines);
    view_lines_finish(&lines);
}

const struct view_pane view_details_pane = {.name = "Details", .draw = draw};
