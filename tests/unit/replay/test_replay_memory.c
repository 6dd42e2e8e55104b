/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers are created and destroyed where they were: the replay's device ends with the statistics
 * of memory that the program's had, peaks, counts and all. */
#include "replay/replay.h"
#include "tests/support/captured.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_folder.h"

enum { MOST = 12, STEPS = 400 };

static const uint32_t memory_types[] = {
    HAL_MEMORY_DEVICE_LOCAL,
    HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT,
    HAL_MEMORY_DEVICE_LOCAL | HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT,
};

static struct hal_buffer *create(struct hal_device *device, uint64_t *random)
{
    struct hal_buffer *buffer;
    const struct hal_buffer_desc desc = {
        .bytes = 64 + fixture_random(random) % 100000,
        .memory = memory_types[fixture_random(random) % 3],
    };
    assert_ok(hal_buffer_create(device, &desc, &buffer));
    return buffer;
}

/* Waited for: what is in flight would hold a buffer for longer, by chance. */
static void fill(struct hal_device *device, struct hal_buffer *buffer, uint32_t pattern)
{
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_ONE_SHOT);
    assert_ok(hal_command_fill(commands, buffer, 0, 64, pattern, 4));
    assert_ok(hal_command_buffer_end(commands));
    assert_ok(fixture_submit(device, commands, NULL, 0, NULL, 0));
    hal_command_buffer_release(commands);
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
}

/* What the program does with memory; its peak is somewhere in the middle. */
static void run_program(struct hal_device *device, uint64_t random)
{
    struct hal_buffer *buffers[MOST] = {0}, *last = fixture_buffer(device, "last", 64);
    uint8_t seen[64];
    for (uint32_t step = 0; step < STEPS; step++) {
        struct hal_buffer **const place = &buffers[fixture_random(&random) % MOST];
        if (*place && fixture_random(&random) % 2) {
            fill(device, *place, step);
        } else if (*place) {
            hal_buffer_release(*place);
            *place = NULL;
        } else if (step < STEPS / 2 || fixture_random(&random) % 4 == 0) {
            *place = create(device, &random);
        }
    }
    for (size_t i = 0; i < MOST; i++)
        hal_buffer_release(buffers[i]);
    fill(device, last, 77);
    assert_ok(hal_buffer_read(last, 0, seen, sizeof seen));
    hal_buffer_release(last);
}

static void replay(struct hal_device *device)
{
    struct replay_plan *plan;
    struct replay_player *player;
    struct replay_report report;
    assert_ok(replay_plan_load(path, &(struct replay_load_options){0}, &plan));
    assert_ok(replay_player_create(plan, device, &(struct replay_options){0}, &player));
    assert_ok(replay_player_run(player, &report));
    assert_int_equal(report.compared_reads, 1);
    assert_int_equal(report.different_reads, 0);
    replay_player_destroy(player);
    replay_plan_destroy(plan);
}

TEST(the_peak_is_the_program_s)
{
    const struct hal_profiling_options options = {.file = path};
    struct hal_memory_statistics program = {0}, replayed = {0};
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct hal_device *other = fixture_device("cpu?threads=2");
    assert_ok(hal_device_profiling_begin(device, &options, HAL_FOREVER));
    run_program(device, fixture_seed());
    assert_ok(hal_device_profiling_end(device));
    assert_ok(hal_device_memory_statistics(device, &program));
    assert_true(program.total.peak_bytes > 0 && program.total.total_count > MOST);
    replay(other);
    assert_ok(hal_device_memory_statistics(other, &replayed));
    assert_memory_equal(&replayed, &program, sizeof program);
    hal_device_release(other);
    hal_device_release(device);
}

TEST_FIXTURE(NULL, remove_trace);
TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
