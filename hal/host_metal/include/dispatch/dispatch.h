/* SPDX-License-Identifier: Apache-2.0 */
/* The part of libdispatch that the Metal driver uses: serial queues, semaphores, data.
 *
 * Names, types and values are those of Apple's <dispatch/dispatch.h> (checked against the public
 * sources of libdispatch: queue.h, semaphore.h, data.h, time.h, qos.h). Objects are Objective-C
 * objects, as with Apple's compiler. Every block runs inside an autorelease pool. A queue has one
 * thread, created with its first block; without attributes it is serial, and concurrent queues are
 * not supported. As with Apple's, destroying a semaphore whose value is below its initial value
 * aborts. */
#ifndef HOST_METAL_DISPATCH_H
#define HOST_METAL_DISPATCH_H

#import <Foundation/Foundation.h>

NS_ASSUME_NONNULL_BEGIN

@interface OS_dispatch_object : NSObject
@end
@interface OS_dispatch_semaphore : OS_dispatch_object {
    void *_state;
}
@end
@interface OS_dispatch_queue : OS_dispatch_object {
    void *_state;
}
@end
@interface OS_dispatch_queue_attr : OS_dispatch_object
@end
@interface OS_dispatch_data : OS_dispatch_object {
    const void *_bytes;
    size_t _count;
    void (^_destructor)(void);
    OS_dispatch_queue *_queue;
}
@end

typedef OS_dispatch_object *dispatch_object_t;
typedef OS_dispatch_semaphore *dispatch_semaphore_t;
typedef OS_dispatch_queue *dispatch_queue_t;
typedef OS_dispatch_queue_attr *dispatch_queue_attr_t;
typedef OS_dispatch_data *dispatch_data_t;
typedef void (^dispatch_block_t)(void);
typedef void (*dispatch_function_t)(void *_Nullable context);
typedef uint64_t dispatch_time_t;
typedef unsigned int dispatch_qos_class_t;
typedef bool (^dispatch_data_applier_t)(dispatch_data_t region, size_t offset, const void *buffer,
                                        size_t size);

enum {
    QOS_CLASS_USER_INTERACTIVE = 0x21,
    QOS_CLASS_USER_INITIATED = 0x19,
    QOS_CLASS_DEFAULT = 0x15,
    QOS_CLASS_UTILITY = 0x11,
    QOS_CLASS_BACKGROUND = 0x09,
    QOS_CLASS_UNSPECIFIED = 0x00,
};

#define NSEC_PER_SEC                     1000000000ull
#define NSEC_PER_MSEC                    1000000ull
#define NSEC_PER_USEC                    1000ull
#define DISPATCH_TIME_NOW                (0ull)
#define DISPATCH_TIME_FOREVER            (~0ull)
#define DISPATCH_QUEUE_SERIAL            ((dispatch_queue_attr_t)0)
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT ((dispatch_block_t)0)
#define DISPATCH_TARGET_QUEUE_DEFAULT    ((dispatch_queue_t)0)

FOUNDATION_EXPORT dispatch_semaphore_t _Nullable dispatch_semaphore_create(intptr_t value)
    NS_RETURNS_RETAINED;
FOUNDATION_EXPORT intptr_t dispatch_semaphore_signal(dispatch_semaphore_t dsema);
FOUNDATION_EXPORT intptr_t dispatch_semaphore_wait(dispatch_semaphore_t dsema,
                                                   dispatch_time_t timeout);
FOUNDATION_EXPORT dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta);

FOUNDATION_EXPORT dispatch_queue_attr_t _Nullable dispatch_queue_attr_make_with_qos_class(
    dispatch_queue_attr_t _Nullable attr, dispatch_qos_class_t qos_class, int relative_priority);
FOUNDATION_EXPORT dispatch_queue_t dispatch_queue_create(
    const char *_Nullable label, dispatch_queue_attr_t _Nullable attr) NS_RETURNS_RETAINED;
FOUNDATION_EXPORT void dispatch_async(dispatch_queue_t queue, dispatch_block_t block);
FOUNDATION_EXPORT void dispatch_async_f(dispatch_queue_t queue, void *_Nullable context,
                                        dispatch_function_t work);
FOUNDATION_EXPORT void dispatch_sync(dispatch_queue_t queue,
                                     __attribute__((noescape)) dispatch_block_t block);

FOUNDATION_EXPORT dispatch_data_t
dispatch_data_create(const void *buffer, size_t size, dispatch_queue_t _Nullable queue,
                     dispatch_block_t _Nullable destructor) NS_RETURNS_RETAINED;
FOUNDATION_EXPORT size_t dispatch_data_get_size(dispatch_data_t data);
FOUNDATION_EXPORT bool dispatch_data_apply(dispatch_data_t data, __attribute__((noescape))
                                                                 dispatch_data_applier_t applier);

#define dispatch_retain(object)  ((void)[(object) retain])
#define dispatch_release(object) ([(object) release])

NS_ASSUME_NONNULL_END

#endif
