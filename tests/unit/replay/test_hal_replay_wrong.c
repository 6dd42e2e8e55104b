/* SPDX-License-Identifier: Apache-2.0 */
/* The errors that hal-replay prints: traces, devices, and how it is used. */
#include "tests/support/test.h"
#include "tests/unit/replay/hal_replay_fixture.h"

TEST_ON(unreadable_traces_are_named, struct fixture *fixture)
{
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

TEST_ON(impossible_devices_are_named, struct fixture *fixture)
{
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
    fixture_expect(fixture, fixture->err, "the recorded device (--device selects another): ");
    assert_int_equal(setenv("HAL_DEVICE", "cpu", 1), 0);
    assert_exit(replay(fixture, "--quiet"), 0);
    assert_int_equal(unsetenv("HAL_DEVICE"), 0);
    assert_exit(replay(fixture, "--memory-limit=100"), 4);
    fixture_expect(fixture, fixture->err, "memory limit of 100 bytes");
}

/* With a system's Vulkan or without: there is no driver, and only in the sandbox may that be its
 * doing.
 */
TEST_ON(a_gpu_that_walls_hide_is_told, struct fixture *fixture)
{
    static const char hint[] = "(a GPU cannot be reached without --trusted)";
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
TEST_ON(devices_are_what_the_events_need, struct fixture *fixture)
{
    struct trace_header header = builder_default_header();
    header.device.queue_count = 1;
    fixture_start(fixture);
    fixture_finish(fixture);
    builder_open(&fixture->b, fixture->path, &header);
    const struct trace_semaphore_value done = {30, 1};
    builder_semaphore_create(&fixture->b, 30, NULL, 0);
    builder_submit(&fixture->b, 0, 1, NO_VALUES, VALUES(done), NO_IDS);
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
TEST_ON(traces_are_judged_before_devices, struct fixture *fixture)
{
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

TEST_ON(wrong_usage_is_explained, struct fixture *fixture)
{
    char *const wrong[][2] = {
        {"--repeat=0", "1 to 1000000"},
        {"--repeat=-1", "1 to 1000000"},
        {"--repeat=two", "--repeat=two"},
        {"--timeout=never", "--timeout=never"},
        {"--timeout=0", "1ms"},
        {"--fill=256", "0 to 255"},
        {"--memory-limit=1X", "512M"},
        {"--memory-limit=0", "512M"},
        {"--memory-limit=99999999999999T", "512M"},
        {"--what-if=", "expected coalesce-submissions"},
        {"--what-if=drop-host-waits,", "expected coalesce-submissions"},
        {"--what-if=,drop-host-waits", "expected coalesce-submissions"},
        {"--what-if=queues=65", "(1 to 64)"},
        {"--what-if=queues=2,queues=3", "'queues=3' repeats a change with another"},
        {"--what-if=drop-barriers,drop-barriers=all", "'drop-barriers=all' repeats a change"},
        {"--what-if=drop-barriers=5,drop-barriers=6", "'drop-barriers=6' repeats a change"},
        {"--dump=a@#sx=f", "--dump=a@#sx=f: '#sx' is not a locator: #s12 is submission 12"},
        {"--dump=a@b@c=f", "--dump=a@b@c=f: 'c' is not a locator: "},
        {"--dump=a@1", "--dump=a@1: not BUFFER@PLACE=FILE"},
        {"--dump=@1=f", "--dump=@1=f: not BUFFER@PLACE=FILE"},
        {"--dump=a@1=", "--dump=a@1=: not BUFFER@PLACE=FILE"},
        {"--runs=6", "--runs needs --what-if or --compare"},
        {"--threshold=0", "--threshold needs --compare"},
        {"--no-such-option", "no-such-option"},
        {"other.pb.zst", "one trace"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (replay(fixture, wrong[i][0]) != 2)
            fail_msg("%s was taken", wrong[i][0]);
        fixture_expect_one_line(fixture);
        fixture_expect(fixture, fixture->err, wrong[i][1]);
    }
    assert_exit(replay(fixture, "--what-if=queues=2", "--what-if=queues=3"), 2);
    fixture_expect(fixture, fixture->err, "--what-if=queues=3: 'queues=3' repeats a change");
    assert_exit(replay(fixture, "--what-if=queues=2", "--threshold=5"), 2);
    fixture_expect_one_line(fixture);
    fixture_expect(fixture, fixture->err, "--threshold needs --compare");
    assert_exit(replay(fixture, "--runs=20", "--repeat=2"), 2);
    fixture_expect(fixture, fixture->err, "--runs needs --what-if or --compare");
    assert_exit(fixture_run(fixture, fixture->program, (char *[]){"hal-replay", NULL}), 2);
    fixture_expect_one_line(fixture);
    /* An option that takes the trace for its value. */
    assert_exit(fixture_run(fixture, fixture->program,
                            (char *[]){"hal-replay", "--verify", fixture->path, NULL}),
                2);
    fixture_expect_one_line(fixture);
    fixture_expect(fixture, fixture->err, "is verified by default");
    assert_exit(replay(fixture, "--help"), 0);
    fixture_expect(fixture, fixture->out, "usage: hal-replay");
    assert_exit(replay(fixture, "--version"), 0);
    fixture_expect(fixture, fixture->out, "hal-replay 0.");
}

/* The host writes 'staging', and 'weights' gets them by a copy; 'other' is there for nothing. */
static void trace_of_weights(struct fixture *fixture, const char *weights)
{
    struct trace_builder *b = fixture_start(fixture);
    const struct trace_semaphore_value one = {4, 1};
    builder_buffer_create(b, 7, "staging", 4);
    builder_buffer_create(b, 9, weights, 4);
    builder_buffer_create(b, 8, "other", 4);
    builder_semaphore_create(b, 4, NULL, 0);
    builder_host_write(b, 7, 0, "abcd", 4);
    builder_command_buffer_create(b, 5, NULL, 0);
    builder_copy(b, 7, 0, 9, 0, 4);
    builder_end_commands(b, 5);
    builder_submit(b, 0, 0, NO_VALUES, VALUES(one), IDS(5));
    builder_semaphore_wait(b, 0, &one, 1, INT64_MAX);
    builder_host_read(b, 9, 0, "abcd", 4);
    fixture_finish(fixture);
}

/* What fits nothing would change nothing, and the replay would be the same for that. */
TEST_ON(names_of_buffers_are_those_of_the_trace, struct fixture *fixture)
{
    static const struct {
        const char *option;
        int status;
        const char *why; /* "": none */
    } names[] = {
        {"--substitute-buffer=nosuch=same", 4,
         "--substitute-buffer: the trace has no buffer 'nosuch'"},
        {"--substitute-buffer=#5=same", 4, "--substitute-buffer: the trace has no buffer '#5'"},
        {"--substitute-buffer=weights=same", 4,
         "--substitute-buffer: the host never writes into buffer 'weights', so nothing would be "
         "replaced; it is filled by copies from buffer 'staging'"},
        {"--substitute-buffer=#9=same", 4, "'#9', so nothing would be replaced; it is filled by"},
        {"--substitute-buffer=other=same", 4, "buffer 'other', so nothing would be replaced\n"},
        {"--substitute-buffer=staging=same", 0, ""},
        {"--substitute-buffer=#7=same", 0, ""},
        {"--substitute-buffer=*t*=same", 0, ""}, /* one of them is written */
        {"--substitute-buffer=staging=else", 1, ""},
        {"--type=nosuch:f32", 4, "--type: the trace has no buffer 'nosuch'"},
        {"--type=n*:f32", 4, "--type: the trace has no buffer 'n*'"},
        {"--type=weights:f32", 0, ""},
        {"--type=#8:f32", 0, ""},
        {"--type=f32", 0, ""},
    };
    fixture_write(fixture, "same", "abcd");
    fixture_write(fixture, "else", "abxd");
    trace_of_weights(fixture, "weights");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char option[64];
        snprintf(option, sizeof option, "%s", names[i].option);
        assert_exit(replay(fixture, "--device=cpu", option), names[i].status);
        fixture_expect(fixture, fixture->err, names[i].why);
        if (names[i].why[0])
            fixture_expect_one_line(fixture);
    }
}

/* Of two traces, one has to have it. */
TEST_ON(names_of_buffers_may_be_those_of_the_other_trace, struct fixture *fixture)
{
    char first[PATH_MAX];
    fixture_write(fixture, "same", "abcd");
    trace_of_weights(fixture, "renamed");
    test_folder_file(&fixture->folder, "first.pb.zst", first);
    assert_int_equal(rename(fixture->path, first), 0);
    trace_of_weights(fixture, "weights");
    assert_exit(replay(fixture, "--device=cpu", "--compare=first.pb.zst", "--runs=6",
                       "--threshold=1000", "--type=renamed:f32", "--type=weights:f32",
                       "--substitute-buffer=staging=same"),
                0);
    assert_exit(replay(fixture, "--compare=first.pb.zst", "--type=nosuch:f32"), 4);
    fixture_expect(fixture, fixture->err, "--type: the traces have no buffer 'nosuch'");
    assert_exit(replay(fixture, "--compare=first.pb.zst", "--substitute-buffer=renamed=same"), 4);
    fixture_expect(fixture, fixture->err, "never writes into buffer 'renamed'");
}

/* Two buffers 'twin' that the host writes, and two kernels 'k' of different sources; of 'again',
 * one comes after the other. */
TEST_ON(one_name_for_several_is_refused, struct fixture *fixture)
{
    static const char *const wrong[][2] = {
        {"--substitute-buffer=twin=same", "--substitute-buffer: 'twin' is one of 2: name it by its "
                                          "number: #20 'twin' (4 bytes), #21 "
                                          "'twin' (4 bytes)"},
        {"--substitute=k=same", "--substitute: 'k' is one of 2: name it by its number: #30, #31"},
        {"--dump=twin@#s0=x",
         "--dump: 'twin' at #s0 is one of 2: name it by its number: #20 'twin' "
         "(4 bytes, bound there), #21 'twin' (4 bytes, not bound)"},
    };
    struct trace_builder *b = fixture_start(fixture);
    const struct trace_semaphore_value one = {4, 1};
    const struct trace_entry_point point = {.name = builder_string(b, "k"),
                                            .group_size = {1, 1, 1}};
    for (uint64_t i = 0; i < 2; i++) {
        builder_buffer_create(b, 20 + i, "twin", 4);
        builder_host_write(b, 20 + i, 0, "abcd", 4);
        builder_buffer_create(b, 22 + i, "again", 4);
        builder_host_write(b, 22 + i, 0, "abcd", 4);
        builder_destroy(b, TRACE_BUFFER_DESTROY, 22 + i);
        builder_executable_create(b, 30 + i, NULL, i ? "other" : "one", &point, 1);
        builder_destroy(b, TRACE_EXECUTABLE_DESTROY, 30 + i);
    }
    builder_semaphore_create(b, 4, NULL, 0);
    builder_command_buffer_create(b, 5, NULL, 0);
    builder_fill(b, 20, 0, 4, 'a', 1);
    builder_end_commands(b, 5);
    builder_submit(b, 0, 0, NO_VALUES, VALUES(one), IDS(5));
    builder_semaphore_wait(b, 0, &one, 1, INT64_MAX);
    builder_host_read(b, 20, 0, "aaaa", 4);
    fixture_finish(fixture);
    fixture_write(fixture, "same", "abcd");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char option[64];
        snprintf(option, sizeof option, "%s", wrong[i][0]);
        assert_exit(replay(fixture, "--device=cpu", option), 4);
        fixture_expect_one_line(fixture);
        fixture_expect(fixture, fixture->err, wrong[i][1]);
    }
    /* That is taken: what is refused then is the kernel, which no compiler understands. */
    (void)replay(fixture, "--device=cpu", "--substitute-buffer=again=same");
    fixture_expect(fixture, fixture->err, "executable 30");
}

TEST_SUITE_FIXTURE(fixture_set_up, fixture_tear_down);
