/* SPDX-License-Identifier: Apache-2.0 */
/* The reader: tables at once, chunks and contents when asked for. */
#include "format/contents.h"
#include "format/index.h"
#include "format/limits.h"
#include "format/tables.h"
#include "format/trace.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    HEADER_FIELD = 100,
    TABLES_FIELD,
    CHUNK_FIELD,
    SEGMENTS_FIELD,
    END_FIELD,
    CACHED_FRAMES = 4,
};

/* One Chunk or Segments field: which one of its frame's. */
struct place {
    uint32_t frame, piece;
};

struct chunk_entry {
    uint32_t thread, event_count;
    size_t first_place, place_count; /* the chunk and its continuations, in reader->places */
    bool is_open;                    /* segments of its last seal are missing for good */
};

/* A decompressed data frame and its chunk and segment fields. */
struct cached_frame {
    uint32_t frame;
    bool is_valid;
    uint64_t used_at;
    struct trace_bytes raw;
    struct trace_field *pieces;
    size_t piece_count, piece_capacity;
};

struct trace_reader {
    struct trace_input input;
    struct trace_directory directory;
    struct trace_tables tables;
    struct trace_arena kept, scratch;
    struct trace_header header;
    struct trace_health health;
    bool has_health;
    struct trace_counts counts;
    struct chunk_entry *chunks;
    size_t chunk_count, chunk_capacity;
    struct place *places;
    size_t place_count, place_capacity;
    struct cached_frame cache[CACHED_FRAMES];
    uint64_t cache_clock;
    uint64_t *frame_last_content; /* number of the last content of each contents frame */
    size_t cached_blobs;          /* frame in blobs_raw + 1; 0: none */
    struct trace_bytes blobs_raw;
    struct trace_bytes events, segments; /* of the chunk being decoded */
};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to read a trace");
}

static enum hal_status with_path(const struct trace_reader *reader, enum hal_status status)
{
    return status == HAL_OK ? HAL_OK : hal_add_context(status, "'%s'", reader->input.path);
}

/* ---- Header and end ----------------------------------------------------------------------- */

/* A C string that lives as long as the reader. */
static const char *keep_text(struct trace_reader *reader, const ProtobufCBinaryData *bytes)
{
    char *text = trace_arena_alloc(&reader->kept, bytes->len + 1);
    if (!text)
        return "";
    if (bytes->len)
        memcpy(text, bytes->data, bytes->len);
    text[bytes->len] = '\0';
    return text;
}

static void take_device(struct trace_reader *reader, const Haltrace__Device *message)
{
    struct trace_device *device = &reader->header.device;
    *device = (struct trace_device){.uri = "", .driver = "", .name = ""};
    if (!message)
        return;
    device->uri = keep_text(reader, &message->uri);
    device->driver = keep_text(reader, &message->driver);
    device->name = keep_text(reader, &message->name);
    device->queue_count = message->queue_count;
    device->simd_width = message->simd_width;
    device->max_group_threads = message->max_group_threads;
    for (size_t i = 0; i < 3 && i < message->n_max_group_size; i++)
        device->max_group_size[i] = message->max_group_size[i];
    device->max_group_memory_bytes = message->max_group_memory_bytes;
    device->max_buffer_bytes = message->max_buffer_bytes;
    device->worker_count = message->worker_count;
}

