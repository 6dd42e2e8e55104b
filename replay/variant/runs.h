/* SPDX-License-Identifier: Apache-2.0 */
/* Which neighbouring submissions of a plan can become one. Private to replay/.
 *
 * One order is found in which the host's calls can return and the submissions can start, each after
 * what it waits for. A run is submissions that follow each other both in the plan and in that
 * order, with nothing in between that cuts. If a run, or a part of it, becomes one submission in
 * the place of the last, then that order remains possible: what the run waits for comes before it,
 * or from itself in order, and nothing that needs it comes before its end. As semaphores only grow,
 * the changed plan ends in every other order, too. */
#ifndef REPLAY_RUNS_H
#define REPLAY_RUNS_H

#include "replay/plan/plan.h"

/* *out_runs, for free(): the number of the run, by submission in plan order. 0: it never starts, or
 * fails, and must stay alone. Takes O(n log n) for n waits. */
enum hal_status replay_runs_find(const struct replay_plan *plan, uint32_t **out_runs) HAL_CHECKED;

/* Whether neither submissions nor waits of the host may be held back over that operation. */
bool replay_runs_are_cut_by(const struct replay_op *op);

#endif
