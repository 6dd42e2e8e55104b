/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores: values, waits of the host and of submissions in any order, wait idle. */
#include "tests/conformance/suite.h"

#include <time.h>

#define SHORT_NS INT64_C(2000000)

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Values --------------------------------------------------------------------------------- */

static void initial_value(struct suite *suite, uint64_t value)
{
    uint64_t got = 1;
    struct hal_semaphore *semaphore = suite_semaphore(suite, NULL, value);
    check_ok(suite, hal_semaphore_query(semaphore, &got));
    check_u64(suite, got, value);
    check_ok(suite, hal_semaphore_wait(semaphore, value, 0));
    check_ok(suite, hal_semaphore_wait(semaphore, 0, 0));
}

static void host_signal(struct suite *suite, uint64_t value)
{
    uint64_t got = 0;
    struct hal_semaphore *semaphore = suite_semaphore(suite, "s", value - 1);
    check_fails(suite, hal_semaphore_wait(semaphore, value, 0), HAL_TIMEOUT, "'s'");
    check_ok(suite, hal_semaphore_signal(semaphore, value));
    check_ok(suite, hal_semaphore_query(semaphore, &got));
    check_u64(suite, got, value);
    check_ok(suite, hal_semaphore_wait(semaphore, value, HAL_FOREVER));
}

static void values_only_rise(struct suite *suite, uint64_t unused)
{
    (void)unused;
    uint64_t got = 0;
    struct hal_semaphore *semaphore = suite_semaphore(suite, "rising", 10);
    check_fails(suite, hal_semaphore_signal(semaphore, 10), HAL_INVALID, "rising", "10");
    check_fails(suite, hal_semaphore_signal(semaphore, 3), HAL_INVALID, "rising", "10", "3");
    check_ok(suite, hal_semaphore_signal(semaphore, 1000));
    check_fails(suite, hal_semaphore_signal(semaphore, 999), HAL_INVALID, "rising", "1000", "999");
    check_ok(suite, hal_semaphore_query(semaphore, &got));
    check_u64(suite, got, 1000);
}

/* Signalling a later value reaches all that are below. */
static void skipped_values_are_reached(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore *semaphore = suite_semaphore(suite, NULL, 0);
    struct hal_semaphore *done[5];
    for (uint64_t i = 0; i < 5; i++) {
        done[i] = suite_semaphore(suite, "done", 0);
        check_ok(suite, suite_submit(suite, 0, NULL, suite_at(semaphore, 10 * i + 1),
                                     suite_at(done[i], 1)));
    }
    check_ok(suite, hal_semaphore_signal(semaphore, 35));
    for (uint64_t i = 0; i < 4; i++)
        suite_wait(suite, done[i], 1);
    check_fails(suite, hal_semaphore_wait(done[4], 1, SHORT_NS), HAL_TIMEOUT, "done");
    check_ok(suite, hal_semaphore_signal(semaphore, 41));
    suite_wait(suite, done[4], 1);
}

/* ---- Waits of the host ---------------------------------------------------------------------- */

static void timeout_passes(struct suite *suite, uint64_t timeout_ns)
{
    struct hal_semaphore *semaphore = suite_semaphore(suite, "late", 7);
    const int64_t begin_ns = now_ns();
    check_fails(suite, hal_semaphore_wait(semaphore, 8, (int64_t)timeout_ns), HAL_TIMEOUT, "late",
                "8", "7");
    check(suite, now_ns() - begin_ns >= (int64_t)timeout_ns);
}

static void negative_timeout_polls(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore *semaphore = suite_semaphore(suite, "s", 0);
    check_fails(suite, hal_semaphore_wait(semaphore, 1, -5), HAL_TIMEOUT, "'s'");
    check_ok(suite, hal_semaphore_signal(semaphore, 1));
    check_ok(suite, hal_semaphore_wait(semaphore, 1, -5));
}

/* `count` semaphores; each step raises one. */
static void wait_all(struct suite *suite, uint64_t count)
{
    struct hal_semaphore_value *values = suite_memory(suite, count * sizeof *values);
    for (uint64_t i = 0; i < count; i++)
        values[i] = (struct hal_semaphore_value){suite_semaphore(suite, "one", i), i + 5};
    for (uint64_t i = 0; i < count; i++) {
        check_fails(suite, hal_semaphores_wait(suite_device(suite), HAL_WAIT_ALL, values, count, 0),
                    HAL_TIMEOUT, "one");
        check_ok(suite, hal_semaphore_signal(values[i].semaphore, i + 5));
    }
    check_ok(suite, hal_semaphores_wait(suite_device(suite), HAL_WAIT_ALL, values, count, 0));
}

