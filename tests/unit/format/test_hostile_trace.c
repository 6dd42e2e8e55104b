/* SPDX-License-Identifier: Apache-2.0 */
/* format/file/reader.c: files whose every checksum is right and whose contents contradict
 * themselves. They are put together by hand from the container's own functions. */
#include "format/container/index.h"
#include "format/file/contents.h"
#include "format/limits.h"
#include "format/trace.h"
#include "hal/base/digest.h"
#include "tests/support/test.h"

#include <unistd.h>

#include <xxhash.h>
#include <zstd.h>

static char path[] = "/tmp/haltrace-hostile-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    const int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* ---- A file by hand ----------------------------------------------------------------------- */

/* Two seals of two dispatches each, in one chunk; what a test changes of it. */
struct hostile {
    Haltrace__Header header;
    Haltrace__Chunk chunk;
    Haltrace__CommandBufferSeal seal;
    Haltrace__Segments segments, continuation;
    Haltrace__Dispatch dispatch, more_dispatch;
    Haltrace__EventKind kinds[4];
    int64_t tickets[4];
    Haltrace__SegmentKind segment_kinds[8], more_kinds[8];
    uint64_t segment_count[2], dispatch_count[2], segment_bytes[2];
    uint32_t piece_thread[2], piece_events[2], piece_segments[2];
    size_t piece_count;
    bool has_continuation, has_end;
    Haltrace__Note__Kind kind;
    uint8_t *blobs_data; /* NULL: no contents */
    uint64_t blobs_sizes[2];
    size_t blobs_bytes;
    uint8_t sha256[64];
    bool without_sha256, stray_sha256; /* of try_blobs */
    protobuf_c_boolean elsewhere[2];
    size_t elsewhere_count;
};

static void prepare(struct hostile *h)
{
    memset(h, 0, sizeof *h);
    haltrace__header__init(&h->header);
    h->header.version_major = 1;
    h->header.contents = HALTRACE__HEADER__CONTENTS__CONTENTS_IN_FILE;
    haltrace__chunk__init(&h->chunk);
    haltrace__command_buffer_seal__init(&h->seal);
    haltrace__segments__init(&h->segments);
    haltrace__segments__init(&h->continuation);
    haltrace__dispatch__init(&h->dispatch);
    haltrace__dispatch__init(&h->more_dispatch);
    h->kinds[0] = h->kinds[1] = HALTRACE__EVENT_KIND__COMMAND_BUFFER_SEAL;
    for (size_t i = 0; i < 8; i++)
        h->segment_kinds[i] = h->more_kinds[i] = HALTRACE__SEGMENT_KIND__DISPATCH;
    h->chunk.n_kind = 2;
    h->chunk.kind = h->kinds;
    h->chunk.thread = 3;
    h->chunk.command_buffer_seal = &h->seal;
    h->chunk.segments = &h->segments;
    h->segments.n_kind = 4;
    h->segments.kind = h->segment_kinds;
    h->segments.dispatch = &h->dispatch;
    h->continuation.n_kind = 1;
    h->continuation.kind = h->more_kinds;
    h->continuation.dispatch = &h->more_dispatch;
    h->continuation.thread = 3;
    for (size_t i = 0; i < 2; i++) {
        h->segment_count[i] = h->dispatch_count[i] = 2;
        h->segment_bytes[i] = 2 * sizeof(struct trace_dispatch);
    }
    h->seal.n_segment_count = h->seal.n_dispatch_count = h->seal.n_segment_bytes = 2;
    h->seal.segment_count = h->segment_count;
    h->seal.dispatch_count = h->dispatch_count;
    h->seal.segment_bytes = h->segment_bytes;
    h->piece_count = 1;
    h->piece_thread[0] = h->piece_thread[1] = 3;
    h->piece_events[0] = 2;
    h->piece_segments[0] = 4;
    h->has_end = true;
    h->kind = HALTRACE__NOTE__KIND__EVENTS;
}

