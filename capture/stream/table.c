/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table of chains that only grow at their heads. */
#include "capture/stream/table.h"

#include "hal/base/mem.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

struct capture_table_entry {
    struct capture_table_entry *next;
    uint64_t hash;
    size_t length;
    uint32_t number;
    uint8_t bytes[];
};

enum hal_status capture_table_init(struct capture_table *table, uint32_t bucket_count,
                                   uint32_t limit)
{
    memset(table, 0, sizeof *table);
    table->buckets = hal_alloc(bucket_count, sizeof *table->buckets);
    if (!table->buckets)
        return hal_fail(HAL_NO_MEMORY, "no memory for a table of %u buckets", bucket_count);
    table->bucket_mask = bucket_count - 1;
    table->limit = limit;
    pthread_mutex_init(&table->entries_lock, NULL);
    return HAL_OK;
}

void capture_table_finish(struct capture_table *table)
{
    if (!table->buckets)
        return;
    for (uint32_t i = 0; i <= table->bucket_mask; i++) {
        struct capture_table_entry *entry = atomic_load(&table->buckets[i]);
        while (entry) {
            struct capture_table_entry *next = entry->next;
            free(entry);
            entry = next;
        }
    }
    free(table->buckets);
    table->buckets = NULL;
    pthread_mutex_destroy(&table->entries_lock);
}

static uint32_t find(const struct capture_table_entry *entry, uint64_t hash, const void *bytes,
                     size_t length)
{
    for (; entry; entry = entry->next) {
        if (entry->hash == hash && entry->length == length &&
            memcmp(entry->bytes, bytes, length) == 0)
            return entry->number;
    }
    return 0;
}

static uint32_t insert_locked(struct capture_table *table, uint64_t hash, const void *bytes,
                              size_t length, bool *out_new)
{
    _Atomic(struct capture_table_entry *) *bucket = &table->buckets[hash & table->bucket_mask];
    struct capture_table_entry *first = atomic_load_explicit(bucket, memory_order_relaxed);
    const uint32_t known = find(first, hash, bytes, length);
    if (known)
        return known;
    struct capture_table_entry *entry =
        table->count < table->limit ? malloc(sizeof *entry + length) : NULL;
    if (!entry)
        return 0;
    *entry = (struct capture_table_entry){
        .next = first, .hash = hash, .length = length, .number = ++table->count};
    memcpy(entry->bytes, bytes, length);
    atomic_store_explicit(bucket, entry, memory_order_release);
    *out_new = true;
    return entry->number;
}

static uint32_t find_hashed(const struct capture_table *table, uint64_t hash, const void *bytes,
                            size_t length)
{
    const struct capture_table_entry *first =
        atomic_load_explicit(&table->buckets[hash & table->bucket_mask], memory_order_acquire);
    return find(first, hash, bytes, length);
}

uint32_t capture_table_find(const struct capture_table *table, const void *bytes, size_t length)
{
    return find_hashed(table, XXH3_64bits(bytes, length), bytes, length);
}

uint32_t capture_table_number(struct capture_table *table, const void *bytes, size_t length,
                              bool *out_new)
{
    *out_new = false;
    const uint64_t hash = XXH3_64bits(bytes, length);
    uint32_t number = find_hashed(table, hash, bytes, length);
    if (number)
        return number;
    pthread_mutex_lock(&table->entries_lock);
    number = insert_locked(table, hash, bytes, length, out_new);
    pthread_mutex_unlock(&table->entries_lock);
    return number;
}
