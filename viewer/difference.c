/* SPDX-License-Identifier: Apache-2.0 */
/* The panel that compares the trace with another one: there once a second trace was named. */
#include "viewer/compare.h"
#include "viewer/view.h"

#include <stdlib.h>
#include <string.h>

/* "~/x" as a shell would have it; nothing else is expanded. */
static void expand_home(const char *typed, char *out, size_t bytes)
{
    const char *home = strncmp(typed, "~/", 2) == 0 ? getenv("HOME") : NULL;
    snprintf(out, bytes, "%s%s", home ? home : "", home ? typed + 1 : typed);
}

static enum hal_status compare(const struct view_model *model, const char *path,
                               struct view_lines *lines)
{
    struct view_model *other;
    struct view_comparison comparison;
    HAL_TRY(view_model_open(path, &other));
    enum hal_status status = view_compare(model, other, &comparison);
    if (status == HAL_OK) {
        view_comparison_lines(&comparison, lines);
        view_comparison_finish(&comparison);
        if (lines->failed)
            status = hal_fail(HAL_NO_MEMORY, "no memory for the comparison");
    }
    view_model_close(other);
    return status;
}

void view_difference(struct view *view)
{
    char path[4096];
    struct view_lines lines = {0};
    expand_home(view->typed, path, sizeof path);
    if (!*path)
        return;
    if (compare(view->model, path, &lines) != HAL_OK) {
        view_lines_finish(&lines);
        view_say(view, "%s", hal_message());
        return;
    }
    view_lines_finish(&view->difference);
    view->difference = lines;
    view->panel = VIEW_PANEL_DIFFERENCE;
    view->scroll = 0;
}

static void draw(struct view *view, struct view_area area)
{
    view_draw_lines(view, area, &view->difference);
}

const struct view_pane view_difference_pane = {.name = "Diff", .draw = draw};
