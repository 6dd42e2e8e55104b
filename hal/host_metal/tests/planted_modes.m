/* SPDX-License-Identifier: Apache-2.0 */
/* HOST_METAL itself: failures on demand, limits, words that are not known. */
#import "hal/host_metal/tests/planted.h"

static bool nothing(void)
{
    struct bench bench;
    bench_begin(&bench);
    bench_end(&bench);
    return false;
}

/* What a failed command buffer says, and what becomes of the event that it would have signalled. */
static MTLCommandBufferStatus run(uint64_t *out_value)
{
    struct bench bench;
    bench_begin(&bench);
    MTLCommandBufferDescriptor *const descriptor = [[MTLCommandBufferDescriptor alloc] init];
    descriptor.errorOptions = MTLCommandBufferErrorOptionEncoderExecutionStatus;
    const id<MTLCommandBuffer> commands = [bench.queue commandBufferWithDescriptor:descriptor];
    const id<MTLSharedEvent> event = [bench.device newSharedEvent];
    const id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
    blit.label = @"filling";
    [blit fillBuffer:bench.shared range:NSMakeRange(0, 4) value:1];
    [blit endEncoding];
    [commands encodeSignalEvent:event value:1];
    [commands commit];
    [commands waitUntilCompleted];
    const MTLCommandBufferStatus status = commands.status;
    NSArray *const infos =
        [commands.error.userInfo objectForKey:MTLCommandBufferEncoderInfoErrorKey];
    const id<MTLCommandBufferEncoderInfo> info = [infos firstObject];
    if (status == MTLCommandBufferStatusError &&
        (![commands.error.domain isEqualToString:MTLCommandBufferErrorDomain] ||
         commands.error.code != MTLCommandBufferErrorTimeout ||
         ![info.label isEqualToString:@"filling"]))
        _Exit(1);
    *out_value = event.signaledValue;
    [event release];
    [descriptor release];
    bench_end(&bench);
    return status;
}

static bool command_buffer_fails(void)
{
    uint64_t value = 0;
    return run(&value) == MTLCommandBufferStatusError && value == 0;
}

static bool command_buffer_fails_and_signals(void)
{
    uint64_t value = 0;
    return run(&value) == MTLCommandBufferStatusError && value == 1;
}

/* What has failed is tried again, once and without a look: a device that is gone stays so. */
static bool tries_again(void)
{
    struct bench bench;
    bench_begin(&bench);
    bool failed = false;
    for (int i = 0; i < 3; i++) {
        const id<MTLCommandBuffer> commands = [bench.queue commandBuffer];
        const id<MTLBlitCommandEncoder> blit = [commands blitCommandEncoder];
        [blit fillBuffer:bench.shared range:NSMakeRange(0, 4) value:(uint8_t)(i + 1)];
        [blit endEncoding];
        [commands commit];
        [commands waitUntilCompleted];
        failed = commands.status == MTLCommandBufferStatusError &&
                 commands.error.code == MTLCommandBufferErrorDeviceRemoved;
    }
    const bool wrong = failed && *(const uint8_t *)bench.shared.contents == 1;
    bench_end(&bench);
    return wrong;
}

static bool allocation_fails(void)
{
    struct bench bench;
    bench_begin(&bench);
    unsigned failed = 0;
    for (int i = 0; i < 12; i++) {
        const id<MTLBuffer> buffer = [bench.device newBufferWithLength:16 options:0];
        failed += buffer == nil;
        [buffer release];
    }
    bench_end(&bench);
    return failed == 3;
}

static bool memory_runs_out(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLBuffer> large = [bench.device newBufferWithLength:1u << 19 options:0],
                        larger = [bench.device newBufferWithLength:1u << 20 options:0];
    const bool out = large != nil && larger == nil;
    [large release];
    [larger release];
    bench_end(&bench);
    return out;
}

static bool takes_time(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLBlitCommandEncoder> blit = [bench.commands blitCommandEncoder];
    [blit endEncoding];
    [bench.commands commit];
    [bench.commands waitUntilCompleted];
    const double seconds = bench.commands.GPUEndTime - bench.commands.GPUStartTime;
    bench_end(&bench);
    return seconds >= 2.0;
}

