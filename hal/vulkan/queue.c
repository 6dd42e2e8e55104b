/* SPDX-License-Identifier: Apache-2.0 */
/* Submissions. One is handed to the device as soon as all that it waits for is reached or with the
 * device already; a thread per queue learns that it has ended, reports it as retired, lets go of
 * what it held, and raises the semaphores. */
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/vulkan/vulkan.h"

#include <inttypes.h>
#include <stdio.h>

struct vulkan_submission {
    struct vulkan_device *device;
    uint64_t id, sequence;
    struct vulkan_submission *next_ready, *next_blocked, *next_on_queue;
    struct vulkan_submission *next_in_flight, *previous_in_flight, *next_abandoned;
    struct vulkan_queue *queue;
    uint64_t number;     /* that it raises its queue's timeline to; 0: it is not with the device */
    size_t missing;      /* waits that are neither reached nor promised */
    bool is_work;        /* there are commands */
    bool is_guarded;     /* nobody knows beforehand whether it will do well */
    bool is_exclusive;   /* one of its programs runs once at a time */
    bool holds_programs; /* nobody else runs those */
    bool is_abandoned;   /* the device still has what it holds */
    struct vulkan_slot *slot;
    struct vulkan_host_call host;
    struct hal_buffer *buffer; /* of the host call; retained */
    enum hal_status status;
    char *message;
    int64_t ready_ns, begin_ns, end_ns;
    void (*retired)(void *user, const struct hal_submission_result *result);
    void *user;

    size_t wait_count, signal_count, command_count;
    struct vulkan_wait *waits;
    struct vulkan_promise *signals;
    struct hal_command_buffer **commands;
    struct vulkan_program **programs; /* of the command buffers, or made to be timed */
    struct hal_dispatch_time *times;
    size_t time_count;
    uint64_t *after; /* per queue: the number that it waits for on the device */
};

static struct vulkan_program *program_of(const struct vulkan_submission *submission, size_t i)
{
    return submission->programs[i];
}

static bool is_timed(const struct vulkan_submission *submission, size_t i)
{
    return submission->programs[i] != submission->commands[i]->driver_data;
}

/* ---- Readiness ------------------------------------------------------------------------------ */

static void ready_locked(struct vulkan_submission *submission, struct vulkan_ready *ready)
{
    submission->next_ready = NULL;
    if (ready->last)
        ready->last->next_ready = submission;
    else
        ready->first = submission;
    ready->last = submission;
}

static struct vulkan_submission *take_ready(struct vulkan_ready *ready)
{
    struct vulkan_submission *submission = ready->first;
    if (submission) {
        ready->first = submission->next_ready;
        if (!ready->first)
            ready->last = NULL;
    }
    return submission;
}

static void fail_with(struct vulkan_submission *submission, enum hal_status status,
                      const char *message)
{
    if (submission->status != HAL_OK)
        return;
    submission->status = status;
    submission->message = hal_copy_string(message);
}

static void one_less_locked(struct vulkan_wait *wait, struct vulkan_ready *ready)
{
    vulkan_wait_unlink_locked(wait);
    if (--wait->submission->missing == 0)
        ready_locked(wait->submission, ready);
}

void vulkan_submission_reached_locked(struct vulkan_wait *wait, struct vulkan_ready *ready)
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
                                       struct vulkan_ready *ready)
{
    if (!take_promise_locked(wait->submission, promiser))
        return false;
    one_less_locked(wait, ready);
    return true;
}

void vulkan_submission_refused_locked(struct vulkan_wait *wait, struct vulkan_ready *ready)
{
    struct vulkan_submission *submission = wait->submission;
    fail_with(submission, wait->semaphore->base.failure,
              wait->semaphore->base.message ? wait->semaphore->base.message : "");
    for (size_t i = 0; i < submission->wait_count; i++)
        vulkan_wait_unlink_locked(&submission->waits[i]);
    submission->missing = 0;
    ready_locked(submission, ready);
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

static void signal_all_locked(struct vulkan_submission *submission, struct vulkan_ready *ready)
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
static void unblock_locked(struct vulkan_submission *submission, struct vulkan_ready *ready)
{
    struct vulkan_device *device = submission->device;
    if (!submission->holds_programs)
        return;
    for (size_t i = 0; i < submission->command_count; i++)
        program_of(submission, i)->is_busy = false;
    while (device->blocked) {
        struct vulkan_submission *blocked = device->blocked;
        device->blocked = blocked->next_blocked;
        ready_locked(blocked, ready);
    }
}

/* Command buffers are let go of before somebody can learn that they have run, so that the
 * application's release is the last one. The flight ends when nothing is held any more: then a
 * device that is idle can be destroyed. */
static void retire(struct vulkan_submission *submission, struct vulkan_ready *ready)
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
    struct vulkan_ready ready = {0};
    if (status != HAL_OK)
        fail_with(submission, status, hal_message());
    submission->begin_ns = call->begin_ns;
    submission->end_ns = call->end_ns;
    retire(submission, &ready);
    vulkan_go_on(&ready);
}

