/* SPDX-License-Identifier: Apache-2.0 */
/* Merges runs of twice the length until one is left, and may be stopped between two of them. */
#include "viewer/ui/sorting.h"

#include "hal/base/mem.h"

#include <stdlib.h>

struct sortable {
    int64_t key;
    uint32_t row;
};

/* Merges two runs of `length`, or their rest. The first run's elements precede equal ones. */
static void merge(const struct sortable *from, struct sortable *to, size_t first, size_t length,
                  size_t count)
{
    const size_t middle = first + length < count ? first + length : count;
    const size_t end = middle + length < count ? middle + length : count;
    size_t a = first, b = middle;
    for (size_t i = first; i < end; i++)
        to[i] = b == end || (a < middle && from[a].key >= from[b].key) ? from[a++] : from[b++];
}

/* Returns the one of both lists that is in order. */
static const struct sortable *merge_all(struct sortable *list, struct sortable *other, size_t count,
                                        struct view_task *task)
{
    size_t rounds = 0, done = 0;
    for (size_t length = 1; length < count; length *= 2)
        rounds++;
    for (size_t length = 1; length < count; length *= 2, done++) {
        for (size_t i = 0; i < count && !view_task_stopped(task); i += 2 * length)
            merge(list, other, i, length, count);
        struct sortable *const merged = other;
        other = list;
        list = merged;
        view_task_advance(task, done, rounds);
    }
    return list;
}

enum hal_status view_rows_sort(const struct view_sorting *sorting, struct view_task *task,
                               uint32_t **out_rows)
{
    const size_t count = sorting->count;
    struct sortable *list = hal_alloc(count, sizeof *list);
    struct sortable *other = hal_alloc(count, sizeof *other);
    uint32_t *rows = hal_alloc(count, sizeof *rows);
    enum hal_status status = HAL_OK;
    if (!list || !other || !rows)
        status = hal_fail(HAL_NO_MEMORY, "no memory to sort %zu rows", count);
    for (uint32_t i = 0; status == HAL_OK && i < count && !view_task_stopped(task); i++)
        list[i] = (struct sortable){sorting->key(sorting->of, i, sorting->by), i};
    const struct sortable *sorted = status == HAL_OK ? merge_all(list, other, count, task) : NULL;
    for (size_t i = 0; sorted && i < count; i++)
        rows[i] = sorted[i].row;
    if (status == HAL_OK)
        status = view_task_check(task);
    free(list);
    free(other);
    if (status != HAL_OK) {
        free(rows);
        rows = NULL;
    }
    *out_rows = rows;
    return status;
}
