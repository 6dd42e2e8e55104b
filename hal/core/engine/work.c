/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions. One waits for its values, is started, ends, is reported as retired, lets go of what
 * it held, and signals; each signal may make further ones ready. Chains of them are walked in a
 * loop. Nothing waits for what was committed later, so that this ends. */
#include "hal/base/mem.h"
#include "hal/core/engine/parts.h"

#include <inttypes.h>
#include <stdio.h>

static const size_t of_link = offsetof(struct hal_work, link);

/* ---- Readiness ---------------------------------------------------------------------------- */

static void ready_locked(struct hal_work *work, struct hal_changes *changes)
{
    work->is_ready = true;
    work->ready_ns = hal_clock_ns();
    hal_fifo_push(&changes->ready, &work->link);
}

void hal_work_restart_locked(struct hal_work *work, struct hal_changes *changes)
{
    hal_fifo_push(&changes->ready, &work->link);
}

static void fail_locked(struct hal_work *work, enum hal_status status, const char *message)
{
    if (work->status != HAL_OK)
        return;
    work->status = status;
    work->message = hal_copy_string(message);
}

void hal_work_fail(struct hal_work *work, enum hal_status status, const char *message)
{
    pthread_mutex_lock(&hal_engine_lock);
    fail_locked(work, status, message ? message : "");
    pthread_mutex_unlock(&hal_engine_lock);
}

/* Work of a lost device has failed, whatever became of it. */
static void share_loss(struct hal_work *work)
{
    if (hal_engine_is_lost(work->engine))
        hal_work_fail(work, HAL_DEVICE_LOST, work->engine->why_lost);
}

bool hal_work_has_failed(struct hal_work *work)
{
    pthread_mutex_lock(&hal_engine_lock);
    const bool has_failed = work->status != HAL_OK || hal_engine_is_lost(work->engine);
    pthread_mutex_unlock(&hal_engine_lock);
    return has_failed;
}

/* ---- The end ------------------------------------------------------------------------------ */

static void retire_locked(struct hal_work *work, struct hal_changes *changes)
{
    work->is_ending = true;
    hal_fifo_push(&changes->ended, &work->link);
}

/* Several threads may report ends. Submissions to a queue rely on their order: values increase. */
static void advance_locked(struct hal_engine *engine, uint32_t queue, struct hal_changes *changes)
{
    const size_t link = offsetof(struct hal_work, on_queue);
    struct hal_work *first = hal_fifo_first(&engine->queues[queue].committed, link);
    if (engine->queues[queue].is_retiring || !first || first->pending > 0)
        return;
    (void)hal_fifo_pop(&engine->queues[queue].committed, link);
    engine->queues[queue].is_retiring = true;
    retire_locked(first, changes);
}

static void resolve_locked(struct hal_work *work, struct hal_changes *changes)
{
    if (--work->pending > 0)
        return;
    if (work->is_committed)
        advance_locked(work->engine, work->queue, changes);
    else
        retire_locked(work, changes);
}

/* For work that does not wait on the device, all waits are over: no other thread accesses it. */
static void end(struct hal_work *work, struct hal_changes *changes)
{
    if (!work->waits_on_device) {
        hal_fifo_push(&changes->ended, &work->link);
        return;
    }
    pthread_mutex_lock(&hal_engine_lock);
    resolve_locked(work, changes);
    pthread_mutex_unlock(&hal_engine_lock);
}

void hal_work_end(struct hal_work *work)
{
    struct hal_changes changes = {0};
    end(work, &changes);
    hal_engine_drain_ready(&changes);
}

/* ---- Waits -------------------------------------------------------------------------------- */

void hal_work_promised_locked(struct hal_wait *wait, struct hal_changes *changes)
{
    wait->is_promised = true;
    if (--wait->work->missing == 0)
        ready_locked(wait->work, changes);
}

void hal_work_reached_locked(struct hal_wait *wait, struct hal_changes *changes)
{
    struct hal_work *work = wait->work;
    if (wait->is_promised)
        work->ready_ns = hal_clock_ns();
    else if (--work->missing == 0)
        ready_locked(work, changes);
    resolve_locked(work, changes);
}

