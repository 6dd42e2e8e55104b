/* SPDX-License-Identifier: Apache-2.0 */
/* The happens-before order of a plan (format/analysis/happens_before.h), kept for all of its
 * submissions and host accesses. Private to replay/.
 *
 * Submissions and host accesses are numbered in plan order, each from 0, so that plans that do the
 * same work differently can be compared. */
#ifndef REPLAY_ORDER_H
#define REPLAY_ORDER_H

#include "format/analysis/happens_before.h"
#include "replay/plan/plan.h"

/* Must not move. */
struct replay_order {
    /* A submission that never starts has no clock; one that got no chain counts as unordered. */
    struct trace_moment *submissions, *host;
    size_t submission_count, host_count;
    bool incomplete;
    struct trace_happens_before order;
};

enum hal_status replay_order_make(const struct replay_plan *plan,
                                  struct replay_order *out_order) HAL_CHECKED;
void replay_order_finish(struct replay_order *order);

/* Whether the first always ends before the second begins. */
bool replay_order_has(const struct trace_moment *first, const struct trace_moment *second);

#endif
