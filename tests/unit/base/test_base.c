/* SPDX-License-Identifier: Apache-2.0 */
/* format/file/base.c, contents.c, reader.c: traces that refer to the contents of another one. */
#include "format/trace.h"
#include "hal/base/digest.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

enum { MIDDLE = 1000, LARGE = 300000, SMALL = 255, MOST = LARGE };

struct fixture {
    struct test_folder folder;
    char old[PATH_MAX], new[PATH_MAX], other[PATH_MAX];
};

static bool without_sha256; /* what the traces of the test go without */

/* Different bytes for each letter, and none that compress to nothing. */
static const uint8_t *bytes_of(char letter, size_t count)
{
    static uint8_t bytes[MOST];
    uint32_t random = (uint32_t)letter * 2654435761u;
    for (size_t i = 0; i < count; i++) {
        random = random * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(random >> 24);
    }
    return bytes;
}

/* A trace of these contents, "a1000 b300000", whose numbers must be 1, 2 and so on. */
struct content {
    char letter;
    size_t bytes;
    uint64_t number;
};

static enum hal_status open_writer(const char *path, const char *base,
                                   struct trace_writer **out_writer)
{
    const struct trace_header header = {
        .program = "p", .base = base, .device = {.uri = "cpu", .driver = "cpu", .name = "n"}};
    const struct trace_writer_options options = {
        .path = path, .force = true, .base = base, .without_sha256 = without_sha256};
    return trace_writer_open(&options, &header, out_writer);
}

static void write_trace(const char *path, const char *base, const struct content *list,
                        size_t count)
{
    struct trace_writer *writer;
    if (open_writer(path, base, &writer) != HAL_OK)
        fail_msg("%s", hal_message());
    for (size_t i = 0; i < count; i++) {
        uint64_t number;
        assert_int_equal(trace_writer_content(writer, bytes_of(list[i].letter, list[i].bytes),
                                              list[i].bytes, &number),
                         HAL_OK);
        assert_int_equal(number, list[i].number);
    }
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
}

static struct trace_reader *read_trace(const char *path)
{
    struct trace_reader *reader;
    if (trace_reader_open(path, &reader) != HAL_OK)
        fail_msg("%s", hal_message());
    return reader;
}

static void expect_content(struct trace_reader *reader, const struct content *content)
{
    static uint8_t bytes[MOST];
    uint8_t expected[32], sha256[32];
    uint64_t size;
    const uint8_t *const data = bytes_of(content->letter, content->bytes);
    assert_int_equal(hal_sha256(data, content->bytes, expected), HAL_OK);
    assert_int_equal(trace_reader_content_info(reader, content->number, &size, sha256), HAL_OK);
    assert_int_equal(size, content->bytes);
    assert_memory_equal(sha256, expected, 32);
    if (trace_reader_content(reader, content->number, bytes, content->bytes) != HAL_OK)
        fail_msg("content %d: %s", (int)content->number, hal_message());
    assert_memory_equal(bytes, data, content->bytes);
}

static const struct content old_contents[] = {
    {'a', MIDDLE, 1}, {'b', LARGE, 2}, {'c', SMALL, 3}, {'d', SMALL + 1, 4}};
/* Those of before among others; 'c' is too small to be referred to; again, the same number. */
static const struct content new_contents[] = {
    {'x', MIDDLE, 1}, {'a', MIDDLE, 2},    {'c', SMALL, 3},  {'y', LARGE, 4}, {'b', LARGE, 5},
    {'z', MIDDLE, 6}, {'d', SMALL + 1, 7}, {'a', MIDDLE, 2}, {'x', MIDDLE, 1}};
enum {
    OLD = sizeof old_contents / sizeof *old_contents,
    NEW = sizeof new_contents / sizeof *new_contents,
    REFERRED_BYTES = MIDDLE + LARGE + SMALL + 1,
};

static bool is_referred(const struct content *content)
{
    return strchr("abd", content->letter) != NULL;
}

static void write_both(const struct fixture *f)
{
    write_trace(f->old, NULL, old_contents, OLD);
    write_trace(f->new, f->old, new_contents, NEW);
}

TEST_ON(what_is_there_is_not_stored_again, const struct fixture *f)
{
    write_both(f);
    struct trace_reader *reader = read_trace(f->new);
    const struct trace_counts *counts = trace_reader_counts(reader);
    assert_string_equal(trace_reader_header(reader)->base, f->old);
    assert_int_equal(counts->contents, 7);
    assert_int_equal(counts->referred_contents, 3);
    assert_int_equal(counts->referred_bytes, REFERRED_BYTES);
    assert_true(counts->file_bytes < LARGE + LARGE / 2);
    const struct trace_missing missing = trace_reader_missing(reader);
    assert_int_equal(missing.contents, 3);
    assert_int_equal(missing.bytes, REFERRED_BYTES);
    assert_int_equal(missing.first, 2);
    for (size_t i = 0; i < NEW; i++) {
        static uint8_t bytes[MOST];
        assert_int_equal(trace_reader_has_content(reader, new_contents[i].number),
                         !is_referred(&new_contents[i]));
        if (!is_referred(&new_contents[i])) {
            expect_content(reader, &new_contents[i]);
            continue;
        }
        assert_int_equal(
            trace_reader_content(reader, new_contents[i].number, bytes, new_contents[i].bytes),
            HAL_NOT_FOUND);
        assert_non_null(strstr(hal_message(), f->old)); /* where it is */
        assert_non_null(strstr(hal_message(), "which was not given"));
    }
    assert_false(trace_reader_has_content(reader, 0));
    assert_false(trace_reader_has_content(reader, 8));
    trace_reader_close(reader);
}

