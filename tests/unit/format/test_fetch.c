/* SPDX-License-Identifier: Apache-2.0 */
/* format/file/fetch.c, and the frames that format/file/reader.c keeps: what reading costs, in bytes
 * that are read and decompressed, is linear in the file, whatever is damaged and in whatever order
 * chunks and contents are asked for. */
#include "format/file/reader.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"

#include <fcntl.h>
#include <unistd.h>

enum { FRAMES = 40, CONTENTS = FRAMES * 4096, CONTENT_BYTES = 24, THREADS = 300 };

struct fixture {
    struct test_folder folder;
    char path[PATH_MAX];
};

/* ---- Files --------------------------------------------------------------------------------- */

/* Contents are their numbers. */
static void build_contents(const struct fixture *f, bool without_sha256)
{
    static const struct trace_header header = {.program = "x"};
    const struct trace_writer_options options = {
        .path = f->path, .force = true, .without_sha256 = without_sha256};
    struct trace_writer *writer;
    uint64_t number;
    assert_int_equal(trace_writer_open(&options, &header, &writer), HAL_OK);
    for (uint64_t i = 1; i <= CONTENTS; i++) {
        const uint64_t data[CONTENT_BYTES / 8] = {i, i * 0x9E3779B97F4A7C15u, ~i};
        assert_int_equal(trace_writer_content(writer, data, sizeof data, &number), HAL_OK);
        assert_int_equal(number, i);
    }
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
}

