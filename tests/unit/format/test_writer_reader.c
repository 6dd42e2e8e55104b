/* SPDX-License-Identifier: Apache-2.0 */
/* format/file/writer.c, format/file/reader.c: what goes in comes out, for every kind of record;
 * several threads, chunks and frames; command buffers in pieces; header, health, counts; flush. */
#include "format/limits.h"
#include "format/trace.h"
#include "tests/support/random_records.h"
#include "tests/support/test.h"
#include "tests/support/trace_folder.h"

#include <unistd.h>

static const char *const arguments[] = {"decode", "--tokens=3", "caf\xC3\xA9", ""};
static const struct trace_header header = {
    .writer = "test 1",
    .program = "/bin/decode",
    .arguments = arguments,
    .argument_count = 4,
    .process_id = 4242,
    .host = "machine",
    .system = "Linux",
    .mode = "queue",
    .start_ns = 1000,
    .start_wall_ns = 1700000000000000000,
    .late_start = true,
    .device = {.uri = "cpu?threads=2",
               .driver = "cpu",
               .name = "processor",
               .queue_count = 2,
               .simd_width = 32,
               .max_group_threads = 1024,
               .max_group_size = {1024, 512, 64},
               .max_group_memory_bytes = 32768,
               .max_buffer_bytes = 1ull << 40,
               .max_constant_bytes = 128,
               .worker_count = 7,
               .architecture = "abacus",
               .features = "beads,rods",
               .format_count = 2,
               .formats = {3, 1}},
};

static struct trace_writer *open_writer(void)
{
    struct trace_writer *writer;
    const struct trace_writer_options options = {.path = path, .force = true};
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

static struct random_records records_of(uint32_t thread, uint64_t seed)
{
    return (struct random_records){.state = seed,
                                   .thread = thread,
                                   .string_count = 50,
                                   .stack_count = 9,
                                   .content_count = 3,
                                   .next_ticket = 1,
                                   .now_ns = 1000000};
}

static uint64_t seed_of_run(void)
{
    const char *text = getenv("HAL_TEST_SEED");
    const uint64_t seed = text ? strtoull(text, NULL, 0) : 20;
    print_message("seed %llu\n", (unsigned long long)seed);
    return seed;
}

/* All that the reader gives for one thread, put together. */
static uint8_t *read_thread(struct trace_reader *reader, uint32_t thread, size_t *out_bytes)
{
    uint8_t *all = malloc(1);
    *out_bytes = 0;
    for (size_t i = 0; i < trace_reader_chunk_count(reader); i++) {
        struct trace_chunk chunk;
        if (trace_reader_chunk(reader, i, &chunk) != HAL_OK)
            fail_msg("%s", hal_message());
        if (chunk.thread == thread) {
            all = realloc(all, *out_bytes + chunk.bytes + 1);
            memcpy(all + *out_bytes, chunk.events, chunk.bytes);
            *out_bytes += chunk.bytes;
        }
        trace_chunk_free(&chunk);
    }
    return all;
}

static void assert_same(const struct random_records *given, struct trace_reader *reader,
                        uint32_t thread)
{
    size_t bytes;
    uint8_t *found = read_thread(reader, thread, &bytes);
    assert_int_equal(bytes, given->bytes);
    for (size_t at = 0; at < bytes; at += ((const struct trace_segment *)(given->data + at))->bytes)
        assert_memory_equal(found + at, given->data + at,
                            ((const struct trace_segment *)(given->data + at))->bytes);
    free(found);
}

static void add_contents(struct trace_writer *writer)
{
    static const char *const texts[] = {"one", "two", ""};
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t number;
        assert_int_equal(trace_writer_content(writer, texts[i], strlen(texts[i]), &number), HAL_OK);
        assert_int_equal(number, i + 1);
    }
}

/* ---- Tests -------------------------------------------------------------------------------- */

TEST(every_kind_comes_back)
{
    struct random_records tables = records_of(1, seed_of_run()), events = tables;
    random_tables(&tables);
    for (int round = 0; round < 40; round++) {
        for (uint32_t kind = TRACE_BUFFER_CREATE; kind <= RANDOM_LAST_EVENT; kind++)
            random_event(&events, kind, 30);
    }
    struct trace_writer *writer = open_writer();
    add_contents(writer);
    assert_int_equal(trace_writer_records(writer, 1, tables.data, tables.bytes), HAL_OK);
    assert_int_equal(trace_writer_records(writer, 1, events.data, events.bytes), HAL_OK);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);

    struct trace_reader *reader = open_reader();
    assert_string_equal(trace_reader_truncated(reader), "");
    assert_same(&events, reader, 1);
    const struct trace_counts *counts = trace_reader_counts(reader);
    assert_int_equal(counts->events, events.event_count);
    assert_int_equal(counts->segments, events.segment_count);
    assert_int_equal(counts->submissions, 40);
    assert_int_equal(counts->host_writes, 40);
    assert_int_equal(counts->host_reads, 40);
    assert_int_equal(counts->contents, 3);
    assert_int_equal(counts->content_bytes, 6);
    trace_reader_close(reader);
    random_finish(&tables);
    random_finish(&events);
}

