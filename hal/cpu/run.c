/* SPDX-License-Identifier: Apache-2.0 */
/* The workers. Runs that have begun are in one list; a worker takes the first that has unclaimed
 * tiles and stays with it while there are some. A phase's last finisher publishes the next one.
 *
 * Waking a sleeping thread costs as much as hundreds of small workgroups, so a worker calls others
 * only when the tiles that are left are worth it by what such tiles took before; a worker that
 * has nothing to do looks around for a moment before it sleeps. */
#include "hal/base/mem.h"
#include "hal/cpu/cpu.h"

#include <limits.h>
#include <stdio.h>

static const uint64_t worth_a_wake_ns = 20000;
static const int64_t patience_ns = 20000; /* of a worker that has nothing to do */

struct worker {
    _Alignas(64) struct cpu_pool *pool;
    struct msl_worker *kernels;
    pthread_t thread;

    /* Where in the phase it took the last tile: tiles are claimed in rising order. */
    const struct cpu_run *run;
    uint64_t phase_number;
    const struct cpu_op *op;
};

struct cpu_pool {
    pthread_mutex_t lock; /* the list of runs, and who is inside */
    struct cpu_run *first, *last;
    _Alignas(64) _Atomic uint32_t epoch; /* counts what was published; sleepers wait for it */
    _Atomic uint32_t idle;               /* workers that look for work or sleep */
    _Atomic uint32_t looking;            /* those that look */
    _Atomic bool stopping;
    uint32_t worker_count;
    struct worker workers[];
};

/* A worker that starts a run will look for one itself. */
static _Thread_local const struct cpu_pool *pool_of_this_thread;

/* ---- Publishing --------------------------------------------------------------------------- */

static void wake(struct cpu_pool *pool, uint64_t wanted)
{
    atomic_fetch_add(&pool->epoch, 1);
    const uint32_t looking = atomic_load(&pool->looking);
    if (wanted > looking && atomic_load(&pool->idle) > looking)
        hal_word_wake(&pool->epoch, wanted - looking > INT_MAX ? INT_MAX : (int)(wanted - looking));
}

/* The next phase of the run; false: there is none. */
static bool next_phase(struct cpu_run *run)
{
    while (run->program_index < run->program_count) {
        const struct cpu_program *program = run->programs[run->program_index];
        if (run->phase_index < program->phase_count) {
            run->phase = &program->phases[run->phase_index++];
            run->phase_number++;
            return true;
        }
        run->program_index++;
        run->phase_index = 0;
    }
    return false;
}

static void publish_phase(struct cpu_run *run)
{
    const uint64_t tiles = run->phase->tile_count;
    atomic_store_explicit(&run->unfinished, tiles, memory_order_relaxed);
    atomic_store_explicit(&run->unclaimed, tiles, memory_order_release);
}

void cpu_run_release(struct cpu_run *run)
{
    if (atomic_fetch_sub_explicit(&run->references, 1, memory_order_acq_rel) == 1)
        run->free(run);
}

void cpu_pool_start(struct cpu_pool *pool, struct cpu_run *run)
{
    atomic_init(&run->references, 1);
    next_phase(run);
    publish_phase(run);
    pthread_mutex_lock(&pool->lock);
    run->previous = pool->last;
    if (pool->last)
        pool->last->next = run;
    else
        pool->first = run;
    pool->last = run;
    pthread_mutex_unlock(&pool->lock);
    wake(pool, pool_of_this_thread == pool ? 0 : 1);
}

void cpu_run_here(struct cpu_run *run)
{
    atomic_init(&run->references, 1);
    run->begin_ns = hal_clock_ns();
    while (next_phase(run)) {
        for (size_t i = 0; i < run->phase->op_count; i++) {
            const struct cpu_op *op = &run->phase->ops[i];
            cpu_op_run(op, NULL, 0, (op->units - 1) / op->units_per_tile + 1);
        }
    }
    run->end_ns = hal_clock_ns();
    run->busy_ns = run->end_ns - run->begin_ns;
    run->done(run);
}

/* ---- Tiles -------------------------------------------------------------------------------- */

/* Claims up to `wanted` tiles of the present phase; they are counted from the phase's first. */
static uint64_t claim(struct cpu_run *run, uint64_t wanted, uint64_t *out_first)
{
    uint64_t left = atomic_load_explicit(&run->unclaimed, memory_order_acquire), count;
    do {
        if (left == 0)
            return 0;
        count = wanted < left ? wanted : left;
    } while (!atomic_compare_exchange_weak_explicit(&run->unclaimed, &left, left - count,
                                                    memory_order_acquire, memory_order_acquire));
    *out_first = run->phase->tile_count - left;
    return count;
}

