/* SPDX-License-Identifier: Apache-2.0 */
/* capture/track/mappings.c and changes.c: what the host writes into mapped memory is in the trace
 * before the work that reads it. Tests run twice: with the system's account of written pages, and
 * by comparison. */
#include "tests/support/contents.h"

#include "hal/base/mem.h"
#include "hal/driver.h"

#include <sched.h>
#include <unistd.h>
#ifdef __linux__
#include <dirent.h>
#include <fcntl.h>
#endif

/* ---- Persistent mappings of coherent memory ---- */

TEST_EACH(stores_are_recorded_before_the_submission, contents_by_pages, contents_by_comparison)
{
    enum { SUBMISSIONS = 12 };
    struct captured captured;
    uint64_t random = fixture_seed();
    static uint8_t expected[SUBMISSIONS][BYTES];
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, BYTES),
                      *other = contents_buffer(device, 0, BYTES);
    const uint64_t id = buffer->object.id;
    struct hal_mapping mapping = contents_map(buffer, HAL_MAP_WRITE, 0, BYTES);
    uint8_t *memory = mapping.data;
    memset(memory, 0, BYTES);
    for (unsigned i = 0; i < SUBMISSIONS; i++) {
        for (unsigned k = 0; k < i * i; k++)
            memory[fixture_random(&random) % BYTES] = (uint8_t)fixture_random(&random);
        if (i % 3 == 2)
            contents_random(memory + 10000 * i, 30000, &random);
        memcpy(expected[i], memory, BYTES);
        contents_copy(device, buffer, 0, other, BYTES);
    }
    assert_ok(hal_buffer_unmap(&mapping));
    hal_buffer_release(buffer);
    hal_buffer_release(other);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, contents_path);
    uint8_t *seen = hal_alloc(1, BYTES);
    for (unsigned i = 0; i < SUBMISSIONS; i++) {
        captured_replay(&captured, TRACE_HOST_WRITE, id,
                        contents_ticket(&captured, TRACE_SUBMIT, i), seen, BYTES);
        assert_memory_equal(seen, expected[i], BYTES);
    }
    assert_int_equal(captured_count(&captured, TRACE_HOST_READ), 0);
    free(seen);
    captured_close(&captured);
}

/* Memory is used again, with what was in it: the second buffer's first stores change nothing there,
 * and a replay's memory does not hold them. */
TEST_EACH(stores_of_what_was_there_are_recorded, contents_by_pages, contents_by_comparison)
{
    struct captured captured;
    uint64_t random = fixture_seed(), ids[2];
    static uint8_t expected[BYTES], seen[BYTES];
    const void *memory[2];
    struct hal_device *device = fixture_device("cpu?caching=64M");
    contents_random(expected, BYTES, &random);
    captured_begin(device, contents_path);
    struct hal_buffer *other = contents_buffer(device, HAL_MEMORY_DEVICE_LOCAL, BYTES);
    for (unsigned i = 0; i < 2; i++) {
        struct hal_buffer *buffer = contents_buffer(device, 0, BYTES);
        struct hal_mapping mapping = contents_map(buffer, HAL_MAP_WRITE, 0, BYTES);
        ids[i] = buffer->object.id;
        memory[i] = mapping.data;
        memcpy(mapping.data, expected, BYTES);
        contents_copy(device, buffer, 0, other, BYTES);
        assert_ok(hal_buffer_unmap(&mapping));
        hal_buffer_release(buffer);
    }
    assert_ptr_equal(memory[0], memory[1]);
    hal_buffer_release(other);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, contents_path);
    for (unsigned i = 0; i < 2; i++) {
        memset(seen, 0, BYTES);
        captured_replay(&captured, TRACE_HOST_WRITE, ids[i],
                        contents_ticket(&captured, TRACE_SUBMIT, i), seen, BYTES);
        assert_memory_equal(seen, expected, BYTES);
    }
    captured_close(&captured);
}

