/* SPDX-License-Identifier: Apache-2.0 */
/* Executes what was encoded: in the order in which it was encoded, or, with HOST_METAL=shuffle, in
 * a random one of those that Metal allows, across command buffers, too.
 *
 * Metal orders commands of one encoder by its dispatch type, barriers and, between blits, tracked
 * hazards; encoders by fences, tracked hazards and events. */
#import "hal/host_metal/metal.h"

#include <stdatomic.h>
#include <time.h>

/* ---- A random order that keeps what must be kept ------------------------------------------- */

/* before(context, i, j), i < j: must the earlier element i come first? */
typedef bool (*before_function)(const void *context, size_t i, size_t j);

/* Fills `order`; elements are taken at random among those whose predecessors are all placed. */
static void choose_order(size_t *order, size_t count, before_function before, const void *context)
{
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    if (!hm_modes()->shuffle)
        return;
    size_t *const pending = host_metal_allocate(count * sizeof *pending); /* predecessors */
    size_t *const ready = host_metal_allocate(count * sizeof *ready);
    size_t ready_count = 0;
    for (size_t j = 0; j < count; j++) {
        for (size_t i = 0; i < j; i++)
            pending[j] += before(context, i, j);
        if (!pending[j])
            ready[ready_count++] = j;
    }
    for (size_t n = 0; n < count; n++) {
        const size_t chosen = (size_t)hm_random_below(ready_count);
        const size_t i = order[n] = ready[chosen];
        ready[chosen] = ready[--ready_count];
        for (size_t j = i + 1; j < count; j++)
            if (before(context, i, j) && --pending[j] == 0)
                ready[ready_count++] = j;
    }
    free(ready);
    free(pending);
}

static bool touches(const struct hm_accesses *accesses, const HMBuffer *buffer)
{
    for (size_t i = 0; i < accesses->count; i++)
        if (accesses->items[i].buffer == buffer)
            return true;
    return false;
}

/* One writes what the other one touches, and Metal tracks it. In a heap, the heap is tracked. */
static bool tracked_hazard(const struct hm_accesses *a, const struct hm_accesses *b)
{
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count; j++) {
            HMBuffer *const first = a->items[i].buffer, *const second = b->items[j].buffer;
            const bool same = first == second || (first->_heap && first->_heap == second->_heap);
            if (same && (a->items[i].access | b->items[j].access) & HM_WRITE &&
                [first hm_isTracked])
                return true;
        }
    return false;
}

/* ---- Commands ------------------------------------------------------------------------------ */

static bool is_barrier(const struct hm_command *command)
{
    return command->kind == HM_COMMAND_BARRIER ||
           (command->kind == HM_COMMAND_SAMPLE && command->barrier);
}

/* Barriers keep their place among the commands; one with resources orders those that touch them.
 * A sample without a barrier is taken at any time between them. */
static bool command_before(const void *context, size_t i, size_t j)
{
    const struct hm_step *const step = context;
    const struct hm_command *const first = &step->commands[i], *const second = &step->commands[j];
    if (is_barrier(first) || is_barrier(second)) {
        if (is_barrier(first) && is_barrier(second))
            return true;
        const struct hm_command *const barrier = is_barrier(first) ? first : second;
        const struct hm_command *const other = barrier == first ? second : first;
        for (size_t k = 0; k < barrier->accesses.count; k++)
            if (touches(&other->accesses, barrier->accesses.items[k].buffer))
                return true;
        return barrier->accesses.count == 0;
    }
    if (first->kind == HM_COMMAND_SAMPLE || second->kind == HM_COMMAND_SAMPLE)
        return false;
    if (first->kind == HM_COMMAND_DISPATCH)
        return !step->concurrent;
    return tracked_hazard(&first->accesses, &second->accesses);
}

