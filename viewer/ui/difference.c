/* SPDX-License-Identifier: Apache-2.0 */
/* The panel that compares the trace with another one: there once a second trace was named. */
#include "hal/base/mem.h"
#include "viewer/describe/compare.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panes.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* "~/x" as a shell would have it; nothing else is expanded. */
static void expand_home(const char *typed, char *out, size_t bytes)
{
    const char *home = strncmp(typed, "~/", 2) == 0 ? getenv("HOME") : NULL;
    snprintf(out, bytes, "%s%s", home ? home : "", home ? typed + 1 : typed);
}

/* ---- The other trace below the tracks ------------------------------------------------------- */

/* A view that takes the place of another one shares it. */
struct view_compared {
    atomic_uint users;
    struct view_model *model;
};

static void leave(void *what)
{
    struct view_compared *other = what;
    if (!other || atomic_fetch_sub(&other->users, 1) > 1)
        return;
    view_model_close(other->model);
    free(other);
}

struct panel {
    struct view_compared *other; /* below each track; NULL: nothing is */
    struct view_lines lines;     /* how it differs; empty: none was named */
};

static struct panel *panel_of(const struct view *view)
{
    return view_state(view, VIEW_PANEL_DIFFERENCE);
}

/* The previous comparison trace is freed in the background. */
static void show(struct view *view, struct view_compared *other)
{
    struct panel *p = panel_of(view);
    if (p->other)
        view_release(view, p->other, leave);
    p->other = other;
    view->track_height = other ? 2 : 1;
}

/* Threads by their names, since programs differ in how many they have; the rest by what it is. */
const struct view_track *view_compare_track(const struct view *view, uint32_t track)
{
    const struct view_model *m = view->model, *other = panel_of(view)->other->model;
    char name[64], named[64];
    view_track_name(m, &m->tracks[track], name, sizeof name);
    for (uint32_t i = 0; i < other->tracks_count; i++) {
        if (other->tracks[i].kind != m->tracks[track].kind)
            continue;
        view_track_name(other, &other->tracks[i], named, sizeof named);
        if (strcmp(name, named) == 0)
            return &other->tracks[i];
    }
    return NULL;
}

/* Moments are compared from the first work of the device on. */
struct view_axis view_compare_axis(const struct view *view)
{
    const struct view_model *other = panel_of(view)->other->model;
    struct view_window window = view->window;
    window.begin_ns += other->summary.device_begin_ns - view->model->summary.device_begin_ns;
    return (struct view_axis){.model = other, .window = window};
}

static double busy(const struct view_model *m, struct view_window w, int columns, int column)
{
    struct view_measure measure;
    const int64_t begin_ns = view_column_begin(w, columns, column);
    const int64_t end_ns = view_column_begin(w, columns, column + 1);
    if (m->device_track == VIEW_NO_TRACK || end_ns <= begin_ns)
        return 0;
    view_series_measure(&m->tracks[m->device_track].series, begin_ns, end_ns, &measure);
    return (double)measure.busy_ns[VIEW_EXECUTE] / (double)(end_ns - begin_ns);
}

void view_compare_draw_delta(struct view *view, struct view_area row)
{
    const int gutter = view->layout.gutter, columns = row.columns - gutter;
    const struct view_area axis = view_area_part(row, 0, gutter, 1, columns);
    const struct view_axis other = view_compare_axis(view);
    view_write(row, 0, 1, VIEW_STYLE_DIM, "delta");
    for (int column = 0; column < columns; column++) {
        const double here = busy(view->model, view->window, columns, column);
        const double there = busy(other.model, other.window, columns, column);
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

/* A job: another trace is opened and compared with this one. */
struct comparing {
    char path[4096];
    struct view_compared *other;
    struct view_lines lines;
};

static enum hal_status open_and_compare(const struct view_model *model, void *work,
                                        struct view_task *task)
{
    enum { READ_END = 900 }; /* of VIEW_TASK_WHOLE */
    struct comparing *c = work;
    struct view_comparison comparison;
    const struct view_progress progress = view_task_progress(task);
    view_task_part(task, 0, READ_END);
    if (!(c->other = hal_alloc(1, sizeof *c->other)))
        return hal_fail(HAL_NO_MEMORY, "no memory to compare");
    atomic_init(&c->other->users, 1);
    HAL_TRY(view_model_open_slowly(c->path, &progress, &c->other->model));
    HAL_TRY(view_compare(model, c->other->model, &comparison));
    view_comparison_lines(&comparison, &c->lines);
    view_comparison_finish(&comparison);
    if (c->lines.failed)
        return hal_fail(HAL_NO_MEMORY, "no memory for the comparison");
    return view_task_check(task);
}

static void destroy(void *work)
{
    struct comparing *c = work;
    leave(c->other);
    view_lines_finish(&c->lines);
    free(c);
}

static void take(struct view *view, void *work)
{
    struct comparing *c = work;
    show(view, c->other);
    view_lines_finish(&panel_of(view)->lines);
    panel_of(view)->lines = c->lines;
    view->panel = VIEW_PANEL_DIFFERENCE;
    view->scroll = 0;
    free(c);
}

static const struct view_job_type type = {.kind = VIEW_JOB_DIFFERENCE,
                                          .name = "comparison",
                                          .always_aside = true,
                                          .run = open_and_compare,
                                          .take = take,
                                          .destroy = destroy};

static void compare_with(struct view *view, const char *path)
{
    struct comparing *c = hal_alloc(1, sizeof *c);
    if (!c) {
        view_say(view, "no memory to compare");
        return;
    }
    expand_home(path, c->path, sizeof c->path);
    if (*c->path) {
        view_job_start(view, &type, c, 0);
        return;
    }
    free(c);
    view_job_stop(view, VIEW_JOB_DIFFERENCE);
    show(view, NULL);
}

const struct view_prompt view_difference_prompt = {
    .before = "compare with ", .hint = "a trace, Enter, Esc", .enter = compare_with};

static void draw(struct view *view, struct view_area area)
{
    view_draw_lines(view, area, &panel_of(view)->lines);
}

static bool is_there(const struct view *view)
{
    return panel_of(view)->lines.text != NULL;
}

static void finish(struct view *view)
{
    leave(panel_of(view)->other);
    view_lines_finish(&panel_of(view)->lines);
}

/* Its lines describe the comparison. */
static void restore(struct view *view, const struct view *old)
{
    static const char later[] = "the trace has grown since: D compares again";
    struct view_compared *other = panel_of(old)->other;
    const struct view_lines *before = &panel_of(old)->lines;
    struct view_lines *lines = &panel_of(view)->lines;
    if (panel_of(view)->other != other) {
        if (other)
            atomic_fetch_add(&other->users, 1);
        show(view, other);
    }
    if (!before->text || (lines->text && strncmp(lines->text, before->text, before->length) == 0))
        return;
    view_lines_finish(lines);
    view_lines_add_text(lines, before->text, before->length);
    if (!strstr(before->text, later))
        view_lines_add(lines, "then", "%s", later);
}

const struct view_pane view_difference_pane = {.name = "Diff",
                                               .state_bytes = sizeof(struct panel),
                                               .finish = finish,
                                               .restore = restore,
                                               .is_there = is_there,
                                               .draw = draw};
