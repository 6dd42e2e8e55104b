/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers: creation, memory types and usages, mappings of every mode, and who keeps what alive. */
#include "tests/conformance/suite.h"

/* ---- Creation ------------------------------------------------------------------------------- */

/* All bytes are there, and nobody else's. */
static void holds_its_bytes(struct suite *suite, uint64_t bytes)
{
    struct hal_buffer *before = suite_buffer(suite, "before", bytes);
    struct hal_buffer *buffer = suite_buffer(suite, "middle", bytes);
    struct hal_buffer *after = suite_buffer(suite, "after", bytes);
    uint8_t *data = suite_memory(suite, bytes), *guard = suite_memory(suite, bytes);
    check_u64(suite, hal_buffer_bytes(buffer), bytes);
    memset(guard, 0x6B, bytes);
    suite_random_bytes(suite, data, bytes);
    suite_clear(suite, before, 0x6B);
    suite_clear(suite, after, 0x6B);
    suite_write(suite, buffer, 0, data, bytes);
    check_buffer(suite, buffer, 0, data, bytes);
    check_buffer(suite, before, 0, guard, bytes);
    check_buffer(suite, after, 0, guard, bytes);
}

static void many_small_buffers(struct suite *suite, uint64_t count)
{
    struct hal_buffer **buffers = suite_memory(suite, count * sizeof *buffers);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t value = i * 2654435761U;
        buffers[i] = suite_buffer(suite, NULL, 4 + i % 61);
        suite_write(suite, buffers[i], i % 61, &value, 4);
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t value = i * 2654435761U;
        check_buffer(suite, buffers[i], i % 61, &value, 4);
    }
}

/* Memory that went back is handed out again, and is as good as new. */
static void comes_and_goes(struct suite *suite, uint64_t bytes)
{
    uint8_t *data = suite_memory(suite, bytes), *got = suite_memory(suite, bytes);
    for (int i = 0; i < 50; i++) {
        struct hal_buffer *buffer;
        const struct hal_buffer_desc desc = {.bytes = bytes};
        check_ok(suite, hal_buffer_create(suite_device(suite), &desc, &buffer));
        memset(data, i, bytes);
        enum hal_status status = hal_buffer_write(buffer, 0, data, bytes);
        if (status == HAL_OK)
            status = hal_buffer_read(buffer, 0, got, bytes);
        hal_buffer_release(buffer);
        check_ok(suite, status);
        check_bytes(suite, got, data, bytes);
    }
}

/* Every legal set of memory bits that the host sees can be written, moved and read. */
static void memory_type(struct suite *suite, uint64_t memory)
{
    enum { BYTES = 5001 };
    uint8_t *data = suite_memory(suite, BYTES);
    const struct hal_buffer_desc desc = {.bytes = BYTES, .memory = (uint32_t)memory};
    struct hal_buffer *source = suite_buffer_of(suite, suite_device(suite), &desc);
    struct hal_buffer *target = suite_buffer_of(suite, suite_device(suite), &desc);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    suite_random_bytes(suite, data, BYTES);
    suite_write(suite, source, 0, data, BYTES);
    check_ok(suite, hal_command_copy(commands, source, 0, target, 0, BYTES));
    suite_run(suite, commands);
    check_buffer(suite, target, 0, data, BYTES);
}

static void device_local_is_not_mapped(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_mapping mapping;
    uint8_t byte = 0;
    struct hal_buffer *buffer =
        suite_buffer_of(suite, suite_device(suite),
                        &(struct hal_buffer_desc){
                            .label = "hidden", .bytes = 100, .memory = HAL_MEMORY_DEVICE_LOCAL});
    check_fails(suite, hal_buffer_map(buffer, HAL_MAP_READ, 0, 1, &mapping), HAL_INVALID, "hidden",
                "mapping");
    check_fails(suite, hal_buffer_read(buffer, 0, &byte, 1), HAL_INVALID, "hidden", "mapping");
    check_fails(suite, hal_buffer_write(buffer, 0, &byte, 1), HAL_INVALID, "hidden", "mapping");
}

