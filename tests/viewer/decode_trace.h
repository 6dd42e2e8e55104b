/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a trace as a program gives it that decodes tokens with a small language model: scopes,
 * uploads on a thread and a queue of their own, layers of dispatches, waits, read-backs. The same
 * options give the same events at the same times. */
#ifndef TESTS_VIEWER_DECODE_TRACE_H
#define TESTS_VIEWER_DECODE_TRACE_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum decode_sync { DECODE_SYNC_OP, DECODE_SYNC_LAYER, DECODE_SYNC_TOKEN };

struct decode_options {
    uint32_t tokens, layers;
    enum decode_sync sync; /* after what the host waits for the device */
    uint32_t seed;         /* of the times' variation */
    const char *device;    /* its URI; NULL: the CPU's */
    bool flushes;          /* after each token: a file that is cut off lacks only what follows */
};

enum hal_status decode_trace_write(const char *path, const struct decode_options *options,
                                   bool healthy) HAL_CHECKED;

#endif
