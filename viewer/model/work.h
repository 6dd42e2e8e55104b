/* SPDX-License-Identifier: Apache-2.0 */
/* What submissions consist of, kernel by kernel, and how long each kernel took, as far as a trace
 * tells: times of single dispatches; without those, the time of a submission belongs to a kernel
 * when it dispatches nothing else. Made on demand from a model, which must outlive it. One thread
 * at a time. */
#ifndef VIEWER_WORK_H
#define VIEWER_WORK_H

#include "viewer/model/model.h"
#include "viewer/model/task.h"

/* Kernels of the same name are the same kernel, whichever executable they are of. */
struct view_work_kernel {
    uint32_t name; /* string; 0: executable and entry tell it */
    uint32_t executable, entry;
};

/* A kernel in a command buffer. */
struct view_use {
    uint32_t kernel;
    uint32_t dispatches, indirect; /* indirect ones are dispatches too */
    uint64_t groups;               /* workgroups, without those of indirect dispatches */
};

struct view_work {
    const struct view_model *model;
    VIEW_TABLE(view_work_kernel, kernels);
    VIEW_TABLE(view_use, uses);
    uint32_t *kernel_of_op; /* by operation, VIEW_NO_REF: it dispatches nothing */
    uint32_t *first_use;    /* by command buffer, and one more: where its uses begin */
};

/* HAL_NO_MEMORY, HAL_UNSUPPORTED: too many. HAL_TIMEOUT when the task, which may be NULL, was
 * stopped. */
enum hal_status view_work_init(const struct view_model *model, struct view_task *task,
                               struct view_work *out_work) HAL_CHECKED;
void view_work_finish(struct view_work *work);

void view_work_name(const struct view_work *work, uint32_t kernel, char *out, size_t bytes);

/* The kernel that the submission dispatches most often, VIEW_NO_REF: none. */
uint32_t view_work_main(const struct view_work *work, uint32_t submission);
bool view_work_has(const struct view_work *work, uint32_t submission, uint32_t kernel);

struct view_kernel_time {
    uint32_t kernel;
    uint64_t dispatches, indirect, groups;
    uint64_t submissions;      /* that contain it */
    uint64_t alone;            /* of those, with times, that contain nothing else */
    uint64_t alone_dispatches; /* in these, and dispatches that have times of their own */
    int64_t alone_ns;
    struct trace_typical each; /* of one dispatch, as far as they are known; a submission of several
                                * counts once, with their mean */
    int64_t mixed_ns;          /* execution of those that contain it and something else */
    int64_t
        longest_ns;   /* of dispatches that have times of their own; VIEW_NO_TIME: there is none */
    uint32_t example; /* the longest that contains nothing else, or the first */
};

struct view_work_total {
    uint64_t submissions, alone, dispatches; /* alone: of one kernel only */
    int64_t executed_ns;                     /* all executions, one after the other */
};

/* Of the submissions that began to execute in [begin_ns, end_ns); those without device times count
 * where they were submitted. `out_times` has an element for each kernel. HAL_NO_MEMORY;
 * HAL_TIMEOUT when the task, which may be NULL, was stopped. */
enum hal_status view_work_times(const struct view_work *work, struct view_task *task,
                                int64_t begin_ns, int64_t end_ns,
                                struct view_kernel_time *out_times,
                                struct view_work_total *out_total) HAL_CHECKED;

#endif
