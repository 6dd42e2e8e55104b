/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program under limits: its own process group, a clean environment, bounded output. */
#include "hal/compiler/msl/process.h"

#include "hal/base/mem.h"
#include "hal/base/message.h"
#include "hal/base/moment.h"
#include "hal/base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ERRORS_LIMIT = 1 << 20, READ_BYTES = 1 << 16, CLOCK_FACTOR = 10 };

/* A program that has to wait for a processor is not slow: on a busy machine it may take long. */
struct deadline {
    pid_t pid;
    int64_t limit_ns;
    int64_t look_ns; /* by the clock: when to ask again what it has used */
    int64_t last_ns; /* by the clock: no later */
};

static struct deadline begin_deadline(int64_t limit_ns)
{
    const int64_t most_ns =
        limit_ns < INT64_MAX / CLOCK_FACTOR ? limit_ns * CLOCK_FACTOR : INT64_MAX;
    return (struct deadline){.limit_ns = limit_ns,
                             .look_ns = hal_deadline_ns(limit_ns),
                             .last_ns = hal_deadline_ns(most_ns)};
}

static bool is_late(struct deadline *deadline)
{
    const int64_t now_ns = hal_clock_ns();
    int64_t used_ns;
    if (now_ns < deadline->look_ns)
        return false;
    if (now_ns >= deadline->last_ns || !hal_process_cpu_ns(deadline->pid, &used_ns) ||
        used_ns >= deadline->limit_ns)
        return true;
    deadline->look_ns = now_ns + (deadline->limit_ns - used_ns);
    if (deadline->look_ns > deadline->last_ns)
        deadline->look_ns = deadline->last_ns;
    return false;
}

/* What a compiler may see of the environment: nothing that adds headers, options or libraries. */
static const char *const kept_variables[] = {"PATH", "HOME"};

struct pipes {
    int output[2], errors[2];
};

static void close_one(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

static void close_pipes(struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        close_one(&pipes->output[i]);
        close_one(&pipes->errors[i]);
    }
}

static bool open_pipes(struct pipes *pipes)
{
    *pipes = (struct pipes){{-1, -1}, {-1, -1}};
    if (hal_pipe(pipes->output) && hal_pipe(pipes->errors))
        return true;
    close_pipes(pipes);
    return false;
}

static char **make_environment(const struct msl_process *process)
{
    enum { COUNT = sizeof kept_variables / sizeof *kept_variables };
    char **const environment = hal_alloc(COUNT + 3, sizeof *environment);
    if (!environment)
        return NULL;
    size_t n = 0;
    environment[n++] = hal_copy_string("LC_ALL=C");
    char *text = NULL;
    if (process->temporary && asprintf(&text, "TMPDIR=%s", process->temporary) >= 0)
        environment[n++] = text;
    for (size_t i = 0; i < COUNT; i++) {
        const char *const value = getenv(kept_variables[i]);
        if (value && asprintf(&text, "%s=%s", kept_variables[i], value) >= 0)
            environment[n++] = text;
    }
    return environment;
}

static void free_environment(char **environment)
{
    for (size_t i = 0; environment && environment[i]; i++)
        free(environment[i]);
    free(environment);
}

