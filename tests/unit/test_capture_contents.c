/* SPDX-License-Identifier: Apache-2.0 */
/* capture/contents.c, mappings.c and snapshot.c: every byte that the host writes or reads is in the
 * trace, before the work that reads it and after the work that wrote it. The tests with persistent
 * mappings run twice: with the system's account of written pages, and by comparison. */
#include "tests/support/captured.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"

#include "hal/base/mem.h"
#include "hal/driver.h"

enum { KIB = 1024, MIB = 1024 * KIB, BYTES = 256 * KIB };

static struct test_folder folder;
static char path[PATH_MAX];

static int make_folder(void **state)
{
    (void)state;
    if (!test_folder_make(&folder))
        return -1;
    test_folder_file(&folder, "trace.pb.zst", path);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static int by_pages(void **state)
{
    (void)state;
    unlink(path);
    unsetenv("HAL_DEVICE_PROFILING_DIRTY");
    return 0;
}

static int by_comparison(void **state)
{
    by_pages(state);
    setenv("HAL_DEVICE_PROFILING_DIRTY", "compare", 1);
    return 0;
}

static void fill_random(uint8_t *data, size_t bytes, uint64_t *random)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)fixture_random(random);
}

static struct hal_buffer *buffer_of(struct hal_device *device, uint32_t memory, uint64_t bytes)
{
    struct hal_buffer *buffer;
    const struct hal_buffer_desc desc = {.label = "b", .bytes = bytes, .memory = memory};
    assert_ok(hal_buffer_create(device, &desc, &buffer));
    return buffer;
}

static uint64_t nth_ticket(const struct captured *captured, enum trace_event_kind kind, size_t n)
{
    const struct trace_event *event = captured_find(captured, kind, n);
    assert_non_null(event);
    return event->ticket;
}

/* Submits commands that read or write the buffer, and waits. */
static void submit_fill(struct hal_device *device, struct hal_buffer *buffer, uint64_t offset,
                        uint64_t bytes, uint8_t value)
{
    struct hal_command_buffer *commands = fixture_commands(device, "fill", HAL_ONE_SHOT);
    assert_ok(hal_command_fill(commands, buffer, offset, bytes, value, 1));
    fixture_run(device, commands);
    hal_command_buffer_release(commands);
}

static void submit_copy(struct hal_device *device, struct hal_buffer *source, uint64_t offset,
                        struct hal_buffer *target, uint64_t bytes)
{
    struct hal_command_buffer *commands = fixture_commands(device, "copy", HAL_ONE_SHOT);
    assert_ok(hal_command_copy(commands, source, offset, target, 0, bytes));
    fixture_run(device, commands);
    hal_command_buffer_release(commands);
}

/* ---- Scoped mappings ---- */

static void large_transfers_come_in_pieces_and_nothing_is_lost(void **state)
{
    (void)state;
    enum { LARGE = 11 * MIB + 123 };
    struct captured captured;
    uint64_t random = fixture_seed();
    uint8_t *data = malloc(LARGE), *back = malloc(LARGE);
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *buffer = buffer_of(device, 0, LARGE + 1000);
    const uint64_t id = buffer->object.id;
    fill_random(data, LARGE, &random);
    assert_ok(hal_buffer_write(buffer, 1000, data, LARGE));
    assert_ok(hal_buffer_read(buffer, 1000, back, LARGE));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    assert_memory_equal(data, back, LARGE);

    captured_open(&captured, path);
    uint8_t *seen = hal_alloc(1, LARGE + 1000);
    assert_int_equal(
        captured_replay(&captured, TRACE_HOST_WRITE, id, UINT64_MAX, seen, LARGE + 1000), 3);
    assert_memory_equal(seen + 1000, data, LARGE);
    memset(seen, 0, LARGE + 1000);
    captured_replay(&captured, TRACE_HOST_READ, id, UINT64_MAX, seen, LARGE + 1000);
    assert_memory_equal(seen + 1000, data, LARGE);
    /* Pieces of one write have one ticket, and bytes that are there are stored once. */
    assert_int_equal(nth_ticket(&captured, TRACE_HOST_WRITE, 0),
                     nth_ticket(&captured, TRACE_HOST_WRITE, 2));
    assert_int_equal(trace_reader_counts(captured.reader)->contents, 3);
    captured_close(&captured);
    free(seen);
    free(back);
    free(data);
}

/* ---- Policies ---- */

static void begin_with(struct hal_device *device, struct hal_profiling_options options)
{
    options.file = path;
    unlink(path);
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
}

/* Writes and reads `bytes` bytes of which every one is `value`, through the one buffer. */
static void write_and_read(struct hal_device *device, uint8_t value, size_t bytes)
{
    uint8_t *data = malloc(bytes);
    struct hal_buffer *buffer = buffer_of(device, 0, bytes);
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
    struct hal_buffer *buffer = buffer_of(device, 0, 100);
    assert_ok(hal_buffer_write(buffer, 7, "abc", 3));
    assert_ok(hal_buffer_read(buffer, 7, data, 3));
    assert_memory_equal(data, "abc", 3);
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, path);
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
    captured_open(&captured, path);
    assert_int_equal(nth_content(&captured, TRACE_HOST_WRITE, 0)->content, 0);
    assert_int_equal(nth_content(&captured, TRACE_HOST_WRITE, 0)->size, 5000);
    assert_int_equal(nth_content(&captured, TRACE_HOST_READ, 0)->content, 0);
    assert_int_equal(trace_reader_counts(captured.reader)->contents, 0);
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
    captured_open(&captured, path);
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
    test_folder_file(&folder, "second.pb.zst", second);
    struct hal_device *device = fixture_device("cpu");
    begin_with(device, (struct hal_profiling_options){0});
    write_and_read(device, 77, 64 * KIB);
    assert_ok(hal_device_profiling_end(device));
    const struct hal_profiling_options options = {.file = second, .base = path};
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
    write_and_read(device, 77, 64 * KIB);
    assert_ok(hal_device_profiling_end(device));
    const struct hal_profiling_options recorder = {
        .file = second, .force = true, .base = path, .last_ns = INT64_C(1000000000)};
    assert_int_equal(hal_device_profiling_begin(device, &recorder, HAL_FOREVER), HAL_INVALID);
    const struct hal_profiling_options absent = {.file = second, .force = true, .base = "/none"};
    assert_int_equal(hal_device_profiling_begin(device, &absent, HAL_FOREVER), HAL_IO);
    hal_device_release(device);

    uint8_t bytes[64 * KIB];
    struct trace_reader *reader;
    assert_ok(trace_reader_open(second, &reader));
    assert_string_equal(trace_reader_header(reader)->base, path);
    const struct trace_counts *counts = trace_reader_counts(reader);
    assert_int_equal(counts->referred_contents, counts->contents);
    assert_int_equal(trace_reader_missing(reader).bytes, counts->content_bytes);
    assert_int_equal(trace_reader_content(reader, 1, bytes, sizeof bytes), HAL_NOT_FOUND);
    assert_ok(trace_reader_add_base(reader, path));
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
    assert_fails(hal_device_profiling_begin(
                     device, &(struct hal_profiling_options){.file = path, .contents = "some"}, 0),
                 HAL_INVALID, "profiling contents must be all, digest or none, not 'some'");
    assert_fails(hal_device_profiling_begin(
                     device, &(struct hal_profiling_options){.file = path, .outputs = ""}, 0),
                 HAL_INVALID, "profiling outputs must be contents, digest or none, not ''");
    assert_fails(hal_device_profiling_begin(
                     device, &(struct hal_profiling_options){.file = path, .files = "each"}, 0),
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
    captured_begin(device, path);
    unsetenv("HAL_DEVICE_PROFILING_STAGING_MIB");
    struct hal_buffer *buffer = buffer_of(device, 0, 24 * MIB);
    const uint64_t id = buffer->object.id;
    fill_random(data, 24 * MIB, &random);
    assert_ok(hal_buffer_write(buffer, 0, data, 24 * MIB));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, path);
    uint8_t *seen = hal_alloc(1, 24 * MIB);
    captured_replay(&captured, TRACE_HOST_WRITE, id, UINT64_MAX, seen, 24 * MIB);
    assert_memory_equal(seen, data, 24 * MIB);
    assert_true(trace_reader_health(captured.reader)->ring_stalls > 0);
    captured_close(&captured);
    free(seen);
    free(data);
}

