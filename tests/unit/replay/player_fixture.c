/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/replay/player_fixture.h"
#include "tests/support/test.h"

struct trace_builder *play_start(struct play_fixture *fixture)
{
    fixture->load = (struct replay_load_options){0};
    fixture->options = (struct replay_options){0};
    builder_open(&fixture->b, test_folder_file(&fixture->folder, "play.pb.zst", fixture->path),
                 NULL);
    return &fixture->b;
}

enum hal_status play_often(struct play_fixture *fixture, int runs, struct replay_report *out_report)
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

void play_expect_same(struct play_fixture *fixture, uint64_t reads)
{
    struct replay_report report = {0};
    if (play_often(fixture, 1, &report) != HAL_OK)
        fail_msg("%s", hal_message());
    if (report.different_outcomes)
        fail_msg("%s", report.first_outcome);
    assert_int_equal(report.compared_reads, reads);
    assert_int_equal(report.different_reads, 0);
}

void play_add_fill(struct trace_builder *b, uint64_t id, uint64_t buffer, uint8_t value)
{
    builder_command_buffer_create(b, id, NULL, 0);
    builder_fill(b, buffer, 0, 1, value, 1);
    builder_end_commands(b, id);
}

void play_submit(struct trace_builder *b, uint64_t number, uint64_t commands,
                 const struct trace_semaphore_value *wait,
                 const struct trace_semaphore_value *signal)
{
    builder_submit(b, number, 0, builder_values(wait, wait != NULL),
                   builder_values(signal, signal != NULL), IDS(commands));
    builder_submission_done(b, number, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
}

void play_wait_for(struct trace_builder *b, const struct trace_semaphore_value *value)
{
    builder_semaphore_wait(b, HAL_WAIT_ALL, value, 1, INT64_MAX);
}

int play_set_up(void **state)
{
    static struct play_fixture fixture;
    *state = &fixture;
    if (!test_folder_make(&fixture.folder))
        return -1;
    if (hal_device_open("cpu?threads=2&queues=2", &fixture.device) != HAL_OK) {
        fprintf(stderr, "%s\n", hal_message());
        return -1;
    }
    return 0;
}

int play_tear_down(void **state)
{
    struct play_fixture *fixture = *state;
    hal_device_release(fixture->device);
    test_folder_remove(&fixture->folder);
    return 0;
}
