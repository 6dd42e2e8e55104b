/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels in each submission and the time of each kernel, as far as the trace shows: times of
 * single dispatches; without those, the time of a submission counts for a kernel if it dispatches
 * nothing else. Computed on demand from a model, which must outlive it. One thread at a time. */
#ifndef VIEWER_WORK_H
#define VIEWER_WORK_H

#include "viewer/model/model.h"
#include "viewer/model/task.h"

/* Kernels of equal names are one kernel, in any executable. */
struct view_work_kernel {
    uint32_t name; /* string; 0: identified by executable and entry */
    uint32_t executable, entry;
};

/* A kernel in a command buffer. */
struct view_use {
    uint32_t kernel;
    uint32_t dispatches, indirect; /* indirect ones count as dispatches too */
    uint64_t groups;               /* workgroups, excluding indirect dispatches */
};

struct view_work {
    const struct view_model *model;
    VIEW_TABLE(view_work_kernel, kernels);
    VIEW_TABLE(view_use, uses);
    uint32_t *kernel_of_op; /* by operation; VIEW_NO_REF: not a dispatch */
    uint32_t *first_use;    /* by command buffer, plus one: where its uses begin */
};

/* HAL_NO_MEMORY; HAL_UNSUPPORTED: too many; HAL_TIMEOUT: the task (NULL: none) was stopped. */
enum hal_status view_work_init(const struct view_model *model, struct view_task *task,
                               struct view_work *out_work) HAL_CHECKED;
void view_work_finish(struct view_work *work);

void view_work_name(const struct view_work *work, uint32_t kernel, char *out, size_t bytes);

/* The kernel that the submission dispatches most often; VIEW_NO_REF: none. */
uint32_t view_work_main(const struct view_work *work, uint32_t submission);
bool view_work_has(const struct view_work *work, uint32_t submission, uint32_t kernel);

struct view_kernel_time {
    uint32_t kernel;
    uint64_t dispatches, indirect, groups;
    uint64_t submissions;      /* containing it */
    uint64_t alone;            /* of those, with times, containing nothing else */
    uint64_t alone_dispatches; /* in these, plus dispatches with times of their own */
    int64_t alone_ns;
    struct trace_typical each; /* per dispatch, as far as known; a submission of several counts
                                  once, with their mean */
    int64_t mixed_ns;          /* execution of submissions that contain it and something else */
    int64_t longest_ns;        /* of dispatches with times of their own; VIEW_NO_TIME: none */
    uint32_t example;          /* the longest submission containing nothing else, or the first */
};

struct view_work_total {
    uint64_t submissions, alone, dispatches; /* alone: of one kernel only */
    int64_t executed_ns;                     /* total of all executions */
};

/* For the submissions that began to execute in [begin_ns, end_ns); those without device times count
 * where they were submitted. `out_times` has an element for each kernel. HAL_NO_MEMORY; HAL_TIMEOUT
 * if the task, which may be NULL, was stopped. */
enum hal_status view_work_times(const struct view_work *work, struct view_task *task,
                                int64_t begin_ns, int64_t end_ns,
                                struct view_kernel_time *out_times,
                                struct view_work_total *out_total) HAL_CHECKED;

#endif
