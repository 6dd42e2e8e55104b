/* SPDX-License-Identifier: Apache-2.0 */
/* The sixth panel: every kernel, how often and how long it ran. */
#include "viewer/ui/panels/kernels.h"

#include "hal/base/mem.h"
#include "viewer/text/text.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panes.h"

enum { BY_TIME, BY_DISPATCHES, BY_GROUPS, ORDERS };

struct kernels {
    struct view_work work;
    struct view_kernel_time *times; /* of the whole trace */
    struct view_work_total total;
};

struct panel {
    struct kernels *made; /* NULL: not asked for yet */
    struct view_order order;
    uint32_t kernel; /* the chosen one, or VIEW_NO_REF */
    char name[128];  /* of the one that was looked for */
};

static struct panel *panel_of(const struct view *view)
{
    return view_state(view, VIEW_PANEL_KERNELS);
}

static struct view_order *order_of(const struct view *view)
{
    return &panel_of(view)->order;
}

/* ---- On demand ---------------------------------------------------------------------------- */

static int64_t sort_key(const void *of, uint32_t kernel, int by)
{
    const struct kernels *k = of;
    const struct view_kernel_time *time = &k->times[kernel];
    const uint64_t key = by == BY_DISPATCHES ? time->dispatches
                         : by == BY_GROUPS   ? time->groups
                                             : (uint64_t)time->alone_ns;
    return (int64_t)(key < INT64_MAX ? key : INT64_MAX);
}

static enum hal_status fill(const struct view_model *m, void *work, struct view_task *task)
{
    enum { WORK_END = 300 }; /* of VIEW_TASK_WHOLE */
    struct kernels *k = work;
    view_task_part(task, 0, WORK_END);
    HAL_TRY(view_work_init(m, task, &k->work));
    k->times = hal_alloc(k->work.kernels_count, sizeof *k->times);
    if (!k->times)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu kernels", k->work.kernels_count);
    view_task_part(task, WORK_END, VIEW_TASK_WHOLE);
    return view_work_times(&k->work, task, m->first_ns, m->last_ns, k->times, &k->total);
}

static void destroy(void *work)
{
    struct kernels *k = work;
    if (!k)
        return;
    view_work_finish(&k->work);
    free(k->times);
    free(k);
}

static void take(struct view *view, void *work)
{
    struct kernels *k = work;
    struct panel *p = panel_of(view);
    p->made = k;
    p->order.of = k;
    p->order.count = k->work.kernels_count;
    /* If no submission has only one kernel, dispatches are more informative. */
    view_order_sort(view, &p->order,
                    p->order.by >= 0 ? p->order.by
                    : k->total.alone ? BY_TIME
                                     : BY_DISPATCHES);
    if (view->panel == VIEW_PANEL_KERNELS && view_kernels_hint(view))
        view_say(view, "%s", view_kernels_hint(view));
}

static const struct view_job_type type = {.kind = VIEW_JOB_KERNELS,
                                          .name = "kernels",
                                          .work_bytes = sizeof(struct kernels),
                                          .run = fill,
                                          .take = take,
                                          .destroy = destroy};

const struct view_work *view_kernels_work(struct view *view)
{
    if (!panel_of(view)->made)
        view_job_ask(view, &type);
    return panel_of(view)->made ? &panel_of(view)->made->work : NULL;
}

const struct view_work_total *view_kernels_total(const struct view *view)
{
    return &panel_of(view)->made->total;
}

const char *view_kernels_hint(const struct view *view)
{
    const struct kernels *k = panel_of(view)->made;
    if (!k || !view->model->summary.dispatches || k->total.alone || view->model->dispatches_count)
        return NULL;
    return "hal-capture -m dispatch times each dispatch: no kernel ran alone";
}

/* ---- The list ----------------------------------------------------------------------------- */

static size_t count(struct view *view)
{
    return view_kernels_work(view) ? order_of(view)->count : 0;
}

static size_t current(struct view *view)
{
    const struct panel *p = panel_of(view);
    return count(view) ? view_order_find(&p->order, p->kernel) : SIZE_MAX;
}

void view_kernel_text(const struct view_work *work, const struct view_kernel_time *time,
                      const struct view_work_total *total, char *out, size_t bytes)
{
    char name[256], cut[128];
    const bool timed = time->alone_dispatches > 0;
    view_work_name(work, time->kernel, name, sizeof name);
    view_pad(name, 24, cut, sizeof cut);
    snprintf(
        out, bytes, "%s %s %s %s %s %s %s  %s", cut,
        view_right(view_count(time->dispatches).text, 10).text,
        view_right(view_count(time->groups).text, 12).text,
        view_right(timed ? hal_duration_text(time->alone_ns).text : "-", 10).text,
        view_right(timed ? view_share(time->alone_ns, total->executed_ns).text : "-", 7).text,
        view_right(time->each.count ? hal_duration_text(time->each.median_ns).text : "-", 10).text,
        view_right(time->mixed_ns ? hal_duration_text(time->mixed_ns).text : "-", 10).text,
        time->each.count ? hal_duration_text(time->each.min_ns).text : "");
    if (!time->each.count || strlen(out) + 64 >= bytes)
        return;
    snprintf(out + strlen(out), bytes - strlen(out), " to %s",
             hal_duration_text(time->each.max_ns).text);
}

