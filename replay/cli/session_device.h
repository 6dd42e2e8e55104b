/* SPDX-License-Identifier: Apache-2.0 */
/* Which device a session replays on, and how many queues it has. */
#ifndef REPLAY_SESSION_DEVICE_H
#define REPLAY_SESSION_DEVICE_H

#include "replay/cli/session.h"

/* In this process, or as a remote device. */
struct replay_opened {
    struct hal_device **device;
    struct replay_remote *remote; /* NULL: in this process */
};

/* A device that the user names has as many queues as the trace needs, unless he says how many. */
enum hal_status replay_open_chosen(const char *uri, uint32_t queues,
                                   const struct replay_opened *out) HAL_CHECKED;

/* While the trace is loaded; `user` is the session. Nothing where the device cannot be known yet,
 * or is a child's. */
void replay_open_beside(void *user, const struct trace_header *header);

/* The session's device. */
enum hal_status replay_open_device(struct replay_session *s) HAL_CHECKED;

#endif
