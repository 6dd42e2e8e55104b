/* SPDX-License-Identifier: Apache-2.0 */
/* A recovery writes a new trace: first everything in the file at the last moment that the sidecar
 * describes, then the records and contents still in the rings and the staging memory. */
#include "format/file/recover.h"

#include "format/columns/columns.h"
#include "format/file/orphan.h"
#include "format/file/reader.h"
#include "format/limits.h"
#include "hal/base/mem.h"
#include "hal/base/message.h"
#include "hal/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

struct recovery {
    struct trace_orphan orphan;
    struct trace_reader *reader;
    struct trace_writer *writer;
    uint64_t *content_numbers; /* of the reader's contents, in the new file */
    uint8_t *bytes;            /* a content */
    size_t capacity;
    uint8_t *used_strings, *used_stacks; /* a bit for each number */
    uint64_t events, last_ticket, ticket_count, thread_ticket;
    struct trace_recovered result;
};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to recover a trace");
}

/* ---- Numbers ---- */

static bool has_bit(const uint8_t *bits, uint64_t number)
{
    return bits[number / 8] >> (number % 8) & 1;
}

/* A number that none can have names nothing, as in a file that was cut off. */
static void take_number(struct recovery *recovery, enum trace_reference kind, unsigned width,
                        void *member)
{
    static const uint64_t none;
    const uint64_t number = trace_load(member, width);
    uint8_t *used = recovery->used_stacks;
    uint64_t most = TRACE_MAX_STACKS;
    if (kind == TRACE_REFERENCE_STRING) {
        used = recovery->used_strings;
        most = TRACE_MAX_STRINGS;
    }
    if (number <= most) {
        used[number / 8] |= (uint8_t)(1u << (number % 8));
        return;
    }
    memcpy(member, &none, width);
    recovery->result.damaged_records++;
}

static void take_columns(struct recovery *recovery, const struct trace_column *columns,
                         uint32_t count, uint8_t *base)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_column *column = &columns[i];
        if (column->reference == TRACE_REFERENCE_STRING ||
            column->reference == TRACE_REFERENCE_STACK)
            take_number(recovery, column->reference, column->width, base + column->member_at);
    }
}

/* The strings and stacks that a valid record names. */
static void take_references(struct recovery *recovery, const struct trace_family *family,
                            void *record)
{
    const struct trace_layout *layout =
        trace_family_layout(family, TRACE_AS(trace_segment, record)->kind);
    take_columns(recovery, family->common, family->common_count, record);
    take_columns(recovery, layout->columns, layout->column_count, record);
    uint8_t *at = (uint8_t *)record + layout->record_bytes;
    for (uint32_t i = 0; i < layout->part_count; i++) {
        const struct trace_part *part = &layout->parts[i];
        const uint64_t count = trace_part_count(part, record);
        for (uint64_t k = 0; part->columns && k < count; k++)
            take_columns(recovery, part->columns, part->column_count, at + k * part->element_bytes);
        at += count * part->element_bytes;
    }
}

static void take_name(struct recovery *recovery, struct trace_event *record)
{
    void *data = record;
    uint32_t *name = record->kind == TRACE_THREAD   ? &((struct trace_thread *)data)->name
                     : record->kind == TRACE_MODULE ? &((struct trace_module *)data)->path
                                                    : NULL;
    if (name)
        take_number(recovery, TRACE_REFERENCE_STRING, sizeof *name, name);
}

/* Defines what the record defines. HAL_CORRUPT: it cannot be, or is defined otherwise. */
static enum hal_status take_table(struct recovery *recovery, struct trace_event *record)
{
    struct trace_tables *tables = &recovery->reader->tables;
    bool is_new;
    take_name(recovery, record);
    HAL_TRY(trace_tables_check(tables, record, &is_new));
    return is_new ? trace_tables_add(tables, record) : HAL_OK;
}

