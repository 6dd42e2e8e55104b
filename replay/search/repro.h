/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a trace of one command alone: the buffers that it accesses with their contents, its
 * executable, one submission, and read-backs of its expected results. Private to replay/. */
#ifndef REPLAY_REPRO_H
#define REPLAY_REPRO_H

#include "replay/search/lockstep.h"

struct replay_repro {
    const struct replay_serialized *serialized;
    const struct replay_step *step; /* of a split submission */
    const struct replay_bytes_list *inputs, *outputs;
    const struct hal_device_info *device;        /* that produced the outputs */
    const struct replay_substitute *substitutes; /* of the device that the trace is for */
    size_t substitute_count;
};

/* Replaces an existing file. HAL_IO. */
enum hal_status replay_repro_write(const struct replay_repro *minimal,
                                   const char *path) HAL_CHECKED;

#endif
