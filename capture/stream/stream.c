/* SPDX-License-Identifier: Apache-2.0 */
/* The stream's life. */
#include "capture/stream/stream.h"

#include "capture/stream/threads.h"
#include "format/limits.h"
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/base/message.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum {
    FULL_RINGS = 64,
    STRING_BUCKETS = 1 << 16,
    FILE_BUCKETS = 256,
    ENOUGH_STAGING_BYTES = 8 << 20,
    MOST_SPARE_BYTES = 2 * TRACE_MAX_RECORD_BYTES,
};

/* ---- Opening and closing ---- */

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static enum hal_status open_recording_word(struct capture_stream *stream)
{
    void *page =
        mmap(NULL, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return hal_fail(HAL_NO_MEMORY, "no memory for a capture: %s", strerror(errno));
    stream->recording = page;
    if (madvise(page, page_bytes(), MADV_WIPEONFORK) != 0)
        return hal_fail(HAL_UNSUPPORTED, "cannot exclude the capture from fork: %s",
                        strerror(errno));
    atomic_store(stream->recording, 1);
    return HAL_OK;
}

/* ---- Memory ---- */

static enum hal_status open_sidecar(struct capture_stream *stream,
                                    const struct capture_stream_options *options,
                                    const char *folder, uint64_t spare)
{
    const struct capture_sidecar_desc desc = {
        .folder = folder,
        .destination = options->destination,
        .start_ns = options->start_ns,
        .staging_bytes = options->staging_bytes,
        .rings_bytes = FULL_RINGS * options->ring_bytes + spare,
        .least_room = 2 * options->ring_bytes + options->staging_bytes,
    };
    HAL_TRY(capture_sidecar_open(&desc, &stream->sidecar));
    const enum hal_status status = capture_staging_init(&stream->staging, &stream->sidecar);
    if (status != HAL_OK) {
        capture_sidecar_remove(&stream->sidecar);
        capture_sidecar_close(&stream->sidecar);
    }
    return status;
}

/* Contents are mapped twice: most of a limited address space belongs to the program. */
static uint64_t staging_limit(void)
{
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return space.rlim_cur / 16;
}

/* As much as there is room for. */
static enum hal_status open_largest(struct capture_stream *stream,
                                    const struct capture_stream_options *options,
                                    const char *folder, uint64_t least_staging)
{
    struct capture_stream_options sized = *options;
    uint64_t spare = MOST_SPARE_BYTES;
    const uint64_t limit = staging_limit();
    while (sized.staging_bytes > limit && sized.staging_bytes > CAPTURE_LEAST_STAGING_BYTES)
        sized.staging_bytes /= 2;
    for (;;) {
        const enum hal_status status = open_sidecar(stream, &sized, folder, spare);
        stream->ring_bytes = sized.ring_bytes;
        stream->spare_bytes = spare;
        const bool staging_ends = sized.staging_bytes <= least_staging;
        const bool rings_end = sized.ring_bytes <= CAPTURE_LEAST_RING_BYTES;
        const bool ends = staging_ends && rings_end;
        if (status != HAL_NO_MEMORY || (ends && !spare))
            return status;
        spare = ends ? 0 : spare;
        sized.staging_bytes /= staging_ends ? 1 : 2;
        sized.ring_bytes /= rings_end ? 1 : 2;
    }
}

/* In memory, unless there is hardly any space; else beside the trace. */
static enum hal_status open_memory(struct capture_stream *stream,
                                   const struct capture_stream_options *options)
{
    const char *folder = options->sidecar_folder;
    if (folder && folder[0])
        return open_largest(stream, options, folder, CAPTURE_LEAST_STAGING_BYTES);
    if (open_largest(stream, options, TRACE_SIDECAR_FOLDER, ENOUGH_STAGING_BYTES) == HAL_OK ||
        open_largest(stream, options, NULL, CAPTURE_LEAST_STAGING_BYTES) == HAL_OK)
        return HAL_OK;
    return open_largest(stream, options, TRACE_SIDECAR_FOLDER, CAPTURE_LEAST_STAGING_BYTES);
}

static uint32_t copier_threads(uint32_t processors)
{
    const uint32_t threads = processors / CAPTURE_COPIER_PROCESSORS;
    return threads < CAPTURE_COPIER_MOST_THREADS ? threads : CAPTURE_COPIER_MOST_THREADS;
}

static void prepare_memory(struct capture_stream *stream)
{
    const struct hal_kept_message kept = hal_keep_message();
    capture_threads_prepare(stream);
    if (stream->policy.contents == CAPTURE_BYTES)
        capture_staging_prepare_large(&stream->staging);
    hal_restore_message(&kept, HAL_FAILED);
}

enum hal_status capture_stream_open(struct capture_stream *stream,
                                    const struct capture_stream_options *options)
{
    memset(stream, 0, sizeof *stream);
    stream->process = getpid();
    stream->policy = options->policy;
    stream->copier.processors = hal_processor_count();
    stream->copier.thread_limit = copier_threads(stream->copier.processors);
    pthread_mutex_init(&stream->error_lock, NULL);
    capture_threads_open(stream);
    enum hal_status status = open_recording_word(stream);
    if (status == HAL_OK)
        status = open_memory(stream, options);
    if (status == HAL_OK)
        status = capture_table_init(&stream->strings, STRING_BUCKETS, TRACE_MAX_STRINGS - 1);
    if (status == HAL_OK)
        status = capture_table_init(&stream->files, FILE_BUCKETS, TRACE_MAX_STRINGS - 1);
    if (status != HAL_OK)
        capture_stream_close(stream);
    else
        prepare_memory(stream);
    return status;
}

enum hal_status capture_stream_start(struct capture_stream *stream, struct trace_writer *writer)
{
    stream->writer = writer;
    const enum hal_status status =
        hal_thread_start("hal-capture", capture_write_stream, stream, &stream->writer_thread);
    stream->writer_runs = status == HAL_OK;
    return status;
}

static void end_threads(struct capture_stream *stream)
{
    atomic_store(&stream->ending, true);
    capture_wake_writer(stream);
    pthread_join(stream->writer_thread, NULL);
    capture_copier_end(stream);
}

/* What the file has is all there is, or all that it could take. */
static void leave_sidecar(struct capture_stream *stream)
{
    if (!stream->file_failed || !stream->has_file)
        capture_sidecar_remove(&stream->sidecar);
    else if (stream->sidecar.path)
        hal_log(HAL_LOG_WARN,
                "the data that could not be written is in '%s', for 'hal-trace recover -o OUTPUT'",
                stream->sidecar.path);
}

enum hal_status capture_stream_leave(struct capture_stream *stream)
{
    atomic_store(stream->recording, 0);
    stream->left = true;
    end_threads(stream);
    leave_sidecar(stream);
    pthread_mutex_lock(&stream->error_lock);
    const enum hal_status status = stream->error;
    if (status != HAL_OK)
        hal_fail(status, "%s", stream->message ? stream->message : "recording failed");
    pthread_mutex_unlock(&stream->error_lock);
    return status;
}

enum hal_status capture_stream_close(struct capture_stream *stream)
{
    if (!stream->generation)
        return HAL_OK;
    if (stream->writer_runs) {
        end_threads(stream);
    } else if (stream->writer) {
        trace_writer_close(stream->writer, NULL);
    }
    capture_threads_close(stream);
    capture_table_finish(&stream->strings);
    capture_table_finish(&stream->files);
    capture_staging_finish(&stream->staging);
    leave_sidecar(stream);
    capture_sidecar_close(&stream->sidecar);
    if (stream->recording)
        munmap((void *)stream->recording, page_bytes());
    pthread_mutex_destroy(&stream->error_lock);
    stream->generation = 0;
    if (stream->error == HAL_OK)
        return HAL_OK;
    hal_fail(stream->error, "%s", stream->message ? stream->message : "recording failed");
    free(stream->message);
    return stream->error;
}

/* ---- A second file ---- */

enum hal_status capture_stream_succeed(struct capture_stream *stream,
                                       const struct capture_successor *successor)
{
    struct capture_successor coming = *successor;
    atomic_store(&stream->sidecar.header->next_alone, true);
    atomic_store(&stream->coming, &coming);
    return capture_stream_flush(stream);
}

/* What only the second file has does not count as lost for the first. */
enum hal_status capture_stream_share(struct capture_stream *stream, bool works)
{
    struct trace_sidecar_header *header = stream->sidecar.header;
    HAL_TRY(capture_stream_flush(stream));
    const uint64_t last = atomic_load(&stream->ticket);
    header->skipped_tickets += last + 1 - stream->next.first_ticket;
    stream->next.skipped_tickets = stream->next.first_ticket - 1;
    stream->next.broken = !works;
    atomic_store(&stream->budget_used, 0);
    atomic_store(&header->next_alone, false);
    return HAL_OK;
}
