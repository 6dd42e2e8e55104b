/* SPDX-License-Identifier: Apache-2.0 */
/* The writer: records of many threads become chunks, chunks become frames. A stream per thread
 * collects events and segments separately until there are enough for a chunk. A seal with
 * incomplete segments may close a chunk; the remaining segments go into continuations, and the next
 * chunk begins after them. */
#include "format/columns/tables.h"
#include "format/container/activity.h"
#include "format/container/index.h"
#include "format/container/notes.h"
#include "format/file/about.h"
#include "format/file/contents.h"
#include "format/limits.h"
#include "format/perfetto/packets.h"
#include "format/trace.h"
#include "hal/base/message.h"
#include "hal/base/text.h"

#include <inttypes.h>

enum {
    CHUNK_BYTES = 256 << 10, /* of records; small enough to stay in the processor's cache */
    FRAME_BYTES = 768 << 10,
    TABLE_BYTES = 256 << 10,
};

/* What is still expected of the seal that came last. */
struct seal_state {
    uint64_t segments_left, bytes_left;
    uint32_t dispatches_left;
    uint64_t command_buffer;
};

struct stream {
    uint32_t thread;
    struct trace_bytes events, segments;
    size_t event_count, segment_count;
    struct seal_state seal;
    bool is_continuing; /* the seal's chunk is in the frame already */
};

struct piece {
    uint32_t thread, events, segments;
};

struct trace_writer {
    struct trace_output output;
    struct trace_directory directory;
    struct trace_contents contents;
    struct trace_tables tables;
    struct trace_packets packets;
    struct trace_arena scratch;
    struct stream **streams; /* by thread */
    size_t stream_capacity;
    struct trace_bytes table_records;
    size_t table_count;
    struct trace_bytes frame; /* of events, being filled */
    Haltrace__Note *note;     /* about that frame */
    struct trace_activity activity;
    struct piece *pieces;
    size_t piece_count, piece_capacity;
    bool named_at_end;
};

/* ---- Frames ------------------------------------------------------------------------------- */

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to write a trace");
}

static enum hal_status new_note(struct trace_writer *writer, Haltrace__Note__Kind kind,
                                Haltrace__Note **out_note)
{
    *out_note = trace_directory_new_note(&writer->directory);
    if (!*out_note)
        return no_memory();
    (*out_note)->kind = kind;
    return HAL_OK;
}

static enum hal_status write_frame(struct trace_writer *writer, const struct trace_bytes *raw,
                                   Haltrace__Note *note)
{
    uint64_t note_bytes;
    HAL_TRY(trace_output_data_frame(&writer->output, raw->data, raw->count, note, &note_bytes));
    return trace_directory_add_data(&writer->directory, note, note_bytes);
}

/* A frame that holds one field. */
static enum hal_status write_single(struct trace_writer *writer, Haltrace__Note__Kind kind,
                                    uint32_t field, const ProtobufCMessage *message)
{
    Haltrace__Note *note;
    struct trace_bytes raw = {0};
    HAL_TRY(new_note(writer, kind, &note));
    enum hal_status status = trace_field_append(&raw, field, message);
    if (status == HAL_OK)
        status = write_frame(writer, &raw, note);
    free(raw.data);
    return status;
}

static enum hal_status write_tables(struct trace_writer *writer)
{
    if (!writer->table_count)
        return HAL_OK;
    Haltrace__Tables tables = HALTRACE__TABLES__INIT;
    trace_arena_reset(&writer->scratch);
    HAL_TRY(trace_columns_encode(&trace_table_family, writer->table_records.data,
                                 writer->table_count, &writer->scratch, &tables));
    writer->table_count = writer->table_records.count = 0;
    return write_single(writer, HALTRACE__NOTE__KIND__TABLES, TRACE_FIELD_TABLES, &tables.base);
}

