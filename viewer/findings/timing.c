/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about when things happened: waits that nothing depends on, idle time, submissions that
 * are too small. */
#include "viewer/findings/findings.h"

#include "format/analysis/statistics.h"
#include "hal/base/mem.h"
#include "hal/base/order.h"
#include "viewer/describe/describe.h"
#include "viewer/model/build.h"
#include "viewer/model/path.h"
#include "viewer/text/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Most of a submission's life: what an engineer would call its overhead. */
enum { TINY_NS = 20000 };

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for the findings");
}

/* ---- Idle stretches ------------------------------------------------------------------------ */

/* A time in which the device might have worked, for at most so long. */
struct stretch {
    int64_t begin_ns, end_ns, most_ns;
    uint32_t ref; /* whose it is */
};

struct stretches {
    VIEW_TABLE(stretch, list);
};

static enum hal_status add_stretch(struct stretches *s, struct stretch stretch)
{
    HAL_TRY(VIEW_ROOM(s, list, 1));
    s->list[s->list_count++] = stretch;
    return HAL_OK;
}

/* What the stretches have in them, no moment counted twice. */
struct idleness {
    int64_t idle_ns;  /* without what interrupted a few of them */
    int64_t whole_ns; /* the most that it may be */
    uint32_t longest; /* owner of the one with the most idle time; VIEW_NO_REF: none */
};

HAL_COMPARE_2(compare_stretches, struct stretch, begin_ns, ref)

static int64_t idle_between(const struct view_model *m, int64_t begin_ns, int64_t end_ns)
{
    struct view_measure measure = {0};
    if (m->device_track != VIEW_NO_TRACK)
        view_series_measure(&m->tracks[m->device_track].series, begin_ns, end_ns, &measure);
    return end_ns - begin_ns - measure.busy_ns[VIEW_EXECUTE];
}

/* Sorts the stretches. */
static enum hal_status measure_idleness(const struct view_model *m, struct stretches *s,
                                        struct idleness *out)
{
    int64_t *idle_ns = hal_alloc(s->list_count, sizeof *idle_ns);
    int64_t end_ns = INT64_MIN, longest_ns = -1;
    *out = (struct idleness){.longest = VIEW_NO_REF};
    if (!idle_ns)
        return no_memory();
    if (s->list_count)
        qsort(s->list, s->list_count, sizeof *s->list, compare_stretches);
    for (size_t i = 0; i < s->list_count; i++) {
        const struct stretch *each = &s->list[i];
        const int64_t begin_ns = each->begin_ns > end_ns ? each->begin_ns : end_ns;
        if (each->end_ns <= begin_ns)
            continue;
        end_ns = each->end_ns;
        idle_ns[i] = hal_min_i64(idle_between(m, begin_ns, end_ns), each->most_ns);
        out->whole_ns += hal_min_i64(end_ns - begin_ns, each->most_ns);
        if (idle_ns[i] > longest_ns) {
            longest_ns = idle_ns[i];
            out->longest = each->ref;
        }
    }
    out->idle_ns = trace_sum_within_fence(idle_ns, s->list_count);
    free(idle_ns);
    return HAL_OK;
}

/* ---- Host synchronisations ---------------------------------------------------------------- */

struct waste {
    struct stretches needless; /* of calls that wait */
    uint64_t waits, needed;
    bool shares; /* the device's processors are those of the host */
};

/* Whether the host touched a buffer's contents in the range of time: what it waited for. */
static bool host_used_contents(const struct view_model *m, uint32_t host, int64_t begin_ns,
                               int64_t end_ns)
{
    if (m->transfer_track == VIEW_NO_TRACK)
        return false;
    const struct view_track *track = &m->tracks[m->transfer_track];
    for (size_t i = view_spans_before(&track->events, begin_ns);
         i < track->events.count && view_spans_at(&track->events, i).begin_ns < end_ns; i++) {
        const struct view_transfer *transfer = &m->transfers[view_spans_at(&track->events, i).ref];
        if (transfer->host == host && transfer->class != VIEW_OBSERVED)
            return true;
    }
    return false;
}

/* What the thread submits next. */
struct next_submit {
    int64_t submit_ns, begin_ns; /* VIEW_NO_TIME: none; it did not run */
};

