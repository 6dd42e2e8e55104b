/* SPDX-License-Identifier: Apache-2.0 */
/* Events of all threads in the order in which they took effect. */
#include "format/trace.h"

#include "hal/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* The events of one thread in ticket order. A call is recorded when it returns, after the calls
 * made inside it, which took effect later: so the next chunk is loaded before visiting a chunk. */
struct stream {
    uint32_t thread;
    size_t next_chunk; /* next one to examine */
    struct trace_chunk chunks[2];
    uint32_t left, visited_ahead;      /* of chunks[0] not visited yet, of chunks[1] already */
    const struct trace_event **events; /* of both chunks, from `first` on */
    size_t first, count, capacity;
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

/* Whether `event`, which was recorded later, took effect before. */
static bool overtakes(const struct trace_event *event, const struct trace_event *recorded_before)
{
    if (!event->ticket)
        return false;
    return recorded_before->ticket ? recorded_before->ticket > event->ticket
                                   : recorded_before->begin_ns > event->begin_ns;
}

static enum hal_status insert(struct stream *stream, const struct trace_chunk *chunk)
{
    const struct trace_event *event = chunk->events;
    if (stream->first) {
        stream->count -= stream->first;
        memmove(stream->events, stream->events + stream->first,
                stream->count * sizeof *stream->events);
        stream->first = 0;
    }
    if (!HAL_GROW(stream->events, &stream->capacity, stream->count + chunk->event_count))
        return hal_fail(HAL_NO_MEMORY, "no memory for %u events", chunk->event_count);
    for (uint32_t i = 0; i < chunk->event_count; i++) {
        size_t at = stream->count++;
        for (; at > 0 && overtakes(event, stream->events[at - 1]); at--)
            stream->events[at] = stream->events[at - 1];
        stream->events[at] = event;
        const uint8_t *next = (const uint8_t *)event + event->bytes;
        if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
            next += TRACE_AS(trace_command_buffer_seal, event)->segment_bytes;
        event = (const void *)next;
    }
    return HAL_OK;
}

/* Loads the stream's next chunk with events after those that it holds. */
static enum hal_status load_next(struct walk *walk, struct stream *stream)
{
    struct trace_chunk *chunk = &stream->chunks[1];
    while (stream->next_chunk < trace_reader_chunk_count(walk->reader)) {
        const size_t index = stream->next_chunk++;
        if (trace_reader_chunk_thread(walk->reader, index) != stream->thread ||
            !is_wanted(walk, index))
            continue;
        HAL_TRY(load(walk, index, chunk));
        if (chunk->event_count)
            return insert(stream, chunk);
        trace_chunk_free(chunk);
    }
    return HAL_OK;
}

/* Goes on to the next chunk that has events which were not visited. */
static enum hal_status next_chunk(struct walk *walk, struct stream *stream)
{
    do {
        trace_chunk_free(&stream->chunks[0]);
        stream->chunks[0] = stream->chunks[1];
        stream->left = stream->chunks[0].event_count - stream->visited_ahead;
        stream->chunks[1] = (struct trace_chunk){0};
        stream->visited_ahead = 0;
        HAL_TRY(load_next(walk, stream));
    } while (!stream->left && stream->chunks[1].event_count);
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
        if (!HAL_GROW(walk->streams, &capacity, walk->count + 1))
            return hal_fail(HAL_NO_MEMORY, "no memory for %zu threads", walk->count + 1);
        walk->streams[walk->count++] = (struct stream){.thread = thread, .next_chunk = i};
    }
    return HAL_OK;
}

static bool is_of(const struct trace_chunk *chunk, const struct trace_event *event)
{
    const uint8_t *begin = (const uint8_t *)chunk->events;
    return (const uint8_t *)event >= begin && (const uint8_t *)event < begin + chunk->bytes;
}

/* Visits the stream's current event and advances. */
static enum hal_status take(struct walk *walk, struct stream *stream)
{
    const struct trace_event *event = stream->events[stream->first];
    const struct trace_segment *segments =
        event->kind == TRACE_COMMAND_BUFFER_SEAL
            ? (const void *)((const uint8_t *)event + event->bytes)
            : NULL;
    HAL_TRY(walk->how->visit(walk->how->user, event, segments));
    stream->first++;
    if (is_of(&stream->chunks[0], event))
        stream->left--;
    else
        stream->visited_ahead++;
    return stream->left ? HAL_OK : next_chunk(walk, stream);
}

static enum hal_status merge(struct walk *walk)
{
    for (size_t i = 0; i < walk->count; i++)
        HAL_TRY(next_chunk(walk, &walk->streams[i]));
    for (;;) {
        struct stream *first = NULL;
        for (size_t i = 0; i < walk->count; i++) {
            struct stream *stream = &walk->streams[i];
            if (stream->first < stream->count &&
                (!first || is_before(stream->events[stream->first], first->events[first->first])))
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
    for (size_t i = 0; i < walk.count; i++) {
        trace_chunk_free(&walk.streams[i].chunks[0]);
        trace_chunk_free(&walk.streams[i].chunks[1]);
        free(walk.streams[i].events);
    }
    free(walk.streams);
    return status;
}
