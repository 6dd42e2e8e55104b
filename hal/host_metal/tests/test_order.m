/* SPDX-License-Identifier: Apache-2.0 */
/* Order: queues, events, fences, barriers, handlers; times; captures. */
#import "hal/host_metal/tests/work.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WORDS = 256 };

static void fill(id<MTLCommandBuffer> commands, id<MTLBuffer> buffer, uint8_t value)
{
    const id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    [blit fillBuffer:buffer range:NSMakeRange(0, buffer.length) value:value];
    [blit endEncoding];
}

TEST(test_queue_order_is_that_of_enqueue)
{
    struct work work;
    work_begin(&work);
    const id<MTLBuffer> buffer = work_buffer(&work, WORDS, 0, 0);
    const id<MTLCommandBuffer> first = [work.queue commandBuffer],
                               second = [work.queue commandBuffer];
    fill(first, buffer, 1);
    fill(second, buffer, 2);
    [first enqueue];
    assert_int_equal(first.status, MTLCommandBufferStatusEnqueued);
    [second commit];
    assert_int_equal(second.status, MTLCommandBufferStatusCommitted);
    [first commit];
    [second waitUntilCompleted];
    assert_int_equal(first.status, MTLCommandBufferStatusCompleted);
    assert_int_equal(((const uint32_t *)buffer.contents)[0], 0x02020202);
    [buffer release];
    work_end(&work);
}

TEST(test_handlers_run_before_the_wait_ends)
{
    struct work work;
    work_begin(&work);
    for (int round = 0; round < 20; round++) {
        const id<MTLCommandBuffer> commands = [work.queue commandBuffer];
        __block int scheduled = 0, completed = 0;
        [commands addScheduledHandler:^(id<MTLCommandBuffer> buffer) {
          scheduled += buffer == commands;
        }];
        for (int i = 0; i < 3; i++)
            [commands addCompletedHandler:^(id<MTLCommandBuffer> buffer) {
              completed += buffer.status == MTLCommandBufferStatusCompleted;
            }];
        [commands commit];
        [commands waitUntilCompleted];
        assert_int_equal(scheduled, 1);
        assert_int_equal(completed, 3);
    }
    work_end(&work);
}

TEST(test_events_between_queues)
{
    struct work work;
    work_begin(&work);
    const id<MTLCommandQueue> other = [work.device newCommandQueue];
    const id<MTLEvent> event = [work.device newEvent];
    const id<MTLBuffer> a = work_buffer(&work, WORDS, 0, 0), b = work_buffer(&work, WORDS, 0, 0);
    const id<MTLCommandBuffer> consumer = [other commandBuffer],
                               producer = [work.queue commandBuffer];
    [consumer encodeWaitForEvent:event value:1]; /* before anybody signals */
    const id<MTLBlitCommandEncoder> blit = [consumer blitCommandEncoder];
    [blit copyFromBuffer:a sourceOffset:0 toBuffer:b destinationOffset:0 size:WORDS * 4];
    [blit endEncoding];
    [consumer commit];
    fill(producer, a, 6);
    [producer encodeSignalEvent:event value:1];
    [producer commit];
    [consumer waitUntilCompleted];
    assert_int_equal(((const uint32_t *)b.contents)[WORDS - 1], 0x06060606);
    [a release];
    [b release];
    [event release];
    [other release];
    work_end(&work);
}

TEST(test_shared_events)
{
    struct work work;
    work_begin(&work);
    const id<MTLSharedEvent> event = [work.device newSharedEvent];
    MTLSharedEventListener *const listener = [[MTLSharedEventListener alloc] init];
    const dispatch_semaphore_t seen = dispatch_semaphore_create(0);
    __block uint64_t value_seen = 0;
    [event notifyListener:listener
                  atValue:2
                    block:^(id<MTLSharedEvent> sender, uint64_t value) {
                      assert_ptr_equal(sender, event);
                      value_seen = value;
                      dispatch_semaphore_signal(seen);
                    }];
    const id<MTLCommandBuffer> commands = [work.queue commandBuffer];
    [commands encodeWaitForEvent:event value:1];
    [commands encodeSignalEvent:event value:3];
    [commands commit];
    assert_false([event waitUntilSignaledValue:3 timeoutMS:1]);
    assert_int_equal(event.signaledValue, 0);
    event.signaledValue = 1;
    assert_true([event waitUntilSignaledValue:3 timeoutMS:60000]);
    dispatch_semaphore_wait(seen, DISPATCH_TIME_FOREVER);
    assert_int_equal(value_seen, 3);
    [event notifyListener:listener /* at once: the value is there */
                  atValue:3
                    block:^(id<MTLSharedEvent> sender, uint64_t value) {
                      (void)sender, (void)value;
                      dispatch_semaphore_signal(seen);
                    }];
    dispatch_semaphore_wait(seen, DISPATCH_TIME_FOREVER);
    [commands waitUntilCompleted];
    MTLSharedEventHandle *const handle = [event newSharedEventHandle];
    const id<MTLSharedEvent> same = [work.device newSharedEventWithHandle:handle];
    assert_int_equal(same.signaledValue, 3);
    [same release];
    [handle release];
    dispatch_release(seen);
    [listener release];
    [event release];
    work_end(&work);
}

