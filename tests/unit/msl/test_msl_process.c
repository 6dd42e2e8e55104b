/* SPDX-License-Identifier: Apache-2.0 */
/* hal/compiler/msl/process.c: output, exit codes, limits, and that nothing of a killed program runs
 * on. */
#include "hal/compiler/msl/process.h"

#include "hal/base/os.h"
#include "tests/support/test.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

enum { SECOND_NS = 1000000000 };

struct outcome {
    enum hal_status status;
    int code;
    struct msl_text output, errors;
};

static struct outcome run(const char *script, const char *input, size_t limit, int64_t time_ns)
{
    struct outcome outcome = {.code = -1};
    const char *const arguments[] = {"/bin/sh", "-c", script, NULL};
    const struct msl_process process = {
        .arguments = arguments, .input = input, .output_limit = limit, .time_limit_ns = time_ns};
    outcome.status = msl_process_run(&process, &outcome.output, &outcome.errors, &outcome.code);
    return outcome;
}

static void finish(struct outcome *outcome)
{
    msl_text_finish(&outcome->output);
    msl_text_finish(&outcome->errors);
}

TEST(output_errors_and_code)
{
    struct outcome it = run("echo out; echo err >&2; exit 3", NULL, 100, 60l * SECOND_NS);
    assert_int_equal(it.status, HAL_OK);
    assert_int_equal(it.code, 3);
    assert_string_equal(it.output.bytes, "out\n");
    assert_string_equal(it.errors.bytes, "err\n");
    finish(&it);
    it = run("cat", "/proc/sys/kernel/ostype", 100, 60l * SECOND_NS);
    assert_string_equal(it.output.bytes, "Linux\n");
    finish(&it);
    it = run("cat", NULL, 100, 60l * SECOND_NS);
    assert_string_equal(it.output.bytes, "");
    finish(&it);
}

TEST(much_output_on_both)
{
    struct outcome it = run("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; exit 0",
                            NULL, 4000000, 60l * SECOND_NS);
    assert_int_equal(it.status, HAL_OK);
    assert_int_equal(it.output.length, 3000000);
    finish(&it);
    it = run("cat /dev/zero", NULL, 1000000, 60l * SECOND_NS);
    assert_int_equal(it.status, HAL_INVALID);
    assert_string_equal(hal_message(), "'/bin/sh' wrote more than the limit of 1000000 bytes");
    finish(&it);
}

/* A clean environment: what a user has set for compilers does not reach ours. */
TEST(environment_is_clean)
{
    setenv("CPATH", "/somewhere", 1);
    setenv("LD_PRELOAD_TEST", "x", 1);
    struct outcome it = run("echo \"$CPATH$LD_PRELOAD_TEST$LC_ALL\"; test -n \"$PATH\"", NULL, 1000,
                            60l * SECOND_NS);
    assert_int_equal(it.code, 0);
    assert_string_equal(it.output.bytes, "C\n");
    finish(&it);
    unsetenv("CPATH");
}

TEST(descriptors_are_not_inherited)
{
    const int open_one = dup(0);
    assert_true(open_one > 2);
    char script[64];
    snprintf(script, sizeof script, "test ! -e /proc/self/fd/%d", open_one);
    struct outcome it = run(script, NULL, 100, 60l * SECOND_NS);
    assert_int_equal(it.code, 0);
    finish(&it);
    close(open_one);
}

/* The group is killed, grandchildren included: their numbers stop existing. */
TEST(time_limit_kills_the_group)
{
    struct outcome it = run("sleep 1000 & echo $!; wait", NULL, 100, SECOND_NS / 20);
    assert_int_equal(it.status, HAL_TIMEOUT);
    assert_string_equal(hal_message(), "'/bin/sh' took longer than 50.000 ms and was stopped");
    const pid_t grandchild = (pid_t)strtol(it.output.bytes, NULL, 10);
    assert_true(grandchild > 1);
    const int64_t deadline_ns = hal_deadline_ns(60l * SECOND_NS);
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", grandchild);
    /* Whoever adopted it may leave it as a zombie. */
    for (;;) {
        FILE *const file = fopen(path, "r");
        if (!file)
            break;
        const bool gone = !fgets(line, sizeof line, file) || strstr(line, ") Z");
        fclose(file);
        if (gone)
            break;
        assert_true(hal_clock_ns() < deadline_ns);
        usleep(1000);
    }
    finish(&it);
}

/* It closes its outputs and stays. */
TEST(time_limit_without_output)
{
    struct outcome it = run("exec >&- 2>&-; sleep 1000", NULL, 100, SECOND_NS / 20);
    assert_int_equal(it.status, HAL_TIMEOUT);
    finish(&it);
}

/* Stopped, as if others had the processors, for longer than the limit. */
TEST(waiting_is_not_working)
{
    struct outcome it = run("me=$$; (until grep -q ') T' /proc/$me/stat; do :; done; sleep 1.1; "
                            "kill -CONT $me) & kill -STOP $$; echo on",
                            NULL, 100, SECOND_NS);
    assert_int_equal(it.status, HAL_OK);
    assert_string_equal(it.output.bytes, "on\n");
    finish(&it);
    it = run("while :; do :; done", NULL, 100, SECOND_NS / 10);
    assert_int_equal(it.status, HAL_TIMEOUT);
    finish(&it);
}

TEST(signals_and_missing_programs)
{
    struct outcome it = run("kill -9 $$", NULL, 100, 60l * SECOND_NS);
    assert_int_equal(it.status, HAL_FAILED);
    assert_string_equal(hal_message(), "'/bin/sh' was ended by signal 9");
    finish(&it);
    const char *const arguments[] = {"/nonexistent/program", NULL};
    const struct msl_process process = {
        .arguments = arguments, .output_limit = 1, .time_limit_ns = SECOND_NS};
    it.status = msl_process_run(&process, &it.output, &it.errors, &it.code);
    assert_int_equal(it.status, HAL_NOT_FOUND);
    assert_string_equal(hal_message(),
                        "cannot start '/nonexistent/program': No such file or directory");
    finish(&it);
}
