/* SPDX-License-Identifier: Apache-2.0 */
/* Recompression works on frames and not on records, so that nothing unknown to this version is
 * lost: every top-level field is copied unchanged, except the header, which records the edit. */
#include "format/file/rewrite.h"

#include "format/container/index.h"
#include "format/file/reader.h"

#include <inttypes.h>
#include <stdio.h>

struct recompression {
    struct trace_reader *reader;
    struct trace_output output;
    struct trace_directory directory;
    struct trace_arena arena;
    struct trace_bytes raw, changed;
    const char *edit;
};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to recompress a trace");
}

/* The header with one more edit; fields unknown to this version are preserved. */
static enum hal_status append_header(struct recompression *r, const struct trace_field *field)
{
    ProtobufCMessage *message;
    HAL_TRY(trace_message_unpack(&haltrace__header__descriptor, field->data, field->bytes,
                                 &r->arena, &message));
    Haltrace__Header *header = (Haltrace__Header *)(void *)message;
    ProtobufCBinaryData *edits = trace_arena_array(&r->arena, header->n_edit + 1, sizeof *edits);
    if (!edits)
        return no_memory();
    if (header->n_edit)
        memcpy(edits, header->edit, header->n_edit * sizeof *edits);
    edits[header->n_edit] =
        (ProtobufCBinaryData){.len = strlen(r->edit), .data = (uint8_t *)(uintptr_t)r->edit};
    header->edit = edits;
    header->n_edit++;
    return trace_field_append(&r->changed, TRACE_FIELD_HEADER, message);
}

/* Where the field's tag is: two bytes, before its length. */
static size_t field_begin(const struct trace_bytes *raw, const struct trace_field *field)
{
    size_t at = (size_t)(field->data - raw->data) - 1;
    while (at > 0 && raw->data[at - 1] & 0x80)
        at--;
    /* The tag's first byte has that bit too, its second one has not: the length begins here. */
    return at > 2 ? at - 2 : 0;
}

static enum hal_status append_bytes(struct recompression *r, size_t begin, size_t end)
{
    if (!trace_bytes_reserve(&r->changed, end - begin))
        return no_memory();
    if (end > begin)
        memcpy(r->changed.data + r->changed.count, r->raw.data + begin, end - begin);
    r->changed.count += end - begin;
    return HAL_OK;
}

/* r->raw with the header changed, in r->changed. */
static enum hal_status change_header(struct recompression *r)
{
    enum hal_status status;
    struct trace_field field;
    size_t at = 0, begin = 0;
    r->changed.count = 0;
    while ((status = trace_field_next(&r->raw, &at, &field)) == HAL_OK) {
        if (field.number != TRACE_FIELD_HEADER)
            continue;
        HAL_TRY(append_bytes(r, begin, field_begin(&r->raw, &field)));
        HAL_TRY(append_header(r, &field));
        begin = at;
    }
    return status == HAL_NOT_FOUND ? append_bytes(r, begin, r->raw.count) : status;
}

static enum hal_status copy_data(struct recompression *r, const struct trace_data_frame *frame)
{
    uint64_t note_bytes;
    Haltrace__Note *note = trace_directory_new_note(&r->directory);
    if (!note)
        return no_memory();
    *note = *frame->note; /* place, sizes and checksum are filled in again */
    HAL_TRY(trace_input_data_frame(&r->reader->input, frame->note, frame->note_bytes, &r->raw));
    const struct trace_bytes *raw = &r->raw;
    if (note->kind == HALTRACE__NOTE__KIND__HEADER) {
        HAL_TRY(change_header(r));
        raw = &r->changed;
    }
    HAL_TRY(trace_output_data_frame(&r->output, raw->data, raw->count, note, &note_bytes));
    return trace_directory_add_data(&r->directory, note, note_bytes);
}