/* What it still waits for does not matter, unless it was started: then it ends late enough. */
static void abandon_locked(struct hal_work *work, enum hal_status status, const char *message,
                           struct hal_changes *changes)
{
    if (work->is_ending)
        return;
    fail_locked(work, status, message);
    if (work->is_ready)
        return;
    for (size_t i = 0; i < work->wait_count; i++) {
        work->pending -= work->waits[i].is_linked;
        hal_wait_unlink_locked(&work->waits[i]);
    }
    ready_locked(work, changes);
}

void hal_work_refused_locked(struct hal_wait *wait, struct hal_changes *changes)
{
    const struct hal_semaphore *semaphore = wait->semaphore;
    abandon_locked(wait->work, semaphore->failure, semaphore->message ? semaphore->message : "",
                   changes);
    resolve_locked(wait->work, changes);
}

bool hal_work_is_waiting(struct hal_work *work)
{
    bool is_waiting = false;
    pthread_mutex_lock(&hal_engine_lock);
    for (size_t i = 0; i < work->wait_count; i++)
        is_waiting |= work->waits[i].is_linked;
    pthread_mutex_unlock(&hal_engine_lock);
    return is_waiting;
}

void hal_work_commit_locked(struct hal_work *work, bool promises, struct hal_changes *changes)
{
    work->is_committed = true;
    hal_fifo_push(&work->engine->queues[work->queue].committed, &work->on_queue);
    for (size_t i = 0; promises && i < work->signal_count; i++)
        hal_signal_link_locked(&work->signals[i], changes);
}

void hal_work_lose_all_locked(struct hal_engine *engine, struct hal_changes *changes)
{
    for (struct hal_work *work = engine->first; work; work = work->next) {
        if (engine->ops->cancel)
            engine->ops->cancel(work);
        if (!work->is_ready)
            abandon_locked(work, HAL_DEVICE_LOST, engine->why_lost, changes);
    }
}

/* ---- Retiring ----------------------------------------------------------------------------- */

static void report(const struct hal_work *work)
{
    const bool ran = work->begin_ns != 0;
    const int64_t begin_ns = ran ? work->begin_ns : work->ready_ns;
    const struct hal_submission_result result = {
        .status = work->status,
        .message = work->message ? work->message : "",
        .ready_ns = work->ready_ns < begin_ns ? work->ready_ns : begin_ns,
        .begin_ns = begin_ns,
        .end_ns = ran ? work->end_ns : begin_ns,
        .busy_ns = work->busy_ns,
        .dispatches = work->times,
        .dispatch_count = work->time_count,
        .is_isolated = work->is_isolated,
    };
    if (work->retired)
        work->retired(work->user, &result);
}

static void release_held(struct hal_work *work)
{
    if (work->buffer)
        hal_object_release(&work->buffer->object);
    for (size_t i = 0; i < work->command_count; i++)
        hal_object_release(&work->commands[i]->object);
    for (size_t i = 0; i < work->wait_count; i++)
        hal_object_release(&work->waits[i].semaphore->object);
}

static void release_signals(struct hal_work *work)
{
    for (size_t i = 0; i < work->signal_count; i++)
        hal_object_release(&work->signals[i].semaphore->object);
}

/* It has ended: waits from now on need not be on the device. */
static void withdraw_promises(struct hal_work *work)
{
    pthread_mutex_lock(&hal_engine_lock);
    for (size_t i = 0; i < work->signal_count; i++)
        hal_signal_unlink_locked(&work->signals[i]);
    pthread_mutex_unlock(&hal_engine_lock);
}

static void signal_all(struct hal_work *work, struct hal_changes *changes)
{
    struct hal_engine *engine = work->engine;
    pthread_mutex_lock(&hal_engine_lock);
    for (size_t i = 0; i < work->signal_count; i++) {
        const struct hal_signal *signal = &work->signals[i];
        if (work->status == HAL_OK)
            hal_semaphore_raise_locked(signal->semaphore, signal->value, changes);
        else
            hal_semaphore_break_locked(signal->semaphore, work->status,
                                       work->message ? work->message : "", changes);
    }
    if (work->is_committed) {
        engine->queues[work->queue].is_retiring = false;
        advance_locked(engine, work->queue, changes);
    }
    pthread_mutex_unlock(&hal_engine_lock);
}

static void leave_flight(struct hal_work *work)
{
    struct hal_engine *engine = work->engine;
    pthread_mutex_lock(&hal_engine_lock);
    if (work->previous)
        work->previous->next = work->next;
    else
        engine->first = work->next;
    if (work->next)
        work->next->previous = work->previous;
    else
        engine->last = work->previous;
    if (engine->idle_waiters)
        pthread_cond_broadcast(&engine->retired);
    pthread_mutex_unlock(&hal_engine_lock);
}

