/* SPDX-License-Identifier: Apache-2.0 */
/* What the program hal-replay complains of: traces, devices, and how it is used. */
#include "tests/unit/hal_replay_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void unreadable_traces_are_named(void **state)
{
    struct fixture *fixture = *state;
    test_folder_file(&fixture->folder, "missing.pb.zst", fixture->path);
    assert_exit(replay(fixture, "--device=cpu"), 3);
    fixture_expect_one_line(fixture);
    fixture_expect(fixture, fixture->err, "missing.pb.zst");
    assert_exit(replay(fixture, "--json"), 3);
    fixture_expect_one_line(fixture);
    fixture_expect(fixture, fixture->out, "\"exit_code\":3,\"result\":\"error\"");
    struct trace_builder *b = fixture_start(fixture);
    builder_host_read(b, 77, 0, "x", 1);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=cpu"), 3);
    fixture_expect_one_line(fixture);
    fixture_expect(fixture, fixture->err,
                   "t.pb.zst': host_read (ticket 1): buffer 77 does not exist");
}

static void impossible_devices_are_named(void **state)
{
    struct fixture *fixture = *state;
    every_build(fixture_start(fixture), false);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=abacus"), 4);
    fixture_expect_one_line(fixture);
    fixture_expect(fixture, fixture->err, "abacus");
    struct trace_header header = builder_default_header();
    header.device.uri = "abacus?beads=10";
    builder_open(&fixture->b, fixture->path, &header);
    every_build(&fixture->b, false);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--quiet"), 4);
    fixture_expect(fixture, fixture->err, "the recorded device (--device chooses another): ");
    assert_int_equal(setenv("HAL_DEVICE", "cpu", 1), 0);
    assert_exit(replay(fixture, "--quiet"), 0);
    assert_int_equal(unsetenv("HAL_DEVICE"), 0);
    assert_exit(replay(fixture, "--memory-limit=100"), 4);
    fixture_expect(fixture, fixture->err, "memory limit of 100 bytes");
}

/* With a system's Vulkan or without: there is no driver, and only behind walls it may be for them.
 */
static void a_gpu_that_walls_hide_is_told(void **state)
{
    static const char hint[] = "(a GPU cannot be reached without --trusted)";
    struct fixture *fixture = *state;
    every_build(fixture_start(fixture), false);
    fixture_finish(fixture);
    assert_int_equal(setenv("VK_DRIVER_FILES", "/nowhere/icd.json", 1), 0);
    assert_int_equal(setenv("VK_ICD_FILENAMES", "/nowhere/icd.json", 1), 0);
    assert_exit(replay(fixture, "--device=vulkan"), 4);
    fixture_expect(fixture, fixture->err, hint);
    assert_exit(replay(fixture, "--device=vulkan", "--trusted"), 4);
    assert_null(strstr(fixture->err, hint));
    assert_exit(replay(fixture, "--device=abacus"), 4);
    assert_null(strstr(fixture->err, hint));
    assert_int_equal(unsetenv("VK_DRIVER_FILES") | unsetenv("VK_ICD_FILENAMES"), 0);
}

/* Devices are opened while the trace is loaded, by what its header says of them. */
static void devices_are_what_the_events_need(void **state)
{
    struct fixture *fixture = *state;
    struct trace_header header = builder_default_header();
    header.device.queue_count = 1;
    fixture_start(fixture);
    fixture_finish(fixture);
    builder_open(&fixture->b, fixture->path, &header);
    const struct trace_semaphore_value done = {30, 1};
    builder_semaphore_create(&fixture->b, 30, NULL, 0);
    builder_submit(&fixture->b, 0, 1, NULL, 0, &done, 1, NULL, 0);
    builder_submission_done(&fixture->b, 0, 1, 10, 11, 12);
    builder_semaphore_wait(&fixture->b, 0, &done, 1, INT64_MAX);
    builder_buffer_create(&fixture->b, 10, NULL, 16);
    builder_host_write(&fixture->b, 10, 0, "ab", 2);
    builder_host_read(&fixture->b, 10, 0, "ab", 2);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--device=cpu?threads=2"), 0);
    fixture_expect(fixture, fixture->out, "replayed on cpu?threads=2&queues=2");
    assert_exit(replay(fixture, "--device=cpu?queues=1"), 4);
    fixture_expect(fixture, fixture->err, "the trace uses 2 queues");
}

/* What is wrong with a trace is told before what is wrong with its device. */
static void traces_are_judged_before_devices(void **state)
{
    struct fixture *fixture = *state;
    struct trace_header header = builder_default_header();
    header.device.uri = "abacus?beads=10";
    fixture_start(fixture);
    fixture_finish(fixture);
    builder_open(&fixture->b, fixture->path, &header);
    builder_host_read(&fixture->b, 77, 0, "x", 1);
    fixture_finish(fixture);
    assert_exit(replay(fixture, "--quiet"), 3);
    fixture_expect_one_line(fixture);
    fixture_expect(fixture, fixture->err, "host_read (ticket 1): buffer 77 does not exist");
    assert_null(strstr(fixture->err, "abacus"));
}

static void wrong_usage_is_explained(void **state)
{
    struct fixture *fixture = *state;
    char *const wrong[][2] = {
        {"--repeat=0", "1 to 1000000"},
        {"--repeat=-1", "1 to 1000000"},
        {"--repeat=two", "--repeat=two"},
        {"--timeout=never", "--timeout=never"},
        {"--timeout=0", "0.001"},
        {"--fill=256", "0 to 255"},
        {"--memory-limit=1X", "512M"},
        {"--memory-limit=0", "512M"},
        {"--memory-limit=99999999999999T", "512M"},
        {"--no-such-option", "no-such-option"},
        {"other.pb.zst", "one trace"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (replay(fixture, wrong[i][0]) != 2)
            fail_msg("%s was taken", wrong[i][0]);
        fixture_expect_one_line(fixture);
        fixture_expect(fixture, fixture->err, wrong[i][1]);
    }
    assert_exit(fixture_run(fixture, fixture->program, (char *[]){"hal-replay", NULL}), 2);
    fixture_expect_one_line(fixture);
    /* An option that takes the trace for its value. */
    assert_exit(fixture_run(fixture, fixture->program,
                            (char *[]){"hal-replay", "--verify", fixture->path, NULL}),
                2);
    fixture_expect_one_line(fixture);
    fixture_expect(fixture, fixture->err, "is verified without any option");
    assert_exit(replay(fixture, "--help"), 0);
    fixture_expect(fixture, fixture->out, "usage: hal-replay");
    assert_exit(replay(fixture, "--version"), 0);
    fixture_expect(fixture, fixture->out, "hal-replay 0.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unreadable_traces_are_named),
        cmocka_unit_test(impossible_devices_are_named),
        cmocka_unit_test(a_gpu_that_walls_hide_is_told),
        cmocka_unit_test(devices_are_what_the_events_need),
        cmocka_unit_test(traces_are_judged_before_devices),
        cmocka_unit_test(wrong_usage_is_explained),
    };
    return cmocka_run_group_tests(tests, fixture_set_up, fixture_tear_down);
}
