/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions: read, measured, compared. */
#include "viewer/findings/condition.h"

#include "hal/base/moment.h"
#include "viewer/text/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading ------------------------------------------------------------------------------ */

static const char *const subjects[VIEW_SUBJECT_COUNT] = {
    [VIEW_SUBJECT_GAPS] = "gaps",
    [VIEW_SUBJECT_SYNCS] = "syncs",
    [VIEW_SUBJECT_SUBMISSIONS] = "submissions",
    [VIEW_SUBJECT_FAILURES] = "failures",
    [VIEW_SUBJECT_FINDINGS] = "findings",
};

static const char *const causes[VIEW_GAP_COUNT] = {"host", "upload", "unknown", "semaphore",
                                                   "launch"};

/* The index of the name that the text's first `bytes` are; -1: none. */
static int find_name(const char *const *names, int count, const char *text, size_t bytes)
{
    for (int i = 0; i < count; i++) {
        if (strlen(names[i]) == bytes && memcmp(names[i], text, bytes) == 0)
            return i;
    }
    return -1;
}

static enum hal_status parse_subject(const char *text, size_t bytes, struct view_condition *c)
{
    const char *colon = memchr(text, ':', bytes);
    const size_t name_bytes = colon ? (size_t)(colon - text) : bytes;
    const int subject = find_name(subjects, VIEW_SUBJECT_COUNT, text, name_bytes);
    c->of = -1;
    if (!colon && bytes == 5 && memcmp(text, "races", 5) == 0) {
        c->subject = VIEW_SUBJECT_FINDINGS;
        c->of = VIEW_FINDING_RACES;
        return HAL_OK;
    }
    if (subject < 0)
        return hal_fail(HAL_INVALID,
                        "--fail-on=%s: '%.*s' is not one of gaps, syncs, submissions, failures, "
                        "races, findings",
                        c->text, (int)bytes, text);
    c->subject = (enum view_subject)subject;
    if (!colon)
        return HAL_OK;
    const char *name = colon + 1;
    const size_t rest = bytes - name_bytes - 1;
    if (c->subject == VIEW_SUBJECT_GAPS)
        c->of = find_name(causes, VIEW_GAP_COUNT, name, rest);
    else if (c->subject == VIEW_SUBJECT_FINDINGS)
        c->of = find_name(view_finding_names, VIEW_FINDING_KIND_COUNT, name, rest);
    if (c->of >= 0)
        return HAL_OK;
    return hal_fail(HAL_INVALID, "--fail-on=%s: there are no %.*s called '%.*s'", c->text,
                    (int)name_bytes, text, (int)rest, name);
}

static size_t parse_relation(const char *text, struct view_condition *c)
{
    static const struct {
        const char *text;
        enum view_relation relation;
    } relations[] = {{">=", VIEW_RELATION_GREATER_EQUAL}, {"<=", VIEW_RELATION_LESS_EQUAL},
                     {"==", VIEW_RELATION_EQUAL},         {">", VIEW_RELATION_GREATER},
                     {"<", VIEW_RELATION_LESS},           {"=", VIEW_RELATION_EQUAL}};
    for (size_t i = 0; i < sizeof relations / sizeof *relations; i++) {
        const size_t length = strlen(relations[i].text);
        if (strncmp(text, relations[i].text, length) == 0) {
            c->relation = relations[i].relation;
            return length;
        }
    }
    return 0;
}

static enum hal_status parse_number(const char *text, struct view_condition *c)
{
    char *end;
    int64_t ns;
    errno = 0;
    const double number = strtod(text, &end);
    const bool good = end != text && !errno && isfinite(number) && number >= 0;
    end += strspn(end, " ");
    if (good && (!*end || strcmp(end, "%") == 0)) {
        c->unit = *end ? VIEW_UNIT_SHARE : VIEW_UNIT_COUNT;
        c->number = number;
        return HAL_OK;
    }
    if (good && hal_time_parse(text, 0, &ns)) {
        c->unit = VIEW_UNIT_TIME;
        c->number = (double)ns;
        return HAL_OK;
    }
    return hal_fail(HAL_INVALID, "--fail-on=%s: '%s' is not a number such as 10%%, 250us, 3",
                    c->text, text);
}

/* What is counted cannot be timed, and the other way round. */
static enum hal_status check_unit(const struct view_condition *c)
{
    const bool times = c->subject == VIEW_SUBJECT_GAPS || c->subject == VIEW_SUBJECT_SYNCS ||
                       c->subject == VIEW_SUBJECT_FINDINGS;
    if (c->unit == VIEW_UNIT_COUNT || times)
        return HAL_OK;
    return hal_fail(HAL_INVALID, "--fail-on=%s: %s are counted and have no time", c->text,
                    subjects[c->subject]);
}