/* Command buffers are released before their completion can be observed, so that the application's
 * release is the last one. The flight ends when nothing is held any more: then an idle device can
 * be destroyed. */
static void retire(struct hal_work *work, struct hal_changes *changes)
{
    const struct hal_engine_ops *ops = work->engine->ops;
    const bool is_abandoned = work->is_abandoned;
    share_loss(work);
    if (work->is_committed)
        withdraw_promises(work);
    report(work);
    ops->release(work, changes);
    if (!is_abandoned)
        release_held(work);
    signal_all(work, changes);
    hal_changes_wake(changes);
    release_signals(work);
    leave_flight(work);
    if (is_abandoned)
        return;
    free(work->times);
    free(work->message);
    ops->free(work);
}

/* ---- Starting ----------------------------------------------------------------------------- */

static void lose_on_demand(const struct hal_work *work)
{
    char message[128];
    snprintf(message, sizeof message, "the device was lost at submission %" PRIu64 ", as requested",
             work->id);
    hal_engine_lose(work->engine, message);
}

static void run_host_call(struct hal_thread_call *call)
{
    struct hal_work *work =
        (struct hal_work *)(void *)((uint8_t *)call - offsetof(struct hal_work, call));
    work->begin_ns = hal_clock_ns();
    const enum hal_status status = work->engine->ops->call(work);
    work->end_ns = hal_clock_ns();
    work->busy_ns = work->end_ns - work->begin_ns;
    if (status != HAL_OK)
        hal_work_fail(work, status, hal_message());
    hal_work_end(work);
}

static enum hal_status call_host(struct hal_work *work)
{
    work->call.run = run_host_call;
    return hal_engine_call(work->engine, &work->call);
}

/* True: it has ended. */
static bool start(struct hal_work *work, struct hal_changes *changes)
{
    struct hal_engine *engine = work->engine;
    if (engine->injection.submissions.first && !hal_work_has_failed(work) &&
        hal_injection_submission(&engine->injection))
        lose_on_demand(work);
    share_loss(work);
    if (!work->host.run || work->status != HAL_OK)
        return engine->ops->start(work, changes);
    const enum hal_status status = call_host(work);
    if (status != HAL_OK)
        hal_work_fail(work, status, hal_message());
    return status != HAL_OK;
}

void hal_engine_drain_ready(struct hal_changes *changes)
{
    hal_changes_wake(changes);
    for (;;) {
        struct hal_work *work = hal_fifo_pop(&changes->ended, of_link);
        if (work) {
            retire(work, changes);
            continue;
        }
        work = hal_fifo_pop(&changes->ready, of_link);
        if (!work)
            return;
        if (start(work, changes))
            end(work, changes);
    }
}

/* ---- Submitting --------------------------------------------------------------------------- */

/* One piece of memory, of which the driver's part comes first. */
static struct hal_work *create_work(struct hal_engine *engine, const struct hal_submission *source)
{
    const size_t waits = source->wait_count, signals = source->signal_count;
    const size_t commands = source->command_count, own = engine->ops->submission_bytes;
    uint8_t *memory =
        hal_alloc(1, own + waits * sizeof(struct hal_wait) + signals * sizeof(struct hal_signal) +
                         commands * (sizeof(void *) + engine->ops->command_bytes));
    if (!memory)
        return NULL;
    struct hal_work *work = (struct hal_work *)(void *)memory;
    work->engine = engine;
    work->id = source->id;
    work->queue = source->queue;
    work->retired = source->retired;
    work->user = source->user;
    work->wait_count = waits;
    work->signal_count = signals;
    work->command_count = commands;
    work->host = source->host;
    work->buffer = source->host.run ? source->buffer : NULL;
    work->offset = source->offset;
    work->bytes = source->bytes;
    work->waits = (struct hal_wait *)(void *)(memory + own);
    work->signals = (struct hal_signal *)(work->waits + waits);
    work->extra = work->signals + signals;
    work->commands = (struct hal_command_buffer **)(void *)((uint8_t *)work->extra +
                                                            commands * engine->ops->command_bytes);
    return work;
}

