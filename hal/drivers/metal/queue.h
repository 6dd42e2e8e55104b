/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions: how they become command buffers of Metal. Private to the Metal driver. */
#ifndef HAL_METAL_QUEUE_H
#define HAL_METAL_QUEUE_H

#import "hal/drivers/metal/program.h"

/* ---- Completions (completion.m) -------------------------------------------------------------- */

/* How the device tells that a submission has run: the event reaches the value. Each is used by one
 * submission at a time, so that host and device can never disagree about its value. */
struct metal_completion {
    id<MTLSharedEvent> event;
    uint64_t value;
    struct metal_completion *next;      /* the engine's lock: free ones */
    struct metal_completion *next_made; /* all of the device; the submitting thread's */
};

/* Commits the command buffer that signals the submission's completion, and resolves the submission
 * once when that is done. False: there is no completion event, and nothing was committed. */
bool metal_completion_commit(struct metal_submission *submission,
                             id<MTLCommandBuffer> part) HAL_CHECKED;

/* Starts the listener of completion events. False: Metal has none. */
bool metal_completions_start(struct metal_device *device) HAL_CHECKED;
void metal_completions_stop(struct metal_device *device);

/* ---- Submissions (queue.m, commit.m) ------------------------------------------------------- */

struct metal_submission {
    struct hal_work work;

    /* The engine's lock. */
    size_t parts; /* what it has yet to see: the end of command buffers, and of the commit itself */
    struct metal_completion *completion; /* NULL: nothing is signalled, or it is not committed */
    uint64_t watch;                      /* its number while its completion is not seen */
    struct metal_submission *next_watched, *previous_watched;

    /* Of a submission whose dispatches are to be timed, by command buffer; NULL: of another. Each
     * is filled by the thread that commits, then by the one that completes. */
    struct metal_part_times *times;
};

static inline struct metal_submission *to_metal_submission(struct hal_work *work)
{
    return (struct metal_submission *)work;
}

static inline struct metal_device *metal_device_of(const struct metal_submission *submission)
{
    return (struct metal_device *)submission->work.engine;
}

/* By command buffer: of its indirect dispatches, or nil. */
static inline id<MTLBuffer> *metal_counts_of(const struct metal_submission *submission)
{
    return (id<MTLBuffer> *)submission->work.extra;
}

/* What was learnt of one command buffer's dispatches. */
struct metal_part_times {
    struct metal_samples samples;
    struct hal_dispatch_time *dispatches;
    size_t count;
};

extern const struct hal_engine_ops metal_engine_ops;

/* One thing less keeps the submission from its end, and went so: with this thread's message. The
 * device may be gone afterwards, unless the caller keeps it. */
void metal_submission_resolve(struct metal_submission *submission, enum hal_status status);

/* The steps of a submission, each in command buffers of its own. */
enum metal_part { METAL_PART_WAIT, METAL_PART_COMMANDS, METAL_PART_SIGNAL };

/* How a completed command buffer went; `index` is that of the commands in the batch (errors.m). */
enum hal_status metal_part_judge(const struct metal_submission *submission, enum metal_part which,
                                 size_t index, id<MTLCommandBuffer> part) HAL_CHECKED;

/* The thread that commits. */
enum hal_status metal_queue_start(struct metal_device *device) HAL_CHECKED;
void metal_queue_stop(struct metal_device *device);

/* ---- Host calls (host.m) ------------------------------------------------------------------- */

/* For the engine. What the host cannot see is copied to where it can, and back. */
enum hal_status metal_host_call(struct hal_work *work);

#endif