static void a_scoped_mapping_is_read_at_map_and_written_at_unmap(void **state)
{
    (void)state;
    struct captured captured;
    struct hal_mapping mapping, second;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *buffer = buffer_of(device, 0, BYTES);
    submit_fill(device, buffer, 0, BYTES, 3);
    assert_ok(hal_buffer_map(buffer, HAL_MAP_READ | HAL_MAP_WRITE, 100, 200, &mapping));
    assert_ok(hal_buffer_map(buffer, HAL_MAP_WRITE, 1000, 50, &second));
    memset(mapping.data, 8, 10);
    memset(second.data, 9, 50);
    assert_ok(hal_buffer_unmap(&mapping));
    assert_ok(hal_buffer_unmap(&second));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    const struct trace_content_event *read = captured_find(&captured, TRACE_HOST_READ, 0);
    assert_int_equal(read->offset, 100);
    assert_int_equal(read->size, 200);
    uint8_t *bytes = captured_bytes(&captured, read);
    assert_int_equal(bytes[0], 3);
    free(bytes);
    const struct trace_content_event *write = captured_find(&captured, TRACE_HOST_WRITE, 0);
    bytes = captured_bytes(&captured, write);
    assert_int_equal(write->offset, 100);
    assert_int_equal(bytes[9], 8);
    assert_int_equal(bytes[10], 3);
    free(bytes);
    write = captured_find(&captured, TRACE_HOST_WRITE, 1);
    assert_int_equal(write->offset, 1000);
    assert_int_equal(write->size, 50);
    const struct trace_mapping_event *map = captured_find(&captured, TRACE_BUFFER_MAP, 1);
    const struct trace_mapping_event *unmap = captured_find(&captured, TRACE_BUFFER_UNMAP, 1);
    assert_int_equal(map->mapping, unmap->mapping);
    assert_true(write->head.ticket < unmap->head.ticket);
    captured_close(&captured);
}

/* ---- Persistent mappings that are not coherent ---- */

static void flush_writes_and_invalidate_reads(void **state)
{
    (void)state;
    struct captured captured;
    struct hal_mapping mapping;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *buffer =
        buffer_of(device, HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_CACHED, BYTES);
    assert_false(buffer->memory & HAL_MEMORY_HOST_COHERENT);
    assert_ok(hal_buffer_map(buffer, HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 4096,
                             100 * KIB, &mapping));
    memset(mapping.data, 7, 100 * KIB);
    assert_ok(hal_mapping_flush(&mapping, 50, 1000));
    submit_fill(device, buffer, 5000, 100, 1);
    assert_ok(hal_mapping_invalidate(&mapping, 900, 200));
    assert_ok(hal_buffer_unmap(&mapping));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_HOST_WRITE), 1);
    assert_int_equal(captured_count(&captured, TRACE_HOST_READ), 1);
    const struct trace_content_event *write = captured_find(&captured, TRACE_HOST_WRITE, 0);
    assert_int_equal(write->offset, 4096 + 50);
    assert_int_equal(write->size, 1000);
    const struct trace_content_event *read = captured_find(&captured, TRACE_HOST_READ, 0);
    assert_int_equal(read->offset, 4096 + 900);
    uint8_t *bytes = captured_bytes(&captured, read);
    assert_int_equal(bytes[0], 7);
    assert_int_equal(bytes[5000 - 4996], 1);
    assert_int_equal(bytes[104], 7);
    free(bytes);
    assert_true(write->head.ticket < nth_ticket(&captured, TRACE_MAPPING_FLUSH, 0));
    assert_true(write->head.ticket < nth_ticket(&captured, TRACE_SUBMIT, 0));
    assert_true(read->head.ticket > nth_ticket(&captured, TRACE_SEMAPHORE_WAIT, 0));
    captured_close(&captured);
}

/* ---- Persistent mappings of coherent memory ---- */

static struct hal_mapping map_persistently(struct hal_buffer *buffer, uint32_t mode,
                                           uint64_t offset, uint64_t bytes)
{
    struct hal_mapping mapping;
    assert_ok(hal_buffer_map(buffer, mode | HAL_MAP_PERSISTENT, offset, bytes, &mapping));
    return mapping;
}

/* Random stores between submissions; what was recorded before each submission, put together, is
 * what the memory held then. */
