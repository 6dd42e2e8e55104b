/* SPDX-License-Identifier: Apache-2.0 */
/* hal/drivers/cpu/program.c through the API: fills, copies and updates of any size at any
 * alignment, in the order that barriers give. */
#include "tests/support/hal_fixture.h"

enum { BYTES = 1024 };

TEST(fills_repeat_their_pattern)
{
    static const uint32_t pattern = 0xA1B2C3D4;
    static const uint64_t sizes[] = {0, 1, 5, 7, 8, 21, 64, 243};
    struct hal_device *device = fixture_device("cpu?threads=2");
    for (uint32_t pattern_bytes = 1; pattern_bytes <= 4; pattern_bytes *= 2) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            const uint64_t bytes = sizes[s], offset = s;
            uint8_t wanted[BYTES], got[BYTES];
            memset(wanted, 0xEE, sizeof wanted);
            for (uint64_t i = 0; i < bytes; i++)
                wanted[offset + i] = (uint8_t)(pattern >> 8 * (i % pattern_bytes));
            struct hal_buffer *buffer = fixture_buffer(device, "filled", BYTES);
            struct hal_command_buffer *commands = fixture_commands(device, "fill", HAL_ONE_SHOT);
            assert_ok(hal_command_fill(commands, buffer, 0, HAL_WHOLE_BUFFER, 0xEE, 1));
            assert_ok(hal_command_barrier(commands, NULL));
            assert_ok(hal_command_fill(commands, buffer, offset, bytes, pattern, pattern_bytes));
            fixture_run(device, commands);
            assert_ok(hal_buffer_read(buffer, 0, got, BYTES));
            assert_memory_equal(got, wanted, BYTES);
            hal_command_buffer_release(commands);
            hal_buffer_release(buffer);
        }
    }
    hal_device_release(device);
}

TEST(copies_and_updates_have_any_alignment)
{
    struct hal_device *device = fixture_device("cpu?threads=2");
    struct hal_buffer *source = fixture_buffer(device, "source", BYTES);
    struct hal_buffer *target = fixture_buffer(device, "target", BYTES);
    uint8_t bytes[BYTES], wanted[BYTES], got[BYTES];
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (uint8_t)(i * 7 + 3);
    assert_ok(hal_buffer_write(source, 0, bytes, BYTES));
    for (uint64_t from = 0; from < 16; from += 3) {
        for (uint64_t to = 0; to < 16; to += 5) {
            const uint64_t copied = 37 + from, updated = 13 + to;
            memset(wanted, 0, sizeof wanted);
            memcpy(wanted + to, bytes + from, copied);
            memcpy(wanted + 500 + to, bytes + 100 + from, updated);
            struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
            assert_ok(hal_command_fill(commands, target, 0, BYTES, 0, 4));
            assert_ok(hal_command_barrier(commands, NULL));
            assert_ok(hal_command_copy(commands, source, from, target, to, copied));
            assert_ok(hal_command_update(commands, bytes + 100 + from, target, 500 + to, updated));
            fixture_run(device, commands);
            assert_ok(hal_buffer_read(target, 0, got, BYTES));
            assert_memory_equal(got, wanted, BYTES);
            hal_command_buffer_release(commands);
        }
    }
    hal_buffer_release(target);
    hal_buffer_release(source);
    hal_device_release(device);
}

/* Larger than a tile, so that workers share each command; each step reads what the one before
 * wrote. */
TEST(barriers_order_large_transfers)
{
    enum { LARGE = 3 * 1024 * 1024 + 17, STEPS = 24 };
    struct hal_device *device = fixture_device("cpu?threads=4");
    struct hal_buffer *buffers[2] = {fixture_buffer(device, "a", LARGE),
                                     fixture_buffer(device, "b", LARGE)};
    struct hal_command_buffer *commands = fixture_commands(device, "steps", HAL_ONE_SHOT);
    assert_ok(hal_command_fill(commands, buffers[0], 0, LARGE, 0, 1));
    for (uint32_t step = 0; step < STEPS; step++) {
        struct hal_buffer *from = buffers[step % 2], *to = buffers[1 - step % 2];
        assert_ok(hal_command_barrier(commands, NULL));
        assert_ok(hal_command_copy(commands, from, 0, to, 1, LARGE - 1));
        assert_ok(hal_command_fill(commands, to, 0, 1, step + 1, 1));
    }
    fixture_run(device, commands);
    uint8_t *got = malloc(LARGE);
    assert_ok(hal_buffer_read(buffers[STEPS % 2], 0, got, LARGE));
    for (size_t i = 0; i < LARGE; i++)
        assert_int_equal(got[i], i < STEPS ? STEPS - i : 0);
    free(got);
    hal_command_buffer_release(commands);
    hal_buffer_release(buffers[1]);
    hal_buffer_release(buffers[0]);
    hal_device_release(device);
}

/* Each run moves the bytes one further; all are submitted while none has begun. */
TEST(a_reusable_list_is_submitted_many_times)
{
    enum { LARGE = 1 << 20, TIMES = 32 };
    struct hal_device *device = fixture_device("cpu?threads=2");
    struct hal_buffer *a = fixture_buffer(device, "a", LARGE);
    struct hal_buffer *b = fixture_buffer(device, "b", LARGE);
    struct hal_command_buffer *commands = fixture_commands(device, "again", HAL_REUSABLE);
    struct hal_semaphore *order = fixture_semaphore(device, "order", 0);
    uint8_t *bytes = malloc(LARGE), *got = malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++)
        bytes[i] = (uint8_t)(i * i >> 3);
    assert_ok(hal_buffer_write(a, 0, bytes, LARGE));
    assert_ok(hal_command_copy(commands, a, 0, b, 0, LARGE));
    assert_ok(hal_command_barrier(commands, NULL));
    assert_ok(hal_command_copy(commands, b, 0, a, 1, LARGE - 1));
    assert_ok(hal_command_buffer_end(commands));
    for (uint64_t i = 1; i <= TIMES; i++)
        assert_ok(fixture_submit(device, commands, order, i, order, i + 1));
    assert_ok(hal_semaphore_signal(order, 1));
    assert_ok(hal_semaphore_wait(order, TIMES + 1, HAL_FOREVER));
    assert_ok(hal_buffer_read(a, 0, got, LARGE));
    assert_memory_equal(got + TIMES, bytes, LARGE - TIMES);
    for (size_t i = 0; i < TIMES; i++)
        assert_int_equal(got[i], bytes[0]);
    free(got);
    free(bytes);
    hal_semaphore_release(order);
    hal_command_buffer_release(commands);
    hal_buffer_release(b);
    hal_buffer_release(a);
    hal_device_release(device);
}
