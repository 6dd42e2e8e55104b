/* SPDX-License-Identifier: Apache-2.0 */
/* capture/stream/drain.c: what threads published, with its contents, is in the file as it was; and
 * when the file cannot be written, in the sidecar. */
#include "capture/stream/drain.h"
#include "capture/stream/stream.h"

#include "format/file/recover.h"
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "tests/support/captured.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_folder.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { STAGING_BYTES = 4 << 20, RING_BYTES = 8 << 20 };

static char whole[PATH_MAX];

static int set_up(void **state)
{
    if (make_trace_folder(state) != 0)
        return -1;
    test_folder_file(&folder, "whole.pb.zst", whole);
    return 0;
}

static int remove_traces(void **state)
{
    (void)state;
    unlink(path);
    unlink(whole);
    return 0;
}

/* The sidecar knows the trace and the process by when they began. */
static void prepare_stream(struct capture_stream *stream, struct trace_writer **out_writer)
{
    const struct capture_stream_options options = {.destination = path,
                                                   .sidecar_folder = folder.path,
                                                   .start_ns = hal_clock_ns(),
                                                   .staging_bytes = STAGING_BYTES,
                                                   .ring_bytes = RING_BYTES};
    assert_ok(capture_stream_open(stream, &options));
    const struct trace_header header = {.writer = "test",
                                        .program = "test",
                                        .mode = "queue",
                                        .process_id = (uint64_t)getpid(),
                                        .start_ns = options.start_ns,
                                        .sidecar = stream->sidecar.path};
    assert_ok(trace_writer_open(&(struct trace_writer_options){.path = path}, &header, out_writer));
    stream->has_file = true; /* as one of which a recovery may be asked */
}

static void open_stream(struct capture_stream *stream)
{
    struct trace_writer *writer;
    prepare_stream(stream, &writer);
    assert_ok(capture_stream_start(stream, writer));
}

static bool signal_value(struct capture_stream *stream, uint64_t value)
{
    struct capture_thread *thread = capture_enter(stream);
    struct trace_semaphore_event *event = thread ? capture_reserve(thread, sizeof *event) : NULL;
    if (!event)
        return false;
    *event = (struct trace_semaphore_event){.head = {.kind = TRACE_SEMAPHORE_SIGNAL,
                                                     .bytes = sizeof *event,
                                                     .ticket = capture_ticket(stream)},
                                            .semaphore = 1,
                                            .value = value};
    capture_publish(thread, sizeof *event);
    return true;
}

/* ---- Slices -------------------------------------------------------------------------------- */

/* The segments follow in batches, as those of a long command buffer do. */
static void seal(struct capture_thread *thread, uint64_t number, uint32_t count)
{
    enum { BATCH = 500 };
    struct trace_command_buffer_seal *record = capture_reserve(thread, sizeof *record);
    assert_non_null(record);
    *record =
        (struct trace_command_buffer_seal){.head = {.kind = TRACE_COMMAND_BUFFER_SEAL,
                                                    .bytes = sizeof *record,
                                                    .ticket = capture_ticket(thread->stream)},
                                           .command_buffer = number,
                                           .segment_count = count,
                                           .segment_bytes = count * sizeof(struct trace_fill)};
    capture_publish(thread, sizeof *record);
    for (uint32_t i = 0; i < count; i += BATCH) {
        const uint32_t some = count - i < BATCH ? count - i : BATCH;
        struct trace_fill *fills = capture_reserve(thread, some * sizeof *fills);
        assert_non_null(fills);
        for (uint32_t k = 0; k < some; k++)
            fills[k] = (struct trace_fill){.head = {.kind = TRACE_FILL, .bytes = sizeof fills[k]},
                                           .target = number,
                                           .offset = i + k,
                                           .size = 4,
                                           .pattern_bytes = 4};
        capture_publish(thread, some * sizeof *fills);
    }
}

/* The writer takes a part of what a thread has published at a time: it ends between two records,
 * and may end inside a seal, whose segments then go on in the next part. */
