/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/sandbox/sandbox.h"

#include "hal/base/directories.h"
#include "hal/base/mem.h"
#include "hal/base/moment.h"
#include "hal/base/os.h"
#include "hal/base/text.h"
#include "hal/hal.h"
#include "replay/sandbox/account.h"
#include "replay/sandbox/kernel_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

enum {
    PROGRAMS_BYTES = 8 * PATH_MAX,
    LOOK_MS = 50,
    MOST_SAID = 1 << 16,
    MOST_DESCRIPTORS = 1 << 16
};

struct replay_sandbox {
    struct replay_sandbox_desc desc;
    char scratch[PATH_MAX]; /* the child's */
    char results[PATH_MAX]; /* ours: what we write before it is known to be wanted */
    char paths[REPLAY_MOST_OUTPUTS][PATH_MAX];
    struct replay_kernel_cache kept; /* what is compiled, from one replay to the next */
    bool keeps;
    char *programs;
    _Atomic uint32_t *refused_call;
    pid_t child; /* 0: none */
    bool limits_silence, is_prepared;
    FILE *said; /* what the child prints */
    struct replay_channel channel;
    struct replay_account account;
    int64_t next_look_ns, heard_ns;
    char missing[REPLAY_MISSING_BYTES];
};

/* The child's first message. */
struct greeting {
    uint32_t status;
    char missing[REPLAY_MISSING_BYTES];
    char message[HAL_MESSAGE_BYTES];
};

/* ---- Inside -------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void close_range_of(int first, int last)
{
#if defined(__linux__)
    if (first > last || syscall(SYS_close_range, (unsigned)first, (unsigned)last, 0u) == 0)
        return;
#endif
    for (int file = first; file <= last && file < MOST_DESCRIPTORS; file++)
        close(file);
}

/* The child must not inherit anything from this process. */
static void close_others(const struct replay_sandbox *sandbox)
{
    int keep[64];
    size_t count = 0;
    keep[count++] = sandbox->channel.from;
    keep[count++] = sandbox->channel.to;
    for (size_t i = 0; i < sandbox->desc.file_count && count < sizeof keep / sizeof *keep; i++)
        keep[count++] = sandbox->desc.files[i];
    qsort(keep, count, sizeof *keep, compare_numbers);
    int first = STDERR_FILENO + 1;
    for (size_t i = 0; i < count; i++) {
        close_range_of(first, keep[i] - 1);
        first = keep[i] >= first ? keep[i] + 1 : first;
    }
    close_range_of(first, INT_MAX);
}

/* No file may be larger than all together; memory that is shared is a file, too. */
static void limit_files(const struct replay_sandbox *sandbox)
{
    struct rlimit old;
    const uint64_t memory_bytes =
        sandbox->desc.memory_bytes ? sandbox->desc.memory_bytes : hal_memory_total_bytes();
    const uint64_t disk_bytes = sandbox->account.most_disk_bytes;
    const rlim_t most = (rlim_t)(memory_bytes > disk_bytes ? memory_bytes : disk_bytes);
    if (getrlimit(RLIMIT_FSIZE, &old) == 0 && most < old.rlim_max)
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){most, most});
}

static void reset_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    sigset_t none;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void be_inside(struct replay_sandbox *sandbox)
{
    const struct replay_sandbox_desc *desc = &sandbox->desc;
    const struct replay_policy policy = {.trace = desc->trace,
                                         .given = desc->given,
                                         .given_count = desc->given_count,
                                         .scratch = sandbox->scratch,
                                         .kept = sandbox->keeps ? sandbox->kept.path : NULL,
                                         .programs = sandbox->programs,
                                         .memory_bytes = desc->memory_bytes};
    static struct greeting greeting;
    struct replay_sandboxed inside = {.channel = &sandbox->channel,
                                      .refused_call = sandbox->refused_call};
    int exit_status = EXIT_FAILURE;
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    setpgid(0, 0);
    if (dup2(fileno(sandbox->said), STDOUT_FILENO) < 0 ||
        dup2(fileno(sandbox->said), STDERR_FILENO) < 0)
        _exit(EXIT_FAILURE);
    close_others(sandbox);
    reset_signals();
    limit_files(sandbox);
    setenv("HAL_CACHE_SCRATCH", sandbox->keeps ? sandbox->kept.path : sandbox->scratch, 1);
    setenv("TMPDIR", sandbox->scratch, 1);
    const enum hal_status status = replay_policy_enter(&policy, inside.missing);
    greeting.status = (uint32_t)status;
    snprintf(greeting.missing, sizeof greeting.missing, "%s", inside.missing);
    snprintf(greeting.message, sizeof greeting.message, "%s", status ? hal_message() : "");
    if (replay_channel_send(&sandbox->channel, &greeting, sizeof greeting, NULL, 0) == HAL_OK &&
        replay_channel_flush(&sandbox->channel) == HAL_OK && status == HAL_OK)
        exit_status = desc->inside(desc->user, &inside);
    fflush(NULL);
    _exit(exit_status); /* what would run at exit belongs to the parent */
}

