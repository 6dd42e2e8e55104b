/* SPDX-License-Identifier: Apache-2.0 */
/* format/analysis/statistics.c: medians, intervals and differences that were worked out by hand,
 * and sequences with noise as machines make it: heavy tails, warm-up, two modes, drift. */
#include "format/analysis/statistics.h"
#include "tests/support/test.h"

enum { MOST = 256 };

static struct trace_typical typical_of(const int64_t *durations_ns, size_t count)
{
    int64_t copy[MOST];
    struct trace_typical typical;
    assert_true(count <= MOST);
    memcpy(copy, durations_ns, count * sizeof *copy);
    assert_int_equal(trace_typical_of(copy, count, &typical), HAL_OK);
    return typical;
}

/* ---- Independent values ---- */

/* Ranks of the 95 % interval of the median as tables of the binomial distribution have them: of 6
 * values the extremes, of 20 the 6th and the 15th, of 50 the 18th and the 33rd. */
TEST(intervals_have_the_ranks_of_the_tables)
{
    static const struct {
        size_t count, low, high;
    } known[] = {{6, 1, 6}, {9, 2, 8}, {20, 6, 15}, {50, 18, 33}, {100, 40, 61}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        double values[100];
        for (size_t i = 0; i < known[k].count; i++)
            values[i] = (double)(known[k].count - i); /* falling: 1 is the smallest */
        const struct trace_interval interval = trace_interval_of(values, known[k].count);
        assert_true(interval.low == (double)known[k].low);
        assert_true(interval.high == (double)known[k].high);
        assert_true(interval.median == (double)(known[k].count + 1) / 2);
    }
}

TEST(sums_leave_interruptions_out)
{
    int64_t same[] = {10, 1000, 10, 10, 10, 10, 10, 10};
    assert_int_equal(trace_sum_within_fence(same, 8), 80);
    /* Quartiles 3 and 6, so the fence is 6 + 1.5 * 3, rounded down: 10. */
    int64_t rising[] = {100, 7, 6, 5, 4, 3, 2, 1};
    assert_int_equal(trace_sum_within_fence(rising, 8), 28 + 10);
    int64_t two_modes[] = {10, 30, 10, 30, 10, 30, 10, 30}; /* neither is an interruption */
    assert_int_equal(trace_sum_within_fence(two_modes, 8), 160);
    int64_t few[] = {1, 2, 1000};
    assert_int_equal(trace_sum_within_fence(few, 3), 1003);
    assert_int_equal(trace_sum_within_fence(NULL, 0), 0);
    int64_t huge[] = {INT64_MAX, INT64_MAX, 0, INT64_MAX}; /* saturates */
    assert_int_equal(trace_sum_within_fence(huge, 4), INT64_MAX);
}

/* ---- Typical durations ---- */

TEST(a_few_durations_have_a_median_and_no_interval)
{
    assert_int_equal(typical_of((int64_t[]){0}, 0).count, 0);
    const struct trace_typical odd = typical_of((int64_t[]){5, 1, 3}, 3);
    assert_int_equal(odd.median_ns, 3);
    assert_int_equal(odd.low_ns, 1);
    assert_int_equal(odd.high_ns, 5);
    assert_int_equal(odd.count, 3);
    assert_false(trace_typical_is_known(&odd));
    assert_int_equal(typical_of((int64_t[]){4, 1, 3, 9}, 4).median_ns, 3); /* and a half */
    const struct trace_typical six = typical_of((int64_t[]){1, 2, 3, 4, 5, 6}, 6);
    assert_true(trace_typical_is_known(&six));
    assert_int_equal(six.low_ns, 1);
    assert_int_equal(six.high_ns, 6);
}

TEST(warm_up_is_what_begins_slowly_and_at_most_a_quarter)
{
    static const struct {
        int64_t durations[12];
        uint64_t warm_up;
        int64_t median_ns, min_ns, max_ns;
    } cases[] = {
        {{900, 400, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109}, 2, 104, 100, 109},
        /* Exactly one and a half times the median of all, 100, is none. */
        {{150, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100}, 0, 100, 100, 150},
        {{151, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100}, 1, 100, 100, 100},
        /* A slow one that comes later is an outlier, which a median does not mind. */
        {{100, 900, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100}, 0, 100, 100, 900},
        /* Three of twelve, though four are slow. */
        {{500, 500, 500, 500, 100, 100, 100, 100, 100, 100, 100, 100}, 3, 100, 100, 500},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct trace_typical typical = typical_of(cases[i].durations, 12);
        assert_int_equal(typical.warm_up, cases[i].warm_up);
        assert_int_equal(typical.count, 12 - cases[i].warm_up);
        assert_int_equal(typical.median_ns, cases[i].median_ns);
        assert_int_equal(typical.min_ns, cases[i].min_ns);
        assert_int_equal(typical.max_ns, cases[i].max_ns);
    }
    assert_int_equal(typical_of((int64_t[]){900, 100, 100}, 3).warm_up, 0); /* no quarter of 3 */
}

