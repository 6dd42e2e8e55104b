/* SPDX-License-Identifier: Apache-2.0 */
/* The writer thread: passes the contents of the rings to the file (drain.c), and releases memory
 * once the file has them. */
#include "capture/stream/drain.h"

#include "hal/base/log.h"
#include "hal/base/mem.h"

static const int64_t flush_interval_ns = 150 * 1000000;
static const int64_t retry_interval_ns = 1000000;
static const int64_t idle_before_sleep_ns = 1000000000;
static const int64_t sleep_ns = 1000000000;

/* ---- Flushing ---- */

static void note_durable(struct capture_thread *thread, uint32_t index)
{
    thread->reading->slot->durable[index] = (struct trace_ring_durable){
        .position = thread->reading->read, .segment_bytes = thread->segment_bytes};
    for (struct capture_ring *ring = thread->finished; ring; ring = ring->older)
        ring->slot->durable[index] = (struct trace_ring_durable){.position = ring->read};
}

static void give_back(struct capture_thread *thread)
{
    capture_ring_release(thread->reading);
    while (thread->finished) {
        struct capture_ring *ring = thread->finished;
        thread->finished = ring->older;
        capture_ring_release(ring);
        capture_ring_free(thread, ring);
    }
}

/* The file has everything that was taken: records that in the sidecar and releases the memory. */
static void switch_durable(struct capture_drain *drain)
{
    struct capture_stream *stream = drain->stream;
    struct trace_sidecar_header *header = stream->sidecar.header;
    const uint32_t index = 1 - atomic_load_explicit(&header->durable_index, memory_order_relaxed);
    struct capture_thread *first = capture_drain_threads(stream);
    for (struct capture_thread *thread = first; thread; thread = thread->next)
        note_durable(thread, index);
    header->durable_file_bytes[index] = trace_writer_bytes(stream->writer);
    atomic_store_explicit(&header->durable_index, index, memory_order_release);
    for (struct capture_thread *thread = first; thread; thread = thread->next)
        give_back(thread);
    capture_staging_recycle(&stream->staging);
    capture_threads_collect(stream);
}

/* Once the file has failed nothing is given back: it stays to be recovered. */
static void flush(struct capture_drain *drain)
{
    struct capture_stream *stream = drain->stream;
    if (!stream->file_failed) {
        enum hal_status status = trace_writer_flush(stream->writer);
        if (status == HAL_OK && stream->next.writer)
            status = trace_writer_flush(stream->next.writer);
        if (status != HAL_OK)
            capture_drain_fail(drain, status);
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
    for (const struct capture_thread *thread = capture_drain_threads(stream); thread;
         thread = thread->next)
        overhead_ns += atomic_load_explicit(&thread->overhead_ns, memory_order_relaxed);
    const bool left = stream->left && stream->error == HAL_OK;
    struct trace_health health = {
        .status = (uint32_t)(left ? HAL_FAILED : stream->error),
        .message = left ? "the process exited with work in flight" : stream->message,
        .lost_records =
            atomic_load(&stream->sidecar.header->lost_records) + atomic_load(&stream->unwritten),
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

/* No thread records any more. The file is closed here, where signals are blocked: exceeding a limit
 * must not affect the application. A second file without a name is removed. */
static void close_file(struct capture_drain *drain)
{
    struct capture_stream *stream = drain->stream;
    const struct trace_health health = health_of(stream);
    const enum hal_status status = trace_writer_close(stream->writer, &health);
    stream->writer = NULL;
    if (status != HAL_OK)
        capture_drain_fail(drain, status);
    if (trace_writer_close(stream->next.writer, NULL) != HAL_OK)
        hal_log(HAL_LOG_INFO, "cannot write the file of the last checkpoint: %s", hal_message());
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
    header->successor.skipped_tickets = next.skipped_tickets;
    header->successor.file_bytes = trace_writer_bytes(next.writer);
    atomic_store(&header->successor.start_ns, next.start_ns);
    const enum hal_status named = trace_writer_publish_as(next.writer, next.path);
    if (named == HAL_OK) {
        capture_sidecar_locate(&stream->sidecar);
        header->start_ns = next.start_ns;
        header->skipped_tickets = next.skipped_tickets;
        header->durable_file_bytes[0] = header->durable_file_bytes[1] =
            trace_writer_bytes(next.writer);
    }
    atomic_store(&header->successor.start_ns, 0);
    return named;
}

/* Nothing is published that is not in the files. */
static void take_successor(struct capture_drain *drain)
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
        capture_drain_fail(drain, status);
}

static bool flush_is_wanted(struct capture_stream *stream)
{
    return atomic_load(&stream->flushes_wanted) != atomic_load(&stream->flushes_done);
}

static void note_published(struct capture_stream *stream)
{
    for (struct capture_thread *thread = capture_drain_threads(stream); thread;
         thread = thread->next) {
        struct capture_ring *ring = thread->reading, *next;
        while ((next = atomic_load_explicit(&ring->next, memory_order_acquire)))
            ring = next;
        thread->flush_ring = ring;
        thread->flush_head = atomic_load_explicit(&ring->slot->head, memory_order_acquire);
    }
}

/* Where the ring that was noted is not ahead, it was read to its end. */
static bool is_behind(const struct capture_thread *thread)
{
    const struct capture_ring *ring = thread->reading;
    while (ring && ring != thread->flush_ring)
        ring = atomic_load_explicit(&ring->next, memory_order_acquire);
    return ring && (ring != thread->reading || ring->read < thread->flush_head);
}

static bool anyone_is_behind(struct capture_stream *stream)
{
    for (const struct capture_thread *thread = capture_drain_threads(stream); thread;
         thread = thread->next) {
        if (thread->flush_ring && is_behind(thread))
            return true;
    }
    return false;
}

/* What was published before is in the file then, however busy the threads are. */
static void flush_as_wanted(struct capture_drain *drain)
{
    struct capture_stream *stream = drain->stream;
    const uint64_t wanted = atomic_load(&stream->flushes_wanted);
    note_published(stream);
    while (anyone_is_behind(stream) && capture_drain_all(drain))
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
    for (const struct capture_thread *thread = capture_drain_threads(stream); thread;
         thread = thread->next) {
        const struct capture_ring *ring = thread->reading, *finished = thread->finished;
        if ((finished && finished->older) ||
            ring->read - atomic_load_explicit(&ring->slot->tail, memory_order_relaxed) >
                ring->bytes / 2)
            return true;
    }
    return false;
}

/* ---- The thread ---- */

static bool anything_published(struct capture_stream *stream)
{
    uint64_t bytes;
    for (const struct capture_thread *thread = capture_drain_threads(stream); thread;
         thread = thread->next) {
        capture_ring_peek(thread->reading, &bytes);
        if (bytes || atomic_load_explicit(&thread->reading->next, memory_order_acquire))
            return true;
    }
    return false;
}

static void rest(struct capture_drain *drain)
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

static bool flush_is_due(struct capture_drain *drain)
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
    struct capture_drain drain = {.stream = stream, .flushed_ns = hal_clock_ns()};
    drain.active_ns = drain.flushed_ns;
    for (;;) {
        const bool ending = atomic_load(&stream->ending);
        const uint64_t bytes = capture_drain_all(&drain);
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
