/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions under which a trace fails a check: "gaps>10%", "syncs>100", "findings:races>0".
 *
 * A subject (gaps, or gaps:host and other causes: idle time of the device; syncs: waits of host
 * threads; submissions; failures: submissions and calls that failed, and submissions that did not
 * end; races; findings, or findings:NAME, named as in the JSON report), a relation (> >= < <= =)
 * and a number: a count, a time with ns, us, ms or s, or a percentage of the time from the first
 * to the last work of the device.
 *
 * One thread at a time. */
#ifndef VIEWER_CONDITION_H
#define VIEWER_CONDITION_H

#include "viewer/findings/findings.h"

enum view_subject {
    VIEW_SUBJECT_GAPS,
    VIEW_SUBJECT_SYNCS,
    VIEW_SUBJECT_SUBMISSIONS,
    VIEW_SUBJECT_FAILURES,
    VIEW_SUBJECT_FINDINGS,
    VIEW_SUBJECT_COUNT
};

enum view_relation {
    VIEW_RELATION_GREATER,
    VIEW_RELATION_GREATER_EQUAL,
    VIEW_RELATION_LESS,
    VIEW_RELATION_LESS_EQUAL,
    VIEW_RELATION_EQUAL
};

enum view_unit { VIEW_UNIT_COUNT, VIEW_UNIT_TIME, VIEW_UNIT_SHARE };

struct view_condition {
    enum view_subject subject;
    int of; /* gaps: the class minus VIEW_GAP_HOST; findings: their kind; -1: all */
    enum view_relation relation;
    enum view_unit unit;
    double number; /* a count, nanoseconds, or percent */
    char text[64]; /* as written */
};

/* Parses the first `bytes` bytes of the text. HAL_INVALID: the message names the error. */
enum hal_status view_condition_parse(const char *text, size_t bytes,
                                     struct view_condition *out_condition) HAL_CHECKED;

/* Whether evaluating it requires findings. */
bool view_condition_needs_findings(const struct view_condition *condition);

/* Whether it holds, with the actual value as text: "gaps: 12.3 %". `findings`: may be NULL. */
bool view_condition_holds(const struct view_condition *condition, const struct view_model *model,
                          const struct view_findings *findings, char *out, size_t bytes);

#endif
