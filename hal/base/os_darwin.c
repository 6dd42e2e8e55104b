/* SPDX-License-Identifier: Apache-2.0 */
/* The part of os.h that needs macOS itself. */
#include "hal/base/os.h"

#include "hal/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mach-o/dyld.h>
#include <os/os_sync_wait_on_address.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysctl.h>
#include <time.h>
#include <unistd.h>

uint64_t hal_thread_id(void)
{
    uint64_t id = 0;
    pthread_threadid_np(NULL, &id);
    return id;
}

void hal_condition_init(pthread_cond_t *condition)
{
    pthread_cond_init(condition, NULL);
}

bool hal_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ns)
{
    if (deadline_ns == HAL_FOREVER)
        return pthread_cond_wait(condition, mutex) == 0;
    int64_t left_ns = deadline_ns - hal_clock_ns();
    if (left_ns < 0)
        left_ns = 0;
    const struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000),
                                  .tv_nsec = (long)(left_ns % 1000000000)};
    return pthread_cond_timedwait_relative_np(condition, mutex, &left) != ETIMEDOUT;
}

void hal_word_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    if (timeout_ns == HAL_FOREVER)
        os_sync_wait_on_address((void *)word, expected, sizeof *word,
                                OS_SYNC_WAIT_ON_ADDRESS_SHARED);
    else if (timeout_ns > 0)
        os_sync_wait_on_address_with_timeout((void *)word, expected, sizeof *word,
                                             OS_SYNC_WAIT_ON_ADDRESS_SHARED,
                                             OS_CLOCK_MACH_ABSOLUTE_TIME, (uint64_t)timeout_ns);
}

void hal_word_wake(_Atomic uint32_t *word, int n_threads)
{
    if (n_threads > 1) {
        os_sync_wake_by_address_all((void *)word, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_SHARED);
        return;
    }
    os_sync_wake_by_address_any((void *)word, sizeof *word, OS_SYNC_WAKE_BY_ADDRESS_SHARED);
}

enum hal_status hal_program_path(char *out_path, size_t bytes)
{
    uint32_t room = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    if (_NSGetExecutablePath(out_path, &room) != 0)
        return hal_fail(HAL_NOT_FOUND, "the system does not know the program's path");
    return HAL_OK;
}

uint32_t hal_processor_count(void)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (uint32_t)online : 1;
}

void hal_processor_name(char *out_name, size_t bytes)
{
    size_t length = bytes;
    if (sysctlbyname("machdep.cpu.brand_string", out_name, &length, NULL, 0) != 0)
        snprintf(out_name, bytes, "CPU");
}

uint64_t hal_memory_total_bytes(void)
{
    uint64_t total = 0;
    size_t length = sizeof total;
    return sysctlbyname("hw.memsize", &total, &length, NULL, 0) == 0 ? total : 0;
}

/* Anonymous memory that can be mapped twice: a POSIX shared memory object whose name is gone. */
enum hal_status hal_shared_memory(const char *name, uint64_t bytes, int *out_descriptor)
{
    static _Atomic uint32_t counter;
    char unique[32];
    snprintf(unique, sizeof unique, "/hal.%d.%u", (int)getpid(), (unsigned)counter++);
    const int descriptor = shm_open(unique, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (descriptor < 0)
        return hal_fail(HAL_NO_MEMORY, "cannot create the memory object '%s': %s", name,
                        strerror(errno));
    shm_unlink(unique);
    const enum hal_status status = hal_file_resize(descriptor, name, bytes);
    if (status != HAL_OK)
        close(descriptor);
    else
        *out_descriptor = descriptor;
    return status;
}

bool hal_pipe(int out_ends[2])
{
    if (pipe(out_ends) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        fcntl(out_ends[i], F_SETFD, FD_CLOEXEC);
    return true;
}

/* There is no wait with a timeout, and a blocked SIGCHLD is dropped if nothing handles it. */
int hal_signal_wait(const sigset_t *signals, int64_t timeout_ns)
{
    enum { LOOK_NS = 10000000 };
    const struct timespec rest = {0, timeout_ns < LOOK_NS ? (long)timeout_ns : LOOK_NS};
    for (int looks = 0; looks < 2; looks++) {
        sigset_t pending;
        sigpending(&pending);
        for (int number = 1; number < NSIG; number++) {
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, number);
            if (!sigismember(signals, number) || !sigismember(&pending, number))
                continue;
            int taken = 0;
            return sigwait(&one, &taken) == 0 ? taken : 0;
        }
        if (looks == 0 && timeout_ns > 0)
            nanosleep(&rest, NULL);
    }
    return 0;
}

/* Files alone; memory that has a name cannot be reserved. */
int hal_file_reserve(int file, uint64_t offset, uint64_t bytes)
{
    struct stat facts;
    if (fstat(file, &facts) != 0)
        return errno;
    const uint64_t has = (uint64_t)facts.st_blocks * 512, wanted = offset + bytes;
    fstore_t store = {.fst_flags = F_ALLOCATEALL,
                      .fst_posmode = F_PEOFPOSMODE,
                      .fst_length = has < wanted ? (off_t)(wanted - has) : 0};
    if (store.fst_length == 0 || fcntl(file, F_PREALLOCATE, &store) == 0)
        return 0;
    return errno == ENOSPC ? ENOSPC : 0;
}

bool hal_process_cpu_ns(pid_t process, int64_t *out_ns)
{
    (void)process;
    (void)out_ns;
    return false;
}

struct timespec hal_file_written(const struct stat *facts)
{
    return facts->st_mtimespec;
}
