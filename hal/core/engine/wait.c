/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the application that wait: for semaphores, and until a device is idle. */
#include "hal/base/mem.h"
#include "hal/core/engine/parts.h"

#include <inttypes.h>

/* ---- Waking ------------------------------------------------------------------------------- */

/* The thread may have exited when it is woken without the lock: then nothing sleeps on the word. */
void hal_waiter_wake_locked(struct hal_waiter *waiter, struct hal_changes *changes)
{
    if (atomic_exchange(&waiter->word, 1) == 1)
        return;
    if (changes->word_count == HAL_MAX_WAKES)
        hal_word_wake(&waiter->word, 1);
    else
        changes->words[changes->word_count++] = &waiter->word;
}

void hal_waiter_reached_locked(struct hal_waiter *waiter, struct hal_changes *changes)
{
    if (waiter->missing > 0 && --waiter->missing == 0)
        hal_waiter_wake_locked(waiter, changes);
}

void hal_changes_wake(struct hal_changes *changes)
{
    for (size_t i = 0; i < changes->word_count; i++)
        hal_word_wake(changes->words[i], 1);
    changes->word_count = 0;
}

/* ---- Semaphores --------------------------------------------------------------------------- */

static void register_locked(struct hal_engine *engine, const struct hal_wait_set *set,
                            struct hal_waiter *waiter, struct hal_wait *waits)
{
    waiter->missing = 0;
    for (size_t i = 0; i < set->count; i++) {
        const struct hal_semaphore_value *wanted = &set->values[i];
        const uint64_t now = hal_timeline_value(wanted->semaphore);
        waits[i] = (struct hal_wait){
            .semaphore = wanted->semaphore, .value = wanted->value, .thread = waiter};
        if (now == UINT64_MAX || now >= wanted->value)
            continue;
        hal_wait_link_locked(&waits[i]);
        waiter->missing++;
    }
    if (set->mode == HAL_WAIT_ANY)
        waiter->missing = 1;
    waiter->previous = NULL;
    waiter->next = engine->first_thread;
    if (waiter->next)
        waiter->next->previous = waiter;
    engine->first_thread = waiter;
}

static void unregister_locked(struct hal_engine *engine, const struct hal_wait_set *set,
                              struct hal_waiter *waiter, struct hal_wait *waits)
{
    for (size_t i = 0; i < set->count; i++)
        hal_wait_unlink_locked(&waits[i]);
    if (waiter->previous)
        waiter->previous->next = waiter->next;
    else
        engine->first_thread = waiter->next;
    if (waiter->next)
        waiter->next->previous = waiter->previous;
}

static void poll_until(const struct hal_waiter *waiter, int64_t deadline_ns)
{
    do {
        for (int i = 0; i < 16 && atomic_load(&waiter->word) == 0; i++)
            hal_relax();
    } while (atomic_load(&waiter->word) == 0 && hal_clock_ns() < deadline_ns);
}

static void sleep_until(struct hal_waiter *waiter, int64_t deadline_ns)
{
    while (atomic_load(&waiter->word) == 0) {
        const int64_t left_ns =
            deadline_ns == HAL_FOREVER ? HAL_FOREVER : deadline_ns - hal_clock_ns();
        if (left_ns <= 0)
            return;
        hal_word_wait(&waiter->word, 0, left_ns);
    }
}

/* Short work ends sooner than a thread falls asleep and wakes again: while the device works, a
 * thread polls first. Without that, another thread of the host has to come first, perhaps one that
 * was just woken on the processor that polling would hold. */
