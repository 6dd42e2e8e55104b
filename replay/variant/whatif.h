/* SPDX-License-Identifier: Apache-2.0 */
/* "What if the program had ...": a plan that does the same work in another way, made from a loaded
 * one. Whether the results are still the recorded ones is for a player to find out.
 *
 *   coalesce submissions  neighbours on one queue become one submission, as far as the host neither
 *                         looks at contents nor signals in between; waits of the host in between
 *                         are dropped as below
 *   drop host waits       a wait is put off until the host needs contents or signals, and becomes
 *                         a wait of the following submissions in the queue, which keeps the order
 *   drop barriers         those that order nothing (format/analysis/hazards.h), or all of them, or
 *                         one
 *   merge dispatches      the command buffers of a submission become one, with full barriers
 *                         between, which is what a submission means; recorded anew each time
 *   queues                submissions go to so many queues in turn
 *
 * Each may be combined with the others. */
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
    bool coalesce_submissions; /* drops host waits as well */
    bool drop_host_waits;
    enum replay_barriers barriers;
    uint64_t barrier; /* of REPLAY_BARRIERS_ONE: its number, from 0, over all command buffers in the
                         order of their creation */
    bool merge_dispatches;
    uint32_t queues; /* 0: as recorded */
};

/* How often, in the plan before and after. */
struct replay_what_if_counts {
    uint64_t submissions, command_buffers, host_waits, barriers, queues;
};

struct replay_what_if_access {
    bool host; /* else at that place */
    struct hal_locator where;
    char what[REPLAY_NAME_BYTES]; /* in words */
};

/* What the hazard graph says: pairs of accesses that share bytes, of which one writes, in different
 * command buffers or the host's. Of those that follow from others none is counted: where A, B and C
 * come one after the other, A and C are no pair. "Ordered" is what the host's calls and waits,
 * semaphores and the order within a submission enforce, whatever the device does. */
struct replay_what_if_hazards {
    uint64_t pairs;
    uint64_t together;         /* ordered within one submission, the other way */
    uint64_t lost;             /* ordered as recorded, and not the other way */
    uint64_t lost_for_certain; /* of these; of the others, a kernel may leave bytes alone */
    uint64_t unordered;        /* not as recorded, either */
    uint64_t apart;            /* of these, on one queue as recorded and on two the other way */
    /* Within command buffers, as often as they are submitted: pairs that no barrier orders. */
    uint64_t races_before, races_after;
    uint64_t undecided; /* accesses that were too many to look at */
    bool incomplete;    /* for these, or since too much work runs side by side: more may be lost */
    /* When some are lost, the first such pair: */
    struct replay_what_if_access first, second;
    char buffer[REPLAY_NAME_BYTES];
    uint64_t begin, end; /* bytes that both touch */
};

struct replay_what_if_info {
    struct replay_what_if_counts before, after;
    struct replay_what_if_hazards hazards;
    /* What the hazard analysis says of the barriers that were dropped, each counted once. */
    uint64_t dropped_redundant, dropped_unknown, dropped_needed;
    bool changed; /* false: the variant does what the plan does */
};

/* Shares everything that does not change with `plan`, which must outlive it; destroyed with
 * replay_plan_destroy. HAL_NO_MEMORY; HAL_NOT_FOUND: there is no such barrier. */
enum hal_status replay_plan_what_if(const struct replay_plan *plan,
                                    const struct replay_what_if *what_if,
                                    struct replay_what_if_info *out_info,
                                    struct replay_plan **out_variant) HAL_CHECKED;

#endif