static enum hal_status take_header(struct trace_reader *reader, const Haltrace__Header *message)
{
    struct trace_header *header = &reader->header;
    if (message->version_major != TRACE_VERSION_MAJOR)
        return hal_fail(HAL_VERSION, "format version %u.%u, this program reads %u",
                        message->version_major, message->version_minor, TRACE_VERSION_MAJOR);
    if (message->contents != HALTRACE__HEADER__CONTENTS__CONTENTS_IN_FILE)
        return hal_fail(HAL_VERSION, "contents are kept in way %d: a newer version wrote it",
                        (int)message->contents);
    const char **arguments =
        trace_arena_array(&reader->kept, message->n_argument, sizeof *arguments);
    if (!arguments)
        return no_memory();
    for (size_t i = 0; i < message->n_argument; i++)
        arguments[i] = keep_text(reader, &message->argument[i]);
    *header = (struct trace_header){
        .version_major = message->version_major,
        .version_minor = message->version_minor,
        .writer = keep_text(reader, &message->writer),
        .program = keep_text(reader, &message->program),
        .arguments = arguments,
        .argument_count = message->n_argument,
        .process_id = message->process_id,
        .host = keep_text(reader, &message->host),
        .system = keep_text(reader, &message->system),
        .mode = keep_text(reader, &message->mode),
        .start_ns = message->start_ns,
        .start_wall_ns = message->start_wall_ns,
        .late_start = message->late_start,
    };
    take_device(reader, message->device);
    return HAL_OK;
}

/* Threads whose last command buffer is incomplete, as the end says. */
static enum hal_status take_end(struct trace_reader *reader, const Haltrace__End *message)
{
    reader->health = (struct trace_health){
        .status = message->status,
        .message = keep_text(reader, &message->message),
        .lost_records = message->lost_records,
        .ring_stalls = message->ring_stalls,
        .ring_stall_ns = message->ring_stall_ns,
        .digest_only = message->digest_only,
        .overhead_ns = message->overhead_ns,
    };
    reader->has_health = true;
    for (size_t i = 0; i < message->n_unfinished_thread; i++) {
        for (size_t k = reader->chunk_count; k-- > 0;) {
            if (reader->chunks[k].thread == message->unfinished_thread[i]) {
                reader->chunks[k].is_open = true;
                break;
            }
        }
    }
    return HAL_OK;
}

/* ---- Tables ------------------------------------------------------------------------------- */

static bool resolve_any(void *user, enum trace_reference reference, uint64_t *number)
{
    (void)user;
    (void)reference;
    (void)number;
    return true;
}

static bool is_truncated(const struct trace_reader *reader)
{
    return reader->directory.truncated[0] != '\0';
}

/* In a file that was cut off, what defines a number may be missing: 0 then. */
static bool resolve(void *user, enum trace_reference reference, uint64_t *number)
{
    const struct trace_reader *reader = user;
    bool exists = true;
    switch (reference) {
    case TRACE_REFERENCE_NONE: break;
    case TRACE_REFERENCE_STRING:
        exists = trace_tables_string(&reader->tables, *number) != NULL;
        break;
    case TRACE_REFERENCE_STACK:
        exists = trace_tables_stack(&reader->tables, *number) != NULL;
        break;
    case TRACE_REFERENCE_CONTENT: return *number <= reader->directory.content_count;
    }
    if (!exists && is_truncated(reader)) {
        *number = 0;
        return true;
    }
    return exists;
}

static enum hal_status take_tables(struct trace_reader *reader, const ProtobufCMessage *message)
{
    size_t count;
    reader->events.count = 0;
    HAL_TRY(trace_columns_decode(&trace_table_family, message, &reader->scratch, resolve_any, NULL,
                                 &reader->events, &count));
    for (size_t at = 0; at < reader->events.count;) {
        const struct trace_event *record = (const void *)(reader->events.data + at);
        bool is_new;
        HAL_TRY(trace_tables_check(&reader->tables, record, &is_new));
        if (is_new)
            HAL_TRY(trace_tables_add(&reader->tables, record));
        at += record->bytes;
    }
    return HAL_OK;
}

/* Names of threads and paths of modules must exist as well. */
static enum hal_status check_tables(struct trace_reader *reader)
{
    for (size_t i = 0; i < reader->tables.thread_count; i++) {
        uint64_t name = reader->tables.thread_list[i]->name;
        if (name && !resolve(reader, TRACE_REFERENCE_STRING, &name))
            return hal_fail(HAL_CORRUPT, "string number %" PRIu64 " of a thread does not exist",
                            name);
    }
    for (size_t i = 0; i < reader->tables.module_count; i++) {
        uint64_t path = reader->tables.module_list[i]->path;
        if (path && !resolve(reader, TRACE_REFERENCE_STRING, &path))
            return hal_fail(HAL_CORRUPT, "string number %" PRIu64 " of a module does not exist",
                            path);
    }
    return HAL_OK;
}

