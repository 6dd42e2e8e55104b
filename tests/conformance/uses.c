/* SPDX-License-Identifier: Apache-2.0 */
/* What work may not use: bytes that the host has mapped for a while, and transient buffers that
 * were given back; also when the commands were recorded before. */
#include "tests/conformance/suite.h"

#include <stdio.h>
#include <unistd.h>

enum { BYTES = 1024, HALF = BYTES / 2 };

/* ---- Mappings ------------------------------------------------------------------------------- */

/* The ways to use a buffer. */
enum use { FILL, COPY_FROM, COPY_TO, UPDATE, BIND, COUNTS, USES };

static void record(struct suite *suite, struct hal_command_buffer *commands, enum use use,
                   struct hal_buffer *buffer)
{
    static const uint8_t data[16];
    struct hal_executable *kernels = suite_kernels(suite);
    struct hal_buffer *other = suite_buffer(suite, "other", BYTES);
    const struct hal_binding bindings[2] = {{use == BIND ? buffer : other, 0, 256},
                                            {other, 256, 256}};
    switch (use) {
    case FILL: check_ok(suite, hal_command_fill(commands, buffer, 0, HALF, 0x11, 1)); return;
    case COPY_FROM: check_ok(suite, hal_command_copy(commands, buffer, 0, other, 0, HALF)); return;
    case COPY_TO: check_ok(suite, hal_command_copy(commands, other, 0, buffer, 0, HALF)); return;
    case UPDATE:
        check_ok(suite, hal_command_update(commands, data, buffer, 0, sizeof data));
        return;
    case BIND:
    case COUNTS: check_ok(suite, hal_command_push_descriptor_set(commands, 0, bindings, 2)); break;
    case USES: break;
    }
    if (use == COUNTS)
        check_ok(suite, hal_command_dispatch_indirect(commands, kernels, KERNEL_COPY, buffer, 4));
    else
        check_ok(suite,
                 hal_command_dispatch(commands, kernels, KERNEL_COPY, (uint32_t[3]){1, 1, 1}));
}

static struct hal_mapping map(struct suite *suite, struct hal_buffer *buffer, uint32_t mode,
                              uint64_t offset, uint64_t bytes)
{
    struct hal_mapping mapping;
    check_ok(suite, hal_buffer_map(buffer, mode, offset, bytes, &mapping));
    return mapping;
}

/* Recorded before the mapping is made and submitted before it is undone; then once more. */
static void mapped(struct suite *suite, uint64_t use)
{
    struct hal_buffer *buffer = suite_buffer(suite, "shown", BYTES);
    struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_ONE_SHOT);
    suite_clear(suite, buffer, 0);
    record(suite, commands, (enum use)use, buffer);
    check_ok(suite, hal_command_buffer_end(commands));
    struct hal_mapping mapping = map(suite, buffer, HAL_MAP_READ, 4, 8);
    const enum hal_status status = suite_submit(suite, 0, commands, SUITE_NONE, SUITE_NONE);
    char message[256];
    snprintf(message, sizeof message, "%s", hal_message());
    check_ok(suite, hal_buffer_unmap(&mapping));
    check(suite, status == HAL_INVALID);
    check(suite, strstr(message, "command buffer 'list' uses"));
    check(suite, strstr(message, "buffer 'shown', of which 8 bytes at offset 4 are mapped"));
    suite_submit_and_wait(suite, commands);
}

/* What is beside the mapping, and before and behind it, is nobody's business. */
static void beside(struct suite *suite, uint64_t unused)
{
    uint8_t wanted[BYTES];
    struct hal_buffer *buffer = suite_buffer(suite, "shown", BYTES), *part;
    struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_ONE_SHOT);
    (void)unused;
    check_ok(suite, hal_buffer_subspan(buffer, HALF, HALF, "part", &part));
    suite_own_buffer(suite, part);
    suite_clear(suite, buffer, 0);
    check_ok(suite, hal_command_fill(commands, buffer, 0, 100, 0x11, 1));
    check_ok(suite, hal_command_fill(commands, part, 0, HALF, 0x22, 1));
    check_ok(suite, hal_command_buffer_end(commands));
    struct hal_mapping mapping = map(suite, buffer, HAL_MAP_READ | HAL_MAP_WRITE, 100, HALF - 100);
    const enum hal_status status = suite_submit(suite, 0, commands, SUITE_NONE, SUITE_NONE);
    memset(mapping.data, 0x33, HALF - 100);
    check_ok(suite, hal_buffer_unmap(&mapping));
    check_ok(suite, status);
    check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
    memset(wanted, 0x11, 100);
    memset(wanted + 100, 0x33, HALF - 100);
    memset(wanted + HALF, 0x22, HALF);
    check_buffer(suite, buffer, 0, wanted, BYTES);
}

