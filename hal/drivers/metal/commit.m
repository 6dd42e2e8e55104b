/* SPDX-License-Identifier: Apache-2.0 */
/* From a submission that may run to command buffers of Metal, and back when these have completed.
 * One thread commits, for it may block when a queue of Metal is full. There are three steps: a
 * command buffer that waits for events, one per command buffer of the batch, one that signals. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/queue.h"

#include <inttypes.h>
#include <time.h>

/* ---- Times -------------------------------------------------------------------------------- */

/* Metal reports seconds of the clock that stops while the machine sleeps; ours may not stop. */
static int64_t host_ns(CFTimeInterval seconds)
{
    const int64_t ns = (int64_t)(seconds * 1e9);
#ifdef __APPLE__
    return ns + (hal_clock_ns() - (int64_t)clock_gettime_nsec_np(CLOCK_UPTIME_RAW));
#else
    return ns;
#endif
}

/* Command buffers of a batch come in order; the next may begin before the last has ended. */
static void add_time_locked(struct hal_work *work, id<MTLCommandBuffer> part)
{
    if (part.GPUEndTime <= 0 || part.GPUEndTime < part.GPUStartTime)
        return;
    const int64_t begin_ns = host_ns(part.GPUStartTime), end_ns = host_ns(part.GPUEndTime);
    const int64_t new_ns = end_ns - hal_max_i64(begin_ns, work->end_ns);
    if (work->begin_ns == 0 || begin_ns < work->begin_ns)
        work->begin_ns = begin_ns;
    work->busy_ns += new_ns > 0 ? new_ns : 0;
    work->end_ns = hal_max_i64(work->end_ns, end_ns);
}

/* ---- Completion --------------------------------------------------------------------------- */

/* Out of memory for them: no times. */
static void read_times(struct metal_submission *submission, size_t index, id<MTLCommandBuffer> part)
{
    struct metal_part_times *times = &submission->times[index];
    const struct hal_dispatch_time window = {(uint32_t)index, 0, host_ns(part.GPUStartTime),
                                             host_ns(part.GPUEndTime)};
    if (times->samples.count && part.status == MTLCommandBufferStatusCompleted)
        times->dispatches = hal_alloc(times->samples.count, sizeof *times->dispatches);
    if (times->dispatches)
        times->count = metal_samples_read(metal_device_of(submission), &times->samples, &window,
                                          times->dispatches);
    metal_samples_release(metal_device_of(submission), &times->samples);
}

/* Before the submission may retire: afterwards the times are read. */
static void end_writes(const struct metal_program *program)
{
    for (size_t i = 0; i < program->managed_count; i++)
        metal_buffer_end_write(program->managed[i]);
}

/* `index` is the command buffer's in the batch. */
static void part_completed(struct metal_submission *submission, enum metal_part which, size_t index,
                           id<MTLCommandBuffer> part)
{
    const enum hal_status status = metal_part_status(submission, which, index, part);
    if (which == METAL_PART_COMMANDS && submission->times)
        read_times(submission, index, part);
    if (which == METAL_PART_COMMANDS)
        end_writes(submission->work.commands[index]->driver_data);
    if (which == METAL_PART_COMMANDS) {
        pthread_mutex_lock(&hal_engine_lock);
        add_time_locked(&submission->work, part);
        pthread_mutex_unlock(&hal_engine_lock);
    }
    metal_submission_resolve(submission, status);
}

/* ---- Committing --------------------------------------------------------------------------- */

/* The submission keeps everything that the command buffer names, so Metal need not. */
static id<MTLCommandBuffer> begin_part(struct metal_submission *submission)
{
    MTLCommandBufferDescriptor *descriptor = [[MTLCommandBufferDescriptor alloc] init];
    descriptor.retainedReferences = NO;
    descriptor.errorOptions = MTLCommandBufferErrorOptionEncoderExecutionStatus;
    id<MTLCommandQueue> queue = metal_device_of(submission)->queues[submission->work.queue].queue;
    id<MTLCommandBuffer> part = [queue commandBufferWithDescriptor:descriptor];
    [descriptor release];
    return part;
}

static void commit_part(struct metal_submission *submission, enum metal_part which, size_t index,
                        id<MTLCommandBuffer> part)
{
    pthread_mutex_lock(&hal_engine_lock);
    submission->parts++;
    pthread_mutex_unlock(&hal_engine_lock);
    [part addCompletedHandler:^(id<MTLCommandBuffer> completed) {
      @autoreleasepool {
          part_completed(submission, which, index, completed);
      }
    }];
    [part commit];
}

static enum hal_status no_command_buffer(const struct metal_submission *submission)
{
    return hal_fail(HAL_NO_MEMORY,
                    "submission %" PRIu64 ": Metal provides no command buffer for it",
                    submission->work.id);
}

/* Where the device has to wait for; false: the wait is over. */
static bool find_completion(const struct hal_wait *wait, struct metal_completion *out_completion)
{
    pthread_mutex_lock(&hal_engine_lock);
    struct hal_work *promiser = hal_wait_promiser_locked(wait);
    if (promiser)
        *out_completion = *to_metal_submission(promiser)->completion;
    pthread_mutex_unlock(&hal_engine_lock);
    return promiser != NULL;
}

