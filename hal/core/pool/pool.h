/* SPDX-License-Identifier: Apache-2.0 */
/* Transient memory: slabs of the driver, cut into blocks that are reused as soon as the timelines
 * allow. This file keeps the accounts; transient.c makes the calls.
 *
 * Every block in use has a semaphore of the pool: its alloca signals `value`, its dealloca waits
 * for that and signals `value` + 1. A free block remembers its *releases*, the deallocas after
 * which it is free. An alloca may take it if each of them has finished, or if the alloca waits for
 * something that the dealloca signals; if the limit leaves no other memory, also if each is certain
 * to finish. It always waits for the releases itself. So the submissions enforce the order in which
 * memory is used, rather than the timing of this run, and a replay has the same order.
 *
 * Threads: the functions take the pool's lock, under which only promises_lock may be taken. A
 * forked child calls none of them, since the lock may be held there forever. */
#ifndef HAL_POOL_H
#define HAL_POOL_H

#include "hal/core/completion.h"
#include "hal/core/promise.h"

enum hal_release_state { HAL_RELEASE_PENDING, HAL_RELEASE_DONE, HAL_RELEASE_FAILED };

/* A submitted dealloca. */
struct hal_pool_release {
    struct hal_completion completion;
    struct hal_pool_release *next;   /* those that no block refers to */
    uint64_t id;                     /* sequence number of releases */
    struct hal_semaphore *semaphore; /* owns the reference */
    uint64_t value;
    _Atomic uint32_t state; /* enum hal_release_state; set when the submission retires */
    uint32_t references;    /* by blocks */
    uint64_t *covered;      /* ids of releases that this one follows */
    size_t covered_count;
    struct {
        uint64_t semaphore, value; /* by object id: ids are never reused */
    } * signals;                   /* the application's */
    size_t signal_count;
};

enum hal_block_state {
    HAL_BLOCK_FREE,
    HAL_BLOCK_USED,
    HAL_BLOCK_LOST, /* unknown when it is free: it is freed with its slab */
};

struct hal_pool_block {
    struct hal_pool_block *next, *previous;           /* by address */
    struct hal_pool_block *next_free, *previous_free; /* in the bin, if free */
    struct hal_pool_slab *slab;
    uint64_t offset, bytes;
    enum hal_block_state state;
    struct hal_pool_release **after; /* releases, if free */
    size_t after_count, after_capacity;
    struct hal_semaphore *semaphore; /* if in use; owns the reference */
    uint64_t value;
    uint64_t *covered; /* if in use: ids that its alloca waited for */
    size_t covered_count;
};

struct hal_pool_slab {
    struct hal_pool_slab *next;
    struct hal_buffer *buffer; /* owns a reference */
    struct hal_pool_block *first;
    uint32_t memory; /* as requested */
    uint32_t used;   /* blocks in use */
    uint32_t lost;
};

/* References to release after unlocking. */
struct hal_pool_garbage {
    struct hal_pool_slab *slabs;
    struct hal_object **objects;
    size_t count, capacity;
};

/* Free blocks of [2^i, 2^(i + 1)) bytes, in the order in which they became free. */
struct hal_pool_bin {
    struct hal_pool_block *oldest, *newest;
};
enum { HAL_POOL_BINS = 64 };

struct hal_pool {
    pthread_mutex_t lock;
    struct hal_pool_slab *slabs;
    struct hal_pool_bin bins[HAL_POOL_BINS];
    struct hal_pool_release *orphans, *last_orphan; /* oldest first */
    struct hal_idle_semaphore {
        struct hal_semaphore *semaphore;
        uint64_t value; /* reached */
    } * idle;           /* owns the references */
    size_t idle_count, idle_capacity;
    uint64_t next_release;
    uint64_t limit_bytes; /* UINT64_MAX: none */
    bool is_limited;
    bool closed;  /* the application has released the device */
    bool growing; /* a thread is creating a slab */
    pthread_cond_t grown;
    struct hal_transient_statistics statistics;
};

enum { HAL_POOL_ALIGNMENT = 256 };

void hal_pool_init(struct hal_pool *pool);
void hal_pool_limit(struct hal_pool *pool, uint64_t bytes); /* 0: no limit */

