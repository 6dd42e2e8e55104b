/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/order.h: orders of sorted arrays, and the search in them. */
#include "hal/base/order.h"

#include "tests/support/test.h"

#include <stdlib.h>

struct item {
    int64_t major;
    uint32_t minor;
    double last;
};

HAL_COMPARE(by_major, struct item, major)
HAL_COMPARE_3(by_all, struct item, major, minor, last)
HAL_COMPARE_VALUES(by_value, uint64_t)

TEST(numbers_that_a_difference_would_misplace)
{
    uint64_t values[] = {UINT64_MAX, 0, UINT64_C(1) << 63, 1};
    qsort(values, 4, sizeof *values, by_value);
    assert_true(values[0] == 0 && values[1] == 1);
    assert_true(values[2] == UINT64_C(1) << 63 && values[3] == UINT64_MAX);
    assert_int_equal(by_major(&(struct item){INT64_MIN, 0, 0}, &(struct item){1, 0, 0}), -1);
}

TEST(later_members_decide_where_earlier_ones_are_equal)
{
    const struct item sorted[] = {{-1, 9, 9}, {0, 1, 0.25}, {0, 1, 0.5}, {0, 2, 0}};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++)
            assert_int_equal(by_all(&sorted[i], &sorted[k]), i < k ? -1 : i > k);
}

TEST(the_search_finds_the_first_that_is_not_before)
{
    const uint64_t sorted[] = {2, 4, 4, 4, 7};
    const size_t expected[] = {0, 0, 0, 1, 1, 4, 4, 4, 5};
    for (uint64_t wanted = 0; wanted < 9; wanted++) {
        size_t low = 0, high = 5;
        HAL_BISECT(low, high, middle, sorted[middle] < wanted)
        assert_int_equal(low, expected[wanted]);
    }
    size_t low = 3, high = 3;
    HAL_BISECT(low, high, middle, sorted[middle] < 9)
    assert_int_equal(low, 3);
}
