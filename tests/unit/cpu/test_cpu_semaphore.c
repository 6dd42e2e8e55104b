/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/engine/semaphore.c and wait.c through the API: values rise, waits for one, all and any,
 * time limits, failures. */
#include "tests/support/own_device.h"

#include <pthread.h>

TEST(values_only_rise)
{
    uint64_t value;
    struct hal_semaphore *semaphore = fixture_semaphore(device, "rise", 7);
    assert_ok(hal_semaphore_query(semaphore, &value));
    assert_int_equal(value, 7);
    assert_fails(hal_semaphore_signal(semaphore, 7), HAL_INVALID, "semaphore 'rise' has reached 7");
    assert_fails(hal_semaphore_signal(semaphore, 3), HAL_INVALID, "cannot be set to 3");
    assert_fails(hal_semaphore_signal(semaphore, UINT64_MAX), HAL_INVALID, "reserved");
    assert_ok(hal_semaphore_signal(semaphore, UINT64_MAX - 1));
    assert_ok(hal_semaphore_query(semaphore, &value));
    assert_true(value == UINT64_MAX - 1);
    hal_semaphore_release(semaphore);
    assert_fails(hal_semaphore_create(device, "full", UINT64_MAX, &semaphore), HAL_INVALID, "full");
}

TEST(time_limits_pass)
{
    struct hal_semaphore *semaphore = fixture_semaphore(device, "slow", 1);
    assert_ok(hal_semaphore_wait(semaphore, 0, 0));
    assert_ok(hal_semaphore_wait(semaphore, 1, 0));
    assert_fails(hal_semaphore_wait(semaphore, 2, 0), HAL_TIMEOUT,
                 "semaphore 'slow' did not reach 2 in time, it is at 1");
    assert_fails(hal_semaphore_wait(semaphore, 2, -5), HAL_TIMEOUT, "slow");
    const int64_t before_ns = hal_clock_ns();
    assert_fails(hal_semaphore_wait(semaphore, 2, 3000000), HAL_TIMEOUT, "slow");
    assert_true(hal_clock_ns() - before_ns >= 3000000);
    hal_semaphore_release(semaphore);
}

TEST(all_and_any)
{
    struct hal_semaphore *a = fixture_semaphore(device, "a", 0);
    struct hal_semaphore *b = fixture_semaphore(device, "b", 0);
    const struct hal_semaphore_value both[] = {{a, 1}, {b, 1}};
    assert_ok(hal_semaphores_wait(device, HAL_WAIT_ALL, NULL, 0, 0));
    assert_fails(hal_semaphores_wait(device, HAL_WAIT_ANY, NULL, 0, 0), HAL_INVALID, "0 semaphore");
    assert_fails(hal_semaphores_wait(device, HAL_WAIT_ANY, both, 2, 0), HAL_TIMEOUT, "'a'");
    assert_ok(hal_semaphore_signal(b, 1));
    assert_ok(hal_semaphores_wait(device, HAL_WAIT_ANY, both, 2, 0));
    assert_fails(hal_semaphores_wait(device, HAL_WAIT_ALL, both, 2, 0), HAL_TIMEOUT, "'a'");
    assert_ok(hal_semaphore_signal(a, 2));
    assert_ok(hal_semaphores_wait(device, HAL_WAIT_ALL, both, 2, 0));
    hal_semaphore_release(b);
    hal_semaphore_release(a);
}

TEST(failures_are_for_good)
{
    uint64_t value;
    struct hal_semaphore *a = fixture_semaphore(device, "a", 5);
    struct hal_semaphore *b = fixture_semaphore(device, "b", 0);
    const struct hal_semaphore_value both[] = {{a, 6}, {b, 1}};
    hal_semaphore_fail(a, HAL_OK, "no failure");
    assert_ok(hal_semaphore_query(a, &value));
    hal_semaphore_fail(a, HAL_IO, "the first reason");
    hal_semaphore_fail(a, HAL_FAILED, "the second reason");
    assert_fails(hal_semaphore_query(a, &value), HAL_IO, "the first reason");
    assert_fails(hal_semaphore_wait(a, 6, HAL_FOREVER), HAL_IO, "the first reason");
    assert_fails(hal_semaphore_signal(a, 9), HAL_IO, "the first reason");
    assert_fails(hal_semaphores_wait(device, HAL_WAIT_ALL, both, 2, HAL_FOREVER), HAL_IO, "first");
    assert_fails(hal_semaphores_wait(device, HAL_WAIT_ANY, both, 2, 0), HAL_TIMEOUT,
                 "semaphore 'a' has failed (the first reason): semaphore 'b' did not reach 1");
    hal_semaphore_fail(b, HAL_FAILED, NULL);
    assert_fails(hal_semaphores_wait(device, HAL_WAIT_ANY, both, 2, HAL_FOREVER), HAL_IO, "first");
    hal_semaphore_release(b);
    hal_semaphore_release(a);
}

