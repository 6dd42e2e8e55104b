/* SPDX-License-Identifier: Apache-2.0 */
/* What each call that the Metal driver makes refuses: a bug per call and rule, for rules that
 * several calls share. The message has to begin with the call. */
#import "hal/host_metal/tests/planted.h"

static const MTLSize one = {1, 1, 1};

static id<MTLDevice> other(void)
{
    return [MTLCopyAllDevices() objectAtIndex:1];
}

static id<MTLBuffer> theirs(void)
{
    return [other() newBufferWithLength:64 options:0];
}

static id<MTLComputePipelineState> their_pipeline(void)
{
    const id<MTLLibrary> library = [other() newLibraryWithSource:@"kernel void k() {}"
                                                         options:nil
                                                           error:NULL];
    return [other() newComputePipelineStateWithFunction:[library newFunctionWithName:@"k"]
                                                  error:NULL];
}

static void copy(id<MTLBlitCommandEncoder> e, id<MTLBuffer> source, NSUInteger source_offset,
                 id<MTLBuffer> target, NSUInteger target_offset, NSUInteger bytes)
{
    [e copyFromBuffer:source
             sourceOffset:source_offset
                 toBuffer:target
        destinationOffset:target_offset
                     size:bytes];
}

static void dispatch(id<MTLComputeCommandEncoder> e)
{
    [e dispatchThreadgroups:one threadsPerThreadgroup:one];
}

static void indirect(id<MTLComputeCommandEncoder> e, id<MTLBuffer> counts)
{
    [e dispatchThreadgroupsWithIndirectBuffer:counts
                         indirectBufferOffset:0
                        threadsPerThreadgroup:one];
}

static id<MTLCommandBuffer> bench_commands(struct bench *bench)
{
    bench_begin(bench);
    return bench->commands;
}
#define MTL_commands MTLCommandBuffer

static void listen(id<MTLSharedEvent> event, MTLSharedEventListener *listener)
{
    [event notifyListener:listener
                  atValue:1
                    block:^(id<MTLSharedEvent> sender, uint64_t value) {
                      (void)sender, (void)value;
                    }];
}

#define NIL       ((id _Nonnull)nil)
#define SHARED    bench.shared
#define RANGE     NSMakeRange(0, 4)
#define END       [e endEncoding]
#define DEVICES_2 "devices=2"

