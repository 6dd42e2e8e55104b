/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of the pool (pool.h). All functions but the first expect the pool's lock. */
#ifndef HAL_POOL_BLOCK_H
#define HAL_POOL_BLOCK_H

#include "hal/core/pool/pool.h"

enum hal_release_state hal_pool_release_state(const struct hal_pool_release *release);

/* One reference less; without any the release becomes an orphan. */
void hal_pool_drop(struct hal_pool *pool, struct hal_pool_release *release);
void hal_pool_orphan(struct hal_pool *pool, struct hal_pool_release *release);

/* For somebody who waits for `waits`: all deallocas before are over, or among them, or, with a
 * question, come without help. */
bool hal_block_is_free_for(const struct hal_pool_block *block,
                           const struct hal_semaphore_value *waits, size_t wait_count,
                           struct hal_question *question);

/* Refers to the release; false: no memory. */
bool hal_block_add_after(struct hal_pool_block *block, struct hal_pool_release *release);
void hal_block_clear_after(struct hal_pool *pool, struct hal_pool_block *block);

/* The struct, with nothing that it comes after. */
void hal_block_free(struct hal_pool_block *block);

/* Into the bin of its size, as the newest there, and out of it. */
void hal_block_enter_bin(struct hal_pool *pool, struct hal_pool_block *block);
void hal_block_leave_bin(struct hal_pool *pool, struct hal_pool_block *block);

/* Cuts a block that is in no bin behind `bytes`; what is left over is free as the block was, and in
 * its bin. False: no memory. */
bool hal_block_split(struct hal_pool *pool, struct hal_pool_block *block, uint64_t bytes);

/* Joins a free block, in its bin, with free neighbours, where what all come after is known and
 * short; with the one behind it alone: false, it did not. */
void hal_block_join(struct hal_pool *pool, struct hal_pool_block *block);
bool hal_block_join_next(struct hal_pool *pool, struct hal_pool_block *block);

#endif