/* 32 durations that rise: the parts are pairs, whose medians are 1, 3, 5 ... 31 (1.5 rounded down,
 * and so on); the interval of 16 values is from the 4th to the 13th. */
TEST(the_interval_is_that_of_the_parts)
{
    int64_t rising[32];
    for (int64_t i = 0; i < 32; i++)
        rising[i] = i + 1;
    const struct trace_typical typical = typical_of(rising, 32);
    assert_int_equal(typical.median_ns, 16); /* 16.5 */
    assert_int_equal(typical.low_ns, 7);
    assert_int_equal(typical.high_ns, 25);
}

/* ---- Differences ---- */

/* As all modern generators of this kind: uniform in [0, 1). */
static double next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* 100 us by `factor`, a little noise; one of eight is interrupted for a time that has no mean
 * (Pareto's distribution); the first four are slow. */
static struct trace_typical noisy(uint64_t *random, double factor)
{
    enum { COUNT = 128 };
    int64_t durations[COUNT];
    for (int i = 0; i < COUNT; i++) {
        double us = 100 * factor * (1 + 0.04 * next_random(random)) * (i < 4 ? 5 : 1);
        if (next_random(random) < 0.125)
            us += 10 / (1 - next_random(random));
        durations[i] = (int64_t)(us * 1000);
    }
    return typical_of(durations, COUNT);
}

TEST(noise_is_no_difference_and_half_as_long_again_is_one)
{
    enum { PAIRS = 1000, SEED = 17 };
    uint64_t random = SEED;
    int wrong = 0, found = 0;
    printf("seed %d\n", SEED);
    for (int i = 0; i < PAIRS; i++) {
        const struct trace_typical first = noisy(&random, 1), second = noisy(&random, 1);
        const struct trace_typical longer = noisy(&random, 1.5);
        wrong += trace_typical_compare(&first, &second) != TRACE_CHANGE_NONE;
        found += trace_typical_compare(&first, &longer) == TRACE_CHANGE_LONGER &&
                 trace_typical_compare(&longer, &first) == TRACE_CHANGE_SHORTER;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(found, PAIRS);
}

/* The means differ by 80 %, as those of two captures of one program did: 30 and 54. */
TEST(interrupted_iterations_are_no_difference)
{
    int64_t calm[20], disturbed[20];
    for (int i = 0; i < 20; i++) {
        calm[i] = 30000 + 10 * i;
        disturbed[i] = i % 5 == 4 ? 150000 : 30000 + 12 * i;
    }
    const struct trace_typical a = typical_of(calm, 20), b = typical_of(disturbed, 20);
    assert_int_equal(trace_typical_compare(&a, &b), TRACE_CHANGE_NONE);
}

/* Two modes, in stretches: which of them the median is in, is chance. */
TEST(two_modes_are_no_difference)
{
    int64_t mostly_short[60], mostly_long[60];
    for (int i = 0; i < 60; i++) {
        mostly_short[i] = i / 12 % 2 ? 20000 : 10000; /* 36 short ones */
        mostly_long[i] = i / 12 % 2 ? 10000 : 20000;
    }
    const struct trace_typical a = typical_of(mostly_short, 60), b = typical_of(mostly_long, 60);
    assert_int_equal(a.median_ns, 10000);
    assert_int_equal(b.median_ns, 20000);
    assert_int_equal(trace_typical_compare(&a, &b), TRACE_CHANGE_NONE);
}

/* As soon as there are enough of them; at 5 %, and at 1 us. */
TEST(differences_count_from_where_they_matter)
{
    static const struct {
        size_t count;
        int64_t first_ns, second_ns;
        enum trace_change change;
    } cases[] = {
        {1, 100000, 900000, TRACE_CHANGE_UNKNOWN}, {2, 100000, 900000, TRACE_CHANGE_UNKNOWN},
        {3, 100000, 900000, TRACE_CHANGE_UNKNOWN}, {5, 100000, 900000, TRACE_CHANGE_UNKNOWN},
        {6, 100000, 150000, TRACE_CHANGE_LONGER},  {6, 150000, 100000, TRACE_CHANGE_SHORTER},
        {6, 100000, 105000, TRACE_CHANGE_NONE},    {6, 100000, 105001, TRACE_CHANGE_LONGER},
        {9, 700, 1700, TRACE_CHANGE_NONE},         {9, 700, 1701, TRACE_CHANGE_LONGER},
        {0, 0, 0, TRACE_CHANGE_UNKNOWN},           {6, 0, 0, TRACE_CHANGE_NONE},
        {6, 0, INT64_MAX, TRACE_CHANGE_LONGER},    {6, INT64_MAX, INT64_MAX, TRACE_CHANGE_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t first[9], second[9];
        for (size_t k = 0; k < cases[i].count; k++) {
            first[k] = cases[i].first_ns;
            second[k] = cases[i].second_ns;
        }
        const struct trace_typical a = typical_of(first, cases[i].count);
        const struct trace_typical b = typical_of(second, cases[i].count);
        assert_int_equal(trace_typical_compare(&a, &b), cases[i].change);
    }
}
