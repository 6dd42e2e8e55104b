/* SPDX-License-Identifier: Apache-2.0 */
/* Claiming and recycling staging memory. */
#include "capture/staging.h"

#include "hal/base/mem.h"

enum { first_commit_bytes = 4 << 20 };

static uint64_t claim_bytes(uint64_t bytes)
{
    return hal_align_up(bytes, CAPTURE_STAGING_ALIGNMENT);
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static enum hal_status commit_up_to(struct capture_staging *staging, uint64_t wanted)
{
    struct trace_sidecar_header *header = staging->sidecar->header;
    const uint64_t have = atomic_load_explicit(&header->staging_committed, memory_order_relaxed);
    if (wanted <= have)
        return HAL_OK;
    const uint64_t doubled = have ? 2 * have : first_commit_bytes;
    const uint64_t grown = min_u64(doubled > wanted ? doubled : wanted, staging->bytes);
    const uint64_t end = min_u64(hal_align_up(grown, 1 << 16), staging->bytes);
    HAL_TRY(capture_sidecar_commit(staging->sidecar, header->staging_offset + have, end - have));
    capture_sidecar_prefault(staging->base + have, end - have);
    atomic_store_explicit(&header->staging_committed, end, memory_order_release);
    return HAL_OK;
}

enum hal_status capture_staging_init(struct capture_staging *staging,
                                     const struct capture_sidecar *sidecar)
{
    const struct trace_sidecar_header *header = sidecar->header;
    memset(staging, 0, sizeof *staging);
    HAL_TRY(capture_sidecar_map_twice(sidecar, header->staging_offset, header->staging_bytes,
                                      &staging->base));
    staging->sidecar = sidecar;
    staging->bytes = header->staging_bytes;
    /* Position 0 is never given out: in a record it means "no contents". */
    atomic_store(&sidecar->header->staging_head, staging->bytes);
    atomic_store(&sidecar->header->staging_tail, staging->bytes);
    pthread_mutex_init(&staging->commit_lock, NULL);
    return HAL_OK;
}

void capture_staging_finish(struct capture_staging *staging)
{
    if (!staging->base)
        return;
    capture_sidecar_unmap_twice(staging->base, staging->bytes);
    pthread_mutex_destroy(&staging->commit_lock);
    free(staging->released);
    staging->base = NULL;
}

uint64_t capture_staging_claim(struct capture_staging *staging, uint64_t bytes)
{
    return atomic_fetch_add_explicit(&staging->sidecar->header->staging_head, claim_bytes(bytes),
                                     memory_order_acq_rel);
}

bool capture_staging_ready(const struct capture_staging *staging, uint64_t position, uint64_t bytes)
{
    const uint64_t tail =
        atomic_load_explicit(&staging->sidecar->header->staging_tail, memory_order_acquire);
    return position + claim_bytes(bytes) - tail <= staging->bytes;
}

static uint64_t commit_end(const struct capture_staging *staging, uint64_t position, uint64_t bytes)
{
    return min_u64(position % staging->bytes + claim_bytes(bytes), staging->bytes);
}

bool capture_staging_has_memory(const struct capture_staging *staging, uint64_t position,
                                uint64_t bytes)
{
    return commit_end(staging, position, bytes) <=
           atomic_load_explicit(&staging->sidecar->header->staging_committed, memory_order_acquire);
}

enum hal_status capture_staging_commit(struct capture_staging *staging, uint64_t position,
                                       uint64_t bytes)
{
    pthread_mutex_lock(&staging->commit_lock);
    const enum hal_status status = commit_up_to(staging, commit_end(staging, position, bytes));
    pthread_mutex_unlock(&staging->commit_lock);
    return status;
}

/* ---- The writer's side ---- */

static void swap_ranges(struct capture_staging_range *a, struct capture_staging_range *b)
{
    const struct capture_staging_range kept = *a;
    *a = *b;
    *b = kept;
}

static void heap_push(struct capture_staging *staging, struct capture_staging_range range)
{
    struct capture_staging_range *heap = staging->released;
    size_t at = staging->released_count++;
    heap[at] = range;
    for (; at > 0 && heap[at].position < heap[(at - 1) / 2].position; at = (at - 1) / 2)
        swap_ranges(&heap[at], &heap[(at - 1) / 2]);
}

static void heap_pop(struct capture_staging *staging)
{
    struct capture_staging_range *heap = staging->released;
    const size_t count = --staging->released_count;
    heap[0] = heap[count];
    for (size_t at = 0, child = 1; child < count; at = child, child = 2 * at + 1) {
        if (child + 1 < count && heap[child + 1].position < heap[child].position)
            child++;
        if (heap[at].position <= heap[child].position)
            return;
        swap_ranges(&heap[at], &heap[child]);
    }
}

enum hal_status capture_staging_release(struct capture_staging *staging, uint64_t position,
                                        uint64_t bytes)
{
    void *array = staging->released;
    const bool grown = hal_grow(&array, &staging->released_capacity, staging->released_count + 1,
                                sizeof *staging->released);
    staging->released = array;
    if (!grown)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu ranges of released contents",
                        staging->released_count + 1);
    heap_push(staging,
              (struct capture_staging_range){.position = position, .bytes = claim_bytes(bytes)});
    return HAL_OK;
}

/* When nothing is in use, begins again at the start of the memory, which is already there and
 * probably in the cache: the memory that was ever touched stays as small as the bursts are. */
static uint64_t restart(struct capture_staging *staging, uint64_t tail)
{
    const uint64_t offset = tail % staging->bytes;
    uint64_t expected = tail;
    const uint64_t next = tail + (staging->bytes - offset);
    if (offset &&
        atomic_compare_exchange_strong(&staging->sidecar->header->staging_head, &expected, next))
        return next;
    return tail;
}

void capture_staging_recycle(struct capture_staging *staging)
{
    struct trace_sidecar_header *header = staging->sidecar->header;
    uint64_t tail = atomic_load_explicit(&header->staging_tail, memory_order_relaxed);
    while (staging->released_count && staging->released[0].position == tail) {
        tail += staging->released[0].bytes;
        heap_pop(staging);
    }
    if (staging->released_count == 0)
        tail = restart(staging, tail);
    atomic_store_explicit(&header->staging_tail, tail, memory_order_release);
}

uint64_t capture_staging_used(const struct capture_staging *staging)
{
    const struct trace_sidecar_header *header = staging->sidecar->header;
    const uint64_t tail = atomic_load_explicit(&header->staging_tail, memory_order_relaxed);
    return atomic_load_explicit(&header->staging_head, memory_order_relaxed) - tail;
}
