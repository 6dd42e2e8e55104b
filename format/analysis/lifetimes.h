/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the events of a trace contradict each other, as replays see it: an object is created
 * twice, or used before or after its life or as another kind, a submission has the number of
 * another one. Events are taken in any order; their tickets decide. */
#ifndef FORMAT_ANALYSIS_LIFETIMES_H
#define FORMAT_ANALYSIS_LIFETIMES_H

#include "format/record.h"
#include "hal/base/idmap.h"

struct trace_lifetime;

/* All zero is empty. One thread at a time. */
struct trace_lifetimes {
    struct trace_lifetime_list {
        struct hal_idmap ids;
        struct trace_lifetime *list; /* by the map's index */
        size_t count, capacity;
    } objects, submissions;
};

void trace_lifetimes_finish(struct trace_lifetimes *lifetimes);

/* `segments` belong to a seal. HAL_NO_MEMORY. */
enum hal_status trace_lifetimes_take(struct trace_lifetimes *lifetimes,
                                     const struct trace_event *event,
                                     const struct trace_segment *segments) HAL_CHECKED;

/* Tells of each object and submission with a contradiction: the first one, HAL_CORRUPT with a
 * message. `is_whole`: no event is missing, so that each object has its creation. */
void trace_lifetimes_check(const struct trace_lifetimes *lifetimes, bool is_whole,
                           void (*tell)(void *user, enum hal_status status), void *user);

#endif
