/* SPDX-License-Identifier: Apache-2.0 */
/* Two traces side by side: the same numbers of both, by how much they differ, and whether that is
 * more than chance. */
#ifndef VIEWER_COMPARE_H
#define VIEWER_COMPARE_H

#include "viewer/model/work.h"

#include <stdio.h>

/* A total of each trace: one value, of which nothing says how it varies. */
struct view_total {
    char name[64];
    enum view_unit { VIEW_UNIT_TIME, VIEW_UNIT_COUNT, VIEW_UNIT_BYTES } unit;
    uint64_t values[2]; /* [0]: the first trace's */
};

/* Scopes or kernels of one name, which one trace has, or both. */
struct view_pair {
    char name[128];
    uint64_t count[2];            /* scopes, dispatches */
    int64_t total_ns[2];          /* of those whose times are known */
    struct trace_typical each[2]; /* of one */
};

struct view_comparison {
    const struct view_model *models[2];
    VIEW_TABLE(view_total, totals); /* of which one trace at least has some */
    VIEW_TABLE(view_pair,
               scopes); /* that both have; and iterations, where scopes do not tell them */
    VIEW_TABLE(view_pair, kernels); /* those that changed most come first, as of scopes */
};

/* The models must outlive it. HAL_NO_MEMORY. */
enum hal_status view_compare(const struct view_model *first, const struct view_model *second,
                             struct view_comparison *out_comparison) HAL_CHECKED;
void view_comparison_finish(struct view_comparison *comparison);

/* One JSON object. HAL_NO_MEMORY. */
enum hal_status view_comparison_json(const struct view_comparison *comparison,
                                     FILE *file) HAL_CHECKED;

/* Lines of "what\tfirst -> second, change, what that means". */
struct view_lines;
void view_comparison_lines(const struct view_comparison *comparison, struct view_lines *lines);

#endif