/* A number whose definition was not published yet means something unknown. */
static enum hal_status define_missing(struct recovery *recovery)
{
    static const char unknown[] = "(lost)";
    const struct trace_tables *tables = &recovery->reader->tables;
    uint64_t memory[8] = {0};
    struct trace_string *string = (void *)memory;
    struct trace_stack *stack = (void *)memory;
    for (uint32_t id = 1; id <= TRACE_MAX_STRINGS; id++) {
        if (!has_bit(recovery->used_strings, id) || trace_tables_string(tables, id))
            continue;
        const uint32_t bytes = (uint32_t)hal_align_up(sizeof *string + sizeof unknown - 1, 8);
        *string = (struct trace_string){
            .head = {.kind = TRACE_STRING, .bytes = bytes}, .id = id, .length = sizeof unknown - 1};
        memcpy(string->text, unknown, sizeof unknown - 1);
        HAL_TRY(trace_writer_records(recovery->writer, 1, string, bytes));
    }
    for (uint32_t id = 1; id <= TRACE_MAX_STACKS; id++) {
        if (!has_bit(recovery->used_stacks, id) || trace_tables_stack(tables, id))
            continue;
        *stack =
            (struct trace_stack){.head = {.kind = TRACE_STACK, .bytes = sizeof *stack}, .id = id};
        HAL_TRY(trace_writer_records(recovery->writer, 1, stack, sizeof *stack));
    }
    return HAL_OK;
}

/* ---- Records ---- */

typedef enum hal_status take_content(struct recovery *recovery, uint64_t bytes,
                                     uint64_t *in_out_content);

static enum hal_status take_contents(struct recovery *recovery, struct trace_event *event,
                                     take_content *take)
{
    uint64_t bytes, *content;
    for (uint32_t i = 0; (content = trace_record_content(event, i, &bytes)); i++) {
        if (*content)
            HAL_TRY(take(recovery, bytes, content));
    }
    return HAL_OK;
}

/* Tickets are given out one by one; the pieces of one content share theirs, one after another. */
static void note_ticket(struct recovery *recovery, uint64_t ticket)
{
    if (!ticket || ticket == recovery->thread_ticket)
        return;
    recovery->thread_ticket = ticket;
    recovery->ticket_count++;
    if (ticket > recovery->last_ticket)
        recovery->last_ticket = ticket;
}

/* Prepares one record for the writer, unless the record is left out. */
static enum hal_status take_record(struct recovery *recovery, void *record, size_t bytes_left,
                                   uint64_t *segments_left, take_content *take, bool *out_left_out)
{
    struct trace_event *event = record;
    *out_left_out = false;
    if (*segments_left) {
        HAL_TRY(trace_record_check(&trace_segment_family, record, bytes_left));
        take_references(recovery, &trace_segment_family, record);
        --*segments_left;
        return HAL_OK;
    }
    if (bytes_left >= sizeof *event && trace_is_table(event)) {
        HAL_TRY(trace_record_check(&trace_table_family, record, bytes_left));
        const enum hal_status status = take_table(recovery, event);
        *out_left_out = status == HAL_CORRUPT;
        recovery->result.damaged_records += *out_left_out;
        return *out_left_out ? HAL_OK : status;
    }
    HAL_TRY(trace_record_check(&trace_event_family, record, bytes_left));
    take_references(recovery, &trace_event_family, record);
    note_ticket(recovery, event->ticket);
    recovery->events++;
    if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
        *segments_left = ((struct trace_command_buffer_seal *)record)->segment_count;
    return take_contents(recovery, event, take);
}

static enum hal_status write_records(struct recovery *recovery, uint32_t thread,
                                     const uint8_t *records, size_t bytes)
{
    return bytes ? trace_writer_records(recovery->writer, thread, records, bytes) : HAL_OK;
}

static enum hal_status take_records(struct recovery *recovery, uint32_t thread, uint8_t *records,
                                    size_t bytes, uint64_t *segments_left, take_content *take)
{
    size_t written = 0;
    for (size_t at = 0; at < bytes;) {
        bool left_out;
        HAL_TRY(take_record(recovery, records + at, bytes - at, segments_left, take, &left_out));
        const size_t end = at + TRACE_AS(trace_segment, records + at)->bytes;
        if (left_out) {
            HAL_TRY(write_records(recovery, thread, records + written, at - written));
            written = end;
        }
        at = end;
    }
    return write_records(recovery, thread, records + written, bytes - written);
}

static enum hal_status make_room(struct recovery *recovery, uint64_t bytes)
{
    const bool grown = HAL_GROW(recovery->bytes, &recovery->capacity, (size_t)bytes + 1);
    return grown ? HAL_OK : no_memory();
}

/* ---- Out of the file ---- */

static enum hal_status copy_table(struct recovery *recovery, const struct trace_event *record)
{
    take_name(recovery, (void *)(uintptr_t)record);
    return trace_writer_records(recovery->writer, 1, record, record->bytes);
}