TEST_WITH(parts_end_between_records, NULL, remove_traces)
{
    /* Around the end of a part, and several parts long. */
    static const uint32_t counts[] = {
        1, CAPTURE_SLICE_BYTES / sizeof(struct trace_fill), 70000, 0, 20000, 7};
    enum { SEALS = sizeof counts / sizeof *counts, BETWEEN = 3001 };
    struct capture_stream stream;
    struct captured captured;
    open_stream(&stream);
    struct capture_thread *thread = capture_enter(&stream);
    for (uint32_t i = 0; i < SEALS; i++) {
        seal(thread, i, counts[i]);
        for (uint64_t k = 0; k < BETWEEN; k++)
            assert_true(signal_value(&stream, i * BETWEEN + k));
    }
    assert_ok(capture_stream_close(&stream));

    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_SIGNAL), SEALS * BETWEEN);
    for (uint64_t i = 0; i < SEALS * BETWEEN; i += 997) { /* looking one up walks */
        const struct trace_semaphore_event *event =
            captured_find(&captured, TRACE_SEMAPHORE_SIGNAL, i);
        assert_int_equal(event->value, i);
    }
    for (uint32_t i = 0; i < SEALS; i++) {
        const struct trace_command_buffer_seal *found =
            captured_find(&captured, TRACE_COMMAND_BUFFER_SEAL, i);
        const struct trace_segment *segment = captured_segments(&captured, i);
        assert_int_equal(found->command_buffer, i);
        assert_int_equal(found->segment_count, counts[i]);
        for (uint32_t k = 0; k < counts[i]; k++) {
            const struct trace_fill *fill = (const void *)segment;
            assert_int_equal(fill->target, i);
            assert_int_equal(fill->offset, k);
            segment = trace_next_segment(segment);
        }
    }
    captured_close(&captured);
}

/* ---- Contents ------------------------------------------------------------------------------ */

static void fill_bytes(uint8_t *data, size_t bytes, uint32_t seed)
{
    uint64_t random = seed + 1;
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)fixture_random(&random);
}

static void write_content(struct capture_thread *thread, uint16_t kind, const uint8_t *data,
                          uint64_t bytes)
{
    uint64_t position;
    assert_true(capture_stage(thread, data, bytes, &position));
    struct trace_content_event *record = capture_reserve(thread, sizeof *record);
    assert_non_null(record);
    *record = (struct trace_content_event){
        .head = {.kind = kind, .bytes = sizeof *record, .ticket = capture_ticket(thread->stream)},
        .buffer = 5,
        .size = bytes,
        .content = position};
    capture_publish(thread, sizeof *record);
}

/* Many more bytes than the staging holds, small and large ones in turn, some of them known. */
TEST_WITH(contents_are_those_that_were_staged, NULL, remove_traces)
{
    enum { CONTENTS = 60, DIFFERENT = 17, MOST = 700 << 10 };
    struct capture_stream stream;
    struct captured captured;
    static uint8_t data[MOST];
    open_stream(&stream);
    struct capture_thread *thread = capture_enter(&stream);
    for (uint32_t i = 0; i < CONTENTS; i++) {
        const uint32_t which = i % DIFFERENT;
        const size_t bytes = which % 3 ? 1 + which * 41 : MOST - which;
        fill_bytes(data, bytes, which);
        write_content(thread, i % 2 ? TRACE_HOST_READ : TRACE_HOST_WRITE, data, bytes);
        assert_true(signal_value(&stream, i));
    }
    assert_ok(capture_stream_close(&stream));
    captured_open(&captured, path);
    assert_int_equal(trace_reader_counts(captured.reader)->contents, DIFFERENT);
    for (uint32_t i = 0; i < CONTENTS; i++) {
        const struct trace_content_event *event =
            captured_find(&captured, i % 2 ? TRACE_HOST_READ : TRACE_HOST_WRITE, i / 2);
        assert_non_null(event);
        uint8_t *found = captured_bytes(&captured, event);
        fill_bytes(data, (size_t)event->size, i % DIFFERENT);
        assert_memory_equal(found, data, (size_t)event->size);
        free(found);
    }
    captured_close(&captured);
}

/* Their memory can be used again only after a part was written: a thread that waits for it waits
 * for a quarter of the staging at most, whatever was published meanwhile. */
TEST_WITH(parts_hold_few_contents, NULL, remove_traces)
{
    enum { CONTENTS = 9, BYTES = 400 << 10, LIMIT = STAGING_BYTES / 4, EACH = 3 };
    struct capture_stream stream;
    struct trace_writer *writer;
    struct captured captured;
    static uint8_t data[BYTES];
    prepare_stream(&stream, &writer);
    stream.writer = writer; /* drained by hand */
    struct capture_drain drain = {.stream = &stream};
    struct capture_thread *thread = capture_enter(&stream);
    assert_int_not_equal(capture_drain_all(&drain), 0); /* the thread's own record */
    for (uint32_t i = 0; i < CONTENTS; i++) {
        fill_bytes(data, BYTES, i);
        write_content(thread, TRACE_HOST_WRITE, data, BYTES);
    }
    assert_true((EACH - 1) * BYTES < LIMIT && LIMIT <= EACH * BYTES);
    for (uint32_t i = 0; i < CONTENTS / EACH; i++)
        assert_int_equal(capture_drain_all(&drain), EACH * sizeof(struct trace_content_event));
    assert_int_equal(capture_drain_all(&drain), 0);
    free(drain.scratch);
    assert_ok(capture_stream_close(&stream));
    captured_open_incomplete(&captured, path);
    for (uint32_t i = 0; i < CONTENTS; i++) {
        const struct trace_content_event *event = captured_find(&captured, TRACE_HOST_WRITE, i);
        uint8_t *found = captured_bytes(&captured, event);
        fill_bytes(data, BYTES, i);
        assert_memory_equal(found, data, BYTES);
        free(found);
    }
    captured_close(&captured);
}