TEST(tables_come_back)
{
    struct random_records tables = records_of(7, seed_of_run() + 1);
    random_tables(&tables);
    struct trace_writer *writer = open_writer();
    assert_int_equal(trace_writer_records(writer, 3, tables.data, tables.bytes), HAL_OK);
    assert_int_equal(trace_writer_records(writer, 4, tables.data, tables.bytes), HAL_OK);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    struct trace_reader *reader = open_reader();
    for (size_t at = 0; at < tables.bytes;) {
        const struct trace_event *record = (const void *)(tables.data + at);
        const struct trace_string *string = (const void *)record;
        const struct trace_stack *stack = (const void *)record;
        if (record->kind == TRACE_STRING) {
            const char *text = trace_reader_string(reader, string->id);
            assert_int_equal(strlen(text), string->length);
            assert_memory_equal(text, string->text, string->length);
        } else if (record->kind == TRACE_STACK) {
            const struct trace_stack *found = trace_reader_stack(reader, stack->id);
            assert_int_equal(found->frame_count, stack->frame_count);
            assert_memory_equal(found->frames, stack->frames, 8 * stack->frame_count);
        } else if (record->kind == TRACE_THREAD) {
            const struct trace_thread *thread = (const void *)record;
            const struct trace_thread *found = trace_reader_find_thread(reader, 7);
            assert_ptr_equal(found, trace_reader_thread(reader, 0));
            assert_int_equal(found->id, 7);
            assert_int_equal(found->system_id, thread->system_id);
            assert_int_equal(found->name, thread->name);
        } else {
            const struct trace_module *module = (const void *)record;
            const struct trace_module *found = trace_reader_module(reader, 0);
            assert_int_equal(found->base, module->base);
            assert_int_equal(found->size, module->size);
            assert_int_equal(found->build_id_bytes, 20);
            assert_memory_equal(found->build_id, module->build_id, 20);
        }
        at += record->bytes;
    }
    assert_int_equal(trace_reader_thread_count(reader), 1);
    assert_int_equal(trace_reader_chunk_count(reader), 0);
    assert_string_equal(trace_reader_string(reader, 0), "");
    assert_null(trace_reader_string(reader, 51));
    assert_null(trace_reader_stack(reader, 10));
    assert_null(trace_reader_find_thread(reader, 8));
    assert_null(trace_reader_thread(reader, 1));
    trace_reader_close(reader);
    random_finish(&tables);
}

