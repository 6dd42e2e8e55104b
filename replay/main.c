/* SPDX-License-Identifier: Apache-2.0 */
/* hal-replay: the order of things, and the exit status. */
#include "hal/base/output.h"
#include "hal/base/text.h"
#include "replay/jail.h"
#include "replay/selftest.h"
#include "replay/session.h"

#include <inttypes.h>
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

/* False when the report could not be written: whoever asked must not take silence for "the same".
 * `inside`: NULL outside. */
static bool print(const struct replay_program *options, const struct replay_summary *summary,
                  struct replay_jail_note *inside)
{
    if (summary->error[0])
        fprintf(stderr, "hal-replay: %s\n", hal_shown_lines(summary->error).text);
    if (inside)
        replay_jail_begin_report(inside);
    bool written = true;
    if (options->json)
        written = replay_print_json(stdout, summary);
    else if (summary->runs && !(options->quiet && summary->exit_code == REPLAY_EXIT_SAME))
        written = replay_print_text(stdout, summary);
    enum hal_status status = hal_output_end();
    if (status == HAL_OK && !written)
        status = hal_fail(HAL_NO_MEMORY, "no memory for the report");
    if (status != HAL_OK && !summary->error[0]) /* one complaint is enough */
        fprintf(stderr, "hal-replay: %s\n", hal_message());
    return status == HAL_OK;
}

/* Everything that has to do with the file; the second time to name what hung the first time. */
static int work(void *user, struct replay_jail_note *note)
{
    struct replay_program program = *(const struct replay_program *)user;
    static char error[HAL_MESSAGE_BYTES];
    const bool looking = note->hung;
    program.replay.mark = looking;
    program.replay.mark_submission = note->submission;
    struct replay_session session = {.program = &program, .note = note};
    struct replay_summary *summary = &session.summary;
    summary->path = program.path;
    summary->error = error;
    summary->jail = program.trusted ? NULL : note->missing;
    const enum hal_status status = replay_session_run(&session);
    if (status != HAL_OK) {
        snprintf(error, sizeof error, "%s", hal_message());
        summary->exit_code = exit_of(status);
    } else if (looking) {
        snprintf(error, sizeof error,
                 "submission #s%" PRIu64
                 " did not end, but does when its dispatches run one by one",
                 note->submission);
        summary->exit_code = REPLAY_EXIT_DIFFERENT;
    }
    if (summary->report.hung && !looking) {
        note->hung = note->again = true;
        note->submission = summary->report.hung_submission;
        return (int)summary->exit_code;
    }
    if (!print(&program, summary, note) && summary->exit_code == REPLAY_EXIT_SAME)
        summary->exit_code = REPLAY_EXIT_UNREADABLE;
    if (summary->report.abandoned) {
        fflush(NULL);
        _Exit((int)summary->exit_code); /* releasing the device would wait for work that hangs */
    }
    replay_session_finish(&session);
    return (int)summary->exit_code;
}

/* Its kernel is our own: it needs no jail. */
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

/* Who reads JSON gets an object whatever happens; a person has the signal's name from the shell. */
static void tell_interrupted(void *user, int number)
{
    const struct replay_program *program = user;
    static char error[HAL_MESSAGE_BYTES];
    snprintf(error, sizeof error, "interrupted by signal %d (%s)", number, strsignal(number));
    const struct replay_summary summary = {
        .path = program->path, .error = error, .exit_code = REPLAY_EXIT_DIFFERENT};
    if (program->json && replay_print_json(stdout, &summary))
        (void)!fflush(stdout);
}

static void tell_refused(void *user, const char *call)
{
    (void)user;
    fprintf(stderr,
            "hal-replay: the sandbox refused the system call '%s': kernels need none, so do not "
            "trust this trace\n",
            hal_shown(call).text);
}

static int replay(struct replay_program *program)
{
    int exit_code = REPLAY_EXIT_UNSUPPORTED;
    const char *given[REPLAY_MOST_MAPS + TRACE_MAX_BASES + REPLAY_MOST_SYMBOLS + 1];
    size_t given_count = 0;
    for (; given_count < program->replay.map_count; given_count++)
        given[given_count] = program->maps[given_count].to;
    for (size_t i = 0; i < program->load.base_count; i++)
        given[given_count++] = program->bases[i];
    for (size_t i = 0; i < program->load.symbol_count; i++)
        given[given_count++] = program->symbols[i];
    if (program->compare && !program->compare_substitute)
        given[given_count++] = program->compare;
    struct replay_jail jail = {.trace = program->path,
                               .given = given,
                               .given_count = given_count,
                               .memory_bytes = program->load.memory_limit_bytes,
                               .time_ns = program->time_limit_ns,
                               .output_count = program->output_count,
                               .trusted = program->trusted,
                               .whole = program->json || program->output_count,
                               .inside = work,
                               .interrupted = tell_interrupted,
                               .refused = tell_refused,
                               .user = program};
    memcpy(jail.outputs, program->outputs, sizeof jail.outputs);
    const enum hal_status status = replay_jail_run(&jail, &exit_code);
    if (status == HAL_OK)
        return exit_code;
    struct replay_summary summary = {
        .path = program->path, .error = hal_message(), .exit_code = exit_of(status)};
    (void)print(program, &summary, NULL);
    return (int)summary.exit_code;
}

int main(int argc, char **argv)
{
    struct replay_program program;
    int exit_code;
    replay_keep_memory();
    const enum hal_status parsed = replay_options_parse(argc, argv, &program);
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