/* A buffer made for one use serves that use. */
static void usage_is_enough(struct suite *suite, uint64_t usage)
{
    static const uint32_t words[64] = {1, 2, 3};
    uint32_t wanted[64];
    struct hal_buffer *plain = suite_buffer(suite, "plain", sizeof words);
    struct hal_buffer *buffer =
        suite_buffer_of(suite, suite_device(suite),
                        &(struct hal_buffer_desc){.bytes = sizeof words, .usage = (uint32_t)usage});
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    memcpy(wanted, words, sizeof words);
    suite_write(suite, plain, 0, words, sizeof words);
    if (usage == HAL_USAGE_TRANSFER) {
        check_ok(suite, hal_command_copy(commands, plain, 0, buffer, 0, sizeof words));
        check_ok(suite, hal_command_barrier(commands, NULL));
        check_ok(suite, hal_command_fill(commands, plain, 0, sizeof words, 0, 1));
        check_ok(suite, hal_command_barrier(commands, NULL));
        check_ok(suite, hal_command_copy(commands, buffer, 0, plain, 0, sizeof words));
    } else if (usage == HAL_USAGE_DISPATCH) {
        suite_dispatch(suite, commands,
                       &(struct suite_launch){KERNEL_COPY, {1, 1, 1}, {plain, buffer}, {0}, 0});
        check_ok(suite, hal_command_barrier(commands, NULL));
        suite_dispatch(suite, commands,
                       &(struct suite_launch){KERNEL_INCREMENT, {1, 1, 1}, {buffer}, {0}, 0});
        check_ok(suite, hal_command_barrier(commands, NULL));
        suite_dispatch(suite, commands,
                       &(struct suite_launch){KERNEL_COPY, {1, 1, 1}, {buffer, plain}, {0}, 0});
        for (size_t i = 0; i < 64; i++)
            wanted[i]++;
    } else {
        suite_write(suite, buffer, 0, words, sizeof words);
        check_buffer(suite, buffer, 0, words, sizeof words);
    }
    suite_run(suite, commands);
    check_buffer(suite, plain, 0, wanted, sizeof wanted);
}

/* A command buffer, a submission and a mapping keep a buffer that its owner has let go of. */
static void kept_by_its_users(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_buffer *hidden, *result = suite_buffer(suite, "result", 400);
    uint8_t wanted[400];
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    struct hal_semaphore *go = suite_semaphore(suite, "go", 0),
                         *done = suite_semaphore(suite, "d", 0);
    struct hal_mapping mapping;
    const struct hal_buffer_desc desc = {.label = "kept", .bytes = 400};
    check_ok(suite, hal_buffer_create(suite_device(suite), &desc, &hidden));
    enum hal_status status =
        hal_buffer_map(hidden, HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0, 400, &mapping);
    if (status == HAL_OK)
        status = hal_command_copy(commands, hidden, 0, result, 0, 400);
    hal_buffer_release(hidden);
    check_ok(suite, status);
    memset(mapping.data, 0x31, 400);
    check_ok(suite, hal_mapping_flush(&mapping, 0, HAL_WHOLE_BUFFER));
    check_ok(suite, hal_buffer_unmap(&mapping));
    check_ok(suite, hal_command_buffer_end(commands));
    check_ok(suite, suite_submit(suite, 0, commands, suite_at(go, 1), suite_at(done, 1)));
    check_ok(suite, hal_semaphore_signal(go, 1));
    suite_wait(suite, done, 1);
    memset(wanted, 0x31, sizeof wanted);
    check_buffer(suite, result, 0, wanted, sizeof wanted);
}

static void retain_and_release(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_buffer *buffer = suite_buffer(suite, NULL, 10);
    const uint8_t byte = 77;
    hal_buffer_retain(buffer);
    hal_buffer_retain(buffer);
    hal_buffer_release(buffer);
    hal_buffer_release(buffer);
    suite_write(suite, buffer, 9, &byte, 1);
    check_buffer(suite, buffer, 9, &byte, 1);
    hal_buffer_retain(NULL);
    hal_buffer_release(NULL);
}

/* ---- Host access ---------------------------------------------------------------------------- */

