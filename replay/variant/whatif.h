/* SPDX-License-Identifier: Apache-2.0 */
/* "What if the program had ...": makes a plan that does the same work differently from a loaded
 * one. A player finds out whether the results still match the recording.
 *
 *   coalesce submissions  merges neighbours on one queue, unless the host accesses contents or
 *                         signals in between; host waits in between are dropped as below
 *   drop host waits       defers a wait until the host needs contents or signals, and makes the
 *                         queue's next submissions wait instead, which preserves the order
 *   drop barriers         those that order nothing (format/analysis/hazards.h), or all, or one
 *   merge dispatches      merges the command buffers of a submission, with full barriers in
 *                         between, as a submission implies; records them again each time
 *   queues                distributes submissions over that many queues in turn
 *
 * They can be combined. */
#ifndef REPLAY_WHATIF_H
#define REPLAY_WHATIF_H

#include "hal/base/locator.h"
#include "replay/replay.h"

enum replay_barriers {
    REPLAY_BARRIERS_KEEP,
    REPLAY_BARRIERS_NEEDED, /* drops those that order nothing */
    REPLAY_BARRIERS_NONE,   /* drops all */
    REPLAY_BARRIERS_ONE,    /* drops one */
};

struct replay_what_if {
    bool coalesce_submissions; /* implies dropping host waits */
    bool drop_host_waits;
    enum replay_barriers barriers;
    uint64_t barrier; /* REPLAY_BARRIERS_ONE: its number, over command buffers by creation */
    bool merge_dispatches;
    uint32_t queues; /* 0: as recorded */
};

/* Counts in the plan before and after. */
struct replay_what_if_counts {
    uint64_t submissions, command_buffers, host_waits, barriers, queues;
};

struct replay_what_if_access {
    bool host; /* else at that locator */
    struct hal_locator where;
    char what[REPLAY_NAME_BYTES]; /* for people */
};

/* The result of the hazard graph: pairs of accesses in different command buffers or by the host
 * that share bytes, with at least one write. Pairs implied by others are not counted: where A, B
 * and C follow each other, A and C are no pair. "Ordered" means enforced on any device, by the
 * host's calls and waits, semaphores and the order within a submission. */
struct replay_what_if_hazards {
    uint64_t pairs;
    uint64_t together;         /* ordered within one submission in the variant */
    uint64_t lost;             /* ordered as recorded, but not in the variant */
    uint64_t lost_for_certain; /* of these; in the others, a kernel may leave the bytes alone */
    uint64_t unordered;        /* not ordered as recorded, either */
    uint64_t apart;            /* of these, on one queue as recorded and on two in the variant */
    /* Within command buffers, per submission: pairs that no barrier orders. */
    uint64_t races_before, races_after;
    uint64_t undecided; /* accesses beyond the limits */
    bool incomplete;    /* because of these, or of too much concurrent work: more may be lost */
    /* If some are lost, the first such pair: */
    struct replay_what_if_access first, second;
    char buffer[REPLAY_NAME_BYTES];
    uint64_t begin, end; /* bytes that both access */
};

struct replay_what_if_info {
    struct replay_what_if_counts before, after;
    struct replay_what_if_hazards hazards;
    /* What the hazard analysis says about dropped barriers, each counted once. */
    uint64_t dropped_redundant, dropped_unknown, dropped_needed;
    bool changed; /* false: the variant equals the plan */
};

/* Shares what does not change with `plan`, which must outlive it; destroy with replay_plan_destroy.
 * HAL_NO_MEMORY; HAL_NOT_FOUND: no such barrier. */
enum hal_status replay_plan_what_if(const struct replay_plan *plan,
                                    const struct replay_what_if *what_if,
                                    struct replay_what_if_info *out_info,
                                    struct replay_plan **out_variant) HAL_CHECKED;

#endif
