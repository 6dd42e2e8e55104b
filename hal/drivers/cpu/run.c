/* SPDX-License-Identifier: Apache-2.0 */
/* The workers. Runs that have begun are in one list; a worker takes the first that has unclaimed
 * tiles and stays with it while there are some. Who finishes a phase's last tile makes those phases
 * ready that waited for it (phase.c).
 *
 * Waking a sleeping thread costs as much as hundreds of small workgroups, so a worker calls others
 * only when the tiles that are left are worth it by what such tiles took before; a worker that
 * has nothing to do looks around for a moment before it sleeps. */
#include "hal/base/mem.h"
#include "hal/drivers/cpu/cpu.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>

static const uint64_t worth_a_wake_ns = 20000;
/* For an idle worker: the duration of a wake-up where it is slow, on processors that enter sleep
 * states. After the first part of it, others that want the processor get it. */
static const int64_t warn_after_ns = 60000, undivided_ns = 20000;
/* So many; more are wanted by work that is worth their wakes. */
enum { PATIENT_WORKERS = 2 };
/* Others may keep the processor for milliseconds, where a sleeper is woken at once: a worker that
 * arrived that late sleeps early for a while. */
static const int64_t late_ns = 500000, early_ns = 100000000;

struct worker {
    _Alignas(64) struct cpu_pool *pool;
    struct msl_worker *kernels;
    pthread_t thread;

    /* Where in the step it took the last tile: tiles are claimed in rising order. */
    const struct cpu_step *step;
    const struct cpu_op *_Atomic op; /* others look which one it is; NULL: none */
    uint64_t last_share;
    bool helped; /* others were called for the step */

    int64_t early_until_ns; /* it sleeps early till then */
};

struct cpu_pool {
    pthread_mutex_t lock; /* guards the list of runs, and the workers inside */
    struct cpu_run *first, *last;
    _Alignas(64) _Atomic uint32_t epoch; /* counts what was published; sleepers wait for it */
    _Atomic uint32_t idle;               /* workers that look for work or sleep */
    _Atomic uint32_t looking;            /* those that look */
    _Atomic int64_t called_ns;           /* when something was published for them the last time */
    _Atomic bool stopping;
    uint32_t worker_count;
    struct worker workers[];
};

/* A worker that starts a run will look for one itself. */
static _Thread_local const struct cpu_pool *pool_of_this_thread;

/* ---- Publishing --------------------------------------------------------------------------- */

static void wake(struct cpu_pool *pool, uint64_t wanted)
{
    if (atomic_load(&pool->looking))
        atomic_store_explicit(&pool->called_ns, hal_clock_ns(), memory_order_relaxed);
    atomic_fetch_add(&pool->epoch, 1);
    const uint32_t looking = atomic_load(&pool->looking);
    if (wanted > looking && atomic_load(&pool->idle) > looking)
        hal_word_wake(&pool->epoch, wanted - looking > INT_MAX ? INT_MAX : (int)(wanted - looking));
}

/* ---- Runs --------------------------------------------------------------------------------- */

