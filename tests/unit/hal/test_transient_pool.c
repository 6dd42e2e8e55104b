/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/pool/pool.c and pool_block.c against a model of what the submissions promise: random
 * allocas and deallocas, that finish, fail, are refused and forgotten, with memory and without. The
 * seed is printed; HAL_TEST_SEED repeats it, HAL_TEST_ROUNDS asks for more rounds. */
#include "hal/core/pool/pool.h"

#include "hal/base/mem.h"
#include "tests/support/test.h"

#include <inttypes.h>
#include <time.h>

enum {
    UNIT = HAL_POOL_ALIGNMENT,
    STEPS = 400,
    MOST = STEPS + 1,
    SLABS = 512,
    WORDS = MOST / 64 + 1
};

/* ---- Memory that runs out ------------------------------------------------------------------- */

static uint64_t random_state;
static unsigned fail_one_in; /* 0: none */

static uint64_t next_random(void)
{
    uint64_t x = random_state += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static uint64_t below(uint64_t limit)
{
    return next_random() % limit;
}

/* What the pool calls in place of the system's. */
void *pool_calloc(size_t count, size_t bytes);
void *pool_realloc(void *old, size_t bytes);

void *pool_calloc(size_t count, size_t bytes)
{
    return fail_one_in && below(fail_one_in) == 0 ? NULL : calloc(count, bytes);
}

void *pool_realloc(void *old, size_t bytes)
{
    return fail_one_in && below(fail_one_in) == 0 ? NULL : realloc(old, bytes);
}

/* ---- The model ------------------------------------------------------------------------------ */

/* A dealloca, as the order of the submissions knows it. */
struct given {
    struct hal_pool_release *release; /* NULL: not given, or over */
    uint64_t after[WORDS];            /* deallocas that come before it, itself too */
    enum hal_release_state state;
    struct hal_semaphore_value signals[2];
    size_t signal_count;
    struct hal_submission promised; /* `user` is not NULL: its end comes without help */
};

/* A block in use. */
struct taken {
    struct hal_pool_block *block; /* NULL: gone */
    uint64_t after[WORDS];        /* deallocas that its alloca comes after */
};

struct slab {
    struct hal_buffer buffer;
    struct hal_pool_slab *slab; /* NULL: went */
    int32_t *last;              /* by unit: the dealloca that gave it back last; -1: none */
    bool *lost;                 /* nobody may get it any more */
};

struct model {
    struct hal_pool pool;
    struct given given[MOST];
    struct taken taken[MOST];
    struct slab slabs[SLABS];
    struct hal_semaphore own[MOST], theirs[MOST]; /* the pool's, the application's */
    bool own_gone[MOST];
    uint64_t own_value[MOST]; /* that a finished dealloca has signalled */
    size_t given_count, taken_count, slab_count, own_count, theirs_count;
    uint64_t used_bytes, live_count;
};

static void set(uint64_t *bits, size_t i)
{
    bits[i / 64] |= UINT64_C(1) << i % 64;
}

static bool has(const uint64_t *bits, size_t i)
{
    return bits[i / 64] >> i % 64 & 1;
}

static size_t own_index(const struct model *m, const struct hal_semaphore *semaphore)
{
    const ptrdiff_t i = semaphore - m->own;
    assert_true(i >= 0 && (size_t)i < m->own_count);
    return (size_t)i;
}

static struct slab *slab_of(struct model *m, const struct hal_pool_slab *slab)
{
    for (size_t i = 0; i < m->slab_count; i++) {
        if (m->slabs[i].slab == slab)
            return &m->slabs[i];
    }
    fail_msg("a slab that nobody added");
    return NULL;
}

/* The last one: addresses are used again. */
static size_t find_given(const struct model *m, const struct hal_pool_release *release)
{
    for (size_t i = m->given_count; i-- > 0;) {
        if (m->given[i].release == release)
            return i;
    }
    fail_msg("a block that comes after an unknown dealloca");
    return 0;
}

/* Blocks fill each slab without gaps, and the numbers are theirs. */
static void check_structure(struct model *m)
{
    uint64_t reserved = 0, used = 0, live = 0, slabs = 0;
    for (const struct hal_pool_slab *slab = m->pool.slabs; slab; slab = slab->next) {
        uint64_t at = 0;
        uint32_t in_use = 0;
        const struct hal_pool_block *previous = NULL;
        for (const struct hal_pool_block *block = slab->first; block; block = block->next) {
            assert_true(block->offset == at && block->bytes > 0 && block->bytes % UNIT == 0);
            assert_ptr_equal(block->previous, previous);
            assert_ptr_equal(block->slab, slab);
            assert_true(block->state == HAL_BLOCK_FREE || block->after_count == 0 ||
                        block->state == HAL_BLOCK_LOST);
            in_use += block->state == HAL_BLOCK_USED;
            used += block->state == HAL_BLOCK_USED ? block->bytes : 0;
            at += block->bytes;
            previous = block;
        }
        assert_true(at == slab->buffer->bytes && in_use == slab->used);
        live += in_use;
        reserved += slab->buffer->bytes;
        slabs++;
    }
    const struct hal_transient_statistics *now = &m->pool.statistics;
    assert_true(now->used_bytes == used && used == m->used_bytes);
    assert_true(now->live_count == live && live == m->live_count);
    assert_true(now->reserved_bytes == reserved && now->slab_count == slabs);
    assert_true(now->peak_used_bytes >= used && now->peak_reserved_bytes >= reserved);
    assert_true(reserved <= m->pool.limit_bytes);
}

/* ---- Steps ---------------------------------------------------------------------------------- */

static void drop_garbage(struct model *m, struct hal_pool_garbage *garbage)
{
    while (garbage->slabs) {
        struct hal_pool_slab *next = garbage->slabs->next;
        struct slab *slab = slab_of(m, garbage->slabs);
        assert_int_equal(garbage->slabs->used, 0);
        assert_ptr_equal(garbage->slabs->buffer, &slab->buffer);
        slab->slab = NULL;
        hal_pool_slab_gone(&m->pool, slab->buffer.bytes);
        free(garbage->slabs);
        garbage->slabs = next;
    }
    for (size_t i = 0; i < garbage->count; i++) {
        const size_t own = own_index(m, (struct hal_semaphore *)(void *)garbage->objects[i]);
        assert_false(m->own_gone[own]); /* given up once */
        m->own_gone[own] = true;
    }
    free(garbage->objects);
}

/* Some of what deallocas in flight will signal, or have. */
static size_t pick_waits(const struct model *m, struct hal_semaphore_value *out_waits, size_t most)
{
    size_t count = 0;
    for (size_t tries = below(6); tries > 0 && m->given_count && count < most; tries--) {
        const struct given *given = &m->given[below(m->given_count)];
        if (given->signal_count)
            out_waits[count++] = given->signals[below(given->signal_count)];
    }
    return count;
}

static bool waits_for(const struct given *given, const struct hal_semaphore_value *waits,
                      size_t count)
{
    for (size_t s = 0; s < given->signal_count; s++) {
        for (size_t w = 0; w < count; w++) {
            if (waits[w].semaphore == given->signals[s].semaphore &&
                waits[w].value >= given->signals[s].value)
                return true;
        }
    }
    return false;
}

/* Whether somebody who waits for `waits` may have it, by what the model knows. */
static bool may_have(const struct model *m, const struct hal_pool_block *block,
                     const struct hal_semaphore_value *waits, size_t count, bool pending)
{
    for (size_t i = 0; i < block->after_count; i++) {
        const struct given *given = &m->given[find_given(m, block->after[i])];
        if (given->state == HAL_RELEASE_FAILED ||
            (given->state == HAL_RELEASE_PENDING && !waits_for(given, waits, count) &&
             !(pending && given->promised.user)))
            return false;
    }
    return true;
}

/* Bytes of the smallest block that would do; 0: there is none. */
static uint64_t best_fit(const struct model *m, uint32_t memory, uint64_t bytes,
                         const struct hal_semaphore_value *waits, size_t count, bool pending)
{
    uint64_t best = 0;
    for (const struct hal_pool_slab *slab = m->pool.slabs; slab; slab = slab->next) {
        for (const struct hal_pool_block *block = slab->first; block; block = block->next) {
            if (slab->memory == memory && block->state == HAL_BLOCK_FREE && block->bytes >= bytes &&
                (!best || block->bytes < best) && may_have(m, block, waits, count, pending))
                best = block->bytes;
        }
    }
    return best;
}

static struct hal_pool_block *grow(struct model *m, uint32_t memory, uint64_t bytes)
{
    const uint64_t reserved = m->pool.statistics.reserved_bytes;
    const uint64_t slab_bytes = hal_pool_slab_bytes(&m->pool, bytes);
    assert_true((slab_bytes == 0) == (reserved + bytes > m->pool.limit_bytes));
    if (slab_bytes == 0 || m->slab_count == SLABS)
        return NULL;
    assert_true(slab_bytes >= bytes && slab_bytes % UNIT == 0);
    struct slab *slab = &m->slabs[m->slab_count];
    slab->buffer.bytes = slab_bytes;
    atomic_store(&slab->buffer.object.references, 1);
    struct hal_pool_block *block = hal_pool_add(&m->pool, &slab->buffer, memory, bytes);
    if (!block)
        return NULL;
    const size_t units = slab_bytes / UNIT;
    slab->slab = block->slab;
    slab->last = malloc(units * sizeof *slab->last);
    slab->lost = calloc(units, sizeof *slab->lost);
    assert_true(slab->last && slab->lost && block->after_count == 0);
    for (size_t i = 0; i < units; i++)
        slab->last[i] = -1;
    m->slab_count++;
    return block;
}

/* What the alloca waits for orders it behind whoever had any of the bytes; so it fails where that
 * did, which need not be known yet. */
static void note_taken(struct model *m, struct taken *taken)
{
    struct hal_pool_block *block = taken->block;
    struct slab *slab = slab_of(m, block->slab);
    for (size_t i = 0; i < block->after_count; i++) {
        const struct given *given = &m->given[find_given(m, block->after[i])];
        for (size_t w = 0; w < WORDS; w++)
            taken->after[w] |= given->after[w];
    }
    for (uint64_t u = block->offset / UNIT; u < (block->offset + block->bytes) / UNIT; u++) {
        const int32_t last = slab->last[u];
        assert_false(slab->lost[u]);
        if (last >= 0 && !has(taken->after, (size_t)last))
            fail_msg("bytes of dealloca %d are taken by somebody who does not wait for it", last);
    }
}

static void give_it_a_semaphore(struct model *m, struct hal_pool_block *block)
{
    struct hal_idle_semaphore idle;
    if (hal_pool_take_semaphore(&m->pool, &idle)) {
        const size_t own = own_index(m, idle.semaphore);
        assert_false(m->own_gone[own]);
        assert_int_equal(idle.value, m->own_value[own]); /* that it has reached, and no more */
        for (size_t i = 0; i < m->taken_count; i++)
            assert_true(!m->taken[i].block || m->taken[i].block->semaphore != idle.semaphore);
    } else {
        assert_int_equal(m->pool.idle_count, 0);
        idle = (struct hal_idle_semaphore){&m->own[m->own_count], 0};
        m->own[m->own_count].object.id = 1000 + m->own_count;
        m->own_count++;
    }
    block->semaphore = idle.semaphore;
    block->value = idle.value + 1;
}

static void alloca_step(struct model *m)
{
    struct hal_semaphore_value waits[8];
    const size_t wait_count = pick_waits(m, waits, 8);
    const uint32_t memory = (uint32_t)below(2);
    const uint64_t bytes = (1 + below(UINT64_C(1) << below(13))) * UNIT;
    const enum hal_pool_search search = (enum hal_pool_search)below(3);
    const bool pending = search == HAL_POOL_PENDING;
    const uint64_t fit = best_fit(m, memory, bytes, waits, wait_count, pending);
    const uint64_t used = m->pool.statistics.used_bytes;
    const bool quick = search == HAL_POOL_QUICK || (pending && fail_one_in);
    struct hal_pool_block *block =
        hal_pool_take(&m->pool, search, memory, bytes, waits, wait_count);
    if (!fail_one_in && !quick)
        assert_true((block != NULL) == (fit != 0) || (m->pool.is_limited && block));
    if (block) {
        const uint64_t rest =
            block->next && block->next->state == HAL_BLOCK_FREE ? block->next->bytes : 0;
        assert_true((fit == 0 && m->pool.is_limited) || block->bytes == fit ||
                    block->bytes + rest == fit || (quick && fit && block->bytes + rest > fit));
        assert_true(may_have(m, block, waits, wait_count, pending));
    } else {
        block = grow(m, memory, bytes);
    }
    if (!block) {
        assert_int_equal(m->pool.statistics.used_bytes, used);
        return;
    }
    assert_true(block->bytes == bytes && block->slab->memory == memory);
    if (below(12) == 0) { /* it could not be submitted */
        hal_pool_untake(&m->pool, block);
        return;
    }
    struct taken *taken = &m->taken[m->taken_count++];
    taken->block = block;
    note_taken(m, taken);
    give_it_a_semaphore(m, block);
    (void)hal_pool_taken(&m->pool, block);
    m->used_bytes += bytes;
    m->live_count++;
}

static struct taken *pick_taken(struct model *m)
{
    for (size_t tries = 0; tries < 20 && m->taken_count; tries++) {
        struct taken *taken = &m->taken[below(m->taken_count)];
        if (taken->block)
            return taken;
    }
    return NULL;
}

static void leave(struct model *m, struct taken *taken)
{
    m->used_bytes -= taken->block->bytes;
    m->live_count--;
    taken->block = NULL;
}

static void ignore(void *user, const struct hal_submission_result *result)
{
    (void)user;
    (void)result;
}

/* Half of the deallocas wait for nothing that has to be brought about. */
static void promise(struct given *given)
{
    const struct hal_semaphore_value signal = {given->release->semaphore, given->release->value};
    given->promised = (struct hal_submission){0};
    if (below(2) == 0)
        return;
    given->promised =
        (struct hal_submission){.signals = &signal, .signal_count = 1, .retired = ignore};
    hal_promise_end(hal_promise_begin(&given->promised), true);
}

static void dealloca_step(struct model *m)
{
    struct taken *taken = pick_taken(m);
    struct given *given = &m->given[m->given_count];
    if (!taken)
        return;
    struct hal_pool_block *block = taken->block;
    given->signal_count = below(3);
    for (size_t i = 0; i < given->signal_count; i++) {
        struct hal_semaphore *theirs = &m->theirs[below(4)];
        theirs->object.id = 1 + (uint64_t)(theirs - m->theirs);
        given->signals[i] = (struct hal_semaphore_value){theirs, ++theirs->initial_value};
    }
    struct hal_pool_release *release =
        hal_pool_release_create(&m->pool, block, given->signals, given->signal_count);
    if (!release)
        return;
    if (below(12) == 0) {
        hal_pool_release_free(release); /* it could not be submitted: the block stays in use */
        return;
    }
    assert_true(release->semaphore == block->semaphore && release->value == block->value + 1);
    memcpy(given->after, taken->after, sizeof given->after);
    set(given->after, m->given_count);
    given->release = release;
    struct slab *slab = slab_of(m, block->slab);
    for (uint64_t u = block->offset / UNIT; u < (block->offset + block->bytes) / UNIT; u++)
        slab->last[u] = (int32_t)m->given_count;
    m->given_count++;
    leave(m, taken);
    promise(given);
    hal_pool_give(&m->pool, block, release);
}

/* One that all it comes after has finished; that fails when one of them did. */
static void finish_step(struct model *m)
{
    size_t ready[MOST], count = 0;
    for (size_t i = 0; i < m->given_count; i++) {
        bool waits = m->given[i].state != HAL_RELEASE_PENDING;
        for (size_t k = 0; k < i && !waits; k++)
            waits = has(m->given[i].after, k) && m->given[k].state == HAL_RELEASE_PENDING;
        if (!waits)
            ready[count++] = i;
    }
    if (count == 0)
        return;
    const size_t chosen = ready[below(count)];
    struct given *given = &m->given[chosen];
    bool fails = below(25) == 0;
    for (size_t k = 0; k < chosen; k++)
        fails |= has(given->after, k) && m->given[k].state == HAL_RELEASE_FAILED;
    given->state = fails ? HAL_RELEASE_FAILED : HAL_RELEASE_DONE;
    if (!fails)
        m->own_value[own_index(m, given->release->semaphore)] = given->release->value;
    atomic_store(&given->release->state, given->state);
    if (given->promised.user)
        given->promised.retired(given->promised.user, NULL);
}

static void lose_step(struct model *m)
{
    struct hal_pool_garbage garbage = {0};
    struct taken *taken = pick_taken(m);
    if (!taken)
        return;
    struct hal_pool_block *block = taken->block;
    struct slab *slab = slab_of(m, block->slab);
    for (uint64_t u = block->offset / UNIT; u < (block->offset + block->bytes) / UNIT; u++)
        slab->lost[u] = true;
    leave(m, taken);
    hal_pool_lose(&m->pool, block, &garbage);
    drop_garbage(m, &garbage);
}

/* Of slabs that nothing uses: all that held a part of them has finished. */
static uint64_t idle_bytes(const struct model *m)
{
    uint64_t bytes = 0;
    for (const struct hal_pool_slab *slab = m->pool.slabs; slab; slab = slab->next) {
        bool is_idle = slab->used == 0;
        for (const struct hal_pool_block *block = slab->first; block; block = block->next)
            is_idle &= block->state == HAL_BLOCK_LOST || may_have(m, block, NULL, 0, false);
        bytes += is_idle ? slab->buffer->bytes : 0;
    }
    return bytes;
}

static void trim_step(struct model *m)
{
    struct hal_pool_garbage garbage = {0};
    const enum hal_pool_trim which = (enum hal_pool_trim)below(3);
    const uint64_t bytes = (1 + below(8 << 12)) * UNIT, reserved = idle_bytes(m);
    const uint64_t room = m->pool.limit_bytes - m->pool.statistics.reserved_bytes;
    hal_pool_trim(&m->pool, which, bytes, &garbage);
    drop_garbage(m, &garbage);
    for (const struct hal_pool_slab *slab = m->pool.slabs; slab; slab = slab->next)
        assert_true(slab->used || which == HAL_POOL_TRIM_IDLE ||
                    (which == HAL_POOL_TRIM_LOST && !slab->lost));
    if (which == HAL_POOL_TRIM_IDLE)
        assert_int_equal(idle_bytes(m),
                         bytes <= reserved || bytes - reserved <= room ? 0 : reserved);
}

/* ---- Rounds --------------------------------------------------------------------------------- */

/* Everything ends: nothing is left, and every semaphore was given up once. */
static void end(struct model *m)
{
    struct hal_pool_garbage garbage = {0};
    for (size_t i = 0; i < m->given_count; i++)
        finish_step(m);
    for (size_t i = 0; i < m->taken_count; i++) {
        struct hal_pool_garbage lost = {0};
        if (!m->taken[i].block)
            continue;
        struct hal_pool_block *block = m->taken[i].block;
        leave(m, &m->taken[i]);
        hal_pool_lose(&m->pool, block, &lost);
        drop_garbage(m, &lost);
    }
    check_structure(m);
    hal_pool_close(&m->pool, &garbage);
    drop_garbage(m, &garbage);
    assert_null(m->pool.slabs);
    assert_int_equal(m->pool.statistics.reserved_bytes, 0);
    for (size_t i = 0; i < m->own_count && !fail_one_in; i++)
        assert_true(m->own_gone[i]);
    for (size_t i = 0; i < m->slab_count; i++)
        assert_null(m->slabs[i].slab);
    hal_pool_finish(&m->pool);
    for (size_t i = 0; i < m->own_count; i++)
        hal_promises_forget(&m->own[i]);
    for (size_t i = 0; i < 4; i++)
        hal_promises_forget(&m->theirs[i]);
    for (size_t i = 0; i < m->slab_count; i++) {
        free(m->slabs[i].last);
        free(m->slabs[i].lost);
    }
}

static void one_round(unsigned failing)
{
    struct model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    hal_pool_init(&m->pool);
    if (below(3) == 0)
        hal_pool_limit(&m->pool, (1 + below(8 << 12)) * UNIT);
    fail_one_in = failing;
    for (int i = 0; i < STEPS; i++) {
        const uint64_t choice = below(100);
        if (choice < 40)
            alloca_step(m);
        else if (choice < 70)
            dealloca_step(m);
        else if (choice < 95)
            finish_step(m);
        else if (choice < 97)
            lose_step(m);
        else
            trim_step(m);
        check_structure(m);
    }
    end(m);
    fail_one_in = 0;
    free(m);
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

static void rounds(unsigned failing)
{
    const uint64_t seed = number_from("HAL_TEST_SEED", (uint64_t)time(NULL) * 1000003);
    const uint64_t count = number_from("HAL_TEST_ROUNDS", 40);
    for (uint64_t i = 0; i < count; i++) {
        random_state = seed + i;
        print_message("%sHAL_TEST_SEED=%" PRIu64, i ? ", " : "", random_state);
        one_round(failing);
    }
    print_message("\n");
}

TEST(blocks_are_used_in_the_order_of_submissions)
{
    rounds(0);
}

TEST(memory_may_run_out_at_any_step)
{
    rounds(5);
}

/* ---- By hand -------------------------------------------------------------------------------- */

/* The block comes back at once to whoever waits for its dealloca, and not before to others. */
TEST(a_block_waits_for_its_dealloca)
{
    struct hal_pool pool = {0};
    struct hal_buffer buffer = {.bytes = UNIT};
    struct hal_semaphore own = {.object = {.id = 1}}, theirs = {.object = {.id = 2}};
    const struct hal_semaphore_value signal = {&theirs, 7}, early = {&theirs, 6};
    struct hal_pool_garbage garbage = {0};
    hal_pool_init(&pool);
    struct hal_pool_block *block = hal_pool_add(&pool, &buffer, 3, UNIT);
    assert_non_null(block);
    block->semaphore = &own;
    block->value = 1;
    assert_true(hal_pool_taken(&pool, block));
    struct hal_pool_release *release = hal_pool_release_create(&pool, block, &signal, 1);
    hal_pool_give(&pool, block, release);
    assert_null(hal_pool_take(&pool, HAL_POOL_THOROUGH, 3, UNIT, NULL, 0));
    assert_null(hal_pool_take(&pool, HAL_POOL_THOROUGH, 3, UNIT, &early, 1));
    assert_null(hal_pool_take(&pool, HAL_POOL_THOROUGH, 4, UNIT, &signal, 1)); /* other memory */
    assert_ptr_equal(hal_pool_take(&pool, HAL_POOL_THOROUGH, 3, UNIT, &signal, 1), block);
    assert_ptr_equal(block->after[0], release); /* to be waited for */
    hal_pool_untake(&pool, block);
    atomic_store(&release->state, HAL_RELEASE_DONE);
    assert_ptr_equal(hal_pool_take(&pool, HAL_POOL_THOROUGH, 3, UNIT, NULL, 0), block);
    hal_pool_lose(&pool, block, &garbage);
    assert_ptr_equal(garbage.slabs->buffer, &buffer);
    free(garbage.slabs);
    free(garbage.objects);
    garbage = (struct hal_pool_garbage){0};
    hal_pool_close(&pool, &garbage);
    hal_pool_finish(&pool);
    free(garbage.objects);
}

TEST(slabs_grow_up_to_the_limit)
{
    const uint64_t mib = UINT64_C(1) << 20;
    struct hal_pool pool = {0};
    hal_pool_init(&pool);
    assert_int_equal(hal_pool_slab_bytes(&pool, UNIT), mib);
    assert_int_equal(hal_pool_slab_bytes(&pool, 5 * mib), 5 * mib);
    assert_int_equal(hal_pool_slab_bytes(&pool, UINT64_MAX / UNIT * UNIT),
                     UINT64_MAX / UNIT * UNIT);
    pool.statistics.reserved_bytes = 3 * mib;
    assert_int_equal(hal_pool_slab_bytes(&pool, UNIT), 4 * mib);
    pool.statistics.reserved_bytes = 1000 * mib;
    assert_int_equal(hal_pool_slab_bytes(&pool, UNIT), 64 * mib);
    pool.limit_bytes = 1000 * mib + 2 * UNIT + 1;
    assert_int_equal(hal_pool_slab_bytes(&pool, UNIT), 2 * UNIT);
    assert_int_equal(hal_pool_slab_bytes(&pool, 2 * UNIT), 2 * UNIT);
    assert_int_equal(hal_pool_slab_bytes(&pool, 3 * UNIT), 0);
    pool.limit_bytes = mib; /* below what is there already */
    assert_int_equal(hal_pool_slab_bytes(&pool, UNIT), 0);
    hal_pool_finish(&pool);
}
