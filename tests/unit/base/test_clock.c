/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/clock.c: lines through made-up clocks, and the real clock against the system's. */
#include "hal/base/clock_fit.h"
#include "tests/support/hal_fixture.h"

#include <time.h>

enum { MS = 1000000 };

/* A counter of 3 ticks per nanosecond, whose pace is `ppm` parts per million off; the system's
 * clock is the truth. */
static uint64_t ticks_at(int64_t ns, int64_t ppm)
{
    return (uint64_t)(1000000 + 3 * ns + 3 * ns / 1000000 * ppm);
}

static int64_t read_at(const struct hal_clock_fit *fit, uint64_t ticks)
{
    int64_t ns = 0;
    bool stale = false;
    assert_true(hal_clock_fit_read(fit, ticks, &ns, &stale));
    return ns;
}

TEST(a_line_needs_two_moments)
{
    struct hal_clock_fit fit = {0};
    int64_t ns = 0;
    bool stale = false;
    assert_false(hal_clock_fit_read(&fit, 5, &ns, &stale));
    hal_clock_fit_update(&fit, ticks_at(1 * MS, 0), 1 * MS);
    hal_clock_fit_update(&fit, ticks_at(2 * MS, 0), 2 * MS); /* too near */
    assert_false(hal_clock_fit_read(&fit, 5, &ns, &stale));
    hal_clock_fit_update(&fit, ticks_at(30 * MS, 0), 30 * MS);
    assert_true(hal_clock_fit_read(&fit, ticks_at(40 * MS, 0), &ns, &stale));
    assert_in_range(ns, 40 * MS - 1, 40 * MS + 1);
    assert_false(stale);
    assert_true(hal_clock_fit_read(&fit, ticks_at(90 * MS, 0), &ns, &stale));
    assert_true(stale);
}

/* Every millisecond a look, with fits when they are due; what is read rises and stays near. */
static void follow(struct hal_clock_fit *fit, int64_t from_ms, int64_t to_ms, int64_t ppm,
                   int64_t allowed_ns, int64_t *last_ns)
{
    for (int64_t ms = from_ms; ms < to_ms; ms++) {
        int64_t ns = 0;
        bool stale = false;
        assert_true(hal_clock_fit_read(fit, ticks_at(ms * MS, ppm), &ns, &stale));
        assert_true(ns > *last_ns);
        *last_ns = ns;
        assert_in_range(ns, ms * MS - allowed_ns, ms * MS + allowed_ns);
        if (stale)
            hal_clock_fit_update(fit, ticks_at(ms * MS, ppm), ms * MS);
    }
}

TEST(a_counter_off_its_pace_is_followed)
{
    static const int64_t paces[] = {0, 100, -100, 500, -500};
    for (size_t i = 0; i < sizeof paces / sizeof *paces; i++) {
        struct hal_clock_fit fit = {0};
        int64_t last_ns = 0;
        hal_clock_fit_update(&fit, ticks_at(1 * MS, paces[i]), 1 * MS);
        hal_clock_fit_update(&fit, ticks_at(30 * MS, paces[i]), 30 * MS);
        follow(&fit, 31, 20000, paces[i], 200, &last_ns);
        assert_true(fit.worst_error_ns < 200);
    }
}

/* The system's clock begins to be slewed: the error is seen, told, and taken back without a step.
 */
TEST(a_change_of_pace_is_told_and_taken_back)
{
    struct hal_clock_fit fit = {0};
    int64_t last_ns = 0;
    hal_clock_fit_update(&fit, ticks_at(1 * MS, 0), 1 * MS);
    hal_clock_fit_update(&fit, ticks_at(30 * MS, 0), 30 * MS);
    follow(&fit, 31, 5000, 0, 200, &last_ns);
    /* From 5 s on the counter gains 200 ppm: 3 * 0.2 ticks in a microsecond. */
    for (int64_t ms = 5000; ms < 12000; ms++) {
        const uint64_t ticks = ticks_at(ms * MS, 0) + (uint64_t)(ms - 5000) * 600;
        int64_t ns = 0;
        bool stale = false;
        assert_true(hal_clock_fit_read(&fit, ticks, &ns, &stale));
        assert_true(ns > last_ns);
        last_ns = ns;
        assert_in_range(ns, ms * MS - 40000, ms * MS + 40000);
        if (stale)
            hal_clock_fit_update(&fit, ticks, ms * MS);
    }
    assert_in_range(fit.worst_error_ns, 9000, 40000);
    assert_in_range(last_ns, 11999 * (int64_t)MS - 500, 11999 * (int64_t)MS + 500);
}

