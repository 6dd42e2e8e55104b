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

static enum hal_status compare(const struct view_model *model, const struct view_model *other,
                               struct view_lines *lines)
{
    struct view_comparison comparison;
    HAL_TRY(view_compare(model, other, &comparison));
    view_comparison_lines(&comparison, lines);
    view_comparison_finish(&comparison);
    return lines->failed ? hal_fail(HAL_NO_MEMORY, "no memory for the comparison") : HAL_OK;
}

/* ---- The other trace below the lanes ------------------------------------------------------ */

void view_shadow_close(struct view *view)
{
    if (!view->shadow)
        return;
    const struct view_model *model = view->shadow->model;
    view_destroy(view->shadow);
    view_model_close((struct view_model *)(uintptr_t)model); /* the shadow's own */
    view->shadow = NULL;
}

static enum hal_status show_below(struct view *view, struct view_model *other)
{
    struct view *shadow;
    HAL_TRY(view_create(other, &shadow));
    shadow->has_findings = true; /* nobody asks for them there */
    view_shadow_close(view);
    view->shadow = shadow;
    return HAL_OK;
}

/* Threads by their names, since programs differ in how many they have; the rest by what it is. */
const struct view_lane *view_shadow_lane(const struct view *view, uint32_t lane)
{
    const struct view_model *m = view->model, *other = view->shadow->model;
    char name[64], named[64];
    view_lane_name(m, &m->lanes[lane], name, sizeof name);
    for (uint32_t i = 0; i < other->lanes_count; i++) {
        if (other->lanes[i].kind != m->lanes[lane].kind)
            continue;
        view_lane_name(other, &other->lanes[i], named, sizeof named);
        if (strcmp(name, named) == 0)
            return &other->lanes[i];
    }
    return NULL;
}

/* Moments are compared from the first work of the device on. */
void view_shadow_follow(struct view *view)
{
    struct view *shadow = view->shadow;
    const int64_t by_ns =
        shadow->model->summary.device_begin_ns - view->model->summary.device_begin_ns;
    shadow->window = view->window;
    shadow->window.begin_ns += by_ns;
    shadow->layout = view->layout;
    shadow->cursor_ns = INT64_MIN;
    shadow->event = VIEW_NO_REF;
    shadow->lane = VIEW_NO_LANE;
}

static double busy(const struct view_model *m, struct view_window w, int columns, int column)
{
    struct view_measure measure;
    const int64_t begin_ns = view_column_begin(w, columns, column);
    const int64_t end_ns = view_column_begin(w, columns, column + 1);
    if (m->device_lane == VIEW_NO_LANE || end_ns <= begin_ns)
        return 0;
    view_series_measure(&m->lanes[m->device_lane].series, begin_ns, end_ns, &measure);
    return (double)measure.busy_ns[VIEW_EXECUTE] / (double)(end_ns - begin_ns);
}

void view_shadow_draw_delta(struct view *view, struct view_area row)
{
    const int gutter = view->layout.gutter, columns = row.columns - gutter;
    const struct view_area axis = view_area_part(row, 0, gutter, 1, columns);
    view_write(row, 0, 1, VIEW_STYLE_DIM, "delta");
    for (int column = 0; column < columns; column++) {
        const double here = busy(view->model, view->window, columns, column);
        const double there = busy(view->shadow->model, view->shadow->window, columns, column);
        const double by = here - there;
        if (by > 0.05)
            view_put(axis, 0, column, '+', VIEW_STYLE_GOOD | (by > 0.5 ? VIEW_BOLD : 0));
        else if (by < -0.05)
            view_put(axis, 0, column, '-', VIEW_STYLE_BAD | (by < -0.5 ? VIEW_BOLD : 0));
        else if (here > 0 || there > 0)
            view_put(axis, 0, column, '=', VIEW_STYLE_DIM);
    }
}

/* ---- The panel ---------------------------------------------------------------------------- */

void view_difference(struct view *view)
{
    char path[4096];
    struct view_lines lines = {0};
    struct view_model *other = NULL;
    expand_home(view->typed, path, sizeof path);
    if (!*path) {
        view_shadow_close(view);
        return;
    }
    enum hal_status status = view_model_open(path, &other);
    if (status == HAL_OK)
        status = compare(view->model, other, &lines);
    if (status == HAL_OK)
        status = show_below(view, other);
    if (status != HAL_OK) {
        view_model_close(other);
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