static void wait_any(struct suite *suite, uint64_t count)
{
    struct hal_semaphore_value *values = suite_memory(suite, count * sizeof *values);
    for (uint64_t i = 0; i < count; i++)
        values[i] = (struct hal_semaphore_value){suite_semaphore(suite, "any", 0), 2};
    check_fails(suite, hal_semaphores_wait(suite_device(suite), HAL_WAIT_ANY, values, count, 0),
                HAL_TIMEOUT, "any");
    check_ok(suite, hal_semaphore_signal(values[count / 2].semaphore, 1));
    check_fails(suite,
                hal_semaphores_wait(suite_device(suite), HAL_WAIT_ANY, values, count, SHORT_NS),
                HAL_TIMEOUT, "any");
    check_ok(suite, hal_semaphore_signal(values[count / 2].semaphore, 2));
    check_ok(suite,
             hal_semaphores_wait(suite_device(suite), HAL_WAIT_ANY, values, count, HAL_FOREVER));
}

static void wait_for_nothing(struct suite *suite, uint64_t unused)
{
    (void)unused;
    check_ok(suite, hal_semaphores_wait(suite_device(suite), HAL_WAIT_ALL, NULL, 0, HAL_FOREVER));
    check_fails(suite, hal_semaphores_wait(suite_device(suite), HAL_WAIT_ANY, NULL, 0, 0),
                HAL_INVALID, "0");
}

/* The same semaphore several times in one wait. */
static void wait_for_one_twice(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore *semaphore = suite_semaphore(suite, "twice", 0);
    const struct hal_semaphore_value values[3] = {{semaphore, 2}, {semaphore, 1}, {semaphore, 2}};
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    const struct hal_submit_desc desc = {.waits = values,
                                         .wait_count = 3,
                                         .signals = &(struct hal_semaphore_value){done, 1},
                                         .signal_count = 1};
    check_ok(suite, hal_queue_submit(suite_device(suite), &desc));
    check_ok(suite, hal_semaphore_signal(semaphore, 1));
    check_ok(suite, hal_semaphores_wait(suite_device(suite), HAL_WAIT_ANY, values, 3, 0));
    check_fails(suite, hal_semaphores_wait(suite_device(suite), HAL_WAIT_ALL, values, 3, SHORT_NS),
                HAL_TIMEOUT, "twice");
    check_ok(suite, hal_semaphore_signal(semaphore, 2));
    check_ok(suite, hal_semaphores_wait(suite_device(suite), HAL_WAIT_ALL, values, 3, HAL_FOREVER));
    suite_wait(suite, done, 1);
}

struct signaller {
    struct hal_semaphore *semaphore, *started;
    uint64_t value;
    bool fails;
};

static void signal_when_told(struct suite *suite, void *user)
{
    struct signaller *signaller = user;
    suite_wait(suite, signaller->started, 1);
    if (signaller->fails)
        hal_semaphore_fail(signaller->semaphore, HAL_FAILED, "failed on purpose");
    else
        check_ok(suite, hal_semaphore_signal(signaller->semaphore, signaller->value));
}

/* The host sleeps in a wait when another thread ends it. */
static void woken_by_another_thread(struct suite *suite, uint64_t fails)
{
    for (uint64_t i = 0; i < 20; i++) {
        struct signaller *signaller = suite_memory(suite, sizeof *signaller);
        *signaller = (struct signaller){suite_semaphore(suite, "sleeper", 0),
                                        suite_semaphore(suite, "started", 0), 9, fails};
        suite_thread(suite, signal_when_told, signaller);
        check_ok(suite, hal_semaphore_signal(signaller->started, 1));
        if (fails)
            check_fails(suite, hal_semaphore_wait(signaller->semaphore, 9, SUITE_TIMEOUT_NS),
                        HAL_FAILED, "failed on purpose");
        else
            suite_wait(suite, signaller->semaphore, 9);
        suite_join(suite);
    }
}

/* ---- Submissions ---------------------------------------------------------------------------- */

