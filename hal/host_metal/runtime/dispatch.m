/* SPDX-License-Identifier: Apache-2.0 */
/* Serial queues with a thread each, semaphores, data.
 *
 * A queue's thread outlives the queue object until it has run everything: it owns the state then.
 */
#import "hal/host_metal/runtime/runtime.h"

#include <errno.h>
#include <time.h>

/* ---- Threads ------------------------------------------------------------------------------ */

static pthread_mutex_t busy_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle_condition = PTHREAD_COND_INITIALIZER;
static long busy_count; /* threads that have something to do */

void host_metal_busy(int change)
{
    pthread_mutex_lock(&busy_lock);
    busy_count += change;
    if (busy_count == 0)
        pthread_cond_broadcast(&idle_condition);
    pthread_mutex_unlock(&busy_lock);
}

bool host_metal_wait_until_idle(uint64_t seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)seconds;
    pthread_mutex_lock(&busy_lock);
    int error = 0;
    while (busy_count != 0 && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&idle_condition, &busy_lock, &until);
    const bool idle = busy_count == 0;
    pthread_mutex_unlock(&busy_lock);
    return idle;
}

void host_metal_start_thread(void *(*main)(void *), void *context)
{
    pthread_t thread;
    const int error = pthread_create(&thread, NULL, main, context);
    if (error)
        host_metal_broken("out-of-threads", "cannot start a thread: %s", strerror(error));
    pthread_detach(thread);
}

/* ---- Queues ------------------------------------------------------------------------------- */

struct item {
    struct item *next;
    dispatch_block_t block; /* or: */
    dispatch_function_t function;
    void *context;
};

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct item *first, **last;
    bool has_thread, closed;
    pthread_t thread;
};

static void destroy_queue(struct queue *queue)
{
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->changed);
    free(queue);
}

static void run_item(struct item *item)
{
    @autoreleasepool {
        if (item->block)
            item->block();
        else
            item->function(item->context);
        [item->block release];
    }
    free(item);
    host_metal_busy(-1);
}

static void *run_queue(void *context)
{
    struct queue *const queue = context;
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        while (!queue->first && !queue->closed)
            pthread_cond_wait(&queue->changed, &queue->lock);
        struct item *const item = queue->first;
        if (!item)
            break;
        queue->first = item->next;
        if (!queue->first)
            queue->last = &queue->first;
        pthread_mutex_unlock(&queue->lock);
        run_item(item);
        pthread_mutex_lock(&queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
    destroy_queue(queue);
    host_metal_busy(-1);
    return NULL;
}

static void enqueue(struct queue *queue, struct item *item)
{
    host_metal_busy(1);
    pthread_mutex_lock(&queue->lock);
    *queue->last = item;
    queue->last = &item->next;
    if (!queue->has_thread) {
        queue->has_thread = true;
        host_metal_start_thread(run_queue, queue);
    }
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

@implementation OS_dispatch_object
@end

@implementation OS_dispatch_queue_attr
@end

@interface OS_dispatch_queue ()
- (void)hm_enqueue:(struct item *)item;
@end

@implementation OS_dispatch_queue
- (instancetype)init
{
    struct queue *const queue = host_metal_allocate(sizeof *queue);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    queue->last = &queue->first;
    _state = queue;
    return self;
}
- (void)hm_enqueue:(struct item *)item
{
    enqueue(_state, item);
}
- (void)dealloc
{
    struct queue *const queue = _state;
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    const bool has_thread = queue->has_thread;
    if (has_thread)
        host_metal_busy(1); /* until the thread is gone */
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    if (!has_thread)
        destroy_queue(queue);
    [super dealloc];
}
@end

dispatch_queue_attr_t dispatch_queue_attr_make_with_qos_class(dispatch_queue_attr_t attributes,
                                                              dispatch_qos_class_t qos_class,
                                                              int relative_priority)
{
    if (relative_priority > 0 || relative_priority < -15)
        host_metal_broken("dispatch-priority", "relative priority %d is not in [-15, 0]",
                          relative_priority);
    (void)qos_class;
    return attributes;
}

dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attributes)
{
    (void)label, (void)attributes;
    return [[OS_dispatch_queue alloc] init];
}

void dispatch_async(dispatch_queue_t queue, dispatch_block_t block)
{
    struct item *const item = host_metal_allocate(sizeof *item);
    item->block = [block copy];
    [queue hm_enqueue:item];
}

void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t function)
{
    struct item *const item = host_metal_allocate(sizeof *item);
    item->function = function;
    item->context = context;
    [queue hm_enqueue:item];
}

struct call {
    dispatch_block_t block;
    dispatch_semaphore_t done;
};

static void run_call(void *context)
{
    const struct call *const call = context;
    call->block();
    dispatch_semaphore_signal(call->done);
}

/* The block does not escape: it is in the caller's frame, and the queue must not touch it once the
 * caller may continue. */
void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block)
{
    struct call call = {block, dispatch_semaphore_create(0)};
    dispatch_async_f(queue, &call, run_call);
    dispatch_semaphore_wait(call.done, DISPATCH_TIME_FOREVER);
    dispatch_release(call.done);
}

/* ---- Semaphores --------------------------------------------------------------------------- */

struct semaphore {
    pthread_mutex_t lock;
    pthread_cond_t raised;
    intptr_t value, original;
    intptr_t waiting;
};

