/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/commands.c: the ended list holds what was recorded, verbatim and in order; each
 * dispatch gets its state; objects are kept. */
#include "tests/support/own_device.h"

#include "hal/driver.h"

static void expect_fill(const struct hal_command *command, const struct hal_buffer *target)
{
    const struct hal_command_fill *fill = (const void *)command;
    assert_int_equal(command->kind, HAL_COMMAND_FILL);
    assert_ptr_equal(fill->target, target);
    assert_int_equal(fill->offset, 2);
    assert_int_equal(fill->bytes, 10);
    assert_int_equal(fill->pattern, 0xABCDABCD);
    assert_int_equal(fill->pattern_bytes, 2);
}

static void expect_barrier(const struct hal_command *command, const struct hal_buffer *buffer)
{
    const struct hal_command_barrier *seen = (const void *)command;
    assert_int_equal(command->kind, HAL_COMMAND_BARRIER);
    assert_int_equal(seen->source_stages, HAL_STAGE_TRANSFER);
    assert_int_equal(seen->target_stages, HAL_STAGE_ALL);
    assert_int_equal(seen->source_access, HAL_ACCESS_READ | HAL_ACCESS_WRITE);
    assert_int_equal(seen->target_access, HAL_ACCESS_READ);
    assert_int_equal(seen->buffer_count, 1);
    assert_ptr_equal(seen->buffers[0].buffer, buffer);
    assert_int_equal(seen->buffers[0].bytes, 40);
}

static void expect_copy(const struct hal_command *command, const struct hal_buffer *source,
                        const struct hal_buffer *target)
{
    const struct hal_command_copy *copy = (const void *)command;
    assert_int_equal(command->kind, HAL_COMMAND_COPY);
    assert_ptr_equal(copy->source, source);
    assert_ptr_equal(copy->target, target);
    assert_int_equal(copy->source_offset, 1);
    assert_int_equal(copy->target_offset, 3);
    assert_int_equal(copy->bytes, 5);
}

static void expect_set(const struct hal_command *command, const struct hal_buffer *first)
{
    const struct hal_command_push_descriptor_set *set = (const void *)command;
    assert_int_equal(command->kind, HAL_COMMAND_PUSH_DESCRIPTOR_SET);
    assert_int_equal(set->set, 2);
    assert_int_equal(set->binding_count, 3);
    assert_ptr_equal(set->bindings[0].buffer, first);
    assert_int_equal(set->bindings[0].bytes, 96);
    assert_null(set->bindings[1].buffer);
    assert_int_equal(set->bindings[2].bytes, 16);
}

TEST(the_list_is_verbatim)
{
    struct hal_buffer *a = fixture_buffer(device, "a", 100), *b = fixture_buffer(device, "b", 64);
    struct hal_command_buffer *commands = fixture_commands(device, "list", HAL_REUSABLE);
    const struct hal_buffer_barrier range = {.buffer = a, .offset = 60, .bytes = HAL_WHOLE_BUFFER};
    const struct hal_barrier_desc barrier = {.source_stages = HAL_STAGE_TRANSFER,
                                             .target_access = HAL_ACCESS_READ,
                                             .buffers = &range,
                                             .buffer_count = 1};
    const struct hal_binding bindings[3] = {{a, 4, HAL_WHOLE_BUFFER}, {NULL, 7, 9}, {b, 0, 16}};
    const uint32_t constants[2] = {0x11111111, 0x22222222};
    assert_ok(hal_command_debug_begin(commands, "group", 0x123456));
    assert_ok(hal_command_fill(commands, a, 2, 10, 0xFFFFABCD, 2));
    assert_ok(hal_command_barrier(commands, &barrier));
    assert_ok(hal_command_copy(commands, a, 1, b, 3, 5));
    assert_ok(hal_command_update(commands, "hello", b, 9, 5));
    assert_ok(hal_command_push_constants(commands, 8, constants, 8));
    assert_ok(hal_command_push_descriptor_set(commands, 2, bindings, 3));
    assert_ok(hal_command_debug_end(commands));
    assert_ok(hal_command_buffer_end(commands));
    assert_true(commands->is_ended);
    assert_int_equal(commands->command_count, 8);

    const struct hal_command *command = hal_command_first(commands);
    const struct hal_command_debug *debug = (const void *)command;
    assert_int_equal(command->kind, HAL_COMMAND_DEBUG_BEGIN);
    assert_string_equal(debug->label, "group");
    assert_int_equal(debug->label_bytes, 5);
    assert_int_equal(debug->color, 0x123456);

    expect_fill(command = hal_command_next(commands, command), a);
    expect_barrier(command = hal_command_next(commands, command), a);
    expect_copy(command = hal_command_next(commands, command), a, b);

    const struct hal_command_update *update =
        (const void *)(command = hal_command_next(commands, command));
    assert_int_equal(command->kind, HAL_COMMAND_UPDATE);
    assert_int_equal(update->offset, 9);
    assert_int_equal(update->bytes, 5);
    assert_memory_equal(update->data, "hello\0\0\0", 8);

    const struct hal_command_push_constants *push =
        (const void *)(command = hal_command_next(commands, command));
    assert_int_equal(command->kind, HAL_COMMAND_PUSH_CONSTANTS);
    assert_int_equal(push->offset, 8);
    assert_int_equal(push->bytes, 8);
    assert_memory_equal(push->data, constants, 8);

    expect_set(command = hal_command_next(commands, command), a);
    command = hal_command_next(commands, command);
    assert_int_equal(command->kind, HAL_COMMAND_DEBUG_END);
    assert_null(hal_command_next(commands, command));
    hal_command_buffer_release(commands);
    hal_buffer_release(b);
    hal_buffer_release(a);
}

