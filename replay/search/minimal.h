/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a trace of one command alone: the buffers that it touches with what was in them, its
 * executable, one submission, and read-backs of what it should have written. Private to replay/. */
#ifndef REPLAY_MINIMAL_H
#define REPLAY_MINIMAL_H

#include "replay/search/lockstep.h"

struct replay_minimal {
    const struct replay_serial *serial;
    const struct replay_step *step; /* of a submission that is split */
    const struct replay_bytes_list *inputs, *outputs;
    const struct hal_device_info *device;        /* that the outputs came from */
    const struct replay_substitute *substitutes; /* of the device that the trace is for */
    size_t substitute_count;
};

/* An existing file is replaced. HAL_IO. */
enum hal_status replay_minimal_write(const struct replay_minimal *minimal,
                                     const char *path) HAL_CHECKED;

#endif
