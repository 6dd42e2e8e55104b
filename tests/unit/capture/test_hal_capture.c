/* SPDX-License-Identifier: Apache-2.0 */
/* capture/tool/main.c: hal-capture runs programs that know nothing of it. The programs' own results
 * and exit statuses come through. */
#include "tests/support/captured.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/mortal.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { TEXT_BYTES = 16384, MOST_ARGUMENTS = 16 };

static struct test_folder folder;

static int enter_folder(void **state)
{
    (void)state;
    if (!test_folder_make(&folder) || chdir(folder.path) != 0)
        return -1;
    setenv("HAL_DEVICE_PROFILING_SIDECAR", folder.path, 1); /* failed files leave theirs */
    return 0;
}

static int leave_folder(void **state)
{
    (void)state;
    if (chdir("/") != 0)
        return -1;
    test_folder_remove(&folder);
    return 0;
}

struct outcome {
    int status; /* exit status; -N: ended by signal N */
    char output[TEXT_BYTES], errors[TEXT_BYTES];
};

static void read_text(const char *name, char text[TEXT_BYTES])
{
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    const size_t bytes = fread(text, 1, TEXT_BYTES - 1, file);
    text[bytes] = '\0';
    fclose(file);
}

static void redirect(int descriptor, const char *name)
{
    const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || dup2(file, descriptor) < 0)
        _exit(99);
    close(file);
}

static pid_t start(const char *const *arguments)
{
    const pid_t process = test_fork();
    if (process == 0) {
        redirect(STDOUT_FILENO, "stdout");
        redirect(STDERR_FILENO, "stderr");
        execv(HAL_CAPTURE, (char *const *)arguments);
        _exit(98);
    }
    return process;
}

static void finish(pid_t process, struct outcome *outcome)
{
    int status;
    assert_int_equal(waitpid(process, &status, 0), process);
    outcome->status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    read_text("stdout", outcome->output);
    read_text("stderr", outcome->errors);
}

/* Runs hal-capture with the arguments up to NULL. */
static void run(struct outcome *outcome, ...)
{
    const char *arguments[MOST_ARGUMENTS] = {"hal-capture"};
    va_list list;
    va_start(list, outcome);
    for (size_t i = 1; (arguments[i] = va_arg(list, const char *)); i++)
        assert_true(i < MOST_ARGUMENTS - 1);
    va_end(list);
    finish(start(arguments), outcome);
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' does not contain '%s'", text, part);
}

static void assert_one_line(const char *text)
{
    const char *end = strchr(text, '\n');
    if (!end || end[1])
        fail_msg("not one line: '%s'", text);
}

/* ---- What it records ---- */

TEST(a_program_that_knows_nothing_is_captured)
{
    struct outcome outcome;
    struct captured captured;
    run(&outcome, "-o", "trace.pb.zst", "--", TRANSFER_APP, "work", NULL);
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.output, "right\n");
    assert_one_line(outcome.errors);
    assert_says(outcome.errors, "trace.pb.zst: 1 submission");
    captured_open(&captured, "trace.pb.zst");
    assert_int_equal(captured_count(&captured, TRACE_SUBMIT), 1);
    assert_int_equal(captured_count(&captured, TRACE_HOST_READ), 1);
    assert_int_equal(captured_count(&captured, TRACE_BUFFER_DESTROY), 3);
    assert_says(trace_reader_header(captured.reader)->program, "transfer_app");
    assert_int_equal(trace_reader_header(captured.reader)->argument_count, 2);
    assert_string_equal(trace_reader_header(captured.reader)->arguments[1], "work");
    assert_false(trace_reader_header(captured.reader)->late_start);
    captured_close(&captured);
    unlink("trace.pb.zst");
}

TEST(the_default_file_is_named_after_the_process)
{
    struct outcome outcome;
    char found[256], name[256];
    run(&outcome, TRANSFER_APP, "work", NULL);
    assert_int_equal(outcome.status, 0);
    assert_int_equal(sscanf(outcome.errors, "hal-capture: %255[^:]: 1 submission", found), 1);
    const char *base = strrchr(found, '/') ? strrchr(found, '/') + 1 : found;
    int process;
    assert_int_equal(sscanf(base, "transfer_app.%d.pb.zst", &process), 1);
    snprintf(name, sizeof name, "transfer_app.%d.pb.zst", process);
    assert_int_equal(unlink(name), 0);
}