static void add_frame(struct trace_directory *directory, struct trace_output *output,
                      const struct trace_bytes *raw, const struct hostile *h,
                      Haltrace__Note__Kind kind)
{
    Haltrace__Note *note = trace_directory_new_note(directory);
    uint64_t note_bytes;
    note->kind = kind;
    if (kind == h->kind) {
        note->n_piece_thread = note->n_piece_events = note->n_piece_segments = h->piece_count;
        note->piece_thread = (uint32_t *)(uintptr_t)h->piece_thread;
        note->piece_events = (uint32_t *)(uintptr_t)h->piece_events;
        note->piece_segments = (uint32_t *)(uintptr_t)h->piece_segments;
    }
    assert_int_equal(trace_output_data_frame(output, raw->data, raw->count, note, &note_bytes),
                     HAL_OK);
    assert_int_equal(trace_directory_add_data(directory, note, note_bytes), HAL_OK);
}

static void add_blobs(struct trace_directory *directory, struct trace_output *output,
                      const struct hostile *h)
{
    Haltrace__Blobs *blobs = trace_directory_new_blobs(directory, 2, true);
    uint64_t bytes;
    const uint64_t offset = output->offset;
    blobs->first = 1;
    memcpy(blobs->size, h->blobs_sizes, sizeof h->blobs_sizes);
    memcpy(blobs->sha256.data, h->sha256, sizeof h->sha256);
    blobs->elsewhere = (protobuf_c_boolean *)(uintptr_t)h->elsewhere;
    blobs->n_elsewhere = h->elsewhere_count;
    assert_int_equal(trace_output_own_frame(output, TRACE_FRAME_BLOBS, &blobs->base, h->blobs_data,
                                            h->blobs_bytes, &bytes),
                     HAL_OK);
    assert_int_equal(trace_directory_add_blobs(directory, blobs, offset, bytes), HAL_OK);
}

static void write_hostile(const struct hostile *h)
{
    struct trace_output output;
    struct trace_directory directory;
    struct trace_bytes raw = {0};
    Haltrace__TracePacket packet = HALTRACE__TRACE_PACKET__INIT;
    Haltrace__End end = HALTRACE__END__INIT;
    trace_directory_init(&directory);
    assert_int_equal(trace_output_open(&output, path, true, 0), HAL_OK);
    assert_int_equal(trace_destination_publish(&output.to), HAL_OK);
    assert_int_equal(trace_field_append(&raw, 1, &packet.base), HAL_OK);
    assert_int_equal(trace_field_append(&raw, 100, &h->header.base), HAL_OK);
    add_frame(&directory, &output, &raw, h, HALTRACE__NOTE__KIND__HEADER);
    if (h->blobs_data)
        add_blobs(&directory, &output, h);
    raw.count = 0;
    assert_int_equal(trace_field_append(&raw, 102, &h->chunk.base), HAL_OK);
    if (h->has_continuation)
        assert_int_equal(trace_field_append(&raw, 103, &h->continuation.base), HAL_OK);
    add_frame(&directory, &output, &raw, h, h->kind);
    raw.count = 0;
    assert_int_equal(trace_field_append(&raw, 104, &end.base), HAL_OK);
    if (h->has_end)
        add_frame(&directory, &output, &raw, h, HALTRACE__NOTE__KIND__END);
    assert_int_equal(trace_directory_write(&directory, &output), HAL_OK);
    assert_int_equal(trace_output_close(&output), HAL_OK);
    trace_directory_finish(&directory);
    free(raw.data);
}

/* The status of opening and decoding everything. */
static enum hal_status read_hostile(const struct hostile *h)
{
    struct trace_reader *reader;
    write_hostile(h);
    enum hal_status status = trace_reader_open(path, &reader);
    if (status != HAL_OK)
        return status;
    for (size_t i = 0; i < trace_reader_chunk_count(reader) && status == HAL_OK; i++) {
        struct trace_chunk chunk;
        status = trace_reader_chunk(reader, i, &chunk);
        trace_chunk_free(&chunk);
    }
    for (uint64_t i = 1; i <= trace_reader_counts(reader)->contents && status == HAL_OK; i++) {
        uint64_t bytes;
        uint8_t sha256[32];
        assert_int_equal(trace_reader_content_info(reader, i, &bytes, sha256), HAL_OK);
        uint8_t *data = malloc(bytes + 1);
        status = trace_reader_content(reader, i, data, bytes);
        free(data);
    }
    trace_reader_close(reader);
    return status;
}

