/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores that work of other devices signals. Two cases: a semaphore of another device, which is
 * created in this trace on first use, and any semaphore that reaches a value (or fails) without a
 * call or a submission of this trace causing it. Both become events marked as external, so that a
 * replay of this trace alone does what the other devices did. A value is recorded when a party
 * known to the trace has observed it: a submission whose waits are satisfied, a wait or a query of
 * the host. Everything that depends on it has a later ticket. */
#include "capture/capture.h"

#include "capture/stream/threads.h"
#include "hal/base/mem.h"
#include "hal/base/message.h"

/* ---- Semaphores of other devices ---------------------------------------------------------- */

void capture_external_init(struct capture_external *external, const struct hal_device *device)
{
    memset(external, 0, sizeof *external);
    external->device = device;
    pthread_mutex_init(&external->external_lock, NULL);
}

void capture_external_finish(struct capture_external *external)
{
    for (size_t i = 0; i < external->count; i++)
        capture_semaphore_release(external->list[i]);
    free(external->list);
    hal_idmap_finish(&external->ids);
    pthread_mutex_destroy(&external->external_lock);
}

static struct capture_semaphore *find_locked(struct capture_external *external,
                                             const struct hal_semaphore *semaphore)
{
    uint32_t index;
    if (!hal_idmap_find(&external->ids, semaphore->object.id, &index))
        return NULL;
    return external->list[index];
}

struct capture_semaphore *capture_external_find(struct capture_external *external,
                                                const struct hal_semaphore *semaphore)
{
    if (!external || semaphore->object.device == external->device)
        return semaphore->object.layer_data;
    pthread_mutex_lock(&external->external_lock);
    struct capture_semaphore *found = find_locked(external, semaphore);
    pthread_mutex_unlock(&external->external_lock);
    return found;
}

static struct capture_semaphore *add_locked(struct capture_external *external,
                                            const struct hal_semaphore *semaphore, uint64_t value)
{
    uint32_t index;
    if (!HAL_GROW(external->list, &external->capacity, external->count + 1))
        return NULL;
    struct capture_semaphore *added = capture_semaphore_create(value);
    if (added &&
        !hal_idmap_add(&external->ids, semaphore->object.id, (uint32_t)external->count, &index)) {
        capture_semaphore_release(added);
        return NULL;
    }
    if (added) {
        added->external_id = semaphore->object.id;
        external->list[external->count++] = added;
    }
    return added;
}

static struct capture_call event_now(struct capture_thread *thread, enum hal_status status)
{
    struct capture_call call = {.thread = thread, .status = status};
    capture_call_take_ticket(&call);
    call.begin_ns = call.end_ns = hal_clock_ns();
    return call;
}

static void record_failure(struct capture_thread *thread, const struct hal_semaphore *semaphore,
                           enum hal_status status)
{
    const struct capture_call call = event_now(thread, status);
    capture_record_semaphore_event(&call, TRACE_SEMAPHORE_FAIL, semaphore, 0, hal_message(),
                                   TRACE_FLAG_EXTERNAL);
}

/* A second thread that uses it first must not come before its creation: hence under the lock. */
static void meet_locked(struct capture *capture, struct capture_thread *thread,
                        struct hal_semaphore *semaphore)
{
    struct hal_driver_device *next = capture->device.next;
    uint64_t value = 0;
    if (find_locked(&capture->external, semaphore))
        return;
    const enum hal_status status = next->ops->semaphore_query(next, semaphore, &value);
    struct capture_semaphore *added =
        add_locked(&capture->external, semaphore, status == HAL_OK ? value : 0);
    if (!added) {
        capture_stop(&capture->stream, HAL_NO_MEMORY, "no memory for recording a semaphore");
        return;
    }
    const struct capture_call call = event_now(thread, HAL_OK);
    capture_record_semaphore(&call, semaphore->object.label, semaphore,
                             status == HAL_OK ? value : 0, TRACE_FLAG_EXTERNAL);
    if (status == HAL_OK)
        return;
    atomic_store(&added->has_failed, true);
    record_failure(thread, semaphore, status);
}

void capture_external_meet(struct capture *capture, struct capture_thread *thread,
                           const struct hal_semaphore_value *values, size_t count)
{
    struct hal_kept_message kept;
    bool saved = false;
    for (size_t i = 0; i < count; i++) {
        if (values[i].semaphore->object.device == capture->handle)
            continue;
        if (!saved)
            kept = hal_keep_message();
        saved = true;
        pthread_mutex_lock(&capture->external.external_lock);
        meet_locked(capture, thread, values[i].semaphore);
        pthread_mutex_unlock(&capture->external.external_lock);
    }
    if (saved)
        hal_restore_message(&kept, HAL_FAILED);
}

/* Those that were met before; their present values are what the trace has said of them. */
void capture_external_repeat(struct capture *capture)
{
    struct capture_external *external = &capture->external;
    struct capture_thread *thread = capture_enter(&capture->stream);
    pthread_mutex_lock(&external->external_lock);
    for (size_t i = 0; thread && i < external->count; i++) {
        const struct hal_semaphore known = {.object = {.id = external->list[i]->external_id}};
        const struct capture_call call = event_now(thread, HAL_OK);
        capture_record_semaphore(&call, NULL, &known, atomic_load(&external->list[i]->recorded),
                                 TRACE_FLAG_EXTERNAL);
        if (!atomic_load(&external->list[i]->has_failed))
            continue;
        const struct capture_call failure = event_now(thread, HAL_FAILED);
        capture_record_semaphore_event(&failure, TRACE_SEMAPHORE_FAIL, &known, 0,
                                       "it had failed before the capture began",
                                       TRACE_FLAG_EXTERNAL);
    }
    pthread_mutex_unlock(&external->external_lock);
}

/* ---- Values ------------------------------------------------------------------------------- */

uint64_t capture_semaphore_raise(struct capture_semaphore *semaphore, uint64_t value)
{
    if (!semaphore)
        return UINT64_MAX;
    uint64_t before = atomic_load_explicit(&semaphore->recorded, memory_order_relaxed);
    while (before < value && !atomic_compare_exchange_weak(&semaphore->recorded, &before, value))
        continue;
    return before;
}

/* What this trace's own work had set before is waited for by a replay before it sets the value. */
void capture_external_reached(struct capture_thread *thread, const struct hal_semaphore *object,
                              struct capture_semaphore *semaphore, uint64_t value)
{
    const uint64_t before = capture_semaphore_raise(semaphore, value);
    if (before >= value)
        return;
    struct capture_call call = event_now(thread, HAL_OK);
    if (before > 0)
        capture_record_semaphore_event(&call, TRACE_SEMAPHORE_QUERY, object, before, NULL,
                                       TRACE_FLAG_EXTERNAL);
    call = event_now(thread, HAL_OK);
    capture_record_semaphore_event(&call, TRACE_SEMAPHORE_SIGNAL, object, value, NULL,
                                   TRACE_FLAG_EXTERNAL);
}

void capture_external_failed(struct capture *capture, struct capture_thread *thread,
                             struct hal_semaphore *object, struct capture_semaphore *semaphore)
{
    uint64_t value;
    struct hal_driver_device *next = capture->device.next;
    if (!semaphore || atomic_load(&semaphore->has_failed))
        return;
    const struct hal_kept_message kept = hal_keep_message();
    const enum hal_status status = next->ops->semaphore_query(next, object, &value);
    if (status != HAL_OK && !atomic_exchange(&semaphore->has_failed, true))
        record_failure(thread, object, status);
    hal_restore_message(&kept, HAL_FAILED);
}
