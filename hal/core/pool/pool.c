/* SPDX-License-Identifier: Apache-2.0 */
/* The accounts of transient memory: best fit in slabs, and the use of each block. */
#include "hal/core/pool/pool.h"

#include "hal/base/mem.h"
#include "hal/core/pool/pool_block.h"

enum { QUICK_BLOCKS = 64 };
static const uint64_t smallest_slab_bytes = UINT64_C(1) << 20;
static const uint64_t largest_step_bytes = UINT64_C(64) << 20;

void hal_pool_init(struct hal_pool *pool)
{
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->grown, NULL);
    hal_pool_limit(pool, 0);
}

void hal_pool_limit(struct hal_pool *pool, uint64_t bytes)
{
    pthread_mutex_lock(&pool->lock);
    pool->is_limited = bytes > 0;
    pool->limit_bytes = bytes ? bytes : UINT64_MAX;
    pthread_mutex_unlock(&pool->lock);
}

/* ---- Garbage ------------------------------------------------------------------------------ */

/* Without memory to remember it the object stays: it is needed no more, and small. */
static void discard(struct hal_pool_garbage *garbage, struct hal_object *object)
{
    if (!HAL_GROW(garbage->objects, &garbage->capacity, garbage->count + 1))
        return;
    garbage->objects[garbage->count++] = object;
}

/* ---- Releases ----------------------------------------------------------------------------- */

void hal_pool_release_free(struct hal_pool_release *release)
{
    free(release->covered);
    free(release->signals);
    free(release);
}

static bool give_semaphore_locked(struct hal_pool *pool, const struct hal_idle_semaphore *semaphore)
{
    if (pool->closed || !HAL_GROW(pool->idle, &pool->idle_capacity, pool->idle_count + 1))
        return false;
    pool->idle[pool->idle_count++] = *semaphore;
    return true;
}

/* A finished orphan is freed; the semaphores of successful ones are reused. False: it stays. */
static bool reap_one_locked(struct hal_pool *pool, struct hal_pool_release *release,
                            struct hal_pool_garbage *garbage)
{
    const enum hal_release_state state = hal_pool_release_state(release);
    const struct hal_idle_semaphore idle = {release->semaphore, release->value};
    if (state == HAL_RELEASE_PENDING)
        return false;
    if (state == HAL_RELEASE_FAILED || !give_semaphore_locked(pool, &idle)) {
        if (!garbage)
            return false;
        discard(garbage, &release->semaphore->object);
    }
    hal_pool_release_free(release);
    return true;
}

/* Checks that many orphans, oldest first; those that stay become the newest. */
static void reap_locked(struct hal_pool *pool, size_t most, struct hal_pool_garbage *garbage)
{
    const struct hal_pool_release *last = pool->last_orphan;
    bool all = pool->orphans == NULL;
    for (size_t i = 0; i < most && !all; i++) {
        struct hal_pool_release *release = pool->orphans;
        all = release == last;
        pool->orphans = release->next;
        if (!reap_one_locked(pool, release, garbage))
            hal_pool_orphan(pool, release);
    }
}

/* ---- Blocks ------------------------------------------------------------------------------- */

/* For whom a block is looked for. */
struct search {
    uint32_t memory;
    uint64_t bytes;
    const struct hal_semaphore_value *waits;
    size_t wait_count;
    size_t most;                   /* blocks of each bin */
    struct hal_question *question; /* NULL: unfinished ones are unsuitable */
};

static bool suits(const struct search *search, const struct hal_pool_block *block)
{
    return block->slab->memory == search->memory && block->bytes >= search->bytes &&
           hal_block_is_free_for(block, search->waits, search->wait_count, search->question);
}

/* The smallest that fits, of those in the bin that are looked at. */
static struct hal_pool_block *find_in(const struct hal_pool_bin *bin, const struct search *search)
{
    struct hal_pool_block *best = NULL, *block = bin->oldest;
    for (size_t i = 0; block && i < search->most; i++, block = block->next_free) {
        if ((best && block->bytes >= best->bytes) || !suits(search, block))
            continue;
        best = block;
        if (best->bytes == search->bytes)
            break;
    }
    return best;
}

static struct hal_pool_block *find_best(const struct hal_pool *pool, const struct search *search)
{
    struct hal_pool_block *best = NULL;
    for (size_t i = 63 - (size_t)__builtin_clzll(search->bytes); i < HAL_POOL_BINS && !best; i++)
        best = find_in(&pool->bins[i], search);
    return best;
}

