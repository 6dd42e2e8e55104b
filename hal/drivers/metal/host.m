/* SPDX-License-Identifier: Apache-2.0 */
/* Host calls of submissions: what the host cannot see directly is copied out of the buffer before
 * the call, and back if the call writes. */
#import "hal/drivers/metal/queue.h"

/* One exact copy by our own kernel, which needs no alignment, on an otherwise unused queue. */
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
        return hal_fail(HAL_NO_MEMORY, "Metal provides no command buffer for a copy");
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

static enum hal_status call_on_copy(const struct hal_work *work, id<MTLBuffer> buffer)
{
    struct metal_device *device = to_metal_device(&work->engine->base);
    const struct hal_host_call *host = &work->host;
    const uint64_t bytes = work->bytes;
    id<MTLBuffer> copy = metal_scratch_create(device, bytes);
    if (!copy)
        return hal_fail(HAL_NO_MEMORY, "no memory for a copy of %llu bytes",
                        (unsigned long long)bytes);
    enum hal_status status = copy_now(device, buffer, work->offset, copy, 0, bytes);
    if (status == HAL_OK) {
        status = host->run(host->user, copy.contents, bytes);
        if (host->writes && status == HAL_OK)
            status = copy_now(device, copy, 0, buffer, work->offset, bytes);
    }
    [copy release];
    return status;
}

static enum hal_status call(const struct hal_work *work)
{
    struct metal_buffer *buffer = to_metal_buffer(work->buffer);
    const struct hal_host_call *host = &work->host;
    if (work->bytes == 0)
        return host->run(host->user, NULL, 0);
    if (buffer->storage == MTLStorageModeShared)
        return host->run(host->user,
                         (uint8_t *)buffer->buffer.contents + buffer->origin + work->offset,
                         work->bytes);
    if (!host->writes)
        return call_on_copy(work, buffer->buffer);
    metal_buffer_begin_write(buffer);
    const enum hal_status status = call_on_copy(work, buffer->buffer);
    metal_buffer_end_write(buffer);
    return status;
}

enum hal_status metal_host_call(struct hal_work *work)
{
    @autoreleasepool {
        return hal_engine_note_loss(work->engine, call(work));
    }
}
