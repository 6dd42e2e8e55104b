/* SPDX-License-Identifier: Apache-2.0 */
/* replay/player/player.c, commands.c, memory.c: tiny traces run on the CPU; what comes out is
 * compared with bytes that the test worked out. */
#include "tests/support/hal_fixture.h"
#include "tests/support/test.h"
#include "tests/unit/replay/player_fixture.h"

/* ---- What goes right ------------------------------------------------------------------------ */

TEST_ON(everything_replays, struct play_fixture *fixture)
{
    fixture_need_compiler(fixture->device);
    every_build(play_start(fixture), true);
    play_expect_same(fixture, 2);
}

TEST_ON(runs_repeat, struct play_fixture *fixture)
{
    struct replay_report report = {0};
    every_build(play_start(fixture), false);
    assert_int_equal(play_often(fixture, 5, &report), HAL_OK);
    assert_int_equal(report.compared_reads, 2);
    assert_int_equal(report.compared_bytes, 104);
    assert_int_equal(report.different_reads, 0);
    assert_true(report.total_ns > 0);
    assert_true(report.wait_ns >= 0 && report.wait_ns <= report.total_ns);
}

TEST_ON(nothing_replays, struct play_fixture *fixture)
{
    play_start(fixture);
    play_expect_same(fixture, 0);
}

TEST_ON(contents_may_stay_in_the_file, struct play_fixture *fixture)
{
    const size_t bytes = 3u << 20;
    uint8_t *data = malloc(bytes);
    assert_non_null(data);
    memset(data, 0x5a, bytes);
    struct trace_builder *b = play_start(fixture);
    builder_buffer_create(b, 1, NULL, bytes);
    builder_host_write(b, 1, 0, data, bytes);
    builder_host_read(b, 1, 0, data, bytes);
    data[bytes - 1] = 1;
    builder_host_write(b, 1, bytes - 1, data + bytes - 1, 1);
    builder_host_read(b, 1, 0, data, bytes);
    fixture->load.memory_limit_bytes = 5u << 20;
    play_expect_same(fixture, 2);
    free(data);
}

/* The submission stands before the signal that it waits for, on another queue than its sequel. */
TEST_ON(a_wait_may_come_before_its_signal, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value gate = {1, 7}, first = {2, 1}, second = {2, 2};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_buffer_create(b, 3, NULL, 1);
    play_add_fill(b, 4, 3, 0x11);
    play_add_fill(b, 5, 3, 0x22);
    builder_submit(b, 0, 1, VALUES(first), VALUES(second), IDS(5));
    builder_submit(b, 1, 0, VALUES(gate), VALUES(first), IDS(4));
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 7, NULL);
    builder_semaphore(b, TRACE_SEMAPHORE_QUERY, 2, 1, NULL);
    play_wait_for(b, &second);
    builder_host_read(b, 3, 0, "\x22", 1);
    play_expect_same(fixture, 1);
}

/* Thread 2 signals between thread 1's submission and wait. */
TEST_ON(threads_interleave, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value gate = {1, 1}, done = {2, 1};
    builder_thread(b, 2, 4712, "second");
    b->thread = 2;
    b->ticket = 6;
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    b->ticket = 9;
    builder_host_read(b, 3, 0, "\x33", 1);
    b->thread = 1;
    b->ticket = 1;
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_buffer_create(b, 3, NULL, 1);
    builder_command_buffer_create(b, 4, NULL, 0);
    builder_fill(b, 3, 0, 1, 0x33, 1);
    builder_end_commands(b, 4);
    b->ticket = 7;
    play_submit(b, 0, 4, &gate, &done);
    play_wait_for(b, &done);
    play_expect_same(fixture, 1);
}

TEST_ON(an_idle_wait_is_repeated, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    builder_buffer_create(b, 1, NULL, 1);
    play_add_fill(b, 2, 1, 0x44);
    play_submit(b, 0, 2, NULL, NULL);
    builder_wait_idle(b, INT64_MAX);
    builder_host_read(b, 1, 0, "\x44", 1);
    play_expect_same(fixture, 1);
}

/* #s1 was submitted during the wait and cannot end before the signal behind it. */
TEST_ON(an_overlapped_idle_wait_does_not_hang, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value gate = {1, 1};
    builder_thread(b, 2, 4712, "second");
    builder_semaphore_create(b, 1, "gate", 0);
    builder_buffer_create(b, 2, NULL, 1);
    builder_buffer_create(b, 3, NULL, 1);
    play_add_fill(b, 4, 2, 0x55);
    play_add_fill(b, 5, 3, 0x66);
    builder_submit(b, 0, 0, NO_VALUES, NO_VALUES, IDS(4));
    const int64_t begin_ns = b->begin_ns;
    b->thread = 2;
    builder_submit(b, 1, 0, VALUES(gate), NO_VALUES, IDS(5));
    b->thread = 1;
    b->begin_ns = begin_ns;
    b->step_ns = 10000;
    builder_wait_idle(b, INT64_MAX);
    builder_host_read(b, 2, 0, "\x55", 1);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    builder_wait_idle(b, INT64_MAX);
    builder_host_read(b, 3, 0, "\x66", 1);
    play_expect_same(fixture, 2);
}

