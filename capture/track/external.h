/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture knows of semaphores that other devices move. */
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
    const struct hal_device *device; /* the captured one */
    pthread_mutex_t external_lock;   /* all of the following */
    struct hal_idmap ids;
    struct capture_semaphore **list;
    size_t count, capacity;
};

void capture_external_init(struct capture_external *external, const struct hal_device *device);
void capture_external_finish(struct capture_external *external);

/* What the capture keeps of the semaphore; NULL: it was never met. `external` NULL: all are its
 * own. */
struct capture_semaphore *capture_external_find(struct capture_external *external,
                                                const struct hal_semaphore *semaphore);

/* Records the creation of those that belong to other devices, once; before the call that uses them
 * takes its ticket. */
void capture_external_meet(struct capture *capture, struct capture_thread *thread,
                           const struct hal_semaphore_value *values, size_t count);

/* At a beginning: creates them once more. */
void capture_external_repeat(struct capture *capture);

/* The trace is about to say that the value was reached; returns what it said before. */
uint64_t capture_semaphore_raise(struct capture_semaphore *semaphore, uint64_t value);

/* It was seen that the value is reached, or that the semaphore has failed: recorded when the trace
 * does not know why. Before the call that saw it takes its ticket. `semaphore` may be NULL. */
void capture_external_reached(struct capture_thread *thread, const struct hal_semaphore *object,
                              struct capture_semaphore *semaphore, uint64_t value);
void capture_external_failed(struct capture *capture, struct capture_thread *thread,
                             struct hal_semaphore *object, struct capture_semaphore *semaphore);

#endif