TEST(an_empty_list_is_legal)
{
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    fixture_run(device, commands);
    assert_null(hal_command_first(commands));
    hal_command_buffer_release(commands);
    commands = fixture_commands(device, "never ended", HAL_ONE_SHOT);
    assert_ok(hal_command_barrier(commands, NULL));
    hal_command_buffer_release(commands);
}

/* One buffer per command, so that the cache of retained objects overflows; all are released
 * before the list runs. */
TEST(objects_are_kept)
{
    enum { COUNT = 500 };
    static struct hal_buffer *buffers[COUNT];
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < COUNT; i++) {
            if (round == 0)
                buffers[i] = fixture_buffer(device, NULL, 8);
            assert_ok(hal_command_fill(commands, buffers[i], 4 * round, 4, i, 4));
        }
    }
    uint32_t sum = 0, got;
    struct hal_buffer *last = buffers[COUNT - 1];
    for (uint32_t i = 0; i < COUNT - 1; i++)
        hal_buffer_release(buffers[i]);
    fixture_run(device, commands);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_ok(hal_buffer_read(buffers[i], 4, &got, 4));
        sum += got;
    }
    assert_int_equal(sum, COUNT * (COUNT - 1) / 2);
    hal_command_buffer_release(commands);
    assert_int_equal(last->object.references, 1);
    hal_buffer_release(last);
}

/* The second and third list take over memory of the first. */
TEST(large_lists_follow_one_another)
{
    enum { COUNT = 40000, LISTS = 4 };
    static uint32_t got[COUNT];
    struct hal_buffer *buffer = fixture_buffer(device, NULL, sizeof got);
    for (uint32_t list = 0; list < LISTS; list++) {
        struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
        const uint32_t count = COUNT / (1 + list % 2);
        for (uint32_t i = 0; i < count; i++)
            assert_ok(hal_command_fill(commands, buffer, 4 * i, 4, i * LISTS + list, 4));
        assert_int_equal(commands->command_count, count);
        fixture_run(device, commands);
        hal_command_buffer_release(commands);
        assert_ok(hal_buffer_read(buffer, 0, got, sizeof got));
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(got[i], i * LISTS + list);
    }
    hal_buffer_release(buffer);
}

TEST(groups_are_balanced)
{
    struct hal_command_buffer *commands = fixture_commands(device, "groups", HAL_ONE_SHOT);
    assert_fails(hal_command_debug_end(commands), HAL_INVALID, "command buffer 'groups'");
    assert_ok(hal_command_debug_begin(commands, NULL, 0));
    assert_fails(hal_command_buffer_end(commands), HAL_INVALID, "1 open debug group");
    assert_ok(hal_command_debug_end(commands));
    assert_ok(hal_command_buffer_end(commands));
    assert_fails(hal_command_debug_begin(commands, "late", 0), HAL_INVALID, "has been ended");
    hal_command_buffer_release(commands);
}

TEST(one_shot_means_once)
{
    struct hal_command_buffer *commands = fixture_commands(device, "once", HAL_ONE_SHOT);
    struct hal_command_buffer *fresh = fixture_commands(device, "fresh", HAL_ONE_SHOT);
    assert_fails(fixture_submit(device, commands, NULL, 0, NULL, 0), HAL_INVALID, "not been ended");
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(hal_command_buffer_end(fresh));
    assert_ok(fixture_submit(device, commands, NULL, 0, NULL, 0));
    assert_fails(fixture_submit(device, commands, NULL, 0, NULL, 0), HAL_INVALID, "'once'");
    struct hal_command_buffer *list[] = {fresh, commands};
    const struct hal_submit_desc both = {.commands = list, .command_count = 2};
    assert_fails(hal_queue_submit(device, &both), HAL_INVALID, "'once' is one-shot");
    list[1] = fresh;
    assert_fails(hal_queue_submit(device, &both), HAL_INVALID, "'fresh' is one-shot");
    assert_ok(fixture_submit(device, fresh, NULL, 0, NULL, 0)); /* failing had no effect */
    hal_command_buffer_release(fresh);
    hal_command_buffer_release(commands);
}

TEST_SUITE_FIXTURE(open_device, close_device);