/* A snapshot knows the contents of a buffer that the host cannot map. */
TEST_ON(private_buffers_are_written_and_read, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    const uint8_t zeros[8] = {0};
    b->flags = TRACE_FLAG_SNAPSHOT;
    builder_buffer_create_as(b, 1, "private", 64, HAL_MEMORY_DEVICE_LOCAL, HAL_USAGE_DISPATCH);
    builder_host_write(b, 1, 16, "snapshot", 8);
    b->flags = 0;
    builder_host_read(b, 1, 16, "snapshot", 8);
    builder_host_read(b, 1, 24, zeros, 8);
    play_expect_same(fixture, 2);
}

TEST_ON(persistent_mappings_stay, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value one = {9, 1};
    builder_buffer_create(b, 1, NULL, 32);
    builder_semaphore_create(b, 9, NULL, 0);
    builder_map(b, 1, 1, HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 8, 24);
    builder_host_write(b, 1, 8, "abcd", 4);
    builder_mapping_flush(b, 1, 1, 8, 4);
    builder_command_buffer_create(b, 2, NULL, 0);
    builder_copy(b, 1, 8, 1, 16, 4);
    builder_end_commands(b, 2);
    play_submit(b, 0, 2, NULL, &one);
    play_wait_for(b, &one);
    b->flags = TRACE_FLAG_OBSERVED;
    builder_host_read(b, 1, 8, "abcd\0\0\0\0abcd\0\0\0\0", 16);
    b->flags = 0;
    builder_unmap(b, 1, 1, 0, 8, 24);
    play_expect_same(fixture, 1);
}

TEST_ON(unwritten_bytes_hold_the_fill, struct play_fixture *fixture)
{
    struct replay_report report = {0};
    for (int fill = 0; fill < 256; fill += 0xa5) {
        struct trace_builder *b = play_start(fixture);
        builder_buffer_create(b, 1, NULL, 16);
        builder_host_write(b, 1, 0, "0123", 4);
        builder_host_read(b, 1, 0, "0123\0\0\0\0\0\0\0\0\0\0\0\0", 16);
        fixture->options.fill = (uint8_t)fill;
        assert_int_equal(play_often(fixture, 1, &report), HAL_OK);
        assert_int_equal(report.different_reads, fill ? 1 : 0);
        assert_int_equal(report.different_bytes, fill ? 12 : 0);
        if (fill)
            assert_int_equal(report.first.actual[4], 0xa5);
    }
}

/* The host's 5 came first in the recording; here the device has set 6 by then, for certain. */
TEST_ON(a_signal_that_comes_too_late_is_harmless, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value both[] = {{1, 6}, {2, 1}};
    builder_semaphore_create(b, 1, NULL, 0);
    builder_semaphore_create(b, 2, NULL, 0);
    builder_submit(b, 0, 0, NO_VALUES, builder_values(both, 2), NO_IDS);
    builder_submission_done(b, 0, 0, 10, 10, 20);
    play_wait_for(b, &both[1]);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 5, NULL);
    play_wait_for(b, &both[0]);
    play_expect_same(fixture, 0);
}

TEST_ON(what_the_host_sets_is_waited_for, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 3, NULL);
    play_wait_for(b, &(struct trace_semaphore_value){1, 3});
    play_expect_same(fixture, 0);
}

/* Two submissions set one semaphore, here for certain the higher value first, which fails it; the
 * trace does not tell whether it did. */
