/* SPDX-License-Identifier: Apache-2.0 */
/* Compute encoders: bindings, and everything that a dispatch can do wrong. */
#import "hal/host_metal/metal.h"

@interface HMEncoder ()
- (void)hm_cannotSample:(const char *)call;
@end

@implementation HMComputeEncoder
- (MTLDispatchType)dispatchType
{
    return _type;
}
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state
{
    [self hm_checkOpen:"setComputePipelineState"];
    hm_check(state != nil, "argument-is-nil", "setComputePipelineState: nil");
    HMPipeline *const pipeline = (HMPipeline *)state;
    hm_check_device(pipeline, _device, "setComputePipelineState");
    [pipeline retain];
    [_pipeline release];
    _pipeline = pipeline;
}

/* ---- Bindings ----------------------------------------------------------------------------- */

- (void)hm_checkIndex:(NSUInteger)index call:(const char *)call
{
    [self hm_checkOpen:call];
    hm_check(index < MSL_MAX_BUFFERS, "index-out-of-range", "%s: index %lu, the last one is %d",
             call, index, MSL_MAX_BUFFERS - 1);
}
- (void)hm_checkOffset:(NSUInteger)offset of:(HMBuffer *)buffer call:(const char *)call
{
    hm_check(offset < buffer->_length, "range-out-of-bounds",
             "%s: offset %lu of %s, which has %lu bytes", call, offset, hm_name(buffer),
             buffer->_length);
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index
{
    static const char call[] = "setBuffer:offset:atIndex:";
    [self hm_checkIndex:index call:call];
    HMBuffer *const bound = (HMBuffer *)buffer;
    if (bound) {
        hm_check_device(bound, _device, call);
        [self hm_checkOffset:offset of:bound call:call];
    }
    [bound retain];
    [_bindings[index].buffer release];
    _bindings[index] = (struct hm_binding){.buffer = bound, .offset = offset};
}
- (void)setBuffers:(const id<MTLBuffer> *)buffers
           offsets:(const NSUInteger *)offsets
         withRange:(NSRange)range
{
    for (NSUInteger i = 0; i < range.length; i++)
        [self setBuffer:buffers[i] offset:offsets[i] atIndex:range.location + i];
}
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index
{
    static const char call[] = "setBufferOffset:atIndex:";
    [self hm_checkIndex:index call:call];
    hm_check(_bindings[index].buffer, "buffer-missing", "%s: no buffer is bound at %lu", call,
             index);
    [self hm_checkOffset:offset of:_bindings[index].buffer call:call];
    _bindings[index].offset = offset;
}
- (void)setBytes:(const void *)bytes length:(NSUInteger)length atIndex:(NSUInteger)index
{
    static const char call[] = "setBytes:length:atIndex:";
    [self hm_checkIndex:index call:call];
    hm_check(bytes && length > 0, "set-bytes-size", "%s: no bytes", call);
    hm_check(length <= HM_MAX_SET_BYTES, "set-bytes-size",
             "%s: %lu bytes, the limit is %d: use a buffer", call, length, HM_MAX_SET_BYTES);
    void *const copy = host_metal_allocate((length + 15) & ~(NSUInteger)15);
    memcpy(copy, bytes, length);
    hm_grow((void **)&_step->blocks, _step->block_count, &_step->block_capacity,
            sizeof *_step->blocks);
    _step->blocks[_step->block_count++] = copy;
    [_bindings[index].buffer release];
    _bindings[index] = (struct hm_binding){.bytes = copy};
}
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index
{
    static const char call[] = "setThreadgroupMemoryLength:atIndex:";
    [self hm_checkIndex:index call:call];
    hm_check(length % 16 == 0, "threadgroup-memory", "%s: %lu is not a multiple of 16", call,
             length);
    hm_check(length <= MSL_MAX_GROUP_MEMORY_BYTES, "threadgroup-memory",
             "%s: %lu bytes, the limit is %d", call, length, MSL_MAX_GROUP_MEMORY_BYTES);
    _group_bytes[index] = (uint32_t)length;
}

/* ---- Resources that kernels reach through others ------------------------------------------ */

- (void)hm_name:(HMBuffer *)buffer access:(unsigned)access
{
    hm_add_access(&_named, buffer, access);
    [self hm_addAccess:buffer access:access command:NULL];
}
- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage
{
    static const char call[] = "useResource:usage:";
    [self hm_checkOpen:call];
    hm_check(resource != nil, "argument-is-nil", "%s: nil", call);
    hm_check_device((HMBuffer *)resource, _device, call);
    hm_check(usage & (MTLResourceUsageRead | MTLResourceUsageWrite), "resource-usage",
             "%s: usage 0x%lx of %s says neither read nor write", call, usage,
             hm_name((HMBuffer *)resource));
    hm_check(!(usage & ~(NSUInteger)(MTLResourceUsageRead | MTLResourceUsageWrite)),
             "resource-usage", "%s: usage 0x%lx is not one of buffers", call, usage);
    const unsigned access = (usage & MTLResourceUsageRead ? HM_READ : 0U) |
                            (usage & MTLResourceUsageWrite ? HM_WRITE : 0U);
    [self hm_name:(HMBuffer *)resource access:access];
}
- (void)useResources:(const id<MTLResource> *)resources
               count:(NSUInteger)count
               usage:(MTLResourceUsage)usage
{
    for (NSUInteger i = 0; i < count; i++)
        [self useResource:resources[i] usage:usage];
}
- (void)useHeap:(id<MTLHeap>)heap
{
    static const char call[] = "useHeap";
    [self hm_checkOpen:call];
    hm_check(heap != nil, "argument-is-nil", "%s: nil", call);
    hm_check_device((HMHeap *)heap, _device, call);
    [_buffer hm_use:(HMHeap *)heap];
    @autoreleasepool {
        for (HMBuffer *buffer in [(HMHeap *)heap hm_buffers])
            [self hm_name:buffer access:HM_READ]; /* to write, useResource is needed */
    }
}
- (void)useHeaps:(const id<MTLHeap> *)heaps count:(NSUInteger)count
{
    for (NSUInteger i = 0; i < count; i++)
        [self useHeap:heaps[i]];
}

/* ---- Order -------------------------------------------------------------------------------- */

- (void)memoryBarrierWithScope:(MTLBarrierScope)scope
{
    [self hm_checkOpen:"memoryBarrierWithScope"];
    hm_check(scope & (MTLBarrierScopeBuffers | MTLBarrierScopeTextures), "barrier-scope",
             "memoryBarrierWithScope: 0x%lx", scope);
    if (scope & MTLBarrierScopeBuffers)
        [self hm_command:HM_COMMAND_BARRIER];
}
- (void)memoryBarrierWithResources:(const id<MTLResource> *)resources count:(NSUInteger)count
{
    static const char call[] = "memoryBarrierWithResources:count:";
    [self hm_checkOpen:call];
    hm_check(count > 0, "barrier-scope", "%s without resources", call);
    struct hm_command *const command = [self hm_command:HM_COMMAND_BARRIER];
    for (NSUInteger i = 0; i < count; i++) {
        hm_check(resources[i] != nil, "argument-is-nil", "%s: nil", call);
        hm_add_access(&command->accesses, (HMBuffer *)resources[i], HM_READ);
        [_buffer hm_use:(HMBuffer *)resources[i]];
    }
}
- (void)waitForFence:(id<MTLFence>)fence
{
    [self hm_waitForFence:fence];
}
- (void)updateFence:(id<MTLFence>)fence
{
    [self hm_updateFence:fence];
}
- (void)sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)buffer
                 atSampleIndex:(NSUInteger)index
                   withBarrier:(BOOL)barrier
{
    [self hm_sample:buffer
              index:index
            barrier:barrier
                 at:MTLCounterSamplingPointAtDispatchBoundary
               call:"sampleCountersInBuffer (compute encoder)"];
}