/* The operation of a tile that this worker claimed. */
static const struct cpu_op *find_op(struct worker *worker, const struct cpu_run *run, uint64_t tile)
{
    const struct cpu_op *last_op = run->phase->ops + run->phase->op_count - 1;
    if (worker->run != run || worker->phase_number != run->phase_number) {
        worker->run = run;
        worker->phase_number = run->phase_number;
        worker->op = run->phase->ops;
    }
    while (worker->op < last_op && worker->op[1].first_tile <= tile)
        worker->op++;
    return worker->op;
}

static void run_tiles(struct worker *worker, const struct cpu_run *run, uint64_t first,
                      uint64_t count)
{
    const struct cpu_op *ops_end = run->phase->ops + run->phase->op_count;
    for (uint64_t end = first + count; first < end;) {
        const struct cpu_op *op = find_op(worker, run, first);
        const uint64_t op_end = op + 1 < ops_end && op[1].first_tile < end ? op[1].first_tile : end;
        cpu_op_run(op, worker->kernels, first - op->first_tile, op_end - op->first_tile);
        first = op_end;
    }
}

/* All phases have ended: the last thing that the pool does with a run. */
static void end_run(struct cpu_pool *pool, struct cpu_run *run)
{
    pthread_mutex_lock(&pool->lock);
    run->end_ns = hal_clock_ns();
    run->busy_ns += run->end_ns - run->busy_since_ns;
    run->ended = true;
    if (run->previous)
        run->previous->next = run->next;
    else
        pool->first = run->next;
    if (run->next)
        run->next->previous = run->previous;
    else
        pool->last = run->previous;
    pthread_mutex_unlock(&pool->lock);
    run->done(run);
}

/* How many tiles to claim next: few at first, so that others find some; then a share of what is
 * left. */
static uint64_t share(const struct cpu_pool *pool, const struct cpu_run *run, uint64_t last_share)
{
    if (pool->worker_count == 1)
        return UINT64_MAX;
    const uint64_t left = atomic_load_explicit(&run->unclaimed, memory_order_relaxed);
    const uint64_t even = left / (2 * (uint64_t)pool->worker_count), twice = 2 * last_share;
    const uint64_t wanted = twice < even ? twice : even;
    return wanted ? wanted : 1;
}

/* Whether `left` more tiles like those of `op` deserve other workers, who are then called. What
 * nobody has measured yet does: a tile may take seconds. */
static bool call_for_help(struct cpu_pool *pool, const struct cpu_op *op, uint64_t left)
{
    const uint64_t tile_ns = cpu_op_tile_ns(op);
    uint64_t work_ns;
    if (__builtin_mul_overflow(tile_ns, left, &work_ns))
        work_ns = UINT64_MAX;
    if (tile_ns > 0 && work_ns < worth_a_wake_ns)
        return false;
    const uint64_t helpers = tile_ns > 0 ? work_ns / worth_a_wake_ns : 1;
    wake(pool, helpers < left ? helpers : left);
    return true;
}

/* Runs what was claimed, and measures it while that may matter. */
static void run_and_measure(struct worker *worker, const struct cpu_run *run, uint64_t first,
                            uint64_t count, bool *helped)
{
    struct cpu_pool *pool = worker->pool;
    const uint64_t left = run->phase->tile_count - first - count;
    if (left == 0 || *helped || atomic_load_explicit(&pool->idle, memory_order_relaxed) == 0) {
        run_tiles(worker, run, first, count);
        return;
    }
    const struct cpu_op *op = find_op(worker, run, first);
    *helped = call_for_help(pool, op, left);
    const int64_t begin_ns = hal_clock_ns();
    run_tiles(worker, run, first, count);
    cpu_op_measured(op, count, hal_clock_ns() - begin_ns);
}

static void take_part(struct worker *worker, struct cpu_run *run)
{
    uint64_t first, count, wanted = 0;
    bool helped = false;
    worker->run = NULL;
    for (;;) {
        wanted = share(worker->pool, run, wanted);
        count = claim(run, wanted, &first);
        if (count == 0)
            return;
        run_and_measure(worker, run, first, count, &helped);
        if (atomic_fetch_sub_explicit(&run->unfinished, count, memory_order_acq_rel) != count)
            continue;
        if (!next_phase(run)) {
            end_run(worker->pool, run);
            return;
        }
        wanted = 0;
        helped = false;
        publish_phase(run);
    }
}

