/* SPDX-License-Identifier: Apache-2.0 */
/* Profiling: captures that the program controls, and named time ranges. Part of hal/hal.h; its
 * rules apply. */
#ifndef HAL_PROFILING_H
#define HAL_PROFILING_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hal_device;

/* Names a range of time on the calling thread ("token 17") for tools; ranges nest. Free when no
 * capture is running. */
HAL_API void hal_scope_begin(struct hal_device *device, const char *name);
HAL_API void hal_scope_end(struct hal_device *device);

struct hal_profiling_options {
    size_t struct_size;
    /* "queue" (NULL): all calls of the application, and device times of submissions. "dispatch":
     * also device times of each dispatch, which may slow the work. HAL_UNSUPPORTED: the device
     * cannot time dispatches ("dispatch.times" of hal_device_query). "executable": also the
     * device's counters; always HAL_UNSUPPORTED, because no driver has counters yet. */
    const char *mode;
    const char *file;   /* NULL: PROGRAM.PID.pb.zst in the working directory */
    const char *stacks; /* NULL: "submission"; "none"; "command": also of each command, which takes
                           a microsecond or more */
    bool force;         /* replace an existing file */

    /* How to record the bytes that the host writes into buffers, including those of a snapshot:
     * "all" (NULL), "digest": only their SHA-256, "none". A trace without the bytes cannot be
     * replayed. Kernels and data inside commands are always recorded. */
    const char *contents;
    /* How to record the bytes that the host reads: "contents" (NULL), "digest": a replay compares
     * digests, "none": nothing is compared, "all": contents, plus digests of everything that a
     * submission may have written, taken before its end is observable. "all" costs a device copy
     * and a host digest of these bytes, and zero-initialises buffers: for finding errors, not
     * timing. */
    const char *outputs;
    /* How to record the bytes that queues read from files: "ranges" (NULL): like the host's writes,
     * "reference": only the file's path and digest, and a replay reads the same file, "all":
     * "ranges" plus the whole files, "fail": recording stops there with an error. */
    const char *files;
    /* Number of bytes to record; beyond it only digests are recorded. 0: no limit. Bytes count
     * before they are copied, on every write or read, even if compressed or already stored. */
    uint64_t budget_bytes;

    /* Flight recorder: keeps only the end of the run, at least this many nanoseconds and at most
     * about twice as many; 0: keeps everything. The file always holds that part, however the
     * process ends, and can be replayed: every `last_ns`, at a submission, the capture waits for
     * work in flight and records the live objects with their contents. hal_device_profiling_flush
     * completes the file and continues in another one, FILE-2 and so on. From 10 ms to 24 h. */
    int64_t last_ns;

    /* Describes the captured part of the run for readers of the trace; may be NULL. */
    const char *window;

    /* A base trace. The new trace refers to contents of 256 bytes or more in it by digest instead
     * of storing them again, so replaying or viewing the new trace also needs the base. NULL: none.
     * Not allowed for a flight recorder. */
    const char *base;
};

/* Starts a capture at any point of a run: waits for work in flight, records the live objects and
 * their contents, then everything that follows. If the wait exceeds `timeout_ns`, no capture starts
 * and the message names a semaphore that is still pending. One capture per device at a time.
 * Blocks. */
HAL_API enum hal_status hal_device_profiling_begin(struct hal_device *device,
                                                   const struct hal_profiling_options *options,
                                                   int64_t timeout_ns) HAL_CHECKED;

/* Writes everything recorded so far into the file. For a flight recorder (last_ns), it completes
 * the file, after waiting like hal_device_profiling_end; later records go into the next file, and
 * no record is lost. Blocks until the data is written. HAL_TIMEOUT: the recording continues as
 * before. HAL_NOT_FOUND: the device is not being captured. */
HAL_API enum hal_status hal_device_profiling_flush(struct hal_device *device) HAL_CHECKED;

/* Ends the capture and closes the file. Blocks until work in flight is done, while calls of other
 * threads proceed; every ten seconds the log names what it is waiting for. The wait is limited,
 * because the calling thread may be the one that must signal what work waits for: HAL_TIMEOUT after
 * 60 seconds, or as set by --device_profiling_wait. The message then names a semaphore that is
 * still pending, and the capture continues without a gap until another call or the release of the
 * device ends it. Work left by a lost device counts as done. Returns the first recording error, if
 * any; the file then says that it is incomplete. HAL_NOT_FOUND: the device is not being
 * captured. */
HAL_API enum hal_status hal_device_profiling_end(struct hal_device *device) HAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
