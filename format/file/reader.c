/* SPDX-License-Identifier: Apache-2.0 */
/* The reader: chunks and contents when they are asked for. */
#include "format/file/reader.h"

#include "format/container/activity.h"
#include "format/limits.h"
#include "hal/base/text.h"

#include <assert.h>
#include <inttypes.h>

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to read a trace");
}

enum hal_status trace_reader_with_path(const struct trace_reader *reader, enum hal_status status)
{
    return status == HAL_OK ? HAL_OK : hal_add_context(status, "'%s'", reader->input.path);
}

static enum hal_status open_input(struct trace_reader *reader, const char *path, uint64_t bytes)
{
    HAL_TRY(trace_input_open(&reader->input, path));
    if (reader->input.bytes > bytes)
        reader->input.bytes = bytes;
    return trace_reader_with_path(reader, trace_reader_load(reader));
}

static enum hal_status open_part(const char *path, uint64_t bytes, bool keeps_cut,
                                 struct trace_reader **out_reader)
{
    *out_reader = NULL;
    struct trace_reader *reader = hal_alloc(1, sizeof *reader);
    if (!reader)
        return no_memory();
    reader->keeps_cut = keeps_cut;
    trace_directory_init(&reader->directory);
    trace_tables_init(&reader->tables);
    trace_arena_init(&reader->kept, SIZE_MAX);
    trace_arena_init(&reader->scratch, TRACE_MAX_DECODE_BYTES);
    const enum hal_status status = open_input(reader, path, bytes);
    if (status != HAL_OK) {
        trace_reader_close(reader);
        return status;
    }
    *out_reader = reader;
    return HAL_OK;
}

enum hal_status trace_reader_open(const char *path, struct trace_reader **out_reader)
{
    return open_part(path, UINT64_MAX, false, out_reader);
}

enum hal_status trace_reader_open_part(const char *path, uint64_t bytes,
                                       struct trace_reader **out_reader)
{
    return open_part(path, bytes, true, out_reader);
}

static void finish_cache(struct trace_frame_cache *cache)
{
    for (size_t i = 0; i < TRACE_CACHED_FRAMES; i++) {
        free(cache->slots[i].raw.data);
        free(cache->slots[i].pieces);
        free(cache->slots[i].starts);
    }
    free(cache->failures);
}

void trace_reader_close(struct trace_reader *reader)
{
    if (!reader)
        return;
    for (size_t i = 0; i < reader->base_count; i++)
        trace_base_close(&reader->bases[i]);
    finish_cache(&reader->data_cache);
    finish_cache(&reader->blobs_cache);
    free(reader->chunks);
    free(reader->places);
    free(reader->frame_last_content);
    free(reader->frame_digests);
    free(reader->events.data);
    free(reader->segments.data);
    trace_arena_finish(&reader->scratch);
    trace_arena_finish(&reader->kept);
    trace_tables_finish(&reader->tables);
    trace_directory_finish(&reader->directory);
    trace_input_close(&reader->input);
    free(reader);
}

/* ---- Frames that were read ---------------------------------------------------------------- */

/* The frame's slot, or a free one, or that which was used longest ago. */
static struct trace_cached_frame *search(struct trace_frame_cache *cache, size_t frame)
{
    struct trace_cached_frame *slot = &cache->slots[0];
    for (size_t i = 0; i < TRACE_CACHED_FRAMES; i++) {
        struct trace_cached_frame *cached = &cache->slots[i];
        if (cached->is_valid && cached->frame == frame)
            return cached;
        if (!cached->is_valid || (slot->is_valid && cached->used_at < slot->used_at))
            slot = cached;
    }
    return slot;
}

enum hal_status trace_cache_find(struct trace_frame_cache *cache, size_t frame,
                                 struct trace_cached_frame **out_slot)
{
    struct trace_cached_frame *slot = cache->last;
    if (cache->failures && cache->failures[frame].status != HAL_OK)
        return hal_fail(cache->failures[frame].status, "%s", cache->failures[frame].message);
    if (!slot || !slot->is_valid || slot->frame != frame)
        slot = search(cache, frame);
    slot->is_valid &= slot->frame == frame;
    slot->frame = frame;
    slot->used_at = ++cache->clock;
    *out_slot = cache->last = slot;
    return HAL_OK;
}