static id<MTLBuffer> untracked(const struct work *work) NS_RETURNS_RETAINED
{
    const id<MTLBuffer> buffer =
        [work->device newBufferWithLength:WORDS * 4 options:MTLResourceHazardTrackingModeUntracked];
    memset(buffer.contents, 0, WORDS * 4);
    return buffer;
}

/* ((0 + 3) * 2 + 3) * 2 = 18 in that order alone. */
static void add_or_double(id<MTLComputeCommandEncoder> compute, const struct work *work,
                          id<MTLBuffer> buffer, bool add)
{
    const id<MTLComputePipelineState> pipeline = work_pipeline(work, add ? "add" : "twice");
    const uint32_t three = 3;
    [compute setComputePipelineState:pipeline];
    [compute setBuffer:buffer offset:0 atIndex:0];
    [compute setBytes:&three length:4 atIndex:1];
    [compute dispatchThreadgroups:MTLSizeMake(WORDS / 32, 1, 1)
            threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
    [pipeline release];
}

TEST(test_barriers_in_a_concurrent_encoder)
{
    struct work work;
    work_begin(&work);
    const id<MTLBuffer> buffer = untracked(&work), unrelated = untracked(&work);
    const id<MTLCommandBuffer> commands = [work.queue commandBuffer];
    const id<MTLComputeCommandEncoder> compute =
        [commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
    for (int i = 0; i < 4; i++) {
        add_or_double(compute, &work, buffer, i % 2 == 0);
        add_or_double(compute, &work, unrelated, true);
        if (i % 2)
            [compute memoryBarrierWithScope:MTLBarrierScopeBuffers];
        else
            [compute memoryBarrierWithResources:&buffer count:1];
    }
    [compute endEncoding];
    work_finish(commands);
    assert_int_equal(((const uint32_t *)buffer.contents)[WORDS - 1], 18);
    assert_int_equal(((const uint32_t *)unrelated.contents)[0], 12);
    [buffer release];
    [unrelated release];
    work_end(&work);
}

TEST(test_fences_between_encoders)
{
    struct work work;
    work_begin(&work);
    const id<MTLBuffer> buffer = untracked(&work);
    const id<MTLFence> fence = [work.device newFence];
    const id<MTLCommandBuffer> commands = [work.queue commandBuffer];
    for (int i = 0; i < 4; i++) {
        const id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoder];
        [compute waitForFence:fence];
        add_or_double(compute, &work, buffer, i % 2 == 0);
        [compute updateFence:fence];
        [compute endEncoding];
    }
    work_finish(commands);
    assert_int_equal(((const uint32_t *)buffer.contents)[WORDS - 1], 18);
    [fence release];
    [buffer release];
    work_end(&work);
}

/* The same, each in a command buffer of its own; all are committed before the first may begin. */
TEST(test_fences_between_command_buffers)
{
    enum { BUFFERS = 20 };
    struct work work;
    work_begin(&work);
    const id<MTLBuffer> buffer = untracked(&work);
    const id<MTLFence> fence = [work.device newFence];
    const id<MTLSharedEvent> event = [work.device newSharedEvent];
    id<MTLCommandBuffer> commands = [work.queue commandBuffer];
    uint32_t expected = 0;
    [commands encodeWaitForEvent:event value:1];
    [commands commit];
    for (int i = 0; i < BUFFERS; i++) {
        commands = [work.queue commandBuffer];
        const id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoder];
        [compute waitForFence:fence];
        add_or_double(compute, &work, buffer, i % 2 == 0);
        [compute updateFence:fence];
        [compute endEncoding];
        [commands commit];
        expected = i % 2 == 0 ? expected + 3 : expected * 2;
    }
    event.signaledValue = 1;
    [commands waitUntilCompleted];
    assert_int_equal(((const uint32_t *)buffer.contents)[WORDS - 1], expected);
    [event release];
    [fence release];
    [buffer release];
    work_end(&work);
}