/* ---- Opening ------------------------------------------------------------------------------ */

static enum hal_status take_field(struct trace_reader *reader, const struct trace_field *field,
                                  unsigned *found)
{
    const ProtobufCMessageDescriptor *descriptor =
        field->number == HEADER_FIELD   ? &haltrace__header__descriptor
        : field->number == TABLES_FIELD ? &haltrace__tables__descriptor
                                        : &haltrace__end__descriptor;
    ProtobufCMessage *message;
    trace_arena_reset(&reader->scratch);
    HAL_TRY(
        trace_message_unpack(descriptor, field->data, field->bytes, &reader->scratch, &message));
    *found |= 1u << (field->number - HEADER_FIELD);
    const void *any = message;
    if (field->number == HEADER_FIELD)
        return take_header(reader, any);
    return field->number == TABLES_FIELD ? take_tables(reader, message) : take_end(reader, any);
}

/* Reads a frame of the header, of tables or of the end, which must have a field of that number. */
static enum hal_status load_frame(struct trace_reader *reader, const struct trace_data_frame *frame,
                                  uint32_t number)
{
    struct trace_bytes *raw = &reader->blobs_raw; /* not in use yet */
    HAL_TRY(trace_input_data_frame(&reader->input, frame->note, frame->note_bytes, raw));
    size_t at = 0;
    unsigned found = 0;
    struct trace_field field;
    enum hal_status status;
    while ((status = trace_field_next(raw, &at, &field)) == HAL_OK) {
        if (field.number == number)
            HAL_TRY(take_field(reader, &field, &found));
        else if (field.number != 1)
            return hal_fail(HAL_CORRUPT, "field %u in the wrong frame at byte %" PRIu64,
                            field.number, frame->note->offset);
    }
    if (status != HAL_NOT_FOUND)
        return status;
    if (!found)
        return hal_fail(HAL_CORRUPT, "the frame at byte %" PRIu64 " has no field %u",
                        frame->note->offset, number);
    return HAL_OK;
}

static enum hal_status add_chunk(struct trace_reader *reader, uint32_t thread, uint32_t events)
{
    void *chunks = reader->chunks;
    if (!hal_grow(&chunks, &reader->chunk_capacity, reader->chunk_count + 1,
                  sizeof *reader->chunks))
        return no_memory();
    reader->chunks = chunks;
    reader->chunks[reader->chunk_count++] =
        (struct chunk_entry){.thread = thread, .event_count = events};
    return HAL_OK;
}

/* For each piece of the file, its chunk: a continuation belongs to its thread's last one. */
static enum hal_status list_chunks(struct trace_reader *reader, uint32_t *chunk_of_piece)
{
    size_t piece_count = 0;
    uint32_t *last = hal_alloc(TRACE_MAX_THREADS + 1, sizeof *last);
    enum hal_status status = last ? HAL_OK : no_memory();
    for (size_t f = 0; f < reader->directory.data_count && status == HAL_OK; f++) {
        const Haltrace__Note *note = reader->directory.data[f].note;
        for (size_t p = 0; p < note->n_piece_thread && status == HAL_OK; p++) {
            const uint32_t thread = note->piece_thread[p], events = note->piece_events[p];
            if (thread > TRACE_MAX_THREADS || (!events && !last[thread])) {
                status = hal_fail(HAL_CORRUPT,
                                  "the note about the frame at byte %" PRIu64
                                  " has segments without a seal",
                                  note->offset);
                break;
            }
            if (events) {
                status = add_chunk(reader, thread, events);
                last[thread] = (uint32_t)reader->chunk_count;
            }
            if (status == HAL_OK) {
                chunk_of_piece[piece_count++] = last[thread] - 1;
                reader->chunks[last[thread] - 1].place_count++;
            }
        }
    }
    free(last);
    return status;
}