TEST_ON(values_in_either_order_are_no_difference, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value high[] = {{1, 2}, {2, 1}}, low[] = {{1, 1}, {3, 1}};
    builder_semaphore_create(b, 1, "both", 0);
    builder_semaphore_create(b, 2, "first", 0);
    builder_semaphore_create(b, 3, "second", 0);
    builder_submit(b, 0, 0, NO_VALUES, builder_values(high, 2), NO_IDS);
    builder_submit(b, 1, 0, VALUES(high[1]), builder_values(low, 2), NO_IDS);
    play_wait_for(b, &low[1]);
    builder_submission_done(b, 0, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
    builder_submission_done(b, 1, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
    play_expect_same(fixture, 0);
}

TEST_ON(timed_out_waits_are_not_repeated, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value never = {1, 1};
    builder_semaphore_create(b, 1, NULL, 0);
    b->status = HAL_TIMEOUT;
    builder_semaphore_wait(b, HAL_WAIT_ALL, &never, 1, 1000);
    play_expect_same(fixture, 0);
}

/* Work that never ended in the recording does not keep the replay from ending. */
TEST_ON(unfinished_work_is_set_free, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value never = {1, 1}, done = {2, 1};
    builder_semaphore_create(b, 1, "never", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_buffer_create(b, 3, NULL, 1);
    play_add_fill(b, 4, 3, 1);
    play_add_fill(b, 5, 3, 2);
    builder_submit(b, 0, 0, VALUES(never), NO_VALUES, IDS(4));
    play_submit(b, 1, 5, NULL, &done);
    play_expect_same(fixture, 0);
}

/* ---- What cannot be replayed ------------------------------------------------------------------
 */

TEST_ON(missing_queues_are_unsupported, struct play_fixture *fixture)
{
    struct replay_report report = {0};
    struct trace_builder *b = play_start(fixture);
    builder_submit(b, 0, 7, NO_VALUES, NO_VALUES, NO_IDS);
    assert_int_equal(play_often(fixture, 1, &report), HAL_UNSUPPORTED);
    assert_non_null(strstr(hal_message(), "uses 8 queues"));
}

/* What a command buffer was made for is kept: a fill is none of its commands. */
TEST_ON(categories_are_kept, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    struct replay_report report = {0};
    const struct trace_semaphore_value one = {30, 1};
    builder_buffer_create(b, 10, "target", 16);
    builder_semaphore_create(b, 30, NULL, 0);
    b->categories = HAL_COMMANDS_DISPATCH;
    play_add_fill(b, 40, 10, 1);
    play_submit(b, 0, 40, NULL, &one);
    play_wait_for(b, &one);
    assert_int_equal(play_often(fixture, 1, &report), HAL_INVALID);
    assert_non_null(strstr(hal_message(), "categories 0x2: a transfer has 0x1"));
}

TEST_ON(kernels_that_do_not_compile_are_named, struct play_fixture *fixture)
{
    struct replay_report report = {0};
    fixture_need_compiler(fixture->device);
    struct trace_builder *b = play_start(fixture);
    const struct trace_entry_point point = {.name = builder_string(b, "scale"),
                                            .group_size = {1, 1, 1}};
    builder_executable_create(b, 1, "broken.metal", "kernel void scale() { nonsense; }\n", &point,
                              1);
    assert_int_equal(play_often(fixture, 1, &report), HAL_INVALID);
    assert_non_null(strstr(hal_message(), "executable 'broken.metal'"));
    assert_non_null(strstr(hal_message(), "nonsense"));
}

/* The recorded kernel takes buffer 0, and its place is taken by one that takes another, or more. */
TEST_ON(substitutes_take_what_is_bound, struct play_fixture *fixture)
{
    static const char source[] = "kernel void one(device int *a [[buffer(0)]]) { a[0] = 1; }\n";
    static const char other[] = "kernel void one(device int *a [[buffer(2)]]) { a[0] = 1; }\n";
    static const char more[] = "kernel void one(device int *a [[buffer(0)]],\n"
                               "                device int *b [[buffer(3)]]) { a[0] = b[0]; }\n";
    static const struct trace_entry_binding takes = {0, 0, 0, 3};
    static const struct {
        const char *data, *message;
    } known[] = {
        {other, "kernel 'one' uses buffer 0 of set 0, but its substitute does not"},
        {more, "kernel 'one' does not use buffer 3 of set 0, but its substitute does"},
        {source, NULL},
    };
    fixture_need_compiler(fixture->device);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct replay_report report = {0};
        struct trace_builder *b = play_start(fixture);
        const struct trace_entry_point point = {.name = builder_string(b, "one"),
                                                .group_size = {1, 1, 1}};
        const struct replay_substitute substitute = {
            "one", HAL_FORMAT_MSL, (const uint8_t *)known[i].data, strlen(known[i].data)};
        b->executable = (struct builder_executable){.bindings = &takes, .binding_count = 1};
        builder_executable_create(b, 1, NULL, source, &point, 1);
        fixture->options.substitutes = &substitute;
        fixture->options.substitute_count = 1;
        const enum hal_status status = play_often(fixture, 1, &report);
        assert_int_equal(status, known[i].message ? HAL_UNSUPPORTED : HAL_OK);
        if (known[i].message)
            assert_non_null(strstr(hal_message(), known[i].message));
    }
}

TEST_SUITE_FIXTURE(play_set_up, play_tear_down);