static bool another_clock(void)
{
    const id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    MTLTimestamp cpu = 0, gpu = 0;
    [device sampleTimestamps:&cpu gpuTimestamp:&gpu];
    [device release];
    return cpu != gpu;
}

static bool leak_is_forgiven(void)
{
    [[[NSMutableArray alloc] init] addObject:@"x"];
    return true;
}

/* The bench's own library has several kernels. */
static bool pipelines_one_by_one(void)
{
    struct bench bench;
    bench_begin(&bench);
    bench_end(&bench);
    return false;
}

/* ---- Archives ------------------------------------------------------------------------------- */

static id<MTLBinaryArchive> make_archive(id<MTLDevice> device) NS_RETURNS_RETAINED
{
    MTLBinaryArchiveDescriptor *const descriptor = [[MTLBinaryArchiveDescriptor alloc] init];
    const id<MTLBinaryArchive> archive = [device newBinaryArchiveWithDescriptor:descriptor
                                                                          error:NULL];
    [descriptor release];
    return archive;
}

static bool archive_is_refused(void)
{
    const id<MTLDevice> device = MTLCreateSystemDefaultDevice();
    const id<MTLBinaryArchive> archive = make_archive(device);
    const bool refused = archive == nil;
    [archive release];
    [device release];
    return refused;
}

static bool archive_of_no_function(void)
{
    struct bench bench;
    bench_begin(&bench);
    MTLComputePipelineDescriptor *const descriptor = [[MTLComputePipelineDescriptor alloc] init];
    [make_archive(bench.device) addComputePipelineFunctionsWithDescriptor:descriptor error:NULL];
    return false;
}

static bool archive_into_nil(void)
{
    struct bench bench;
    bench_begin(&bench);
    [make_archive(bench.device) serializeToURL:(id _Nonnull)nil error:NULL];
    return false;
}

static bool archive_of_another_device(void)
{
    struct bench bench;
    bench_begin(&bench);
    NSArray<id<MTLDevice>> *const devices = MTLCopyAllDevices();
    MTLComputePipelineDescriptor *const descriptor = [[MTLComputePipelineDescriptor alloc] init];
    descriptor.computeFunction = bench.function;
    for (NSUInteger i = 0; i < devices.count; i++) {
        descriptor.binaryArchives =
            [NSArray arrayWithObject:make_archive([devices objectAtIndex:i])];
        [bench.device newComputePipelineStateWithDescriptor:descriptor
                                                    options:0
                                                 reflection:NULL
                                                      error:NULL];
    }
    return false;
}

const struct planted planted_modes[] = {
    {"injected archive failures", NULL, "fail-archives=1", archive_is_refused},
    {"archive without a function", "argument-is-nil", NULL, archive_of_no_function},
    {"archive into nil", "argument-is-nil", NULL, archive_into_nil},
    {"archive of another device", "wrong-device", "devices=2", archive_of_another_device},
    {"unknown mode", "HOST_METAL", "shuffel", nothing},
    {"mode without its number", "HOST_METAL", "fail-allocations", nothing},
    {"mode with a wrong number", "HOST_METAL", "memory=-1", nothing},
    {"mode with a useless number", "HOST_METAL", "managed=1", nothing},
    {"injected failure", NULL, "fail-command-buffers=1", command_buffer_fails},
    {"injected failure with signals", NULL, "fail-command-buffers=1,fail-with-signal",
     command_buffer_fails_and_signals},
    {"injected loss", NULL, "fail-command-buffers=2,fail-code=11", tries_again},
    {"injected allocation failures", NULL, "fail-allocations=5", allocation_fails},
    {"little memory", NULL, "memory=1", memory_runs_out},
    {"slow encoders", NULL, "slow=2000", takes_time},
    {"clock of the device", NULL, "gpuclock", another_clock},
    {"pipelines one by one", "pipeline-made-alone: newComputePipelineState",
     "pipelines-meet=2,timeout=1", pipelines_one_by_one},
    {"leak with a census", "leaked-objects", "shuffle", leak_is_forgiven},
    {.name = NULL},
};
