/* SPDX-License-Identifier: Apache-2.0 */
/* What the operating system gives: clock, threads, waiting on a word, modules. Mutexes and
 * condition variables are POSIX threads, used directly. Porting means implementing this page
 * (os_linux.c, os_darwin.c). Everything here may be called from any thread. */
#ifndef HAL_BASE_OS_H
#define HAL_BASE_OS_H

#include "hal/base/status.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

/* Means "wait for ever" wherever a time limit is asked for. */
#define HAL_FOREVER INT64_MAX

/* Nanoseconds of the system's monotonic clock: the one clock of every host and device time. Never
 * goes back. Where the system trusts the processor's counter it is read off that, which takes a
 * third of the time. */
HAL_API int64_t hal_clock_ns(void);

/* "tsc" or "system", and how far it was seen from the system's clock so far. */
HAL_API const char *hal_clock_name(uint64_t *out_worst_error_ns);

/* Nanoseconds since 1970-01-01 UTC. */
HAL_API int64_t hal_wall_clock_ns(void);

/* now + timeout on the monotonic clock, HAL_FOREVER when that does not fit or was asked for. */
HAL_API int64_t hal_deadline_ns(int64_t timeout_ns);

/* The system's number of the calling thread, as debuggers show it. */
HAL_API uint64_t hal_thread_id(void);

/* The calling thread's name as debuggers show it, at most 15 bytes and an end. */
HAL_API void hal_thread_name(char *out_name, size_t bytes);

/* Starts a named thread with all signals blocked, so that the application's own threads keep
 * receiving them. The caller joins it. */
HAL_API enum hal_status hal_thread_start(const char *name, void *(*run)(void *), void *argument,
                                         pthread_t *out_thread) HAL_CHECKED;

/* Waits for the end of such a thread, which is not the calling one. */
HAL_API void hal_thread_join(pthread_t thread);

/* The calling thread was started so: somebody may join it, and wait for ever if it does that. */
HAL_API bool hal_thread_is_ours(void);

/* A condition variable whose timed waits use the monotonic clock. */
HAL_API void hal_condition_init(pthread_cond_t *condition);

/* Tells the processor that the thread polls. */
static inline void hal_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Waits until signalled or the deadline (hal_clock_ns time, or HAL_FOREVER) has passed; false
 * when it has. May wake for no reason, like pthread_cond_wait. */
HAL_API bool hal_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                int64_t deadline_ns);

/* Sleeps while *word == expected, at most `timeout_ns`. May return early for no reason.
 * Threads of one process sleep and wake: the word may lie in memory that others share, but they
 * are not woken. */
HAL_API void hal_word_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);
HAL_API void hal_word_wake(_Atomic uint32_t *word, int n_threads);

/* Processors that this process may use (its affinity counts); at least 1. */
HAL_API uint32_t hal_processor_count(void);

/* The processor's name as its maker gives it, or "CPU" where the system does not tell. */
HAL_API void hal_processor_name(char *out_name, size_t bytes);

/* Bytes of physical memory; 0 where the system does not tell. */
HAL_API uint64_t hal_memory_total_bytes(void);

/* Absolute path of the running program, and of the module (library or program) that contains
 * `address`. HAL_NOT_FOUND when the system does not tell. */
HAL_API enum hal_status hal_program_path(char *out_path, size_t bytes) HAL_CHECKED;
HAL_API enum hal_status hal_module_path(const void *address, char *out_path,
                                        size_t bytes) HAL_CHECKED;

/* An anonymous memory object of `bytes` bytes that can be mapped more than once. Made at once for
 * any size: pages appear when they are touched, and a touch has no way to report a failure, so the
 * caller keeps an account of what it hands out. The caller closes the descriptor. HAL_UNSUPPORTED:
 * this process can have none, as in the sandbox of hal-replay. */
HAL_API enum hal_status hal_shared_memory(const char *name, uint64_t bytes,
                                          int *out_descriptor) HAL_CHECKED;

/* A pipe whose ends are closed on exec. False, with errno: there is none. */
HAL_API bool hal_pipe(int out_ends[2]);

/* Waits for one of the signals, which the thread has blocked; returns it. 0: none has come in that
 * time, or sooner: not every system keeps every signal (SIGCHLD) for later, so that the caller
 * looks by itself what it was to be told of. */
HAL_API int hal_signal_wait(const sigset_t *signals, int64_t timeout_ns);

/* Between the two, running into the limit on file sizes is an error of the call and not a signal
 * that ends the application. Memory objects have the limit too. */
struct hal_size_guard {
    sigset_t before;
    bool was_pending;
};
HAL_API void hal_size_guard_enter(struct hal_size_guard *guard);
HAL_API void hal_size_guard_leave(const struct hal_size_guard *guard);

/* Sees to it that the range of the file can be written without the disk, or the memory, being full
 * then. Its bytes stay. Returns an error number, or 0. */
HAL_API int hal_file_reserve(int file, uint64_t offset, uint64_t bytes);

/* Nanoseconds of processor time that the process has used, without its children. False: it is gone,
 * or the system does not tell. */
HAL_API bool hal_process_cpu_ns(pid_t process, int64_t *out_ns);

/* When the file was last written. */
HAL_API struct timespec hal_file_written(const struct stat *facts);

#endif