static void stores_are_recorded_before_the_submission(void **state)
{
    (void)state;
    enum { SUBMISSIONS = 12 };
    struct captured captured;
    uint64_t random = fixture_seed();
    static uint8_t expected[SUBMISSIONS][BYTES];
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *buffer = buffer_of(device, 0, BYTES), *other = buffer_of(device, 0, BYTES);
    const uint64_t id = buffer->object.id;
    struct hal_mapping mapping = map_persistently(buffer, HAL_MAP_WRITE, 0, BYTES);
    uint8_t *memory = mapping.data;
    memset(memory, 0, BYTES);
    for (unsigned i = 0; i < SUBMISSIONS; i++) {
        for (unsigned k = 0; k < i * i; k++)
            memory[fixture_random(&random) % BYTES] = (uint8_t)fixture_random(&random);
        if (i % 3 == 2)
            fill_random(memory + 10000 * i, 30000, &random);
        memcpy(expected[i], memory, BYTES);
        submit_copy(device, buffer, 0, other, BYTES);
    }
    assert_ok(hal_buffer_unmap(&mapping));
    hal_buffer_release(buffer);
    hal_buffer_release(other);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    uint8_t *seen = hal_alloc(1, BYTES);
    for (unsigned i = 0; i < SUBMISSIONS; i++) {
        captured_replay(&captured, TRACE_HOST_WRITE, id, nth_ticket(&captured, TRACE_SUBMIT, i),
                        seen, BYTES);
        assert_memory_equal(seen, expected[i], BYTES);
    }
    assert_int_equal(captured_count(&captured, TRACE_HOST_READ), 0);
    free(seen);
    captured_close(&captured);
}

static void only_what_changed_is_recorded(void **state)
{
    (void)state;
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *buffer = buffer_of(device, 0, 64 * MIB);
    struct hal_buffer *other = buffer_of(device, HAL_MEMORY_DEVICE_LOCAL, 64 * MIB);
    struct hal_mapping mapping = map_persistently(buffer, HAL_MAP_WRITE, 0, 64 * MIB);
    uint8_t *memory = mapping.data;
    for (unsigned i = 0; i < 10; i++) {
        memory[(uint64_t)i * 5 * MIB + 77] = (uint8_t)(i + 1);
        submit_copy(device, buffer, 0, other, 64 * MIB);
    }
    assert_ok(hal_buffer_unmap(&mapping));
    hal_buffer_release(buffer);
    hal_buffer_release(other);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_HOST_WRITE), 10);
    for (unsigned i = 0; i < 10; i++) {
        const struct trace_content_event *write = captured_find(&captured, TRACE_HOST_WRITE, i);
        assert_true(write->size <= 4096);
        assert_true(write->offset <= (uint64_t)i * 5 * MIB + 77);
        assert_true(write->offset + write->size > (uint64_t)i * 5 * MIB + 77);
    }
    captured_close(&captured);
}

/* The host stores into slots of one mapped buffer at random, and work copies slots; some of it
 * waits for the host, or for other work that does. What was recorded before the work could begin is
 * what its slot held then. Slots are no multiples of pages. */
enum { SLOTS = 50, SLOT_BYTES = 5000, SLOT_STEPS = 120, SLOTS_BYTES = SLOTS * SLOT_BYTES };

struct slot_read {
    unsigned slot;
    enum trace_event_kind kind; /* of the event before which the stores must be there */
    size_t number;
    uint8_t expected[SLOT_BYTES];
};

struct slots {
    struct hal_device *device;
    struct hal_buffer *buffer, *target;
    struct hal_mapping mapping;
    struct hal_semaphore *gate; /* some work waits for it */
    uint64_t gate_value;
    bool busy[SLOTS]; /* work may be reading it: the host leaves it alone until it has waited */
    size_t submits, signals, reads;
    struct slot_read *pending[SLOTS]; /* waits for the gate's next value */
    struct slot_read *list;
};

static void submit_slot(struct slots *slots, unsigned slot, struct hal_semaphore *wait,
                        uint64_t value)
{
    struct hal_command_buffer *commands = fixture_commands(slots->device, "slot", HAL_ONE_SHOT);
    const uint64_t at = (uint64_t)slot * SLOT_BYTES;
    assert_ok(hal_command_copy(commands, slots->buffer, at, slots->target, at, SLOT_BYTES));
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(fixture_submit(slots->device, commands, wait, value, NULL, 0));
    hal_command_buffer_release(commands);
    slots->submits++;
}

static void expect_slot(struct slots *slots, struct slot_read *read, enum trace_event_kind kind,
                        size_t number)
{
    read->kind = kind;
    read->number = number;
    memcpy(read->expected, (uint8_t *)slots->mapping.data + (size_t)read->slot * SLOT_BYTES,
           SLOT_BYTES);
}

static struct slot_read *next_read(struct slots *slots, unsigned slot)
{
    struct slot_read *read = &slots->list[slots->reads++];
    read->slot = slot;
    return read;
}

/* By the host itself, or by work that signals. */
static void open_gate(struct slots *slots, bool by_host)
{
    const size_t number = by_host ? slots->signals++ : slots->submits++;
    for (unsigned i = 0; i < SLOTS; i++) {
        if (slots->pending[i])
            expect_slot(slots, slots->pending[i], by_host ? TRACE_SEMAPHORE_SIGNAL : TRACE_SUBMIT,
                        number);
        slots->pending[i] = NULL;
    }
    slots->gate_value++;
    if (by_host)
        assert_ok(hal_semaphore_signal(slots->gate, slots->gate_value));
    else
        assert_ok(fixture_submit(slots->device, NULL, NULL, 0, slots->gate, slots->gate_value));
    assert_ok(hal_device_wait_idle(slots->device, HAL_FOREVER));
    memset(slots->busy, 0, sizeof slots->busy);
}

static void slot_step(struct slots *slots, uint64_t *random)
{
    const unsigned slot = (unsigned)(fixture_random(random) % SLOTS);
    uint8_t *memory = (uint8_t *)slots->mapping.data + (size_t)slot * SLOT_BYTES;
    switch (fixture_random(random) % 8) {
    case 0: open_gate(slots, fixture_random(random) % 2); break;
    case 1:
        if (!slots->pending[slot]) {
            slots->pending[slot] = next_read(slots, slot);
            submit_slot(slots, slot, slots->gate, slots->gate_value + 1);
        }
        break;
    case 2:
    case 3:
        if (!slots->busy[slot]) {
            expect_slot(slots, next_read(slots, slot), TRACE_SUBMIT, slots->submits);
            submit_slot(slots, slot, NULL, 0);
            slots->busy[slot] = true;
        }
        break;
    default:
        if (!slots->busy[slot])
            memory[fixture_random(random) % SLOT_BYTES] = (uint8_t)fixture_random(random);
        break;
    }
}

