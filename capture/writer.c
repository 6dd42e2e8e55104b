/* SPDX-License-Identifier: Apache-2.0 */
/* The writer thread: takes records out of the rings, stores the contents that they name, hands
 * both to the trace file, and gives memory back once the file has it. */
#include "capture/threads.h"

#include "hal/base/log.h"
#include "hal/base/mem.h"

enum { slice_bytes = 1 << 20 };

static const int64_t flush_interval_ns = 150 * 1000000;
static const int64_t retry_interval_ns = 1000000;
static const int64_t idle_before_sleep_ns = 1000000000;
static const int64_t sleep_ns = 1000000000;

struct drain {
    struct capture_stream *stream;
    void *scratch; /* a record whose content number is filled in */
    size_t scratch_capacity;
    void *tables; /* of a flight recorder: all table records */
    size_t tables_bytes, tables_capacity;
    bool dirty; /* something was taken since the last flush */
    int64_t flushed_ns, active_ns;
};

static void fail_file(struct drain *drain, enum hal_status status)
{
    if (drain->stream->file_failed)
        return;
    drain->stream->file_failed = true;
    capture_stop(drain->stream, status, "%s", hal_message());
}

/* ---- Records ---- */

static void store_into(struct drain *drain, struct trace_writer *writer,
                       const struct capture_thread *thread, const uint8_t *begin,
                       const uint8_t *end)
{
    if (begin == end || drain->stream->file_failed)
        return;
    const enum hal_status status =
        trace_writer_records(writer, thread->number, begin, (size_t)(end - begin));
    if (status != HAL_OK)
        fail_file(drain, status);
}

/* The file, or both of a flight recorder; NULL: no more. */
static struct trace_writer *writer_at(const struct drain *drain, unsigned index)
{
    const struct capture_stream *stream = drain->stream;
    struct trace_writer *writers[3] = {stream->writer, stream->next.writer, NULL};
    return writers[index + atomic_load_explicit(&stream->next_alone, memory_order_relaxed)];
}

static void store_run(struct drain *drain, const struct capture_thread *thread,
                      const uint8_t *begin, const uint8_t *end)
{
    struct trace_writer *writer;
    for (unsigned i = 0; (writer = writer_at(drain, i)); i++)
        store_into(drain, writer, thread, begin, end);
}

/* Where a record keeps the position of its contents. */
static uint64_t *content_field(struct trace_event *event, uint64_t *out_bytes)
{
    if (event->kind != TRACE_EXECUTABLE_CREATE) {
        struct trace_content_event *content = (struct trace_content_event *)(void *)event;
        *out_bytes = trace_content_bytes(content);
        return &content->content;
    }
    struct trace_executable_create *create = (struct trace_executable_create *)(void *)event;
    *out_bytes = create->size;
    return &create->content;
}

static enum hal_status number_content(struct drain *drain, struct trace_writer *writer,
                                      uint64_t *position, uint64_t bytes)
{
    const uint8_t *data = capture_staging_at(&drain->stream->staging, *position);
    if (*position == 0 || drain->stream->file_failed)
        return HAL_OK;
    return trace_writer_content(writer, data, bytes, position);
}

static struct trace_variant *variants_of(struct trace_event *event, uint32_t *out_count)
{
    struct trace_executable_create *create = (struct trace_executable_create *)(void *)event;
    *out_count = event->kind == TRACE_EXECUTABLE_CREATE ? create->variant_count : 0;
    return (struct trace_variant *)(void *)(create->entry_points + create->entry_point_count);
}

/* All contents of the record in place of their positions. */
static enum hal_status number_contents(struct drain *drain, struct trace_writer *writer,
                                       struct trace_event *event)
{
    uint64_t bytes = 0;
    uint32_t count;
    uint64_t *position = content_field(event, &bytes);
    HAL_TRY(number_content(drain, writer, position, bytes));
    struct trace_variant *variants = variants_of(event, &count);
    for (uint32_t i = 0; i < count; i++)
        HAL_TRY(number_content(drain, writer, &variants[i].content, variants[i].size));
    return HAL_OK;
}

static void release_one(struct drain *drain, uint64_t position, uint64_t bytes)
{
    if (position == 0)
        return;
    const enum hal_status status =
        capture_staging_release(&drain->stream->staging, position, bytes);
    if (status != HAL_OK)
        fail_file(drain, status);
}

