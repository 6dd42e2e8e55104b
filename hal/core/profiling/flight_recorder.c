/* SPDX-License-Identifier: Apache-2.0 */
/* The flight recorder: a capture that keeps the last part of a run. This file decides when to make
 * checkpoints, at a submission, as for a capture range that opens, and writes a part out: it
 * completes the file, and the recording continues in another one. */
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/core/core.h"

#include <limits.h>

static const int64_t timeout_ns = 500000000, longest_retry_ns = 1000000000;

enum hal_status hal_flight_recorder_begun(struct hal_device *device,
                                          const struct hal_profiling_options *options)
{
    struct hal_flight_recorder *recorder = &device->flight_recorder;
    if (!recorder->goes_on) {
        free(recorder->base);
        recorder->base = hal_copy_string(options->file);
    }
    if (!recorder->base)
        return hal_fail(HAL_NO_MEMORY, "no memory for a capture");
    recorder->options = *options;
    recorder->options.file = recorder->base;
    recorder->options.window = NULL;
    recorder->warned = false;
    atomic_store(&recorder->due_ns, hal_clock_ns() + options->last_ns);
    return HAL_OK;
}

void hal_flight_recorder_ended(struct hal_device *device)
{
    atomic_store(&device->flight_recorder.due_ns, INT64_MAX);
}

void hal_flight_recorder_finish(struct hal_device *device)
{
    free(device->flight_recorder.base);
    device->flight_recorder.base = NULL;
}

/* Work in flight that waits for this very thread makes it a later submission. */
static void checkpoint(struct hal_device *device)
{
    struct hal_flight_recorder *recorder = &device->flight_recorder;
    const int64_t period_ns = recorder->options.last_ns;
    const enum hal_status status =
        hal_profiling_checkpoint_now(device, recorder->warned ? timeout_ns / 25 : timeout_ns);
    int64_t again_ns = period_ns;
    if (status != HAL_OK) {
        again_ns = period_ns / 16 < longest_retry_ns ? period_ns / 16 : longest_retry_ns;
        if (!recorder->warned)
            hal_log(HAL_LOG_WARN, "a checkpoint comes later than requested: %s", hal_message());
    }
    recorder->warned = status != HAL_OK;
    /* Not when the capture has ended meanwhile. */
    int64_t taken = HAL_FLIGHT_RECORDER_BUSY;
    atomic_compare_exchange_strong(&recorder->due_ns, &taken, hal_clock_ns() + again_ns);
}

void hal_flight_recorder_before(struct hal_device *device)
{
    struct hal_flight_recorder *recorder = &device->flight_recorder;
    int64_t due_ns = atomic_load(&recorder->due_ns);
    if (due_ns >= HAL_FLIGHT_RECORDER_BUSY || hal_clock_ns() < due_ns ||
        atomic_load(&device->gate.state) == HAL_GATE_FORKED)
        return;
    if (atomic_compare_exchange_strong(&recorder->due_ns, &due_ns, HAL_FLIGHT_RECORDER_BUSY))
        checkpoint(device);
}