/* Gives back the memory of those that were used longest ago, while all together have too much. */
static void trim_cache(struct trace_frame_cache *cache)
{
    for (;;) {
        size_t bytes = 0, count = 0;
        struct trace_cached_frame *oldest = cache->last;
        for (size_t i = 0; i < TRACE_CACHED_FRAMES; i++) {
            struct trace_cached_frame *slot = &cache->slots[i];
            bytes += slot->raw.capacity;
            count += slot->raw.capacity > 0;
            if (slot->raw.capacity && slot->used_at < oldest->used_at)
                oldest = slot;
        }
        if (bytes <= TRACE_CACHED_BYTES || count <= TRACE_LEAST_CACHED)
            return;
        free(oldest->raw.data);
        oldest->raw = (struct trace_bytes){0};
        oldest->is_valid = false;
    }
}

enum hal_status trace_cache_filled(struct trace_reader *reader, struct trace_frame_cache *cache,
                                   size_t count, struct trace_cached_frame *slot,
                                   enum hal_status status)
{
    slot->is_valid = status == HAL_OK;
    trim_cache(cache);
    if (status != HAL_CORRUPT && status != HAL_VERSION)
        return status;
    if (!cache->failures)
        cache->failures = hal_alloc(count, sizeof *cache->failures);
    const size_t bytes = strlen(hal_message()) + 1;
    char *message = cache->failures ? trace_arena_alloc(&reader->kept, bytes) : NULL;
    if (message)
        cache->failures[slot->frame] =
            (struct trace_frame_failure){status, memcpy(message, hal_message(), bytes)};
    return status;
}

/* ---- Looking things up -------------------------------------------------------------------- */

const struct trace_header *trace_reader_header(const struct trace_reader *reader)
{
    return &reader->header;
}

const struct trace_health *trace_reader_health(const struct trace_reader *reader)
{
    return reader->has_health ? &reader->health : NULL;
}

bool trace_reader_recoverable(const struct trace_reader *reader)
{
    return reader->recoverable;
}

enum trace_hold trace_reader_hold(const struct trace_reader *reader)
{
    return reader->hold;
}

const char *trace_reader_truncated(const struct trace_reader *reader)
{
    return reader->directory.truncated;
}

const struct trace_counts *trace_reader_counts(const struct trace_reader *reader)
{
    return &reader->counts;
}

const char *trace_reader_string(const struct trace_reader *reader, uint32_t id)
{
    if (id == 0)
        return "";
    const struct trace_string *string = trace_tables_string(&reader->tables, id);
    return string ? string->text : NULL;
}

size_t trace_reader_thread_count(const struct trace_reader *reader)
{
    return reader->tables.thread_count;
}

const struct trace_thread *trace_reader_thread(const struct trace_reader *reader, size_t index)
{
    return index < reader->tables.thread_count ? reader->tables.thread_list[index] : NULL;
}

const struct trace_thread *trace_reader_find_thread(const struct trace_reader *reader, uint32_t id)
{
    return trace_tables_thread(&reader->tables, id);
}

const struct trace_stack *trace_reader_stack(const struct trace_reader *reader, uint32_t id)
{
    return trace_tables_stack(&reader->tables, id);
}

size_t trace_reader_module_count(const struct trace_reader *reader)
{
    return reader->tables.module_count;
}

const struct trace_module *trace_reader_module(const struct trace_reader *reader, size_t index)
{
    return index < reader->tables.module_count ? reader->tables.module_list[index] : NULL;
}

size_t trace_reader_chunk_count(const struct trace_reader *reader)
{
    return reader->chunk_count;
}

uint32_t trace_reader_chunk_thread(const struct trace_reader *reader, size_t index)
{
    return index < reader->chunk_count ? reader->chunks[index].thread : 0;
}

bool trace_reader_is_plausible(const struct trace_reader *reader, int64_t ns)
{
    const int64_t hour_ns = 3600 * INT64_C(1000000000), year_ns = 366 * 24 * hour_ns;
    int64_t since_ns;
    return !__builtin_sub_overflow(ns, trace_reader_header(reader)->start_ns, &since_ns) &&
           since_ns >= -hour_ns && since_ns <= year_ns;
}

