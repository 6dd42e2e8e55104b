/* SPDX-License-Identifier: Apache-2.0 */
/* What starting a submission is: work is handed to the device, as soon as all that it waits for is
 * reached or with the device already, and the programs that run once at a time are free. */
#include "hal/drivers/vulkan/submission.h"

#include "hal/base/log.h"

#include <stdlib.h>

/* ---- Starting -------------------------------------------------------------------------------- */

/* True: another submission runs one of its programs, it waits. */
static bool is_blocked(struct vulkan_submission *submission)
{
    struct vulkan_program **programs = vulkan_programs_of(submission);
    const size_t count = submission->work.command_count;
    bool is_busy = false;
    if (!submission->is_exclusive)
        return false;
    pthread_mutex_lock(&hal_engine_lock);
    for (size_t i = 0; i < count; i++)
        is_busy |= programs[i]->is_busy;
    if (is_busy)
        hal_fifo_push(&vulkan_device_of(submission)->blocked, &submission->work.link);
    for (size_t i = 0; i < count && !is_busy; i++)
        programs[i]->is_busy = programs[i]->is_exclusive;
    submission->holds_programs = !is_busy;
    pthread_mutex_unlock(&hal_engine_lock);
    return is_busy;
}

static bool start(struct hal_work *work, struct hal_changes *changes)
{
    struct vulkan_submission *submission = to_vulkan_submission(work);
    if (!work->waits_on_device || hal_work_has_failed(work))
        return true;
    if (is_blocked(submission))
        return false;
    submission->start_ns = hal_clock_ns();
    enum hal_status status = vulkan_queue_commit(submission, changes);
    if (status == HAL_OK)
        return false; /* it may have ended, and be gone */
    status = hal_engine_note_loss(work->engine, status);
    hal_work_fail(work, status, hal_message());
    return true;
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* Without memory for one that is timed, the work is done untimed. */
static struct vulkan_program *choose_program(struct vulkan_device *device,
                                             const struct hal_submission *source, size_t i)
{
    struct vulkan_program *timed = NULL;
    if (source->time_dispatches && source->commands[i]->dispatch_count && device->timestamp_bits &&
        vulkan_program_create(device, source->commands[i], VULKAN_TIMED, &timed) != HAL_OK)
        hal_log(HAL_LOG_WARN, "vulkan: dispatches are not timed: %s", hal_message());
    return timed ? timed : source->commands[i]->driver_data;
}

static bool is_timed(const struct vulkan_submission *submission, size_t i)
{
    return vulkan_programs_of(submission)[i] != submission->work.commands[i]->driver_data;
}

static enum hal_status prepare(struct hal_work *work, const struct hal_submission *source)
{
    struct vulkan_submission *submission = to_vulkan_submission(work);
    struct vulkan_device *device = vulkan_device_of(submission);
    submission->queue = &device->queues[work->queue];
    for (size_t i = 0; i < work->command_count; i++) {
        const struct vulkan_program *program = vulkan_programs_of(submission)[i] =
            choose_program(device, source, i);
        work->waits_on_device |= !program->is_empty;
        submission->has_count_checks |= program->check_count > 0;
        submission->is_exclusive |= program->is_exclusive && !is_timed(submission, i);
    }
    return HAL_OK;
}

/* Programs that run once at a time are free again: submissions that waited for one may try. */
static void unblock(struct vulkan_submission *submission, struct hal_changes *changes)
{
    struct hal_fifo *blocked = &vulkan_device_of(submission)->blocked;
    pthread_mutex_lock(&hal_engine_lock);
    for (size_t i = 0; i < submission->work.command_count; i++)
        vulkan_programs_of(submission)[i]->is_busy = false;
    for (struct hal_work *work;
         (work = hal_fifo_pop(blocked, offsetof(struct hal_work, link))) != NULL;)
        hal_work_restart_locked(work, changes);
    pthread_mutex_unlock(&hal_engine_lock);
}

static void release(struct hal_work *work, struct hal_changes *changes)
{
    struct vulkan_submission *submission = to_vulkan_submission(work);
    struct vulkan_device *device = vulkan_device_of(submission);
    if (submission->holds_programs)
        unblock(submission, changes);
    if (work->is_abandoned)
        return;
    if (submission->slot)
        vulkan_slot_give(device, submission->slot);
    for (size_t i = 0; i < work->command_count; i++) {
        if (is_timed(submission, i))
            vulkan_program_destroy(device, vulkan_programs_of(submission)[i]);
    }
}

static void free_submission(struct hal_work *work)
{
    free(to_vulkan_submission(work));
}

const struct hal_engine_ops vulkan_engine_ops = {
    .name = "vk",
    .submission_bytes = sizeof(struct vulkan_submission),
    .command_bytes = sizeof(struct vulkan_program *),
    .prepare = prepare,
    .start = start,
    .call = vulkan_host_call,
    .release = release,
    .free = free_submission,
};
