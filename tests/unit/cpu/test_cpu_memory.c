/* SPDX-License-Identifier: Apache-2.0 */
/* hal/drivers/cpu/memory.c through the API: sizes from one byte to more than there is, mappings,
 * reuse of slots, the account. */
#include "tests/support/own_device.h"

static int64_t query(const char *key)
{
    int64_t value;
    assert_ok(hal_device_query(device, key, &value));
    return value;
}

TEST(host_and_device_see_the_same_bytes)
{
    static const uint64_t sizes[] = {1, 255, 256, 257, 4096, 131072, 131073, 1 << 20};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const uint64_t bytes = sizes[s];
        struct hal_buffer *buffer = fixture_buffer(device, "seen", bytes);
        struct hal_buffer *copy = fixture_buffer(device, "copied", bytes);
        struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
        uint8_t *data = malloc(bytes), *got = malloc(bytes);
        for (uint64_t i = 0; i < bytes; i++)
            data[i] = (uint8_t)(i * 31 + s);
        assert_int_equal(hal_buffer_bytes(buffer), bytes);
        assert_ok(hal_buffer_write(buffer, 0, data, bytes));
        assert_ok(hal_command_copy(commands, buffer, 0, copy, 0, bytes));
        fixture_run(device, commands);
        assert_ok(hal_buffer_read(copy, 0, got, bytes));
        assert_memory_equal(got, data, bytes);
        free(got);
        free(data);
        hal_command_buffer_release(commands);
        hal_buffer_release(copy);
        hal_buffer_release(buffer);
    }
}

TEST(mappings_nest_and_last)
{
    struct hal_mapping whole, part;
    struct hal_buffer *buffer = fixture_buffer(device, "mapped", 1000);
    assert_ok(
        hal_buffer_map(buffer, HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0, HAL_WHOLE_BUFFER, &whole));
    assert_int_equal(whole.bytes, 1000);
    memset(whole.data, 0x11, 1000);
    assert_ok(hal_mapping_flush(&whole, 0, HAL_WHOLE_BUFFER));
    assert_ok(hal_buffer_map(buffer, HAL_MAP_READ | HAL_MAP_PERSISTENT, 990, 10, &part));
    assert_ptr_equal(part.data, (uint8_t *)whole.data + 990);
    hal_buffer_release(buffer); /* mappings keep it */

    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    assert_ok(hal_command_fill(commands, buffer, 992, 4, 0x22, 1));
    fixture_run(device, commands);
    assert_ok(hal_mapping_invalidate(&whole, 992, 4));
    static const uint8_t wanted[10] = {0x11, 0x11, 0x22, 0x22, 0x22, 0x22, 0x11, 0x11, 0x11, 0x11};
    assert_memory_equal(part.data, wanted, sizeof wanted);
    hal_command_buffer_release(commands);
    assert_ok(hal_buffer_unmap(&part));
    assert_fails(hal_buffer_unmap(&part), HAL_INVALID, "not open");
    assert_ok(hal_buffer_unmap(&whole));
}

/* More than one slab of every size class, freed in another order, made again. */
TEST(slots_do_not_overlap)
{
    enum { COUNT = 300 };
    static struct hal_buffer *buffers[COUNT];
    uint64_t random = fixture_seed();
    for (int round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            const uint64_t bytes = 4 + fixture_random(&random) % 3000;
            if (!buffers[i])
                buffers[i] = fixture_buffer(device, NULL, bytes);
            uint8_t *data = malloc(hal_buffer_bytes(buffers[i]));
            memset(data, (int)(i % 251), hal_buffer_bytes(buffers[i]));
            assert_ok(hal_buffer_write(buffers[i], 0, data, hal_buffer_bytes(buffers[i])));
            free(data);
        }
        for (uint32_t i = 0; i < COUNT; i++) {
            uint8_t ends[2];
            assert_ok(hal_buffer_read(buffers[i], 0, &ends[0], 1));
            assert_ok(hal_buffer_read(buffers[i], hal_buffer_bytes(buffers[i]) - 1, &ends[1], 1));
            assert_int_equal(ends[0], i % 251);
            assert_int_equal(ends[1], i % 251);
        }
        for (uint32_t i = 0; i < COUNT; i++) {
            if (fixture_random(&random) % 2 || round == 2) {
                hal_buffer_release(buffers[i]);
                buffers[i] = NULL;
            }
        }
    }
}

TEST(memory_is_accounted_for)
{
    struct hal_buffer *buffer, *too_much;
    const int64_t total = query("memory.total.bytes");
    assert_int_equal(query("memory.used.bytes"), 0);
    buffer = fixture_buffer(device, "most", (uint64_t)total / 4 * 3);
    assert_int_equal(query("memory.used.bytes"), total / 4 * 3);
    struct hal_buffer_desc desc = {.label = "too much", .bytes = (uint64_t)total / 2};
    assert_fails(hal_buffer_create(device, &desc, &too_much), HAL_NO_MEMORY, "'too much'");
    desc.bytes = (uint64_t)total + 1;
    assert_fails(hal_buffer_create(device, &desc, &too_much), HAL_NO_MEMORY, "'too much'");
    hal_buffer_release(buffer);
    desc.bytes = (uint64_t)total / 2;
    assert_ok(hal_buffer_create(device, &desc, &buffer));
    hal_buffer_release(buffer);
}

TEST(the_device_tells_about_itself)
{
    int64_t value;
    const struct hal_device_info *info = hal_device_get_info(device);
    assert_string_equal(info->uri, "cpu?threads=1&queues=1");
    assert_string_equal(info->driver, "cpu");
    assert_true(strlen(info->name) > 0);
    assert_int_equal(info->worker_count, 1);
    assert_int_equal(query("simd.width"), 32);
    assert_true(query("clock.resolution.ns") >= 1);
    assert_fails(hal_device_query(device, "flavour", &value), HAL_NOT_FOUND, "'flavour'");
}

TEST_SUITE_FIXTURE(open_device, close_device);
