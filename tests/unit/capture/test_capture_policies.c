/* SPDX-License-Identifier: Apache-2.0 */
/* What the policies leave out of a trace, what stands for it, and what has no room:
 * capture/layer/begin.c, contents.c, staging.c. */
#include "tests/support/contents.h"

#include "hal/base/mem.h"
#include "hal/driver.h"

#include <fcntl.h>
#include <sys/stat.h>

/* ---- Policies ---- */

static void begin_with(struct hal_device *device, struct hal_profiling_options options)
{
    options.file = contents_path;
    unlink(contents_path);
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
}

/* Writes and reads `bytes` bytes of which every one is `value`, through the one buffer. */
static void write_and_read(struct hal_device *device, uint8_t value, size_t bytes)
{
    uint8_t *data = malloc(bytes);
    struct hal_buffer *buffer = contents_buffer(device, 0, bytes);
    memset(data, value, bytes);
    assert_ok(hal_buffer_write(buffer, 0, data, bytes));
    assert_ok(hal_buffer_read(buffer, 0, data, bytes));
    assert_int_equal(data[bytes - 1], value);
    hal_buffer_release(buffer);
    free(data);
}

static const struct trace_content_event *nth_content(const struct captured *captured,
                                                     enum trace_event_kind kind, size_t n)
{
    const struct trace_content_event *event = captured_find(captured, kind, n);
    assert_non_null(event);
    return event;
}

TEST(digests_stand_for_bytes)
{
    /* printf abc | sha256sum */
    static const uint8_t abc[32] = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
                                    0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
                                    0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
                                    0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
    struct captured captured;
    char data[3];
    struct hal_device *device = fixture_device("cpu");
    begin_with(device, (struct hal_profiling_options){.contents = "digest", .outputs = "digest"});
    struct hal_buffer *buffer = contents_buffer(device, 0, 100);
    assert_ok(hal_buffer_write(buffer, 7, "abc", 3));
    assert_ok(hal_buffer_read(buffer, 7, data, 3));
    assert_memory_equal(data, "abc", 3);
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, contents_path);
    for (int i = 0; i < 2; i++) {
        const struct trace_content_event *event =
            nth_content(&captured, i ? TRACE_HOST_READ : TRACE_HOST_WRITE, 0);
        uint8_t stored[32];
        assert_int_equal(event->flags, TRACE_FLAG_DIGEST);
        assert_int_equal(event->offset, 7);
        assert_int_equal(event->size, 3);
        assert_ok(trace_reader_content(captured.reader, event->content, stored, sizeof stored));
        assert_memory_equal(stored, abc, sizeof abc);
    }
    assert_int_equal(trace_reader_health(captured.reader)->digest_only, 1);
    assert_int_equal(trace_reader_health(captured.reader)->over_budget_bytes, 0);
    captured_close(&captured);
}

TEST(nothing_is_kept_where_nothing_is_wanted)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    begin_with(device, (struct hal_profiling_options){.contents = "none", .outputs = "none"});
    write_and_read(device, 9, 5000);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, contents_path);
    assert_int_equal(nth_content(&captured, TRACE_HOST_WRITE, 0)->content, 0);
    assert_int_equal(nth_content(&captured, TRACE_HOST_WRITE, 0)->size, 5000);
    assert_int_equal(nth_content(&captured, TRACE_HOST_READ, 0)->content, 0);
    assert_int_equal(trace_reader_counts(captured.reader)->contents, 0);
    captured_close(&captured);
}

/* A byte for its size, and the frame's head, is all that a random content takes besides its bytes:
 * no digest of 32. Repeated, it takes nothing. */
TEST(bytes_are_stored_once_and_without_digests)
{
    enum { COUNT = 200, EACH = 100, MOST_HEADS = 3 * 100 };
    struct captured captured;
    uint64_t random = fixture_seed();
    uint8_t data[COUNT * EACH];
    contents_random(data, sizeof data, &random);
    struct hal_device *device = fixture_device("cpu");
    begin_with(device, (struct hal_profiling_options){0});
    struct hal_buffer *buffer = contents_buffer(device, 0, EACH);
    for (size_t i = 0; i < (size_t)2 * COUNT; i++)
        assert_ok(hal_buffer_write(buffer, 0, data + i % COUNT * EACH, EACH));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, contents_path);
    const struct trace_counts *counts = trace_reader_counts(captured.reader);
    assert_int_equal(counts->contents, COUNT);
    assert_in_range(counts->stored_content_bytes, COUNT * (EACH + 1),
                    COUNT * (EACH + 1) + MOST_HEADS);
    captured_close(&captured);
}

