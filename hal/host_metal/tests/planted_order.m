/* SPDX-License-Identifier: Apache-2.0 */
/* Events, and order that is missing: bugs that only a mode makes visible. */
#import "hal/host_metal/tests/planted.h"

enum { WORDS = BENCH_BYTES / 4, ROUNDS = 8 };

static bool event_of_the_device_alone(void)
{
    struct bench bench;
    bench_begin(&bench);
    return ((id<MTLSharedEvent>)[bench.device newEvent]).signaledValue == 1;
}

static bool event_lowered_by_host(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLSharedEvent> event = [bench.device newSharedEvent];
    event.signaledValue = 7;
    event.signaledValue = 6;
    return false;
}

static bool event_lowered_by_device(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLSharedEvent> event = [bench.device newSharedEvent];
    [bench.commands encodeSignalEvent:event value:2];
    [bench.commands encodeSignalEvent:event value:1];
    [bench.commands commit];
    [bench.commands waitUntilCompleted];
    return false;
}

static bool still_waiting_at_exit(void)
{
    struct bench bench;
    bench_begin(&bench);
    [bench.commands encodeWaitForEvent:[bench.device newSharedEvent] value:1];
    [bench.commands commit];
    return false;
}

/* ---- What shuffle shows ------------------------------------------------------------------- */

static id<MTLBuffer> zeros(const struct bench *bench) NS_RETURNS_RETAINED
{
    const id<MTLBuffer> buffer =
        [bench->device newBufferWithLength:BENCH_BYTES
                                   options:MTLResourceHazardTrackingModeUntracked];
    memset(buffer.contents, 0, BENCH_BYTES);
    return buffer;
}

/* +3, *2, +3, *2, ... in that order. */
static uint32_t expected_sum(void)
{
    uint32_t value = 0;
    for (int i = 0; i < ROUNDS; i++)
        value = (value + 3) * 2;
    return value;
}

static bool finish(struct bench *bench, id<MTLBuffer> buffer, uint32_t expected)
{
    [bench->commands commit];
    [bench->commands waitUntilCompleted];
    const uint32_t value = ((const uint32_t *)buffer.contents)[WORDS - 1];
    [buffer release];
    bench_end(bench);
    return value != expected;
}

static bool barrier_missing(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLBuffer> buffer = zeros(&bench);
    const id<MTLComputeCommandEncoder> compute =
        [bench.commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
    for (int i = 0; i < 2 * ROUNDS; i++)
        bench_dispatch(compute, &bench, buffer, i % 2 == 0);
    [compute endEncoding];
    return finish(&bench, buffer, expected_sum());
}

static bool barrier_of_another_buffer(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLBuffer> buffer = zeros(&bench);
    const id<MTLComputeCommandEncoder> compute =
        [bench.commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
    for (int i = 0; i < 2 * ROUNDS; i++) {
        bench_dispatch(compute, &bench, buffer, i % 2 == 0);
        [compute memoryBarrierWithResources:&bench.shared count:1];
    }
    [compute endEncoding];
    return finish(&bench, buffer, expected_sum());
}

static bool fence_missing(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLBuffer> buffer = zeros(&bench);
    for (int i = 0; i < 2 * ROUNDS; i++) {
        const id<MTLComputeCommandEncoder> compute = [bench.commands computeCommandEncoder];
        bench_dispatch(compute, &bench, buffer, i % 2 == 0);
        [compute endEncoding];
    }
    return finish(&bench, buffer, expected_sum());
}

/* An encoder in a command buffer of its own. All are committed before the first may begin. */
static bool fence_missing_between_command_buffers(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLBuffer> buffer = zeros(&bench);
    const id<MTLSharedEvent> event = [bench.device newSharedEvent];
    const id<MTLCommandBuffer> gate = [bench.queue commandBuffer];
    [gate encodeWaitForEvent:event value:1];
    [gate commit];
    for (int i = 0; i < 2 * ROUNDS; i++) {
        const id<MTLCommandBuffer> commands = [bench.queue commandBuffer];
        const id<MTLComputeCommandEncoder> compute = [commands computeCommandEncoder];
        bench_dispatch(compute, &bench, buffer, i % 2 == 0);
        [compute endEncoding];
        [commands commit];
    }
    event.signaledValue = 1;
    [event release];
    return finish(&bench, buffer, expected_sum()); /* whose own command buffer is the last */
}

static bool blits_without_order(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLBuffer> buffer = zeros(&bench);
    const id<MTLBlitCommandEncoder> blit = [bench.commands blitCommandEncoder];
    for (uint8_t i = 1; i <= ROUNDS; i++)
        [blit fillBuffer:buffer range:NSMakeRange(0, BENCH_BYTES) value:i];
    [blit endEncoding];
    return finish(&bench, buffer, ROUNDS * 0x01010101u);
}

/* A signal is no barrier for what is encoded behind it. */
static bool signal_taken_for_a_barrier(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLBuffer> buffer = zeros(&bench);
    const id<MTLSharedEvent> event = [bench.device newSharedEvent];
    for (uint64_t i = 0; i < 2 * ROUNDS; i++) {
        const id<MTLComputeCommandEncoder> compute = [bench.commands computeCommandEncoder];
        bench_dispatch(compute, &bench, buffer, i % 2 == 0);
        [compute endEncoding];
        [bench.commands encodeSignalEvent:event value:i + 1];
    }
    [event release];
    return finish(&bench, buffer, expected_sum());
}

/* ---- Listeners ---------------------------------------------------------------------------- */

static bool listener_for_the_hosts_value(void)
{
    struct bench bench;
    bench_begin(&bench);
    const dispatch_queue_t queue = dispatch_queue_create("test", DISPATCH_QUEUE_SERIAL);
    MTLSharedEventListener *const listener =
        [[MTLSharedEventListener alloc] initWithDispatchQueue:queue];
    const id<MTLSharedEvent> event = [bench.device newSharedEvent];
    __block bool called = false;
    [event notifyListener:listener
                  atValue:1
                    block:^(id<MTLSharedEvent> sender, uint64_t value) {
                      (void)sender;
                      called = value == 1;
                    }];
    event.signaledValue = 1;
    dispatch_sync(queue, ^{
                  });
    [event release];
    [listener release];
    dispatch_release(queue);
    bench_end(&bench);
    return !called;
}

const struct planted planted_order[] = {
    {"value of an event that is not shared", "event-not-shared", NULL, event_of_the_device_alone},
    {"event lowered by the host", "event-value-lowered", NULL, event_lowered_by_host},
    {"event lowered by the device", "event-value-lowered", NULL, event_lowered_by_device},
    {"still waiting at exit", "unfinished-at-exit", "timeout=1", still_waiting_at_exit},
    {"barrier missing", NULL, "shuffle", barrier_missing},
    {"barrier for another buffer", NULL, "shuffle", barrier_of_another_buffer},
    {"fence missing", NULL, "shuffle", fence_missing},
    {"fence missing between command buffers", NULL, "shuffle",
     fence_missing_between_command_buffers},
    {"blits without order", NULL, "shuffle", blits_without_order},
    {"signal taken for a barrier", NULL, "shuffle", signal_taken_for_a_barrier},
    {"listener for the host's value", NULL, "nolisteners", listener_for_the_hosts_value},
    {.name = NULL},
};
