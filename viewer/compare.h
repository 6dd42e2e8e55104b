/* SPDX-License-Identifier: Apache-2.0 */
/* Two traces side by side: the same numbers of both, and by how much they differ. */
#ifndef VIEWER_COMPARE_H
#define VIEWER_COMPARE_H

#include "viewer/work.h"

/* A kernel that one of them has, or both. [0]: the first trace's. */
struct view_kernel_pair {
    char name[128];
    uint64_t dispatches[2];
    uint64_t timed[2]; /* dispatches that `ns` is of; 0: their times are not known */
    int64_t ns[2];
};

struct view_comparison {
    const struct view_model *models[2];
    VIEW_TABLE(view_kernel_pair, kernels); /* those that changed most come first */
};

/* The models must outlive it. HAL_NO_MEMORY. */
enum hal_status view_compare(const struct view_model *first, const struct view_model *second,
                             struct view_comparison *out_comparison) HAL_CHECKED;
void view_comparison_finish(struct view_comparison *comparison);

/* Lines of "what\tfirst -> second, change". */
struct view_lines;
void view_comparison_lines(const struct view_comparison *comparison, struct view_lines *lines);

#endif
