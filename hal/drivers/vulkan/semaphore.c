/* SPDX-License-Identifier: Apache-2.0 */
/* Timeline semaphores: values on the host, which rise when submissions have retired. */
#include "hal/base/mem.h"
#include "hal/drivers/vulkan/vulkan.h"

pthread_mutex_t vulkan_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t vulkan_changed;

__attribute__((constructor)) static void init_condition(void)
{
    hal_condition_init(&vulkan_changed);
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

void vulkan_promise_link_locked(struct vulkan_promise *promise, struct hal_line *ready)
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
                                  const char *message, struct hal_line *ready)
{
    if (!hal_timeline_fail(&semaphore->base, status, message))
        return;
    while (semaphore->waits) /* one refusal may end several */
        vulkan_submission_refused_locked(semaphore->waits, ready);
    pthread_cond_broadcast(&vulkan_changed);
}

void vulkan_semaphore_raise_locked(struct vulkan_semaphore *semaphore, uint64_t value,
                                   struct hal_line *ready)
{
    if (hal_timeline_value(&semaphore->base) == UINT64_MAX)
        return;
    if (hal_timeline_raise(&semaphore->base, value) != HAL_OK) {
        vulkan_semaphore_fail_locked(semaphore, HAL_INVALID, hal_message(), ready);
        return;
    }
    for (struct vulkan_wait *wait = semaphore->waits, *next; wait; wait = next) {
        next = wait->next;
        if (wait->value <= value)
            vulkan_submission_reached_locked(wait, ready);
    }
    pthread_cond_broadcast(&vulkan_changed);
}

/* ---- Table entries -------------------------------------------------------------------------- */

enum hal_status vulkan_semaphore_create(struct hal_driver_device *self, const char *label,
                                        uint64_t initial_value, struct hal_semaphore **out)
{
    struct vulkan_semaphore *semaphore = hal_alloc(1, sizeof *semaphore);
    (void)self;
    if (!semaphore)
        return hal_fail(HAL_NO_MEMORY, "no memory for semaphore '%s'", label ? label : "");
    hal_timeline_init(&semaphore->base, initial_value);
    *out = &semaphore->base;
    return HAL_OK;
}

void vulkan_semaphore_destroy(struct vulkan_semaphore *semaphore)
{
    hal_timeline_finish(&semaphore->base);
    free(semaphore);
}

enum hal_status vulkan_semaphore_query(struct hal_driver_device *self, struct hal_semaphore *base,
                                       uint64_t *out_value)
{
    (void)self;
    return hal_timeline_query(base, &vulkan_lock, out_value);
}

enum hal_status vulkan_semaphore_signal(struct hal_driver_device *self, struct hal_semaphore *base,
                                        uint64_t value)
{
    struct vulkan_semaphore *semaphore = to_vulkan_semaphore(base);
    struct hal_line ready = {0};
    enum hal_status status;
    (void)self;
    pthread_mutex_lock(&vulkan_lock);
    status = hal_timeline_check_signal(base, value);
    if (status == HAL_OK)
        vulkan_semaphore_raise_locked(semaphore, value, &ready);
    pthread_mutex_unlock(&vulkan_lock);
    vulkan_go_on(&ready);
    return status;
}

void vulkan_semaphore_fail(struct hal_driver_device *self, struct hal_semaphore *base,
                           enum hal_status status, const char *message)
{
    struct hal_line ready = {0};
    (void)self;
    pthread_mutex_lock(&vulkan_lock);
    vulkan_semaphore_fail_locked(to_vulkan_semaphore(base), status, message, &ready);
    pthread_mutex_unlock(&vulkan_lock);
    vulkan_go_on(&ready);
}

/* ---- Waiting threads ------------------------------------------------------------------------ */

enum hal_status vulkan_semaphores_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                       const struct hal_semaphore_value *values, size_t count,
                                       int64_t timeout_ns)
{
    const struct hal_wish wish = {mode, values, count};
    return hal_wish_await(&wish, &vulkan_lock, &vulkan_changed,
                          &to_vulkan_device(self)->is_interrupted, timeout_ns);
}