static void write_and_read_ranges(struct suite *suite, uint64_t alignment)
{
    const uint64_t bytes = SUITE_LARGEST + 32;
    struct hal_buffer *buffer = suite_buffer(suite, NULL, bytes);
    uint8_t *image = suite_memory(suite, bytes);
    suite_random_bytes(suite, image, bytes);
    suite_write(suite, buffer, 0, image, bytes);
    for (size_t i = 0; i < SUITE_SIZE_COUNT; i++) {
        suite_note(suite, "%llu bytes", (unsigned long long)suite_sizes[i]);
        suite_random_bytes(suite, image + alignment, suite_sizes[i]);
        suite_write(suite, buffer, alignment, image + alignment, suite_sizes[i]);
        check_buffer(suite, buffer, 0, image, suite_sizes[i] + alignment + 16);
        check_buffer(suite, buffer, alignment, image + alignment, suite_sizes[i]);
    }
}

static void write_and_read_to_the_end(struct suite *suite, uint64_t offset)
{
    enum { COUNT = 100 };
    uint8_t data[COUNT], got[COUNT] = {0};
    struct hal_buffer *buffer = suite_buffer(suite, NULL, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        data[i] = (uint8_t)(3 * i + 1);
    check_ok(suite, hal_buffer_write(buffer, offset, data, HAL_WHOLE_BUFFER));
    check_ok(suite, hal_buffer_read(buffer, offset, got, HAL_WHOLE_BUFFER));
    check_bytes(suite, got, data, COUNT - offset);
    check_buffer(suite, buffer, offset, data, COUNT - offset);
    for (uint64_t i = COUNT - offset; i < COUNT; i++)
        check_u64(suite, got[i], 0);
}

static void nothing_is_read_or_written(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_buffer *buffer = suite_buffer(suite, "few", 8);
    check_ok(suite, hal_buffer_write(buffer, 0, NULL, 0));
    check_ok(suite, hal_buffer_read(buffer, 8, NULL, 0));
    check_fails(suite, hal_buffer_read(buffer, 9, NULL, 0), HAL_INVALID, "few", "9");
}

static void scoped_map(struct suite *suite, uint64_t offset)
{
    enum { BYTES = 9000 };
    uint8_t image[BYTES];
    struct hal_mapping mapping;
    struct hal_buffer *buffer = suite_buffer(suite, NULL, BYTES);
    suite_random_bytes(suite, image, BYTES);
    suite_write(suite, buffer, 0, image, BYTES);
    check_ok(suite, hal_buffer_map(buffer, HAL_MAP_READ | HAL_MAP_WRITE, offset, 1000, &mapping));
    check(suite, mapping.buffer == buffer && mapping.offset == offset && mapping.bytes == 1000);
    check_bytes(suite, mapping.data, image + offset, 1000);
    for (size_t i = 0; i < 1000; i++)
        image[offset + i] = ((uint8_t *)mapping.data)[i] ^= (uint8_t)i;
    check_ok(suite, hal_buffer_unmap(&mapping));
    check(suite, !mapping.buffer && !mapping.data);
    check_buffer(suite, buffer, 0, image, BYTES);
}

static void map_to_the_end(struct suite *suite, uint64_t offset)
{
    struct hal_mapping mapping;
    struct hal_buffer *buffer = suite_buffer(suite, NULL, 100);
    suite_clear(suite, buffer, 0x11);
    check_ok(suite, hal_buffer_map(buffer, HAL_MAP_READ, offset, HAL_WHOLE_BUFFER, &mapping));
    check_u64(suite, mapping.bytes, 100 - offset);
    for (uint64_t i = 0; i < mapping.bytes; i++)
        check_u64(suite, ((const uint8_t *)mapping.data)[i], 0x11);
    check_ok(suite, hal_buffer_unmap(&mapping));
}

/* What was outside the discarded range stays. */
static void discard_keeps_the_rest(struct suite *suite, uint64_t unused)
{
    (void)unused;
    enum { BYTES = 20000 };
    uint8_t *image = suite_memory(suite, BYTES);
    struct hal_mapping mapping;
    struct hal_buffer *buffer = suite_buffer(suite, NULL, BYTES);
    suite_random_bytes(suite, image, BYTES);
    suite_write(suite, buffer, 0, image, BYTES);
    check_ok(suite, hal_buffer_map(buffer, HAL_MAP_WRITE | HAL_MAP_DISCARD, 5000, 9001, &mapping));
    memset(mapping.data, 0x42, 9001);
    memset(image + 5000, 0x42, 9001);
    check_ok(suite, hal_buffer_unmap(&mapping));
    check_buffer(suite, buffer, 0, image, BYTES);
}

/* Without DISCARD, bytes that are not written keep their values. */
static void write_map_keeps_what_is_not_written(struct suite *suite, uint64_t unused)
{
    (void)unused;
    uint8_t image[300];
    struct hal_mapping mapping;
    struct hal_buffer *buffer = suite_buffer(suite, NULL, sizeof image);
    suite_random_bytes(suite, image, sizeof image);
    suite_write(suite, buffer, 0, image, sizeof image);
    check_ok(suite, hal_buffer_map(buffer, HAL_MAP_WRITE, 0, sizeof image, &mapping));
    image[150] = ((uint8_t *)mapping.data)[150] = 0x99;
    check_ok(suite, hal_buffer_unmap(&mapping));
    check_buffer(suite, buffer, 0, image, sizeof image);
}

static void several_maps_at_once(struct suite *suite, uint64_t mode)
{
    enum { MAPS = 20, BYTES = 1000 };
    struct hal_mapping mappings[MAPS];
    uint8_t *image = suite_memory(suite, MAPS * BYTES);
    struct hal_buffer *buffer = suite_buffer(suite, NULL, MAPS * BYTES);
    suite_clear(suite, buffer, 0);
    for (size_t i = 0; i < MAPS; i++)
        check_ok(suite, hal_buffer_map(buffer, HAL_MAP_WRITE | (uint32_t)mode, i * BYTES, BYTES,
                                       &mappings[i]));
    for (size_t i = 0; i < MAPS; i++) {
        memset(mappings[i].data, (int)i + 1, BYTES);
        memset(image + i * BYTES, (int)i + 1, BYTES);
    }
    for (size_t i = 0; i < MAPS; i++) { /* neither in nor against the order of mapping */
        struct hal_mapping *mapping = &mappings[i * 7 % MAPS];
        check_ok(suite, hal_mapping_flush(mapping, 0, HAL_WHOLE_BUFFER));
        check_ok(suite, hal_buffer_unmap(mapping));
    }
    check_buffer(suite, buffer, 0, image, MAPS * BYTES);
}

/* The device works on a buffer that the host has mapped all the time; memory that is not coherent
 * is flushed and invalidated at odd offsets. */
static void persistent_map(struct suite *suite, uint64_t memory)
{
    enum { WORDS = 64 * 40, ROUNDS = 5, FIRST = 13 };
    struct hal_mapping mapping;
    struct hal_buffer *buffer =
        suite_buffer_of(suite, suite_device(suite),
                        &(struct hal_buffer_desc){.bytes = WORDS * 4, .memory = (uint32_t)memory});
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_REUSABLE);
    struct hal_semaphore *done = suite_semaphore(suite, NULL, 0);
    uint32_t *wanted = suite_memory(suite, WORDS * 4);
    suite_dispatch(suite, commands,
                   &(struct suite_launch){KERNEL_AFFINE, {40, 1, 1}, {buffer}, {3, 5}, 2});
    check_ok(suite, hal_command_buffer_end(commands));
    check_ok(suite, hal_buffer_map(buffer, HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0,
                                   HAL_WHOLE_BUFFER, &mapping));
    uint32_t *words = mapping.data;
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = wanted[i] = i * i;
    check_ok(suite, hal_mapping_flush(&mapping, 0, HAL_WHOLE_BUFFER));
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = FIRST; i < FIRST + 100; i++)
            words[i] = wanted[i] = round * 1000 + i;
        check_ok(suite, hal_mapping_flush(&mapping, FIRST * 4, 400));
        check_ok(suite, suite_submit(suite, 0, commands, SUITE_NONE, suite_at(done, round + 1)));
        suite_wait(suite, done, round + 1);
        check_ok(suite, hal_mapping_invalidate(&mapping, 0, 1001));
        check_ok(suite, hal_mapping_invalidate(&mapping, 1001, HAL_WHOLE_BUFFER));
        for (uint32_t i = 0; i < WORDS; i++)
            wanted[i] = wanted[i] * 3 + 5;
        check_bytes(suite, words, wanted, WORDS * 4);
    }
    check_ok(suite, hal_buffer_unmap(&mapping));
    check_buffer(suite, buffer, 0, wanted, WORDS * 4);
}