static enum hal_status copy_tables(struct recovery *recovery)
{
    const struct trace_tables *tables = &recovery->reader->tables;
    const struct trace_numbered *lists[] = {&tables->strings, &tables->stacks, &tables->threads};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (size_t id = 0; id < lists[i]->capacity; id++) {
            const struct trace_event *record = lists[i]->records[id];
            if (record)
                HAL_TRY(copy_table(recovery, record));
        }
    }
    for (size_t i = 0; i < tables->module_count; i++)
        HAL_TRY(copy_table(recovery, &tables->module_list[i]->head));
    return HAL_OK;
}

static enum hal_status copy_contents(struct recovery *recovery)
{
    const uint64_t count = recovery->reader->directory.content_count;
    recovery->content_numbers = hal_alloc(count + 1, sizeof *recovery->content_numbers);
    if (!recovery->content_numbers)
        return no_memory();
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t bytes;
        uint8_t digest[32];
        uint64_t *number = &recovery->content_numbers[i];
        if (!trace_reader_has_content(recovery->reader, i)) {
            HAL_TRY(trace_reader_content_info(recovery->reader, i, &bytes, digest));
            HAL_TRY(trace_writer_refer(recovery->writer, digest, bytes, number));
            continue;
        }
        HAL_TRY(trace_reader_content_size(recovery->reader, i, &bytes));
        HAL_TRY(make_room(recovery, bytes));
        HAL_TRY(trace_reader_content(recovery->reader, i, recovery->bytes, (size_t)bytes));
        HAL_TRY(trace_writer_content(recovery->writer, recovery->bytes, (size_t)bytes, number));
    }
    return HAL_OK;
}

/* The reader has checked that the number exists. */
static enum hal_status renumber(struct recovery *recovery, uint64_t bytes, uint64_t *in_out_content)
{
    (void)bytes;
    *in_out_content = recovery->content_numbers[*in_out_content];
    return HAL_OK;
}

static enum hal_status copy_file(struct recovery *recovery)
{
    HAL_TRY(copy_tables(recovery));
    HAL_TRY(copy_contents(recovery));
    for (size_t i = 0; i < trace_reader_chunk_count(recovery->reader); i++) {
        struct trace_chunk chunk;
        uint64_t segments_left = 0;
        HAL_TRY(trace_reader_chunk(recovery->reader, i, &chunk));
        recovery->thread_ticket = 0;
        const enum hal_status status =
            take_records(recovery, chunk.thread, (uint8_t *)(uintptr_t)chunk.events, chunk.bytes,
                         &segments_left, renumber);
        trace_chunk_free(&chunk);
        HAL_TRY(status);
    }
    return HAL_OK;
}

/* ---- Out of the sidecar ---- */

static enum hal_status take_staged(struct recovery *recovery, uint64_t bytes,
                                   uint64_t *in_out_content)
{
    if (bytes > TRACE_MAX_CONTENT_BYTES)
        return hal_fail(HAL_CORRUPT, "the sidecar has a content of %s",
                        hal_count(bytes, "byte", "bytes").text);
    HAL_TRY(make_room(recovery, bytes));
    HAL_TRY(trace_orphan_content(&recovery->orphan, *in_out_content, bytes, recovery->bytes));
    recovery->result.contents++;
    recovery->result.content_bytes += bytes;
    return trace_writer_content(recovery->writer, recovery->bytes, (size_t)bytes, in_out_content);
}

/* How many segments `bytes` bytes are: the rest of a seal that began in the file. */
static uint64_t count_segments(const uint8_t *records, size_t bytes, uint64_t segment_bytes)
{
    uint64_t count = 0;
    size_t at = 0;
    while (at < segment_bytes && bytes - at >= sizeof(struct trace_segment)) {
        const struct trace_segment *segment = (const void *)(records + at);
        if (segment->bytes < sizeof *segment || segment->bytes > bytes - at)
            return count + 1; /* checking the record reports the error */
        at += segment->bytes;
        count++;
    }
    return count;
}

