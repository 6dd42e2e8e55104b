/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a file: index and seek table, or the walk that replaces them. */
#include "format/container/index.h"

#include "format/container/activity.h"
#include "format/limits.h"
#include "format/trace.h"
#include "hal/base/message.h"
#include "hal/base/text.h"

#include <inttypes.h>
#include <stdio.h>

#define SEEK_TABLE_MAGIC  0x184D2A5Eu
#define SEEK_FOOTER_MAGIC 0x8F92EAB1u

enum { SEEK_HEAD_BYTES = 8, SEEK_ENTRY_BYTES = 8, SEEK_FOOTER_BYTES = 9, SHA256_BYTES = 32 };

/* The seek table's last bytes. */
struct __attribute__((packed)) seek_footer {
    uint32_t entry_count;
    uint8_t descriptor;
    uint32_t magic;
};

struct seek_entry {
    uint32_t stored_bytes, raw_bytes;
};

void trace_directory_init(struct trace_directory *directory)
{
    *directory = (struct trace_directory){0};
    trace_arena_init(&directory->arena, SIZE_MAX);
}

void trace_directory_finish(struct trace_directory *directory)
{
    trace_arena_finish(&directory->arena);
    free(directory->data);
    free(directory->blobs);
    trace_directory_init(directory);
}

Haltrace__Note *trace_directory_new_note(struct trace_directory *directory)
{
    Haltrace__Note *note = trace_arena_alloc(&directory->arena, sizeof *note);
    Haltrace__Counts *counts = trace_arena_alloc(&directory->arena, sizeof *counts);
    if (!note || !counts)
        return NULL;
    haltrace__note__init(note);
    haltrace__counts__init(counts);
    note->counts = counts;
    return note;
}

Haltrace__Blobs *trace_directory_new_blobs(struct trace_directory *directory, size_t count,
                                           bool with_sha256)
{
    Haltrace__Blobs *blobs = trace_arena_alloc(&directory->arena, sizeof *blobs);
    if (!blobs)
        return NULL;
    haltrace__blobs__init(blobs);
    blobs->n_size = count;
    blobs->size = trace_arena_array(&directory->arena, count, sizeof *blobs->size);
    blobs->without_sha256 = !with_sha256;
    if (!with_sha256)
        return blobs->size ? blobs : NULL;
    blobs->sha256.len = count * SHA256_BYTES;
    blobs->sha256.data = trace_arena_array(&directory->arena, count, SHA256_BYTES);
    return blobs->size && blobs->sha256.data ? blobs : NULL;
}

static enum hal_status check_note(const Haltrace__Note *note, uint64_t note_bytes)
{
    if (note->stored_bytes > 2ull * TRACE_MAX_FRAME_BYTES ||
        note->raw_bytes > TRACE_MAX_FRAME_BYTES || note_bytes > TRACE_MAX_FRAME_BYTES)
        return hal_fail(HAL_CORRUPT, "the frame at byte %" PRIu64 " is larger than %u bytes",
                        note->offset, TRACE_MAX_FRAME_BYTES);
    if (note->n_piece_events != note->n_piece_thread ||
        note->n_piece_segments != note->n_piece_thread || !trace_activity_is_plausible(note))
        return hal_fail(HAL_CORRUPT, "the note about the frame at byte %" PRIu64 " is inconsistent",
                        note->offset);
    return HAL_OK;
}

