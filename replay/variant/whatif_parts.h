/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of replay_plan_what_if: changes of a cloned plan, and the check. Private to replay/. */
#ifndef REPLAY_WHATIF_PARTS_H
#define REPLAY_WHATIF_PARTS_H

#include "replay/plan/plan.h"
#include "replay/variant/whatif.h"

/* Merges the command buffers of every submission into one, recorded just before it. */
enum hal_status replay_what_if_merge(struct replay_plan *variant) HAL_CHECKED;

/* Distributes submissions over the first `queues` queues in turn; only semaphores order them. */
enum hal_status replay_what_if_queues(struct replay_plan *variant, uint32_t queues) HAL_CHECKED;

/* `places`: for each submission of `plan`, the variant's submission that it became or joined. */
enum hal_status replay_what_if_exit_code(const struct replay_plan *plan,
                                         const struct replay_plan *variant, const uint32_t *places,
                                         struct replay_what_if_hazards *out_hazards) HAL_CHECKED;

#endif
