/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline semaphores. The host's value is the truth: it rises when a submission has retired, so
 * that nobody sees a value before its work is known to be well. Nothing depends on the listeners of
 * events: work that waits for what nobody has promised is not committed at all. */
#include "hal/base/mem.h"
#import "hal/metal/queue.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t value_of(const struct metal_semaphore *semaphore)
{
    return atomic_load_explicit(&semaphore->value, memory_order_acquire);
}

static bool has_failed(const struct metal_semaphore *semaphore)
{
    return value_of(semaphore) == UINT64_MAX;
}

static struct metal_device *device_of(struct hal_driver_device *self)
{
    return to_metal_device(self);
}

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
    if (has_failed(semaphore))
        return;
    semaphore->failure = status;
    semaphore->message = hal_copy_string(message);
    atomic_store_explicit(&semaphore->value, UINT64_MAX, memory_order_release);
    while (semaphore->waits) { /* one refusal may end several */
        struct metal_wait *wait = semaphore->waits;
        metal_wait_unlink_locked(wait);
        metal_submission_refused_locked(wait);
    }
}

void metal_semaphore_raise_locked(struct metal_semaphore *semaphore, uint64_t value)
{
    const uint64_t before = value_of(semaphore);
    if (before == UINT64_MAX)
        return;
    if (value <= before) {
        char name[HAL_OBJECT_NAME_BYTES], message[256];
        snprintf(message, sizeof message,
                 "a submission signalled %s with %" PRIu64 " when it had reached %" PRIu64,
                 hal_object_name(&semaphore->base.object, name), value, before);
        metal_semaphore_fail_locked(semaphore, HAL_INVALID, message);
        return;
    }
    atomic_store_explicit(&semaphore->value, value, memory_order_release);
    semaphore->event.signaledValue = value;
    for (struct metal_wait *wait = semaphore->waits, *next; wait; wait = next) {
        next = wait->next;
        if (wait->value > value)
            continue;
        metal_wait_unlink_locked(wait);
        metal_submission_reached_locked(wait);
    }
}

/* The stored message is the failure's. */
static enum hal_status failure_locked(const struct metal_semaphore *semaphore)
{
    return hal_fail(semaphore->failure, "%s", semaphore->message ? semaphore->message : "");
}

/* ---- Table entries ------------------------------------------------------------------------ */

enum hal_status metal_semaphore_create(struct hal_driver_device *self, const char *label,
                                       uint64_t initial_value, struct hal_semaphore **out)
{
    struct metal_semaphore *semaphore = hal_alloc(1, sizeof *semaphore);
    if (!semaphore)
        return hal_fail(HAL_NO_MEMORY, "no memory for semaphore '%s'", label ? label : "");
    @autoreleasepool {
        semaphore->event = [device_of(self)->device newSharedEvent];
        if (semaphore->event) {
            if (label)
                semaphore->event.label = metal_string(label);
            semaphore->event.signaledValue = initial_value;
        }
    }
    if (!semaphore->event) {
        free(semaphore);
        return hal_fail(HAL_NO_MEMORY, "Metal has no shared event for semaphore '%s'",
                        label ? label : "");
    }
    hal_object_init(&semaphore->base.object, HAL_OBJECT_SEMAPHORE);
    semaphore->base.initial_value = initial_value;
    atomic_init(&semaphore->value, initial_value);
    *out = &semaphore->base;
    return HAL_OK;
}

void metal_semaphore_destroy(struct metal_semaphore *semaphore)
{
    [semaphore->event release];
    free(semaphore->message);
    free(semaphore);
}

enum hal_status metal_semaphore_query(struct hal_driver_device *self, struct hal_semaphore *base,
                                      uint64_t *out_value)
{
    (void)self;
    struct metal_semaphore *semaphore = to_metal_semaphore(base);
    const uint64_t value = value_of(semaphore);
    if (value != UINT64_MAX) {
        *out_value = value;
        return HAL_OK;
    }
    pthread_mutex_lock(&metal_shared.lock);
    const enum hal_status status = failure_locked(semaphore);
    pthread_mutex_unlock(&metal_shared.lock);
    return status;
}

enum hal_status metal_semaphore_signal(struct hal_driver_device *self, struct hal_semaphore *base,
                                       uint64_t value)
{
    (void)self;
    struct metal_semaphore *semaphore = to_metal_semaphore(base);
    char name[HAL_OBJECT_NAME_BYTES];
    enum hal_status status = HAL_OK;
    @autoreleasepool {
        pthread_mutex_lock(&metal_shared.lock);
        const uint64_t before = value_of(semaphore);
        if (before == UINT64_MAX)
            status = failure_locked(semaphore);
        else if (value <= before)
            status =
                hal_fail(HAL_INVALID, "%s has reached %" PRIu64 " and cannot be set to %" PRIu64,
                         hal_object_name(&base->object, name), before, value);
        else
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

struct wish {
    enum hal_wait_mode mode;
    const struct hal_semaphore_value *values;
    size_t count;
};

static bool is_fulfilled(const struct wish *wish)
{
    for (size_t i = 0; i < wish->count; i++) {
        const uint64_t now = value_of(to_metal_semaphore(wish->values[i].semaphore));
        const bool reached = now != UINT64_MAX && now >= wish->values[i].value;
        if (reached != (wish->mode == HAL_WAIT_ALL))
            return reached;
    }
    return wish->mode == HAL_WAIT_ALL;
}

/* True when waiting is over; *out_status is then what to return. */
static bool is_decided_locked(const struct wish *wish, enum hal_status *out_status)
{
    const struct metal_semaphore *failed = NULL;
    size_t failures = 0;
    for (size_t i = 0; i < wish->count; i++) {
        const struct metal_semaphore *semaphore = to_metal_semaphore(wish->values[i].semaphore);
        if (!has_failed(semaphore))
            continue;
        failed = failed ? failed : semaphore;
        failures++;
    }
    if (failed && (wish->mode == HAL_WAIT_ALL || failures == wish->count)) {
        *out_status = failure_locked(failed);
        return true;
    }
    *out_status = HAL_OK;
    return is_fulfilled(wish);
}

/* The message names the first value that is not reached. */
static enum hal_status fail_timeout(const struct wish *wish)
{
    for (size_t i = 0; i < wish->count; i++) {
        const struct hal_semaphore_value *wanted = &wish->values[i];
        const uint64_t now = value_of(to_metal_semaphore(wanted->semaphore));
        char name[HAL_OBJECT_NAME_BYTES];
        if (now < wanted->value)
            return hal_fail(HAL_TIMEOUT, "%s did not reach %" PRIu64 " in time, it is at %" PRIu64,
                            hal_object_name(&wanted->semaphore->object, name), wanted->value, now);
    }
    return hal_fail(HAL_TIMEOUT, "the semaphores did not reach their values in time");
}

enum hal_status metal_semaphores_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                      const struct hal_semaphore_value *values, size_t count,
                                      int64_t timeout_ns)
{
    struct metal_device *device = device_of(self);
    const struct wish wish = {mode, values, count};
    if (is_fulfilled(&wish))
        return HAL_OK;
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    enum hal_status status = HAL_OK;
    bool late = false;
    pthread_mutex_lock(&metal_shared.lock);
    while (!is_decided_locked(&wish, &status)) {
        if (late || device->interrupted) {
            status = HAL_TIMEOUT;
            break;
        }
        late = !hal_condition_wait(&metal_shared.changed, &metal_shared.lock, deadline_ns);
    }
    pthread_mutex_unlock(&metal_shared.lock);
    return status == HAL_TIMEOUT ? fail_timeout(&wish) : status;
}
