/* SPDX-License-Identifier: Apache-2.0 */
/* The times of a device, as a capture has them: those of submissions where its clock is not the
 * host's, by the device's own comparison of both clocks or by what is measured where it has none;
 * and those of dispatches. */
#include "hal/base/os.h"
#include "tests/support/captured.h"
#include "tests/unit/vulkan/vulkan_fixture.h"

#include <stdlib.h>

enum { ALL_COMMANDS = 0x10000 }; /* VkPipelineStageFlagBits */
enum { DISPATCHES = 4000, SLACK_NS = 50000, LATE_NS = 1000000000 };
static const uint64_t ahead = (uint64_t)1 << 45; /* of the host's clock, by hours */

static int forget(void **state)
{
    (void)state;
    shim->facts = (struct vulkan_shim_facts){0};
    return 0;
}

struct times {
    int64_t submitted_ns, begin_ns, end_ns, waited_ns; /* between: as captured */
    uint64_t ticks[2];                                 /* begin and end as the device had them */
};

static struct hal_command_buffer *long_list(struct hal_device *device,
                                            struct hal_executable *increment,
                                            struct hal_buffer *buffer)
{
    struct hal_command_buffer *commands = list_of(device, "long", HAL_ONE_SHOT);
    for (int i = 0; i < DISPATCHES; i++) {
        dispatch(commands, increment, buffer);
        ok(hal_command_barrier(commands, NULL));
    }
    ok(hal_command_buffer_end(commands));
    return commands;
}

static void read_done(const char *path, struct times *times)
{
    struct captured captured;
    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_SUBMISSION_DONE), 1);
    const struct trace_submission_done *done = captured_find(&captured, TRACE_SUBMISSION_DONE, 0);
    times->begin_ns = done->head.begin_ns;
    times->end_ns = done->head.end_ns;
    captured_close(&captured);
}

static void run(struct hal_device *device, struct times *times)
{
    struct test_folder folder;
    char path[PATH_MAX + 16];
    struct hal_buffer *buffer = buffer_of(device, "x");
    struct hal_executable *increment = increment_of(device);
    struct hal_semaphore *done;
    assert_true(test_folder_make(&folder));
    snprintf(path, sizeof path, "%s/times.pb.zst", folder.path);
    ok(hal_semaphore_create(device, "done", 0, &done));
    captured_begin(device, path);
    struct hal_command_buffer *commands = long_list(device, increment, buffer);
    times->submitted_ns = hal_clock_ns();
    ok(submit(device, &commands, 1, done, 1));
    ok(hal_semaphore_wait(done, 1, TIMEOUT_NS));
    times->waited_ns = hal_clock_ns();
    memcpy(times->ticks, shim->ticks, sizeof times->ticks);
    ok(hal_device_profiling_end(device));
    read_done(path, times);
    hal_command_buffer_release(commands);
    hal_semaphore_release(done);
    hal_executable_release(increment);
    hal_buffer_release(buffer);
    test_folder_remove(&folder);
}

/* It took as long as the device says, while somebody waited for it. */
static void assert_lasting(const struct times *times, double tick_ns)
{
    const double lasted_ns = (double)(times->ticks[1] - times->ticks[0]) * tick_ns;
    assert_true(lasted_ns > 10 * SLACK_NS);
    assert_true(times->begin_ns >= times->submitted_ns);
    assert_true(times->end_ns <= times->waited_ns);
    assert_true(llabs(times->end_ns - times->begin_ns - (int64_t)lasted_ns) <= SLACK_NS);
}

/* What a tick lasts; the test is skipped, with the device closed, where it has none. */
static double tick_of(struct hal_device *device)
{
    int64_t tick_ns;
    if (hal_device_query(device, "clock.resolution.ns", &tick_ns) != HAL_OK || tick_ns != 1) {
        hal_device_release(device);
        skip(); /* the device's own may be a fraction */
    }
    return (double)tick_ns;
}

