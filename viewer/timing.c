/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about when things happened: waits that nothing depends on, idle time, submissions that
 * are too small. */
#include "viewer/findings.h"

#include "viewer/describe.h"
#include "viewer/path.h"
#include "viewer/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Most of a submission's life: what an engineer would call its overhead. */
enum { TINY_NS = 20000 };

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for the findings");
}

/* ---- Host synchronisations ---------------------------------------------------------------- */

struct waste {
    uint64_t waits, needed, submissions;
    int64_t cost_ns, worst_ns;
    uint32_t worst; /* call */
};

/* Whether the host touched a buffer's contents in the range of time: what it waited for. */
static bool host_used_contents(const struct view_model *m, uint32_t host, int64_t begin_ns,
                               int64_t end_ns)
{
    if (m->transfer_lane == VIEW_NO_LANE)
        return false;
    const struct view_lane *lane = &m->lanes[m->transfer_lane];
    for (size_t i = view_spans_before(&lane->events, begin_ns);
         i < lane->events.count && view_spans_at(&lane->events, i).begin_ns < end_ns; i++) {
        const struct view_transfer *transfer = &m->transfers[view_spans_at(&lane->events, i).ref];
        if (transfer->host == host && transfer->class != VIEW_OBSERVED)
            return true;
    }
    return false;
}

/* What a round trip cost beyond the work itself: from the submit call to the wait's return, less
 * the execution in between. Without the wait, this work would follow the one before directly. */
static int64_t round_trip(const struct view_model *m, const struct view_call *wait,
                          uint32_t submission)
{
    const struct view_submission *s = &m->submissions[submission];
    if (s->call == VIEW_NO_REF || s->begin_ns == VIEW_NO_TIME ||
        m->calls[s->call].host != wait->host || view_submit_ns(m, s) > wait->begin_ns)
        return wait->end_ns - wait->begin_ns; /* it waits for others: only the wait is its own */
    const int64_t end_ns = s->end_ns < wait->end_ns ? s->end_ns : wait->end_ns;
    const int64_t executed_ns = end_ns > s->begin_ns ? end_ns - s->begin_ns : 0;
    return wait->end_ns - view_submit_ns(m, s) - executed_ns;
}

/* Calls that a larger command buffer would do with one of. */
static int64_t own_calls(const struct view_model *m, uint32_t submission)
{
    const struct view_submission *s = &m->submissions[submission];
    int64_t ns = 0;
    for (uint32_t k = 0; k < s->commands_count; k++) {
        const struct view_command_buffer *c =
            &m->command_buffers[m->submitted[s->first_commands + k]];
        ns += c->is_reusable ? 0 : c->calls_ns;
    }
    return ns;
}

static void judge_wait(const struct view_model *m, uint32_t call, int64_t next_submit_ns,
                       struct waste *waste)
{
    const struct view_call *wait = &m->calls[call];
    const uint32_t submission = view_path_awaited(m, wait);
    waste->waits++;
    if (submission == VIEW_NO_REF || next_submit_ns == VIEW_NO_TIME ||
        host_used_contents(m, wait->host, wait->end_ns, next_submit_ns)) {
        waste->needed++;
        return;
    }
    const int64_t cost_ns = round_trip(m, wait, submission) + own_calls(m, submission);
    waste->submissions++;
    waste->cost_ns += cost_ns;
    if (cost_ns > waste->worst_ns || waste->worst == VIEW_NO_REF) {
        waste->worst_ns = cost_ns;
        waste->worst = call;
    }
}

/* Backwards, so that the next submission of the thread is known. */
static void judge_host(const struct view_model *m, const struct view_lane *lane,
                       const struct view_task *task, struct waste *waste)
{
    int64_t next_submit_ns = VIEW_NO_TIME;
    for (size_t i = lane->events.count; i-- > 0 && !view_task_stopped(task);) {
        const struct view_span made = view_spans_at(&lane->events, i), *event = &made;
        if (event->class == VIEW_SUBMIT)
            next_submit_ns = event->begin_ns;
        else if (event->class == VIEW_WAIT && view_call_is_sync(m, &m->calls[event->ref]) &&
                 m->calls[event->ref].status == HAL_OK)
            judge_wait(m, event->ref, next_submit_ns, waste);
    }
}

