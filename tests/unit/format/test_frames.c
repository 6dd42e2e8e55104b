/* SPDX-License-Identifier: Apache-2.0 */
/* format/container/frames.c, format/container/index.c: every kind of damage to a file. A small
 * trace is cut off after every byte and damaged in every byte; foreign, newer and recompressed
 * files; full disks. */
#include "format/container/activity.h"
#include "format/trace.h"
#include "hal/base/mem.h"
#include "tests/support/random_records.h"
#include "tests/support/test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

static char folder[] = "/tmp/haltrace-frames-XXXXXX";
static char path[sizeof folder + 16], other[sizeof folder + 16];
static uint8_t *whole; /* a small trace */
static size_t whole_bytes;
static struct random_records events;

enum { CONTENTS = 5, FLUSHES = 3 };

static struct trace_writer *open_writer(const char *at)
{
    static const struct trace_header header = {
        .writer = "test", .program = "/bin/x", .process_id = 1, .start_ns = 1};
    struct trace_writer *writer;
    const struct trace_writer_options options = {.path = at, .force = true};
    assert_int_equal(trace_writer_open(&options, &header, &writer), HAL_OK);
    return writer;
}

static void fill_content(uint8_t *data, size_t bytes, uint64_t number)
{
    struct random_records r = {.state = number};
    for (size_t i = 0; i < bytes; i++)
        data[i] = number % 2 ? (uint8_t)random_number(&r) : (uint8_t)(i / 7);
}

static size_t content_bytes(uint64_t number)
{
    return (size_t)(number - 1) * 60;
}

/* Contents, tables and events, flushed a few times, so that all kinds of frames are there. */
static void write_small(void)
{
    struct trace_writer *writer = open_writer(path);
    struct random_records tables = {.state = 1, .thread = 1, .string_count = 4, .stack_count = 3};
    random_tables(&tables);
    assert_int_equal(trace_writer_records(writer, 1, tables.data, tables.bytes), HAL_OK);
    random_finish(&tables);
    events = (struct random_records){.state = 2,
                                     .thread = 1,
                                     .string_count = 4,
                                     .stack_count = 3,
                                     .content_count = CONTENTS,
                                     .next_ticket = 1,
                                     .now_ns = 1000};
    for (uint64_t i = 1; i <= CONTENTS; i++) {
        uint64_t number;
        uint8_t data[512];
        fill_content(data, content_bytes(i), i);
        assert_int_equal(trace_writer_content(writer, data, content_bytes(i), &number), HAL_OK);
        assert_int_equal(number, i);
    }
    for (int flush = 0; flush < FLUSHES; flush++) {
        const size_t begin = events.bytes;
        static const uint32_t kinds[] = {TRACE_SCOPE_BEGIN, TRACE_COMMAND_BUFFER_SEAL, TRACE_SUBMIT,
                                         TRACE_SEMAPHORE_WAIT, TRACE_HOST_READ};
        for (size_t k = 0; k < 5; k++)
            random_event(&events, kinds[k], 6);
        assert_int_equal(trace_writer_records(writer, 1, events.data + begin, events.bytes - begin),
                         HAL_OK);
        assert_int_equal(trace_writer_flush(writer), HAL_OK);
    }
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
}

static uint8_t *read_file(const char *from, size_t *out_bytes)
{
    FILE *file = fopen(from, "rb");
    assert_non_null(file);
    struct stat info;
    assert_int_equal(fstat(fileno(file), &info), 0);
    *out_bytes = (size_t)info.st_size;
    uint8_t *data = malloc(*out_bytes + 1);
    assert_int_equal(fread(data, 1, *out_bytes, file), *out_bytes);
    fclose(file);
    return data;
}

