/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts rows by their keys, descending; equal keys by row number. Any thread. */
#ifndef VIEWER_SORTING_H
#define VIEWER_SORTING_H

#include "viewer/model/task.h"

#include <stdint.h>

/* `of` is the keys' data, which must not change meanwhile. */
typedef int64_t view_order_key(const void *of, uint32_t row, int by);

struct view_sorting {
    view_order_key *key;
    const void *of;
    int by;
    size_t count; /* number of rows */
};

/* The caller frees *out_rows. HAL_NO_MEMORY; HAL_TIMEOUT: the task (NULL: none) was stopped. */
enum hal_status view_rows_sort(const struct view_sorting *sorting, struct view_task *task,
                               uint32_t **out_rows) HAL_CHECKED;

#endif
