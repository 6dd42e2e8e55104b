/* SPDX-License-Identifier: Apache-2.0 */
/* From a submission that may run to command buffers of Metal, and back when these have completed.
 * One thread commits, for it may block when a queue of Metal is full. There are three steps: a
 * command buffer that waits for events, one per command buffer of the batch, one that signals
 * events. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/queue.h"

#include <inttypes.h>
#include <time.h>

/* ---- Times -------------------------------------------------------------------------------- */

/* Metal gives seconds of the clock that stands still while the machine sleeps; ours need not. */
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
static void add_time_locked(struct metal_submission *submission, id<MTLCommandBuffer> part)
{
    if (part.GPUEndTime <= 0 || part.GPUEndTime < part.GPUStartTime)
        return;
    const int64_t begin_ns = host_ns(part.GPUStartTime), end_ns = host_ns(part.GPUEndTime);
    const int64_t new_ns = end_ns - hal_max_i64(begin_ns, submission->end_ns);
    if (submission->begin_ns == 0 || begin_ns < submission->begin_ns)
        submission->begin_ns = begin_ns;
    submission->busy_ns += new_ns > 0 ? new_ns : 0;
    submission->end_ns = hal_max_i64(submission->end_ns, end_ns);
}

/* ---- Completion --------------------------------------------------------------------------- */

/* Without memory for them, there are no times. */
static void read_times(struct metal_submission *submission, size_t index, id<MTLCommandBuffer> part)
{
    struct metal_part_times *times = &submission->times[index];
    const struct hal_dispatch_time window = {(uint32_t)index, 0, host_ns(part.GPUStartTime),
                                             host_ns(part.GPUEndTime)};
    if (times->samples.count && part.status == MTLCommandBufferStatusCompleted)
        times->dispatches = hal_alloc(times->samples.count, sizeof *times->dispatches);
    if (times->dispatches)
        times->count =
            metal_samples_read(submission->device, &times->samples, &window, times->dispatches);
    metal_samples_release(submission->device, &times->samples);
}

/* Before the submission may retire: then somebody reads. */
static void end_writes(const struct metal_program *program)
{
    for (size_t i = 0; i < program->managed_count; i++)
        metal_buffer_end_write(program->managed[i]);
}

/* `index` is the command buffer's in the batch. */
static void part_completed(struct metal_submission *submission, enum metal_part which, size_t index,
                           id<MTLCommandBuffer> part)
{
    const enum hal_status status = metal_part_judge(submission, which, index, part);
    if (which == METAL_PART_COMMANDS && submission->times)
        read_times(submission, index, part);
    if (which == METAL_PART_COMMANDS)
        end_writes(submission->commands[index]->driver_data);
    pthread_mutex_lock(&metal_shared.lock);
    if (which == METAL_PART_COMMANDS)
        add_time_locked(submission, part);
    if (status != HAL_OK)
        metal_submission_fail_locked(submission, status, hal_message());
    metal_device_judge_locked(submission->device, status, hal_message());
    metal_submission_resolve_locked(submission);
    metal_queue_unlock();
}

/* ---- Committing --------------------------------------------------------------------------- */

/* The submission keeps everything that the command buffer names, so Metal need not. */
static id<MTLCommandBuffer> begin_part(struct metal_submission *submission)
{
    MTLCommandBufferDescriptor *descriptor = [[MTLCommandBufferDescriptor alloc] init];
    descriptor.retainedReferences = NO;
    descriptor.errorOptions = MTLCommandBufferErrorOptionEncoderExecutionStatus;
    id<MTLCommandQueue> queue = submission->device->queues[submission->queue].queue;
    id<MTLCommandBuffer> part = [queue commandBufferWithDescriptor:descriptor];
    [descriptor release];
    return part;
}

static void commit_part(struct metal_submission *submission, enum metal_part which, size_t index,
                        id<MTLCommandBuffer> part)
{
    pthread_mutex_lock(&metal_shared.lock);
    submission->unresolved++;
    pthread_mutex_unlock(&metal_shared.lock);
    [part addCompletedHandler:^(id<MTLCommandBuffer> completed) {
      @autoreleasepool {
          part_completed(submission, which, index, completed);
      }
    }];
    [part commit];
}

static enum hal_status no_command_buffer(const struct metal_submission *submission)
{
    return hal_fail(HAL_NO_MEMORY, "submission %" PRIu64 ": Metal has no command buffer for it",
                    submission->id);
}

static bool is_refused(struct metal_submission *submission)
{
    pthread_mutex_lock(&metal_shared.lock);
    const bool refused = submission->status != HAL_OK;
    pthread_mutex_unlock(&metal_shared.lock);
    return refused;
}

/* Where the device has to wait for; false: the host has seen the value already. */
static bool find_mark(const struct metal_wait *wait, struct metal_mark *out_mark)
{
    pthread_mutex_lock(&metal_shared.lock);
    const struct metal_promise *promise =
        wait->linked
            ? metal_promise_find_locked(wait->submission->device, wait->semaphore, wait->value)
            : NULL;
    if (promise)
        *out_mark = *promise->submission->mark;
    pthread_mutex_unlock(&metal_shared.lock);
    return promise != NULL;
}