/* Metal has 32 of them, whoever made them. */
TEST(test_sample_buffers_run_out)
{
    enum { LIMIT = 32 };
    struct work work;
    work_begin(&work);
    id<MTLCounterSampleBuffer> samples[LIMIT];
    MTLCounterSampleBufferDescriptor *const descriptor =
        [[MTLCounterSampleBufferDescriptor alloc] init];
    descriptor.counterSet = [work.device.counterSets objectAtIndex:0];
    descriptor.sampleCount = 2;
    for (int i = 0; i < LIMIT; i++) {
        samples[i] = [work.device newCounterSampleBufferWithDescriptor:descriptor error:NULL];
        assert_non_null(samples[i]);
    }
    NSError *error = nil;
    assert_true(work_is_nothing([work.device newCounterSampleBufferWithDescriptor:descriptor
                                                                            error:&error]));
    assert_int_equal(error.code, MTLCounterSampleBufferErrorOutOfMemory);
    for (int i = 0; i < LIMIT; i++)
        [samples[i] release];
    const id<MTLCounterSampleBuffer> again =
        [work.device newCounterSampleBufferWithDescriptor:descriptor error:NULL];
    assert_non_null(again);
    [again release];
    [descriptor release];
    work_end(&work);
}

TEST(test_times)
{
    struct work work;
    work_begin(&work);
    assert_true([work.device supportsCounterSampling:MTLCounterSamplingPointAtStageBoundary]);
    MTLCounterSampleBufferDescriptor *const descriptor =
        [[MTLCounterSampleBufferDescriptor alloc] init];
    descriptor.counterSet = [work.device.counterSets objectAtIndex:0];
    descriptor.label = @"times";
    descriptor.sampleCount = 4;
    NSError *error = nil;
    const id<MTLCounterSampleBuffer> samples =
        [work.device newCounterSampleBufferWithDescriptor:descriptor error:&error];
    const id<MTLBuffer> buffer = work_buffer(&work, WORDS, 0, 0),
                        resolved = work_buffer(&work, 8, 0, 0);
    MTLTimestamp cpu[2], gpu[2];
    [work.device sampleTimestamps:&cpu[0] gpuTimestamp:&gpu[0]];
    const id<MTLCommandBuffer> commands = [work.queue commandBuffer];
    MTLBlitPassDescriptor *const pass = [MTLBlitPassDescriptor blitPassDescriptor];
    MTLBlitPassSampleBufferAttachmentDescriptor *const attachment =
        [pass.sampleBufferAttachments objectAtIndexedSubscript:0];
    attachment.sampleBuffer = samples;
    attachment.startOfEncoderSampleIndex = 0;
    attachment.endOfEncoderSampleIndex = 1;
    const id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoderWithDescriptor:pass];
    [blit fillBuffer:buffer range:NSMakeRange(0, WORDS * 4) value:1];
    [blit endEncoding];
    MTLComputePassDescriptor *const compute_pass = [MTLComputePassDescriptor computePassDescriptor];
    [compute_pass.sampleBufferAttachments objectAtIndexedSubscript:0].sampleBuffer = samples;
    [compute_pass.sampleBufferAttachments objectAtIndexedSubscript:0].startOfEncoderSampleIndex = 2;
    [compute_pass.sampleBufferAttachments objectAtIndexedSubscript:0].endOfEncoderSampleIndex =
        MTLCounterDontSample;
    const id<MTLComputeCommandEncoder> compute =
        [commands computeCommandEncoderWithDescriptor:compute_pass];
    add_or_double(compute, &work, buffer, true);
    [compute endEncoding];
    work_finish(commands);
    [work.device sampleTimestamps:&cpu[1] gpuTimestamp:&gpu[1]];
    const MTLCounterResultTimestamp *const results =
        [samples resolveCounterRange:NSMakeRange(0, 4)].bytes;
    assert_true(gpu[0] <= results[0].timestamp && results[0].timestamp <= results[1].timestamp);
    assert_true(results[2].timestamp >= gpu[0] && results[2].timestamp <= gpu[1]);
    assert_true(results[1].timestamp <= gpu[1]);
    assert_true(results[3].timestamp == MTLCounterErrorValue);
    assert_true(cpu[0] <= cpu[1]);
    if (!work_mode("gpuclock"))
        assert_true(gpu[0] == cpu[0]);
    const id<MTLCommandBuffer> again = [work.queue commandBuffer];
    const id<MTLBlitCommandEncoder> resolve = [again blitCommandEncoder];
    [resolve resolveCounters:samples
                     inRange:NSMakeRange(1, 2)
           destinationBuffer:resolved
           destinationOffset:8];
    [resolve endEncoding];
    work_finish(again);
    assert_true(((const uint64_t *)resolved.contents)[1] == results[1].timestamp);
    assert_true(((const uint64_t *)resolved.contents)[2] == results[2].timestamp);
    descriptor.sampleCount = 1u << 20;
    assert_true(work_is_nothing([work.device newCounterSampleBufferWithDescriptor:descriptor
                                                                            error:&error]));
    assert_int_equal(error.code, MTLCounterSampleBufferErrorOutOfMemory);
    [samples release];
    [descriptor release];
    [buffer release];
    [resolved release];
    work_end(&work);
}