int64_t trace_reader_origin_ns(const struct trace_reader *reader)
{
    const int64_t first_ns = trace_reader_counts(reader)->first_ns;
    return first_ns && trace_reader_is_plausible(reader, first_ns)
               ? first_ns
               : trace_reader_header(reader)->start_ns;
}

struct trace_span trace_reader_chunk_span(const struct trace_reader *reader, size_t index)
{
    if (index >= reader->chunk_count)
        return (struct trace_span){.has_submissions = true, .first_submission = 1};
    const struct trace_place place = reader->places[reader->chunks[index].first_place];
    const Haltrace__Note *note = reader->directory.data[place.frame].note;
    const bool counted = note->counts && note->counts->submissions && !note->last_submission;
    struct trace_span span = {.first_ns = note->first_ns,
                              .last_ns = note->last_ns,
                              .has_submissions = !counted && reader->tells_submissions,
                              .first_submission = 1};
    if (note->last_submission) {
        span.first_submission = note->first_submission - 1;
        span.last_submission = note->last_submission - 1;
    }
    return span;
}

uint64_t trace_reader_active_queues(const struct trace_reader *reader)
{
    uint64_t queues = 0;
    for (size_t i = 0; i < reader->directory.data_count; i++)
        queues |= trace_activity_queues(reader->directory.data[i].note);
    return queues;
}

void trace_reader_activity(const struct trace_reader *reader, uint32_t queue, int64_t begin_ns,
                           int64_t end_ns, size_t count, double *out_shares)
{
    const struct trace_activity_query query = {queue, begin_ns, end_ns, count, out_shares};
    for (size_t i = 0; i < count; i++)
        out_shares[i] = 0;
    for (size_t i = 0; i < reader->directory.data_count; i++)
        trace_activity_add(reader->directory.data[i].note, &query);
}

/* ---- Chunks ------------------------------------------------------------------------------- */

static enum hal_status list_pieces(struct trace_cached_frame *cached, const Haltrace__Note *note)
{
    size_t at = 0;
    struct trace_field field;
    enum hal_status status;
    cached->piece_count = 0;
    while ((status = trace_field_next(&cached->raw, &at, &field)) == HAL_OK) {
        if (field.number == TRACE_FIELD_PACKET)
            continue;
        if (field.number != TRACE_FIELD_CHUNK && field.number != TRACE_FIELD_SEGMENTS)
            return hal_fail(HAL_CORRUPT, "field %u in the wrong frame at byte %" PRIu64,
                            field.number, note->offset);
        if (!HAL_GROW(cached->pieces, &cached->piece_capacity, cached->piece_count + 1))
            return no_memory();
        cached->pieces[cached->piece_count++] = field;
    }
    if (status != HAL_NOT_FOUND)
        return status;
    if (cached->piece_count != note->n_piece_thread)
        return hal_fail(HAL_CORRUPT, "the frame at byte %" PRIu64 " has %s, its note has %zu",
                        note->offset, hal_count(cached->piece_count, "piece", "pieces").text,
                        note->n_piece_thread);
    return HAL_OK;
}

/* The decompressed frame. */
static enum hal_status get_frame(struct trace_reader *reader, uint32_t frame,
                                 const struct trace_cached_frame **out_frame)
{
    struct trace_cached_frame *slot;
    const struct trace_data_frame *data = &reader->directory.data[frame];
    HAL_TRY(trace_cache_find(&reader->data_cache, frame, &slot));
    *out_frame = slot;
    if (slot->is_valid)
        return HAL_OK;
    enum hal_status status =
        trace_input_data_frame(&reader->input, data->note, data->note_bytes, &slot->raw);
    if (status == HAL_OK)
        status = list_pieces(slot, data->note);
    return trace_cache_filled(reader, &reader->data_cache, reader->directory.data_count, slot,
                              status);
}

/* Adds the segments of one message to reader->segments. */
static enum hal_status decode_segments(struct trace_reader *reader, const Haltrace__Segments *from,
                                       uint64_t *segment_count)
{
    size_t count;
    HAL_TRY(trace_columns_decode(&trace_segment_family, from, &reader->scratch,
                                 &(struct trace_resolver){trace_reader_resolve, reader},
                                 &reader->segments, &count));
    *segment_count += count;
    return HAL_OK;
}