/* "17 per 'token #'" when the program named its iterations. */
static void per_iteration(const struct view_model *m, uint64_t things, char *out, size_t bytes)
{
    *out = '\0';
    if (m->families_count && m->families[0].count > 1)
        snprintf(out, bytes, ", %s per '%s'", view_ratio(things, m->families[0].count).text,
                 m->families[0].name);
}

static enum hal_status find_syncs(const struct view_model *m, struct view_findings *findings)
{
    struct waste waste = {.worst = VIEW_NO_REF};
    char each[128];
    for (size_t i = 0; i < m->lanes_count; i++) {
        if (m->lanes[i].kind == VIEW_LANE_HOST)
            judge_host(m, &m->lanes[i], findings->task, &waste);
    }
    if (!waste.submissions)
        return HAL_OK;
    struct view_finding *finding = view_findings_add(findings, VIEW_FINDING_SYNCS);
    if (!finding)
        return no_memory();
    per_iteration(m, waste.submissions, each, sizeof each);
    finding->count = waste.submissions;
    finding->cost_ns = waste.cost_ns;
    view_finding_at_call(m, waste.worst, finding);
    snprintf(finding->title, sizeof finding->title, "%s that nothing needs%s",
             view_things(waste.submissions, "host wait").text, each);
    snprintf(finding->evidence, sizeof finding->evidence,
             "Of %s, %s are followed by a read or a write of contents; after the others the "
             "thread only submits more work, which a semaphore or one command buffer could order. "
             "Making a command buffer, submitting, starting and waking took %s each.",
             view_things(waste.waits, "wait").text, view_count(waste.needed).text,
             view_time(waste.cost_ns / (int64_t)waste.submissions).text);
    snprintf(finding->proof, sizeof finding->proof, "hal-replay --what-if=drop-host-waits");
    return HAL_OK;
}

/* ---- Submissions -------------------------------------------------------------------------- */

/* Pairs of neighbours that one thread submitted to one queue without anything in between: the
 * second one could have been part of the first. */
static enum hal_status find_mergeable(const struct view_model *m, struct view_findings *findings)
{
    uint64_t count = 0;
    int64_t cost_ns = 0;
    uint32_t example = VIEW_NO_REF;
    char each[128];
    for (size_t i = 0; i < m->lanes_count; i++) {
        const struct view_lane *lane = &m->lanes[i];
        const struct view_submission *last = NULL;
        for (size_t k = 0; lane->kind == VIEW_LANE_HOST && k < lane->events.count &&
                           !view_task_stopped(findings->task);
             k++) {
            const struct view_span made = view_spans_at(&lane->events, k), *event = &made;
            const uint32_t index =
                event->class == VIEW_SUBMIT ? m->calls[event->ref].object : VIEW_NO_REF;
            if (event->class == VIEW_WAIT || event->class == VIEW_QUERY)
                last = NULL;
            if (index == VIEW_NO_REF)
                continue;
            const struct view_submission *s = &m->submissions[index];
            if (last && last->queue == s->queue && s->commands_count &&
                !host_used_contents(m, (uint32_t)lane->object, view_submit_ns(m, last),
                                    view_submit_ns(m, s))) {
                count++;
                cost_ns += view_submit_end_ns(m, s) - view_submit_ns(m, s);
                example = example == VIEW_NO_REF ? index : example;
            }
            last = s;
        }
    }
    if (count < 2)
        return HAL_OK;
    struct view_finding *finding = view_findings_add(findings, VIEW_FINDING_SUBMISSIONS);
    if (!finding)
        return no_memory();
    per_iteration(m, count, each, sizeof each);
    finding->count = count;
    finding->cost_ns = cost_ns;
    view_finding_at_submission(m, example, finding);
    snprintf(finding->title, sizeof finding->title,
             "%s submissions could be part of the one before%s", view_count(count).text, each);
    snprintf(finding->evidence, sizeof finding->evidence,
             "The thread submitted to the same queue just before and did nothing else in between; "
             "the submit calls alone took %s.",
             view_time(cost_ns).text);
    snprintf(finding->proof, sizeof finding->proof, "hal-replay --what-if=coalesce-submissions");
    return HAL_OK;
}