static void refuse(const struct hostile *h, enum hal_status expected, const char *text)
{
    const enum hal_status status = read_hostile(h);
    if (status != expected || !strstr(hal_message(), text) || !strstr(hal_message(), path))
        fail_msg("status %d, '%s', expected %d, '%s'", status, hal_message(), expected, text);
}

/* Whether a directory takes the contents. */
static enum hal_status try_blobs(const struct hostile *h)
{
    struct trace_directory directory;
    trace_directory_init(&directory);
    Haltrace__Blobs *blobs = trace_directory_new_blobs(&directory, 2, !h->without_sha256);
    if (h->stray_sha256)
        blobs->sha256 = (ProtobufCBinaryData){.len = 32, .data = (uint8_t *)(uintptr_t)h->sha256};
    blobs->first = 1;
    memcpy(blobs->size, h->blobs_sizes, sizeof h->blobs_sizes);
    blobs->elsewhere = (protobuf_c_boolean *)(uintptr_t)h->elsewhere;
    blobs->n_elsewhere = h->elsewhere_count;
    const enum hal_status status = trace_directory_add_blobs(&directory, blobs, 0, 100);
    trace_directory_finish(&directory);
    return status;
}

/* ---- Tests -------------------------------------------------------------------------------- */

TEST(the_file_by_hand_is_right)
{
    struct hostile h;
    prepare(&h);
    assert_int_equal(read_hostile(&h), HAL_OK);
    /* And with the last segment in a continuation. */
    h.segments.n_kind = 3;
    h.has_continuation = true;
    h.piece_count = 2;
    assert_int_equal(read_hostile(&h), HAL_OK);
}

TEST(seals_must_count_right)
{
    struct hostile h;
    prepare(&h);
    h.dispatch_count[1] = 1;
    refuse(&h, HAL_CORRUPT, "its end has 1");
    prepare(&h);
    h.segment_bytes[0] = 32;
    refuse(&h, HAL_CORRUPT, "its end has 2 in 32");
    prepare(&h);
    h.segment_count[0] = 1; /* one segment too many */
    h.dispatch_count[0] = 1;
    h.segment_bytes[0] = sizeof(struct trace_dispatch);
    refuse(&h, HAL_CORRUPT, "segments without a command buffer");
    prepare(&h);
    h.segments.n_kind = 3; /* one is missing, and nothing says that the file is cut off */
    refuse(&h, HAL_CORRUPT, "missing");
    prepare(&h);
    h.segment_count[1] = UINT32_MAX;
    refuse(&h, HAL_CORRUPT, "missing");
    prepare(&h);
    h.chunk.segments = NULL;
    refuse(&h, HAL_CORRUPT, "missing");
}

TEST(notes_must_describe_the_frame)
{
    struct hostile h;
    prepare(&h);
    h.piece_events[0] = 3;
    refuse(&h, HAL_CORRUPT, "the note has 3");
    prepare(&h);
    h.piece_thread[0] = 4;
    refuse(&h, HAL_CORRUPT, "of thread 4");
    prepare(&h);
    h.piece_events[0] = 0;
    refuse(&h, HAL_CORRUPT, "without a seal");
    prepare(&h);
    h.piece_thread[0] = UINT32_MAX;
    refuse(&h, HAL_CORRUPT, "note about the frame");
    prepare(&h);
    h.piece_count = 2; /* a continuation that is not there */
    refuse(&h, HAL_CORRUPT, "1 piece, its note has 2");
    prepare(&h);
    h.has_continuation = true; /* one that no note speaks of */
    refuse(&h, HAL_CORRUPT, "2 pieces, its note has 1");
    prepare(&h);
    h.segments.n_kind = 3;
    h.has_continuation = true;
    h.continuation.thread = 4;
    h.piece_count = 2;
    refuse(&h, HAL_CORRUPT, "segments of thread 4");
    prepare(&h);
    h.has_continuation = true;
    h.piece_count = 2;
    h.piece_events[1] = 1; /* the continuation is said to be a chunk */
    refuse(&h, HAL_CORRUPT, "not the piece");
}

