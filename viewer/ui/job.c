/* SPDX-License-Identifier: Apache-2.0 */
/* One thread per job, from its start to its end. The thread owns the work until it reports
 * completion; if nothing wants the result any more, the thread frees it itself. */
#include "viewer/ui/job.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct view_job {
    const struct view_job_type *type;
    const struct view_model *model;
    void *work;
    pthread_t thread;
    struct view_task task;
    bool is_unwanted; /* it was stopped: its result is not taken */
    struct view_job *next;
    atomic_bool done; /* what follows is the view's from then on */
    enum hal_status status;
    char message[256]; /* of a failure: messages are a thread's own */
};

static void *run(void *argument)
{
    struct view_job *job = argument;
    job->status = job->type->run(job->model, job->work, &job->task);
    if (job->status != HAL_OK)
        snprintf(job->message, sizeof job->message, "%s", hal_message());
    /* Freeing takes long, too. Whoever stops it has done with the work before. */
    if (atomic_load_explicit(&job->task.stop, memory_order_acquire)) {
        job->type->destroy(job->work);
        job->work = NULL;
    }
    atomic_store_explicit(&job->done, true, memory_order_release);
    return NULL;
}

static void give_up(struct view *view, const struct view_job_type *type, const void *work)
{
    view->given_up[type->kind] = true;
    if (type->give_up)
        type->give_up(view, work);
}

static void run_here(struct view *view, const struct view_job_type *type, void *work)
{
    if (type->run(view->model, work, NULL) == HAL_OK) {
        type->take(view, work);
        return;
    }
    view_say(view, "%s: %s", type->name, hal_message());
    give_up(view, type, work);
    type->destroy(work);
}

uint64_t view_job_whole(const struct view *view)
{
    const struct trace_counts *counts = trace_reader_counts(view->model->reader);
    return counts->events + counts->segments;
}

void view_job_start(struct view *view, const struct view_job_type *type, void *work, uint64_t size)
{
    struct view_job *job = NULL;
    const bool aside = view->is_live && (type->always_aside || size >= view->jobs_from);
    view_job_stop(view, type->kind);
    view->given_up[type->kind] = false;
    if (aside && (job = hal_alloc(1, sizeof *job))) {
        job->type = type;
        job->model = view->model;
        job->work = work;
        view_task_part(&job->task, 0, VIEW_TASK_WHOLE);
        if (hal_thread_start(type->name, run, job, &job->thread) == HAL_OK) {
            job->next = view->jobs;
            view->jobs = job;
            return;
        }
    }
    free(job);
    run_here(view, type, work);
}

static struct view_job *wanted(const struct view *view, enum view_job_kind kind)
{
    for (struct view_job *job = view->jobs; job; job = job->next) {
        if (!job->is_unwanted && job->type->kind == kind)
            return job;
    }
    return NULL;
}

bool view_job_runs(const struct view *view, enum view_job_kind kind)
{
    return wanted(view, kind) != NULL;
}

const void *view_job_work(const struct view *view, enum view_job_kind kind)
{
    const struct view_job *job = wanted(view, kind);
    return job ? job->work : NULL;
}

bool view_job_may_start(const struct view *view, enum view_job_kind kind)
{
    return !view->given_up[kind] && !wanted(view, kind);
}

void view_job_ask(struct view *view, const struct view_job_type *type)
{
    void *work = NULL;
    if (!view_job_may_start(view, type->kind))
        return;
    if ((work = hal_alloc(1, type->work_bytes)))
        view_job_start(view, type, work, view_job_whole(view));
    else
        view_say(view, "no memory for the %s", type->name);
}

static unsigned percent(const struct view_job *job)
{
    return atomic_load_explicit(&job->task.done, memory_order_relaxed) * 100 / VIEW_TASK_WHOLE;
}

/* The next one that the user waits for, from this one on. */
static struct view_job *awaited(struct view_job *job)
{
    while (job && (job->is_unwanted || job->type->is_unasked))
        job = job->next;
    return job;
}