static enum hal_status store_pieces(struct trace_writer *writer)
{
    Haltrace__Note *note = writer->note;
    const size_t count = writer->piece_count;
    uint32_t *values = trace_arena_array(&writer->directory.arena, 3 * count, sizeof *values);
    if (!values)
        return no_memory();
    note->n_piece_thread = note->n_piece_events = note->n_piece_segments = count;
    note->piece_thread = values;
    note->piece_events = values + count;
    note->piece_segments = values + 2 * count;
    for (size_t i = 0; i < count; i++) {
        note->piece_thread[i] = writer->pieces[i].thread;
        note->piece_events[i] = writer->pieces[i].events;
        note->piece_segments[i] = writer->pieces[i].segments;
    }
    writer->piece_count = 0;
    return HAL_OK;
}

/* Writes the frame of events, and first everything that its events refer to. */
static enum hal_status finish_frame(struct trace_writer *writer)
{
    HAL_TRY(trace_contents_flush(&writer->contents, &writer->directory, &writer->output));
    HAL_TRY(write_tables(writer));
    if (!writer->frame.count)
        return HAL_OK;
    HAL_TRY(store_pieces(writer));
    if (!trace_activity_store(&writer->activity, writer->note, &writer->directory.arena))
        return no_memory();
    HAL_TRY(write_frame(writer, &writer->frame, writer->note));
    writer->frame.count = 0;
    writer->note = NULL;
    return HAL_OK;
}

/* ---- Chunks ------------------------------------------------------------------------------- */

static enum hal_status describe_events(struct trace_writer *writer, const struct stream *stream)
{
    const uint8_t *at = stream->events.data;
    for (size_t i = 0; i < stream->event_count; i++) {
        const struct trace_event *event = (const void *)at;
        trace_note_event(writer->note, event);
        if (!trace_activity_event(&writer->activity, event))
            return no_memory();
        HAL_TRY(trace_packets_event(&writer->packets, stream->thread, event, &writer->frame));
        at += event->bytes;
    }
    return HAL_OK;
}

static enum hal_status append_chunk(struct trace_writer *writer, struct stream *stream)
{
    Haltrace__Segments segments = HALTRACE__SEGMENTS__INIT;
    Haltrace__Chunk chunk = HALTRACE__CHUNK__INIT;
    trace_arena_reset(&writer->scratch);
    if (stream->segment_count) {
        HAL_TRY(trace_columns_encode(&trace_segment_family, stream->segments.data,
                                     stream->segment_count, &writer->scratch, &segments));
        chunk.segments = &segments;
    }
    if (stream->is_continuing) {
        segments.thread = stream->thread;
        return trace_field_append(&writer->frame, TRACE_FIELD_SEGMENTS, &segments.base);
    }
    chunk.thread = stream->thread;
    HAL_TRY(trace_columns_encode(&trace_event_family, stream->events.data, stream->event_count,
                                 &writer->scratch, &chunk));
    return trace_field_append(&writer->frame, TRACE_FIELD_CHUNK, &chunk.base);
}

/* Moves what the stream has collected into the frame. */
static enum hal_status emit(struct trace_writer *writer, struct stream *stream)
{
    if (!stream->event_count && !stream->segment_count)
        return HAL_OK;
    if (!writer->note)
        HAL_TRY(new_note(writer, HALTRACE__NOTE__KIND__EVENTS, &writer->note));
    if (!HAL_GROW(writer->pieces, &writer->piece_capacity, writer->piece_count + 1))
        return no_memory();
    HAL_TRY(describe_events(writer, stream));
    trace_note_segments(writer->note, stream->segments.data, stream->segment_count);
    HAL_TRY(append_chunk(writer, stream));
    writer->pieces[writer->piece_count++] = (struct piece){
        stream->thread, (uint32_t)stream->event_count, (uint32_t)stream->segment_count};
    stream->is_continuing = stream->seal.segments_left > 0;
    stream->events.count = stream->segments.count = 0;
    stream->event_count = stream->segment_count = 0;
    return writer->frame.count < FRAME_BYTES ? HAL_OK : finish_frame(writer);
}

/* ---- Records ------------------------------------------------------------------------------ */