/* The fill of each step needs the value of the one before; they come in the worst order. */
static void wait_before_signal(struct suite *suite, uint64_t steps)
{
    struct hal_semaphore *turn = suite_semaphore(suite, "turn", 0);
    struct hal_buffer *x = suite_buffer(suite, "x", 256);
    uint32_t wanted = 1;
    suite_write(suite, x, 0, &wanted, 4);
    for (uint64_t i = steps; i > 0; i--) {
        struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
        suite_dispatch(suite, commands,
                       &(struct suite_launch){KERNEL_CHAIN, {1, 1, 1}, {x}, {(uint32_t)i}, 1});
        check_ok(suite, hal_command_buffer_end(commands));
        check_ok(suite, suite_submit(suite, 0, commands, suite_at(turn, i), suite_at(turn, i + 1)));
    }
    check_fails(suite, hal_device_wait_idle(suite_device(suite), SHORT_NS), HAL_TIMEOUT, "turn");
    check_ok(suite, hal_semaphore_signal(turn, 1));
    suite_wait(suite, turn, steps + 1);
    for (uint32_t i = 1; i <= steps; i++)
        wanted = wanted * 3 + i;
    check_buffer(suite, x, 0, &wanted, 4);
}

/* No command buffers: the semaphores still do their part. */
static void empty_submission(struct suite *suite, uint64_t count)
{
    struct hal_semaphore_value waits[40], signals[40];
    for (uint64_t i = 0; i < count; i++) {
        waits[i] = (struct hal_semaphore_value){suite_semaphore(suite, "wait", 0), i + 1};
        signals[i] = (struct hal_semaphore_value){suite_semaphore(suite, "signal", 0), 2 * i + 1};
    }
    const struct hal_submit_desc desc = {
        .waits = waits, .wait_count = count, .signals = signals, .signal_count = count};
    check_ok(suite, hal_queue_submit(suite_device(suite), &desc));
    for (uint64_t i = 0; i < count; i++) {
        check_fails(suite, hal_semaphore_wait(signals[0].semaphore, 1, 0), HAL_TIMEOUT, "signal");
        check_ok(suite, hal_semaphore_signal(waits[i].semaphore, i + 1));
    }
    check_ok(suite, hal_semaphores_wait(suite_device(suite), HAL_WAIT_ALL, signals, count,
                                        SUITE_TIMEOUT_NS));
}

static void nothing_at_all(struct suite *suite, uint64_t unused)
{
    (void)unused;
    check_ok(suite, hal_queue_submit(suite_device(suite), &(struct hal_submit_desc){0}));
    check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
}

/* Waiting for what is reached already. */
static void wait_for_the_past(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore *past = suite_semaphore(suite, "past", 100);
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    check_ok(suite, suite_submit(suite, 0, NULL, suite_at(past, 50), suite_at(done, 1)));
    check_ok(suite, suite_submit(suite, 0, NULL, suite_at(past, 0), suite_at(done, 2)));
    check_ok(suite, suite_submit(suite, 0, NULL, suite_at(past, 100), suite_at(done, 3)));
    suite_wait(suite, done, 3);
}

/* A long line of submissions, each waiting for the one before, all there when it begins. */
static void long_line(struct suite *suite, uint64_t length)
{
    uint64_t value = 0;
    struct hal_semaphore *line = suite_semaphore(suite, "line", 0);
    for (uint64_t i = 1; i <= length; i++)
        check_ok(suite, suite_submit(suite, 0, NULL, suite_at(line, i), suite_at(line, i + 1)));
    check_ok(suite, hal_semaphore_signal(line, 1));
    suite_wait(suite, line, length + 1);
    check_ok(suite, hal_semaphore_query(line, &value));
    check_u64(suite, value, length + 1);
}

/* One value frees many, many values free one. */
static void fan_out_and_in(struct suite *suite, uint64_t width)
{
    struct hal_semaphore *start = suite_semaphore(suite, "start", 0);
    struct hal_semaphore *end = suite_semaphore(suite, "end", 0);
    struct hal_semaphore_value *middle = suite_memory(suite, width * sizeof *middle);
    struct hal_buffer *x = suite_buffer(suite, "x", width), *y = suite_buffer(suite, "y", width);
    struct hal_command_buffer *last = suite_commands(suite, "last", HAL_ONE_SHOT);
    uint8_t *wanted = suite_memory(suite, width);
    check_ok(suite, hal_command_copy(last, x, 0, y, 0, width));
    check_ok(suite, hal_command_buffer_end(last));
    for (uint64_t i = 0; i < width; i++) {
        struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
        middle[i] = (struct hal_semaphore_value){suite_semaphore(suite, "middle", 0), 1};
        check_ok(suite, hal_command_fill(commands, x, i, 1, (uint32_t)i, 1));
        check_ok(suite, hal_command_buffer_end(commands));
        check_ok(suite, suite_submit(suite, 0, commands, suite_at(start, 1),
                                     suite_at(middle[i].semaphore, 1)));
        wanted[i] = (uint8_t)i;
    }
    const struct hal_submit_desc desc = {.waits = middle,
                                         .wait_count = width,
                                         .signals = &(struct hal_semaphore_value){end, 1},
                                         .signal_count = 1,
                                         .commands = &last,
                                         .command_count = 1};
    check_ok(suite, hal_queue_submit(suite_device(suite), &desc));
    check_ok(suite, hal_semaphore_signal(start, 1));
    suite_wait(suite, end, 1);
    check_buffer(suite, y, 0, wanted, width);
}

