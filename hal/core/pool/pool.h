/* SPDX-License-Identifier: Apache-2.0 */
/* Transient memory: slabs of the driver, cut into blocks that are used again as soon as the
 * timelines allow. This is the account of who has what; transient.c makes the calls.
 *
 * Every block that is in use has a semaphore of the pool's own: its alloca signals `value`, its
 * dealloca waits for that and signals `value` + 1. A free block remembers the deallocas, its
 * *releases*, after which it is free. An alloca may take it when each of them has finished, or when
 * the alloca waits for something that the dealloca signals; when the limit leaves no other memory,
 * also when each will finish without help. It always waits for the releases itself. So the order in
 * which memory is used stands in the submissions, not only in how it happened to be this time: a
 * replay has it too.
 *
 * Threads: the functions take the pool's lock, below which is only promises_lock. After a fork the
 * child finds the lock as it was: it calls none of them. */
#ifndef HAL_POOL_H
#define HAL_POOL_H

#include "hal/core/completion.h"
#include "hal/core/promise.h"

enum hal_release_state { HAL_RELEASE_PENDING, HAL_RELEASE_DONE, HAL_RELEASE_FAILED };

/* A dealloca that was submitted. */
struct hal_pool_release {
    struct hal_completion completion;
    struct hal_pool_release *next;   /* those that no block refers to */
    uint64_t id;                     /* counts releases */
    struct hal_semaphore *semaphore; /* owns the reference */
    uint64_t value;
    _Atomic uint32_t state; /* enum hal_release_state; set when the submission retires */
    uint32_t references;    /* blocks */
    uint64_t *covered;      /* ids of releases that this one comes after */
    size_t covered_count;
    struct {
        uint64_t semaphore, value; /* by object id: ids are never used again */
    } * signals;                   /* the application's */
    size_t signal_count;
};

enum hal_block_state {
    HAL_BLOCK_FREE,
    HAL_BLOCK_USED,
    HAL_BLOCK_LOST, /* nobody said when it is free: it comes back with its slab */
};

struct hal_pool_block {
    struct hal_pool_block *next, *previous;           /* by address */
    struct hal_pool_block *next_free, *previous_free; /* in the bin of a free block */
    struct hal_pool_slab *slab;
    uint64_t offset, bytes;
    enum hal_block_state state;
    struct hal_pool_release **after; /* of a free block */
    size_t after_count, after_capacity;
    struct hal_semaphore *semaphore; /* of a block in use; owns the reference */
    uint64_t value;
    uint64_t *covered; /* of a block in use: ids of what its alloca waited for */
    size_t covered_count;
};

struct hal_pool_slab {
    struct hal_pool_slab *next;
    struct hal_buffer *buffer; /* owns a reference */
    struct hal_pool_block *first;
    uint32_t memory; /* as asked for */
    uint32_t used;   /* blocks */
    uint32_t lost;
};

/* References that the caller releases when the lock is free. */
struct hal_pool_garbage {
    struct hal_pool_slab *slabs;
    struct hal_object **objects;
    size_t count, capacity;
};

/* Free blocks of [2^i, 2^(i + 1)) bytes. What became free first is the first to be free for all. */
struct hal_pool_bin {
    struct hal_pool_block *oldest, *newest;
};
enum { HAL_POOL_BINS = 64 };

struct hal_pool {
    pthread_mutex_t lock;
    struct hal_pool_slab *slabs;
    struct hal_pool_bin bins[HAL_POOL_BINS];
    struct hal_pool_release *orphans, *last_orphan; /* the oldest first */
    struct hal_idle_semaphore {
        struct hal_semaphore *semaphore;
        uint64_t value; /* reached */
    } * idle;           /* owns the references */
    size_t idle_count, idle_capacity;
    uint64_t next_release;
    uint64_t limit_bytes; /* UINT64_MAX: there is none */
    bool is_limited;
    bool closed;  /* the application has let go of the device */
    bool growing; /* a thread makes a slab */
    pthread_cond_t grown;
    struct hal_transient_statistics statistics;
};

enum { HAL_POOL_ALIGNMENT = 256 };

void hal_pool_init(struct hal_pool *pool);
void hal_pool_limit(struct hal_pool *pool, uint64_t bytes); /* 0: there is none */

