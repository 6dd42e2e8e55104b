/* SPDX-License-Identifier: Apache-2.0 */
/* A device that a thread of its own opens while the trace is loaded: both take long on a GPU. */
#ifndef REPLAY_OPENING_H
#define REPLAY_OPENING_H

#include "hal/hal.h"

#include <pthread.h>

struct replay_opening {
    bool begun;
    char *uri;
    pthread_t thread;
    enum hal_status status;
    struct hal_device *device;
    char message[HAL_MESSAGE_BYTES];
};

/* Copies the URI. What stands in the way of a thread leaves it at that: nothing has begun. */
void replay_opening_begin(struct replay_opening *opening, const char *uri);

/* Of one that has begun: waits for it. The caller owns the device. */
enum hal_status replay_opening_end(struct replay_opening *opening,
                                   struct hal_device **out_device) HAL_CHECKED;

/* Nobody wants the device any more, if it was begun. Keeps the thread's message. */
void replay_opening_drop(struct replay_opening *opening);

#endif