static void release_contents(struct drain *drain, struct trace_event *event)
{
    uint64_t bytes = 0;
    uint32_t count;
    const uint64_t *position = content_field(event, &bytes);
    release_one(drain, *position, bytes);
    const struct trace_variant *variants = variants_of(event, &count);
    for (uint32_t i = 0; i < count; i++)
        release_one(drain, variants[i].content, variants[i].size);
}

/* The ring keeps the position: until the file has the record, a recovery needs it. */
static void store_with_content(struct drain *drain, const struct capture_thread *thread,
                               const struct trace_event *event)
{
    struct trace_writer *writer;
    if (!hal_grow(&drain->scratch, &drain->scratch_capacity, event->bytes, 1)) {
        fail_file(drain,
                  hal_fail(HAL_NO_MEMORY, "no memory for a record of %u bytes", event->bytes));
        return;
    }
    for (unsigned i = 0; (writer = writer_at(drain, i)); i++) {
        memcpy(drain->scratch, event, event->bytes);
        const enum hal_status status = number_contents(drain, writer, drain->scratch);
        if (status != HAL_OK)
            fail_file(drain, status);
        store_into(drain, writer, thread, drain->scratch,
                   (const uint8_t *)drain->scratch + event->bytes);
    }
    memcpy(drain->scratch, event, event->bytes);
    release_contents(drain, drain->scratch);
}

/* A second file begins with the strings, stacks, modules and threads so far. */
static void keep_table(struct drain *drain, const struct trace_event *event)
{
    if (event->kind < TRACE_STRING || !drain->stream->keeps_tables)
        return;
    if (!hal_grow(&drain->tables, &drain->tables_capacity, drain->tables_bytes + event->bytes, 1)) {
        fail_file(drain, hal_fail(HAL_NO_MEMORY, "no memory for the tables of a capture"));
        return;
    }
    memcpy((uint8_t *)drain->tables + drain->tables_bytes, event, event->bytes);
    drain->tables_bytes += event->bytes;
}

static bool has_content(const struct trace_event *event)
{
    return event->kind == TRACE_HOST_WRITE || event->kind == TRACE_HOST_READ ||
           event->kind == TRACE_EXECUTABLE_CREATE || event->kind == TRACE_FILE;
}

/* Stores whole records; segments of a seal may be cut off at the end. */
static void store_records(struct drain *drain, struct capture_thread *thread, const uint8_t *begin,
                          const uint8_t *end)
{
    const uint8_t *at = begin;
    uint64_t events = 0;
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
            store_with_content(drain, thread, event);
            begin = at + event->bytes;
        } else if (event->kind == TRACE_COMMAND_BUFFER_SEAL) {
            thread->segment_bytes =
                ((const struct trace_command_buffer_seal *)(const void *)at)->segment_bytes;
        }
        keep_table(drain, event);
        at += event->bytes;
        events++;
    }
    store_run(drain, thread, begin, end);
    if (drain->stream->file_failed)
        atomic_fetch_add(&drain->stream->lost_records, events);
}

/* ---- Rings ---- */

/* Ends a slice between two records. */
static uint64_t slice_end(const struct capture_thread *thread, const uint8_t *data, uint64_t bytes)
{
    if (bytes <= slice_bytes)
        return bytes;
    uint64_t at = 0, segments = thread->segment_bytes;
    while (at < slice_bytes) {
        if (segments) {
            const struct trace_segment *segment = (const void *)(data + at);
            segments -= segment->bytes;
            at += segment->bytes;
            continue;
        }
        const struct trace_event *event = (const void *)(data + at);
        if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
            segments =
                ((const struct trace_command_buffer_seal *)(const void *)event)->segment_bytes;
        at += event->bytes;
    }
    return at;
}

/* One slice of one thread. A thread that went on in another ring has published everything in the
 * old one before it says so. */
static uint64_t drain_thread(struct drain *drain, struct capture_thread *thread)
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

static struct capture_thread *first_thread(struct capture_stream *stream)
{
    pthread_mutex_lock(&stream->threads_lock);
    struct capture_thread *thread = stream->threads;
    pthread_mutex_unlock(&stream->threads_lock);
    return thread;
}

static uint64_t drain_all(struct drain *drain)
{
    uint64_t bytes = 0;
    for (struct capture_thread *thread = first_thread(drain->stream); thread; thread = thread->next)
        bytes += drain_thread(drain, thread);
    return bytes;
}

/* ---- Flushing ---- */

static void note_durable(struct capture_thread *thread, uint32_t index)
{
    thread->reading->slot->durable[index] = (struct trace_ring_durable){
        .position = thread->reading->read, .segment_bytes = thread->segment_bytes};
    for (struct capture_ring *ring = thread->finished; ring; ring = ring->older)
        ring->slot->durable[index] = (struct trace_ring_durable){.position = ring->read};
}

