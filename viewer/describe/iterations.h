/* SPDX-License-Identifier: Apache-2.0 */
/* What a program does repeatedly: scopes with equal names, or else the repeating pattern in its
 * submissions. The figures exclude warm-up, as trace_typical_of defines it. Computed on demand from
 * a model, which must outlive it. */
#ifndef VIEWER_ITERATIONS_H
#define VIEWER_ITERATIONS_H

#include "viewer/model/work.h"

struct view_iteration {
    int64_t begin_ns, end_ns;
    uint64_t submissions, dispatches; /* submitted in it */
    uint64_t syncs;                   /* waits begun in it */
    int64_t sync_ns, device_ns;
    uint32_t submission; /* the first one, or VIEW_NO_REF */
    bool warm_up, outlier;
};

struct view_iterations {
    char name[80];                    /* "token #", or "12 submissions" */
    bool named;                       /* found by scopes */
    VIEW_TABLE(view_iteration, list); /* in time order */
    size_t warm_up, outliers;         /* number in the list */
    struct trace_typical time;        /* of one iteration: of their scopes if named */
};

/* Nothing repeats: the list is empty. HAL_NO_MEMORY; HAL_TIMEOUT if the task, which may be NULL,
 * was stopped. */
enum hal_status view_iterations_find(const struct view_model *model, const struct view_work *work,
                                     struct view_task *task,
                                     struct view_iterations *out_iterations) HAL_CHECKED;
void view_iterations_finish(struct view_iterations *iterations);

/* The last one that begins at or before that moment; SIZE_MAX: none. */
size_t view_iterations_at(const struct view_iterations *iterations, int64_t ns);

/* Lines of text: what they are, how long they take, and what was excluded. */
struct view_lines;
void view_iterations_lines(const struct view_iterations *iterations, struct view_lines *lines);

#define VIEW_ITERATION_HEADER                                                                      \
    " number             begin     length   median submissions  dispatches  waits    "             \
    "blocked  device"
void view_iteration_text(const struct view_iterations *iterations, size_t index, char *out,
                         size_t bytes);

#endif