TEST(options_reach_the_program_as_settings)
{
    struct outcome outcome;
    char expected[PATH_MAX + 32];
    run(&outcome, "--output=x.pb.zst", "--mode=queue-events", "--stacks", "none", "--force",
        TRANSFER_APP, "environment", NULL);
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "MODE=queue-events\n");
    assert_says(outcome.output, "STACKS=none\n");
    assert_says(outcome.output, "FORCE=true\n");
    char folder_path[PATH_MAX];
    assert_non_null(getcwd(folder_path, sizeof folder_path));
    snprintf(expected, sizeof expected, "FILE=%s/x.pb.zst\n", folder_path);
    assert_says(outcome.output, expected);
}

TEST(quiet_is_quiet)
{
    struct outcome outcome;
    run(&outcome, "-q", "-o", "q.pb.zst", TRANSFER_APP, "work", NULL);
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.errors, "");
    assert_int_equal(unlink("q.pb.zst"), 0);
}

TEST(later_devices_get_files_of_their_own)
{
    struct outcome outcome;
    struct captured captured;
    run(&outcome, "-o", "two.pb.zst", TRANSFER_APP, "twice", NULL);
    assert_int_equal(outcome.status, 0);
    captured_open(&captured, "two.pb.zst");
    captured_close(&captured);
    captured_open(&captured, "two-2.pb.zst");
    captured_close(&captured);
    unlink("two.pb.zst");
    unlink("two-2.pb.zst");
}

/* ---- How it ends ---- */

/* Whole, and named in the summary; then it is removed. */
static void assert_captured(const struct outcome *outcome, const char *file)
{
    struct captured captured;
    char line[TEXT_BYTES];
    snprintf(line, sizeof line, "hal-capture: %s: 1 submission", file);
    assert_says(outcome->errors, line);
    captured_open(&captured, file);
    assert_int_equal(captured_count(&captured, TRACE_SUBMIT), 1);
    assert_string_equal(trace_reader_truncated(captured.reader), "");
    captured_close(&captured);
    unlink(file);
}

static void make_old(const char *file)
{
    FILE *old = fopen(file, "w");
    assert_non_null(old);
    fputs("old", old);
    fclose(old);
}

TEST(processes_of_a_run_get_files_of_their_own)
{
    static const char *const names[] = {"run.pb.zst", "run-2.pb.zst", "run-3.pb.zst"};
    struct outcome outcome;
    for (unsigned force = 0; force < 2; force++) {
        for (size_t i = 0; force && i < 3; i++)
            make_old(names[i]);
        run(&outcome, "-o", names[0], force ? "-f" : "--", "sh", "-c",
            TRANSFER_APP " work && " TRANSFER_APP " work && " TRANSFER_APP " work", NULL);
        assert_int_equal(outcome.status, 0);
        for (size_t i = 0; i < 3; i++)
            assert_captured(&outcome, names[i]);
    }
    run(&outcome, "-f", "-o", names[0], "sh", "-c",
        TRANSFER_APP " work & " TRANSFER_APP " work & " TRANSFER_APP " work; wait", NULL);
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.output, "right\nright\nright\n");
    for (size_t i = 0; i < 3; i++)
        assert_captured(&outcome, names[i]);
}

/* The file of an earlier run that only a later process would use. */
TEST(later_names_are_not_taken_from_others)
{
    struct outcome outcome;
    char text[TEXT_BYTES];
    make_old("run-2.pb.zst");
    run(&outcome, "-o", "run.pb.zst", TRANSFER_APP, "twice", NULL);
    assert_int_equal(outcome.status, 0);
    assert_captured(&outcome, "run.pb.zst");
    assert_captured(&outcome, "run-3.pb.zst");
    read_text("run-2.pb.zst", text);
    assert_string_equal(text, "old");
    unlink("run-2.pb.zst");
}

