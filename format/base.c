/* SPDX-License-Identifier: Apache-2.0 */
#include "format/base.h"

#include "format/reader.h"

#include <stdlib.h>

struct trace_base_entry {
    uint8_t sha256[32];
    uint64_t number;
};

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct trace_base_entry *)a)->sha256,
                  ((const struct trace_base_entry *)b)->sha256, 32);
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
            if (trace_blob_is_elsewhere(blobs, i))
                continue;
            struct trace_base_entry *entry = &base->entries[base->count++];
            memcpy(entry->sha256, blobs->sha256.data + 32 * i, 32);
            entry->number = blobs->first + i;
        }
    }
    qsort(base->entries, base->count, sizeof *base->entries, compare);
    return HAL_OK;
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

uint64_t trace_base_find(const struct trace_base *base, const uint8_t sha256[32])
{
    struct trace_base_entry wanted;
    if (!base->count)
        return 0;
    memcpy(wanted.sha256, sha256, 32);
    const struct trace_base_entry *found =
        bsearch(&wanted, base->entries, base->count, sizeof *base->entries, compare);
    return found ? found->number : 0;
}