static void retain_all(struct hal_work *work, const struct hal_submission *source)
{
    if (work->buffer)
        hal_object_retain(&work->buffer->object);
    for (size_t i = 0; i < source->wait_count; i++) {
        work->waits[i].semaphore = source->waits[i].semaphore;
        work->waits[i].value = source->waits[i].value;
        work->waits[i].work = work;
        hal_object_retain(&source->waits[i].semaphore->object);
    }
    for (size_t i = 0; i < source->signal_count; i++) {
        work->signals[i].semaphore = source->signals[i].semaphore;
        work->signals[i].value = source->signals[i].value;
        work->signals[i].work = work;
        hal_object_retain(&source->signals[i].semaphore->object);
    }
    for (size_t i = 0; i < source->command_count; i++) {
        work->commands[i] = source->commands[i];
        hal_object_retain(&source->commands[i]->object);
    }
}

/* Fails what a lost device will not signal, so that nothing waits for it. */
static enum hal_status refuse_lost_locked(const struct hal_engine *engine,
                                          const struct hal_submission *source,
                                          struct hal_changes *changes)
{
    const enum hal_status status = hal_engine_check(engine);
    for (size_t i = 0; status != HAL_OK && i < source->signal_count; i++)
        hal_semaphore_break_locked(source->signals[i].semaphore, status, engine->why_lost, changes);
    return status;
}

static void enter_flight_locked(struct hal_engine *engine, struct hal_work *work)
{
    work->sequence = engine->next_sequence++;
    work->previous = engine->last;
    if (engine->last)
        engine->last->next = work;
    else
        engine->first = work;
    engine->last = work;
}

static void register_waits_locked(struct hal_work *work, struct hal_changes *changes)
{
    work->pending = 1;
    for (size_t i = 0; i < work->wait_count; i++) {
        struct hal_wait *wait = &work->waits[i];
        const uint64_t now = hal_timeline_value(wait->semaphore);
        if (now == UINT64_MAX) {
            work->pending++;
            hal_work_refused_locked(wait, changes);
            return;
        }
        if (now >= wait->value)
            continue;
        hal_wait_link_locked(wait);
        wait->is_promised = work->waits_on_device && hal_wait_is_promised_locked(wait);
        work->pending++;
        work->missing += !wait->is_promised;
    }
    if (work->missing == 0)
        ready_locked(work, changes);
}

static enum hal_status accept_locked(struct hal_engine *engine, const struct hal_submission *source,
                                     struct hal_work *work, struct hal_changes *changes)
{
    HAL_TRY(refuse_lost_locked(engine, source, changes));
    HAL_TRY(hal_timeline_check_submission(source));
    enter_flight_locked(engine, work);
    register_waits_locked(work, changes);
    return HAL_OK;
}

enum hal_status hal_engine_submit(struct hal_driver_device *self,
                                  const struct hal_submission *source)
{
    struct hal_engine *engine = to_engine(self);
    struct hal_changes changes = {0};
    struct hal_work *work = create_work(engine, source);
    if (!work)
        return hal_fail(HAL_NO_MEMORY, "no memory for submission %" PRIu64, source->id);
    retain_all(work, source);
    enum hal_status status = engine->ops->prepare(work, source);
    if (status == HAL_OK) {
        pthread_mutex_lock(&hal_engine_lock);
        status = accept_locked(engine, source, work, &changes);
        pthread_mutex_unlock(&hal_engine_lock);
    }
    if (status != HAL_OK) {
        engine->ops->release(work, &changes);
        release_held(work);
        release_signals(work);
        engine->ops->free(work);
    }
    hal_engine_drain_ready(&changes); /* may leave other messages */
    return status == HAL_DEVICE_LOST
               ? hal_add_context(hal_engine_check(engine), "submission %" PRIu64, source->id)
               : status;
}

/* ---- Engines ------------------------------------------------------------------------------ */

static void lock_before_fork(void)
{
    pthread_mutex_lock(&hal_engine_lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&hal_engine_lock);
}

static void watch_forks(void)
{
    pthread_atfork(lock_before_fork, unlock_after_fork, unlock_after_fork);
}

void hal_engine_init(struct hal_engine *engine, const struct hal_driver_ops *table,
                     const struct hal_engine_ops *ops)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    engine->base.ops = table;
    engine->ops = ops;
    hal_condition_init(&engine->retired);
    hal_callers_init(&engine->callers);
}

void hal_engine_finish(struct hal_engine *engine)
{
    hal_callers_finish(&engine->callers);
    pthread_cond_destroy(&engine->retired);
}