TEST(captures_that_cannot_begin_harm_no_program)
{
    static const struct {
        const char *lacks, *why;
    } cases[] = {
        {"export HAL_DEVICE_PROFILING_STAGING_MIB=0", "HAL_DEVICE_PROFILING_STAGING_MIB=0"},
        {"export HAL_DEVICE_PROFILING_SIDECAR=/nowhere", "cannot create the sidecar '/nowhere/"},
        {"export HAL_CAPTURE_MODULE=/nowhere.so", "/nowhere.so"},
        {"ulimit -f 8192", "bytes: the file size limit is 4194304"}, /* in units of 512 */
        {"exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 4", "Too many open files"},
        {"trap '' USR1; export HAL_DEVICE_PROFILING_WINDOW=signal", "ignores SIGUSR1 itself"},
        {"mkdir run.pb.zst", "run.pb.zst"}, /* after hal-capture looked */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct outcome outcome;
        char script[PATH_MAX];
        snprintf(script, sizeof script, "%s; exec %s work", cases[i].lacks, TRANSFER_APP);
        run(&outcome, "-f", "-o", "run.pb.zst", "sh", "-c", script, NULL);
        if (outcome.status != 3 || strcmp(outcome.output, "right\n") != 0)
            fail_msg("%s: %d, %s%s", cases[i].lacks, outcome.status, outcome.output,
                     outcome.errors);
        assert_one_line(outcome.errors);
        assert_says(outcome.errors, "hal-capture: device 'cpu?");
        assert_says(outcome.errors, "' is not captured: ");
        assert_says(outcome.errors, cases[i].why);
        assert_int_not_equal(unlink("run.pb.zst"), 0);
        rmdir("run.pb.zst");
    }
}

/* The program's own exit status matters more. */
TEST(an_exit_status_outlives_a_capture_that_cannot_begin)
{
    struct outcome outcome;
    setenv("HAL_DEVICE_PROFILING_STAGING_MIB", "0", 1);
    run(&outcome, "-o", "run.pb.zst", "sh", "-c", TRANSFER_APP " work; exit 7", NULL);
    unsetenv("HAL_DEVICE_PROFILING_STAGING_MIB");
    assert_int_equal(outcome.status, 7);
    assert_one_line(outcome.errors);
}

TEST(a_scope_that_never_came_is_told_with_those_that_did)
{
    struct outcome outcome;
    run(&outcome, "-o", "x.pb.zst", "--scope=nosuch", TRANSFER_APP, "scopes", NULL);
    assert_int_equal(outcome.status, 0);
    assert_one_line(outcome.errors);
    assert_says(outcome.errors, "did not reach the window; its scopes: 'again', 'once'\n");
    assert_int_equal(access("x.pb.zst", F_OK), -1);
}

TEST(descriptors_of_the_program_stay_untouched)
{
    struct outcome outcome;
    struct trace_reader *reader;
    int files;
    run(&outcome, "-o", "daemon.pb.zst", TRANSFER_APP, "daemon", NULL);
    if (outcome.status != 0)
        fail_msg("%s%s", outcome.output, outcome.errors);
    assert_int_equal(sscanf(outcome.output, "right, %d", &files), 1);
    assert_true(files >= 2); /* the trace and the capture's memory */
    assert_says(outcome.errors, "the program has closed descriptor");
    assert_says(outcome.errors, "the trace is incomplete");
    assert_int_equal(trace_reader_open("daemon.pb.zst", &reader), HAL_OK);
    trace_reader_close(reader);
    unlink("daemon.pb.zst");
}

TEST(the_exit_status_is_the_programs)
{
    struct outcome outcome;
    run(&outcome, "-o", "x.pb.zst", TRANSFER_APP, "exit", "7", NULL);
    assert_int_equal(outcome.status, 7);
    assert_one_line(outcome.errors);
    assert_says(outcome.errors, "opened no device");
    assert_int_equal(access("x.pb.zst", F_OK), -1);
    run(&outcome, "-o", "x.pb.zst", TRANSFER_APP, "kill", "9", NULL);
    assert_int_equal(outcome.status, 128 + 9);
    run(&outcome, "-o", "x.pb.zst", TRANSFER_APP, "kill", "15", NULL);
    assert_int_equal(outcome.status, 128 + 15);
}

TEST(programs_that_cannot_run_are_named)
{
    struct outcome outcome;
    run(&outcome, "-o", "x.pb.zst", "./no-such-program", NULL);
    assert_int_equal(outcome.status, 127);
    assert_one_line(outcome.errors);
    assert_says(outcome.errors, "no-such-program");
    FILE *file = fopen("not-a-program", "w");
    assert_non_null(file);
    fclose(file);
    run(&outcome, "-o", "x.pb.zst", "./not-a-program", NULL);
    assert_int_equal(outcome.status, 126);
    assert_one_line(outcome.errors);
    assert_says(outcome.errors, "not-a-program");
}

