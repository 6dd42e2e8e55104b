/* SPDX-License-Identifier: Apache-2.0 */
/* Profiling: captures begun and ended by the program, and names of ranges of time. Part of
 * hal/hal.h, whose rules hold. */
#ifndef HAL_PROFILING_H
#define HAL_PROFILING_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hal_device;

/* Names a range of time on the calling thread ("token 17") for tools; nests. Costs nothing when
 * nothing is captured. */
HAL_API void hal_scope_begin(struct hal_device *device, const char *name);
HAL_API void hal_scope_end(struct hal_device *device);

struct hal_profiling_options {
    size_t struct_size;
    /* "queue" (NULL): everything that the application asks for, and device times of submissions.
     * "dispatch": and of each dispatch; the work may take longer by that. HAL_UNSUPPORTED: the
     * device cannot tell ("dispatch.times" of hal_device_query). "executable": and the device's
     * counters: HAL_UNSUPPORTED, since no driver has any yet.
     */
    const char *mode;
    const char *file;   /* NULL: PROGRAM.PID.pb.zst in the working directory */
    const char *stacks; /* NULL: "submission"; "none"; "command": of each command, too, which takes
                         * a microsecond or more */
    bool force;         /* replace an existing file */

    /* What becomes of the bytes that the host writes into buffers (a snapshot's, too): "all"
     * (NULL), "digest": their SHA-256 instead, "none". Without the bytes nothing can be replayed.
     * Kernels, and what commands themselves hold, are always recorded. */
    const char *contents;
    /* And of those that it reads: "contents" (NULL), "digest": a replay compares digests, "none":
     * nothing is compared; "all": contents, and, before anybody learns that a submission has ended,
     * digests of all that it may have written. That costs a copy by the device and a digest by the
     * host of these bytes, and buffers begin as zeros: for finding what is wrong, not for times. */
    const char *outputs;
    /* And of those that queues read from files: "ranges" (NULL): like the host's writes,
     * "reference": a replay reads the same file, whose path and digest are recorded, "all": as
     * "ranges", and the whole files besides, "fail": recording ends there with an error. */
    const char *files;
    /* So many bytes are recorded, and digests of all others: 0: no limit. Counted before they are
     * copied, each time that they are written or read, compressed or known already or not. */
    uint64_t budget_bytes;

    /* A flight recorder: of the run, only the end is kept, at least so many nanoseconds and at most
     * about twice as many; 0: all. The file always holds it, whatever ends the process, and can be
     * replayed: every `last_ns`, at a submission, the work in flight is waited for and the live
     * objects and their contents are recorded. hal_device_profiling_flush writes it out: completes
     * the file and goes on in another one, FILE-2 and so on. From 10 ms to 24 h. */
    int64_t last_ns;

    /* What part of the run this is, for those who read the trace; may be NULL. */
    const char *window;

    /* A trace. Contents of 256 bytes or more that it holds are referred to by their digest and not
     * stored again: who replays or shows the new trace needs that one, too. NULL: none; not for a
     * flight recorder. */
    const char *base;
};

/* Starts a capture at any moment of a run: waits for the work in flight (at most `timeout_ns`,
 * the message names a semaphore that it still waits for, and nothing has begun), records the live
 * objects and their contents, then everything that follows. One capture per device at a time.
 * Blocks. */
HAL_API enum hal_status hal_device_profiling_begin(struct hal_device *device,
                                                   const struct hal_profiling_options *options,
                                                   int64_t timeout_ns) HAL_CHECKED;

/* Writes what was recorded so far into the file, and completes that of a flight recorder (last_ns),
 * for which it waits as hal_device_profiling_end does: what comes after it goes into the next file,
 * nothing into none. Blocks until it is there. HAL_TIMEOUT: the recording goes on as before.
 * HAL_NOT_FOUND: the device is not being captured. */
HAL_API enum hal_status hal_device_profiling_flush(struct hal_device *device) HAL_CHECKED;

/* Ends the capture and closes the file. Blocks: waits for the work in flight, while other threads'
 * calls go on, and every ten seconds the log says for what. It does not wait for ever, since the
 * calling thread may be the one that is to signal what work waits for: HAL_TIMEOUT after 60
 * seconds, or as --device_profiling_wait says. Then the message names a semaphore that is still
 * waited for, and the capture goes on, without a gap: it is ended by another call, or with the
 * device. Work that a lost device has left counts as done. Returns the first error that recording
 * met, if any: the file then says that it is incomplete. HAL_NOT_FOUND: the device is not being
 * captured. */
HAL_API enum hal_status hal_device_profiling_end(struct hal_device *device) HAL_CHECKED;

#ifdef __cplusplus
}
#endif
#endif
