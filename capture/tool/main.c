/* SPDX-License-Identifier: Apache-2.0 */
/* hal-capture: runs a program so that the HAL in it captures what it does. */
#include "capture/tool/doctor.h"
#include "capture/tool/orphans.h"
#include "capture/tool/summary.h"
#include "format/trace.h"
#include "hal/base/options.h"
#include "hal/base/os.h"
#include "hal/base/print.h"
#include "hal/base/run.h"
#include "hal/hal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    EXIT_USAGE = 2,
    EXIT_UNWRITTEN = 3,
    EXIT_CANNOT_START = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_SIGNAL = 128
};

/* Options that are passed on; the HAL's own rules for its flags validate them. */
enum policy {
    MODE,
    STACKS,
    CONTENTS,
    OUTPUTS,
    FILES,
    BUDGET,
    WINDOW, /* from here on: at most one of them */
    SCOPE,
    GROUP,
    LAST,
    POLICY_COUNT
};

static const struct {
    const char *flag, *variable;
} policies[POLICY_COUNT] = {
    [MODE] = {"mode", "HAL_DEVICE_PROFILING_MODE"},
    [STACKS] = {"stacks", "HAL_DEVICE_PROFILING_STACKS"},
    [CONTENTS] = {"contents", "HAL_DEVICE_PROFILING_CONTENTS"},
    [OUTPUTS] = {"outputs", "HAL_DEVICE_PROFILING_OUTPUTS"},
    [FILES] = {"files", "HAL_DEVICE_PROFILING_FILES"},
    [BUDGET] = {"budget", "HAL_DEVICE_PROFILING_BUDGET"},
    [WINDOW] = {"window", "HAL_DEVICE_PROFILING_WINDOW"},
    [SCOPE] = {"scope", "HAL_DEVICE_PROFILING_SCOPE"},
    [GROUP] = {"group", "HAL_DEVICE_PROFILING_GROUP"},
    [LAST] = {"last", "HAL_DEVICE_PROFILING_LAST"},
};

struct options {
    const char *output;                 /* NULL: the default */
    const char *policies[POLICY_COUNT]; /* NULL: from the environment */
    const char *run;                    /* path of the run's list */
    bool force, quiet;
    char *const *command;
};

/* ---- Options ---- */

/* What the user has set; NULL: nothing. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] ? value : NULL;
}

/* What is said, and in `source` by whom, as the user wrote it; NULL: nothing. */
static const char *policy_of(const struct options *options, size_t policy, char source[64])
{
    const char *own = options->policies[policy];
    if (own)
        snprintf(source, 64, "--%s", policies[policy].flag);
    else
        snprintf(source, 64, "%s", policies[policy].variable);
    return own ? own : variable(policies[policy].variable);
}

static int check_policies(const struct options *options)
{
    char source[64], flag[64], window[64] = "";
    for (size_t i = 0; i < POLICY_COUNT; i++) {
        const char *value = policy_of(options, i, source);
        if (!value)
            continue;
        snprintf(flag, sizeof flag, "device_profiling_%s", policies[i].flag);
        if (hal_flags_check(flag, value, source) != HAL_OK)
            return capture_message(EXIT_USAGE, "%s", hal_message());
        if (i < WINDOW)
            continue;
        if (window[0])
            return capture_message(EXIT_USAGE, "a capture has one window: %s or %s", window,
                                   source);
        memcpy(window, source, sizeof window);
    }
    return 0;
}

/* Options beat the user's environment, which beats the defaults. */
static int read_environment(struct options *options)
{
    static const char name[] = "HAL_DEVICE_PROFILING_FORCE";
    const char *force = variable(name);
    if (!options->output)
        options->output = variable("HAL_DEVICE_PROFILING_FILE");
    if (!force || options->force)
        return 0;
    options->force = strcmp(force, "true") == 0 || strcmp(force, "1") == 0;
    if (!options->force && strcmp(force, "false") != 0 && strcmp(force, "0") != 0)
        return capture_message(EXIT_USAGE, "%s must be true or false, not '%s'", name, force);
    return 0;
}

static void print_version(void)
{
    char drivers[256];
    hal_drivers_describe(drivers, sizeof drivers);
    hal_print(stdout, "hal-capture %s\ntrace format %u.%u\ndrivers: %s\n", HAL_VERSION_STRING,
              TRACE_VERSION_MAJOR, TRACE_VERSION_MINOR, drivers);
}

#define POLICY(which) .target = offsetof(struct options, policies[which])

