/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that take longer than a frame: on an interactive screen they run on their own thread,
 * while the user sees the progress, continues with other things, and may cancel them. Without a
 * screen, or for a small trace, they run synchronously, with the same result.
 *
 * A job knows the immutable model and its own work, and nothing else of the view. One thread at a
 * time starts, queries and ends jobs: the view's. */
#ifndef VIEWER_JOB_H
#define VIEWER_JOB_H

#include "viewer/ui/view.h"

struct view_job_type {
    enum view_job_kind kind;
    const char *name;  /* in the status line, and of the thread: at most 15 bytes */
    bool always_aside; /* runs in the background even for a small trace */
    size_t work_bytes; /* of a work that starts as all zero: view_job_ask */
    bool is_unasked;   /* the user did not ask for it: it is not shown, and no key cancels it */
    /* On the thread. HAL_TIMEOUT when the task was stopped. */
    enum hal_status (*run)(const struct view_model *model, void *work, struct view_task *task);
    /* On completion: the view owns the result from now on. */
    void (*take)(struct view *view, void *work);
    /* Nothing takes the result, and a message already says why; the view forgets that it was
     * cancelled when the result is requested again. NULL: nothing else to do. */
    void (*give_up)(struct view *view, const void *work);
    void (*destroy)(void *work); /* of a work that was not taken, on any thread */
};

/* Starts a job on `size` things, and owns the work. Stops a running one of the kind silently. */
void view_job_start(struct view *view, const struct view_job_type *type, void *work, uint64_t size);
/* Starts one that examines the whole trace, with a new work, unless it may not start. */
void view_job_ask(struct view *view, const struct view_job_type *type);
/* Whether none is running, and its result was not cancelled. */
bool view_job_may_start(const struct view *view, enum view_job_kind kind);
/* The size of a job that examines the whole trace. */
uint64_t view_job_whole(const struct view *view);

bool view_job_runs(const struct view *view, enum view_job_kind kind);
/* The work of a running job, which only its thread may change. NULL: none is running. */
const void *view_job_work(const struct view *view, enum view_job_kind kind);

/* Whether a job that the user asked for is running. */
bool view_jobs_awaited(const struct view *view);

/* Progress of the one started last, "filter 43 %"; writes nothing if none is running. */
void view_job_text(const struct view *view, char *out, size_t bytes);
/* Why its result is missing, if it is: still running, or cancelled. */
void view_job_missing(const struct view *view, enum view_job_kind kind, char *out, size_t bytes);

/* Takes completed results; false: none was running, nothing is new. Never blocks. */
bool view_jobs_poll(struct view *view);

/* Stops one, or all that the user asked for, without waiting for them. False: none was running. */
void view_job_stop(struct view *view, enum view_job_kind kind);
bool view_jobs_give_up(struct view *view);

/* Frees in the background what takes longer than a frame to free. */
void view_release(struct view *view, void *what, void (*destroy)(void *what));

/* Stops all and waits for them. */
void view_jobs_finish(struct view *view);

#endif
