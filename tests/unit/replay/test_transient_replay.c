/* SPDX-License-Identifier: Apache-2.0 */
/* A capture of allocas that wait for memory under a limit: the waits stand in the trace, the trace
 * holds no more memory than the program did, and replays on other devices give the same results. */
#include "replay/replay.h"
#include "tests/support/captured.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"

enum { CHAINS = 24, BYTES = 256 << 10, LIMIT = 4 * BYTES };

/* Chains behind one gate: alloca, fill, copy of a byte to `results`, dealloca. */
static void submit_chains(struct hal_device *device, struct hal_semaphore *gate,
                          struct hal_semaphore *const *lines, struct hal_buffer *results)
{
    for (uint32_t i = 0; i < CHAINS; i++) {
        struct hal_buffer *buffer;
        const struct hal_semaphore_value wait = {gate, 1}, at[] = {{lines[i], 1},
                                                                   {lines[i], 2},
                                                                   {lines[i], 3},
                                                                   {lines[i], 4}};
        struct hal_submit_desc desc[4];
        for (size_t k = 0; k < 4; k++)
            desc[k] = (struct hal_submit_desc){.waits = k ? &at[k - 1] : &wait,
                                               .wait_count = 1,
                                               .signals = &at[k],
                                               .signal_count = 1};
        assert_ok(
            hal_queue_alloca(device, &desc[0], &(struct hal_buffer_desc){.bytes = BYTES}, &buffer));
        assert_ok(hal_queue_fill(device, &desc[1], buffer, 0, BYTES, i + 1, 1));
        assert_ok(hal_queue_copy(device, &desc[2], buffer, BYTES - 1, results, i, 1));
        assert_ok(hal_queue_dealloca(device, &desc[3], buffer));
        hal_buffer_release(buffer);
    }
}

static void capture(const char *path)
{
    struct hal_device *device = fixture_device("cpu?threads=2&queues=2");
    struct hal_semaphore *gate = fixture_semaphore(device, "gate", 0), *lines[CHAINS];
    struct hal_buffer *results = fixture_buffer(device, "results", CHAINS);
    uint8_t seen[CHAINS];
    for (size_t i = 0; i < CHAINS; i++)
        lines[i] = fixture_semaphore(device, "line", 0);
    captured_begin(device, path);
    assert_ok(hal_device_transient_limit(device, LIMIT));
    submit_chains(device, gate, lines, results);
    assert_ok(hal_semaphore_signal(gate, 1));
    for (size_t i = 0; i < CHAINS; i++)
        assert_ok(hal_semaphore_wait(lines[i], 4, HAL_FOREVER));
    assert_ok(hal_buffer_read(results, 0, seen, CHAINS));
    for (size_t i = 0; i < CHAINS; i++) {
        assert_int_equal(seen[i], i + 1);
        hal_semaphore_release(lines[i]);
    }
    assert_ok(hal_device_profiling_end(device));
    hal_buffer_release(results);
    hal_semaphore_release(gate);
    hal_device_release(device);
}

/* Four chains find room; each of the others waits for one of those, and no more, too. */
static void check_trace(const char *path)
{
    struct captured captured;
    uint64_t held = 0;
    size_t waiting = 0, allocas = 0, most = 0;
    captured_open(&captured, path);
    for (size_t i = 0; i < captured.count; i++) {
        const struct trace_event *event = captured.events[i].event;
        if (event->kind == TRACE_BUFFER_CREATE)
            held += ((const struct trace_buffer_create *)event)->size;
        if (event->kind != TRACE_SUBMIT)
            continue;
        const struct trace_submit *submit = (const struct trace_submit *)event;
        allocas += submit->operation == TRACE_OPERATION_ALLOCA;
        if (submit->operation == TRACE_OPERATION_ALLOCA && submit->wait_count > most)
            most = submit->wait_count;
        waiting += submit->operation == TRACE_OPERATION_ALLOCA && submit->wait_count >= 2;
    }
    captured_close(&captured);
    assert_int_equal(allocas, CHAINS);
    assert_int_equal(waiting, CHAINS - LIMIT / BYTES);
    assert_int_equal(most, 2);
    assert_true(held <= LIMIT + CHAINS);
}

static void check_replay(const char *path, const char *uri)
{
    struct replay_plan *plan = NULL;
    struct replay_player *player = NULL;
    struct replay_report report = {0};
    struct hal_device *device = fixture_device(uri);
    assert_ok(replay_plan_load(path, &(struct replay_load_options){0}, &plan));
    assert_ok(replay_player_create(plan, device, &(struct replay_options){0}, &player));
    assert_ok(replay_player_run(player, &report));
    assert_true(report.compared_reads > 0);
    assert_int_equal(report.different_reads, 0);
    assert_int_equal(report.different_outcomes, 0);
    replay_player_destroy(player);
    replay_plan_destroy(plan);
    hal_device_release(device);
}

TEST(allocas_that_wait_replay)
{
    struct test_folder folder;
    char path[PATH_MAX];
    assert_true(test_folder_make(&folder));
    test_folder_file(&folder, "ring.pb.zst", path);
    capture(path);
    check_trace(path);
    check_replay(path, "cpu?threads=1");
    check_replay(path, "cpu?threads=4&queues=4");
    test_folder_remove(&folder);
}
