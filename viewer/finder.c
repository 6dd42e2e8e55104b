/* SPDX-License-Identifier: Apache-2.0 */
/* One thread from start to end; what it found belongs to it until it says that it is done. */
#include "viewer/finder.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "viewer/task.h"

#include <pthread.h>
#include <stdio.h>

struct view_finder {
    const struct view_model *model;
    pthread_t thread;
    struct view_task task;
    atomic_bool done; /* what follows is the owner's from then on */
    struct view_findings findings;
    enum hal_status status;
    char message[256]; /* of a failure: messages are a thread's own */
};

static void *run(void *argument)
{
    struct view_finder *finder = argument;
    finder->status = view_findings_look(finder->model, &finder->task, &finder->findings);
    if (finder->status != HAL_OK)
        snprintf(finder->message, sizeof finder->message, "%s", hal_message());
    atomic_store_explicit(&finder->done, true, memory_order_release);
    return NULL;
}

enum hal_status view_finder_start(const struct view_model *model, struct view_finder **out_finder)
{
    struct view_finder *finder = hal_alloc(1, sizeof *finder);
    *out_finder = NULL;
    if (!finder)
        return hal_fail(HAL_NO_MEMORY, "no memory to look for findings");
    finder->model = model;
    const enum hal_status status = hal_thread_start("findings", run, finder, &finder->thread);
    if (status != HAL_OK)
        free(finder);
    else
        *out_finder = finder;
    return status;
}

bool view_finder_is_done(const struct view_finder *finder)
{
    return atomic_load_explicit(&finder->done, memory_order_acquire);
}

unsigned view_finder_percent(const struct view_finder *finder)
{
    return atomic_load_explicit(&finder->task.done, memory_order_relaxed) * 100 / VIEW_TASK_WHOLE;
}

enum hal_status view_finder_take(struct view_finder *finder, struct view_findings *out_findings)
{
    hal_thread_join(finder->thread);
    enum hal_status status = finder->status;
    *out_findings = finder->findings;
    if (status != HAL_OK)
        status = hal_fail(status, "%s", finder->message);
    free(finder);
    return status;
}

void view_finder_cancel(struct view_finder *finder)
{
    struct view_findings unused = {0};
    if (!finder)
        return;
    atomic_store_explicit(&finder->task.stop, true, memory_order_relaxed);
    const enum hal_status status = view_finder_take(finder, &unused);
    (void)status; /* nobody wants what it found */
    view_findings_finish(&unused);
}