TEST(wrong_usage_is_status_two)
{
    struct outcome outcome;
    run(&outcome, NULL);
    assert_int_equal(outcome.status, 2);
    assert_one_line(outcome.errors);
    run(&outcome, "--no-such-option", TRANSFER_APP, "exit", "0", NULL);
    assert_int_equal(outcome.status, 2);
    assert_says(outcome.errors, "no-such-option");
    run(&outcome, "--mode=vibes", TRANSFER_APP, "exit", "0", NULL);
    assert_int_equal(outcome.status, 2);
    assert_says(outcome.errors, "vibes");
    run(&outcome, "--stacks=all", TRANSFER_APP, "exit", "0", NULL);
    assert_int_equal(outcome.status, 2);
    assert_says(outcome.errors, "all");
    run(&outcome, "--help", NULL);
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "--output");
    run(&outcome, "--version", NULL);
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.output, "hal-capture " HAL_VERSION_STRING);
}

TEST(destinations_are_checked_before_the_program_starts)
{
    struct outcome outcome;
    struct captured captured;
    char text[TEXT_BYTES];
    FILE *file = fopen("there.pb.zst", "w");
    assert_non_null(file);
    fputs("precious", file);
    fclose(file);
    run(&outcome, "-o", "there.pb.zst", "sh", "-c", "touch started", NULL);
    assert_int_equal(outcome.status, 2);
    assert_one_line(outcome.errors);
    assert_says(outcome.errors, "there.pb.zst");
    assert_says(outcome.errors, "--force");
    run(&outcome, "-o", "there.pb.zst/below.pb.zst", "sh", "-c", "touch started", NULL);
    assert_int_equal(outcome.status, 2);
    assert_one_line(outcome.errors);
    run(&outcome, "-o", "no/such/folder.pb.zst", "sh", "-c", "touch started", NULL);
    assert_int_equal(outcome.status, 2);
    assert_int_equal(symlink("nowhere", "link.pb.zst"), 0);
    run(&outcome, "--force", "-o", "link.pb.zst", "sh", "-c", "touch started", NULL);
    assert_int_equal(outcome.status, 2);
    assert_one_line(outcome.errors);
    assert_says(outcome.errors, "link.pb.zst' is a dangling link");
    unlink("link.pb.zst");
    assert_int_equal(access("started", F_OK), -1);
    read_text("there.pb.zst", text);
    assert_string_equal(text, "precious");

    /* Forced, but the program opens no device: the file is as it was, and that is said. */
    run(&outcome, "--force", "-o", "there.pb.zst", TRANSFER_APP, "exit", "0", NULL);
    assert_int_equal(outcome.status, 0);
    assert_says(outcome.errors, "opened no device");
    read_text("there.pb.zst", text);
    assert_string_equal(text, "precious");
    run(&outcome, "--force", "-o", "there.pb.zst", TRANSFER_APP, "work", NULL);
    assert_int_equal(outcome.status, 0);
    captured_open(&captured, "there.pb.zst");
    captured_close(&captured);
    unlink("there.pb.zst");
}

/* ---- Signals ---- */

/* Starts a shell that says that it is there, and waits for that. */
static pid_t start_shell(const char *script)
{
    unlink("ready");
    const pid_t process =
        start((const char *const[]){"hal-capture", "-o", "x.pb.zst", "sh", "-c", script, NULL});
    while (access("ready", F_OK) != 0)
        sched_yield();
    return process;
}

TEST(signals_reach_the_program)
{
    struct outcome outcome;
    pid_t process = start_shell("trap 'echo told; exit 5' TERM; touch ready; "
                                "while :; do sleep 0.01; done");
    kill(process, SIGTERM);
    finish(process, &outcome);
    assert_int_equal(outcome.status, 5);
    assert_string_equal(outcome.output, "told\n");

    /* The terminal's interrupt is the program's alone to answer. */
    process = start_shell("trap '' INT; touch ready; while [ -e ready ]; do sleep 0.01; done; "
                          "echo finished");
    kill(process, SIGINT);
    unlink("ready");
    finish(process, &outcome);
    assert_int_equal(outcome.status, 0);
    assert_string_equal(outcome.output, "finished\n");
}

TEST_SUITE_FIXTURE(enter_folder, leave_folder);
