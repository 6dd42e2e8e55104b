/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread calls while it records and cannot go on at once: waiting for the writer, strings,
 * and the error that ends recording. */
#include "capture/stream/stream.h"

#include "capture/stream/threads.h"
#include "format/limits.h"
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/base/message.h"
#include "hal/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

bool capture_stream_forked(const struct capture_stream *stream)
{
    return stream->process != getpid();
}

/* ---- The error ---- */

static bool set_error(struct capture_stream *stream, enum hal_status status, char *message,
                      bool by_file)
{
    pthread_mutex_lock(&stream->error_lock);
    const bool first = stream->error == HAL_OK;
    struct trace_sidecar_header *header = stream->sidecar.header;
    if (first && header) {
        snprintf(header->stopped_message, sizeof header->stopped_message, "%s",
                 message ? message : "recording failed");
        atomic_store(&header->stopped_by_file, by_file);
        atomic_store(&header->stopped, (uint32_t)status);
    }
    if (first) {
        stream->error = status;
        stream->message = message;
        atomic_store(stream->recording, 0);
    }
    pthread_mutex_unlock(&stream->error_lock);
    return first;
}

static void stop(struct capture_stream *stream, enum hal_status status, const char *text,
                 bool by_file)
{
    char *message = hal_copy_string(text);
    if (set_error(stream, status, message, by_file))
        hal_log(HAL_LOG_WARN, "the capture is incomplete from this point: %s", text);
    else
        free(message);
    /* Threads that wait for memory check again. */
    atomic_fetch_add(&stream->progress, 1);
    hal_word_wake(&stream->progress, INT32_MAX);
}

