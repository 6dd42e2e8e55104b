/* SPDX-License-Identifier: Apache-2.0 */
/* The flight recorder: a capture that keeps only its last part.
 *
 * Periodically the core makes a checkpoint: with the device idle and no call in progress, the live
 * objects are recorded, as a late capture does, into a second file that begins there. From then on
 * both files receive everything. At the next checkpoint the older file is deleted, the second takes
 * its name, and a new one begins. So the file with the name always covers at least one period,
 * replays from its beginning, and exists, with the sidecar, if the process is killed. */
#ifndef CAPTURE_FLIGHT_RECORDER_H
#define CAPTURE_FLIGHT_RECORDER_H

#include "capture/capture.h"

/* Keeps what later files need from this one. */
enum hal_status capture_flight_recorder_init(
    struct capture *capture, const struct hal_profiling_options *options) HAL_CHECKED;
void capture_flight_recorder_finish(struct capture *capture);

/* The entry of struct hal_layer. */
enum hal_status capture_checkpoint(struct hal_layer *layer) HAL_CHECKED;

/* Opens a file for this capture that has no name yet (begin.c). */
enum hal_status capture_open_file(const struct capture *capture, const char *path,
                                  const struct hal_profiling_options *options, int64_t start_ns,
                                  bool late, struct trace_writer **out_writer) HAL_CHECKED;

#endif