static void expect_capture_error(MTLCaptureDescriptor *descriptor, MTLCaptureError code)
{
    NSError *error = nil;
    assert_false([[MTLCaptureManager sharedCaptureManager] startCaptureWithDescriptor:descriptor
                                                                                error:&error]);
    assert_int_equal(error.code, code);
    assert_true([error.domain isEqualToString:MTLCaptureErrorDomain]);
}

TEST(test_captures)
{
    struct work work;
    work_begin(&work);
    char folder[] = "/tmp/host_metal_XXXXXX";
    assert_non_null(mkdtemp(folder));
    NSString *const path = [NSString stringWithFormat:@"%s/a.gputrace", folder];
    MTLCaptureManager *const manager = [MTLCaptureManager sharedCaptureManager];
    MTLCaptureDescriptor *const descriptor = [[MTLCaptureDescriptor alloc] init];
    descriptor.destination = MTLCaptureDestinationGPUTraceDocument;
    descriptor.outputURL = [NSURL fileURLWithPath:path];
    unsetenv("MTL_CAPTURE_ENABLED");
    unsetenv("METAL_CAPTURE_ENABLED");
    descriptor.captureObject = work.device;
    expect_capture_error(descriptor, MTLCaptureErrorNotSupported);
    setenv("METAL_CAPTURE_ENABLED", "1", 1);
    descriptor.captureObject = nil;
    expect_capture_error(descriptor, MTLCaptureErrorInvalidDescriptor);
    descriptor.captureObject = work.queue;
    NSError *error = nil;
    assert_true([manager startCaptureWithDescriptor:descriptor error:&error]);
    assert_true(manager.isCapturing);
    expect_capture_error(descriptor, MTLCaptureErrorAlreadyCapturing);
    [manager stopCapture];
    assert_false(manager.isCapturing);
    expect_capture_error(descriptor, MTLCaptureErrorInvalidDescriptor); /* it exists */
    unlink([path stringByAppendingString:@"/host-metal.txt"].UTF8String);
    assert_int_equal(rmdir(path.UTF8String), 0);
    assert_int_equal(rmdir(folder), 0);
    [descriptor release];
    work_end(&work);
}

enum { THREADS = 4, ROUNDS = 25 };
struct thread_state {
    const struct work *work;
    uint32_t result;
};

static void *use_device(void *context)
{
    struct thread_state *const self = context;
    @autoreleasepool {
        const id<MTLCommandQueue> queue = [self->work->device newCommandQueue];
        const id<MTLBuffer> buffer = untracked(self->work);
        id<MTLCommandBuffer> last = nil;
        for (int i = 0; i < ROUNDS; i++) {
            last = [queue commandBuffer];
            const id<MTLComputeCommandEncoder> compute = [last computeCommandEncoder];
            add_or_double(compute, self->work, buffer, true);
            [compute endEncoding];
            [last commit];
        }
        [last waitUntilCompleted];
        self->result = ((const uint32_t *)buffer.contents)[WORDS - 1];
        [buffer release];
        [queue release];
    }
    return NULL;
}

TEST(test_many_threads)
{
    struct work work;
    work_begin(&work);
    pthread_t threads[THREADS];
    struct thread_state states[THREADS];
    for (int i = 0; i < THREADS; i++) {
        states[i] = (struct thread_state){&work, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, use_device, &states[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(states[i].result, 3 * ROUNDS);
    }
    work_end(&work);
}
