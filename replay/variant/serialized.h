/* SPDX-License-Identifier: Apache-2.0 */
/* A plan whose submissions run one after the other, each to its end, and on request command by
 * command, so that memory can be examined in between. A submission that waits for a later value
 * runs when its values have been reached; its host call, if any, follows at once. Private to
 * replay/.
 *
 * Everything that runs is a *step*, followed by an operation REPLAY_STEP whose object is the step's
 * index: the device is idle there. */
#ifndef REPLAY_SERIALIZED_H
#define REPLAY_SERIALIZED_H

#include "hal/base/locator.h"
#include "replay/plan/plan.h"

enum replay_split { REPLAY_SPLIT_NONE, REPLAY_SPLIT_SOME, REPLAY_SPLIT_ALL };

struct replay_step {
    const struct trace_submit *submit; /* as recorded, renumbered */
    size_t submit_op;                  /* in the serialized plan: submits the step */
    size_t end_op;                     /* behind the wait for its end */
    /* For a split submission; otherwise `work` is NULL. */
    const struct trace_segment *work; /* fill, copy, update, dispatch */
    uint32_t commands;                /* index of the recorded command buffer in the plan */
    uint32_t segment;                 /* in the recorded command buffer */
    uint32_t dispatch;                /* dispatches that precede it in the submission */
    uint32_t piece;                   /* index of the command buffer with this command alone */
};

struct replay_serialized_options {
    enum replay_split split;
    const uint64_t *split_submissions; /* for REPLAY_SPLIT_SOME */
    size_t split_count;
    /* Ends after this locator; requires REPLAY_SPLIT_ALL or this submission to be split. */
    bool has_stop;
    struct hal_locator stop;
    /* The locator is the end of a range: ends after all submissions of the range, including those
     * that run later than the last one, and the host's operations up to the next work. */
    bool is_range;
    bool has_begin; /* this submission must be among those that run */
    uint64_t begin;
};

/* How to make a serialized plan again in another process with the same `plan`. */
struct replay_recipe {
    uint64_t number; /* unique */
    const struct replay_plan *plan;
    struct replay_serialized_options options; /* followed by its list */
    uint64_t splits[];
};

struct replay_serialized {
    struct replay_plan *plan;
    struct replay_step *steps;
    size_t step_count, step_capacity;
    uint64_t left_over; /* submissions whose values are never reached: not executed in steps */
};

/* Shares what does not change with `plan`, which must outlive it. HAL_NOT_FOUND: the trace has no
 * such stop or first submission; the message names what it has. */
enum hal_status replay_serialized_make(const struct replay_plan *plan,
                                       const struct replay_serialized_options *options,
                                       struct replay_serialized *out_serialized) HAL_CHECKED;
void replay_serialized_finish(struct replay_serialized *serialized);

/* "#s12.d40", or "#s12" if it is no dispatch. */
void replay_step_locate(const struct replay_step *step, struct hal_locator *out_locator);

/* "dispatch of 'scale', segment 3", "submission". */
void replay_step_name(const struct replay_plan *plan, const struct replay_step *step,
                      char out[REPLAY_NAME_BYTES]);

/* The step at a locator; for a split submission, its last one. NULL: none. */
const struct replay_step *replay_serialized_find(const struct replay_serialized *serialized,
                                                 const struct hal_locator *locator);

#endif