/* 1000 of 2500 bytes are used by the first write and 1000 by its read; the second pair does not
 * fit, the third one, which is smaller, does. */
TEST(the_budget_ends_bytes_and_not_the_capture)
{
    static const bool by_digest[] = {false, true, false};
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    begin_with(device, (struct hal_profiling_options){.budget_bytes = 2500});
    write_and_read(device, 1, 1000);
    write_and_read(device, 2, 1000);
    write_and_read(device, 3, 250);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, contents_path);
    for (size_t i = 0; i < 3; i++) {
        const uint32_t flags = by_digest[i] ? TRACE_FLAG_DIGEST : 0;
        assert_int_equal(nth_content(&captured, TRACE_HOST_WRITE, i)->flags, flags);
        assert_int_equal(nth_content(&captured, TRACE_HOST_READ, i)->flags, flags);
    }
    assert_int_equal(trace_reader_health(captured.reader)->over_budget_bytes, 2000);
    assert_int_equal(trace_reader_health(captured.reader)->digest_only, 1);
    captured_close(&captured);
}

/* However small they are: 100 bytes are ten of ten. */
TEST(small_contents_use_up_the_budget)
{
    enum { EACH = 10, FIT = 10, COUNT = 20 };
    struct captured captured;
    const uint8_t data[EACH] = {1};
    struct hal_device *device = fixture_device("cpu");
    begin_with(device, (struct hal_profiling_options){.budget_bytes = FIT * EACH});
    struct hal_buffer *buffer = contents_buffer(device, 0, EACH);
    for (size_t i = 0; i < COUNT; i++)
        assert_ok(hal_buffer_write(buffer, 0, data, EACH));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, contents_path);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(nth_content(&captured, TRACE_HOST_WRITE, i)->flags,
                         i < FIT ? 0 : TRACE_FLAG_DIGEST);
    assert_int_equal(trace_reader_health(captured.reader)->over_budget_bytes, (COUNT - FIT) * EACH);
    captured_close(&captured);
}

/* The same bytes twice: the second capture refers to the first one's, and reads like it with it. */
TEST(a_capture_refers_to_another_one)
{
    char second[PATH_MAX];
    test_folder_file(&contents_folder, "second.pb.zst", second);
    struct hal_device *device = fixture_device("cpu");
    begin_with(device, (struct hal_profiling_options){0});
    write_and_read(device, 77, 64 * KIB);
    assert_ok(hal_device_profiling_end(device));
    const struct hal_profiling_options options = {.file = second, .base = contents_path};
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
    write_and_read(device, 77, 64 * KIB);
    assert_ok(hal_device_profiling_end(device));
    const struct hal_profiling_options recorder = {
        .file = second, .force = true, .base = contents_path, .last_ns = INT64_C(1000000000)};
    assert_int_equal(hal_device_profiling_begin(device, &recorder, HAL_FOREVER), HAL_INVALID);
    const struct hal_profiling_options absent = {.file = second, .force = true, .base = "/none"};
    assert_int_equal(hal_device_profiling_begin(device, &absent, HAL_FOREVER), HAL_IO);
    hal_device_release(device);

    uint8_t bytes[64 * KIB];
    struct trace_reader *reader;
    assert_ok(trace_reader_open(second, &reader));
    assert_string_equal(trace_reader_header(reader)->base, contents_path);
    const struct trace_counts *counts = trace_reader_counts(reader);
    assert_int_equal(counts->referred_contents, counts->contents);
    assert_int_equal(trace_reader_missing(reader).bytes, counts->content_bytes);
    assert_int_equal(trace_reader_content(reader, 1, bytes, sizeof bytes), HAL_NOT_FOUND);
    assert_ok(trace_reader_add_base(reader, contents_path));
    assert_ok(trace_reader_content(reader, 1, bytes, sizeof bytes));
    for (size_t i = 0; i < sizeof bytes; i++)
        assert_int_equal(bytes[i], 77);
    trace_reader_close(reader);
    unlink(second);
}

