/* SPDX-License-Identifier: Apache-2.0 */
/* format/file/contents.c: the same bytes once, batches, large and incompressible contents, with
 * digests in the file and without. */
#include "format/container/index.h"
#include "format/file/contents.h"
#include "format/file/rewrite.h"
#include "format/limits.h"
#include "format/trace.h"
#include "tests/support/random_records.h"
#include "tests/support/test.h"
#include "tests/support/trace_folder.h"

#include <openssl/sha.h>
#include <unistd.h>

static bool without_sha256; /* what the test in progress writes */

static struct trace_writer *open_writer(void)
{
    static const struct trace_header header = {.program = "x"};
    struct trace_writer *writer;
    const struct trace_writer_options options = {
        .path = path, .force = true, .without_sha256 = without_sha256};
    assert_int_equal(trace_writer_open(&options, &header, &writer), HAL_OK);
    return writer;
}

static struct trace_reader *open_reader(void)
{
    struct trace_reader *reader;
    if (trace_reader_open(path, &reader) != HAL_OK)
        fail_msg("%s", hal_message());
    return reader;
}

static int with_digests(void **state)
{
    (void)state;
    without_sha256 = false;
    return 0;
}

static int without_digests(void **state)
{
    (void)state;
    without_sha256 = true;
    return 0;
}

static void fill(uint8_t *data, size_t bytes, uint64_t seed, bool is_random)
{
    struct random_records r = {.state = seed};
    for (size_t i = 0; i < bytes; i++)
        data[i] = is_random ? (uint8_t)random_number(&r) : (uint8_t)((seed + i) / 64);
}

static uint64_t add(struct trace_writer *writer, const void *data, size_t bytes)
{
    uint64_t number;
    assert_int_equal(trace_writer_content(writer, data, bytes, &number), HAL_OK);
    return number;
}

static void check(struct trace_reader *reader, uint64_t number, const uint8_t *data, size_t bytes)
{
    uint64_t size;
    uint8_t sha256[32], expected[32], *found = malloc(bytes + 1);
    assert_int_equal(trace_reader_content_info(reader, number, &size, sha256), HAL_OK);
    assert_int_equal(size, bytes);
    SHA256(data, bytes, expected);
    assert_memory_equal(sha256, expected, 32);
    assert_int_equal(trace_reader_content(reader, number, found, bytes), HAL_OK);
    assert_memory_equal(found, data, bytes);
    free(found);
}

/* Sizes around what is written alone (256 KiB) and what a batch holds (1 MiB). */
TEST_EACH(all_sizes_come_back_and_are_stored_once, with_digests, without_digests)
{
    static const size_t sizes[] = {0,      1,       31,      4096,    65536,  262143,
                                   262144, 1048575, 1048576, 1048577, 4194304};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    uint8_t *data = malloc(4194304);
    struct trace_writer *writer = open_writer();
    uint64_t numbers[2][COUNT];
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            for (int random = 0; random < 2; random++) {
                fill(data, sizes[i], i + 1, random);
                const uint64_t number = add(writer, data, sizes[i]);
                if (round == 0)
                    numbers[random][i] = number;
                else
                    assert_int_equal(number, numbers[random][i]);
            }
        }
    }
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    struct trace_reader *reader = open_reader();
    assert_int_equal(trace_reader_counts(reader)->contents, 2 * COUNT - 1); /* 0 bytes are equal */
    for (size_t i = COUNT; i-- > 0;) {
        for (int random = 0; random < 2; random++) {
            fill(data, sizes[i], i + 1, random);
            check(reader, numbers[random][i], data, sizes[i]);
        }
    }
    trace_reader_close(reader);
    free(data);
}

TEST_EACH(thousands_of_small_ones, with_digests, without_digests)
{
    enum { COUNT = 20000 };
    struct trace_writer *writer = open_writer();
    uint8_t data[64];
    for (uint64_t i = 0; i < 2 * COUNT; i++) {
        fill(data, sizeof data, 77 * (i % COUNT), true);
        assert_int_equal(add(writer, data, sizeof data), i % COUNT + 1);
    }
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    struct trace_reader *reader = open_reader();
    const struct trace_counts *counts = trace_reader_counts(reader);
    assert_int_equal(counts->contents, COUNT);
    assert_int_equal(counts->content_bytes, COUNT * sizeof data);
    assert_true(counts->frames < 30); /* many in one frame */
    /* A byte for the size, and 32 for the digest. */
    const size_t each = sizeof data + 1 + (without_sha256 ? 0 : 32);
    assert_in_range(counts->stored_content_bytes, COUNT * each, COUNT * each + 30 * 100);
    for (uint64_t i = 0; i < COUNT; i += 997) {
        fill(data, sizeof data, 77 * i, true);
        check(reader, i + 1, data, sizeof data);
    }
    trace_reader_close(reader);
}

