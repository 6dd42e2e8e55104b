/* SPDX-License-Identifier: Apache-2.0 */
/* Claiming and recycling staging memory. */
#include "capture/stream/staging.h"

#include "hal/base/mem.h"

#include <unistd.h>

/* Less than this is not worth a call of its own: memory comes in blocks then. */
enum {
    SMALL_BYTES = 16 << 10,
    BLOCK_BYTES = 64 << 10,
    LARGE_BYTES = 4 * CAPTURE_LARGE_PAGE_BYTES,
    LARGE_SHARE = 8, /* of the staging, which is small where there is little room */
    WORD_BITS = 64,
};

static uint64_t claim_bytes(uint64_t bytes)
{
    return hal_align_up(bytes, CAPTURE_STAGING_ALIGNMENT);
}

enum hal_status capture_staging_init(struct capture_staging *staging,
                                     const struct capture_sidecar *sidecar)
{
    const struct trace_sidecar_header *header = sidecar->header;
    memset(staging, 0, sizeof *staging);
    staging->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t pages = header->staging_bytes / staging->page_bytes;
    staging->present = hal_alloc((size_t)(pages / WORD_BITS + 1), sizeof *staging->present);
    if (!staging->present)
        return hal_fail(HAL_NO_MEMORY, "no memory for the staging's pages");
    const enum hal_status status = capture_sidecar_map_twice(sidecar, header->staging_offset,
                                                             header->staging_bytes, &staging->base);
    if (status != HAL_OK) {
        free(staging->present);
        return status;
    }
    staging->sidecar = sidecar;
    staging->bytes = header->staging_bytes;
    /* Position 0 is never given out: in a record it means "no contents". */
    atomic_store(&sidecar->header->staging_head, staging->bytes);
    atomic_store(&sidecar->header->staging_tail, staging->bytes);
    return HAL_OK;
}

void capture_staging_finish(struct capture_staging *staging)
{
    if (!staging->base)
        return;
    capture_sidecar_unmap_twice(staging->base, staging->bytes);
    free(staging->present);
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

/* ---- Memory ---- */

/* Pages are numbered round and round, as positions are. */
struct pages {
    uint64_t first, end;
};

static struct pages pages_of(const struct capture_staging *staging, uint64_t position,
                             uint64_t bytes)
{
    const uint64_t offset = position % staging->bytes;
    return (struct pages){offset / staging->page_bytes,
                          (offset + bytes + staging->page_bytes - 1) / staging->page_bytes};
}

static _Atomic uint64_t *word_of(const struct capture_staging *staging, uint64_t page,
                                 uint64_t *out_bit)
{
    page %= staging->bytes / staging->page_bytes;
    *out_bit = (uint64_t)1 << page % WORD_BITS;
    return &staging->present[page / WORD_BITS];
}

static bool are_present(const struct capture_staging *staging, struct pages pages)
{
    uint64_t bit;
    for (uint64_t page = pages.first; page < pages.end; page++) {
        const _Atomic uint64_t *word = word_of(staging, page, &bit);
        if (!(atomic_load_explicit(word, memory_order_acquire) & bit))
            return false;
    }
    return true;
}

static void set_present(struct capture_staging *staging, struct pages pages)
{
    uint64_t bit;
    for (uint64_t page = pages.first; page < pages.end; page++) {
        _Atomic uint64_t *word = word_of(staging, page, &bit);
        atomic_fetch_or_explicit(word, bit, memory_order_release);
    }
}

/* Written as a file the memory comes with its contents in it: it is neither cleared first nor
 * faulted in page by page. But only one thread at a time can write a file. */
static bool write_through(const struct capture_staging *staging, uint64_t position,
                          const uint8_t *data, uint64_t bytes)
{
    const uint64_t offset = position % staging->bytes;
    const uint64_t first = hal_min_u64(bytes, staging->bytes - offset);
    const uint64_t base = staging->sidecar->header->staging_offset;
    return capture_sidecar_write(staging->sidecar, base + offset, data, first) &&
           capture_sidecar_write(staging->sidecar, base, data + first, bytes - first);
}

static enum hal_status commit(const struct capture_staging *staging, uint64_t offset,
                              uint64_t bytes)
{
    if (bytes == 0)
        return HAL_OK;
    HAL_TRY(capture_sidecar_commit(staging->sidecar,
                                   staging->sidecar->header->staging_offset + offset, bytes));
    capture_sidecar_prefault(staging->base + offset, bytes);
    return HAL_OK;
}

/* The blocks that contain the range. */
static enum hal_status commit_blocks(struct capture_staging *staging, uint64_t position,
                                     uint64_t bytes)
{
    const uint64_t offset = position % staging->bytes, end = offset + bytes;
    const uint64_t begin = offset / BLOCK_BYTES * BLOCK_BYTES;
    const uint64_t stop = hal_min_u64(hal_align_up(end, BLOCK_BYTES), staging->bytes);
    const uint64_t rest = end > staging->bytes ? end - staging->bytes : 0;
    const uint64_t around = hal_min_u64(hal_align_up(rest, BLOCK_BYTES), staging->bytes);
    HAL_TRY(commit(staging, begin, stop - begin));
    HAL_TRY(commit(staging, 0, around));
    set_present(staging, pages_of(staging, begin, stop - begin));
    set_present(staging, pages_of(staging, 0, around));
    return HAL_OK;
}

void capture_staging_prepare(struct capture_staging *staging, uint64_t position, uint64_t bytes)
{
    if (!are_present(staging, pages_of(staging, position, bytes)))
        (void)commit_blocks(staging, position, bytes);
}

/* Without large pages, preparing is no cheaper than allocating on use. And where space is scarce,
 * memory that may never be needed is not taken: other captures share it. */
void capture_staging_prepare_large(struct capture_staging *staging)
{
    if (staging->bytes >= LARGE_SHARE * LARGE_BYTES &&
        capture_sidecar_commit_large(staging->sidecar, staging->sidecar->header->staging_offset,
                                     LARGE_BYTES))
        set_present(staging, pages_of(staging, 0, LARGE_BYTES));
}

enum hal_status capture_staging_put(struct capture_staging *staging, uint64_t position,
                                    const void *data, uint64_t bytes, bool beside)
{
    const struct pages pages = pages_of(staging, position, bytes);
    if (!are_present(staging, pages)) {
        if (!beside && bytes >= SMALL_BYTES && write_through(staging, position, data, bytes)) {
            set_present(staging, pages);
            return HAL_OK;
        }
        HAL_TRY(commit_blocks(staging, position, bytes));
    }
    memcpy(capture_staging_at(staging, position), data, bytes);
    return HAL_OK;
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
    const bool grown =
        HAL_GROW(staging->released, &staging->released_capacity, staging->released_count + 1);
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
