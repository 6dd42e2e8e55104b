/* SPDX-License-Identifier: Apache-2.0 */
/* replay/player/pace.c, search/benchmark.c, isolate.c, cli/benchmark_report.c: what follows from
 * times. All of them are given: nothing here looks at a clock. */
#include "replay/cli/report_parts.h"
#include "replay/player/player.h"
#include "replay/search/benchmark.h"
#include "tests/support/test.h"

static const int64_t ms = 1000 * 1000;

/* ---- When calls come ---- */

TEST(a_pace_divides_what_was_recorded)
{
    const int64_t first = 4711 * ms, call = first + 60 * ms;
    assert_int_equal(replay_pace_ns(1, first, call, 0), 60 * ms);
    assert_int_equal(replay_pace_ns(2, first, call, 0), 30 * ms);
    assert_int_equal(replay_pace_ns(0.5, first, call, 0), 120 * ms);
    assert_int_equal(replay_pace_ns(2, first, call, 10 * ms), 20 * ms);
    assert_int_equal(replay_pace_ns(2, first, call, 30 * ms), 0);
    assert_int_equal(replay_pace_ns(2, first, call, 45 * ms), 0); /* it is late */
    assert_int_equal(replay_pace_ns(0.001, 0, INT64_MAX, 0), 0);  /* it never comes */
}

/* One call in four or so comes a little later, one in sixteen much later, others at once. */
TEST(moments_are_random)
{
    enum { CALLS = 16000 };
    uint64_t random = 4711;
    unsigned at_once = 0, little = 0, much = 0;
    for (int i = 0; i < CALLS; i++) {
        const uint64_t before = random;
        const int64_t late_ns = replay_jitter_ns(&random);
        assert_true(random != before && random != 0);
        assert_in_range(late_ns, 0, 499999);
        at_once += late_ns == 0;
        little += late_ns > 0 && late_ns < 20000;
        much += late_ns >= 20000;
    }
    assert_in_range(at_once, CALLS * 7 / 10, CALLS * 8 / 10);
    assert_in_range(little, CALLS * 3 / 20, CALLS * 5 / 20);
    assert_in_range(much, CALLS * 1 / 20, CALLS * 2 / 20);
}

/* ---- The whole ---- */

TEST(a_scope_begins_where_the_call_before_it_ended)
{
    const int64_t op_ends_ns[] = {1010, 1030, 1070, 1150};
    const struct replay_scope all = {.has_ops = true, .first_op = 0, .last_op = 3};
    const struct replay_scope inner = {.has_ops = true, .first_op = 2, .last_op = 2};
    assert_int_equal(replay_scope_ns(&all, 1000, op_ends_ns), 150);
    assert_int_equal(replay_scope_ns(&inner, 1000, op_ends_ns), 40);
}

/* What docs/man/hal-replay.1 promises: twice to warm up, at least 10 times, until the 95 % interval
 * of the median is within 2 % of it. A binomial table tells the interval: of 10 values it leaves
 * out the least and the largest. */
static struct replay_benchmark usual(void)
{
    struct replay_benchmark benchmark = replay_usual_benchmark;
    benchmark.most_ns = 1000 * ms;
    return benchmark;
}

TEST(a_benchmark_runs_ten_times_at_least)
{
    static const int64_t equal_ns[10] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
    const struct replay_benchmark benchmark = usual();
    struct replay_benchmark_result result = {0};
    assert_int_equal(benchmark.warm_up, 2);
    for (size_t runs = 1; runs < 10; runs++) {
        if (replay_benchmark_suffices(&benchmark, equal_ns, runs, INT64_MAX, &result))
            fail_msg("%zu runs were enough", runs);
    }
    assert_true(replay_benchmark_suffices(&benchmark, equal_ns, 10, 0, &result));
    assert_true(result.tight);
}

TEST(a_benchmark_knows_the_median_to_two_percent)
{
    static const int64_t within_ns[10] = {500, 991, 995, 1000, 1000, 1000, 1000, 1005, 1010, 9999};
    static const int64_t outside_ns[10] = {990, 9999, 1000, 1005, 1000, 1011, 500, 995, 1000, 1000};
    const struct replay_benchmark benchmark = usual();
    struct replay_benchmark_result result = {0};
    assert_true(replay_benchmark_suffices(&benchmark, within_ns, 10, 0, &result));
    assert_true(result.tight);
    assert_int_equal((int64_t)result.interval.low, 991);
    assert_int_equal((int64_t)result.interval.high, 1010);
    assert_int_equal((int64_t)result.interval.median, 1000);
    /* 21 of 1000: that is not known well, be it a thousand times as long. */
    assert_false(replay_benchmark_suffices(&benchmark, outside_ns, 10, 0, &result));
    assert_false(result.tight);
    int64_t longer_ns[10];
    for (size_t i = 0; i < 10; i++)
        longer_ns[i] = 1000 * outside_ns[i];
    assert_false(replay_benchmark_suffices(&benchmark, longer_ns, 10, 0, &result));
}

