/* SPDX-License-Identifier: Apache-2.0 */
/* The sixth panel: every kernel, how often and how long it ran. */
#include "viewer/ui/panels/kernels.h"

#include "hal/base/mem.h"
#include "viewer/text/text.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panes.h"

enum { BY_TIME, BY_DISPATCHES, BY_GROUPS, ORDERS };

struct view_kernels {
    struct view_work work;
    struct view_kernel_time *times; /* of the whole trace */
    struct view_work_total total;
    struct view_order order;
};

/* ---- On demand ---------------------------------------------------------------------------- */

void view_kernels_destroy(struct view_kernels *kernels)
{
    if (!kernels)
        return;
    view_work_finish(&kernels->work);
    free(kernels->times);
    free(kernels->order.rows);
    free(kernels);
}

static int64_t sort_key(const void *of, uint32_t kernel, int by)
{
    const struct view_kernels *k = of;
    const struct view_kernel_time *time = &k->times[kernel];
    const uint64_t key = by == BY_DISPATCHES ? time->dispatches
                         : by == BY_GROUPS   ? time->groups
                                             : (uint64_t)time->alone_ns;
    return (int64_t)(key < INT64_MAX ? key : INT64_MAX);
}

static enum hal_status fill(const struct view_model *m, void *work, struct view_task *task)
{
    enum { WORK_END = 300 }; /* of VIEW_TASK_WHOLE */
    struct view_kernels *k = work;
    view_task_part(task, 0, WORK_END);
    HAL_TRY(view_work_init(m, task, &k->work));
    k->times = hal_alloc(k->work.kernels_count, sizeof *k->times);
    if (!k->times || !view_order_init(&k->order, k->work.kernels_count))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu kernels", k->work.kernels_count);
    view_task_part(task, WORK_END, VIEW_TASK_WHOLE);
    return view_work_times(&k->work, task, m->first_ns, m->last_ns, k->times, &k->total);
}

static void destroy(void *work)
{
    view_kernels_destroy(work);
}

static void take(struct view *view, void *work)
{
    struct view_kernels *k = work;
    view->kernels = k;
    /* Where no submission is of one kernel, dispatches say more. */
    k->order.by = view->kernels_by >= 0 ? view->kernels_by
                  : k->total.alone      ? BY_TIME
                                        : BY_DISPATCHES;
    view_order_sort(view, &k->order, sort_key, k);
    if (view->panel == VIEW_PANEL_KERNELS && view_kernels_hint(view))
        view_say(view, "%s", view_kernels_hint(view));
}

static const struct view_job_type type = {
    .kind = VIEW_JOB_KERNELS, .name = "kernels", .run = fill, .take = take, .destroy = destroy};

enum hal_status view_kernels_need(struct view *view)
{
    if (view->kernels)
        return HAL_OK;
    struct view_kernels *kernels = hal_alloc(1, sizeof *kernels);
    if (!kernels)
        return hal_fail(HAL_NO_MEMORY, "no memory for the kernels");
    const enum hal_status status = fill(view->model, kernels, NULL);
    if (status == HAL_OK)
        take(view, kernels);
    else
        destroy(kernels);
    return status;
}

const struct view_work *view_kernels_work(struct view *view)
{
    if (!view->kernels && !view->given_up[VIEW_JOB_KERNELS] &&
        !view_job_runs(view, VIEW_JOB_KERNELS)) {
        struct view_kernels *kernels = hal_alloc(1, sizeof *kernels);
        if (kernels)
            view_job_start(view, &type, kernels, view_job_whole(view));
        else
            view_say(view, "no memory for the kernels");
    }
    return view->kernels ? &view->kernels->work : NULL;
}

const struct view_kernel_time *view_kernels_row(const struct view *view, size_t row)
{
    if (!view->kernels || row >= view->kernels->order.count)
        return NULL;
    return &view->kernels->times[view->kernels->order.rows[row]];
}

const struct view_work_total *view_kernels_total(const struct view *view)
{
    return &view->kernels->total;
}

const char *view_kernels_hint(const struct view *view)
{
    if (!view->kernels || !view->model->summary.dispatches || view->kernels->total.alone ||
        view->model->dispatches_count)
        return NULL;
    return "hal-capture -m dispatch times each dispatch: no kernel ran alone";
}

/* ---- The list ----------------------------------------------------------------------------- */

static size_t count(struct view *view)
{
    return view_kernels_work(view) ? view->kernels->order.count : 0;
}

static size_t current(struct view *view)
{
    return count(view) ? view_order_find(&view->kernels->order, view->kernel) : SIZE_MAX;
}

void view_kernel_text(const struct view_work *work, const struct view_kernel_time *time,
                      const struct view_work_total *total, char *out, size_t bytes)
{
    char name[256], cut[128];
    const bool timed = time->alone_dispatches > 0;
    view_work_name(work, time->kernel, name, sizeof name);
    view_pad(name, 24, cut, sizeof cut);
    snprintf(out, bytes, "%s %s %s %s %s %s %s  %s", cut,
             view_right(view_count(time->dispatches).text, 10).text,
             view_right(view_count(time->groups).text, 12).text,
             view_right(timed ? view_time(time->alone_ns).text : "-", 9).text,
             view_right(timed ? view_share(time->alone_ns, total->executed_ns).text : "-", 7).text,
             view_right(time->each.count ? view_time(time->each.median_ns).text : "-", 8).text,
             view_right(time->mixed_ns ? view_time(time->mixed_ns).text : "-", 9).text,
             time->each.count ? view_time(time->each.min_ns).text : "");
    if (!time->each.count || strlen(out) + 64 >= bytes)
        return;
    snprintf(out + strlen(out), bytes - strlen(out), " to %s", view_time(time->each.max_ns).text);
}

