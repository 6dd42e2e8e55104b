/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores: what the application sees of them is recorded with the reason that it had. */
#include "capture/layer/ops.h"

#include "capture/stream/threads.h"
#include "hal/base/message.h"

enum hal_status capture_op_semaphore_create(struct hal_driver_device *self, const char *label,
                                            uint64_t initial_value, struct hal_semaphore **out)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->semaphore_create(next, label, initial_value, out);
    capture_call_begin(&call);
    capture_call_result(&call, "hal_semaphore_create",
                        next->ops->semaphore_create(next, label, initial_value, out));
    capture_call_take_ticket(&call);
    struct hal_semaphore *semaphore = call.status == HAL_OK ? *out : NULL;
    if (semaphore) {
        semaphore->object.layer_data = capture_semaphore_create(initial_value);
        if (!semaphore->object.layer_data)
            capture_no_memory(capture, "a semaphore");
    }
    capture_record_semaphore(&call, label, semaphore, initial_value, 0);
    capture_call_leave(&call);
    return call.status;
}

static void see_value(struct capture *capture, struct capture_thread *thread,
                      const struct hal_semaphore *semaphore, uint64_t value)
{
    capture_mappings_see_value(capture, thread,
                               capture_external_find(&capture->external, semaphore), value);
}

/* A value, or a failure, was observed: determines its cause. */
static void note_seen(struct capture *capture, struct capture_thread *thread,
                      struct hal_semaphore *semaphore, uint64_t value, bool works)
{
    struct capture_semaphore *known = capture_external_find(&capture->external, semaphore);
    if (works)
        capture_external_reached(thread, semaphore, known, value);
    else
        capture_external_failed(capture, thread, semaphore, known);
}

enum hal_status capture_op_semaphore_query(struct hal_driver_device *self,
                                           struct hal_semaphore *semaphore, uint64_t *out_value)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->semaphore_query(next, semaphore, out_value);
    capture_call_begin(&call);
    capture_call_result(&call, "hal_semaphore_query",
                        next->ops->semaphore_query(next, semaphore, out_value));
    const bool ok = call.status == HAL_OK;
    note_seen(capture, call.thread, semaphore, ok ? *out_value : 0, ok);
    capture_call_take_ticket(&call);
    capture_record_semaphore_event(&call, TRACE_SEMAPHORE_QUERY, semaphore, ok ? *out_value : 0,
                                   ok ? NULL : hal_message(), 0);
    if (ok)
        see_value(capture, call.thread, semaphore, *out_value);
    capture_call_leave(&call);
    return call.status;
}

enum hal_status capture_op_semaphore_signal(struct hal_driver_device *self,
                                            struct hal_semaphore *semaphore, uint64_t value)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->semaphore_signal(next, semaphore, value);
    capture_mappings_let_go(capture, call.thread, semaphore->object.layer_data, value);
    capture_call_take_ticket(&call);
    capture_call_begin(&call);
    capture_call_result(&call, "hal_semaphore_signal",
                        next->ops->semaphore_signal(next, semaphore, value));
    capture_record_semaphore_event(&call, TRACE_SEMAPHORE_SIGNAL, semaphore, value,
                                   call.status == HAL_OK ? NULL : hal_message(), 0);
    capture_call_leave(&call);
    return call.status;
}

void capture_op_semaphore_fail(struct hal_driver_device *self, struct hal_semaphore *semaphore,
                               enum hal_status status, const char *message)
{
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture_of(self));
    if (!call.thread) {
        next->ops->semaphore_fail(next, semaphore, status, message);
        return;
    }
    struct capture_semaphore *known = semaphore->object.layer_data;
    if (known)
        atomic_store(&known->has_failed, true);
    capture_call_take_ticket(&call);
    capture_call_begin(&call);
    next->ops->semaphore_fail(next, semaphore, status, message);
    capture_call_end(&call, status);
    capture_record_semaphore_event(&call, TRACE_SEMAPHORE_FAIL, semaphore, 0, message, 0);
    capture_call_leave(&call);
}

/* The driver does not report which of several values ended a wait for any of them. The semaphores
 * do: each one reached is recorded as if asked for, so that a replay waits for the same ones. */
static void see_reached(struct capture *capture, struct capture_thread *thread,
                        const struct hal_semaphore_value *values, size_t count)
{
    struct hal_driver_device *next = capture->device.next;
    const struct hal_kept_message kept = hal_keep_message();
    for (size_t i = 0; i < count; i++) {
        struct capture_call query = {.thread = thread};
        struct hal_semaphore *semaphore = values[i].semaphore;
        uint64_t value;
        capture_call_begin(&query);
        capture_call_end(&query, next->ops->semaphore_query(next, semaphore, &value));
        if (query.status != HAL_OK || value < values[i].value)
            continue;
        note_seen(capture, thread, semaphore, value, true);
        capture_call_take_ticket(&query);
        capture_record_semaphore_event(&query, TRACE_SEMAPHORE_QUERY, semaphore, value, NULL, 0);
        see_value(capture, thread, values[i].semaphore, value);
    }
    hal_restore_message(&kept, HAL_FAILED);
}

static void see_values(struct capture *capture, struct capture_thread *thread,
                       enum hal_wait_mode mode, const struct hal_semaphore_value *values,
                       size_t count)
{
    if (mode == HAL_WAIT_ANY && count > 1) {
        see_reached(capture, thread, values, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        see_value(capture, thread, values[i].semaphore, values[i].value);
}

/* For a wait for any, the driver does not report which one: see_reached asks. */
static void note_waited(struct capture *capture, const struct capture_call *call,
                        enum hal_wait_mode mode, const struct hal_semaphore_value *values,
                        size_t count)
{
    const bool all = call->status == HAL_OK && (mode == HAL_WAIT_ALL || count == 1);
    const bool failed = call->status != HAL_OK && call->status != HAL_TIMEOUT;
    for (size_t i = 0; (all || failed) && i < count; i++)
        note_seen(capture, call->thread, values[i].semaphore, values[i].value, all);
}

enum hal_status capture_op_semaphores_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                           const struct hal_semaphore_value *values, size_t count,
                                           int64_t timeout_ns)
{
    struct capture *capture = capture_of(self);
    struct hal_driver_device *next = self->next;
    struct capture_call call = capture_call_enter(capture);
    if (!call.thread)
        return next->ops->semaphores_wait(next, mode, values, count, timeout_ns);
    capture_wake_writer_if_asleep(&capture->stream);
    capture_external_meet(capture, call.thread, values, count);
    capture_call_begin(&call);
    capture_call_result(&call, "hal_semaphores_wait",
                        next->ops->semaphores_wait(next, mode, values, count, timeout_ns));
    note_waited(capture, &call, mode, values, count);
    capture_call_take_ticket(&call);
    capture_record_wait(&call, mode, values, count, timeout_ns);
    if (call.status == HAL_OK)
        see_values(capture, call.thread, mode, values, count);
    capture_call_leave(&call);
    return call.status;
}
