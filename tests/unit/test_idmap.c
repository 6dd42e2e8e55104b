/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/idmap.c: every id is found again, and no other. */
#include "hal/base/idmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void an_empty_map_has_nothing(void **state)
{
    (void)state;
    struct hal_idmap map = {0};
    uint32_t index;
    assert_false(hal_idmap_find(&map, 0, &index));
    assert_false(hal_idmap_find(&map, 1, &index));
    hal_idmap_finish(&map);
}

static void every_id_is_found(void **state)
{
    (void)state;
    struct hal_idmap map = {0};
    const uint64_t strides[] = {1, 3, 1u << 16, 1ull << 40};
    for (size_t s = 0; s < sizeof strides / sizeof *strides; s++) {
        for (uint32_t i = 0; i < 5000; i++) {
            uint32_t index = UINT32_MAX;
            assert_true(hal_idmap_add(&map, i * strides[s], i, &index));
            assert_int_equal(index, i);
            assert_true(hal_idmap_add(&map, i * strides[s], i + 1, &index));
            assert_int_equal(index, i);
        }
        for (uint32_t i = 0; i < 5000; i++) {
            uint32_t index = UINT32_MAX;
            assert_true(hal_idmap_find(&map, i * strides[s], &index));
            assert_int_equal(index, i);
        }
        uint32_t index;
        assert_false(hal_idmap_find(&map, 5000 * strides[s], &index));
        assert_false(hal_idmap_find(&map, UINT64_MAX, &index));
        hal_idmap_finish(&map);
    }
}

/* An id may be large for the few that there are, and small later: it is found in either case. */
static void an_id_that_becomes_small_is_found_and_not_given_again(void **state)
{
    (void)state;
    struct hal_idmap map = {0};
    uint32_t index;
    assert_true(hal_idmap_add(&map, 100000, 7, &index));
    for (uint32_t i = 0; i < 90000; i++) {
        assert_true(hal_idmap_add(&map, i, i + 10, &index));
        assert_int_equal(index, i + 10);
    }
    assert_true(hal_idmap_add(&map, 100001, 8, &index));
    assert_int_equal(index, 8);
    assert_true(hal_idmap_add(&map, 100000, 9, &index));
    assert_int_equal(index, 7);
    assert_true(hal_idmap_find(&map, 100000, &index));
    assert_int_equal(index, 7);
    assert_false(hal_idmap_find(&map, 99999, &index));
    assert_true(map.small_count <= 4 * map.total); /* however large the ids are */
    hal_idmap_finish(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(every_id_is_found),
        cmocka_unit_test(an_id_that_becomes_small_is_found_and_not_given_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
