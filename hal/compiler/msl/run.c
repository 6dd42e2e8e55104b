/* SPDX-License-Identifier: Apache-2.0 */
/* Runs kernels on the calling thread: a plain loop over threadgroups, or, where threads wait for
 * each other, one fiber per thread of the group.
 *
 * A fiber that cannot go on hands over to the next one that can, lanes of its own simdgroup first.
 * When no lane of a simdgroup can go on and some wait for a simd operation, the earliest operation
 * among them is performed for exactly the lanes that execute it: that is how lanes that went
 * different ways meet again. Which is the earliest, the program positions of the lanes say
 * (hal/compiler/msl/fission/positions.h), or without them, the place in the code. When all live
 * threads of the group wait at the barrier, it opens. Returned threads do not count. */
#include "hal/base/mem.h"
#include "hal/compiler/msl/bounds.h"
#include "hal/compiler/msl/fiber.h"
#include "hal/compiler/msl/library.h"

enum {
    MAX_SIMDGROUPS = MSL_MAX_GROUP_THREADS / MSL_SIMD_WIDTH,
    GROUP_ALIGNMENT = 64,
    GROUP_ARENA_BYTES =
        MSL_MAX_GROUP_MEMORY_BYTES + (MSL_MAX_THREADGROUP_ARGUMENTS + 1) * GROUP_ALIGNMENT
};
_Static_assert((int)MSL_MAX_BUFFERS == (int)MSL_ABI_BUFFERS, "the ABI has the public limit");
_Static_assert((int)MSL_MAX_THREADGROUP_ARGUMENTS == (int)MSL_ABI_GROUP_ARGUMENTS, "here too");
_Static_assert((int)MSL_SIMD_WIDTH == (int)MSL_ABI_SIMD_WIDTH, "lane masks have 32 bits");

struct thread {
    struct msl_fiber fiber;
    uint32_t index; /* in its threadgroup */
    /* While it waits for a simd operation: */
    const void *site;
    uint32_t at[MSL_ABI_POSITION_WORDS], at_words;
    uint32_t value_bytes;
    _Alignas(16) unsigned char value[MSL_ABI_LANE_BYTES];
};

struct simdgroup {
    uint32_t live, in_operation, at_barrier; /* one bit per lane */
    uint32_t active;                         /* lanes of the last operation */
    _Alignas(64) unsigned char values[MSL_SIMD_WIDTH * MSL_ABI_LANE_BYTES];
};

struct msl_worker {
    struct simdgroup simdgroups[MAX_SIMDGROUPS];
    struct thread threads[MSL_MAX_GROUP_THREADS];
    struct msl_stacks stacks; /* made when first needed */
    struct msl_fiber caller;
    _Alignas(GROUP_ALIGNMENT) unsigned char group_arena[GROUP_ARENA_BYTES];
    void *group_memory[MSL_MAX_THREADGROUP_ARGUMENTS];

    struct thread *running;
    uint32_t thread_count, simdgroup_count;
    const struct msl_abi_kernel *kernel;
    const struct msl_abi_launch *launch;
    uint32_t group[3];
    struct msl_bounds bounds; /* of the launch, when they are checked */
    enum hal_status status;
};

/* The worker whose fibers run on this thread. */
#if defined(__ELF__)
static _Thread_local struct msl_worker *current __attribute__((tls_model("initial-exec")));
#else
static _Thread_local struct msl_worker *current;
#endif

enum hal_status msl_worker_create(struct msl_worker **out_worker)
{
    struct msl_worker *worker = NULL;
    if (posix_memalign((void **)&worker, GROUP_ALIGNMENT, sizeof *worker) != 0)
        return hal_fail(HAL_NO_MEMORY, "out of memory for a kernel worker");
    memset(worker, 0, sizeof *worker);
    const enum hal_status status = msl_stacks_create(MSL_MAX_GROUP_THREADS, &worker->stacks);
    if (status != HAL_OK) {
        free(worker);
        return status;
    }
    *out_worker = worker;
    return HAL_OK;
}

