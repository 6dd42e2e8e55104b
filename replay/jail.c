/* SPDX-License-Identifier: Apache-2.0 */
/* The outside of the jail. */
#include "replay/jail.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "hal/base/text.h"
#include "hal/hal.h"
#include "replay/jail_kept.h"
#include "replay/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

enum { PROGRAMS_BYTES = 8 * PATH_MAX };

struct run {
    const struct replay_jail *jail;
    struct replay_jail_note *note;
    char scratch[PATH_MAX];
    struct replay_kept kept; /* what is compiled, from one replay to the next */
    bool keeps;
    char *programs;
    sigset_t awaited, before;        /* signals that the outside waits for; the caller's mask */
    int ended_by;                    /* a signal that asks the outside to end; 0: none */
    bool cut_short;                  /* by it: the inside had not ended by itself */
    struct replay_outlet outlets[2]; /* of standard output and standard error */
};

/* ---- Inside -------------------------------------------------------------------------------- */

static _Noreturn void be_inside(struct run *run)
{
    const struct replay_walls walls = {.trace = run->jail->trace,
                                       .given = run->jail->given,
                                       .given_count = run->jail->given_count,
                                       .scratch = run->scratch,
                                       .kept = run->keeps ? run->kept.path : NULL,
                                       .programs = run->programs,
                                       .memory_bytes = run->jail->memory_bytes};
    int exit_status = EXIT_FAILURE;
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    setpgid(0, 0);
    if (dup2(run->outlets[0].inside, STDOUT_FILENO) < 0 ||
        dup2(run->outlets[1].inside, STDERR_FILENO) < 0)
        _exit(EXIT_FAILURE);
    sigprocmask(SIG_SETMASK, &run->before, NULL);
    setenv("HAL_CACHE_SCRATCH", run->keeps ? run->kept.path : run->scratch, 1);
    setenv("TMPDIR", run->scratch, 1);
    const enum hal_status status = replay_walls_enter(&walls, run->note->missing);
    if (status == HAL_OK) {
        exit_status = run->jail->inside(run->jail->user, run->note);
    } else {
        run->note->refused = true;
        snprintf(run->note->refusal, sizeof run->note->refusal, "%s", hal_message());
    }
    fflush(NULL);
    _exit(exit_status); /* what would run at exit belongs to the outside */
}

void replay_jail_settle(struct replay_jail_note *note)
{
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2 && note->is_jailed; i++)
        replay_outlet_settle(i ? STDERR_FILENO : STDOUT_FILENO, &note->settled[i]);
}

void replay_jail_begin_report(struct replay_jail_note *note)
{
    replay_jail_settle(note);
    if (note->is_jailed)
        replay_outlet_begin_report(STDOUT_FILENO);
}

/* ---- Outside ------------------------------------------------------------------------------- */

/* Also what the child's children have left: they are this process's now. */
static void kill_all(pid_t child)
{
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
}

static void kill_orphans(void)
{
#if defined(__linux__)
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    for (int rounds = 0; rounds < 1000; rounds++) {
        FILE *file = fopen(path, "r");
        const size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
        if (file)
            fclose(file);
        text[length] = '\0';
        char *at = text, *end;
        long number = strtol(at, &end, 10);
        if (end == at)
            return;
        for (; end != at; at = end, number = strtol(at, &end, 10)) {
            kill((pid_t)number, SIGKILL);
            waitpid((pid_t)number, NULL, 0);
        }
    }
#endif
}

static enum hal_status judge(bool late, const struct replay_jail *jail, int state, int *out_exit)
{
    if (late)
        return hal_fail(HAL_TIMEOUT, "the replay took longer than its limit of %g s",
                        (double)jail->time_ns / 1e9);
    if (WIFSIGNALED(state))
        return hal_fail(HAL_FAILED, "the replay was ended by signal %d (%s)", WTERMSIG(state),
                        strsignal(WTERMSIG(state)));
    *out_exit = WEXITSTATUS(state);
    return HAL_OK;
}