TEST_EACH(only_what_changed_is_recorded, contents_by_pages, contents_by_comparison)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, 64 * MIB);
    struct hal_buffer *other = contents_buffer(device, HAL_MEMORY_DEVICE_LOCAL, 64 * MIB);
    struct hal_mapping mapping = contents_map(buffer, HAL_MAP_WRITE, 0, 64 * MIB);
    uint8_t *memory = mapping.data;
    for (unsigned i = 0; i < 10; i++) {
        memory[(uint64_t)i * 5 * MIB + 77] = (uint8_t)(i + 1);
        contents_copy(device, buffer, 0, other, 64 * MIB);
    }
    assert_ok(hal_buffer_unmap(&mapping));
    hal_buffer_release(buffer);
    hal_buffer_release(other);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, contents_path);
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

TEST_EACH(what_work_reads_is_recorded_before_it_can_begin, contents_by_pages,
          contents_by_comparison)
{
    struct captured captured;
    uint64_t random = fixture_seed();
    struct slots slots = {.device = fixture_device("cpu"),
                          .list = hal_alloc(SLOT_STEPS, sizeof(struct slot_read))};
    captured_begin(slots.device, contents_path);
    slots.buffer = contents_buffer(slots.device, 0, SLOTS_BYTES);
    slots.target = contents_buffer(slots.device, HAL_MEMORY_DEVICE_LOCAL, SLOTS_BYTES);
    slots.gate = fixture_semaphore(slots.device, "gate", 0);
    slots.mapping = contents_map(slots.buffer, HAL_MAP_WRITE, 0, SLOTS_BYTES);
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

    captured_open(&captured, contents_path);
    uint8_t *seen = hal_alloc(1, SLOTS_BYTES);
    for (size_t i = 0; i < slots.reads; i++) {
        const struct slot_read *read = &slots.list[i];
        memset(seen, 0, SLOTS_BYTES);
        captured_replay(&captured, TRACE_HOST_WRITE, id,
                        contents_ticket(&captured, read->kind, read->number), seen, SLOTS_BYTES);
        assert_memory_equal(seen + (size_t)read->slot * SLOT_BYTES, read->expected, SLOT_BYTES);
    }
    free(seen);
    free(slots.list);
    captured_close(&captured);
}

/* Nothing reads it but the host, through another mapping. */
TEST_EACH(stores_are_recorded_before_the_host_reads_them, contents_by_pages, contents_by_comparison)
{
    struct captured captured;
    uint8_t byte = 0;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, BYTES);
    const uint64_t id = buffer->object.id;
    struct hal_mapping mapping = contents_map(buffer, HAL_MAP_WRITE, 0, BYTES);
    ((uint8_t *)mapping.data)[30000] = 0x5a;
    contents_fill(device, buffer, 0, 4, 1);
    assert_ok(hal_buffer_read(buffer, 30000, &byte, 1));
    assert_int_equal(byte, 0x5a);
    assert_ok(hal_buffer_unmap(&mapping));
    hal_buffer_release(buffer);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, contents_path);
    uint8_t *seen = hal_alloc(1, BYTES);
    captured_replay(&captured, TRACE_HOST_WRITE, id, contents_ticket(&captured, TRACE_SUBMIT, 0),
                    seen, BYTES);
    assert_int_equal(seen[30000], 0); /* no work uses it: nobody looked */
    captured_replay(&captured, TRACE_HOST_WRITE, id, contents_ticket(&captured, TRACE_HOST_READ, 0),
                    seen, BYTES);
    assert_int_equal(seen[30000], 0x5a);
    free(seen);
    captured_close(&captured);
}

TEST_EACH(a_signal_from_the_host_publishes_stores_too, contents_by_pages, contents_by_comparison)
{
    struct captured captured;
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *source = contents_buffer(device, 0, BYTES),
                      *target = contents_buffer(device, 0, BYTES);
    struct hal_semaphore *go = fixture_semaphore(device, "go", 0);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_mapping mapping = contents_map(source, HAL_MAP_WRITE, 0, BYTES);
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

    captured_open(&captured, contents_path);
    uint8_t *seen = hal_alloc(1, BYTES);
    captured_replay(&captured, TRACE_HOST_WRITE, id,
                    contents_ticket(&captured, TRACE_SEMAPHORE_SIGNAL, 0), seen, BYTES);
    assert_int_equal(seen[5000], 0xa5);
    free(seen);
    captured_close(&captured);
}