/* Sorts the pieces by chunk. */
static enum hal_status place_pieces(struct trace_reader *reader, const uint32_t *chunk_of_piece,
                                    size_t piece_count)
{
    reader->places = hal_alloc(piece_count, sizeof *reader->places);
    if (!reader->places)
        return no_memory();
    size_t first = 0;
    for (size_t i = 0; i < reader->chunk_count; i++) {
        reader->chunks[i].first_place = first;
        first += reader->chunks[i].place_count;
        reader->chunks[i].place_count = 0;
    }
    size_t piece = 0;
    for (size_t f = 0; f < reader->directory.data_count; f++) {
        for (size_t p = 0; p < reader->directory.data[f].note->n_piece_thread; p++) {
            struct chunk_entry *chunk = &reader->chunks[chunk_of_piece[piece++]];
            reader->places[chunk->first_place + chunk->place_count++] =
                (struct place){(uint32_t)f, (uint32_t)p};
        }
    }
    return HAL_OK;
}

static enum hal_status index_chunks(struct trace_reader *reader)
{
    size_t piece_count = 0;
    for (size_t i = 0; i < reader->directory.data_count; i++)
        piece_count += reader->directory.data[i].note->n_piece_thread;
    uint32_t *chunk_of_piece = hal_alloc(piece_count, sizeof *chunk_of_piece);
    enum hal_status status = chunk_of_piece ? list_chunks(reader, chunk_of_piece) : no_memory();
    if (status == HAL_OK)
        status = place_pieces(reader, chunk_of_piece, piece_count);
    free(chunk_of_piece);
    return status;
}

static void add_counts(struct trace_counts *counts, const Haltrace__Note *note)
{
    const Haltrace__Counts *c = note->counts;
    if (!c)
        return;
    counts->events += c->events;
    counts->segments += c->segments;
    counts->submissions += c->submissions;
    counts->dispatches += c->dispatches;
    counts->barriers += c->barriers;
    counts->host_writes += c->host_writes;
    counts->host_write_bytes += c->host_write_bytes;
    counts->host_reads += c->host_reads;
    counts->host_read_bytes += c->host_read_bytes;
    if (note->first_ns && (!counts->first_ns || note->first_ns < counts->first_ns))
        counts->first_ns = note->first_ns;
    if (note->last_ns && (!counts->last_ns || note->last_ns > counts->last_ns))
        counts->last_ns = note->last_ns;
}

static enum hal_status count_all(struct trace_reader *reader)
{
    const struct trace_directory *directory = &reader->directory;
    struct trace_counts *counts = &reader->counts;
    counts->file_bytes = reader->input.bytes;
    counts->frames = directory->data_count + directory->blobs_count;
    counts->contents = directory->content_count;
    for (size_t i = 0; i < directory->data_count; i++)
        add_counts(counts, directory->data[i].note);
    reader->frame_last_content =
        hal_alloc(directory->blobs_count, sizeof *reader->frame_last_content);
    if (!reader->frame_last_content)
        return no_memory();
    for (size_t i = 0; i < directory->blobs_count; i++) {
        const Haltrace__Blobs *blobs = directory->blobs[i].blobs;
        reader->frame_last_content[i] = blobs->first + blobs->n_size - 1;
        counts->stored_content_bytes += directory->blobs[i].bytes;
        for (size_t k = 0; k < blobs->n_size; k++)
            counts->content_bytes += blobs->size[k];
    }
    return HAL_OK;
}