static enum hal_status copy_blobs(struct recompression *r, const struct trace_blobs_frame *frame)
{
    struct trace_frame_head head;
    uint8_t *meta;
    uint64_t bytes;
    const uint64_t offset = r->output.offset;
    trace_arena_reset(&r->arena);
    HAL_TRY(trace_input_head(&r->reader->input, frame->offset, frame->offset + frame->bytes, &head,
                             &r->arena, &meta));
    r->raw.count = 0;
    if (!trace_bytes_reserve(&r->raw, (size_t)head.raw_bytes + 1))
        return no_memory();
    HAL_TRY(trace_input_own_data(&r->reader->input, frame->offset, &head, r->raw.data));
    HAL_TRY(trace_output_own_frame(&r->output, TRACE_FRAME_BLOBS, &frame->blobs->base, r->raw.data,
                                   head.raw_bytes, &bytes));
    return trace_directory_add_blobs(&r->directory, frame->blobs, offset, bytes);
}

/* All frames, in the order of the file. */
static enum hal_status copy_frames(struct recompression *r,
                                   void (*progress)(void *user, uint64_t done), void *user)
{
    const struct trace_directory *from = &r->reader->directory;
    size_t data = 0, blobs = 0;
    while (data < from->data_count || blobs < from->blobs_count) {
        const bool is_data =
            blobs == from->blobs_count ||
            (data < from->data_count && from->data[data].note->offset < from->blobs[blobs].offset);
        trace_arena_reset(&r->arena);
        if (is_data)
            HAL_TRY(copy_data(r, &from->data[data++]));
        else
            HAL_TRY(copy_blobs(r, &from->blobs[blobs++]));
        if (progress)
            progress(user, data + blobs);
    }
    return trace_directory_write(&r->directory, &r->output);
}

/* The file as it is. */
static enum hal_status copy_file(struct recompression *r)
{
    enum { STEP_BYTES = 1 << 20 };
    struct trace_input *input = &r->reader->input;
    if (!trace_bytes_reserve(&r->raw, STEP_BYTES))
        return no_memory();
    for (uint64_t at = 0; at < input->bytes;) {
        const uint64_t left = input->bytes - at;
        const size_t bytes = left < STEP_BYTES ? (size_t)left : STEP_BYTES;
        HAL_TRY(trace_input_read(input, at, r->raw.data, bytes));
        HAL_TRY(trace_output_write(&r->output, r->raw.data, bytes));
        at += bytes;
    }
    return HAL_OK;
}

/* Recompresses incomplete files at any cost. */
static bool is_larger(const struct recompression *r)
{
    return r->output.offset > r->reader->input.bytes && !*trace_reader_truncated(r->reader);
}

static enum hal_status publish(struct recompression *r, enum hal_status status)
{
    if (status == HAL_OK)
        status = trace_output_flush(&r->output);
    if (status == HAL_OK)
        status = trace_destination_publish(&r->output.to);
    trace_output_latch(&r->output, status);
    return trace_output_close(&r->output);
}

static enum hal_status write_file(struct recompression *r,
                                  const struct trace_rewrite_options *options,
                                  void (*progress)(void *user, uint64_t done), void *user,
                                  bool *out_copied)
{
    HAL_TRY(trace_output_open_nameless(&r->output, options->path, options->force,
                                       options->compression_level));
    const enum hal_status status = copy_frames(r, progress, user);
    *out_copied = status == HAL_OK && is_larger(r);
    if (!*out_copied)
        return publish(r, status);
    HAL_TRY(trace_output_close(&r->output)); /* it has no name and is removed */
    HAL_TRY(trace_output_open_nameless(&r->output, options->path, options->force,
                                       options->compression_level));
    return publish(r, copy_file(r));
}

enum hal_status trace_recompress(const char *path, const struct trace_rewrite_options *options,
                                 const char *edit, void (*progress)(void *user, uint64_t done),
                                 void *user, bool *out_copied)
{
    struct recompression r = {.edit = edit};
    HAL_TRY(trace_reader_open(path, &r.reader));
    trace_directory_init(&r.directory);
    trace_arena_init(&r.arena, SIZE_MAX);
    enum hal_status status = HAL_OK;
    if (trace_reader_is_cut(r.reader))
        status =
            hal_fail(HAL_INVALID, "'%s' is incomplete (%s): run hal-trace recover or trim first",
                     path, trace_reader_truncated(r.reader));
    if (status == HAL_OK)
        status = write_file(&r, options, progress, user, out_copied);
    free(r.raw.data);
    free(r.changed.data);
    trace_arena_finish(&r.arena);
    trace_directory_finish(&r.directory);
    trace_reader_close(r.reader);
    return status;
}
