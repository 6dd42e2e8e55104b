/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers byte sequences: equal sequences get the same number, from 1, without gaps. Lookups of
 * known sequences take no lock; insertions do. Any thread may use a table. */
#ifndef CAPTURE_TABLE_H
#define CAPTURE_TABLE_H

#include "hal/base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_table_entry;

struct capture_table {
    _Atomic(struct capture_table_entry *) *buckets;
    uint32_t bucket_mask;
    uint32_t limit; /* the largest number */
    pthread_mutex_t entries_lock;
    uint32_t count;
};

/* `bucket_count` is a power of two. */
enum hal_status capture_table_init(struct capture_table *table, uint32_t bucket_count,
                                   uint32_t limit) HAL_CHECKED;
void capture_table_finish(struct capture_table *table);

/* The number of the bytes; *out_new: this call assigned it. 0: full, or out of memory. */
uint32_t capture_table_number(struct capture_table *table, const void *bytes, size_t length,
                              bool *out_new);

/* The same without inserting; 0: unknown. */
uint32_t capture_table_find(const struct capture_table *table, const void *bytes, size_t length);

#endif