/* Mappings that overlap, and one buffer that shares pages with others. */
TEST_EACH(every_mapping_gets_its_part, contents_by_pages, contents_by_comparison)
{
    struct captured captured;
    uint8_t expected_large[BYTES], expected_small[3][300];
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *large = contents_buffer(device, 0, BYTES), *small[3];
    struct hal_mapping parts[3], smalls[3];
    static const uint64_t offsets[3] = {0, 6000, 100 * KIB}, sizes[3] = {10000, 20000, 156 * KIB};
    for (unsigned i = 0; i < 3; i++) {
        parts[i] = contents_map(large, HAL_MAP_WRITE, offsets[i], sizes[i]);
        small[i] = contents_buffer(device, 0, 300);
        smalls[i] = contents_map(small[i], HAL_MAP_WRITE, 0, 300);
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

    captured_open(&captured, contents_path);
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

/* Of one block the device is about to write a part, and the host has written another. */
TEST_EACH(stores_beside_unfinished_work_are_recorded, contents_by_pages, contents_by_comparison)
{
    struct captured captured;
    uint8_t *seen = hal_alloc(1, BYTES);
    struct hal_device *device = fixture_device("cpu?queues=2");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, BYTES);
    struct hal_buffer *other = contents_buffer(device, HAL_MEMORY_DEVICE_LOCAL, BYTES);
    const uint64_t id = buffer->object.id;
    struct hal_semaphore *go = fixture_semaphore(device, "go", 0);
    struct hal_command_buffer *fill = fixture_commands(device, "fill", HAL_ONE_SHOT);
    struct hal_command_buffer *copy = fixture_commands(device, "copy", HAL_ONE_SHOT);
    struct hal_mapping mapping = contents_map(buffer, HAL_MAP_WRITE, 0, BYTES);
    assert_ok(hal_command_fill(fill, buffer, 8192, 64, 7, 1));
    assert_ok(hal_command_buffer_end(fill));
    assert_ok(hal_command_copy(copy, buffer, 9000, other, 0, 100));
    assert_ok(hal_command_buffer_end(copy));
    assert_ok(fixture_submit(device, fill, go, 1, NULL, 0));
    memset((uint8_t *)mapping.data + 9000, 5, 100);
    assert_ok(fixture_submit(device, copy, NULL, 0, NULL, 0));
    assert_ok(hal_semaphore_signal(go, 1));
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    assert_ok(hal_buffer_unmap(&mapping));
    hal_command_buffer_release(fill);
    hal_command_buffer_release(copy);
    hal_semaphore_release(go);
    hal_buffer_release(buffer);
    hal_buffer_release(other);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, contents_path);
    captured_replay(&captured, TRACE_HOST_WRITE, id, contents_ticket(&captured, TRACE_SUBMIT, 1),
                    seen, BYTES);
    for (size_t i = 9000; i < 9100; i++)
        assert_int_equal(seen[i], 5);
    free(seen);
    captured_close(&captured);
}

/* Bytes of a change that nobody observed: a fill of [FILLED, FILLED + PART), and of the host's
 * stores beside it, both in one page. */
enum { FILLED = 8192, STORED = 8960, PART = 64, AGAIN = 12288, EARLIER = 64 * KIB };

static void wait_unseen(const struct hal_mapping *mapping, uint8_t value)
{
    const volatile uint8_t *last = (uint8_t *)mapping->data + FILLED + PART - 1;
    while (*last != value)
        sched_yield();
}