@interface OS_dispatch_semaphore ()
- (instancetype)hm_initWithValue:(intptr_t)value HM_INITIALIZER;
- (struct semaphore *)hm_state;
@end

@implementation OS_dispatch_semaphore
- (instancetype)hm_initWithValue:(intptr_t)value
{
    struct semaphore *const semaphore = host_metal_allocate(sizeof *semaphore);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&semaphore->lock, NULL);
    pthread_cond_init(&semaphore->raised, &attributes);
    pthread_condattr_destroy(&attributes);
    semaphore->value = semaphore->original = value;
    _state = semaphore;
    return self;
}
- (struct semaphore *)hm_state
{
    return _state;
}
- (void)dealloc
{
    struct semaphore *const semaphore = _state;
    pthread_mutex_lock(&semaphore->lock); /* a signaller may just be leaving */
    if (semaphore->value < semaphore->original || semaphore->waiting)
        host_metal_broken("semaphore-destroyed-in-use",
                          "a dispatch semaphore with value %ld (made with %ld) and %ld waiting "
                          "threads was destroyed",
                          (long)semaphore->value, (long)semaphore->original,
                          (long)semaphore->waiting);
    pthread_mutex_unlock(&semaphore->lock);
    pthread_mutex_destroy(&semaphore->lock);
    pthread_cond_destroy(&semaphore->raised);
    free(semaphore);
    [super dealloc];
}
@end

dispatch_semaphore_t dispatch_semaphore_create(intptr_t value)
{
    return value < 0 ? nil : [[OS_dispatch_semaphore alloc] hm_initWithValue:value];
}

/* The object is retained: the waiter may release it as soon as the value is there. */
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t object)
{
    [object retain];
    struct semaphore *const semaphore = [object hm_state];
    pthread_mutex_lock(&semaphore->lock);
    semaphore->value++;
    const intptr_t woken = semaphore->waiting > 0;
    pthread_cond_signal(&semaphore->raised);
    pthread_mutex_unlock(&semaphore->lock);
    [object release];
    return woken;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

dispatch_time_t dispatch_time(dispatch_time_t when, int64_t delta)
{
    if (when == DISPATCH_TIME_FOREVER)
        return when;
    const uint64_t base = when == DISPATCH_TIME_NOW ? now_ns() : when;
    const uint64_t sum = base + (uint64_t)delta;
    if (delta >= 0)
        return sum < base ? DISPATCH_TIME_FOREVER : sum;
    return sum > base || sum == DISPATCH_TIME_NOW ? 1 : sum;
}

intptr_t dispatch_semaphore_wait(dispatch_semaphore_t object, dispatch_time_t timeout)
{
    struct semaphore *const semaphore = [object hm_state];
    const struct timespec until = {(time_t)(timeout / NSEC_PER_SEC),
                                   (long)(timeout % NSEC_PER_SEC)};
    pthread_mutex_lock(&semaphore->lock);
    semaphore->waiting++;
    int error = 0;
    while (semaphore->value <= 0 && error != ETIMEDOUT) {
        if (timeout == DISPATCH_TIME_FOREVER)
            pthread_cond_wait(&semaphore->raised, &semaphore->lock);
        else
            error = pthread_cond_timedwait(&semaphore->raised, &semaphore->lock, &until);
    }
    semaphore->waiting--;
    const bool taken = semaphore->value > 0;
    if (taken)
        semaphore->value--;
    pthread_mutex_unlock(&semaphore->lock);
    return taken ? 0 : 1;
}

/* ---- Data --------------------------------------------------------------------------------- */

@interface OS_dispatch_data ()
- (instancetype)hm_initWithBytes:(const void *)bytes
                           count:(size_t)count
                           queue:(dispatch_queue_t)queue
                      destructor:(dispatch_block_t)destructor HM_INITIALIZER;
- (const void *)hm_bytes;
- (size_t)hm_count;
@end

@implementation OS_dispatch_data
- (instancetype)hm_initWithBytes:(const void *)bytes
                           count:(size_t)count
                           queue:(dispatch_queue_t)queue
                      destructor:(dispatch_block_t)destructor
{
    _count = count;
    _queue = [queue retain];
    _destructor = [destructor copy];
    if (destructor) {
        _bytes = bytes;
    } else {
        void *const copy = host_metal_allocate(count);
        if (count)
            memcpy(copy, bytes, count);
        _bytes = copy;
    }
    return self;
}
- (const void *)hm_bytes
{
    return _bytes;
}
- (size_t)hm_count
{
    return _count;
}
- (void)dealloc
{
    if (!_destructor)
        free((void *)(uintptr_t)_bytes);
    else if (_queue)
        dispatch_async(_queue, _destructor);
    else
        _destructor();
    [_destructor release];
    [_queue release];
    [super dealloc];
}
@end

dispatch_data_t dispatch_data_create(const void *bytes, size_t count, dispatch_queue_t queue,
                                     dispatch_block_t destructor)
{
    return [[OS_dispatch_data alloc] hm_initWithBytes:bytes
                                                count:count
                                                queue:queue
                                           destructor:destructor];
}

size_t dispatch_data_get_size(dispatch_data_t data)
{
    return [data hm_count];
}

bool dispatch_data_apply(dispatch_data_t data, dispatch_data_applier_t applier)
{
    return [data hm_count] == 0 || applier(data, 0, [data hm_bytes], [data hm_count]);
}
