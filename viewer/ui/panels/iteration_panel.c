/* SPDX-License-Identifier: Apache-2.0 */
/* The eighth panel: iterations, one by one, and going from one to the next. */
#include "viewer/ui/panels/iteration_panel.h"

#include "hal/base/mem.h"
#include "viewer/text/text.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panels/kernels.h"
#include "viewer/ui/panes.h"

struct panel {
    struct view_iterations *iterations; /* NULL: not asked for yet */
    struct view_order order;
};

static struct panel *panel_of(const struct view *view)
{
    return view_state(view, VIEW_PANEL_ITERATIONS);
}

static struct view_order *order_of(const struct view *view)
{
    return &panel_of(view)->order;
}

/* ---- On demand ---------------------------------------------------------------------------- */

/* A job. */
struct repeating {
    const struct view_work *kernels;
    struct view_iterations *iterations;
};

static enum hal_status find(const struct view_model *model, void *work, struct view_task *task)
{
    struct repeating *r = work;
    if (!(r->iterations = hal_alloc(1, sizeof *r->iterations)))
        return hal_fail(HAL_NO_MEMORY, "no memory for the iterations");
    return view_iterations_find(model, r->kernels, task, r->iterations);
}

static void destroy_iterations(struct view_iterations *iterations)
{
    if (iterations)
        view_iterations_finish(iterations);
    free(iterations);
}

static void destroy(void *work)
{
    struct repeating *r = work;
    destroy_iterations(r->iterations);
    free(r);
}

static void take(struct view *view, void *work)
{
    struct repeating *r = work;
    struct panel *p = panel_of(view);
    p->iterations = r->iterations;
    p->order.of = p->iterations;
    p->order.count = p->iterations->list_count;
    free(r);
    if (p->order.by && p->order.count)
        view_order_sort(view, &p->order, p->order.by);
}

static const struct view_job_type type = {.kind = VIEW_JOB_ITERATIONS,
                                          .name = "iterations",
                                          .run = find,
                                          .take = take,
                                          .destroy = destroy};

const struct view_iterations *view_iterations_of(struct view *view)
{
    const struct panel *p = panel_of(view);
    if (p->iterations || !view_job_may_start(view, VIEW_JOB_ITERATIONS))
        return p->iterations;
    const struct view_work *kernels = view_kernels_work(view); /* first */
    struct repeating *r = kernels ? hal_alloc(1, sizeof *r) : NULL;
    if (r) {
        r->kernels = kernels;
        view_job_start(view, &type, r, view_job_whole(view));
    } else if (kernels) {
        view_say(view, "no memory for the iterations");
    }
    return p->iterations;
}

/* Why they are not there: kernels come before them. */
static void missing(struct view *view, char *out, size_t bytes)
{
    const bool has_kernels = view_kernels_work(view) != NULL;
    view_job_missing(view, has_kernels ? VIEW_JOB_ITERATIONS : VIEW_JOB_KERNELS, out, bytes);
}

/* ---- The list ----------------------------------------------------------------------------- */

static size_t count(struct view *view)
{
    const struct view_iterations *its = view_iterations_of(view);
    return its ? its->list_count : 0;
}

static size_t current(struct view *view)
{
    const struct panel *p = panel_of(view);
    const size_t at = count(view) ? view_iterations_at(p->iterations, view->cursor_ns) : SIZE_MAX;
    return at == SIZE_MAX ? at : view_order_find(&p->order, (uint32_t)at);
}

static void row(struct view *view, size_t index, char *out, size_t bytes)
{
    const struct panel *p = panel_of(view);
    view_iteration_text(p->iterations, view_order_row(&p->order, index), out, bytes);
}

/* Selects its first submission, if there is one, and moves the cursor to its begin. */
static void go_to(struct view *view, const struct view_iteration *it)
{
    view_reveal(view, it->begin_ns, ']');
    view_set_cursor(view, it->begin_ns);
}

static void choose(struct view *view, size_t index)
{
    const struct panel *p = panel_of(view);
    go_to(view, &p->iterations->list[view_order_row(&p->order, index)]);
}

static const struct view_column columns[] = {
    {"number", 9},      {"begin", 26}, {"length", 37},  {"median", 47}, {"submissions", 59},
    {"dispatches", 71}, {"waits", 78}, {"blocked", 89}, {"device", 98}, {"remark", 0}};