static void missing(struct view *view, char *out, size_t bytes)
{
    view_job_missing(view, VIEW_JOB_KERNELS, out, bytes);
}

static void row(struct view *view, size_t index, char *out, size_t bytes)
{
    const struct kernels *k = panel_of(view)->made;
    view_kernel_text(&k->work, &k->times[view_order_row(order_of(view), index)], &k->total, out,
                     bytes);
}

static void choose(struct view *view, size_t index)
{
    uint32_t track;
    struct panel *p = panel_of(view);
    p->kernel = view_order_row(&p->order, index);
    const uint32_t example = p->made->times[p->kernel].example;
    if (example == VIEW_NO_REF)
        return;
    const uint32_t event = view_model_queue_event(view->model, example, &track);
    if (event != VIEW_NO_REF)
        view_select(view, track, event);
}

static const struct view_column columns[] = {{"kernel", 25}, {"dispatches", 36}, {"workgroups", 49},
                                             {"alone", 60},  {"share", 68},      {"each", 79},
                                             {"mixed", 91},  {"one dispatch", 0}};

static const struct view_list list = {
    .header = VIEW_KERNEL_HEADER,
    .columns = columns,
    .count = count,
    .current = current,
    .row = row,
    .select = choose,
    .missing = missing,
    .order = order_of,
};

/* ---- The same kernel again ---------------------------------------------------------------- */

static bool has_kernel(struct view *view, const struct view_track *track,
                       const struct view_span *event)
{
    (void)track;
    return view_work_has(&panel_of(view)->made->work, event->ref, panel_of(view)->kernel);
}

/* From where the submission ran, whichever track it was selected on; else from the cursor. */
static void start_at(const struct view *view, uint32_t submission, struct view_seek *seek)
{
    const struct view_model *m = view->model;
    const struct view_span span = {.ref = submission, .class = VIEW_EXECUTE};
    if (submission == VIEW_NO_REF || m->submissions[submission].begin_ns == VIEW_NO_TIME)
        return;
    seek->track = view_model_device_track(m, m->submissions[submission].queue);
    seek->event = view_track_event_of(m, &m->tracks[seek->track], &span);
    seek->cursor_ns = m->submissions[submission].begin_ns;
    seek->has_start = seek->event != VIEW_NO_REF;
}

void view_next_kernel(struct view *view, int key)
{
    view->given_up[VIEW_JOB_KERNELS] = false;
    struct panel *p = panel_of(view);
    const struct view_work *work = view_kernels_work(view);
    struct view_seek seek = {.want = has_kernel,
                             .forward = key == '.',
                             .in_devices = true,
                             .only = VIEW_NO_TRACK,
                             .noun = p->name,
                             .says_noun = true};
    if (!work) {
        if (view_job_runs(view, VIEW_JOB_KERNELS))
            view_say(view, "searching for kernels: try again when it is done");
        return;
    }
    const uint32_t selected = view_selected_submission(view);
    if (selected != VIEW_NO_REF &&
        (p->kernel == VIEW_NO_REF || !view_work_has(work, selected, p->kernel)))
        p->kernel = view_work_main(work, selected);
    if (p->kernel == VIEW_NO_REF || view->model->device_track == VIEW_NO_TRACK) {
        view_say(view, "no kernel is selected: select a submission, or one of panel 6");
        return;
    }
    view_work_name(work, p->kernel, p->name, sizeof p->name);
    start_at(view, selected, &seek);
    view_seek_start(view, &seek);
}

static const struct view_binding bindings[] = {
    {'S', VIEW_KEY_NONE, "S", "sort by time, dispatches, workgroups", view_list_sort},
    {0, 0, NULL, NULL, NULL},
};

static void open(struct view *view)
{
    if (view_kernels_work(view) && view_kernels_hint(view))
        view_say(view, "%s", view_kernels_hint(view));
}

static void init(struct view *view)
{
    static const char *const names[ORDERS] = {"time of submissions with this kernel only",
                                              "dispatches", "workgroups"};
    static const struct view_ordering ordering = {VIEW_JOB_SORT_KERNELS, "kernels", names, ORDERS,
                                                  sort_key};
    *order_of(view) =
        (struct view_order){.ordering = &ordering, .by = -1}; /* the most informative */
    panel_of(view)->kernel = VIEW_NO_REF;
}

static void finish(struct view *view)
{
    destroy(panel_of(view)->made);
}

/* Kernels are called the same. */
static void restore(struct view *view, const struct view *old)
{
    struct panel *p = panel_of(view);
    const struct panel *before = panel_of(old);
    char name[256], other[256];
    p->kernel = VIEW_NO_REF;
    if (!before->made || !view_kernels_work(view))
        return;
    if (before->kernel == VIEW_NO_REF)
        return;
    view_work_name(&before->made->work, before->kernel, name, sizeof name);
    for (uint32_t i = 0; i < p->order.count && p->kernel == VIEW_NO_REF; i++) {
        view_work_name(&p->made->work, i, other, sizeof other);
        if (strcmp(name, other) == 0)
            p->kernel = i;
    }
}

const struct view_pane view_kernels_pane = {.name = "Kernels",
                                            .state_bytes = sizeof(struct panel),
                                            .init = init,
                                            .finish = finish,
                                            .restore = restore,
                                            .open = open,
                                            .list = &list,
                                            .bindings = bindings};
