/* SPDX-License-Identifier: Apache-2.0 */
/* Command buffers: their states, what they keep alive, handlers, errors. */
#import "hal/host_metal/metal.h"

#include <stdatomic.h>

static void hold(HMCommandBuffer *buffer);

NSErrorDomain const MTLCommandBufferErrorDomain = @"MTLCommandBufferErrorDomain";
NSErrorUserInfoKey const MTLCommandBufferEncoderInfoErrorKey =
    @"MTLCommandBufferEncoderInfoErrorKey";

@interface HMEncoderInfo : NSObject <MTLCommandBufferEncoderInfo> {
  @public
    NSString *_label;
    MTLCommandEncoderErrorState _state;
}
@end

@implementation HMEncoderInfo
- (NSString *)label
{
    return _label;
}
- (NSArray<NSString *> *)debugSignposts
{
    return [NSArray array];
}
- (MTLCommandEncoderErrorState)errorState
{
    return _state;
}
- (void)dealloc
{
    [_label release];
    [super dealloc];
}
@end

@implementation HMCommandBuffer
- (instancetype)hm_initWithQueue:(HMQueue *)queue retains:(BOOL)retains
{
    [super hm_initWithDevice:queue->_device];
    pthread_mutex_init(&_lock, NULL);
    pthread_cond_init(&_changed, NULL);
    _queue = [queue retain];
    _retains = retains;
    _scheduled_handlers = [[NSMutableArray alloc] init];
    _completed_handlers = [[NSMutableArray alloc] init];
    return self;
}

/* ---- State -------------------------------------------------------------------------------- */

- (id<MTLCommandQueue>)commandQueue
{
    return _queue;
}
- (BOOL)retainedReferences
{
    return _retains;
}
- (MTLCommandBufferErrorOption)errorOptions
{
    return _error_options;
}
- (MTLCommandBufferStatus)status
{
    pthread_mutex_lock(&_lock);
    const MTLCommandBufferStatus status = _status;
    pthread_mutex_unlock(&_lock);
    return status;
}
- (NSError *)error
{
    pthread_mutex_lock(&_lock);
    NSError *const error = [_error retain];
    pthread_mutex_unlock(&_lock);
    return [error autorelease];
}
- (CFTimeInterval)hm_seconds:(const uint64_t *)ns
{
    pthread_mutex_lock(&_lock);
    const uint64_t value = *ns;
    pthread_mutex_unlock(&_lock);
    return (double)value / (double)NSEC_PER_SEC;
}
- (CFTimeInterval)kernelStartTime
{
    return [self hm_seconds:&_begin_ns];
}
- (CFTimeInterval)kernelEndTime
{
    return [self hm_seconds:&_end_ns];
}
- (CFTimeInterval)GPUStartTime
{
    return [self hm_seconds:&_begin_ns];
}
- (CFTimeInterval)GPUEndTime
{
    return [self hm_seconds:&_end_ns];
}
- (void)hm_setStatus:(MTLCommandBufferStatus)status
{
    pthread_mutex_lock(&_lock);
    _status = status;
    pthread_cond_broadcast(&_changed);
    pthread_mutex_unlock(&_lock);
}
- (void)hm_checkNotCommitted:(const char *)call
{
    hm_check(self.status < MTLCommandBufferStatusCommitted, "already-committed",
             "%s: %s is committed already", call, hm_name(self));
}

/* ---- Handing over ------------------------------------------------------------------------- */