static void give_back(struct capture_stream *stream, struct capture_thread *thread)
{
    capture_ring_release(thread->reading);
    while (thread->finished) {
        struct capture_ring *ring = thread->finished;
        thread->finished = ring->older;
        capture_ring_release(ring);
        capture_ring_free(stream, ring);
    }
}

/* The file has everything that was taken: the sidecar says so, and its memory is free again. */
static void switch_durable(struct drain *drain)
{
    struct capture_stream *stream = drain->stream;
    struct trace_sidecar_header *header = stream->sidecar.header;
    const uint32_t index = 1 - atomic_load_explicit(&header->durable_index, memory_order_relaxed);
    struct capture_thread *first = first_thread(stream);
    for (struct capture_thread *thread = first; thread; thread = thread->next)
        note_durable(thread, index);
    header->durable_file_bytes[index] = trace_writer_bytes(stream->writer);
    atomic_store_explicit(&header->durable_index, index, memory_order_release);
    for (struct capture_thread *thread = first; thread; thread = thread->next)
        give_back(stream, thread);
    capture_staging_recycle(&stream->staging);
    capture_threads_collect(stream);
}

/* Once the file has failed nothing is given back: it stays to be recovered. */
static void flush(struct drain *drain)
{
    struct capture_stream *stream = drain->stream;
    if (!stream->file_failed) {
        enum hal_status status = trace_writer_flush(stream->writer);
        if (status == HAL_OK && stream->next.writer)
            status = trace_writer_flush(stream->next.writer);
        if (status != HAL_OK)
            fail_file(drain, status);
    }
    if (!stream->file_failed)
        switch_durable(drain);
    drain->dirty = false;
    drain->flushed_ns = hal_clock_ns();
    atomic_fetch_add(&stream->progress, 1);
    hal_word_wake(&stream->progress, INT32_MAX);
}

/* ---- The end of a file ---- */

static struct trace_health health_of(struct capture_stream *stream)
{
    uint64_t overhead_ns = atomic_load(&stream->overhead_ns);
    for (const struct capture_thread *thread = first_thread(stream); thread; thread = thread->next)
        overhead_ns += atomic_load_explicit(&thread->overhead_ns, memory_order_relaxed);
    const bool left = stream->left && stream->error == HAL_OK;
    struct trace_health health = {
        .status = (uint32_t)(left ? HAL_FAILED : stream->error),
        .message = left ? "the process exited with work in flight" : stream->message,
        .lost_records = atomic_load(&stream->lost_records),
        .unsupported_calls = atomic_load(&stream->unsupported_calls),
        .ring_stalls = atomic_load(&stream->stalls),
        .ring_stall_ns = atomic_load(&stream->stall_ns),
        .digest_only = atomic_load(&stream->digest_reads),
        .overhead_ns = overhead_ns,
        .over_budget_bytes = atomic_load(&stream->over_budget_bytes),
    };
    health.clock = hal_clock_name(&health.clock_error_ns);
    return health;
}

/* No thread records any more. The file is closed here, where signals are blocked: running into a
 * limit must not become the application's affair. A second file that has no name goes. */
static void close_file(struct drain *drain)
{
    struct capture_stream *stream = drain->stream;
    const struct trace_health health = health_of(stream);
    const enum hal_status status = trace_writer_close(stream->writer, &health);
    stream->writer = NULL;
    if (status != HAL_OK)
        fail_file(drain, status);
    if (trace_writer_close(stream->next.writer, NULL) != HAL_OK)
        hal_log(HAL_LOG_INFO, "the file of the last checkpoint: %s", hal_message());
    stream->next.writer = NULL;
}

/* ---- A flight recorder's files ---- */

/* The second file is the first from now on, also for a recovery. Everything is in both. */
static enum hal_status promote(struct capture_stream *stream)
{
    if (stream->next.broken)
        return trace_writer_close(stream->next.writer, NULL);
    struct trace_sidecar_header *header = stream->sidecar.header;
    const struct capture_successor next = stream->next;
    const struct trace_health health = health_of(stream);
    stream->next.writer = NULL;
    const enum hal_status closed = trace_writer_close(stream->writer, &health);
    stream->writer = next.writer;
    HAL_TRY(closed);
    HAL_TRY(trace_writer_publish_as(next.writer, next.path));
    header->start_ns = next.start_ns;
    header->skipped_tickets = next.skipped_tickets;
    header->durable_file_bytes[0] = header->durable_file_bytes[1] = trace_writer_bytes(next.writer);
    return HAL_OK;
}

