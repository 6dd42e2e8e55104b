/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a submission passes it to the committing thread (commit.m). A Metal queue is strictly
 * ordered: a wait that nothing has promised to end would block everything after it, even the work
 * that ends it. So a submission is committed when each of its waits is over or will be ended by
 * committed work. */
#import "hal/drivers/metal/queue.h"
#include "hal/base/mem.h"

/* ---- Starting ----------------------------------------------------------------------------- */

static bool start(struct hal_work *work, struct hal_changes *changes)
{
    (void)changes;
    struct metal_device *device = metal_device_of(to_metal_submission(work));
    if (hal_work_has_failed(work))
        return true;
    pthread_mutex_lock(&hal_engine_lock);
    hal_fifo_push(&device->ready, &work->link);
    pthread_cond_signal(&device->work);
    pthread_mutex_unlock(&hal_engine_lock);
    return false;
}

/* ---- The end ------------------------------------------------------------------------------ */

/* Out of memory for a common list: no times. */
static void list_times(struct metal_submission *submission)
{
    struct hal_work *work = &submission->work;
    size_t count = 0;
    for (size_t i = 0; submission->times && i < work->command_count; i++)
        count += submission->times[i].count;
    work->times = count ? hal_alloc(count, sizeof *work->times) : NULL;
    for (size_t i = 0; work->times && i < work->command_count; i++) {
        const struct metal_part_times *part = &submission->times[i];
        if (part->count)
            memcpy(work->times + work->time_count, part->dispatches,
                   part->count * sizeof *work->times);
        work->time_count += part->count;
    }
    work->is_isolated = work->time_count > 0;
}

void metal_submission_resolve(struct metal_submission *submission, enum hal_status status)
{
    struct hal_work *work = &submission->work;
    if (status != HAL_OK)
        hal_work_fail(work, status, hal_message());
    if (status == HAL_DEVICE_LOST)
        hal_engine_lose(work->engine, hal_message());
    pthread_mutex_lock(&hal_engine_lock);
    const bool is_last = --submission->parts == 0;
    pthread_mutex_unlock(&hal_engine_lock);
    if (!is_last)
        return;
    list_times(submission);
    hal_work_end(work);
}

/* ---- Life --------------------------------------------------------------------------------- */

static enum hal_status prepare(struct hal_work *work, const struct hal_submission *source)
{
    struct metal_submission *submission = to_metal_submission(work);
    const struct metal_device *device = metal_device_of(submission);
    submission->parts = 1; /* the commit */
    work->waits_on_device = !work->host.run;
    if (source->time_dispatches && work->command_count &&
        device->times.place != METAL_TIMES_NOWHERE)
        submission->times = hal_alloc(work->command_count, sizeof *submission->times);
    return HAL_OK;
}

static void release(struct hal_work *work, struct hal_changes *changes)
{
    (void)changes;
    struct metal_submission *submission = to_metal_submission(work);
    struct metal_device *device = metal_device_of(submission);
    @autoreleasepool {
        for (size_t i = 0; i < work->command_count; i++)
            [metal_counts_of(submission)[i] release];
    }
    if (!submission->completion)
        return;
    pthread_mutex_lock(&hal_engine_lock);
    submission->completion->next = device->free_completions;
    device->free_completions = submission->completion;
    pthread_mutex_unlock(&hal_engine_lock);
}

static void free_submission(struct hal_work *work)
{
    struct metal_submission *submission = to_metal_submission(work);
    for (size_t i = 0; submission->times && i < work->command_count; i++)
        free(submission->times[i].dispatches);
    free(submission->times);
    free(submission);
}

const struct hal_engine_ops metal_engine_ops = {
    .name = "metal",
    .submission_bytes = sizeof(struct metal_submission),
    .command_bytes = sizeof(id<MTLBuffer>),
    .prepare = prepare,
    .start = start,
    .call = metal_host_call,
    .release = release,
    .free = free_submission,
};