/* How much of what so many contents had is in the file, which is drained by hand. Their bytes have
 * so many random bits. */
static double stored_share(uint32_t contents, unsigned bits)
{
    enum { BYTES = 400 << 10 };
    struct capture_stream stream;
    struct trace_writer *writer;
    struct trace_reader *reader;
    static uint8_t data[BYTES];
    prepare_stream(&stream, &writer);
    stream.writer = writer;
    struct capture_drain drain = {.stream = &stream};
    struct capture_thread *thread = capture_enter(&stream);
    for (uint32_t i = 0; i < contents; i++) {
        fill_bytes(data, BYTES, i);
        for (size_t k = 0; k < BYTES; k++)
            data[k] &= (uint8_t)((1u << bits) - 1);
        write_content(thread, TRACE_HOST_WRITE, data, BYTES);
    }
    while (capture_drain_all(&drain))
        continue;
    free(drain.scratch);
    assert_ok(capture_stream_close(&stream));
    assert_ok(trace_reader_open(path, &reader));
    const struct trace_counts *counts = trace_reader_counts(reader);
    assert_int_equal(counts->content_bytes, (uint64_t)contents * BYTES);
    const double share = (double)counts->stored_content_bytes / (double)counts->content_bytes;
    trace_reader_close(reader);
    unlink(path);
    return share;
}

/* Weights of a model lose a quarter, and take four times as long as writing them does. */
TEST_WITH(contents_are_stored_as_they_are_while_memory_is_short, NULL, remove_traces)
{
    enum { FEW = 3, MANY = 9 }; /* of which more than half of the staging is full */
    assert_true(stored_share(FEW, 6) < 0.85);
    assert_true(stored_share(MANY, 6) >= 1);
    assert_true(stored_share(MANY, 3) < 0.5);
}

static void assert_content(const struct captured *captured, uint64_t content, const char *text)
{
    char found[64] = "";
    uint64_t bytes;
    uint8_t digest[TRACE_DIGEST_BYTES];
    assert_ok(trace_reader_content_info(captured->reader, content, &bytes, digest));
    assert_int_equal(bytes, strlen(text));
    assert_ok(trace_reader_content(captured->reader, content, found, (size_t)bytes));
    assert_string_equal(found, text);
}

/* One record, several contents. */
TEST_WITH(an_executable_has_its_own_contents_and_those_of_its_variants, NULL, remove_traces)
{
    static const char *const texts[] = {"the source", "another language", "a third"};
    enum { VARIANTS = 2 };
    struct capture_stream stream;
    struct captured captured;
    uint64_t positions[1 + VARIANTS];
    const size_t bytes =
        sizeof(struct trace_executable_create) + VARIANTS * sizeof(struct trace_variant);
    open_stream(&stream);
    struct capture_thread *thread = capture_enter(&stream);
    for (size_t i = 0; i <= VARIANTS; i++)
        assert_true(capture_stage(thread, texts[i], strlen(texts[i]), &positions[i]));
    struct trace_executable_create *create = capture_reserve(thread, bytes);
    assert_non_null(create);
    memset(create, 0, bytes);
    create->head = (struct trace_event){.kind = TRACE_EXECUTABLE_CREATE,
                                        .bytes = (uint32_t)bytes,
                                        .ticket = capture_ticket(&stream)};
    create->executable = 3;
    create->content = positions[0];
    create->size = strlen(texts[0]);
    create->variant_count = VARIANTS;
    struct trace_variant *variants = (struct trace_variant *)(void *)create->entry_points;
    for (size_t i = 0; i < VARIANTS; i++)
        variants[i] =
            (struct trace_variant){.content = positions[i + 1], .size = strlen(texts[i + 1])};
    capture_publish(thread, bytes);
    assert_ok(capture_stream_close(&stream));

    captured_open(&captured, path);
    const struct trace_executable_create *found =
        captured_find(&captured, TRACE_EXECUTABLE_CREATE, 0);
    assert_non_null(found);
    assert_content(&captured, found->content, texts[0]);
    for (size_t i = 0; i < VARIANTS; i++)
        assert_content(&captured, trace_executable_variants(found)[i].content, texts[i + 1]);
    captured_close(&captured);
}

