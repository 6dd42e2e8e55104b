/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder on a device: everything that the workload asks of the HAL. */
#ifndef WORKLOADS_DECODE_SESSION_H
#define WORKLOADS_DECODE_SESSION_H

#include "hal/hal.h"
#include "tests/workloads/decode/model.h"

/* After what the host submits its commands and waits for them. */
enum session_sync { SESSION_SYNC_OP, SESSION_SYNC_LAYER, SESSION_SYNC_TOKEN };

struct session {
    struct hal_device *device; /* borrowed */
    const struct model *model; /* borrowed */
    enum session_sync sync;

    struct hal_executable *executable;
    uint32_t rms_norm, matrix_vector, silu, residual_add; /* entry points */
    struct hal_buffer *weights, *scales, *bias, *gain;    /* of all layers, written once */
    struct hal_buffer *upload, *result;                   /* host-visible, one state each */
    struct hal_buffer *state, *normalized, *projected;    /* device-local */
    struct hal_semaphore *progress;                       /* counts submissions */
    uint64_t submitted;

    struct hal_command_buffer *commands; /* being recorded, or NULL */
    uint64_t token;                      /* being decoded */
};

/* Compiles the kernels, creates the buffers and uploads the weights; blocks. The caller finishes
 * the zeroed or initialised session, whatever happens. */
enum hal_status session_init(struct session *session, struct hal_device *device,
                             const struct model *model, enum session_sync sync) HAL_CHECKED;
void session_finish(struct session *session);

/* Uploads `input`, runs all layers, and reads the final state back; blocks. */
enum hal_status session_decode(struct session *session, uint64_t token, const float *input,
                               float *out_state) HAL_CHECKED;

#endif