static void write_file(const char *to, const void *data, size_t bytes)
{
    FILE *file = fopen(to, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/t.pb.zst", folder);
    snprintf(other, sizeof other, "%s/o.pb.zst", folder);
    write_small();
    whole = read_file(path, &whole_bytes);
    print_message("a trace of %zu bytes\n", whole_bytes);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(whole);
    random_finish(&events);
    unlink(path);
    unlink(other);
    return rmdir(folder);
}

/* Opens, reads everything, compares it with what was written as far as it goes. Returns the first
 * failure. */
static enum hal_status read_all(size_t *out_events, bool *out_is_cut)
{
    struct trace_reader *reader;
    size_t at = 0;
    *out_events = 0;
    enum hal_status status = trace_reader_open(other, &reader);
    if (status != HAL_OK)
        return status;
    *out_is_cut = *trace_reader_truncated(reader) != '\0';
    for (size_t i = 0; i < trace_reader_chunk_count(reader) && status == HAL_OK; i++) {
        struct trace_chunk chunk;
        status = trace_reader_chunk(reader, i, &chunk);
        *out_events += chunk.event_count;
        if (status == HAL_OK)
            assert_true(chunk.bytes <= events.bytes - at);
        if (status == HAL_OK)
            assert_memory_equal(chunk.events, events.data + at, chunk.bytes);
        at += chunk.bytes;
        trace_chunk_free(&chunk);
    }
    for (uint64_t i = 1; i <= trace_reader_counts(reader)->contents && status == HAL_OK; i++) {
        uint8_t expected[512], found[512];
        fill_content(expected, content_bytes(i), i);
        status = trace_reader_content(reader, i, found, content_bytes(i));
        if (status == HAL_OK)
            assert_memory_equal(found, expected, content_bytes(i));
    }
    trace_reader_close(reader);
    return status;
}

/* ---- Damage ------------------------------------------------------------------------------- */

TEST(the_whole_file_is_whole)
{
    size_t count;
    bool is_cut = true;
    write_file(other, whole, whole_bytes);
    assert_int_equal(read_all(&count, &is_cut), HAL_OK);
    assert_int_equal(count, events.event_count);
    assert_false(is_cut);
}

TEST(every_cut_is_noticed_and_what_is_whole_is_read)
{
    size_t opened = 0, most = 0;
    for (size_t bytes = 0; bytes < whole_bytes; bytes++) {
        size_t count;
        bool is_cut = false;
        write_file(other, whole, bytes);
        const enum hal_status status = read_all(&count, &is_cut);
        if (status == HAL_OK) {
            if (!is_cut)
                fail_msg("cut after %zu bytes: not noticed", bytes);
            /* A longer file never has less. */
            assert_true(count >= most);
            most = count;
            opened++;
        } else if (opened) {
            fail_msg("cut after %zu bytes: %s", bytes, hal_message());
        } else {
            assert_int_equal(status, HAL_CORRUPT);
            assert_non_null(strstr(hal_message(), other));
        }
    }
    assert_int_equal(most, events.event_count);
    assert_true(opened > whole_bytes / 2);
}

/* As file systems leave it after a crash: the length is there, the bytes are not. */
TEST(zeros_at_the_end_are_a_cut)
{
    enum { ZEROS = 5000 };
    uint8_t *longer = malloc(whole_bytes + ZEROS);
    for (size_t bytes = 0; bytes <= whole_bytes; bytes++) {
        size_t cut_count, count;
        bool is_cut = false;
        if (bytes < whole_bytes && whole[bytes] == 0)
            continue; /* then the zeros begin later */
        memcpy(longer, whole, bytes);
        memset(longer + bytes, 0, ZEROS);
        write_file(other, whole, bytes);
        const enum hal_status cut = read_all(&cut_count, &is_cut);
        write_file(other, longer, bytes + ZEROS);
        const enum hal_status status = read_all(&count, &is_cut);
        if (status != cut)
            fail_msg("zeros after %zu bytes: %d, not %d: %s", bytes, (int)status, (int)cut,
                     hal_message());
        if (cut == HAL_OK) {
            assert_true(is_cut);
            assert_int_equal(count, cut_count);
        }
    }
    /* Zeros do not hide damage. */
    memcpy(longer, whole, whole_bytes);
    longer[whole_bytes / 2] ^= 1;
    write_file(other, longer, whole_bytes + ZEROS);
    size_t count;
    bool is_cut;
    assert_int_equal(read_all(&count, &is_cut), HAL_CORRUPT);
    free(longer);
}

/* Where it begins: a frame's head of 8 bytes, 8 for each entry, and a footer of 9 that begins with
 * their number. */
static size_t seek_table(void)
{
    uint32_t entries;
    memcpy(&entries, whole + whole_bytes - 9, sizeof entries);
    return whole_bytes - 9 - 8 * (size_t)entries - 8;
}

TEST(every_changed_byte_is_noticed)
{
    uint8_t *copy = malloc(whole_bytes);
    size_t frames = 0;
    for (size_t at = 0; at < whole_bytes; at++) {
        for (unsigned bit = 0; bit < 8; bit += at < 64 || at + 64 > whole_bytes ? 1 : 8) {
            size_t count;
            bool is_cut = false;
            memcpy(copy, whole, whole_bytes);
            copy[at] ^= (uint8_t)(1u << ((bit + at) % 8));
            write_file(other, copy, whole_bytes);
            const enum hal_status status = read_all(&count, &is_cut);
            if (at >= seek_table()) { /* all that it says follows from the index */
                assert_int_equal(status, HAL_OK);
                assert_true(is_cut);
                assert_int_equal(count, events.event_count);
                continue;
            }
            if (status != HAL_CORRUPT && status != HAL_VERSION)
                fail_msg("byte %zu of %zu changed: status %d, '%s'", at, whole_bytes, status,
                         hal_message());
            /* The frame's own checksum is the first to see it. */
            if (strstr(hal_message(), "SHA-256") || strstr(hal_message(), "decompressed"))
                fail_msg("byte %zu of %zu changed: '%s'", at, whole_bytes, hal_message());
            frames += strstr(hal_message(), "wrong checksum of the frame at") != NULL;
        }
    }
    assert_true(frames > 0);
    free(copy);
}

TEST(missing_and_added_frames_are_noticed)
{
    size_t count;
    bool is_cut;
    uint8_t *copy = malloc(2 * whole_bytes);
    memcpy(copy, whole, whole_bytes);
    memcpy(copy + whole_bytes, whole, whole_bytes);
    write_file(other, copy, 2 * whole_bytes); /* one after the other */
    assert_int_equal(read_all(&count, &is_cut), HAL_CORRUPT);
    write_file(other, copy, whole_bytes + 20);
    assert_int_equal(read_all(&count, &is_cut), HAL_CORRUPT);
    /* Without its first frame, which the first note follows. */
    const size_t first = ZSTD_findFrameCompressedSize(whole, whole_bytes);
    assert_false(ZSTD_isError(first));
    write_file(other, whole + first, whole_bytes - first);
    assert_int_equal(read_all(&count, &is_cut), HAL_CORRUPT);
    free(copy);
}

/* The file without [begin, end), and cut off, so that no index tells. */
static void expect_gap_noticed(size_t begin, size_t end)
{
    size_t count;
    bool is_cut;
    uint8_t *copy = malloc(whole_bytes);
    memcpy(copy, whole, begin);
    memcpy(copy + begin, whole + end, whole_bytes - end);
    write_file(other, copy, whole_bytes - (end - begin) - 20);
    assert_int_equal(read_all(&count, &is_cut), HAL_CORRUPT);
    free(copy);
}

TEST(gaps_are_noticed_without_an_index)
{
    size_t at = ZSTD_findFrameCompressedSize(whole, whole_bytes), gaps = 0;
    while (at + 200 < whole_bytes) {
        const size_t bytes = ZSTD_findFrameCompressedSize(whole + at, whole_bytes - at);
        const bool is_data = memcmp(whole + at, "\x28\xB5\x2F\xFD", 4) == 0;
        const bool is_contents = !is_data && whole[at + 8] == 2;
        if (is_data) { /* with its note, and without */
            const size_t note =
                ZSTD_findFrameCompressedSize(whole + at + bytes, whole_bytes - at - bytes);
            expect_gap_noticed(at, at + bytes);
            expect_gap_noticed(at, at + bytes + note);
        }
        if (is_contents)
            expect_gap_noticed(at, at + bytes);
        gaps += is_data || is_contents;
        at += bytes;
    }
    assert_true(gaps >= 5);
}

/* ---- Foreign files ------------------------------------------------------------------------ */

static void refuse(const void *data, size_t bytes, enum hal_status expected, const char *text)
{
    size_t count;
    bool is_cut;
    write_file(other, data, bytes);
    assert_int_equal(read_all(&count, &is_cut), expected);
    if (!strstr(hal_message(), text) || !strstr(hal_message(), other) ||
        strchr(hal_message(), '\n'))
        fail_msg("'%s' does not say '%s'", hal_message(), text);
}

TEST(foreign_files_are_named)
{
    char zstd[256];
    refuse("", 0, HAL_CORRUPT, "empty");
    refuse("A letter.", 9, HAL_CORRUPT, "not a trace");
    refuse("\x1F\x8B\x08\x00 and so on", 14, HAL_CORRUPT, "gzip");
    const size_t letter = ZSTD_compress(zstd, sizeof zstd, "\nA letter.", 10, 1);
    refuse(zstd, letter, HAL_CORRUPT, "not a trace");
    const size_t nothing = ZSTD_compress(zstd, sizeof zstd, "", 0, 1);
    refuse(zstd, nothing, HAL_CORRUPT, "not a trace");
    struct trace_reader *reader;
    assert_int_equal(trace_reader_open(folder, &reader), HAL_IO);
    assert_non_null(strstr(hal_message(), "directory"));
    assert_int_equal(trace_reader_open("/dev/null", &reader), HAL_IO);
    assert_int_equal(trace_reader_open("/no/such/file", &reader), HAL_IO);
    assert_non_null(strstr(hal_message(), "/no/such/file"));
    assert_null(reader);
}

/* All data frames' contents, as a decompressor gives them. */
static uint8_t *decompress_all(size_t *out_bytes)
{
    const size_t capacity = 1 << 20;
    uint8_t *raw = malloc(capacity);
    *out_bytes = ZSTD_decompress(raw, capacity, whole, whole_bytes);
    assert_false(ZSTD_isError(*out_bytes));
    return raw;
}

TEST(recompressed_copies_are_refused)
{
    size_t bytes;
    uint8_t *raw = decompress_all(&bytes);
    uint8_t *stored = malloc(ZSTD_compressBound(bytes));
    const size_t size = ZSTD_compress(stored, ZSTD_compressBound(bytes), raw, bytes, 19);
    refuse(stored, size, HAL_CORRUPT, "recompressed");
    free(stored);
    free(raw);
}

/* The first frame with another version in its header: field 100, then field 1 of it. */
TEST(newer_versions_are_refused)
{
    size_t bytes, at = 0;
    uint8_t *raw = decompress_all(&bytes);
    assert_int_equal(raw[0], 0x0A);
    while (raw[at] == 0x0A)
        at += 2 + (size_t)raw[at + 1];
    assert_memory_equal(raw + at, "\xA2\x06", 2);
    const size_t header = 3 + (size_t)raw[at + 2];
    assert_memory_equal(raw + at + 3, "\x08\x01", 2);
    raw[at + 4] = 2;
    uint8_t stored[4096];
    const size_t size = ZSTD_compress(stored, sizeof stored, raw, at + header, 1);
    refuse(stored, size, HAL_VERSION, "version 2");
    free(raw);
}

/* ---- Standard tools ----------------------------------------------------------------------- */

static uint32_t u32(const uint8_t *data)
{
    uint32_t value;
    memcpy(&value, data, sizeof value);
    return value;
}

/* As the seekable format is published: walks the frames by the table. */
TEST(seek_table_lists_every_frame)
{
    const uint8_t *end = whole + whole_bytes;
    assert_int_equal(u32(end - 4), 0x8F92EAB1u);
    assert_int_equal(end[-5], 0);
    const uint32_t count = u32(end - 9);
    const uint8_t *table = end - 9 - 8 * (size_t)count - 8;
    assert_int_equal(u32(table), 0x184D2A5Eu);
    assert_int_equal(u32(table + 4), 8 * count + 9);
    const uint8_t *frame = whole;
    size_t raw = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t stored = u32(table + 8 + 8 * (size_t)i);
        assert_int_equal(ZSTD_findFrameCompressedSize(frame, (size_t)(end - frame)), stored);
        if (u32(frame) == 0xFD2FB528u) {
            assert_int_equal(ZSTD_getFrameContentSize(frame, stored),
                             u32(table + 12 + 8 * (size_t)i));
            assert_true(frame[4] & 4); /* Content_Checksum_flag: 'zstd -t' checks the bytes */
        } else
            assert_int_equal(u32(table + 12 + 8 * (size_t)i), 0);
        raw += u32(table + 12 + 8 * (size_t)i);
        frame += stored;
    }
    assert_ptr_equal(frame, table);
    size_t bytes;
    free(decompress_all(&bytes));
    assert_int_equal(raw, bytes);
}

