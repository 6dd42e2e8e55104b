/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/ui/follow.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "viewer/ui/job.h"
#include "viewer/ui/restore.h"

#include <stdlib.h>
#include <sys/stat.h>

/* ---- Rereading ----------------------------------------------------------------------------- */

/* A job, and what is shown next. */
struct view_reload {
    struct view_follow *follow;
    struct view_model *model; /* of the file as it is now */
    struct view *view;        /* of that: it gets what the one that is shown has */
    bool was_left;            /* no process held the shown file before this one was opened */
    bool is_held, is_over;    /* as in struct view_follow; before it was read, what was so then */
};

static void destroy_reload(void *work)
{
    struct view_reload *reload = work;
    if (!reload)
        return;
    view_destroy(reload->view);
    view_model_close(reload->model);
    free(reload);
}

/* A file whose capture is not visible here may grow forever. A flight recorder's file is complete
 * before the next one takes the name. A file whose capture ended while it was opened may lack its
 * last part: the next check reads it once more. */
static void see_capture(struct view_model *model, bool was_left, bool *held, bool *out_over)
{
    const enum trace_hold hold =
        model->health ? trace_reader_hold_now(model->reader) : trace_reader_hold(model->reader);
    *out_over = hold != TRACE_HELD && (model->health || was_left || (hold == TRACE_LEFT && !*held));
    *held = hold == TRACE_HELD || (*held && !*out_over);
    model->grows = !*out_over;
}

static enum hal_status read_anew(const struct view_model *model, void *work, struct view_task *task)
{
    struct view_reload *reload = work;
    const struct view_progress progress = view_task_progress(task);
    (void)model;
    HAL_TRY(view_model_open_slowly(reload->follow->path, &progress, &reload->model));
    see_capture(reload->model, reload->was_left, &reload->is_held, &reload->is_over);
    HAL_TRY(view_create(reload->model, &reload->view));
    return view_task_check(task);
}

static void take_reload(struct view *view, void *work)
{
    struct view_reload *reload = work;
    (void)view;
    reload->follow->reload = reload;
}

static const struct view_job_type reading_type = {.kind = VIEW_JOB_READING,
                                                  .name = "reading",
                                                  .always_aside = true,
                                                  .is_unasked = true,
                                                  .run = read_anew,
                                                  .take = take_reload,
                                                  .destroy = destroy_reload};

/* ---- The file ----------------------------------------------------------------------------- */

enum { LEAST_PAUSE_MS = 300, PAUSE_PER_READING = 4 };

/* A file that takes long to read is read less often: most of the time is the user's. */
static void pause_for(struct view_follow *follow, int64_t took_ns)
{
    const int64_t least_ns = (int64_t)LEAST_PAUSE_MS * 1000000;
    const int64_t pause_ns = PAUSE_PER_READING * took_ns;
    follow->next_ns = hal_clock_ns() + (pause_ns > least_ns ? pause_ns : least_ns);
}

static bool file_changed(struct view_follow *follow)
{
    struct stat now;
    if (stat(follow->path, &now) != 0)
        return false; /* between two names: later */
    const int64_t changed_s = now.st_mtime;
    const bool changed = now.st_size != follow->bytes || changed_s != follow->changed_s;
    follow->bytes = now.st_size;
    follow->changed_s = changed_s;
    return changed;
}

void view_follow_begin(struct view_follow *follow, const char *path, struct view_model *model,
                       int64_t took_ns)
{
    *follow = (struct view_follow){.path = path};
    see_capture(model, false, &follow->is_held, &follow->ended);
    pause_for(follow, took_ns); /* its size is not known: what came meanwhile is seen then */
}

/* Another job that the user waits for is running. */
static bool is_busy(const struct view *view)
{
    return view_has_steps(view) || view_jobs_awaited(view);
}

int64_t view_follow_pause_ns(const struct view_follow *follow, const struct view *view)
{
    const int64_t step_ns = 20000000; /* until the next view's jobs are looked at again */
    if (follow->ended || is_busy(view) || view_job_runs(view, VIEW_JOB_READING))
        return -1;
    if (follow->reload)
        return view_jobs_awaited(follow->reload->view) ? step_ns : 0;
    const int64_t pause_ns = follow->next_ns - hal_clock_ns();
    return pause_ns > 0 ? pause_ns : 0;
}

static void read_file(struct view_follow *follow, struct view *view, bool was_left)
{
    struct view_reload *reload = hal_alloc(1, sizeof *reload);
    if (!reload) {
        view_say(view, "no memory to reread the file");
        return;
    }
    reload->follow = follow;
    reload->was_left = was_left;
    reload->is_held = follow->is_held;
    view_job_start(view, &reading_type, reload, 0);
}

/* The previous view and its model are freed in the background. */
static void replace(struct view_follow *follow, struct view_model **model, struct view **view)
{
    struct view_reload *reload = follow->reload;
    struct view_reload before = *reload;
    follow->reload = NULL;
    follow->is_held = reload->is_held;
    follow->ended = reload->is_over;
    reload->view = *view;
    reload->model = *model;
    *view = before.view;
    *model = before.model;
    (*view)->following = !follow->ended;
    if (follow->ended)
        view_say(*view, (*model)->health ? "the capture has ended"
                                         : "the capture ended without completing the file");
    view_release(*view, reload, destroy_reload);
}

void view_follow_look(struct view_follow *follow, struct view_model **model, struct view **view)
{
    const int64_t now_ns = hal_clock_ns();
    if (follow->ended || is_busy(*view) || view_job_runs(*view, VIEW_JOB_READING))
        return;
    if (!follow->reads && now_ns >= follow->next_ns) {
        /* Asked first: what it wrote before is seen then. */
        const bool is_left =
            follow->is_held && trace_reader_hold_now((*model)->reader) != TRACE_HELD;
        follow->began_ns = now_ns;
        if (file_changed(follow) || is_left) {
            read_file(follow, *view, is_left);
            follow->reads = true;
        } else {
            pause_for(follow, 0);
        }
    }
    if (!follow->reads || view_job_runs(*view, VIEW_JOB_READING))
        return;
    if (follow->reload && !view_restore(follow->reload->view, *view))
        return; /* it is not complete */
    if (follow->reload)
        replace(follow, model, view);
    follow->reads = false; /* there, or not to be read now */
    pause_for(follow, now_ns - follow->began_ns);
}

void view_follow_end(struct view_follow *follow)
{
    destroy_reload(follow->reload);
    follow->reload = NULL;
}
