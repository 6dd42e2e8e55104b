/* SPDX-License-Identifier: Apache-2.0 */
/* The part of os.h that needs Linux itself. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hal/base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec to_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = ns % 1000000000};
}

uint64_t hal_thread_id(void)
{
    static _Thread_local uint64_t cached;
    if (!cached)
        cached = (uint64_t)syscall(SYS_gettid);
    return cached;
}

void hal_condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool hal_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ns)
{
    if (deadline_ns == HAL_FOREVER)
        return pthread_cond_wait(condition, mutex) == 0;
    const struct timespec deadline = to_timespec(deadline_ns);
    return pthread_cond_timedwait(condition, mutex, &deadline) != ETIMEDOUT;
}

void hal_word_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    const struct timespec limit = to_timespec(timeout_ns);
    syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout_ns == HAL_FOREVER ? NULL : &limit, NULL,
            0);
}

void hal_word_wake(_Atomic uint32_t *word, int n_threads)
{
    syscall(SYS_futex, word, FUTEX_WAKE, n_threads, NULL, NULL, 0);
}

enum hal_status hal_program_path(char *out_path, size_t bytes)
{
    const ssize_t used = readlink("/proc/self/exe", out_path, bytes);
    if (used < 0 || (size_t)used >= bytes)
        return hal_fail(HAL_NOT_FOUND, "the system does not tell the program's path");
    out_path[used] = '\0';
    return HAL_OK;
}

enum hal_status hal_shared_memory(const char *name, uint64_t bytes, int *out_descriptor)
{
    const int descriptor = memfd_create(name, MFD_CLOEXEC);
    if (descriptor < 0)
        return hal_fail(HAL_NO_MEMORY, "cannot create the memory object '%s': %s", name,
                        strerror(errno));
    int error = EFBIG;
    if (bytes <= (uint64_t)LONG_MAX)
        error = posix_fallocate(descriptor, 0, (off_t)bytes);
    if (error) {
        close(descriptor);
        return hal_fail(HAL_NO_MEMORY, "cannot reserve %llu bytes for '%s': %s",
                        (unsigned long long)bytes, name, strerror(error));
    }
    *out_descriptor = descriptor;
    return HAL_OK;
}
