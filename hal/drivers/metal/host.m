/* SPDX-License-Identifier: Apache-2.0 */
/* Host calls of submissions: functions that are called in queue order, on threads that may block. A
 * submission with one waits for its values on the host. What the host cannot see directly is
 * copied out of the buffer before the call, and back if the call writes. */
#import "hal/drivers/metal/queue.h"

#include <stdio.h>

/* One exact copy by our own kernel, which knows no alignment, on a queue that nobody waits in. */
static enum hal_status copy_now(struct metal_device *device, id<MTLBuffer> source,
                                uint64_t source_offset, id<MTLBuffer> target,
                                uint64_t target_offset, uint64_t bytes)
{
    const uint64_t first = target_offset % METAL_CHUNK_BYTES;
    const uint64_t source_first = source_offset % METAL_CHUNK_BYTES;
    const struct metal_copy_arguments arguments = {first, first + bytes, source_first};
    const uint64_t chunks = (arguments.end + METAL_CHUNK_BYTES - 1) / METAL_CHUNK_BYTES;
    const uint32_t threads = device->builtin.group_threads;
    id<MTLCommandBuffer> commands = [device->copies commandBuffer];
    id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoder];
    if (!compute)
        return hal_fail(HAL_NO_MEMORY, "Metal has no command buffer for a copy");
    [compute setComputePipelineState:device->builtin.copy];
    [compute setBuffer:target offset:target_offset - first atIndex:0];
    [compute setBuffer:source offset:source_offset - source_first atIndex:1];
    [compute setBytes:&arguments length:sizeof arguments atIndex:2];
    [compute dispatchThreadgroups:MTLSizeMake((chunks + threads - 1) / threads, 1, 1)
            threadsPerThreadgroup:MTLSizeMake(threads, 1, 1)];
    [compute endEncoding];
    [commands commit];
    [commands waitUntilCompleted];
    if (commands.status == MTLCommandBufferStatusCompleted)
        return HAL_OK;
    return hal_fail(metal_error_status(commands.error), "a copy for the host: %s",
                    metal_error_text(commands.error));
}

static enum hal_status call_on_copy(struct metal_submission *submission, id<MTLBuffer> buffer)
{
    struct metal_device *device = submission->device;
    const struct hal_host_call *host = &submission->host;
    const uint64_t bytes = submission->bytes;
    id<MTLBuffer> copy = metal_scratch_create(device, bytes);
    if (!copy)
        return hal_fail(HAL_NO_MEMORY, "no memory for a copy of %llu bytes",
                        (unsigned long long)bytes);
    enum hal_status status = copy_now(device, buffer, submission->offset, copy, 0, bytes);
    if (status == HAL_OK) {
        status = host->run(host->user, copy.contents, bytes);
        if (host->writes && status == HAL_OK)
            status = copy_now(device, copy, 0, buffer, submission->offset, bytes);
    }
    [copy release];
    return status;
}

static enum hal_status call(struct metal_submission *submission)
{
    struct metal_buffer *buffer = to_metal_buffer(submission->buffer);
    const struct hal_host_call *host = &submission->host;
    if (submission->bytes == 0)
        return host->run(host->user, NULL, 0);
    if (buffer->storage == MTLStorageModeShared)
        return host->run(host->user,
                         (uint8_t *)buffer->buffer.contents + buffer->origin + submission->offset,
                         submission->bytes);
    if (!host->writes)
        return call_on_copy(submission, buffer->buffer);
    metal_buffer_begin_write(buffer);
    const enum hal_status status = call_on_copy(submission, buffer->buffer);
    metal_buffer_end_write(buffer);
    return status;
}

static void *work(void *argument)
{
    struct metal_device *device = argument;
    pthread_mutex_lock(&metal_shared.lock);
    for (;;) {
        struct metal_submission *submission =
            hal_line_take(&device->calls, offsetof(struct metal_submission, ready));
        if (!submission && device->stopping)
            break;
        if (!submission) {
            device->idle_callers++;
            hal_condition_wait(&device->called, &metal_shared.lock, HAL_FOREVER);
            device->idle_callers--;
            continue;
        }
        device->queued_calls--;
        pthread_mutex_unlock(&metal_shared.lock);
        @autoreleasepool {
            const int64_t begin_ns = hal_clock_ns();
            const enum hal_status status = call(submission);
            const int64_t end_ns = hal_clock_ns();
            pthread_mutex_lock(&metal_shared.lock);
            submission->begin_ns = begin_ns;
            submission->end_ns = end_ns;
            submission->busy_ns = end_ns - begin_ns;
            if (status != HAL_OK)
                metal_submission_fail_locked(submission, status, hal_message());
            metal_device_judge_locked(device, status, hal_message());
            metal_submission_resolve_locked(submission);
            metal_queue_unlock();
        }
        pthread_mutex_lock(&metal_shared.lock);
    }
    pthread_mutex_unlock(&metal_shared.lock);
    return NULL;
}

/* One more thread when all are busy or have a call coming: one that blocks should not keep the
 * others waiting. */
static enum hal_status start_thread_locked(struct metal_device *device)
{
    char name[32];
    if (device->idle_callers > device->queued_calls || device->caller_count == METAL_MOST_CALLERS)
        return HAL_OK;
    snprintf(name, sizeof name, "hal-metal-host-%u", device->caller_count);
    const enum hal_status status =
        hal_thread_start(name, work, device, &device->callers[device->caller_count]);
    if (status == HAL_OK)
        device->caller_count++;
    return device->caller_count > 0 ? HAL_OK : status;
}

void metal_host_call_locked(struct metal_submission *submission)
{
    struct metal_device *device = submission->device;
    const enum hal_status status = start_thread_locked(device);
    if (status != HAL_OK) {
        metal_submission_fail_locked(submission, status, hal_message());
        metal_submission_resolve_locked(submission);
        return;
    }
    hal_line_join(&device->calls, &submission->ready);
    device->queued_calls++;
    pthread_cond_signal(&device->called);
}