static void missing(struct view *view, char *out, size_t bytes)
{
    view_job_missing(view, VIEW_JOB_KERNELS, out, bytes);
}

static void row(struct view *view, size_t index, char *out, size_t bytes)
{
    const struct view_kernels *k = view->kernels;
    view_kernel_text(&k->work, &k->times[k->order.rows[index]], &k->total, out, bytes);
}

static void choose(struct view *view, size_t index)
{
    uint32_t lane;
    view->kernel = view->kernels->order.rows[index];
    const uint32_t example = view->kernels->times[view->kernel].example;
    if (example == VIEW_NO_REF)
        return;
    const uint32_t event = view_model_queue_event(view->model, example, &lane);
    if (event != VIEW_NO_REF)
        view_select(view, lane, event);
}

static const struct view_column columns[] = {{"kernel", 25}, {"dispatches", 36}, {"workgroups", 49},
                                             {"alone", 59},  {"share", 67},      {"each", 76},
                                             {"mixed", 86},  {"one dispatch", 0}};

static const struct view_list list = {
    .header = VIEW_KERNEL_HEADER,
    .columns = columns,
    .count = count,
    .current = current,
    .row = row,
    .select = choose,
    .missing = missing,
};

static void sort(struct view *view, int key)
{
    (void)key;
    static const char *const names[ORDERS] = {"time of submissions of it alone", "dispatches",
                                              "workgroups"};
    if (!count(view)) {
        char why[160] = "there are no kernels to sort";
        missing(view, why, sizeof why);
        view_say(view, "%s", why);
        return;
    }
    struct view_order *order = &view->kernels->order;
    view->kernels_by = order->by = (order->by + 1) % ORDERS;
    view_say(view, "kernels by %s", names[order->by]);
    view_order_sort(view, order, sort_key, view->kernels);
}

/* ---- The same kernel again ---------------------------------------------------------------- */

static bool has_kernel(struct view *view, const struct view_lane *lane,
                       const struct view_span *event)
{
    (void)lane;
    return view_work_has(&view->kernels->work, event->ref, view->kernel);
}

/* From where the submission ran, whichever lane it was selected on; else from the cursor. */
static void start_at(const struct view *view, uint32_t submission, struct view_seek *seek)
{
    const struct view_model *m = view->model;
    const struct view_span span = {.ref = submission, .class = VIEW_EXECUTE};
    if (submission == VIEW_NO_REF || m->submissions[submission].begin_ns == VIEW_NO_TIME)
        return;
    seek->lane = view_model_device_lane(m, m->submissions[submission].queue);
    seek->event = view_lane_event_of(m, &m->lanes[seek->lane], &span);
    seek->cursor_ns = m->submissions[submission].begin_ns;
    seek->has_start = seek->event != VIEW_NO_REF;
}

void view_next_kernel(struct view *view, bool forward)
{
    view->given_up[VIEW_JOB_KERNELS] = false;
    const struct view_work *work = view_kernels_work(view);
    struct view_seek seek = {.want = has_kernel,
                             .forward = forward,
                             .in_devices = true,
                             .only = VIEW_NO_LANE,
                             .noun = view->kernel_name,
                             .says_noun = true};
    if (!work) {
        if (view_job_runs(view, VIEW_JOB_KERNELS))
            view_say(view, "kernels are being looked for: again when they are there");
        return;
    }
    const uint32_t selected = view_selected_submission(view);
    if (selected != VIEW_NO_REF &&
        (view->kernel == VIEW_NO_REF || !view_work_has(work, selected, view->kernel)))
        view->kernel = view_work_main(work, selected);
    if (view->kernel == VIEW_NO_REF || view->model->device_lane == VIEW_NO_LANE) {
        view_say(view, "no kernel is selected: select a submission, or one of panel 6");
        return;
    }
    view_work_name(work, view->kernel, view->kernel_name, sizeof view->kernel_name);
    start_at(view, selected, &seek);
    view_seek_start(view, &seek);
}

static const struct view_binding bindings[] = {
    {'S', VIEW_KEY_NONE, "S", "sort by time, dispatches, workgroups", sort},
    {0, 0, NULL, NULL, NULL},
};

/* Kernels are called the same. */
static void restore(struct view *view, const struct view *old)
{
    char name[256], other[256];
    view->kernels_by = old->kernels_by;
    if (!old->kernels || !view_kernels_work(view))
        return;
    struct view_order *order = &view->kernels->order;
    if (order->by != old->kernels->order.by && !view->given_up[VIEW_JOB_SORT_KERNELS]) {
        order->by = old->kernels->order.by;
        view_order_sort(view, order, sort_key, view->kernels);
    }
    view->kernel = VIEW_NO_REF;
    if (old->kernel == VIEW_NO_REF)
        return;
    view_work_name(&old->kernels->work, old->kernel, name, sizeof name);
    for (uint32_t i = 0; i < order->count && view->kernel == VIEW_NO_REF; i++) {
        view_work_name(&view->kernels->work, i, other, sizeof other);
        if (strcmp(name, other) == 0)
            view->kernel = i;
    }
}

static void open(struct view *view)
{
    if (view_kernels_work(view) && view_kernels_hint(view))
        view_say(view, "%s", view_kernels_hint(view));
}

const struct view_pane view_kernels_pane = {
    .name = "Kernels", .open = open, .restore = restore, .list = &list, .bindings = bindings};
