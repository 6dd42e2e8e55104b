/* SPDX-License-Identifier: Apache-2.0 */
/* The list of findings and its order. */
#include "viewer/findings/findings.h"

#include "hal/base/order.h"
#include "viewer/describe/describe.h"
#include "viewer/text/text.h"

#include <stdlib.h>
#include <string.h>

const char *const view_finding_names[VIEW_FINDING_KIND_COUNT] = {
    [VIEW_FINDING_FAILURES] = "failures",
    [VIEW_FINDING_CALLS] = "failed-calls",
    [VIEW_FINDING_RACES] = "races",
    [VIEW_FINDING_POSSIBLE_RACES] = "possible-races",
    [VIEW_FINDING_SYNCS] = "host-syncs",
    [VIEW_FINDING_SUBMISSIONS] = "submissions",
    [VIEW_FINDING_IDLE] = "idle",
    [VIEW_FINDING_TINY] = "tiny-submissions",
    [VIEW_FINDING_DISPATCHES] = "tiny-dispatches",
    [VIEW_FINDING_ORDERED] = "barrier-gaps",
    [VIEW_FINDING_DEAD] = "dead-work",
    [VIEW_FINDING_UNREAD] = "unread-uploads",
    [VIEW_FINDING_PATH] = "critical-path",
    [VIEW_FINDING_BARRIERS] = "barriers",
    [VIEW_FINDING_STATE] = "redundant-state",
    [VIEW_FINDING_UPLOADS] = "repeated-uploads",
    [VIEW_FINDING_MEMORY] = "memory",
};

/* ---- The list ------------------------------------------------------------------------------ */

/* What is wrong, then what can change, then idle time, where changes show, then what costs none. */
static int rank(const struct view_finding *finding)
{
    switch (finding->kind) {
    case VIEW_FINDING_FAILURES:
    case VIEW_FINDING_CALLS:
    case VIEW_FINDING_RACES: return 0;
    case VIEW_FINDING_POSSIBLE_RACES:
    case VIEW_FINDING_SYNCS:
    case VIEW_FINDING_SUBMISSIONS:
    case VIEW_FINDING_DEAD:
    case VIEW_FINDING_UNREAD:
    case VIEW_FINDING_UPLOADS: return 1;
    case VIEW_FINDING_TINY:
    case VIEW_FINDING_DISPATCHES:
    case VIEW_FINDING_ORDERED:
    case VIEW_FINDING_IDLE: return 2;
    case VIEW_FINDING_BARRIERS:
    case VIEW_FINDING_STATE:
    case VIEW_FINDING_PATH:
    case VIEW_FINDING_MEMORY:
    case VIEW_FINDING_KIND_COUNT: break;
    }
    return 3;
}

static int compare(const void *left, const void *right)
{
    const struct view_finding *a = left, *b = right;
    if (rank(a) != rank(b))
        return rank(a) - rank(b);
    if (a->cost_ns != b->cost_ns)
        return a->cost_ns > b->cost_ns ? -1 : 1;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

HAL_COMPARE_2(compare_verdicts, struct view_verdict, commands, segment)

enum trace_barrier_need view_findings_barrier_need(const struct view_findings *findings,
                                                   uint32_t commands, uint32_t segment)
{
    const struct view_verdict wanted = {.commands = commands, .segment = segment};
    const struct view_verdict *found =
        findings->verdicts_count ? bsearch(&wanted, findings->verdicts, findings->verdicts_count,
                                           sizeof wanted, compare_verdicts)
                                 : NULL;
    return found ? (enum trace_barrier_need)found->need : TRACE_BARRIER_NEEDED;
}

enum hal_status view_findings_find(const struct view_model *model,
                                   struct view_findings *out_findings)
{
    return view_findings_look(model, NULL, out_findings);
}

/* The parts are as long as they were measured to be, in thousandths. */
enum hal_status view_findings_look(const struct view_model *model, struct view_task *task,
                                   struct view_findings *out_findings)
{
    enum { TIMING_END = 150, DISPATCHES_END = 180, AUDIT_END = 450 };
    *out_findings = (struct view_findings){.task = task};
    view_task_part(task, 0, TIMING_END);
    enum hal_status status = view_findings_failures(model, out_findings);
    if (status == HAL_OK)
        status = view_findings_timing(model, out_findings);
    view_task_part(task, TIMING_END, DISPATCHES_END);
    if (status == HAL_OK)
        status = view_findings_dispatches(model, out_findings);
    view_task_part(task, DISPATCHES_END, AUDIT_END);
    if (status == HAL_OK)
        status = view_findings_audit(model, out_findings);
    if (status == HAL_OK)
        status = view_findings_usage(model, AUDIT_END, out_findings);
    out_findings->task = NULL;
    for (size_t i = 0; i < out_findings->list_count; i++) {
        struct view_finding *f = &out_findings->list[i];
        if (!*f->locator && f->at_ns != VIEW_NO_TIME) /* a moment, if it is about nothing else */
            snprintf(f->locator, sizeof f->locator, "%s", hal_moment_text(f->at_ns).text);
    }
    if (status != HAL_OK)
        view_findings_finish(out_findings);
    else if (out_findings->list_count)
        qsort(out_findings->list, out_findings->list_count, sizeof *out_findings->list, compare);
    if (status == HAL_OK && out_findings->verdicts_count)
        qsort(out_findings->verdicts, out_findings->verdicts_count, sizeof *out_findings->verdicts,
              compare_verdicts);
    return status;
}

void view_findings_finish(struct view_findings *findings)
{
    free(findings->list);
    free(findings->verdicts);
    *findings = (struct view_findings){0};
}

const char *view_finding_command(const struct view_model *model, const struct view_finding *finding,
                                 char *out, size_t bytes)
{
    snprintf(out, bytes, "%s%s", finding->proof, *finding->proof ? " " : "");
    if (*finding->proof)
        view_add_file(out, bytes, model->path);
    return out;
}

void view_finding_lines(const struct view_model *model, const struct view_finding *finding,
                        const char *mark, struct view_lines *lines)
{
    const bool costs = finding->cost_ns != VIEW_NO_TIME;
    const int columns = 10 - view_text_columns(mark);
    char cost[80], command[1024];
    const int length =
        snprintf(cost, sizeof cost, "%s%s", mark,
                 view_right(costs ? hal_duration_text(finding->cost_ns).text : "-", columns).text);
    if (costs)
        snprintf(cost + length, sizeof cost - (size_t)length, " %5.1f %%",
                 100 * view_finding_share(model, finding));
    view_lines_add(lines, cost, "%s%s%s", finding->title, *finding->locator ? ", see " : "",
                   finding->locator);
    view_lines_add(lines, "", "%s", finding->evidence);
    if (*finding->proof)
        view_lines_add(lines, "", VIEW_PROOF "%s",
                       view_finding_command(model, finding, command, sizeof command));
}