/* One event of each thread, so one chunk, all in one frame. */
static void build_chunks(const struct fixture *f)
{
    static struct trace_builder b;
    builder_open(&b, f->path, NULL);
    for (uint32_t thread = 1; thread <= THREADS; thread++) {
        b.thread = thread;
        builder_scope_begin(&b, "a scope");
    }
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

static struct trace_reader *open_reader(const struct fixture *f)
{
    struct trace_reader *reader;
    if (trace_reader_open(f->path, &reader) != HAL_OK)
        fail_msg("%s", hal_message());
    return reader;
}

static void damage(const struct fixture *f, uint64_t at)
{
    const int file = open(f->path, O_RDWR | O_CLOEXEC);
    uint8_t byte;
    assert_int_equal(pread(file, &byte, 1, (off_t)at), 1);
    byte ^= 0x40;
    assert_int_equal(pwrite(file, &byte, 1, (off_t)at), 1);
    close(file);
}

/* All frames of contents, or of events, in their last byte. */
static size_t damage_frames(const struct fixture *f, bool contents)
{
    size_t count = 0;
    struct trace_reader *reader = open_reader(f);
    const struct trace_directory *directory = &reader->directory;
    for (size_t i = 0; contents && i < directory->blobs_count; i++, count++)
        damage(f, directory->blobs[i].offset + directory->blobs[i].bytes - 1);
    for (size_t i = 0; !contents && i < directory->data_count; i++) {
        const Haltrace__Note *note = directory->data[i].note;
        if (note->kind != HALTRACE__NOTE__KIND__EVENTS)
            continue;
        damage(f, note->offset + note->stored_bytes - 1);
        count++;
    }
    trace_reader_close(reader);
    return count;
}

/* Each byte of the file once, and each of what its frames hold. */
static uint64_t linear(const struct trace_reader *reader)
{
    uint64_t bytes = reader->counts.file_bytes + reader->counts.content_bytes;
    for (size_t i = 0; i < reader->directory.data_count; i++)
        bytes += reader->directory.data[i].note->raw_bytes;
    return bytes;
}

/* ---- Tests --------------------------------------------------------------------------------- */

TEST_ON(damaged_contents_are_read_once, struct fixture *f)
{
    char first[HAL_MESSAGE_BYTES] = "";
    for (int without = 0; without < 2; without++) {
        build_contents(f, without);
        assert_true(damage_frames(f, true) >= 2);
        struct trace_reader *reader = open_reader(f);
        const uint64_t before = reader->input.work_bytes;
        for (uint64_t i = 1; i <= CONTENTS; i++) {
            uint8_t data[CONTENT_BYTES], sha256[32];
            uint64_t bytes;
            assert_int_equal(trace_reader_content(reader, i, data, sizeof data), HAL_CORRUPT);
            if (i == 1)
                snprintf(first, sizeof first, "%s", hal_message());
            if (i == 2) /* as if it were read again */
                assert_string_equal(hal_message(), first);
            if (without)
                assert_int_equal(trace_reader_content_info(reader, i, &bytes, sha256), HAL_CORRUPT);
        }
        assert_in_range(reader->input.work_bytes - before, 1, linear(reader));
        trace_reader_close(reader);
    }
}

TEST_ON(contents_of_several_frames_are_read_in_any_order, struct fixture *f)
{
    build_contents(f, false);
    struct trace_reader *reader = open_reader(f);
    const uint64_t before = reader->input.work_bytes, frames = reader->directory.blobs_count;
    assert_int_equal(frames, FRAMES);
    for (uint64_t i = 0; i < CONTENTS; i++) {
        const uint64_t number = 1 + i % frames * (CONTENTS / frames) + i / frames;
        uint64_t data[CONTENT_BYTES / 8];
        assert_int_equal(trace_reader_content(reader, number, data, sizeof data), HAL_OK);
        assert_int_equal(data[0], number);
        assert_true(data[2] == ~number);
    }
    assert_in_range(reader->input.work_bytes - before, 1, linear(reader));
    trace_reader_close(reader);
}

/* Of large ones a few stay, and memory is bounded. */
TEST_ON(large_frames_are_not_all_kept, struct fixture *f)
{
    enum { LARGE = 24, LARGE_BYTES = 5 << 20 };
    static const struct trace_header header = {.program = "x"};
    const struct trace_writer_options options = {.path = f->path, .force = true};
    struct trace_writer *writer;
    uint64_t number, kept = 0;
    uint8_t *data = calloc(1, LARGE_BYTES);
    assert_non_null(data);
    assert_int_equal(trace_writer_open(&options, &header, &writer), HAL_OK);
    for (uint8_t i = 1; i <= LARGE; i++) {
        data[i] = i;
        assert_int_equal(trace_writer_content(writer, data, LARGE_BYTES, &number), HAL_OK);
    }
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    struct trace_reader *reader = open_reader(f);
    for (uint64_t i = 1; i <= LARGE; i++)
        assert_int_equal(trace_reader_content(reader, i, data, LARGE_BYTES), HAL_OK);
    for (uint8_t i = 1; i <= LARGE; i++)
        assert_int_equal(data[i], i);
    for (size_t i = 0; i < TRACE_CACHED_FRAMES; i++)
        kept += reader->blobs_cache.slots[i].raw.capacity;
    assert_in_range(kept, LARGE_BYTES, TRACE_CACHED_BYTES);
    const uint64_t before = reader->input.work_bytes;
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(trace_reader_content(reader, LARGE - i % 4, data, LARGE_BYTES), HAL_OK);
    assert_int_equal(reader->input.work_bytes, before);
    trace_reader_close(reader);
    free(data);
}

TEST_ON(damaged_chunks_are_read_once, struct fixture *f)
{
    build_chunks(f);
    assert_int_equal(damage_frames(f, false), 1);
    struct trace_reader *reader = open_reader(f);
    const uint64_t before = reader->input.work_bytes;
    struct trace_chunk chunk;
    assert_int_equal(trace_reader_chunk_count(reader), THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(trace_reader_chunk(reader, i, &chunk), HAL_CORRUPT);
        assert_non_null(strstr(hal_message(), "damaged"));
    }
    assert_in_range(reader->input.work_bytes - before, 1, linear(reader));
    trace_reader_close(reader);
}

/* Of a file without an index all frames are looked at, and most are small. */
TEST_ON(walking_is_linear, struct fixture *f)
{
    enum { FLUSHES = 400 };
    static struct trace_builder b;
    struct trace_reader *reader;
    builder_open(&b, f->path, NULL);
    for (int i = 0; i < FLUSHES; i++) {
        builder_scope_begin(&b, "a scope");
        builder_flush(&b);
    }
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    reader = open_reader(f);
    const uint64_t bytes = reader->counts.file_bytes;
    trace_reader_close(reader);
    assert_int_equal(truncate(f->path, (off_t)bytes - 1), 0);
    reader = open_reader(f);
    assert_true(reader->counts.frames >= FLUSHES);
    assert_in_range(reader->input.work_bytes, bytes,
                    4 * linear(reader) + reader->counts.frames * 5000);
    trace_reader_close(reader);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    if (!test_folder_make(&fixture.folder))
        return -1;
    test_folder_file(&fixture.folder, "t.pb.zst", fixture.path);
    return 0;
}

static int tear_down(void **state)
{
    const struct fixture *fixture = *state;
    test_folder_remove(&fixture->folder);
    return 0;
}

TEST_SUITE_FIXTURE(set_up, tear_down);