/* Checks one record and what may follow what. */
static enum hal_status check_record(const struct trace_writer *writer, struct seal_state *seal,
                                    const void *record, size_t bytes_left)
{
    const struct trace_segment *head = record;
    if (seal->segments_left) {
        HAL_TRY(trace_record_check(&trace_segment_family, record, bytes_left));
        seal->segments_left--;
        seal->dispatches_left -= trace_is_dispatch(head->kind);
        seal->bytes_left -= head->bytes;
        if (!seal->segments_left && (seal->bytes_left || seal->dispatches_left))
            return hal_fail(HAL_CORRUPT, "a seal's count differs from the segments that follow");
        return HAL_OK;
    }
    if (bytes_left >= sizeof *head && trace_is_table(record)) {
        bool is_new;
        HAL_TRY(trace_record_check(&trace_table_family, record, bytes_left));
        return trace_tables_check(&writer->tables, record, &is_new);
    }
    HAL_TRY(trace_record_check(&trace_event_family, record, bytes_left));
    if (head->kind == TRACE_COMMAND_BUFFER_SEAL) {
        const struct trace_command_buffer_seal *event = record;
        if (event->segment_count > TRACE_MAX_SEGMENTS)
            return hal_fail(HAL_CORRUPT, "a seal of %s, the limit is %u",
                            hal_count(event->segment_count, "segment", "segments").text,
                            TRACE_MAX_SEGMENTS);
        if (!event->segment_count && (event->segment_bytes || event->dispatch_count))
            return hal_fail(HAL_CORRUPT, "a seal's count differs from the segments that follow");
        *seal = (struct seal_state){event->segment_count, event->segment_bytes,
                                    event->dispatch_count, event->command_buffer};
    }
    return HAL_OK;
}

static bool append(struct trace_bytes *bytes, const void *record, size_t count)
{
    if (!trace_bytes_reserve(bytes, count))
        return false;
    memcpy(bytes->data + bytes->count, record, count);
    bytes->count += count;
    return true;
}

static enum hal_status take_table(struct trace_writer *writer, const struct trace_event *record)
{
    bool is_new;
    HAL_TRY(trace_tables_check(&writer->tables, record, &is_new));
    if (!is_new)
        return HAL_OK;
    HAL_TRY(trace_tables_add(&writer->tables, record));
    if (!append(&writer->table_records, record, record->bytes))
        return no_memory();
    writer->table_count++;
    return writer->table_records.count < TABLE_BYTES ? HAL_OK : write_tables(writer);
}

static enum hal_status take_segment(struct trace_writer *writer, struct stream *stream,
                                    const struct trace_segment *segment)
{
    if (!append(&stream->segments, segment, segment->bytes))
        return no_memory();
    trace_recorded_segment(&writer->packets.timeline.recorded, stream->seal.command_buffer,
                           segment);
    stream->segment_count++;
    stream->seal.segments_left--;
    const bool ends = stream->is_continuing && !stream->seal.segments_left;
    if (!ends && stream->segments.count + stream->events.count < CHUNK_BYTES)
        return HAL_OK;
    return emit(writer, stream);
}

static enum hal_status take_event(struct trace_writer *writer, struct stream *stream,
                                  const struct trace_event *event)
{
    if (stream->segments.count + stream->events.count >= CHUNK_BYTES)
        HAL_TRY(emit(writer, stream));
    if (!append(&stream->events, event, event->bytes))
        return no_memory();
    stream->event_count++;
    trace_recorded_event(&writer->packets.timeline.recorded, event);
    const struct trace_command_buffer_seal *seal = (const void *)event;
    if (event->kind != TRACE_COMMAND_BUFFER_SEAL)
        return HAL_OK;
    stream->seal.segments_left = seal->segment_count;
    stream->seal.command_buffer = seal->command_buffer;
    return HAL_OK;
}

static enum hal_status take_records(struct trace_writer *writer, struct stream *stream,
                                    const uint8_t *records, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const void *record = records + at;
        at += TRACE_AS(trace_segment, record)->bytes;
        if (stream->seal.segments_left)
            HAL_TRY(take_segment(writer, stream, record));
        else if (trace_is_table(record))
            HAL_TRY(take_table(writer, record));
        else
            HAL_TRY(take_event(writer, stream, record));
    }
    return HAL_OK;
}