enum hal_status trace_directory_add_data(struct trace_directory *directory,
                                         const Haltrace__Note *note, uint64_t note_bytes)
{
    HAL_TRY(check_note(note, note_bytes));
    if (!HAL_GROW(directory->data, &directory->data_capacity, directory->data_count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for the directory");
    directory->data[directory->data_count++] = (struct trace_data_frame){note, note_bytes};
    return HAL_OK;
}

/* One for each content, or none, where all are here. */
static bool has_right_digests(const Haltrace__Blobs *blobs)
{
    if (!blobs->without_sha256)
        return blobs->sha256.len / SHA256_BYTES == blobs->n_size &&
               blobs->sha256.len % SHA256_BYTES == 0;
    bool refers = false;
    for (size_t i = 0; i < blobs->n_elsewhere; i++)
        refers |= blobs->elsewhere[i];
    return blobs->sha256.len == 0 && !refers;
}

static enum hal_status check_blobs(const struct trace_directory *directory,
                                   const Haltrace__Blobs *blobs, uint64_t offset, uint64_t bytes)
{
    if (blobs->first != directory->content_count + 1)
        return hal_fail(HAL_CORRUPT, "contents %" PRIu64 " follow %" PRIu64 " at byte %" PRIu64,
                        blobs->first, directory->content_count, offset);
    if (blobs->n_size > TRACE_MAX_CONTENTS - directory->content_count)
        return hal_fail(HAL_CORRUPT, "%s at byte %" PRIu64 " follow %" PRIu64 ", the limit is %u",
                        hal_count(blobs->n_size, "more content", "more contents").text, offset,
                        directory->content_count, TRACE_MAX_CONTENTS);
    uint64_t sum = 0;
    for (size_t i = 0; i < blobs->n_size; i++) {
        if (blobs->size[i] > TRACE_MAX_CONTENT_BYTES)
            return hal_fail(HAL_CORRUPT, "content %" PRIu64 " has %s, the limit is %u",
                            blobs->first + i, hal_count(blobs->size[i], "byte", "bytes").text,
                            TRACE_MAX_CONTENT_BYTES);
        if (!blobs->n_elsewhere || blobs->n_elsewhere == blobs->n_size)
            sum += trace_blob_is_elsewhere(blobs, i) ? 0 : blobs->size[i];
    }
    if (blobs->n_size == 0 || (blobs->n_elsewhere && blobs->n_elsewhere != blobs->n_size) ||
        !has_right_digests(blobs) || sum > TRACE_MAX_FRAME_BYTES ||
        bytes > 2ull * TRACE_MAX_FRAME_BYTES)
        return hal_fail(HAL_CORRUPT, "the contents at byte %" PRIu64 " are inconsistent", offset);
    return HAL_OK;
}

enum hal_status trace_directory_add_blobs(struct trace_directory *directory,
                                          const Haltrace__Blobs *blobs, uint64_t offset,
                                          uint64_t bytes)
{
    HAL_TRY(check_blobs(directory, blobs, offset, bytes));
    if (!HAL_GROW(directory->blobs, &directory->blobs_capacity, directory->blobs_count + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for the directory");
    directory->blobs[directory->blobs_count++] = (struct trace_blobs_frame){offset, bytes, blobs};
    directory->content_count += blobs->n_size;
    return HAL_OK;
}

/* ---- Seek table --------------------------------------------------------------------------- */

static void put_entry(struct trace_bytes *table, uint64_t stored, uint64_t raw)
{
    const struct seek_entry entry = {(uint32_t)stored, (uint32_t)raw};
    memcpy(table->data + table->count, &entry, sizeof entry);
    table->count += sizeof entry;
}

/* The table that belongs to the directory. HAL_CORRUPT: the frames leave holes or overlap. */
static enum hal_status make_seek_table(const struct trace_directory *directory,
                                       uint64_t index_offset, uint64_t index_bytes,
                                       struct trace_bytes *out_table)
{
    const size_t entries = 2 * directory->data_count + directory->blobs_count + 1;
    const size_t bytes = SEEK_HEAD_BYTES + entries * SEEK_ENTRY_BYTES + SEEK_FOOTER_BYTES;
    if (!trace_bytes_reserve(out_table, bytes))
        return hal_fail(HAL_NO_MEMORY, "no memory for a seek table of %zu entries", entries);
    const uint32_t head[2] = {SEEK_TABLE_MAGIC, (uint32_t)(bytes - SEEK_HEAD_BYTES)};
    memcpy(out_table->data, head, sizeof head);
    out_table->count = sizeof head;
    uint64_t at = 0;
    for (size_t data = 0, blobs = 0; at != index_offset;) {
        if (data < directory->data_count && directory->data[data].note->offset == at) {
            const struct trace_data_frame *frame = &directory->data[data++];
            put_entry(out_table, frame->note->stored_bytes, frame->note->raw_bytes);
            put_entry(out_table, frame->note_bytes, 0);
            at += frame->note->stored_bytes + frame->note_bytes;
        } else if (blobs < directory->blobs_count && directory->blobs[blobs].offset == at) {
            put_entry(out_table, directory->blobs[blobs].bytes, 0);
            at += directory->blobs[blobs++].bytes;
        } else {
            return hal_fail(HAL_CORRUPT,
                            "damaged: the index does not have the frame at byte %" PRIu64, at);
        }
    }
    put_entry(out_table, index_bytes, 0);
    const struct seek_footer footer = {(uint32_t)entries, 0, SEEK_FOOTER_MAGIC};
    if (out_table->count != bytes - sizeof footer)
        return hal_fail(HAL_CORRUPT, "damaged: the index has frames that do not exist");
    memcpy(out_table->data + out_table->count, &footer, sizeof footer);
    out_table->count = bytes;
    return HAL_OK;
}

/* ---- Writing ------------------------------------------------------------------------------ */

static enum hal_status make_index(const struct trace_directory *directory,
                                  struct trace_arena *arena, Haltrace__Index *index)
{
    const size_t data = directory->data_count, blobs = directory->blobs_count;
    *index = (Haltrace__Index)HALTRACE__INDEX__INIT;
    index->n_note = index->n_note_bytes = data;
    index->n_blobs = index->n_blobs_offset = index->n_blobs_bytes = blobs;
    index->note = trace_arena_array(arena, data, sizeof *index->note);
    index->note_bytes = trace_arena_array(arena, data, sizeof *index->note_bytes);
    index->blobs = trace_arena_array(arena, blobs, sizeof *index->blobs);
    index->blobs_offset = trace_arena_array(arena, blobs, sizeof *index->blobs_offset);
    index->blobs_bytes = trace_arena_array(arena, blobs, sizeof *index->blobs_bytes);
    if (!index->note || !index->note_bytes || !index->blobs || !index->blobs_offset ||
        !index->blobs_bytes)
        return hal_fail(HAL_NO_MEMORY, "no memory for an index of %zu frames", data + blobs);
    for (size_t i = 0; i < data; i++) {
        index->note[i] = (Haltrace__Note *)(uintptr_t)directory->data[i].note;
        index->note_bytes[i] = directory->data[i].note_bytes;
    }
    for (size_t i = 0; i < blobs; i++) {
        index->blobs[i] = (Haltrace__Blobs *)(uintptr_t)directory->blobs[i].blobs;
        index->blobs_offset[i] = directory->blobs[i].offset;
        index->blobs_bytes[i] = directory->blobs[i].bytes;
    }
    return HAL_OK;
}

static enum hal_status write_index(const struct trace_directory *directory,
                                   struct trace_output *output, struct trace_arena *arena,
                                   uint64_t *out_bytes)
{
    Haltrace__Index index;
    HAL_TRY(make_index(directory, arena, &index));
    const size_t bytes = haltrace__index__get_packed_size(&index);
    if (bytes > TRACE_MAX_INDEX_BYTES)
        return hal_fail(HAL_INVALID, "an index of %s, the limit is %u",
                        hal_count(bytes, "byte", "bytes").text, TRACE_MAX_INDEX_BYTES);
    uint8_t *packed = trace_arena_alloc(arena, bytes);
    if (!packed)
        return hal_fail(HAL_NO_MEMORY, "no memory for an index of %zu bytes", bytes);
    haltrace__index__pack(&index, packed);
    return trace_output_own_frame(output, TRACE_FRAME_INDEX, NULL, packed, bytes, out_bytes);
}

enum hal_status trace_directory_write(const struct trace_directory *directory,
                                      struct trace_output *output)
{
    struct trace_arena arena;
    struct trace_bytes table = {0};
    const uint64_t index_offset = output->offset;
    uint64_t index_bytes = 0;
    trace_arena_init(&arena, SIZE_MAX);
    enum hal_status status = write_index(directory, output, &arena, &index_bytes);
    if (status == HAL_OK)
        status = make_seek_table(directory, index_offset, index_bytes, &table);
    if (status == HAL_OK)
        status = trace_output_write(output, table.data, table.count);
    free(table.data);
    trace_arena_finish(&arena);
    return trace_output_latch(output, status);
}

/* ---- Reading from the end ----------------------------------------------------------------- */

static enum hal_status take_index(struct trace_directory *directory, const Haltrace__Index *index)
{
    if (index->n_note_bytes != index->n_note || index->n_blobs_offset != index->n_blobs ||
        index->n_blobs_bytes != index->n_blobs)
        return hal_fail(HAL_CORRUPT, "the index is inconsistent");
    for (size_t i = 0; i < index->n_note; i++)
        HAL_TRY(trace_directory_add_data(directory, index->note[i], index->note_bytes[i]));
    for (size_t i = 0; i < index->n_blobs; i++)
        HAL_TRY(trace_directory_add_blobs(directory, index->blobs[i], index->blobs_offset[i],
                                          index->blobs_bytes[i]));
    return HAL_OK;
}

/* Reads the index frame at `offset`; its head is given. */
static enum hal_status read_index(struct trace_directory *directory, struct trace_input *input,
                                  uint64_t offset, const struct trace_frame_head *head)
{
    if (head->raw_bytes > TRACE_MAX_INDEX_BYTES)
        return hal_fail(HAL_CORRUPT, "an index of %s, the limit is %u",
                        hal_count(head->raw_bytes, "byte", "bytes").text, TRACE_MAX_INDEX_BYTES);
    uint8_t *raw = malloc(head->raw_bytes ? head->raw_bytes : 1);
    if (!raw)
        return hal_fail(HAL_NO_MEMORY, "no memory for an index of %u bytes", head->raw_bytes);
    ProtobufCMessage *message = NULL;
    enum hal_status status = trace_input_own_data(input, offset, head, raw);
    /* Forty bytes of index are at least one note: more memory than this is an attack. */
    directory->arena.limit = 32 * (size_t)head->raw_bytes + (1u << 20);
    if (status == HAL_OK)
        status = trace_message_unpack(&haltrace__index__descriptor, raw, head->raw_bytes,
                                      &directory->arena, &message);
    directory->arena.limit = SIZE_MAX;
    if (status == HAL_OK)
        status = take_index(directory, (const Haltrace__Index *)(const void *)message);
    free(raw);
    return status;
}

/* After the index comes the seek table or, if `out_state` can report it, a part of it or the same
 * number of wrong bytes: the index determines its contents. */
enum seek_state { SEEK_WHOLE, SEEK_CUT, SEEK_WRONG };

static enum hal_status check_seek_table(const struct trace_directory *directory,
                                        struct trace_input *input, uint64_t index_offset,
                                        uint64_t index_bytes, enum seek_state *out_state)
{
    struct trace_bytes expected = {0}, found = {0};
    enum hal_status status = make_seek_table(directory, index_offset, index_bytes, &expected);
    const uint64_t offset = index_offset + index_bytes, bytes = input->bytes - offset;
    if (status == HAL_OK && (bytes > expected.count || (!out_state && bytes != expected.count)))
        status =
            hal_fail(HAL_CORRUPT, "damaged: %s after the index at byte %" PRIu64 ", expected %zu",
                     hal_count(bytes, "byte", "bytes").text, offset, expected.count);
    if (status == HAL_OK && !trace_bytes_reserve(&found, (size_t)bytes + 1))
        status = hal_fail(HAL_NO_MEMORY, "no memory for the seek table");
    if (status == HAL_OK)
        status = trace_input_read(input, offset, found.data, (size_t)bytes);
    const bool is_wrong = status == HAL_OK && memcmp(found.data, expected.data, (size_t)bytes) != 0;
    if (is_wrong && !out_state)
        status = hal_fail(HAL_CORRUPT, "damaged: wrong seek table at byte %" PRIu64, offset);
    if (out_state)
        *out_state = is_wrong ? SEEK_WRONG : bytes < expected.count ? SEEK_CUT : SEEK_WHOLE;
    free(expected.data);
    free(found.data);
    return status;
}

static bool has_footer(struct trace_input *input, struct seek_footer *out_footer)
{
    return input->bytes > sizeof *out_footer &&
           trace_input_read(input, input->bytes - sizeof *out_footer, out_footer,
                            sizeof *out_footer) == HAL_OK &&
           out_footer->magic == SEEK_FOOTER_MAGIC;
}

bool trace_has_seek_table(const char *path)
{
    struct trace_input input;
    struct seek_footer footer;
    if (trace_input_open(&input, path) != HAL_OK)
        return false;
    const bool has = has_footer(&input, &footer);
    trace_input_close(&input);
    return has;
}

static enum hal_status load_from_end(struct trace_directory *directory, struct trace_input *input,
                                     const struct seek_footer *footer)
{
    const uint64_t table_bytes =
        SEEK_HEAD_BYTES + (uint64_t)footer->entry_count * SEEK_ENTRY_BYTES + SEEK_FOOTER_BYTES;
    struct seek_entry last;
    if (footer->entry_count == 0 || table_bytes > input->bytes)
        return hal_fail(HAL_CORRUPT, "damaged: wrong seek table at the end");
    const uint64_t table = input->bytes - table_bytes;
    HAL_TRY(
        trace_input_read(input, input->bytes - sizeof *footer - sizeof last, &last, sizeof last));
    if (last.stored_bytes > table)
        return hal_fail(HAL_CORRUPT, "damaged: wrong seek table at the end");
    const uint64_t offset = table - last.stored_bytes;
    struct trace_frame_head head;
    uint8_t *meta;
    HAL_TRY(trace_input_head(input, offset, table, &head, &directory->arena, &meta));
    if (head.kind != TRACE_FRAME_INDEX || trace_frame_bytes(&head) != last.stored_bytes)
        return hal_fail(HAL_CORRUPT, "damaged: no index at byte %" PRIu64, offset);
    HAL_TRY(read_index(directory, input, offset, &head));
    return check_seek_table(directory, input, offset, last.stored_bytes, NULL);
}

/* ---- Walking a file that was cut off ------------------------------------------------------ */

struct walk {
    struct trace_directory *directory;
    struct trace_input *input;
    uint64_t at;
    bool is_over;
    bool has_index; /* got to it: nothing is missing but what follows */
};

static void cut_off(struct walk *walk, const char *what)
{
    const uint64_t left = walk->input->bytes - walk->at;
    snprintf(walk->directory->truncated, sizeof walk->directory->truncated,
             "cut off at byte %" PRIu64 ": %s%s", walk->at, what,
             left ? "; an incomplete frame at the end is ignored" : "");
    walk->directory->has_index = walk->has_index;
    walk->directory->end = walk->at;
    walk->is_over = true;
}

/* One of our frames at `offset`, if all of it is there; else *out_bytes is 0. */
static enum hal_status walk_head(struct walk *walk, uint64_t offset,
                                 struct trace_frame_head *out_head, uint8_t **out_meta,
                                 uint64_t *out_bytes)
{
    uint32_t start[2];
    const uint64_t left = walk->input->bytes - offset;
    *out_bytes = 0;
    if (left < sizeof start)
        return HAL_OK;
    HAL_TRY(trace_input_read(walk->input, offset, start, sizeof start));
    if (start[0] != TRACE_FRAME_MAGIC)
        return hal_fail(HAL_CORRUPT, "damaged: not one of our frames at byte %" PRIu64, offset);
    if (left - sizeof start < start[1])
        return HAL_OK;
    HAL_TRY(trace_input_head(walk->input, offset, walk->input->bytes, out_head,
                             &walk->directory->arena, out_meta));
    *out_bytes = trace_frame_bytes(out_head);
    return HAL_OK;
}

/* ---- Zeros, which a crash of the system leaves where the file's bytes did not reach the disk - */

enum { FEWEST_ZEROS = 8, ZERO_STEP_BYTES = 4096 };

static bool ends_in_zero(struct trace_input *input, uint64_t end)
{
    uint8_t last;
    return end > 0 && trace_input_read(input, end - 1, &last, 1) == HAL_OK && last == 0;
}

/* Where the zeros at the end of the file begin, at `from` at the earliest. */
static enum hal_status find_zeros(struct trace_input *input, uint64_t from, uint64_t *out_begin)
{
    uint8_t bytes[ZERO_STEP_BYTES];
    uint64_t end = input->bytes;
    while (end > from) {
        const size_t step = end - from < sizeof bytes ? (size_t)(end - from) : sizeof bytes;
        HAL_TRY(trace_input_read(input, end - step, bytes, step));
        for (size_t i = step; i > 0; i--, end--) {
            if (bytes[i - 1]) {
                *out_begin = end;
                return HAL_OK;
            }
        }
    }
    *out_begin = from;
    return HAL_OK;
}

/* After a frame that is not as it should be: leaves out zeros at the end of the file. *out_found:
 * there are some, and the frame may be one that was cut off. */
static enum hal_status leave_out_zeros(struct walk *walk, bool *out_found)
{
    uint64_t begin;
    *out_found = false;
    HAL_TRY(find_zeros(walk->input, walk->at, &begin));
    *out_found = walk->input->bytes - begin >= FEWEST_ZEROS;
    if (*out_found)
        walk->input->bytes = begin;
    return HAL_OK;
}

/* ---- Frame by frame ---- */

static enum hal_status walk_data(struct walk *walk)
{
    uint64_t bytes, note_bytes;
    struct trace_frame_head head;
    uint8_t *meta;
    ProtobufCMessage *message;
    HAL_TRY(trace_input_frame_size(walk->input, walk->at, &bytes));
    if (!bytes) {
        cut_off(walk, "the rest is missing");
        return HAL_OK;
    }
    const uint64_t note_at = walk->at + bytes;
    HAL_TRY(walk_head(walk, note_at, &head, &meta, &note_bytes));
    if (!note_bytes) {
        cut_off(walk, "the rest is missing");
        return HAL_OK;
    }
    if (head.kind != TRACE_FRAME_NOTE)
        return hal_fail(HAL_CORRUPT, "damaged: no note at byte %" PRIu64, note_at);
    HAL_TRY(trace_message_unpack(&haltrace__note__descriptor, meta, head.meta_bytes,
                                 &walk->directory->arena, &message));
    const Haltrace__Note *note = (const Haltrace__Note *)(const void *)message;
    if (note->offset != walk->at || note->stored_bytes != bytes)
        return hal_fail(HAL_CORRUPT,
                        "damaged: the note at byte %" PRIu64 " describes another frame", note_at);
    HAL_TRY(trace_directory_add_data(walk->directory, note, note_bytes));
    walk->at = note_at + note_bytes;
    return HAL_OK;
}

static enum hal_status walk_own(struct walk *walk)
{
    uint64_t bytes;
    struct trace_frame_head head;
    uint8_t *meta;
    ProtobufCMessage *message;
    HAL_TRY(walk_head(walk, walk->at, &head, &meta, &bytes));
    if (!bytes) {
        cut_off(walk, "the rest is missing");
        return HAL_OK;
    }
    if (head.kind == TRACE_FRAME_INDEX) {
        enum seek_state state = SEEK_CUT;
        struct trace_directory indexed;
        trace_directory_init(&indexed);
        enum hal_status status = read_index(&indexed, walk->input, walk->at, &head);
        if (status == HAL_OK)
            status = check_seek_table(&indexed, walk->input, walk->at, bytes, &state);
        trace_directory_finish(&indexed);
        HAL_TRY(status);
        walk->at += bytes;
        walk->has_index = true;
        cut_off(walk, "the seek table is missing, nothing else");
        if (state == SEEK_WRONG)
            snprintf(walk->directory->truncated, sizeof walk->directory->truncated,
                     "the seek table at byte %" PRIu64 " is damaged, nothing else", walk->at);
        return HAL_OK;
    }
    if (head.kind != TRACE_FRAME_BLOBS)
        return hal_fail(head.kind == TRACE_FRAME_NOTE ? HAL_CORRUPT : HAL_VERSION,
                        "a frame of kind %u at byte %" PRIu64 " must not be there", head.kind,
                        walk->at);
    if (ends_in_zero(walk->input, walk->at + bytes)) /* the data may have been cut off */
        HAL_TRY(trace_input_check_data(walk->input, walk->at, &head));
    HAL_TRY(trace_message_unpack(&haltrace__blobs__descriptor, meta, head.meta_bytes,
                                 &walk->directory->arena, &message));
    HAL_TRY(trace_directory_add_blobs(
        walk->directory, (const Haltrace__Blobs *)(const void *)message, walk->at, bytes));
    walk->at += bytes;
    return HAL_OK;
}

static enum hal_status walk_frame(struct walk *walk)
{
    uint32_t magic;
    if (walk->input->bytes - walk->at < sizeof magic) {
        cut_off(walk, "the capture did not end, or the rest is missing");
        return HAL_OK;
    }
    HAL_TRY(trace_input_read(walk->input, walk->at, &magic, sizeof magic));
    return magic == TRACE_ZSTD_MAGIC ? walk_data(walk) : walk_own(walk);
}

static enum hal_status load_by_walking(struct trace_directory *directory, struct trace_input *input,
                                       bool *out_has_index)
{
    struct walk walk = {.directory = directory, .input = input};
    while (!walk.is_over) {
        enum hal_status status = walk_frame(&walk);
        if (status == HAL_CORRUPT) {
            bool found;
            const struct hal_kept_message kept = hal_keep_message();
            HAL_TRY(leave_out_zeros(&walk, &found));
            status = found ? walk_frame(&walk) : hal_restore_message(&kept, HAL_CORRUPT);
        }
        HAL_TRY(status);
    }
    *out_has_index = walk.has_index;
    return HAL_OK;
}

/* ---- What file is it? --------------------------------------------------------------------- */

enum { PEEK_BYTES = 64 << 10 };

static enum hal_status check_magic(struct trace_input *input)
{
    uint8_t start[4] = {0};
    const uint32_t zstd = TRACE_ZSTD_MAGIC;
    if (input->bytes == 0)
        return hal_fail(HAL_CORRUPT, "not a trace: the file is empty");
    HAL_TRY(trace_input_read(input, 0, start, input->bytes < 4 ? (size_t)input->bytes : 4));
    if (memcmp(start, &zstd, sizeof zstd) == 0)
        return HAL_OK;
    if (input->bytes < 4 && memcmp(start, &zstd, (size_t)input->bytes) == 0)
        return hal_fail(HAL_CORRUPT, "cut off after %s: nothing is left",
                        hal_count(input->bytes, "byte", "bytes").text);
    return hal_fail(HAL_CORRUPT, "not a trace%s",
                    start[0] == 0x1F && start[1] == 0x8B ? ": a gzip file" : "");
}

/* Looks into the first frame without trusting anything: foreign, newer, or recompressed files get
 * their own message. */
static enum hal_status check_first_frame(struct trace_input *input)
{
    struct trace_bytes raw = {.data = malloc(PEEK_BYTES), .capacity = PEEK_BYTES};
    if (!raw.data)
        return hal_fail(HAL_NO_MEMORY, "no memory");
    raw.count = trace_input_peek(input, 2 * PEEK_BYTES, raw.data, PEEK_BYTES);
    uint64_t frame_bytes = 0;
    uint32_t next = 0;
    if (trace_input_frame_size(input, 0, &frame_bytes) == HAL_OK && frame_bytes &&
        input->bytes - frame_bytes >= sizeof next &&
        trace_input_read(input, frame_bytes, &next, sizeof next) != HAL_OK)
        next = 0;
    size_t at = 0;
    struct trace_field field = {0};
    enum hal_status status = HAL_OK;
    while (field.number != TRACE_FIELD_HEADER && status == HAL_OK)
        status = trace_field_next(&raw, &at, &field);
    const bool is_header = status == HAL_OK;
    status = HAL_OK;
    if (is_header && field.bytes > 1 && field.data[0] == 0x08 &&
        field.data[1] > TRACE_VERSION_MAJOR)
        status = hal_fail(HAL_VERSION, "format version %u; this program reads version %u",
                          field.data[1], TRACE_VERSION_MAJOR);
    else if (frame_bytes && next != TRACE_FRAME_MAGIC && is_header && at < raw.count)
        status = hal_fail(HAL_CORRUPT, "recompressed by another program: the contents and "
                                       "checksums are lost");
    else if (frame_bytes && next != TRACE_FRAME_MAGIC && !is_header)
        status = hal_fail(HAL_CORRUPT, "not a trace: another file compressed by zstd");
    free(raw.data);
    return status;
}

/* A wrong seek table does not hide what the frames themselves contain, up to the index. */
static enum hal_status load_from_end_or_walk(struct trace_directory *directory,
                                             struct trace_input *input,
                                             const struct seek_footer *footer)
{
    bool has_index = false;
    const enum hal_status status = load_from_end(directory, input, footer);
    if (status != HAL_CORRUPT)
        return status;
    const struct hal_kept_message kept = hal_keep_message();
    trace_directory_finish(directory);
    trace_directory_init(directory);
    const enum hal_status walked = load_by_walking(directory, input, &has_index);
    return walked == HAL_OK && has_index ? HAL_OK : hal_restore_message(&kept, HAL_CORRUPT);
}

enum hal_status trace_directory_load(struct trace_directory *directory, struct trace_input *input)
{
    struct seek_footer footer;
    bool has_index;
    HAL_TRY(check_magic(input));
    HAL_TRY(check_first_frame(input));
    HAL_TRY(has_footer(input, &footer) ? load_from_end_or_walk(directory, input, &footer)
                                       : load_by_walking(directory, input, &has_index));
    if (directory->data_count == 0)
        return hal_fail(HAL_CORRUPT, "cut off after %s: even the header is incomplete",
                        hal_count(input->bytes, "byte", "bytes").text);
    const Haltrace__Note *first = directory->data[0].note;
    if (first->offset != 0 || first->kind != HALTRACE__NOTE__KIND__HEADER)
        return hal_fail(HAL_CORRUPT, "damaged: no header at the start");
    return HAL_OK;
}
