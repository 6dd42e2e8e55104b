/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of findings: a small trace, and what was found in it. Times are relative to the
 * capture's start. */
#ifndef TESTS_UNIT_FINDINGS_FIXTURE_H
#define TESTS_UNIT_FINDINGS_FIXTURE_H

#include "tests/support/trace_builder.h"
#include "viewer/findings/findings.h"

enum { START_NS = 1000, DONE = 1, COMMANDS = 10, BUFFER = 20, OTHER = 21 };

extern char path[64]; /* of the trace */

/* The group's: a folder. */
int findings_set_up(void **state);
int findings_tear_down(void **state);

/* The trace: a semaphore, two buffers, and a command buffer to be ended. `device`: a URI. */
void open_trace(struct trace_builder *b);
void open_trace_of(struct trace_builder *b, const char *device);

/* The next event's. */
void at(struct trace_builder *b, int64_t begin_ns, int64_t end_ns);

/* Submission n: submitted at begin_ns (10 ns), ready then, runs 30 to 50 ns later, waited for until
 * 90 ns later. */
void round_trip(struct trace_builder *b, uint64_t n, int64_t begin_ns);

struct found {
    struct view_model *model;
    struct view_findings findings;
};

/* Ends the trace, and looks. Each finding names a place, and keeps to its bounds. */
void find(struct trace_builder *b, struct found *out);
void finish(struct found *found);

const struct view_finding *of_kind(const struct found *found, enum view_finding_kind kind);

/* No finding claims more than there is to save, nor more than the whole. */
void expect_bounded_costs(const struct view_model *model, const struct view_findings *findings,
                          const char *name);

#endif
