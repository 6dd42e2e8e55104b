/* SPDX-License-Identifier: Apache-2.0 */
/* What meeting.c and group.c share. Private to them. "Locked": with hal_meetings_lock. */
#ifndef HAL_MEETING_PARTS_H
#define HAL_MEETING_PARTS_H

#include "hal/driver.h"

/* A collective from the moment when its first rank has handed it in until all have let go of it.
 * Sets of ranks are bits. */
struct hal_meeting {
    struct hal_meeting *next, *previous; /* of the group */
    struct hal_group *group;
    uint64_t number;
    uint32_t from, to; /* of a send and its receive */
    bool is_pair;
    uint64_t members, joined, gone; /* gone: it has ended for them, or they will never come */
    enum hal_status status;         /* why it fails */
    char *message;
    struct hal_arrival *first; /* those that have come and wait, by rank */
    uint32_t arrived_count;
    int64_t complain_ns; /* the next time; 0: nobody waits */
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
    struct hal_meeting *meetings;
    struct hal_rank ranks[];
};

/* Of all groups, which are in this list; and how long to wait before the log tells; 0: for ever. */
extern pthread_mutex_t hal_meetings_lock;
extern struct hal_group *hal_groups;
extern int64_t hal_meetings_patience_ns;

enum { NAME_BYTES = 160 };

/* "all-reduce, number 3 of channel 'x'", `work` may be NULL; "ranks 1, 2". */
const char *hal_meeting_name(const struct hal_meeting *meeting,
                             const struct hal_collective_work *work, char out[2 * NAME_BYTES]);
void hal_meeting_name_missing(const struct hal_meeting *meeting, char *out, size_t bytes);

void hal_meeting_free_locked(struct hal_meeting *meeting);

/* Locked, and unlocks: fails the meeting and tells those that wait. */
void hal_meeting_fail_and_unlock(struct hal_meeting *meeting, enum hal_status status,
                                 const char *message);

/* Locked. Somebody waits who did not. */
void hal_watch_look_locked(void);

#endif