static enum hal_status load_frames(struct trace_reader *reader)
{
    for (size_t i = 0; i < reader->directory.data_count; i++) {
        const struct trace_data_frame *frame = &reader->directory.data[i];
        switch ((int)frame->note->kind) {
        case HALTRACE__NOTE__KIND__HEADER: HAL_TRY(load_frame(reader, frame, HEADER_FIELD)); break;
        case HALTRACE__NOTE__KIND__TABLES: HAL_TRY(load_frame(reader, frame, TABLES_FIELD)); break;
        case HALTRACE__NOTE__KIND__END: HAL_TRY(load_frame(reader, frame, END_FIELD)); break;
        case HALTRACE__NOTE__KIND__EVENTS: break;
        default:
            return hal_fail(HAL_VERSION,
                            "the frame at byte %" PRIu64
                            " is of unknown kind %d: a newer version wrote it",
                            frame->note->offset, (int)frame->note->kind);
        }
    }
    return HAL_OK;
}

static enum hal_status load(struct trace_reader *reader)
{
    HAL_TRY(trace_directory_load(&reader->directory, &reader->input));
    HAL_TRY(index_chunks(reader));
    HAL_TRY(load_frames(reader));
    HAL_TRY(check_tables(reader));
    if (!reader->has_health && !is_truncated(reader))
        return hal_fail(HAL_CORRUPT, "damaged: there is an index, but no end");
    return count_all(reader);
}

enum hal_status trace_reader_open(const char *path, struct trace_reader **out_reader)
{
    *out_reader = NULL;
    struct trace_reader *reader = hal_alloc(1, sizeof *reader);
    if (!reader)
        return no_memory();
    trace_directory_init(&reader->directory);
    trace_tables_init(&reader->tables);
    trace_arena_init(&reader->kept, SIZE_MAX);
    trace_arena_init(&reader->scratch, TRACE_MAX_DECODE_BYTES);
    enum hal_status status = trace_input_open(&reader->input, path);
    if (status == HAL_OK)
        status = with_path(reader, load(reader));
    if (status != HAL_OK) {
        trace_reader_close(reader);
        return status;
    }
    *out_reader = reader;
    return HAL_OK;
}