/* Under a limit what is given back is not joined at once: an alloca that takes a part of it would
 * wait for all of it. Joins neighbours that together are large enough. */
static struct hal_pool_block *find_run(struct hal_pool *pool, const struct search *search)
{
    for (struct hal_pool_slab *slab = pool->slabs; slab; slab = slab->next) {
        struct hal_pool_block *first = NULL;
        uint64_t bytes = 0;
        for (struct hal_pool_block *block = slab->first; block; block = block->next) {
            const bool fits =
                slab->memory == search->memory && block->state == HAL_BLOCK_FREE &&
                hal_block_is_free_for(block, search->waits, search->wait_count, search->question);
            bytes = !fits ? 0 : first ? bytes + block->bytes : block->bytes;
            first = !fits ? NULL : first ? first : block;
            if (!first || bytes < search->bytes)
                continue;
            while (first->bytes < search->bytes && hal_block_join_next(pool, first))
                continue;
            if (first->bytes >= search->bytes)
                return first;
            block = first; /* too much to wait for: from the next one on */
            first = NULL;
        }
    }
    return NULL;
}

static struct hal_pool_block *find(struct hal_pool *pool, const struct search *search)
{
    struct hal_pool_block *block = find_best(pool, search);
    const bool is_thorough = search->most == SIZE_MAX;
    return block || !is_thorough || !pool->is_limited ? block : find_run(pool, search);
}

static struct hal_pool_block *find_pending(struct hal_pool *pool, struct search search)
{
    struct hal_question question;
    hal_question_begin(&question, search.waits, search.wait_count);
    search.question = &question;
    struct hal_pool_block *block = find(pool, &search);
    hal_question_end();
    return block;
}

static void count_use(struct hal_pool *pool, struct hal_pool_block *block)
{
    struct hal_transient_statistics *statistics = &pool->statistics;
    block->state = HAL_BLOCK_USED;
    block->slab->used++;
    statistics->used_bytes += block->bytes;
    if (statistics->used_bytes > statistics->peak_used_bytes)
        statistics->peak_used_bytes = statistics->used_bytes;
    statistics->live_count++;
}

static void count_end(struct hal_pool *pool, struct hal_pool_block *block)
{
    block->slab->used--;
    pool->statistics.used_bytes -= block->bytes;
    pool->statistics.live_count--;
}

/* After a failed dealloca there may still be work: the block is never reused. */
static void give_up_failed_locked(struct hal_pool *pool)
{
    for (struct hal_pool_slab *slab = pool->slabs; slab; slab = slab->next) {
        for (struct hal_pool_block *block = slab->first; block; block = block->next) {
            for (size_t i = 0; block->state == HAL_BLOCK_FREE && i < block->after_count; i++) {
                if (hal_pool_release_state(block->after[i]) != HAL_RELEASE_FAILED)
                    continue;
                hal_block_leave_bin(pool, block);
                block->state = HAL_BLOCK_LOST;
                slab->lost++;
            }
        }
    }
}

/* ---- Taking ------------------------------------------------------------------------------- */

struct hal_pool_block *hal_pool_take(struct hal_pool *pool, enum hal_pool_search search,
                                     uint32_t memory, uint64_t bytes,
                                     const struct hal_semaphore_value *waits, size_t wait_count)
{
    const struct search wanted = {
        memory, bytes, waits, wait_count, search == HAL_POOL_QUICK ? QUICK_BLOCKS : SIZE_MAX, NULL};
    pthread_mutex_lock(&pool->lock);
    reap_locked(pool, wanted.most, NULL);
    struct hal_pool_block *block =
        search == HAL_POOL_PENDING ? find_pending(pool, wanted) : find(pool, &wanted);
    if (!block && search == HAL_POOL_THOROUGH)
        give_up_failed_locked(pool);
    if (block)
        hal_block_leave_bin(pool, block);
    if (block && !hal_block_split(pool, block, bytes)) {
        hal_block_enter_bin(pool, block);
        block = NULL;
    }
    if (block)
        count_use(pool, block);
    pthread_mutex_unlock(&pool->lock);
    return block;
}