/* ---- With the device ------------------------------------------------------------------------ */

/* Lists of a call to vkQueueSubmit. */
struct handing {
    VkCommandBuffer *commands;
    uint32_t command_count;
    VkSemaphore *waits;
    uint64_t *wait_values;
    VkPipelineStageFlags *stages;
    uint32_t wait_count;
};

static bool list_all(const struct vulkan_submission *submission, struct handing *out_handing)
{
    const struct vulkan_device *device = submission->device;
    const size_t queues = device->queue_count, commands = 2 * submission->command_count + 2;
    uint8_t *room = hal_alloc(
        1, commands * sizeof(VkCommandBuffer) +
               queues * (sizeof(VkSemaphore) + sizeof(uint64_t) + sizeof(VkPipelineStageFlags)));
    if (!room)
        return false;
    struct handing handing = {.commands = (VkCommandBuffer *)(void *)room};
    handing.waits = (VkSemaphore *)(void *)(handing.commands + commands);
    handing.wait_values = (uint64_t *)(void *)(handing.waits + queues);
    handing.stages = (VkPipelineStageFlags *)(void *)(handing.wait_values + queues);
    handing.commands[handing.command_count++] = submission->slot->before;
    for (size_t i = 0; i < submission->command_count; i++) {
        const struct vulkan_program *program = program_of(submission, i);
        if (program->is_empty)
            continue;
        if (handing.command_count > 1)
            handing.commands[handing.command_count++] = device->between->commands;
        handing.commands[handing.command_count++] = program->recorder->commands;
    }
    handing.commands[handing.command_count++] = submission->slot->after;
    for (size_t i = 0; i < queues; i++) {
        if (!submission->after[i])
            continue;
        handing.waits[handing.wait_count] = device->queues[i].timeline;
        handing.wait_values[handing.wait_count] = submission->after[i];
        handing.stages[handing.wait_count++] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    }
    *out_handing = handing;
    return true;
}

/* Numbers rise in the order in which a queue gets them. */
static VkResult hand_over(struct vulkan_submission *submission, const struct handing *handing)
{
    struct vulkan_queue *queue = submission->queue;
    const uint64_t number = queue->last_number + 1;
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = handing->wait_count,
        .pWaitSemaphoreValues = handing->wait_values,
        .signalSemaphoreValueCount = 1,
        .pSignalSemaphoreValues = &number,
    };
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .pNext = &values,
        .waitSemaphoreCount = handing->wait_count,
        .pWaitSemaphores = handing->waits,
        .pWaitDstStageMask = handing->stages,
        .commandBufferCount = handing->command_count,
        .pCommandBuffers = handing->commands,
        .signalSemaphoreCount = 1,
        .pSignalSemaphores = &queue->timeline,
    };
    const VkResult result = vk.QueueSubmit(queue->hardware->queue, 1, &info, VK_NULL_HANDLE);
    if (result == VK_SUCCESS)
        queue->last_number = submission->number = number;
    return result;
}

static void enter_queue_locked(struct vulkan_submission *submission, struct vulkan_ready *ready)
{
    struct vulkan_queue *queue = submission->queue;
    submission->next_on_queue = NULL;
    if (queue->last)
        queue->last->next_on_queue = submission;
    else
        queue->first = submission;
    queue->last = submission;
    for (size_t i = 0; i < submission->signal_count && !submission->is_guarded; i++)
        vulkan_promise_link_locked(&submission->signals[i], ready);
    pthread_cond_signal(&queue->handed_in);
}

static enum hal_status check_works(struct vulkan_device *device)
{
    char why[512] = "";
    pthread_mutex_lock(&vulkan_lock);
    if (device->given_up)
        snprintf(why, sizeof why, "%s", device->given_up);
    pthread_mutex_unlock(&vulkan_lock);
    return why[0] ? hal_fail(HAL_DEVICE_LOST, "'%s' was given up: %s",
                             device->properties.deviceName, why)
                  : HAL_OK;
}

