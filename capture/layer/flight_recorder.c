/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of a flight recorder. */
#include "capture/layer/flight_recorder.h"

#include "hal/base/mem.h"

#include <stdio.h>

enum hal_status capture_flight_recorder_init(struct capture *capture,
                                             const struct hal_profiling_options *options)
{
    if (!options->last_ns)
        return HAL_OK;
    struct capture_flight_recorder *recorder = &capture->flight_recorder;
    recorder->options = *options;
    recorder->file = hal_copy_string(options->file);
    recorder->window = hal_copy_string(options->window);
    recorder->options.file = recorder->file;
    recorder->options.window = recorder->window;
    capture->stream.keeps_tables = true;
    return recorder->file && (recorder->window || !options->window)
               ? HAL_OK
               : hal_fail(HAL_NO_MEMORY, "no memory for a capture");
}

void capture_flight_recorder_finish(struct capture *capture)
{
    free(capture->flight_recorder.file);
    free(capture->flight_recorder.window);
}

/* Beside the one that it will replace. */
static enum hal_status open_next(struct capture *capture, int64_t now_ns,
                                 struct trace_writer **out_writer)
{
    char path[TRACE_PATH_BYTES];
    const int length = snprintf(path, sizeof path, "%s.next", capture->flight_recorder.file);
    if (length < 0 || (size_t)length >= sizeof path)
        return hal_fail(HAL_INVALID, "the file name of the capture is too long");
    struct hal_profiling_options options = capture->flight_recorder.options;
    options.force = true;
    return capture_open_file(capture, path, &options, now_ns, true, out_writer);
}

/* No other thread records: only the objects as they are now go into the new file. */
static enum hal_status begin_next(struct capture *capture, struct trace_writer *writer,
                                  int64_t now_ns)
{
    struct capture_stream *stream = &capture->stream;
    const struct capture_successor successor = {
        .writer = writer,
        .start_ns = now_ns,
        .path = capture->flight_recorder.file,
        .first_ticket = atomic_load(&stream->ticket) + 1,
    };
    HAL_TRY(capture_stream_succeed(stream, &successor));
    const enum hal_status status = capture_snapshot(capture);
    HAL_TRY(capture_stream_share(stream, status == HAL_OK));
    return status;
}

enum hal_status capture_checkpoint(struct hal_layer *layer)
{
    struct capture *capture = (struct capture *)((char *)layer - offsetof(struct capture, layer));
    struct capture_thread *thread;
    struct trace_writer *writer;
    if (capture_stream_forked(&capture->stream) || !(thread = capture_enter(&capture->stream)))
        return HAL_OK; /* nothing is recorded any more: the file keeps what it has */
    capture_mappings_collect(capture, thread);
    HAL_TRY(capture_stream_flush(&capture->stream));
    const int64_t now_ns = hal_clock_ns();
    HAL_TRY(open_next(capture, now_ns, &writer));
    return begin_next(capture, writer, now_ns);
}
