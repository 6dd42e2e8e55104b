/* SPDX-License-Identifier: Apache-2.0 */
/* Services of the operating system: clock, threads, waiting on a word, modules. Mutexes and
 * condition variables are POSIX, used directly. Porting means implementing this header (os_linux.c,
 * os_darwin.c). Any thread may call everything here. */
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

/* "No limit" for every timeout and deadline. */
#define HAL_FOREVER INT64_MAX

/* Nanoseconds of the system's monotonic clock, the only clock for host and device times. Never goes
 * back. Derived from the processor's counter if the system trusts it. */
HAL_API int64_t hal_clock_ns(void);

/* "tsc" or "system", and the largest difference from the system's clock so far. */
HAL_API const char *hal_clock_name(uint64_t *out_worst_error_ns);

/* Nanoseconds since 1970-01-01 UTC. */
HAL_API int64_t hal_wall_clock_ns(void);

/* now + timeout on the monotonic clock; HAL_FOREVER if that overflows or was requested. */
HAL_API int64_t hal_deadline_ns(int64_t timeout_ns);

/* The system's id of the calling thread, as debuggers show it. */
HAL_API uint64_t hal_thread_id(void);

/* The calling thread's name as debuggers show it, at most 15 bytes plus a terminator. */
HAL_API void hal_thread_name(char *out_name, size_t bytes);

/* Starts a named thread with all signals blocked, so that the application's own threads keep
 * receiving them. The caller must join it. */
HAL_API enum hal_status hal_thread_start(const char *name, void *(*run)(void *), void *argument,
                                         pthread_t *out_thread) HAL_CHECKED;

/* Waits for the end of such a thread, which must not be the calling one. */
HAL_API void hal_thread_join(pthread_t thread);

/* Whether the calling thread was started that way: joining it from itself would deadlock. */
HAL_API bool hal_thread_is_ours(void);

/* A condition variable whose timed waits use the monotonic clock. */
HAL_API void hal_condition_init(pthread_cond_t *condition);

/* Tells the processor that the thread is spinning. */
static inline void hal_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Waits until signalled or until the deadline (hal_clock_ns time, or HAL_FOREVER); false if the
 * deadline has passed. May wake spuriously, like pthread_cond_wait. */
HAL_API bool hal_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                int64_t deadline_ns);

/* Sleeps while *word == expected, at most `timeout_ns`. May return early. Only threads of the same
 * process are woken, even if the word is in shared memory. */
HAL_API void hal_word_wait(_Atomic uint32_t *word, uint32_t expected, int64_t timeout_ns);
HAL_API void hal_word_wake(_Atomic uint32_t *word, int n_threads);

/* Processors available to this process, by its affinity; at least 1. */
HAL_API uint32_t hal_processor_count(void);

/* The processor's marketing name, or "CPU" if unknown. */
HAL_API void hal_processor_name(char *out_name, size_t bytes);

/* Bytes of physical memory; 0 if unknown. */
HAL_API uint64_t hal_memory_total_bytes(void);

/* Absolute path of the running program, and of the module (library or program) that contains
 * `address`. HAL_NOT_FOUND if unknown. */
HAL_API enum hal_status hal_program_path(char *out_path, size_t bytes) HAL_CHECKED;
HAL_API enum hal_status hal_module_path(const void *address, char *out_path,
                                        size_t bytes) HAL_CHECKED;

/* An anonymous memory object that can be mapped more than once. Created instantly at any size:
 * pages fault in on first touch, when a failure cannot be reported, so the caller must account for
 * what it uses. The caller closes the descriptor. HAL_UNSUPPORTED: not possible in this process, as
 * in the sandbox of hal-replay. */
HAL_API enum hal_status hal_shared_memory(const char *name, uint64_t bytes,
                                          int *out_descriptor) HAL_CHECKED;

/* A pipe with close-on-exec set. False, with errno: failed. */
HAL_API bool hal_pipe(int out_ends[2]);

/* Waits for one of the signals, which the thread has blocked; returns it. 0: none arrived in that
 * time, or sooner: some systems do not keep every signal (SIGCHLD) pending: check the condition. */
HAL_API int hal_signal_wait(const sigset_t *signals, int64_t timeout_ns);

/* Between begin and end, exceeding the file size limit is an error of the call and not a signal
 * that ends the application. The limit applies to memory objects too. */
struct hal_size_guard {
    sigset_t before;
    bool was_pending;
};
HAL_API void hal_size_guard_enter(struct hal_size_guard *guard);
HAL_API void hal_size_guard_leave(const struct hal_size_guard *guard);

/* The same for a whole program, which calls the first one as it begins; and the second one in a
 * process that becomes another program, which finds the signal as this one did. */
HAL_API void hal_size_signal_ignore(void);
HAL_API void hal_size_signal_restore(void);

/* Makes the file, or the memory object, that long: with the guard. `name` is
 * for the message of HAL_NO_MEMORY. */
HAL_API enum hal_status hal_file_resize(int file, const char *name, uint64_t bytes) HAL_CHECKED;

/* Reserves space for the range of the file, on disk or in memory, so that writing it cannot fail
 * for lack of space. Preserves its bytes. Returns an error number, or 0. */
HAL_API int hal_file_reserve(int file, uint64_t offset, uint64_t bytes);

/* Nanoseconds of processor time used by the process, without its children. False: the process is
 * gone, or the system does not know. */
HAL_API bool hal_process_cpu_ns(pid_t process, int64_t *out_ns);

/* The file's modification time. */
HAL_API struct timespec hal_file_written(const struct stat *facts);

/* Writes all bytes at the descriptor's position. False, with errno: failed. */
HAL_API bool hal_write_all(int file, const void *data, size_t bytes);
/* False: there are fewer bytes, or they cannot be read. */
HAL_API bool hal_read_all(int file, void *out_data, size_t bytes);
/* Return the bytes written or read before the file was full or ended; -1, with errno: failed. */
HAL_API int64_t hal_write_at(int file, const void *data, uint64_t bytes, uint64_t offset);
HAL_API int64_t hal_read_at(int file, void *out_data, uint64_t bytes, uint64_t offset);

#endif