- (void)enqueue
{
    hm_check(self.status == MTLCommandBufferStatusNotEnqueued, "already-enqueued",
             "enqueue: %s is enqueued or committed already", hm_name(self));
    [self hm_setStatus:MTLCommandBufferStatusEnqueued];
    [_queue hm_enqueue:self];
}
- (void)commit
{
    hm_check(self.status < MTLCommandBufferStatusCommitted, "commit-twice",
             "commit: %s is committed already", hm_name(self));
    hm_check(!_encoding, "encoder-not-ended", "commit: an encoder of %s is still open",
             hm_name(self));
    hm_check(_debug_groups == 0, "debug-groups", "commit: %ld debug groups of %s are still open",
             _debug_groups, hm_name(self));
    if (self.status == MTLCommandBufferStatusNotEnqueued)
        [_queue hm_enqueue:self];
    [self hm_setStatus:MTLCommandBufferStatusCommitted];
    [_queue hm_pump];
}
- (void)addScheduledHandler:(MTLCommandBufferHandler)handler
{
    [self hm_checkNotCommitted:"addScheduledHandler"];
    const MTLCommandBufferHandler copy = [handler copy];
    [_scheduled_handlers addObject:copy];
    [copy release];
}
- (void)addCompletedHandler:(MTLCommandBufferHandler)handler
{
    [self hm_checkNotCommitted:"addCompletedHandler"];
    const MTLCommandBufferHandler copy = [handler copy];
    [_completed_handlers addObject:copy];
    [copy release];
}
- (void)hm_waitFor:(MTLCommandBufferStatus)status call:(const char *)call
{
    pthread_mutex_lock(&_lock);
    hm_check(_status >= MTLCommandBufferStatusCommitted, "wait-before-commit",
             "%s: %s is not committed, this would wait for ever", call, hm_name(self));
    while (_status < status || (status >= MTLCommandBufferStatusCompleted && !_handlers_done))
        pthread_cond_wait(&_changed, &_lock);
    pthread_mutex_unlock(&_lock);
}
- (void)waitUntilScheduled
{
    [self hm_waitFor:MTLCommandBufferStatusScheduled call:"waitUntilScheduled"];
}
- (void)waitUntilCompleted
{
    [self hm_waitFor:MTLCommandBufferStatusCompleted call:"waitUntilCompleted"];
}

/* ---- Encoding ----------------------------------------------------------------------------- */