static enum hal_status watch(struct run *run, pid_t child, int64_t deadline_ns, int *out_exit)
{
    bool late = false;
    int state = 0;
    for (;;) {
        const pid_t ended = waitpid(child, &state, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            break;
        const int64_t left_ns = deadline_ns - hal_clock_ns();
        late = late || left_ns <= 0;
        if (late || run->ended_by)
            kill_all(child);
        const int64_t wait_ns = left_ns > 0 && left_ns < 1000000000 ? left_ns : 1000000000;
        const int number = hal_signal_wait(&run->awaited, wait_ns);
        if (number && number != SIGCHLD)
            run->ended_by = number;
    }
    run->cut_short = run->ended_by && WIFSIGNALED(state);
    kill(-child, SIGKILL);
    kill_orphans();
    return judge(late, run->jail, state, out_exit);
}

static enum hal_status open_outlets(struct run *run)
{
    fflush(NULL);
    HAL_TRY(replay_outlet_open(&run->outlets[0], STDOUT_FILENO, &run->note->settled[0]));
    run->outlets[0].holds = run->jail->whole;
    const enum hal_status status =
        replay_outlet_open(&run->outlets[1], STDERR_FILENO, &run->note->settled[1]);
    if (status != HAL_OK)
        replay_outlet_close(&run->outlets[0]);
    return status;
}

static enum hal_status follow(struct run *run, pid_t child, int64_t deadline_ns, int *out_exit)
{
    enum hal_status status = replay_outlet_run(&run->outlets[0]);
    if (status == HAL_OK)
        status = replay_outlet_run(&run->outlets[1]);
    if (status == HAL_OK)
        return watch(run, child, deadline_ns, out_exit);
    kill_all(child);
    waitpid(child, NULL, 0);
    return status;
}

/* ---- Results that are files ---------------------------------------------------------------- */

static bool copy_bytes(int from, int to)
{
    static char buffer[65536];
    for (;;) {
        const ssize_t got = read(from, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        for (ssize_t done = 0; done < got;) {
            const ssize_t put = write(to, buffer + done, (size_t)(got - done));
            if (put < 0 && errno != EINTR)
                return false;
            done += put > 0 ? put : 0;
        }
    }
}

static enum hal_status open_beside(const char *target, char out_path[PATH_MAX], int *out_file)
{
    if (snprintf(out_path, PATH_MAX, "%s.XXXXXX", target) >= PATH_MAX)
        return hal_fail(HAL_INVALID, "the path '%s' is too long", target);
    *out_file = mkstemp(out_path);
    return *out_file >= 0 ? HAL_OK
                          : hal_fail(HAL_IO, "cannot write '%s': %s", target, strerror(errno));
}

/* Nothing of an unfinished copy is seen under the name. */
static enum hal_status copy_file(int from, const char *target)
{
    char path[PATH_MAX];
    int to;
    const mode_t mask = umask(0);
    umask(mask);
    HAL_TRY(open_beside(target, path, &to));
    bool good = copy_bytes(from, to) && fchmod(to, 0666 & ~mask) == 0;
    good = close(to) == 0 && good;
    good = good && rename(path, target) == 0;
    const int error = errno;
    if (!good)
        remove(path);
    return good ? HAL_OK : hal_fail(HAL_IO, "cannot write '%s': %s", target, strerror(error));
}

/* Before anything takes long. */
static enum hal_status check_outputs(const struct run *run)
{
    for (size_t i = 0; i < run->jail->output_count; i++) {
        char path[PATH_MAX];
        int file;
        HAL_TRY(open_beside(run->jail->outputs[i], path, &file));
        close(file);
        remove(path);
    }
    return HAL_OK;
}

/* A file that is mostly holes would fill the disk with zeros: nobody who writes results makes one.
 */
static bool is_honest(const struct stat *facts)
{
    const int64_t free_bytes = (int64_t)64 << 20;
    return S_ISREG(facts->st_mode) &&
           (facts->st_size <= free_bytes || facts->st_size / 64 <= (int64_t)facts->st_blocks * 512);
}

/* The inside may have put anything there. */
static enum hal_status bring_out(const struct run *run, size_t index)
{
    char path[PATH_MAX];
    struct stat facts;
    snprintf(path, sizeof path, "%.4000s/output-%zu", run->scratch, index);
    const int from = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (from < 0)
        return HAL_OK; /* it made none */
    enum hal_status status = HAL_OK;
    const bool known = fstat(from, &facts) == 0;
    if (known && S_ISREG(facts.st_mode) && facts.st_size == 0)
        ; /* opened, and never written: it made none */
    else if (known && is_honest(&facts))
        status = copy_file(from, run->jail->outputs[index]);
    else
        status = hal_fail(HAL_CORRUPT, "what the replay made for '%s' is no usual file",
                          run->jail->outputs[index]);
    close(from);
    return status;
}

static enum hal_status bring_all_out(const struct run *run)
{
    for (size_t i = 0; i < run->jail->output_count; i++)
        HAL_TRY(bring_out(run, i));
    return HAL_OK;
}

/* ---- All ----------------------------------------------------------------------------------- */

/* Who asked must not take silence for "the same"; who reads no further has asked for the end. The
 * report comes behind the results that it tells of, or not at all. */
static enum hal_status close_outlets(struct run *run, enum hal_status status, int exit_status)
{
    struct replay_outlet *const out = &run->outlets[0], *const error = &run->outlets[1];
    replay_outlet_close(out);
    replay_outlet_close(error);
    if (run->note->is_watched)
        replay_outlet_clear_line(error, REPLAY_PROGRESS_COLUMNS);
    if (status == HAL_OK && !run->note->refused && !run->note->again && !run->ended_by &&
        out->error != EPIPE)
        status = bring_all_out(run);
    const int lost = replay_outlet_release(out, status == HAL_OK);
    if (lost == EPIPE && !run->ended_by)
        run->ended_by = SIGPIPE;
    if (status != HAL_OK || !lost || exit_status != 0)
        return status;
    return hal_fail(HAL_IO, "cannot write the report: %s", strerror(lost));
}

static enum hal_status run_once(struct run *run, int64_t deadline_ns, int *out_exit)
{
    if (run->jail->trusted) {
        *out_exit = run->jail->inside(run->jail->user, run->note);
        return HAL_OK;
    }
    HAL_TRY(open_outlets(run));
    const pid_t child = fork();
    if (child == 0)
        be_inside(run);
    enum hal_status status =
        child < 0 ? hal_fail(HAL_FAILED, "no process to replay in: %s", strerror(errno))
                  : follow(run, child, deadline_ns, out_exit);
    return close_outlets(run, status, *out_exit);
}

static void name_outputs(struct run *run)
{
    for (size_t i = 0; i < run->jail->output_count; i++) {
        if (run->jail->trusted)
            snprintf(run->note->outputs[i], PATH_MAX, "%s", run->jail->outputs[i]);
        else
            snprintf(run->note->outputs[i], PATH_MAX, "%.4000s/output-%zu", run->scratch, i);
    }
}

/* Without a compiler nothing may be started; a trace without kernels needs none. */
static enum hal_status prepare(struct run *run)
{
    const char *const parent = getenv("TMPDIR");
    HAL_TRY(check_outputs(run));
    run->programs = hal_alloc(1, PROGRAMS_BYTES);
    if (!run->programs)
        return hal_fail(HAL_NO_MEMORY, "no memory for a jail");
    if (hal_kernel_programs(run->programs, PROGRAMS_BYTES) != HAL_OK)
        run->programs[0] = '\0';
    if (snprintf(run->scratch, sizeof run->scratch, "%s/hal-replay-XXXXXX",
                 parent && parent[0] ? parent : "/tmp") >= (int)sizeof run->scratch ||
        !mkdtemp(run->scratch)) {
        run->scratch[0] = '\0';
        return hal_fail(HAL_IO, "no folder for what a replay compiles: %s", strerror(errno));
    }
    run->keeps = replay_kept_open(run->jail->trace, &run->kept);
#if defined(__linux__)
    prctl(PR_SET_CHILD_SUBREAPER, 1);
#endif
    return HAL_OK;
}

/* By the number that the inside has left, which can be any. */
static void tell_refused(const struct run *run)
{
    char name[REPLAY_CALL_BYTES];
    const uint32_t call = atomic_load(&run->note->refused_call);
    if (call && run->jail->refused)
        run->jail->refused(run->jail->user, replay_walls_call(call - 1, name));
}

static void finish(struct run *run)
{
    if (run->scratch[0])
        replay_remove_folder(run->scratch);
    if (run->keeps)
        replay_kept_close(&run->kept);
    free(run->programs);
    munmap(run->note, sizeof *run->note);
    if (run->cut_short && run->jail->interrupted)
        run->jail->interrupted(run->jail->user, run->ended_by);
    sigprocmask(SIG_SETMASK, &run->before, NULL);
    if (run->ended_by) {
        signal(run->ended_by, SIG_DFL);
        raise(run->ended_by);
    }
}

enum hal_status replay_jail_run(const struct replay_jail *jail, int *out_exit)
{
    struct run run = {.jail = jail};
    const int64_t deadline_ns = hal_deadline_ns(jail->time_ns);
    run.note =
        mmap(NULL, sizeof *run.note, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run.note == MAP_FAILED)
        return hal_fail(HAL_NO_MEMORY, "no memory for a jail");
    run.note->is_watched = isatty(STDERR_FILENO);
    run.note->is_jailed = !jail->trusted;
    sigemptyset(&run.awaited);
    if (!jail->trusted) {
        static const int signals[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP};
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
            sigaddset(&run.awaited, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &run.awaited, &run.before);
    enum hal_status status = jail->trusted ? HAL_OK : prepare(&run);
    name_outputs(&run);
    if (status == HAL_OK)
        status = run_once(&run, deadline_ns, out_exit);
    if (status == HAL_OK && run.note->refused)
        status =
            hal_fail(HAL_UNSUPPORTED, "%.*s", (int)sizeof run.note->refusal - 1, run.note->refusal);
    if (status == HAL_OK && run.note->again && !run.ended_by) {
        run.note->again = false;
        status = run_once(&run, deadline_ns, out_exit);
    }
    tell_refused(&run);
    finish(&run);
    return status;
}
