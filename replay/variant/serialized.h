/* SPDX-License-Identifier: Apache-2.0 */
/* A plan whose submissions run one after the other, each to its end, and, where that is asked for,
 * the commands of submissions one by one: what lets somebody look in between. A submission that
 * waits for more than was there comes when its values have been reached. Private to replay/.
 *
 * Everything that runs is a *step*; an operation REPLAY_STEP, whose object is the step's index,
 * stands behind each, where the device is idle. */
#ifndef REPLAY_SERIALIZED_H
#define REPLAY_SERIALIZED_H

#include "hal/base/locator.h"
#include "replay/plan/plan.h"

enum replay_split { REPLAY_SPLIT_NONE, REPLAY_SPLIT_SOME, REPLAY_SPLIT_ALL };

struct replay_step {
    const struct trace_submit *submit; /* as recorded, renumbered */
    size_t submit_op;                  /* in the serial plan: hands the step in */
    /* Of a submission that is split; else `work` is NULL. */
    const struct trace_segment *work; /* fill, copy, update, dispatch */
    uint32_t commands;                /* index of the recorded command buffer in the plan */
    uint32_t segment;                 /* of the recorded command buffer */
    uint32_t dispatch;                /* dispatches in the submission before it */
    uint32_t piece;                   /* index of the command buffer with this command alone */
};

struct replay_serialized_options {
    enum replay_split split;
    const uint64_t *split_submissions; /* for REPLAY_SPLIT_SOME */
    size_t split_count;
    /* End behind this place; what is split must be of REPLAY_SPLIT_ALL or this submission. */
    bool has_stop;
    struct hal_locator stop;
    /* The place is the end of a range: behind all its submissions, also those that run later than
     * the last one, and behind what the host does then, before more work can run. */
    bool is_range;
    bool has_begin; /* this submission must be among those that run */
    uint64_t begin;
};

/* How a serial plan is made once more, by another process that has the same `plan`. */
struct replay_recipe {
    uint64_t number; /* no other one's */
    const struct replay_plan *plan;
    struct replay_serialized_options options; /* with its list behind */
    uint64_t splits[];
};

struct replay_serialized {
    struct replay_plan *plan;
    struct replay_step *steps;
    size_t step_count, step_capacity;
    uint64_t left_over; /* submissions whose values are never reached: not executed in steps */
};

/* Shares with `plan` what does not change; `plan` must outlive it. HAL_NOT_FOUND: the place to stop
 * at, or the submission to begin with, is not in the trace; the message says what is. */
enum hal_status replay_serialized_make(const struct replay_plan *plan,
                                       const struct replay_serialized_options *options,
                                       struct replay_serialized *out_serialized) HAL_CHECKED;
void replay_serialized_finish(struct replay_serialized *serialized);

/* "#s12.d40", or "#s12" when it is no dispatch. */
void replay_step_locate(const struct replay_step *step, struct hal_locator *out_locator);

/* "dispatch of 'scale', segment 3", "submission". */
void replay_step_name(const struct replay_plan *plan, const struct replay_step *step,
                      char out[REPLAY_NAME_BYTES]);

/* The step of a place; of a submission that is split, its last. NULL: none. */
const struct replay_step *replay_serialized_find(const struct replay_serialized *serialized,
                                                 const struct hal_locator *locator);

#endif
