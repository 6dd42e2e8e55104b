/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of the pool (pool.h). All functions except the first require the pool's lock. */
#ifndef HAL_POOL_BLOCK_H
#define HAL_POOL_BLOCK_H

#include "hal/core/pool/pool.h"

enum hal_release_state hal_pool_release_state(const struct hal_pool_release *release);

/* Releases one reference; without references the release becomes an orphan. */
void hal_pool_drop(struct hal_pool *pool, struct hal_pool_release *release);
void hal_pool_orphan(struct hal_pool *pool, struct hal_pool_release *release);

/* Whether, for work that waits for `waits`, each earlier dealloca is over or among the waits or,
 * with a question, certain to finish. */
bool hal_block_is_free_for(const struct hal_pool_block *block,
                           const struct hal_semaphore_value *waits, size_t wait_count,
                           struct hal_question *question);

/* Adds a reference to the release; false: out of memory. */
bool hal_block_add_after(struct hal_pool_block *block, struct hal_pool_release *release);
void hal_block_clear_after(struct hal_pool *pool, struct hal_pool_block *block);

/* Frees the struct, which must have no releases. */
void hal_block_free(struct hal_pool_block *block);

/* Puts it into the bin of its size as the newest, and removes it. */
void hal_block_enter_bin(struct hal_pool *pool, struct hal_pool_block *block);
void hal_block_leave_bin(struct hal_pool *pool, struct hal_pool_block *block);

/* Splits a block that is in no bin after `bytes`; the free rest is in its bin. False: no memory. */
bool hal_block_split(struct hal_pool *pool, struct hal_pool_block *block, uint64_t bytes);

/* Merges a free block, in its bin, with free neighbours, where their releases are known and few;
 * the second only with the following one: false, it did not. */
void hal_block_join(struct hal_pool *pool, struct hal_pool_block *block);
bool hal_block_join_next(struct hal_pool *pool, struct hal_pool_block *block);

#endif
