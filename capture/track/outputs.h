/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of what each submission wrote, for `outputs=all`.
 *
 * With a submission goes one more command buffer, which copies the ranges that the others may write
 * (capture_written_ranges_find) into memory of the capture's own. When the submission has ended,
 * and before anybody can know that, their digests are recorded. Buffers begin as zeros, so that
 * bytes which nobody writes are the same in a replay.
 *
 * Where something else may have written at the same time, that is said instead of a digest: another
 * submission that ran at the same time, or the host, which has the range mapped persistently for
 * writing. */
#ifndef CAPTURE_OUTPUTS_H
#define CAPTURE_OUTPUTS_H

#include "capture/track/inflight.h"

struct capture;
struct capture_thread;

/* ---- What commands may write (written_ranges.c) ---------------------------------------------- */

struct capture_written_range {
    struct hal_buffer *buffer; /* alive while the command buffer is */
    uint64_t id, begin, end;
    uint64_t at;    /* of its copy */
    uint32_t state; /* enum trace_written_state */
};

struct capture_written_ranges {
    struct capture_written_range *list; /* by buffer and offset, apart */
    size_t count, capacity;
    bool failed; /* memory was out: some are missing */
};

/* Of all command buffers: of a kernel, the bindings that the driver knows it to write, and all
 * where it cannot tell. */
void capture_written_ranges_find(struct hal_command_buffer *const *commands, size_t count,
                                 struct capture_written_ranges *out_writes);
void capture_written_ranges_of_range(struct hal_buffer *buffer, uint64_t offset, uint64_t bytes,
                                     struct capture_written_ranges *out_writes);
/* Both give up the digest where they meet. */
void capture_written_ranges_share(struct capture_written_ranges *a,
                                  struct capture_written_ranges *b);
void capture_written_ranges_finish(struct capture_written_ranges *writes);

/* ---- Copies -------------------------------------------------------------------------------- */

struct capture_outputs {
    bool wanted;
    pthread_mutex_t copies_lock;
    struct capture_copies *copies; /* those that the driver may still use, and those to use again */
    uint64_t copy_bytes, most_copy_bytes; /* of memory for copies, in use or not; the limit */
    struct hal_semaphore *cleared;        /* the driver's; NULL: not needed yet */
    uint64_t cleared_value;
};

/* Ranges whose copies would need more than `most_copy_bytes` at once get no digest. */
void capture_outputs_init(struct capture_outputs *outputs, bool wanted, uint64_t most_copy_bytes);
/* No work is in flight. */
void capture_outputs_finish(struct capture *capture);

/* Gives back the memory that no submission in flight needs. */
void capture_outputs_trim(struct capture *capture);

/* Fills a new buffer, which the application does not know yet, with zeros. Blocks for a moment. */
enum hal_status capture_outputs_clear(struct capture *capture,
                                      struct hal_buffer *buffer) HAL_CHECKED;

/* Adds the copies to what is handed in next. wrapped->commands is then a list that
 * capture_outputs_handed_in frees, when the driver has taken it or not. */
void capture_outputs_prepare(struct capture *capture, struct capture_submission *entry,
                             struct hal_submission *wrapped);
void capture_outputs_handed_in(struct hal_submission *wrapped,
                               const struct hal_submission *submission);

/* The work has ended; before that is recorded. `thread` NULL: nothing is recorded. */
void capture_outputs_retire(struct capture *capture, struct capture_thread *thread,
                            struct capture_submission *entry, bool works);

#endif