static void look_for_change(uint64_t buffer, unsigned fill, bool is_known)
{
    static uint8_t seen[EARLIER];
    struct captured captured;
    bool found = false;
    captured_open(&captured, contents_path);
    memset(seen, 0, sizeof seen);
    const uint64_t filled_at = contents_ticket(&captured, TRACE_SUBMIT, fill);
    captured_replay(&captured, TRACE_HOST_WRITE, buffer,
                    contents_ticket(&captured, TRACE_SUBMIT, fill + 1), seen, EARLIER);
    for (size_t i = 0; i < EARLIER; i++)
        assert_int_equal(seen[i], i / PART == STORED / PART ? 5 : i / PART == AGAIN / PART ? 4 : 3);
    for (size_t i = 0; i < captured_count(&captured, TRACE_HOST_WRITE); i++) {
        const struct trace_content_event *write = captured_find(&captured, TRACE_HOST_WRITE, i);
        if (write->buffer == buffer && write->head.ticket > filled_at)
            assert_true(write->offset + write->size <= FILLED || write->offset >= FILLED + PART);
    }
    for (size_t i = 0; i < captured_count(&captured, TRACE_MAPPED_CHANGE); i++) {
        const struct trace_mapped_change *change = captured_find(&captured, TRACE_MAPPED_CHANGE, i);
        assert_true(change->part.buffer == buffer && change->part.content);
        assert_true(!is_known || change->before);
        found |= change->part.offset <= FILLED &&
                 change->part.offset + change->part.size >= FILLED + PART;
    }
    assert_true(found);
    captured_close(&captured);
}

/* After `idle` observations in which host and work did not meet in the buffer. */
static void meet_in_a_page(uint64_t bytes, unsigned idle, bool is_known)
{
    struct hal_device *device = fixture_device("cpu");
    unlink(contents_path);
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, bytes);
    struct hal_buffer *other = contents_buffer(device, HAL_MEMORY_DEVICE_LOCAL, BYTES);
    const uint64_t id = buffer->object.id;
    struct hal_command_buffer *fill = fixture_commands(device, "fill", HAL_ONE_SHOT);
    struct hal_command_buffer *copy = fixture_commands(device, "copy", HAL_ONE_SHOT);
    struct hal_mapping mapping = contents_map(buffer, HAL_MAP_WRITE, 0, bytes);
    /* Before there is anything that may write: what work reads, and what nobody has asked for. */
    memset(mapping.data, 3, EARLIER);
    contents_copy(device, buffer, 0, other, EARLIER);
    memset((uint8_t *)mapping.data + AGAIN, 4, PART);
    for (unsigned i = 0; i < idle; i++)
        contents_fill(device, buffer, 1 * MIB, 4, 1);
    assert_ok(hal_command_fill(fill, buffer, FILLED, PART, 7, 1));
    assert_ok(hal_command_buffer_end(fill));
    assert_ok(hal_command_copy(copy, buffer, 0, other, 0, EARLIER));
    assert_ok(hal_command_buffer_end(copy));
    assert_ok(fixture_submit(device, fill, NULL, 0, NULL, 0));
    wait_unseen(&mapping, 7);
    memset((uint8_t *)mapping.data + STORED, 5, PART);
    assert_ok(fixture_submit(device, copy, NULL, 0, NULL, 0));
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    assert_ok(hal_buffer_unmap(&mapping));
    hal_command_buffer_release(fill);
    hal_command_buffer_release(copy);
    hal_buffer_release(buffer);
    hal_buffer_release(other);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    look_for_change(id, idle + 1, is_known);
}

/* Whoever may have stored them, they are not the host's for sure, and not left out. */
TEST_EACH(what_work_may_have_stored_is_a_change, contents_by_pages)
{
    meet_in_a_page(BYTES, 0, true);
    meet_in_a_page(2 * MIB, 0, true);
    meet_in_a_page(2 * MIB, 80, false);  /* too seldom: there is no copy any more */
    meet_in_a_page(300 * MIB, 0, false); /* too much to copy */
}

