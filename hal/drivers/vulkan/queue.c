/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: submissions that are with the device. A thread per queue learns that they have ended. */
#include "hal/base/mem.h"
#include "hal/base/moment.h"
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

/* By queue: the number that the submission waits for on the device; 0: none. */
static void find_waits(const struct vulkan_submission *submission, uint64_t *out_numbers)
{
    pthread_mutex_lock(&hal_engine_lock);
    for (size_t i = 0; i < submission->work.wait_count; i++) {
        struct hal_work *work = hal_wait_promiser_locked(&submission->work.waits[i]);
        if (work && out_numbers[work->queue] < to_vulkan_submission(work)->number)
            out_numbers[work->queue] = to_vulkan_submission(work)->number;
    }
    pthread_mutex_unlock(&hal_engine_lock);
}

static bool list_all(const struct vulkan_submission *submission, struct handing *out_handing)
{
    const struct vulkan_device *device = vulkan_device_of(submission);
    const size_t queues = device->queue_count, commands = 2 * submission->work.command_count + 2;
    uint64_t numbers[HAL_MAX_QUEUES] = {0};
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
    for (size_t i = 0; i < submission->work.command_count; i++) {
        const struct vulkan_program *program = vulkan_programs_of(submission)[i];
        if (program->is_empty)
            continue;
        if (handing.command_count > 1)
            handing.commands[handing.command_count++] = device->between->commands;
        handing.commands[handing.command_count++] = program->command_pool->commands;
    }
    handing.commands[handing.command_count++] = submission->slot->after;
    find_waits(submission, numbers);
    for (size_t i = 0; i < queues; i++) {
        if (!numbers[i])
            continue;
        handing.waits[handing.wait_count] = device->queues[i].timeline;
        handing.wait_values[handing.wait_count] = numbers[i];
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

/* "submission 7 (command buffer 'decode')"; returns `out`. */
static const char *name_of(const struct vulkan_submission *submission, char out[160])
{
    char commands[HAL_OBJECT_NAME_BYTES];
    const struct hal_work *work = &submission->work;
    snprintf(out, 160, "submission %" PRIu64 " (%s%s)", work->id,
             hal_object_name(&work->commands[0]->object, commands),
             work->command_count > 1 ? " and others" : "");
    return out;
}

enum hal_status vulkan_queue_commit(struct vulkan_submission *submission,
                                    struct hal_changes *changes)
{
    struct vulkan_queue *queue = submission->queue;
    struct handing handing;
    HAL_TRY(vulkan_slot_take(queue->device, &submission->slot));
    if (!list_all(submission, &handing))
        return hal_fail(HAL_NO_MEMORY, "no memory to submit");
    char name[160];
    vulkan_listen();
    pthread_mutex_lock(&queue->hardware->lock);
    const VkResult result = hand_over(submission, &handing);
    if (result == VK_SUCCESS) {
        pthread_mutex_lock(&hal_engine_lock);
        hal_fifo_push(&queue->submissions, &submission->work.link);
        hal_work_commit_locked(&submission->work, !submission->has_count_checks, changes);
        pthread_cond_signal(&queue->submitted);
        pthread_mutex_unlock(&hal_engine_lock);
    }
    pthread_mutex_unlock(&queue->hardware->lock);
    free(handing.commands);
    return result == VK_SUCCESS ? HAL_OK : vulkan_fail(result, "%s", name_of(submission, name));
}

/* ---- Ended ---------------------------------------------------------------------------------- */

static void check_counts(struct vulkan_submission *submission)
{
    for (size_t i = 0; i < submission->work.command_count; i++) {
        const enum hal_status status =
            vulkan_program_check(submission->queue->device, vulkan_programs_of(submission)[i]);
        if (status != HAL_OK)
            hal_work_fail(&submission->work, status, hal_message());
    }
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static void take_times(struct vulkan_submission *submission)
{
    struct hal_work *work = &submission->work;
    int64_t begin_ns, end_ns;
    vulkan_slot_times(submission->queue->device, submission->slot, &begin_ns, &end_ns);
    const int64_t now_ns = hal_clock_ns();
    work->end_ns = clamp(end_ns ? end_ns : now_ns, submission->start_ns, now_ns);
    work->begin_ns = clamp(begin_ns, submission->start_ns, work->end_ns);
    work->busy_ns = work->end_ns - work->begin_ns;
}

static void take_dispatch_times(struct vulkan_submission *submission)
{
    struct hal_work *work = &submission->work;
    struct vulkan_program **programs = vulkan_programs_of(submission);
    size_t most = 0;
    for (size_t i = 0; i < work->command_count; i++)
        most += programs[i]->timed_count;
    if (!most || !(work->times = hal_alloc(most, sizeof *work->times)))
        return;
    for (size_t i = 0; i < work->command_count; i++)
        work->time_count += vulkan_times_read(submission->queue->device, programs[i], (uint32_t)i,
                                              work->times + work->time_count);
    for (size_t i = 0; i < work->time_count; i++) {
        struct hal_dispatch_time *time = &work->times[i];
        time->begin_ns = clamp(time->begin_ns, work->begin_ns, work->end_ns);
        time->end_ns = clamp(time->end_ns, time->begin_ns, work->end_ns);
    }
    work->is_isolated = work->time_count > 0;
}

static void fail_to_end(struct vulkan_submission *submission, VkResult result)
{
    char name[160];
    const enum hal_status status = hal_engine_note_loss(
        submission->work.engine, vulkan_fail(result, "%s of '%s'", name_of(submission, name),
                                             submission->queue->device->properties.deviceName));
    hal_work_fail(&submission->work, status, hal_message());
}

/* The device continues with it, possibly forever: keeps its resources. */
static void give_up(struct vulkan_submission *submission)
{
    struct vulkan_device *device = submission->queue->device;
    char name[160], why[640];
    snprintf(why, sizeof why,
             "'%s' was abandoned: %s has not ended after %s (the device's parameter watchdog)",
             device->properties.deviceName, name_of(submission, name),
             hal_duration_text(device->watchdog_ns).text);
    submission->work.is_abandoned = true;
    pthread_mutex_lock(&hal_engine_lock);
    device->is_given_up = true;
    submission->next_abandoned = device->abandoned;
    device->abandoned = submission;
    pthread_mutex_unlock(&hal_engine_lock);
    hal_engine_lose(&device->engine, why);
}

static void end(struct vulkan_submission *submission, VkResult result)
{
    if (result == VK_SUCCESS) {
        take_times(submission);
        take_dispatch_times(submission);
        check_counts(submission);
    } else if (result == VK_TIMEOUT) {
        give_up(submission);
    } else {
        fail_to_end(submission, result);
    }
    hal_work_end(&submission->work);
}

static struct vulkan_submission *next_of(struct vulkan_queue *queue)
{
    pthread_mutex_lock(&hal_engine_lock);
    while (!queue->submissions.first && !queue->device->is_stopping)
        pthread_cond_wait(&queue->submitted, &hal_engine_lock);
    struct hal_work *work = hal_fifo_pop(&queue->submissions, offsetof(struct hal_work, link));
    pthread_mutex_unlock(&hal_engine_lock);
    return work ? to_vulkan_submission(work) : NULL;
}

/* VK_TIMEOUT: longer than the watchdog allows, counted from when it was the queue's first and
 * waited for nothing. */
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
        if (!limit_ns || hal_work_is_waiting(&submission->work))
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
        pthread_cond_init(&queue->submitted, NULL);
    }
    for (uint32_t i = 0; i < device->queue_count; i++)
        HAL_TRY(start_queue(&device->queues[i]));
    return HAL_OK;
}

void vulkan_queues_stop(struct vulkan_device *device)
{
    pthread_mutex_lock(&hal_engine_lock);
    device->is_stopping = true;
    for (uint32_t i = 0; i < device->queue_count; i++)
        pthread_cond_broadcast(&device->queues[i].submitted);
    pthread_mutex_unlock(&hal_engine_lock);
    for (uint32_t i = 0; i < device->queue_count; i++) {
        struct vulkan_queue *queue = &device->queues[i];
        if (queue->has_thread)
            pthread_join(queue->thread, NULL);
        if (queue->timeline && !device->is_given_up)
            vk.DestroySemaphore(device->device, queue->timeline, NULL);
        pthread_cond_destroy(&queue->submitted);
    }
}