static void what_work_reads_is_recorded_before_it_can_begin(void **state)
{
    (void)state;
    struct captured captured;
    uint64_t random = fixture_seed();
    struct slots slots = {.device = fixture_device("cpu"),
                          .list = hal_alloc(SLOT_STEPS, sizeof(struct slot_read))};
    captured_begin(slots.device, path);
    slots.buffer = buffer_of(slots.device, 0, SLOTS_BYTES);
    slots.target = buffer_of(slots.device, HAL_MEMORY_DEVICE_LOCAL, SLOTS_BYTES);
    slots.gate = fixture_semaphore(slots.device, "gate", 0);
    slots.mapping = map_persistently(slots.buffer, HAL_MAP_WRITE, 0, SLOTS_BYTES);
    memset(slots.mapping.data, 0, SLOTS_BYTES);
    for (unsigned i = 0; i < SLOT_STEPS; i++)
        slot_step(&slots, &random);
    open_gate(&slots, true);
    const uint64_t id = slots.buffer->object.id;
    assert_ok(hal_buffer_unmap(&slots.mapping));
    hal_semaphore_release(slots.gate);
    hal_buffer_release(slots.buffer);
    hal_buffer_release(slots.target);
    assert_ok(hal_device_profiling_end(slots.device));
    hal_device_release(slots.device);

    captured_open(&captured, path);
    uint8_t *seen = hal_alloc(1, SLOTS_BYTES);
    for (size_t i = 0; i < slots.reads; i++) {
        const struct slot_read *read = &slots.list[i];
        memset(seen, 0, SLOTS_BYTES);
        captured_replay(&captured, TRACE_HOST_WRITE, id,
                        nth_ticket(&captured, read->kind, read->number), seen, SLOTS_BYTES);
        assert_memory_equal(seen + (size_t)read->slot * SLOT_BYTES, read->expected, SLOT_BYTES);
    }
    free(seen);
    free(slots.list);
    captured_close(&captured);
}

/* Nothing reads it but the host, through another mapping. */
static void stores_are_recorded_before_the_host_reads_them(void **state)
{
    (void)state;
    struct captured captured;
    uint8_t byte = 0;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *buffer = buffer_of(device, 0, BYTES);
    const uint64_t id = buffer->object.id;
    struct hal_mapping mapping = map_persistently(buffer, HAL_MAP_WRITE, 0, BYTES);
    ((uint8_t *)mapping.data)[30000] = 0x5a;
    submit_fill(device, buffer, 0, 4, 1);
    assert_ok(hal_buffer_read(buffer, 30000, &byte, 1));
    assert_int_equal(byte, 0x5a);
    assert_ok(hal_buffer_unmap(&mapping));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, path);
    uint8_t *seen = hal_alloc(1, BYTES);
    captured_replay(&captured, TRACE_HOST_WRITE, id, nth_ticket(&captured, TRACE_SUBMIT, 0), seen,
                    BYTES);
    assert_int_equal(seen[30000], 0); /* no work uses it: nobody looked */
    captured_replay(&captured, TRACE_HOST_WRITE, id, nth_ticket(&captured, TRACE_HOST_READ, 0),
                    seen, BYTES);
    assert_int_equal(seen[30000], 0x5a);
    free(seen);
    captured_close(&captured);
}

static void a_signal_from_the_host_publishes_stores_too(void **state)
{
    (void)state;
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *source = buffer_of(device, 0, BYTES), *target = buffer_of(device, 0, BYTES);
    struct hal_semaphore *go = fixture_semaphore(device, "go", 0);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_mapping mapping = map_persistently(source, HAL_MAP_WRITE, 0, BYTES);
    struct hal_command_buffer *commands = fixture_commands(device, "copy", HAL_ONE_SHOT);
    uint8_t result;
    assert_ok(hal_command_copy(commands, source, 0, target, 0, BYTES));
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(fixture_submit(device, commands, go, 1, done, 1));
    ((uint8_t *)mapping.data)[5000] = 0xa5;
    assert_ok(hal_semaphore_signal(go, 1));
    assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
    assert_ok(hal_buffer_read(target, 5000, &result, 1));
    assert_int_equal(result, 0xa5);
    const uint64_t id = source->object.id;
    assert_ok(hal_buffer_unmap(&mapping));
    hal_command_buffer_release(commands);
    hal_semaphore_release(go);
    hal_semaphore_release(done);
    hal_buffer_release(source);
    hal_buffer_release(target);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    uint8_t *seen = hal_alloc(1, BYTES);
    captured_replay(&captured, TRACE_HOST_WRITE, id,
                    nth_ticket(&captured, TRACE_SEMAPHORE_SIGNAL, 0), seen, BYTES);
    assert_int_equal(seen[5000], 0xa5);
    free(seen);
    captured_close(&captured);
}

/* Mappings that overlap, and one buffer that shares pages with others. */
static void every_mapping_gets_its_part(void **state)
{
    (void)state;
    struct captured captured;
    uint8_t expected_large[BYTES], expected_small[3][300];
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *large = buffer_of(device, 0, BYTES), *small[3];
    struct hal_mapping parts[3], smalls[3];
    static const uint64_t offsets[3] = {0, 6000, 100 * KIB}, sizes[3] = {10000, 20000, 156 * KIB};
    for (unsigned i = 0; i < 3; i++) {
        parts[i] = map_persistently(large, HAL_MAP_WRITE, offsets[i], sizes[i]);
        small[i] = buffer_of(device, 0, 300);
        smalls[i] = map_persistently(small[i], HAL_MAP_WRITE, 0, 300);
        memset(parts[i].data, (int)i + 1, sizes[i]);
        memset(smalls[i].data, (int)i + 101, 300);
    }
    assert_ok(fixture_submit(device, NULL, NULL, 0, NULL, 0));
    ((uint8_t *)parts[0].data)[7000] = 200;
    ((uint8_t *)parts[1].data)[9] = 201;
    ((uint8_t *)smalls[1].data)[299] = 202;
    assert_ok(hal_buffer_unmap(&parts[0]));
    ((uint8_t *)parts[1].data)[10] = 203;
    assert_ok(fixture_submit(device, NULL, NULL, 0, NULL, 0));
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    uint64_t ids[4] = {large->object.id};
    for (unsigned i = 0; i < 3; i++) {
        ids[i + 1] = small[i]->object.id;
        memcpy(expected_small[i], smalls[i].data, 300);
        if (i > 0)
            assert_ok(hal_buffer_unmap(&parts[i]));
        assert_ok(hal_buffer_unmap(&smalls[i]));
        hal_buffer_release(small[i]);
    }
    assert_ok(hal_buffer_read(large, 0, expected_large, BYTES));
    hal_buffer_release(large);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    uint8_t *seen = hal_alloc(1, BYTES);
    captured_replay(&captured, TRACE_HOST_WRITE, ids[0], UINT64_MAX, seen, BYTES);
    assert_memory_equal(seen, expected_large, 26000);
    assert_memory_equal(seen + 100 * KIB, expected_large + 100 * KIB, 156 * KIB);
    assert_int_equal(seen[7000], 200);
    assert_int_equal(seen[6009], 201);
    assert_int_equal(seen[6010], 203);
    for (unsigned i = 0; i < 3; i++) {
        captured_replay(&captured, TRACE_HOST_WRITE, ids[i + 1], UINT64_MAX, seen, 300);
        assert_memory_equal(seen, expected_small[i], 300);
    }
    free(seen);
    captured_close(&captured);
}