TEST(a_machine_that_slept_jumps_forward_and_never_back)
{
    struct hal_clock_fit fit = {0};
    hal_clock_fit_update(&fit, ticks_at(1 * MS, 0), 1 * MS);
    hal_clock_fit_update(&fit, ticks_at(30 * MS, 0), 30 * MS);
    const uint64_t ticks = ticks_at(100 * MS, 0);
    hal_clock_fit_update(&fit, ticks, 5000 * (int64_t)MS);
    assert_in_range(read_at(&fit, ticks), 5000 * (int64_t)MS, 5000 * (int64_t)MS);

    /* The counter ran on while the system's clock stood still. */
    struct hal_clock_fit ahead = {0};
    hal_clock_fit_update(&ahead, ticks_at(1 * MS, 0), 1 * MS);
    hal_clock_fit_update(&ahead, ticks_at(30 * MS, 0), 30 * MS);
    const int64_t before = read_at(&ahead, ticks_at(9000 * (int64_t)MS, 0));
    hal_clock_fit_update(&ahead, ticks_at(9000 * (int64_t)MS, 0), 100 * MS);
    assert_true(read_at(&ahead, ticks_at(9000 * (int64_t)MS, 0)) >= before);
    assert_true(read_at(&ahead, ticks_at(9001 * (int64_t)MS, 0)) > before);
}

/* ---- The real one ---- */

static int64_t system_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Long enough for several fits; what hal_clock_name admits counts, and what two looks differ by. */
TEST(the_clock_is_the_systems)
{
    uint64_t error_ns;
    int64_t last_ns = 0;
    for (const int64_t end_ns = system_ns() + 400 * MS; last_ns < end_ns;) {
        const int64_t before_ns = system_ns(), ns = hal_clock_ns(), after_ns = system_ns();
        hal_clock_name(&error_ns);
        const int64_t allowed_ns = (int64_t)error_ns + 100000;
        assert_true(ns >= last_ns);
        assert_in_range(ns, before_ns - allowed_ns, after_ns + allowed_ns);
        last_ns = ns;
    }
    print_message("clock: %s, ", hal_clock_name(&error_ns));
    print_message("at most %llu ns off\n", (unsigned long long)error_ns);
}

/* Whoever has not seen the newest line yet reads the same as those that have. */
TEST(a_new_line_begins_in_the_future)
{
    struct hal_clock_fit fit = {0};
    hal_clock_fit_update(&fit, ticks_at(1 * MS, 0), 1 * MS);
    hal_clock_fit_update(&fit, ticks_at(30 * MS, 0), 30 * MS);
    hal_clock_fit_update(&fit, ticks_at(90 * MS, 0), 90 * MS);
    const struct hal_clock_fit before = fit;
    int64_t ns = 0;
    bool stale = true;
    hal_clock_fit_update(&fit, ticks_at(150 * MS, 0), 150 * MS + 50000); /* slower by 50 us */
    for (int64_t us = 150000; us < 159990; us += 10) {
        assert_true(hal_clock_fit_read(&fit, ticks_at(us * 1000, 0), &ns, &stale));
        assert_true(ns == read_at(&before, ticks_at(us * 1000, 0)));
        assert_false(stale);
    }
    assert_in_range(read_at(&fit, ticks_at(160 * MS, 0)), 160 * MS - 2, 160 * MS + 100);
    assert_true(read_at(&fit, ticks_at(200 * MS, 0)) > 200 * MS + 30000); /* on its way */
}

static _Atomic int64_t latest_ns;

/* A counter may be read before the loads that stand before it: here the order is the question. */
static void finish_loads(void)
{
#if defined __x86_64__
    __builtin_ia32_lfence();
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

static void *look(void *unused)
{
    (void)unused;
    for (int i = 0; i < 300000; i++) {
        int64_t latest = atomic_load(&latest_ns);
        finish_loads();
        const int64_t now_ns = hal_clock_ns();
        if (now_ns < latest - 1000) /* counters of processors differ by less */
            return (void *)1;
        while (latest < now_ns && !atomic_compare_exchange_weak(&latest_ns, &latest, now_ns))
            continue;
    }
    return NULL;
}

TEST(no_thread_sees_it_go_back)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
}