static const struct hal_option table[] = {
    {.help = "Where to:"},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .help = "the trace (default: PROGRAM.PID.pb.zst in the working folder)",
     .target = offsetof(struct options, output)},
    {.name = "force",
     .letter = 'f',
     .help = "replace an existing file",
     .target = offsetof(struct options, force)},
    {.help = "What:"},
    {.name = "mode",
     .letter = 'm',
     .argument = "MODE",
     .help = "what to record: queue (default), or dispatch (also the times of dispatches)",
     POLICY(MODE)},
    {.name = "stacks",
     .letter = 's',
     .argument = "WHAT",
     .help = "call stacks: none, submission (default), command",
     POLICY(STACKS)},
    {.name = "contents",
     .argument = "WHAT",
     .help = "what to record of bytes that the program writes: all (default), digest, none",
     POLICY(CONTENTS)},
    {.name = "outputs",
     .argument = "WHAT",
     .help = "what to record of bytes that it reads back: contents (default), digest, none, all "
             "(also digests of what each submission writes)",
     POLICY(OUTPUTS)},
    {.name = "files",
     .argument = "WHAT",
     .help = "what to record of files that queues read: ranges (default), reference, all, fail",
     POLICY(FILES)},
    {.name = "budget",
     .argument = "BYTES",
     .help = "limit for contents, then only digests: 64M, 2G (default: no limit)",
     POLICY(BUDGET)},
    {.help = "Which part of the run (one of these):"},
    {.name = "window",
     .argument = "PART",
     .help = "only submissions #s100..#s200, or signal: SIGUSR1 begins and ends the capture",
     POLICY(WINDOW)},
    {.name = "scope",
     .argument = "NAME",
     .help = "only the inside of scopes of that name",
     POLICY(SCOPE)},
    {.name = "group",
     .argument = "NAME",
     .help = "only submissions with debug groups of that name",
     POLICY(GROUP)},
    {.name = "last",
     .argument = "TIME",
     .help = "only the end of the run: 5s, 500ms, 2m; SIGUSR1 writes it to the file",
     POLICY(LAST)},
    {.help = "Else:"},
    {.name = "quiet",
     .letter = 'q',
     .help = "no summary",
     .target = offsetof(struct options, quiet)},
    {0},
};

static const struct hal_command_line command_line = {
    .program = "hal-capture",
    .usage =
        "usage: hal-capture [options] [--] program [arguments]\n"
        "       hal-capture doctor [--json]     what works on this machine, and how to fix the "
        "rest\n"
        "Runs the program and captures its device work into a trace file.\n",
    .notes =
        "Examples:\n"
        "  hal-capture -o run.pb.zst -- decode --tokens=4\n"
        "  hal-capture -m dispatch -s command -o timed.pb.zst -- decode\n"
        "  hal-capture --scope='token 3' -o token.pb.zst -- decode    # only that part\n"
        "\n"
        "The exit status is the program's, 128 + N if signal N ended it, 126 or 127 if it could "
        "not\n"
        "be started, 2 for wrong arguments and destinations, 3 instead of 0 if a device was not\n"
        "captured or a trace cannot be read. Of doctor: 0, 1 something is broken, 2, 3 the report\n"
        "cannot be written.\n",
    .options = table,
    .print_version = print_version,
    .stops_at_word = true,
};

static bool answer(enum hal_asked asked, int *out_exit)
{
    if (hal_command_line_answer(&command_line, asked) != HAL_OK)
        *out_exit = capture_message(EXIT_UNWRITTEN, "%s", hal_message());
    return false;
}

/* True: continue; else *out_exit is the exit status. */
static bool read_options(char **argv, struct options *options, int *out_exit)
{
    struct hal_words words;
    *options = (struct options){0};
    *out_exit = 0;
    if (hal_command_line_parse(&command_line, argv, options, &words) != HAL_OK)
        *out_exit = capture_message(EXIT_USAGE, "%s", hal_message());
    else if (words.asked != HAL_ASKED_NOTHING)
        return answer(words.asked, out_exit);
    else if (!words.count)
        *out_exit = capture_message(EXIT_USAGE, "no program given (see hal-capture --help)");
    else if (options->output && strcmp(options->output, "--") == 0)
        *out_exit = capture_message(EXIT_USAGE,
                                    "--output needs a file name; for a file called '--' use ./--");
    else if (check_policies(options) || read_environment(options))
        *out_exit = EXIT_USAGE;
    options->command = words.words;
    return *out_exit == 0;
}