static void dispatch(HMQueue *queue, struct hm_command *command)
{
    struct msl_launch *const launch = &command->launch;
    launch->buffers = command->buffers;
    launch->workgroup_argument_bytes = command->group_bytes;
    if (command->source)
        memcpy(launch->workgroup_count, command->source->_device_bytes + command->source_offset,
               sizeof launch->workgroup_count);
    const uint64_t rows = (uint64_t)launch->workgroup_count[0] * launch->workgroup_count[1];
    if (!rows || !launch->workgroup_count[2])
        return;
    hm_check(rows <= UINT64_MAX / launch->workgroup_count[2], "grid-too-large",
             "a grid of %u x %u x %u threadgroups", launch->workgroup_count[0],
             launch->workgroup_count[1], launch->workgroup_count[2]);
    if (!queue->_worker && msl_worker_create(&queue->_worker) != HAL_OK)
        host_metal_broken("out-of-memory", "%s", hal_message());
    hm_kernel_begin();
    const enum hal_status status = msl_function_run(command->function, queue->_worker, launch, 0,
                                                    rows * launch->workgroup_count[2]);
    hm_kernel_end();
    if (status != HAL_OK)
        host_metal_broken("kernel-failed", "%s", hal_message());
}

static void resolve(const struct hm_command *command)
{
    uint64_t *const target =
        (uint64_t *)(void *)(command->target->_device_bytes + command->target_offset);
    for (size_t i = 0; i < command->bytes / sizeof *target; i++)
        target[i] = atomic_load(&command->samples->_samples[command->source_offset + i]);
}

static void run_command(HMQueue *queue, struct hm_command *command)
{
    switch (command->kind) {
    case HM_COMMAND_FILL:
        memset(command->target->_device_bytes + command->target_offset, command->value,
               command->bytes);
        break;
    case HM_COMMAND_COPY:
        memcpy(command->target->_device_bytes + command->target_offset,
               command->source->_device_bytes + command->source_offset, command->bytes);
        break;
    case HM_COMMAND_SYNCHRONIZE: [command->target hm_copyToHost]; break;
    case HM_COMMAND_DISPATCH: dispatch(queue, command); break;
    case HM_COMMAND_RESOLVE: resolve(command); break;
    case HM_COMMAND_SAMPLE:
        [command->samples hm_sample:command->source_offset time:hm_now_ns()];
        break;
    case HM_COMMAND_BARRIER: break;
    }
}

/* Call before the device accesses the application's own memory, and afterwards. */
static void update_lent(HMBuffer *buffer, bool open)
{
    if (!buffer->_lent)
        return;
    hm_span_open(&buffer->_span, HM_WRITE);
    if (open)
        hm_lent_to_device(buffer->_lent);
    else
        hm_lent_to_host(buffer->_lent);
    hm_span_close(&buffer->_span, HM_WRITE);
}

static void open_accesses(const struct hm_accesses *accesses, bool open)
{
    for (size_t i = 0; i < accesses->count; i++) {
        HMBuffer *const buffer = accesses->items[i].buffer;
        if (!buffer->_has_span)
            continue;
        update_lent(buffer, open);
        if (open)
            hm_span_open(&buffer->_span, accesses->items[i].access);
        else
            hm_span_close(&buffer->_span, accesses->items[i].access);
    }
}

static void sample(const struct hm_step *step, size_t boundary)
{
    const uint64_t now = hm_now_ns();
    for (size_t i = 0; i < HM_PASS_ATTACHMENTS; i++) {
        const struct hm_sampling *const sampling = &step->samplings[i];
        if (sampling->buffer && sampling->index[boundary] != MTLCounterDontSample)
            [sampling->buffer hm_sample:sampling->index[boundary] time:now];
    }
}

static void be_slow(void)
{
    const uint64_t ms = hm_modes()->slow_ms;
    if (ms) {
        const struct timespec time = {(time_t)(ms / 1000), (long)(ms % 1000 * NSEC_PER_MSEC)};
        nanosleep(&time, NULL);
    }
}

#if __has_feature(thread_sanitizer)
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

