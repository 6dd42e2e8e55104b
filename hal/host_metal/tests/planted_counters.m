/* SPDX-License-Identifier: Apache-2.0 */
/* Counter sample buffers: where devices sample, and what they lose. */
#import "hal/host_metal/tests/planted.h"

#include <string.h>

enum { SAMPLES = 16 };

static id<MTLCounterSampleBuffer> make_samples(const struct bench *bench) NS_RETURNS_RETAINED
{
    MTLCounterSampleBufferDescriptor *const descriptor =
        [[MTLCounterSampleBufferDescriptor alloc] init];
    descriptor.counterSet = [bench->device.counterSets objectAtIndex:0];
    descriptor.sampleCount = SAMPLES;
    descriptor.storageMode = MTLStorageModeShared;
    const id<MTLCounterSampleBuffer> samples =
        [bench->device newCounterSampleBufferWithDescriptor:descriptor error:NULL];
    [descriptor release];
    return samples;
}

static bool sample_at_the_ends(void)
{
    struct bench bench;
    bench_begin(&bench);
    MTLComputePassDescriptor *const pass = [MTLComputePassDescriptor computePassDescriptor];
    [pass.sampleBufferAttachments objectAtIndexedSubscript:0].sampleBuffer = make_samples(&bench);
    [bench.commands computeCommandEncoderWithDescriptor:pass];
    return false;
}

static bool sample_into_nil(void)
{
    struct bench bench;
    const id<MTLComputeCommandEncoder> compute = bench_compute(&bench);
    [compute sampleCountersInBuffer:(id _Nonnull)nil atSampleIndex:0 withBarrier:YES];
    return false;
}

static bool sample_behind_the_last(void)
{
    struct bench bench;
    const id<MTLBlitCommandEncoder> blit = bench_blit(&bench);
    [blit sampleCountersInBuffer:make_samples(&bench) atSampleIndex:SAMPLES withBarrier:YES];
    return false;
}

static bool counters_are_there_always(void)
{
    const id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    const bool none = device.counterSets.count == 0;
    [device release];
    return none;
}

/* Samples around dispatches, of which each has to be taken behind the one before. */
static bool sample_times(struct bench *bench, bool with_barrier)
{
    const id<MTLCounterSampleBuffer> samples = make_samples(bench);
    const id<MTLComputeCommandEncoder> compute =
        [bench->commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
    const id<MTLBuffer> buffer =
        [bench->device newBufferWithLength:BENCH_BYTES
                                   options:MTLResourceHazardTrackingModeUntracked];
    for (NSUInteger i = 0; i < SAMPLES; i++) {
        [compute sampleCountersInBuffer:samples atSampleIndex:i withBarrier:with_barrier];
        bench_dispatch(compute, bench, buffer, true);
    }
    [compute endEncoding];
    [bench->commands commit];
    [bench->commands waitUntilCompleted];
    const MTLCounterResultTimestamp *const times =
        [samples resolveCounterRange:NSMakeRange(0, SAMPLES)].bytes;
    bool wrong = false;
    for (NSUInteger i = 1; i < SAMPLES; i++)
        wrong = wrong || times[i].timestamp < times[i - 1].timestamp;
    [buffer release];
    [samples release];
    return wrong;
}

static bool sample_without_barrier(void)
{
    struct bench bench;
    bench_begin(&bench);
    const bool is_possible =
        [bench.device supportsCounterSampling:MTLCounterSamplingPointAtDispatchBoundary];
    const bool wrong = is_possible && sample_times(&bench, false);
    bench_end(&bench);
    return wrong;
}

static bool sample_is_there_always(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLCounterSampleBuffer> samples = make_samples(&bench);
    MTLBlitPassDescriptor *const pass = [MTLBlitPassDescriptor blitPassDescriptor];
    [pass.sampleBufferAttachments objectAtIndexedSubscript:0].sampleBuffer = samples;
    [pass.sampleBufferAttachments objectAtIndexedSubscript:0].startOfEncoderSampleIndex = 0;
    [pass.sampleBufferAttachments objectAtIndexedSubscript:0].endOfEncoderSampleIndex = 1;
    const id<MTLBlitCommandEncoder> blit = [bench.commands blitCommandEncoderWithDescriptor:pass];
    [blit endEncoding];
    [bench.commands commit];
    [bench.commands waitUntilCompleted];
    const MTLCounterResultTimestamp *const times =
        [samples resolveCounterRange:NSMakeRange(0, 2)].bytes;
    const bool lost = times[0].timestamp == MTLCounterErrorValue;
    [samples release];
    bench_end(&bench);
    return lost;
}

const struct planted planted_counters[] = {
    {"samples at the ends of an encoder", "counter-sampling", "dispatchcounters",
     sample_at_the_ends},
    {"sample into nil", "argument-is-nil", "dispatchcounters", sample_into_nil},
    {"sample behind the last", "range-out-of-bounds", "dispatchcounters", sample_behind_the_last},
    {"sample without a barrier", NULL, "dispatchcounters,shuffle", sample_without_barrier},
    {"counters that are not there", NULL, "nocounters", counters_are_there_always},
    {"sample that is lost", NULL, "lost-samples=1", sample_is_there_always},
    {.name = NULL},
};