/* ---- What the device wrote ---- */

static const struct trace_content_event *find_observed(const struct captured *captured, size_t n)
{
    for (size_t i = 0;; i++) {
        const struct trace_content_event *read = captured_find(captured, TRACE_HOST_READ, i);
        if (!read || (read->flags & TRACE_FLAG_OBSERVED && n-- == 0))
            return read;
    }
}

/* Pages that another mapping of the buffer covers stay watched when the first one goes. */
static void a_mapping_that_goes_leaves_the_other_exact(void **state)
{
    (void)state;
    struct captured captured;
    struct hal_mapping first, second;
    struct hal_device *device = fixture_device("cpu");
    struct hal_buffer *buffer = buffer_of(device, 0, BYTES);
    const uint32_t mode = HAL_MAP_WRITE | HAL_MAP_PERSISTENT;
    captured_begin(device, path);
    assert_ok(hal_buffer_map(buffer, mode, 0, BYTES, &first));
    assert_ok(hal_buffer_map(buffer, mode, 0, BYTES, &second));
    memset(first.data, 3, BYTES);
    assert_ok(hal_buffer_unmap(&first));
    ((uint8_t *)second.data)[40 * KIB + 1] = 9;
    submit_fill(device, buffer, 40 * KIB, 4, 1);
    assert_ok(hal_buffer_unmap(&second));
    assert_ok(hal_device_profiling_end(device));
    hal_buffer_release(buffer);
    hal_device_release(device);

    captured_open(&captured, path);
    const uint64_t unmapped = nth_ticket(&captured, TRACE_BUFFER_UNMAP, 0);
    const uint64_t submitted = nth_ticket(&captured, TRACE_SUBMIT, 0);
    const struct trace_content_event *write;
    uint64_t bytes = 0;
    for (size_t i = 0; (write = captured_find(&captured, TRACE_HOST_WRITE, i)); i++) {
        if (write->head.ticket > unmapped && write->head.ticket < submitted)
            bytes += write->size;
    }
    assert_int_equal(bytes, 4096);
    captured_close(&captured);
}

static void finished_work_is_observed_in_mapped_memory(void **state)
{
    (void)state;
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *buffer = buffer_of(device, 0, BYTES);
    struct hal_mapping mapping = map_persistently(buffer, HAL_MAP_READ | HAL_MAP_WRITE, 0, BYTES);
    memset(mapping.data, 9, 100);
    submit_fill(device, buffer, 40000, 5000, 6);
    assert_int_equal(((uint8_t *)mapping.data)[40000], 6);
    /* The device's bytes are not taken for the host's. */
    assert_ok(fixture_submit(device, NULL, NULL, 0, NULL, 0));
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    assert_ok(hal_buffer_unmap(&mapping));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_HOST_READ), 1);
    const struct trace_content_event *read = find_observed(&captured, 0);
    assert_int_equal(read->offset, 40000);
    assert_int_equal(read->size, 5000);
    assert_true(read->head.ticket > nth_ticket(&captured, TRACE_SEMAPHORE_WAIT, 0));
    uint8_t *bytes = captured_bytes(&captured, read);
    for (unsigned i = 0; i < 5000; i++)
        assert_int_equal(bytes[i], 6);
    free(bytes);
    for (size_t i = 0; i < captured_count(&captured, TRACE_HOST_WRITE); i++) {
        const struct trace_content_event *write = captured_find(&captured, TRACE_HOST_WRITE, i);
        assert_true(write->offset + write->size <= 4096);
    }
    captured_close(&captured);
}

static void work_that_nobody_looked_at_is_not_observed(void **state)
{
    (void)state;
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *a = buffer_of(device, 0, BYTES), *b = buffer_of(device, 0, BYTES);
    struct hal_semaphore *done_a = fixture_semaphore(device, "a", 0);
    struct hal_semaphore *done_b = fixture_semaphore(device, "b", 0);
    struct hal_mapping map_a = map_persistently(a, HAL_MAP_READ, 0, BYTES);
    struct hal_mapping map_b = map_persistently(b, HAL_MAP_READ, 8192, 4096);
    struct hal_command_buffer *fill_a = fixture_commands(device, "a", HAL_ONE_SHOT);
    struct hal_command_buffer *fill_b = fixture_commands(device, "b", HAL_ONE_SHOT);
    assert_ok(hal_command_fill(fill_a, a, 0, 100, 1, 1));
    assert_ok(hal_command_fill(fill_b, b, 0, BYTES, 2, 1));
    assert_ok(hal_command_buffer_end(fill_a));
    assert_ok(hal_command_buffer_end(fill_b));
    assert_ok(fixture_submit(device, fill_a, NULL, 0, done_a, 1));
    assert_ok(fixture_submit(device, fill_b, NULL, 0, done_b, 1));
    uint64_t value = 0;
    while (value == 0)
        assert_ok(hal_semaphore_query(done_b, &value));
    const uint64_t b_id = b->object.id, a_id = a->object.id;
    assert_ok(hal_semaphore_wait(done_a, 1, HAL_FOREVER));
    assert_ok(hal_buffer_unmap(&map_a));
    assert_ok(hal_buffer_unmap(&map_b));
    hal_command_buffer_release(fill_a);
    hal_command_buffer_release(fill_b);
    hal_semaphore_release(done_a);
    hal_semaphore_release(done_b);
    hal_buffer_release(a);
    hal_buffer_release(b);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    const struct trace_content_event *first = find_observed(&captured, 0);
    const struct trace_content_event *second = find_observed(&captured, 1);
    assert_int_equal(first->buffer, b_id);
    assert_int_equal(first->offset, 8192);
    assert_int_equal(first->size, 4096);
    assert_int_equal(second->buffer, a_id);
    assert_int_equal(second->size, 100);
    assert_true(first->head.ticket < nth_ticket(&captured, TRACE_SEMAPHORE_WAIT, 0));
    assert_true(second->head.ticket > nth_ticket(&captured, TRACE_SEMAPHORE_WAIT, 0));
    assert_null(find_observed(&captured, 2));
    captured_close(&captured);
}