enum hal_status view_condition_parse(const char *text, size_t bytes,
                                     struct view_condition *out_condition)
{
    struct view_condition *c = out_condition;
    char clean[sizeof c->text];
    size_t length = 0;
    *c = (struct view_condition){0};
    for (size_t i = 0; i < bytes && length + 1 < sizeof clean; i++) {
        if (text[i] != ' ')
            clean[length++] = text[i];
    }
    clean[length] = '\0';
    memcpy(c->text, clean, length + 1);
    if (bytes >= sizeof clean)
        return hal_fail(HAL_INVALID, "--fail-on=%s...: at most %zu characters", c->text,
                        sizeof clean - 1);
    const size_t subject = strcspn(clean, "<>=");
    const size_t relation = parse_relation(clean + subject, c);
    if (!subject || !relation)
        return hal_fail(HAL_INVALID, "--fail-on=%s: expected a condition such as 'gaps>10%%'",
                        c->text);
    HAL_TRY(parse_subject(clean, subject, c));
    HAL_TRY(parse_number(clean + subject + relation, c));
    return check_unit(c);
}

/* ---- Measuring ---------------------------------------------------------------------------- */

struct amount {
    double count, ns;
};

static struct amount measure_gaps(const struct view_model *m, int of)
{
    struct amount amount = {0};
    for (int c = 0; c < VIEW_GAP_COUNT; c++) {
        if (of >= 0 && of != c)
            continue;
        amount.count += (double)m->summary.gaps[c].count;
        amount.ns += (double)m->summary.gaps[c].ns;
    }
    return amount;
}

static struct amount measure_findings(const struct view_findings *findings, int of)
{
    struct amount amount = {0};
    for (size_t i = 0; i < findings->list_count; i++) {
        const struct view_finding *finding = &findings->list[i];
        if (of >= 0 && of != (int)finding->kind)
            continue;
        amount.count += of < 0 ? 1 : (double)finding->count;
        amount.ns += finding->cost_ns == VIEW_NO_TIME ? 0 : (double)finding->cost_ns;
    }
    return amount;
}

static struct amount measure(const struct view_condition *c, const struct view_model *m,
                             const struct view_findings *findings)
{
    const struct view_summary *s = &m->summary;
    switch (c->subject) {
    case VIEW_SUBJECT_GAPS: return measure_gaps(m, c->of);
    case VIEW_SUBJECT_SYNCS: return (struct amount){(double)s->syncs.count, (double)s->syncs.ns};
    case VIEW_SUBJECT_SUBMISSIONS: return (struct amount){(double)s->submissions, 0};
    case VIEW_SUBJECT_FAILURES:
        return (struct amount){
            (double)(s->failed_submissions + s->unfinished_submissions + s->failed_calls), 0};
    case VIEW_SUBJECT_FINDINGS: return measure_findings(findings, c->of);
    case VIEW_SUBJECT_COUNT: break;
    }
    return (struct amount){0};
}

bool view_condition_needs_findings(const struct view_condition *condition)
{
    return condition->subject == VIEW_SUBJECT_FINDINGS;
}

bool view_condition_holds(const struct view_condition *condition, const struct view_model *model,
                          const struct view_findings *findings, char *out, size_t bytes)
{
    const struct view_summary *s = &model->summary;
    const struct amount amount = measure(condition, model, findings);
    const int64_t span_ns = s->device_end_ns > s->device_begin_ns
                                ? s->device_end_ns - s->device_begin_ns
                                : model->last_ns - model->first_ns;
    const int name = (int)strcspn(condition->text, "<>=");
    double value = amount.count;
    if (condition->unit == VIEW_UNIT_SHARE) {
        value = 100 * amount.ns / (double)span_ns;
        snprintf(out, bytes, "%.*s: %.1f %% of %s", name, condition->text, value,
                 hal_duration_text(span_ns).text);
    } else if (condition->unit == VIEW_UNIT_TIME) {
        value = amount.ns;
        snprintf(out, bytes, "%.*s: %s", name, condition->text,
                 hal_duration_text((int64_t)value).text);
    } else {
        snprintf(out, bytes, "%.*s: %s", name, condition->text, view_count((uint64_t)value).text);
    }
    switch (condition->relation) {
    case VIEW_RELATION_GREATER: return value > condition->number;
    case VIEW_RELATION_GREATER_EQUAL: return value >= condition->number;
    case VIEW_RELATION_LESS: return value < condition->number;
    case VIEW_RELATION_LESS_EQUAL: return value <= condition->number;
    case VIEW_RELATION_EQUAL: return value >= condition->number && value <= condition->number;
    }
    return false;
}
