/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the device that a session replays on, and its number of queues. */
#ifndef REPLAY_SESSION_DEVICE_H
#define REPLAY_SESSION_DEVICE_H

#include "replay/cli/session.h"

/* A device in this process or a remote one. */
struct replay_opened {
    struct hal_device **device;
    struct replay_remote *remote; /* NULL: in this process */
};

/* A device that the user names has the queues that the trace needs, or the number given. */
enum hal_status replay_open_chosen(const char *uri, uint32_t queues,
                                   const struct replay_opened *out) HAL_CHECKED;

/* Called while the trace is loaded; `user` is the session. Does nothing if the device is not known
 * yet or belongs to a child. */
void replay_open_beside(void *user, const struct trace_header *header);

/* Opens the session's device. */
enum hal_status replay_open_device(struct replay_session *s) HAL_CHECKED;

#endif
