/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with wrong arguments, or at the wrong time. */
#import "hal/host_metal/tests/planted.h"

static const char kernels[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void add(device uint *target [[buffer(0)]], constant uint &value [[buffer(1)]],\n"
    "                uint i [[thread_position_in_grid]]) { target[i] += value; }\n"
    "kernel void twice(device uint *target [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{ target[i] *= 2; }\n"
    "kernel void shared(device uint *target [[buffer(0)]], threadgroup uint *s "
    "[[threadgroup(0)]])\n"
    "{ s[0] = 1; target[0] = s[0]; }\n"
    "constant uint least [[function_constant(0)]];\n"
    "kernel void limited(device uint *target [[buffer(0)]]) { target[0] += least; }\n"
    "struct arguments { const device uint *source [[id(0)]]; device uint *target [[id(1)]];\n"
    "                   uint value [[id(2)]]; };\n"
    "kernel void through(constant arguments &a [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{ a.target[i] = a.source[i] + a.value; }\n";

static id<MTLLibrary> library;

static id<MTLComputePipelineState> pipeline(struct bench *bench, NSString *name) NS_RETURNS_RETAINED
{
    const id<MTLFunction> function = [library newFunctionWithName:name];
    const id<MTLComputePipelineState> result =
        [bench->device newComputePipelineStateWithFunction:function error:NULL];
    [function release];
    return result;
}

void bench_begin(struct bench *bench)
{
    bench->device = MTLCreateSystemDefaultDevice();
    bench->queue = [bench->device newCommandQueue];
    library = [bench->device newLibraryWithSource:[NSString stringWithUTF8String:kernels]
                                          options:nil
                                            error:NULL];
    bench->function = [library newFunctionWithName:@"through"];
    bench->add = pipeline(bench, @"add");
    bench->twice = pipeline(bench, @"twice");
    bench->through = pipeline(bench, @"through");
    bench->shared = [bench->device newBufferWithLength:BENCH_BYTES options:0];
    bench->private = [bench->device newBufferWithLength:BENCH_BYTES
                                                options:MTLResourceStorageModePrivate];
    bench->managed = [bench->device newBufferWithLength:BENCH_BYTES
                                                options:MTLResourceStorageModeManaged];
    bench->shared.label = @"shared";
    bench->private.label = @"private";
    bench->commands = [[bench->queue commandBuffer] retain];
    if (!library || !bench->shared || !bench->private || !bench->managed) {
        fprintf(stderr, "the bench cannot be set up\n");
        _Exit(126);
    }
}

void bench_end(struct bench *bench)
{
    [bench->commands release];
    [bench->add release];
    [bench->twice release];
    [bench->through release];
    [bench->shared release];
    [bench->private release];
    [bench->managed release];
    [bench->function release];
    [library release];
    [bench->queue release];
    [bench->device release];
}

id<MTLBlitCommandEncoder> bench_blit(struct bench *bench)
{
    bench_begin(bench);
    return [bench->commands blitCommandEncoder];
}

id<MTLComputeCommandEncoder> bench_compute(struct bench *bench)
{
    bench_begin(bench);
    const id<MTLComputeCommandEncoder> compute =
        [bench->commands computeCommandEncoderWithDispatchType:MTLDispatchTypeConcurrent];
    [compute setComputePipelineState:bench->add];
    [compute setBuffer:bench->shared offset:0 atIndex:0];
    [compute setBuffer:bench->private offset:0 atIndex:1];
    return compute;
}

void bench_dispatch(id<MTLComputeCommandEncoder> compute, const struct bench *bench,
                    id<MTLBuffer> target, bool add)
{
    const uint32_t three = 3;
    [compute setComputePipelineState:add ? bench->add : bench->twice];
    [compute setBuffer:target offset:0 atIndex:0];
    [compute setBytes:&three length:4 atIndex:1];
    [compute dispatchThreadgroups:MTLSizeMake(BENCH_BYTES / 4 / 32, 1, 1)
            threadsPerThreadgroup:MTLSizeMake(32, 1, 1)];
}

static const MTLSize one = {1, 1, 1}, group = {32, 1, 1};

/* clang-format off */
PLANT_ON(blit_out_of_range, blit, [e fillBuffer:bench.shared range:NSMakeRange(4092, 8) value:0])
PLANT_ON(blit_far_out_of_range, blit, [e fillBuffer:bench.shared range:NSMakeRange(8, NSUIntegerMax - 3) value:0])
PLANT_ON(fill_unaligned, blit, [e fillBuffer:bench.shared range:NSMakeRange(2, 4) value:0])
PLANT_ON(copy_unaligned, blit, [e copyFromBuffer:bench.shared sourceOffset:0 toBuffer:bench.private destinationOffset:0 size:7])
PLANT_ON(copy_overlaps, blit, [e copyFromBuffer:bench.shared sourceOffset:0 toBuffer:bench.shared destinationOffset:16 size:20])
PLANT_ON(fill_nothing, blit, [e fillBuffer:bench.shared range:NSMakeRange(4, 0) value:0])
PLANT_ON(copy_from_nil, blit, [e copyFromBuffer:(id _Nonnull)nil sourceOffset:0 toBuffer:bench.shared destinationOffset:0 size:4])
PLANT_ON(synchronize_shared, blit, [e synchronizeResource:bench.shared])
PLANT_ON(sample_in_blit, blit, [e sampleCountersInBuffer:(id _Nonnull)nil atSampleIndex:0 withBarrier:NO])
PLANT_ON(blit_after_end, blit, [e endEncoding]; [e fillBuffer:bench.shared range:NSMakeRange(0, 4) value:0])
PLANT_ON(end_twice, blit, [e endEncoding]; [e endEncoding])
PLANT_ON(encoder_debug_group_open, blit, [e pushDebugGroup:@"a"]; [e endEncoding])
PLANT_ON(debug_group_not_open, blit, [e popDebugGroup])

PLANT_ON(index_too_large, compute, [e setBuffer:bench.shared offset:0 atIndex:31])
PLANT_ON(offset_too_large, compute, [e setBuffer:bench.shared offset:BENCH_BYTES atIndex:0])
PLANT_ON(offset_unaligned, compute, [e setBuffer:bench.shared offset:6 atIndex:0]; [e dispatchThreadgroups:one threadsPerThreadgroup:group])
PLANT_ON(offset_without_buffer, compute, [e setBufferOffset:0 atIndex:5])
PLANT_ON(bytes_too_many, compute, char bytes[4097] = {0}; [e setBytes:bytes length:sizeof bytes atIndex:0])
PLANT_ON(bytes_none, compute, [e setBytes:"" length:0 atIndex:0])
PLANT_ON(no_pipeline, compute, [e endEncoding]; [[bench.commands computeCommandEncoder] dispatchThreadgroups:one threadsPerThreadgroup:one])
PLANT_ON(no_buffer, compute, [e setBuffer:nil offset:0 atIndex:1]; [e dispatchThreadgroups:one threadsPerThreadgroup:one])
PLANT_ON(group_too_large, compute, [e dispatchThreadgroups:one threadsPerThreadgroup:MTLSizeMake(32, 33, 1)])
PLANT_ON(group_empty, compute, [e dispatchThreadgroups:one threadsPerThreadgroup:MTLSizeMake(32, 0, 1)])
PLANT_ON(grid_empty, compute, [e dispatchThreadgroups:MTLSizeMake(0, 1, 1) threadsPerThreadgroup:group])
PLANT_ON(grid_too_large, compute, [e dispatchThreadgroups:MTLSizeMake(1ul << 32, 1, 1) threadsPerThreadgroup:group])
PLANT_ON(partial_group, compute, [e dispatchThreads:MTLSizeMake(33, 1, 1) threadsPerThreadgroup:group])
PLANT_ON(indirect_unaligned, compute, [e dispatchThreadgroupsWithIndirectBuffer:bench.shared indirectBufferOffset:2 threadsPerThreadgroup:group])
PLANT_ON(indirect_out_of_range, compute, [e dispatchThreadgroupsWithIndirectBuffer:bench.shared indirectBufferOffset:BENCH_BYTES - 8 threadsPerThreadgroup:group])
PLANT_ON(group_memory_unaligned, compute, [e setThreadgroupMemoryLength:20 atIndex:0])
PLANT_ON(group_memory_too_large, compute, [e setThreadgroupMemoryLength:65536 atIndex:0])
PLANT_ON(group_memory_missing, compute, [e setComputePipelineState:[pipeline(&bench, @"shared") autorelease]]; [e dispatchThreadgroups:one threadsPerThreadgroup:group])
PLANT_ON(usage_none, compute, [e useResource:bench.shared usage:0])
PLANT_ON(usage_unknown, compute, [e useResource:bench.shared usage:MTLResourceUsageRead | 8])
PLANT_ON(scope_none, compute, [e memoryBarrierWithScope:0])
PLANT_ON(barrier_without_resources, compute, [e memoryBarrierWithResources:&bench.shared count:0])
PLANT_ON(sample_in_compute, compute, [e sampleCountersInBuffer:(id _Nonnull)nil atSampleIndex:0 withBarrier:YES])
PLANT_ON(wait_after_update, compute, const id<MTLFence> fence = [bench.device newFence]; [e updateFence:fence]; [e waitForFence:fence])
PLANT_ON(second_encoder, compute, [bench.commands blitCommandEncoder])
PLANT_ON(event_inside_encoder, compute, [bench.commands encodeSignalEvent:[bench.device newEvent] value:1])
PLANT_ON(commit_with_encoder, compute, [bench.commands commit])
/* clang-format on */

static bool multiple_not_kept(void)
{
    struct bench bench;
    const id<MTLComputeCommandEncoder> compute = bench_compute(&bench);
    MTLComputePipelineDescriptor *const descriptor = [[MTLComputePipelineDescriptor alloc] init];
    descriptor.computeFunction = [[library newFunctionWithName:@"twice"] autorelease];
    descriptor.threadGroupSizeIsMultipleOfThreadExecutionWidth = YES;
    [compute setComputePipelineState:[bench.device newComputePipelineStateWithDescriptor:descriptor
                                                                                 options:0
                                                                              reflection:NULL
                                                                                   error:NULL]];
    [compute dispatchThreadgroups:one threadsPerThreadgroup:MTLSizeMake(33, 1, 1)];
    return false;
}

static bool pipeline_limit(void)
{
    struct bench bench;
    const id<MTLComputeCommandEncoder> compute = bench_compute(&bench);
    MTLComputePipelineDescriptor *const descriptor = [[MTLComputePipelineDescriptor alloc] init];
    descriptor.computeFunction = [[library newFunctionWithName:@"twice"] autorelease];
    descriptor.maxTotalThreadsPerThreadgroup = 64;
    [compute setComputePipelineState:[bench.device newComputePipelineStateWithDescriptor:descriptor
                                                                                 options:0
                                                                              reflection:NULL
                                                                                   error:NULL]];
    [compute dispatchThreadgroups:one threadsPerThreadgroup:MTLSizeMake(65, 1, 1)];
    return false;
}

static bool encoder_dropped(void)
{
    struct bench bench;
    bench_begin(&bench);
    @autoreleasepool {
        [bench.commands blitCommandEncoder];
    }
    return false;
}

static bool commit_twice(void)
{
    struct bench bench;
    bench_begin(&bench);
    [bench.commands commit];
    [bench.commands commit];
    return false;
}

static bool encode_after_commit(void)
{
    struct bench bench;
    bench_begin(&bench);
    [bench.commands commit];
    [bench.commands computeCommandEncoder];
    return false;
}

static bool handler_after_commit(void)
{
    struct bench bench;
    bench_begin(&bench);
    [bench.commands commit];
    [bench.commands addCompletedHandler:^(id<MTLCommandBuffer> buffer) {
      (void)buffer;
    }];
    return false;
}

static bool enqueue_twice(void)
{
    struct bench bench;
    bench_begin(&bench);
    [bench.commands enqueue];
    [bench.commands enqueue];
    return false;
}

static bool wait_before_commit(void)
{
    struct bench bench;
    bench_begin(&bench);
    [bench.commands waitUntilCompleted];
    return false;
}

static bool debug_group_left_open(void)
{
    struct bench bench;
    bench_begin(&bench);
    [bench.commands pushDebugGroup:@"a"];
    [bench.commands commit];
    return false;
}

static bool queue_for_nothing(void)
{
    struct bench bench;
    bench_begin(&bench);
    [bench.device newCommandQueueWithMaxCommandBufferCount:0];
    return false;
}

static bool queue_full(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLCommandQueue> queue = [bench.device newCommandQueueWithMaxCommandBufferCount:2];
    for (int i = 0; i < 3; i++)
        [[queue commandBuffer] retain];
    return false;
}

static bool wrong_device(void)
{
    struct bench bench;
    const id<MTLComputeCommandEncoder> compute = bench_compute(&bench);
    const id<MTLDevice> other = [MTLCopyAllDevices() objectAtIndex:1];
    [compute setBuffer:[other newBufferWithLength:16 options:0] offset:0 atIndex:0];
    return false;
}

static bool stop_without_capture(void)
{
    [[MTLCaptureManager sharedCaptureManager] stopCapture];
    return false;
}

static bool scope_ended_twice(void)
{
    struct bench bench;
    bench_begin(&bench);
    [[[MTLCaptureManager sharedCaptureManager] newCaptureScopeWithDevice:bench.device] endScope];
    return false;
}

static bool argument_of_wrong_kind(void)
{
    struct bench bench;
    bench_begin(&bench);
    const id<MTLArgumentEncoder> encoder = [bench.function newArgumentEncoderWithBufferIndex:0];
    [encoder setArgumentBuffer:bench.shared offset:0];
    [encoder setBuffer:bench.shared offset:0 atIndex:2];
    return false;
}

static bool argument_without_buffer(void)
{
    struct bench bench;
    bench_begin(&bench);
    [[bench.function newArgumentEncoderWithBufferIndex:0] setBuffer:bench.shared
                                                             offset:0
                                                            atIndex:0];
    return false;
}

static bool argument_buffer_unaligned(void)
{
    struct bench bench;
    bench_begin(&bench);
    [[bench.function newArgumentEncoderWithBufferIndex:0] setArgumentBuffer:bench.shared offset:8];
    return false;
}

static bool constant_of_unknown_type(void)
{
    const float value[16] = {0};
    [[[MTLFunctionConstantValues alloc] init] setConstantValue:value
                                                          type:MTLDataTypeStruct
                                                       atIndex:0];
    return false;
}

/* A function constant that the kernel uses without asking has no value: there is no function. */
static bool constant_without_value(void)
{
    struct bench bench;
    bench_begin(&bench);
    MTLFunctionConstantValues *const values = [[MTLFunctionConstantValues alloc] init];
    const id<MTLFunction> function = [library newFunctionWithName:@"limited"
                                                   constantValues:values
                                                            error:NULL];
    [bench.device newComputePipelineStateWithFunction:function error:NULL];
    return false;
}

/* A function with constants that was never specialized: there is no pipeline. */
static bool function_not_specialized(void)
{
    struct bench bench;
    const id<MTLComputeCommandEncoder> encoder = bench_compute(&bench);
    [encoder setComputePipelineState:pipeline(&bench, @"limited")];
    return false;
}

const struct planted planted_calls[] = {
    {"constant without a value", "argument-is-nil: newComputePipelineState", NULL,
     constant_without_value},
    {"function that is not specialized", "argument-is-nil: setComputePipelineState", NULL,
     function_not_specialized},
    {"fill beyond the end", "range-out-of-bounds", NULL, blit_out_of_range},
    {"fill of a range that wraps", "range-out-of-bounds", NULL, blit_far_out_of_range},
    {"fill at an odd offset", "blit-alignment", NULL, fill_unaligned},
    {"copy of an odd size", "blit-alignment", NULL, copy_unaligned},
    {"copy onto itself", "blit-overlap", NULL, copy_overlaps},
    {"fill of nothing", "blit-empty", NULL, fill_nothing},
    {"copy from nil", "argument-is-nil", NULL, copy_from_nil},
    {"synchronize a shared buffer", "storage-mode", NULL, synchronize_shared},
    {"sample inside a blit encoder", "counter-sampling", NULL, sample_in_blit},
    {"blit after endEncoding", "encoder-ended", NULL, blit_after_end},
    {"endEncoding twice", "encoder-ended", NULL, end_twice},
    {"encoder ends in a debug group", "debug-groups", NULL, encoder_debug_group_open},
    {"pop without push", "debug-groups", NULL, debug_group_not_open},
    {"buffer index 31", "index-out-of-range", NULL, index_too_large},
    {"bind behind the end", "range-out-of-bounds", NULL, offset_too_large},
    {"bind at an odd offset", "binding-alignment", NULL, offset_unaligned},
    {"offset without a buffer", "buffer-missing", NULL, offset_without_buffer},
    {"setBytes of 4097 bytes", "set-bytes-size", NULL, bytes_too_many},
    {"setBytes of nothing", "set-bytes-size", NULL, bytes_none},
    {"dispatch without a pipeline", "pipeline-missing", NULL, no_pipeline},
    {"dispatch without a buffer", "buffer-missing", NULL, no_buffer},
    {"threadgroup of 1056 threads", "threadgroup-too-large", NULL, group_too_large},
    {"threadgroup beyond its pipeline's limit", "threadgroup-too-large", NULL, pipeline_limit},
    {"threadgroup of nothing", "threadgroup-empty", NULL, group_empty},
    {"threadgroup not a multiple", "threadgroup-not-multiple", NULL, multiple_not_kept},
    {"grid of nothing", "grid-empty", NULL, grid_empty},
    {"grid of 2^32 groups", "grid-too-large", NULL, grid_too_large},
    {"partial threadgroup", "host-limit", NULL, partial_group},
    {"indirect arguments at an odd offset", "binding-alignment", NULL, indirect_unaligned},
    {"indirect arguments beyond the end", "range-out-of-bounds", NULL, indirect_out_of_range},
    {"threadgroup memory of 20 bytes", "threadgroup-memory", NULL, group_memory_unaligned},
    {"threadgroup memory of 64 KiB", "threadgroup-memory", NULL, group_memory_too_large},
    {"threadgroup memory missing", "threadgroup-memory", NULL, group_memory_missing},
    {"useResource for nothing", "resource-usage", NULL, usage_none},
    {"useResource with an unknown usage", "resource-usage", NULL, usage_unknown},
    {"barrier of no scope", "barrier-scope", NULL, scope_none},
    {"barrier of no resources", "barrier-scope", NULL, barrier_without_resources},
    {"sample inside a compute encoder", "counter-sampling", NULL, sample_in_compute},
    {"wait for one's own fence", "fence-wait-after-update", NULL, wait_after_update},
    {"second encoder", "encoder-open", NULL, second_encoder},
    {"event inside an encoder", "encoder-open", NULL, event_inside_encoder},
    {"commit with an open encoder", "encoder-not-ended", NULL, commit_with_encoder},
    {"encoder dropped", "encoder-not-ended", NULL, encoder_dropped},
    {"commit twice", "commit-twice", NULL, commit_twice},
    {"encode after commit", "already-committed", NULL, encode_after_commit},
    {"handler after commit", "already-committed", NULL, handler_after_commit},
    {"enqueue twice", "already-enqueued", NULL, enqueue_twice},
    {"wait before commit", "wait-before-commit", NULL, wait_before_commit},
    {"commit in a debug group", "debug-groups", NULL, debug_group_left_open},
    {"queue for no command buffers", "command-queue-limit", NULL, queue_for_nothing},
    {"queue full of idle command buffers", "command-queue-full", "timeout=1", queue_full},
    {"buffer of another device", "wrong-device", "devices=2", wrong_device},
    {"stop without a capture", "capture-not-running", NULL, stop_without_capture},
    {"capture scope ended twice", "capture-scope", NULL, scope_ended_twice},
    {"argument of another kind", "argument-encoder", NULL, argument_of_wrong_kind},
    {"argument before its buffer", "argument-encoder", NULL, argument_without_buffer},
    {"argument buffer at offset 8", "argument-buffer-alignment", NULL, argument_buffer_unaligned},
    {"constant of type struct", "function-constant", NULL, constant_of_unknown_type},
    {.name = NULL},
};
