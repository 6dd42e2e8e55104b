/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of transient memory: cutting, joining neighbours, and the deallocas that free them. */
#include "hal/core/pool/pool_block.h"

#include "hal/base/mem.h"

/* A block that comes after more deallocas is not joined with its neighbour. */
enum { MOST_RELEASES = 32 };

/* ---- Releases ----------------------------------------------------------------------------- */

enum hal_release_state hal_pool_release_state(const struct hal_pool_release *release)
{
    return atomic_load_explicit(&release->state, memory_order_acquire);
}

void hal_pool_drop(struct hal_pool *pool, struct hal_pool_release *release)
{
    if (--release->references > 0)
        return;
    hal_pool_orphan(pool, release);
}

void hal_pool_orphan(struct hal_pool *pool, struct hal_pool_release *release)
{
    release->next = NULL;
    if (pool->orphans)
        pool->last_orphan->next = release;
    else
        pool->orphans = release;
    pool->last_orphan = release;
}

static bool is_covered(const struct hal_pool_release *release,
                       const struct hal_semaphore_value *waits, size_t wait_count)
{
    for (size_t i = 0; i < release->signal_count; i++) {
        for (size_t k = 0; k < wait_count; k++) {
            if (waits[k].semaphore->object.id == release->signals[i].semaphore &&
                waits[k].value >= release->signals[i].value)
                return true;
        }
    }
    return false;
}

bool hal_block_is_free_for(const struct hal_pool_block *block,
                           const struct hal_semaphore_value *waits, size_t wait_count,
                           struct hal_question *question)
{
    for (size_t i = 0; i < block->after_count; i++) {
        const struct hal_pool_release *release = block->after[i];
        const enum hal_release_state state = hal_pool_release_state(release);
        if (state == HAL_RELEASE_FAILED)
            return false;
        if (state == HAL_RELEASE_PENDING && !is_covered(release, waits, wait_count) &&
            !(question && hal_question_ask(question, release->semaphore, release->value)))
            return false;
    }
    return true;
}

bool hal_block_add_after(struct hal_pool_block *block, struct hal_pool_release *release)
{
    if (!HAL_GROW(block->after, &block->after_capacity, block->after_count + 1))
        return false;
    block->after[block->after_count++] = release;
    release->references++;
    return true;
}

void hal_block_clear_after(struct hal_pool *pool, struct hal_pool_block *block)
{
    for (size_t i = 0; i < block->after_count; i++)
        hal_pool_drop(pool, block->after[i]);
    block->after_count = 0;
}

static bool comes_after(const struct hal_pool_block *block, const struct hal_pool_release *release)
{
    for (size_t i = 0; i < block->after_count; i++) {
        const struct hal_pool_release *own = block->after[i];
        if (own == release)
            return true;
        for (size_t k = 0; k < own->covered_count; k++) {
            if (own->covered[k] == release->id)
                return true;
        }
    }
    return false;
}

/* ---- Blocks ------------------------------------------------------------------------------- */

static struct hal_pool_bin *bin_of(struct hal_pool *pool, const struct hal_pool_block *block)
{
    return &pool->bins[63 - __builtin_clzll(block->bytes)];
}

void hal_block_enter_bin(struct hal_pool *pool, struct hal_pool_block *block)
{
    struct hal_pool_bin *bin = bin_of(pool, block);
    block->next_free = NULL;
    block->previous_free = bin->newest;
    if (bin->newest)
        bin->newest->next_free = block;
    else
        bin->oldest = block;
    bin->newest = block;
}

void hal_block_leave_bin(struct hal_pool *pool, struct hal_pool_block *block)
{
    struct hal_pool_bin *bin = bin_of(pool, block);
    if (block->previous_free)
        block->previous_free->next_free = block->next_free;
    else
        bin->oldest = block->next_free;
    if (block->next_free)
        block->next_free->previous_free = block->previous_free;
    else
        bin->newest = block->previous_free;
}

void hal_block_free(struct hal_pool_block *block)
{
    free(block->after);
    free(block->covered);
    free(block);
}

bool hal_block_split(struct hal_pool *pool, struct hal_pool_block *block, uint64_t bytes)
{
    if (block->bytes == bytes)
        return true;
    struct hal_pool_block *rest = hal_alloc(1, sizeof *rest);
    if (!rest)
        return false;
    *rest = (struct hal_pool_block){.next = block->next,
                                    .previous = block,
                                    .slab = block->slab,
                                    .offset = block->offset + bytes,
                                    .bytes = block->bytes - bytes,
                                    .state = HAL_BLOCK_FREE};
    for (size_t i = 0; i < block->after_count; i++) {
        if (!hal_block_add_after(rest, block->after[i])) {
            hal_block_clear_after(pool, rest);
            hal_block_free(rest);
            return false;
        }
    }
    if (rest->next)
        rest->next->previous = rest;
    block->next = rest;
    block->bytes = bytes;
    hal_block_enter_bin(pool, rest);
    return true;
}

bool hal_block_join_next(struct hal_pool *pool, struct hal_pool_block *block)
{
    struct hal_pool_block *next = block->next;
    if (!next || next->state != HAL_BLOCK_FREE || block->state != HAL_BLOCK_FREE)
        return false;
    struct hal_pool_block joined = {0};
    bool fits = true;
    for (size_t i = 0; fits && i < block->after_count; i++) {
        if (!comes_after(next, block->after[i]))
            fits = hal_block_add_after(&joined, block->after[i]);
    }
    for (size_t i = 0; fits && i < next->after_count; i++) {
        if (!comes_after(&joined, next->after[i]))
            fits = hal_block_add_after(&joined, next->after[i]);
    }
    if (!fits || joined.after_count > MOST_RELEASES) {
        for (size_t i = 0; i < joined.after_count; i++)
            joined.after[i]->references--;
        free(joined.after);
        return false;
    }
    hal_block_leave_bin(pool, block);
    hal_block_leave_bin(pool, next);
    hal_block_clear_after(pool, block);
    hal_block_clear_after(pool, next);
    free(block->after);
    block->after = joined.after;
    block->after_count = joined.after_count;
    block->after_capacity = joined.after_capacity;
    block->bytes += next->bytes;
    block->next = next->next;
    if (next->next)
        next->next->previous = block;
    hal_block_free(next);
    hal_block_enter_bin(pool, block);
    return true;
}

void hal_block_join(struct hal_pool *pool, struct hal_pool_block *block)
{
    struct hal_pool_block *previous = block->previous;
    (void)hal_block_join_next(pool, block);
    if (previous)
        (void)hal_block_join_next(pool, previous);
}