/* ---- Workers ------------------------------------------------------------------------------ */

static bool has_tiles(const struct cpu_run *run)
{
    return atomic_load_explicit(&run->unclaimed, memory_order_relaxed) > 0;
}

/* The first run with tiles, entered; NULL: there is none. */
static struct cpu_run *enter_run(struct cpu_pool *pool)
{
    bool more = false;
    pthread_mutex_lock(&pool->lock);
    struct cpu_run *run = pool->first;
    while (run && !has_tiles(run))
        run = run->next;
    if (run) {
        const int64_t now_ns = hal_clock_ns();
        if (run->begin_ns == 0)
            run->begin_ns = now_ns;
        if (run->inside++ == 0)
            run->busy_since_ns = now_ns;
        atomic_fetch_add_explicit(&run->references, 1, memory_order_relaxed);
        more = run->next && has_tiles(run->next);
    }
    pthread_mutex_unlock(&pool->lock);
    if (more)
        wake(pool, 1);
    return run;
}

static void leave_run(struct cpu_pool *pool, struct cpu_run *run)
{
    pthread_mutex_lock(&pool->lock);
    if (--run->inside == 0 && !run->ended)
        run->busy_ns += hal_clock_ns() - run->busy_since_ns;
    pthread_mutex_unlock(&pool->lock);
    cpu_run_release(run);
}

/* Returns when something was published since `epoch`, after a moment in which it looks. */
static void idle(struct cpu_pool *pool, uint32_t epoch)
{
    const int64_t deadline_ns = hal_clock_ns() + patience_ns;
    bool changed = false;
    atomic_fetch_add(&pool->idle, 1);
    atomic_fetch_add(&pool->looking, 1);
    do {
        for (int i = 0; i < 32 && !changed; i++) {
            cpu_relax();
            changed = atomic_load(&pool->epoch) != epoch;
        }
    } while (!changed && hal_clock_ns() < deadline_ns);
    atomic_fetch_sub(&pool->looking, 1);
    if (!changed)
        hal_word_wait(&pool->epoch, epoch, HAL_FOREVER);
    atomic_fetch_sub(&pool->idle, 1);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct cpu_pool *pool = worker->pool;
    pool_of_this_thread = pool;
    for (;;) {
        const uint32_t epoch = atomic_load(&pool->epoch);
        struct cpu_run *run = enter_run(pool);
        if (run) {
            take_part(worker, run);
            leave_run(pool, run);
        } else if (atomic_load(&pool->stopping)) {
            return NULL;
        } else {
            idle(pool, epoch);
        }
    }
}

/* ---- Life --------------------------------------------------------------------------------- */

static void stop(struct cpu_pool *pool, uint32_t started)
{
    atomic_store(&pool->stopping, true);
    atomic_fetch_add(&pool->epoch, 1);
    hal_word_wake(&pool->epoch, INT_MAX);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        if (pool->workers[i].kernels)
            msl_worker_destroy(pool->workers[i].kernels);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

void cpu_pool_destroy(struct cpu_pool *pool)
{
    stop(pool, pool->worker_count);
}

enum hal_status cpu_pool_create(uint32_t workers, struct cpu_pool **out_pool)
{
    const size_t bytes =
        hal_align_up(sizeof(struct cpu_pool) + workers * sizeof(struct worker), 64);
    struct cpu_pool *pool = aligned_alloc(64, bytes);
    if (!pool)
        return hal_fail(HAL_NO_MEMORY, "no memory for %u workers", workers);
    memset(pool, 0, bytes);
    pthread_mutex_init(&pool->lock, NULL);
    pool->worker_count = workers;
    for (uint32_t i = 0; i < workers; i++) {
        struct worker *worker = &pool->workers[i];
        char name[32];
        snprintf(name, sizeof name, "hal-cpu-%u", i);
        worker->pool = pool;
        enum hal_status status = msl_worker_create(&worker->kernels);
        if (status == HAL_OK)
            status = hal_thread_start(name, work, worker, &worker->thread);
        if (status != HAL_OK) {
            stop(pool, i);
            return status;
        }
    }
    *out_pool = pool;
    return HAL_OK;
}