/* A wait for any of several values tells of those that were reached, and of no others. */
static void a_wait_for_any_observes_what_was_reached(void **state)
{
    (void)state;
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *buffer = buffer_of(device, 0, BYTES);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_semaphore *never = fixture_semaphore(device, "never", 0);
    struct hal_mapping mapping = map_persistently(buffer, HAL_MAP_READ, 0, BYTES);
    struct hal_command_buffer *commands = fixture_commands(device, "fill", HAL_ONE_SHOT);
    const struct hal_semaphore_value values[] = {{never, 7}, {done, 1}};
    const uint64_t done_id = done->object.id;
    assert_ok(hal_command_fill(commands, buffer, 4096, 500, 6, 1));
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(fixture_submit(device, commands, NULL, 0, done, 1));
    assert_ok(hal_semaphores_wait(device, HAL_WAIT_ANY, values, 2, HAL_FOREVER));
    assert_int_equal(((uint8_t *)mapping.data)[4096], 6);
    assert_ok(hal_buffer_unmap(&mapping));
    hal_command_buffer_release(commands);
    hal_semaphore_release(done);
    hal_semaphore_release(never);
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    const struct trace_content_event *read = find_observed(&captured, 0);
    assert_non_null(read);
    assert_int_equal(read->offset, 4096);
    assert_int_equal(read->size, 500);
    assert_int_equal(captured_count(&captured, TRACE_SEMAPHORE_QUERY), 1);
    const struct trace_semaphore_event *query = captured_find(&captured, TRACE_SEMAPHORE_QUERY, 0);
    assert_int_equal(query->semaphore, done_id);
    assert_int_equal(query->value, 1);
    assert_true(query->head.ticket > nth_ticket(&captured, TRACE_SEMAPHORE_WAIT, 0));
    assert_true(query->head.ticket < read->head.ticket);
    captured_close(&captured);
}

/* What unfinished work may still write is no result yet. */
static void ranges_of_unfinished_work_are_left_out(void **state)
{
    (void)state;
    struct captured captured;
    struct hal_device *device = fixture_device("cpu?queues=2");
    captured_begin(device, path);
    struct hal_buffer *buffer = buffer_of(device, 0, BYTES);
    struct hal_semaphore *first = fixture_semaphore(device, "first", 0);
    struct hal_semaphore *gate = fixture_semaphore(device, "gate", 0);
    struct hal_semaphore *second = fixture_semaphore(device, "second", 0);
    struct hal_mapping mapping = map_persistently(buffer, HAL_MAP_READ, 0, BYTES);
    struct hal_command_buffer *early = fixture_commands(device, "early", HAL_ONE_SHOT);
    struct hal_command_buffer *late = fixture_commands(device, "late", HAL_ONE_SHOT);
    assert_ok(hal_command_fill(early, buffer, 0, 8192, 1, 1));
    assert_ok(hal_command_fill(late, buffer, 4096, 8192, 2, 1));
    assert_ok(hal_command_buffer_end(early));
    assert_ok(hal_command_buffer_end(late));
    assert_ok(fixture_submit(device, early, NULL, 0, first, 1));
    assert_ok(fixture_submit(device, late, gate, 1, second, 1));
    assert_ok(hal_semaphore_wait(first, 1, HAL_FOREVER));
    assert_ok(hal_semaphore_signal(gate, 1));
    assert_ok(hal_semaphore_wait(second, 1, HAL_FOREVER));
    assert_ok(hal_buffer_unmap(&mapping));
    hal_command_buffer_release(early);
    hal_command_buffer_release(late);
    hal_semaphore_release(first);
    hal_semaphore_release(gate);
    hal_semaphore_release(second);
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    const struct trace_content_event *read = find_observed(&captured, 0);
    assert_int_equal(read->offset, 0);
    assert_int_equal(read->size, 4096);
    read = find_observed(&captured, 1);
    assert_int_equal(read->offset, 4096);
    assert_int_equal(read->size, 8192);
    assert_null(find_observed(&captured, 2));
    captured_close(&captured);
}

/* Small buffers lie side by side on a page. */
static void a_neighbours_writes_are_not_taken_for_ones_own(void **state)
{
    (void)state;
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *small[2];
    struct hal_mapping mappings[2];
    for (unsigned i = 0; i < 2; i++) {
        small[i] = buffer_of(device, 0, 256);
        mappings[i] = map_persistently(small[i], HAL_MAP_READ | HAL_MAP_WRITE, 0, 256);
    }
    const uint64_t ids[2] = {small[0]->object.id, small[1]->object.id};
    submit_fill(device, small[0], 0, 256, 4);
    memset(mappings[1].data, 5, 256);
    assert_ok(fixture_submit(device, NULL, NULL, 0, NULL, 0));
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    for (unsigned i = 0; i < 2; i++) {
        assert_ok(hal_buffer_unmap(&mappings[i]));
        hal_buffer_release(small[i]);
    }
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    uint8_t seen[256];
    assert_int_equal(captured_replay(&captured, TRACE_HOST_WRITE, ids[0], UINT64_MAX, seen, 256),
                     0);
    assert_int_equal(captured_replay(&captured, TRACE_HOST_WRITE, ids[1], UINT64_MAX, seen, 256),
                     1);
    assert_int_equal(seen[255], 5);
    captured_close(&captured);
}

/* Two slots of one buffer: while the device works on one, the host fills the other. With the
 * system's account of pages this is exact. */
