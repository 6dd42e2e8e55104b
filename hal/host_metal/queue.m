/* SPDX-License-Identifier: Apache-2.0 */
/* Command queues: command buffers run one after the other, in the order in which they were enqueued
 * (or committed). Completion handlers run on another thread, so that the next one may have begun.
 * Metal lets encoders of several command buffers overlap unless fences, events or tracked hazards
 * order them: with HOST_METAL=shuffle those that are committed already run as one. */
#import "hal/host_metal/metal.h"

#include <errno.h>

@implementation HMQueue
- (instancetype)hm_initWithDevice:(HMDevice *)device
{
    pthread_mutex_init(&_lock, NULL);
    pthread_cond_init(&_room, NULL);
    _order = [[NSMutableArray alloc] init];
    _ready = [[NSMutableArray alloc] init];
    _execution = dispatch_queue_create("command queue", DISPATCH_QUEUE_SERIAL);
    _completion = dispatch_queue_create("completion handlers", DISPATCH_QUEUE_SERIAL);
    return [super hm_initWithDevice:device];
}
/* As Metal does, waits while the queue has all the unfinished command buffers that it may. */
- (void)hm_waitForRoom
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)hm_modes()->timeout;
    pthread_mutex_lock(&_lock);
    int error = 0;
    while (_unfinished >= _limit && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&_room, &_lock, &until);
    hm_check(_unfinished < _limit, "command-queue-full",
             "commandBuffer: all %lu command buffers of %s have been unfinished for %" PRIu64
             " s: this "
             "call would never return",
             _limit, hm_name(self), hm_modes()->timeout);
    _unfinished++;
    pthread_mutex_unlock(&_lock);
}
- (void)hm_bufferFinished
{
    pthread_mutex_lock(&_lock);
    _unfinished--;
    pthread_cond_signal(&_room);
    pthread_mutex_unlock(&_lock);
}
- (HMCommandBuffer *)hm_commandBuffer:(BOOL)retains options:(MTLCommandBufferErrorOption)options
{
    [self hm_waitForRoom];
    HMCommandBuffer *const buffer = [[HMCommandBuffer alloc] hm_initWithQueue:self retains:retains];
    buffer->_error_options = options;
    return [buffer autorelease];
}
- (id<MTLCommandBuffer>)commandBuffer
{
    return [self hm_commandBuffer:YES options:MTLCommandBufferErrorOptionNone];
}
- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences
{
    return [self hm_commandBuffer:NO options:MTLCommandBufferErrorOptionNone];
}
- (id<MTLCommandBuffer>)commandBufferWithDescriptor:(MTLCommandBufferDescriptor *)descriptor
{
    hm_check(descriptor != nil, "argument-is-nil", "commandBufferWithDescriptor: nil");
    return [self hm_commandBuffer:descriptor.retainedReferences options:descriptor.errorOptions];
}
- (void)insertDebugCaptureBoundary
{
}
- (void)hm_enqueue:(HMCommandBuffer *)buffer
{
    pthread_mutex_lock(&_lock);
    [_order addObject:buffer];
    pthread_mutex_unlock(&_lock);
}

/* The next ones that run as one, with a reference to each. None: an earlier call took them. */
- (size_t)hm_take:(HMCommandBuffer **)buffers
{
    size_t count = 0;
    const size_t most = hm_modes()->shuffle ? HM_MAX_RUNS : 1;
    pthread_mutex_lock(&_lock);
    while (_ready.count && count < most) {
        HMCommandBuffer *const first = [_ready objectAtIndex:0];
        if (count && [first hm_waits])
            break;
        buffers[count++] = [first retain];
        [_ready removeObjectAtIndex:0];
    }
    pthread_mutex_unlock(&_lock);
    return count;
}

static void run(void *context)
{
    HMQueue *const queue = context;
    HMCommandBuffer *buffers[HM_MAX_RUNS];
    const size_t count = [queue hm_take:buffers];
    if (count)
        hm_run_buffers(queue, buffers, count);
    for (size_t i = 0; i < count; i++)
        [buffers[i] release];
    [queue release];
}

/* Starts what is first and committed. The lock keeps the order between threads that pump. */
- (void)hm_pump
{
    pthread_mutex_lock(&_lock);
    while (_order.count) {
        HMCommandBuffer *const first = [_order objectAtIndex:0];
        if (first.status < MTLCommandBufferStatusCommitted)
            break;
        [_ready addObject:first];
        [_order removeObjectAtIndex:0];
        dispatch_async_f(_execution, [self retain], run);
    }
    pthread_mutex_unlock(&_lock);
}
- (void)dealloc
{
    [_order release];
    [_ready release];
    [_execution release];
    [_completion release];
    msl_worker_destroy(_worker);
    pthread_mutex_destroy(&_lock);
    pthread_cond_destroy(&_room);
    [super dealloc];
}
@end