/* Without the wait the thread continues immediately. That saves at most the time waited, and at
 * most the device's idle time until it begins the next work; if the thread and the device share
 * processors, at most the idle time during the wait: the thread's own work takes as long as before,
 * and no processor is free for it while the device works. */
static enum hal_status add_wait(const struct view_model *m, uint32_t call,
                                const struct next_submit *next, struct waste *waste)
{
    const struct view_call *wait = &m->calls[call];
    struct stretch idle = {wait->begin_ns, wait->end_ns, wait->end_ns - wait->begin_ns, call};
    waste->waits++;
    if (view_path_awaited(m, wait) == VIEW_NO_REF || next->submit_ns == VIEW_NO_TIME ||
        host_used_contents(m, wait->host, wait->end_ns, next->submit_ns)) {
        waste->needed++;
        return HAL_OK;
    }
    if (!waste->shares && next->begin_ns != VIEW_NO_TIME && next->begin_ns > idle.end_ns)
        idle.end_ns = next->begin_ns;
    return add_stretch(&waste->needless, idle);
}

/* Backwards, so that the next submission of the thread is known. */
static enum hal_status add_waits(const struct view_model *m, const struct view_track *track,
                                 const struct view_task *task, struct waste *waste)
{
    struct next_submit next = {VIEW_NO_TIME, VIEW_NO_TIME};
    for (size_t i = track->events.count; i-- > 0 && !view_task_stopped(task);) {
        const struct view_span made = view_spans_at(&track->events, i), *event = &made;
        if (event->class == VIEW_SUBMIT) {
            const uint32_t submission = m->calls[event->ref].object;
            next.submit_ns = event->begin_ns;
            next.begin_ns =
                submission == VIEW_NO_REF ? VIEW_NO_TIME : m->submissions[submission].begin_ns;
        } else if (event->class == VIEW_WAIT && view_call_is_sync(m, &m->calls[event->ref]) &&
                   m->calls[event->ref].status == HAL_OK) {
            HAL_TRY(add_wait(m, event->ref, &next, waste));
        }
    }
    return HAL_OK;
}

/* "17 per 'token #'" when the program named its iterations. */
static void per_iteration(const struct view_model *m, uint64_t things, char *out, size_t bytes)
{
    *out = '\0';
    if (m->families_count && m->families[0].count > 1)
        snprintf(out, bytes, ", %s per '%s'", view_ratio(things, m->families[0].count).text,
                 m->families[0].name);
}

static enum hal_status report_syncs(const struct view_model *m, struct waste *waste,
                                    struct view_findings *findings)
{
    struct idleness idleness;
    char each[128];
    const uint64_t count = waste->needless.list_count;
    if (!count)
        return HAL_OK;
    HAL_TRY(measure_idleness(m, &waste->needless, &idleness));
    if (idleness.longest == VIEW_NO_REF)
        return HAL_OK;
    struct view_finding *finding = view_findings_add(findings, VIEW_FINDING_SYNCS);
    if (!finding)
        return no_memory();
    per_iteration(m, count, each, sizeof each);
    finding->count = count;
    view_finding_cost(m, idleness.idle_ns, idleness.whole_ns, finding);
    view_finding_at_call(m, idleness.longest, finding);
    snprintf(finding->title, sizeof finding->title, "%s that could be dropped%s",
             view_things(count, "host wait").text, each);
    snprintf(finding->evidence, sizeof finding->evidence,
             "Of %s, %s are followed by a read or a write of contents; after the others, which "
             "took %s, the thread only submits more work, which a semaphore or one command buffer "
             "could order. Dropping one of them saves %s.",
             view_things(waste->waits, "wait").text, view_count(waste->needed).text,
             hal_duration_text(idleness.whole_ns).text,
             hal_duration_text(finding->cost_ns / (int64_t)count).text);
    snprintf(finding->proof, sizeof finding->proof, "hal-replay --what-if=drop-host-waits");
    return HAL_OK;
}

static enum hal_status find_syncs(const struct view_model *m, struct view_findings *findings)
{
    struct waste waste = {.shares = strncmp(m->header->device.uri, "cpu", 3) == 0};
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < m->tracks_count && status == HAL_OK; i++) {
        if (m->tracks[i].kind == VIEW_TRACK_HOST)
            status = add_waits(m, &m->tracks[i], findings->task, &waste);
    }
    if (status == HAL_OK)
        status = report_syncs(m, &waste, findings);
    free(waste.needless.list);
    return status;
}

