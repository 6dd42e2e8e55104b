/* SPDX-License-Identifier: Apache-2.0 */
/* Private to rendezvous.c and group.c. "Locked" means with hal_rendezvous_lock held. */
#ifndef HAL_RENDEZVOUS_PARTS_H
#define HAL_RENDEZVOUS_PARTS_H

#include "hal/driver.h"

/* A collective from its first rank's submission until all have released it. Sets are bit masks. */
struct hal_rendezvous {
    struct hal_rendezvous *next, *previous; /* of the group */
    struct hal_group *group;
    uint64_t number;
    uint32_t from, to; /* ranks of a send and its receive */
    bool is_pair;
    uint64_t members, joined, gone; /* gone: it has ended for them, or they will never arrive */
    enum hal_status status;         /* why it fails */
    char *message;
    struct hal_participant *first; /* participants that have arrived and wait, by rank */
    uint32_t arrived_count;
    int64_t warn_ns; /* time of the next warning in the log; 0: no rank waits */
    int64_t since_ns;
};

struct hal_rank {
    bool left;
    uint64_t common;                                        /* collectives of all ranks so far */
    uint64_t sends[HAL_MAX_RANKS], receives[HAL_MAX_RANKS]; /* by peer */
};

struct hal_group {
    struct hal_group *next, *previous;
    uint64_t id;
    char *label;
    uint32_t count, left_count;
    struct hal_rendezvous *pending;
    struct hal_rank ranks[];
};

/* The lock and list of all groups, and how long ranks may wait before the log warns; 0: never. */
extern pthread_mutex_t hal_rendezvous_lock;
extern struct hal_group *hal_groups;
extern int64_t hal_rendezvous_warn_after_ns;

enum { NAME_BYTES = 160 };

/* "all-reduce, number 3 of channel 'x'", `work` may be NULL; "ranks 1, 2". */
const char *hal_rendezvous_name(const struct hal_rendezvous *rendezvous,
                                const struct hal_collective_work *work, char out[2 * NAME_BYTES]);
void hal_rendezvous_name_missing(const struct hal_rendezvous *rendezvous, char *out, size_t bytes);

void hal_rendezvous_free_locked(struct hal_rendezvous *rendezvous);

/* Locked; unlocks: fails the rendezvous and notifies its participants. */
void hal_rendezvous_fail_and_unlock(struct hal_rendezvous *rendezvous, enum hal_status status,
                                    const char *message);

/* Locked: the first rank has begun to wait. */
void hal_watch_look_locked(void);

#endif