/* The note behind the header's frame, whose checksum is that of the bytes it speaks of: one fewer
 * than there are, in a file without an index. */
TEST(notes_must_be_about_the_frame_before_them)
{
    struct hostile h;
    struct trace_output output;
    struct trace_bytes raw = {0};
    struct trace_reader *reader;
    Haltrace__TracePacket packet = HALTRACE__TRACE_PACKET__INIT;
    prepare(&h);
    assert_int_equal(trace_field_append(&raw, 1, &packet.base), HAL_OK);
    assert_int_equal(trace_field_append(&raw, 100, &h.header.base), HAL_OK);
    const size_t room = ZSTD_compressBound(raw.count);
    uint8_t *stored = malloc(room);
    const size_t bytes = ZSTD_compress(stored, room, raw.data, raw.count, 1);
    for (size_t fewer = 0; fewer < 2; fewer++) {
        uint64_t note_bytes;
        Haltrace__Note note = HALTRACE__NOTE__INIT;
        note.kind = HALTRACE__NOTE__KIND__HEADER;
        note.stored_bytes = bytes - fewer;
        note.raw_bytes = raw.count;
        note.checksum = XXH3_64bits(stored, bytes - fewer);
        assert_int_equal(trace_output_open(&output, path, true, 0), HAL_OK);
        assert_int_equal(trace_destination_publish(&output.to), HAL_OK);
        assert_int_equal(trace_output_write(&output, stored, bytes), HAL_OK);
        assert_int_equal(
            trace_output_own_frame(&output, TRACE_FRAME_NOTE, &note.base, NULL, 0, &note_bytes),
            HAL_OK);
        assert_int_equal(trace_output_close(&output), HAL_OK);
        assert_int_equal(trace_reader_open(path, &reader), fewer ? HAL_CORRUPT : HAL_OK);
        if (fewer)
            assert_non_null(strstr(hal_message(), "describes another frame"));
        else
            trace_reader_close(reader);
    }
    free(stored);
    free(raw.data);
}

TEST(kinds_of_frames_and_versions)
{
    struct hostile h;
    prepare(&h);
    h.kind = HALTRACE__NOTE__KIND__TABLES;
    refuse(&h, HAL_CORRUPT, "field 102 in the wrong frame");
    prepare(&h);
    h.kind = (Haltrace__Note__Kind)99;
    refuse(&h, HAL_VERSION, "unknown kind 99");
    prepare(&h);
    h.has_end = false;
    refuse(&h, HAL_CORRUPT, "no end");
    prepare(&h);
    h.header.version_major = 2;
    refuse(&h, HAL_VERSION, "version 2");
    prepare(&h);
    h.header.contents = (Haltrace__Header__Contents)7;
    refuse(&h, HAL_VERSION, "way 7");
}

TEST(contents_must_be_those_of_the_digests)
{
    struct hostile h;
    static uint8_t data[] = "abcdef";
    prepare(&h);
    h.blobs_data = data;
    h.blobs_bytes = 6;
    h.blobs_sizes[0] = 2;
    h.blobs_sizes[1] = 4;
    assert_int_equal(hal_sha256("ab", 2, h.sha256), HAL_OK);
    assert_int_equal(hal_sha256("cdef", 4, h.sha256 + 32), HAL_OK);
    assert_int_equal(read_hostile(&h), HAL_OK);
    h.sha256[40] ^= 1;
    refuse(&h, HAL_CORRUPT, "SHA-256 of content 2");
    h.sha256[40] ^= 1;
    h.blobs_sizes[1] = 5; /* more than there is */
    refuse(&h, HAL_CORRUPT, "other contents");
    h.blobs_sizes[1] = 3;
    refuse(&h, HAL_CORRUPT, "other contents");
}