/* Waits that the host has not seen end stand in the line of the device, behind their signals. */
static enum hal_status commit_waits(struct metal_submission *submission)
{
    id<MTLCommandBuffer> part = nil;
    struct metal_mark mark;
    for (size_t i = 0; i < submission->wait_count; i++) {
        if (!find_mark(&submission->waits[i], &mark))
            continue;
        if (!part)
            part = begin_part(submission);
        if (!part)
            return no_command_buffer(submission);
        [part encodeWaitForEvent:mark.event value:mark.value];
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
    struct metal_device *device = submission->device;
    const struct metal_program *program = submission->commands[index]->driver_data;
    id<MTLCommandBuffer> part = begin_part(submission);
    if (!part)
        return no_command_buffer(submission);
    if (program->indirect_count) {
        submission->counts[index] =
            metal_scratch_create(device, program->indirect_count * sizeof(struct metal_counts));
        if (!submission->counts[index])
            return hal_fail(HAL_NO_MEMORY,
                            "submission %" PRIu64 ": no memory for %zu indirect dispatches",
                            submission->id, program->indirect_count);
    }
    const struct metal_target target = {
        .commands = part,
        .fence = device->queues[submission->queue].fence,
        .follows = follows,
        .counts = submission->counts[index],
        .samples = submission->times ? &submission->times[index].samples : NULL,
    };
    part.label = program->label;
    begin_writes(program);
    const bool encoded = metal_encode(device, program, &target);
    commit_part(submission, METAL_PART_COMMANDS, index, part);
    if (encoded)
        return HAL_OK;
    return hal_fail(HAL_NO_MEMORY, "submission %" PRIu64 ": Metal has no encoder for %s",
                    submission->id, program->label.UTF8String);
}

static enum hal_status commit_commands(struct metal_submission *submission)
{
    bool follows = false;
    for (size_t i = 0; i < submission->command_count; i++) {
        const struct metal_program *program = submission->commands[i]->driver_data;
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
    if (submission->signal_count == 0)
        return HAL_OK;
    id<MTLCommandBuffer> part = begin_part(submission);
    return part && metal_mark_commit(submission, part) ? HAL_OK : no_command_buffer(submission);
}

/* What was refused before its commands were committed does not run. */
static void commit(struct metal_submission *submission)
{
    if (submission->host.run && !is_refused(submission)) {
        pthread_mutex_lock(&metal_shared.lock);
        metal_host_call_locked(submission);
        metal_queue_unlock();
        return;
    }
    const bool refused = is_refused(submission);
    if (!refused) {
        pthread_mutex_lock(&metal_shared.lock);
        metal_submission_enter_line_locked(submission);
        pthread_mutex_unlock(&metal_shared.lock);
    }
    enum hal_status status = refused ? HAL_OK : commit_waits(submission);
    if (status == HAL_OK && !is_refused(submission))
        status = commit_commands(submission);
    if (status == HAL_OK && !is_refused(submission))
        status = commit_signals(submission);
    pthread_mutex_lock(&metal_shared.lock);
    if (status != HAL_OK)
        metal_submission_fail_locked(submission, status, hal_message());
    for (size_t i = 0; submission->mark && i < submission->signal_count; i++)
        metal_promise_link_locked(&submission->signals[i]);
    metal_submission_resolve_locked(submission);
    metal_queue_unlock();
}

static void *run_submitter(void *argument)
{
    struct metal_device *device = argument;
    pthread_mutex_lock(&metal_shared.lock);
    for (;;) {
        struct metal_submission *submission =
            hal_line_take(&device->ready, offsetof(struct metal_submission, ready));
        if (!submission && device->stopping)
            break;
        if (!submission) {
            hal_condition_wait(&device->work, &metal_shared.lock, HAL_FOREVER);
            continue;
        }
        pthread_mutex_unlock(&metal_shared.lock);
        @autoreleasepool {
            commit(submission);
        }
        pthread_mutex_lock(&metal_shared.lock);
    }
    pthread_mutex_unlock(&metal_shared.lock);
    return NULL;
}

/* ---- Start and stop ----------------------------------------------------------------------- */

struct metal_shared metal_shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void init_shared(void)
{
    hal_condition_init(&metal_shared.changed); /* for a clock that nobody sets */
}

enum hal_status metal_queue_start(struct metal_device *device)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_shared);
    hal_condition_init(&device->work);
    hal_condition_init(&device->called);
    enum hal_status status =
        metal_marks_start(device) ? HAL_OK : hal_fail(HAL_NO_MEMORY, "Metal has no event listener");
    if (status == HAL_OK)
        status = hal_thread_start("hal-metal-submit", run_submitter, device, &device->submitter);
    if (status != HAL_OK) {
        metal_marks_stop(device);
        pthread_cond_destroy(&device->called);
        pthread_cond_destroy(&device->work);
    }
    return status;
}

void metal_queue_stop(struct metal_device *device)
{
    pthread_mutex_lock(&metal_shared.lock);
    device->stopping = true;
    pthread_cond_signal(&device->work);
    pthread_cond_broadcast(&device->called);
    pthread_mutex_unlock(&metal_shared.lock);
    pthread_join(device->submitter, NULL);
    for (uint32_t i = 0; i < device->caller_count; i++)
        pthread_join(device->callers[i], NULL);
    @autoreleasepool {
        metal_marks_stop(device);
    }
    pthread_cond_destroy(&device->called);
    pthread_cond_destroy(&device->work);
}
