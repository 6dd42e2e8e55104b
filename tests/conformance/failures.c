/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of semaphores: for good, and how far they reach. */
#include "tests/conformance/suite.h"

#define SHORT_NS INT64_C(2000000)

static void failure_is_for_good(struct suite *suite, uint64_t failure)
{
    uint64_t value;
    const enum hal_status status = (enum hal_status)failure;
    struct hal_semaphore *semaphore = suite_semaphore(suite, "doomed", 4);
    hal_semaphore_fail(semaphore, HAL_OK, "no failure");
    check_ok(suite, hal_semaphore_query(semaphore, &value));
    hal_semaphore_fail(semaphore, status, "the first reason");
    hal_semaphore_fail(semaphore, HAL_NO_MEMORY, "another reason");
    check_fails(suite, hal_semaphore_query(semaphore, &value), status, "the first reason");
    check_fails(suite, hal_semaphore_wait(semaphore, 5, HAL_FOREVER), status, "the first reason");
    check_fails(suite, hal_semaphore_signal(semaphore, 5), status, "the first reason");
}

/* Through a line of submissions to its end; the work is not done. */
static void failure_reaches_the_end(struct suite *suite, uint64_t length)
{
    struct hal_semaphore **line =
        suite_memory(suite, (length + 1) * sizeof(struct hal_semaphore *));
    struct hal_buffer *x = suite_buffer(suite, "x", 16);
    uint8_t wanted[16];
    memset(wanted, 0x21, sizeof wanted);
    suite_clear(suite, x, 0x21);
    line[0] = suite_semaphore(suite, "line", 0);
    for (uint64_t i = 1; i <= length; i++) {
        struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
        check_ok(suite, hal_command_fill(commands, x, 0, 16, 0xFF, 1));
        check_ok(suite, hal_command_buffer_end(commands));
        line[i] = suite_semaphore(suite, "line", 0);
        check_ok(suite,
                 suite_submit(suite, 0, commands, suite_at(line[i - 1], 1), suite_at(line[i], 1)));
    }
    hal_semaphore_fail(line[0], HAL_FAILED, "the source of it all");
    check_fails(suite, hal_semaphore_wait(line[length], 1, SUITE_TIMEOUT_NS), HAL_FAILED,
                "the source of it all");
    check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
    check_buffer(suite, x, 0, wanted, sizeof wanted);
}

/* Who waits for what has failed before fails, too. */
static void failure_before_the_submission(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore *failed = suite_semaphore(suite, "failed", 0);
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    hal_semaphore_fail(failed, HAL_DEVICE_LOST, "gone");
    check_ok(suite, suite_submit(suite, 0, NULL, suite_at(failed, 1), suite_at(done, 1)));
    check_fails(suite, hal_semaphore_wait(done, 1, SUITE_TIMEOUT_NS), HAL_DEVICE_LOST, "gone");
}

static void failure_ends_wait_all(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct hal_semaphore_value values[2] = {{suite_semaphore(suite, "good", 0), 1},
                                                  {suite_semaphore(suite, "bad", 0), 1}};
    hal_semaphore_fail(values[1].semaphore, HAL_IO, "the disk is full");
    check_fails(suite,
                hal_semaphores_wait(suite_device(suite), HAL_WAIT_ALL, values, 2, HAL_FOREVER),
                HAL_IO, "the disk is full");
}

static void wait_any_outlives_failures(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_device *device = suite_device(suite);
    const struct hal_semaphore_value values[3] = {{suite_semaphore(suite, "a", 0), 1},
                                                  {suite_semaphore(suite, "b", 0), 1},
                                                  {suite_semaphore(suite, "c", 0), 1}};
    hal_semaphore_fail(values[0].semaphore, HAL_FAILED, "first");
    check_fails(suite, hal_semaphores_wait(device, HAL_WAIT_ANY, values, 3, SHORT_NS), HAL_TIMEOUT,
                "");
    hal_semaphore_fail(values[2].semaphore, HAL_FAILED, "third");
    check_ok(suite, hal_semaphore_signal(values[1].semaphore, 1));
    check_ok(suite, hal_semaphores_wait(device, HAL_WAIT_ANY, values, 3, HAL_FOREVER));
    const struct hal_semaphore_value failed[2] = {values[0], values[2]};
    check_fails(suite, hal_semaphores_wait(device, HAL_WAIT_ANY, failed, 2, HAL_FOREVER),
                HAL_FAILED, "");
}