/* A subspan is mapped, the buffer behind it is used. */
static void through_a_subspan(struct suite *suite, uint64_t unused)
{
    struct hal_buffer *buffer = suite_buffer(suite, "root", BYTES), *part;
    (void)unused;
    check_ok(suite, hal_buffer_subspan(buffer, HALF, 64, "part", &part));
    suite_own_buffer(suite, part);
    struct hal_mapping mapping = map(suite, part, HAL_MAP_WRITE, 63, 1);
    const enum hal_status over =
        hal_queue_fill(suite_device(suite), NULL, buffer, HALF + 63, 1, 0, 1);
    const enum hal_status before =
        hal_queue_fill(suite_device(suite), NULL, buffer, HALF, 63, 0, 1);
    const enum hal_status behind =
        hal_queue_fill(suite_device(suite), NULL, buffer, HALF + 64, 64, 0, 1);
    check_ok(suite, hal_buffer_unmap(&mapping));
    check(suite, over == HAL_INVALID);
    check_ok(suite, before);
    check_ok(suite, behind);
    check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
}

/* Persistent mappings stay open while work uses the buffer. */
static void persistently(struct suite *suite, uint64_t unused)
{
    uint8_t wanted[BYTES];
    struct hal_buffer *buffer = suite_buffer(suite, "shown", BYTES);
    struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_ONE_SHOT);
    struct hal_mapping mapping =
        map(suite, buffer, HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0, BYTES);
    (void)unused;
    check_ok(suite, hal_command_fill(commands, buffer, 0, BYTES, 0x44, 1));
    suite_run(suite, commands);
    check_ok(suite, hal_buffer_unmap(&mapping));
    memset(wanted, 0x44, BYTES);
    check_buffer(suite, buffer, 0, wanted, BYTES);
}

/* One half is mapped again and again while work writes the other: where host and device have copies
 * of their own, what the host read meanwhile must not pass for what the work leaves. The buffer may
 * end inside a word. */
enum way { BY_BUFFER, BY_PARTS, BY_PERSISTENT, BY_ODD_END };

static struct hal_mapping map_meanwhile(struct suite *suite, struct hal_buffer *still,
                                        uint32_t mode, uint64_t offset, uint64_t bytes,
                                        struct hal_semaphore *done)
{
    uint64_t reached = 0;
    struct hal_mapping last = map(suite, still, mode, offset, bytes);
    while (reached == 0) {
        check_ok(suite, hal_buffer_unmap(&last));
        last = map(suite, still, mode, offset, bytes);
        check(suite, ((const uint8_t *)last.data)[HALF - 1] == 0x11);
        check_ok(suite, hal_semaphore_query(done, &reached));
    }
    return last;
}