/* ---- Destinations ------------------------------------------------------------------------- */

TEST(existing_files_stay_unless_forced)
{
    static const struct trace_header header = {.program = "x"};
    struct trace_writer *writer;
    write_file(other, "precious", 8);
    struct trace_writer_options options = {.path = other};
    assert_int_equal(trace_writer_open(&options, &header, &writer), HAL_EXISTS);
    assert_null(writer);
    assert_non_null(strstr(hal_message(), other));
    size_t bytes;
    uint8_t *data = read_file(other, &bytes);
    assert_int_equal(bytes, 8);
    free(data);
    options.force = true;
    assert_int_equal(trace_writer_open(&options, &header, &writer), HAL_OK);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    struct trace_reader *reader;
    assert_int_equal(trace_reader_open(other, &reader), HAL_OK);
    trace_reader_close(reader);
    options.path = "/no/such/folder/x";
    assert_int_equal(trace_writer_open(&options, &header, &writer), HAL_IO);
}

TEST(full_disks_are_reported)
{
    static const struct trace_header header = {.program = "x"};
    struct trace_writer *writer;
    const struct trace_writer_options options = {.path = other, .force = true};
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_IGN);
    write_file(other, "precious", 8);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    const enum hal_status status = trace_writer_open(&options, &header, &writer);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, HAL_IO);
    assert_non_null(strstr(hal_message(), "File too large"));
    size_t bytes;
    uint8_t *data = read_file(other, &bytes);
    assert_int_equal(bytes, 8);
    free(data);
}