TEST(what_is_elsewhere_has_no_bytes)
{
    struct hostile h;
    static uint8_t data[] = "cdef";
    prepare(&h);
    h.blobs_data = data;
    h.blobs_bytes = 4;
    h.blobs_sizes[0] = TRACE_MAX_CONTENT_BYTES;
    h.blobs_sizes[1] = 4;
    h.elsewhere[0] = 1;
    h.elsewhere_count = 2;
    assert_int_equal(hal_sha256("cdef", 4, h.sha256 + 32), HAL_OK);
    refuse(&h, HAL_NOT_FOUND, "content 1 of 67108864 bytes is not in the file");
    h.blobs_sizes[0] = (uint64_t)TRACE_MAX_CONTENT_BYTES + 1;
    assert_int_equal(try_blobs(&h), HAL_CORRUPT);
    h.blobs_sizes[0] = 4;
    h.elsewhere_count = 1; /* one flag for two contents */
    assert_int_equal(try_blobs(&h), HAL_CORRUPT);
    h.elsewhere_count = 2;
    h.elsewhere[0] = 0;
    refuse(&h, HAL_CORRUPT, "other contents"); /* eight bytes are said to be there */
}

TEST(captures_are_few)
{
    struct hostile h;
    Haltrace__Capture capture = HALTRACE__CAPTURE__INIT;
    static Haltrace__Capture *captures[TRACE_MAX_CAPTURES + 1];
    for (size_t i = 0; i <= TRACE_MAX_CAPTURES; i++)
        captures[i] = &capture;
    prepare(&h);
    h.header.capture = captures;
    h.header.n_capture = TRACE_MAX_CAPTURES;
    assert_int_equal(read_hostile(&h), HAL_OK);
    h.header.n_capture++;
    refuse(&h, HAL_CORRUPT, "merged from 1025 captures");
}

/* A file that begins with a header, and what else is written into it. */
struct beginning {
    struct trace_output output;
    struct trace_directory directory;
};

static void begin_file(struct beginning *file)
{
    struct trace_bytes raw = {0};
    struct hostile h;
    Haltrace__TracePacket packet = HALTRACE__TRACE_PACKET__INIT;
    prepare(&h);
    trace_directory_init(&file->directory);
    assert_int_equal(trace_output_open(&file->output, path, true, 0), HAL_OK);
    assert_int_equal(trace_destination_publish(&file->output.to), HAL_OK);
    assert_int_equal(trace_field_append(&raw, 1, &packet.base), HAL_OK);
    assert_int_equal(trace_field_append(&raw, 100, &h.header.base), HAL_OK);
    add_frame(&file->directory, &file->output, &raw, &h, HALTRACE__NOTE__KIND__HEADER);
    free(raw.data);
}

static void end_file(struct beginning *file)
{
    assert_int_equal(trace_output_close(&file->output), HAL_OK);
    trace_directory_finish(&file->directory);
}

/* The file has frames of contents without bytes and no index: `more` beyond the limit. */
static enum hal_status read_contents_beyond_the_limit(size_t more)
{
    enum { EACH = 1 << 20 };
    struct beginning file;
    struct trace_reader *reader;
    begin_file(&file);
    Haltrace__Blobs *blobs = trace_directory_new_blobs(&file.directory, EACH, false);
    memset(blobs->size, 0, EACH * sizeof *blobs->size);
    for (size_t written = 0; written < TRACE_MAX_CONTENTS + more; written += blobs->n_size) {
        uint64_t bytes;
        blobs->first = written + 1;
        blobs->n_size = written < TRACE_MAX_CONTENTS ? EACH : more;
        assert_int_equal(
            trace_output_own_frame(&file.output, TRACE_FRAME_BLOBS, &blobs->base, "", 0, &bytes),
            HAL_OK);
    }
    end_file(&file);
    const enum hal_status status = trace_reader_open(path, &reader);
    if (status == HAL_OK) {
        assert_int_equal(trace_reader_counts(reader)->contents, TRACE_MAX_CONTENTS);
        trace_reader_close(reader);
    }
    return status;
}

TEST(contents_are_not_countless)
{
    assert_int_equal(read_contents_beyond_the_limit(0), HAL_OK);
    assert_int_equal(read_contents_beyond_the_limit(1), HAL_CORRUPT);
    assert_non_null(strstr(hal_message(), "1 more content at byte "));
    assert_non_null(strstr(hal_message(), "follow 25165824, the limit is 25165824"));
    assert_non_null(strstr(hal_message(), path));
}

