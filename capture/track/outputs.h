/* SPDX-License-Identifier: Apache-2.0 */
/* Digests of what each submission wrote, for `outputs=all`.
 *
 * Each submission gets an additional command buffer, which copies the ranges that the others may
 * write (capture_written_ranges_find) into memory of the capture. When the submission has ended,
 * and before this can be observed, the digests of the copies are recorded. Buffers are initialised
 * to zero, so that bytes never written are the same in a replay.
 *
 * If something else may have written at the same time, the record says so instead of a digest: a
 * concurrent submission, or the host, which has the range mapped persistently for writing. */
#ifndef CAPTURE_OUTPUTS_H
#define CAPTURE_OUTPUTS_H

#include "capture/track/inflight.h"

struct capture;
struct capture_thread;

/* ---- What commands may write (written_ranges.c) ---------------------------------------------- */

struct capture_written_range {
    struct hal_buffer *buffer; /* alive as long as the command buffer */
    uint64_t id, begin, end;
    uint64_t at;    /* position of its copy */
    uint32_t state; /* enum trace_written_state */
};

struct capture_written_ranges {
    struct capture_written_range *list; /* sorted by buffer and offset, disjoint */
    size_t count, capacity;
    bool failed; /* out of memory: some are missing */
};

/* Covers all command buffers: for a kernel, the bindings that the driver knows it to write, or all
 * bindings if the driver does not know. */
void capture_written_ranges_find(struct hal_command_buffer *const *commands, size_t count,
                                 struct capture_written_ranges *out_writes);
void capture_written_ranges_of_range(struct hal_buffer *buffer, uint64_t offset, uint64_t bytes,
                                     struct capture_written_ranges *out_writes);
/* Both lose the digest where they overlap. */
void capture_written_ranges_share(struct capture_written_ranges *a,
                                  struct capture_written_ranges *b);
void capture_written_ranges_finish(struct capture_written_ranges *writes);

/* ---- Copies -------------------------------------------------------------------------------- */

struct capture_outputs {
    bool wanted;
    pthread_mutex_t copies_lock;
    struct capture_copies *copies;        /* in use by the driver, or to be reused */
    uint64_t copy_bytes, most_copy_bytes; /* memory for copies, in use or not; the limit */
    struct hal_semaphore *cleared;        /* the driver's; NULL: not needed yet */
    uint64_t cleared_value;
};

/* Ranges whose copies would take more than `most_copy_bytes` at once get no digest. */
void capture_outputs_init(struct capture_outputs *outputs, bool wanted, uint64_t most_copy_bytes);
/* Call with no work in flight. */
void capture_outputs_finish(struct capture *capture);

/* Frees memory that no submission in flight needs. */
void capture_outputs_trim(struct capture *capture);

/* Fills a new buffer, which the application has not seen yet, with zeros. Blocks briefly. */
enum hal_status capture_outputs_clear(struct capture *capture,
                                      struct hal_buffer *buffer) HAL_CHECKED;

/* Adds the copies to the next submission. wrapped->commands is then a list that
 * capture_outputs_submitted frees, whether or not the driver accepts it. */
void capture_outputs_prepare(struct capture *capture, struct capture_submission *entry,
                             struct hal_submission *wrapped);
void capture_outputs_submitted(struct hal_submission *wrapped,
                               const struct hal_submission *submission);

/* The work has ended; call before that is recorded. `thread` NULL: records nothing. */
void capture_outputs_retire(struct capture *capture, struct capture_thread *thread,
                            struct capture_submission *entry, bool works);

#endif
