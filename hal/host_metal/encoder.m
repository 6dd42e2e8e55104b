/* SPDX-License-Identifier: Apache-2.0 */
/* What blit and compute encoders share, and blit encoders. */
#import "hal/host_metal/metal.h"

#include <stdatomic.h>

void hm_grow(void **items, size_t count, size_t *capacity, size_t item_bytes)
{
    if (count < *capacity)
        return;
    *capacity = *capacity * 2 + 8;
    *items = host_metal_reallocate(*items, *capacity * item_bytes);
}

void hm_add_access(struct hm_accesses *accesses, HMBuffer *buffer, unsigned access)
{
    for (size_t i = 0; i < accesses->count; i++)
        if (accesses->items[i].buffer == buffer) {
            accesses->items[i].access |= access;
            return;
        }
    hm_grow((void **)&accesses->items, accesses->count, &accesses->capacity,
            sizeof *accesses->items);
    accesses->items[accesses->count++] = (struct hm_access){buffer, access};
}

void hm_step_destroy(struct hm_step *step)
{
    for (size_t i = 0; i < step->command_count; i++)
        free(step->commands[i].accesses.items);
    for (size_t i = 0; i < step->block_count; i++)
        free(step->blocks[i]);
    for (size_t i = 0; i < step->mark_count; i++)
        free(step->marks[i].name);
    free(step->commands);
    free(step->blocks);
    free(step->marks);
    free(step->accesses.items);
    free(step->waits);
    free(step->updates);
    free(step->label);
    free(step);
}