/* Waits are for all values of the list, also when they come one by one. */
static void submission_waits_for_all(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore_value waits[3];
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    struct hal_buffer *x = suite_buffer(suite, "x", 1);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    suite_clear(suite, x, 1);
    check_ok(suite, hal_command_fill(commands, x, 0, 1, 2, 1));
    check_ok(suite, hal_command_buffer_end(commands));
    for (int i = 0; i < 3; i++)
        waits[i] = (struct hal_semaphore_value){suite_semaphore(suite, "wait", 0), 1};
    const struct hal_submit_desc desc = {.waits = waits,
                                         .wait_count = 3,
                                         .signals = &(struct hal_semaphore_value){done, 1},
                                         .signal_count = 1,
                                         .commands = &commands,
                                         .command_count = 1};
    check_ok(suite, hal_queue_submit(suite_device(suite), &desc));
    for (int i = 2; i >= 0; i--) {
        check_fails(suite, hal_semaphore_wait(done, 1, SHORT_NS), HAL_TIMEOUT, "done");
        check_buffer(suite, x, 0, "\x01", 1);
        check_ok(suite, hal_semaphore_signal(waits[i].semaphore, 1));
    }
    suite_wait(suite, done, 1);
    check_buffer(suite, x, 0, "\x02", 1);
}

/* Semaphores live as long as a submission needs them. */
static void kept_by_a_submission(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore *go = suite_semaphore(suite, "go", 0);
    struct hal_semaphore *end = suite_semaphore(suite, "end", 0), *middle;
    check_ok(suite, hal_semaphore_create(suite_device(suite), "middle", 0, &middle));
    enum hal_status status = suite_submit(suite, 0, NULL, suite_at(middle, 1), suite_at(end, 1));
    if (status == HAL_OK)
        status = suite_submit(suite, 0, NULL, suite_at(go, 1), suite_at(middle, 1));
    hal_semaphore_release(middle);
    check_ok(suite, status);
    check_ok(suite, hal_semaphore_signal(go, 1));
    suite_wait(suite, end, 1);
}

/* ---- Idle ----------------------------------------------------------------------------------- */

static void idle_means_done(struct suite *suite, uint64_t unused)
{
    (void)unused;
    enum { WORDS = 64 * 500, STEPS = 100 };
    struct hal_buffer *x = suite_buffer(suite, "x", WORDS * 4);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    uint32_t *wanted = suite_memory(suite, WORDS * 4);
    for (uint32_t i = 0; i < WORDS; i++)
        wanted[i] = i;
    suite_write(suite, x, 0, wanted, WORDS * 4);
    suite_dispatch(suite, commands,
                   &(struct suite_launch){KERNEL_SPIN, {WORDS / 64, 1, 1}, {x}, {STEPS}, 1});
    check_ok(suite, hal_command_buffer_end(commands));
    check_ok(suite, suite_submit(suite, 0, commands, SUITE_NONE, SUITE_NONE));
    check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
    for (uint32_t i = 0; i < WORDS; i++) {
        for (uint32_t n = 0; n < STEPS; n++)
            wanted[i] = wanted[i] * 1664525 + 1013904223;
    }
    check_buffer(suite, x, 0, wanted, WORDS * 4);
}

static void idle_times_out(struct suite *suite, uint64_t timeout_ns)
{
    struct hal_semaphore *go = suite_semaphore(suite, "the gate", 2);
    struct hal_device *device = suite_device(suite);
    check_ok(suite, suite_submit(suite, 0, NULL, suite_at(go, 3), SUITE_NONE));
    const int64_t begin_ns = now_ns();
    check_fails(suite, hal_device_wait_idle(device, (int64_t)timeout_ns), HAL_TIMEOUT, "the gate",
                "3", "2");
    check(suite, now_ns() - begin_ns >= (int64_t)timeout_ns);
    check_ok(suite, hal_semaphore_signal(go, 3));
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
    check_ok(suite, hal_device_wait_idle(device, 0));
}

