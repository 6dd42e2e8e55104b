/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline semaphores. The host's value is the truth: it rises when a submission has retired, so
 * that nobody sees a value before its work is known to be well. Values that the host sets need no
 * listener: work that waits for what nobody has promised is not committed at all. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/queue.h"

/* ---- Waits of submissions ----------------------------------------------------------------- */

void metal_wait_link_locked(struct metal_wait *wait)
{
    wait->linked = true;
    wait->previous = NULL;
    wait->next = wait->semaphore->waits;
    if (wait->next)
        wait->next->previous = wait;
    wait->semaphore->waits = wait;
}

void metal_wait_unlink_locked(struct metal_wait *wait)
{
    if (!wait->linked)
        return;
    wait->linked = false;
    if (wait->previous)
        wait->previous->next = wait->next;
    else
        wait->semaphore->waits = wait->next;
    if (wait->next)
        wait->next->previous = wait->previous;
}

/* ---- Promises of submissions --------------------------------------------------------------- */

const struct metal_promise *metal_promise_find_locked(const struct metal_device *device,
                                                      const struct metal_semaphore *semaphore,
                                                      uint64_t value)
{
    const struct metal_promise *best = NULL;
    for (const struct metal_promise *promise = semaphore->promises; promise;
         promise = promise->next) {
        const bool enough = promise->submission->device == device && promise->value >= value;
        if (enough && (!best || promise->value < best->value))
            best = promise;
    }
    return best;
}

void metal_promise_link_locked(struct metal_promise *promise)
{
    struct metal_semaphore *semaphore = promise->semaphore;
    promise->linked = true;
    promise->previous = NULL;
    promise->next = semaphore->promises;
    if (promise->next)
        promise->next->previous = promise;
    semaphore->promises = promise;
    for (struct metal_wait *wait = semaphore->waits; wait; wait = wait->next) {
        if (wait->promised || wait->value > promise->value || wait->submission->host.run ||
            wait->submission->device != promise->submission->device)
            continue; /* host calls, and other devices, wait on the host */
        wait->promised = true;
        metal_submission_promised_locked(wait);
    }
}

void metal_promise_unlink_locked(struct metal_promise *promise)
{
    if (!promise->linked)
        return;
    promise->linked = false;
    if (promise->previous)
        promise->previous->next = promise->next;
    else
        promise->semaphore->promises = promise->next;
    if (promise->next)
        promise->next->previous = promise->previous;
}

/* ---- Changes ------------------------------------------------------------------------------ */

void metal_semaphore_fail_locked(struct metal_semaphore *semaphore, enum hal_status status,
                                 const char *message)
{
    if (!hal_timeline_fail(&semaphore->base, status, message))
        return;
    while (semaphore->waits) { /* one refusal may end several */
        struct metal_wait *wait = semaphore->waits;
        metal_wait_unlink_locked(wait);
        metal_submission_refused_locked(wait);
    }
}

void metal_semaphore_raise_locked(struct metal_semaphore *semaphore, uint64_t value)
{
    if (hal_timeline_value(&semaphore->base) == UINT64_MAX)
        return;
    if (hal_timeline_raise(&semaphore->base, value) != HAL_OK) {
        metal_semaphore_fail_locked(semaphore, HAL_INVALID, hal_message());
        return;
    }
    for (struct metal_wait *wait = semaphore->waits, *next; wait; wait = next) {
        next = wait->next;
        if (wait->value > value)
            continue;
        metal_wait_unlink_locked(wait);
        metal_submission_reached_locked(wait);
    }
}

/* ---- Table entries ------------------------------------------------------------------------ */

enum hal_status metal_semaphore_create(struct hal_driver_device *self, const char *label,
                                       uint64_t initial_value, struct hal_semaphore **out)
{
    (void)self;
    struct metal_semaphore *semaphore = hal_alloc(1, sizeof *semaphore);
    if (!semaphore)
        return hal_fail(HAL_NO_MEMORY, "no memory for semaphore '%s'", label ? label : "");
    hal_timeline_init(&semaphore->base, initial_value);
    *out = &semaphore->base;
    return HAL_OK;
}

void metal_semaphore_destroy(struct metal_semaphore *semaphore)
{
    hal_timeline_finish(&semaphore->base);
    free(semaphore);
}

enum hal_status metal_semaphore_query(struct hal_driver_device *self, struct hal_semaphore *base,
                                      uint64_t *out_value)
{
    (void)self;
    return hal_timeline_query(base, &metal_shared.lock, out_value);
}

enum hal_status metal_semaphore_signal(struct hal_driver_device *self, struct hal_semaphore *base,
                                       uint64_t value)
{
    (void)self;
    struct metal_semaphore *semaphore = to_metal_semaphore(base);
    enum hal_status status;
    @autoreleasepool {
        pthread_mutex_lock(&metal_shared.lock);
        status = hal_timeline_check_signal(base, value);
        if (status == HAL_OK)
            metal_semaphore_raise_locked(semaphore, value);
        metal_queue_unlock();
    }
    return status;
}

void metal_semaphore_fail(struct hal_driver_device *self, struct hal_semaphore *base,
                          enum hal_status status, const char *message)
{
    (void)self;
    @autoreleasepool {
        pthread_mutex_lock(&metal_shared.lock);
        metal_semaphore_fail_locked(to_metal_semaphore(base), status, message);
        metal_queue_unlock();
    }
}

/* ---- Waiting threads ---------------------------------------------------------------------- */

enum hal_status metal_semaphores_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                      const struct hal_semaphore_value *values, size_t count,
                                      int64_t timeout_ns)
{
    const struct hal_wish wish = {mode, values, count};
    return hal_wish_await(&wish, &metal_shared.lock, &metal_shared.changed,
                          &to_metal_device(self)->interrupted, timeout_ns);
}
