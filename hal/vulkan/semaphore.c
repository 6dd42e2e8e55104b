/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline semaphores: values on the host, which rise when submissions have retired. */
#include "hal/base/mem.h"
#include "hal/vulkan/vulkan.h"

#include <inttypes.h>
#include <stdio.h>

pthread_mutex_t vulkan_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t vulkan_changed;

__attribute__((constructor)) static void init_condition(void)
{
    hal_condition_init(&vulkan_changed);
}

static uint64_t value_of(const struct vulkan_semaphore *semaphore)
{
    return atomic_load_explicit(&semaphore->value, memory_order_acquire);
}

static bool has_failed(const struct vulkan_semaphore *semaphore)
{
    return value_of(semaphore) == UINT64_MAX;
}

/* ---- Waits and promises of submissions ------------------------------------------------------ */

void vulkan_wait_unlink_locked(struct vulkan_wait *wait)
{
    if (!wait->is_linked)
        return;
    wait->is_linked = false;
    if (wait->previous)
        wait->previous->next = wait->next;
    else
        wait->semaphore->waits = wait->next;
    if (wait->next)
        wait->next->previous = wait->previous;
}

void vulkan_wait_link_locked(struct vulkan_wait *wait)
{
    wait->is_linked = true;
    wait->previous = NULL;
    wait->next = wait->semaphore->waits;
    if (wait->next)
        wait->next->previous = wait;
    wait->semaphore->waits = wait;
}

void vulkan_promise_link_locked(struct vulkan_promise *promise, struct vulkan_ready *ready)
{
    struct vulkan_semaphore *semaphore = promise->semaphore;
    promise->is_linked = true;
    promise->previous = NULL;
    promise->next = semaphore->promises;
    if (promise->next)
        promise->next->previous = promise;
    semaphore->promises = promise;
    for (struct vulkan_wait *wait = semaphore->waits, *next; wait; wait = next) {
        next = wait->next;
        if (wait->value <= promise->value)
            (void)vulkan_submission_promised_locked(wait, promise->submission, ready);
    }
}

void vulkan_promise_unlink_locked(struct vulkan_promise *promise)
{
    if (!promise->is_linked)
        return;
    promise->is_linked = false;
    if (promise->previous)
        promise->previous->next = promise->next;
    else
        promise->semaphore->promises = promise->next;
    if (promise->next)
        promise->next->previous = promise->previous;
}

/* ---- Changes -------------------------------------------------------------------------------- */

void vulkan_semaphore_fail_locked(struct vulkan_semaphore *semaphore, enum hal_status status,
                                  const char *message, struct vulkan_ready *ready)
{
    if (has_failed(semaphore))
        return;
    semaphore->reached = value_of(semaphore);
    semaphore->failure = status;
    semaphore->message = hal_copy_string(message);
    atomic_store_explicit(&semaphore->value, UINT64_MAX, memory_order_release);
    while (semaphore->waits) /* one refusal may end several */
        vulkan_submission_refused_locked(semaphore->waits, ready);
    pthread_cond_broadcast(&vulkan_changed);
}

void vulkan_semaphore_raise_locked(struct vulkan_semaphore *semaphore, uint64_t value,
                                   struct vulkan_ready *ready)
{
    const uint64_t before = value_of(semaphore);
    if (before == UINT64_MAX)
        return;
    if (value <= before) {
        char name[HAL_OBJECT_NAME_BYTES], message[256];
        snprintf(message, sizeof message,
                 "a submission signalled %s with %" PRIu64 " when it had reached %" PRIu64,
                 hal_object_name(&semaphore->base.object, name), value, before);
        vulkan_semaphore_fail_locked(semaphore, HAL_INVALID, message, ready);
        return;
    }
    atomic_store_explicit(&semaphore->value, value, memory_order_release);
    for (struct vulkan_wait *wait = semaphore->waits, *next; wait; wait = next) {
        next = wait->next;
        if (wait->value <= value)
            vulkan_submission_reached_locked(wait, ready);
    }
    pthread_cond_broadcast(&vulkan_changed);
}

/* The stored message is the failure's. */
static enum hal_status failure_locked(const struct vulkan_semaphore *semaphore)
{
    return hal_fail(semaphore->failure, "%s", semaphore->message ? semaphore->message : "");
}

/* ---- Table entries -------------------------------------------------------------------------- */

enum hal_status vulkan_semaphore_create(struct hal_driver_device *self, const char *label,
                                        uint64_t initial_value, struct hal_semaphore **out)
{
    struct vulkan_semaphore *semaphore = hal_alloc(1, sizeof *semaphore);
    (void)self;
    if (!semaphore)
        return hal_fail(HAL_NO_MEMORY, "no memory for semaphore '%s'", label ? label : "");
    hal_object_init(&semaphore->base.object, HAL_OBJECT_SEMAPHORE);
    semaphore->base.initial_value = initial_value;
    atomic_init(&semaphore->value, initial_value);
    *out = &semaphore->base;
    return HAL_OK;
}

