/* SPDX-License-Identifier: Apache-2.0 */
/* The part of os.h that needs Linux itself. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hal/base/os.h"

#include "hal/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
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
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected,
            timeout_ns == HAL_FOREVER ? NULL : &limit, NULL, 0);
}

void hal_word_wake(_Atomic uint32_t *word, int n_threads)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n_threads, NULL, NULL, 0);
}

enum hal_status hal_program_path(char *out_path, size_t bytes)
{
    const ssize_t used = readlink("/proc/self/exe", out_path, bytes);
    if (used < 0 || (size_t)used >= bytes)
        return hal_fail(HAL_NOT_FOUND, "the system does not know the program's path");
    out_path[used] = '\0';
    return HAL_OK;
}

uint32_t hal_processor_count(void)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0)
        return (uint32_t)CPU_COUNT(&allowed);
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

/* The value of a line "model name\t: AMD EPYC". */
static bool value_after(const char *line, const char *key, char *out_value, size_t bytes)
{
    const size_t length = strlen(key);
    const char *colon = strchr(line, ':');
    if (strncmp(line, key, length) != 0 || !colon)
        return false;
    colon += strspn(colon, ": \t");
    snprintf(out_value, bytes, "%.*s", (int)strcspn(colon, "\n"), colon);
    return out_value[0] != '\0';
}

void hal_processor_name(char *out_name, size_t bytes)
{
    snprintf(out_name, bytes, "CPU");
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[512];
    while (file && fgets(line, sizeof line, file)) {
        if (value_after(line, "model name", out_name, bytes))
            break;
    }
    if (file)
        fclose(file);
}

uint64_t hal_memory_total_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}

static enum hal_status create_object(const char *name, int *out_descriptor)
{
    *out_descriptor = memfd_create(name, MFD_CLOEXEC);
    if (*out_descriptor < 0)
        return hal_fail(errno == ENOSYS ? HAL_UNSUPPORTED : HAL_NO_MEMORY,
                        "cannot create the memory object '%s': %s", name, strerror(errno));
    return HAL_OK;
}

enum hal_status hal_shared_memory(const char *name, uint64_t bytes, int *out_descriptor)
{
    int descriptor;
    HAL_TRY(create_object(name, &descriptor));
    const enum hal_status status = hal_file_resize(descriptor, name, bytes);
    if (status != HAL_OK)
        close(descriptor);
    else
        *out_descriptor = descriptor;
    return status;
}

bool hal_pipe(int out_ends[2])
{
    return pipe2(out_ends, O_CLOEXEC) == 0;
}

int hal_signal_wait(const sigset_t *signals, int64_t timeout_ns)
{
    const struct timespec left = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    const int number = sigtimedwait(signals, NULL, timeout_ns == HAL_FOREVER ? NULL : &left);
    return number > 0 ? number : 0;
}

int hal_file_reserve(int file, uint64_t offset, uint64_t bytes)
{
    return posix_fallocate(file, (off_t)offset, (off_t)bytes);
}

bool hal_process_cpu_ns(pid_t process, int64_t *out_ns)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return false;
    *out_ns = (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
    return true;
}

struct timespec hal_file_written(const struct stat *facts)
{
    return facts->st_mtim;
}