void capture_stop(struct capture_stream *stream, enum hal_status status, const char *format, ...)
{
    char text[HAL_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    stop(stream, status, text, false);
}

void capture_stop_writing(struct capture_stream *stream, enum hal_status status)
{
    const struct hal_kept_message kept = hal_keep_message();
    stop(stream, status, kept.text, true);
}

void capture_lose(struct capture_stream *stream, uint64_t records)
{
    if (capture_stream_forked(stream))
        return;
    atomic_fetch_add_explicit(&stream->sidecar.header->lost_records, records, memory_order_relaxed);
}

/* ---- Waiting for the writer ---- */

void capture_wake_writer(struct capture_stream *stream)
{
    if (atomic_exchange(&stream->state, CAPTURE_WRITER_AWAKE) != CAPTURE_WRITER_AWAKE)
        hal_word_wake(&stream->state, 1);
}

/* One round: sleeps until the writer has made progress, unless `ready` holds. */
static bool wait_for_progress(struct capture_stream *stream, bool (*ready)(const void *what),
                              const void *what)
{
    const uint32_t seen = atomic_load(&stream->progress);
    if (ready(what))
        return true;
    capture_wake_writer(stream);
    hal_word_wait(&stream->progress, seen, HAL_FOREVER);
    return false;
}

void capture_count_stall(struct capture_stream *stream, int64_t begin_ns)
{
    atomic_fetch_add(&stream->stalls, 1);
    atomic_fetch_add(&stream->stall_ns, (uint64_t)(hal_clock_ns() - begin_ns));
}

static void await(struct capture_stream *stream, bool (*ready)(const void *what), const void *what)
{
    atomic_fetch_add(&stream->waiters, 1);
    while (!wait_for_progress(stream, ready, what))
        continue;
    atomic_fetch_sub(&stream->waiters, 1);
}

static void stall(struct capture_stream *stream, bool (*ready)(const void *what), const void *what)
{
    const int64_t begin_ns = hal_clock_ns();
    await(stream, ready, what);
    capture_count_stall(stream, begin_ns);
}

struct room {
    const struct capture_stream *stream;
    struct capture_ring *ring;
    uint64_t bytes;
};

static bool has_room(const void *what)
{
    const struct room *room = what;
    return !atomic_load_explicit(room->stream->recording, memory_order_relaxed) ||
           capture_ring_reserve(room->ring, room->bytes) != NULL;
}

bool capture_can_hold(struct capture_thread *thread, uint64_t bytes)
{
    struct capture_stream *stream = thread->stream;
    if (bytes <= thread->ring->bytes && bytes <= TRACE_MAX_RECORD_BYTES)
        return true;
    if (bytes > TRACE_MAX_RECORD_BYTES)
        capture_stop(stream, HAL_UNSUPPORTED, "a record of %s is larger than the limit (%u)",
                     hal_count((unsigned long long)bytes, "byte", "bytes").text,
                     TRACE_MAX_RECORD_BYTES);
    else if (capture_ring_grow(thread, bytes))
        return true;
    else
        capture_stop(stream, HAL_NO_MEMORY,
                     "no memory for a record of %llu bytes in addition to rings of %llu bytes",
                     (unsigned long long)bytes, (unsigned long long)stream->ring_bytes);
    return false;
}

static void *reserve_or_wait(struct capture_thread *thread, uint64_t bytes)
{
    if (thread->ring->ended || !capture_can_hold(thread, bytes))
        return NULL;
    void *record = capture_ring_reserve(thread->ring, bytes);
    if (record)
        return record;
    if (!capture_ring_grow(thread, bytes)) {
        const struct room room = {.stream = thread->stream, .ring = thread->ring, .bytes = bytes};
        capture_ring_lower_latency(thread->ring);
        stall(thread->stream, has_room, &room);
    }
    return capture_ring_reserve(thread->ring, bytes);
}

void *capture_reserve_slowly(struct capture_thread *thread, uint64_t bytes)
{
    void *record = reserve_or_wait(thread, bytes);
    if (!record) {
        capture_ring_end(thread->ring);
        capture_lose(thread->stream, 1);
    }
    return record;
}

struct claim {
    const struct capture_stream *stream;
    uint64_t position, bytes;
};

static bool is_ready(const void *what)
{
    const struct claim *claim = what;
    return !atomic_load_explicit(claim->stream->recording, memory_order_relaxed) ||
           capture_staging_ready(&claim->stream->staging, claim->position, claim->bytes);
}

static bool put(struct capture_stream *stream, const struct claim *claim, const void *data,
                bool beside)
{
    const struct hal_kept_message kept = hal_keep_message();
    const enum hal_status status =
        capture_staging_put(&stream->staging, claim->position, data, claim->bytes, beside);
    if (status != HAL_OK)
        capture_stop(stream, status, "%s", hal_message());
    hal_restore_message(&kept, HAL_FAILED);
    return status == HAL_OK;
}

bool capture_stage_at(struct capture_stream *stream, uint64_t position, const void *data,
                      uint64_t bytes, bool beside)
{
    const struct claim claim = {.stream = stream, .position = position, .bytes = bytes};
    if (!capture_staging_ready(&stream->staging, position, bytes))
        (beside ? await : stall)(stream, is_ready, &claim);
    return atomic_load_explicit(stream->recording, memory_order_relaxed) &&
           put(stream, &claim, data, beside);
}

bool capture_stage(struct capture_thread *thread, const void *data, uint64_t bytes,
                   uint64_t *out_position)
{
    struct capture_stream *stream = thread->stream;
    *out_position = capture_staging_claim(&stream->staging, bytes);
    if (capture_stage_at(stream, *out_position, data, bytes, false))
        return true;
    capture_lose(stream, 1);
    return false;
}

/* ---- Flushing ---- */

struct flush_wanted {
    const struct capture_stream *stream;
    uint64_t number;
};

static bool is_flushed(const void *what)
{
    const struct flush_wanted *flush = what;
    return atomic_load(&flush->stream->flushes_done) >= flush->number;
}

enum hal_status capture_stream_flush(struct capture_stream *stream)
{
    const struct flush_wanted flush = {.stream = stream,
                                       .number = atomic_fetch_add(&stream->flushes_wanted, 1) + 1};
    while (!wait_for_progress(stream, is_flushed, &flush))
        continue;
    pthread_mutex_lock(&stream->error_lock);
    const enum hal_status status = stream->error;
    if (status != HAL_OK)
        hal_fail(status, "%s", stream->message ? stream->message : "recording failed");
    pthread_mutex_unlock(&stream->error_lock);
    return status;
}

/* ---- Strings ---- */

uint32_t capture_string(struct capture_thread *thread, const char *text)
{
    if (!text)
        return 0;
    const size_t length = strnlen(text, TRACE_MAX_STRING_BYTES);
    bool is_new;
    const uint32_t id = capture_table_number(&thread->stream->strings, text, length, &is_new);
    if (!id) {
        capture_stop(thread->stream, HAL_NO_MEMORY, "no space for more than %u different strings",
                     thread->stream->strings.count);
        return 0;
    }
    if (!is_new)
        return id;
    const uint64_t bytes = hal_align_up(sizeof(struct trace_string) + length, 8);
    struct trace_string *record = capture_reserve(thread, bytes);
    if (!record)
        return 0;
    *record = (struct trace_string){.head = {.kind = TRACE_STRING, .bytes = (uint32_t)bytes},
                                    .id = id,
                                    .length = (uint32_t)length};
    memcpy(record->text, text, length);
    memset(record->text + length, 0, bytes - sizeof *record - length);
    capture_publish(thread, bytes);
    return id;
}

uint32_t capture_message(struct capture_thread *thread, const char *text)
{
    struct capture_stream *stream = thread->stream;
    if (!text)
        return 0;
    const uint32_t known =
        capture_table_find(&stream->strings, text, strnlen(text, TRACE_MAX_STRING_BYTES));
    if (known)
        return known;
    if (atomic_fetch_add_explicit(&stream->messages, 1, memory_order_relaxed) <
        CAPTURE_MOST_MESSAGES)
        return capture_string(thread, text);
    atomic_fetch_sub_explicit(&stream->messages, 1, memory_order_relaxed);
    return capture_string(thread, "(not recorded: thousands of different messages came before)");
}