static void during_work(struct suite *suite, uint64_t way)
{
    enum { LARGE_BYTES = 1 << 20, TIMES = 4 };
    uint8_t wanted[BYTES + 1];
    const uint64_t bytes = way == BY_ODD_END ? BYTES + 1 : BYTES;
    const uint64_t still = way == BY_ODD_END ? HALF : 0, busy = HALF - still;
    const uint32_t mode = way == BY_PERSISTENT ? HAL_MAP_READ | HAL_MAP_PERSISTENT : HAL_MAP_READ;
    struct hal_buffer *buffer = suite_buffer_of(
        suite, suite_device(suite),
        &(struct hal_buffer_desc){.label = "both",
                                  .bytes = bytes,
                                  .memory = HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_VISIBLE});
    struct hal_buffer *large = suite_buffer(suite, "takes a while", LARGE_BYTES);
    struct hal_buffer *first = buffer;
    struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_ONE_SHOT);
    struct hal_semaphore *done = suite_semaphore(suite, "done", 0);
    if (way == BY_PARTS) {
        check_ok(suite, hal_buffer_subspan(buffer, 0, HALF, "first", &first));
        suite_own_buffer(suite, first);
    }
    suite_clear(suite, buffer, 0x11);
    for (uint32_t i = 0; i < TIMES; i++) {
        check_ok(suite, hal_command_fill(commands, large, 0, LARGE_BYTES, i, 4));
        check_ok(suite, hal_command_barrier(commands, NULL));
    }
    check_ok(suite, hal_command_fill(commands, buffer, busy, HALF, 0x22, 1));
    check_ok(suite, hal_command_buffer_end(commands));
    check_ok(suite, suite_submit(suite, 0, commands, SUITE_NONE, suite_at(done, 1)));
    struct hal_mapping last =
        map_meanwhile(suite, first, mode, still, way == BY_PERSISTENT ? BYTES : bytes - HALF, done);
    memset(wanted, 0x11, sizeof wanted);
    memset(wanted + busy, 0x22, HALF);
    if (way == BY_PERSISTENT) {
        check_ok(suite, hal_mapping_invalidate(&last, 0, HAL_WHOLE_BUFFER));
        check(suite, memcmp(last.data, wanted, BYTES) == 0);
    }
    check_ok(suite, hal_buffer_unmap(&last));
    check_buffer(suite, buffer, 0, wanted, bytes);
}

/* Two are open; one of them is undone. */
static void two_mappings(struct suite *suite, uint64_t unused)
{
    struct hal_device *device = suite_device(suite);
    struct hal_buffer *buffer = suite_buffer(suite, "shown", BYTES);
    (void)unused;
    suite_clear(suite, buffer, 0);
    struct hal_mapping first = map(suite, buffer, HAL_MAP_READ, 0, 16);
    struct hal_mapping second = map(suite, buffer, HAL_MAP_READ, 8, 16);
    enum hal_status both = hal_queue_fill(device, NULL, buffer, 8, 8, 0, 1);
    check_ok(suite, hal_buffer_unmap(&first));
    const enum hal_status rest = hal_queue_fill(device, NULL, buffer, 8, 8, 0, 1);
    const enum hal_status undone = hal_queue_fill(device, NULL, buffer, 0, 8, 0, 1);
    check_ok(suite, hal_buffer_unmap(&second));
    check(suite, both == HAL_INVALID);
    check(suite, rest == HAL_INVALID);
    check_ok(suite, undone);
    check_ok(suite, hal_queue_fill(device, NULL, buffer, 8, 8, 0, 1));
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
}

static void by_files(struct suite *suite, uint64_t writes)
{
    struct hal_device *device = suite_device(suite);
    struct hal_buffer *buffer = suite_buffer(suite, "shown", BYTES);
    const char *path = suite_path(suite, suite_folder(suite), "data");
    struct hal_file *file =
        suite_file(suite, path, HAL_FILE_READ | HAL_FILE_WRITE | HAL_FILE_CREATE);
    enum hal_status status = HAL_OK;
    check(suite, truncate(path, BYTES) == 0);
    suite_clear(suite, buffer, 0);
    struct hal_mapping mapping = map(suite, buffer, HAL_MAP_READ, 0, 1);
    for (uint64_t offset = 0; offset < 2; offset++) {
        status = writes ? hal_queue_write(device, NULL, buffer, offset, file, 0, 8)
                        : hal_queue_read(device, NULL, file, 0, buffer, offset, 8);
        suite_note(suite, "offset %d", (int)offset);
        if (status != (offset ? HAL_OK : HAL_INVALID))
            break;
    }
    const enum hal_status undone = hal_buffer_unmap(&mapping);
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
    check_ok(suite, undone);
    check_ok(suite, status);
}

/* ---- Transient buffers ----------------------------------------------------------------------- */

static struct hal_buffer *transient(struct suite *suite)
{
    struct hal_buffer *buffer;
    const struct hal_buffer_desc desc = {.label = "lent", .bytes = BYTES};
    check_ok(suite, hal_queue_alloca(suite_device(suite), NULL, &desc, &buffer));
    return suite_own_buffer(suite, buffer);
}

static void give_back(struct suite *suite, struct hal_buffer *buffer)
{
    check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
    check_ok(suite, hal_queue_dealloca(suite_device(suite), NULL, buffer));
}

#define FREED HAL_INVALID, "buffer 'lent'", "was freed by hal_queue_dealloca"