/* Failed work is finished work. */
static void idle_after_failure(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore *bad = suite_semaphore(suite, "bad", 0);
    check_ok(suite, suite_submit(suite, 0, NULL, suite_at(bad, 1), SUITE_NONE));
    hal_semaphore_fail(bad, HAL_FAILED, "bad");
    check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
}

/* The host is sooner, with the same value or a higher one: the order is wrong, which is seen when
 * the work has ended. What the work did, and its other signals, stand. */
static void overtaken(struct suite *suite, uint64_t reached)
{
    uint64_t value;
    uint8_t wanted[16];
    struct hal_semaphore *begin = suite_semaphore(suite, "begin", 0);
    struct hal_semaphore *slow = suite_semaphore(suite, "slow", 0);
    struct hal_semaphore *other = suite_semaphore(suite, "other", 0);
    struct hal_buffer *buffer = suite_buffer(suite, "filled", sizeof wanted);
    const struct hal_semaphore_value wait = {begin, 1}, signals[2] = {{slow, 5}, {other, 1}};
    const struct hal_submit_desc desc = {
        .waits = &wait, .wait_count = 1, .signals = signals, .signal_count = 2};
    suite_clear(suite, buffer, 0);
    check_ok(suite, hal_queue_fill(suite_device(suite), &desc, buffer, 0, sizeof wanted, 9, 1));
    check_ok(suite, hal_semaphore_signal(slow, reached));
    check_ok(suite, hal_semaphore_signal(begin, 1));
    suite_wait(suite, other, 1);
    check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
    check_fails(suite, hal_semaphore_query(slow, &value), HAL_INVALID, "semaphore 'slow'", "with 5",
                reached == 5 ? "had reached 5" : "had reached 7");
    check_fails(suite, hal_semaphore_wait(slow, 8, SUITE_TIMEOUT_NS), HAL_INVALID, "slow");
    memset(wanted, 9, sizeof wanted);
    check_buffer(suite, buffer, 0, wanted, sizeof wanted);
}

static const struct suite_case cases[] = {
    {"overtaken_by_the_same_value", overtaken, 5},
    {"overtaken_by_a_higher_value", overtaken, 7},
    {"begins_at_0", initial_value, 0},
    {"begins_at_1000", initial_value, 1000},
    {"begins_beyond_32_bits", initial_value, UINT64_C(0x123456789)},
    {"begins_at_the_last_value", initial_value, UINT64_MAX - 1},
    {"host_signals_1", host_signal, 1},
    {"host_signals_beyond_32_bits", host_signal, UINT64_C(1) << 32},
    {"host_signals_the_last_value", host_signal, UINT64_MAX - 1},
    {"values_only_rise", values_only_rise, 0},
    {"skipped_values_are_reached", skipped_values_are_reached, 0},
    {"poll", timeout_passes, 0},
    {"timeout_of_1_us", timeout_passes, 1000},
    {"timeout_of_20_ms", timeout_passes, 20000000},
    {"negative_timeout_polls", negative_timeout_polls, 0},
    {"wait_all_of_1", wait_all, 1},
    {"wait_all_of_8", wait_all, 8},
    {"wait_all_of_100", wait_all, 100},
    {"wait_any_of_1", wait_any, 1},
    {"wait_any_of_9", wait_any, 9},
    {"wait_any_of_100", wait_any, 100},
    {"wait_for_nothing", wait_for_nothing, 0},
    {"wait_for_one_twice", wait_for_one_twice, 0},
    {"woken_by_another_thread", woken_by_another_thread, false},
    {"woken_by_failure", woken_by_another_thread, true},
    {"wait_before_signal", wait_before_signal, 30},
    {"empty_submission", empty_submission, 1},
    {"empty_submission_with_40_semaphores", empty_submission, 40},
    {"nothing_at_all", nothing_at_all, 0},
    {"wait_for_the_past", wait_for_the_past, 0},
    {"long_line", long_line, 5000},
    {"fan_out_and_in", fan_out_and_in, 100},
    {"submission_waits_for_all", submission_waits_for_all, 0},
    {"kept_by_a_submission", kept_by_a_submission, 0},
    {"idle_means_done", idle_means_done, 0},
    {"idle_polls", idle_times_out, 0},
    {"idle_times_out", idle_times_out, 10000000},
    {"idle_after_failure", idle_after_failure, 0},
};

const struct suite_area area_semaphores = {"semaphores", cases, SUITE_COUNT(cases)};
