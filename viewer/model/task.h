/* SPDX-License-Identifier: Apache-2.0 */
/* A long operation on one thread, whose progress other threads can see and which they can stop. All
 * zero: just begun. It must outlive its users. Any number of threads. */
#ifndef VIEWER_TASK_H
#define VIEWER_TASK_H

#include "hal/base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { VIEW_TASK_WHOLE = 1000 };

struct view_task {
    atomic_bool stop;
    atomic_uint done;      /* of VIEW_TASK_WHOLE */
    unsigned first, share; /* only used by the worker: the current part */
};

/* Everywhere, a task may be NULL: no progress, no stop. */
static inline bool view_task_stopped(const struct view_task *task)
{
    return task && atomic_load_explicit(&task->stop, memory_order_relaxed);
}

/* HAL_TIMEOUT if it was stopped. */
static inline enum hal_status view_task_check(const struct view_task *task)
{
    return view_task_stopped(task) ? hal_fail(HAL_TIMEOUT, "given up") : HAL_OK;
}

/* The following work is the part from `first` to before `end`, of VIEW_TASK_WHOLE. */
static inline void view_task_part(struct view_task *task, unsigned first, unsigned end)
{
    if (!task)
        return;
    task->first = first;
    task->share = end - first;
    atomic_store_explicit(&task->done, first, memory_order_relaxed);
}

/* Reports that `done` of `of` steps of this part are complete. */
static inline void view_task_advance(struct view_task *task, size_t done, size_t of)
{
    if (task && of)
        atomic_store_explicit(&task->done,
                              task->first + (unsigned)((done < of ? done : of) * task->share / of),
                              memory_order_relaxed);
}

#endif