/* ---- Dispatches --------------------------------------------------------------------------- */

- (void)hm_checkGroup:(MTLSize)size call:(const char *)call
{
    [self hm_checkOpen:call];
    hm_check(_pipeline, "pipeline-missing", "%s without a compute pipeline", call);
    hm_check(size.width && size.height && size.depth, "threadgroup-empty",
             "%s: a threadgroup of %lu x %lu x %lu threads", call, size.width, size.height,
             size.depth);
    const NSUInteger limit = MSL_MAX_GROUP_THREADS;
    const bool inside = size.width <= limit && size.height <= limit && size.depth <= limit;
    const NSUInteger threads = inside ? size.width * size.height * size.depth : NSUIntegerMax;
    hm_check(threads <= _pipeline->_max_threads, "threadgroup-too-large",
             "%s: a threadgroup of %lu x %lu x %lu threads, the limit of %s is %lu", call,
             size.width, size.height, size.depth, hm_name(_pipeline), _pipeline->_max_threads);
    hm_check(!_pipeline->_multiple_of_width || threads % MSL_SIMD_WIDTH == 0,
             "threadgroup-not-multiple",
             "%s: %lu threads, but %s was promised multiples of %d "
             "(threadGroupSizeIsMultipleOfThreadExecutionWidth)",
             call, threads, hm_name(_pipeline), MSL_SIMD_WIDTH);
}
- (void)hm_checkGroupMemory:(const char *)call
{
    const struct msl_function_info *const info = _pipeline->_info;
    uint64_t bytes = info->static_group_memory_bytes;
    for (uint32_t i = 0; i < MSL_MAX_THREADGROUP_ARGUMENTS; i++) {
        if (!(info->threadgroup_mask >> i & 1))
            continue;
        hm_check(_group_bytes[i] > 0, "threadgroup-memory",
                 "%s: kernel '%s' has a [[threadgroup(%u)]], but setThreadgroupMemoryLength was "
                 "not called for it",
                 call, info->name, i);
        bytes += _group_bytes[i];
    }
    hm_check(bytes <= MSL_MAX_GROUP_MEMORY_BYTES, "threadgroup-memory",
             "%s: kernel '%s' takes %" PRIu64 " bytes of threadgroup memory, the limit is %d", call,
             info->name, bytes, MSL_MAX_GROUP_MEMORY_BYTES);
}
- (void)hm_bind:(struct hm_command *)command call:(const char *)call
{
    const struct msl_function_info *const info = _pipeline->_info;
    for (uint32_t i = 0; i < MSL_MAX_BUFFERS; i++) {
        if (!(info->buffer_mask >> i & 1))
            continue;
        const struct hm_binding *const binding = &_bindings[i];
        hm_check(binding->buffer || binding->bytes, "buffer-missing",
                 "%s: kernel '%s' has a [[buffer(%u)]], but nothing is bound there", call,
                 info->name, i);
        if (binding->buffer) {
            hm_check(binding->offset % _pipeline->_alignment[i] == 0, "binding-alignment",
                     "%s: [[buffer(%u)]] of kernel '%s' is bound at offset %lu of %s, which is not "
                     "a multiple of its type's %u bytes",
                     call, i, info->name, binding->offset, hm_name(binding->buffer),
                     _pipeline->_alignment[i]);
            const unsigned access =
                info->buffer_access[i] & MSL_WRITE ? HM_READ | HM_WRITE : HM_READ;
            [self hm_addAccess:binding->buffer access:access command:command];
            command->buffers[i] = binding->buffer->_device_bytes + binding->offset;
        } else {
            command->buffers[i] = binding->bytes;
        }
    }
    /* What else it reaches is not known: all that was named so far. */
    for (size_t i = 0; i < _named.count; i++)
        hm_add_access(&command->accesses, _named.items[i].buffer, _named.items[i].access);
}
- (struct hm_command *)hm_dispatch:(MTLSize)workgroup_size call:(const char *)call
{
    [self hm_checkGroup:workgroup_size call:call];
    [self hm_checkGroupMemory:call];
    struct hm_command *const command = [self hm_command:HM_COMMAND_DISPATCH];
    uint32_t *const size = command->launch.workgroup_size;
    size[0] = (uint32_t)workgroup_size.width;
    size[1] = (uint32_t)workgroup_size.height;
    size[2] = (uint32_t)workgroup_size.depth;
    [self hm_bind:command call:call];
    command->pipeline = _pipeline;
    command->function = [_pipeline->_function hm_functionForSize:size];
    memcpy(command->group_bytes, _group_bytes, sizeof command->group_bytes);
    [_buffer hm_use:_pipeline];
    return command;
}
- (void)dispatchThreadgroups:(MTLSize)count threadsPerThreadgroup:(MTLSize)size
{
    static const char call[] = "dispatchThreadgroups:threadsPerThreadgroup:";
    hm_check(count.width && count.height && count.depth, "grid-empty",
             "%s: a grid of %lu x %lu x %lu threadgroups", call, count.width, count.height,
             count.depth);
    hm_check(count.width <= UINT32_MAX && count.height <= UINT32_MAX && count.depth <= UINT32_MAX,
             "grid-too-large", "%s: a grid of %lu x %lu x %lu threadgroups", call, count.width,
             count.height, count.depth);
    struct hm_command *const command = [self hm_dispatch:size call:call];
    command->launch.workgroup_count[0] = (uint32_t)count.width;
    command->launch.workgroup_count[1] = (uint32_t)count.height;
    command->launch.workgroup_count[2] = (uint32_t)count.depth;
}
/* Threadgroups at the edge would be smaller: hal/compiler/msl has no such launches. */
- (void)dispatchThreads:(MTLSize)threads threadsPerThreadgroup:(MTLSize)size
{
    static const char call[] = "dispatchThreads:threadsPerThreadgroup:";
    [self hm_checkGroup:size call:call];
    hm_check(threads.width % size.width == 0 && threads.height % size.height == 0 &&
                 threads.depth % size.depth == 0,
             "host-limit",
             "%s: %lu x %lu x %lu threads are not whole threadgroups of %lu x %lu x %lu, which the "
             "host emulation needs",
             call, threads.width, threads.height, threads.depth, size.width, size.height,
             size.depth);
    [self dispatchThreadgroups:MTLSizeMake(threads.width / size.width, threads.height / size.height,
                                           threads.depth / size.depth)
         threadsPerThreadgroup:size];
}
- (void)dispatchThreadgroupsWithIndirectBuffer:(id<MTLBuffer>)indirect
                          indirectBufferOffset:(NSUInteger)offset
                         threadsPerThreadgroup:(MTLSize)size
{
    static const char call[] = "dispatchThreadgroupsWithIndirectBuffer";
    HMBuffer *const buffer = (HMBuffer *)indirect;
    hm_check(buffer != nil, "argument-is-nil", "%s: nil", call);
    hm_check_device(buffer, _device, call);
    [buffer hm_checkRange:NSMakeRange(offset, sizeof(MTLDispatchThreadgroupsIndirectArguments))
                     call:call];
    hm_check(offset % 4 == 0, "binding-alignment", "%s: offset %lu is not a multiple of 4", call,
             offset);
    struct hm_command *const command = [self hm_dispatch:size call:call];
    command->source = buffer;
    command->source_offset = offset;
    [self hm_addAccess:buffer access:HM_READ command:command];
}
- (void)dealloc
{
    [_pipeline release];
    for (NSUInteger i = 0; i < MSL_MAX_BUFFERS; i++)
        [_bindings[i].buffer release];
    free(_named.items);
    [super dealloc];
}
@end