/* ---- The destination ---- */

/* A file that cannot be made is not what is missing. */
static const char *why_not(const char *path, int error)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (error != ENOENT || !slash)
        return strerror(error);
    slash[slash == folder] = '\0';
    return access(folder, F_OK) == 0 ? "its folder is not writable" : "there is no such folder";
}

/* Tries it out, and leaves no trace of that. */
static int check_destination(const char *path, bool force)
{
    const int made = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (made >= 0) {
        close(made);
        unlink(path);
        return 0;
    }
    if (errno != EEXIST)
        return capture_message(EXIT_USAGE, "cannot write '%s': %s", path, why_not(path, errno));
    struct stat found;
    if (stat(path, &found) != 0)
        return errno == ENOENT ? capture_message(EXIT_USAGE, "'%s' is a dangling link", path)
                               : capture_message(EXIT_USAGE, "'%s': %s", path, strerror(errno));
    if (!S_ISREG(found.st_mode))
        return capture_message(EXIT_USAGE, "'%s' is %s", path,
                               S_ISDIR(found.st_mode) ? "a folder" : "not a regular file");
    if (!force)
        return capture_message(EXIT_USAGE, "'%s' exists already (--force replaces it)", path);
    if (access(path, W_OK) != 0)
        return capture_message(EXIT_USAGE, "cannot write '%s': %s", path, strerror(errno));
    return 0;
}

/* The program may change its working folder, so the path is made absolute. */
static int make_path(const struct options *options, long process, char *out_path, size_t bytes)
{
    char folder[PATH_MAX];
    const char *program = strrchr(options->command[0], '/');
    program = program ? program + 1 : options->command[0];
    const bool absolute = options->output && options->output[0] == '/';
    if (absolute)
        folder[0] = '\0';
    else if (!getcwd(folder, sizeof folder))
        return capture_message(EXIT_USAGE, "the working folder: %s", strerror(errno));
    const char *slash = absolute ? "" : "/";
    const int length =
        options->output
            ? snprintf(out_path, bytes, "%s%s%s", folder, slash, options->output)
            : snprintf(out_path, bytes, "%s%s%s.%ld.pb.zst", folder, slash, program, process);
    if (length < 0 || (size_t)length >= bytes)
        return capture_message(EXIT_USAGE, "the path of the trace is too long");
    return 0;
}

/* ---- Running ---- */

/* What the program finds as this one found it. */
struct signals {
    struct sigaction interrupt, quit, child;
    sigset_t mask;
};

static sigset_t signals_to_await(void)
{
    static const int numbers[] = {SIGCHLD, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&set, numbers[i]);
    return set;
}

/* Signals from the terminal reach the program by themselves, and it decides what they mean; those
 * that are sent to this process wait until it passes them on. */
static void take_signals(struct signals *before)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, usual = {.sa_handler = SIG_DFL};
    const sigset_t awaited = signals_to_await();
    sigprocmask(SIG_BLOCK, &awaited, &before->mask);
    sigaction(SIGINT, &ignore, &before->interrupt);
    sigaction(SIGQUIT, &ignore, &before->quit);
    sigaction(SIGCHLD, &usual, &before->child);
}

