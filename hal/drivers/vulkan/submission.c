/* SPDX-License-Identifier: Apache-2.0 */
/* A submission from its call to its end: it waits until all is there or promised, is handed to the
 * device, the host or nobody, and when it has ended it is reported as retired, lets go of what it
 * held, and raises the semaphores. */
#include "hal/drivers/vulkan/submission.h"

#include "hal/base/log.h"
#include "hal/base/mem.h"

#include <inttypes.h>

static bool is_timed(const struct vulkan_submission *submission, size_t i)
{
    return submission->programs[i] != submission->commands[i]->driver_data;
}

/* ---- Readiness ------------------------------------------------------------------------------ */

static struct vulkan_submission *take_ready(struct hal_line *ready)
{
    return hal_line_take(ready, offsetof(struct vulkan_submission, ready));
}

void vulkan_submission_fail(struct vulkan_submission *submission, enum hal_status status,
                            const char *message)
{
    if (submission->status != HAL_OK)
        return;
    submission->status = status;
    submission->message = hal_copy_string(message);
}

static void one_less_locked(struct vulkan_wait *wait, struct hal_line *ready)
{
    vulkan_wait_unlink_locked(wait);
    if (--wait->submission->missing == 0)
        hal_line_join(ready, &wait->submission->ready);
}

void vulkan_submission_reached_locked(struct vulkan_wait *wait, struct hal_line *ready)
{
    one_less_locked(wait, ready);
}

/* Work alone waits on the device, and for its own device. */
static bool take_promise_locked(struct vulkan_submission *submission,
                                const struct vulkan_submission *promiser)
{
    if (!submission->is_work || promiser->device != submission->device)
        return false;
    uint64_t *after = &submission->after[promiser->queue->index];
    if (*after < promiser->number)
        *after = promiser->number;
    return true;
}

bool vulkan_submission_promised_locked(struct vulkan_wait *wait,
                                       const struct vulkan_submission *promiser,
                                       struct hal_line *ready)
{
    if (!take_promise_locked(wait->submission, promiser))
        return false;
    one_less_locked(wait, ready);
    return true;
}

void vulkan_submission_refused_locked(struct vulkan_wait *wait, struct hal_line *ready)
{
    struct vulkan_submission *submission = wait->submission;
    vulkan_submission_fail(submission, wait->semaphore->base.failure,
                           wait->semaphore->base.message ? wait->semaphore->base.message : "");
    for (size_t i = 0; i < submission->wait_count; i++)
        vulkan_wait_unlink_locked(&submission->waits[i]);
    submission->missing = 0;
    hal_line_join(ready, &submission->ready);
}

/* ---- Retiring ------------------------------------------------------------------------------- */

static void report(const struct vulkan_submission *submission)
{
    if (!submission->retired)
        return;
    const struct hal_submission_result result = {
        .status = submission->status,
        .message = submission->message ? submission->message : "",
        .ready_ns = submission->ready_ns,
        .begin_ns = submission->begin_ns,
        .end_ns = submission->end_ns,
        .busy_ns = submission->end_ns - submission->begin_ns,
        .dispatches = submission->times,
        .dispatch_count = submission->time_count,
        .is_isolated = submission->time_count > 0,
    };
    submission->retired(submission->user, &result);
}

static void release_held(struct vulkan_submission *submission)
{
    if (submission->buffer)
        hal_object_release(&submission->buffer->object);
    for (size_t i = 0; i < submission->command_count; i++) {
        if (is_timed(submission, i))
            vulkan_program_destroy(submission->device, submission->programs[i]);
        hal_object_release(&submission->commands[i]->object);
    }
    for (size_t i = 0; i < submission->wait_count; i++)
        hal_object_release(&submission->waits[i].semaphore->base.object);
}

static void signal_all_locked(struct vulkan_submission *submission, struct hal_line *ready)
{
    for (size_t i = 0; i < submission->signal_count; i++) {
        struct vulkan_promise *signal = &submission->signals[i];
        vulkan_promise_unlink_locked(signal);
        if (submission->status == HAL_OK)
            vulkan_semaphore_raise_locked(signal->semaphore, signal->value, ready);
        else
            vulkan_semaphore_fail_locked(signal->semaphore, submission->status,
                                         submission->message ? submission->message : "", ready);
    }
}

