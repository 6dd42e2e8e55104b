/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a plan's submissions and accesses of the host come before which others, whatever the
 * device does: by the host's own order, by its waits and by semaphores, and by nothing else, since
 * submissions of one queue may overlap (hal/hal.h). Private to replay/.
 *
 * Places are numbered as the plan has them, submissions and accesses of the host each from 0, so
 * that plans that do the same work in another way can be compared. */
#ifndef REPLAY_ORDER_H
#define REPLAY_ORDER_H

#include "replay/plan.h"

/* More work than this side by side is not kept apart: it counts as unordered, and the order as
 * incomplete. */
enum { REPLAY_ORDER_CHAINS = 256 };

struct replay_clock;

/* One submission or access of the host. */
struct replay_moment {
    const struct replay_clock *clock; /* what comes before it; NULL: a submission that never runs */
    uint32_t chain, position;         /* in the chain of those that come one after the other */
};

struct replay_order {
    struct replay_moment *submissions, *host;
    size_t submission_count, host_count;
    bool incomplete;
    struct replay_clock *clocks; /* owned */
};

enum hal_status replay_order_make(const struct replay_plan *plan,
                                  struct replay_order *out_order) HAL_CHECKED;
void replay_order_finish(struct replay_order *order);

/* Whether the first always has ended when the second begins. */
bool replay_order_has(const struct replay_moment *first, const struct replay_moment *second);

#endif
