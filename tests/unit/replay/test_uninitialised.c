/* SPDX-License-Identifier: Apache-2.0 */
/* replay/plan/uninitialised.c: the fill against one flag per byte, with random ranges. */
#include "hal/base/os.h"
#include "replay/plan/uninitialised.h"
#include "tests/support/test.h"

enum { BYTES = 640, SHORTEST = 10 }; /* never more ranges than are kept */

struct model {
    bool covered[BYTES], fill[BYTES];
};

static struct replay_range hull(const struct model *model)
{
    struct replay_range range = {0, 0};
    for (uint64_t i = 0; i < BYTES; i++) {
        if (!model->fill[i])
            continue;
        range.begin = range.end ? range.begin : i;
        range.end = i + 1;
    }
    return range;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void step(uint32_t *random, struct model *model, struct replay_uninitialised *uninitialised)
{
    const uint64_t offset = next_random(random) % (BYTES - SHORTEST);
    const uint64_t most = BYTES - offset < 80 ? BYTES - offset : 80;
    const uint64_t bytes = SHORTEST + next_random(random) % (most - SHORTEST + 1);
    const bool use = next_random(random) % 3 == 0;
    for (uint64_t i = offset; i < offset + bytes; i++) {
        model->fill[i] |= use && !model->covered[i];
        model->covered[i] = true;
    }
    if (use)
        replay_uninitialised_use(uninitialised, offset, bytes);
    else
        replay_uninitialised_write(uninitialised, offset, bytes);
}

TEST(random_ranges_agree_with_flags)
{
    const uint32_t seed = (uint32_t)hal_clock_ns();
    uint32_t random = seed;
    for (int round = 0; round < 2000; round++) {
        struct model model = {{0}, {0}};
        struct replay_uninitialised uninitialised = {0};
        for (int i = 0; i < 1 + round % 30; i++) {
            step(&random, &model, &uninitialised);
            const struct replay_range expected = hull(&model);
            if (uninitialised.fill.begin != expected.begin ||
                uninitialised.fill.end != expected.end)
                fail_msg("seed %u, round %d, step %d: [%llu, %llu) is not [%llu, %llu)", seed,
                         round, i, (unsigned long long)uninitialised.fill.begin,
                         (unsigned long long)uninitialised.fill.end,
                         (unsigned long long)expected.begin, (unsigned long long)expected.end);
        }
        replay_uninitialised_finish(&uninitialised);
    }
}

TEST(nothing_is_nothing)
{
    struct replay_uninitialised uninitialised = {0};
    replay_uninitialised_use(&uninitialised, 5, 0);
    replay_uninitialised_write(&uninitialised, 0, 0);
    assert_int_equal(uninitialised.fill.end, 0);
    assert_int_equal(uninitialised.count, 0);
    replay_uninitialised_finish(&uninitialised);
}

/* More ranges than are kept: the fill grows too large, never too small. */
TEST(too_many_ranges_are_filled)
{
    struct replay_uninitialised uninitialised = {0};
    for (uint64_t i = 0; i < 1000; i++)
        replay_uninitialised_write(&uninitialised, 4 * i, 2);
    replay_uninitialised_use(&uninitialised, 0, 2);
    assert_int_equal(uninitialised.fill.end, 0);
    replay_uninitialised_use(&uninitialised, 4 * 999, 2);
    assert_int_equal(uninitialised.fill.begin, 4 * 999);
    assert_int_equal(uninitialised.fill.end, 4 * 999 + 2);
    replay_uninitialised_finish(&uninitialised);
}