static void recorded_after_its_end(struct suite *suite, uint64_t by_part)
{
    static const uint8_t data[4];
    struct hal_device *device = suite_device(suite);
    struct hal_buffer *buffer = transient(suite), *part;
    struct hal_buffer *other = suite_buffer(suite, "other", BYTES);
    struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_ONE_SHOT);
    check_ok(suite, hal_buffer_subspan(buffer, 256, 256, "part", &part));
    suite_own_buffer(suite, part);
    give_back(suite, buffer);
    struct hal_buffer *used = by_part ? part : buffer;
    const struct hal_binding binding = {used, 0, 16};
    const struct hal_buffer_barrier range = {used, 0, 16, 0, 0};
    const struct hal_barrier_desc barrier = {.buffers = &range, .buffer_count = 1};
    check_fails(suite, hal_command_fill(commands, used, 0, 4, 0, 1), FREED);
    check_fails(suite, hal_command_copy(commands, used, 0, other, 0, 4), FREED);
    check_fails(suite, hal_command_copy(commands, other, 0, used, 0, 4), FREED);
    check_fails(suite, hal_command_update(commands, data, used, 0, 4), FREED);
    check_fails(suite, hal_command_push_descriptor_set(commands, 0, &binding, 1), FREED);
    check_fails(suite, hal_command_barrier(commands, &barrier), FREED);
    check_fails(suite, hal_command_dispatch_indirect(commands, suite_kernels(suite), 0, used, 0),
                FREED);
    check_fails(suite, hal_queue_fill(device, NULL, used, 0, 4, 0, 1), FREED);
}

static void submitted_after_its_end(struct suite *suite, uint64_t use)
{
    struct hal_buffer *buffer = transient(suite), *part;
    struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_REUSABLE);
    check_ok(suite, hal_buffer_subspan(buffer, 0, HAL_WHOLE_BUFFER, "part", &part));
    suite_own_buffer(suite, part);
    check_ok(suite, hal_queue_fill(suite_device(suite), NULL, buffer, 0, BYTES, 0, 1));
    check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
    record(suite, commands, (enum use)(use % USES), use < USES ? buffer : part);
    check_ok(suite, hal_command_buffer_end(commands));
    for (int i = 0; i < 2; i++)
        suite_submit_and_wait(suite, commands);
    give_back(suite, buffer);
    check_fails(suite, suite_submit(suite, 0, commands, SUITE_NONE, SUITE_NONE), HAL_INVALID,
                "command buffer 'list'", "buffer 'lent'", "was freed by hal_queue_dealloca");
}

/* The memory goes when the waits are met, and not before. */
static void seen_until_its_end(struct suite *suite, uint64_t unused)
{
    uint8_t byte = 0;
    struct hal_buffer *buffer = transient(suite);
    struct hal_semaphore *end = suite_semaphore(suite, "end", 0);
    const struct hal_semaphore_value wait = {end, 1};
    const struct hal_submit_desc desc = {.waits = &wait, .wait_count = 1};
    (void)unused;
    check_ok(suite, hal_queue_fill(suite_device(suite), NULL, buffer, 0, BYTES, 0x5E, 1));
    check_ok(suite, hal_device_wait_idle(suite_device(suite), SUITE_TIMEOUT_NS));
    check_ok(suite, hal_queue_dealloca(suite_device(suite), &desc, buffer));
    suite_read(suite, buffer, BYTES - 1, &byte, 1);
    check_u64(suite, byte, 0x5E);
    check_fails(suite, hal_queue_dealloca(suite_device(suite), NULL, buffer), HAL_INVALID,
                "already been freed");
    check_fails(suite, hal_queue_fill(suite_device(suite), NULL, buffer, 0, 1, 0, 1), FREED);
    check_ok(suite, hal_semaphore_signal(end, 1));
}