/* Writes until the file may not grow: the error stays, and what is there can be read. */
TEST(what_fits_before_a_size_limit_is_readable)
{
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small = {.rlim_cur = 100000, .rlim_max = old.rlim_max};
    struct trace_writer *writer = open_writer(other);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct random_records many = {.state = 9, .thread = 1, .next_ticket = 1, .now_ns = 1};
    enum hal_status status = HAL_OK;
    size_t given = 0;
    while (status == HAL_OK && given < 10000) {
        random_clear(&many);
        for (int i = 0; i < 50; i++)
            random_event(&many, TRACE_COMMAND_BUFFER_SEAL, 10);
        status = trace_writer_records(writer, 1, many.data, many.bytes);
        if (status == HAL_OK)
            status = trace_writer_flush(writer);
        given++;
    }
    assert_int_equal(status, HAL_IO);
    assert_non_null(strstr(hal_message(), "File too large"));
    assert_int_equal(trace_writer_records(writer, 1, many.data, many.bytes), HAL_IO);
    uint64_t number;
    assert_int_equal(trace_writer_content(writer, "x", 1, &number), HAL_IO);
    assert_int_equal(trace_writer_flush(writer), HAL_IO);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_IO);
    assert_non_null(strstr(hal_message(), "File too large"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    struct trace_reader *reader;
    assert_int_equal(trace_reader_open(other, &reader), HAL_OK);
    assert_string_not_equal(trace_reader_truncated(reader), "");
    size_t read = 0;
    for (size_t i = 0; i < trace_reader_chunk_count(reader); i++) {
        struct trace_chunk chunk;
        assert_int_equal(trace_reader_chunk(reader, i, &chunk), HAL_OK);
        read += chunk.event_count;
        trace_chunk_free(&chunk);
    }
    assert_int_equal(read, 50 * (given - 1));
    trace_reader_close(reader);
    random_finish(&many);
}

TEST(rows_of_activity_fill_their_bytes)
{
    static const struct {
        size_t bytes;
        uint8_t rows;
        bool fine;
    } cases[] = {{0, 0, true},   {65, 1, true}, {66, 1, true}, {131, 2, true}, {132, 2, false},
                 {66, 0, false}, {1, 1, false}, {2, 2, false}, {3, 2, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[132] = {cases[i].rows};
        Haltrace__Note note = HALTRACE__NOTE__INIT;
        note.activity = (ProtobufCBinaryData){cases[i].bytes, bytes};
        if (trace_activity_is_plausible(&note) != cases[i].fine)
            fail_msg("%zu bytes of %u rows", cases[i].bytes, cases[i].rows);
    }
}

TEST_SUITE_FIXTURE(set_up, tear_down);