/* One thread's rings follow each other in the list. */
static enum hal_status take_rings(struct recovery *recovery)
{
    const struct trace_orphan *orphan = &recovery->orphan;
    uint64_t segments_left = 0, segment_bytes = 0;
    for (size_t i = 0; i < orphan->ring_count; i++) {
        const struct trace_orphan_ring *ring = &orphan->rings[i];
        if (i == 0 || ring->thread != ring[-1].thread)
            segments_left = segment_bytes = recovery->thread_ticket = 0;
        uint8_t *records;
        HAL_TRY(trace_orphan_records(orphan, ring, &records));
        segment_bytes += ring->segment_bytes;
        if (segment_bytes) {
            /* A seal that continues from the file continues until its end, maybe in the next ring.
             */
            segments_left = count_segments(records, (size_t)ring->bytes, segment_bytes);
            segment_bytes -= segment_bytes < ring->bytes ? segment_bytes : ring->bytes;
        }
        const enum hal_status status = take_records(
            recovery, ring->thread, records, (size_t)ring->bytes, &segments_left, take_staged);
        free(records);
        HAL_TRY(hal_add_context(status, "the sidecar's ring of thread %u", ring->thread));
    }
    return HAL_OK;
}

/* ---- All of it ---- */

/* The sidecar that the trace names is missing, or belongs to another trace: the capture ended
 * normally, or the sidecar was removed. */
static enum hal_status rest_is_nowhere(enum hal_status status, const char *path)
{
    const struct hal_kept_message kept = hal_keep_message();
    return hal_fail(status,
                    "%s; a capture that ends normally removes its sidecar: if '%s' was truncated "
                    "later, copy it again; the rest is nowhere else",
                    kept.text, path);
}

static enum hal_status open_sidecar(struct recovery *recovery,
                                    const struct trace_recover_options *options,
                                    const struct trace_header *header)
{
    enum hal_status status = trace_orphan_open(
        options->sidecar ? options->sidecar : header->sidecar, options->force, &recovery->orphan);
    if (status == HAL_OK &&
        !trace_orphan_belongs(&recovery->orphan, header->process_id, header->start_ns))
        status = hal_fail(HAL_INVALID, "the sidecar '%s' belongs to another capture than '%s'",
                          recovery->orphan.path, options->path);
    if (!options->sidecar && (status == HAL_NOT_FOUND || status == HAL_INVALID))
        return rest_is_nowhere(status, options->path);
    return status;
}

static enum hal_status open_inputs(struct recovery *recovery,
                                   const struct trace_recover_options *options)
{
    struct trace_reader *whole;
    HAL_TRY(trace_reader_open(options->path, &whole));
    const struct trace_header *header = trace_reader_header(whole);
    const char *sidecar = options->sidecar ? options->sidecar : header->sidecar;
    enum hal_status status = HAL_OK;
    if (trace_reader_health(whole) && *trace_reader_truncated(whole))
        status = hal_fail(HAL_NOT_FOUND,
                          "'%s' has everything that was recorded, only its end is cut off or "
                          "damaged: hal-trace recompress writes a new one",
                          options->path);
    else if (trace_reader_health(whole) && !options->output &&
             trace_sidecar_discard_complete(sidecar))
        recovery->result.was_complete = true;
    else if (trace_reader_health(whole))
        status = hal_fail(HAL_NOT_FOUND,
                          "the index of '%s' is complete: there is nothing to recover (hal-trace "
                          "verify checks the contents)",
                          options->path);
    else if (!options->sidecar && !header->sidecar[0])
        status = hal_fail(HAL_NOT_FOUND, "'%s' names no sidecar", options->path);
    else
        status = open_sidecar(recovery, options, header);
    trace_reader_close(whole);
    HAL_TRY(status);
    if (recovery->result.was_complete)
        return HAL_OK;
    return trace_reader_open_part(options->path, recovery->orphan.file_bytes, &recovery->reader);
}

static enum hal_status write_all(struct recovery *recovery)
{
    recovery->used_strings = hal_alloc(TRACE_MAX_STRINGS / 8 + 1, 1);
    recovery->used_stacks = hal_alloc(TRACE_MAX_STACKS / 8 + 1, 1);
    if (!recovery->used_strings || !recovery->used_stacks)
        return no_memory();
    HAL_TRY(copy_file(recovery));
    recovery->result.file_events = recovery->events;
    HAL_TRY(take_rings(recovery));
    recovery->result.sidecar_events = recovery->events - recovery->result.file_events;
    recovery->result.calls_missing =
        recovery->last_ticket > recovery->ticket_count + recovery->orphan.skipped_tickets;
    return define_missing(recovery);
}

