/* SPDX-License-Identifier: Apache-2.0 */
/* Records how busy each queue was during a frame's events in the frame's note, so that a timeline
 * can be drawn without reading any event. */
#ifndef FORMAT_ACTIVITY_H
#define FORMAT_ACTIVITY_H

#include "format/base/arena.h"
#include "format/record.h"
#include "format/trace.pb-c.h"

#include <stdbool.h>

/* Slots per queue, and the maximum number of values for all queues of a frame. */
enum { TRACE_ACTIVITY_SLOTS = 64, TRACE_ACTIVITY_VALUES = 256 };

/* The work of the frame being filled; initially zeroed. */
struct trace_activity {
    struct trace_work *works;
    size_t count, capacity;
};

/* Takes the work of a submission that ended; ignores other events. False if out of memory. */
bool trace_activity_event(struct trace_activity *activity, const struct trace_event *event);

/* Stores the work in the note, in the arena, and starts over. False: out of memory. */
bool trace_activity_store(struct trace_activity *activity, Haltrace__Note *note,
                          struct trace_arena *arena);

void trace_activity_finish(struct trace_activity *activity);

/* False: the note's bytes cannot be rows. Only this function checks them. */
bool trace_activity_is_plausible(const Haltrace__Note *note);

/* The queues that have a row, one bit each. */
uint64_t trace_activity_queues(const Haltrace__Note *note);

/* A time range cut into equal parts. */
struct trace_activity_query {
    uint32_t queue;
    int64_t begin_ns, end_ns;
    size_t count;
    double *shares; /* per part, the fraction of it during which the queue worked */
};

/* Adds the frame's values for that queue to the shares. */
void trace_activity_add(const Haltrace__Note *note, const struct trace_activity_query *query);

#endif