/* "submission 7 (command buffer 'decode')"; returns `out`. */
static const char *name_of(const struct vulkan_submission *submission, char out[160])
{
    char commands[HAL_OBJECT_NAME_BYTES];
    if (submission->command_count)
        snprintf(out, 160, "submission %" PRIu64 " (%s%s)", submission->id,
                 hal_object_name(&submission->commands[0]->object, commands),
                 submission->command_count > 1 ? " and others" : "");
    else
        snprintf(out, 160, "submission %" PRIu64, submission->id);
    return out;
}

static enum hal_status commit(struct vulkan_submission *submission, struct vulkan_ready *ready)
{
    struct vulkan_hardware_queue *hardware = submission->queue->hardware;
    struct handing handing;
    HAL_TRY(check_works(submission->device));
    HAL_TRY(vulkan_slot_take(submission->device, &submission->slot));
    if (!list_all(submission, &handing))
        return hal_fail(HAL_NO_MEMORY, "no memory to submit");
    char name[160];
    vulkan_listen();
    pthread_mutex_lock(&hardware->lock);
    const VkResult result = hand_over(submission, &handing);
    if (result == VK_SUCCESS) {
        pthread_mutex_lock(&vulkan_lock);
        enter_queue_locked(submission, ready);
        pthread_mutex_unlock(&vulkan_lock);
    }
    pthread_mutex_unlock(&hardware->lock);
    free(handing.commands);
    return result == VK_SUCCESS ? HAL_OK : vulkan_fail(result, "%s", name_of(submission, name));
}

/* True: another submission runs one of its programs, it waits. */
static bool is_blocked(struct vulkan_submission *submission)
{
    struct vulkan_device *device = submission->device;
    bool is_busy = false;
    if (!submission->is_exclusive)
        return false;
    pthread_mutex_lock(&vulkan_lock);
    for (size_t i = 0; i < submission->command_count; i++)
        is_busy |= program_of(submission, i)->is_busy;
    if (is_busy) {
        submission->next_blocked = device->blocked;
        device->blocked = submission;
    }
    for (size_t i = 0; i < submission->command_count && !is_busy; i++)
        program_of(submission, i)->is_busy = program_of(submission, i)->is_exclusive;
    submission->holds_programs = !is_busy;
    pthread_mutex_unlock(&vulkan_lock);
    return is_busy;
}

static void start(struct vulkan_submission *submission, struct vulkan_ready *ready)
{
    submission->ready_ns = hal_clock_ns();
    if (submission->status == HAL_OK && submission->host.host.run) {
        vulkan_host_start(submission->device->host, &submission->host);
        return;
    }
    if (submission->status == HAL_OK && submission->is_work) {
        if (is_blocked(submission))
            return;
        const enum hal_status status = commit(submission, ready);
        if (status == HAL_OK)
            return;
        fail_with(submission, status, hal_message());
    }
    submission->begin_ns = submission->end_ns = submission->ready_ns;
    retire(submission, ready);
}

void vulkan_go_on(struct vulkan_ready *ready)
{
    for (struct vulkan_submission *submission; (submission = take_ready(ready)) != NULL;)
        start(submission, ready);
}

/* ---- Ended ---------------------------------------------------------------------------------- */

/* What it waited for on the device has retired, so that nobody sees its values before theirs; and
 * has done well, or this one has not. */
static void settle_waits(struct vulkan_submission *submission)
{
    struct vulkan_device *device = submission->device;
    pthread_mutex_lock(&vulkan_lock);
    for (size_t i = 0; i < device->queue_count; i++) {
        while (device->queues[i].retired_number < submission->after[i])
            pthread_cond_wait(&vulkan_changed, &vulkan_lock);
    }
    for (size_t i = 0; i < submission->wait_count; i++) {
        const struct vulkan_semaphore *semaphore = submission->waits[i].semaphore;
        if (hal_timeline_value(&semaphore->base) == UINT64_MAX &&
            semaphore->base.reached < submission->waits[i].value)
            fail_with(submission, semaphore->base.failure,
                      semaphore->base.message ? semaphore->base.message : "");
    }
    pthread_mutex_unlock(&vulkan_lock);
}