/* A wait's own limit is the only reason for HAL_TIMEOUT, or nobody could tell them apart. */
TEST(a_failure_is_not_a_timeout)
{
    struct hal_semaphore *late = fixture_semaphore(device, "late", 0);
    hal_semaphore_fail(late, HAL_TIMEOUT, "upstream was too late");
    assert_fails(hal_semaphore_wait(late, 1, HAL_FOREVER), HAL_FAILED, "upstream was too late");
    hal_semaphore_release(late);
}

/* ---- Threads ------------------------------------------------------------------------------- */

enum { SEMAPHORES = 20, THREADS = 4, STEPS = 200 };

struct party {
    struct hal_semaphore *mine, *theirs;
    uint32_t wrong;
};

static void *play(void *argument)
{
    struct party *party = argument;
    for (uint64_t i = 1; i <= STEPS && !party->wrong; i++) {
        party->wrong += hal_semaphore_signal(party->mine, i) != HAL_OK;
        party->wrong += hal_semaphore_wait(party->theirs, i, HAL_FOREVER) != HAL_OK;
    }
    return NULL;
}

TEST(threads_take_turns_in_a_ring)
{
    struct hal_semaphore *ring[THREADS];
    struct party parties[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ring[i] = fixture_semaphore(device, NULL, 0);
    for (int i = 0; i < THREADS; i++) {
        parties[i] = (struct party){.mine = ring[i], .theirs = ring[(i + 1) % THREADS]};
        assert_int_equal(pthread_create(&threads[i], NULL, play, &parties[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(parties[i].wrong, 0);
    }
    for (int i = 0; i < THREADS; i++) {
        uint64_t value;
        assert_ok(hal_semaphore_query(ring[i], &value));
        assert_int_equal(value, STEPS);
        hal_semaphore_release(ring[i]);
    }
}

static struct hal_semaphore *many[SEMAPHORES];

static void *wait_for_all(void *out_status)
{
    struct hal_semaphore_value values[SEMAPHORES];
    for (uint64_t i = 0; i < SEMAPHORES; i++)
        values[i] = (struct hal_semaphore_value){many[i], i + 1};
    *(enum hal_status *)out_status =
        hal_semaphores_wait(device, HAL_WAIT_ALL, values, SEMAPHORES, HAL_FOREVER);
    return strstr(hal_message(), "handed over") ? out_status : NULL;
}

TEST(many_values_are_waited_for_together)
{
    for (int failing = 0; failing < 2; failing++) {
        pthread_t thread;
        void *has_message;
        enum hal_status status = HAL_CORRUPT;
        for (int i = 0; i < SEMAPHORES; i++)
            many[i] = fixture_semaphore(device, NULL, 0);
        assert_int_equal(pthread_create(&thread, NULL, wait_for_all, &status), 0);
        for (uint64_t i = SEMAPHORES; i-- > 1;)
            assert_ok(hal_semaphore_signal(many[i], i + 1));
        if (failing)
            hal_semaphore_fail(many[0], HAL_FAILED, "handed over");
        else
            assert_ok(hal_semaphore_signal(many[0], 1));
        pthread_join(thread, &has_message);
        assert_int_equal(status, failing ? HAL_FAILED : HAL_OK);
        assert_int_equal(has_message != NULL, failing);
        for (int i = 0; i < SEMAPHORES; i++)
            hal_semaphore_release(many[i]);
    }
}

TEST_SUITE_FIXTURE(open_device, close_device);
