/* SPDX-License-Identifier: Apache-2.0 */
/* Events between command buffers, and events shared with the host. Compared with: names.txt. */
#ifndef HOST_METAL_MTLEVENT_H
#define HOST_METAL_MTLEVENT_H

#import <dispatch/dispatch.h>

NS_ASSUME_NONNULL_BEGIN

@protocol MTLDevice
, MTLSharedEvent;

@protocol MTLEvent <NSObject>
@property(nullable, readonly) id<MTLDevice> device;
@property(nullable, copy, atomic) NSString *label;
@end

@interface MTLSharedEventListener : NSObject {
    dispatch_queue_t _dispatchQueue;
}
+ (MTLSharedEventListener *)sharedListener;
- (instancetype)init;
- (instancetype)initWithDispatchQueue:(dispatch_queue_t)dispatchQueue;
@property(nonatomic, readonly) dispatch_queue_t dispatchQueue;
@end

@interface MTLSharedEventHandle : NSObject {
    id<MTLSharedEvent> _event;
}
@property(nullable, readonly) NSString *label;
@end

typedef void (^MTLSharedEventNotificationBlock)(id<MTLSharedEvent> event, uint64_t value);

@protocol MTLSharedEvent <MTLEvent>
- (void)notifyListener:(MTLSharedEventListener *)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block;
- (MTLSharedEventHandle *)newSharedEventHandle NS_RETURNS_RETAINED;
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds;
@property(readwrite) uint64_t signaledValue;
@end

NS_ASSUME_NONNULL_END

#endif
