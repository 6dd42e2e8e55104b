/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores: the waits for their values, in order of value, and which values are promised. The
 * host's value is authoritative: it increases when a submission has retired. */
#include "hal/base/mem.h"
#include "hal/core/engine/parts.h"

/* ---- Waits -------------------------------------------------------------------------------- */

/* Values mostly come in rising order: the search begins at the end. */
void hal_wait_link_locked(struct hal_wait *wait)
{
    struct hal_semaphore *semaphore = wait->semaphore;
    struct hal_wait *after = semaphore->last_wait;
    while (after && after->value > wait->value)
        after = after->previous;
    wait->is_linked = true;
    wait->previous = after;
    wait->next = after ? after->next : semaphore->first_wait;
    if (wait->next)
        wait->next->previous = wait;
    else
        semaphore->last_wait = wait;
    if (after)
        after->next = wait;
    else
        semaphore->first_wait = wait;
}

void hal_wait_unlink_locked(struct hal_wait *wait)
{
    struct hal_semaphore *semaphore = wait->semaphore;
    if (!wait->is_linked)
        return;
    wait->is_linked = false;
    if (wait->previous)
        wait->previous->next = wait->next;
    else
        semaphore->first_wait = wait->next;
    if (wait->next)
        wait->next->previous = wait->previous;
    else
        semaphore->last_wait = wait->previous;
}

/* ---- Promises ----------------------------------------------------------------------------- */

/* For a device's own work; the host waits for what other devices promise. */
static bool is_relied_on(const struct hal_wait *wait, const struct hal_signal *signal)
{
    return wait->work && wait->work->waits_on_device && wait->value <= signal->value &&
           wait->work->engine == signal->work->engine;
}

bool hal_wait_is_promised_locked(const struct hal_wait *wait)
{
    const struct hal_signal *signal = wait->semaphore->promises;
    while (signal && !is_relied_on(wait, signal))
        signal = signal->next;
    return signal != NULL;
}

/* The lowest value that is enough comes first. */
struct hal_work *hal_wait_promiser_locked(const struct hal_wait *wait)
{
    const struct hal_signal *best = NULL;
    for (const struct hal_signal *signal = wait->is_linked ? wait->semaphore->promises : NULL;
         signal; signal = signal->next) {
        if (is_relied_on(wait, signal) && (!best || signal->value < best->value))
            best = signal;
    }
    return best ? best->work : NULL;
}

void hal_signal_link_locked(struct hal_signal *signal, struct hal_changes *changes)
{
    struct hal_semaphore *semaphore = signal->semaphore;
    signal->is_linked = true;
    signal->previous = NULL;
    signal->next = semaphore->promises;
    if (signal->next)
        signal->next->previous = signal;
    semaphore->promises = signal;
    for (struct hal_wait *wait = semaphore->first_wait; wait && wait->value <= signal->value;
         wait = wait->next) {
        if (!wait->is_promised && is_relied_on(wait, signal))
            hal_work_promised_locked(wait, changes);
    }
}

void hal_signal_unlink_locked(struct hal_signal *signal)
{
    if (!signal->is_linked)
        return;
    signal->is_linked = false;
    if (signal->previous)
        signal->previous->next = signal->next;
    else
        signal->semaphore->promises = signal->next;
    if (signal->next)
        signal->next->previous = signal->previous;
}

/* ---- Changes ------------------------------------------------------------------------------ */

/* One refusal may end several waits. */
void hal_semaphore_break_locked(struct hal_semaphore *semaphore, enum hal_status status,
                                const char *message, struct hal_changes *changes)
{
    if (!hal_timeline_fail(semaphore, status, message))
        return;
    for (struct hal_wait *wait; (wait = semaphore->first_wait) != NULL;) {
        hal_wait_unlink_locked(wait);
        if (wait->work)
            hal_work_refused_locked(wait, changes);
        else
            hal_waiter_wake_locked(wait->thread, changes);
    }
}

void hal_semaphore_raise_locked(struct hal_semaphore *semaphore, uint64_t value,
                                struct hal_changes *changes)
{
    if (hal_timeline_value(semaphore) == UINT64_MAX)
        return;
    if (hal_timeline_raise(semaphore, value) != HAL_OK) {
        hal_semaphore_break_locked(semaphore, HAL_INVALID, hal_message(), changes);
        return;
    }
    for (struct hal_wait *wait; (wait = semaphore->first_wait) && wait->value <= value;) {
        hal_wait_unlink_locked(wait);
        if (wait->work)
            hal_work_reached_locked(wait, changes);
        else
            hal_waiter_reached_locked(wait->thread, changes);
    }
}

/* ---- Table entries ------------------------------------------------------------------------ */

enum hal_status hal_engine_semaphore_create(struct hal_driver_device *self, const char *label,
                                            uint64_t initial_value, struct hal_semaphore **out)
{
    HAL_TRY(
        hal_add_context(hal_engine_check(to_engine(self)), "semaphore '%s'", label ? label : ""));
    struct hal_semaphore *semaphore = hal_alloc(1, sizeof *semaphore);
    if (!semaphore)
        return hal_fail(HAL_NO_MEMORY, "no memory for semaphore '%s'", label ? label : "");
    hal_timeline_init(semaphore, initial_value);
    *out = semaphore;
    return HAL_OK;
}

void hal_engine_semaphore_destroy(struct hal_semaphore *semaphore)
{
    hal_timeline_finish(semaphore);
    free(semaphore);
}

enum hal_status hal_engine_semaphore_query(struct hal_driver_device *self,
                                           struct hal_semaphore *semaphore, uint64_t *out_value)
{
    (void)self;
    return hal_timeline_query(semaphore, out_value);
}

enum hal_status hal_engine_semaphore_signal(struct hal_driver_device *self,
                                            struct hal_semaphore *semaphore, uint64_t value)
{
    (void)self;
    struct hal_changes changes = {0};
    pthread_mutex_lock(&hal_engine_lock);
    const enum hal_status status = hal_timeline_check_signal(semaphore, value);
    if (status == HAL_OK)
        hal_semaphore_raise_locked(semaphore, value, &changes);
    pthread_mutex_unlock(&hal_engine_lock);
    hal_engine_drain_ready(&changes);
    return status;
}

void hal_engine_semaphore_fail(struct hal_driver_device *self, struct hal_semaphore *semaphore,
                               enum hal_status status, const char *message)
{
    (void)self;
    struct hal_changes changes = {0};
    pthread_mutex_lock(&hal_engine_lock);
    hal_semaphore_break_locked(semaphore, status, message, &changes);
    pthread_mutex_unlock(&hal_engine_lock);
    hal_engine_drain_ready(&changes);
}
