/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/profiling/capture_range.c: captures of a part of a run hold that part, whoever submits,
 * and never hold up a program for good. */
#include "hal/base/run.h"
#include "tests/support/captured.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/own_folder.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { BYTES = 64 };

static char path[PATH_MAX];

static int forget(void **state)
{
    (void)state;
    unsetenv("HAL_DEVICE_PROFILING_WINDOW");
    unsetenv("HAL_DEVICE_PROFILING_SCOPE");
    unsetenv("HAL_DEVICE_PROFILING_GROUP");
    unsetenv("HAL_DEVICE_PROFILING_FILE");
    unsetenv(HAL_RUN_VARIABLE);
    signal(SIGUSR1, SIG_DFL);
    return 0;
}

struct work {
    struct hal_device *device;
    struct hal_buffer *buffer;
    struct hal_semaphore *done;
    uint64_t count; /* of submissions */
};

/* The number of a name counts the process's captures: each test has a name of its own. */
static struct work open_window(const char *variable, const char *value)
{
    static unsigned tests;
    char name[64];
    snprintf(name, sizeof name, "part%u.pb.zst", ++tests);
    test_folder_file(&folder, name, path);
    setenv("HAL_DEVICE_PROFILING_FILE", path, 1);
    setenv("HAL_DEVICE_PROFILING_FORCE", "true", 1);
    setenv(variable, value, 1);
    struct work work = {.device = fixture_device("cpu")};
    work.buffer = fixture_buffer(work.device, "b", BYTES);
    work.done = fixture_semaphore(work.device, "done", 0);
    return work;
}

static void submit_after(struct work *work, const struct hal_semaphore_value *wait)
{
    const struct hal_semaphore_value done = {work->done, work->count + 1};
    struct hal_command_buffer *commands = fixture_commands(work->device, "fill", HAL_ONE_SHOT);
    assert_ok(hal_command_fill(commands, work->buffer, 0, BYTES, (uint8_t)work->count, 1));
    assert_ok(hal_command_buffer_end(commands));
    const struct hal_submit_desc desc = {.waits = wait,
                                         .wait_count = wait != NULL,
                                         .signals = &done,
                                         .signal_count = 1,
                                         .commands = &commands,
                                         .command_count = 1};
    assert_ok(hal_queue_submit(work->device, &desc));
    hal_command_buffer_release(commands);
    work->count++;
}

static void submit(struct work *work)
{
    submit_after(work, NULL);
    assert_ok(hal_semaphore_wait(work->done, work->count, HAL_FOREVER));
}

static void close_work(struct work *work)
{
    hal_semaphore_release(work->done);
    hal_buffer_release(work->buffer);
    hal_device_release(work->device);
}

/* The n-th capture of the process under the present name. */
static const char *nth_file(unsigned n)
{
    static char file[PATH_MAX + 16];
    for (unsigned number = 1; number < 100; number++) {
        const int stem = (int)(strlen(path) - strlen(".pb.zst"));
        if (number == 1)
            snprintf(file, sizeof file, "%s", path);
        else
            snprintf(file, sizeof file, "%.*s-%u.pb.zst", stem, path, number);
        if (access(file, F_OK) == 0 && n-- == 0)
            return file;
    }
    fail_msg("there is no such capture of '%s'", path);
    return NULL;
}

static void assert_submissions(unsigned n, uint64_t first, uint64_t last)
{
    struct captured captured;
    captured_open(&captured, nth_file(n));
    assert_int_equal(captured_count(&captured, TRACE_SUBMIT), last - first + 1);
    for (uint64_t i = first; i <= last; i++) {
        const struct trace_submit *submit =
            captured_find(&captured, TRACE_SUBMIT, (size_t)(i - first));
        assert_int_equal(submit->submission, i);
    }
    assert_int_equal(captured_count(&captured, TRACE_SUBMISSION_DONE), last - first + 1);
    assert_true(trace_reader_header(captured.reader)->late_start);
    captured_close(&captured);
}

