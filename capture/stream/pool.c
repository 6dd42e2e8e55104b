/* SPDX-License-Identifier: Apache-2.0 */
/* A free list of entry numbers: a number and a change count fit into one word, which prevents the
 * ABA problem when taking the first entry. Unused entries are handed out by a counter: their memory
 * is not touched before. */
#include "capture/stream/pool.h"

#include "hal/base/mem.h"

#include <sys/mman.h>

enum { FIRST_BLOCK_ENTRIES = 64, HUGE_PAGE_BYTES = 2 << 20 };

struct entry {
    _Atomic uint32_t next; /* index + 1; 0: none */
    uint32_t index;
    uint64_t padding;
    uint8_t user[];
};

static struct entry *entry_of(void *user)
{
    return (struct entry *)(void *)((uint8_t *)user - sizeof(struct entry));
}

static uint32_t block_first(unsigned block)
{
    return (uint32_t)(FIRST_BLOCK_ENTRIES * ((1u << block) - 1));
}

static struct entry *entry_at(struct capture_pool *pool, uint32_t index)
{
    const unsigned block = 31u - (unsigned)__builtin_clz(index / FIRST_BLOCK_ENTRIES + 1);
    uint8_t *memory = atomic_load_explicit(&pool->blocks[block], memory_order_acquire);
    return (struct entry *)(void *)(memory + (index - block_first(block)) * pool->entry_bytes);
}

void capture_pool_init(struct capture_pool *pool, size_t entry_bytes)
{
    memset(pool, 0, sizeof *pool);
    pool->entry_bytes = hal_align_up(sizeof(struct entry) + entry_bytes, 16);
    pthread_mutex_init(&pool->blocks_lock, NULL);
}

void capture_pool_finish(struct capture_pool *pool)
{
    if (!pool->entry_bytes)
        return;
    for (unsigned i = 0; i < CAPTURE_POOL_BLOCKS; i++)
        free(atomic_load(&pool->blocks[i]));
    pthread_mutex_destroy(&pool->blocks_lock);
    pool->entry_bytes = 0;
}

static uint64_t new_head(uint64_t old, uint32_t first)
{
    return (old & ~(uint64_t)UINT32_MAX) + ((uint64_t)1 << 32) + first;
}

static void push(struct capture_pool *pool, struct entry *entry)
{
    uint64_t head = atomic_load_explicit(&pool->free_head, memory_order_relaxed);
    do
        atomic_store_explicit(&entry->next, (uint32_t)head, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&pool->free_head, &head,
                                                  new_head(head, entry->index + 1),
                                                  memory_order_release, memory_order_relaxed));
}

static struct entry *pop(struct capture_pool *pool)
{
    uint64_t head = atomic_load_explicit(&pool->free_head, memory_order_acquire);
    while ((uint32_t)head) {
        struct entry *entry = entry_at(pool, (uint32_t)head - 1);
        const uint32_t next = atomic_load_explicit(&entry->next, memory_order_relaxed);
        if (atomic_compare_exchange_weak_explicit(&pool->free_head, &head, new_head(head, next),
                                                  memory_order_acquire, memory_order_acquire))
            return entry;
    }
    return NULL;
}

/* A large block is worth huge pages: else each handful of entries costs its thread a fault. */
static uint8_t *allocate_block(uint64_t bytes)
{
    if (bytes < HUGE_PAGE_BYTES / 2)
        return malloc(bytes);
    uint8_t *memory = aligned_alloc(HUGE_PAGE_BYTES, hal_align_up(bytes, HUGE_PAGE_BYTES));
#ifdef MADV_HUGEPAGE
    if (memory) /* a hint */
        (void)madvise(memory, hal_align_up(bytes, HUGE_PAGE_BYTES), MADV_HUGEPAGE);
#endif
    return memory;
}

static bool add_block_locked(struct capture_pool *pool)
{
    unsigned block = 0;
    while (block < CAPTURE_POOL_BLOCKS && atomic_load(&pool->blocks[block]))
        block++;
    if (block == CAPTURE_POOL_BLOCKS)
        return false;
    const uint32_t count = (uint32_t)FIRST_BLOCK_ENTRIES << block;
    uint8_t *memory = allocate_block((uint64_t)count * pool->entry_bytes);
    if (!memory)
        return false;
    atomic_store_explicit(&pool->blocks[block], memory, memory_order_release);
    atomic_store_explicit(&pool->there, block_first(block) + count, memory_order_release);
    return true;
}

/* An entry that was never used. */
static struct entry *count_off(struct capture_pool *pool)
{
    uint32_t index = atomic_load_explicit(&pool->used, memory_order_relaxed);
    do {
        if (index >= atomic_load_explicit(&pool->there, memory_order_acquire))
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&pool->used, &index, index + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    struct entry *entry = entry_at(pool, index);
    entry->index = index;
    return entry;
}

static struct entry *take_there(struct capture_pool *pool)
{
    struct entry *entry = pop(pool);
    return entry ? entry : count_off(pool);
}

void *capture_pool_take(struct capture_pool *pool)
{
    struct entry *entry = take_there(pool);
    while (!entry) {
        pthread_mutex_lock(&pool->blocks_lock);
        entry = take_there(pool);
        const bool more = entry || add_block_locked(pool);
        pthread_mutex_unlock(&pool->blocks_lock);
        if (!more)
            return NULL;
        if (!entry)
            entry = take_there(pool);
    }
    return entry->user;
}

void capture_pool_give(struct capture_pool *pool, void *user)
{
    push(pool, entry_of(user));
}