/* ---- A full disk --------------------------------------------------------------------------- */

/* No file may grow: the trace does not, and the sidecar's memory is there already. */
static struct rlimit stop_growth(void)
{
    struct rlimit before, none;
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    none = (struct rlimit){(rlim_t)info.st_size, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    return before;
}

static void check_recovered(const char *sidecar, uint64_t signals, uint64_t lost)
{
    struct captured captured;
    struct trace_recovered recovered;
    const struct trace_recover_options options = {
        .path = path, .sidecar = sidecar, .output = whole, .force = true};
    assert_ok(trace_recover(&options, &recovered));
    captured_open_incomplete(&captured, whole);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_SIGNAL), signals);
    const struct trace_health *health = trace_reader_health(captured.reader);
    assert_true(health->recovered);
    assert_int_equal(health->lost_records, lost);
    assert_int_equal(health->status, lost ? HAL_IO : HAL_OK);
    captured_close(&captured);
}

/* What was published when the file could not grow is in the sidecar: a recovery has everything, and
 * says so, unless the program went on. */
TEST_WITH(what_a_full_disk_did_not_take_is_recovered, NULL, remove_traces)
{
    enum { BEFORE = 50, AFTER = 70, LOST = 9 };
    char sidecar[PATH_MAX];
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    hal_log_set_level(HAL_LOG_ERROR);
    for (unsigned lost = 0; lost <= LOST; lost += LOST) {
        struct capture_stream stream;
        open_stream(&stream);
        snprintf(sidecar, sizeof sidecar, "%s", stream.sidecar.path);
        for (unsigned i = 0; i < BEFORE; i++)
            assert_true(signal_value(&stream, i));
        assert_ok(capture_stream_flush(&stream));
        const struct rlimit before = stop_growth();
        for (unsigned i = 0; i < AFTER; i++) /* unless the writer has met the limit already */
            assert_true(signal_value(&stream, i) || i > 0);
        const uint64_t early = atomic_load(&stream.sidecar.header->lost_records);
        assert_fails(capture_stream_flush(&stream), HAL_IO, "");
        for (unsigned i = 0; i < lost; i++)
            assert_false(signal_value(&stream, i));
        assert_fails(capture_stream_close(&stream), HAL_IO, "");
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        check_recovered(sidecar, BEFORE + AFTER - early, lost + early);
        assert_int_equal(unlink(sidecar), 0);
        unlink(path);
    }
    hal_log_set_level(HAL_LOG_WARN);
    signal(SIGXFSZ, handler);
}

/* What the file refused is counted, and so is what was dropped after it: the sum is in the file. */
TEST(what_is_not_in_the_file_is_counted_once)
{
    enum { BEFORE = 3, REFUSED = 2, DROPPED = 5 };
    struct capture_stream stream;
    struct captured captured;
    hal_log_set_level(HAL_LOG_ERROR);
    open_stream(&stream);
    for (unsigned i = 0; i < BEFORE; i++)
        assert_true(signal_value(&stream, i));
    assert_ok(capture_stream_flush(&stream));
    struct capture_thread *thread = capture_enter(&stream);
    const size_t bytes = REFUSED * sizeof(struct trace_event);
    struct trace_event *events = capture_reserve(thread, bytes);
    assert_non_null(events);
    memset(events, 0, bytes);
    for (unsigned i = 0; i < REFUSED; i++) /* there is no such kind */
        events[i] = (struct trace_event){.kind = 999, .bytes = sizeof *events};
    capture_publish(thread, bytes);
    assert_fails(capture_stream_flush(&stream), HAL_CORRUPT, "");
    for (unsigned i = 0; i < DROPPED; i++)
        assert_false(signal_value(&stream, i));
    char *sidecar = strdup(stream.sidecar.path);
    assert_fails(capture_stream_close(&stream), HAL_CORRUPT, "");
    captured_open_incomplete(&captured, path);
    const struct trace_health *health = trace_reader_health(captured.reader);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_SIGNAL), BEFORE);
    assert_int_equal(health->status, HAL_CORRUPT);
    assert_int_equal(health->lost_records, REFUSED + DROPPED);
    captured_close(&captured);
    unlink(sidecar);
    free(sidecar);
    unlink(path);
    hal_log_set_level(HAL_LOG_WARN);
}

TEST_SUITE_FIXTURE(set_up, remove_folder);