@implementation HMEncoder
- (instancetype)hm_initWithBuffer:(HMCommandBuffer *)buffer
{
    [super hm_initWithDevice:buffer->_device];
    _buffer = [buffer retain];
    return self;
}
- (void)hm_checkOpen:(const char *)call
{
    hm_check(!_ended, "encoder-ended", "%s after endEncoding of %s", call, hm_name(self));
}
- (void)endEncoding
{
    hm_check(!_ended, "encoder-ended", "endEncoding: %s has ended already", hm_name(self));
    hm_check(_debug_groups == 0, "debug-groups", "endEncoding: %ld debug groups of %s are open",
             _debug_groups, hm_name(self));
    _ended = YES;
    if (_name)
        _step->label = strdup(_name);
    [_buffer hm_encoderEnded];
}
- (void)insertDebugSignpost:(NSString *)text
{
    hm_check(text != nil, "argument-is-nil", "insertDebugSignpost: nil");
    [self hm_checkOpen:"insertDebugSignpost"];
}
- (void)hm_mark:(char *)name
{
    hm_grow((void **)&_step->marks, _step->mark_count, &_step->mark_capacity, sizeof *_step->marks);
    _step->marks[_step->mark_count++] = (struct hm_group_mark){_step->command_count, name};
}
- (void)pushDebugGroup:(NSString *)name
{
    hm_check(name != nil, "argument-is-nil", "pushDebugGroup: nil");
    [self hm_checkOpen:"pushDebugGroup"];
    _debug_groups++;
    [self hm_mark:strdup(name.UTF8String)];
}
- (void)popDebugGroup
{
    [self hm_checkOpen:"popDebugGroup"];
    hm_check(_debug_groups > 0, "debug-groups", "popDebugGroup: no debug group of %s is open",
             hm_name(self));
    _debug_groups--;
    [self hm_mark:NULL];
}
- (struct hm_command *)hm_command:(enum hm_command_kind)kind
{
    hm_grow((void **)&_step->commands, _step->command_count, &_step->command_capacity,
            sizeof *_step->commands);
    struct hm_command *const command = &_step->commands[_step->command_count++];
    *command = (struct hm_command){.kind = kind};
    return command;
}
- (void)hm_addAccess:(HMBuffer *)buffer access:(unsigned)access command:(struct hm_command *)command
{
    const size_t count = _step->accesses.count;
    hm_add_access(&_step->accesses, buffer, access);
    if (_step->accesses.count > count)
        [_buffer hm_use:buffer];
    if (command)
        hm_add_access(&command->accesses, buffer, access);
}
- (void)hm_sampleAt:(NSUInteger)attachment
             buffer:(id<MTLCounterSampleBuffer>)buffer
              start:(NSUInteger)start
                end:(NSUInteger)end
{
    HMCounterSampleBuffer *const samples = (HMCounterSampleBuffer *)buffer;
    if (!samples)
        return;
    hm_check([_device supportsCounterSampling:MTLCounterSamplingPointAtStageBoundary],
             "counter-sampling",
             "sampleBufferAttachments: the device samples no counters at the ends of encoders (see "
             "supportsCounterSampling)");
    hm_check_device(samples, _device, "sampleBufferAttachments");
    hm_check((start < samples->_count || start == MTLCounterDontSample) &&
                 (end < samples->_count || end == MTLCounterDontSample),
             "range-out-of-bounds",
             "sampleBufferAttachments: samples %lu and %lu of %s, which has %lu", start, end,
             hm_name(samples), samples->_count);
    _step->samplings[attachment] = (struct hm_sampling){samples, {start, end}};
    [_buffer hm_use:samples];
}
- (void)hm_waitForFence:(id<MTLFence>)fence
{
    static const char call[] = "waitForFence";
    [self hm_checkOpen:call];
    hm_check(fence != nil, "argument-is-nil", "%s: nil", call);
    hm_check_device((HMFence *)fence, _device, call);
    for (size_t i = 0; i < _step->update_count; i++)
        hm_check(_step->updates[i] != (HMFence *)fence, "fence-wait-after-update",
                 "%s: the same encoder has updated %s before", call, hm_name((HMFence *)fence));
    hm_grow((void **)&_step->waits, _step->wait_count, &_step->wait_capacity, sizeof *_step->waits);
    _step->waits[_step->wait_count++] = (HMFence *)fence;
    [_buffer hm_use:(HMFence *)fence];
}
- (void)hm_updateFence:(id<MTLFence>)fence
{
    static const char call[] = "updateFence";
    [self hm_checkOpen:call];
    hm_check(fence != nil, "argument-is-nil", "%s: nil", call);
    hm_check_device((HMFence *)fence, _device, call);
    hm_grow((void **)&_step->updates, _step->update_count, &_step->update_capacity,
            sizeof *_step->updates);
    _step->updates[_step->update_count++] = (HMFence *)fence;
    [_buffer hm_use:(HMFence *)fence];
}
- (void)hm_sample:(id<MTLCounterSampleBuffer>)buffer
            index:(NSUInteger)index
          barrier:(BOOL)barrier
               at:(MTLCounterSamplingPoint)point
             call:(const char *)call
{
    HMCounterSampleBuffer *const samples = (HMCounterSampleBuffer *)buffer;
    [self hm_checkOpen:call];
    hm_check([_device supportsCounterSampling:point], "counter-sampling",
             "%s: the device does not sample counters there (see supportsCounterSampling)", call);
    hm_check(samples != nil, "argument-is-nil", "%s: nil", call);
    hm_check_device(samples, _device, call);
    hm_check(index < samples->_count, "range-out-of-bounds", "%s: sample %lu of %s, which has %lu",
             call, index, hm_name(samples), samples->_count);
    struct hm_command *const command = [self hm_command:HM_COMMAND_SAMPLE];
    command->samples = samples;
    command->source_offset = index;
    command->barrier = barrier;
    [_buffer hm_use:samples];
}
- (void)dealloc
{
    hm_check(_ended, "encoder-not-ended", "%s was released without endEncoding", hm_name(self));
    [_buffer release];
    [super dealloc];
}
@end

/* ---- Blits -------------------------------------------------------------------------------- */