/* A mapping of a part: flush and invalidate count from its start. */
static void persistent_map_of_a_part(struct suite *suite, uint64_t offset)
{
    enum { BYTES = 12345 };
    struct hal_mapping mapping;
    uint8_t *image = suite_memory(suite, BYTES);
    struct hal_buffer *buffer = suite_buffer_of(
        suite, suite_device(suite),
        &(struct hal_buffer_desc){.bytes = BYTES, .memory = HAL_MEMORY_HOST_CACHED});
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    suite_random_bytes(suite, image, BYTES);
    suite_write(suite, buffer, 0, image, BYTES);
    check_ok(suite, hal_buffer_map(buffer, HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT,
                                   offset, 5000, &mapping));
    memset((uint8_t *)mapping.data + 4000, 0x10, 1000);
    memset(image + offset + 4000, 0x10, 1000);
    check_ok(suite, hal_mapping_flush(&mapping, 4000, 1000));
    check_ok(suite, hal_mapping_flush(&mapping, 5000, 0));
    check_ok(suite, hal_command_fill(commands, buffer, offset + 99, 801, 0xCD, 1));
    memset(image + offset + 99, 0xCD, 801);
    suite_run(suite, commands);
    check_ok(suite, hal_mapping_invalidate(&mapping, 99, 801));
    check_bytes(suite, mapping.data, image + offset, 5000);
    check_ok(suite, hal_buffer_unmap(&mapping));
    check_buffer(suite, buffer, 0, image, BYTES);
}