static void leave_flight_locked(struct vulkan_submission *submission)
{
    struct vulkan_device *device = submission->device;
    if (submission->previous_in_flight)
        submission->previous_in_flight->next_in_flight = submission->next_in_flight;
    else
        device->first_in_flight = submission->next_in_flight;
    if (submission->next_in_flight)
        submission->next_in_flight->previous_in_flight = submission->previous_in_flight;
    else
        device->last_in_flight = submission->previous_in_flight;
    pthread_cond_broadcast(&vulkan_changed);
}

/* Programs that run once at a time are free again: whoever waited for one may try. */
static void unblock_locked(struct vulkan_submission *submission, struct hal_line *ready)
{
    struct vulkan_device *device = submission->device;
    if (!submission->holds_programs)
        return;
    for (size_t i = 0; i < submission->command_count; i++)
        submission->programs[i]->is_busy = false;
    while (device->blocked) {
        struct vulkan_submission *blocked = device->blocked;
        device->blocked = blocked->next_blocked;
        hal_line_join(ready, &blocked->ready);
    }
}

/* Command buffers are let go of before somebody can learn that they have run, so that the
 * application's release is the last one. The flight ends when nothing is held any more: then a
 * device that is idle can be destroyed. */
void vulkan_submission_retire(struct vulkan_submission *submission, struct hal_line *ready)
{
    report(submission);
    pthread_mutex_lock(&vulkan_lock);
    unblock_locked(submission, ready);
    pthread_mutex_unlock(&vulkan_lock);
    if (submission->slot && !submission->is_abandoned)
        vulkan_slot_give(submission->device, submission->slot);
    if (!submission->is_abandoned)
        release_held(submission);
    pthread_mutex_lock(&vulkan_lock);
    signal_all_locked(submission, ready);
    pthread_mutex_unlock(&vulkan_lock);
    for (size_t i = 0; i < submission->signal_count; i++)
        hal_object_release(&submission->signals[i].semaphore->base.object);
    pthread_mutex_lock(&vulkan_lock);
    if (submission->number)
        submission->queue->retired_number = submission->number;
    leave_flight_locked(submission);
    if (submission->is_abandoned) {
        submission->next_abandoned = submission->device->abandoned;
        submission->device->abandoned = submission;
    }
    const bool is_abandoned = submission->is_abandoned;
    pthread_mutex_unlock(&vulkan_lock);
    if (is_abandoned)
        return;
    free(submission->times);
    free(submission->message);
    free(submission);
}

static void host_call_done(struct vulkan_host_call *call, enum hal_status status)
{
    struct vulkan_submission *submission =
        (struct vulkan_submission *)(void *)((uint8_t *)call -
                                             offsetof(struct vulkan_submission, host));
    struct hal_line ready = {0};
    if (status != HAL_OK)
        vulkan_submission_fail(submission, status, hal_message());
    submission->begin_ns = call->begin_ns;
    submission->end_ns = call->end_ns;
    vulkan_submission_retire(submission, &ready);
    vulkan_go_on(&ready);
}

/* ---- Starting -------------------------------------------------------------------------------- */

/* True: another submission runs one of its programs, it waits. */
static bool is_blocked(struct vulkan_submission *submission)
{
    struct vulkan_device *device = submission->device;
    bool is_busy = false;
    if (!submission->is_exclusive)
        return false;
    pthread_mutex_lock(&vulkan_lock);
    for (size_t i = 0; i < submission->command_count; i++)
        is_busy |= submission->programs[i]->is_busy;
    if (is_busy) {
        submission->next_blocked = device->blocked;
        device->blocked = submission;
    }
    for (size_t i = 0; i < submission->command_count && !is_busy; i++)
        submission->programs[i]->is_busy = submission->programs[i]->is_exclusive;
    submission->holds_programs = !is_busy;
    pthread_mutex_unlock(&vulkan_lock);
    return is_busy;
}