enum { FILE_BYTES = 1000 };

static void change_file(const char *file, off_t bytes, struct timespec modified)
{
    const struct timespec times[2] = {modified, modified};
    assert_int_equal(truncate(file, bytes), 0);
    assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
}

static void read_from_file(struct hal_device *device, const char *path, struct hal_buffer *buffer)
{
    struct hal_file *file;
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    const struct hal_semaphore_value signal = {done, 1};
    const struct hal_submit_desc desc = {.signals = &signal, .signal_count = 1};
    assert_ok(hal_file_open(path, HAL_FILE_READ, &file));
    assert_ok(hal_queue_read(device, &desc, file, 0, buffer, 0, FILE_BYTES));
    assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
    hal_semaphore_release(done);
    hal_file_release(file);
}

/* Once, and again when the time or the size is another one. */
TEST(a_file_is_told_of_with_its_size_and_time)
{
    static const struct {
        off_t bytes;
        struct timespec modified;
        int64_t modified_ns;
    } files[] = {{FILE_BYTES, {1700000000, 123456789}, 1700000000123456789},
                 {FILE_BYTES, {1700000000, 123456790}, 1700000000123456790},
                 {FILE_BYTES + 500, {1700000000, 123456790}, 1700000000123456790}};
    enum { FILES = sizeof files / sizeof *files };
    struct captured captured;
    char path[PATH_MAX];
    test_folder_file(&contents_folder, "data", path);
    assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
    struct hal_device *device = fixture_device("cpu");
    begin_with(device, (struct hal_profiling_options){0});
    struct hal_buffer *buffer = contents_buffer(device, 0, FILE_BYTES);
    for (size_t i = 0; i < FILES; i++) {
        change_file(path, files[i].bytes, files[i].modified);
        read_from_file(device, path, buffer);
        read_from_file(device, path, buffer);
    }
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    unlink(path);

    captured_open(&captured, contents_path);
    assert_int_equal(captured_count(&captured, TRACE_FILE), FILES);
    for (size_t i = 0; i < FILES; i++) {
        const struct trace_file *file = captured_find(&captured, TRACE_FILE, i);
        assert_string_equal(captured_string(&captured, file->part.file), path);
        assert_int_equal(file->file_bytes, files[i].bytes);
        assert_int_equal(file->modified_ns, files[i].modified_ns);
        assert_int_equal(file->part.content, 0); /* only what was read is kept */
    }
    for (size_t i = 0; i < (size_t)2 * FILES; i++) {
        const struct trace_content_event *part = nth_content(&captured, TRACE_HOST_WRITE, i);
        assert_int_equal(part->flags, TRACE_FLAG_FILE);
        assert_int_equal(part->size, FILE_BYTES);
    }
    captured_close(&captured);
}

enum { SMALL_CALLS = 20000 };

static void make_small_calls(struct hal_device *device)
{
    struct hal_semaphore *semaphore = fixture_semaphore(device, "s", 0);
    for (uint64_t i = 1; i <= SMALL_CALLS; i++)
        assert_ok(hal_semaphore_signal(semaphore, i));
    hal_semaphore_release(semaphore);
}

static void digest_contents(struct hal_device *device)
{
    write_and_read(device, 5, 32 * MIB);
}

/* Of many calls, which are sampled, and of contents, each of which is measured. The least is far
 * less than either can take: a digest of 32 MiB is no matter of a millisecond. */
TEST(what_recording_cost_is_told)
{
    static const struct {
        void (*make_calls)(struct hal_device *device);
        uint64_t least_ns;
    } cases[] = {{make_small_calls, 10000}, {digest_contents, 2000000}};
    struct hal_device *device = fixture_device("cpu");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct captured captured;
        begin_with(device, (struct hal_profiling_options){
                               .stacks = "none", .contents = "digest", .outputs = "digest"});
        cases[i].make_calls(device);
        assert_ok(hal_device_profiling_end(device));
        captured_open(&captured, contents_path);
        const struct trace_health *health = trace_reader_health(captured.reader);
        assert_true(health->overhead_ns > cases[i].least_ns);
        assert_int_equal(health->lost_records, 0);
        captured_close(&captured);
    }
    hal_device_release(device);
}

