/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of what submissions wrote when recorded (outputs=all). Private to replay/. */
#ifndef REPLAY_WRITTEN_H
#define REPLAY_WRITTEN_H

#include "replay/plan/accesses.h"
#include "replay/player/player.h"

/* For one submission, or for all. */
struct replay_written {
    uint64_t ranges, bytes; /* compared */
    uint64_t unknown;       /* no digest: others, or the host, may have written there */
    uint64_t unjudged;      /* different digest, to which no tolerance applies */
    bool differs;           /* the first difference: */
    struct replay_touch first;
};

/* Compares after the submission, with the device idle, and adds to *written; stops at the first
 * range that differs. */
enum hal_status replay_written_compare(struct replay_player *player, uint64_t submission,
                                       struct replay_written *written) HAL_CHECKED;

#endif