/* A command buffer that fails has not waited: everything after it in its queue runs too early, on
 * bytes that are undefined from then on, which no program can prevent. */
static void allow_races(bool begin)
{
#if __has_feature(thread_sanitizer)
    if (!hm_modes()->fail_command_buffers)
        return;
    if (begin) {
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    } else {
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
#else
    (void)begin;
#endif
}

static void run_pass(HMQueue *queue, struct hm_step *step)
{
    size_t *const order = host_metal_allocate(step->command_count * sizeof *order);
    choose_order(order, step->command_count, command_before, step);
    sample(step, HM_PASS_START);
    be_slow();
    open_accesses(&step->accesses, true);
    allow_races(true);
    for (size_t i = 0; i < step->command_count; i++)
        run_command(queue, &step->commands[order[i]]);
    allow_races(false);
    open_accesses(&step->accesses, false);
    sample(step, HM_PASS_END);
    step->state = MTLCommandEncoderErrorStateCompleted;
    free(order);
}

/* ---- Steps --------------------------------------------------------------------------------- */

/* A signal follows everything before it; a wait follows the signals before it, and everything after
 * a wait follows it. */
static bool step_before(const void *context, size_t i, size_t j)
{
    const struct hm_step *const *const steps = context;
    const struct hm_step *const first = steps[i], *const second = steps[j];
    if (first->kind == HM_STEP_WAIT || second->kind != HM_STEP_PASS)
        return true;
    if (first->kind == HM_STEP_SIGNAL)
        return false;
    for (size_t k = 0; k < first->update_count; k++)
        for (size_t n = 0; n < second->wait_count; n++)
            if (first->updates[k] == second->waits[n])
                return true;
    return tracked_hazard(&first->accesses, &second->accesses);
}

/* False: the command buffer has failed before, or fails here. */
static bool may_pass(struct hm_run *run, struct hm_step *step)
{
    const bool fails = run->pass_count++ == run->fail_at;
    if (fails)
        step->state = MTLCommandEncoderErrorStateFaulted;
    else if (run->failed)
        step->state = MTLCommandEncoderErrorStatePending;
    run->failed = run->failed || fails;
    return !run->failed;
}

static void run_step(HMQueue *queue, struct hm_run *run, struct hm_step *step)
{
    if (!run->begin_ns)
        run->begin_ns = hm_now_ns();
    switch (step->kind) {
    case HM_STEP_WAIT:
        if (!run->failed)
            [step->event hm_wait:step->value];
        break;
    case HM_STEP_SIGNAL:
        if (!run->failed || hm_modes()->fail_with_signal)
            [step->event hm_signal:step->value fromHost:NO];
        break;
    case HM_STEP_PASS:
        if (may_pass(run, step))
            run_pass(queue, step);
        break;
    }
    run->end_ns = hm_now_ns();
}

void hm_execute(HMQueue *queue, struct hm_run *runs, size_t count)
{
    size_t step_count = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        step_count += runs[i].buffer->_step_count;
    struct hm_step **const steps = host_metal_allocate(step_count * sizeof *steps);
    struct hm_run **const owners = host_metal_allocate(step_count * sizeof *owners);
    size_t *const order = host_metal_allocate(step_count * sizeof *order);
    for (size_t i = 0; i < count; i++) {
        runs[i].failed = runs[i].fail_at == 0; /* also without a pass */
        for (size_t k = 0; k < runs[i].buffer->_step_count; k++, at++) {
            steps[at] = runs[i].buffer->_steps[k];
            owners[at] = &runs[i];
        }
    }
    choose_order(order, step_count, step_before, steps);
    for (size_t i = 0; i < step_count; i++)
        run_step(queue, owners[order[i]], steps[order[i]]);
    for (size_t i = 0; i < count; i++)
        if (!runs[i].begin_ns) /* it was empty */
            runs[i].begin_ns = runs[i].end_ns = hm_now_ns();
    free(order);
    free(owners);
    free(steps);
}