struct hal_pool_block *hal_pool_add(struct hal_pool *pool, struct hal_buffer *buffer,
                                    uint32_t memory, uint64_t bytes)
{
    struct hal_pool_slab *slab = hal_alloc(1, sizeof *slab);
    struct hal_pool_block *block = hal_alloc(1, sizeof *block);
    if (!slab || !block) {
        free(slab);
        free(block);
        return NULL;
    }
    *slab = (struct hal_pool_slab){.buffer = buffer, .first = block, .memory = memory};
    *block = (struct hal_pool_block){.slab = slab, .bytes = buffer->bytes};
    struct hal_transient_statistics *statistics = &pool->statistics;
    pthread_mutex_lock(&pool->lock);
    if (!hal_block_split(pool, block, bytes)) {
        pthread_mutex_unlock(&pool->lock);
        free(slab);
        free(block);
        return NULL;
    }
    slab->next = pool->slabs;
    pool->slabs = slab;
    buffer->is_slab = true;
    statistics->slab_count++;
    statistics->reserved_bytes += buffer->bytes;
    if (statistics->reserved_bytes > statistics->peak_reserved_bytes)
        statistics->peak_reserved_bytes = statistics->reserved_bytes;
    count_use(pool, block);
    pthread_mutex_unlock(&pool->lock);
    return block;
}

static uint64_t room_locked(const struct hal_pool *pool)
{
    const uint64_t reserved = pool->statistics.reserved_bytes;
    return pool->limit_bytes > reserved ? pool->limit_bytes - reserved : 0;
}

void hal_pool_grow_begin(struct hal_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->growing)
        pthread_cond_wait(&pool->grown, &pool->lock);
    pool->growing = true;
    pthread_mutex_unlock(&pool->lock);
}

void hal_pool_grow_end(struct hal_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->growing = false;
    pthread_cond_broadcast(&pool->grown);
    pthread_mutex_unlock(&pool->lock);
}

uint64_t hal_pool_slab_bytes(struct hal_pool *pool, uint64_t bytes)
{
    pthread_mutex_lock(&pool->lock);
    const uint64_t reserved = pool->statistics.reserved_bytes;
    const uint64_t left = room_locked(pool);
    pthread_mutex_unlock(&pool->lock);
    uint64_t step = smallest_slab_bytes;
    while (step < reserved && step < largest_step_bytes)
        step *= 2;
    if (bytes > left)
        return 0;
    return bytes > step ? bytes : hal_min_u64(step, left / HAL_POOL_ALIGNMENT * HAL_POOL_ALIGNMENT);
}

bool hal_pool_taken(struct hal_pool *pool, struct hal_pool_block *block)
{
    uint64_t *covered = hal_alloc(block->after_count ? block->after_count : 1, sizeof *covered);
    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; covered && i < block->after_count; i++)
        covered[i] = block->after[i]->id;
    block->covered = covered;
    block->covered_count = covered ? block->after_count : 0;
    pool->statistics.total_count++;
    pool->statistics.reused_count += block->after_count > 0;
    hal_block_clear_after(pool, block);
    pthread_mutex_unlock(&pool->lock);
    return covered != NULL;
}

void hal_pool_untake(struct hal_pool *pool, struct hal_pool_block *block)
{
    pthread_mutex_lock(&pool->lock);
    count_end(pool, block);
    block->state = HAL_BLOCK_FREE;
    hal_block_enter_bin(pool, block);
    hal_block_join(pool, block);
    pthread_mutex_unlock(&pool->lock);
}

/* ---- Giving ------------------------------------------------------------------------------- */

struct hal_pool_release *hal_pool_release_create(struct hal_pool *pool,
                                                 const struct hal_pool_block *block,
                                                 const struct hal_semaphore_value *signals,
                                                 size_t signal_count)
{
    struct hal_pool_release *release = hal_alloc(1, sizeof *release);
    if (!release)
        return NULL;
    release->signals = hal_alloc(signal_count ? signal_count : 1, sizeof *release->signals);
    if (!release->signals) {
        free(release);
        return NULL;
    }
    for (size_t i = 0; i < signal_count; i++) {
        release->signals[i].semaphore = signals[i].semaphore->object.id;
        release->signals[i].value = signals[i].value;
    }
    release->signal_count = signal_count;
    release->semaphore = block->semaphore;
    release->value = block->value + 1;
    pthread_mutex_lock(&pool->lock);
    release->id = ++pool->next_release;
    pthread_mutex_unlock(&pool->lock);
    return release;
}

