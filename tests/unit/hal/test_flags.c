/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/flags.c and hal/drivers/drivers.c: flags leave the command line, beat the environment,
 * and name the device; URIs are strict. */
#include "tests/support/hal_fixture.h"

enum { MOST = 12 };

/* A command line in writable memory, as main gets it. */
struct line {
    int argc;
    char *argv[MOST + 1];
    char text[256];
};

static struct line *line_of(const char *text)
{
    static struct line line;
    memset(&line, 0, sizeof line);
    snprintf(line.text, sizeof line.text, "%s", text);
    for (char *word = strtok(line.text, " "); word; word = strtok(NULL, " "))
        line.argv[line.argc++] = word;
    return &line;
}

static void assert_line(const struct line *line, const char *wanted)
{
    char joined[256] = "";
    for (int i = 0; i < line->argc; i++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", i ? " " : "",
                 line->argv[i]);
    assert_string_equal(joined, wanted);
    assert_null(line->argv[line->argc]);
}

static void assert_opened(const char *uri, const char *wanted)
{
    struct hal_device *device = fixture_device(uri);
    assert_string_equal(hal_device_get_info(device)->uri, wanted);
    hal_device_release(device);
}

TEST(the_environment_names_the_device)
{
    struct hal_device *device;
    setenv("HAL_DEVICE", "cpu?threads=3", 1);
    assert_opened(NULL, "cpu?threads=3&queues=1");
    setenv("HAL_DEVICE", "", 1);
    device = fixture_device(NULL);
    assert_int_equal(hal_device_get_info(device)->worker_count, hal_processor_count());
    hal_device_release(device);
    setenv("HAL_DEVICE_PROFILING_MODE", "vibes", 1);
    assert_fails(hal_device_open("cpu", &device), HAL_INVALID,
                 "HAL_DEVICE_PROFILING_MODE must be queue or dispatch, not 'vibes'");
    unsetenv("HAL_DEVICE_PROFILING_MODE");
}

TEST(our_flags_leave_the_command_line)
{
    setenv("HAL_DEVICE", "cpu?threads=3", 1);
    struct line *line =
        line_of("p a --device cpu?threads=2 --other=1 --device_profiling_stacks=none"
                " b --device_x=1 -- --device=cpu c");
    assert_ok(hal_flags_parse(&line->argc, line->argv));
    assert_line(line, "p a --other=1 b --device_x=1 -- --device=cpu c");
    assert_opened(NULL, "cpu?threads=2&queues=1");
    assert_opened("cpu?queues=64&threads=1", "cpu?threads=1&queues=64");
    line = line_of("p");
    assert_ok(hal_flags_parse(&line->argc, line->argv));
    assert_line(line, "p");
    assert_opened(NULL, "cpu?threads=2&queues=1");
    line = line_of("p --device=cpu?threads=1");
    assert_ok(hal_flags_parse(&line->argc, line->argv));
    assert_line(line, "p");
    assert_opened(NULL, "cpu?threads=1&queues=1");
}