static const struct view_list list = {
    .header = VIEW_ITERATION_HEADER,
    .columns = columns,
    .count = count,
    .current = current,
    .row = row,
    .select = choose,
    .missing = missing,
    .order = order_of,
};

static void draw(struct view *view, struct view_area area)
{
    const struct view_iterations *its = view_iterations_of(view);
    struct view_lines lines = {0};
    if (!its) {
        char why[160] = "";
        missing(view, why, sizeof why);
        view_write_cut(area, 0, 1, area.columns - 2, VIEW_STYLE_DIM, why);
        return;
    }
    view_iterations_lines(its, &lines);
    const int scroll = view->scroll;
    const int rows = (int)lines.count < area.rows - 3 ? (int)lines.count : area.rows > 6 ? 2 : 0;
    view->scroll = 0;
    view_draw_lines(view, view_area_part(area, 0, 0, rows, area.columns), &lines);
    view->scroll = scroll;
    view_lines_finish(&lines);
    if (its->list_count)
        view_list_draw(view, &list, view_area_part(area, rows, 0, area.rows - rows, area.columns));
}

/* ---- Order -------------------------------------------------------------------------------- */

enum { BY_TIME, BY_LENGTH, BY_BLOCKED, BY_DEVICE, ORDERS };

static int64_t sort_key(const void *of, uint32_t row, int by)
{
    const struct view_iterations *its = of;
    const struct view_iteration *it = &its->list[row];
    return by == BY_LENGTH    ? it->end_ns - it->begin_ns
           : by == BY_BLOCKED ? it->sync_ns
           : by == BY_DEVICE  ? it->device_ns
                              : 0;
}

static void init(struct view *view)
{
    static const char *const names[ORDERS] = {"time", "length, longest first",
                                              "blocked time, longest first",
                                              "device time, longest first"};
    static const struct view_ordering ordering = {VIEW_JOB_SORT_ITERATIONS, "iterations", names,
                                                  ORDERS, sort_key};
    order_of(view)->ordering = &ordering;
}

static void finish(struct view *view)
{
    destroy_iterations(panel_of(view)->iterations);
}

static const struct view_binding bindings[] = {
    {'S', VIEW_KEY_NONE, "S", "sort by time, length, blocked, device", view_list_sort},
    {0, 0, NULL, NULL, NULL},
};

static void restore(struct view *view, const struct view *old)
{
    if (panel_of(old)->iterations)
        (void)view_iterations_of(view);
}

const struct view_pane view_iterations_pane = {.name = "Iterations",
                                               .state_bytes = sizeof(struct panel),
                                               .init = init,
                                               .finish = finish,
                                               .restore = restore,
                                               .draw = draw,
                                               .list = &list,
                                               .bindings = bindings};

void view_next_iteration(struct view *view, int key)
{
    const bool forward = key == 't';
    view->given_up[VIEW_JOB_KERNELS] = view->given_up[VIEW_JOB_ITERATIONS] = false;
    const struct view_iterations *its = view_iterations_of(view);
    char text[256];
    if (!its &&
        (view_job_runs(view, VIEW_JOB_KERNELS) || view_job_runs(view, VIEW_JOB_ITERATIONS))) {
        view_say(view, "searching for iterations: try again when it is done");
        return;
    }
    if (!its || !its->list_count) {
        view_say(view, "nothing repeats here");
        return;
    }
    const size_t at = view_iterations_at(its, view->cursor_ns);
    size_t to = at == SIZE_MAX ? 0 : at + 1;
    if (!forward)
        to = at == SIZE_MAX ? SIZE_MAX : its->list[at].begin_ns < view->cursor_ns ? at : at - 1;
    if (to >= its->list_count) {
        view_say(view, "no %s iteration", forward ? "later" : "earlier");
        return;
    }
    const struct view_iteration *it = &its->list[to];
    go_to(view, it);
    snprintf(text, sizeof text, "iteration %zu of %s: %s%s", to, its->name,
             hal_duration_text(it->end_ns - it->begin_ns).text,
             it->warm_up   ? ", warm-up"
             : it->outlier ? ", an outlier"
                           : "");
    view_say(view, "%s", text);
}