/* ---- Submissions -------------------------------------------------------------------------- */

/* For one thread: neighbours submitted to one queue without anything in between, the second of
 * which could have been part of the first. */
static enum hal_status find_neighbours(const struct view_model *m, const struct view_track *track,
                                       const struct view_task *task, struct stretches *out)
{
    const struct view_submission *last = NULL;
    for (size_t k = 0; k < track->events.count && !view_task_stopped(task); k++) {
        const struct view_span made = view_spans_at(&track->events, k), *event = &made;
        const uint32_t index =
            event->class == VIEW_SUBMIT ? m->calls[event->ref].object : VIEW_NO_REF;
        if (event->class == VIEW_WAIT || event->class == VIEW_QUERY)
            last = NULL;
        if (index == VIEW_NO_REF)
            continue;
        const struct view_submission *s = &m->submissions[index];
        if (last && last->queue == s->queue && s->commands_count &&
            !host_used_contents(m, (uint32_t)track->object, view_submit_ns(m, last),
                                view_submit_ns(m, s)))
            HAL_TRY(add_stretch(out, (struct stretch){view_submit_ns(m, s),
                                                      view_submit_end_ns(m, s), INT64_MAX, index}));
        last = s;
    }
    return HAL_OK;
}

static enum hal_status report_mergeable(const struct view_model *m, const struct stretches *submits,
                                        struct view_findings *findings)
{
    const size_t count = submits->list_count;
    int64_t *each_ns = hal_alloc(count, sizeof *each_ns), whole_ns = 0;
    char each[128];
    struct view_finding *finding =
        each_ns ? view_findings_add(findings, VIEW_FINDING_SUBMISSIONS) : NULL;
    if (!finding) {
        free(each_ns);
        return no_memory();
    }
    for (size_t i = 0; i < count; i++) {
        each_ns[i] = submits->list[i].end_ns - submits->list[i].begin_ns;
        whole_ns += each_ns[i];
    }
    per_iteration(m, count, each, sizeof each);
    finding->count = count;
    view_finding_cost(m, trace_sum_within_fence(each_ns, count), whole_ns, finding);
    free(each_ns);
    view_finding_at_submission(m, submits->list[0].ref, finding);
    snprintf(finding->title, sizeof finding->title, "%s could be merged%s",
             view_things(count, "submission").text, each);
    snprintf(finding->evidence, sizeof finding->evidence,
             "The thread submitted to the same queue just before and did nothing else in between; "
             "the submit calls alone took %s.",
             hal_duration_text(whole_ns).text);
    snprintf(finding->proof, sizeof finding->proof, "hal-replay --what-if=coalesce-submissions");
    return HAL_OK;
}

static enum hal_status find_mergeable(const struct view_model *m, struct view_findings *findings)
{
    struct stretches submits = {0};
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < m->tracks_count && status == HAL_OK; i++) {
        if (m->tracks[i].kind == VIEW_TRACK_HOST)
            status = find_neighbours(m, &m->tracks[i], findings->task, &submits);
    }
    if (status == HAL_OK && submits.list_count >= 2)
        status = report_mergeable(m, &submits, findings);
    free(submits.list);
    return status;
}

/* Submissions that are ready for longer than they run. */
struct tiny {
    struct stretches launches;
    int64_t executed_ns, launched_ns;
    uint32_t example; /* VIEW_NO_REF: none */
};

static enum hal_status collect_tiny(const struct view_model *m, struct tiny *out)
{
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        if (s->begin_ns == VIEW_NO_TIME || view_submit_ns(m, s) == VIEW_NO_TIME ||
            !s->dispatch_count)
            continue;
        const int64_t from_ns = s->ready_ns != VIEW_NO_TIME ? s->ready_ns : view_submit_ns(m, s);
        const int64_t launch_ns = s->begin_ns > from_ns ? s->begin_ns - from_ns : 0;
        if (s->end_ns - s->begin_ns >= TINY_NS || s->end_ns - s->begin_ns >= launch_ns)
            continue;
        HAL_TRY(add_stretch(&out->launches, (struct stretch){from_ns, s->begin_ns, launch_ns, i}));
        out->executed_ns += s->end_ns - s->begin_ns;
        out->launched_ns += launch_ns;
        out->example = out->example == VIEW_NO_REF ? i : out->example;
    }
    return HAL_OK;
}