static enum hal_status find_stream(struct trace_writer *writer, uint32_t thread,
                                   struct stream **out_stream)
{
    if (thread > TRACE_MAX_THREADS)
        return hal_fail(HAL_CORRUPT, "thread number %u, the limit is %u", thread,
                        TRACE_MAX_THREADS);
    const size_t old = writer->stream_capacity;
    if (!HAL_GROW(writer->streams, &writer->stream_capacity, (size_t)thread + 1))
        return no_memory();
    for (size_t i = old; i < writer->stream_capacity; i++)
        writer->streams[i] = NULL;
    if (!writer->streams[thread]) {
        writer->streams[thread] = hal_alloc(1, sizeof **writer->streams);
        if (!writer->streams[thread])
            return no_memory();
        writer->streams[thread]->thread = thread;
    }
    *out_stream = writer->streams[thread];
    return HAL_OK;
}

enum hal_status trace_writer_records(struct trace_writer *writer, uint32_t thread,
                                     const void *records, size_t bytes)
{
    struct stream *stream = NULL;
    if (writer->output.status != HAL_OK)
        return hal_fail(writer->output.status, "%s", writer->output.message);
    HAL_TRY(find_stream(writer, thread, &stream));
    struct seal_state seal = stream->seal;
    for (size_t at = 0; at < bytes;) {
        const struct trace_segment *head = (const void *)((const uint8_t *)records + at);
        const enum hal_status status = check_record(writer, &seal, head, bytes - at);
        if (status != HAL_OK) /* said only here: it is asked of each record */
            return hal_add_context(status, "record at byte %zu of thread %u", at, thread);
        at += head->bytes;
    }
    const enum hal_status status = take_records(writer, stream, records, bytes);
    stream->seal = seal;
    return trace_output_latch(&writer->output, status);
}

enum hal_status trace_writer_content(struct trace_writer *writer, const void *data, size_t bytes,
                                     uint64_t *out_content)
{
    if (writer->output.status != HAL_OK)
        return hal_fail(writer->output.status, "%s", writer->output.message);
    return trace_contents_add(&writer->contents, &writer->directory, &writer->output, data, bytes,
                              out_content);
}

bool trace_writer_announce(struct trace_writer *writer, const void *data, size_t bytes)
{
    return writer->output.status != HAL_OK ||
           trace_digester_announce(&writer->contents.digester, &writer->contents.identity, data,
                                   bytes);
}

void trace_writer_low_latency(struct trace_writer *writer, bool low_latency)
{
    writer->output.low_latency = low_latency;
}

enum hal_status trace_writer_refer(struct trace_writer *writer,
                                   const uint8_t sha256[TRACE_DIGEST_BYTES], uint64_t bytes,
                                   uint64_t *out_content)
{
    if (writer->output.status != HAL_OK)
        return hal_fail(writer->output.status, "%s", writer->output.message);
    return trace_contents_refer(&writer->contents, &writer->directory, &writer->output, sha256,
                                bytes, out_content);
}

/* ---- Beginning and end -------------------------------------------------------------------- */

static enum hal_status write_header(struct trace_writer *writer, const struct trace_header *header)
{
    struct trace_header known = *header;
    known.program = header->program ? header->program : "";
    Haltrace__Note *note;
    Haltrace__Header message;
    HAL_TRY(new_note(writer, HALTRACE__NOTE__KIND__HEADER, &note));
    HAL_TRY(trace_about_header(header, &writer->scratch, &message));
    HAL_TRY(trace_packets_begin(&writer->packets, &known, &writer->frame));
    HAL_TRY(trace_field_append(&writer->frame, TRACE_FIELD_HEADER, &message.base));
    HAL_TRY(write_frame(writer, &writer->frame, note));
    writer->frame.count = 0;
    return trace_output_flush(&writer->output);
}

static enum hal_status destroy(struct trace_writer *writer)
{
    const enum hal_status status = trace_output_close(&writer->output);
    for (size_t i = 0; i < writer->stream_capacity; i++) {
        if (writer->streams[i]) {
            free(writer->streams[i]->events.data);
            free(writer->streams[i]->segments.data);
            free(writer->streams[i]);
        }
    }
    free(writer->streams);
    free(writer->pieces);
    trace_activity_finish(&writer->activity);
    free(writer->frame.data);
    free(writer->table_records.data);
    trace_contents_finish(&writer->contents);
    trace_packets_finish(&writer->packets);
    trace_tables_finish(&writer->tables);
    trace_directory_finish(&writer->directory);
    trace_arena_finish(&writer->scratch);
    free(writer);
    return status;
}