/* Gives everything back that no transient buffer needs; what they need goes with them. */
void hal_pool_close(struct hal_pool *pool, struct hal_pool_garbage *garbage);
void hal_pool_finish(struct hal_pool *pool);

/* How long to look for a block. */
enum hal_pool_search {
    HAL_POOL_QUICK,    /* at some blocks of each size, however many there are */
    HAL_POOL_THOROUGH, /* at all, before a new slab is made */
    HAL_POOL_PENDING,  /* at those too whose deallocas will finish without help (promise.h) */
};

/* Takes a block of `bytes` (a multiple of the alignment) that is free for somebody who waits for
 * `waits`. NULL: none was found, or no memory. */
struct hal_pool_block *hal_pool_take(struct hal_pool *pool, enum hal_pool_search search,
                                     uint32_t memory, uint64_t bytes,
                                     const struct hal_semaphore_value *waits, size_t wait_count);

/* The semaphore that keeps memory of the pool from somebody who waits for `waits`, because what was
 * submitted so far does not signal its value; false: there is none. */
bool hal_pool_blocker(struct hal_pool *pool, const struct hal_semaphore_value *waits,
                      size_t wait_count, struct hal_question *out_question);

/* A new slab joins, taken over with its buffer; the first block of it is the caller's. NULL: no
 * memory, and nothing was taken over. */
struct hal_pool_block *hal_pool_add(struct hal_pool *pool, struct hal_buffer *buffer,
                                    uint32_t memory, uint64_t bytes);

/* Around the search for a block that has to end with a new slab: one thread at a time, so that the
 * limit holds, and so that what one thread makes is there for the others. Blocks. */
void hal_pool_grow_begin(struct hal_pool *pool);
void hal_pool_grow_end(struct hal_pool *pool);

/* How large a slab for `bytes` should be. 0: over the limit. */
uint64_t hal_pool_slab_bytes(struct hal_pool *pool, uint64_t bytes);

/* The block's alloca was submitted; or was not, and the block is free as before. */
bool hal_pool_taken(struct hal_pool *pool, struct hal_pool_block *block);
void hal_pool_untake(struct hal_pool *pool, struct hal_pool_block *block);

/* The release of the block, to be submitted; the block stays in use until hal_pool_give. */
struct hal_pool_release *hal_pool_release_create(struct hal_pool *pool,
                                                 const struct hal_pool_block *block,
                                                 const struct hal_semaphore_value *signals,
                                                 size_t signal_count);
void hal_pool_release_free(struct hal_pool_release *release);
void hal_pool_give(struct hal_pool *pool, struct hal_pool_block *block,
                   struct hal_pool_release *release);

/* The transient buffer went without a dealloca. */
void hal_pool_lose(struct hal_pool *pool, struct hal_pool_block *block,
                   struct hal_pool_garbage *garbage);

/* Slabs of which nothing is in use leave the pool. What work in flight still uses is held, and
 * counted, until that has ended (hal_pool_slab_gone). */
enum hal_pool_trim {
    HAL_POOL_TRIM_LOST,   /* those that hold lost blocks */
    HAL_POOL_TRIM_IDLE,   /* those whose memory is free at once, if that makes room for `bytes` */
    HAL_POOL_TRIM_UNUSED, /* all */
};
void hal_pool_trim(struct hal_pool *pool, enum hal_pool_trim which, uint64_t bytes,
                   struct hal_pool_garbage *garbage);

/* What a thread waits for, before slabs of which nothing is in use can make room for `bytes`: the
 * values come without help. The caller releases the semaphores and frees the list. NULL: there is
 * nothing to wait for, or it would not be enough, or no memory. */
struct hal_semaphore_value *hal_pool_await_idle(struct hal_pool *pool, uint64_t bytes,
                                                size_t *out_count);

/* The device has the memory of a slab back. */
void hal_pool_slab_gone(struct hal_pool *pool, uint64_t bytes);

/* A semaphore for a block and the value that it has reached; false: make one. */
bool hal_pool_take_semaphore(struct hal_pool *pool, struct hal_idle_semaphore *out);
bool hal_pool_give_semaphore(struct hal_pool *pool, const struct hal_idle_semaphore *semaphore);

#endif