TEST(a_range_of_submissions_is_captured)
{
    static const struct {
        const char *window;
        uint64_t first, last;
    } cases[] = {{"#s3..#s5", 3, 5}, {"#s4", 4, 4}, {"#s0..#s1", 0, 1},      {"#s6..", 6, 8},
                 {"..#s2", 0, 2},    {"3-4", 3, 4}, {"#s3.d7..#s5.d0", 3, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct work work = open_window("HAL_DEVICE_PROFILING_WINDOW", cases[i].window);
        for (int k = 0; k < 9; k++)
            submit(&work);
        close_work(&work);
        assert_submissions(0, cases[i].first, cases[i].last);
    }
}

static void *submit_many(void *argument)
{
    struct work work = *(const struct work *)argument;
    work.buffer = fixture_buffer(work.device, "own", BYTES);
    work.done = fixture_semaphore(work.device, "own", 0);
    for (int i = 0; i < 50; i++)
        submit(&work);
    hal_semaphore_release(work.done);
    hal_buffer_release(work.buffer);
    return NULL;
}

/* One that was on its way when the window opened may be recorded too, and so may others where one
 * of the window's is slow to come. */
TEST(no_thread_slips_by)
{
    enum { THREADS = 4, FIRST = 60, LAST = 140 };
    bool found[THREADS * 50] = {false};
    struct captured captured;
    pthread_t threads[THREADS];
    struct work work = open_window("HAL_DEVICE_PROFILING_WINDOW", "#s60..#s140");
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &work), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    close_work(&work);
    captured_open(&captured, nth_file(0));
    for (size_t i = 0; i < captured_count(&captured, TRACE_SUBMIT); i++) {
        const struct trace_submit *submit = captured_find(&captured, TRACE_SUBMIT, i);
        assert_true(submit->submission < THREADS * 50);
        found[submit->submission] = true;
    }
    for (size_t i = FIRST; i <= LAST; i++)
        if (!found[i])
            fail_msg("submission %zu is missing", i);
    assert_false(found[0]);
    captured_close(&captured);
}

/* #s0 waits for what this thread does after #s1: the window opens with #s2. */
TEST(a_window_waits_for_work_that_waits_for_the_program)
{
    struct work work = open_window("HAL_DEVICE_PROFILING_WINDOW", "#s1..");
    struct hal_semaphore *host = fixture_semaphore(work.device, "host", 0);
    const struct hal_semaphore_value wait = {host, 1};
    submit_after(&work, &wait);
    submit_after(&work, &(struct hal_semaphore_value){work.done, 1});
    assert_ok(hal_semaphore_signal(host, 1));
    assert_ok(hal_semaphore_wait(work.done, 2, HAL_FOREVER));
    submit(&work);
    hal_semaphore_release(host);
    close_work(&work);
    assert_submissions(0, 2, 2);
}

/* The entry of the list, alone; NULL: none. */
static void assert_run(const char *list, const char *entry)
{
    struct hal_run run;
    hal_run_open(list, &run);
    const char *first = hal_run_next(&run, NULL);
    if (entry ? !first || strcmp(first, entry) != 0 || hal_run_next(&run, first) : first != NULL)
        fail_msg("the run's list begins with '%s'", first ? first : "nothing");
    hal_run_close(&run);
}

/* The program may be killed at any time: the list of its run never has a file that was not made. */
TEST(a_window_that_never_opens_is_told_and_has_no_file)
{
    static const char *const windows[][2] = {{"HAL_DEVICE_PROFILING_WINDOW", "#s1"},
                                             {"HAL_DEVICE_PROFILING_SCOPE", "part"}};
    char list[PATH_MAX], told[512];
    for (size_t i = 0; i < 2; i++) {
        forget(NULL);
        assert_ok(hal_run_create(list, sizeof list));
        setenv(HAL_RUN_VARIABLE, list, 1);
        struct work work = open_window(windows[i][0], windows[i][1]);
        struct hal_semaphore *host = fixture_semaphore(work.device, "host", 0);
        submit_after(&work, &(struct hal_semaphore_value){host, 1});
        hal_scope_begin(work.device, "part");
        submit_after(&work, &(struct hal_semaphore_value){work.done, 1});
        hal_scope_end(work.device);
        assert_run(list, NULL);
        assert_ok(hal_semaphore_signal(host, 1));
        assert_ok(hal_semaphore_wait(work.done, work.count, HAL_FOREVER));
        snprintf(told, sizeof told,
                 "~device '%s': its window could not open when it was reached, and was not reached "
                 "again: submission 0 waits for semaphore 'host' to reach 1, it is at 0",
                 hal_device_get_info(work.device)->uri);
        hal_semaphore_release(host);
        close_work(&work);
        assert_run(list, told);
        assert_int_not_equal(access(path, F_OK), 0);
        unlink(list);
    }
}

TEST(a_signal_switches_the_capture)
{
    struct work work = open_window("HAL_DEVICE_PROFILING_WINDOW", "signal");
    for (int i = 0; i < 9; i++) {
        if (i == 2 || i == 4 || i == 6)
            raise(SIGUSR1);
        if (i == 5) { /* twice is nothing */
            raise(SIGUSR1);
            raise(SIGUSR1);
        }
        submit(&work);
    }
    close_work(&work);
    assert_submissions(0, 2, 3);
    assert_submissions(1, 6, 8);
}