void trace_reader_close(struct trace_reader *reader)
{
    if (!reader)
        return;
    for (size_t i = 0; i < CACHED_FRAMES; i++) {
        free(reader->cache[i].raw.data);
        free(reader->cache[i].pieces);
    }
    free(reader->chunks);
    free(reader->places);
    free(reader->frame_last_content);
    free(reader->blobs_raw.data);
    free(reader->events.data);
    free(reader->segments.data);
    trace_arena_finish(&reader->scratch);
    trace_arena_finish(&reader->kept);
    trace_tables_finish(&reader->tables);
    trace_directory_finish(&reader->directory);
    trace_input_close(&reader->input);
    free(reader);
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

/* ---- Chunks ------------------------------------------------------------------------------- */

static enum hal_status list_pieces(struct cached_frame *cached, const Haltrace__Note *note)
{
    size_t at = 0;
    struct trace_field field;
    enum hal_status status;
    cached->piece_count = 0;
    while ((status = trace_field_next(&cached->raw, &at, &field)) == HAL_OK) {
        if (field.number == 1)
            continue;
        if (field.number != CHUNK_FIELD && field.number != SEGMENTS_FIELD)
            return hal_fail(HAL_CORRUPT, "field %u in the wrong frame at byte %" PRIu64,
                            field.number, note->offset);
        void *pieces = cached->pieces;
        if (!hal_grow(&pieces, &cached->piece_capacity, cached->piece_count + 1,
                      sizeof *cached->pieces))
            return no_memory();
        cached->pieces = pieces;
        cached->pieces[cached->piece_count++] = field;
    }
    if (status != HAL_NOT_FOUND)
        return status;
    if (cached->piece_count != note->n_piece_thread)
        return hal_fail(HAL_CORRUPT,
                        "the frame at byte %" PRIu64 " has %zu pieces, its note "
                        "says %zu",
                        note->offset, cached->piece_count, note->n_piece_thread);
    return HAL_OK;
}

/* The decompressed frame, from the cache if it is there. */
static enum hal_status get_frame(struct trace_reader *reader, uint32_t frame,
                                 const struct cached_frame **out_frame)
{
    struct cached_frame *slot = &reader->cache[0];
    for (size_t i = 0; i < CACHED_FRAMES; i++) {
        struct cached_frame *cached = &reader->cache[i];
        if (cached->is_valid && cached->frame == frame) {
            cached->used_at = ++reader->cache_clock;
            *out_frame = cached;
            return HAL_OK;
        }
        if (!cached->is_valid || (slot->is_valid && cached->used_at < slot->used_at))
            slot = cached;
    }
    const struct trace_data_frame *data = &reader->directory.data[frame];
    slot->is_valid = false;
    HAL_TRY(trace_input_data_frame(&reader->input, data->note, data->note_bytes, &slot->raw));
    HAL_TRY(list_pieces(slot, data->note));
    slot->frame = frame;
    slot->is_valid = true;
    slot->used_at = ++reader->cache_clock;
    *out_frame = slot;
    return HAL_OK;
}

/* Adds the segments of one message to reader->segments. */
static enum hal_status decode_segments(struct trace_reader *reader, const Haltrace__Segments *from,
                                       uint64_t *segment_count)
{
    size_t count;
    HAL_TRY(trace_columns_decode(&trace_segment_family, from, &reader->scratch, resolve, reader,
                                 &reader->segments, &count));
    *segment_count += count;
    return HAL_OK;
}

static enum hal_status decode_chunk(struct trace_reader *reader, const struct trace_field *field,
                                    const struct chunk_entry *entry, uint64_t *segment_count)
{
    ProtobufCMessage *message;
    size_t count;
    HAL_TRY(trace_message_unpack(&haltrace__chunk__descriptor, field->data, field->bytes,
                                 &reader->scratch, &message));
    const Haltrace__Chunk *chunk = (const Haltrace__Chunk *)(const void *)message;
    HAL_TRY(trace_columns_decode(&trace_event_family, chunk, &reader->scratch, resolve, reader,
                                 &reader->events, &count));
    if (chunk->thread != entry->thread || count != entry->event_count)
        return hal_fail(HAL_CORRUPT, "%zu events of thread %u, the note says %u of thread %u",
                        count, chunk->thread, entry->event_count, entry->thread);
    return chunk->segments ? decode_segments(reader, chunk->segments, segment_count) : HAL_OK;
}

static enum hal_status decode_continuation(struct trace_reader *reader,
                                           const struct trace_field *field,
                                           const struct chunk_entry *entry, uint64_t *segment_count)
{
    ProtobufCMessage *message;
    HAL_TRY(trace_message_unpack(&haltrace__segments__descriptor, field->data, field->bytes,
                                 &reader->scratch, &message));
    const Haltrace__Segments *segments = (const Haltrace__Segments *)(const void *)message;
    if (segments->thread != entry->thread)
        return hal_fail(HAL_CORRUPT, "segments of thread %u, the note says thread %u",
                        segments->thread, entry->thread);
    return decode_segments(reader, segments, segment_count);
}

/* Decodes all pieces of a chunk into reader->events and reader->segments. */
static enum hal_status decode_pieces(struct trace_reader *reader, const struct chunk_entry *entry,
                                     uint64_t *segment_count)
{
    reader->events.count = reader->segments.count = 0;
    for (size_t i = 0; i < entry->place_count; i++) {
        const struct place place = reader->places[entry->first_place + i];
        const struct cached_frame *frame;
        HAL_TRY(get_frame(reader, place.frame, &frame));
        const struct trace_field *field = &frame->pieces[place.piece];
        trace_arena_reset(&reader->scratch);
        const bool is_first = i == 0;
        if ((field->number == CHUNK_FIELD) != is_first)
            return hal_fail(HAL_CORRUPT, "field %u is not the piece that the note says",
                            field->number);
        const enum hal_status status =
            is_first ? decode_chunk(reader, field, entry, segment_count)
                     : decode_continuation(reader, field, entry, segment_count);
        HAL_TRY(hal_add_context(status, "the frame at byte %" PRIu64,
                                reader->directory.data[place.frame].note->offset));
        if (*segment_count > TRACE_MAX_SEGMENTS)
            return hal_fail(HAL_CORRUPT, "%" PRIu64 " segments, the limit is %u", *segment_count,
                            TRACE_MAX_SEGMENTS);
    }
    return HAL_OK;
}

/* The segments of a seal are the next ones in reader->segments and as many and large as it says. */
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
        dispatches += segment->kind == TRACE_DISPATCH;
        at += segment->bytes;
    }
    *out_end = at;
    if (at - begin != seal->segment_bytes || dispatches != seal->dispatch_count)
        return hal_fail(HAL_CORRUPT,
                        "command buffer %" PRIu64 " has %u dispatches in %zu bytes, "
                        "its seal says %u in %" PRIu64,
                        seal->command_buffer, dispatches, at - begin, seal->dispatch_count,
                        seal->segment_bytes);
    return HAL_OK;
}

