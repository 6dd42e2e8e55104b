/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about single dispatches, in traces with their times: those that are too short, and the
 * pauses between them. */
#include "viewer/findings/findings.h"

#include "format/analysis/statistics.h"
#include "hal/base/mem.h"
#include "viewer/describe/describe.h"
#include "viewer/text/text.h"

#include <inttypes.h>
#include <stdio.h>

enum { SHORT_NS = 10000 };

struct between {
    uint64_t dispatches, tiny, pauses;
    int64_t ran_ns, tiny_ns, idle_ns, longest_ns;
    int64_t pause_ns;               /* of one, without what interrupted a few */
    uint32_t tiny_example, longest; /* dispatch; VIEW_NO_REF: none */
};

/* The submission's own pauses: after everything of it that began before. */
static enum hal_status measure(const struct view_model *m, struct between *out)
{
    int64_t *ends_ns = hal_alloc(m->submissions_count, sizeof *ends_ns);
    int64_t *pauses_ns = hal_alloc(m->dispatches_count, sizeof *pauses_ns);
    *out = (struct between){.tiny_example = VIEW_NO_REF, .longest = VIEW_NO_REF};
    if (!ends_ns || !pauses_ns) {
        free(ends_ns);
        free(pauses_ns);
        return hal_fail(HAL_NO_MEMORY, "no memory for the findings");
    }
    for (size_t i = 0; i < m->submissions_count; i++)
        ends_ns[i] = VIEW_NO_TIME;
    for (uint32_t i = 0; i < m->dispatches_count; i++) { /* by begin */
        const struct view_dispatch *d = &m->dispatches[i];
        const int64_t took_ns = d->end_ns - d->begin_ns;
        int64_t *end_ns = &ends_ns[d->submission];
        out->dispatches++;
        out->ran_ns += took_ns;
        if (took_ns < SHORT_NS) {
            out->tiny++;
            out->tiny_ns += took_ns;
            out->tiny_example = out->tiny_example == VIEW_NO_REF ? i : out->tiny_example;
        }
        if (*end_ns != VIEW_NO_TIME && d->begin_ns > *end_ns) {
            const int64_t pause_ns = d->begin_ns - *end_ns;
            pauses_ns[out->pauses++] = pause_ns;
            out->idle_ns += pause_ns;
            if (pause_ns > out->longest_ns) {
                out->longest_ns = pause_ns;
                out->longest = i;
            }
        }
        *end_ns = d->end_ns > *end_ns ? d->end_ns : *end_ns;
    }
    if (out->pauses)
        out->pause_ns = trace_sum_within_fence(pauses_ns, out->pauses) / (int64_t)out->pauses;
    free(ends_ns);
    free(pauses_ns);
    return HAL_OK;
}

/* Points the finding at a dispatch on its track. */
static void point(const struct view_model *m, uint32_t index, struct view_finding *finding)
{
    const struct view_dispatch *d = &m->dispatches[index];
    const struct view_span span = {.ref = index, .class = VIEW_EXECUTE};
    finding->at_ns = d->begin_ns;
    snprintf(finding->locator, sizeof finding->locator, "#s%" PRIu64 ".d%u",
             m->submissions[d->submission].number, d->index);
    if (m->dispatch_track == VIEW_NO_TRACK)
        return;
    finding->event = view_track_event_of(m, &m->tracks[m->dispatch_track], &span);
    finding->track = finding->event == VIEW_NO_REF ? VIEW_NO_TRACK : m->dispatch_track;
}

static enum hal_status report_tiny(const struct view_model *m, const struct between *between,
                                   struct view_findings *findings)
{
    char pauses[192] = "";
    if (!between->tiny || between->tiny * 10 < between->dispatches)
        return HAL_OK;
    struct view_finding *finding = view_findings_add(findings, VIEW_FINDING_DISPATCHES);
    if (!finding)
        return hal_fail(HAL_NO_MEMORY, "no memory for the findings");
    finding->count = between->tiny;
    if (!m->isolated) { /* else the capture made the pauses, to time each */
        const uint64_t saved = between->tiny < between->pauses ? between->tiny : between->pauses;
        view_finding_cost(m, between->pause_ns * (int64_t)saved, between->idle_ns, finding);
        snprintf(pauses, sizeof pauses,
                 "; between two of one submission the device pauses for %s. Fused kernels would "
                 "save these pauses",
                 hal_duration_text(between->pause_ns).text);
    }
    point(m, between->tiny_example, finding);
    snprintf(finding->title, sizeof finding->title, "%s of %s run for less than %s",
             view_count(between->tiny).text, view_things(between->dispatches, "dispatch").text,
             hal_duration_text(SHORT_NS).text);
    snprintf(finding->evidence, sizeof finding->evidence,
             "They ran for %s on average, %s of the time of all dispatches%s.",
             hal_duration_text(between->tiny_ns / (int64_t)between->tiny).text,
             view_share(between->tiny_ns, between->ran_ns).text, pauses);
    snprintf(finding->proof, sizeof finding->proof, "hal-replay --benchmark --isolate");
    return HAL_OK;
}

static enum hal_status report_pauses(const struct view_model *m, const struct between *between,
                                     struct view_findings *findings)
{
    if (between->longest == VIEW_NO_REF || m->isolated)
        return HAL_OK; /* kept apart to be timed: the pauses are the capture's */
    struct view_finding *finding = view_findings_add(findings, VIEW_FINDING_ORDERED);
    if (!finding)
        return hal_fail(HAL_NO_MEMORY, "no memory for the findings");
    finding->count = between->pauses;
    view_finding_cost(m, between->idle_ns, between->idle_ns, finding);
    point(m, between->longest, finding);
    snprintf(finding->title, sizeof finding->title,
             "the device is idle inside submissions: at barriers, between dispatches");
    snprintf(finding->evidence, sizeof finding->evidence,
             "%s of %s on average, the longest %s before %s.",
             view_things(between->pauses, "pause").text,
             hal_duration_text(between->idle_ns / (int64_t)between->pauses).text,
             hal_duration_text(between->longest_ns).text, finding->locator);
    snprintf(finding->proof, sizeof finding->proof, "hal-replay --what-if=drop-barriers");
    return HAL_OK;
}

enum hal_status view_findings_dispatches(const struct view_model *model,
                                         struct view_findings *findings)
{
    struct between between;
    if (!model->dispatches_count)
        return HAL_OK;
    HAL_TRY(measure(model, &between));
    HAL_TRY(report_tiny(model, &between, findings));
    return report_pauses(model, &between, findings);
}
