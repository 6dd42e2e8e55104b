/* SPDX-License-Identifier: Apache-2.0 */
/* The panel of findings: which is the current one, and in which order they stand. */
#include "hal/base/mem.h"
#include "viewer/ui/job.h"
#include "viewer/ui/panes.h"

static void choose(struct view *view, size_t index);
static void sort_list(struct view *view);

static enum hal_status look(const struct view_model *model, void *work, struct view_task *task)
{
    return view_findings_look(model, task, work);
}

static void destroy(void *work)
{
    view_findings_finish(work);
    free(work);
}

static void take(struct view *view, void *work)
{
    struct view_findings *found = work;
    view->findings = *found;
    free(found);
    if (view->findings_by)
        sort_list(view);
    if (view->awaits_finding && view->findings.list_count) {
        view->message[0] = '\0';
        choose(view, 0);
    }
    view->awaits_finding = false;
}

static void give_up(struct view *view, const void *work)
{
    (void)work;
    view->awaits_finding = view->has_findings = false;
}

static const struct view_job_type type = {.kind = VIEW_JOB_FINDINGS,
                                          .name = "findings",
                                          .always_aside = true,
                                          .run = look,
                                          .take = take,
                                          .give_up = give_up,
                                          .destroy = destroy};

/* Looks for them the first time that they are asked for: there are none before that is done. */
static const struct view_findings *findings_of(struct view *view)
{
    if (view->has_findings || view->given_up[VIEW_JOB_FINDINGS])
        return &view->findings;
    struct view_findings *found = hal_alloc(1, sizeof *found);
    view->has_findings = true;
    if (found)
        view_job_start(view, &type, found, view_job_whole(view));
    else
        view_say(view, "no memory for findings");
    return &view->findings;
}

enum trace_verdict view_barrier_verdict(struct view *view, uint32_t commands, uint32_t segment)
{
    enum { CHEAP = 300000 }; /* segments: looked at without being asked */
    if (!view->has_findings && trace_reader_counts(view->model->reader)->segments > CHEAP)
        return TRACE_BARRIER_NEEDED;
    return view_findings_verdict(findings_of(view), commands, segment);
}

const struct view_finding *view_current_finding(struct view *view)
{
    const struct view_findings *findings = findings_of(view);
    return view->finding < findings->list_count ? &findings->list[view->finding] : NULL;
}

static size_t count(struct view *view)
{
    return findings_of(view)->list_count;
}

static size_t current(struct view *view)
{
    return view->finding < findings_of(view)->list_count ? view->finding : SIZE_MAX;
}

static void choose(struct view *view, size_t index)
{
    const struct view_finding *finding = &findings_of(view)->list[index];
    view->finding = index;
    if (finding->lane != VIEW_NO_LANE)
        view_select(view, finding->lane, finding->event);
    else if (finding->at_ns != VIEW_NO_TIME)
        view_reveal(view, finding->at_ns, VIEW_KEY_NONE);
}

/* The current one is marked, and scrolled to. */
static void draw(struct view *view, struct view_area area)
{
    const struct view_findings *findings = findings_of(view);
    struct view_lines lines = {0};
    size_t current = SIZE_MAX;
    for (size_t i = 0; i < findings->list_count; i++) {
        if (i == view->finding)
            current = lines.count;
        view_finding_lines(view->model, &findings->list[i], i == view->finding ? "›" : "", &lines);
    }
    if (!findings->list_count) {
        char why[160] = "none: nothing here is slow, wrong or redundant";
        view_job_missing(view, VIEW_JOB_FINDINGS, why, sizeof why);
        view_lines_add(&lines, "", "%s", why);
    }
    if (current != SIZE_MAX)
        view_scroll_to_line(view, area, &lines, current);
    view_draw_lines(view, area, &lines);
    view_lines_finish(&lines);
}

static const struct view_list list = {.count = count, .current = current, .select = choose};