static void host_and_device_share_a_buffer(void **state)
{
    (void)state;
    enum { SLOT = 64 * KIB, STEPS = 10 };
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, path);
    struct hal_buffer *buffer = buffer_of(device, 0, 4 * SLOT);
    const uint64_t id = buffer->object.id;
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_mapping mapping =
        map_persistently(buffer, HAL_MAP_READ | HAL_MAP_WRITE, 0, 4 * SLOT);
    uint8_t *memory = mapping.data;
    for (uint64_t step = 1; step <= STEPS; step++) {
        struct hal_command_buffer *commands = fixture_commands(device, "step", HAL_ONE_SHOT);
        const uint64_t slot = step % 2 * SLOT;
        memset(memory + slot, (int)step, SLOT);
        assert_ok(hal_command_copy(commands, buffer, slot, buffer, 2 * SLOT + slot, SLOT));
        assert_ok(hal_command_buffer_end(commands));
        assert_ok(fixture_submit(device, commands, done, step - 1, done, step));
        hal_command_buffer_release(commands);
        if (step > 1)
            assert_ok(hal_semaphore_wait(done, step - 1, HAL_FOREVER));
    }
    assert_ok(hal_semaphore_wait(done, STEPS, HAL_FOREVER));
    assert_ok(hal_buffer_unmap(&mapping));
    hal_semaphore_release(done);
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, path);
    uint8_t *seen = hal_alloc(1, 4 * SLOT);
    for (uint64_t step = 1; step <= STEPS; step++) {
        captured_replay(&captured, TRACE_HOST_WRITE, id,
                        nth_ticket(&captured, TRACE_SUBMIT, step - 1), seen, 4 * SLOT);
        const uint64_t slot = step % 2 * SLOT;
        assert_int_equal(seen[slot], step);
        assert_int_equal(seen[slot + SLOT - 1], step);
        /* Nothing of what the device wrote was taken for the host's. */
        assert_int_equal(seen[2 * SLOT + slot], 0);
        assert_int_equal(seen[2 * SLOT + SLOT - slot], 0);
    }
    for (uint64_t step = 1; step <= STEPS; step++) {
        const struct trace_content_event *read = find_observed(&captured, step - 1);
        assert_non_null(read);
        assert_int_equal(read->offset, 2 * SLOT + step % 2 * SLOT);
        assert_int_equal(read->size, SLOT);
        uint8_t *bytes = captured_bytes(&captured, read);
        assert_int_equal(bytes[0], step);
        assert_int_equal(bytes[SLOT - 1], step);
        free(bytes);
    }
    free(seen);
    captured_close(&captured);
}

/* ---- Late begin ---- */

struct scene {
    struct hal_device *device;
    struct hal_buffer *visible, *private_buffer;
    struct hal_semaphore *semaphore, *failed;
    struct hal_command_buffer *sealed, *recording;
    struct hal_mapping mapping;
};

static struct scene make_scene(uint64_t private_bytes)
{
    struct scene scene = {.device = fixture_device("cpu")};
    struct hal_device *device = scene.device;
    scene.visible = buffer_of(device, 0, BYTES);
    scene.private_buffer = buffer_of(device, HAL_MEMORY_DEVICE_LOCAL, private_bytes);
    scene.semaphore = fixture_semaphore(device, "value", 5);
    scene.failed = fixture_semaphore(device, "failed", 0);
    assert_ok(hal_semaphore_signal(scene.semaphore, 41));
    hal_semaphore_fail(scene.failed, HAL_FAILED, "long ago");
    scene.sealed = fixture_commands(device, "sealed", HAL_REUSABLE);
    assert_ok(hal_command_fill(scene.sealed, scene.visible, 1000, 24, 0x77, 1));
    assert_ok(hal_command_buffer_end(scene.sealed));
    scene.recording = fixture_commands(device, "recording", HAL_ONE_SHOT);
    assert_ok(
        hal_command_copy(scene.recording, scene.visible, 19950, scene.private_buffer, 0, 100));
    submit_fill(device, scene.private_buffer, 0, private_bytes, 0x31);
    submit_fill(device, scene.visible, 0, BYTES, 0x32);
    scene.mapping = map_persistently(scene.visible, HAL_MAP_READ | HAL_MAP_WRITE, 0, BYTES);
    ((uint8_t *)scene.mapping.data)[9000] = 0x33;
    return scene;
}

static void release_scene(struct scene *scene)
{
    assert_ok(hal_buffer_unmap(&scene->mapping));
    hal_command_buffer_release(scene->sealed);
    hal_command_buffer_release(scene->recording);
    hal_semaphore_release(scene->semaphore);
    hal_semaphore_release(scene->failed);
    hal_buffer_release(scene->visible);
    hal_buffer_release(scene->private_buffer);
}

static void check_scene(const struct captured *captured, uint64_t visible, uint64_t private_buffer,
                        uint64_t private_bytes, uint64_t first_submit)
{
    uint8_t *seen = hal_alloc(1, private_bytes + BYTES);
    captured_replay(captured, TRACE_HOST_WRITE, visible, first_submit, seen, BYTES);
    assert_int_equal(seen[0], 0x32);
    assert_int_equal(seen[9000], 0x33);
    assert_int_equal(seen[20000], 0x34);
    assert_int_equal(seen[BYTES - 1], 0x32);
    captured_replay(captured, TRACE_HOST_WRITE, private_buffer, first_submit, seen, private_bytes);
    for (uint64_t i = 0; i < private_bytes; i++) {
        if (seen[i] != 0x31)
            fail_msg("byte %llu of the private buffer is %u", (unsigned long long)i, seen[i]);
    }
    free(seen);
    assert_int_equal(captured_count(captured, TRACE_BUFFER_CREATE), 2);
    for (size_t i = 0; i < 2; i++) {
        const struct trace_buffer_create *create = captured_find(captured, TRACE_BUFFER_CREATE, i);
        assert_int_equal(create->flags, TRACE_FLAG_SNAPSHOT);
    }
    const struct trace_content_event *write = captured_find(captured, TRACE_HOST_WRITE, 0);
    assert_int_equal(write->flags, TRACE_FLAG_SNAPSHOT);
    const struct trace_semaphore_create *semaphore =
        captured_find(captured, TRACE_SEMAPHORE_CREATE, 0);
    assert_int_equal(semaphore->initial_value, 41);
    assert_int_equal(semaphore->flags, TRACE_FLAG_SNAPSHOT);
    const struct trace_semaphore_event *failed = captured_find(captured, TRACE_SEMAPHORE_FAIL, 0);
    assert_int_equal(failed->head.status, HAL_FAILED);
    assert_non_null(strstr(captured_string(captured, failed->message), "long ago"));
    const struct trace_command_buffer_seal *seal =
        captured_find(captured, TRACE_COMMAND_BUFFER_SEAL, 0);
    assert_int_equal(seal->flags, TRACE_FLAG_SNAPSHOT);
    assert_int_equal(seal->segment_count, 1);
    seal = captured_find(captured, TRACE_COMMAND_BUFFER_SEAL, 1);
    assert_int_equal(seal->flags, 0);
    assert_int_equal(captured_segments(captured, 1)->kind, TRACE_COPY);
    assert_int_equal(captured_count(captured, TRACE_COMMAND_BUFFER_CREATE), 2);
}

