/* SPDX-License-Identifier: Apache-2.0 */
/* Counters below the tracks: each as an area under its mean per column, scaled to the highest
 * visible column, which shows its value. */
#include "viewer/ui/counters.h"

#include "hal/base/mem.h"
#include "viewer/text/text.h"
#include "viewer/ui/job.h"

struct meters {
    struct view_counters *counters; /* NULL: not asked for yet */
    bool shows;
};

static struct meters *meters_of(const struct view *view)
{
    return view_state(view, VIEW_PART_METERS);
}

/* ---- On demand ---------------------------------------------------------------------------- */

static enum hal_status find(const struct view_model *model, void *work, struct view_task *task)
{
    return view_counters_find(model, task, work);
}

static void destroy(void *work)
{
    if (work)
        view_counters_finish(work);
    free(work);
}

static void take(struct view *view, void *work)
{
    meters_of(view)->counters = work;
}

static void give_up(struct view *view, const void *work)
{
    (void)work;
    meters_of(view)->shows = false;
}

static const struct view_job_type type = {.kind = VIEW_JOB_COUNTERS,
                                          .name = "counters",
                                          .work_bytes = sizeof(struct view_counters),
                                          .run = find,
                                          .take = take,
                                          .give_up = give_up,
                                          .destroy = destroy};

/* NULL: they are not there yet, were given up, or memory is out, which is said. */
static const struct view_counters *counters_of(struct view *view)
{
    if (!meters_of(view)->counters)
        view_job_ask(view, &type);
    return meters_of(view)->counters;
}

/* ---- Rows --------------------------------------------------------------------------------- */

static double column_mean(const struct view *view, enum view_counter which, int columns, int column)
{
    const struct view_window w = view->window;
    return view_counter_mean(meters_of(view)->counters, which,
                             view_column_begin(w, columns, column),
                             view_column_begin(w, columns, column + 1));
}

/* The highest column shows its value, to its left or right. */
static void draw_most(struct view_area axis, enum view_counter which, int column, double most)
{
    char level[48], label[64];
    view_counter_text(which, most, level, sizeof level);
    snprintf(label, sizeof label, " %s ", level);
    const int columns = view_text_columns(label);
    view_put(axis, 0, column, 0x25B2, VIEW_STYLE_OBJECT | VIEW_BOLD);
    if (axis.columns < 3 * columns)
        return;
    view_write(axis, 0, column >= columns ? column - columns : column + 1,
               VIEW_STYLE_OBJECT | VIEW_BOLD, label);
}

/* What is not nothing is seen, however little. */
static void draw_levels(const struct view *view, enum view_counter which, struct view_area axis)
{
    double most = 0;
    int at = 0;
    for (int column = 0; column < axis.columns; column++) {
        const double mean = column_mean(view, which, axis.columns, column);
        at = mean > most ? column : at;
        most = mean > most ? mean : most;
    }
    for (int column = 0; column < axis.columns && most > 0; column++) {
        const double share = column_mean(view, which, axis.columns, column) / most;
        if (share > 0)
            view_put(axis, 0, column, 0x2581u + (uint32_t)(share >= 1 ? 7 : share * 8),
                     VIEW_STYLE_OBJECT);
    }
    if (most > 0)
        draw_most(axis, which, at, most);
}

int view_meter_rows(const struct view *view)
{
    return meters_of(view)->shows ? VIEW_COUNTER_COUNT : 0;
}

int view_meters_draw(struct view *view, struct view_area area)
{
    const int wanted = view_meter_rows(view), gutter = view->layout.gutter;
    const int rows = wanted < area.rows / 2 ? wanted : area.rows / 2;
    if (rows < 1)
        return 0;
    const struct view_counters *counters = counters_of(view);
    for (int i = 0; i < rows; i++) {
        const int row = area.rows - rows + i;
        const struct view_area axis = view_area_part(area, row, gutter, 1, area.columns - gutter);
        view_write_cut(area, row, 1, gutter - 2, VIEW_STYLE_DIM, view_counter_names[i]);
        if (counters)
            draw_levels(view, (enum view_counter)i, axis);
    }
    return rows;
}

void view_describe_counters(struct view *view, struct view_lines *lines)
{
    const struct view_counters *counters = meters_of(view)->shows ? counters_of(view) : NULL;
    char text[256];
    size_t length = 0;
    if (!counters)
        return;
    for (unsigned i = 0; i < VIEW_COUNTER_COUNT; i++) {
        char level[48];
        const enum view_counter which = (enum view_counter)i;
        view_counter_text(which, view_counter_at(counters, which, view->cursor_ns), level,
                          sizeof level);
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s %s", i ? ", " : "",
                                   view_counter_names[i], level);
    }
    view_lines_add(lines, "counters", "at the cursor: %s", text);
}

/* ---- Keys --------------------------------------------------------------------------------- */

static void toggle(struct view *view, int key)
{
    (void)key;
    struct meters *m = meters_of(view);
    m->shows = !m->shows;
    view->given_up[VIEW_JOB_COUNTERS] = false;
    if (m->shows)
        (void)counters_of(view);
    else
        view_job_stop(view, VIEW_JOB_COUNTERS);
}

static const struct view_binding bindings[] = {
    {'i', VIEW_KEY_NONE, "i", "counters below the tracks: waiting, in flight, bytes per second",
     toggle},
    {0, 0, NULL, NULL, NULL},
};

static void finish(struct view *view)
{
    destroy(meters_of(view)->counters);
}

static void restore(struct view *view, const struct view *old)
{
    meters_of(view)->shows = meters_of(old)->shows;
    if (meters_of(old)->counters)
        (void)counters_of(view);
}

const struct view_pane view_meters_part = {.name = "Counting",
                                           .state_bytes = sizeof(struct meters),
                                           .finish = finish,
                                           .restore = restore,
                                           .bindings = bindings};