bool view_jobs_awaited(const struct view *view)
{
    return awaited(view->jobs) != NULL;
}

void view_job_text(const struct view *view, char *out, size_t bytes)
{
    const struct view_job *job = awaited(view->jobs);
    if (job)
        snprintf(out, bytes, "%s %u %%", job->type->name, percent(job));
}

void view_job_missing(const struct view *view, enum view_job_kind kind, char *out, size_t bytes)
{
    const struct view_job *job = wanted(view, kind);
    if (job)
        snprintf(out, bytes, "searching, %u %%: you can continue meanwhile", percent(job));
    else if (view->given_up[kind])
        snprintf(out, bytes, "cancelled: open this panel again to restart");
}

/* A job that is done, or that is waited for. */
static void end(struct view *view, struct view_job *job)
{
    hal_thread_join(job->thread);
    if (!job->is_unwanted && job->status == HAL_OK) {
        job->type->take(view, job->work);
        job->work = NULL;
    } else if (!job->is_unwanted) {
        view_say(view, "%s: %s", job->type->name, job->message);
        give_up(view, job->type, job->work);
    }
    if (job->work)
        job->type->destroy(job->work);
    free(job);
}

bool view_jobs_poll(struct view *view)
{
    struct view_job **at = &view->jobs, *done = NULL;
    while (*at) {
        struct view_job *job = *at;
        if (!atomic_load_explicit(&job->done, memory_order_acquire)) {
            at = &job->next;
            continue;
        }
        *at = job->next;
        job->next = done;
        done = job;
    }
    const bool any = done || view->jobs;
    while (done) { /* which may start others */
        struct view_job *job = done;
        done = job->next;
        end(view, job);
    }
    return any;
}

static void stop(struct view_job *job)
{
    job->is_unwanted = true;
    atomic_store_explicit(&job->task.stop, true, memory_order_release);
}

void view_job_stop(struct view *view, enum view_job_kind kind)
{
    struct view_job *job = wanted(view, kind);
    if (job)
        stop(job);
}

bool view_jobs_give_up(struct view *view)
{
    char names[128] = "";
    for (struct view_job *job = awaited(view->jobs); job; job = awaited(job->next)) {
        const size_t length = strlen(names);
        snprintf(names + length, sizeof names - length, "%s%s", *names ? ", " : "",
                 job->type->name);
        give_up(view, job->type, job->work); /* while it still has its work */
        stop(job);
    }
    if (*names)
        view_say(view, "cancelled: %s", names);
    return *names != '\0';
}

void view_jobs_finish(struct view *view)
{
    for (struct view_job *job = view->jobs; job; job = job->next)
        stop(job);
    while (view->jobs) {
        struct view_job *job = view->jobs;
        view->jobs = job->next;
        end(view, job);
    }
}

/* ---- Freeing ------------------------------------------------------------------------------- */

struct releasing {
    void *what;
    void (*destroy)(void *what);
};

static enum hal_status release(const struct view_model *model, void *work, struct view_task *task)
{
    struct releasing *r = work;
    (void)model, (void)task;
    if (r->what)
        r->destroy(r->what);
    r->what = NULL;
    return HAL_OK;
}

static void destroy_releasing(void *work)
{
    (void)release(NULL, work, NULL);
    free(work);
}

static void take_nothing(struct view *view, void *work)
{
    (void)view;
    free(work);
}

static const struct view_job_type release_type = {.kind = VIEW_JOB_RELEASE,
                                                  .name = "release",
                                                  .always_aside = true,
                                                  .is_unasked = true,
                                                  .run = release,
                                                  .take = take_nothing,
                                                  .destroy = destroy_releasing};

void view_release(struct view *view, void *what, void (*destroy)(void *what))
{
    struct releasing *r = hal_alloc(1, sizeof *r);
    if (!r) {
        destroy(what);
        return;
    }
    *r = (struct releasing){.what = what, .destroy = destroy};
    view_job_start(view, &release_type, r, 0);
}