/* What is ready while others run does not cost what it waits for them. */
static enum hal_status report_tiny(const struct view_model *m, struct tiny *tiny,
                                   struct view_findings *findings)
{
    struct idleness idleness;
    const uint64_t count = tiny->launches.list_count;
    if (!count || count * 10 < m->submissions_count)
        return HAL_OK;
    HAL_TRY(measure_idleness(m, &tiny->launches, &idleness));
    struct view_finding *finding = view_findings_add(findings, VIEW_FINDING_TINY);
    if (!finding)
        return no_memory();
    finding->count = count;
    view_finding_cost(m, idleness.idle_ns, idleness.whole_ns, finding);
    view_finding_at_submission(m, tiny->example, finding);
    snprintf(finding->title, sizeof finding->title, "%s: run time below launch overhead",
             view_things(count, "submission").text);
    snprintf(finding->evidence, sizeof finding->evidence,
             "They ran for %s on average and had been ready for %s before that.",
             hal_duration_text(tiny->executed_ns / (int64_t)count).text,
             hal_duration_text(tiny->launched_ns / (int64_t)count).text);
    snprintf(finding->proof, sizeof finding->proof,
             "hal-replay --what-if=drop-host-waits,coalesce-submissions");
    return HAL_OK;
}

static enum hal_status find_tiny(const struct view_model *m, struct view_findings *findings)
{
    struct tiny tiny = {.example = VIEW_NO_REF};
    enum hal_status status = collect_tiny(m, &tiny);
    if (status == HAL_OK)
        status = report_tiny(m, &tiny, findings);
    free(tiny.launches.list);
    return status;
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
        "work was queued; why it did not run is unknown",
        "queued work waited for a semaphore",
        "work was ready and had not started yet",
    };
    const size_t c = (size_t)(cause - VIEW_GAP_HOST);
    const struct view_tally *gaps = &m->summary.gaps[c];
    int64_t part_ns;
    uint64_t count;
    const uint32_t longest = longest_gap(m, cause, findings->task, &part_ns, &count);
    const int64_t span_ns = m->summary.device_end_ns - m->summary.device_begin_ns;
    if (longest == VIEW_NO_REF || gaps->ns <= span_ns / 1000)
        return HAL_OK; /* irrelevant */
    struct view_finding *finding = view_findings_add(findings, VIEW_FINDING_IDLE);
    if (!finding)
        return no_memory();
    const struct view_gap *gap = &m->gaps[longest];
    char host[200], before[64] = "";
    view_describe_host(m, gap, host, sizeof host);
    finding->count = count;
    view_finding_cost(m, gaps->ns, span_ns - m->summary.device_busy_ns, finding);
    finding->at_ns = gap->begin_ns;
    finding->track = m->gap_track;
    finding->event = longest;
    if (gap->after != VIEW_NO_REF) { /* else several began at the same moment */
        snprintf(finding->locator, sizeof finding->locator, "#s%" PRIu64,
                 m->submissions[gap->after].number);
        snprintf(before, sizeof before, " before %s", finding->locator);
    } else {
        const struct view_track *track = &m->tracks[m->gap_track];
        const struct view_span event = view_spans_at(&track->events, longest);
        view_span_locator(m, track, &event, finding->locator, sizeof finding->locator);
    }
    snprintf(finding->title, sizeof finding->title, "the device is idle: %s", reasons[c]);
    snprintf(finding->evidence, sizeof finding->evidence, "%s, the longest %s%s%s%s.",
             view_things(count, "gap").text, hal_duration_text(part_ns).text, before,
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
    snprintf(finding->locator, sizeof finding->locator, "%s", hal_moment_text(part->begin_ns).text);
    view_path_text(&path, text, sizeof text);
    snprintf(finding->title, sizeof finding->title, "critical path: %s", text);
    snprintf(finding->evidence, sizeof finding->evidence,
             "It has %s; the longest of the %s took %s. Only work on the critical path can shorten "
             "the whole.",
             view_things(path.parts_count, "part").text, view_path_names[part->kind],
             hal_duration_text(part->end_ns - part->begin_ns).text);
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
