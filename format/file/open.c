/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a trace: reads everything that a reader needs at the start. */
#include "format/columns/columns.h"
#include "format/file/orphan.h"
#include "format/file/reader.h"
#include "format/limits.h"
#include "hal/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to read a trace");
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

/* The fields unknown to this version; drops those for which there is no memory. */
static struct trace_unknown keep_unknown(struct trace_reader *reader,
                                         const ProtobufCMessage *message)
{
    struct trace_unknown unknown = {0};
    const unsigned count = message->n_unknown_fields;
    ProtobufCMessageUnknownField *fields =
        count ? trace_arena_array(&reader->kept, count, sizeof *fields) : NULL;
    for (unsigned i = 0; fields && i < count; i++) {
        const ProtobufCMessageUnknownField *field = &message->unknown_fields[i];
        uint8_t *data = trace_arena_alloc(&reader->kept, field->len + 1);
        if (!data)
            break;
        if (field->len)
            memcpy(data, field->data, field->len);
        fields[i] = *field;
        fields[i].data = data;
        unknown.count = i + 1;
    }
    unknown.fields = TRACE_AS(trace_unknown_field, fields);
    return unknown;
}

static void take_device(struct trace_reader *reader, const Haltrace__Device *message,
                        struct trace_device *device)
{
    *device = (struct trace_device){
        .uri = "", .driver = "", .name = "", .architecture = "", .features = ""};
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
    device->max_constant_bytes = message->max_constant_bytes;
    device->worker_count = message->worker_count;
    device->architecture = keep_text(reader, &message->architecture);
    device->features = keep_text(reader, &message->features);
    for (size_t i = 0; i < message->n_format && i < TRACE_MAX_FORMATS; i++)
        device->formats[device->format_count++] = message->format[i];
}

static enum hal_status take_captures(struct trace_reader *reader, const Haltrace__Header *message)
{
    if (message->n_capture > TRACE_MAX_CAPTURES)
        return hal_fail(HAL_CORRUPT, "a trace merged from %s, the limit is %u",
                        hal_count(message->n_capture, "capture", "captures").text,
                        TRACE_MAX_CAPTURES);
    struct trace_capture *captures =
        trace_arena_array(&reader->kept, message->n_capture, sizeof *captures);
    if (!captures)
        return no_memory();
    for (size_t i = 0; i < message->n_capture; i++) {
        const Haltrace__Capture *capture = message->capture[i];
        captures[i] = (struct trace_capture){.program = keep_text(reader, &capture->program),
                                             .host = keep_text(reader, &capture->host),
                                             .process_id = capture->process_id,
                                             .queue_base = capture->queue_base,
                                             .thread_base = capture->thread_base,
                                             .object_base = capture->object_base,
                                             .submission_base = capture->submission_base,
                                             .group_base = capture->group_base};
        take_device(reader, capture->device, &captures[i].device);
    }
    reader->header.captures = captures;
    reader->header.capture_count = message->n_capture;
    return HAL_OK;
}

static enum hal_status take_header(struct trace_reader *reader, const Haltrace__Header *message)
{
    struct trace_header *header = &reader->header;
    if (message->version_major != TRACE_VERSION_MAJOR)
        return hal_fail(HAL_VERSION, "format version %u.%u; this program reads version %u",
                        message->version_major, message->version_minor, TRACE_VERSION_MAJOR);
    if (message->contents != HALTRACE__HEADER__CONTENTS__CONTENTS_IN_FILE)
        return hal_fail(HAL_VERSION, "contents are stored in way %d: written by a newer version",
                        (int)message->contents);
    const char **arguments =
        trace_arena_array(&reader->kept, message->n_argument, sizeof *arguments);
    if (!arguments)
        return no_memory();
    for (size_t i = 0; i < message->n_argument; i++)
        arguments[i] = keep_text(reader, &message->argument[i]);
    const char **edits = trace_arena_array(&reader->kept, message->n_edit, sizeof *edits);
    if (!edits)
        return no_memory();
    for (size_t i = 0; i < message->n_edit; i++)
        edits[i] = keep_text(reader, &message->edit[i]);
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
        .sidecar = keep_text(reader, &message->sidecar),
        .edits = edits,
        .edit_count = message->n_edit,
        .view_only = keep_text(reader, &message->view_only),
        .base = keep_text(reader, &message->base_trace),
        .unknown = keep_unknown(reader, &message->base),
        .stacks = keep_text(reader, &message->stacks),
        .contents = keep_text(reader, &message->contents_policy),
        .outputs = keep_text(reader, &message->outputs_policy),
        .files = keep_text(reader, &message->files_policy),
        .window = keep_text(reader, &message->window),
        .budget_bytes = message->budget_bytes,
        .last_ns = message->last_ns,
    };
    take_device(reader, message->device, &header->device);
    return take_captures(reader, message);
}