void msl_worker_destroy(struct msl_worker *worker)
{
    if (!worker)
        return;
    for (size_t i = 0; i < MSL_MAX_GROUP_THREADS; i++)
        msl_fiber_finish(&worker->threads[i].fiber);
    msl_stacks_destroy(&worker->stacks);
    free(worker);
}

static struct simdgroup *simdgroup_of(struct msl_worker *worker, const struct thread *thread)
{
    return &worker->simdgroups[thread->index / MSL_SIMD_WIDTH];
}

static uint32_t lane_bit(const struct thread *thread)
{
    return UINT32_C(1) << thread->index % MSL_SIMD_WIDTH;
}

static uint32_t lowest(uint32_t lanes)
{
    return (uint32_t)__builtin_ctz(lanes);
}

/* Below 0: `a` waits for what comes earlier; 0: for the same operation. */
static int compare_waits(const struct thread *a, const struct thread *b)
{
    const uint32_t words = a->at_words < b->at_words ? a->at_words : b->at_words;
    for (uint32_t i = 0; i < words; i++) {
        if (a->at[i] != b->at[i])
            return a->at[i] < b->at[i] ? -1 : 1;
    }
    if (words)
        return 0;
    return (uintptr_t)a->site < (uintptr_t)b->site ? -1 : (uintptr_t)a->site > (uintptr_t)b->site;
}

/* Performs one operation: the earliest, for the lanes that wait for it. */
static void perform_operation(struct msl_worker *worker, struct simdgroup *simdgroup)
{
    struct thread *const lanes =
        &worker->threads[(size_t)(simdgroup - worker->simdgroups) * MSL_SIMD_WIDTH];
    const struct thread *chosen = &lanes[lowest(simdgroup->in_operation)];
    for (uint32_t rest = simdgroup->in_operation; rest; rest &= rest - 1)
        if (compare_waits(&lanes[lowest(rest)], chosen) < 0)
            chosen = &lanes[lowest(rest)];
    uint32_t active = 0;
    const size_t bytes = chosen->value_bytes;
    memset(simdgroup->values, 0, MSL_SIMD_WIDTH * bytes);
    for (uint32_t rest = simdgroup->in_operation; rest; rest &= rest - 1) {
        const uint32_t lane = lowest(rest);
        if (compare_waits(&lanes[lane], chosen) != 0)
            continue;
        active |= UINT32_C(1) << lane;
        memcpy(simdgroup->values + lane * bytes, lanes[lane].value, bytes);
    }
    simdgroup->active = active;
    simdgroup->in_operation &= ~active;
}

/* A thread of this simdgroup that can go on, after `lane` where possible; NULL: none. */
static struct thread *runnable(struct msl_worker *worker, uint32_t index, uint32_t lane)
{
    struct simdgroup *const simdgroup = &worker->simdgroups[index];
    uint32_t ready = simdgroup->live & ~simdgroup->in_operation & ~simdgroup->at_barrier;
    if (!ready && simdgroup->in_operation) {
        perform_operation(worker, simdgroup);
        ready = simdgroup->live & ~simdgroup->in_operation & ~simdgroup->at_barrier;
    }
    if (!ready)
        return NULL;
    const uint32_t later = lane + 1 < MSL_SIMD_WIDTH ? ready & ~UINT32_C(0) << (lane + 1) : 0;
    return &worker->threads[index * MSL_SIMD_WIDTH + lowest(later ? later : ready)];
}

static struct thread *find_runnable(struct msl_worker *worker)
{
    const uint32_t first = worker->running->index / MSL_SIMD_WIDTH;
    const uint32_t lane = worker->running->index % MSL_SIMD_WIDTH;
    for (uint32_t i = 0; i < worker->simdgroup_count; i++) {
        const uint32_t index = (first + i) % worker->simdgroup_count;
        struct thread *const thread = runnable(worker, index, i ? MSL_SIMD_WIDTH - 1 : lane);
        if (thread)
            return thread;
    }
    return NULL;
}

/* The next thread to run; the barrier opens when it holds all; NULL when all have returned. */
static struct thread *next_thread(struct msl_worker *worker)
{
    struct thread *const thread = find_runnable(worker);
    if (thread)
        return thread;
    for (uint32_t i = 0; i < worker->simdgroup_count; i++)
        worker->simdgroups[i].at_barrier = 0;
    return find_runnable(worker);
}