static void restore_signals(const struct signals *before)
{
    sigaction(SIGINT, &before->interrupt, NULL);
    sigaction(SIGQUIT, &before->quit, NULL);
    sigaction(SIGCHLD, &before->child, NULL);
    hal_size_signal_restore();
    sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

static bool set_environment(const struct options *options, const char *path)
{
    if (!variable("HAL_DEVICE_PROFILING_MODE") && setenv("HAL_DEVICE_PROFILING_MODE", "queue", 1))
        return false;
    for (size_t i = 0; i < POLICY_COUNT; i++) {
        if (options->policies[i] && setenv(policies[i].variable, options->policies[i], 1) != 0)
            return false;
    }
    return setenv(HAL_RUN_VARIABLE, options->run, 1) == 0 &&
           setenv("HAL_DEVICE_PROFILING_FILE", path, 1) == 0 &&
           setenv("HAL_DEVICE_PROFILING_FORCE", options->force ? "true" : "false", 1) == 0;
}

/* In the child. Reports through the pipe why it did not become the program. */
static void become_program(const struct options *options, int failure_pipe)
{
    char path[PATH_MAX];
    int error = EINVAL;
    if (make_path(options, (long)getpid(), path, sizeof path) == 0) {
        error = ENOMEM;
        if (set_environment(options, path)) {
            execvp(options->command[0], options->command);
            error = errno;
        }
    }
    const ssize_t told = write(failure_pipe, &error, sizeof error);
    _exit(told < 0 ? EXIT_CANNOT_START : EXIT_NOT_FOUND);
}

/* Starts the program; 0, or the exit status after a message. */
static int start(const struct options *options, const struct signals *before, pid_t *out_process)
{
    int ends[2], error = 0;
    if (!hal_pipe(ends))
        return capture_message(EXIT_CANNOT_START, "cannot make a pipe: %s", strerror(errno));
    const pid_t process = fork();
    if (process == 0) {
        restore_signals(before);
        become_program(options, ends[1]);
    }
    close(ends[1]);
    if (process < 0) {
        close(ends[0]);
        return capture_message(EXIT_CANNOT_START, "cannot start a process: %s", strerror(errno));
    }
    ssize_t told;
    do
        told = read(ends[0], &error, sizeof error);
    while (told < 0 && errno == EINTR);
    close(ends[0]);
    *out_process = process;
    if (told != (ssize_t)sizeof error)
        return 0;
    waitpid(process, NULL, 0);
    return capture_message(error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_START,
                           "cannot run '%s': %s", options->command[0], strerror(error));
}

static bool is_steered(const struct options *options)
{
    char source[64];
    const char *window = policy_of(options, WINDOW, source);
    return policy_of(options, LAST, source) || (window && strcmp(window, "signal") == 0);
}

/* SIGUSR1 goes to the processes that listen: it would end a script that started them, or a program
 * that has not opened its device yet. A number may be another process's by now, but hardly one of
 * this session. */
static void steer(const struct options *options)
{
    struct hal_run run;
    unsigned told = 0;
    hal_run_open(options->run, &run);
    hal_run_unlock(&run);
    for (const char *entry = NULL; (entry = hal_run_next(&run, entry));) {
        const pid_t process =
            (pid_t)(entry[0] == HAL_RUN_STEERED ? strtol(entry + 1, NULL, 10) : 0);
        if (process > 0 && getsid(process) == getsid(0))
            told += kill(process, SIGUSR1) == 0;
    }
    hal_run_close(&run);
    if (!told)
        capture_message(0, "SIGUSR1 has no effect: no process of '%s' captures at the moment",
                        options->command[0]);
}

/* Passes signals on until the program has ended. */
static int wait_for(const struct options *options, pid_t process)
{
    const bool steered = is_steered(options);
    const sigset_t awaited = signals_to_await();
    int status;
    for (pid_t ended; (ended = waitpid(process, &status, WNOHANG)) != process;) {
        if (ended < 0)
            return capture_message(EXIT_CANNOT_START, "cannot wait for the program: %s",
                                   strerror(errno));
        const int number = hal_signal_wait(&awaited, HAL_FOREVER);
        if (number == SIGUSR1 && steered)
            steer(options);
        else if (number && number != SIGCHLD)
            kill(process, number);
    }
    return WIFSIGNALED(status) ? EXIT_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    struct options options;
    struct signals signals_before;
    char path[PATH_MAX], run[PATH_MAX];
    pid_t process = 0;
    int exit_status;
    hal_size_signal_ignore();
    if (argc > 1 && strcmp(argv[1], "doctor") == 0)
        return capture_doctor(argv + 1, print_version);
    if (!read_options(argv, &options, &exit_status))
        return exit_status;
    if ((exit_status = make_path(&options, (long)getpid(), path, sizeof path)) != 0 ||
        (exit_status = check_destination(path, options.force)) != 0)
        return exit_status;
    capture_orphans_remove(path, options.quiet);
    if (hal_run_create(run, sizeof run) != HAL_OK)
        return capture_message(EXIT_CANNOT_START, "%s", hal_message());
    options.run = run;
    take_signals(&signals_before);
    exit_status = start(&options, &signals_before, &process);
    if (exit_status == 0) {
        exit_status = wait_for(&options, process);
        const bool recorded = capture_summarize(&(struct capture_summary){
            .run = options.run,
            .output = options.output,
            .program = options.command[0],
            .quiet = options.quiet,
            .is_part =
                options.policies[WINDOW] || options.policies[SCOPE] || options.policies[GROUP],
        });
        if (!recorded && exit_status == 0)
            exit_status = EXIT_UNWRITTEN;
    } else {
        unlink(run);
    }
    return exit_status;
}