/* Joins events and segments. A last seal without all of its segments is left out where that is
 * known to happen, else an error. */
static enum hal_status join(struct trace_reader *reader, const struct chunk_entry *entry,
                            struct trace_bytes *records, uint32_t *out_event_count)
{
    size_t segment_at = 0, count = 0;
    if (!trace_bytes_reserve(records, reader->events.count + reader->segments.count + 1))
        return no_memory();
    for (size_t at = 0; at < reader->events.count; count++) {
        struct trace_event *event = (void *)(reader->events.data + at);
        size_t end = segment_at;
        event->thread = entry->thread;
        if (event->kind == TRACE_COMMAND_BUFFER_SEAL) {
            const enum hal_status status =
                check_seal(reader, (const void *)event, segment_at, &end);
            const bool is_last = at + event->bytes == reader->events.count;
            if (status == HAL_NOT_FOUND && is_last && (entry->is_open || is_truncated(reader))) {
                segment_at = reader->segments.count;
                break;
            }
            if (status == HAL_NOT_FOUND)
                return hal_fail(HAL_CORRUPT, "segments of a command buffer are missing");
            HAL_TRY(status);
        }
        memcpy(records->data + records->count, event, event->bytes);
        records->count += event->bytes;
        if (end > segment_at)
            memcpy(records->data + records->count, reader->segments.data + segment_at,
                   end - segment_at);
        records->count += end - segment_at;
        segment_at = end;
        at += event->bytes;
    }
    if (segment_at != reader->segments.count)
        return hal_fail(HAL_CORRUPT, "segments that belong to no command buffer");
    *out_event_count = (uint32_t)count;
    return HAL_OK;
}

enum hal_status trace_reader_chunk(struct trace_reader *reader, size_t index,
                                   struct trace_chunk *out_chunk)
{
    *out_chunk = (struct trace_chunk){0};
    if (index >= reader->chunk_count)
        return hal_fail(HAL_NOT_FOUND, "no chunk %zu", index);
    const struct chunk_entry *entry = &reader->chunks[index];
    uint64_t segment_count = 0;
    struct trace_bytes records = {0};
    enum hal_status status = decode_pieces(reader, entry, &segment_count);
    if (status == HAL_OK)
        status = hal_add_context(
            join(reader, entry, &records, &out_chunk->event_count), "the frame at byte %" PRIu64,
            reader->directory.data[reader->places[entry->first_place].frame].note->offset);
    if (status != HAL_OK) {
        free(records.data);
        return with_path(reader, status);
    }
    out_chunk->thread = entry->thread;
    out_chunk->events = (const struct trace_event *)(const void *)records.data;
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
                next +=
                    ((const struct trace_command_buffer_seal *)(const void *)event)->segment_bytes;
            }
            status = visit(user, event, segments);
            event = (const void *)next;
        }
        trace_chunk_free(&chunk);
        HAL_TRY(status);
    }
    return HAL_OK;
}

/* ---- Contents ----------------------------------------------------------------------------- */