/* Ranges of 0 bytes use nothing, wherever they lie: recorded, and straight on a queue. */
static void no_bytes(struct suite *suite, uint64_t unused)
{
    static const uint64_t offsets[] = {0, 3, 4, 5, 11, 12, 13, BYTES};
    struct hal_device *device = suite_device(suite);
    struct hal_buffer *buffer = suite_buffer(suite, "shown", BYTES);
    struct hal_buffer *other = suite_buffer(suite, "other", BYTES);
    (void)unused;
    suite_clear(suite, buffer, 0);
    struct hal_mapping mapping = map(suite, buffer, HAL_MAP_READ, 4, 8);
    enum hal_status status = HAL_OK;
    for (size_t i = 0; status == HAL_OK && i < SUITE_COUNT(offsets); i++) {
        struct hal_command_buffer *commands = suite_commands(suite, "list", HAL_ONE_SHOT);
        suite_note(suite, "0 bytes at %d", (int)offsets[i]);
        check_ok(suite, hal_command_fill(commands, buffer, offsets[i], 0, 1, 1));
        check_ok(suite, hal_command_copy(commands, buffer, offsets[i], other, 0, 0));
        check_ok(suite, hal_command_copy(commands, other, 0, buffer, offsets[i], 0));
        check_ok(suite, hal_command_update(commands, NULL, buffer, offsets[i], 0));
        check_ok(suite, hal_command_buffer_end(commands));
        status = suite_submit(suite, 0, commands, SUITE_NONE, SUITE_NONE);
        if (status == HAL_OK)
            status = hal_queue_fill(device, NULL, buffer, offsets[i], 0, 1, 1);
    }
    char message[256];
    snprintf(message, sizeof message, "%s", hal_message());
    const enum hal_status used = hal_queue_fill(device, NULL, buffer, 11, 1, 1, 1);
    check_ok(suite, hal_buffer_unmap(&mapping));
    if (status != HAL_OK)
        suite_fail(suite, __FILE__, __LINE__, "%s", message);
    check(suite, used == HAL_INVALID); /* the last byte that is mapped */
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
}

/* Not while the host looks at it; and a refused dealloca has given nothing back. */
static void given_back_while_mapped(struct suite *suite, uint64_t unused)
{
    struct hal_device *device = suite_device(suite);
    struct hal_buffer *buffer = transient(suite);
    (void)unused;
    check_ok(suite, hal_queue_fill(device, NULL, buffer, 0, BYTES, 0, 1));
    check_ok(suite, hal_device_wait_idle(device, SUITE_TIMEOUT_NS));
    struct hal_mapping mapping = map(suite, buffer, HAL_MAP_READ, 10, 1);
    const enum hal_status early = hal_queue_dealloca(device, NULL, buffer);
    check_ok(suite, hal_buffer_unmap(&mapping));
    check(suite, early == HAL_INVALID);
    check_ok(suite, hal_queue_fill(device, NULL, buffer, 0, BYTES, 0, 1));
    give_back(suite, buffer);
}

static const struct suite_case cases[] = {
    {"mapped_fill", mapped, FILL},
    {"mapped_copy_source", mapped, COPY_FROM},
    {"mapped_copy_target", mapped, COPY_TO},
    {"mapped_update", mapped, UPDATE},
    {"mapped_binding", mapped, BIND},
    {"mapped_counts", mapped, COUNTS},
    {"mapped_beside", beside, 0},
    {"mapped_no_bytes", no_bytes, 0},
    {"mapped_through_a_subspan", through_a_subspan, 0},
    {"mapped_persistently", persistently, 0},
    {"mapped_during_work", during_work, BY_BUFFER},
    {"mapped_during_work_by_parts", during_work, BY_PARTS},
    {"mapped_during_work_persistently", during_work, BY_PERSISTENT},
    {"mapped_during_work_to_an_odd_end", during_work, BY_ODD_END},
    {"mapped_twice", two_mappings, 0},
    {"mapped_and_read_from_a_file", by_files, 0},
    {"mapped_and_written_to_a_file", by_files, 1},
    {"recorded_after_its_end", recorded_after_its_end, 0},
    {"recorded_after_the_end_of_its_root", recorded_after_its_end, 1},
    {"submitted_after_its_end_fill", submitted_after_its_end, FILL},
    {"submitted_after_its_end_copy_source", submitted_after_its_end, COPY_FROM},
    {"submitted_after_its_end_binding", submitted_after_its_end, BIND},
    {"submitted_after_its_end_counts", submitted_after_its_end, COUNTS},
    {"submitted_after_its_end_part", submitted_after_its_end, USES + COPY_TO},
    {"seen_until_its_end", seen_until_its_end, 0},
    {"given_back_while_mapped", given_back_while_mapped, 0},
};

const struct suite_area area_uses = {"uses", cases, SUITE_COUNT(cases)};
