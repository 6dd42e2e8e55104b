/* SPDX-License-Identifier: Apache-2.0 */
/* From rings and staging into the file. */
#include "capture/stream/drain.h"

#include "hal/base/mem.h"

enum {
    SLICE_BYTES = CAPTURE_SLICE_BYTES,
    LOOKED_AT = 64,   /* records are looked through for contents before one is written */
    STAGED_SHARE = 4, /* of the staging, in which a slice's contents lie at most, about */
};

void capture_drain_fail(struct capture_drain *drain, enum hal_status status)
{
    if (drain->stream->file_failed)
        return;
    drain->stream->file_failed = true;
    capture_stop_writing(drain->stream, status);
}

/* ---- Records ---- */

static void store_into(struct capture_drain *drain, struct trace_writer *writer,
                       const struct capture_thread *thread, const uint8_t *begin,
                       const uint8_t *end)
{
    if (begin == end || drain->stream->file_failed)
        return;
    const enum hal_status status =
        trace_writer_records(writer, thread->number, begin, (size_t)(end - begin));
    if (status != HAL_OK)
        capture_drain_fail(drain, status);
}

static bool next_is_alone(const struct capture_stream *stream)
{
    return atomic_load_explicit(&stream->sidecar.header->next_alone, memory_order_relaxed) != 0;
}

/* The file, or both of a flight recorder; NULL: no more. */
static struct trace_writer *writer_at(const struct capture_drain *drain, unsigned index)
{
    const struct capture_stream *stream = drain->stream;
    struct trace_writer *writers[3] = {stream->writer, stream->next.writer, NULL};
    return writers[index + next_is_alone(stream)];
}

static void store_run(struct capture_drain *drain, const struct capture_thread *thread,
                      const uint8_t *begin, const uint8_t *end)
{
    struct trace_writer *writer;
    for (unsigned i = 0; (writer = writer_at(drain, i)); i++)
        store_into(drain, writer, thread, begin, end);
}

static enum hal_status number_content(struct capture_drain *drain, struct trace_writer *writer,
                                      uint64_t *position, uint64_t bytes)
{
    const uint8_t *data = capture_staging_at(&drain->stream->staging, *position);
    if (*position == 0 || drain->stream->file_failed)
        return HAL_OK;
    return trace_writer_content(writer, data, bytes, position);
}

/* All contents of the record in place of their positions. */
static enum hal_status number_contents(struct capture_drain *drain, struct trace_writer *writer,
                                       struct trace_event *event)
{
    uint64_t bytes, *position;
    for (uint32_t i = 0; (position = trace_record_content(event, i, &bytes)); i++)
        HAL_TRY(number_content(drain, writer, position, bytes));
    return HAL_OK;
}

static void release_one(struct capture_drain *drain, uint64_t position, uint64_t bytes)
{
    if (position == 0)
        return;
    const enum hal_status status =
        capture_staging_release(&drain->stream->staging, position, bytes);
    if (status != HAL_OK)
        capture_drain_fail(drain, status);
}

static void release_contents(struct capture_drain *drain, struct trace_event *event)
{
    uint64_t bytes;
    const uint64_t *position;
    for (uint32_t i = 0; (position = trace_record_content(event, i, &bytes)); i++)
        release_one(drain, *position, bytes);
}

/* The ring keeps the position: until the file has the record, a recovery needs it. */
static void store_with_content(struct capture_drain *drain, const struct capture_thread *thread,
                               const struct trace_event *event)
{
    struct trace_writer *writer;
    if (!hal_grow(&drain->scratch, &drain->scratch_capacity, event->bytes, 1)) {
        capture_drain_fail(
            drain, hal_fail(HAL_NO_MEMORY, "no memory for a record of %u bytes", event->bytes));
        return;
    }
    const bool is_short =
        capture_staging_used(&drain->stream->staging) > drain->stream->staging.bytes / 2;
    for (unsigned i = 0; (writer = writer_at(drain, i)); i++) {
        trace_writer_low_latency(writer, is_short);
        memcpy(drain->scratch, event, event->bytes);
        const enum hal_status status = number_contents(drain, writer, drain->scratch);
        if (status != HAL_OK)
            capture_drain_fail(drain, status);
        store_into(drain, writer, thread, drain->scratch,
                   (const uint8_t *)drain->scratch + event->bytes);
    }
    memcpy(drain->scratch, event, event->bytes);
    release_contents(drain, drain->scratch);
}

/* A second file begins with the strings, stacks, modules and threads so far. */
static void keep_table(struct capture_drain *drain, const struct trace_event *event)
{
    if (!trace_is_table(event) || !drain->stream->keeps_tables)
        return;
    if (!hal_grow(&drain->tables, &drain->tables_capacity, drain->tables_bytes + event->bytes, 1)) {
        capture_drain_fail(drain, hal_fail(HAL_NO_MEMORY, "no memory for the tables of a capture"));
        return;
    }
    memcpy((uint8_t *)drain->tables + drain->tables_bytes, event, event->bytes);
    drain->tables_bytes += event->bytes;
}

static bool has_content(const struct trace_event *event)
{
    return event->kind == TRACE_HOST_WRITE || event->kind == TRACE_HOST_READ ||
           event->kind == TRACE_EXECUTABLE_CREATE || event->kind == TRACE_FILE ||
           event->kind == TRACE_MAPPED_CHANGE;
}