/* ---- Ending -------------------------------------------------------------------------------- */

static void close_one(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

/* Returns how it ended: as of waitpid. */
static int end_child(struct replay_sandbox *sandbox, bool by_force)
{
    int state = 0;
    if (!sandbox->child)
        return 0;
    if (by_force) {
        kill(-sandbox->child, SIGKILL);
        kill(sandbox->child, SIGKILL);
    }
    while (waitpid(sandbox->child, &state, 0) < 0 && errno == EINTR)
        ;
    kill(-sandbox->child, SIGKILL);
    replay_account_kill();
    sandbox->child = 0;
    close_one(&sandbox->channel.from);
    close_one(&sandbox->channel.to);
    replay_channel_finish(&sandbox->channel);
    return state;
}

void replay_sandbox_stop(struct replay_sandbox *sandbox)
{
    (void)end_child(sandbox, true);
}

static enum hal_status explain_end(int state)
{
    if (WIFSIGNALED(state))
        return hal_fail(HAL_FAILED, "the replay was ended by signal %d (%s)", WTERMSIG(state),
                        strsignal(WTERMSIG(state)));
    return hal_fail(HAL_FAILED,
                    "the sandboxed process ended in the middle of the replay, with exit status %d",
                    WEXITSTATUS(state));
}

static bool has_ended(const struct replay_sandbox *sandbox)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)sandbox->child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == sandbox->child;
}

/* Who closes its end of the channel is about to end, as a rule. */
static enum hal_status explain_silence(struct replay_sandbox *sandbox)
{
    enum { LOOKS = 50, APART_MS = 10 };
    for (int i = 0; i < LOOKS && !has_ended(sandbox); i++)
        poll(NULL, 0, APART_MS);
    return explain_end(end_child(sandbox, true));
}

/* ---- Watching ------------------------------------------------------------------------------ */

static volatile sig_atomic_t ended_by;

static void note_signal(int number)
{
    ended_by = number;
}

static enum hal_status check(struct replay_sandbox *sandbox)
{
    const int64_t now_ns = hal_clock_ns();
    if (ended_by)
        return hal_fail(HAL_FAILED, "interrupted by signal %d (%s)", (int)ended_by,
                        strsignal((int)ended_by));
    if (now_ns >= sandbox->desc.deadline_ns)
        return hal_fail(HAL_TIMEOUT, "the replay exceeded its limit of %s (--time-limit)",
                        hal_duration_text(sandbox->desc.time_ns).text);
    if (now_ns >= sandbox->next_look_ns) {
        sandbox->next_look_ns = now_ns + (int64_t)LOOK_MS * 1000000;
        HAL_TRY(replay_account_check(&sandbox->account));
    }
    if (!sandbox->limits_silence)
        sandbox->heard_ns = now_ns;
    const int64_t spare_ns =
        INT64_C(3000000000); /* it usually detects this itself, with a better message */
    if (sandbox->desc.silence_ns &&
        now_ns - sandbox->heard_ns - spare_ns > sandbox->desc.silence_ns)
        return hal_fail(HAL_TIMEOUT,
                        "no progress for %s (--timeout), and the sandboxed process does not answer",
                        hal_duration_text(sandbox->desc.silence_ns).text);
    return HAL_OK;
}