/* The same bytes through two mappings of one buffer. */
static void persistent_maps_overlap(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_mapping a, b;
    struct hal_buffer *buffer = suite_buffer(suite, NULL, 8192);
    suite_clear(suite, buffer, 0);
    const uint32_t mode = HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT;
    check_ok(suite, hal_buffer_map(buffer, mode, 0, 6000, &a));
    check_ok(suite, hal_buffer_map(buffer, mode, 2000, 6000, &b));
    memset((uint8_t *)a.data + 3000, 0x77, 10);
    check_u64(suite, ((const uint8_t *)b.data)[1005], 0x77);
    check_ok(suite, hal_buffer_unmap(&a));
    check_u64(suite, ((const uint8_t *)b.data)[1005], 0x77);
    check_ok(suite, hal_buffer_unmap(&b));
}

/* What the device wrote is there when the buffer is mapped after the wait. */
static void map_sees_the_device(struct suite *suite, uint64_t bytes)
{
    struct hal_mapping mapping;
    struct hal_buffer *buffer = suite_buffer(suite, NULL, bytes);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    check_ok(suite, hal_command_fill(commands, buffer, 0, bytes, 0x5E, 1));
    suite_run(suite, commands);
    check_ok(suite, hal_buffer_map(buffer, HAL_MAP_READ, 0, bytes, &mapping));
    uint64_t right = 0;
    for (uint64_t i = 0; i < bytes; i++)
        right += ((const uint8_t *)mapping.data)[i] == 0x5E;
    check_ok(suite, hal_buffer_unmap(&mapping));
    check_u64(suite, right, bytes);
}

enum {
    VISIBLE = HAL_MEMORY_HOST_VISIBLE,
    COHERENT = HAL_MEMORY_HOST_COHERENT,
    CACHED = HAL_MEMORY_HOST_CACHED,
    LOCAL = HAL_MEMORY_DEVICE_LOCAL,
};

/* ---- Statistics ----------------------------------------------------------------------------- */

static void memory_statistics(struct suite *suite, uint64_t argument)
{
    struct hal_device *device = suite_open(suite, "");
    struct hal_memory_statistics before = {0}, now = {0};
    struct hal_buffer *buffers[3];
    (void)argument;
    check_ok(suite, hal_device_memory_statistics(device, &before));
    for (uint32_t i = 0; i < 3; i++)
        check_ok(suite,
                 hal_buffer_create(
                     device, &(struct hal_buffer_desc){.label = "counted", .bytes = 1000 * (i + 1)},
                     &buffers[i]));
    check_ok(suite, hal_device_memory_statistics(device, &now));
    check_u64(suite, now.total.current_bytes, before.total.current_bytes + 6000);
    check_u64(suite, now.total.current_count, before.total.current_count + 3);
    uint64_t by_type = 0, count = 0;
    for (size_t i = 0; i < HAL_MEMORY_TYPES; i++) {
        by_type += now.by_type[i].current_bytes;
        count += now.by_type[i].total_count;
    }
    check_u64(suite, by_type, now.total.current_bytes);
    check_u64(suite, count, now.total.total_count);
    for (uint32_t i = 0; i < 3; i++)
        hal_buffer_release(buffers[i]);
    check_ok(suite, hal_device_memory_statistics(device, &now));
    check_u64(suite, now.total.current_bytes, before.total.current_bytes);
    check_u64(suite, now.total.total_count, before.total.total_count + 3);
    check(suite, now.total.peak_bytes >= before.total.current_bytes + 6000);
    check_fails(suite, hal_device_memory_statistics(device, NULL), HAL_INVALID, "out-parameter");
}