/* The running thread cannot go on by itself. Returns when it can. */
static void yield(struct msl_worker *worker)
{
    struct thread *const from = worker->running, *const to = next_thread(worker);
    if (to == from)
        return;
    worker->running = to;
    msl_fiber_switch(&from->fiber, &to->fiber);
}

static void wait_at_barrier(void)
{
    struct msl_worker *const worker = current;
    simdgroup_of(worker, worker->running)->at_barrier |= lane_bit(worker->running);
    yield(worker);
}

static const void *exchange(const void *value, uint32_t bytes, const void *site,
                            uint32_t *out_active)
{
    struct msl_worker *const worker = current;
    struct thread *const self = worker->running;
    struct simdgroup *const simdgroup = simdgroup_of(worker, self);
    memcpy(self->value, value, bytes);
    self->site = site;
    self->value_bytes = bytes;
    simdgroup->in_operation |= lane_bit(self);
    yield(worker);
    *out_active = simdgroup->active;
    return simdgroup->values;
}

static void set_position(const uint32_t *words, uint32_t count)
{
    struct thread *const self = current->running;
    memcpy(self->at, words, count * sizeof *words);
    self->at_words = count;
}

static uint32_t own_lane(void)
{
    return current->running->index % MSL_SIMD_WIDTH;
}

/* The running thread has left its bounds, as the thread's message says: its group ends. */
static void stop_group(struct msl_worker *worker)
{
    uint32_t position[3];
    const uint32_t *const size = worker->launch->workgroup_size;
    const uint32_t index = worker->running->index;
    const uint32_t local[3] = {index % size[0], index / size[0] % size[1],
                               index / size[0] / size[1]};
    for (int i = 0; i < 3; i++)
        position[i] = worker->group[i] * size[i] + local[i];
    worker->status = hal_add_context(HAL_INVALID, "kernel '%s', thread (%u, %u, %u)",
                                     worker->kernel->name, position[0], position[1], position[2]);
    msl_fiber_leave(&worker->running->fiber, &worker->caller);
}

static void *check(const void *address, uint64_t bytes, uint32_t is_write)
{
    void *const usable = msl_bounds_check(&current->bounds, address, bytes, is_write != 0);
    if (!usable)
        stop_group(current);
    return usable;
}

static void bad_index(const char *file, uint32_t line, const char *type, uint64_t index)
{
    (void)hal_fail(HAL_INVALID, "%s:%u: index %lld of an array of type %s", file, line,
                   (long long)index, type);
    stop_group(current);
}

const struct msl_abi_runtime msl_runtime = {
    .group_barrier = wait_at_barrier,
    .exchange = exchange,
    .lane = own_lane,
    .position = set_position,
    .check = check,
    .bad_index = bad_index,
};

static void run_fiber(void)
{
    struct msl_worker *const worker = current;
    struct thread *const self = worker->running;
    msl_fiber_entered(&worker->caller);
    worker->kernel->run_thread(worker->launch, worker->group, self->index);
    simdgroup_of(worker, self)->live &= ~lane_bit(self);
    struct thread *const to = next_thread(worker);
    worker->running = to;
    msl_fiber_leave(&self->fiber, to ? &to->fiber : &worker->caller);
    __builtin_trap();
}

/* One threadgroup, all of its threads side by side. */
static void run_group(struct msl_worker *worker)
{
    for (uint32_t i = 0; i < worker->thread_count; i++) {
        worker->threads[i].index = i;
        worker->threads[i].at_words = 0;
        msl_fiber_prepare(&worker->threads[i].fiber, &worker->stacks, i, run_fiber);
    }
    for (uint32_t i = 0; i < worker->simdgroup_count; i++) {
        const uint32_t lanes = worker->thread_count - i * MSL_SIMD_WIDTH;
        struct simdgroup *const simdgroup = &worker->simdgroups[i];
        simdgroup->live = lanes >= MSL_SIMD_WIDTH ? ~UINT32_C(0) : (UINT32_C(1) << lanes) - 1;
        simdgroup->in_operation = simdgroup->at_barrier = 0;
    }
    worker->running = &worker->threads[0];
    msl_fiber_switch(&worker->caller, &worker->running->fiber);
}

