/* SPDX-License-Identifier: Apache-2.0 */
/* The eighth panel: iterations, one by one, and going from one to the next. */
#include "viewer/ui/panels/repeats.h"

#include "hal/base/mem.h"
#include "viewer/text/text.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panels/kernels.h"
#include "viewer/ui/panes.h"

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

void view_repeats_destroy(struct view_iterations *iterations)
{
    if (iterations)
        view_iterations_finish(iterations);
    free(iterations);
}

static void destroy(void *work)
{
    struct repeating *r = work;
    view_repeats_destroy(r->iterations);
    free(r);
}

static void sort_by(struct view *view, int by);

static void take(struct view *view, void *work)
{
    struct repeating *r = work;
    view->iterations = r->iterations;
    free(r);
    if (view->repeats.by && view->iterations->list_count)
        sort_by(view, view->repeats.by);
}

static const struct view_job_type type = {.kind = VIEW_JOB_ITERATIONS,
                                          .name = "iterations",
                                          .run = find,
                                          .take = take,
                                          .destroy = destroy};

enum hal_status view_repeats_need(struct view *view)
{
    if (view->iterations)
        return HAL_OK;
    HAL_TRY(view_kernels_need(view));
    struct repeating *r = hal_alloc(1, sizeof *r);
    if (!r)
        return hal_fail(HAL_NO_MEMORY, "no memory for the iterations");
    r->kernels = view_kernels_work(view);
    const enum hal_status status = find(view->model, r, NULL);
    if (status == HAL_OK)
        take(view, r);
    else
        destroy(r);
    return status;
}

/* NULL: they are not there yet, were given up, or memory is out, which is said. */
static const struct view_iterations *iterations_of(struct view *view)
{
    if (view->iterations || view->given_up[VIEW_JOB_ITERATIONS] ||
        view_job_runs(view, VIEW_JOB_ITERATIONS))
        return view->iterations;
    const struct view_work *kernels = view_kernels_work(view); /* first */
    struct repeating *r = kernels ? hal_alloc(1, sizeof *r) : NULL;
    if (r) {
        r->kernels = kernels;
        view_job_start(view, &type, r, view_job_whole(view));
    } else if (kernels) {
        view_say(view, "no memory for the iterations");
    }
    return view->iterations;
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
    const struct view_iterations *its = iterations_of(view);
    return its ? its->list_count : 0;
}

static size_t current(struct view *view)
{
    const size_t at =
        count(view) ? view_iterations_at(view->iterations, view->cursor_ns) : SIZE_MAX;
    if (at == SIZE_MAX || !view->repeats.rows)
        return at;
    return view_order_find(&view->repeats, (uint32_t)at);
}

/* The iteration in that row of the list. */
static size_t in_row(const struct view *view, size_t row)
{
    return row < view->repeats.count ? view->repeats.rows[row] : row;
}

static void row(struct view *view, size_t index, char *out, size_t bytes)
{
    view_iteration_text(view->iterations, in_row(view, index), out, bytes);
}

/* Its first submission is the selection, if there is one, the cursor stands at its begin. */
static void go_to(struct view *view, const struct view_iteration *it)
{
    view_reveal(view, it->begin_ns, ']');
    view_set_cursor(view, it->begin_ns);
}

static void choose(struct view *view, size_t index)
{
    go_to(view, &view->iterations->list[in_row(view, index)]);
}

static const struct view_column columns[] = {
    {"number", 9},      {"begin", 31}, {"length", 41},  {"median", 51},  {"submissions", 63},
    {"dispatches", 75}, {"waits", 82}, {"blocked", 92}, {"device", 101}, {"remark", 0}};

static const struct view_list list = {
    .header = VIEW_ITERATION_HEADER,
    .columns = columns,
    .count = count,
    .current = current,
    .row = row,
    .select = choose,
};

static void draw(struct view *view, struct view_area area)
{
    const struct view_iterations *its = iterations_of(view);
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

static void sort_by(struct view *view, int by)
{
    struct view_order *order = &view->repeats;
    order->by = by;
    if (!order->rows && !view_order_init(order, view->iterations->list_count))
        view_say(view, "no memory to sort");
    else
        view_order_sort(view, order, sort_key, view->iterations);
}

static void sort(struct view *view, int key)
{
    static const char *const names[ORDERS] = {"time", "length, longest first",
                                              "blocked time, longest first",
                                              "device time, longest first"};
    const int by = (view->repeats.by + 1) % ORDERS;
    (void)key;
    if (!count(view)) {
        char why[160] = "there are no iterations to sort";
        missing(view, why, sizeof why);
        view_say(view, "%s", why);
        return;
    }
    view_say(view, "iterations by %s", names[by]);
    sort_by(view, by);
}

static const struct view_binding bindings[] = {
    {'S', VIEW_KEY_NONE, "S", "sort by time, length, blocked, device", sort},
    {0, 0, NULL, NULL, NULL},
};

static void restore(struct view *view, const struct view *old)
{
    const bool is_there = view->iterations != NULL;
    if (!is_there)
        view->repeats.by = old->repeats.by; /* once they are there */
    if (old->iterations && iterations_of(view) && is_there && view->repeats.by != old->repeats.by &&
        !view->given_up[VIEW_JOB_SORT_ITERATIONS])
        sort_by(view, old->repeats.by);
}

const struct view_pane view_iterations_pane = {
    .name = "Iterations", .restore = restore, .draw = draw, .list = &list, .bindings = bindings};

void view_next_iteration(struct view *view, bool forward)
{
    view->given_up[VIEW_JOB_KERNELS] = view->given_up[VIEW_JOB_ITERATIONS] = false;
    const struct view_iterations *its = iterations_of(view);
    char text[256];
    if (!its &&
        (view_job_runs(view, VIEW_JOB_KERNELS) || view_job_runs(view, VIEW_JOB_ITERATIONS))) {
        view_say(view, "iterations are being looked for: again when they are there");
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
             view_time(it->end_ns - it->begin_ns).text,
             it->warm_up   ? ", warm-up"
             : it->outlier ? ", an outlier"
                           : "");
    view_say(view, "%s", text);
}
