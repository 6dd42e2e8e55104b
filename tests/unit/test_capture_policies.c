/* SPDX-License-Identifier: Apache-2.0 */
/* What the policies leave out of a trace, what stands for it, and what has no room:
 * capture/begin.c, contents.c, staging.c. */
#include "tests/support/contents.h"

#include "hal/base/mem.h"
#include "hal/driver.h"

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

static void digests_stand_for_bytes(void **state)
{
    (void)state;
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

static void nothing_is_kept_where_nothing_is_wanted(void **state)
{
    (void)state;
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
static void bytes_are_stored_once_and_without_digests(void **state)
{
    (void)state;
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
static void the_budget_ends_bytes_and_not_the_capture(void **state)
{
    (void)state;
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

/* The same bytes twice: the second capture refers to the first one's, and reads like it with it. */
static void a_capture_refers_to_another_one(void **state)
{
    (void)state;
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

static void wrong_policies_are_refused(void **state)
{
    (void)state;
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

static void tiny_staging_waits_for_the_writer(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(digests_stand_for_bytes, contents_by_pages),
        cmocka_unit_test_setup(nothing_is_kept_where_nothing_is_wanted, contents_by_pages),
        cmocka_unit_test_setup(bytes_are_stored_once_and_without_digests, contents_by_pages),
        cmocka_unit_test_setup(the_budget_ends_bytes_and_not_the_capture, contents_by_pages),
        cmocka_unit_test_setup(a_capture_refers_to_another_one, contents_by_pages),
        cmocka_unit_test_setup(wrong_policies_are_refused, contents_by_pages),
        cmocka_unit_test_setup(tiny_staging_waits_for_the_writer, contents_by_pages),
    };
    return cmocka_run_group_tests(tests, contents_setup, contents_teardown);
}
