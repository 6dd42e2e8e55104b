/* SPDX-License-Identifier: Apache-2.0 */
/* format/analysis/iterations.c: patterns that were put there, with what comes before and between.
 */
#include "format/analysis/iterations.h"
#include "hal/base/mem.h"
#include "tests/support/test.h"

#include <time.h>

/* Letters are elements. */
static void expect(const char *text, size_t first, size_t period, size_t count)
{
    uint64_t elements[512];
    struct trace_iterations found;
    const size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        elements[i] = (uint64_t)text[i];
    assert_int_equal(trace_iterations_find(elements, length, &found), HAL_OK);
    if (found.first != first || found.period != period || found.count != count)
        fail_msg("%s: %zu iterations of %zu from %zu, expected %zu of %zu from %zu", text,
                 found.count, found.period, found.first, count, period, first);
}

TEST(patterns_are_found)
{
    expect("abcabcabcabc", 0, 3, 4);
    expect("aaaaaaaa", 0, 1, 8);
    expect("xyzabcabcabcab", 3, 3, 3);         /* what was before, and an unfinished one */
    expect("uaabaabaabaabaab", 1, 3, 5);       /* an element twice in an iteration */
    expect("uabababcabababcabababc", 1, 7, 3); /* a pattern in the pattern */
    expect("ulllsllllsllllsllllsllll", 1, 5, 4);
}

TEST(what_does_not_repeat_is_left_alone)
{
    expect("", 0, 0, 0);
    expect("a", 0, 0, 0);
    expect("abab", 0, 0, 0); /* twice is no habit */
    expect("abcdefgh", 0, 0, 0);
    expect("abcdefghijklmnaaaopqrstuvwxyz", 0, 0, 0); /* too little of the whole */
}

/* Random iterations after a random prefix, which is no longer than they are together. */
TEST(planted_patterns_are_recovered)
{
    const char *seed = getenv("HAL_TEST_SEED");
    uint32_t random = seed ? (uint32_t)strtoul(seed, NULL, 10) : (uint32_t)time(NULL);
    printf("seed %u\n", random);
    for (int round = 0; round < 300; round++) {
        random = random * 1664525u + 1013904223u;
        const size_t period = 1 + (random >> 16) % 90, times = 4 + (random >> 24) % 20;
        const size_t most = period * times < 20 ? period * times : 20;
        const size_t prefix = (random >> 8) % most, count = prefix + period * times;
        uint64_t *elements = hal_alloc(count, sizeof *elements);
        struct trace_iterations found;
        assert_non_null(elements);
        for (size_t i = 0; i < count; i++)
            elements[i] = i < prefix              ? 1000 + i
                          : (i - prefix) % period ? (i - prefix) % period % 7
                                                  : 99;
        assert_int_equal(trace_iterations_find(elements, count, &found), HAL_OK);
        assert_int_equal(found.first, prefix);
        assert_int_equal(found.period, period);
        assert_int_equal(found.count, times);
        free(elements);
    }
}