static void check_guards(struct vulkan_submission *submission)
{
    for (size_t i = 0; i < submission->command_count; i++) {
        const enum hal_status status =
            vulkan_program_check(submission->device, program_of(submission, i));
        if (status != HAL_OK)
            fail_with(submission, status, hal_message());
    }
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void take_times(struct vulkan_submission *submission)
{
    int64_t begin_ns, end_ns;
    vulkan_slot_times(submission->device, submission->slot, &begin_ns, &end_ns);
    const int64_t now_ns = hal_clock_ns();
    submission->end_ns = clamp(end_ns ? end_ns : now_ns, submission->ready_ns, now_ns);
    submission->begin_ns = clamp(begin_ns, submission->ready_ns, submission->end_ns);
}

static void take_dispatch_times(struct vulkan_submission *submission)
{
    size_t most = 0;
    for (size_t i = 0; i < submission->command_count; i++)
        most += program_of(submission, i)->timed_count;
    if (!most || !(submission->times = hal_alloc(most, sizeof *submission->times)))
        return;
    for (size_t i = 0; i < submission->command_count; i++)
        submission->time_count +=
            vulkan_times_read(submission->device, program_of(submission, i), (uint32_t)i,
                              submission->times + submission->time_count);
    for (size_t i = 0; i < submission->time_count; i++) {
        struct hal_dispatch_time *time = &submission->times[i];
        time->begin_ns = clamp(time->begin_ns, submission->begin_ns, submission->end_ns);
        time->end_ns = clamp(time->end_ns, time->begin_ns, submission->end_ns);
    }
}

static void fail_to_end(struct vulkan_submission *submission, VkResult result)
{
    char name[160];
    const enum hal_status status = vulkan_fail(result, "%s of '%s'", name_of(submission, name),
                                               submission->device->properties.deviceName);
    fail_with(submission, status, hal_message());
    submission->begin_ns = submission->end_ns = hal_clock_ns();
}

/* The device goes on with it, for ever perhaps: what it holds is kept. */
static void give_up(struct vulkan_submission *submission)
{
    struct vulkan_device *device = submission->device;
    char name[160];
    const enum hal_status status =
        device->given_up
            ? hal_fail(HAL_DEVICE_LOST, "%s cannot end: %s", name_of(submission, name),
                       device->given_up)
            : hal_fail(HAL_DEVICE_LOST,
                       "%s has not ended after %" PRId64 " ms (the parameter watchdog of the "
                       "device)",
                       name_of(submission, name), device->watchdog_ns / 1000000);
    fail_with(submission, status, hal_message());
    submission->is_abandoned = true;
    submission->begin_ns = submission->end_ns = hal_clock_ns();
    pthread_mutex_lock(&vulkan_lock);
    if (!device->given_up)
        device->given_up = hal_copy_string(hal_message());
    pthread_mutex_unlock(&vulkan_lock);
}

static void end(struct vulkan_submission *submission, VkResult result)
{
    struct vulkan_ready ready = {0};
    if (result == VK_SUCCESS) {
        take_times(submission);
        take_dispatch_times(submission);
        check_guards(submission);
    } else if (result == VK_TIMEOUT) {
        give_up(submission);
    } else {
        fail_to_end(submission, result);
    }
    settle_waits(submission);
    retire(submission, &ready);
    vulkan_go_on(&ready);
}

static struct vulkan_submission *next_of(struct vulkan_queue *queue)
{
    pthread_mutex_lock(&vulkan_lock);
    while (!queue->first && !queue->device->is_stopping)
        pthread_cond_wait(&queue->handed_in, &vulkan_lock);
    struct vulkan_submission *submission = queue->first;
    if (submission) {
        queue->first = submission->next_on_queue;
        if (!queue->first)
            queue->last = NULL;
    }
    pthread_mutex_unlock(&vulkan_lock);
    return submission;
}

/* It waits for another queue of the device: the time is that one's. */
static bool waits_for_others(struct vulkan_submission *submission)
{
    struct vulkan_device *device = submission->device;
    bool waits = false;
    pthread_mutex_lock(&vulkan_lock);
    for (size_t i = 0; i < device->queue_count; i++)
        waits |= &device->queues[i] != submission->queue &&
                 device->queues[i].retired_number < submission->after[i];
    pthread_mutex_unlock(&vulkan_lock);
    return waits;
}

/* VK_TIMEOUT: longer than the watchdog allows, counted from when it was the queue's first. */
static VkResult wait_for(struct vulkan_submission *submission)
{
    const struct vulkan_queue *queue = submission->queue;
    const int64_t limit_ns = queue->device->watchdog_ns;
    const VkSemaphoreWaitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
        .semaphoreCount = 1,
        .pSemaphores = &queue->timeline,
        .pValues = &submission->number,
    };
    int64_t begin_ns = hal_clock_ns();
    if (queue->is_stuck)
        return VK_TIMEOUT;
    for (;;) {
        const VkResult result = vk.WaitSemaphores(queue->device->device, &info,
                                                  limit_ns ? (uint64_t)limit_ns : UINT64_MAX);
        if (result != VK_TIMEOUT)
            return result;
        const int64_t now_ns = hal_clock_ns();
        if (!limit_ns || waits_for_others(submission))
            begin_ns = now_ns;
        else if (now_ns - begin_ns >= limit_ns)
            return VK_TIMEOUT;
    }
}

