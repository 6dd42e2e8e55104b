/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded memory in which contents wait for the writer.
 *
 * Any thread claims a range with one atomic addition, copies into it, and publishes the range's
 * position in a record. Positions only increase; a byte's address is its position modulo the size,
 * and the memory is mapped twice, so ranges never wrap. The writer releases ranges in any order;
 * memory is reused in position order.
 *
 * A thread publishes its claim before it claims more, and waits only for the writer in between:
 * otherwise threads could deadlock. Nothing here blocks; the stream decides what to do while a
 * claim is not ready. */
#ifndef CAPTURE_STAGING_H
#define CAPTURE_STAGING_H

#include "capture/stream/sidecar.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Alignment of claims, and of parts of claims that are released separately. */
enum { CAPTURE_STAGING_ALIGNMENT = 64 };

struct capture_staging_range {
    uint64_t position, bytes;
};

struct capture_staging {
    const struct capture_sidecar *sidecar;
    uint8_t *base;
    uint64_t bytes;
    uint64_t page_bytes;
    _Atomic uint64_t *present; /* one bit per page that has memory */
    /* Writer: ranges released out of order, a heap by position. */
    struct capture_staging_range *released;
    size_t released_count, released_capacity;
};

enum hal_status capture_staging_init(struct capture_staging *staging,
                                     const struct capture_sidecar *sidecar) HAL_CHECKED;
void capture_staging_finish(struct capture_staging *staging);

/* Claims the next `bytes` (at least 1, at most the staging's size) and returns their position. */
uint64_t capture_staging_claim(struct capture_staging *staging, uint64_t bytes);

/* Whether the claimed range is free of older contents. */
bool capture_staging_ready(const struct capture_staging *staging, uint64_t position,
                           uint64_t bytes);

/* Copies into the ready range. Allocates memory that it never had, which may block in the system;
 * otherwise overwrites. `beside`: slower, but lets other threads allocate meanwhile. HAL_NO_MEMORY;
 * HAL_IO as capture_sidecar_commit. */
enum hal_status capture_staging_put(struct capture_staging *staging, uint64_t position,
                                    const void *data, uint64_t bytes, bool beside) HAL_CHECKED;

/* Any thread. Allocates missing pages of the range. Failures are reported on putting. */
void capture_staging_prepare(struct capture_staging *staging, uint64_t position, uint64_t bytes);

/* Call before any claim: allocates large pages for the first contents, where each new start places
 * them. Does nothing if there are no large pages or the staging is small. */
void capture_staging_prepare_large(struct capture_staging *staging);

static inline uint8_t *capture_staging_at(const struct capture_staging *staging, uint64_t position)
{
    return staging->base + position % staging->bytes;
}

/* Writer: the range is no longer needed. HAL_NO_MEMORY: it cannot be remembered. */
enum hal_status capture_staging_release(struct capture_staging *staging, uint64_t position,
                                        uint64_t bytes) HAL_CHECKED;

/* Writer: makes everything released reusable. */
void capture_staging_recycle(struct capture_staging *staging);

/* Bytes claimed and not yet reusable. */
uint64_t capture_staging_used(const struct capture_staging *staging);

#endif