static void start(struct vulkan_submission *submission, struct hal_line *ready)
{
    submission->ready_ns = hal_clock_ns();
    if (submission->status == HAL_OK && submission->host.host.run) {
        vulkan_host_start(submission->device->host, &submission->host);
        return;
    }
    if (submission->status == HAL_OK && submission->is_work) {
        if (is_blocked(submission))
            return;
        const enum hal_status status = vulkan_queue_commit(submission, ready);
        if (status == HAL_OK)
            return;
        vulkan_submission_fail(submission, status, hal_message());
    }
    submission->begin_ns = submission->end_ns = submission->ready_ns;
    vulkan_submission_retire(submission, ready);
}

void vulkan_go_on(struct hal_line *ready)
{
    for (struct vulkan_submission *submission; (submission = take_ready(ready)) != NULL;)
        start(submission, ready);
}

/* ---- Submitting ----------------------------------------------------------------------------- */

static enum hal_status create_submission(struct vulkan_device *device,
                                         const struct hal_submission *source,
                                         struct vulkan_submission **out_submission)
{
    const size_t waits = source->wait_count, signals = source->signal_count;
    const size_t commands = source->command_count;
    struct vulkan_submission *submission =
        hal_alloc(1, sizeof *submission + waits * sizeof(struct vulkan_wait) +
                         signals * sizeof(struct vulkan_promise) + 2 * commands * sizeof(void *) +
                         device->queue_count * sizeof(uint64_t));
    if (!submission)
        return hal_fail(HAL_NO_MEMORY, "no memory for submission %" PRIu64, source->id);
    submission->device = device;
    submission->id = source->id;
    submission->queue = &device->queues[source->queue];
    submission->retired = source->retired;
    submission->user = source->user;
    submission->wait_count = waits;
    submission->signal_count = signals;
    submission->command_count = commands;
    submission->waits = (struct vulkan_wait *)(submission + 1);
    submission->signals = (struct vulkan_promise *)(submission->waits + waits);
    submission->after = (uint64_t *)(submission->signals + signals);
    submission->commands = (struct hal_command_buffer **)(submission->after + device->queue_count);
    submission->programs = (struct vulkan_program **)(submission->commands + commands);
    if (source->host.run) {
        submission->buffer = source->buffer;
        submission->host = (struct vulkan_host_call){
            .host = source->host,
            .buffer = to_vulkan_buffer(source->buffer),
            .offset = source->offset,
            .bytes = source->bytes,
            .done = host_call_done,
        };
    }
    *out_submission = submission;
    return HAL_OK;
}

/* Without memory for one that is timed, the work is done untimed. */
static struct vulkan_program *choose_program(const struct vulkan_submission *submission,
                                             const struct hal_submission *source, size_t i)
{
    struct vulkan_device *device = submission->device;
    struct vulkan_program *timed = NULL;
    if (source->time_dispatches && source->commands[i]->dispatch_count && device->timestamp_bits &&
        vulkan_program_create(device, source->commands[i], VULKAN_TIMED, &timed) != HAL_OK)
        hal_log(HAL_LOG_WARN, "vulkan: dispatches are not timed: %s", hal_message());
    return timed ? timed : source->commands[i]->driver_data;
}

static void retain_all(struct vulkan_submission *submission, const struct hal_submission *source)
{
    if (submission->buffer)
        hal_object_retain(&submission->buffer->object);
    for (size_t i = 0; i < source->wait_count; i++) {
        submission->waits[i].submission = submission;
        submission->waits[i].semaphore = to_vulkan_semaphore(source->waits[i].semaphore);
        submission->waits[i].value = source->waits[i].value;
        hal_object_retain(&source->waits[i].semaphore->object);
    }
    for (size_t i = 0; i < source->signal_count; i++) {
        submission->signals[i].submission = submission;
        submission->signals[i].semaphore = to_vulkan_semaphore(source->signals[i].semaphore);
        submission->signals[i].value = source->signals[i].value;
        hal_object_retain(&source->signals[i].semaphore->object);
    }
    for (size_t i = 0; i < source->command_count; i++) {
        submission->commands[i] = source->commands[i];
        hal_object_retain(&source->commands[i]->object);
        submission->programs[i] = choose_program(submission, source, i);
        const struct vulkan_program *program = submission->programs[i];
        submission->is_work |= !program->is_empty;
        submission->is_guarded |= program->guard_count > 0;
        submission->is_exclusive |= program->is_exclusive && !is_timed(submission, i);
    }
}

