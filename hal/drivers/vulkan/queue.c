/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: submissions that are with the device. They get there as soon as all that they wait for is
 * reached or with the device already; a thread per queue learns that they have ended. */
#include "hal/base/mem.h"
#include "hal/drivers/vulkan/submission.h"

#include <inttypes.h>
#include <stdio.h>

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
        const struct vulkan_program *program = submission->programs[i];
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

static void enter_queue_locked(struct vulkan_submission *submission, struct hal_line *ready)
{
    struct vulkan_queue *queue = submission->queue;
    hal_line_join(&queue->submissions, &submission->on_queue);
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

enum hal_status vulkan_queue_commit(struct vulkan_submission *submission, struct hal_line *ready)
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
            vulkan_submission_fail(submission, semaphore->base.failure,
                                   semaphore->base.message ? semaphore->base.message : "");
    }
    pthread_mutex_unlock(&vulkan_lock);
}

static void check_guards(struct vulkan_submission *submission)
{
    for (size_t i = 0; i < submission->command_count; i++) {
        const enum hal_status status =
            vulkan_program_check(submission->device, submission->programs[i]);
        if (status != HAL_OK)
            vulkan_submission_fail(submission, status, hal_message());
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
        most += submission->programs[i]->timed_count;
    if (!most || !(submission->times = hal_alloc(most, sizeof *submission->times)))
        return;
    for (size_t i = 0; i < submission->command_count; i++)
        submission->time_count +=
            vulkan_times_read(submission->device, submission->programs[i], (uint32_t)i,
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
    vulkan_submission_fail(submission, status, hal_message());
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
    vulkan_submission_fail(submission, status, hal_message());
    submission->is_abandoned = true;
    submission->begin_ns = submission->end_ns = hal_clock_ns();
    pthread_mutex_lock(&vulkan_lock);
    if (!device->given_up)
        device->given_up = hal_copy_string(hal_message());
    pthread_mutex_unlock(&vulkan_lock);
}

static void end(struct vulkan_submission *submission, VkResult result)
{
    struct hal_line ready = {0};
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
    vulkan_submission_retire(submission, &ready);
    vulkan_go_on(&ready);
}

static struct vulkan_submission *next_of(struct vulkan_queue *queue)
{
    pthread_mutex_lock(&vulkan_lock);
    while (!queue->submissions.first && !queue->device->is_stopping)
        pthread_cond_wait(&queue->handed_in, &vulkan_lock);
    struct vulkan_submission *submission =
        hal_line_take(&queue->submissions, offsetof(struct vulkan_submission, on_queue));
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
