/* SPDX-License-Identifier: Apache-2.0 */
/* replay/player.c, commands.c, memory.c: tiny traces run on the CPU; what comes out is compared
 * with bytes that the test worked out. */
#include "replay/player.h"
#include "tests/support/folder.h"
#include "tests/support/replay_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct test_folder folder;
    char path[PATH_MAX];
    struct trace_builder b;
    struct hal_device *device;
    struct replay_load_options load;
    struct replay_options options;
};

static const struct replay_options no_options;
static const int64_t ms = 1000 * 1000;

static struct trace_builder *start(struct fixture *fixture)
{
    fixture->load = (struct replay_load_options){0};
    fixture->options = no_options;
    builder_open(&fixture->b, test_folder_file(&fixture->folder, "play.pb.zst", fixture->path),
                 NULL);
    return &fixture->b;
}

/* Closes, loads and plays `runs` times; the last report. */
static enum hal_status play_often(struct fixture *fixture, int runs,
                                  struct replay_report *out_report)
{
    struct replay_plan *plan = NULL;
    struct replay_player *player = NULL;
    if (builder_close(&fixture->b, NULL) != HAL_OK ||
        replay_plan_load(fixture->path, &fixture->load, &plan) != HAL_OK)
        fail_msg("%s", hal_message());
    enum hal_status status =
        replay_player_create(plan, fixture->device, &fixture->options, &player);
    for (int run = 0; run < runs && status == HAL_OK; run++)
        status = replay_player_run(player, out_report);
    assert_false(out_report->abandoned);
    char message[HAL_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", hal_message());
    replay_player_destroy(player);
    replay_plan_destroy(plan);
    if (status != HAL_OK)
        hal_fail(status, "%s", message);
    return status;
}

static void expect_same(struct fixture *fixture, uint64_t reads)
{
    struct replay_report report = {0};
    if (play_often(fixture, 1, &report) != HAL_OK)
        fail_msg("%s", hal_message());
    if (report.different_outcomes)
        fail_msg("%s", report.first_outcome);
    assert_int_equal(report.compared_reads, reads);
    assert_int_equal(report.different_reads, 0);
}

/* A command buffer `id` that fills the first byte of the buffer. */
static void add_fill(struct trace_builder *b, uint64_t id, uint64_t buffer, uint8_t value)
{
    builder_command_buffer_create(b, id, NULL, 0);
    builder_fill(b, buffer, 0, 1, value, 1);
    builder_seal(b, id);
}

static void submit(struct trace_builder *b, uint64_t number, uint64_t commands,
                   const struct trace_semaphore_value *wait,
                   const struct trace_semaphore_value *signal)
{
    builder_submit(b, number, 0, wait, wait != NULL, signal, signal != NULL, &commands, 1);
    builder_submission_done(b, number, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
}

static void wait_for(struct trace_builder *b, const struct trace_semaphore_value *value)
{
    builder_semaphore_wait(b, HAL_WAIT_ALL, value, 1, INT64_MAX);
}

/* ---- What goes right ------------------------------------------------------------------------ */

/* Skips a test of kernels on a machine that has no compiler for them. */
static void need_compiler(const struct fixture *fixture)
{
    static const char source[] = "kernel void nothing() {}\n";
    const struct hal_entry_point point = {.name = "nothing", .group_size = {1, 1, 1}};
    const struct hal_executable_desc desc = {.format = HAL_FORMAT_MSL,
                                             .data = source,
                                             .bytes = sizeof source - 1,
                                             .entry_points = &point,
                                             .entry_point_count = 1};
    struct hal_executable *executable = NULL;
    const enum hal_status status = hal_executable_create(fixture->device, &desc, &executable);
    hal_executable_release(executable);
    if (status == HAL_NOT_FOUND || status == HAL_UNSUPPORTED) {
        print_message("skipped: %s\n", hal_message());
        skip();
    }
}

static void everything_replays(void **state)
{
    need_compiler(*state);
    every_build(start(*state), true);
    expect_same(*state, 2);
}

static void runs_repeat(void **state)
{
    struct replay_report report = {0};
    every_build(start(*state), false);
    assert_int_equal(play_often(*state, 5, &report), HAL_OK);
    assert_int_equal(report.compared_reads, 2);
    assert_int_equal(report.compared_bytes, 104);
    assert_int_equal(report.different_reads, 0);
    assert_true(report.total_ns > 0);
    assert_true(report.wait_ns >= 0 && report.wait_ns <= report.total_ns);
}

static void nothing_replays(void **state)
{
    start(*state);
    expect_same(*state, 0);
}

static void contents_may_stay_in_the_file(void **state)
{
    struct fixture *fixture = *state;
    const size_t bytes = 3u << 20;
    uint8_t *data = malloc(bytes);
    assert_non_null(data);
    memset(data, 0x5a, bytes);
    struct trace_builder *b = start(fixture);
    builder_buffer_create(b, 1, NULL, bytes);
    builder_host_write(b, 1, 0, data, bytes);
    builder_host_read(b, 1, 0, data, bytes);
    data[bytes - 1] = 1;
    builder_host_write(b, 1, bytes - 1, data + bytes - 1, 1);
    builder_host_read(b, 1, 0, data, bytes);
    fixture->load.memory_limit_bytes = 5u << 20;
    expect_same(fixture, 2);
    free(data);
}

/* The submission stands before the signal that it waits for, on another queue than its sequel. */
static void a_wait_may_come_before_its_signal(void **state)
{
    struct trace_builder *b = start(*state);
    const struct trace_semaphore_value gate = {1, 7}, first = {2, 1}, second = {2, 2};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_buffer_create(b, 3, NULL, 1);
    add_fill(b, 4, 3, 0x11);
    add_fill(b, 5, 3, 0x22);
    builder_submit(b, 0, 1, &first, 1, &second, 1, (uint64_t[]){5}, 1);
    builder_submit(b, 1, 0, &gate, 1, &first, 1, (uint64_t[]){4}, 1);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 7, NULL);
    builder_semaphore(b, TRACE_SEMAPHORE_QUERY, 2, 1, NULL);
    wait_for(b, &second);
    builder_host_read(b, 3, 0, "\x22", 1);
    expect_same(*state, 1);
}

/* Thread 2 signals between thread 1's submission and wait. */
static void threads_interleave(void **state)
{
    struct trace_builder *b = start(*state);
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
    builder_seal(b, 4);
    b->ticket = 7;
    submit(b, 0, 4, &gate, &done);
    wait_for(b, &done);
    expect_same(*state, 1);
}

static void an_idle_wait_is_repeated(void **state)
{
    struct trace_builder *b = start(*state);
    builder_buffer_create(b, 1, NULL, 1);
    add_fill(b, 2, 1, 0x44);
    submit(b, 0, 2, NULL, NULL);
    builder_wait_idle(b, INT64_MAX);
    builder_host_read(b, 1, 0, "\x44", 1);
    expect_same(*state, 1);
}

/* #s1 was handed in during the wait and cannot end before the signal behind it. */
static void an_overlapped_idle_wait_does_not_hang(void **state)
{
    struct trace_builder *b = start(*state);
    const struct trace_semaphore_value gate = {1, 1};
    builder_thread(b, 2, 4712, "second");
    builder_semaphore_create(b, 1, "gate", 0);
    builder_buffer_create(b, 2, NULL, 1);
    builder_buffer_create(b, 3, NULL, 1);
    add_fill(b, 4, 2, 0x55);
    add_fill(b, 5, 3, 0x66);
    builder_submit(b, 0, 0, NULL, 0, NULL, 0, (uint64_t[]){4}, 1);
    const int64_t begin_ns = b->begin_ns;
    b->thread = 2;
    builder_submit(b, 1, 0, &gate, 1, NULL, 0, (uint64_t[]){5}, 1);
    b->thread = 1;
    b->begin_ns = begin_ns;
    b->step_ns = 10000;
    builder_wait_idle(b, INT64_MAX);
    builder_host_read(b, 2, 0, "\x55", 1);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    builder_wait_idle(b, INT64_MAX);
    builder_host_read(b, 3, 0, "\x66", 1);
    expect_same(*state, 2);
}

/* A snapshot knows the contents of a buffer that the host cannot map. */
static void private_buffers_are_written_and_read(void **state)
{
    struct trace_builder *b = start(*state);
    const uint8_t zeros[8] = {0};
    b->flags = TRACE_FLAG_SNAPSHOT;
    builder_buffer_create_as(b, 1, "private", 64, HAL_MEMORY_DEVICE_LOCAL, HAL_USAGE_DISPATCH);
    builder_host_write(b, 1, 16, "snapshot", 8);
    b->flags = 0;
    builder_host_read(b, 1, 16, "snapshot", 8);
    builder_host_read(b, 1, 24, zeros, 8);
    expect_same(*state, 2);
}

static void persistent_mappings_stay(void **state)
{
    struct trace_builder *b = start(*state);
    const struct trace_semaphore_value one = {9, 1};
    builder_buffer_create(b, 1, NULL, 32);
    builder_semaphore_create(b, 9, NULL, 0);
    builder_mapping(b, TRACE_BUFFER_MAP, 1, 1, HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 8,
                    24);
    builder_host_write(b, 1, 8, "abcd", 4);
    builder_mapping(b, TRACE_MAPPING_FLUSH, 1, 1, 0, 8, 4);
    builder_command_buffer_create(b, 2, NULL, 0);
    builder_copy(b, 1, 8, 1, 16, 4);
    builder_seal(b, 2);
    submit(b, 0, 2, NULL, &one);
    wait_for(b, &one);
    b->flags = TRACE_FLAG_OBSERVED;
    builder_host_read(b, 1, 8, "abcd\0\0\0\0abcd\0\0\0\0", 16);
    b->flags = 0;
    builder_mapping(b, TRACE_BUFFER_UNMAP, 1, 1, 0, 8, 24);
    expect_same(*state, 1);
}

static void unwritten_bytes_hold_the_fill(void **state)
{
    struct fixture *fixture = *state;
    struct replay_report report = {0};
    for (int fill = 0; fill < 256; fill += 0xa5) {
        struct trace_builder *b = start(fixture);
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
static void a_signal_that_comes_too_late_is_harmless(void **state)
{
    struct trace_builder *b = start(*state);
    const struct trace_semaphore_value both[] = {{1, 6}, {2, 1}};
    builder_semaphore_create(b, 1, NULL, 0);
    builder_semaphore_create(b, 2, NULL, 0);
    builder_submit(b, 0, 0, NULL, 0, both, 2, NULL, 0);
    builder_submission_done(b, 0, 0, 10, 10, 20);
    wait_for(b, &both[1]);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 5, NULL);
    wait_for(b, &both[0]);
    expect_same(*state, 0);
}

static void what_the_host_sets_is_waited_for(void **state)
{
    struct trace_builder *b = start(*state);
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 3, NULL);
    wait_for(b, &(struct trace_semaphore_value){1, 3});
    expect_same(*state, 0);
}

/* Two submissions set one semaphore, here for certain the higher value first, which fails it; the
 * trace does not tell whether it did. */
static void values_in_either_order_are_no_difference(void **state)
{
    struct trace_builder *b = start(*state);
    const struct trace_semaphore_value high[] = {{1, 2}, {2, 1}}, low[] = {{1, 1}, {3, 1}};
    builder_semaphore_create(b, 1, "both", 0);
    builder_semaphore_create(b, 2, "first", 0);
    builder_semaphore_create(b, 3, "second", 0);
    builder_submit(b, 0, 0, NULL, 0, high, 2, NULL, 0);
    builder_submit(b, 1, 0, &high[1], 1, low, 2, NULL, 0);
    wait_for(b, &low[1]);
    builder_submission_done(b, 0, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
    builder_submission_done(b, 1, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
    expect_same(*state, 0);
}

static void timed_out_waits_are_not_repeated(void **state)
{
    struct trace_builder *b = start(*state);
    const struct trace_semaphore_value never = {1, 1};
    builder_semaphore_create(b, 1, NULL, 0);
    b->status = HAL_TIMEOUT;
    builder_semaphore_wait(b, HAL_WAIT_ALL, &never, 1, 1000);
    expect_same(*state, 0);
}

/* Work that never ended in the recording does not keep the replay from ending. */
static void unfinished_work_is_set_free(void **state)
{
    struct trace_builder *b = start(*state);
    const struct trace_semaphore_value never = {1, 1}, done = {2, 1};
    builder_semaphore_create(b, 1, "never", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_buffer_create(b, 3, NULL, 1);
    add_fill(b, 4, 3, 1);
    add_fill(b, 5, 3, 2);
    builder_submit(b, 0, 0, &never, 1, NULL, 0, (uint64_t[]){4}, 1);
    submit(b, 1, 5, NULL, &done);
    expect_same(*state, 0);
}

/* ---- Failures ------------------------------------------------------------------------------- */

static void host_failures_are_repeated(void **state)
{
    struct trace_builder *b = start(*state);
    const struct trace_semaphore_value gate = {1, 1}, done = {2, 1};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_buffer_create(b, 3, NULL, 1);
    add_fill(b, 4, 3, 1);
    builder_submit(b, 0, 0, &gate, 1, &done, 1, (uint64_t[]){4}, 1);
    b->status = HAL_DEVICE_LOST;
    builder_semaphore(b, TRACE_SEMAPHORE_FAIL, 1, 0, "unplugged");
    wait_for(b, &done);
    builder_submission_done(b, 0, 0, 0, 0, 0);
    expect_same(*state, 0);
}

/* The failure may still be on its way when the recording has destroyed the semaphore already. */
static void failures_are_awaited_before_the_semaphore_goes(void **state)
{
    struct trace_builder *b = start(*state);
    builder_buffer_create(b, 1, NULL, 1);
    for (uint64_t i = 0; i < 50; i++) {
        const struct trace_semaphore_value gate = {10 + i, 1}, done = {100 + i, 1};
        builder_semaphore_create(b, gate.semaphore, NULL, 0);
        builder_semaphore_create(b, done.semaphore, NULL, 0);
        builder_command_buffer_create(b, 1000 + i, NULL, 0);
        builder_fill(b, 1, 0, 1, 0, 1);
        builder_seal(b, 1000 + i);
        builder_submit(b, i, 0, &gate, 1, &done, 1, (uint64_t[]){1000 + i}, 1);
        b->status = HAL_DEVICE_LOST;
        builder_semaphore(b, TRACE_SEMAPHORE_FAIL, gate.semaphore, 0, "unplugged");
        builder_submission_done(b, i, 0, 0, 0, 0);
        b->status = HAL_OK;
        builder_destroy(b, TRACE_SEMAPHORE_DESTROY, done.semaphore);
        builder_destroy(b, TRACE_SEMAPHORE_DESTROY, gate.semaphore);
    }
    expect_same(*state, 0);
}

/* A submission's 2 comes when the host has set 5, which fails the semaphore. The program saw it by
 * a wait, by a query, or not at all; in no case is it a difference. */
static void values_that_come_too_late_are_no_difference(void **state)
{
    for (int look = 0; look < 3; look++) {
        struct trace_builder *b = start(*state);
        const struct trace_semaphore_value gate = {1, 1}, two = {2, 2}, six = {2, 6};
        builder_semaphore_create(b, 1, "gate", 0);
        builder_semaphore_create(b, 2, "overtaken", 0);
        builder_submit(b, 0, 0, &gate, 1, &two, 1, NULL, 0);
        builder_submission_done(b, 0, 0, 10, 10, 20);
        builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 2, 5, NULL);
        builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
        b->status = HAL_INVALID;
        if (look == 1)
            wait_for(b, &six);
        if (look == 2)
            builder_semaphore(b, TRACE_SEMAPHORE_QUERY, 2, 0, NULL);
        expect_same(*state, 0);
    }
}

/* A wait for a fill that had failed with that status. */
static void play_failed_fill(struct fixture *fixture, enum hal_status failure,
                             struct replay_report *out_report)
{
    struct trace_builder *b = start(fixture);
    const struct trace_semaphore_value done = {2, 1};
    *out_report = (struct replay_report){0};
    builder_semaphore_create(b, 2, "done", 0);
    builder_buffer_create(b, 3, NULL, 1);
    add_fill(b, 4, 3, 1);
    builder_submit(b, 0, 0, NULL, 0, &done, 1, (uint64_t[]){4}, 1);
    b->status = failure;
    builder_submission_done(b, 0, 0, 10, 10, 20);
    wait_for(b, &done);
    assert_int_equal(play_often(fixture, 1, out_report), HAL_OK);
}

static void work_that_no_longer_fails_is_a_difference(void **state)
{
    struct replay_report report;
    play_failed_fill(*state, HAL_FAILED, &report);
    assert_int_equal(report.different_outcomes, 2);
    assert_int_equal(report.unmet_losses, 0);
    assert_non_null(strstr(report.first_outcome, "semaphore_wait (ticket 6)"));
    assert_non_null(strstr(report.first_outcome, "'failed'"));
}

/* A device is not lost on demand: that says nothing about the work. */
static void a_loss_that_does_not_come_again_is_no_difference(void **state)
{
    struct replay_report report;
    play_failed_fill(*state, HAL_DEVICE_LOST, &report);
    assert_int_equal(report.different_outcomes, 0);
    assert_int_equal(report.unmet_losses, 2);
}

/* What a lost device left: work that waits for what never comes, and for that; work that it
 * refused. The program waits for each, or looks, or lets go. */
static void work_of_a_lost_device_does_not_hang(void **state)
{
    for (int look = 0; look < 4; look++) {
        struct fixture *fixture = *state;
        struct replay_report report = {0};
        struct trace_builder *b = start(fixture);
        const struct trace_semaphore_value never = {1, 1}, stuck = {2, 5}, next = {3, 1},
                                           refused = {4, 1}, early = {2, 2};
        for (uint64_t id = 1; id <= 4; id++)
            builder_semaphore_create(b, id, id == 4 ? "refused" : NULL, 0);
        builder_submit(b, 0, 0, NULL, 0, &early, 1, NULL, 0);
        builder_submit(b, 1, 0, &never, 1, &stuck, 1, NULL, 0);
        builder_submit(b, 2, 0, &stuck, 1, &next, 1, NULL, 0);
        builder_submit(b, 3, 0, &never, 1, NULL, 0, NULL, 0);
        wait_for(b, &early);
        builder_submission_done(b, 0, 0, b->begin_ns, b->begin_ns, b->begin_ns);
        b->status = HAL_DEVICE_LOST;
        builder_submission_done(b, 1, 0, 0, 0, look == 3 ? b->begin_ns + 1 : 0);
        builder_submission_done(b, 2, 0, 0, 0, look == 3 ? b->begin_ns + 1 : 0);
        builder_submission_done(b, 3, 0, 0, 0, 0);
        builder_submit(b, 4, 0, NULL, 0, &refused, 1, NULL, 0);
        if (look == 0)
            wait_for(b, &next);
        if (look < 2)
            wait_for(b, &refused);
        if (look == 2)
            builder_semaphore(b, TRACE_SEMAPHORE_QUERY, 2, 0, NULL);
        b->status = HAL_OK;
        b->begin_ns += 10;
        for (uint64_t id = 1; look > 1 && id <= 4; id++)
            builder_destroy(b, TRACE_SEMAPHORE_DESTROY, id);
        fixture->options.timeout_ns = 20000 * ms;
        if (play_often(fixture, 1, &report) != HAL_OK)
            fail_msg("look %d: %s", look, hal_message());
        if (report.different_outcomes)
            fail_msg("look %d: %s", look, report.first_outcome);
        fixture->options.timeout_ns = 0;
    }
}

/* The program waited for one of two, of which the other comes only behind the wait. */
static void a_wait_for_any_is_no_wait_for_all(void **state)
{
    struct fixture *fixture = *state;
    struct trace_builder *b = start(fixture);
    const struct trace_semaphore_value values[] = {{1, 1}, {2, 1}};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_buffer_create(b, 3, NULL, 1);
    add_fill(b, 4, 3, 0x77);
    submit(b, 0, 4, NULL, &values[1]);
    builder_semaphore_wait(b, HAL_WAIT_ANY, values, 2, INT64_MAX);
    builder_host_read(b, 3, 0, "\x77", 1);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    fixture->options.timeout_ns = 5000 * ms;
    expect_same(fixture, 1);
}

/* 'gate' fails with one status, the wait had returned another, or the same. */
static void a_failed_wait_fails_as_it_did(void **state)
{
    static const enum hal_status recorded[] = {HAL_IO, HAL_FAILED};
    struct fixture *fixture = *state;
    for (size_t i = 0; i < 2; i++) {
        struct replay_report report = {0};
        struct trace_builder *b = start(fixture);
        const struct trace_semaphore_value gate = {1, 1};
        builder_semaphore_create(b, 1, "gate", 0);
        b->status = HAL_IO;
        builder_semaphore(b, TRACE_SEMAPHORE_FAIL, 1, 0, "unplugged");
        b->status = (uint16_t)recorded[i];
        wait_for(b, &gate);
        assert_int_equal(play_often(fixture, 1, &report), HAL_OK);
        assert_int_equal(report.different_outcomes, i);
    }
}

/* 'gate' fails, so 'done' does, and then 'last'. That of 'done' is known from a wait, from one for
 * two that does not tell which, from a query, or from the end of the work. */
static void failures_are_known_in_several_ways(void **state)
{
    for (int look = 0; look < 4; look++) {
        struct trace_builder *b = start(*state);
        const struct trace_semaphore_value gate = {1, 1}, values[] = {{2, 1}, {3, 1}},
                                           last = {4, 1};
        for (uint64_t id = 1; id <= 4; id++)
            builder_semaphore_create(b, id, NULL, 0);
        builder_submit(b, 0, 0, &gate, 1, &values[0], 1, NULL, 0);
        builder_submit(b, 1, 0, &values[0], 1, &last, 1, NULL, 0);
        b->status = HAL_IO;
        builder_semaphore(b, TRACE_SEMAPHORE_FAIL, 1, 0, "unplugged");
        if (look < 2)
            builder_semaphore_wait(b, HAL_WAIT_ALL, values, look ? 2 : 1, INT64_MAX);
        if (look == 2)
            builder_semaphore(b, TRACE_SEMAPHORE_QUERY, 2, 0, NULL);
        if (look == 3)
            builder_submission_done(b, 0, 0, 0, 0, 0);
        wait_for(b, &last);
        expect_same(*state, 0);
    }
}

/* A wait for 'gate', which failed, and 'done', of which the trace says that it did not. */
static void a_known_failure_is_no_excuse_for_others(void **state)
{
    struct fixture *fixture = *state;
    struct replay_report report = {0};
    struct trace_builder *b = start(fixture);
    const struct trace_semaphore_value values[] = {{1, 1}, {2, 1}};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_submit(b, 0, 0, &values[0], 1, &values[1], 1, NULL, 0);
    builder_submission_done(b, 0, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
    b->status = HAL_IO;
    builder_semaphore(b, TRACE_SEMAPHORE_FAIL, 1, 0, "unplugged");
    builder_semaphore_wait(b, HAL_WAIT_ALL, values, 2, INT64_MAX);
    assert_int_equal(play_often(fixture, 1, &report), HAL_OK);
    assert_int_equal(report.different_outcomes, 1);
    assert_non_null(strstr(report.first_outcome, "semaphore 'done' fails, which it did not"));
}

/* One of two has failed: a wait for any goes on with the other, a wait for all does not. */
static void a_wait_for_any_outlives_a_failure(void **state)
{
    struct fixture *fixture = *state;
    for (uint32_t mode = HAL_WAIT_ALL; mode <= HAL_WAIT_ANY; mode++) {
        struct trace_builder *b = start(fixture);
        const struct trace_semaphore_value values[] = {{1, 1}, {2, 1}};
        builder_semaphore_create(b, 1, "gate", 0);
        builder_semaphore_create(b, 2, "done", 0);
        b->status = HAL_IO;
        builder_semaphore(b, TRACE_SEMAPHORE_FAIL, 1, 0, "unplugged");
        b->status = HAL_OK;
        builder_submit(b, 0, 0, NULL, 0, &values[1], 1, NULL, 0);
        builder_submission_done(b, 0, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
        b->status = mode == HAL_WAIT_ALL ? HAL_IO : HAL_OK;
        builder_semaphore_wait(b, mode, values, 2, INT64_MAX);
        b->status = HAL_OK;
        expect_same(fixture, 0);
    }
}

static void work_that_hangs_is_named(void **state)
{
    struct fixture *fixture = *state;
    struct replay_report report = {0};
    struct trace_builder *b = start(fixture);
    const struct trace_semaphore_value gate = {1, 1}, done = {2, 5};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 3);
    builder_buffer_create(b, 3, NULL, 1);
    add_fill(b, 4, 3, 1);
    submit(b, 17, 4, &gate, &done);
    wait_for(b, &done);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    fixture->options.timeout_ns = 50 * ms;
    assert_int_equal(play_often(fixture, 1, &report), HAL_TIMEOUT);
    assert_non_null(strstr(hal_message(), "semaphore_wait (ticket 7)"));
    assert_non_null(strstr(hal_message(), "semaphore 'done' is at 3 and should reach 5"));
    assert_non_null(strstr(hal_message(), "#s17"));
}

static void an_idle_wait_that_hangs_is_named(void **state)
{
    struct fixture *fixture = *state;
    struct replay_report report = {0};
    struct trace_builder *b = start(fixture);
    const struct trace_semaphore_value gate = {1, 1}, done = {2, 1};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_buffer_create(b, 3, NULL, 1);
    add_fill(b, 4, 3, 1);
    submit(b, 3, 4, &gate, &done);
    builder_wait_idle(b, INT64_MAX);
    fixture->options.timeout_ns = 50 * ms;
    assert_int_equal(play_often(fixture, 1, &report), HAL_TIMEOUT);
    assert_non_null(strstr(hal_message(), "wait_idle (ticket 7)"));
    assert_non_null(strstr(hal_message(), "#s3"));
    assert_non_null(strstr(hal_message(), "'done'"));
}

static void missing_queues_are_unsupported(void **state)
{
    struct fixture *fixture = *state;
    struct replay_report report = {0};
    struct trace_builder *b = start(fixture);
    builder_submit(b, 0, 7, NULL, 0, NULL, 0, NULL, 0);
    assert_int_equal(play_often(fixture, 1, &report), HAL_UNSUPPORTED);
    assert_non_null(strstr(hal_message(), "uses 8 queues"));
}

/* What a command buffer was made for is kept: a fill is none of its commands. */
static void categories_are_kept(void **state)
{
    struct fixture *fixture = *state;
    struct trace_builder *b = start(fixture);
    struct replay_report report = {0};
    const struct trace_semaphore_value one = {30, 1};
    builder_buffer_create(b, 10, "target", 16);
    builder_semaphore_create(b, 30, NULL, 0);
    b->categories = HAL_COMMANDS_DISPATCH;
    add_fill(b, 40, 10, 1);
    submit(b, 0, 40, NULL, &one);
    wait_for(b, &one);
    assert_int_equal(play_often(fixture, 1, &report), HAL_INVALID);
    assert_non_null(strstr(hal_message(), "categories 0x2: a transfer is of 0x1"));
}

static void kernels_that_do_not_compile_are_named(void **state)
{
    struct fixture *fixture = *state;
    struct replay_report report = {0};
    need_compiler(fixture);
    struct trace_builder *b = start(fixture);
    const struct trace_entry_point point = {.name = builder_string(b, "scale"),
                                            .group_size = {1, 1, 1}};
    builder_executable_create(b, 1, "broken.metal", "kernel void scale() { nonsense; }\n", &point,
                              1, NULL, 0);
    assert_int_equal(play_often(fixture, 1, &report), HAL_INVALID);
    assert_non_null(strstr(hal_message(), "executable 'broken.metal'"));
    assert_non_null(strstr(hal_message(), "nonsense"));
}

/* The recorded kernel takes buffer 0, and its place is taken by one that takes another, or more. */
static void substitutes_take_what_is_bound(void **state)
{
    static const char source[] = "kernel void one(device int *a [[buffer(0)]]) { a[0] = 1; }\n";
    static const char other[] = "kernel void one(device int *a [[buffer(2)]]) { a[0] = 1; }\n";
    static const char more[] = "kernel void one(device int *a [[buffer(0)]],\n"
                               "                device int *b [[buffer(3)]]) { a[0] = b[0]; }\n";
    static const struct trace_entry_binding takes = {0, 0, 0, 3};
    static const struct {
        const char *data, *message;
    } known[] = {
        {other, "kernel 'one' takes buffer 0 of set 0, and its substitute does not"},
        {more, "kernel 'one' takes no buffer 3 of set 0, and its substitute does"},
        {source, NULL},
    };
    struct fixture *fixture = *state;
    need_compiler(fixture);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct replay_report report = {0};
        struct trace_builder *b = start(fixture);
        const struct trace_entry_point point = {.name = builder_string(b, "one"),
                                                .group_size = {1, 1, 1}};
        const struct replay_substitute substitute = {
            "one", HAL_FORMAT_MSL, (const uint8_t *)known[i].data, strlen(known[i].data)};
        builder_executable_reflected(b, 1, source, &point, 1, &takes, 1);
        fixture->options.substitutes = &substitute;
        fixture->options.substitute_count = 1;
        const enum hal_status status = play_often(fixture, 1, &report);
        assert_int_equal(status, known[i].message ? HAL_UNSUPPORTED : HAL_OK);
        if (known[i].message)
            assert_non_null(strstr(hal_message(), known[i].message));
    }
}

static int set_up(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    if (!test_folder_make(&fixture.folder))
        return -1;
    if (hal_device_open("cpu?threads=2&queues=2", &fixture.device) != HAL_OK) {
        fprintf(stderr, "%s\n", hal_message());
        return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    hal_device_release(fixture->device);
    test_folder_remove(&fixture->folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_replays),
        cmocka_unit_test(runs_repeat),
        cmocka_unit_test(nothing_replays),
        cmocka_unit_test(contents_may_stay_in_the_file),
        cmocka_unit_test(a_wait_may_come_before_its_signal),
        cmocka_unit_test(threads_interleave),
        cmocka_unit_test(an_idle_wait_is_repeated),
        cmocka_unit_test(an_overlapped_idle_wait_does_not_hang),
        cmocka_unit_test(private_buffers_are_written_and_read),
        cmocka_unit_test(persistent_mappings_stay),
        cmocka_unit_test(unwritten_bytes_hold_the_fill),
        cmocka_unit_test(a_signal_that_comes_too_late_is_harmless),
        cmocka_unit_test(what_the_host_sets_is_waited_for),
        cmocka_unit_test(values_in_either_order_are_no_difference),
        cmocka_unit_test(timed_out_waits_are_not_repeated),
        cmocka_unit_test(unfinished_work_is_set_free),
        cmocka_unit_test(host_failures_are_repeated),
        cmocka_unit_test(failures_are_awaited_before_the_semaphore_goes),
        cmocka_unit_test(values_that_come_too_late_are_no_difference),
        cmocka_unit_test(work_that_no_longer_fails_is_a_difference),
        cmocka_unit_test(a_loss_that_does_not_come_again_is_no_difference),
        cmocka_unit_test(work_of_a_lost_device_does_not_hang),
        cmocka_unit_test(a_wait_for_any_is_no_wait_for_all),
        cmocka_unit_test(a_failed_wait_fails_as_it_did),
        cmocka_unit_test(failures_are_known_in_several_ways),
        cmocka_unit_test(a_known_failure_is_no_excuse_for_others),
        cmocka_unit_test(a_wait_for_any_outlives_a_failure),
        cmocka_unit_test(work_that_hangs_is_named),
        cmocka_unit_test(an_idle_wait_that_hangs_is_named),
        cmocka_unit_test(missing_queues_are_unsupported),
        cmocka_unit_test(categories_are_kept),
        cmocka_unit_test(kernels_that_do_not_compile_are_named),
        cmocka_unit_test(substitutes_take_what_is_bound),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