void hal_pool_give(struct hal_pool *pool, struct hal_pool_block *block,
                   struct hal_pool_release *release)
{
    pthread_mutex_lock(&pool->lock);
    release->covered = block->covered;
    release->covered_count = block->covered_count;
    block->covered = NULL;
    block->covered_count = 0;
    block->semaphore = NULL;
    count_end(pool, block);
    release->references = 1; /* until the block has its own */
    if (hal_block_add_after(block, release)) {
        block->state = HAL_BLOCK_FREE;
        hal_block_enter_bin(pool, block);
        if (!pool->is_limited)
            hal_block_join(pool, block);
    } else {
        block->state = HAL_BLOCK_LOST;
        block->slab->lost++;
    }
    hal_pool_drop(pool, release);
    pthread_mutex_unlock(&pool->lock);
}

/* ---- Slabs that go ------------------------------------------------------------------------ */

static void remove_slab_locked(struct hal_pool *pool, struct hal_pool_slab **link,
                               struct hal_pool_garbage *garbage)
{
    struct hal_pool_slab *slab = *link;
    *link = slab->next;
    while (slab->first) {
        struct hal_pool_block *next = slab->first->next;
        if (slab->first->state == HAL_BLOCK_FREE)
            hal_block_leave_bin(pool, slab->first);
        hal_block_clear_after(pool, slab->first);
        hal_block_free(slab->first);
        slab->first = next;
    }
    slab->next = garbage->slabs;
    garbage->slabs = slab;
}

/* Only the pool has a reference to the slab, neither work in flight nor the handle of a freed
 * buffer, and none can be created. */
static bool is_idle(const struct hal_pool_slab *slab)
{
    for (const struct hal_pool_block *block = slab->first; block; block = block->next) {
        if (block->state != HAL_BLOCK_LOST && !hal_block_is_free_for(block, NULL, 0, NULL))
            return false;
    }
    return atomic_load_explicit(&slab->buffer->object.references, memory_order_acquire) == 1;
}

static void remove_unused_locked(struct hal_pool *pool, enum hal_pool_trim which,
                                 struct hal_pool_garbage *garbage)
{
    struct hal_pool_slab **link = &pool->slabs;
    while (*link) {
        if ((*link)->used == 0 && (which != HAL_POOL_TRIM_LOST || (*link)->lost) &&
            (which != HAL_POOL_TRIM_IDLE || is_idle(*link)))
            remove_slab_locked(pool, link, garbage);
        else
            link = &(*link)->next;
    }
}

void hal_pool_lose(struct hal_pool *pool, struct hal_pool_block *block,
                   struct hal_pool_garbage *garbage)
{
    pthread_mutex_lock(&pool->lock);
    count_end(pool, block);
    if (block->semaphore)
        discard(garbage, &block->semaphore->object);
    block->semaphore = NULL;
    block->state = HAL_BLOCK_LOST;
    block->slab->lost++;
    remove_unused_locked(pool, pool->closed ? HAL_POOL_TRIM_UNUSED : HAL_POOL_TRIM_LOST, garbage);
    reap_locked(pool, SIZE_MAX, garbage);
    pthread_mutex_unlock(&pool->lock);
}

/* Whether the limit allows `bytes` more when what is idle has gone. */
static bool idle_suffices_locked(const struct hal_pool *pool, uint64_t bytes)
{
    uint64_t room = room_locked(pool);
    for (const struct hal_pool_slab *slab = pool->slabs; slab && room < bytes; slab = slab->next)
        room += slab->used == 0 && is_idle(slab) ? slab->buffer->bytes : 0;
    return room >= bytes;
}

void hal_pool_trim(struct hal_pool *pool, enum hal_pool_trim which, uint64_t bytes,
                   struct hal_pool_garbage *garbage)
{
    pthread_mutex_lock(&pool->lock);
    if (which != HAL_POOL_TRIM_IDLE || idle_suffices_locked(pool, bytes))
        remove_unused_locked(pool, which, garbage);
    reap_locked(pool, SIZE_MAX, garbage);
    pthread_mutex_unlock(&pool->lock);
}

static bool will_be_idle(const struct hal_pool_slab *slab, struct hal_question *question)
{
    if (slab->used > 0 || slab->lost > 0)
        return false;
    for (const struct hal_pool_block *block = slab->first; block; block = block->next) {
        if (!hal_block_is_free_for(block, NULL, 0, question))
            return false;
    }
    return true;
}

