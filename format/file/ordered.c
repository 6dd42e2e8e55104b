/* SPDX-License-Identifier: Apache-2.0 */
/* Events of all threads in the order in which they took effect. */
#include "format/trace.h"

#include "hal/base/mem.h"

#include <stdlib.h>

/* The events of one thread, one chunk at a time. */
struct stream {
    uint32_t thread;
    size_t next_chunk; /* to look at */
    struct trace_chunk chunk;
    const struct trace_event *event; /* NULL: no more */
    uint32_t events_left;
};

struct walk {
    struct trace_reader *reader;
    const struct trace_walk *how;
    struct stream *streams;
    size_t count;
};

/* When the event took effect: calls that observe something do so at their end. */
static int64_t effect_ns(const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_SEMAPHORE_WAIT:
    case TRACE_SEMAPHORE_QUERY:
    case TRACE_WAIT_IDLE:
    case TRACE_BUFFER_MAP:
    case TRACE_HOST_READ:
    case TRACE_HOST_CALL_BEGIN:
    case TRACE_COLLECTIVE:
    case TRACE_DISPATCH_TIMES:
    case TRACE_SUBMISSION_DONE: return event->end_ns;
    default: return event->begin_ns;
    }
}

static bool is_before(const struct trace_event *a, const struct trace_event *b)
{
    if (a->ticket && b->ticket && a->ticket != b->ticket)
        return a->ticket < b->ticket;
    return effect_ns(a) < effect_ns(b);
}

static bool is_wanted(const struct walk *walk, size_t chunk)
{
    return !walk->how->wants || walk->how->wants(walk->how->user, walk->reader, chunk);
}

static enum hal_status load(const struct walk *walk, size_t index, struct trace_chunk *out_chunk)
{
    return walk->how->load ? walk->how->load(walk->how->user, walk->reader, index, out_chunk)
                           : trace_reader_chunk(walk->reader, index, out_chunk);
}

/* Loads the stream's next chunk that has events. */
static enum hal_status next_chunk(struct walk *walk, struct stream *stream)
{
    trace_chunk_free(&stream->chunk);
    stream->event = NULL;
    for (; stream->next_chunk < trace_reader_chunk_count(walk->reader); stream->next_chunk++) {
        if (trace_reader_chunk_thread(walk->reader, stream->next_chunk) != stream->thread ||
            !is_wanted(walk, stream->next_chunk))
            continue;
        HAL_TRY(load(walk, stream->next_chunk, &stream->chunk));
        if (stream->chunk.event_count) {
            stream->event = stream->chunk.events;
            stream->events_left = stream->chunk.event_count;
            stream->next_chunk++;
            return HAL_OK;
        }
        trace_chunk_free(&stream->chunk);
    }
    return HAL_OK;
}

static enum hal_status list_streams(struct walk *walk)
{
    size_t capacity = 0;
    for (size_t i = 0; i < trace_reader_chunk_count(walk->reader); i++) {
        const uint32_t thread = trace_reader_chunk_thread(walk->reader, i);
        size_t at = 0;
        while (at < walk->count && walk->streams[at].thread != thread)
            at++;
        if (at < walk->count)
            continue;
        void *grown = walk->streams;
        if (!hal_grow(&grown, &capacity, walk->count + 1, sizeof *walk->streams))
            return hal_fail(HAL_NO_MEMORY, "no memory for %zu threads", walk->count + 1);
        walk->streams = grown;
        walk->streams[walk->count++] = (struct stream){.thread = thread, .next_chunk = i};
    }
    return HAL_OK;
}

/* Visits the event that the stream is at, and goes on to the next one. */
static enum hal_status take(struct walk *walk, struct stream *stream)
{
    const struct trace_event *event = stream->event;
    const uint8_t *next = (const uint8_t *)event + event->bytes;
    const struct trace_segment *segments = NULL;
    if (event->kind == TRACE_COMMAND_BUFFER_SEAL) {
        segments = (const void *)next;
        next += ((const struct trace_command_buffer_seal *)(const void *)event)->segment_bytes;
    }
    HAL_TRY(walk->how->visit(walk->how->user, event, segments));
    stream->event = (const void *)next;
    return --stream->events_left ? HAL_OK : next_chunk(walk, stream);
}

static enum hal_status merge(struct walk *walk)
{
    for (size_t i = 0; i < walk->count; i++)
        HAL_TRY(next_chunk(walk, &walk->streams[i]));
    for (;;) {
        struct stream *first = NULL;
        for (size_t i = 0; i < walk->count; i++) {
            struct stream *stream = &walk->streams[i];
            if (stream->event && (!first || is_before(stream->event, first->event)))
                first = stream;
        }
        if (!first)
            return HAL_OK;
        HAL_TRY(take(walk, first));
    }
}

enum hal_status trace_reader_each_in_order(struct trace_reader *reader,
                                           const struct trace_walk *how)
{
    struct walk walk = {.reader = reader, .how = how};
    enum hal_status status = list_streams(&walk);
    if (status == HAL_OK)
        status = merge(&walk);
    for (size_t i = 0; i < walk.count; i++)
        trace_chunk_free(&walk.streams[i].chunk);
    free(walk.streams);
    return status;
}