#ifdef __linux__
/* Puts something else in the place of each descriptor of this process whose target is `wanted`. */
static void replace_descriptors(const char *wanted)
{
    DIR *folder = opendir("/proc/self/fd");
    const int other = open("/dev/null", O_RDONLY);
    assert_non_null(folder);
    assert_true(other >= 0);
    for (const struct dirent *entry; (entry = readdir(folder));) {
        char target[64] = "";
        (void)readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        if (strstr(target, wanted))
            assert_true(dup2(other, atoi(entry->d_name)) >= 0);
    }
    close(other);
    closedir(folder);
}

/* A program that closes what it has not opened takes the system's account of written pages away. */
TEST_EACH(stores_are_recorded_where_the_system_stops_telling, contents_by_pages)
{
    static const char *const taken[] = {"/pagemap", "anon_inode:[userfaultfd]"};
    enum { TAKEN = sizeof taken / sizeof *taken };
    struct captured captured;
    uint64_t random = fixture_seed();
    static uint8_t expected[TAKEN][BYTES], seen[BYTES];
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *buffer = contents_buffer(device, 0, BYTES);
    struct hal_buffer *other = contents_buffer(device, HAL_MEMORY_DEVICE_LOCAL, BYTES);
    const uint64_t id = buffer->object.id;
    struct hal_mapping mapping = contents_map(buffer, HAL_MAP_WRITE, 0, BYTES);
    for (size_t i = 0; i < TAKEN; i++) {
        replace_descriptors(taken[i]);
        contents_random((uint8_t *)mapping.data + 100000 * i, 5000, &random);
        memcpy(expected[i], mapping.data, BYTES);
        contents_copy(device, buffer, 0, other, BYTES);
    }
    assert_ok(hal_buffer_unmap(&mapping));
    hal_buffer_release(buffer);
    hal_buffer_release(other);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);

    captured_open(&captured, contents_path);
    for (size_t i = 0; i < TAKEN; i++) {
        captured_replay(&captured, TRACE_HOST_WRITE, id,
                        contents_ticket(&captured, TRACE_SUBMIT, i), seen, BYTES);
        assert_memory_equal(seen, expected[i], BYTES);
    }
    captured_close(&captured);
}
#endif

/* The program's own memory, with what it held before and what it gets later. */
TEST_EACH(imported_memory_is_recorded_before_the_work, contents_by_pages, contents_by_comparison)
{
    enum { SUBMISSIONS = 4 };
    struct captured captured;
    uint64_t random = fixture_seed();
    void *memory = NULL;
    struct hal_buffer *imported;
    static uint8_t expected[SUBMISSIONS][BYTES], seen[BYTES];
    assert_int_equal(posix_memalign(&memory, 64 * KIB, BYTES), 0);
    contents_random(memory, BYTES, &random);
    struct hal_device *device = fixture_device("cpu");
    captured_begin(device, contents_path);
    struct hal_buffer *other = contents_buffer(device, HAL_MEMORY_DEVICE_LOCAL, BYTES);
    assert_ok(hal_buffer_import(device, &(struct hal_buffer_desc){.bytes = BYTES}, memory, NULL,
                                NULL, &imported));
    const uint64_t id = imported->object.id;
    for (unsigned i = 0; i < SUBMISSIONS; i++) {
        if (i > 0)
            contents_random((uint8_t *)memory + 50000 * i, 10000, &random);
        memcpy(expected[i], memory, BYTES);
        contents_copy(device, imported, 0, other, BYTES);
    }
    hal_buffer_release(imported);
    hal_buffer_release(other);
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    free(memory);

    captured_open(&captured, contents_path);
    for (unsigned i = 0; i < SUBMISSIONS; i++) {
        memset(seen, 0, BYTES);
        captured_replay(&captured, TRACE_HOST_WRITE, id,
                        contents_ticket(&captured, TRACE_SUBMIT, i), seen, BYTES);
        assert_memory_equal(seen, expected[i], BYTES);
    }
    captured_close(&captured);
}

TEST_SUITE_FIXTURE(contents_setup, contents_teardown);
