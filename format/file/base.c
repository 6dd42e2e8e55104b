/* SPDX-License-Identifier: Apache-2.0 */
#include "format/file/base.h"

#include "format/file/reader.h"
#include "hal/base/order.h"

#include <stdlib.h>

struct trace_base_entry {
    uint64_t bytes;
    uint64_t number;
    bool has_digests; /* all entries of this size are sorted: */
    bool is_damaged;  /* those that cannot be read first, the others by digest */
    uint8_t sha256[32];
};

/* The entries of one size. */
struct range {
    struct trace_base_entry *first;
    size_t count;
};

static int compare_sizes(const void *a, const void *b)
{
    const uint64_t left = TRACE_AS(trace_base_entry, a)->bytes;
    const uint64_t right = TRACE_AS(trace_base_entry, b)->bytes;
    return (left > right) - (left < right);
}

static int compare_digests(const void *a, const void *b)
{
    const struct trace_base_entry *left = a, *right = b;
    if (left->is_damaged != right->is_damaged)
        return left->is_damaged ? -1 : 1;
    return memcmp(left->sha256, right->sha256, sizeof left->sha256);
}

static enum hal_status list_contents(struct trace_base *base)
{
    const struct trace_directory *directory = &base->reader->directory;
    base->entries = hal_alloc(directory->content_count, sizeof *base->entries);
    if (!base->entries)
        return hal_fail(HAL_NO_MEMORY, "no memory for a list of %llu contents",
                        (unsigned long long)directory->content_count);
    for (size_t f = 0; f < directory->blobs_count; f++) {
        const Haltrace__Blobs *blobs = directory->blobs[f].blobs;
        for (size_t i = 0; i < blobs->n_size; i++) {
            if (!trace_blob_is_elsewhere(blobs, i))
                base->entries[base->count++] =
                    (struct trace_base_entry){.bytes = blobs->size[i], .number = blobs->first + i};
        }
    }
    qsort(base->entries, base->count, sizeof *base->entries, compare_sizes);
    return HAL_OK;
}

/* How many entries are smaller. */
static size_t count_below(const struct trace_base *base, uint64_t bytes)
{
    size_t low = 0, high = base->count;
    HAL_BISECT(low, high, middle, base->entries[middle].bytes < bytes)
    return low;
}

static struct range range_of(const struct trace_base *base, uint64_t bytes)
{
    const size_t first = count_below(base, bytes);
    return (struct range){base->entries + first, count_below(base, bytes + 1) - first};
}

/* Once for each size asked for: a file may lack digests, and another size is another content. */
static void learn_digests(const struct trace_base *base, struct range range)
{
    for (size_t i = 0; i < range.count; i++) {
        struct trace_base_entry *entry = &range.first[i];
        entry->is_damaged = trace_reader_content_info(base->reader, entry->number, &entry->bytes,
                                                      entry->sha256) != HAL_OK;
        if (entry->is_damaged)
            memset(entry->sha256, 0, sizeof entry->sha256);
        entry->has_digests = true;
    }
    qsort(range.first, range.count, sizeof *range.first, compare_digests);
}

static struct range known_range(const struct trace_base *base, uint64_t bytes)
{
    const struct range range = range_of(base, bytes);
    if (range.count && !range.first->has_digests)
        learn_digests(base, range);
    return range;
}

enum hal_status trace_base_open(const char *path, struct trace_base *out_base)
{
    *out_base = (struct trace_base){0};
    HAL_TRY(trace_reader_open(path, &out_base->reader));
    const enum hal_status status = list_contents(out_base);
    if (status != HAL_OK)
        trace_base_close(out_base);
    return status;
}

void trace_base_close(struct trace_base *base)
{
    trace_reader_close(base->reader);
    free(base->entries);
    *base = (struct trace_base){0};
}

bool trace_base_has_size(const struct trace_base *base, uint64_t bytes)
{
    return range_of(base, bytes).count > 0;
}

uint64_t trace_base_find(const struct trace_base *base, const uint8_t sha256[32], uint64_t bytes)
{
    struct trace_base_entry wanted = {0};
    const struct range range = known_range(base, bytes);
    if (!range.count)
        return 0;
    memcpy(wanted.sha256, sha256, sizeof wanted.sha256);
    const struct trace_base_entry *found =
        bsearch(&wanted, range.first, range.count, sizeof *range.first, compare_digests);
    return found ? found->number : 0;
}

uint64_t trace_base_find_damaged(const struct trace_base *base, uint64_t bytes)
{
    const struct range range = known_range(base, bytes);
    return range.count && range.first->is_damaged ? range.first->number : 0;
}