TEST(wrong_values_change_nothing)
{
    static const char *const lines[][2] = {
        {"p --device=cpu?threads=9 --device_profiling_mode=x y",
         "--device_profiling_mode must be queue or dispatch, not 'x'"},
        {"p --device=cpu?threads=9 --device", "--device needs a value"},
        {"p --device= y", "--device needs a value, not ''"},
        {"p --device_profiling_force=maybe y", "must be true or false, not 'maybe'"},
        {"p --check-bounds=perhaps", "--check-bounds must be true or false, not 'perhaps'"},
        {"p --device_profiling_stacks all", "must be none, submission or command, not 'all'"},
        {"p --device_profiling_contents=some", "must be all, digest or none, not 'some'"},
        {"p --device_profiling_outputs=some", "must be contents, digest, none or all, not 'some'"},
        {"p --device_profiling_files=x", "must be ranges, reference, all or fail, not 'x'"},
        {"p --device_profiling_budget=0", "must be a positive number of bytes"},
        {"p --device_profiling_budget=17000000T", "must be a positive number of bytes"},
        {"p --device_profiling_budget=1Mi", "must be a positive number of bytes"},
        {"p --device_profiling_wait=5ms",
         "must be forever or a time from 10ms to 24h, such as 60s"},
        {"p --device_profiling_wait=never", "--device_profiling_wait must be forever or"},
        {"p --device_profiling_quiet=maybe", "--device_profiling_quiet must be true or false"},
        {"p --device_profiling_output=", "--device_profiling_output needs a value"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct line *line = line_of(lines[i][0]);
        assert_fails(hal_flags_parse(&line->argc, line->argv), HAL_INVALID, lines[i][1]);
        assert_line(line, lines[i][0]);
    }
    assert_opened(NULL, "cpu?threads=1&queues=1");
}

/* For programs that have other names for them. */
TEST(values_are_checked_under_the_name_that_was_written)
{
    assert_ok(hal_flags_check("device_profiling_budget", "64M", "--budget"));
    assert_ok(hal_flags_check("device_profiling_wait", "forever", "--wait"));
    assert_ok(hal_flags_check("device_profiling_wait", "500ms", "--wait"));
    assert_ok(hal_flags_check("device", "cpu?threads=7", "-d"));
    assert_fails(hal_flags_check("device_profiling_budget", "-5", "--budget"), HAL_INVALID,
                 "--budget must be a positive number of bytes, optionally with K, M, G or T (64M), "
                 "not '-5'");
    assert_fails(hal_flags_check("device_profiling_mode", "bogus", "-m"), HAL_INVALID,
                 "-m must be queue or dispatch, not 'bogus'");
    assert_fails(hal_flags_check("device_profiling_mood", "x", "--mood"), HAL_NOT_FOUND,
                 "--mood: there is no flag '--device_profiling_mood'");
    assert_fails(hal_flags_check("device", NULL, "-d"), HAL_INVALID, "value");
    assert_opened(NULL, "cpu?threads=1&queues=1");
}

TEST(caching_is_said_by_variable_or_uri)
{
    struct hal_device *device;
    setenv("HAL_CACHING", "2M", 1);
    assert_opened("cpu?threads=1", "cpu?threads=1&queues=1&caching=2097152");
    assert_opened("cpu?caching=off&threads=1", "cpu?threads=1&queues=1");
    assert_opened("cpu?caching=1K&threads=1", "cpu?threads=1&queues=1&caching=1024");
    setenv("HAL_CACHING", "much", 1);
    assert_fails(hal_device_open("cpu?caching=off", &device), HAL_INVALID,
                 "HAL_CACHING must be off or a number of bytes, such as 64M, not 'much'");
    setenv("HAL_CACHING", "off", 1);
    assert_opened("cpu?threads=1", "cpu?threads=1&queues=1");
    unsetenv("HAL_CACHING");
}

TEST(uris_are_strict)
{
    struct hal_device *device;
    assert_fails(hal_device_open("quantum", &device), HAL_NOT_FOUND,
                 "device 'quantum': there is no driver 'quantum' (there are: cpu, ");
    assert_fails(hal_device_open("", &device), HAL_NOT_FOUND, "no driver ''");
    assert_fails(hal_device_open("cpu://1", &device), HAL_NOT_FOUND, "no path");
    assert_fails(hal_device_open("cpu?", &device), HAL_INVALID, "name=value");
    assert_fails(hal_device_open("cpu?threads", &device), HAL_INVALID, "'threads'");
    assert_fails(hal_device_open("cpu?threads=", &device), HAL_INVALID, "'threads='");
    assert_fails(hal_device_open("cpu?=4", &device), HAL_INVALID, "'=4'");
    assert_fails(hal_device_open("cpu?cores=4", &device), HAL_INVALID,
                 "unknown parameter 'cores' (known: threads, queues, math, fail, caching)");
    assert_fails(hal_device_open("cpu?threads=1&threads=2", &device), HAL_INVALID, "twice");
    static const char *const counts[] = {"0", "-1", "+1", "1x", "1025", "99999999999999999999"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char uri[64];
        snprintf(uri, sizeof uri, "cpu?threads=%s", counts[i]);
        assert_fails(hal_device_open(uri, &device), HAL_INVALID, "is not in 1 to 1024");
    }
    assert_fails(hal_device_open("cpu?queues=65", &device), HAL_INVALID, "queues=65");
}

TEST(help_names_every_flag)
{
    static const char *const names[] = {"--device=",
                                        "--device_profiling_mode=",
                                        "--device_profiling_file=",
                                        "--device_profiling_force",
                                        "--device_profiling_stacks=",
                                        "--device_profiling_wait=",
                                        "--device_profiling_quiet",
                                        "--check-bounds"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_non_null(strstr(hal_flags_help(), names[i]));
}

static bool append_name(void *user, const struct hal_driver_info *driver)
{
    char *names = user;
    if (*names)
        strcat(names, ", ");
    strcat(names, driver->name);
    return true;
}

/* The same names as one by one; cut where the room ends, with the length of all of it. */
TEST(drivers_are_described)
{
    char wanted[256] = "", text[256];
    hal_drivers_list(append_name, wanted);
    assert_int_equal(hal_drivers_describe(text, sizeof text), strlen(wanted));
    assert_string_equal(text, wanted);
    for (size_t bytes = 1; bytes <= strlen(wanted); bytes++) {
        memset(text, 'x', sizeof text);
        assert_int_equal(hal_drivers_describe(text, bytes), strlen(wanted));
        assert_int_equal(strlen(text), bytes - 1);
        assert_memory_equal(text, wanted, bytes - 1);
        assert_int_equal(text[bytes], 'x');
    }
    assert_int_equal(hal_drivers_describe(NULL, 0), strlen(wanted));
}

/* The message has the flags' names, or the variables', as they were given. The last case: it
 * leaves a window behind. */
TEST(windows_are_named_as_they_were_written)
{
    struct hal_device *device;
    setenv("HAL_DEVICE_PROFILING_GROUP", "layer", 1);
    struct line *line = line_of("p --device_profiling_window=#s1");
    assert_ok(hal_flags_parse(&line->argc, line->argv));
    assert_fails(hal_device_open("cpu", &device), HAL_INVALID,
                 "a capture has one window: '#s1' (--device_profiling_window) or 'layer' "
                 "(HAL_DEVICE_PROFILING_GROUP)");
    unsetenv("HAL_DEVICE_PROFILING_GROUP");
}