static enum hal_status find_tiny(const struct view_model *m, struct view_findings *findings)
{
    uint64_t count = 0;
    int64_t executed_ns = 0, waited_ns = 0;
    uint32_t example = VIEW_NO_REF;
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        if (s->begin_ns == VIEW_NO_TIME || view_submit_ns(m, s) == VIEW_NO_TIME ||
            !s->dispatch_count)
            continue;
        const int64_t from_ns = s->ready_ns != VIEW_NO_TIME ? s->ready_ns : view_submit_ns(m, s);
        const int64_t launch_ns = s->begin_ns > from_ns ? s->begin_ns - from_ns : 0;
        if (s->end_ns - s->begin_ns >= TINY_NS || s->end_ns - s->begin_ns >= launch_ns)
            continue;
        count++;
        executed_ns += s->end_ns - s->begin_ns;
        waited_ns += launch_ns;
        example = example == VIEW_NO_REF ? i : example;
    }
    if (!count || count * 10 < m->submissions_count)
        return HAL_OK;
    struct view_finding *finding = view_findings_add(findings, VIEW_FINDING_TINY);
    if (!finding)
        return no_memory();
    finding->count = count;
    finding->cost_ns = waited_ns;
    view_finding_at_submission(m, example, finding);
    snprintf(finding->title, sizeof finding->title, "%s: shorter than what it takes to start them",
             view_things(count, "submission").text);
    snprintf(finding->evidence, sizeof finding->evidence,
             "They ran for %s on average and had been ready for %s before that.",
             view_time(executed_ns / (int64_t)count).text,
             view_time(waited_ns / (int64_t)count).text);
    snprintf(finding->proof, sizeof finding->proof,
             "hal-replay --what-if=drop-host-waits,coalesce-submissions");
    return HAL_OK;
}

/* ---- Idle time ---------------------------------------------------------------------------- */

/* The gap with the longest part of that cause, how long that part is, how many gaps have one. */
static uint32_t longest_gap(const struct view_model *m, enum view_class cause,
                            const struct view_task *task, int64_t *out_ns, uint64_t *out_count)
{
    uint32_t longest = VIEW_NO_REF;
    int64_t longest_ns = 0;
    *out_count = 0;
    for (uint32_t i = 0; i < m->gaps_count && !view_task_stopped(task); i++) {
        int64_t causes_ns[VIEW_GAP_COUNT];
        view_gap_causes(m, &m->gaps[i], causes_ns);
        const int64_t ns = causes_ns[cause - VIEW_GAP_HOST];
        *out_count += ns > 0;
        if (ns > longest_ns) {
            longest_ns = ns;
            longest = i;
        }
    }
    *out_ns = longest_ns;
    return longest;
}