static void late_captures_begin_with_what_is_there(void **state)
{
    (void)state;
    enum { PRIVATE = 20 * MIB + 7 };
    struct captured captured;
    struct scene scene = make_scene(PRIVATE);
    captured_begin(scene.device, path);
    const uint64_t ids[2] = {scene.visible->object.id, scene.private_buffer->object.id};
    ((uint8_t *)scene.mapping.data)[20000] = 0x34;
    assert_ok(hal_command_buffer_end(scene.recording));
    assert_ok(fixture_submit(scene.device, scene.recording, NULL, 0, scene.semaphore, 42));
    assert_ok(fixture_submit(scene.device, scene.sealed, scene.semaphore, 42, scene.semaphore, 43));
    assert_ok(hal_semaphore_wait(scene.semaphore, 43, HAL_FOREVER));
    release_scene(&scene);
    assert_ok(hal_device_profiling_end(scene.device));
    hal_device_release(scene.device);

    captured_open(&captured, path);
    assert_true(trace_reader_header(captured.reader)->late_start);
    check_scene(&captured, ids[0], ids[1], PRIVATE, nth_ticket(&captured, TRACE_SUBMIT, 0));
    const struct trace_content_event *read = find_observed(&captured, 0);
    assert_non_null(read);
    assert_int_equal(read->offset, 1000);
    assert_int_equal(read->size, 24);
    captured_close(&captured);
}

/* Objects that outlive a capture are clean for the next one. */
static void captures_leave_nothing_behind(void **state)
{
    (void)state;
    struct captured captured;
    struct scene scene = make_scene(1000);
    for (unsigned round = 0; round < 3; round++) {
        unlink(path);
        captured_begin(scene.device, path);
        ((uint8_t *)scene.mapping.data)[20000] = (uint8_t)round;
        assert_ok(fixture_submit(scene.device, scene.sealed, NULL, 0, NULL, 0));
        assert_ok(hal_device_wait_idle(scene.device, HAL_FOREVER));
        assert_ok(hal_device_profiling_end(scene.device));
        assert_null(scene.visible->object.layer_data);
        assert_null(scene.sealed->object.layer_data);
        captured_open(&captured, path);
        assert_non_null(find_observed(&captured, 0));
        assert_int_equal(captured_count(&captured, TRACE_BUFFER_MAP), 1);
        captured_close(&captured);
    }
    release_scene(&scene);
    hal_device_release(scene.device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(large_transfers_come_in_pieces_and_nothing_is_lost, by_pages),
        cmocka_unit_test_setup(digests_stand_for_bytes, by_pages),
        cmocka_unit_test_setup(nothing_is_kept_where_nothing_is_wanted, by_pages),
        cmocka_unit_test_setup(the_budget_ends_bytes_and_not_the_capture, by_pages),
        cmocka_unit_test_setup(a_capture_refers_to_another_one, by_pages),
        cmocka_unit_test_setup(wrong_policies_are_refused, by_pages),
        cmocka_unit_test_setup(tiny_staging_waits_for_the_writer, by_pages),
        cmocka_unit_test_setup(a_scoped_mapping_is_read_at_map_and_written_at_unmap, by_pages),
        cmocka_unit_test_setup(flush_writes_and_invalidate_reads, by_pages),
        cmocka_unit_test_setup(stores_are_recorded_before_the_submission, by_pages),
        cmocka_unit_test_setup(stores_are_recorded_before_the_submission, by_comparison),
        cmocka_unit_test_setup(only_what_changed_is_recorded, by_pages),
        cmocka_unit_test_setup(only_what_changed_is_recorded, by_comparison),
        cmocka_unit_test_setup(what_work_reads_is_recorded_before_it_can_begin, by_pages),
        cmocka_unit_test_setup(what_work_reads_is_recorded_before_it_can_begin, by_comparison),
        cmocka_unit_test_setup(stores_are_recorded_before_the_host_reads_them, by_pages),
        cmocka_unit_test_setup(stores_are_recorded_before_the_host_reads_them, by_comparison),
        cmocka_unit_test_setup(a_signal_from_the_host_publishes_stores_too, by_pages),
        cmocka_unit_test_setup(a_signal_from_the_host_publishes_stores_too, by_comparison),
        cmocka_unit_test_setup(every_mapping_gets_its_part, by_pages),
        cmocka_unit_test_setup(every_mapping_gets_its_part, by_comparison),
        cmocka_unit_test_setup(a_mapping_that_goes_leaves_the_other_exact, by_pages),
        cmocka_unit_test_setup(a_mapping_that_goes_leaves_the_other_exact, by_comparison),
        cmocka_unit_test_setup(finished_work_is_observed_in_mapped_memory, by_pages),
        cmocka_unit_test_setup(finished_work_is_observed_in_mapped_memory, by_comparison),
        cmocka_unit_test_setup(work_that_nobody_looked_at_is_not_observed, by_pages),
        cmocka_unit_test_setup(work_that_nobody_looked_at_is_not_observed, by_comparison),
        cmocka_unit_test_setup(a_wait_for_any_observes_what_was_reached, by_pages),
        cmocka_unit_test_setup(a_wait_for_any_observes_what_was_reached, by_comparison),
        cmocka_unit_test_setup(ranges_of_unfinished_work_are_left_out, by_pages),
        cmocka_unit_test_setup(ranges_of_unfinished_work_are_left_out, by_comparison),
        cmocka_unit_test_setup(a_neighbours_writes_are_not_taken_for_ones_own, by_pages),
        cmocka_unit_test_setup(a_neighbours_writes_are_not_taken_for_ones_own, by_comparison),
        cmocka_unit_test_setup(host_and_device_share_a_buffer, by_pages),
        cmocka_unit_test_setup(late_captures_begin_with_what_is_there, by_pages),
        cmocka_unit_test_setup(late_captures_begin_with_what_is_there, by_comparison),
        cmocka_unit_test_setup(captures_leave_nothing_behind, by_pages),
        cmocka_unit_test_setup(captures_leave_nothing_behind, by_comparison),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
