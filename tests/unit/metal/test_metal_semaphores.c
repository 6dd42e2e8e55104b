/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores of hal/drivers/metal between host and device, on a Metal that tells its host late, or
 * not at all (HOST_METAL says how). Two ways lead from a signal of the device to the host: a
 * listener of the event, and the completion of the command buffer that signals. With latehandlers
 * the second one ends nowhere, and with nolisteners the first one hears nothing of what the host
 * sets where a command buffer has failed. What is waited for ends in every case; with failures, it
 * may be by one. */
#include "tests/support/hal_fixture.h"

enum { ROUNDS = 40, THREADS = 4, DEVICES = 8 };

static const int64_t timeout_ns = 60000000000;

static bool has_mode(const char *word)
{
    const char *modes = getenv("HOST_METAL");
    return modes && strstr(modes, word);
}

/* Done, or told: never late. Returns whether it was done. */
static bool settles(struct hal_semaphore *semaphore, uint64_t value)
{
    const enum hal_status status = hal_semaphore_wait(semaphore, value, timeout_ns);
    if (status != HAL_OK && !(has_mode("fail-command-buffers") && status == HAL_FAILED))
        fail_msg("%s: %s", hal_status_name(status), hal_message());
    return status == HAL_OK;
}

static struct hal_command_buffer *fill(struct hal_device *device, struct hal_buffer *words,
                                       uint32_t value)
{
    struct hal_command_buffer *commands = fixture_commands(device, "fill", HAL_ONE_SHOT);
    assert_ok(hal_command_fill(commands, words, 0, 64, value, 4));
    assert_ok(hal_command_buffer_end(commands));
    return commands;
}

/* The host waits for the device after each submission: nothing behind it drives it on. */
TEST(the_host_waits)
{
    struct hal_device *device = fixture_device("metal");
    struct hal_buffer *words = fixture_buffer(device, "words", 64);
    unsigned good = 0;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
        struct hal_command_buffer *commands = i % 4 ? fill(device, words, i) : NULL;
        assert_ok(fixture_submit(device, commands, NULL, 0, done, 1));
        good += settles(done, 1);
        if (commands)
            hal_command_buffer_release(commands);
        hal_semaphore_release(done);
    }
    assert_ok(hal_device_wait_idle(device, timeout_ns));
    hal_buffer_release(words);
    hal_device_release(device);
    print_message("%u of %d\n", good, ROUNDS);
    assert_true(good > 0);
    assert_int_equal(good < ROUNDS, has_mode("fail-command-buffers"));
}

/* Host and device take turns on one timeline. */
TEST(both_take_turns)
{
    struct hal_device *device = fixture_device("metal?queues=2");
    struct hal_semaphore *turns = fixture_semaphore(device, "turns", 0);
    bool good = true;
    for (uint64_t i = 0; i < ROUNDS && good; i++) {
        const enum hal_status status =
            fixture_submit(device, NULL, turns, 2 * i + 1, turns, 2 * i + 2);
        if (status != HAL_OK)
            fail_msg("%s", hal_message());
        assert_ok(hal_semaphore_signal(turns, 2 * i + 1));
        good = settles(turns, 2 * i + 2);
    }
    assert_ok(hal_device_wait_idle(device, timeout_ns));
    hal_semaphore_release(turns);
    hal_device_release(device);
}

struct waiter {
    struct hal_semaphore *semaphore;
    uint64_t value;
    enum hal_status status;
};

static void *wait_for(void *argument)
{
    struct waiter *waiter = argument;
    waiter->status = hal_semaphore_wait(waiter->semaphore, waiter->value, timeout_ns);
    return NULL;
}

/* Several threads wait for values of work that stands in line behind the host. */
TEST(threads_wait)
{
    struct hal_device *device = fixture_device("metal?queues=3");
    struct hal_semaphore *go = fixture_semaphore(device, "go", 0);
    struct waiter waiters[THREADS];
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        waiters[i] = (struct waiter){fixture_semaphore(device, "step", 0), 1, HAL_TIMEOUT};
        assert_ok(fixture_submit(device, NULL, i ? waiters[i - 1].semaphore : go, 1,
                                 waiters[i].semaphore, 1));
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_ok(hal_thread_start("test-waiter", wait_for, &waiters[i], &threads[i]));
    assert_ok(hal_semaphore_signal(go, 1));
    bool failed = false;
    for (size_t i = 0; i < THREADS; i++) {
        hal_thread_join(threads[i]);
        assert_int_not_equal(waiters[i].status, HAL_TIMEOUT);
        if (failed)
            assert_int_not_equal(waiters[i].status, HAL_OK);
        failed = waiters[i].status != HAL_OK;
        assert_true(!failed || has_mode("fail-command-buffers"));
    }
    assert_ok(hal_device_wait_idle(device, timeout_ns));
    for (size_t i = 0; i < THREADS; i++)
        hal_semaphore_release(waiters[i].semaphore);
    hal_semaphore_release(go);
    hal_device_release(device);
}

/* Submissions of one queue end in order, whichever thread reports the ends: otherwise values that
 * only rise would fall. Most of it is empty, and then quick. */
TEST(a_queue_ends_in_order)
{
    enum { SUBMISSIONS = 400 };
    struct hal_device *device = fixture_device("metal");
    struct hal_buffer *words = fixture_buffer(device, "words", 64);
    struct hal_semaphore *line = fixture_semaphore(device, "line", 0);
    for (uint32_t i = 1; i <= SUBMISSIONS; i++) {
        struct hal_command_buffer *commands = i % 16 ? NULL : fill(device, words, i);
        assert_ok(fixture_submit(device, commands, NULL, 0, line, i));
        if (commands)
            hal_command_buffer_release(commands);
    }
    settles(line, SUBMISSIONS);
    assert_ok(hal_device_wait_idle(device, timeout_ns));
    hal_semaphore_release(line);
    hal_buffer_release(words);
    hal_device_release(device);
}

/* The way that comes second finds neither submission nor device. */
TEST(devices_go_at_once)
{
    for (unsigned i = 0; i < DEVICES; i++) {
        struct hal_device *device = fixture_device("metal");
        struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
        assert_ok(fixture_submit(device, NULL, NULL, 0, done, 1));
        settles(done, 1);
        assert_ok(hal_device_wait_idle(device, timeout_ns));
        hal_semaphore_release(done);
        hal_device_release(device);
    }
}