/* Nothing is published that is not in the files. */
static void take_successor(struct drain *drain)
{
    struct capture_stream *stream = drain->stream;
    const struct capture_successor *coming = atomic_exchange(&stream->coming, NULL);
    if (!coming)
        return;
    enum hal_status status = HAL_OK;
    if (!stream->file_failed && stream->next.writer)
        status = promote(stream);
    stream->next = *coming;
    if (status == HAL_OK && drain->tables_bytes)
        status = trace_writer_records(coming->writer, 1, drain->tables, drain->tables_bytes);
    if (status != HAL_OK)
        fail_file(drain, status);
}

static bool flush_is_wanted(struct capture_stream *stream)
{
    return atomic_load(&stream->flushes_wanted) != atomic_load(&stream->flushes_done);
}

/* So many rounds take everything out that was published before, however busy the threads are. */
static void flush_as_wanted(struct drain *drain)
{
    struct capture_stream *stream = drain->stream;
    const uint64_t wanted = atomic_load(&stream->flushes_wanted);
    for (uint64_t i = 0; i < stream->ring_bytes / slice_bytes + 3 && drain_all(drain); i++)
        continue;
    flush(drain);
    take_successor(drain);
    atomic_store(&stream->flushes_done, wanted);
    atomic_fetch_add(&stream->progress, 1);
    hal_word_wake(&stream->progress, INT32_MAX);
}

/* Memory that is read but not given back should never be what fills a ring or the staging. */
static bool memory_is_short(struct capture_stream *stream)
{
    if (capture_staging_used(&stream->staging) > stream->staging.bytes / 2)
        return true;
    for (const struct capture_thread *thread = first_thread(stream); thread;
         thread = thread->next) {
        const struct capture_ring *ring = thread->reading;
        if (ring->read - atomic_load_explicit(&ring->slot->tail, memory_order_relaxed) >
            ring->bytes / 2)
            return true;
    }
    return false;
}

/* ---- The thread ---- */

static bool anything_published(struct capture_stream *stream)
{
    uint64_t bytes;
    for (const struct capture_thread *thread = first_thread(stream); thread;
         thread = thread->next) {
        capture_ring_peek(thread->reading, &bytes);
        if (bytes || atomic_load_explicit(&thread->reading->next, memory_order_acquire))
            return true;
    }
    return false;
}

static void rest(struct drain *drain)
{
    struct capture_stream *stream = drain->stream;
    const bool idle = !drain->dirty && hal_clock_ns() - drain->active_ns > idle_before_sleep_ns;
    const uint32_t state = idle ? CAPTURE_WRITER_SLEEPS : CAPTURE_WRITER_RESTS;
    int64_t limit_ns = idle ? sleep_ns : flush_interval_ns;
    atomic_store(&stream->state, state);
    /* Who still waits after a flush waits for another thread to publish its claim. */
    if (atomic_load(&stream->waiters) > 0)
        limit_ns = drain->dirty ? 0 : retry_interval_ns;
    if (atomic_load(&stream->ending) || flush_is_wanted(stream) || anything_published(stream))
        limit_ns = 0;
    if (limit_ns > 0)
        hal_word_wait(&stream->state, state, limit_ns);
    atomic_store(&stream->state, CAPTURE_WRITER_AWAKE);
}

static bool flush_is_due(struct drain *drain)
{
    if (atomic_load(&drain->stream->waiters) > 0)
        return true;
    if (!drain->dirty)
        return false;
    return hal_clock_ns() - drain->flushed_ns >= flush_interval_ns ||
           memory_is_short(drain->stream);
}

void *capture_write_stream(void *argument)
{
    struct capture_stream *stream = argument;
    struct drain drain = {.stream = stream, .flushed_ns = hal_clock_ns()};
    drain.active_ns = drain.flushed_ns;
    for (;;) {
        const bool ending = atomic_load(&stream->ending);
        const uint64_t bytes = drain_all(&drain);
        if (bytes) {
            drain.dirty = true;
            drain.active_ns = hal_clock_ns();
        }
        if (flush_is_wanted(stream))
            flush_as_wanted(&drain);
        else if (flush_is_due(&drain))
            flush(&drain);
        if (ending && !bytes)
            break;
        if (!bytes)
            rest(&drain);
    }
    flush(&drain);
    close_file(&drain);
    free(drain.scratch);
    free(drain.tables);
    return NULL;
}