static enum hal_status decode_chunk(struct trace_reader *reader, const struct trace_field *field,
                                    const struct trace_chunk_entry *entry, uint64_t *segment_count)
{
    ProtobufCMessage *message;
    size_t count;
    HAL_TRY(trace_message_unpack(&haltrace__chunk__descriptor, field->data, field->bytes,
                                 &reader->scratch, &message));
    const Haltrace__Chunk *chunk = (const Haltrace__Chunk *)(const void *)message;
    HAL_TRY(trace_columns_decode(&trace_event_family, chunk, &reader->scratch,
                                 &(struct trace_resolver){trace_reader_resolve, reader},
                                 &reader->events, &count));
    if (chunk->thread != entry->thread || count != entry->event_count)
        return hal_fail(HAL_CORRUPT, "%s of thread %u, the note has %u of thread %u",
                        hal_count(count, "event", "events").text, chunk->thread, entry->event_count,
                        entry->thread);
    return chunk->segments ? decode_segments(reader, chunk->segments, segment_count) : HAL_OK;
}

static enum hal_status decode_continuation(struct trace_reader *reader,
                                           const struct trace_field *field,
                                           const struct trace_chunk_entry *entry,
                                           uint64_t *segment_count)
{
    ProtobufCMessage *message;
    HAL_TRY(trace_message_unpack(&haltrace__segments__descriptor, field->data, field->bytes,
                                 &reader->scratch, &message));
    const Haltrace__Segments *segments = (const Haltrace__Segments *)(const void *)message;
    if (segments->thread != entry->thread)
        return hal_fail(HAL_CORRUPT, "segments of thread %u, the note has thread %u",
                        segments->thread, entry->thread);
    return decode_segments(reader, segments, segment_count);
}

/* Decodes all pieces of a chunk into reader->events and reader->segments. */
static enum hal_status decode_pieces(struct trace_reader *reader,
                                     const struct trace_chunk_entry *entry, uint64_t *segment_count)
{
    reader->events.count = reader->segments.count = 0;
    for (size_t i = 0; i < entry->place_count; i++) {
        const struct trace_place place = reader->places[entry->first_place + i];
        const struct trace_cached_frame *frame;
        HAL_TRY(get_frame(reader, place.frame, &frame));
        const struct trace_field *field = &frame->pieces[place.piece];
        trace_arena_reset(&reader->scratch);
        const bool is_first = i == 0;
        if ((field->number == TRACE_FIELD_CHUNK) != is_first)
            return hal_fail(HAL_CORRUPT, "field %u is not the piece in the note", field->number);
        const enum hal_status status =
            is_first ? decode_chunk(reader, field, entry, segment_count)
                     : decode_continuation(reader, field, entry, segment_count);
        HAL_TRY(hal_add_context(status, "the frame at byte %" PRIu64,
                                reader->directory.data[place.frame].note->offset));
        if (*segment_count > TRACE_MAX_SEGMENTS)
            return hal_fail(HAL_CORRUPT, "%s, the limit is %u",
                            hal_count(*segment_count, "segment", "segments").text,
                            TRACE_MAX_SEGMENTS);
    }
    return HAL_OK;
}

/* The segments of a seal are the next ones in reader->segments, as it records. */
static enum hal_status check_seal(const struct trace_reader *reader,
                                  const struct trace_command_buffer_seal *seal, size_t at,
                                  size_t *out_end)
{
    uint32_t dispatches = 0;
    const size_t begin = at;
    for (uint32_t i = 0; i < seal->segment_count; i++) {
        if (at == reader->segments.count)
            return HAL_NOT_FOUND;
        const struct trace_segment *segment = (const void *)(reader->segments.data + at);
        dispatches += trace_is_dispatch(segment->kind);
        at += segment->bytes;
    }
    *out_end = at;
    if (at - begin != seal->segment_bytes || dispatches != seal->dispatch_count)
        return hal_fail(
            HAL_CORRUPT, "command buffer %" PRIu64 " has %s in %s, its end has %u in %" PRIu64,
            seal->command_buffer, hal_count(dispatches, "dispatch", "dispatches").text,
            hal_count(at - begin, "byte", "bytes").text, seal->dispatch_count, seal->segment_bytes);
    return HAL_OK;
}

/* Joins events and segments. A last seal without all of its segments is left out where that is
 * known to happen, else an error. */