/* ---- Limits of the index ---- */

/* What the index's head says instead, with a right checksum; 0: what it said. */
static void change_head(uint64_t offset, const struct trace_frame_head *change)
{
    struct trace_frame_head head;
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
    assert_int_equal(fread(&head, sizeof head, 1, file), 1);
    assert_int_equal(head.kind, TRACE_FRAME_INDEX);
    assert_int_equal(head.meta_bytes, 0);
    head.raw_bytes = change->raw_bytes ? change->raw_bytes : head.raw_bytes;
    head.is_compressed = change->is_compressed ? change->is_compressed : head.is_compressed;
    head.reserved = change->reserved;
    head.reserved2 = change->reserved2;
    head.head_checksum = XXH3_64bits_withSeed(
        "", 0, XXH3_64bits(&head, offsetof(struct trace_frame_head, head_checksum)));
    assert_int_equal(fseek(file, (long)offset, SEEK_SET), 0);
    assert_int_equal(fwrite(&head, sizeof head, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

/* A header, and an index with so many notes that say nothing. */
static enum hal_status read_index_of(size_t note_count, struct trace_frame_head change)
{
    struct beginning file;
    struct trace_reader *reader;
    uint64_t bytes;
    Haltrace__Note note = HALTRACE__NOTE__INIT;
    Haltrace__Index index = HALTRACE__INDEX__INIT;
    begin_file(&file);
    index.n_note = note_count;
    index.note = calloc(note_count, sizeof *index.note);
    for (size_t i = 0; i < note_count; i++)
        index.note[i] = &note;
    const size_t size = haltrace__index__get_packed_size(&index);
    uint8_t *packed = malloc(size);
    haltrace__index__pack(&index, packed);
    const uint64_t offset = file.output.offset;
    assert_int_equal(
        trace_output_own_frame(&file.output, TRACE_FRAME_INDEX, NULL, packed, size, &bytes),
        HAL_OK);
    end_file(&file);
    change_head(offset, &change);
    free(index.note);
    free(packed);
    const enum hal_status status = trace_reader_open(path, &reader);
    if (status == HAL_OK)
        trace_reader_close(reader);
    return status;
}

/* Notes that take two bytes each in the file and hundreds in memory are an attack. */
TEST(an_index_is_bounded)
{
    assert_int_equal(read_index_of(100, (struct trace_frame_head){0}), HAL_CORRUPT);
    assert_non_null(strstr(hal_message(), "the index is inconsistent"));
    const struct trace_frame_head large = {.raw_bytes = TRACE_MAX_INDEX_BYTES + 1};
    assert_int_equal(read_index_of(100, large), HAL_CORRUPT);
    assert_non_null(strstr(hal_message(), "an index of 1073741825 bytes, the limit is 1073741824"));
    assert_int_equal(read_index_of(200000, (struct trace_frame_head){0}), HAL_CORRUPT);
    assert_non_null(strstr(hal_message(), "one that takes over 13848576 bytes of memory"));
}

/* What is zero now may mean something in a later version. */
TEST(reserved_numbers_need_a_newer_version)
{
    static const struct trace_frame_head changes[] = {
        {.reserved = 1}, {.reserved2 = 1}, {.is_compressed = 2}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        assert_int_equal(read_index_of(100, changes[i]), HAL_VERSION);
        assert_non_null(strstr(hal_message(), "needs a newer version"));
    }
}

TEST(frames_are_bounded)
{
    static const struct {
        uint64_t stored_bytes, raw_bytes, note_bytes;
        enum hal_status status;
    } cases[] = {{2ull * TRACE_MAX_FRAME_BYTES, TRACE_MAX_FRAME_BYTES, 100, HAL_OK},
                 {2ull * TRACE_MAX_FRAME_BYTES + 1, 100, 100, HAL_CORRUPT},
                 {100, TRACE_MAX_FRAME_BYTES + 1, 100, HAL_CORRUPT},
                 {100, 100, TRACE_MAX_FRAME_BYTES + 1, HAL_CORRUPT}};
    struct trace_directory directory;
    trace_directory_init(&directory);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Haltrace__Note note = HALTRACE__NOTE__INIT;
        note.stored_bytes = cases[i].stored_bytes;
        note.raw_bytes = cases[i].raw_bytes;
        assert_int_equal(trace_directory_add_data(&directory, &note, cases[i].note_bytes),
                         cases[i].status);
    }
    trace_directory_finish(&directory);
    struct hostile h;
    prepare(&h);
    h.without_sha256 = true;
    h.blobs_sizes[0] = TRACE_MAX_FRAME_BYTES;
    assert_int_equal(try_blobs(&h), HAL_OK);
    h.blobs_sizes[1] = 1;
    assert_int_equal(try_blobs(&h), HAL_CORRUPT);
}

/* None at all, and of contents that are here: of others nobody could compute them. */
TEST(digests_are_left_out_of_whole_frames)
{
    struct hostile h;
    prepare(&h);
    h.blobs_sizes[0] = h.blobs_sizes[1] = 4;
    h.elsewhere_count = 2;
    h.without_sha256 = true;
    assert_int_equal(try_blobs(&h), HAL_OK);
    h.stray_sha256 = true;
    assert_int_equal(try_blobs(&h), HAL_CORRUPT);
    h.stray_sha256 = false;
    h.elsewhere[1] = 1;
    assert_int_equal(try_blobs(&h), HAL_CORRUPT);
    h.without_sha256 = false;
    assert_int_equal(try_blobs(&h), HAL_OK);
    h.stray_sha256 = true; /* one of two */
    assert_int_equal(try_blobs(&h), HAL_CORRUPT);
}

/* An event between two others that a newer version knows: it has a ticket and columns of its own.
 */
TEST(optional_events_are_skipped)
{
    struct hostile h;
    struct trace_reader *reader;
    struct trace_chunk chunk;
    uint8_t columns[] = {2, 0x08, 0x01}; /* length, and a message that nobody here knows */
    ProtobufCMessageUnknownField unknown = {1500, PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
                                            sizeof columns, columns};
    prepare(&h);
    h.chunk.n_kind = h.chunk.n_ticket = 4;
    h.chunk.ticket = h.tickets;
    for (int i = 0; i < 4; i++)
        h.tickets[i] = 11; /* 10, 20, 30, 40 */
    h.kinds[1] = h.kinds[3] = (Haltrace__EventKind)TRACE_OPTIONAL_END;
    h.kinds[2] = HALTRACE__EVENT_KIND__COMMAND_BUFFER_SEAL;
    h.chunk.base.n_unknown_fields = 1;
    h.chunk.base.unknown_fields = &unknown;
    h.piece_events[0] = 4;
    assert_int_equal(read_hostile(&h), HAL_OK);
    assert_int_equal(trace_reader_open(path, &reader), HAL_OK);
    assert_int_equal(trace_reader_chunk(reader, 0, &chunk), HAL_OK);
    assert_int_equal(chunk.event_count, 2);
    const struct trace_command_buffer_seal *first = (const void *)chunk.events;
    const struct trace_command_buffer_seal *second =
        (const void *)((const uint8_t *)first + first->head.bytes + first->segment_bytes);
    assert_int_equal(first->head.kind, TRACE_COMMAND_BUFFER_SEAL);
    assert_int_equal(first->head.ticket, 10);
    assert_int_equal(second->head.kind, TRACE_COMMAND_BUFFER_SEAL);
    assert_int_equal(second->head.ticket, 30);
    assert_int_equal(chunk.bytes, 2 * (first->head.bytes + first->segment_bytes));
    trace_chunk_free(&chunk);
    trace_reader_close(reader);
    h.kinds[1] = (Haltrace__EventKind)(TRACE_FIRST_OPTIONAL_KIND - 1);
    refuse(&h, HAL_VERSION, "unknown kind 999");
    h.kinds[1] = (Haltrace__EventKind)(UINT16_MAX + 1);
    refuse(&h, HAL_VERSION, "unknown kind 65536");
    h.kinds[1] = h.kinds[3];
    unknown.tag = 500;
    refuse(&h, HAL_VERSION, "unknown field 500");
}

TEST_SUITE_FIXTURE(make_file, remove_file);