TEST(header_and_health_come_back)
{
    const struct trace_health health = {.status = HAL_IO,
                                        .message = "disk full",
                                        .lost_records = 1,
                                        .ring_stalls = 2,
                                        .ring_stall_ns = 3,
                                        .digest_only = 4,
                                        .overhead_ns = UINT64_MAX,
                                        .recovered = true,
                                        .clock = "tsc",
                                        .clock_error_ns = 5,
                                        .over_budget_bytes = 6,
                                        .unsupported_calls = 7};
    assert_int_equal(trace_writer_close(open_writer(), &health), HAL_OK);
    struct trace_reader *reader = open_reader();
    const struct trace_header *found = trace_reader_header(reader);
    assert_int_equal(found->version_major, TRACE_VERSION_MAJOR);
    assert_string_equal(found->writer, "test 1");
    assert_string_equal(found->program, "/bin/decode");
    assert_int_equal(found->argument_count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(found->arguments[i], arguments[i]);
    assert_int_equal(found->process_id, 4242);
    assert_string_equal(found->host, "machine");
    assert_string_equal(found->system, "Linux");
    assert_string_equal(found->mode, "queue");
    assert_int_equal(found->start_ns, 1000);
    assert_int_equal(found->start_wall_ns, 1700000000000000000);
    assert_true(found->late_start);
    assert_string_equal(found->device.uri, "cpu?threads=2");
    assert_string_equal(found->device.driver, "cpu");
    assert_string_equal(found->device.name, "processor");
    assert_int_equal(found->device.queue_count, 2);
    assert_int_equal(found->device.simd_width, 32);
    assert_int_equal(found->device.max_group_threads, 1024);
    assert_memory_equal(found->device.max_group_size, header.device.max_group_size, 12);
    assert_int_equal(found->device.max_group_memory_bytes, 32768);
    assert_int_equal(found->device.max_buffer_bytes, 1ull << 40);
    assert_int_equal(found->device.max_constant_bytes, 128);
    assert_int_equal(found->device.worker_count, 7);
    assert_string_equal(found->device.architecture, "abacus");
    assert_string_equal(found->device.features, "beads,rods");
    assert_int_equal(found->device.format_count, 2);
    assert_int_equal(found->device.formats[0], 3);
    assert_int_equal(found->device.formats[1], 1);
    const struct trace_health *end = trace_reader_health(reader);
    assert_int_equal(end->status, HAL_IO);
    assert_string_equal(end->message, "disk full");
    assert_int_equal(end->lost_records, 1);
    assert_int_equal(end->ring_stalls, 2);
    assert_int_equal(end->ring_stall_ns, 3);
    assert_int_equal(end->digest_only, 4);
    assert_int_equal(end->overhead_ns, UINT64_MAX);
    assert_true(end->recovered);
    assert_string_equal(end->clock, "tsc");
    assert_int_equal(end->clock_error_ns, 5);
    assert_int_equal(end->over_budget_bytes, 6);
    assert_int_equal(end->unsupported_calls, 7);
    trace_reader_close(reader);
}

TEST(threads_interleave_over_many_frames)
{
    enum { THREADS = 3, ROUNDS = 400 };
    struct random_records threads[THREADS], tables = records_of(0, seed_of_run() + 2);
    random_tables(&tables);
    struct trace_writer *writer = open_writer();
    add_contents(writer);
    assert_int_equal(trace_writer_records(writer, 0, tables.data, tables.bytes), HAL_OK);
    for (uint32_t t = 0; t < THREADS; t++)
        threads[t] = records_of(t * 1000, t);
    for (int round = 0; round < ROUNDS; round++) {
        struct random_records *r = &threads[round % THREADS];
        const size_t begin = r->bytes;
        for (uint32_t kind = TRACE_BUFFER_CREATE; kind <= RANDOM_LAST_EVENT; kind++)
            random_event(r, kind, 60);
        assert_int_equal(trace_writer_records(writer, r->thread, r->data + begin, r->bytes - begin),
                         HAL_OK);
    }
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    struct trace_reader *reader = open_reader();
    assert_true(trace_reader_counts(reader)->frames > 6);
    assert_true(trace_reader_chunk_count(reader) > THREADS);
    for (uint32_t t = 0; t < THREADS; t++) {
        assert_same(&threads[t], reader, threads[t].thread);
        random_finish(&threads[t]);
    }
    trace_reader_close(reader);
    random_finish(&tables);
}

/* One command buffer many times larger than a chunk, given record by record, other threads in
 * between, flushed in the middle. */
TEST(large_command_buffers_come_in_pieces)
{
    struct random_records big = records_of(1, seed_of_run() + 3), other = records_of(2, 9);
    random_tables(&big);
    const size_t tables_end = big.bytes;
    do {
        big.bytes = tables_end;
        big.event_count = big.segment_count = 0;
        random_event(&big, TRACE_COMMAND_BUFFER_SEAL, 20000);
    } while (big.segment_count < 10000);
    random_event(&big, TRACE_SUBMIT, 0);
    random_event(&big, TRACE_COMMAND_BUFFER_SEAL, 5);
    random_event(&big, TRACE_SUBMIT, 0);
    struct trace_writer *writer = open_writer();
    add_contents(writer);
    size_t written = 0;
    for (size_t at = 0; at < big.bytes; written++) {
        const struct trace_segment *record = (const void *)(big.data + at);
        assert_int_equal(trace_writer_records(writer, 1, record, record->bytes), HAL_OK);
        at += record->bytes;
        if (written % 500 == 0) {
            const size_t begin = other.bytes;
            random_event(&other, TRACE_SEMAPHORE_WAIT, 0);
            assert_int_equal(
                trace_writer_records(writer, 2, other.data + begin, other.bytes - begin), HAL_OK);
        }
        if (written % 3000 == 2999)
            assert_int_equal(trace_writer_flush(writer), HAL_OK);
    }
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    memmove(big.data, big.data + tables_end, big.bytes - tables_end);
    big.bytes -= tables_end;
    struct trace_reader *reader = open_reader();
    assert_same(&big, reader, 1);
    assert_same(&other, reader, 2);
    assert_int_equal(trace_reader_counts(reader)->segments, big.segment_count);
    trace_reader_close(reader);
    random_finish(&big);
    random_finish(&other);
}

struct visits {
    const uint8_t *expected;
    size_t at, events;
    size_t stop_after;
};

static enum hal_status visit(void *user, const struct trace_event *event,
                             const struct trace_segment *segments)
{
    struct visits *visits = user;
    assert_memory_equal(event, visits->expected + visits->at, event->bytes);
    visits->at += event->bytes;
    if (event->kind == TRACE_COMMAND_BUFFER_SEAL) {
        const uint64_t bytes = ((const struct trace_command_buffer_seal *)event)->segment_bytes;
        assert_memory_equal(segments, visits->expected + visits->at, bytes);
        visits->at += bytes;
    } else {
        assert_null(segments);
    }
    return ++visits->events == visits->stop_after ? HAL_TIMEOUT : HAL_OK;
}

TEST(each_visits_in_order_and_stops)
{
    struct random_records events = records_of(1, seed_of_run() + 4), tables = events;
    random_tables(&tables);
    for (int i = 0; i < 300; i++)
        random_event(&events, i % 3 ? TRACE_SUBMIT : TRACE_COMMAND_BUFFER_SEAL, 90);
    struct trace_writer *writer = open_writer();
    assert_int_equal(trace_writer_records(writer, 1, tables.data, tables.bytes), HAL_OK);
    assert_int_equal(trace_writer_records(writer, 1, events.data, events.bytes), HAL_OK);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    struct trace_reader *reader = open_reader();
    struct visits visits = {.expected = events.data};
    assert_int_equal(trace_reader_each(reader, visit, &visits), HAL_OK);
    assert_int_equal(visits.events, 300);
    assert_int_equal(visits.at, events.bytes);
    visits = (struct visits){.expected = events.data, .stop_after = 17};
    assert_int_equal(trace_reader_each(reader, visit, &visits), HAL_TIMEOUT);
    assert_int_equal(visits.events, 17);
    trace_reader_close(reader);
    random_finish(&tables);
    random_finish(&events);
}

TEST(tickets_survive)
{
    static const uint64_t tickets[] = {0, 5, 5, 5, 0, 6, 3, 0, 0, UINT64_MAX / 4, 1, 2};
    enum { COUNT = sizeof tickets / sizeof tickets[0] };
    struct trace_wait_idle waits[COUNT];
    memset(waits, 0, sizeof waits);
    for (size_t i = 0; i < COUNT; i++)
        waits[i].head = (struct trace_event){.kind = TRACE_WAIT_IDLE,
                                             .bytes = sizeof waits[i],
                                             .ticket = tickets[i],
                                             .begin_ns = i % 2 ? -7 : INT64_MAX,
                                             .end_ns = i % 3 ? INT64_MIN : 0};
    struct trace_writer *writer = open_writer();
    assert_int_equal(trace_writer_records(writer, 0, waits, sizeof waits), HAL_OK);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    struct trace_reader *reader = open_reader();
    struct trace_chunk chunk;
    assert_int_equal(trace_reader_chunk(reader, 0, &chunk), HAL_OK);
    assert_int_equal(chunk.bytes, sizeof waits);
    assert_memory_equal(chunk.events, waits, sizeof waits);
    trace_chunk_free(&chunk);
    trace_reader_close(reader);
}

TEST(flushed_events_are_there_before_the_end)
{
    struct random_records events = records_of(1, 5), tables = events;
    random_tables(&tables);
    random_event(&events, TRACE_SUBMIT, 0);
    struct trace_writer *writer = open_writer();
    assert_int_equal(trace_writer_records(writer, 1, tables.data, tables.bytes), HAL_OK);
    assert_int_equal(trace_writer_records(writer, 1, events.data, events.bytes), HAL_OK);
    assert_int_equal(trace_writer_flush(writer), HAL_OK);
    struct trace_reader *reader = open_reader();
    assert_string_not_equal(trace_reader_truncated(reader), "");
    assert_null(trace_reader_health(reader));
    assert_same(&events, reader, 1);
    trace_reader_close(reader);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    random_finish(&tables);
    random_finish(&events);
}

/* Each of these would read back as something else if it were taken. */
TEST(bad_records_are_refused_and_leave_no_trace)
{
    struct {
        struct trace_semaphore_wait head;
        struct trace_semaphore_value values[2];
    } wait = {{.head = {.kind = TRACE_SEMAPHORE_WAIT, .bytes = sizeof wait}, .value_count = 2},
              {{0}}};
    struct trace_command_buffer_seal seal = {
        .head = {.kind = TRACE_COMMAND_BUFFER_SEAL, .bytes = sizeof seal},
        .segment_count = 1,
        .segment_bytes = sizeof(struct trace_dispatch)};
    struct trace_dispatch dispatch = {.head = {.kind = TRACE_DISPATCH, .bytes = sizeof dispatch}};
    struct trace_writer *writer = open_writer();
    assert_int_equal(trace_writer_records(writer, 0, &wait, sizeof wait - 1), HAL_CORRUPT);
    assert_int_equal(trace_writer_records(writer, 0, &wait, 7), HAL_CORRUPT);
    wait.head.value_count = 3;
    assert_int_equal(trace_writer_records(writer, 0, &wait, sizeof wait), HAL_CORRUPT);
    wait.head.value_count = UINT32_MAX;
    assert_int_equal(trace_writer_records(writer, 0, &wait, sizeof wait), HAL_CORRUPT);
    wait.head.value_count = 2;
    wait.head.head.kind = 25;
    assert_int_equal(trace_writer_records(writer, 0, &wait, sizeof wait), HAL_CORRUPT);
    wait.head.head.kind = TRACE_SEMAPHORE_WAIT;
    wait.head.head.bytes = 0;
    assert_int_equal(trace_writer_records(writer, 0, &wait, sizeof wait), HAL_CORRUPT);
    wait.head.head.bytes = sizeof wait;
    assert_int_equal(trace_writer_records(writer, TRACE_MAX_THREADS + 1, &wait, sizeof wait),
                     HAL_CORRUPT);
    /* A segment without a seal; a seal followed by an event; one that counts other dispatches. */
    assert_int_equal(trace_writer_records(writer, 0, &dispatch, sizeof dispatch), HAL_CORRUPT);
    assert_int_equal(trace_writer_records(writer, 0, &seal, sizeof seal), HAL_OK);
    assert_int_equal(trace_writer_records(writer, 0, &wait, sizeof wait), HAL_CORRUPT);
    assert_int_equal(trace_writer_records(writer, 0, &dispatch, sizeof dispatch), HAL_CORRUPT);
    struct trace_copy other = {.head = {.kind = TRACE_COPY, .bytes = sizeof other}};
    assert_int_equal(trace_writer_records(writer, 0, &other, sizeof other), HAL_CORRUPT);
    struct trace_fill fill = {.head = {.kind = TRACE_FILL, .bytes = sizeof fill}};
    assert_int_equal(trace_writer_records(writer, 0, &fill, sizeof fill), HAL_CORRUPT);
    assert_int_equal(trace_writer_records(writer, 1, &wait, sizeof wait), HAL_OK);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    /* The seal of thread 0 stays without its segment: it is left out. */
    struct trace_reader *reader = open_reader();
    struct trace_chunk chunk;
    assert_int_equal(trace_reader_chunk_count(reader), 2);
    assert_int_equal(trace_reader_chunk(reader, 0, &chunk), HAL_OK);
    assert_int_equal(chunk.event_count, 0);
    trace_chunk_free(&chunk);
    assert_int_equal(trace_reader_chunk(reader, 1, &chunk), HAL_OK);
    assert_int_equal(chunk.event_count, 1);
    wait.head.head.thread = 1;
    assert_memory_equal(chunk.events, &wait, sizeof wait);
    trace_chunk_free(&chunk);
    assert_int_equal(trace_reader_chunk(reader, 2, &chunk), HAL_NOT_FOUND);
    trace_reader_close(reader);
}

TEST(names_are_those_of_the_schema)
{
    assert_string_equal(trace_event_name(TRACE_SUBMIT), "submit");
    assert_string_equal(trace_event_name(TRACE_SEMAPHORE_WAIT), "semaphore_wait");
    assert_string_equal(trace_event_name(TRACE_STRING), "string");
    assert_string_equal(trace_event_name(0), "unknown event");
    assert_string_equal(trace_event_name(UINT32_MAX), "unknown event");
    assert_string_equal(trace_segment_name(TRACE_DISPATCH), "dispatch");
    assert_string_equal(trace_segment_name(TRACE_DEBUG_END), "debug_end");
    assert_string_equal(trace_segment_name(60), "unknown segment");
}

TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