/* The error is the largest of the process so far: it only grows. */
TEST(the_clock_and_its_error_are_told)
{
    struct captured captured;
    uint64_t before_ns, after_ns;
    struct hal_device *device = fixture_device("cpu");
    begin_with(device, (struct hal_profiling_options){0});
    (void)hal_clock_name(&before_ns);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    const char *name = hal_clock_name(&after_ns);
    captured_open(&captured, contents_path);
    const struct trace_health *health = trace_reader_health(captured.reader);
    assert_string_equal(health->clock, name);
    assert_in_range(health->clock_error_ns, before_ns, after_ns);
    captured_close(&captured);
}

/* From there on nothing is recorded, and the trace says how much that was, and why. */
TEST(a_file_that_is_forbidden_ends_the_recording)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    begin_with(device, (struct hal_profiling_options){.files = "fail"});
    struct hal_buffer *buffer = contents_buffer(device, 0, FILE_BYTES);
    struct hal_semaphore *semaphore = fixture_semaphore(device, "s", 0);
    assert_ok(hal_semaphore_signal(semaphore, 1));
    read_from_file(device, "/proc/self/exe", buffer);
    for (uint64_t value = 2; value < 12; value++)
        assert_ok(hal_semaphore_signal(semaphore, value));
    assert_int_equal(hal_device_profiling_end(device), HAL_UNSUPPORTED);
    hal_semaphore_release(semaphore);
    hal_buffer_release(buffer);
    hal_device_release(device);
    captured_open_incomplete(&captured, contents_path);
    const struct trace_health *health = trace_reader_health(captured.reader);
    assert_non_null(health);
    assert_int_equal(health->status, HAL_UNSUPPORTED);
    assert_non_null(strstr(health->message, "device_profiling_files=fail forbids"));
    assert_true(health->lost_records >= 10);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_SIGNAL), 1);
    captured_close(&captured);
}

TEST(wrong_policies_are_refused)
{
    struct hal_device *device = fixture_device("cpu");
    assert_fails(
        hal_device_profiling_begin(
            device, &(struct hal_profiling_options){.file = contents_path, .contents = "some"}, 0),
        HAL_INVALID, "profiling contents must be all, digest or none, not 'some'");
    assert_fails(
        hal_device_profiling_begin(
            device, &(struct hal_profiling_options){.file = contents_path, .outputs = ""}, 0),
        HAL_INVALID, "profiling outputs must be contents, digest, none or all, not ''");
    assert_fails(
        hal_device_profiling_begin(
            device, &(struct hal_profiling_options){.file = contents_path, .files = "each"}, 0),
        HAL_INVALID, "profiling files must be ranges, reference, all or fail, not 'each'");
    hal_device_release(device);
}

TEST(tiny_staging_waits_for_the_writer)
{
    struct captured captured;
    uint64_t random = fixture_seed();
    uint8_t *data = malloc(24 * MIB);
    struct hal_device *device = fixture_device("cpu");
    setenv("HAL_DEVICE_PROFILING_STAGING_MIB", "1", 1);
    captured_begin(device, contents_path);
    unsetenv("HAL_DEVICE_PROFILING_STAGING_MIB");
    struct hal_buffer *buffer = contents_buffer(device, 0, 24 * MIB);
    const uint64_t id = buffer->object.id;
    contents_random(data, 24 * MIB, &random);
    assert_ok(hal_buffer_write(buffer, 0, data, 24 * MIB));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, contents_path);
    uint8_t *seen = hal_alloc(1, 24 * MIB);
    captured_replay(&captured, TRACE_HOST_WRITE, id, UINT64_MAX, seen, 24 * MIB);
    assert_memory_equal(seen, data, 24 * MIB);
    assert_true(trace_reader_health(captured.reader)->ring_stalls > 0);
    captured_close(&captured);
    free(seen);
    free(data);
}

TEST_FIXTURE(contents_by_pages, NULL);
TEST_SUITE_FIXTURE(contents_setup, contents_teardown);