/* Frees everything that no transient buffer needs; the rest is freed with those buffers. */
void hal_pool_close(struct hal_pool *pool, struct hal_pool_garbage *garbage);
void hal_pool_finish(struct hal_pool *pool);

/* How thoroughly to search for a block. */
enum hal_pool_search {
    HAL_POOL_QUICK,    /* some blocks of each size, in bounded time */
    HAL_POOL_THOROUGH, /* all blocks, before a new slab is created */
    HAL_POOL_PENDING,  /* also blocks whose deallocas are certain to finish (promise.h) */
};

/* Takes a block of `bytes` (a multiple of the alignment) that is free for work that waits for
 * `waits`. NULL: none found, or out of memory. */
struct hal_pool_block *hal_pool_take(struct hal_pool *pool, enum hal_pool_search search,
                                     uint32_t memory, uint64_t bytes,
                                     const struct hal_semaphore_value *waits, size_t wait_count);

/* The semaphore that keeps pool memory from work that waits for `waits`, because nothing submitted
 * so far signals its value; false: none. */
bool hal_pool_blocker(struct hal_pool *pool, const struct hal_semaphore_value *waits,
                      size_t wait_count, struct hal_question *out_question);

/* Adds a new slab, taking ownership of its buffer; returns its first block to the caller. NULL: out
 * of memory, and ownership was not taken. */
struct hal_pool_block *hal_pool_add(struct hal_pool *pool, struct hal_buffer *buffer,
                                    uint32_t memory, uint64_t bytes);

/* Around a search for a block that ends with creating a slab: one thread at a time, so that the
 * limit holds and other threads find what one thread creates. Blocks. */
void hal_pool_grow_begin(struct hal_pool *pool);
void hal_pool_grow_end(struct hal_pool *pool);

/* The slab size for an allocation of `bytes`. 0: over the limit. */
uint64_t hal_pool_slab_bytes(struct hal_pool *pool, uint64_t bytes);

/* The block's alloca was submitted; or was not, and the block is free as before. */
bool hal_pool_taken(struct hal_pool *pool, struct hal_pool_block *block);
void hal_pool_untake(struct hal_pool *pool, struct hal_pool_block *block);

/* Creates the release for the block's dealloca; the block stays in use until hal_pool_give. */
struct hal_pool_release *hal_pool_release_create(struct hal_pool *pool,
                                                 const struct hal_pool_block *block,
                                                 const struct hal_semaphore_value *signals,
                                                 size_t signal_count);
void hal_pool_release_free(struct hal_pool_release *release);
void hal_pool_give(struct hal_pool *pool, struct hal_pool_block *block,
                   struct hal_pool_release *release);

/* The transient buffer was destroyed without a dealloca. */
void hal_pool_lose(struct hal_pool *pool, struct hal_pool_block *block,
                   struct hal_pool_garbage *garbage);

/* Removes unused slabs from the pool. Memory that work in flight still uses is held and counted
 * until that has ended (hal_pool_slab_gone). */
enum hal_pool_trim {
    HAL_POOL_TRIM_LOST,   /* those with lost blocks */
    HAL_POOL_TRIM_IDLE,   /* those whose memory is free now, if that makes room for `bytes` */
    HAL_POOL_TRIM_UNUSED, /* all unused ones */
};
void hal_pool_trim(struct hal_pool *pool, enum hal_pool_trim which, uint64_t bytes,
                   struct hal_pool_garbage *garbage);

/* The values to wait for until unused slabs can make room for `bytes`; they are certain to be
 * reached. The caller releases the semaphores and frees the list. NULL: nothing to wait for, not
 * enough memory even then, or out of memory. */
struct hal_semaphore_value *hal_pool_await_idle(struct hal_pool *pool, uint64_t bytes,
                                                size_t *out_count);

/* The device has freed the memory of a slab. */
void hal_pool_slab_gone(struct hal_pool *pool, uint64_t bytes);

/* A semaphore for a block, and the value that it has reached; false: create one. */
bool hal_pool_take_semaphore(struct hal_pool *pool, struct hal_idle_semaphore *out);
bool hal_pool_give_semaphore(struct hal_pool *pool, const struct hal_idle_semaphore *semaphore);

#endif
