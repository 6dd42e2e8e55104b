/* SPDX-License-Identifier: Apache-2.0 */
/* hal-replay: the order of things, and the exit status. */
#include "hal/base/os.h"
#include "hal/base/output.h"
#include "hal/base/text.h"
#include "replay/cli/selftest.h"
#include "replay/cli/session.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- Replaying ----------------------------------------------------------------------------- */

static enum replay_exit exit_of(enum hal_status status)
{
    switch (status) {
    case HAL_OK: return REPLAY_EXIT_SAME;
    case HAL_IO:
    case HAL_CORRUPT:
    case HAL_VERSION: return REPLAY_EXIT_UNREADABLE;
    case HAL_TIMEOUT:
    case HAL_DEVICE_LOST:
    case HAL_FAILED: return REPLAY_EXIT_DIFFERENT;
    case HAL_INVALID:
    case HAL_NOT_FOUND:
    case HAL_EXISTS:
    case HAL_UNSUPPORTED:
    case HAL_NO_MEMORY: return REPLAY_EXIT_UNSUPPORTED;
    }
    return REPLAY_EXIT_UNSUPPORTED;
}

/* False if the report could not be written: the caller must not take silence for "the same". */
static bool print(const struct replay_program *options, const struct replay_summary *summary)
{
    if (summary->error[0])
        fprintf(stderr, "hal-replay: %s\n", hal_shown_lines(summary->error).text);
    bool written = true;
    if (options->json)
        written = replay_print_json(stdout, summary);
    else if (summary->runs && !(options->quiet && summary->exit_code == REPLAY_EXIT_SAME))
        written = replay_print_text(stdout, summary);
    enum hal_status status = hal_output_end();
    if (status == HAL_OK && !written)
        status = hal_fail(HAL_NO_MEMORY, "no memory for the report");
    if (status != HAL_OK && !summary->error[0]) /* one message is enough */
        fprintf(stderr, "hal-replay: %s\n", hal_message());
    return status == HAL_OK;
}

/* Who reads JSON gets an object whatever happens; a person has the signal's name from the shell. */
static _Noreturn void end_by(int number, const struct replay_program *program, const char *error)
{
    const struct replay_summary summary = {
        .path = program->path, .error = error, .exit_code = REPLAY_EXIT_DIFFERENT};
    if (program->json && replay_print_json(stdout, &summary))
        (void)!fflush(stdout);
    signal(number, SIG_DFL);
    raise(number);
    _Exit(REPLAY_EXIT_DIFFERENT);
}

static void tell_refused(const struct replay_sandbox *sandbox)
{
    char name[REPLAY_CALL_BYTES];
    const char *const call = replay_sandbox_refused_call(sandbox, name);
    if (call)
        fprintf(stderr,
                "hal-replay: the sandbox refused the system call '%s', which kernels do not need: "
                "do not trust this trace\n",
                hal_shown(call).text);
}

/* The report comes after the results that it describes, or not at all. */
static enum hal_status end_child(struct replay_session *session, enum hal_status status,
                                 int *out_signal)
{
    struct replay_sandbox *sandbox = session->sandbox;
    if (!sandbox)
        return status;
    const bool ended_well = replay_sandbox_is_alive(sandbox);
    *out_signal = replay_sandbox_interrupted(sandbox);
    replay_sandbox_stop(sandbox);
    if (ended_well && !*out_signal) {
        const enum hal_status kept = replay_sandbox_keep_outputs(sandbox);
        status = status == HAL_OK ? kept : status;
    }
    tell_refused(sandbox);
    replay_player_destroy(session->player); /* it asks whether the child is there */
    session->player = NULL;
    replay_sandbox_close(sandbox);
    session->sandbox = NULL;
    return status;
}

static int replay(const struct replay_program *program)
{
    static char error[HAL_MESSAGE_BYTES];
    struct replay_session session = {.program = program};
    struct replay_summary *summary = &session.summary;
    int number = 0;
    summary->path = program->path;
    summary->error = error;
    enum hal_status status = replay_session_run(&session);
    if (status != HAL_OK)
        snprintf(error, sizeof error, "%s", hal_message());
    const enum hal_status ended = end_child(&session, status, &number);
    if (status == HAL_OK && ended != HAL_OK) {
        snprintf(error, sizeof error, "%s", hal_message());
        summary->runs = 0;
    }
    if (ended != HAL_OK)
        summary->exit_code = exit_of(ended);
    if (number)
        end_by(number, program, error);
    if (ferror(stdout) && errno == EPIPE)
        end_by(SIGPIPE, program, error);
    if (!print(program, summary) && summary->exit_code == REPLAY_EXIT_SAME)
        summary->exit_code = REPLAY_EXIT_UNREADABLE;
    const int exit_code = (int)summary->exit_code;
    if (summary->report.abandoned) {
        fflush(NULL);
        _Exit(exit_code); /* releasing the device would wait for work that hangs */
    }
    replay_session_finish(&session);
    return exit_code;
}

/* Its kernel is our own: it needs no sandbox. */
static int selftest(const struct replay_program *program)
{
    static struct replay_selftest result;
    const enum hal_status status = replay_selftest_run(program->device, &result);
    if (program->json)
        replay_print_selftest_json(stdout, &result);
    else
        replay_print_selftest(stdout, &result);
    if (status != HAL_OK)
        fprintf(stderr, "hal-replay: %s\n", hal_shown_lines(hal_message()).text);
    if (status != HAL_OK)
        return (int)exit_of(status);
    if (hal_output_end() != HAL_OK) {
        fprintf(stderr, "hal-replay: %s\n", hal_message());
        return REPLAY_EXIT_UNREADABLE;
    }
    return result.passed ? REPLAY_EXIT_SAME : REPLAY_EXIT_DIFFERENT;
}

int main(int argc, char **argv)
{
    struct replay_program program;
    int exit_code;
    (void)argc;
    hal_size_signal_ignore();
    replay_keep_memory();
    const enum hal_status parsed = replay_options_parse(argv, &program);
    hal_flags_ignore_profiling();
    if (parsed != HAL_OK)
        exit_code = parsed == HAL_NOT_FOUND ? REPLAY_EXIT_SAME
                    : parsed == HAL_IO      ? REPLAY_EXIT_UNREADABLE
                                            : REPLAY_EXIT_USAGE;
    else
        exit_code = program.selftest ? selftest(&program) : replay(&program);
    replay_options_finish(&program);
    return exit_code;
}