/* The record after this one, and after the segments of a seal. */
static const uint8_t *behind(const uint8_t *at, const uint8_t *end)
{
    const struct trace_event *event = (const void *)at;
    const struct trace_command_buffer_seal *seal = (const void *)at;
    uint64_t bytes = event->bytes;
    if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
        bytes += seal->segment_bytes;
    return bytes < (uint64_t)(end - at) ? at + bytes : end;
}

/* While a content is written the digests of those that follow it soon are computed. */
static void announce_next(struct capture_drain *drain, const uint8_t *at, const uint8_t *end)
{
    struct trace_writer *writer = writer_at(drain, 0);
    if (!writer)
        return;
    if (drain->announced_to < at)
        drain->announced_to = at;
    at = drain->announced_to;
    for (unsigned i = 0; i < LOOKED_AT && at < end; i++) {
        const struct trace_event *event = (const void *)at;
        const struct trace_content_event *content = (const void *)at;
        if ((event->kind == TRACE_HOST_WRITE || event->kind == TRACE_HOST_READ) &&
            content->content &&
            !trace_writer_announce(writer,
                                   capture_staging_at(&drain->stream->staging, content->content),
                                   trace_content_bytes(content)))
            break;
        at = behind(at, end);
    }
    drain->announced_to = at;
}

/* Stores whole records; segments of a seal may be cut off at the end. */
static void store_records(struct capture_drain *drain, struct capture_thread *thread,
                          const uint8_t *begin, const uint8_t *end)
{
    const uint8_t *at = begin;
    uint64_t events = 0;
    drain->announced_to = begin;
    while (at < end) {
        if (thread->segment_bytes) {
            const uint64_t left = (uint64_t)(end - at);
            const uint64_t step = thread->segment_bytes < left ? thread->segment_bytes : left;
            thread->segment_bytes -= step;
            at += step;
            continue;
        }
        const struct trace_event *event = (const void *)at;
        if (has_content(event)) {
            store_run(drain, thread, begin, at);
            announce_next(drain, behind(at, end), end);
            store_with_content(drain, thread, event);
            begin = at + event->bytes;
        } else if (event->kind == TRACE_COMMAND_BUFFER_SEAL) {
            thread->segment_bytes = TRACE_AS(trace_command_buffer_seal, at)->segment_bytes;
        }
        keep_table(drain, event);
        at += event->bytes;
        events++;
    }
    store_run(drain, thread, begin, end);
    if (drain->stream->file_failed)
        atomic_fetch_add(&drain->stream->unwritten, events);
}

/* ---- Rings ---- */

static uint64_t staged_bytes(const struct trace_event *event)
{
    struct trace_event *record = (void *)(uintptr_t)event; /* read only */
    uint64_t sum = 0, bytes;
    const uint64_t *position;
    for (uint32_t i = 0; has_content(event) && (position = trace_record_content(record, i, &bytes));
         i++)
        sum += *position ? bytes : 0;
    return sum;
}

/* Ends a slice between two records: early enough that the file can take them before much more is
 * recorded, and that a thread waiting for the contents' memory gets it soon. */
static uint64_t slice_end(const struct capture_thread *thread, const uint8_t *data, uint64_t bytes)
{
    const struct capture_staging *staging = &thread->stream->staging;
    const uint64_t most_staged = staging->bytes / STAGED_SHARE;
    if (bytes <= SLICE_BYTES && capture_staging_used(staging) <= most_staged)
        return bytes;
    uint64_t at = 0, staged = 0, segments = thread->segment_bytes;
    while (at < bytes && at < SLICE_BYTES && staged < most_staged) {
        if (segments) {
            const struct trace_segment *segment = (const void *)(data + at);
            segments -= segment->bytes;
            at += segment->bytes;
            continue;
        }
        const struct trace_event *event = (const void *)(data + at);
        if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
            segments = TRACE_AS(trace_command_buffer_seal, event)->segment_bytes;
        staged += staged_bytes(event);
        at += event->bytes;
    }
    return at;
}

/* One slice of one thread. A thread that continues in another ring has published all in the old. */
static uint64_t drain_thread(struct capture_drain *drain, struct capture_thread *thread)
{
    struct capture_ring *ring = thread->reading;
    struct capture_ring *next = atomic_load_explicit(&ring->next, memory_order_acquire);
    uint64_t bytes;
    const uint8_t *data = capture_ring_peek(ring, &bytes);
    if (bytes) {
        bytes = slice_end(thread, data, bytes);
        store_records(drain, thread, data, data + bytes);
        ring->read += bytes;
        return bytes;
    }
    if (!next)
        return 0;
    struct capture_ring **link = &thread->finished;
    while (*link)
        link = &(*link)->older;
    *link = ring;
    thread->reading = next;
    return drain_thread(drain, thread);
}

struct capture_thread *capture_drain_threads(struct capture_stream *stream)
{
    pthread_mutex_lock(&stream->threads_lock);
    struct capture_thread *thread = stream->threads;
    pthread_mutex_unlock(&stream->threads_lock);
    return thread;
}

uint64_t capture_drain_all(struct capture_drain *drain)
{
    uint64_t bytes = 0;
    for (struct capture_thread *thread = capture_drain_threads(drain->stream); thread;
         thread = thread->next)
        bytes += drain_thread(drain, thread);
    return bytes;
}
