/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a device on a thread of its own while the trace is loaded: both are slow on a GPU. */
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

/* Copies the URI. If no thread can be started nothing begins. */
void replay_async_open_begin(struct replay_async_open *opener, const char *uri);

/* Waits for an open that has begun. The caller owns the device. */
enum hal_status replay_async_open_end(struct replay_async_open *opener,
                                      struct hal_device **out_device) HAL_CHECKED;

/* Discards the device if an open was begun. Preserves the thread's message. */
void replay_async_open_drop(struct replay_async_open *opener);

#endif
