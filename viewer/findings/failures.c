/* SPDX-License-Identifier: Apache-2.0 */
/* Findings about what failed: submissions, and calls of the program. */
#include "viewer/findings/findings.h"

#include "viewer/describe/describe.h"
#include "viewer/model/path.h"
#include "viewer/text/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for the findings");
}

/* ---- Submissions -------------------------------------------------------------------------- */

/* The submission that would signal the value, had it ended; or VIEW_NO_REF. */
static uint32_t signaller(const struct view_model *m, const struct view_value *value)
{
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        const uint32_t first = s->first_wait + s->wait_count;
        for (uint32_t k = first; k < first + s->signal_count; k++) {
            if (m->values[k].semaphore == value->semaphore && m->values[k].value >= value->value)
                return i;
        }
    }
    return VIEW_NO_REF;
}

/* " #s9 waits for 'a' >= 4 of #s7; #s7 waits for 'b' >= 2, which nothing signals." */
static void add_chain(const struct view_model *m, uint32_t index, char *out, size_t bytes)
{
    enum { MOST_LINKS = 5 };
    for (int link = 0; link < MOST_LINKS && index != VIEW_NO_REF; link++) {
        const struct view_submission *s = &m->submissions[index];
        uint32_t next = VIEW_NO_REF, k = s->first_wait;
        for (; k < s->first_wait + s->wait_count; k++) { /* the value that did not come */
            const uint32_t step = view_model_reached(m, m->values[k].semaphore, m->values[k].value);
            if (step == VIEW_NO_REF)
                break;
            const uint32_t producer = m->steps[step].submission;
            if (producer != VIEW_NO_REF && m->submissions[producer].status != HAL_OK) {
                next = producer;
                break;
            }
        }
        if (k == s->first_wait + s->wait_count)
            return;
        char name[64];
        const size_t length = strlen(out);
        view_semaphore_name(m, m->values[k].semaphore, name, sizeof name);
        if (next == VIEW_NO_REF)
            next = signaller(m, &m->values[k]);
        if (next == VIEW_NO_REF || next == index)
            snprintf(out + length, bytes - length,
                     " #s%" PRIu64 " waits for %s >= %" PRIu64 ", which nothing signals.",
                     s->number, name, m->values[k].value);
        else
            snprintf(out + length, bytes - length,
                     " #s%" PRIu64 " waits for %s >= %" PRIu64 " of #s%" PRIu64 ".", s->number,
                     name, m->values[k].value, m->submissions[next].number);
        index = next == index ? VIEW_NO_REF : next;
    }
}

static enum hal_status find_submissions(const struct view_model *m, struct view_findings *findings)
{
    uint64_t failed = 0, open = 0;
    uint32_t example = VIEW_NO_REF;
    for (uint32_t i = 0; i < m->submissions_count; i++) {
        const struct view_submission *s = &m->submissions[i];
        failed += s->status != HAL_OK;
        const bool is_open = !s->done && !m->grows;
        open += is_open;
        if (example == VIEW_NO_REF && (s->status != HAL_OK || is_open))
            example = i;
    }
    if (example == VIEW_NO_REF)
        return HAL_OK;
    struct view_finding *finding = view_findings_add(findings, VIEW_FINDING_FAILURES);
    if (!finding)
        return no_memory();
    const struct view_submission *s = &m->submissions[example];
    finding->count = failed + open;
    view_finding_at_submission(m, example, finding);
    snprintf(finding->title, sizeof finding->title, "%s %s",
             view_things(failed ? failed : open, "submission").text,
             failed ? "failed" : "did not finish");
    if (failed && open)
        snprintf(finding->title + strlen(finding->title),
                 sizeof finding->title - strlen(finding->title), ", %s did not finish",
                 view_count(open).text);
    snprintf(finding->evidence, sizeof finding->evidence, "The first one: %s%s%s.",
             s->done ? hal_status_name((enum hal_status)s->status)
                     : "still waiting or running at the end",
             s->message ? ", " : "", view_model_string(m, s->message));
    add_chain(m, example, finding->evidence, sizeof finding->evidence);
    snprintf(finding->proof, sizeof finding->proof, "hal-replay --stop-at='#s%" PRIu64 "'",
             s->number);
    return HAL_OK;
}

/* ---- Calls -------------------------------------------------------------------------------- */

/* On the track of its thread, if it is there. */
static void point(const struct view_model *m, const struct view_failure *failure,
                  struct view_finding *finding)
{
    finding->at_ns = failure->begin_ns;
    for (uint32_t i = 0; i < m->calls_count; i++) {
        const struct view_call *call = &m->calls[i];
        if (call->host != failure->host || call->begin_ns != failure->begin_ns ||
            call->status == HAL_OK)
            continue;
        view_finding_at_call(m, i, finding);
        return;
    }
}

/* "hal_executable_create: invalid, no kernel 'scael'"; repeated ones are listed once. */
static void tell(const struct view_model *m, char *out, size_t bytes)
{
    enum { MOST = 3 };
    const struct view_failure *before = NULL;
    int told = 0;
    for (size_t i = 0; i < m->failures_count && told < MOST; i++) {
        const struct view_failure *failure = &m->failures[i];
        const size_t length = strlen(out);
        if (before && before->call == failure->call && before->message == failure->message)
            continue;
        snprintf(out + length, bytes - length, "%s%s: %s, %s", told++ ? "; " : "",
                 view_model_string(m, failure->call),
                 hal_status_name((enum hal_status)failure->status),
                 view_model_string(m, failure->message));
        before = failure;
    }
}

static enum hal_status find_calls(const struct view_model *m, struct view_findings *findings)
{
    if (!m->failures_count)
        return HAL_OK;
    const struct view_failure *first = &m->failures[0];
    bool same = true;
    for (size_t i = 1; i < m->failures_count; i++) {
        same = same && m->failures[i].call == first->call;
        if (m->failures[i].begin_ns < first->begin_ns)
            first = &m->failures[i];
    }
    struct view_finding *finding = view_findings_add(findings, VIEW_FINDING_CALLS);
    if (!finding)
        return no_memory();
    finding->count = m->failures_count;
    point(m, first, finding);
    snprintf(finding->title, sizeof finding->title, "%s failed%s%s",
             view_things(m->failures_count, "call").text, same ? ": " : ", the first ",
             view_model_string(m, first->call));
    tell(m, finding->evidence, sizeof finding->evidence);
    snprintf(finding->proof, sizeof finding->proof, "hal-trace dump --kind=failure");
    return HAL_OK;
}

enum hal_status view_findings_failures(const struct view_model *model,
                                       struct view_findings *findings)
{
    HAL_TRY(find_submissions(model, findings));
    return find_calls(model, findings);
}
