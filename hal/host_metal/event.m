/* SPDX-License-Identifier: Apache-2.0 */
/* Events, shared events and their listeners, fences. */
#import "hal/host_metal/metal.h"

#include <errno.h>
#include <time.h>

enum { MOST_LATE_US = 300 }; /* listeners and completion handlers come in any order */

@implementation HMFence
@end

@implementation MTLSharedEventListener
static MTLSharedEventListener *shared_listener;
static void make_shared_listener(void)
{
    @autoreleasepool {
        shared_listener = [[MTLSharedEventListener alloc] init];
        host_metal_exempt(shared_listener);
        host_metal_exempt(shared_listener.dispatchQueue);
    }
}
+ (MTLSharedEventListener *)sharedListener
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_shared_listener);
    return shared_listener;
}
- (instancetype)init
{
    _dispatchQueue = dispatch_queue_create("shared event listener", DISPATCH_QUEUE_SERIAL);
    return self;
}
- (instancetype)initWithDispatchQueue:(dispatch_queue_t)queue
{
    hm_check(queue != nil, "argument-is-nil", "initWithDispatchQueue: nil");
    _dispatchQueue = [queue retain];
    return self;
}
- (dispatch_queue_t)dispatchQueue
{
    return _dispatchQueue;
}
- (void)dealloc
{
    [_dispatchQueue release];
    [super dealloc];
}
@end

@interface MTLSharedEventHandle ()
- (instancetype)hm_initWithEvent:(HMEvent *)event HM_INITIALIZER;
- (HMEvent *)hm_event;
@end

@implementation MTLSharedEventHandle
- (instancetype)hm_initWithEvent:(HMEvent *)event
{
    _event = [event retain];
    return self;
}
- (HMEvent *)hm_event
{
    return _event;
}
- (NSString *)label
{
    return _event.label;
}
- (void)dealloc
{
    [_event release];
    [super dealloc];
}
@end

@implementation HMDevice (Events)
- (id<MTLSharedEvent>)newSharedEventWithHandle:(MTLSharedEventHandle *)handle
{
    hm_check(handle != nil, "argument-is-nil", "newSharedEventWithHandle: nil");
    return [[handle hm_event] retain];
}
@end

@implementation HMEvent
- (instancetype)hm_initWithDevice:(HMDevice *)device
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&_lock, NULL);
    pthread_cond_init(&_changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return [super hm_initWithDevice:device];
}
- (void)hm_checkShared:(const char *)call
{
    hm_check(_shared, "event-not-shared", "%s: %s was made by newEvent, not newSharedEvent", call,
             hm_name(self));
}
- (uint64_t)signaledValue
{
    [self hm_checkShared:"signaledValue"];
    pthread_mutex_lock(&_lock);
    const uint64_t value = _value;
    pthread_mutex_unlock(&_lock);
    return value;
}
- (void)setSignaledValue:(uint64_t)value
{
    [self hm_checkShared:"setSignaledValue"];
    [self hm_signal:value fromHost:YES];
}
- (void)hm_send:(const struct hm_notification *)notification value:(uint64_t)value
{
    const MTLSharedEventNotificationBlock block = notification->block;
    HMEvent *const event = self;
    const uint64_t late_us = hm_modes()->shuffle ? hm_random_below(MOST_LATE_US) : 0;
    dispatch_async(notification->queue, ^{
      const struct timespec pause = {0, (long)(late_us * NSEC_PER_USEC)};
      if (late_us)
          nanosleep(&pause, NULL);
      block(event, value);
    });
    [notification->block release];
    [notification->queue release];
}
/* The notifications that are due leave the list first: blocks are sent without the lock. */
- (void)hm_signal:(uint64_t)value fromHost:(BOOL)from_host
{
    struct hm_notification *due = NULL;
    size_t due_count = 0, due_capacity = 0;
    pthread_mutex_lock(&_lock);
    if (value < _value)
        host_metal_broken("event-value-lowered", "%s of %s from %" PRIu64 " to %" PRIu64,
                          from_host ? "setSignaledValue" : "encodeSignalEvent", hm_name(self),
                          _value, value);
    _value = value;
    pthread_cond_broadcast(&_changed);
    if (!from_host || !hm_modes()->no_listeners)
        for (size_t i = 0; i < _count;) {
            if (_notifications[i].value > value) {
                i++;
                continue;
            }
            hm_grow((void **)&due, due_count, &due_capacity, sizeof *due);
            due[due_count++] = _notifications[i];
            memmove(_notifications + i, _notifications + i + 1,
                    (--_count - i) * sizeof *_notifications);
        }
    pthread_mutex_unlock(&_lock);
    for (size_t i = 0; i < due_count; i++)
        [self hm_send:&due[i] value:value];
    free(due);
}
- (void)hm_wait:(uint64_t)value
{
    pthread_mutex_lock(&_lock);
    while (_value < value)
        pthread_cond_wait(&_changed, &_lock);
    pthread_mutex_unlock(&_lock);
}
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds
{
    [self hm_checkShared:"waitUntilSignaledValue:timeoutMS:"];
    const uint64_t now = hm_now_ns(), limit = UINT64_MAX / 4 / NSEC_PER_MSEC;
    const uint64_t end = now + (milliseconds < limit ? milliseconds : limit) * NSEC_PER_MSEC;
    const struct timespec until = {(time_t)(end / NSEC_PER_SEC), (long)(end % NSEC_PER_SEC)};
    pthread_mutex_lock(&_lock);
    int error = 0;
    while (_value < value && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&_changed, &_lock, &until);
    const BOOL reached = _value >= value;
    pthread_mutex_unlock(&_lock);
    return reached;
}
- (void)notifyListener:(MTLSharedEventListener *)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block
{
    [self hm_checkShared:"notifyListener:atValue:block:"];
    hm_check(listener && block, "argument-is-nil",
             "notifyListener:atValue:block: without a listener or a block");
    const struct hm_notification notification = {value, [listener.dispatchQueue retain],
                                                 [block copy]};
    pthread_mutex_lock(&_lock);
    const uint64_t present = _value;
    if (present < value) {
        hm_grow((void **)&_notifications, _count, &_capacity, sizeof *_notifications);
        _notifications[_count++] = notification;
    }
    pthread_mutex_unlock(&_lock);
    if (present >= value)
        [self hm_send:&notification value:present];
}
- (MTLSharedEventHandle *)newSharedEventHandle
{
    [self hm_checkShared:"newSharedEventHandle"];
    return [[MTLSharedEventHandle alloc] hm_initWithEvent:self];
}
- (void)dealloc
{
    for (size_t i = 0; i < _count; i++) {
        [_notifications[i].block release];
        [_notifications[i].queue release];
    }
    free(_notifications);
    pthread_mutex_destroy(&_lock);
    pthread_cond_destroy(&_changed);
    [super dealloc];
}
@end
