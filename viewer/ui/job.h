/* SPDX-License-Identifier: Apache-2.0 */
/* What takes longer than a frame may: it is done on a thread of its own while somebody waits at a
 * screen, who sees how far it is, goes on with other things, and may give it up. Without a screen,
 * or when a trace is small, it is done at once, with the same result.
 *
 * A job knows the model, which never changes, and its own work, and nothing else of the view. One
 * thread at a time starts, asks and ends jobs: the view's. */
#ifndef VIEWER_JOB_H
#define VIEWER_JOB_H

#include "viewer/ui/view.h"

struct view_job_type {
    enum view_job_kind kind;
    const char *name;  /* in the status line, and of the thread: at most 15 bytes */
    bool always_aside; /* also in a small trace */
    size_t work_bytes; /* of a work that is all zero at first: view_job_ask */
    bool is_unasked;   /* nobody waits for it: it is not shown, and not given up by a key */
    /* On the thread. HAL_TIMEOUT when the task was stopped. */
    enum hal_status (*run)(const struct view_model *model, void *work, struct view_task *task);
    /* It is done: what was made belongs to the view from now on. */
    void (*take)(struct view *view, void *work);
    /* Nobody takes it, and why is said already; the view says no more that it is given up when what
     * it makes is asked for anew. NULL: nothing else is to be done. */
    void (*give_up)(struct view *view, const void *work);
    void (*destroy)(void *work); /* of what was not taken, on any thread */
};

/* Looks at so many things. Owns the work from now on. One of the same kind that runs is ended, and
 * nobody is told. */
void view_job_start(struct view *view, const struct view_job_type *type, void *work, uint64_t size);
/* Starts one that looks at all that happened, with a new work, unless it may not start. */
void view_job_ask(struct view *view, const struct view_job_type *type);
/* Whether none runs, and what it makes was not given up. */
bool view_job_may_start(const struct view *view, enum view_job_kind kind);
/* The size of a job that looks at all that happened. */
uint64_t view_job_whole(const struct view *view);

bool view_job_runs(const struct view *view, enum view_job_kind kind);
/* The work of one that runs, which only its thread may change. NULL: none does. */
const void *view_job_work(const struct view *view, enum view_job_kind kind);

/* Whether one runs that somebody asked for. */
bool view_jobs_awaited(const struct view *view);

/* Of the one of these that was started last, "filter 43 %"; none runs: nothing is written. */
void view_job_text(const struct view *view, char *out, size_t bytes);
/* Why what it makes is not there, when that is so: it runs, or was given up. */
void view_job_missing(const struct view *view, enum view_job_kind kind, char *out, size_t bytes);

/* Takes what is done; false: none ran, and nothing is new. Never blocks. */
bool view_jobs_poll(struct view *view);

/* Ends one that nobody wants, or all that were asked for and are given up, wherever they are, and
 * does not wait for their ends. False: none ran. */
void view_job_stop(struct view *view, enum view_job_kind kind);
bool view_jobs_give_up(struct view *view);

/* Frees beside the screen what takes longer than a frame to free. */
void view_release(struct view *view, void *what, void (*destroy)(void *what));

/* Ends all and waits for them. */
void view_jobs_finish(struct view *view);

#endif
