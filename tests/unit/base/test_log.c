/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/log.c: levels, the sink, and what HAL_LOG may say. The level is read from the
 * environment once per process, so every case runs in a child. */
#include "hal/base/log.h"
#include "tests/support/test.h"

#include <sys/wait.h>
#include <unistd.h>

/* Logs one line at each level with HAL_LOG=`wanted`, and gives what arrived on standard error. */
static void logged(const char *wanted, char *out, size_t bytes)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        if (wanted)
            setenv("HAL_LOG", wanted, 1);
        else
            unsetenv("HAL_LOG");
        for (int level = HAL_LOG_ERROR; level <= HAL_LOG_DEBUG; level++)
            hal_log((enum hal_log_level)level, "line %d", level);
        fflush(NULL);
        _exit(0);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], out + length, bytes - 1 - length)) > 0;)
        length += (size_t)got;
    out[length] = '\0';
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define ERRORS   "haltrace: error: line 0\n"
#define WARNINGS ERRORS "haltrace: warn: line 1\n"

TEST(a_level_includes_the_graver_ones)
{
    char text[1024];
    logged("error", text, sizeof text);
    assert_string_equal(text, ERRORS);
    logged("warn", text, sizeof text);
    assert_string_equal(text, WARNINGS);
    logged("debug", text, sizeof text);
    assert_string_equal(text, WARNINGS "haltrace: info: line 2\nhaltrace: debug: line 3\n");
}

TEST(unset_and_empty_mean_warnings)
{
    char text[1024];
    logged(NULL, text, sizeof text);
    assert_string_equal(text, WARNINGS);
    logged("", text, sizeof text);
    assert_string_equal(text, WARNINGS);
}

TEST(an_unknown_level_is_told_with_the_choices)
{
    char text[1024];
    logged("loud", text, sizeof text);
    assert_string_equal(text, "haltrace: warn: HAL_LOG='loud' is not one of error, warn, info, "
                              "debug: using warn\n" WARNINGS);
}
