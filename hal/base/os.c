/* SPDX-License-Identifier: Apache-2.0 */
/* The part of os.h that POSIX alone provides. */
#include "hal/base/os.h"

#include "hal/base/text.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

int64_t hal_deadline_ns(int64_t timeout_ns)
{
    const int64_t now = hal_clock_ns();
    if (timeout_ns < 0)
        return now;
    return timeout_ns > INT64_MAX - now ? HAL_FOREVER : now + timeout_ns;
}

static sigset_t size_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

void hal_size_guard_enter(struct hal_size_guard *guard)
{
    const sigset_t limit = size_signal();
    sigset_t pending;
    sigpending(&pending);
    guard->was_pending = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &limit, &guard->before);
}

void hal_size_guard_leave(const struct hal_size_guard *guard)
{
    const sigset_t limit = size_signal();
    if (!guard->was_pending)
        (void)hal_signal_wait(&limit, 0);
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}

static struct sigaction size_action_before;

void hal_size_signal_ignore(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGXFSZ, &ignore, &size_action_before);
}

void hal_size_signal_restore(void)
{
    sigaction(SIGXFSZ, &size_action_before, NULL);
}

enum hal_status hal_file_resize(int file, const char *name, uint64_t bytes)
{
    struct hal_size_guard guard;
    struct rlimit limit;
    hal_size_guard_enter(&guard);
    const int error = bytes > LONG_MAX ? EFBIG : ftruncate(file, (off_t)bytes) == 0 ? 0 : errno;
    hal_size_guard_leave(&guard);
    const struct hal_counted size = hal_count(bytes, "byte", "bytes");
    if (error == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
        return hal_fail(HAL_NO_MEMORY, "'%s' cannot have %s: the file size limit is %llu", name,
                        size.text, (unsigned long long)limit.rlim_cur);
    if (error)
        return hal_fail(HAL_NO_MEMORY, "'%s' cannot have %s: %s", name, size.text, strerror(error));
    return HAL_OK;
}

void hal_thread_name(char *out_name, size_t bytes)
{
    if (bytes == 0 || pthread_getname_np(pthread_self(), out_name, bytes) != 0)
        snprintf(out_name, bytes, "thread");
}

struct thread_start {
    void *(*run)(void *);
    void *argument;
    char name[16]; /* as long as the system takes one */
};

static _Thread_local bool is_ours;

bool hal_thread_is_ours(void)
{
    return is_ours;
}

static void *begin_thread(void *argument)
{
    const struct thread_start start = *(struct thread_start *)argument;
    free(argument);
    is_ours = true;
#ifdef __linux__
    pthread_setname_np(pthread_self(), start.name); /* by others, it would be a file that changes */
#endif
    return start.run(start.argument);
}

enum hal_status hal_thread_start(const char *name, void *(*run)(void *), void *argument,
                                 pthread_t *out_thread)
{
    sigset_t all, before;
    struct thread_start *start = malloc(sizeof *start);
    if (!start)
        return hal_fail(HAL_NO_MEMORY, "no memory for thread '%s'", name);
    *start = (struct thread_start){.run = run, .argument = argument};
    snprintf(start->name, sizeof start->name, "%s", name);
    sigfillset(&all);
    sigdelset(&all, SIGSYS); /* of this thread's own doing: a sandbox that refuses a call */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(out_thread, NULL, begin_thread, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        free(start);
        return hal_fail(HAL_NO_MEMORY, "cannot start thread '%s': %s", name, strerror(error));
    }
    return HAL_OK;
}

void hal_thread_join(pthread_t thread)
{
    const int error = pthread_join(thread, NULL);
    assert(!error);
    (void)error;
}

enum hal_status hal_module_path(const void *address, char *out_path, size_t bytes)
{
    Dl_info info;
    char resolved[PATH_MAX];
    if (!dladdr(address, &info) || !info.dli_fname || !realpath(info.dli_fname, resolved))
        return hal_fail(HAL_NOT_FOUND, "the system does not know which module contains an address");
    if (strlen(resolved) >= bytes)
        return hal_fail(HAL_INVALID, "the path '%s' is longer than %zu bytes", resolved, bytes);
    memcpy(out_path, resolved, strlen(resolved) + 1);
    return HAL_OK;
}

/* ---- Files --------------------------------------------------------------------------------- */

/* The system takes at most 2 GiB at once. */
static size_t step_of(uint64_t left)
{
    static const uint64_t most = UINT64_C(1) << 30;
    return (size_t)(left < most ? left : most);
}

bool hal_write_all(int file, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t put = write(file, (const uint8_t *)data + done, step_of(bytes - done));
        if (put == 0)
            errno = EIO;
        if (put == 0 || (put < 0 && errno != EINTR))
            return false;
        done += put > 0 ? (size_t)put : 0;
    }
    return true;
}

bool hal_read_all(int file, void *out_data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        const ssize_t got = read(file, (uint8_t *)out_data + done, step_of(bytes - done));
        if (got == 0 || (got < 0 && errno != EINTR))
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

int64_t hal_write_at(int file, const void *data, uint64_t bytes, uint64_t offset)
{
    uint64_t done = 0;
    ssize_t put = 1;
    while (done < bytes && put != 0) {
        put = pwrite(file, (const uint8_t *)data + done, step_of(bytes - done),
                     (off_t)(offset + done));
        if (put < 0 && errno != EINTR)
            return -1;
        done += put > 0 ? (uint64_t)put : 0;
    }
    return (int64_t)done;
}

int64_t hal_read_at(int file, void *out_data, uint64_t bytes, uint64_t offset)
{
    uint64_t done = 0;
    ssize_t got = 1;
    while (done < bytes && got != 0) {
        got =
            pread(file, (uint8_t *)out_data + done, step_of(bytes - done), (off_t)(offset + done));
        if (got < 0 && errno != EINTR)
            return -1;
        done += got > 0 ? (uint64_t)got : 0;
    }
    return (int64_t)done;
}