TEST(what_compresses_is_compressed)
{
    const size_t bytes = 8 << 20;
    uint8_t *data = malloc(bytes);
    for (int random = 0; random < 2; random++) {
        struct trace_writer *writer = open_writer();
        fill(data, bytes, 3, random);
        add(writer, data, bytes);
        assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
        struct trace_reader *reader = open_reader();
        const uint64_t stored = trace_reader_counts(reader)->stored_content_bytes;
        if (random)
            assert_in_range(stored, bytes, bytes + 200);
        else
            assert_in_range(stored, 100, bytes / 20);
        check(reader, 1, data, bytes);
        trace_reader_close(reader);
    }
    free(data);
}

/* Of 232 values 24 are twice as frequent, so that a byte has 7.8 bits: 2 percent are not worth the
 * time. */
TEST(what_hardly_compresses_is_stored_as_it_is)
{
    const size_t bytes = 1 << 20;
    uint8_t *data = malloc(bytes);
    fill(data, bytes, 3, true);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(data[i] * 232 / 256);
    struct trace_writer *writer = open_writer();
    add(writer, data, bytes);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    struct trace_reader *reader = open_reader();
    assert_in_range(trace_reader_counts(reader)->stored_content_bytes, bytes, bytes + 200);
    check(reader, 1, data, bytes);
    trace_reader_close(reader);
    free(data);
}

/* A frame of zstd would add 14: its head of 7, a block's of 3, a checksum of 4. Of ours are the
 * number of the first content, and its size. */
TEST(what_compressing_makes_larger_is_stored_as_it_is)
{
    enum { MOST_META = 8 };
    uint8_t data[1000];
    without_sha256 = true;
    struct trace_writer *writer = open_writer();
    fill(data, sizeof data, 3, true);
    add(writer, data, sizeof data);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    struct trace_reader *reader = open_reader();
    const size_t least = sizeof(struct trace_frame_head) + sizeof data;
    assert_in_range(trace_reader_counts(reader)->stored_content_bytes, least, least + MOST_META);
    check(reader, 1, data, sizeof data);
    trace_reader_close(reader);
}

TEST(contents_come_before_the_events_that_name_them)
{
    struct trace_content_event access = {.head = {.kind = TRACE_HOST_WRITE, .bytes = sizeof access},
                                         .size = 5};
    struct trace_writer *writer = open_writer();
    access.content = add(writer, "hello", 5);
    assert_int_equal(trace_writer_records(writer, 0, &access, sizeof access), HAL_OK);
    assert_int_equal(trace_writer_flush(writer), HAL_OK);
    struct trace_reader *reader = open_reader();
    struct trace_chunk chunk;
    assert_int_equal(trace_reader_chunk(reader, 0, &chunk), HAL_OK);
    trace_chunk_free(&chunk);
    check(reader, 1, (const uint8_t *)"hello", 5);
    trace_reader_close(reader);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
}

TEST(limits_and_wrong_numbers)
{
    uint8_t *data = calloc(1, TRACE_MAX_CONTENT_BYTES + 1);
    uint64_t number, size;
    uint8_t sha256[32];
    struct trace_writer *writer = open_writer();
    assert_int_equal(trace_writer_content(writer, data, TRACE_MAX_CONTENT_BYTES + 1, &number),
                     HAL_INVALID);
    assert_int_equal(add(writer, data, TRACE_MAX_CONTENT_BYTES), 1);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    struct trace_reader *reader = open_reader();
    check(reader, 1, data, TRACE_MAX_CONTENT_BYTES);
    assert_int_equal(trace_reader_content(reader, 1, data, 5), HAL_INVALID);
    assert_int_equal(trace_reader_content(reader, 0, data, 0), HAL_NOT_FOUND);
    assert_int_equal(trace_reader_content(reader, 2, data, 0), HAL_NOT_FOUND);
    assert_int_equal(trace_reader_content_info(reader, 2, &size, sha256), HAL_NOT_FOUND);
    trace_reader_close(reader);
    free(data);
}

