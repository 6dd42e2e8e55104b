/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions: how they become Metal command buffers. Private to the Metal driver. */
#ifndef HAL_METAL_QUEUE_H
#define HAL_METAL_QUEUE_H

#import "hal/drivers/metal/program.h"

/* ---- Completions (completion.m) -------------------------------------------------------------- */

/* How the device reports that a submission has run: the event reaches the value. Each is used by
 * one submission at a time, so that host and device always agree on its value. */
struct metal_completion {
    id<MTLSharedEvent> event;
    uint64_t value;
    struct metal_completion *next;      /* guarded by the engine's lock: free ones */
    struct metal_completion *next_made; /* all of the device; for the submitting thread */
};

/* Commits the command buffer that signals the submission's completion, and resolves the submission
 * once on completion. False: there is no completion event, and nothing was committed. */
bool metal_completion_commit(struct metal_submission *submission,
                             id<MTLCommandBuffer> part) HAL_CHECKED;

/* Starts the listener for completion events. False: Metal provides none. */
bool metal_completions_start(struct metal_device *device) HAL_CHECKED;
void metal_completions_stop(struct metal_device *device);

/* ---- Submissions (queue.m, commit.m) ------------------------------------------------------- */

struct metal_submission {
    struct hal_work work;

    /* Guarded by the engine's lock. */
    size_t parts; /* outstanding: completions of command buffers, and the commit itself */
    struct metal_completion *completion; /* NULL: nothing is signalled, or not committed */
    uint64_t watch;                      /* its number until its completion is seen */
    struct metal_submission *next_watched, *previous_watched;

    /* For a submission whose dispatches are timed, by command buffer; else NULL. Filled by the
     * committing thread, then by the completing one. */
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

/* By command buffer: the counts of its indirect dispatches, or nil. */
static inline id<MTLBuffer> *metal_counts_of(const struct metal_submission *submission)
{
    return (id<MTLBuffer> *)submission->work.extra;
}

/* The results of timing one command buffer's dispatches. */
struct metal_part_times {
    struct metal_samples samples;
    struct hal_dispatch_time *dispatches;
    size_t count;
};

extern const struct hal_engine_ops metal_engine_ops;

/* One outstanding part of the submission has ended, with this status and this thread's message. The
 * device may be gone afterwards unless the caller keeps it. */
void metal_submission_resolve(struct metal_submission *submission, enum hal_status status);

/* The parts of a submission, each in its own command buffers. */
enum metal_part { METAL_PART_WAIT, METAL_PART_COMMANDS, METAL_PART_SIGNAL };

/* The status of a completed command buffer; `index` is that in the batch (errors.m). */
enum hal_status metal_part_status(const struct metal_submission *submission, enum metal_part which,
                                  size_t index, id<MTLCommandBuffer> part) HAL_CHECKED;

/* Starts the committing thread. */
enum hal_status metal_queue_start(struct metal_device *device) HAL_CHECKED;
void metal_queue_stop(struct metal_device *device);

/* ---- Host calls (host.m) ------------------------------------------------------------------- */

/* For the engine. Data that the host cannot access is copied to accessible memory, and back. */
enum hal_status metal_host_call(struct hal_work *work);

#endif