@implementation HMBlitEncoder
- (void)hm_check:(id<MTLBuffer>)buffer range:(NSRange)range call:(const char *)call
{
    [self hm_checkOpen:call];
    hm_check(buffer != nil, "argument-is-nil", "%s without a buffer", call);
    hm_check_device((HMBuffer *)buffer, _device, call);
    hm_check(range.length > 0, "blit-empty", "%s of 0 bytes of %s", call,
             hm_name((HMBuffer *)buffer));
    [(HMBuffer *)buffer hm_checkRange:range call:call];
    hm_check(range.location % HM_COPY_ALIGNMENT == 0 && range.length % HM_COPY_ALIGNMENT == 0,
             "blit-alignment", "%s: offset %lu and size %lu of %s are not both multiples of %d",
             call, range.location, range.length, hm_name((HMBuffer *)buffer), HM_COPY_ALIGNMENT);
}
- (void)synchronizeResource:(id<MTLResource>)resource
{
    static const char call[] = "synchronizeResource";
    [self hm_checkOpen:call];
    hm_check(resource != nil, "argument-is-nil", "%s: nil", call);
    HMBuffer *const buffer = (HMBuffer *)resource;
    hm_check_device(buffer, _device, call);
    hm_check(buffer.storageMode == MTLStorageModeManaged, "storage-mode",
             "%s: %s does not have managed storage", call, hm_name(buffer));
    struct hm_command *const command = [self hm_command:HM_COMMAND_SYNCHRONIZE];
    command->target = buffer;
    [self hm_addAccess:buffer access:HM_READ command:command];
}
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value
{
    [self hm_check:buffer range:range call:"fillBuffer:range:value:"];
    struct hm_command *const command = [self hm_command:HM_COMMAND_FILL];
    command->target = (HMBuffer *)buffer;
    command->target_offset = range.location;
    command->bytes = range.length;
    command->value = value;
    [self hm_addAccess:command->target access:HM_WRITE command:command];
}
- (void)copyFromBuffer:(id<MTLBuffer>)source
          sourceOffset:(NSUInteger)source_offset
              toBuffer:(id<MTLBuffer>)target
     destinationOffset:(NSUInteger)target_offset
                  size:(NSUInteger)bytes
{
    static const char call[] = "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:";
    [self hm_check:source range:NSMakeRange(source_offset, bytes) call:call];
    [self hm_check:target range:NSMakeRange(target_offset, bytes) call:call];
    hm_check(source != target || source_offset + bytes <= target_offset ||
                 target_offset + bytes <= source_offset,
             "blit-overlap", "%s: bytes %lu and %lu of %s overlap over %lu bytes", call,
             source_offset, target_offset, hm_name((HMBuffer *)source), bytes);
    struct hm_command *const command = [self hm_command:HM_COMMAND_COPY];
    command->source = (HMBuffer *)source;
    command->target = (HMBuffer *)target;
    command->source_offset = source_offset;
    command->target_offset = target_offset;
    command->bytes = bytes;
    [self hm_addAccess:command->source access:HM_READ command:command];
    [self hm_addAccess:command->target access:HM_WRITE command:command];
}
- (void)waitForFence:(id<MTLFence>)fence
{
    [self hm_waitForFence:fence];
}
- (void)updateFence:(id<MTLFence>)fence
{
    [self hm_updateFence:fence];
}
- (void)optimizeContentsForGPUAccess:(id<MTLResource>)resource
{
    [self hm_checkOpen:"optimizeContentsForGPUAccess"];
    hm_check(resource != nil, "argument-is-nil", "optimizeContentsForGPUAccess: nil");
}
- (void)optimizeContentsForCPUAccess:(id<MTLResource>)resource
{
    [self hm_checkOpen:"optimizeContentsForCPUAccess"];
    hm_check(resource != nil, "argument-is-nil", "optimizeContentsForCPUAccess: nil");
}
- (void)sampleCountersInBuffer:(id<MTLCounterSampleBuffer>)buffer
                 atSampleIndex:(NSUInteger)index
                   withBarrier:(BOOL)barrier
{
    [self hm_sample:buffer
              index:index
            barrier:barrier
                 at:MTLCounterSamplingPointAtBlitBoundary
               call:"sampleCountersInBuffer (blit encoder)"];
}
- (void)resolveCounters:(id<MTLCounterSampleBuffer>)samples
                inRange:(NSRange)range
      destinationBuffer:(id<MTLBuffer>)target
      destinationOffset:(NSUInteger)offset
{
    static const char call[] = "resolveCounters:inRange:destinationBuffer:destinationOffset:";
    HMCounterSampleBuffer *const from = (HMCounterSampleBuffer *)samples;
    hm_check(from != nil, "argument-is-nil", "%s without a sample buffer", call);
    hm_check_device(from, _device, call);
    hm_check(range.location <= from->_count && range.length <= from->_count - range.location,
             "range-out-of-bounds", "%s: samples %lu to %lu of %s, which has %lu", call,
             range.location, range.location + range.length, hm_name(from), from->_count);
    const NSUInteger bytes = range.length * sizeof(MTLCounterResultTimestamp);
    [self hm_check:target range:NSMakeRange(offset, bytes) call:call];
    hm_check(offset % sizeof(uint64_t) == 0, "blit-alignment",
             "%s: offset %lu is not a multiple of %zu", call, offset, sizeof(uint64_t));
    struct hm_command *const command = [self hm_command:HM_COMMAND_RESOLVE];
    command->samples = from;
    command->source_offset = range.location;
    command->target = (HMBuffer *)target;
    command->target_offset = offset;
    command->bytes = bytes;
    [_buffer hm_use:from];
    [self hm_addAccess:command->target access:HM_WRITE command:command];
}
@end