/* Also for retired work: its semaphore is reached when the driver has released the slab. */
static size_t list_after(const struct hal_pool_slab *slab, struct hal_semaphore_value *out_list)
{
    size_t count = 0;
    for (const struct hal_pool_block *block = slab->first; block; block = block->next) {
        for (size_t i = 0; i < block->after_count; i++, count++) {
            if (!out_list)
                continue;
            hal_object_retain(&block->after[i]->semaphore->object);
            out_list[count] =
                (struct hal_semaphore_value){block->after[i]->semaphore, block->after[i]->value};
        }
    }
    return count;
}

struct hal_semaphore_value *hal_pool_await_idle(struct hal_pool *pool, uint64_t bytes,
                                                size_t *out_count)
{
    struct hal_question question;
    struct hal_semaphore_value *list = NULL;
    pthread_mutex_lock(&pool->lock);
    hal_question_begin(&question, NULL, 0);
    uint64_t room = room_locked(pool);
    size_t count = 0;
    const struct hal_pool_slab *end = pool->slabs;
    for (; end && room < bytes; end = end->next) {
        const bool goes = will_be_idle(end, &question);
        room += goes ? end->buffer->bytes : 0;
        count += goes ? list_after(end, NULL) : 0;
    }
    if (room >= bytes && count > 0)
        list = hal_alloc(count, sizeof *list);
    count = 0;
    for (const struct hal_pool_slab *slab = pool->slabs; list && slab != end; slab = slab->next)
        count += will_be_idle(slab, &question) ? list_after(slab, list + count) : 0;
    hal_question_end();
    pthread_mutex_unlock(&pool->lock);
    *out_count = count;
    return list;
}

bool hal_pool_blocker(struct hal_pool *pool, const struct hal_semaphore_value *waits,
                      size_t wait_count, struct hal_question *out_question)
{
    pthread_mutex_lock(&pool->lock);
    hal_question_begin(out_question, waits, wait_count);
    for (const struct hal_pool_slab *slab = pool->slabs; slab; slab = slab->next) {
        const struct hal_pool_block *block = slab->first;
        for (; block && !out_question->missing[0]; block = block->next) {
            if (block->state == HAL_BLOCK_FREE)
                (void)hal_block_is_free_for(block, waits, wait_count, out_question);
        }
    }
    hal_question_end();
    pthread_mutex_unlock(&pool->lock);
    return out_question->missing[0] != '\0';
}

void hal_pool_slab_gone(struct hal_pool *pool, uint64_t bytes)
{
    pthread_mutex_lock(&pool->lock);
    pool->statistics.slab_count--;
    pool->statistics.reserved_bytes -= bytes;
    pthread_mutex_unlock(&pool->lock);
}

/* ---- Semaphores --------------------------------------------------------------------------- */

bool hal_pool_take_semaphore(struct hal_pool *pool, struct hal_idle_semaphore *out)
{
    pthread_mutex_lock(&pool->lock);
    const bool found = pool->idle_count > 0;
    if (found)
        *out = pool->idle[--pool->idle_count];
    pthread_mutex_unlock(&pool->lock);
    return found;
}

bool hal_pool_give_semaphore(struct hal_pool *pool, const struct hal_idle_semaphore *semaphore)
{
    pthread_mutex_lock(&pool->lock);
    const bool kept = give_semaphore_locked(pool, semaphore);
    pthread_mutex_unlock(&pool->lock);
    return kept;
}

/* ---- End ---------------------------------------------------------------------------------- */

void hal_pool_close(struct hal_pool *pool, struct hal_pool_garbage *garbage)
{
    pthread_mutex_lock(&pool->lock);
    pool->closed = true;
    remove_unused_locked(pool, HAL_POOL_TRIM_UNUSED, garbage);
    reap_locked(pool, SIZE_MAX, garbage);
    while (pool->idle_count > 0)
        discard(garbage, &pool->idle[--pool->idle_count].semaphore->object);
    pthread_mutex_unlock(&pool->lock);
}

void hal_pool_finish(struct hal_pool *pool)
{
    while (pool->orphans) {
        struct hal_pool_release *next = pool->orphans->next;
        hal_pool_release_free(pool->orphans);
        pool->orphans = next;
    }
    free(pool->idle);
    pthread_cond_destroy(&pool->grown);
    pthread_mutex_destroy(&pool->lock);
}