static int set_up_files(const struct msl_process *process, const struct pipes *pipes,
                        posix_spawn_file_actions_t *files)
{
    int error = posix_spawn_file_actions_addopen(
        files, 0, process->input ? process->input : "/dev/null", O_RDONLY, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(files, pipes->output[1], 1);
    if (!error)
        error = posix_spawn_file_actions_adddup2(files, pipes->errors[1], 2);
#if defined(__GLIBC__)
    if (!error)
        error = posix_spawn_file_actions_addclosefrom_np(files, 3);
#endif
    return error;
}

/* Signals as in a fresh program, whatever the application does with them. */
static int set_up_signals(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_setsigmask(attributes, &none);
    if (!error)
        error = posix_spawnattr_setsigdefault(attributes, &all);
    if (!error)
        error = posix_spawnattr_setpgroup(attributes, 0);
    if (!error)
        error = posix_spawnattr_setflags(
            attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    return error;
}

static enum hal_status start(const struct msl_process *process, const struct pipes *pipes,
                             pid_t *out_pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    char **const environment = make_environment(process);
    if (!environment || posix_spawn_file_actions_init(&files) != 0) {
        free_environment(environment);
        return hal_fail(HAL_NO_MEMORY, "out of memory to start '%s'", process->arguments[0]);
    }
    int error = posix_spawnattr_init(&attributes);
    if (!error) {
        error = set_up_files(process, pipes, &files);
        if (!error)
            error = set_up_signals(&attributes);
        if (!error)
            error = posix_spawn(out_pid, process->arguments[0], &files, &attributes,
                                (char *const *)process->arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    free_environment(environment);
    return error ? hal_fail(HAL_NOT_FOUND, "cannot start '%s': %s", process->arguments[0],
                            strerror(error))
                 : HAL_OK;
}

/* Reads once; closes at the end. */
static void take(int *descriptor, struct msl_text *text)
{
    char bytes[READ_BYTES];
    const ssize_t count = read(*descriptor, bytes, sizeof bytes);
    if (count > 0)
        msl_text_append(text, bytes, (size_t)count);
    else if (count == 0 || errno != EINTR)
        close_one(descriptor);
}

static enum hal_status collect(const struct msl_process *process, struct pipes *pipes,
                               struct deadline *deadline, struct msl_text *out_output,
                               struct msl_text *out_errors)
{
    const char *const program = process->arguments[0];
    while (pipes->output[0] >= 0 || pipes->errors[0] >= 0) {
        struct pollfd polls[2] = {{pipes->output[0], POLLIN, 0}, {pipes->errors[0], POLLIN, 0}};
        if (is_late(deadline))
            return hal_fail(HAL_TIMEOUT, "'%s' took longer than %s and was stopped", program,
                            hal_duration_text(process->time_limit_ns).text);
        const int64_t left_ns = deadline->look_ns - hal_clock_ns();
        const int64_t wait_ms = left_ns > 0 ? left_ns / 1000000 + 1 : 0;
        const int ready = poll(polls, 2, wait_ms < 60000 ? (int)wait_ms : 60000);
        if (ready < 0 && errno != EINTR)
            return hal_fail(HAL_IO, "cannot wait for '%s': %s", program, strerror(errno));
        if (ready <= 0)
            continue;
        if (polls[0].revents)
            take(&pipes->output[0], out_output);
        if (polls[1].revents)
            take(&pipes->errors[0], out_errors);
        if (out_output->length > process->output_limit)
            return hal_fail(HAL_INVALID, "'%s' wrote more than the limit of %zu bytes", program,
                            process->output_limit);
        if (out_errors->length > ERRORS_LIMIT)
            close_one(&pipes->errors[0]);
        HAL_TRY(msl_text_check(out_output));
        HAL_TRY(msl_text_check(out_errors));
    }
    return HAL_OK;
}

/* The program has closed its outputs; it may still run. */
static enum hal_status await(const struct msl_process *process, bool kill_first,
                             struct deadline *deadline, int *out_exit_code)
{
    const pid_t pid = deadline->pid;
    const char *const program = process->arguments[0];
    int state = 0;
    if (kill_first)
        kill(-pid, SIGKILL);
    for (;;) {
        /* Left unreaped at first, so that the group's number stays taken. */
        siginfo_t facts = {0};
        const int error =
            waitid(P_PID, (id_t)pid, &facts, WEXITED | WNOWAIT | (kill_first ? 0 : WNOHANG));
        if ((error == 0 && facts.si_pid == pid) || (error != 0 && errno != EINTR))
            break;
        if (!kill_first && is_late(deadline)) {
            kill(-pid, SIGKILL);
            kill_first = true;
        } else if (error == 0) {
            poll(NULL, 0, 1);
        }
    }
    kill(-pid, SIGKILL); /* what it may have left in its group */
    if (waitpid(pid, &state, 0) != pid)
        return hal_fail(HAL_FAILED, "the exit code of '%s' is lost: %s (is SIGCHLD ignored?)",
                        program, strerror(errno));
    if (WIFSIGNALED(state))
        return hal_fail(kill_first ? HAL_TIMEOUT : HAL_FAILED, "'%s' was ended by signal %d",
                        program, WTERMSIG(state));
    *out_exit_code = WEXITSTATUS(state);
    return HAL_OK;
}

enum hal_status msl_process_run(const struct msl_process *process, struct msl_text *out_output,
                                struct msl_text *out_errors, int *out_exit_code)
{
    struct pipes pipes;
    struct deadline deadline = begin_deadline(process->time_limit_ns);
    msl_text_append(out_output, "", 0);
    msl_text_append(out_errors, "", 0);
    if (!open_pipes(&pipes))
        return hal_fail(HAL_IO, "cannot make pipes for '%s': %s", process->arguments[0],
                        strerror(errno));
    enum hal_status status = start(process, &pipes, &deadline.pid);
    close_one(&pipes.output[1]);
    close_one(&pipes.errors[1]);
    if (status == HAL_OK) {
        status = collect(process, &pipes, &deadline, out_output, out_errors);
        if (status == HAL_OK) {
            status = await(process, false, &deadline, out_exit_code);
        } else {
            /* The first failure is the one to report. */
            int ignored;
            const struct hal_kept_message kept = hal_keep_message();
            if (await(process, true, &deadline, &ignored) != HAL_OK)
                status = hal_restore_message(&kept, status);
        }
    }
    close_pipes(&pipes);
    return status;
}