static volatile sig_atomic_t kept_signals;

static void keep_signal(int number)
{
    (void)number;
    kept_signals++;
}

TEST(a_programs_own_handler_stays)
{
    struct hal_device *device;
    signal(SIGUSR1, keep_signal);
    setenv("HAL_DEVICE_PROFILING_WINDOW", "signal", 1);
    assert_ok(hal_device_open("cpu", &device)); /* and is not captured */
    assert_int_equal(raise(SIGUSR1), 0);
    hal_device_release(device);
    assert_int_equal(kept_signals, 1);
    assert_true(signal(SIGUSR1, SIG_DFL) == keep_signal);
}

TEST(a_scope_is_captured_each_time)
{
    struct captured captured;
    struct work work = open_window("HAL_DEVICE_PROFILING_SCOPE", "token 1");
    for (int i = 0; i < 6; i++) {
        char name[16];
        snprintf(name, sizeof name, "token %d", i % 4);
        hal_scope_begin(work.device, name);
        hal_scope_begin(work.device, "inside");
        submit(&work);
        hal_scope_end(work.device);
        submit(&work);
        hal_scope_end(work.device);
        submit(&work);
    }
    close_work(&work);
    assert_submissions(0, 3, 4);
    assert_submissions(1, 15, 16);
    captured_open(&captured, nth_file(0));
    assert_int_equal(captured_count(&captured, TRACE_SCOPE_BEGIN), 2);
    assert_int_equal(captured_count(&captured, TRACE_SCOPE_END), 2);
    const struct trace_scope *scope = captured_find(&captured, TRACE_SCOPE_BEGIN, 0);
    assert_string_equal(captured_string(&captured, scope->name), "token 1");
    captured_close(&captured);
}

static void submit_group(struct work *work, const char *outer, const char *inner)
{
    const struct hal_semaphore_value done = {work->done, work->count + 1};
    struct hal_command_buffer *commands = fixture_commands(work->device, "group", HAL_ONE_SHOT);
    assert_ok(hal_command_debug_begin(commands, outer, 0));
    assert_ok(hal_command_debug_begin(commands, inner, 0));
    assert_ok(hal_command_fill(commands, work->buffer, 0, BYTES, 7, 1));
    assert_ok(hal_command_debug_end(commands));
    assert_ok(hal_command_debug_end(commands));
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(hal_queue_submit(work->device, &(struct hal_submit_desc){.signals = &done,
                                                                       .signal_count = 1,
                                                                       .commands = &commands,
                                                                       .command_count = 1}));
    assert_ok(hal_semaphore_wait(work->done, ++work->count, HAL_FOREVER));
    hal_command_buffer_release(commands);
}

/* Submissions with the group, also inside another one; each row of them is a capture. */
TEST(debug_groups_are_captured)
{
    struct captured captured;
    struct work work = open_window("HAL_DEVICE_PROFILING_GROUP", "attention");
    submit(&work);
    submit_group(&work, "layer", "attention");
    submit_group(&work, "attention", "x");
    submit_group(&work, "attention 2", "layer");
    submit(&work);
    submit_group(&work, "layer", "attention");
    close_work(&work);
    assert_submissions(0, 1, 2);
    assert_submissions(1, 5, 5);
    captured_open(&captured, nth_file(0));
    assert_string_equal(trace_reader_header(captured.reader)->window, "attention");
    captured_close(&captured);
}

TEST(wrong_windows_are_refused)
{
    static const char *const wrong[] = {"s1..s2",    "#s1..#s0", "#s1.",
                                        "#s1..#s2x", "#s",       "signals",
                                        "#s-1",      "..",       "#s99999999999999999999"};
    struct hal_device *device;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("HAL_DEVICE_PROFILING_WINDOW", wrong[i], 1);
        assert_fails(hal_device_open("cpu", &device), HAL_INVALID,
                     "HAL_DEVICE_PROFILING_WINDOW must be a range of submissions");
    }
    setenv("HAL_DEVICE_PROFILING_WINDOW", "#s1", 1);
    setenv("HAL_DEVICE_PROFILING_SCOPE", "x", 1);
    assert_fails(hal_device_open("cpu", &device), HAL_INVALID, "one window: '#s1'");
}

TEST_FIXTURE(forget, NULL);
TEST_SUITE_FIXTURE(make_folder, remove_folder);