TEST_ON(the_other_trace_completes_it, const struct fixture *f)
{
    write_both(f);
    write_trace(f->other, NULL, &(struct content){'d', SMALL + 1, 1}, 1);
    struct trace_reader *reader = read_trace(f->new);
    assert_int_equal(trace_reader_add_base(reader, f->other), HAL_OK); /* has one of them */
    assert_int_equal(trace_reader_missing(reader).contents, 2);
    expect_content(reader, &new_contents[6]);
    assert_int_equal(trace_reader_add_base(reader, f->old), HAL_OK);
    assert_int_equal(trace_reader_missing(reader).contents, 0);
    for (size_t i = 0; i < NEW; i++)
        expect_content(reader, &new_contents[i]);
    for (size_t i = 2; i < TRACE_MAX_BASES; i++)
        assert_int_equal(trace_reader_add_base(reader, f->other), HAL_OK);
    assert_int_equal(trace_reader_add_base(reader, f->other), HAL_INVALID);
    trace_reader_close(reader);
}

/* What a trace only refers to it cannot give: the third stores it. Nothing goes round in circles.
 */
TEST_ON(references_are_not_followed_twice, const struct fixture *f)
{
    const struct content third[] = {{'a', MIDDLE, 1}, {'x', MIDDLE, 2}};
    write_both(f);
    write_trace(f->other, f->new, third, 2);
    struct trace_reader *reader = read_trace(f->other);
    assert_true(trace_reader_has_content(reader, 1));
    assert_false(trace_reader_has_content(reader, 2));
    assert_int_equal(trace_reader_add_base(reader, f->other), HAL_OK); /* itself */
    assert_int_equal(trace_reader_missing(reader).contents, 1);
    assert_int_equal(trace_reader_add_base(reader, f->new), HAL_OK);
    expect_content(reader, &third[0]);
    expect_content(reader, &third[1]);
    trace_reader_close(reader);
}

/* Every byte of the other file, in steps: the bytes are right, or it is said that they are damaged,
 * and not that they are missing. */
TEST_ON(damage_of_the_other_trace_is_seen, const struct fixture *f)
{
    static uint8_t file_bytes[2 * MOST], bytes[MOST];
    size_t refused = 0;
    write_both(f);
    FILE *file = fopen(f->old, "rb");
    assert_non_null(file);
    const size_t count = fread(file_bytes, 1, sizeof file_bytes, file);
    fclose(file);
    assert_in_range(count, LARGE, sizeof file_bytes - 1);
    for (size_t at = 7; at < count; at += count / 40) {
        struct trace_reader *reader = read_trace(f->new);
        file_bytes[at] ^= 0x10;
        file = fopen(f->old, "wb");
        assert_true(file && fwrite(file_bytes, 1, count, file) == count && fclose(file) == 0);
        file_bytes[at] ^= 0x10;
        enum hal_status status = trace_reader_add_base(reader, f->old);
        if (status == HAL_OK)
            assert_int_equal(trace_reader_missing(reader).contents, 0);
        for (size_t i = 0; i < NEW && status == HAL_OK; i++) {
            status =
                trace_reader_content(reader, new_contents[i].number, bytes, new_contents[i].bytes);
            if (status == HAL_OK)
                assert_memory_equal(bytes, bytes_of(new_contents[i].letter, new_contents[i].bytes),
                                    new_contents[i].bytes);
            else
                assert_int_equal(status, HAL_CORRUPT);
        }
        refused += status != HAL_OK;
        trace_reader_close(reader);
    }
    assert_true(refused >= 38); /* nearly all of the file are these contents */
}

TEST_ON(what_is_no_trace_is_no_base, const struct fixture *f)
{
    struct trace_writer *writer;
    write_both(f);
    FILE *file = fopen(f->other, "w");
    assert_true(file && fputs("no trace", file) >= 0 && fclose(file) == 0);
    struct trace_reader *reader = read_trace(f->new);
    assert_int_equal(trace_reader_add_base(reader, f->other), HAL_CORRUPT);
    assert_int_equal(trace_reader_missing(reader).contents, 3);
    trace_reader_close(reader);
    assert_int_equal(open_writer(f->new, f->other, &writer), HAL_CORRUPT);
    assert_non_null(strstr(hal_message(), "the trace to refer to"));
}

static int set_up(void **state)
{
    static struct fixture f;
    *state = &f;
    if (!test_folder_make(&f.folder))
        return -1;
    test_folder_file(&f.folder, "old", f.old);
    test_folder_file(&f.folder, "new", f.new);
    test_folder_file(&f.folder, "other", f.other);
    return 0;
}

static int tear_down(void **state)
{
    test_folder_remove(&((struct fixture *)*state)->folder);
    return 0;
}

TEST_SUITE_FIXTURE(set_up, tear_down);

int main(void)
{
    const int failed = test_run();
    without_sha256 = true;
    print_message("Without digests:\n");
    return failed + test_run();
}