void view_next_finding(struct view *view)
{
    view->given_up[VIEW_JOB_FINDINGS] = false;
    const size_t all = count(view);
    view->panel = VIEW_PANEL_FINDINGS;
    if (!all) {
        view->awaits_finding = view_job_runs(view, VIEW_JOB_FINDINGS);
        view_say(view, "%s",
                 view->awaits_finding
                     ? "findings are being looked for; the first one comes to you, unless "
                       "you go on meanwhile"
                     : "nothing was found");
        return;
    }
    choose(view, current(view) == SIZE_MAX ? 0 : (view->finding + 1) % all);
}

/* ---- Order -------------------------------------------------------------------------------- */

enum { BY_RANK, BY_COST, BY_COUNT, BY_PLACE, ORDERS };

static int compare_ranks(const void *left, const void *right)
{
    const struct view_finding *a = left, *b = right;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static int compare_costs(const void *left, const void *right)
{
    const struct view_finding *a = left, *b = right; /* without cost: VIEW_NO_TIME is least */
    return a->cost_ns != b->cost_ns ? (a->cost_ns > b->cost_ns ? -1 : 1) : compare_ranks(a, b);
}

static int compare_counts(const void *left, const void *right)
{
    const struct view_finding *a = left, *b = right;
    return a->count != b->count ? (a->count > b->count ? -1 : 1) : compare_ranks(a, b);
}

static int compare_places(const void *left, const void *right)
{
    const struct view_finding *a = left, *b = right;
    return a->at_ns != b->at_ns ? (a->at_ns < b->at_ns ? -1 : 1) : compare_ranks(a, b);
}

static const struct {
    const char *name;
    int (*compare)(const void *left, const void *right);
} orders[ORDERS] = {{"what to do first", compare_ranks},
                    {"cost", compare_costs},
                    {"number of things", compare_counts},
                    {"place in time", compare_places}};

/* The current one stays the current one. */
static void sort_list(struct view *view)
{
    struct view_findings *all = &view->findings;
    const uint32_t rank =
        view->finding < all->list_count ? all->list[view->finding].rank : VIEW_NO_REF;
    if (all->list_count)
        qsort(all->list, all->list_count, sizeof *all->list, orders[view->findings_by].compare);
    for (size_t i = 0; i < all->list_count; i++) {
        if (all->list[i].rank == rank) {
            view->finding = i;
            break;
        }
    }
}

static void sort(struct view *view, int key)
{
    (void)key;
    if (!count(view)) {
        char why[160] = "there are no findings to sort";
        view_job_missing(view, VIEW_JOB_FINDINGS, why, sizeof why);
        view_say(view, "%s", why);
        return;
    }
    view->findings_by = (view->findings_by + 1) % ORDERS;
    sort_list(view);
    view_say(view, "findings by %s", orders[view->findings_by].name);
}

static const struct view_binding bindings[] = {
    {'S', VIEW_KEY_NONE, "S", "sort by what to do first, cost, number, place", sort},
    {0, 0, NULL, NULL, NULL},
};

/* The current one is one of the same kind, as many before it as there were. */
static void restore(struct view *view, const struct view *old)
{
    const struct view_findings *before = &old->findings, *now;
    size_t nth = 0;
    if (view->findings_by != old->findings_by) {
        view->findings_by = old->findings_by;
        sort_list(view);
    }
    if (!old->has_findings || old->finding >= before->list_count) {
        if (old->has_findings)
            (void)findings_of(view);
        return;
    }
    now = findings_of(view);
    const enum view_finding_kind kind = before->list[old->finding].kind;
    for (size_t i = 0; i < old->finding; i++)
        nth += before->list[i].kind == kind;
    for (size_t i = 0; i < now->list_count; i++) {
        if (now->list[i].kind == kind && nth-- == 0) {
            view->finding = i;
            return;
        }
    }
}

const struct view_pane view_findings_pane = {
    .name = "Findings", .restore = restore, .draw = draw, .list = &list, .bindings = bindings};