/* Frame and position of a content: in the frame's list, and in its data. */
static enum hal_status find_content(const struct trace_reader *reader, uint64_t content,
                                    size_t *out_frame, size_t *out_index)
{
    if (content == 0 || content > reader->directory.content_count)
        return hal_fail(HAL_NOT_FOUND, "no content %" PRIu64 ", there are %" PRIu64, content,
                        reader->directory.content_count);
    size_t low = 0, high = reader->directory.blobs_count - 1;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (reader->frame_last_content[middle] < content)
            low = middle + 1;
        else
            high = middle;
    }
    *out_frame = low;
    *out_index = (size_t)(content - reader->directory.blobs[low].blobs->first);
    return HAL_OK;
}

enum hal_status trace_reader_content_info(const struct trace_reader *reader, uint64_t content,
                                          uint64_t *out_bytes, uint8_t out_sha256[32])
{
    size_t frame, index;
    HAL_TRY(find_content(reader, content, &frame, &index));
    const Haltrace__Blobs *blobs = reader->directory.blobs[frame].blobs;
    *out_bytes = blobs->size[index];
    memcpy(out_sha256, blobs->sha256.data + 32 * index, 32);
    return HAL_OK;
}

/* Decompresses a frame of contents into reader->blobs_raw. */
static enum hal_status load_blobs(struct trace_reader *reader, size_t frame)
{
    if (reader->cached_blobs == frame + 1)
        return HAL_OK;
    const struct trace_blobs_frame *entry = &reader->directory.blobs[frame];
    uint64_t bytes = 0;
    for (size_t i = 0; i < entry->blobs->n_size; i++)
        bytes += entry->blobs->size[i];
    struct trace_frame_head head;
    uint8_t *meta;
    reader->cached_blobs = 0;
    trace_arena_reset(&reader->scratch);
    HAL_TRY(trace_input_head(&reader->input, entry->offset, entry->offset + entry->bytes, &head,
                             &reader->scratch, &meta));
    if (head.kind != TRACE_FRAME_BLOBS || trace_frame_bytes(&head) != entry->bytes ||
        head.raw_bytes != bytes)
        return hal_fail(HAL_CORRUPT, "damaged: other contents at byte %" PRIu64, entry->offset);
    reader->blobs_raw.count = 0;
    if (!trace_bytes_reserve(&reader->blobs_raw, (size_t)bytes))
        return no_memory();
    HAL_TRY(trace_input_own_data(&reader->input, entry->offset, &head, reader->blobs_raw.data));
    reader->blobs_raw.count = (size_t)bytes;
    reader->cached_blobs = frame + 1;
    return HAL_OK;
}

static enum hal_status copy_content(struct trace_reader *reader, size_t frame, size_t index,
                                    void *out, size_t bytes)
{
    HAL_TRY(load_blobs(reader, frame));
    const Haltrace__Blobs *blobs = reader->directory.blobs[frame].blobs;
    size_t at = 0;
    for (size_t i = 0; i < index; i++)
        at += (size_t)blobs->size[i];
    if (bytes)
        memcpy(out, reader->blobs_raw.data + at, bytes);
    uint8_t sha256[32];
    HAL_TRY(trace_sha256(out, bytes, sha256));
    if (memcmp(sha256, blobs->sha256.data + 32 * index, 32) != 0)
        return hal_fail(HAL_CORRUPT,
                        "damaged: wrong SHA-256 of content %" PRIu64 " in the frame at "
                        "byte %" PRIu64,
                        blobs->first + index, reader->directory.blobs[frame].offset);
    return HAL_OK;
}

enum hal_status trace_reader_content(struct trace_reader *reader, uint64_t content, void *out,
                                     size_t bytes)
{
    size_t frame, index;
    HAL_TRY(find_content(reader, content, &frame, &index));
    const uint64_t size = reader->directory.blobs[frame].blobs->size[index];
    if (size != bytes)
        return hal_fail(HAL_INVALID, "content %" PRIu64 " has %" PRIu64 " bytes, not %zu", content,
                        size, bytes);
    return with_path(reader, copy_content(reader, frame, index, out, bytes));
}