static enum hal_status wait_slowly(struct hal_engine *engine, const struct hal_wait_set *set,
                                   struct hal_wait *waits, int64_t deadline_ns)
{
    static const int64_t spin_ns = 10000;
    enum hal_status status;
    bool is_late = false;
    pthread_mutex_lock(&hal_engine_lock);
    while (!hal_wait_set_is_resolved(set, &status)) {
        if (is_late || engine->is_interrupted) {
            status = HAL_TIMEOUT;
            break;
        }
        struct hal_waiter waiter = {0};
        const bool is_at_work = engine->first != NULL;
        register_locked(engine, set, &waiter, waits);
        pthread_mutex_unlock(&hal_engine_lock);
        if (is_at_work) {
            const int64_t spin_until_ns = hal_clock_ns() + spin_ns;
            poll_until(&waiter, spin_until_ns < deadline_ns ? spin_until_ns : deadline_ns);
        }
        sleep_until(&waiter, deadline_ns);
        is_late = deadline_ns != HAL_FOREVER && hal_clock_ns() >= deadline_ns;
        pthread_mutex_lock(&hal_engine_lock);
        unregister_locked(engine, set, &waiter, waits);
    }
    pthread_mutex_unlock(&hal_engine_lock);
    return status == HAL_TIMEOUT ? hal_wait_set_fail_timeout(set) : status;
}

enum hal_status hal_engine_semaphores_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                           const struct hal_semaphore_value *values, size_t count,
                                           int64_t timeout_ns)
{
    enum { FEW = 8 };
    const struct hal_wait_set set = {mode, values, count};
    if (hal_wait_set_is_fulfilled(&set))
        return HAL_OK;
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    struct hal_wait few[FEW], *waits = few;
    if (count > FEW)
        waits = hal_alloc(count, sizeof *waits);
    if (!waits)
        return hal_fail(HAL_NO_MEMORY, "no memory to wait for %zu semaphores", count);
    const enum hal_status status = wait_slowly(to_engine(self), &set, waits, deadline_ns);
    if (waits != few)
        free(waits);
    return status;
}

void hal_engine_interrupt(struct hal_driver_device *self, bool on)
{
    struct hal_engine *engine = to_engine(self);
    struct hal_changes changes = {0};
    pthread_mutex_lock(&hal_engine_lock);
    engine->is_interrupted = on;
    for (struct hal_waiter *waiter = engine->first_thread; on && waiter; waiter = waiter->next)
        hal_waiter_wake_locked(waiter, &changes);
    pthread_cond_broadcast(&engine->retired);
    pthread_mutex_unlock(&hal_engine_lock);
    hal_changes_wake(&changes);
}

/* ---- Idle --------------------------------------------------------------------------------- */

static enum hal_status fail_busy_locked(const struct hal_engine *engine)
{
    for (const struct hal_work *work = engine->first; work; work = work->next) {
        for (size_t i = 0; i < work->wait_count; i++) {
            const struct hal_wait *wait = &work->waits[i];
            if (wait->is_linked)
                return hal_timeline_fail_busy(work->id, wait->semaphore, wait->value);
        }
        char missing[512];
        if (work->collective && hal_rendezvous_describe(work->collective, missing, sizeof missing))
            return hal_fail(HAL_TIMEOUT, "submission %" PRIu64 " %s", work->id, missing);
    }
    return hal_timeline_fail_busy(engine->first->id, NULL, 0);
}

enum hal_status hal_engine_wait_idle(struct hal_driver_device *self, int64_t timeout_ns)
{
    struct hal_engine *engine = to_engine(self);
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    enum hal_status status = HAL_OK;
    bool is_late = false;
    pthread_mutex_lock(&hal_engine_lock);
    const uint64_t before = engine->next_sequence;
    engine->idle_waiters++;
    while (engine->first && engine->first->sequence < before) {
        if (is_late || engine->is_interrupted) {
            status = fail_busy_locked(engine);
            break;
        }
        is_late = !hal_condition_wait(&engine->retired, &hal_engine_lock, deadline_ns);
    }
    engine->idle_waiters--;
    pthread_mutex_unlock(&hal_engine_lock);
    return status == HAL_OK ? hal_engine_check(engine) : status;
}