static void *watch(void *argument)
{
    struct vulkan_queue *queue = argument;
    for (struct vulkan_submission *submission; (submission = next_of(queue)) != NULL;) {
        const VkResult result = wait_for(submission);
        queue->is_stuck = result == VK_TIMEOUT;
        end(submission, result);
    }
    return NULL;
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
        const struct vulkan_program *program = program_of(submission, i);
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

static void register_waits_locked(struct vulkan_submission *submission, struct vulkan_ready *ready)
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
        ready_locked(submission, ready);
}

enum hal_status vulkan_queue_submit(struct hal_driver_device *self,
                                    const struct hal_submission *source)
{
    struct vulkan_submission *submission = NULL;
    struct vulkan_ready ready = {0};
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
    char name[HAL_OBJECT_NAME_BYTES];
    for (const struct vulkan_submission *submission = device->first_in_flight; submission;
         submission = submission->next_in_flight) {
        for (size_t i = 0; i < submission->wait_count; i++) {
            const struct vulkan_wait *wait = &submission->waits[i];
            if (wait->is_linked)
                return hal_fail(
                    HAL_TIMEOUT,
                    "submission %" PRIu64 " waits for %s to reach %" PRIu64 ", it is at %" PRIu64,
                    submission->id, hal_object_name(&wait->semaphore->base.object, name),
                    wait->value, hal_timeline_value(&wait->semaphore->base));
        }
    }
    return hal_fail(HAL_TIMEOUT, "submission %" PRIu64 " is still running",
                    device->first_in_flight->id);
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

/* ---- Queues --------------------------------------------------------------------------------- */

static enum hal_status start_queue(struct vulkan_queue *queue)
{
    const VkSemaphoreTypeCreateInfo type = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
        .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
    };
    const VkSemaphoreCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
        .pNext = &type,
    };
    char name[32];
    const VkResult result =
        vk.CreateSemaphore(queue->device->device, &info, NULL, &queue->timeline);
    if (result != VK_SUCCESS)
        return vulkan_fail(result, "a timeline for queue %u", queue->index);
    snprintf(name, sizeof name, "hal-vk-queue-%u", queue->index);
    HAL_TRY(hal_thread_start(name, watch, queue, &queue->thread));
    queue->has_thread = true;
    return HAL_OK;
}

enum hal_status vulkan_queues_start(struct vulkan_device *device)
{
    for (uint32_t i = 0; i < device->queue_count; i++) {
        struct vulkan_queue *queue = &device->queues[i];
        queue->device = device;
        queue->index = i;
        queue->hardware = &device->hardware[i % device->hardware_count];
        pthread_cond_init(&queue->handed_in, NULL);
    }
    for (uint32_t i = 0; i < device->queue_count; i++)
        HAL_TRY(start_queue(&device->queues[i]));
    return HAL_OK;
}

void vulkan_queues_stop(struct vulkan_device *device)
{
    pthread_mutex_lock(&vulkan_lock);
    device->is_stopping = true;
    for (uint32_t i = 0; i < device->queue_count; i++)
        pthread_cond_broadcast(&device->queues[i].handed_in);
    pthread_mutex_unlock(&vulkan_lock);
    for (uint32_t i = 0; i < device->queue_count; i++) {
        struct vulkan_queue *queue = &device->queues[i];
        if (queue->has_thread)
            pthread_join(queue->thread, NULL);
        if (queue->timeline && !device->given_up)
            vk.DestroySemaphore(device->device, queue->timeline, NULL);
        pthread_cond_destroy(&queue->handed_in);
    }
}
