/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded memory in which contents wait for the writer.
 *
 * Any thread claims a range with one atomic addition, copies into it, and publishes the range's
 * position in a record. Positions only rise; a byte lies at position modulo the size, and the
 * memory is mapped twice, so ranges never wrap. The writer releases ranges in any order; memory is
 * used again in the order of positions.
 *
 * A thread publishes what it claimed before it claims more, and without waiting for anything but
 * the writer: otherwise threads could wait for each other. Nothing here waits; what to do while a
 * claim is not ready is the stream's. */
#ifndef CAPTURE_STAGING_H
#define CAPTURE_STAGING_H

#include "capture/stream/sidecar.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Claims begin and end at multiples of it: one may be released in parts that do so, too. */
enum { CAPTURE_STAGING_ALIGNMENT = 64 };

struct capture_staging_range {
    uint64_t position, bytes;
};

struct capture_staging {
    const struct capture_sidecar *sidecar;
    uint8_t *base;
    uint64_t bytes;
    uint64_t page_bytes;
    _Atomic uint64_t *present; /* a bit for each page that has memory */
    /* The writer's: released ranges whose turn has not come, a heap by position. */
    struct capture_staging_range *released;
    size_t released_count, released_capacity;
};

enum hal_status capture_staging_init(struct capture_staging *staging,
                                     const struct capture_sidecar *sidecar) HAL_CHECKED;
void capture_staging_finish(struct capture_staging *staging);

/* Takes the next `bytes` (at least 1, at most the staging's size) and returns their position. */
uint64_t capture_staging_claim(struct capture_staging *staging, uint64_t bytes);

/* True once the claimed range is free of older contents. */
bool capture_staging_ready(const struct capture_staging *staging, uint64_t position,
                           uint64_t bytes);

/* Copies into the ready range. What never had memory gets it now, which the system may block for;
 * what lies there otherwise is only written over. `beside`: so that others get memory meanwhile,
 * which takes longer. HAL_NO_MEMORY; HAL_IO as capture_sidecar_commit. */
enum hal_status capture_staging_put(struct capture_staging *staging, uint64_t position,
                                    const void *data, uint64_t bytes, bool beside) HAL_CHECKED;

/* Gets memory for what never had any of the range, whole pages, if the system has it: else whoever
 * puts something there is told. By any thread. */
void capture_staging_prepare(struct capture_staging *staging, uint64_t position, uint64_t bytes);

/* Before anybody claims: memory in large pages for the first contents, which lie where those of
 * each new start do. Nothing where the system has none, or the staging is small. */
void capture_staging_prepare_large(struct capture_staging *staging);

static inline uint8_t *capture_staging_at(const struct capture_staging *staging, uint64_t position)
{
    return staging->base + position % staging->bytes;
}

/* Writer: the range is no longer needed. HAL_NO_MEMORY: the memory for remembering it is out. */
enum hal_status capture_staging_release(struct capture_staging *staging, uint64_t position,
                                        uint64_t bytes) HAL_CHECKED;

/* Writer: everything released becomes usable. */
void capture_staging_recycle(struct capture_staging *staging);

/* Bytes claimed and not yet usable again. */
uint64_t capture_staging_used(const struct capture_staging *staging);

#endif
