/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of what submissions had written when they were recorded (a capture with outputs=all).
 * Private to replay/. */
#ifndef REPLAY_WRITTEN_H
#define REPLAY_WRITTEN_H

#include "replay/plan/accesses.h"
#include "replay/player/player.h"

/* Of one submission, or of all. */
struct replay_written {
    uint64_t ranges, bytes; /* compared */
    uint64_t unknown;       /* without a digest: others, or the host, may have written there */
    uint64_t unjudged;      /* another digest, which no tolerance can be applied to */
    bool differs;           /* as the first of these does: */
    struct replay_touch first;
};

/* Compares behind the submission, with the device idle, and adds to *written; up to the first range
 * that differs. */
enum hal_status replay_written_compare(struct replay_player *player, uint64_t submission,
                                       struct replay_written *written) HAL_CHECKED;

#endif