static void enter_flight_locked(struct vulkan_submission *submission)
{
    struct vulkan_device *device = submission->device;
    submission->sequence = device->next_sequence++;
    submission->previous_in_flight = device->last_in_flight;
    if (device->last_in_flight)
        device->last_in_flight->next_in_flight = submission;
    else
        device->first_in_flight = submission;
    device->last_in_flight = submission;
}

static bool is_promised_locked(struct vulkan_wait *wait)
{
    for (const struct vulkan_promise *promise = wait->semaphore->promises; promise;
         promise = promise->next) {
        if (promise->value >= wait->value &&
            take_promise_locked(wait->submission, promise->submission))
            return true;
    }
    return false;
}

static void register_waits_locked(struct vulkan_submission *submission, struct hal_line *ready)
{
    for (size_t i = 0; i < submission->wait_count; i++) {
        struct vulkan_wait *wait = &submission->waits[i];
        const uint64_t now = hal_timeline_value(&wait->semaphore->base);
        if (now == UINT64_MAX) {
            vulkan_submission_refused_locked(wait, ready);
            return;
        }
        if (now >= wait->value || is_promised_locked(wait))
            continue;
        vulkan_wait_link_locked(wait);
        submission->missing++;
    }
    if (submission->missing == 0)
        hal_line_join(ready, &submission->ready);
}

enum hal_status vulkan_queue_submit(struct hal_driver_device *self,
                                    const struct hal_submission *source)
{
    struct vulkan_submission *submission = NULL;
    struct hal_line ready = {0};
    HAL_TRY(create_submission(to_vulkan_device(self), source, &submission));
    retain_all(submission, source);
    pthread_mutex_lock(&vulkan_lock);
    const enum hal_status status = hal_timeline_check_submission(source);
    if (status == HAL_OK) {
        enter_flight_locked(submission);
        register_waits_locked(submission, &ready);
    }
    pthread_mutex_unlock(&vulkan_lock);
    if (status != HAL_OK) {
        release_held(submission);
        for (size_t i = 0; i < submission->signal_count; i++)
            hal_object_release(&submission->signals[i].semaphore->base.object);
        free(submission);
        return status;
    }
    vulkan_go_on(&ready);
    return HAL_OK;
}

/* ---- Idle ----------------------------------------------------------------------------------- */

static enum hal_status fail_busy_locked(const struct vulkan_device *device)
{
    for (const struct vulkan_submission *submission = device->first_in_flight; submission;
         submission = submission->next_in_flight) {
        for (size_t i = 0; i < submission->wait_count; i++) {
            const struct vulkan_wait *wait = &submission->waits[i];
            if (wait->is_linked)
                return hal_timeline_fail_busy(submission->id, &wait->semaphore->base, wait->value);
        }
    }
    return hal_timeline_fail_busy(device->first_in_flight->id, NULL, 0);
}

enum hal_status vulkan_wait_idle(struct hal_driver_device *self, int64_t timeout_ns)
{
    struct vulkan_device *device = to_vulkan_device(self);
    const int64_t deadline_ns = hal_deadline_ns(timeout_ns);
    enum hal_status status = HAL_OK;
    bool is_late = false;
    pthread_mutex_lock(&vulkan_lock);
    const uint64_t before = device->next_sequence;
    while (device->first_in_flight && device->first_in_flight->sequence < before) {
        if (is_late || device->is_interrupted) {
            status = fail_busy_locked(device);
            break;
        }
        is_late = !hal_condition_wait(&vulkan_changed, &vulkan_lock, deadline_ns);
    }
    pthread_mutex_unlock(&vulkan_lock);
    return status;
}

void vulkan_waits_interrupt(struct hal_driver_device *self, bool on)
{
    pthread_mutex_lock(&vulkan_lock);
    to_vulkan_device(self)->is_interrupted = on;
    pthread_cond_broadcast(&vulkan_changed);
    pthread_mutex_unlock(&vulkan_lock);
}
