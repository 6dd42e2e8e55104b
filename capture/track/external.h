/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks semaphores that other devices signal. */
#ifndef CAPTURE_EXTERNAL_H
#define CAPTURE_EXTERNAL_H

#include "hal/base/idmap.h"
#include "hal/driver.h"

#include <pthread.h>

struct capture;
struct capture_semaphore;
struct capture_thread;

/* Semaphores of other devices that were used on this one, by id. */
struct capture_external {
    const struct hal_device *device; /* the captured device */
    pthread_mutex_t external_lock;   /* guards everything below */
    struct hal_idmap ids;
    struct capture_semaphore **list;
    size_t count, capacity;
};

void capture_external_init(struct capture_external *external, const struct hal_device *device);
void capture_external_finish(struct capture_external *external);

/* The semaphore's state; NULL: never seen. `external` NULL: all are the device's own. */
struct capture_semaphore *capture_external_find(struct capture_external *external,
                                                const struct hal_semaphore *semaphore);

/* Records, once, the creation of semaphores of other devices. Call it before the call that uses
 * them takes its ticket. */
void capture_external_meet(struct capture *capture, struct capture_thread *thread,
                           const struct hal_semaphore_value *values, size_t count);

/* Records their creation again at the begin of a file. */
void capture_external_repeat(struct capture *capture);

/* Call before the trace records that the value was reached; returns the value recorded before. */
uint64_t capture_semaphore_raise(struct capture_semaphore *semaphore, uint64_t value);

/* The value was seen to be reached, or the semaphore to have failed: recorded if the trace does not
 * know the cause. Call it before the observing call takes its ticket. `semaphore` may be NULL. */
void capture_external_reached(struct capture_thread *thread, const struct hal_semaphore *object,
                              struct capture_semaphore *semaphore, uint64_t value);
void capture_external_failed(struct capture *capture, struct capture_thread *thread,
                             struct hal_semaphore *object, struct capture_semaphore *semaphore);

#endif