void vulkan_semaphore_destroy(struct vulkan_semaphore *semaphore)
{
    free(semaphore->message);
    free(semaphore);
}

enum hal_status vulkan_semaphore_query(struct hal_driver_device *self, struct hal_semaphore *base,
                                       uint64_t *out_value)
{
    const struct vulkan_semaphore *semaphore = to_vulkan_semaphore(base);
    const uint64_t value = value_of(semaphore);
    (void)self;
    if (value != UINT64_MAX) {
        *out_value = value;
        return HAL_OK;
    }
    pthread_mutex_lock(&vulkan_lock);
    const enum hal_status status = failure_locked(semaphore);
    pthread_mutex_unlock(&vulkan_lock);
    return status;
}

enum hal_status vulkan_semaphore_signal(struct hal_driver_device *self, struct hal_semaphore *base,
                                        uint64_t value)
{
    struct vulkan_semaphore *semaphore = to_vulkan_semaphore(base);
    struct vulkan_ready ready = {0};
    char name[HAL_OBJECT_NAME_BYTES];
    enum hal_status status = HAL_OK;
    (void)self;
    pthread_mutex_lock(&vulkan_lock);
    const uint64_t before = value_of(semaphore);
    if (before == UINT64_MAX)
        status = failure_locked(semaphore);
    else if (value <= before)
        status = hal_fail(HAL_INVALID, "%s has reached %" PRIu64 " and cannot be set to %" PRIu64,
                          hal_object_name(&base->object, name), before, value);
    else
        vulkan_semaphore_raise_locked(semaphore, value, &ready);
    pthread_mutex_unlock(&vulkan_lock);
    vulkan_go_on(&ready);
    return status;
}

void vulkan_semaphore_fail(struct hal_driver_device *self, struct hal_semaphore *base,
                           enum hal_status status, const char *message)
{
    struct vulkan_ready ready = {0};
    (void)self;
    pthread_mutex_lock(&vulkan_lock);
    vulkan_semaphore_fail_locked(to_vulkan_semaphore(base), status, message, &ready);
    pthread_mutex_unlock(&vulkan_lock);
    vulkan_go_on(&ready);
}

/* ---- Waiting threads ------------------------------------------------------------------------ */

struct wish {
    enum hal_wait_mode mode;
    const struct hal_semaphore_value *values;
    size_t count;
};

static bool is_fulfilled(const struct wish *wish)
{
    for (size_t i = 0; i < wish->count; i++) {
        const uint64_t now = value_of(to_vulkan_semaphore(wish->values[i].semaphore));
        const bool reached = now != UINT64_MAX && now >= wish->values[i].value;
        if (reached != (wish->mode == HAL_WAIT_ALL))
            return reached;
    }
    return wish->mode == HAL_WAIT_ALL;
}

/* True when waiting is over; *out_status is then what to return. */
static bool is_decided_locked(const struct wish *wish, enum hal_status *out_status)
{
    const struct vulkan_semaphore *failed = NULL;
    size_t failures = 0;
    for (size_t i = 0; i < wish->count; i++) {
        const struct vulkan_semaphore *semaphore = to_vulkan_semaphore(wish->values[i].semaphore);
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
        const uint64_t now = value_of(to_vulkan_semaphore(wanted->semaphore));
        char name[HAL_OBJECT_NAME_BYTES];
        if (now < wanted->value)
            return hal_fail(HAL_TIMEOUT, "%s did not reach %" PRIu64 " in time, it is at %" PRIu64,
                            hal_object_name(&wanted->semaphore->object, name), wanted->value, now);
    }
    return hal_fail(HAL_TIMEOUT, "the semaphores did not reach their values in time");
}

enum hal_status vulkan_semaphores_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                       const struct hal_semaphore_value *values, size_t count,
                                       int64_t timeout_ns)
{
    struct vulkan_device *device = to_vulkan_device(self);
    const struct wish wish = {mode, values, count};
    if (is_fulfilled(&wish))
        return HAL_OK;
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    enum hal_status status = HAL_OK;
    bool is_late = false;
    pthread_mutex_lock(&vulkan_lock);
    while (!is_decided_locked(&wish, &status)) {
        if (is_late || device->is_interrupted) {
            status = HAL_TIMEOUT;
            break;
        }
        is_late = !hal_condition_wait(&vulkan_changed, &vulkan_lock, deadline_ns);
    }
    pthread_mutex_unlock(&vulkan_lock);
    return status == HAL_TIMEOUT ? fail_timeout(&wish) : status;
}
