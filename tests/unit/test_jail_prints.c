/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed inside a jail comes out in its order, and reports when what they tell of is there
 * or not at all. */
#include "replay/jail.h"
#include "tests/support/folder.h"
#include "tests/support/redirect.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { TURNS = 200 };

struct fixture {
    struct test_folder folder;
    char trace[PATH_MAX], result[PATH_MAX];
    bool crashes;
};

/* ---- Inside -------------------------------------------------------------------------------- */

static int take_turns(void *user, struct replay_jail_note *note)
{
    (void)user;
    for (int i = 0; i < TURNS; i++) {
        fprintf(i % 2 ? stderr : stdout, "%d\n", i);
        replay_jail_settle(note);
    }
    return 0;
}

static int report_and_go_on(void *user, struct replay_jail_note *note)
{
    const struct fixture *fixture = user;
    printf("before\n");
    replay_jail_begin_report(note);
    printf("report\n");
    fflush(stdout);
    FILE *file = fopen(note->outputs[0], "w");
    if (!file || fputs("result", file) < 0 || fclose(file) != 0)
        return 1;
    if (fixture->crashes)
        raise(SIGKILL);
    return 0;
}

/* ---- Outside ------------------------------------------------------------------------------- */

/* Whoever reads both in one place has all in the order in which it was printed. */
static void what_is_settled_comes_in_order(void **state)
{
    struct fixture *fixture = *state;
    char path[PATH_MAX], line[16], expected[16];
    const int writing = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
    fflush(NULL);
    test_folder_file(&fixture->folder, "both", path);
    const int out = redirect(path, writing, STDOUT_FILENO);
    const int err = redirect(path, writing & ~O_TRUNC, STDERR_FILENO);
    const struct replay_jail jail = {.trace = fixture->trace,
                                     .time_ns = INT64_C(60000000000),
                                     .inside = take_turns,
                                     .user = fixture};
    int exit_status = -1;
    const enum hal_status status = replay_jail_run(&jail, &exit_status);
    put_back(out, STDOUT_FILENO);
    put_back(err, STDERR_FILENO);
    assert_int_equal(status, HAL_OK);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (int i = 0; i < TURNS; i++) {
        snprintf(expected, sizeof expected, "%d\n", i);
        assert_non_null(fgets(line, sizeof line, file));
        assert_string_equal(line, expected);
    }
    fclose(file);
}

static void expect_printed(struct fixture *fixture, bool whole, const char *result,
                           enum hal_status expected, const char *printed)
{
    char path[PATH_MAX], text[64] = "";
    fflush(NULL);
    const int out = redirect(test_folder_file(&fixture->folder, "printed", path),
                             O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    const struct replay_jail jail = {.trace = fixture->trace,
                                     .outputs = {result},
                                     .output_count = 1,
                                     .time_ns = INT64_C(60000000000),
                                     .whole = whole,
                                     .inside = report_and_go_on,
                                     .user = fixture};
    int exit_status = -1;
    const enum hal_status status = replay_jail_run(&jail, &exit_status);
    put_back(out, STDOUT_FILENO);
    assert_int_equal(status, expected);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(text, printed);
}

/* One that tells of results comes when these have come out. */
static void a_report_is_whole_or_not_there(void **state)
{
    struct fixture *fixture = *state;
    char missing[PATH_MAX];
    test_folder_file(&fixture->folder, "missing/result", missing);
    expect_printed(fixture, true, fixture->result, HAL_OK, "before\nreport\n");
    expect_printed(fixture, true, fixture->folder.path, HAL_IO, "before\n");
    expect_printed(fixture, true, missing, HAL_IO, ""); /* it is known before anything runs */
    expect_printed(fixture, false, fixture->folder.path, HAL_IO, "before\nreport\n");
    fixture->crashes = true;
    expect_printed(fixture, true, fixture->result, HAL_FAILED, "before\n");
    expect_printed(fixture, false, fixture->result, HAL_FAILED, "before\nreport\n");
    fixture->crashes = false;
}

static int set_up(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    if (!test_folder_make(&fixture.folder))
        return -1;
    const int trace =
        open(test_folder_file(&fixture.folder, "trace", fixture.trace), O_WRONLY | O_CREAT, 0600);
    test_folder_file(&fixture.folder, "result", fixture.result);
    return trace >= 0 ? close(trace) : -1;
}

static int tear_down(void **state)
{
    test_folder_remove(&((struct fixture *)*state)->folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_settled_comes_in_order),
        cmocka_unit_test(a_report_is_whole_or_not_there),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