/* Threads whose last command buffer is incomplete, according to the end. */
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
        .recovered = message->recovered,
        .clock = keep_text(reader, &message->clock),
        .clock_error_ns = message->clock_error_ns,
        .over_budget_bytes = message->over_budget_bytes,
        .unsupported_calls = message->unsupported_calls,
        .unknown = keep_unknown(reader, &message->base),
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

bool trace_reader_resolve(void *user, enum trace_reference reference, uint64_t *number)
{
    const struct trace_reader *reader = user;
    bool exists = true;
    switch (reference) {
    case TRACE_REFERENCE_NONE:
    case TRACE_REFERENCE_OBJECT:
    case TRACE_REFERENCE_SUBMISSION:
    case TRACE_REFERENCE_MAPPING:
    case TRACE_REFERENCE_QUEUE:
    case TRACE_REFERENCE_GROUP:
    case TRACE_REFERENCE_TIME:
    case TRACE_REFERENCE_DURATION: break;
    case TRACE_REFERENCE_STRING:
        exists = trace_tables_string(&reader->tables, *number) != NULL;
        break;
    case TRACE_REFERENCE_STACK:
        exists = trace_tables_stack(&reader->tables, *number) != NULL;
        break;
    case TRACE_REFERENCE_CONTENT: return *number <= reader->directory.content_count;
    }
    if (!exists && trace_reader_is_cut(reader)) {
        if (!reader->keeps_cut)
            *number = 0;
        return true;
    }
    return exists;
}

static enum hal_status take_tables(struct trace_reader *reader, const ProtobufCMessage *message)
{
    size_t count;
    reader->events.count = 0;
    HAL_TRY(trace_columns_decode(&trace_table_family, message, &reader->scratch,
                                 &(struct trace_resolver){resolve_any, NULL}, &reader->events,
                                 &count));
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
        if (name && !trace_reader_resolve(reader, TRACE_REFERENCE_STRING, &name))
            return hal_fail(HAL_CORRUPT, "string number %" PRIu64 " of a thread does not exist",
                            name);
    }
    for (size_t i = 0; i < reader->tables.module_count; i++) {
        uint64_t path = reader->tables.module_list[i]->path;
        if (path && !trace_reader_resolve(reader, TRACE_REFERENCE_STRING, &path))
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
        field->number == TRACE_FIELD_HEADER   ? &haltrace__header__descriptor
        : field->number == TRACE_FIELD_TABLES ? &haltrace__tables__descriptor
                                              : &haltrace__end__descriptor;
    ProtobufCMessage *message;
    trace_arena_reset(&reader->scratch);
    HAL_TRY(
        trace_message_unpack(descriptor, field->data, field->bytes, &reader->scratch, &message));
    *found |= 1u << (field->number - TRACE_FIELD_HEADER);
    const void *any = message;
    if (field->number == TRACE_FIELD_HEADER)
        return take_header(reader, any);
    return field->number == TRACE_FIELD_TABLES ? take_tables(reader, message)
                                               : take_end(reader, any);
}

