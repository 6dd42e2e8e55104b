/* SPDX-License-Identifier: Apache-2.0 */
/* The panel of findings: the current one, and their order. */
#include "viewer/findings/findings.h"

#include "viewer/ui/job.h"
#include "viewer/ui/panes.h"

#include <stdlib.h>

enum { BY_RANK, BY_COST, BY_COUNT, BY_PLACE, ORDERS };

struct panel {
    struct view_findings *found; /* NULL: not asked for yet */
    struct view_order order;
    uint32_t current; /* VIEW_NO_REF: none */
    uint64_t awaited; /* the first one is chosen when they are there, if this is the last key */
};

static struct panel *panel_of(const struct view *view)
{
    return view_state(view, VIEW_PANEL_FINDINGS);
}

static struct view_order *order_of(const struct view *view)
{
    return &panel_of(view)->order;
}

/* Equal ones are ordered by rank, their index in the list. */
static int64_t sort_key(const void *of, uint32_t index, int by)
{
    const struct view_finding *finding = &((const struct view_findings *)of)->list[index];
    return by == BY_COST    ? finding->cost_ns /* without cost: VIEW_NO_TIME is least */
           : by == BY_COUNT ? (int64_t)(finding->count < INT64_MAX ? finding->count : INT64_MAX)
           : by == BY_PLACE ? (finding->at_ns == VIEW_NO_TIME ? INT64_MAX : -finding->at_ns)
                            : 0;
}

/* ---- On demand ------------------------------------------------------------------------------ */

static void choose(struct view *view, size_t index)
{
    struct panel *p = panel_of(view);
    p->current = view_order_row(&p->order, index);
    const struct view_finding *finding = &p->found->list[p->current];
    if (finding->track != VIEW_NO_TRACK)
        view_select(view, finding->track, finding->event);
    else if (finding->at_ns != VIEW_NO_TIME)
        view_reveal(view, finding->at_ns, VIEW_KEY_NONE);
}

static enum hal_status look(const struct view_model *model, void *work, struct view_task *task)
{
    return view_findings_look(model, task, work);
}

static void destroy(void *work)
{
    if (work)
        view_findings_finish(work);
    free(work);
}

static void take(struct view *view, void *work)
{
    struct panel *p = panel_of(view);
    p->found = work;
    p->order.of = work;
    p->order.count = p->found->list_count;
    if (p->order.by)
        view_order_sort(view, &p->order, p->order.by);
    if (p->awaited == view->keys && p->found->list_count) {
        view->message[0] = '\0';
        choose(view, 0);
    }
}

static const struct view_job_type type = {.kind = VIEW_JOB_FINDINGS,
                                          .name = "findings",
                                          .work_bytes = sizeof(struct view_findings),
                                          .always_aside = true,
                                          .run = look,
                                          .take = take,
                                          .destroy = destroy};

/* Searches for them on first use: until then there are none. */
const struct view_findings *view_findings_of(struct view *view)
{
    static const struct view_findings none = {0};
    if (!panel_of(view)->found)
        view_job_ask(view, &type);
    return panel_of(view)->found ? panel_of(view)->found : &none;
}

enum trace_barrier_need view_barrier_need(struct view *view, uint32_t commands, uint32_t segment)
{
    enum { CHEAP = 300000 }; /* segments: looked at without being asked */
    if (!panel_of(view)->found && trace_reader_counts(view->model->reader)->segments > CHEAP)
        return TRACE_BARRIER_NEEDED;
    return view_findings_barrier_need(view_findings_of(view), commands, segment);
}

/* ---- The panel ---------------------------------------------------------------------------- */

static size_t count(struct view *view)
{
    return view_findings_of(view)->list_count;
}

static size_t current(struct view *view)
{
    return count(view) ? view_order_find(order_of(view), panel_of(view)->current) : SIZE_MAX;
}

static void missing(struct view *view, char *out, size_t bytes)
{
    view_job_missing(view, VIEW_JOB_FINDINGS, out, bytes);
}

/* The current one is marked, and scrolled to. */
static void draw(struct view *view, struct view_area area)
{
    const struct view_findings *findings = view_findings_of(view);
    struct view_lines lines = {0};
    const size_t at = current(view);
    size_t line = 0;
    for (size_t i = 0; i < findings->list_count; i++) {
        line = i == at ? lines.count : line;
        view_finding_lines(view->model, &findings->list[view_order_row(order_of(view), i)],
                           i == at ? "›" : "", &lines);
    }
    if (!findings->list_count) {
        char why[160] = "none: nothing here is slow, wrong or redundant";
        missing(view, why, sizeof why);
        view_lines_add(&lines, "", "%s", why);
    }
    if (at != SIZE_MAX)
        view_scroll_to_line(view, area, &lines, line);
    view_draw_lines(view, area, &lines);
    view_lines_finish(&lines);
}

static const struct view_list list = {
    .count = count, .current = current, .select = choose, .missing = missing, .order = order_of};

void view_next_finding(struct view *view, int key)
{
    (void)key;
    view->given_up[VIEW_JOB_FINDINGS] = false;
    const size_t all = count(view), at = current(view);
    view->panel = VIEW_PANEL_FINDINGS;
    if (all) {
        choose(view, at == SIZE_MAX ? 0 : (at + 1) % all);
    } else if (view_job_runs(view, VIEW_JOB_FINDINGS)) {
        panel_of(view)->awaited = view->keys;
        view_say(view, "searching for findings; the first one will be selected unless you move on");
    } else {
        view_say(view, "nothing was found");
    }
}

static const struct view_binding bindings[] = {
    {'S', VIEW_KEY_NONE, "S", "sort by priority, cost, count, position", view_list_sort},
    {0, 0, NULL, NULL, NULL},
};

/* ---- Life --------------------------------------------------------------------------------- */

static void init(struct view *view)
{
    static const char *const names[ORDERS] = {"priority", "cost", "count", "position in time"};
    static const struct view_ordering ordering = {VIEW_JOB_SORT_FINDINGS, "findings", names, ORDERS,
                                                  sort_key};
    *panel_of(view) = (struct panel){
        .order = {.ordering = &ordering}, .current = VIEW_NO_REF, .awaited = UINT64_MAX};
}

static void finish(struct view *view)
{
    destroy(panel_of(view)->found);
}

/* The current one is one of the same kind, as many before it as there were. */
static void restore(struct view *view, const struct view *old)
{
    const struct panel *before = panel_of(old);
    const struct view_findings *now = before->found ? view_findings_of(view) : NULL;
    size_t nth = 0;
    if (!now || before->current == VIEW_NO_REF)
        return;
    const enum view_finding_kind kind = before->found->list[before->current].kind;
    for (size_t i = 0; i < before->current; i++)
        nth += before->found->list[i].kind == kind;
    for (uint32_t i = 0; i < now->list_count; i++) {
        if (now->list[i].kind == kind && nth-- == 0) {
            panel_of(view)->current = i;
            return;
        }
    }
}

const struct view_pane view_findings_pane = {.name = "Findings",
                                             .state_bytes = sizeof(struct panel),
                                             .init = init,
                                             .finish = finish,
                                             .restore = restore,
                                             .draw = draw,
                                             .list = &list,
                                             .bindings = bindings};