/* X(name, rule and call, modes, encoder, statements) */
/* clang-format off */
#define BUGS(X) \
    X(open_blit_nil, "encoder-ended: fillBuffer", NULL, blit, END; [e fillBuffer:SHARED range:RANGE value:0]) \
    X(fill_nil, "argument-is-nil: fillBuffer", NULL, blit, [e fillBuffer:NIL range:RANGE value:0]) \
    X(fill_device, "wrong-device: fillBuffer", DEVICES_2, blit, [e fillBuffer:theirs() range:RANGE value:0]) \
    X(fill_size, "blit-alignment: fillBuffer", NULL, blit, [e fillBuffer:SHARED range:NSMakeRange(0, 5) value:0]) \
    X(copy_ended, "encoder-ended: copyFromBuffer", NULL, blit, END; copy(e, SHARED, 0, bench.private, 0, 4)) \
    X(copy_to_nil, "argument-is-nil: copyFromBuffer", NULL, blit, copy(e, SHARED, 0, NIL, 0, 4)) \
    X(copy_from_device, "wrong-device: copyFromBuffer", DEVICES_2, blit, copy(e, theirs(), 0, SHARED, 0, 4)) \
    X(copy_to_device, "wrong-device: copyFromBuffer", DEVICES_2, blit, copy(e, SHARED, 0, theirs(), 0, 4)) \
    X(copy_nothing, "blit-empty: copyFromBuffer", NULL, blit, copy(e, SHARED, 0, bench.private, 0, 0)) \
    X(copy_source_end, "range-out-of-bounds: copyFromBuffer", NULL, blit, copy(e, SHARED, BENCH_BYTES - 4, bench.private, 0, 8)) \
    X(copy_target_end, "range-out-of-bounds: copyFromBuffer", NULL, blit, copy(e, SHARED, 0, bench.private, BENCH_BYTES - 4, 8)) \
    X(copy_source_odd, "blit-alignment: copyFromBuffer", NULL, blit, copy(e, SHARED, 2, bench.private, 0, 4)) \
    X(copy_target_odd, "blit-alignment: copyFromBuffer", NULL, blit, copy(e, SHARED, 0, bench.private, 2, 4)) \
    X(synchronize_ended, "encoder-ended: synchronizeResource", NULL, blit, END; [e synchronizeResource:bench.managed]) \
    X(synchronize_nil, "argument-is-nil: synchronizeResource", NULL, blit, [e synchronizeResource:NIL]) \
    X(synchronize_device, "wrong-device: synchronizeResource", DEVICES_2, blit, [e synchronizeResource:theirs()]) \
    X(synchronize_private, "storage-mode: synchronizeResource", NULL, blit, [e synchronizeResource:bench.private]) \
    X(wait_ended, "encoder-ended: waitForFence", NULL, blit, END; [e waitForFence:[bench.device newFence]]) \
    X(wait_nil, "argument-is-nil: waitForFence", NULL, compute, [e waitForFence:NIL]) \
    X(wait_device, "wrong-device: waitForFence", DEVICES_2, compute, [e waitForFence:[other() newFence]]) \
    X(update_ended, "encoder-ended: updateFence", NULL, compute, END; [e updateFence:[bench.device newFence]]) \
    X(update_nil, "argument-is-nil: updateFence", NULL, blit, [e updateFence:NIL]) \
    X(update_device, "wrong-device: updateFence", DEVICES_2, blit, [e updateFence:[other() newFence]]) \
    X(pipeline_ended, "encoder-ended: setComputePipelineState", NULL, compute, END; [e setComputePipelineState:bench.twice]) \
    X(pipeline_nil, "argument-is-nil: setComputePipelineState", NULL, compute, [e setComputePipelineState:NIL]) \
    X(pipeline_device, "wrong-device: setComputePipelineState", DEVICES_2, compute, [e setComputePipelineState:their_pipeline()]) \
    X(buffer_ended, "encoder-ended: setBuffer", NULL, compute, END; [e setBuffer:SHARED offset:0 atIndex:0]) \
    X(buffer_index, "index-out-of-range: setBuffer", NULL, compute, [e setBuffer:SHARED offset:0 atIndex:31]) \
    X(buffer_end, "range-out-of-bounds: setBuffer", NULL, compute, [e setBuffer:SHARED offset:BENCH_BYTES + 4 atIndex:0]) \
    X(buffer_device, "wrong-device: setBuffer", DEVICES_2, compute, [e setBuffer:theirs() offset:0 atIndex:0]) \
    X(offset_missing, "buffer-missing: setBufferOffset", NULL, compute, [e setBufferOffset:0 atIndex:5]) \
    X(offset_end, "range-out-of-bounds: setBufferOffset", NULL, compute, [e setBufferOffset:BENCH_BYTES atIndex:0]) \
    X(offset_index, "index-out-of-range: setBufferOffset", NULL, compute, [e setBufferOffset:0 atIndex:31]) \
    X(bytes_ended, "encoder-ended: setBytes", NULL, compute, END; [e setBytes:&one length:4 atIndex:0]) \
    X(bytes_index, "index-out-of-range: setBytes", NULL, compute, [e setBytes:&one length:4 atIndex:31]) \
    X(memory_ended, "encoder-ended: setThreadgroupMemoryLength", NULL, compute, END; [e setThreadgroupMemoryLength:16 atIndex:0]) \
    X(memory_index, "index-out-of-range: setThreadgroupMemoryLength", NULL, compute, [e setThreadgroupMemoryLength:16 atIndex:31]) \
    X(use_ended, "encoder-ended: useResource", NULL, compute, END; [e useResource:SHARED usage:MTLResourceUsageRead]) \
    X(use_nil, "argument-is-nil: useResource", NULL, compute, [e useResource:NIL usage:MTLResourceUsageRead]) \
    X(use_device, "wrong-device: useResource", DEVICES_2, compute, [e useResource:theirs() usage:MTLResourceUsageRead]) \
    X(barrier_ended, "encoder-ended: memoryBarrierWithScope", NULL, compute, END; [e memoryBarrierWithScope:MTLBarrierScopeBuffers]) \
    X(dispatch_ended, "encoder-ended: dispatchThreadgroups:", NULL, compute, END; dispatch(e)) \
    X(dispatch_buffer, "buffer-missing: dispatchThreadgroups:", NULL, compute, [e setBuffer:nil offset:0 atIndex:0]; dispatch(e)) \
    X(dispatch_offset, "binding-alignment: dispatchThreadgroups:", NULL, compute, [e setBuffer:SHARED offset:2 atIndex:0]; dispatch(e)) \
    X(indirect_ended, "encoder-ended: dispatchThreadgroupsWithIndirectBuffer", NULL, compute, END; indirect(e, SHARED)) \
    X(indirect_nil, "argument-is-nil: dispatchThreadgroupsWithIndirectBuffer", NULL, compute, indirect(e, NIL)) \
    X(indirect_device, "wrong-device: dispatchThreadgroupsWithIndirectBuffer", DEVICES_2, compute, indirect(e, theirs())) \
    X(indirect_pipeline, "pipeline-missing: dispatchThreadgroupsWithIndirectBuffer", NULL, compute, END; indirect([bench.commands computeCommandEncoder], SHARED)) \
    X(indirect_buffer, "buffer-missing: dispatchThreadgroupsWithIndirectBuffer", NULL, compute, [e setBuffer:nil offset:0 atIndex:0]; indirect(e, SHARED)) \
    X(push_nil, "argument-is-nil: pushDebugGroup", NULL, compute, [e pushDebugGroup:NIL]) \
    X(push_ended, "encoder-ended: pushDebugGroup", NULL, compute, END; [e pushDebugGroup:@"a"]) \
    X(pop_ended, "encoder-ended: popDebugGroup", NULL, compute, END; [e popDebugGroup]) \
    X(wait_event_nil, "argument-is-nil: encodeWaitForEvent", NULL, commands, [e encodeWaitForEvent:NIL value:1]) \
    X(wait_event_device, "wrong-device: encodeWaitForEvent", DEVICES_2, commands, [e encodeWaitForEvent:[other() newSharedEvent] value:1]) \
    X(wait_event_open, "encoder-open: encodeWaitForEvent", NULL, blit, [bench.commands encodeWaitForEvent:[bench.device newSharedEvent] value:1]) \
    X(wait_event_late, "already-committed: encodeWaitForEvent", NULL, commands, [e commit]; [e encodeWaitForEvent:[bench.device newSharedEvent] value:1]) \
    X(signal_event_nil, "argument-is-nil: encodeSignalEvent", NULL, commands, [e encodeSignalEvent:NIL value:1]) \
    X(signal_event_device, "wrong-device: encodeSignalEvent", DEVICES_2, commands, [e encodeSignalEvent:[other() newSharedEvent] value:1]) \
    X(signal_event_late, "already-committed: encodeSignalEvent", NULL, commands, [e commit]; [e encodeSignalEvent:[bench.device newSharedEvent] value:1]) \
    X(blit_late, "already-committed: blitCommandEncoder", NULL, commands, [e commit]; [e blitCommandEncoder]) \
    X(compute_open, "encoder-open: computeCommandEncoder", NULL, blit, [bench.commands computeCommandEncoder]) \
    X(compute_pass_nil, "argument-is-nil: computeCommandEncoderWithDescriptor", NULL, commands, [e computeCommandEncoderWithDescriptor:NIL]) \
    X(wait_too_early, "wait-before-commit: waitUntilCompleted", NULL, commands, [e waitUntilCompleted]) \
    X(handler_too_late, "already-committed: addCompletedHandler", NULL, commands, [e commit]; [e addCompletedHandler:^(id<MTLCommandBuffer> done) { (void)done; }]) \
    X(sample_nil, "argument-is-nil: sampleCountersInBuffer", "dispatchcounters", compute, [e sampleCountersInBuffer:NIL atSampleIndex:0 withBarrier:YES]) \
    X(value_of_event, "event-not-shared: signaledValue", NULL, commands, (void)((id<MTLSharedEvent>)[bench.device newEvent]).signaledValue) \
    X(listen_to_event, "event-not-shared: notifyListener", NULL, commands, listen((id<MTLSharedEvent>)[bench.device newEvent], [[MTLSharedEventListener alloc] init])) \
    X(listen_to_nobody, "argument-is-nil: notifyListener", NULL, commands, listen([bench.device newSharedEvent], NIL)) \
    X(listener_without_queue, "argument-is-nil: initWithDispatchQueue", NULL, commands, [[MTLSharedEventListener alloc] initWithDispatchQueue:NIL]) \
    X(set_event_back, "event-value-lowered: setSignaledValue", NULL, commands, const id<MTLSharedEvent> event = [bench.device newSharedEvent]; event.signaledValue = 2; event.signaledValue = 1) \
    X(modify_beyond, "range-out-of-bounds: didModifyRange", NULL, commands, [bench.managed didModifyRange:NSMakeRange(BENCH_BYTES - 4, 8)]) \
    X(modify_shared, "storage-mode: didModifyRange", NULL, commands, [SHARED didModifyRange:RANGE]) \
    X(contents_private, "storage-mode: contents", NULL, commands, (void)bench.private.contents) \
    X(buffer_of_nothing, "empty-buffer: newBufferWithLength", NULL, commands, [bench.device newBufferWithLength:0 options:0]) \
    X(lent_unaligned, "no-copy-alignment: newBufferWithBytesNoCopy", NULL, commands, [bench.device newBufferWithBytesNoCopy:(void *)64 length:4096 options:0 deallocator:nil]) \
    X(lent_private, "storage-mode: newBufferWithBytesNoCopy", NULL, commands, [bench.device newBufferWithBytesNoCopy:(void *)4096 length:4096 options:MTLResourceStorageModePrivate deallocator:nil]) \
    X(heap_nil, "argument-is-nil: newHeapWithDescriptor", NULL, commands, [bench.device newHeapWithDescriptor:NIL]) \
    X(samples_nil, "argument-is-nil: newCounterSampleBufferWithDescriptor", NULL, commands, [bench.device newCounterSampleBufferWithDescriptor:NIL error:NULL]) \
    X(source_nil, "argument-is-nil: newLibraryWithSource", NULL, commands, [bench.device newLibraryWithSource:NIL options:nil error:NULL]) \
    X(data_nil, "argument-is-nil: newLibraryWithData", NULL, commands, [bench.device newLibraryWithData:NIL error:NULL]) \
    X(capture_nil, "argument-is-nil: startCaptureWithDescriptor", NULL, commands, [[MTLCaptureManager sharedCaptureManager] startCaptureWithDescriptor:NIL error:NULL])

#define DEFINE(name, rule, modes, kind, ...) PLANT_ON(name, kind, __VA_ARGS__)
#define LIST(name, rule, modes, kind, ...) {#name, rule, modes, name},
BUGS(DEFINE)
const struct planted planted_driver[] = {BUGS(LIST) {.name = NULL}};
/* clang-format on */
