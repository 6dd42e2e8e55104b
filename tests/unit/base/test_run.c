/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/run.c: what several processes enter is all there. */
#include "hal/base/run.h"

#include "tests/support/hal_fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 8, ENTRIES = 50 };

static char path[PATH_MAX];

static int make_list(void **state)
{
    (void)state;
    return hal_run_create(path, sizeof path) == HAL_OK ? 0 : -1;
}

static int remove_list(void **state)
{
    (void)state;
    return unlink(path);
}

TEST(entries_are_found_in_their_order)
{
    struct hal_run run;
    hal_run_open(path, &run);
    assert_true(run.descriptor >= 0);
    assert_null(hal_run_next(&run, NULL));
    assert_true(hal_run_add(&run, HAL_RUN_CLAIMED, "/a"));
    assert_true(hal_run_add(&run, HAL_RUN_FAILED, "why\nnot"));
    hal_run_close(&run);
    hal_run_open(path, &run);
    const char *first = hal_run_next(&run, NULL);
    assert_string_equal(first, "+/a");
    assert_string_equal(hal_run_next(&run, first), "!why\nnot");
    assert_null(hal_run_next(&run, hal_run_next(&run, first)));
    assert_true(hal_run_has(&run, HAL_RUN_CLAIMED, "/a"));
    assert_false(hal_run_has(&run, HAL_RUN_UNUSED, "/a"));
    assert_false(hal_run_has(&run, HAL_RUN_CLAIMED, "/"));
    hal_run_close(&run);
}

/* Each takes the first number that nobody has: none may be taken twice. */
static void take_numbers(void)
{
    for (unsigned i = 0; i < ENTRIES; i++) {
        struct hal_run run;
        char name[16];
        unsigned number = 0;
        hal_run_open(path, &run);
        do
            snprintf(name, sizeof name, "%u", number++);
        while (hal_run_has(&run, HAL_RUN_UNUSED, name));
        hal_run_add(&run, HAL_RUN_UNUSED, name);
        hal_run_close(&run);
    }
    _exit(0);
}

TEST(whoever_has_it_open_is_alone)
{
    struct hal_run run;
    unsigned count = 0;
    int status;
    for (unsigned i = 0; i < PROCESSES; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            take_numbers();
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    hal_run_open(path, &run);
    for (const char *entry = NULL; (entry = hal_run_next(&run, entry));)
        count += entry[0] == HAL_RUN_UNUSED;
    assert_int_equal(count, PROCESSES * ENTRIES);
    for (unsigned i = 0; i < PROCESSES * ENTRIES; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        assert_true(hal_run_has(&run, HAL_RUN_UNUSED, name));
    }
    hal_run_close(&run);
}

TEST(others_open_what_is_unlocked)
{
    struct hal_run run, other;
    hal_run_open(path, &run);
    assert_true(hal_run_add(&run, HAL_RUN_CLAIMED, "/before"));
    hal_run_close(&run);
    hal_run_open(path, &run);
    const int second = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_not_equal(flock(second, LOCK_EX | LOCK_NB), 0);
    hal_run_unlock(&run);
    assert_int_equal(flock(second, LOCK_EX | LOCK_NB), 0);
    close(second);
    hal_run_open(path, &other);
    assert_true(hal_run_add(&other, HAL_RUN_CLAIMED, "/since"));
    hal_run_close(&other);
    assert_false(hal_run_add(&run, HAL_RUN_CLAIMED, "/no more"));
    assert_true(hal_run_has(&run, HAL_RUN_CLAIMED, "/before"));
    assert_false(hal_run_has(&run, HAL_RUN_CLAIMED, "/since"));
    hal_run_close(&run);
    hal_run_open(path, &run);
    assert_true(hal_run_has(&run, HAL_RUN_CLAIMED, "/since"));
    assert_false(hal_run_has(&run, HAL_RUN_CLAIMED, "/no more"));
    hal_run_close(&run);
}

/* The process that asks for it is not ended by the limit on file sizes. */
TEST(a_list_that_cannot_grow_says_so)
{
    struct rlimit before;
    struct hal_run run;
    setenv(HAL_RUN_VARIABLE, path, 1);
    assert_true(hal_run_report(HAL_RUN_FAILED, "there was room"));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit none = {0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    const bool grown = hal_run_report(HAL_RUN_FAILED, "there is none");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    unsetenv(HAL_RUN_VARIABLE);
    assert_false(grown);
    assert_false(hal_run_report(HAL_RUN_FAILED, "there is no list"));
    hal_run_open(path, &run);
    assert_true(hal_run_has(&run, HAL_RUN_FAILED, "there was room"));
    assert_false(hal_run_has(&run, HAL_RUN_FAILED, "there is none"));
    hal_run_close(&run);
}

TEST(no_list_is_no_error)
{
    static const char *const paths[] = {NULL, "", "/no/such/list", "/dev/null", "/tmp"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct hal_run run;
        hal_run_open(paths[i], &run);
        assert_int_equal(run.descriptor, -1);
        assert_null(hal_run_next(&run, NULL));
        assert_false(hal_run_add(&run, HAL_RUN_CLAIMED, "x"));
        hal_run_close(&run);
    }
}

TEST_SUITE_FIXTURE(make_list, remove_list);