static enum hal_status close_writer(struct recovery *recovery)
{
    const struct trace_orphan *orphan = &recovery->orphan;
    struct trace_health health = {.recovered = true};
    health.lost_records = orphan->lost_records;
    if (recovery->result.damaged_records) {
        health.status = HAL_CORRUPT;
        health.message = "the sidecar was damaged";
        /* What could not be written is written now. */
    } else if (orphan->stopped && (!orphan->stopped_by_file || orphan->lost_records)) {
        health.status = orphan->stopped;
        health.message = orphan->stopped_message;
    } else if (recovery->result.calls_missing) {
        health.status = HAL_FAILED;
        health.message = "the process ended during calls, which are not recorded";
    }
    const enum hal_status status = trace_writer_close(recovery->writer, &health);
    recovery->writer = NULL;
    return status;
}

/* The captured program may have written into its sidecar what no check of a record notices. The
 * writer vouches for the contents. */
static enum hal_status check_written(const char *path)
{
    struct trace_reader *reader;
    HAL_TRY(trace_reader_open(path, &reader));
    enum hal_status status = HAL_OK;
    for (size_t i = 0; status == HAL_OK && i < trace_reader_chunk_count(reader); i++) {
        struct trace_chunk chunk;
        status = trace_reader_chunk(reader, i, &chunk);
        if (status == HAL_OK)
            trace_chunk_free(&chunk);
    }
    trace_reader_close(reader);
    return status;
}

static enum hal_status finish_file(struct recovery *recovery,
                                   const struct trace_recover_options *options, const char *path)
{
    const enum hal_status status = check_written(path);
    if (status != HAL_OK)
        return hal_add_context(status, "'%s' with its sidecar '%s' makes no readable trace",
                               options->path, recovery->orphan.path);
    if (options->output || rename(path, options->path) == 0)
        return HAL_OK;
    return hal_fail(HAL_IO, "cannot replace '%s': %s", options->path, strerror(errno));
}

static enum hal_status recover_into(struct recovery *recovery,
                                    const struct trace_recover_options *options, const char *path,
                                    bool force)
{
    struct trace_header header = *trace_reader_header(recovery->reader);
    header.sidecar = "";
    const struct trace_writer_options to = {.path = path, .force = force, .named_at_end = true};
    HAL_TRY(trace_writer_open(&to, &header, &recovery->writer));
    const enum hal_status status = write_all(recovery);
    if (status != HAL_OK) {
        const struct hal_kept_message kept = hal_keep_message();
        trace_writer_discard(recovery->writer);
        return hal_restore_message(&kept, status);
    }
    HAL_TRY(close_writer(recovery));
    const enum hal_status finished = finish_file(recovery, options, path);
    if (finished != HAL_OK)
        unlink(path);
    return finished;
}

bool trace_recover_is_due(const struct trace_reader *reader)
{
    const struct trace_header *header = trace_reader_header(reader);
    struct trace_orphan orphan;
    if (!trace_reader_recoverable(reader) || trace_orphan_peek(header->sidecar, &orphan) != HAL_OK)
        return false;
    const bool is_due = trace_orphan_belongs(&orphan, header->process_id, header->start_ns) &&
                        !trace_orphan_process_runs(&orphan) && !orphan.stopped_by_file;
    trace_orphan_close(&orphan);
    return is_due;
}

static enum hal_status recover(struct recovery *recovery,
                               const struct trace_recover_options *options)
{
    char beside[TRACE_PATH_BYTES];
    HAL_TRY(open_inputs(recovery, options));
    if (recovery->result.was_complete)
        return HAL_OK;
    if (options->output)
        return recover_into(recovery, options, options->output, options->force);
    /* Short whatever the trace is called, so that it fits where that fits. */
    const char *slash = strrchr(options->path, '/');
    const int folder = slash ? (int)(slash + 1 - options->path) : 0;
    if (snprintf(beside, sizeof beside, "%.*s.haltrace-recovered-%ld", folder, options->path,
                 (long)getpid()) >= (int)sizeof beside)
        return hal_fail(HAL_INVALID, "the path '%s' is too long", options->path);
    HAL_TRY(recover_into(recovery, options, beside, false));
    unlink(recovery->orphan.path);
    return HAL_OK;
}

enum hal_status trace_recover(const struct trace_recover_options *options,
                              struct trace_recovered *out_recovered)
{
    struct recovery recovery = {0};
    const enum hal_status status = recover(&recovery, options);
    *out_recovered = recovery.result;
    trace_reader_close(recovery.reader);
    trace_orphan_close(&recovery.orphan);
    free(recovery.used_strings);
    free(recovery.used_stacks);
    free(recovery.content_numbers);
    free(recovery.bytes);
    return status;
}
