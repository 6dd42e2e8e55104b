/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/idmap.c: every id is found again, and no other. */
#include "hal/base/idmap.h"
#include "tests/support/test.h"

TEST(an_empty_map_has_nothing)
{
    struct hal_idmap map = {0};
    uint32_t index;
    assert_false(hal_idmap_find(&map, 0, &index));
    assert_false(hal_idmap_find(&map, 1, &index));
    hal_idmap_finish(&map);
}

TEST(every_id_is_found)
{
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
TEST(an_id_that_becomes_small_is_found_and_not_given_again)
{
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

/* Against an array: ids come and go in random order, in maps that are nearly half full. */
TEST(removed_ids_are_gone_and_others_stay)
{
    enum { IDS = 300, STEPS = 20000 };
    const uint64_t strides[] = {1, 4, 1ull << 40};
    uint64_t random = 88172645463325252u;
    for (size_t s = 0; s < sizeof strides / sizeof *strides; s++) {
        struct hal_idmap map = {0};
        uint32_t known[IDS] = {0}, index; /* plus 1; 0: it is not there */
        size_t count = 0;
        for (uint32_t step = 0; step < STEPS; step++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            const size_t i = (size_t)(random >> 8) % IDS;
            if (known[i]) {
                assert_true(hal_idmap_remove(&map, i * strides[s], &index));
                assert_int_equal(index, known[i] - 1);
                known[i] = 0;
                count--;
            } else {
                assert_false(hal_idmap_remove(&map, i * strides[s], &index));
                assert_true(hal_idmap_add(&map, i * strides[s], step, &index));
                known[i] = step + 1;
                count++;
            }
            assert_int_equal(map.total, count);
            for (size_t k = step % 7; k < IDS; k += 7) {
                assert_int_equal(hal_idmap_find(&map, k * strides[s], &index), known[k] != 0);
                if (known[k])
                    assert_int_equal(index, known[k] - 1);
            }
        }
        hal_idmap_finish(&map);
    }
}