static enum hal_status find_idle(const struct view_model *m, enum view_class cause,
                                 struct view_findings *findings)
{
    static const char *const reasons[] = {
        "nothing was submitted: the host was late",
        "nothing was submitted: the host wrote into buffers",
        "work was queued; why it did not run is not known",
        "queued work waited for a semaphore",
        "work could have run and was not started yet",
    };
    const size_t c = (size_t)(cause - VIEW_GAP_HOST);
    const struct view_tally *gaps = &m->summary.gaps[c];
    int64_t part_ns;
    uint64_t count;
    const uint32_t longest = longest_gap(m, cause, findings->task, &part_ns, &count);
    const int64_t span_ns = m->summary.device_end_ns - m->summary.device_begin_ns;
    if (longest == VIEW_NO_REF || gaps->ns <= span_ns / 1000)
        return HAL_OK; /* nobody's concern */
    struct view_finding *finding = view_findings_add(findings, VIEW_FINDING_IDLE);
    if (!finding)
        return no_memory();
    const struct view_gap *gap = &m->gaps[longest];
    char host[200], before[64] = "";
    view_describe_host(m, gap, host, sizeof host);
    finding->count = count;
    finding->cost_ns = gaps->ns;
    finding->at_ns = gap->begin_ns;
    finding->lane = m->gap_lane;
    finding->event = longest;
    if (gap->after != VIEW_NO_REF) { /* else several began at the same moment */
        snprintf(finding->locator, sizeof finding->locator, "#s%" PRIu64,
                 m->submissions[gap->after].number);
        snprintf(before, sizeof before, " before %s", finding->locator);
    } else {
        const struct view_lane *lane = &m->lanes[m->gap_lane];
        const struct view_span event = view_spans_at(&lane->events, longest);
        view_span_locator(m, lane, &event, finding->locator, sizeof finding->locator);
    }
    snprintf(finding->title, sizeof finding->title, "the device is idle: %s", reasons[c]);
    snprintf(finding->evidence, sizeof finding->evidence, "%s, the longest %s%s%s%s.",
             view_things(count, "gap").text, view_time(part_ns).text, before,
             *host ? "; meanwhile the host: " : "", host);
    snprintf(finding->proof, sizeof finding->proof, "hal-view --print=gaps");
    return HAL_OK;
}

/* ---- The critical path -------------------------------------------------------------------- */

static enum hal_status find_path(const struct view_model *m, struct view_findings *findings)
{
    struct view_path path;
    HAL_TRY(view_path_find(m, findings->task, &path));
    const uint32_t longest = path.longest[VIEW_PATH_HOST] != VIEW_NO_REF
                                 ? path.longest[VIEW_PATH_HOST]
                                 : path.longest[VIEW_PATH_DEVICE];
    struct view_finding *finding =
        longest == VIEW_NO_REF ? NULL : view_findings_add(findings, VIEW_FINDING_PATH);
    if (!finding) {
        view_path_finish(&path);
        return longest == VIEW_NO_REF ? HAL_OK : no_memory();
    }
    char text[160];
    const struct view_path_part *part = &path.parts[longest];
    finding->count = path.parts_count;
    finding->at_ns = part->begin_ns;
    snprintf(finding->locator, sizeof finding->locator, "@%.9fs", (double)part->begin_ns / 1e9);
    view_path_text(&path, text, sizeof text);
    snprintf(finding->title, sizeof finding->title, "what the end waited for: %s", text);
    snprintf(finding->evidence, sizeof finding->evidence,
             "The critical path has %s; the longest one of the %s took %s. Only what is on it can "
             "make the whole faster.",
             view_things(path.parts_count, "part").text, view_path_names[part->kind],
             view_time(part->end_ns - part->begin_ns).text);
    snprintf(finding->proof, sizeof finding->proof, "hal-view --keys=c");
    view_path_finish(&path);
    return HAL_OK;
}

enum hal_status view_findings_timing(const struct view_model *model, struct view_findings *findings)
{
    static enum hal_status (*const parts[])(const struct view_model *, struct view_findings *) = {
        find_syncs, find_mergeable, find_tiny, find_path};
    enum { PARTS = sizeof parts / sizeof *parts };
    struct view_task *task = findings->task;
    const unsigned first = task ? task->first : 0, share = task ? task->share : 0;
    for (unsigned i = 0; i < PARTS; i++) {
        HAL_TRY(view_task_check(task));
        view_task_part(task, first + share * i / (PARTS + 1),
                       first + share * (i + 1) / (PARTS + 1));
        HAL_TRY(parts[i](model, findings));
    }
    for (int cause = VIEW_GAP_HOST; cause <= VIEW_GAP_LAUNCH; cause++)
        HAL_TRY(find_idle(model, (enum view_class)cause, findings));
    return view_task_check(findings->task);
}