static enum hal_status join(struct trace_reader *reader, const struct trace_chunk_entry *entry,
                            struct trace_bytes *records, uint32_t *out_event_count)
{
    size_t segment_at = 0, count = 0;
    if (!trace_bytes_reserve(records, reader->events.count + reader->segments.count + 1))
        return no_memory();
    assert(records->data);
    for (size_t at = 0; at < reader->events.count;) {
        struct trace_event *event = (void *)(reader->events.data + at);
        size_t end = segment_at;
        if (event->kind >= TRACE_OPTIONAL_END) { /* a newer version's */
            at += event->bytes;
            continue;
        }
        event->thread = entry->thread;
        if (event->kind == TRACE_COMMAND_BUFFER_SEAL) {
            const enum hal_status status =
                check_seal(reader, (const void *)event, segment_at, &end);
            const bool is_last = at + event->bytes == reader->events.count;
            if (status == HAL_NOT_FOUND && is_last &&
                (entry->is_open || trace_reader_is_cut(reader))) {
                end = reader->segments.count;
                if (!reader->keeps_cut) {
                    segment_at = end;
                    break;
                }
            } else if (status == HAL_NOT_FOUND) {
                return hal_fail(HAL_CORRUPT, "segments of a command buffer are missing");
            } else {
                HAL_TRY(status);
            }
        }
        memcpy(records->data + records->count, event, event->bytes);
        records->count += event->bytes;
        if (end > segment_at)
            memcpy(records->data + records->count, reader->segments.data + segment_at,
                   end - segment_at);
        records->count += end - segment_at;
        segment_at = end;
        at += event->bytes;
        count++;
    }
    if (segment_at != reader->segments.count)
        return hal_fail(HAL_CORRUPT, "segments without a command buffer");
    *out_event_count = (uint32_t)count;
    return HAL_OK;
}

enum hal_status trace_reader_chunk(struct trace_reader *reader, size_t index,
                                   struct trace_chunk *out_chunk)
{
    *out_chunk = (struct trace_chunk){0};
    if (index >= reader->chunk_count)
        return hal_fail(HAL_NOT_FOUND, "no chunk %zu", index);
    const struct trace_chunk_entry *entry = &reader->chunks[index];
    uint64_t segment_count = 0;
    struct trace_bytes records = {0};
    enum hal_status status = decode_pieces(reader, entry, &segment_count);
    if (status == HAL_OK)
        status = hal_add_context(
            join(reader, entry, &records, &out_chunk->event_count), "the frame at byte %" PRIu64,
            reader->directory.data[reader->places[entry->first_place].frame].note->offset);
    if (status != HAL_OK) {
        free(records.data);
        return trace_reader_with_path(reader, status);
    }
    out_chunk->thread = entry->thread;
    out_chunk->events = TRACE_AS(trace_event, records.data);
    out_chunk->bytes = records.count;
    return HAL_OK;
}

void trace_chunk_free(struct trace_chunk *chunk)
{
    free((void *)(uintptr_t)chunk->events);
    *chunk = (struct trace_chunk){0};
}

enum hal_status trace_reader_each(struct trace_reader *reader, trace_visit *visit, void *user)
{
    for (size_t i = 0; i < reader->chunk_count; i++) {
        struct trace_chunk chunk;
        enum hal_status status = trace_reader_chunk(reader, i, &chunk);
        const struct trace_event *event = chunk.events;
        for (uint32_t k = 0; k < chunk.event_count && status == HAL_OK; k++) {
            const struct trace_segment *segments = NULL;
            const uint8_t *next = (const uint8_t *)event + event->bytes;
            if (event->kind == TRACE_COMMAND_BUFFER_SEAL) {
                segments = (const void *)next;
                next += TRACE_AS(trace_command_buffer_seal, event)->segment_bytes;
            }
            status = visit(user, event, segments);
            event = (const void *)next;
        }
        trace_chunk_free(&chunk);
        HAL_TRY(status);
    }
    return HAL_OK;
}

size_t trace_reader_descriptors(const struct trace_reader *reader, int *out_descriptors,
                                size_t most)
{
    size_t count = 0;
    if (count < most)
        out_descriptors[count++] = reader->input.descriptor;
    for (size_t i = 0; i < reader->base_count; i++)
        count += trace_reader_descriptors(reader->bases[i].reader, out_descriptors + count,
                                          most - count);
    return count;
}