- (void)hm_checkReady:(const char *)call
{
    [self hm_checkNotCommitted:call];
    hm_check(!_encoding, "encoder-open", "%s: an encoder of %s is still open", call, hm_name(self));
}
- (struct hm_step *)hm_step:(enum hm_step_kind)kind
{
    struct hm_step *const step = host_metal_allocate(sizeof *step);
    step->kind = kind;
    step->state = MTLCommandEncoderErrorStatePending;
    hm_grow((void **)&_steps, _step_count, &_step_capacity, sizeof *_steps);
    _steps[_step_count++] = step;
    return step;
}
- (void)hm_begin:(HMEncoder *)encoder
{
    encoder->_step = [self hm_step:HM_STEP_PASS];
    _encoding = YES;
}
- (void)hm_encoderEnded
{
    _encoding = NO;
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoder
{
    [self hm_checkReady:"blitCommandEncoder"];
    HMBlitEncoder *const encoder = [[HMBlitEncoder alloc] hm_initWithBuffer:self];
    [self hm_begin:encoder];
    encoder->_step->concurrent = YES;
    return [encoder autorelease];
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoderWithDescriptor:(MTLBlitPassDescriptor *)descriptor
{
    hm_check(descriptor != nil, "argument-is-nil", "blitCommandEncoderWithDescriptor: nil");
    HMBlitEncoder *const encoder = (HMBlitEncoder *)[self blitCommandEncoder];
    for (NSUInteger i = 0; i < HM_PASS_ATTACHMENTS; i++) {
        MTLBlitPassSampleBufferAttachmentDescriptor *const attachment =
            [descriptor.sampleBufferAttachments objectAtIndexedSubscript:i];
        [encoder hm_sampleAt:i
                      buffer:attachment.sampleBuffer
                       start:attachment.startOfEncoderSampleIndex
                         end:attachment.endOfEncoderSampleIndex];
    }
    return encoder;
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoder
{
    return [self computeCommandEncoderWithDispatchType:MTLDispatchTypeSerial];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type
{
    [self hm_checkReady:"computeCommandEncoder"];
    HMComputeEncoder *const encoder = [[HMComputeEncoder alloc] hm_initWithBuffer:self];
    [self hm_begin:encoder];
    encoder->_type = type;
    encoder->_step->concurrent = type == MTLDispatchTypeConcurrent;
    return [encoder autorelease];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDescriptor:
    (MTLComputePassDescriptor *)descriptor
{
    hm_check(descriptor != nil, "argument-is-nil", "computeCommandEncoderWithDescriptor: nil");
    HMComputeEncoder *const encoder =
        (HMComputeEncoder *)[self computeCommandEncoderWithDispatchType:descriptor.dispatchType];
    for (NSUInteger i = 0; i < HM_PASS_ATTACHMENTS; i++) {
        MTLComputePassSampleBufferAttachmentDescriptor *const attachment =
            [descriptor.sampleBufferAttachments objectAtIndexedSubscript:i];
        [encoder hm_sampleAt:i
                      buffer:attachment.sampleBuffer
                       start:attachment.startOfEncoderSampleIndex
                         end:attachment.endOfEncoderSampleIndex];
    }
    return encoder;
}
- (void)hm_event:(id<MTLEvent>)event
           value:(uint64_t)value
            kind:(enum hm_step_kind)kind
            call:(const char *)call
{
    [self hm_checkReady:call];
    hm_check(event != nil, "argument-is-nil", "%s without an event", call);
    hm_check_device((HMEvent *)event, _device, call);
    struct hm_step *const step = [self hm_step:kind];
    step->event = (HMEvent *)event;
    step->value = value;
    [self hm_use:step->event];
}
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value
{
    [self hm_event:event value:value kind:HM_STEP_WAIT call:"encodeWaitForEvent:value:"];
}
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value
{
    [self hm_event:event value:value kind:HM_STEP_SIGNAL call:"encodeSignalEvent:value:"];
}
- (void)pushDebugGroup:(NSString *)name
{
    hm_check(name != nil, "argument-is-nil", "pushDebugGroup: nil");
    [self hm_checkNotCommitted:"pushDebugGroup"];
    _debug_groups++;
}
- (void)popDebugGroup
{
    [self hm_checkNotCommitted:"popDebugGroup"];
    hm_check(_debug_groups > 0, "debug-groups", "popDebugGroup: no debug group of %s is open",
             hm_name(self));
    _debug_groups--;
}
- (void)hm_use:(HMObject *)object
{
    hm_grow((void **)&_used, _used_count, &_used_capacity, sizeof *_used);
    _used[_used_count++] = object;
    if (_retains)
        [object retain];
    else
        atomic_fetch_add(&object->_uses, 1);
}

/* ---- Running ------------------------------------------------------------------------------ */

- (void)hm_dropCommands
{
    for (size_t i = 0; i < _used_count; i++) {
        if (_retains)
            [_used[i] release];
        else
            atomic_fetch_sub(&_used[i]->_uses, 1);
    }
    for (size_t i = 0; i < _step_count; i++)
        hm_step_destroy(_steps[i]);
    free(_used);
    free(_steps);
    _used = NULL;
    _steps = NULL;
    _used_count = _step_count = 0;
}
- (size_t)hm_passes
{
    size_t passes = 0;
    for (size_t i = 0; i < _step_count; i++)
        passes += _steps[i]->kind == HM_STEP_PASS;
    return passes;
}
- (NSError *)hm_injectedError NS_RETURNS_RETAINED
{
    NSMutableDictionary *const info = [NSMutableDictionary dictionary];
    [info setObject:@"Caused GPU Hang Error (injected by HOST_METAL=fail-command-buffers)"
             forKey:NSLocalizedDescriptionKey];
    if (_error_options & MTLCommandBufferErrorOptionEncoderExecutionStatus) {
        NSMutableArray *const infos = [NSMutableArray array];
        for (size_t i = 0; i < _step_count; i++) {
            if (_steps[i]->kind != HM_STEP_PASS)
                continue;
            HMEncoderInfo *const encoder = [[[HMEncoderInfo alloc] init] autorelease];
            encoder->_label =
                [[NSString alloc] initWithUTF8String:_steps[i]->label ? _steps[i]->label : ""];
            encoder->_state = _steps[i]->state;
            [infos addObject:encoder];
        }
        [info setObject:infos forKey:MTLCommandBufferEncoderInfoErrorKey];
    }
    return [[NSError alloc] initWithDomain:MTLCommandBufferErrorDomain
                                      code:(NSInteger)hm_modes()->fail_code
                                  userInfo:info];
}
- (void)hm_callHandlers:(NSMutableArray *)handlers
{
    for (NSUInteger i = 0; i < handlers.count; i++) {
        const MTLCommandBufferHandler handler = (id)[handlers objectAtIndex:i];
        handler(self);
    }
    [handlers removeAllObjects]; /* they may retain the command buffer */
}
- (BOOL)hm_waits
{
    for (size_t i = 0; i < _step_count; i++)
        if (_steps[i]->kind == HM_STEP_WAIT)
            return YES;
    return NO;
}
- (BOOL)hm_onlySignals
{
    for (size_t i = 0; i < _step_count; i++)
        if (_steps[i]->kind != HM_STEP_SIGNAL)
            return NO;
    return YES;
}
static bool is_final(uint64_t code)
{
    return code == MTLCommandBufferErrorDeviceRemoved || code == MTLCommandBufferErrorAccessRevoked;
}

- (void)hm_beginRun:(struct hm_run *)run
{
    static _Atomic uint64_t runs;
    const bool gone = atomic_load(&_device->_is_gone);
    const bool fails = hm_every_nth(&runs, hm_modes()->fail_command_buffers);
    *run = (struct hm_run){
        .buffer = self,
        .fail_at = gone    ? 0
                   : fails ? (size_t)hm_random_below([self hm_passes])
                           : SIZE_MAX,
    };
    if (fails && is_final(hm_modes()->fail_code))
        atomic_store(&_device->_is_gone, true);
    [self hm_setStatus:MTLCommandBufferStatusScheduled];
    [self hm_callHandlers:_scheduled_handlers];
}
- (void)hm_endRun:(const struct hm_run *)run
{
    NSError *const error = run->fail_at != SIZE_MAX ? [self hm_injectedError] : nil;
    hm_notes_add(self);
    const BOOL late = hm_modes()->late_handlers && [self hm_onlySignals];
    [self hm_dropCommands];
    pthread_mutex_lock(&_lock);
    _begin_ns = run->begin_ns;
    _end_ns = run->end_ns;
    _error = error;
    _status = error ? MTLCommandBufferStatusError : MTLCommandBufferStatusCompleted;
    pthread_cond_broadcast(&_changed);
    pthread_mutex_unlock(&_lock);
    if (late)
        hold(self);
    else
        [self hm_sendCompletion];
}
- (void)hm_sendCompletion
{
    dispatch_async(_queue->_completion, ^{
      [self hm_complete];
    });
}
- (void)hm_complete
{
    [self hm_callHandlers:_completed_handlers];
    if (!_late)
        [_queue hm_bufferFinished];
    pthread_mutex_lock(&_lock);
    _handlers_done = YES;
    pthread_cond_broadcast(&_changed);
    pthread_mutex_unlock(&_lock);
}
- (void)dealloc
{
    if (_status < MTLCommandBufferStatusCommitted) {
        [self hm_dropCommands];
        [_queue hm_bufferFinished];
    }
    [_scheduled_handlers release];
    [_completed_handlers release];
    [_error release];
    [_queue release];
    pthread_mutex_destroy(&_lock);
    pthread_cond_destroy(&_changed);
    [super dealloc];
}
@end

/* ---- Handlers that come late ---------------------------------------------------------------- */

static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static HMCommandBuffer **held; /* retained */
static size_t held_count, held_capacity;

static void hold(HMCommandBuffer *buffer)
{
    buffer->_late = YES;
    pthread_mutex_lock(&held_lock);
    hm_grow((void **)&held, held_count, &held_capacity, sizeof *held);
    held[held_count++] = [buffer retain];
    pthread_mutex_unlock(&held_lock);
    [buffer->_queue hm_bufferFinished];
}

void hm_send_late_completions(void)
{
    pthread_mutex_lock(&held_lock);
    for (size_t i = 0; i < held_count; i++) {
        [held[i] hm_sendCompletion];
        [held[i] release];
    }
    free(held);
    held = NULL;
    held_count = held_capacity = 0;
    pthread_mutex_unlock(&held_lock);
}

void hm_run_buffers(HMQueue *queue, HMCommandBuffer *const *buffers, size_t count)
{
    struct hm_run runs[HM_MAX_RUNS];
    for (size_t i = 0; i < count; i++)
        [buffers[i] hm_beginRun:&runs[i]];
    hm_execute(queue, runs, count);
    for (size_t i = 0; i < count; i++)
        [buffers[i] hm_endRun:&runs[i]];
}