static struct hal_device *open_ahead(double *out_tick_ns)
{
    shim->facts.ticks_ahead = ahead;
    shim->can_calibrate = false;
    shim->least_deviation_ns = UINT64_MAX;
    atomic_store(&shim->calibrations, 0);
    atomic_store(&shim->reads, 0);
    struct hal_device *device = open_device("vulkan");
    *out_tick_ns = tick_of(device);
    return device;
}

/* By the calibration that was the best. */
static void calibrated(unsigned tries)
{
    struct times times;
    double tick_ns;
    struct hal_device *device = open_ahead(&tick_ns);
    run(device, &times);
    hal_device_release(device);
    if (!shim->can_calibrate)
        skip();
    assert_true(shim->calibrations >= tries);
    assert_lasting(&times, tick_ns);
    const double since_ns = (double)(int64_t)(times.ticks[1] - shim->calibrated_ticks) * tick_ns;
    assert_true(llabs(times.end_ns - shim->calibrated_ns - (int64_t)since_ns) <= SLACK_NS);
}

TEST_WITH(by_calibration, NULL, forget)
{
    calibrated(1);
}

/* Two clocks that were not read at once say so: they are read again. */
TEST_WITH(by_the_best_calibration, NULL, forget)
{
    shim->facts.calibrates_poorly = true;
    calibrated(4);
}

/* Work is seen to have ended some time later: the first may be seen much later than the second,
 * which then tells of a clock that is further back. */
TEST_WITH(by_measuring, NULL, forget)
{
    struct times times;
    double tick_ns;
    shim->facts.hidden_extension = "VK_EXT_calibrated_timestamps";
    shim->facts.late_ticks = LATE_NS;
    struct hal_device *device = open_ahead(&tick_ns);
    for (int i = 0; i < 2; i++) {
        run(device, &times);
        assert_lasting(&times, tick_ns);
    }
    hal_device_release(device);
    assert_int_equal(shim->calibrations, 0);
}

/* ---- Times of dispatches -------------------------------------------------------------------- */

static void record_timed(struct hal_device *device, struct hal_executable *increment,
                         struct hal_buffer *x, struct hal_buffer *counts,
                         struct hal_command_buffer **out_commands)
{
    const struct hal_binding binding = {x, 0, HAL_WHOLE_BUFFER};
    *out_commands = list_of(device, "timed", HAL_REUSABLE);
    dispatch(*out_commands, increment, x);
    ok(hal_command_barrier(*out_commands, NULL));
    ok(hal_command_push_descriptor_set(*out_commands, 0, &binding, 1));
    ok(hal_command_dispatch(*out_commands, increment, 0, (const uint32_t[3]){0, 1, 1}));
    ok(hal_command_dispatch_indirect(*out_commands, increment, 0, counts, 0));
    ok(hal_command_buffer_end(*out_commands));
}

/* Two lists at once, several submissions in flight: each dispatch once, inside its submission's
 * time, and none beside another. The one without workgroups has no time. */
static void check_times(const char *path, size_t submissions)
{
    struct captured captured;
    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_DISPATCH_TIMES), submissions);
    for (size_t n = 0; n < submissions; n++) {
        const struct trace_dispatch_times *times =
            captured_find(&captured, TRACE_DISPATCH_TIMES, n);
        assert_true(times->flags & TRACE_TIMES_ISOLATED);
        assert_int_equal(times->time_count, 4);
        int64_t last_ns = 0;
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(times->times[i].command_buffer, i / 2);
            assert_int_equal(times->times[i].dispatch, i % 2 * 2);
            assert_true(times->times[i].begin_ns >= last_ns);
            assert_true(times->times[i].end_ns >= times->times[i].begin_ns);
            last_ns = times->times[i].end_ns;
        }
    }
    captured_close(&captured);
}