static const struct suite_case cases[] = {
    {"one_byte", holds_its_bytes, 1},
    {"63_bytes", holds_its_bytes, 63},
    {"64_bytes", holds_its_bytes, 64},
    {"65_bytes", holds_its_bytes, 65},
    {"4095_bytes", holds_its_bytes, 4095},
    {"4096_bytes", holds_its_bytes, 4096},
    {"4097_bytes", holds_its_bytes, 4097},
    {"65537_bytes", holds_its_bytes, 65537},
    {"8_mib_and_1", holds_its_bytes, (8 << 20) + 1},
    {"many_small_ones", many_small_buffers, 500},
    {"small_ones_come_and_go", comes_and_goes, 16},
    {"large_ones_come_and_go", comes_and_goes, 200000},
    {"default_memory", memory_type, 0},
    {"visible_memory", memory_type, VISIBLE},
    {"coherent_memory", memory_type, COHERENT},
    {"cached_memory", memory_type, CACHED},
    {"cached_and_coherent_memory", memory_type, CACHED | COHERENT},
    {"local_and_visible_memory", memory_type, LOCAL | VISIBLE},
    {"local_and_cached_memory", memory_type, LOCAL | CACHED},
    {"memory_of_every_type", memory_type, LOCAL | VISIBLE | COHERENT | CACHED},
    {"device_local_is_not_mapped", device_local_is_not_mapped, 0},
    {"usage_transfer", usage_is_enough, HAL_USAGE_TRANSFER},
    {"usage_dispatch", usage_is_enough, HAL_USAGE_DISPATCH},
    {"usage_mapping", usage_is_enough, HAL_USAGE_MAPPING},
    {"kept_by_its_users", kept_by_its_users, 0},
    {"retain_and_release", retain_and_release, 0},
    {"write_and_read_at_0", write_and_read_ranges, 0},
    {"write_and_read_at_1", write_and_read_ranges, 1},
    {"write_and_read_at_15", write_and_read_ranges, 15},
    {"write_and_read_to_the_end", write_and_read_to_the_end, 0},
    {"write_and_read_the_last_byte", write_and_read_to_the_end, 99},
    {"nothing_is_read_or_written", nothing_is_read_or_written, 0},
    {"scoped_map_at_0", scoped_map, 0},
    {"scoped_map_at_1", scoped_map, 1},
    {"scoped_map_at_4095", scoped_map, 4095},
    {"scoped_map_at_the_end", scoped_map, 8000},
    {"map_whole_buffer", map_to_the_end, 0},
    {"map_the_last_byte", map_to_the_end, 99},
    {"discard_keeps_the_rest", discard_keeps_the_rest, 0},
    {"write_map_keeps_what_is_not_written", write_map_keeps_what_is_not_written, 0},
    {"several_scoped_maps", several_maps_at_once, 0},
    {"several_discarding_maps", several_maps_at_once, HAL_MAP_DISCARD},
    {"several_persistent_maps", several_maps_at_once, HAL_MAP_PERSISTENT},
    {"persistent_map", persistent_map, 0},
    {"persistent_map_visible", persistent_map, VISIBLE},
    {"persistent_map_cached", persistent_map, CACHED | LOCAL},
    {"persistent_map_of_a_part", persistent_map_of_a_part, 16},
    {"persistent_map_of_an_odd_part", persistent_map_of_a_part, 4097},
    {"persistent_maps_overlap", persistent_maps_overlap, 0},
    {"map_sees_the_device", map_sees_the_device, 100000},
    {"map_sees_one_byte", map_sees_the_device, 1},
    {"memory_statistics", memory_statistics, 0},
};

const struct suite_area area_buffers = {"buffers", cases, SUITE_COUNT(cases)};