/* Waits whose end the host has not seen are queued on the device, after their signals. */
static enum hal_status commit_waits(struct metal_submission *submission)
{
    id<MTLCommandBuffer> part = nil;
    struct metal_completion completion;
    for (size_t i = 0; i < submission->work.wait_count; i++) {
        if (!find_completion(&submission->work.waits[i], &completion))
            continue;
        if (!part)
            part = begin_part(submission);
        if (!part)
            return no_command_buffer(submission);
        [part encodeWaitForEvent:completion.event value:completion.value];
    }
    if (part)
        commit_part(submission, METAL_PART_WAIT, 0, part);
    return HAL_OK;
}

static void begin_writes(const struct metal_program *program)
{
    for (size_t i = 0; i < program->managed_count; i++)
        metal_buffer_begin_write(program->managed[i]);
}

static enum hal_status commit_one(struct metal_submission *submission, size_t index, bool follows)
{
    struct metal_device *device = metal_device_of(submission);
    const struct metal_program *program = submission->work.commands[index]->driver_data;
    id<MTLCommandBuffer> part = begin_part(submission);
    if (!part)
        return no_command_buffer(submission);
    if (program->indirect_count) {
        metal_counts_of(submission)[index] =
            metal_scratch_create(device, program->indirect_count * sizeof(struct metal_counts));
        if (!metal_counts_of(submission)[index])
            return hal_fail(HAL_NO_MEMORY,
                            "submission %" PRIu64 ": no memory for %zu indirect dispatches",
                            submission->work.id, program->indirect_count);
    }
    const struct metal_target target = {
        .commands = part,
        .fence = device->queues[submission->work.queue].fence,
        .follows = follows,
        .counts = metal_counts_of(submission)[index],
        .samples = submission->times ? &submission->times[index].samples : NULL,
    };
    part.label = program->label;
    begin_writes(program);
    const bool encoded = metal_encode(device, program, &target);
    commit_part(submission, METAL_PART_COMMANDS, index, part);
    if (encoded)
        return HAL_OK;
    return hal_fail(HAL_NO_MEMORY, "submission %" PRIu64 ": Metal provides no encoder for %s",
                    submission->work.id, program->label.UTF8String);
}

static enum hal_status commit_commands(struct metal_submission *submission)
{
    bool follows = false;
    for (size_t i = 0; i < submission->work.command_count; i++) {
        const struct metal_program *program = submission->work.commands[i]->driver_data;
        if (program->empty)
            continue;
        enum hal_status status;
        @autoreleasepool {
            status = commit_one(submission, i, follows);
        }
        HAL_TRY(status);
        follows = true;
    }
    return HAL_OK;
}

static enum hal_status commit_signals(struct metal_submission *submission)
{
    if (submission->work.signal_count == 0)
        return HAL_OK;
    id<MTLCommandBuffer> part = begin_part(submission);
    return part && metal_completion_commit(submission, part) ? HAL_OK
                                                             : no_command_buffer(submission);
}

/* What was refused before its commands were committed does not run. */
static void commit(struct metal_submission *submission)
{
    struct hal_work *work = &submission->work;
    struct hal_changes changes = {0};
    if (hal_work_has_failed(work)) {
        metal_submission_resolve(submission, HAL_OK);
        return;
    }
    enum hal_status status = commit_waits(submission);
    if (status == HAL_OK && !hal_work_has_failed(work))
        status = commit_commands(submission);
    if (status == HAL_OK && !hal_work_has_failed(work))
        status = commit_signals(submission);
    pthread_mutex_lock(&hal_engine_lock);
    hal_work_commit_locked(work, submission->completion != NULL, &changes);
    pthread_mutex_unlock(&hal_engine_lock);
    metal_submission_resolve(submission, status);
    hal_engine_drain_ready(&changes);
}

static void *run_submitter(void *argument)
{
    struct metal_device *device = argument;
    pthread_mutex_lock(&hal_engine_lock);
    for (;;) {
        struct hal_work *work = hal_fifo_pop(&device->ready, offsetof(struct hal_work, link));
        if (!work && device->stopping)
            break;
        if (!work) {
            hal_condition_wait(&device->work, &hal_engine_lock, HAL_FOREVER);
            continue;
        }
        pthread_mutex_unlock(&hal_engine_lock);
        @autoreleasepool {
            commit(to_metal_submission(work));
        }
        pthread_mutex_lock(&hal_engine_lock);
    }
    pthread_mutex_unlock(&hal_engine_lock);
    return NULL;
}

/* ---- Start and stop ----------------------------------------------------------------------- */

enum hal_status metal_queue_start(struct metal_device *device)
{
    hal_condition_init(&device->work);
    enum hal_status status = metal_completions_start(device)
                                 ? HAL_OK
                                 : hal_fail(HAL_NO_MEMORY, "Metal provides no event listener");
    if (status == HAL_OK)
        status = hal_thread_start("hal-metal-submit", run_submitter, device, &device->submitter);
    if (status != HAL_OK) {
        metal_completions_stop(device);
        pthread_cond_destroy(&device->work);
    }
    return status;
}

void metal_queue_stop(struct metal_device *device)
{
    pthread_mutex_lock(&hal_engine_lock);
    device->stopping = true;
    pthread_cond_signal(&device->work);
    pthread_mutex_unlock(&hal_engine_lock);
    pthread_join(device->submitter, NULL);
    @autoreleasepool {
        metal_completions_stop(device);
    }
    pthread_cond_destroy(&device->work);
}