/* One failed wait fails the submission, though the others are never reached. */
static void failure_does_not_wait_for_others(struct suite *suite, uint64_t unused)
{
    (void)unused;
    const struct hal_semaphore_value waits[2] = {{suite_semaphore(suite, "never", 0), 1},
                                                 {suite_semaphore(suite, "fails", 0), 1}};
    const struct hal_semaphore_value signals[2] = {{suite_semaphore(suite, "x", 0), 1},
                                                   {suite_semaphore(suite, "y", 0), 1}};
    const struct hal_submit_desc desc = {
        .waits = waits, .wait_count = 2, .signals = signals, .signal_count = 2};
    check_ok(suite, hal_queue_submit(suite_device(suite), &desc));
    hal_semaphore_fail(waits[1].semaphore, HAL_FAILED, "one is enough");
    for (int i = 0; i < 2; i++)
        check_fails(suite, hal_semaphore_wait(signals[i].semaphore, 1, SUITE_TIMEOUT_NS),
                    HAL_FAILED, "one is enough");
    check_ok(suite, hal_semaphore_signal(waits[0].semaphore, 1));
}

/* What does not depend on it goes on. */
static void failure_stays_in_its_line(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore *bad = suite_semaphore(suite, "bad", 0);
    struct hal_semaphore *good = suite_semaphore(suite, "good", 0);
    struct hal_semaphore *a = suite_semaphore(suite, "a", 0), *b = suite_semaphore(suite, "b", 0);
    check_ok(suite, suite_submit(suite, 0, NULL, suite_at(bad, 1), suite_at(a, 1)));
    check_ok(suite, suite_submit(suite, 0, NULL, suite_at(good, 1), suite_at(b, 1)));
    hal_semaphore_fail(bad, HAL_FAILED, "bad");
    check_ok(suite, hal_semaphore_signal(good, 1));
    suite_wait(suite, b, 1);
    check_fails(suite, hal_semaphore_wait(a, 1, SUITE_TIMEOUT_NS), HAL_FAILED, "bad");
}

/* Two submissions promise the same value: the later one is wrong, and everybody learns of it. */
static void value_promised_twice(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore *go = suite_semaphore(suite, "go", 0);
    struct hal_semaphore *shared = suite_semaphore(suite, "shared", 0);
    check_ok(suite, suite_submit(suite, 0, NULL, suite_at(go, 1), suite_at(shared, 5)));
    check_ok(suite, suite_submit(suite, 0, NULL, suite_at(go, 2), suite_at(shared, 4)));
    check_ok(suite, hal_semaphore_signal(go, 1));
    suite_wait(suite, shared, 5);
    check_ok(suite, hal_semaphore_signal(go, 2));
    check_fails(suite, hal_semaphore_wait(shared, 6, SUITE_TIMEOUT_NS), HAL_INVALID, "shared", "4",
                "5");
}

/* A wait that returns HAL_TIMEOUT has met its own limit: no failure looks like it. */
static void timeout_is_no_failure(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore *failed = suite_semaphore(suite, "failed", 0);
    struct hal_semaphore *next = suite_semaphore(suite, "next", 0);
    check_ok(suite, suite_submit(suite, 0, NULL, suite_at(failed, 1), suite_at(next, 1)));
    hal_semaphore_fail(failed, HAL_TIMEOUT, "took too long");
    check_fails(suite, hal_semaphore_wait(failed, 1, SUITE_TIMEOUT_NS), HAL_FAILED,
                "took too long");
    check_fails(suite, hal_semaphore_wait(next, 1, SUITE_TIMEOUT_NS), HAL_FAILED, "took too long");
}

static void reached_value_cannot_be_promised(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_semaphore *reached = suite_semaphore(suite, "reached", 12);
    check_fails(suite, suite_submit(suite, 0, NULL, SUITE_NONE, suite_at(reached, 12)), HAL_INVALID,
                "reached", "12");
    check_fails(suite, suite_submit(suite, 0, NULL, SUITE_NONE, suite_at(reached, 3)), HAL_INVALID,
                "reached", "12", "3");
    check_ok(suite, suite_submit(suite, 0, NULL, SUITE_NONE, suite_at(reached, 13)));
    suite_wait(suite, reached, 13);
}

static const struct suite_case cases[] = {
    {"failure_is_for_good", failure_is_for_good, HAL_FAILED},
    {"lost_device_is_for_good", failure_is_for_good, HAL_DEVICE_LOST},
    {"failure_reaches_the_next", failure_reaches_the_end, 1},
    {"failure_reaches_the_end", failure_reaches_the_end, 200},
    {"failure_before_the_submission", failure_before_the_submission, 0},
    {"failure_ends_wait_all", failure_ends_wait_all, 0},
    {"wait_any_outlives_failures", wait_any_outlives_failures, 0},
    {"failure_does_not_wait_for_others", failure_does_not_wait_for_others, 0},
    {"failure_stays_in_its_line", failure_stays_in_its_line, 0},
    {"value_promised_twice", value_promised_twice, 0},
    {"timeout_is_no_failure", timeout_is_no_failure, 0},
    {"reached_value_cannot_be_promised", reached_value_cannot_be_promised, 0},
};

const struct suite_area area_failures = {"failures", cases, SUITE_COUNT(cases)};