void cpu_pool_start(struct cpu_pool *pool, struct cpu_run *run)
{
    atomic_init(&run->references, 1);
    (void)cpu_run_advance(run); /* there is a phase: it does not end here */
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

/* The order of recording is one that all barriers allow. */
void cpu_run_here(struct cpu_run *run)
{
    atomic_init(&run->references, 1);
    run->begin_ns = hal_clock_ns();
    for (size_t i = 0; i < run->program_count; i++) {
        const struct cpu_program_list *list = &run->programs[i]->lists[CPU_TRANSFERS];
        for (size_t k = 0; k < list->op_count; k++) {
            const struct cpu_op *op = &list->ops[k];
            (void)!cpu_op_run(op, NULL, NULL, 0, (op->units - 1) / op->units_per_tile + 1);
        }
    }
    run->end_ns = hal_clock_ns();
    run->busy_ns = run->end_ns - run->begin_ns;
    run->done(run);
}

void cpu_run_release(struct cpu_run *run)
{
    if (atomic_fetch_sub_explicit(&run->references, 1, memory_order_acq_rel) == 1)
        run->free(run);
}

/* ---- Tiles -------------------------------------------------------------------------------- */

/* A ready step with unclaimed tiles; NULL: the list has none. */
static struct cpu_step *open_step(struct cpu_run_list *list)
{
    const size_t ready = atomic_load_explicit(&list->ready, memory_order_acquire);
    size_t at = atomic_load_explicit(&list->cursor, memory_order_relaxed);
    while (at < ready) {
        struct cpu_step *step = &list->steps[at];
        if (atomic_load_explicit(&step->unclaimed, memory_order_relaxed) > 0)
            return step;
        if (atomic_compare_exchange_strong_explicit(&list->cursor, &at, at + 1,
                                                    memory_order_relaxed, memory_order_relaxed))
            at++;
    }
    return NULL;
}

static struct cpu_step *find_step(struct cpu_run *run)
{
    for (size_t i = 0; i < CPU_STAGE_LISTS; i++) {
        struct cpu_step *step = open_step(&run->lists[i]);
        if (step)
            return step;
    }
    return NULL;
}

/* Claims up to `wanted` tiles of the step; they are counted from the phase's first. */
static uint64_t claim(struct cpu_step *step, uint64_t wanted, uint64_t *out_first)
{
    uint64_t left = atomic_load_explicit(&step->unclaimed, memory_order_relaxed), count;
    do {
        if (left == 0)
            return 0;
        count = wanted < left ? wanted : left;
    } while (!atomic_compare_exchange_weak_explicit(&step->unclaimed, &left, left - count,
                                                    memory_order_relaxed, memory_order_relaxed));
    *out_first = step->phase->tile_count - left;
    return count;
}

static void set_op(struct worker *worker, const struct cpu_op *op)
{
    atomic_store_explicit(&worker->op, op, memory_order_relaxed);
}

/* The operation of a tile that this worker claimed. */
static const struct cpu_op *find_op(struct worker *worker, uint64_t tile)
{
    const struct cpu_phase *phase = worker->step->phase;
    const struct cpu_op *last_op = phase->ops + phase->op_count - 1;
    const struct cpu_op *op = atomic_load_explicit(&worker->op, memory_order_relaxed);
    while (op < last_op && op[1].first_tile <= tile)
        set_op(worker, ++op);
    return op;
}

static enum hal_status run_timed(struct worker *worker, const struct cpu_op *op, uint64_t first,
                                 uint64_t last)
{
    const struct cpu_step *step = worker->step;
    const int64_t begin_ns = hal_clock_ns();
    const enum hal_status status = cpu_op_run(op, step->counts, worker->kernels, first, last);
    cpu_run_note(step, op, begin_ns, hal_clock_ns());
    return status;
}

/* Says which dispatch failed. */
static enum hal_status blame(const struct cpu_run *run, const struct cpu_step *step,
                             const struct cpu_op *op, enum hal_status status)
{
    char name[HAL_OBJECT_NAME_BYTES];
    if (op->kind != CPU_OP_DISPATCH && op->kind != CPU_OP_DISPATCH_INDIRECT)
        return status;
    for (size_t i = 0; i < run->program_count; i++) {
        const struct cpu_program *program = run->programs[i];
        for (int k = 0; k < CPU_STAGE_LISTS; k++) {
            const struct cpu_program_list *list = &program->lists[k];
            if (step->phase >= list->phases && step->phase < list->phases + list->phase_count)
                return hal_add_context(status, "%s, dispatch %u",
                                       hal_object_name(&program->commands->object, name),
                                       op->dispatch.number);
        }
    }
    return status;
}

static void run_tiles(struct worker *worker, struct cpu_run *run, uint64_t first, uint64_t count)
{
    const struct cpu_step *step = worker->step;
    const struct cpu_op *ops_end = step->phase->ops + step->phase->op_count;
    if (atomic_load_explicit(&run->failed, memory_order_relaxed))
        return;
    for (uint64_t end = first + count; first < end;) {
        const struct cpu_op *op = find_op(worker, first);
        const uint64_t op_end = op + 1 < ops_end && op[1].first_tile < end ? op[1].first_tile : end;
        const uint64_t begin = first - op->first_tile, last = op_end - op->first_tile;
        const enum hal_status status =
            step->times ? run_timed(worker, op, begin, last)
                        : cpu_op_run(op, step->counts, worker->kernels, begin, last);
        if (status != HAL_OK)
            cpu_run_fail(run, blame(run, step, op, status));
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

/* How many tiles to claim next: few at first, to leave others some; then a share of the rest. */
static uint64_t share(const struct cpu_pool *pool, const struct cpu_step *step, uint64_t last_share)
{
    if (pool->worker_count == 1)
        return UINT64_MAX;
    const uint64_t left = atomic_load_explicit(&step->unclaimed, memory_order_relaxed);
    const uint64_t even = left / (2 * (uint64_t)pool->worker_count), twice = 2 * last_share;
    const uint64_t wanted = twice < even ? twice : even;
    return wanted ? wanted : 1;
}

/* The estimated time of the step's unclaimed tiles, if they are like those of `op`; 0: unknown. */
static uint64_t estimate_ns(const struct cpu_step *step, const struct cpu_op *op)
{
    const uint64_t tile_ns = cpu_op_tile_ns(op, step->counts);
    uint64_t work_ns;
    if (__builtin_mul_overflow(tile_ns, atomic_load(&step->unclaimed), &work_ns))
        work_ns = UINT64_MAX;
    return work_ns;
}

/* Tiles that others could take, and their estimated time; *out_known is false before any
 * measurement: a tile may take seconds. */
static uint64_t left_for_others(struct cpu_run *run, const struct cpu_step *own,
                                const struct cpu_op *own_op, uint64_t *out_work_ns, bool *out_known)
{
    uint64_t tiles = 0;
    *out_work_ns = 0;
    *out_known = true;
    for (size_t i = 0; i < CPU_STAGE_LISTS; i++) {
        const struct cpu_step *step = open_step(&run->lists[i]);
        if (!step)
            continue;
        const uint64_t work_ns = estimate_ns(step, step == own ? own_op : step->phase->ops);
        *out_known &= work_ns > 0;
        if (__builtin_add_overflow(*out_work_ns, work_ns, out_work_ns))
            *out_work_ns = UINT64_MAX;
        tiles += atomic_load_explicit(&step->unclaimed, memory_order_relaxed);
    }
    return tiles;
}

/* Whether the remaining work justifies other workers, which are then woken. */
static bool call_for_help(struct worker *worker, struct cpu_run *run, const struct cpu_op *op)
{
    uint64_t work_ns;
    bool known;
    const uint64_t left = left_for_others(run, worker->step, op, &work_ns, &known);
    if (left == 0 || (known && work_ns < worth_a_wake_ns))
        return false;
    const uint64_t helpers = known ? work_ns / worth_a_wake_ns : 1;
    wake(worker->pool, helpers < left ? helpers : left);
    return true;
}

/* Runs what was claimed, and measures it while that may matter. */
static void run_and_measure(struct worker *worker, struct cpu_run *run, uint64_t first,
                            uint64_t count)
{
    if (worker->helped || atomic_load_explicit(&worker->pool->idle, memory_order_relaxed) == 0) {
        run_tiles(worker, run, first, count);
        return;
    }
    const struct cpu_step *step = worker->step;
    const struct cpu_op *op = find_op(worker, first);
    const bool last = first + count == step->phase->tile_count;
    worker->helped = call_for_help(worker, run, op);
    if (last) { /* nothing of the kind follows */
        run_tiles(worker, run, first, count);
        return;
    }
    const int64_t begin_ns = hal_clock_ns();
    run_tiles(worker, run, first, count);
    cpu_op_measured(op, step->counts, count, hal_clock_ns() - begin_ns);
}

static void enter_step(struct worker *worker, const struct cpu_step *step)
{
    if (worker->step == step)
        return;
    worker->step = step;
    set_op(worker, NULL);
    worker->last_share = 0;
    worker->helped = false;
}

static void take_part(struct worker *worker, struct cpu_run *run)
{
    struct cpu_step *step;
    worker->step = NULL;
    while ((step = find_step(run)) != NULL) {
        uint64_t first;
        enter_step(worker, step);
        worker->last_share = share(worker->pool, step, worker->last_share);
        const uint64_t count = claim(step, worker->last_share, &first);
        if (count == 0)
            continue;
        /* Not before: until a tile is claimed, others may end the run and free its programs. */
        if (!atomic_load_explicit(&worker->op, memory_order_relaxed))
            set_op(worker, step->phase->ops);
        run_and_measure(worker, run, first, count);
        if (atomic_fetch_sub_explicit(&step->unfinished, count, memory_order_acq_rel) == count &&
            cpu_run_advance(run)) {
            end_run(worker->pool, run);
            break;
        }
    }
    set_op(worker, NULL);
}

/* ---- Looking from outside ------------------------------------------------------------------ */

/* The first of the program's dispatches that a worker is at. */
static const struct cpu_op *find_running(const struct cpu_pool *pool,
                                         const struct cpu_program_list *list)
{
    const struct cpu_op *first = NULL;
    for (uint32_t i = 0; i < pool->worker_count; i++) {
        const struct cpu_op *op = atomic_load_explicit(&pool->workers[i].op, memory_order_relaxed);
        if (op >= list->ops && op < list->ops + list->op_count && (!first || op < first))
            first = op;
    }
    return first;
}

/* What workers are at is compared alone: it may be gone. What is in the list is there. */
enum hal_status cpu_pool_running(struct cpu_pool *pool, struct hal_running *out)
{
    const struct cpu_op *op = NULL;
    pthread_mutex_lock(&pool->lock);
    for (const struct cpu_run *run = pool->first; run && !op; run = run->next) {
        for (uint32_t i = 0; i < run->program_count && !op; i++) {
            op = find_running(pool, &run->programs[i]->lists[CPU_DISPATCHES]);
            if (op)
                *out = (struct hal_running){
                    .signal = run->signal, .command_buffer = i, .dispatch = op->dispatch.number};
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return op ? HAL_OK : hal_fail(HAL_NOT_FOUND, "no dispatch runs");
}

/* ---- Workers ------------------------------------------------------------------------------ */

/* The first run with tiles, entered; NULL: none. */
static struct cpu_run *enter_run(struct cpu_pool *pool)
{
    bool more = false;
    pthread_mutex_lock(&pool->lock);
    struct cpu_run *run = pool->first;
    while (run && !find_step(run))
        run = run->next;
    if (run) {
        const int64_t now_ns = hal_clock_ns();
        if (run->begin_ns == 0)
            run->begin_ns = now_ns;
        if (run->inside++ == 0)
            run->busy_since_ns = now_ns;
        atomic_fetch_add_explicit(&run->references, 1, memory_order_relaxed);
        more = run->next && find_step(run->next);
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

/* Whether enough other workers are looking for work; this worker then stops. */
static bool leaves_it_to_others(struct cpu_pool *pool)
{
    uint32_t looking = atomic_load(&pool->looking);
    while (looking > PATIENT_WORKERS &&
           !atomic_compare_exchange_weak(&pool->looking, &looking, looking - 1))
        continue;
    return looking > PATIENT_WORKERS;
}

static bool look_once(const struct cpu_pool *pool, uint32_t epoch)
{
    for (int i = 0; i < 32; i++) {
        hal_relax();
        if (atomic_load(&pool->epoch) != epoch)
            return true;
    }
    return false;
}

/* True: something was published since `epoch`. */
static bool look(struct worker *worker, uint32_t epoch)
{
    struct cpu_pool *pool = worker->pool;
    const int64_t begin_ns = hal_clock_ns();
    const int64_t most_ns = begin_ns < worker->early_until_ns ? undivided_ns : warn_after_ns;
    int64_t looked_ns = 0;
    bool changed = false;
    atomic_fetch_add(&pool->looking, 1);
    while (!(changed = look_once(pool, epoch)) && looked_ns < most_ns) {
        looked_ns = hal_clock_ns() - begin_ns;
        if (looked_ns < undivided_ns)
            continue;
        if (leaves_it_to_others(pool))
            return false;
        sched_yield();
    }
    atomic_fetch_sub(&pool->looking, 1);
    if (changed && looked_ns >= undivided_ns) {
        const int64_t now_ns = hal_clock_ns();
        if (now_ns - atomic_load_explicit(&pool->called_ns, memory_order_relaxed) > late_ns)
            worker->early_until_ns = now_ns + early_ns;
    }
    return changed;
}

/* Returns when something was published since `epoch`, after a moment in which it looks. */
static void idle(struct worker *worker, uint32_t epoch)
{
    struct cpu_pool *pool = worker->pool;
    atomic_fetch_add(&pool->idle, 1);
    if (!look(worker, epoch))
        hal_word_wait(&pool->epoch, epoch, HAL_FOREVER);
    atomic_fetch_sub(&pool->idle, 1);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct cpu_pool *pool = worker->pool;
    pool_of_this_thread = pool;
    void *const entered = cpu_faults_enter_thread();
    for (;;) {
        const uint32_t epoch = atomic_load(&pool->epoch);
        struct cpu_run *run = enter_run(pool);
        if (run) {
            take_part(worker, run);
            leave_run(pool, run);
        } else if (atomic_load(&pool->stopping)) {
            cpu_faults_leave_thread(entered);
            return NULL;
        } else {
            idle(worker, epoch);
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
        hal_thread_join(pool->workers[i].thread);
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
    cpu_faults_watch();
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