TEST(dispatches_are_timed)
{
    enum { SUBMISSIONS = 5 };
    struct test_folder folder;
    char path[PATH_MAX + 16];
    struct hal_device *device = open_device("vulkan");
    struct hal_executable *increment = increment_of(device);
    struct hal_buffer *x = buffer_of(device, "x"), *counts = buffer_of(device, "counts");
    struct hal_command_buffer *commands[2];
    struct hal_semaphore *done;
    assert_true(test_folder_make(&folder));
    snprintf(path, sizeof path, "%s/timed.pb.zst", folder.path);
    ok(hal_semaphore_create(device, "done", 0, &done));
    ok(hal_buffer_write(x, 0, (const uint32_t[N_WORDS]){0}, N_BYTES));
    ok(hal_buffer_write(counts, 0, (const uint32_t[3]){N_WORDS / 64, 1, 1}, 12));
    const struct hal_profiling_options options = {.file = path, .mode = "dispatch"};
    ok(hal_device_profiling_begin(device, &options, TIMEOUT_NS));
    for (int i = 0; i < 2; i++)
        record_timed(device, increment, x, counts, &commands[i]);
    for (uint64_t i = 1; i <= SUBMISSIONS; i++) {
        const struct hal_semaphore_value wait = {done, i - 1}, signal = {done, i};
        ok(hal_queue_submit(device, &(struct hal_submit_desc){.waits = &wait,
                                                              .wait_count = 1,
                                                              .signals = &signal,
                                                              .signal_count = 1,
                                                              .commands = commands,
                                                              .command_count = 2}));
    }
    ok(hal_semaphore_wait(done, SUBMISSIONS, TIMEOUT_NS));
    ok(hal_device_profiling_end(device));
    holds(x, 4 * SUBMISSIONS);
    check_times(path, SUBMISSIONS);
    for (int i = 0; i < 2; i++)
        hal_command_buffer_release(commands[i]);
    hal_semaphore_release(done);
    hal_buffer_release(x);
    hal_buffer_release(counts);
    hal_executable_release(increment);
    hal_device_release(device);
    test_folder_remove(&folder);
}

/* Each dispatch that is timed begins when everything before it has ended. */
TEST(timed_dispatches_stand_apart)
{
    struct test_folder folder;
    char path[PATH_MAX + 16];
    struct hal_device *device = open_device("vulkan");
    struct hal_executable *increment = increment_of(device);
    struct hal_buffer *x = buffer_of(device, "x"), *y = buffer_of(device, "y");
    struct hal_command_buffer *commands = list_of(device, "two", HAL_REUSABLE);
    struct hal_semaphore *done;
    dispatch(commands, increment, x);
    dispatch(commands, increment, y);
    ok(hal_command_buffer_end(commands));
    ok(hal_semaphore_create(device, "done", 0, &done));
    ok(submit(device, &commands, 1, done, 1)); /* what surrounds submissions is there now */
    assert_true(test_folder_make(&folder));
    snprintf(path, sizeof path, "%s/apart.pb.zst", folder.path);
    const struct hal_profiling_options options = {.file = path, .mode = "dispatch"};
    ok(hal_device_profiling_begin(device, &options, TIMEOUT_NS));
    atomic_store(&shim->barriers, 0);
    ok(submit(device, &commands, 1, done, 2));
    ok(hal_semaphore_wait(done, 2, TIMEOUT_NS));
    assert_int_equal(shim->barriers, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(shim->list[i].source_stages, ALL_COMMANDS);
        assert_int_equal(shim->list[i].target_stages, ALL_COMMANDS);
    }
    ok(hal_device_profiling_end(device));
    hal_semaphore_release(done);
    hal_command_buffer_release(commands);
    hal_buffer_release(x);
    hal_buffer_release(y);
    hal_executable_release(increment);
    hal_device_release(device);
    test_folder_remove(&folder);
}

static int load(void **state)
{
    (void)state;
    return vulkan_fixture_load();
}

TEST_SUITE_FIXTURE(load, NULL);
