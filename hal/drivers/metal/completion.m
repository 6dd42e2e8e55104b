/* SPDX-License-Identifier: Apache-2.0 */
/* Completion events: how the device reports that a submission has run. Each is a shared event that
 * the last command buffer of the submission signals: work behind it waits for that on the device,
 * and a listener notifies the host.
 *
 * Two ways lead to the host, and whichever is first counts: the listener, and the completion of
 * the command buffer that signals. The second one is slower, but also there when that command
 * buffer fails: then the host sets the event in the device's place, and Metal need not call
 * listeners for what the host sets.
 *
 * The other way may come when the submission and its device are gone. So neither holds a pointer:
 * they know the submission by a number that no other one ever gets. */
#include "hal/base/mem.h"
#import "hal/drivers/metal/queue.h"

/* ---- Who is waited for ---------------------------------------------------------------------- */

/* For all devices; guarded by the engine's lock. */
static struct {
    struct metal_submission *first, *last;
    uint64_t last_watch;
} watched;

static void watch_locked(struct metal_submission *submission)
{
    submission->watch = ++watched.last_watch;
    submission->parts++;
    submission->next_watched = NULL;
    submission->previous_watched = watched.last;
    if (watched.last)
        watched.last->next_watched = submission;
    else
        watched.first = submission;
    watched.last = submission;
}

/* The submission, which is no longer watched; NULL: the other way was first. Most end in the order
 * in which they began, so the search starts at the first. Numbers ascend, so the search ends at the
 * position of a missing one. */
static struct metal_submission *unwatch_locked(uint64_t watch)
{
    struct metal_submission *submission = watched.first;
    while (submission && submission->watch < watch)
        submission = submission->next_watched;
    if (!submission || submission->watch != watch)
        return NULL;
    if (submission->previous_watched)
        submission->previous_watched->next_watched = submission->next_watched;
    else
        watched.first = submission->next_watched;
    if (submission->next_watched)
        submission->next_watched->previous_watched = submission->previous_watched;
    else
        watched.last = submission->previous_watched;
    return submission;
}

/* ---- Both ways ------------------------------------------------------------------------------ */

static void heard(uint64_t watch)
{
    pthread_mutex_lock(&hal_engine_lock);
    struct metal_submission *submission = unwatch_locked(watch);
    pthread_mutex_unlock(&hal_engine_lock);
    if (submission)
        metal_submission_resolve(submission, HAL_OK);
}

/* A command buffer that has failed and has signalled none the less has done all that it had to do.
 * One that has not is what others wait for, on the device: the host sets the event before the
 * submission ends, for then the completion has its next user. */
static void completed(uint64_t watch, id<MTLSharedEvent> event, uint64_t value,
                      id<MTLCommandBuffer> part)
{
    pthread_mutex_lock(&hal_engine_lock);
    struct metal_submission *submission = unwatch_locked(watch);
    pthread_mutex_unlock(&hal_engine_lock);
    if (!submission)
        return;
    const bool signalled = event.signaledValue >= value;
    enum hal_status status = HAL_OK;
    if (!signalled) {
        status = metal_part_status(submission, METAL_PART_SIGNAL, 0, part);
        event.signaledValue = value;
    }
    metal_submission_resolve(submission, status);
}

/* ---- Completions ----------------------------------------------------------------------------- */

static struct metal_completion *make_completion(struct metal_device *device)
{
    struct metal_completion *completion = hal_alloc(1, sizeof *completion);
    id<MTLSharedEvent> event = completion ? [device->device newSharedEvent] : nil;
    if (!event) {
        free(completion);
        return NULL;
    }
    event.label = @"submission";
    completion->event = event;
    completion->next_made = device->completions;
    device->completions = completion;
    return completion;
}

static struct metal_completion *take_completion(struct metal_device *device)
{
    pthread_mutex_lock(&hal_engine_lock);
    struct metal_completion *completion = device->free_completions;
    if (completion)
        device->free_completions = completion->next;
    pthread_mutex_unlock(&hal_engine_lock);
    if (!completion)
        completion = make_completion(device);
    if (completion)
        completion->value++;
    return completion;
}

bool metal_completion_commit(struct metal_submission *submission, id<MTLCommandBuffer> part)
{
    struct metal_device *device = metal_device_of(submission);
    struct metal_completion *completion = take_completion(device);
    if (!completion)
        return false;
    pthread_mutex_lock(&hal_engine_lock);
    submission->completion = completion;
    watch_locked(submission);
    const uint64_t watch = submission->watch;
    pthread_mutex_unlock(&hal_engine_lock);
    id<MTLSharedEvent> event = completion->event; /* the block's own, when the device is gone */
    const uint64_t value = completion->value;
    [part encodeSignalEvent:event value:value];
    [part addCompletedHandler:^(id<MTLCommandBuffer> done) {
      @autoreleasepool {
          completed(watch, event, value, done);
      }
    }];
    [event notifyListener:device->listener
                  atValue:value
                    block:^(id<MTLSharedEvent> sender, uint64_t reached) {
                      (void)sender, (void)reached;
                      @autoreleasepool {
                          heard(watch);
                      }
                    }];
    [part commit];
    return true;
}

bool metal_completions_start(struct metal_device *device)
{
    dispatch_queue_t queue = dispatch_queue_create("hal-metal-completions", DISPATCH_QUEUE_SERIAL);
    if (!queue)
        return false;
    device->listener = [[MTLSharedEventListener alloc] initWithDispatchQueue:queue];
    dispatch_release(queue);
    return device->listener != nil;
}

void metal_completions_stop(struct metal_device *device)
{
    while (device->completions) {
        struct metal_completion *next = device->completions->next_made;
        [device->completions->event release];
        free(device->completions);
        device->completions = next;
    }
    [device->listener release];
}
