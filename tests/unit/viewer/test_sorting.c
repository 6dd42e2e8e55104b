/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/ui/sorting.c: any number of rows, equal ones among them, against looking at every pair. */
#include "tests/support/test.h"
#include "viewer/ui/sorting.h"

static int64_t key_of(const void *of, uint32_t row, int by)
{
    const int64_t *keys = of;
    return by ? -keys[row] : keys[row];
}

TEST(the_largest_come_first_and_equal_ones_by_their_numbers)
{
    enum { MOST = 200, DIFFERENT = 20 };
    int64_t keys[MOST];
    for (uint32_t i = 0; i < MOST; i++)
        keys[i] = (int64_t)(i * 7919 % DIFFERENT) - DIFFERENT / 2;
    keys[5] = INT64_MAX;
    keys[150] = INT64_MIN + 1;
    for (size_t count = 0; count <= MOST; count++) {
        const struct view_sorting sorting = {
            .key = key_of, .of = keys, .by = (int)(count % 2), .count = count};
        bool is_there[MOST] = {false};
        uint32_t *rows;
        assert_int_equal(view_rows_sort(&sorting, NULL, &rows), HAL_OK);
        for (size_t i = 0; i < count; i++) {
            assert_true(rows[i] < count && !is_there[rows[i]]);
            is_there[rows[i]] = true;
            const int64_t key = key_of(keys, rows[i], sorting.by);
            const int64_t before = i ? key_of(keys, rows[i - 1], sorting.by) : INT64_MAX;
            assert_true(before > key || i == 0 || (before == key && rows[i - 1] < rows[i]));
        }
        free(rows);
    }
}

TEST(a_stopped_task_sorts_nothing)
{
    const int64_t keys[] = {3, 1, 2};
    const struct view_sorting sorting = {.key = key_of, .of = keys, .count = 3};
    struct view_task task = {.stop = true};
    uint32_t *rows = (uint32_t *)&task;
    assert_int_equal(view_rows_sort(&sorting, &task, &rows), HAL_TIMEOUT);
    assert_null(rows);
}
