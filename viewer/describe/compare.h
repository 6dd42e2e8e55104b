/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two traces: the same figures of both, and whether their difference is significant. */
#ifndef VIEWER_COMPARE_H
#define VIEWER_COMPARE_H

#include "viewer/model/work.h"

#include <stdio.h>

/* A total of each trace: a single value with no measure of variation. */
struct view_total {
    char name[64];
    enum view_unit { VIEW_UNIT_TIME, VIEW_UNIT_COUNT, VIEW_UNIT_BYTES } unit;
    uint64_t values[2]; /* [0]: the first trace's */
};

/* Scopes or kernels of one name, in one trace or both. */
struct view_pair {
    char name[128];
    uint64_t count[2];            /* scopes, dispatches */
    int64_t total_ns[2];          /* of those with known times */
    struct trace_typical each[2]; /* per scope or dispatch */
};

struct view_comparison {
    const struct view_model *models[2];
    VIEW_TABLE(view_total, totals); /* those that at least one trace has */
    VIEW_TABLE(view_pair,
               scopes); /* those that both have; iterations if there are no scopes for them */
    VIEW_TABLE(view_pair, kernels); /* largest change first, as for scopes */
};

/* The models must outlive the comparison. HAL_NO_MEMORY. */
enum hal_status view_compare(const struct view_model *first, const struct view_model *second,
                             struct view_comparison *out_comparison) HAL_CHECKED;
void view_comparison_finish(struct view_comparison *comparison);

/* One JSON object. HAL_NO_MEMORY. */
enum hal_status view_comparison_json(const struct view_comparison *comparison,
                                     FILE *file) HAL_CHECKED;

/* Lines of "what\tfirst -> second, change, meaning". */
struct view_lines;
void view_comparison_lines(const struct view_comparison *comparison, struct view_lines *lines);

#endif
