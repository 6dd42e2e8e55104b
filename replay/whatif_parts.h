/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of replay_plan_what_if that change a derived plan in place. Private to replay/. */
#ifndef REPLAY_WHATIF_PARTS_H
#define REPLAY_WHATIF_PARTS_H

#include "replay/plan.h"

/* The command buffers of every submission become one, recorded just before it. */
enum hal_status replay_what_if_merge(struct replay_plan *variant) HAL_CHECKED;

/* Submissions go to the first `queues` queues in turn; the semaphores alone order them. */
enum hal_status replay_what_if_queues(struct replay_plan *variant, uint32_t queues) HAL_CHECKED;

#endif
