/* SPDX-License-Identifier: Apache-2.0 */
/* Entry points of queues and semaphores. */
#include "hal/core/core.h"

#include <stdlib.h>

/* ---- Submissions -------------------------------------------------------------------------- */

static void take_back(struct hal_command_buffer *const *commands, size_t count)
{
    for (size_t i = 0; i < count; i++)
        atomic_store(&commands[i]->submitted, false);
}

/* A one-shot command buffer is submitted once, also by threads that race. */
static enum hal_status mark_submitted(struct hal_command_buffer *const *commands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (commands[i]->mode == HAL_REUSABLE || !atomic_exchange(&commands[i]->submitted, true))
            continue;
        char name[HAL_OBJECT_NAME_BYTES];
        take_back(commands, i);
        return hal_fail(HAL_INVALID, "%s is one-shot and was submitted before",
                        hal_object_name(&commands[i]->object, name));
    }
    return HAL_OK;
}

/* ---- Which queue -------------------------------------------------------------------------- */

static void leave_queue(void *load, const struct hal_submission_result *result)
{
    (void)result;
    atomic_fetch_sub_explicit((_Atomic uint32_t *)load, 1, memory_order_relaxed);
}

static void leave_and_end(void *user, const struct hal_submission_result *result)
{
    struct hal_completion *completion = user;
    leave_queue(completion->load, result);
    completion->run(completion, result);
}

/* The least busy of those that `queues` allows. */
static uint32_t choose_queue(const struct hal_device *device, uint64_t queues)
{
    uint32_t best = queues ? (uint32_t)__builtin_ctzll(queues) : 0;
    uint32_t least = atomic_load_explicit(&device->queue_load[best], memory_order_relaxed);
    for (uint64_t others = queues & (queues - 1); others && least > 0; others &= others - 1) {
        const uint32_t queue = (uint32_t)__builtin_ctzll(others);
        const uint32_t load =
            atomic_load_explicit(&device->queue_load[queue], memory_order_relaxed);
        if (load < least) {
            best = queue;
            least = load;
        }
    }
    return best;
}

/* With the gate entered. */
static enum hal_status submit_entered(struct hal_device *device, const struct hal_submit_desc *desc,
                                      const struct hal_submission *what,
                                      struct hal_completion *completion, uint64_t id)
{
    struct hal_submission submission = *what;
    submission.id = id;
    submission.affinity = desc->queues;
    submission.queue = choose_queue(device, desc->queues);
    submission.waits = desc->waits;
    submission.wait_count = desc->wait_count;
    submission.signals = desc->signals;
    submission.signal_count = desc->signal_count;
    submission.commands = desc->commands;
    submission.command_count = desc->command_count;
    _Atomic uint32_t *load = &device->queue_load[submission.queue];
    submission.retired = completion ? leave_and_end : leave_queue;
    submission.user = completion ? (void *)completion : (void *)load;
    if (completion)
        completion->load = load;
    atomic_fetch_add_explicit(load, 1, memory_order_relaxed);
    struct hal_promise *promise = hal_promises_are_kept() ? hal_promise_begin(&submission) : NULL;
    const enum hal_status status = device->top->ops->queue_submit(device->top, &submission);
    hal_promise_end(promise, status == HAL_OK);
    if (status != HAL_OK)
        atomic_fetch_sub_explicit(load, 1, memory_order_relaxed);
    return status;
}

enum hal_status hal_queue_submit_work(struct hal_device *device, const struct hal_submit_desc *desc,
                                      const struct hal_submission *what,
                                      struct hal_completion *completion)
{
    HAL_TRY(hal_check_use(device, desc, what));
    HAL_TRY(mark_submitted(desc->commands, desc->command_count));
    const uint64_t id = atomic_fetch_add_explicit(&device->submissions, 1, memory_order_relaxed);
    if (device->range)
        hal_capture_range_before(device, id, desc);
    if (__builtin_expect(atomic_load_explicit(&device->flight_recorder.due_ns,
                                              memory_order_relaxed) != INT64_MAX,
                         0))
        hal_flight_recorder_before(device);
    enum hal_status status = hal_device_enter(device);
    if (status == HAL_OK) {
        status = submit_entered(device, desc, what, completion, id);
        hal_gate_leave(&device->gate);
    }
    if (device->range)
        hal_capture_range_after(device, id);
    if (status != HAL_OK)
        take_back(desc->commands, desc->command_count);
    return status;
}

enum hal_status hal_queue_submit(struct hal_device *device, const struct hal_submit_desc *desc)
{
    HAL_KNOW(hal_submit_desc, desc);
    static const struct hal_submission execute = {.operation = HAL_OPERATION_EXECUTE};
    HAL_TRY(hal_check_submit(device, desc));
    return hal_queue_submit_work(device, desc, &execute, NULL);
}

