/* SPDX-License-Identifier: Apache-2.0 */
/* The eighth panel: iterations, one by one, and going from one to the next. */
#include "viewer/repeats.h"

#include "hal/base/mem.h"
#include "viewer/kernels.h"
#include "viewer/text.h"

enum hal_status view_repeats_need(struct view *view)
{
    if (view->iterations)
        return HAL_OK;
    HAL_TRY(view_kernels_need(view));
    struct view_iterations *iterations = hal_alloc(1, sizeof *iterations);
    if (!iterations)
        return hal_fail(HAL_NO_MEMORY, "no memory for the iterations");
    const enum hal_status status =
        view_iterations_find(view->model, view_kernels_work(view), iterations);
    if (status == HAL_OK)
        view->iterations = iterations;
    else
        free(iterations);
    return status;
}

void view_repeats_destroy(struct view_iterations *iterations)
{
    if (iterations)
        view_iterations_finish(iterations);
    free(iterations);
}

/* NULL: memory is out, which is said. */
static const struct view_iterations *iterations_of(struct view *view)
{
    if (view_repeats_need(view) == HAL_OK)
        return view->iterations;
    view_say(view, "iterations: %s", hal_message());
    return NULL;
}

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
    if (!its)
        return;
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

static int64_t sort_key(struct view *view, uint32_t row, int by)
{
    const struct view_iteration *it = &view->iterations->list[row];
    return by == BY_LENGTH    ? it->end_ns - it->begin_ns
           : by == BY_BLOCKED ? it->sync_ns
           : by == BY_DEVICE  ? it->device_ns
                              : 0;
}

static void sort(struct view *view, int key)
{
    static const char *const names[ORDERS] = {"time", "length, longest first",
                                              "blocked time, longest first",
                                              "device time, longest first"};
    struct view_order *order = &view->repeats;
    (void)key;
    if (!count(view)) {
        view_say(view, "there are no iterations to sort");
        return;
    }
    if (!order->rows && !view_order_init(order, count(view))) {
        view_say(view, "no memory to sort");
        return;
    }
    order->by = (order->by + 1) % ORDERS;
    view_say(view, "iterations by %s", names[order->by]);
    view_order_sort(view, order, sort_key);
}

static const struct view_binding bindings[] = {
    {'S', VIEW_KEY_NONE, "S", "sort by time, length, blocked, device", sort},
    {0, 0, NULL, NULL, NULL},
};

const struct view_pane view_iterations_pane = {
    .name = "Iterations", .draw = draw, .list = &list, .bindings = bindings};

void view_next_iteration(struct view *view, bool forward)
{
    const struct view_iterations *its = iterations_of(view);
    char text[256];
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
