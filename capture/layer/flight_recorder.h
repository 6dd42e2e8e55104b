/* SPDX-License-Identifier: Apache-2.0 */
/* The flight recorder: a capture of which only the last part is kept.
 *
 * From time to time the core makes a checkpoint: with the device idle and nobody inside, the live
 * objects are recorded as a late capture does, into a second file that begins there. From then on
 * both files get everything. At the next checkpoint the older one goes, the second takes its name,
 * and a new one begins. So the file that has the name holds at least one period, can be replayed
 * from its beginning, and is there, with the sidecar, when the process is killed. */
#ifndef CAPTURE_FLIGHT_RECORDER_H
#define CAPTURE_FLIGHT_RECORDER_H

#include "capture/capture.h"

/* Keeps what later files need to know of this one. */
enum hal_status capture_flight_recorder_init(
    struct capture *capture, const struct hal_profiling_options *options) HAL_CHECKED;
void capture_flight_recorder_finish(struct capture *capture);

/* struct hal_layer's. */
enum hal_status capture_checkpoint(struct hal_layer *layer) HAL_CHECKED;

/* A file for this capture that has no name yet (begin.c). */
enum hal_status capture_open_file(const struct capture *capture, const char *path,
                                  const struct hal_profiling_options *options, int64_t start_ns,
                                  bool late, struct trace_writer **out_writer) HAL_CHECKED;

#endif