enum hal_status hal_queue_flush(struct hal_device *device, uint64_t queues)
{
    HAL_TRY(hal_check_device(device));
    const uint64_t all = UINT64_MAX >> (HAL_MAX_QUEUES - device->info.queue_count);
    const struct hal_submit_desc named = {.queues = queues};
    HAL_TRY(hal_check_submit(device, &named));
    HAL_TRY(hal_device_enter(device));
    if (device->top->ops->queue_flush)
        device->top->ops->queue_flush(device->top, queues ? queues : all);
    hal_gate_leave(&device->gate);
    return HAL_OK;
}

/* ---- Semaphores --------------------------------------------------------------------------- */

static void destroy_semaphore(struct hal_driver_device *top, struct hal_object *object)
{
    hal_promises_forget((struct hal_semaphore *)object);
    top->ops->object_destroy(top, object);
}

enum hal_status hal_semaphore_create(struct hal_device *device, const char *label,
                                     uint64_t initial_value, struct hal_semaphore **out_semaphore)
{
    char *copy;
    struct hal_semaphore *semaphore;
    HAL_TRY(hal_check_device(device));
    HAL_TRY(hal_check_place(out_semaphore, "the semaphore"));
    HAL_TRY(hal_check_initial_value(label, initial_value));
    HAL_TRY(hal_copy_label(label, &copy));
    enum hal_status status = hal_device_enter(device);
    if (status != HAL_OK)
        goto fail_label;
    status = device->top->ops->semaphore_create(device->top, label, initial_value, &semaphore);
    if (status != HAL_OK)
        goto fail_gate;
    semaphore->object.destroy = destroy_semaphore;
    hal_object_publish(&semaphore->object, device, copy);
    hal_gate_leave(&device->gate);
    *out_semaphore = semaphore;
    return HAL_OK;

fail_gate:
    hal_gate_leave(&device->gate);
fail_label:
    free(copy);
    return status;
}

HAL_REFERENCED(hal_semaphore)

enum hal_status hal_semaphore_query(struct hal_semaphore *semaphore, uint64_t *out_value)
{
    HAL_TRY(hal_check_object(semaphore ? &semaphore->object : NULL, "semaphore"));
    HAL_TRY(hal_check_place(out_value, "the value of a semaphore"));
    struct hal_device *device = semaphore->object.device;
    HAL_TRY(hal_device_enter(device));
    const enum hal_status status =
        device->top->ops->semaphore_query(device->top, semaphore, out_value);
    hal_gate_leave(&device->gate);
    return status;
}

enum hal_status hal_semaphore_signal(struct hal_semaphore *semaphore, uint64_t value)
{
    HAL_TRY(hal_check_object(semaphore ? &semaphore->object : NULL, "semaphore"));
    HAL_TRY(hal_check_value(semaphore, "signal", value));
    struct hal_device *device = semaphore->object.device;
    HAL_TRY(hal_device_enter(device));
    const enum hal_status status =
        device->top->ops->semaphore_signal(device->top, semaphore, value);
    hal_gate_leave(&device->gate);
    return status;
}

void hal_semaphore_fail(struct hal_semaphore *semaphore, enum hal_status status,
                        const char *message)
{
    if (!semaphore || status == HAL_OK)
        return;
    struct hal_device *device = semaphore->object.device;
    if (!hal_gate_enter(&device->gate))
        return;
    /* Waits that end with HAL_TIMEOUT have met their own limit, nothing else. */
    if (status == HAL_TIMEOUT)
        status = HAL_FAILED;
    device->top->ops->semaphore_fail(device->top, semaphore, status, message ? message : "");
    hal_gate_leave(&device->gate);
}

enum hal_status hal_semaphore_wait(struct hal_semaphore *semaphore, uint64_t value,
                                   int64_t timeout_ns)
{
    HAL_TRY(hal_check_object(semaphore ? &semaphore->object : NULL, "semaphore"));
    const struct hal_semaphore_value wanted = {semaphore, value};
    return hal_semaphores_wait(semaphore->object.device, HAL_WAIT_ALL, &wanted, 1, timeout_ns);
}

enum hal_status hal_semaphores_wait(struct hal_device *device, enum hal_wait_mode mode,
                                    const struct hal_semaphore_value *values, size_t count,
                                    int64_t timeout_ns)
{
    HAL_TRY(hal_check_wait(device, mode, values, count));
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    for (int64_t left_ns = timeout_ns;; left_ns = deadline_ns - hal_clock_ns()) {
        if (deadline_ns == HAL_FOREVER)
            left_ns = HAL_FOREVER;
        HAL_TRY(hal_device_enter(device));
        const enum hal_status status = device->top->ops->semaphores_wait(
            device->top, mode, values, count, left_ns > 0 ? left_ns : 0);
        hal_gate_leave(&device->gate);
        /* A wait that ended before its time was interrupted for a change of the chain. */
        if (status != HAL_TIMEOUT || hal_clock_ns() >= deadline_ns)
            return status;
    }
}
