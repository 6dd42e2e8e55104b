/* SPDX-License-Identifier: Apache-2.0 */
/* How far a run is: what a child claims, against what the plan allows. */
#include "replay/player/player.h"

/* Semaphores that the operation may have moved by its end or later. */
static uint64_t moves_of(const struct replay_op *op)
{
    switch (op->action) {
    case REPLAY_SUBMIT: return ((const struct trace_submit *)(const void *)op->event)->signal_count;
    case REPLAY_CREATE_SEMAPHORE: /* it may fail */
    case REPLAY_SIGNAL:
    case REPLAY_FAIL: return 1;
    case REPLAY_CREATE_BUFFER:
    case REPLAY_DESTROY_BUFFER:
    case REPLAY_WRITE:
    case REPLAY_READ:
    case REPLAY_CREATE_EXECUTABLE:
    case REPLAY_DESTROY_EXECUTABLE:
    case REPLAY_RECORD_COMMANDS:
    case REPLAY_DESTROY_COMMANDS:
    case REPLAY_DESTROY_SEMAPHORE:
    case REPLAY_CREATE_EVENT:
    case REPLAY_DESTROY_EVENT:
    case REPLAY_WAIT:
    case REPLAY_WAIT_IDLE:
    case REPLAY_FLUSH:
    case REPLAY_STEP: return 0;
    }
    return 0;
}

/* Counted on request: most runs end before that. */
static uint64_t most_moves(struct replay_player *player)
{
    const struct replay_plan *plan = player->plan;
    struct replay_progress *progress = &player->progress;
    const uint64_t breadcrumbs = player->options.mark ? plan->info.dispatches : 0;
    for (; progress->counted <= player->op && progress->counted < plan->op_count;
         progress->counted++)
        progress->most_moves += moves_of(&plan->ops[progress->counted]);
    return progress->most_moves + breadcrumbs;
}

bool replay_progress_claim(struct replay_player *player, uint64_t op, uint64_t moves)
{
    struct replay_progress *progress = &player->progress;
    const bool advances = op >= progress->op && moves >= progress->moves &&
                          (op > progress->op || moves > progress->moves);
    if (!advances || op > player->op || moves > most_moves(player))
        return false;
    progress->op = (size_t)op;
    progress->moves = moves;
    return true;
}