TEST(a_benchmark_ends_when_its_time_is_over)
{
    static const int64_t scattered_ns[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const struct replay_benchmark benchmark = usual();
    struct replay_benchmark_result result = {.tight = true};
    assert_false(replay_benchmark_suffices(&benchmark, scattered_ns, 10, 1000 * ms, &result));
    assert_true(replay_benchmark_suffices(&benchmark, scattered_ns, 10, 1000 * ms + 1, &result));
    assert_false(result.tight);
}

/* There is room for the times of so many, and no more. */
TEST(a_benchmark_has_a_most)
{
    enum { MOST = 10000 };
    static int64_t scattered_ns[MOST];
    for (int i = 0; i < MOST; i++)
        scattered_ns[i] = i % 2 ? 1000 : 2000;
    struct replay_benchmark benchmark = usual();
    struct replay_benchmark_result result = {0};
    assert_int_equal(benchmark.most_runs, MOST);
    assert_false(replay_benchmark_suffices(&benchmark, scattered_ns, MOST - 1, 0, &result));
    assert_true(replay_benchmark_suffices(&benchmark, scattered_ns, MOST, 0, &result));
    assert_false(result.tight);
    benchmark.least_runs = MOST + 1;
    assert_true(replay_benchmark_suffices(&benchmark, scattered_ns, MOST, 0, &result));
}

/* ---- Each alone ---- */

TEST(the_best_of_all_runs_counts)
{
    int64_t best_ns[2] = {0};
    struct replay_timed_steps steps = {.best_ns = best_ns};
    static const int64_t runs_ns[3][2] = {{50, 20}, {40, 30}, {60, 10}};
    for (size_t run = 0; run < 3; run++) {
        for (size_t step = 0; step < 2; step++)
            replay_note_step(&steps, step, run == 0, runs_ns[run][step]);
    }
    assert_int_equal(best_ns[0], 40);
    assert_int_equal(best_ns[1], 10);
}

/* Submission 3 fills twice and copies once, 4 copies, 5 is of no commands. */
static struct replay_isolate_result isolated(void)
{
    static const struct trace_submit submits[3] = {
        {.submission = 3}, {.submission = 4}, {.submission = 5}};
    static const struct trace_segment fill = {.kind = TRACE_FILL}, copy = {.kind = TRACE_COPY};
    struct replay_step alone[] = {{.submit = &submits[0], .work = &fill},
                                  {.submit = &submits[0], .work = &copy},
                                  {.submit = &submits[0], .work = &fill},
                                  {.submit = &submits[1], .work = &copy}};
    struct replay_step whole[] = {
        {.submit = &submits[0]}, {.submit = &submits[2]}, {.submit = &submits[1]}};
    int64_t alone_ns[] = {1 * ms, 6 * ms, 3 * ms, 5 * ms};
    int64_t whole_ns[] = {5 * ms, 77 * ms, 5 * ms / 2};
    const struct replay_timed_steps each = {{.steps = alone, .step_count = 4}, alone_ns};
    const struct replay_timed_steps submissions = {{.steps = whole, .step_count = 3}, whole_ns};
    struct replay_isolate_result result = {.runs = 2, .empty_ns = 250};
    assert_int_equal(replay_isolate_sum(&each, &submissions, &result), HAL_OK);
    return result;
}

TEST(what_is_alone_is_set_against_its_submission)
{
    const struct replay_isolate_result result = isolated();
    assert_int_equal(result.commands, 4);
    assert_int_equal(result.submissions, 2);
    assert_int_equal(result.isolated_ns, 15 * ms);
    assert_int_equal(result.in_context_ns, 15 * ms / 2);
    assert_int_equal(result.kernel_count, 2);
    /* The longest first: of #s3, 6 of 10 ms in 5; of #s4, all 2.5. */
    const struct replay_kernel_times *copy = &result.kernels[0], *fill = &result.kernels[1];
    assert_string_equal(copy->name, "(copy)");
    assert_int_equal(copy->count, 2);
    assert_int_equal(copy->isolated_ns, 11 * ms);
    assert_int_equal(copy->in_context_ns, 3 * ms + 5 * ms / 2);
    assert_int_equal(copy->one.min_ns, 5 * ms);
    assert_int_equal(copy->one.max_ns, 6 * ms);
    assert_string_equal(fill->name, "(fill)");
    assert_int_equal(fill->count, 2);
    assert_int_equal(fill->isolated_ns, 4 * ms);
    assert_int_equal(fill->in_context_ns, 2 * ms);
    assert_int_equal(fill->one.median_ns, 2 * ms);
}

TEST(the_perturbation_is_told)
{
    const struct replay_isolate_result result = isolated();
    char text[2048] = "";
    FILE *file = fmemopen(text, sizeof text, "w");
    assert_non_null(file);
    replay_print_isolate(file, &result);
    assert_int_equal(fclose(file), 0);
    static const char *const parts[] = {
        "4 commands one by one: 15.000 ms (an empty submission takes 250 ns); ",
        "; 2 submissions one after the other: 7.500 ms; 2.00x (best of 2 runs)\n",
        "  (copy)                                  2     5.500 ms     5.000 ms    11.000 ms     "
        "5.500 ms\n"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!strstr(text, parts[i]))
            fail_msg("'%s' is not in: %s", parts[i], text);
    }
}