/* Reads a frame of the header, of tables or of the end, which must have a field of that number. */
static enum hal_status load_frame(struct trace_reader *reader, const struct trace_data_frame *frame,
                                  uint32_t number)
{
    struct trace_bytes *raw = &reader->data_cache.slots[0].raw; /* not in use yet */
    HAL_TRY(trace_input_data_frame(&reader->input, frame->note, frame->note_bytes, raw));
    size_t at = 0;
    unsigned found = 0;
    struct trace_field field;
    enum hal_status status;
    while ((status = trace_field_next(raw, &at, &field)) == HAL_OK) {
        if (field.number == number)
            HAL_TRY(take_field(reader, &field, &found));
        else if (field.number != TRACE_FIELD_PACKET)
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
    if (!HAL_GROW(reader->chunks, &reader->chunk_capacity, reader->chunk_count + 1))
        return no_memory();
    reader->chunks[reader->chunk_count++] =
        (struct trace_chunk_entry){.thread = thread, .event_count = events};
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
            struct trace_chunk_entry *chunk = &reader->chunks[chunk_of_piece[piece++]];
            reader->places[chunk->first_place + chunk->place_count++] =
                (struct trace_place){(uint32_t)f, (uint32_t)p};
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

/* Some note lists submissions, and all notes that count some list them. */
static bool tell_submissions(const struct trace_directory *directory)
{
    bool some = false;
    for (size_t i = 0; i < directory->data_count; i++) {
        const Haltrace__Note *note = directory->data[i].note;
        if (note->counts && note->counts->submissions && !note->last_submission)
            return false;
        some |= note->last_submission > 0;
    }
    return some;
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
    reader->tells_submissions = tell_submissions(directory);
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
        for (size_t k = 0; k < blobs->n_size; k++) {
            const bool elsewhere = trace_blob_is_elsewhere(blobs, k);
            counts->content_bytes += blobs->size[k];
            counts->referred_contents += elsewhere;
            counts->referred_bytes += elsewhere ? blobs->size[k] : 0;
        }
    }
    return HAL_OK;
}

static enum hal_status load_frames(struct trace_reader *reader)
{
    for (size_t i = 0; i < reader->directory.data_count; i++) {
        const struct trace_data_frame *frame = &reader->directory.data[i];
        switch ((int)frame->note->kind) {
        case HALTRACE__NOTE__KIND__HEADER:
            HAL_TRY(load_frame(reader, frame, TRACE_FIELD_HEADER));
            break;
        case HALTRACE__NOTE__KIND__TABLES:
            HAL_TRY(load_frame(reader, frame, TRACE_FIELD_TABLES));
            break;
        case HALTRACE__NOTE__KIND__END: HAL_TRY(load_frame(reader, frame, TRACE_FIELD_END)); break;
        case HALTRACE__NOTE__KIND__EVENTS: break;
        default:
            return hal_fail(HAL_VERSION,
                            "the frame at byte %" PRIu64
                            " is of unknown kind %d: written by a newer version",
                            frame->note->offset, (int)frame->note->kind);
        }
    }
    return HAL_OK;
}

/* All files of a flight recorder share it; which one it describes changes over time. */
static enum trace_hold hold_of(const struct trace_orphan *orphan, const struct trace_header *header)
{
    if (orphan->process_id != header->process_id)
        return TRACE_HOLD_UNSEEN;
    return trace_orphan_locked(orphan) ? TRACE_HELD : TRACE_LEFT;
}

/* A reader who learns that a file was cut off also needs to know the remedy, or that the capture is
 * still running. A sidecar that exists and cannot be read here, for example in a sandbox, counts as
 * its own; whether its capture is running is then unknown. */
static void tell_of_sidecar(struct trace_reader *reader)
{
    char *text = reader->directory.truncated;
    const size_t bytes = sizeof reader->directory.truncated, used = strlen(text);
    const struct trace_header *header = &reader->header;
    struct trace_orphan orphan;
    if (!used || !header->sidecar[0])
        return;
    const enum hal_status status = trace_orphan_peek(header->sidecar, &orphan);
    const bool ours =
        status == HAL_OK && trace_orphan_belongs(&orphan, header->process_id, header->start_ns);
    if (status == HAL_OK)
        reader->hold = hold_of(&orphan, header); /* what ends now counts as held */
    if (ours && trace_orphan_in_use(&orphan))
        snprintf(text, bytes, "still being recorded by process %" PRIu64, header->process_id);
    else
        reader->recoverable = ours || (status != HAL_OK && access(header->sidecar, R_OK) == 0);
    if (reader->recoverable)
        snprintf(text + used, bytes - used, "; 'hal-trace recover' has the rest%s",
                 ours ? "" : ", unless it is still being recorded");
    trace_orphan_close(&orphan);
}

/* What a walk did not get to can only have been the index. */
static void tell_of_index(struct trace_reader *reader)
{
    struct trace_directory *directory = &reader->directory;
    if (directory->truncated[0] && !directory->has_index)
        snprintf(directory->truncated, sizeof directory->truncated,
                 "cut off at byte %" PRIu64 ": the index is missing, nothing else", directory->end);
}

enum trace_hold trace_reader_hold_now(const struct trace_reader *reader)
{
    const struct trace_header *header = &reader->header;
    struct trace_orphan orphan;
    if (!header->sidecar[0] || trace_orphan_peek(header->sidecar, &orphan) != HAL_OK)
        return TRACE_HOLD_UNSEEN;
    const enum trace_hold hold = hold_of(&orphan, header);
    trace_orphan_close(&orphan);
    return hold;
}

enum hal_status trace_reader_load(struct trace_reader *reader)
{
    HAL_TRY(trace_directory_load(&reader->directory, &reader->input));
    HAL_TRY(index_chunks(reader));
    HAL_TRY(load_frames(reader));
    HAL_TRY(check_tables(reader));
    if (!reader->has_health && !trace_reader_is_cut(reader))
        return hal_fail(HAL_CORRUPT, "damaged: there is an index, but no end");
    if (trace_reader_is_cut(reader))
        tell_of_sidecar(reader);
    else
        tell_of_index(reader);
    return count_all(reader);
}
