/* SPDX-License-Identifier: Apache-2.0 */
/* A lock-free pool of equally sized entries that any thread may take and return; it allocates only
 * while it grows. All memory is freed with the pool. */
#ifndef CAPTURE_POOL_H
#define CAPTURE_POOL_H

#include "hal/base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { CAPTURE_POOL_BLOCKS = 24 };

struct capture_pool {
    size_t entry_bytes;           /* including the pool's own head */
    _Atomic uint64_t free_head;   /* change count << 32 | index + 1 of the first free entry */
    _Atomic uint32_t used, there; /* entries ever used, and entries with memory */
    pthread_mutex_t blocks_lock;
    /* Block i holds 64 << i entries. */
    _Atomic(uint8_t *) blocks[CAPTURE_POOL_BLOCKS];
};

void capture_pool_init(struct capture_pool *pool, size_t entry_bytes);
void capture_pool_finish(struct capture_pool *pool);

/* An entry with unspecified contents, aligned to 16 bytes; NULL if out of memory. */
void *capture_pool_take(struct capture_pool *pool);
void capture_pool_give(struct capture_pool *pool, void *user);

#endif
