/* SPDX-License-Identifier: Apache-2.0 */
/* A device that a thread of its own opens while the trace is loaded: both take long on a GPU. */
#ifndef REPLAY_ASYNC_OPEN_H
#define REPLAY_ASYNC_OPEN_H

#include "hal/hal.h"

#include <pthread.h>

struct replay_async_open {
    bool begun;
    char *uri;
    pthread_t thread;
    enum hal_status status;
    struct hal_device *device;
    char message[HAL_MESSAGE_BYTES];
};

/* Copies the URI. What stands in the way of a thread leaves it at that: nothing has begun. */
void replay_async_open_begin(struct replay_async_open *opener, const char *uri);

/* Of one that has begun: waits for it. The caller owns the device. */
enum hal_status replay_async_open_end(struct replay_async_open *opener,
                                      struct hal_device **out_device) HAL_CHECKED;

/* Nobody wants the device any more, if it was begun. Keeps the thread's message. */
void replay_async_open_drop(struct replay_async_open *opener);

#endif