enum hal_status trace_writer_open(const struct trace_writer_options *options,
                                  const struct trace_header *header,
                                  struct trace_writer **out_writer)
{
    *out_writer = NULL;
    struct trace_writer *writer = hal_alloc(1, sizeof *writer);
    if (!writer)
        return no_memory();
    writer->named_at_end = options->named_at_end;
    trace_directory_init(&writer->directory);
    trace_tables_init(&writer->tables);
    trace_arena_init(&writer->scratch, SIZE_MAX);
    trace_packets_init(&writer->packets, header, &writer->tables);
    enum hal_status status = trace_contents_init(&writer->contents, options->without_sha256);
    if (status == HAL_OK && options->base)
        status = hal_add_context(trace_base_open(options->base, &writer->contents.base),
                                 "the trace to refer to");
    if (status == HAL_OK)
        status = (options->named_at_end || options->provisional ? trace_output_open_nameless
                                                                : trace_output_open)(
            &writer->output, options->path, options->force, options->compression_level);
    if (status == HAL_OK)
        status = trace_output_latch(&writer->output, write_header(writer, header));
    if (status == HAL_OK && !options->provisional && !options->named_at_end)
        status = trace_writer_publish(writer);
    if (status != HAL_OK) {
        /* Closing must not replace the message. */
        const struct hal_kept_message kept = hal_keep_message();
        (void)destroy(writer);
        return hal_restore_message(&kept, status);
    }
    *out_writer = writer;
    return HAL_OK;
}

enum hal_status trace_writer_publish(struct trace_writer *writer)
{
    return trace_destination_publish(&writer->output.to);
}

enum hal_status trace_writer_publish_as(struct trace_writer *writer, const char *path)
{
    char *copy = hal_copy_string(path);
    if (!copy)
        return no_memory();
    free(writer->output.to.path);
    writer->output.to.path = copy;
    writer->output.to.force = true;
    return trace_writer_publish(writer);
}

enum hal_status trace_writer_flush(struct trace_writer *writer)
{
    trace_digester_forget(writer->contents.digester);
    for (size_t i = 0; i < writer->stream_capacity; i++) {
        if (writer->streams[i])
            HAL_TRY(trace_output_latch(&writer->output, emit(writer, writer->streams[i])));
    }
    HAL_TRY(trace_output_latch(&writer->output, finish_frame(writer)));
    return trace_output_flush(&writer->output);
}

uint64_t trace_writer_bytes(const struct trace_writer *writer)
{
    return writer->output.offset;
}

static enum hal_status write_end(struct trace_writer *writer, const struct trace_health *health)
{
    Haltrace__End end;
    trace_about_end(health, &end);
    trace_arena_reset(&writer->scratch);
    end.unfinished_thread =
        trace_arena_array(&writer->scratch, writer->stream_capacity, sizeof *end.unfinished_thread);
    if (!end.unfinished_thread)
        return no_memory();
    for (size_t i = 0; i < writer->stream_capacity; i++) {
        if (writer->streams[i] && writer->streams[i]->seal.segments_left)
            end.unfinished_thread[end.n_unfinished_thread++] = (uint32_t)i;
    }
    return write_single(writer, HALTRACE__NOTE__KIND__END, TRACE_FIELD_END, &end.base);
}

enum hal_status trace_writer_close(struct trace_writer *writer, const struct trace_health *health)
{
    if (!writer)
        return HAL_OK;
    if (writer->output.status == HAL_OK && trace_writer_flush(writer) == HAL_OK &&
        trace_output_latch(&writer->output, write_end(writer, health)) == HAL_OK)
        trace_output_latch(&writer->output,
                           trace_directory_write(&writer->directory, &writer->output));
    if (writer->named_at_end && writer->output.status == HAL_OK &&
        trace_output_flush(&writer->output) == HAL_OK)
        trace_output_latch(&writer->output, trace_writer_publish(writer));
    return destroy(writer);
}

void trace_writer_discard(struct trace_writer *writer)
{
    if (writer)
        (void)destroy(writer);
}
