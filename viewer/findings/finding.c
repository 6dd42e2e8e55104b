/* SPDX-License-Identifier: Apache-2.0 */
/* One finding: where it points to and what it costs. */
#include "viewer/findings/findings.h"

#include "viewer/model/build.h"
#include "viewer/model/path.h"

#include <inttypes.h>
#include <stdio.h>

struct view_finding *view_findings_add(struct view_findings *findings, enum view_finding_kind kind)
{
    if (VIEW_ROOM(findings, list, 1) != HAL_OK)
        return NULL;
    struct view_finding *finding = &findings->list[findings->list_count++];
    *finding = (struct view_finding){.kind = kind,
                                     .cost_ns = VIEW_NO_TIME,
                                     .possible_ns = VIEW_NO_TIME,
                                     .at_ns = VIEW_NO_TIME,
                                     .track = VIEW_NO_TRACK,
                                     .event = VIEW_NO_REF};
    return finding;
}

void view_finding_at_submission(const struct view_model *model, uint32_t submission,
                                struct view_finding *finding)
{
    const struct view_submission *s = &model->submissions[submission];
    const struct view_span span = {.ref = submission, .class = VIEW_EXECUTE};
    snprintf(finding->locator, sizeof finding->locator, "#s%" PRIu64, s->number);
    finding->at_ns = s->begin_ns != VIEW_NO_TIME ? s->begin_ns : view_submit_ns(model, s);
    if (s->begin_ns == VIEW_NO_TIME || model->device_track == VIEW_NO_TRACK) {
        finding->event = view_model_queue_event(model, submission, &finding->track);
    } else {
        finding->track = view_model_device_track(model, s->queue);
        finding->event = view_track_event_of(model, &model->tracks[finding->track], &span);
    }
    if (finding->event == VIEW_NO_REF)
        finding->track = VIEW_NO_TRACK;
}

void view_finding_at_call(const struct view_model *model, uint32_t call,
                          struct view_finding *finding)
{
    const struct view_call *c = &model->calls[call];
    const uint32_t awaited =
        c->kind == TRACE_SEMAPHORE_WAIT ? view_path_awaited(model, c) : VIEW_NO_REF;
    finding->at_ns = c->begin_ns;
    if (awaited != VIEW_NO_REF)
        snprintf(finding->locator, sizeof finding->locator, "#s%" PRIu64,
                 model->submissions[awaited].number);
    finding->event = view_model_host_event(model, call, &finding->track);
    if (finding->event == VIEW_NO_REF)
        finding->track = VIEW_NO_TRACK;
}

/* From first to last work; the whole trace if there is no work. */
static int64_t whole_ns(const struct view_model *m)
{
    const struct view_summary *s = &m->summary;
    return s->device_end_ns > s->device_begin_ns ? s->device_end_ns - s->device_begin_ns
                                                 : m->last_ns - m->first_ns;
}

void view_finding_cost(const struct view_model *model, int64_t estimate_ns, int64_t possible_ns,
                       struct view_finding *finding)
{
    const int64_t most_ns = whole_ns(model);
    finding->possible_ns = possible_ns < most_ns ? possible_ns : most_ns;
    finding->cost_ns = estimate_ns < finding->possible_ns ? estimate_ns : finding->possible_ns;
}

double view_finding_share(const struct view_model *model, const struct view_finding *finding)
{
    return finding->cost_ns == VIEW_NO_TIME ? 0
                                            : (double)finding->cost_ns / (double)whole_ns(model);
}
