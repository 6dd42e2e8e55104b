/* SPDX-License-Identifier: Apache-2.0 */
/* How busy each queue was while a frame's events happened, in the note about the frame: a timeline
 * can be drawn of it without any event. */
#ifndef FORMAT_ACTIVITY_H
#define FORMAT_ACTIVITY_H

#include "format/base/arena.h"
#include "format/record.h"
#include "format/trace.pb-c.h"

#include <stdbool.h>

/* Slots of a queue; together the queues of a frame have no more than so many values. */
enum { TRACE_ACTIVITY_SLOTS = 64, TRACE_ACTIVITY_VALUES = 256 };

/* What the frame that is being filled has; zeroed at first. */
struct trace_activity {
    struct trace_work *works;
    size_t count, capacity;
};

/* Takes the work of a submission that ended; of other events nothing. False: no memory. */
bool trace_activity_event(struct trace_activity *activity, const struct trace_event *event);

/* Puts what was taken into the note, whose times are complete, and begins anew. The values are the
 * arena's. False: no memory. */
bool trace_activity_store(struct trace_activity *activity, Haltrace__Note *note,
                          struct trace_arena *arena);

void trace_activity_finish(struct trace_activity *activity);

/* False: the note's bytes cannot be rows. Nothing else looks at those. */
bool trace_activity_is_plausible(const Haltrace__Note *note);

/* The queues that have a row: a bit each. */
uint64_t trace_activity_queues(const Haltrace__Note *note);

/* A time cut into equal parts. */
struct trace_activity_query {
    uint32_t queue;
    int64_t begin_ns, end_ns;
    size_t count;
    double *shares; /* of each part, how much of it the queue worked */
};

/* Adds the frame's values of that queue to the shares. */
void trace_activity_add(const Haltrace__Note *note, const struct trace_activity_query *query);

#endif