static void run_side_by_side(struct msl_worker *worker, const struct msl_abi_launch *launch,
                             uint64_t first, uint64_t last)
{
    worker->thread_count =
        launch->workgroup_size[0] * launch->workgroup_size[1] * launch->workgroup_size[2];
    worker->simdgroup_count = (worker->thread_count + MSL_SIMD_WIDTH - 1) / MSL_SIMD_WIDTH;
    worker->launch = launch;
    worker->caller = (struct msl_fiber){0};
    struct msl_worker *const outer = current;
    current = worker;
    for (uint64_t i = first; i < last && worker->status == HAL_OK; i++) {
        const uint64_t row = i / launch->workgroup_count[0];
        worker->group[0] = (uint32_t)(i % launch->workgroup_count[0]);
        worker->group[1] = (uint32_t)(row % launch->workgroup_count[1]);
        worker->group[2] = (uint32_t)(row / launch->workgroup_count[1]);
        run_group(worker);
    }
    for (uint32_t i = 0; worker->status != HAL_OK && i < worker->thread_count; i++)
        msl_fiber_finish(&worker->threads[i].fiber); /* they are anywhere */
    current = outer;
}

/* Gives each threadgroup argument its part of the worker's memory, after the variables. */
static void place_group_memory(struct msl_worker *worker, const struct msl_function *function,
                               const uint32_t *bytes)
{
    size_t offset = hal_align_up(function->info.static_group_memory_bytes, GROUP_ALIGNMENT);
    for (uint32_t i = 0; i < MSL_MAX_THREADGROUP_ARGUMENTS; i++) {
        worker->group_memory[i] = worker->group_arena + offset;
        if (bytes && (function->info.threadgroup_mask >> i & 1))
            offset += hal_align_up(bytes[i], GROUP_ALIGNMENT);
    }
}

static void add_bounds(struct msl_worker *worker, const struct msl_function *function,
                       const struct msl_launch *launch, struct msl_abi_launch *seen)
{
    const struct msl_bounds_memory memory = {
        .buffers = launch->buffers,
        .buffer_bytes = launch->buffer_bytes,
        .buffer_mask = function->info.buffer_mask,
        .group_memory = worker->group_memory,
        .group_bytes = launch->workgroup_argument_bytes,
        .group_mask = function->info.threadgroup_mask,
        .variables = worker->group_arena,
        .variable_bytes = function->info.static_group_memory_bytes,
        .members = launch->members,
        .member_count = launch->member_count,
    };
    msl_bounds_set(&worker->bounds, &memory);
    seen->buffers = worker->bounds.buffers;
    seen->group_memory = worker->bounds.group_memory;
    seen->group_variables = worker->bounds.variables;
}

enum hal_status msl_function_run(const struct msl_function *function, struct msl_worker *worker,
                                 const struct msl_launch *launch, uint64_t first, uint64_t last)
{
    place_group_memory(worker, function, launch->workgroup_argument_bytes);
    struct msl_abi_launch seen = {.buffers = launch->buffers,
                                  .group_memory = worker->group_memory,
                                  .group_variables = worker->group_arena};
    memcpy(seen.workgroup_size, launch->workgroup_size, sizeof seen.workgroup_size);
    memcpy(seen.workgroup_count, launch->workgroup_count, sizeof seen.workgroup_count);
    worker->kernel = function->kernel;
    worker->status = HAL_OK;
    if (first >= last)
        return HAL_OK;
    if (function->info.checks_bounds)
        add_bounds(worker, function, launch, &seen);
    const struct msl_abi_kernel *const kernel = function->kernel;
    if (kernel->run_groups)
        kernel->run_groups(&seen, first, last);
    else if (kernel->run_split &&
             memcmp(kernel->split_size, seen.workgroup_size, sizeof seen.workgroup_size) == 0)
        kernel->run_split(&seen, first, last);
    else
        run_side_by_side(worker, &seen, first, last);
    return worker->status;
}