static enum hal_status watch(void *user, int descriptor, short events)
{
    struct replay_sandbox *sandbox = user;
    if (!sandbox->child)
        return hal_fail(HAL_FAILED, "the sandboxed process has ended");
    for (;;) {
        struct pollfd end = {.fd = descriptor, .events = events};
        const int64_t left_ms = (sandbox->desc.deadline_ns - hal_clock_ns()) / 1000000 + 1;
        const int ready =
            poll(&end, 1, left_ms < LOOK_MS ? (left_ms > 0 ? (int)left_ms : 0) : LOOK_MS);
        if (ready > 0) {
            if (events & POLLOUT)
                replay_sandbox_heard(sandbox);
            if (!(end.revents & events) || (events & POLLOUT && end.revents & POLLERR))
                return explain_silence(sandbox);
        }
        const enum hal_status status =
            ready > 0 && hal_clock_ns() < sandbox->next_look_ns && !ended_by ? HAL_OK
                                                                             : check(sandbox);
        if (status != HAL_OK) {
            (void)end_child(sandbox, true);
            return status;
        }
        if (ready > 0)
            return HAL_OK;
    }
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
        if (!hal_write_all(to, buffer, (size_t)got))
            return false;
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
static enum hal_status check_outputs(const struct replay_sandbox *sandbox)
{
    for (size_t i = 0; i < sandbox->desc.output_count; i++) {
        char path[PATH_MAX];
        int file;
        HAL_TRY(open_beside(sandbox->desc.outputs[i], path, &file));
        close(file);
        remove(path);
    }
    return HAL_OK;
}

/* A sparse file would fill the disk with zeros: legitimate results are never sparse. */
static bool is_honest(const struct stat *facts)
{
    const int64_t free_bytes = (int64_t)64 << 20;
    return S_ISREG(facts->st_mode) &&
           (facts->st_size <= free_bytes || facts->st_size / 64 <= (int64_t)facts->st_blocks * 512);
}

/* The inside may have put anything there. */
static enum hal_status bring_out(const struct replay_sandbox *sandbox, size_t index)
{
    struct stat facts;
    const int from = open(sandbox->paths[index], O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (from < 0)
        return HAL_OK; /* it made none */
    enum hal_status status = HAL_OK;
    const bool known = fstat(from, &facts) == 0;
    if (known && S_ISREG(facts.st_mode) && facts.st_size == 0)
        ; /* opened, and never written: it made none */
    else if (known && is_honest(&facts))
        status = copy_file(from, sandbox->desc.outputs[index]);
    else
        status = hal_fail(HAL_CORRUPT, "the replay's output for '%s' is not a regular file",
                          sandbox->desc.outputs[index]);
    close(from);
    return status;
}

enum hal_status replay_sandbox_keep_outputs(struct replay_sandbox *sandbox)
{
    for (size_t i = 0; i < sandbox->desc.output_count; i++)
        HAL_TRY(bring_out(sandbox, i));
    return HAL_OK;
}

/* ---- Opening and closing ------------------------------------------------------------------- */

/* No other process finds it. */
static enum hal_status open_said(struct replay_sandbox *sandbox)
{
    char path[PATH_MAX];
    int file;
    HAL_TRY(hal_temporary_file("hal-replay", path, sizeof path, &file));
    unlink(path);
    sandbox->said = fdopen(file, "w+");
    if (sandbox->said)
        return HAL_OK;
    close(file);
    return hal_fail(HAL_NO_MEMORY, "no memory for the replay's output");
}

/* Also SIGPIPE, which is an error of the writing call. */
static const int watched_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
enum { WATCHED = sizeof watched_signals / sizeof *watched_signals };
static struct sigaction actions_before[WATCHED];

static void catch_signals(void)
{
    struct sigaction action = {.sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    ended_by = 0;
    for (size_t i = 0; i < WATCHED; i++) {
        action.sa_handler = watched_signals[i] == SIGPIPE ? SIG_IGN : note_signal;
        sigaction(watched_signals[i], NULL, &actions_before[i]);
        if (actions_before[i].sa_handler != SIG_IGN) /* as of nohup */
            sigaction(watched_signals[i], &action, NULL);
    }
}

/* Without a compiler nothing may be started; a trace without kernels needs none. */
static enum hal_status prepare(struct replay_sandbox *sandbox)
{
    const struct replay_sandbox_desc *desc = &sandbox->desc;
    catch_signals();
    replay_account_leave_children();
    sandbox->is_prepared = true;
    sandbox->programs = hal_alloc(1, PROGRAMS_BYTES);
    void *const shared = mmap(NULL, sizeof *sandbox->refused_call, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sandbox->refused_call = shared == MAP_FAILED ? NULL : shared;
    if (!sandbox->programs || !sandbox->refused_call)
        return hal_fail(HAL_NO_MEMORY, "no memory for a sandbox");
    if (hal_kernel_programs(sandbox->programs, PROGRAMS_BYTES) != HAL_OK)
        sandbox->programs[0] = '\0';
    HAL_TRY(hal_temporary_folder("hal-replay", sandbox->scratch, PATH_MAX));
    if (desc->output_count)
        HAL_TRY(hal_temporary_folder("hal-replay", sandbox->results, PATH_MAX));
    for (size_t i = 0; i < desc->output_count; i++)
        snprintf(sandbox->paths[i], PATH_MAX, "%.4000s/output-%zu",
                 desc->child_outputs & 1u << i ? sandbox->scratch : sandbox->results, i);
    HAL_TRY(open_said(sandbox));
    sandbox->keeps = replay_kernel_cache_open(desc->trace, &sandbox->kept);
#if defined(__linux__)
    prctl(PR_SET_CHILD_SUBREAPER, 1);
#endif
    return HAL_OK;
}

enum hal_status replay_sandbox_open(const struct replay_sandbox_desc *desc,
                                    struct replay_sandbox **out_sandbox)
{
    struct replay_sandbox *sandbox = hal_alloc(1, sizeof *sandbox);
    if (!sandbox)
        return hal_fail(HAL_NO_MEMORY, "no memory for a sandbox");
    sandbox->desc = *desc;
    sandbox->channel.from = sandbox->channel.to = -1;
    const enum hal_status status = check_outputs(sandbox);
    if (status != HAL_OK) {
        replay_sandbox_close(sandbox);
        return status;
    }
    *out_sandbox = sandbox;
    return HAL_OK;
}

/* A large read-back is in flight in pieces as large as they may be. */
static void widen(int pipe_end)
{
#if defined(F_SETPIPE_SZ)
    (void)fcntl(pipe_end, F_SETPIPE_SZ, 1 << 20);
#else
    (void)pipe_end;
#endif
}

static enum hal_status fork_child(struct replay_sandbox *sandbox)
{
    int asks[2] = {-1, -1}, answers[2] = {-1, -1};
    const bool good = hal_pipe(asks) && hal_pipe(answers);
    if (good)
        widen(answers[1]);
    fflush(NULL);
    const pid_t child = good ? fork() : -1;
    const int error = errno;
    struct replay_channel *const channel = &sandbox->channel;
    memset(channel, 0, sizeof *channel); /* not by a literal: it is larger than a small stack */
    channel->from = child ? answers[0] : asks[0];
    channel->to = child ? asks[1] : answers[1];
    if (child == 0)
        be_inside(sandbox);
    channel->wait = watch;
    channel->user = sandbox;
    close_one(&asks[0]);
    close_one(&answers[1]);
    if (child < 0) {
        close_one(&channel->from);
        close_one(&channel->to);
        return hal_fail(HAL_NO_MEMORY, "cannot create a process for the replay: %s",
                        strerror(error));
    }
    /* Neither to be waited for in a call: the child can fill the one, and take back what it wrote
     * into the other, as /proc opens a pipe's ends again. */
    fcntl(channel->to, F_SETFL, O_NONBLOCK);
    fcntl(channel->from, F_SETFL, O_NONBLOCK);
    sandbox->child = child;
    return HAL_OK;
}

enum hal_status replay_sandbox_start(struct replay_sandbox *sandbox)
{
    static struct greeting greeting;
    if (!sandbox->is_prepared)
        HAL_TRY(prepare(sandbox));
    replay_account_init(&sandbox->account, sandbox->desc.memory_bytes, replay_account_own_bytes());
    sandbox->account.most_disk_bytes += sandbox->desc.output_bytes;
    sandbox->account.folders[0] = sandbox->scratch;
    sandbox->account.folders[1] = sandbox->keeps ? sandbox->kept.path : NULL;
    sandbox->account.printed = fileno(sandbox->said);
    sandbox->limits_silence = false;
    HAL_TRY(fork_child(sandbox));
    HAL_TRY(replay_channel_receive(&sandbox->channel, &greeting, sizeof greeting));
    greeting.message[sizeof greeting.message - 1] = '\0';
    snprintf(sandbox->missing, sizeof sandbox->missing, "%.*s", (int)sizeof greeting.missing - 1,
             greeting.missing);
    if (greeting.status == HAL_OK)
        return HAL_OK;
    replay_sandbox_stop(sandbox);
    return hal_fail(HAL_UNSUPPORTED, "%s", greeting.message);
}

void replay_sandbox_share(struct replay_sandbox *sandbox, size_t file_count, uint64_t output_bytes)
{
    sandbox->desc.file_count = file_count;
    sandbox->desc.output_bytes = output_bytes;
}

struct replay_channel *replay_sandbox_channel(struct replay_sandbox *sandbox)
{
    return &sandbox->channel;
}

const char *replay_sandbox_missing(const struct replay_sandbox *sandbox)
{
    return sandbox->missing;
}

const char *replay_sandbox_output(const struct replay_sandbox *sandbox, size_t index)
{
    return sandbox->paths[index];
}

const char *replay_sandbox_refused_call(const struct replay_sandbox *sandbox,
                                        char out_name[REPLAY_CALL_BYTES])
{
    const uint32_t call = sandbox->refused_call ? atomic_load(sandbox->refused_call) : 0;
    return call ? replay_system_call_name(call - 1, out_name) : NULL;
}

bool replay_sandbox_is_alive(const struct replay_sandbox *sandbox)
{
    return sandbox->child != 0;
}

void replay_sandbox_heard(struct replay_sandbox *sandbox)
{
    sandbox->heard_ns = hal_clock_ns();
}

void replay_sandbox_limit_silence(struct replay_sandbox *sandbox, bool limit)
{
    sandbox->limits_silence = limit;
    replay_sandbox_heard(sandbox);
}

int replay_sandbox_interrupted(const struct replay_sandbox *sandbox)
{
    (void)sandbox;
    return (int)ended_by;
}

enum hal_status replay_sandbox_wait(struct replay_sandbox *sandbox, int *out_exit)
{
    int state;
    while (!has_ended(sandbox)) {
        const enum hal_status status = check(sandbox);
        if (status != HAL_OK) {
            replay_sandbox_stop(sandbox);
            return status;
        }
        poll(NULL, 0, 1);
    }
    state = end_child(sandbox, false);
    *out_exit = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    return WIFEXITED(state) ? HAL_OK : explain_end(state);
}

/* It may have printed anything: the beginning is shown, and nothing that commands a terminal. */
static void show_said(FILE *said)
{
    static char text[MOST_SAID + 1];
    if (!said)
        return;
    rewind(said);
    const size_t bytes = fread(text, 1, MOST_SAID, said);
    fclose(said);
    text[bytes] = '\0';
    hal_text_clean(text, bytes, true);
    if (bytes)
        fprintf(stderr, "hal-replay: the sandboxed process printed:\n%s%s", text,
                text[bytes - 1] == '\n' ? "" : "\n");
}

void replay_sandbox_close(struct replay_sandbox *sandbox)
{
    if (!sandbox)
        return;
    replay_sandbox_stop(sandbox);
    show_said(sandbox->said);
    if (sandbox->scratch[0])
        replay_remove_folder(sandbox->scratch);
    if (sandbox->results[0])
        replay_remove_folder(sandbox->results);
    if (sandbox->keeps)
        replay_kernel_cache_close(&sandbox->kept);
    for (size_t i = 0; i < WATCHED && sandbox->is_prepared; i++)
        sigaction(watched_signals[i], &actions_before[i], NULL);
    if (sandbox->refused_call)
        munmap(sandbox->refused_call, sizeof *sandbox->refused_call);
    free(sandbox->programs);
    free(sandbox);
}