/* One that the trace has already needs no number. */
TEST(no_more_than_readers_take)
{
    uint64_t number = 0;
    struct trace_output output = {0};
    struct trace_contents contents;
    struct trace_directory directory;
    trace_directory_init(&directory);
    assert_int_equal(trace_contents_init(&contents, true), HAL_OK);
    assert_int_equal(trace_contents_add(&contents, &directory, &output, "a", 1, &number), HAL_OK);
    contents.count = TRACE_MAX_CONTENTS;
    assert_int_equal(trace_contents_add(&contents, &directory, &output, "b", 1, &number),
                     HAL_INVALID);
    assert_non_null(strstr(hal_message(), "content 25165825 of a trace, the limit is 25165824"));
    assert_int_equal(trace_contents_add(&contents, &directory, &output, "a", 1, &number), HAL_OK);
    assert_int_equal(number, 1);
    contents.count = TRACE_MAX_CONTENTS - 1;
    assert_int_equal(trace_contents_add(&contents, &directory, &output, "b", 1, &number), HAL_OK);
    assert_int_equal(number, 25165824);
    trace_contents_finish(&contents);
    trace_directory_finish(&directory);
}

/* Without a digest the checksum tells. */
TEST_EACH(damage_is_seen, with_digests, without_digests)
{
    const size_t bytes = 1 << 20;
    uint64_t size;
    uint8_t sha256[32], *data = malloc(bytes);
    struct trace_writer *writer = open_writer();
    fill(data, bytes, 5, true);
    add(writer, data, bytes);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)bytes / 2, SEEK_SET), 0);
    const int byte = fgetc(file);
    assert_int_equal(fseek(file, (long)bytes / 2, SEEK_SET), 0);
    assert_int_equal(fputc(byte ^ 4, file), byte ^ 4);
    assert_int_equal(fclose(file), 0);
    struct trace_reader *reader = open_reader();
    assert_int_equal(trace_reader_content_size(reader, 1, &size), HAL_OK);
    assert_int_equal(size, bytes);
    assert_int_equal(trace_reader_content_info(reader, 1, &size, sha256),
                     without_sha256 ? HAL_CORRUPT : HAL_OK); /* known without the bytes */
    assert_int_equal(trace_reader_content(reader, 1, data, bytes), HAL_CORRUPT);
    assert_non_null(strstr(hal_message(), path));
    trace_reader_close(reader);
    free(data);
}

/* With low latency, six bits in a byte, a quarter goes; digests that the capture went
 * without do not come. */
TEST(recompressed_traces_are_smaller)
{
    enum { COARSE_BYTES = 512 << 10 };
    bool copied = true;
    char other[sizeof path + 8];
    uint8_t data[1000], *coarse = malloc(COARSE_BYTES);
    assert_non_null(coarse);
    fill(coarse, COARSE_BYTES, 1000, true);
    for (size_t i = 0; i < COARSE_BYTES; i++)
        coarse[i] &= 63;
    without_sha256 = true;
    struct trace_writer *writer = open_writer();
    trace_writer_low_latency(writer, true);
    add(writer, coarse, COARSE_BYTES);
    for (int i = 0; i < 100; i++) {
        fill(data, sizeof data, (uint64_t)i, true);
        add(writer, data, sizeof data - (size_t)i);
    }
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    struct trace_reader *reader = open_reader();
    const uint64_t before = trace_reader_counts(reader)->stored_content_bytes;
    assert_true(before > COARSE_BYTES);
    snprintf(other, sizeof other, "%s.again", path);
    trace_reader_close(reader);
    assert_int_equal(trace_recompress(path, &(struct trace_rewrite_options){.path = other},
                                      "recompress", NULL, NULL, &copied),
                     HAL_OK);
    assert_int_equal(trace_reader_open(other, &reader), HAL_OK);
    assert_false(copied);
    assert_in_range(trace_reader_counts(reader)->stored_content_bytes, before / 2, before * 9 / 10);
    check(reader, 1, coarse, COARSE_BYTES);
    for (int i = 0; i < 100; i++) {
        fill(data, sizeof data, (uint64_t)i, true);
        check(reader, (uint64_t)i + 2, data, sizeof data - (size_t)i);
    }
    trace_reader_close(reader);
    free(coarse);
    unlink(other);
}

TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
