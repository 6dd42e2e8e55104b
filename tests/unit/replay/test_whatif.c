/* SPDX-License-Identifier: Apache-2.0 */
/* replay/variant/whatif.c and trial.c: what a changed plan does, operation by operation, that it
 * still gives the recorded bytes, and the interval of a gain. */
#include "replay/player/player.h"
#include "replay/search/paired_run.h"
#include "replay/variant/whatif.h"
#include "tests/support/folder.h"
#include "tests/support/replay_trace.h"
#include "tests/support/test.h"

enum { BUFFER = 10, DONE = 30, OTHER = 31, GATE = 32, FIRST = 40 };

struct fixture {
    struct test_folder folder;
    char path[PATH_MAX];
    struct trace_builder b;
    struct replay_plan *plan, *variant;
    struct replay_what_if_info info;
};

static int begin(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f)
        return -1;
    if (!test_folder_make(&f->folder))
        return -1;
    builder_open(&f->b, test_folder_file(&f->folder, "t.pb.zst", f->path), NULL);
    builder_buffer_create(&f->b, BUFFER, "out", 64);
    builder_semaphore_create(&f->b, DONE, "done", 0);
    builder_semaphore_create(&f->b, OTHER, "other", 0);
    builder_semaphore_create(&f->b, GATE, "gate", 0);
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    replay_plan_destroy(f->variant);
    replay_plan_destroy(f->plan);
    test_folder_remove(&f->folder);
    free(f);
    return 0;
}

/* Submission n fills byte n, waits and signals as told (object 0: not). */
static void submit(struct fixture *f, uint64_t n, uint32_t queue, struct trace_semaphore_value wait,
                   struct trace_semaphore_value signal)
{
    const uint64_t commands = FIRST + n;
    builder_command_buffer_create(&f->b, commands, NULL, 0);
    builder_fill(&f->b, BUFFER, n, 1, (uint32_t)n + 1, 1);
    builder_end_commands(&f->b, commands);
    builder_submit(&f->b, n, queue, builder_values(&wait, wait.semaphore != 0),
                   builder_values(&signal, signal.semaphore != 0), IDS(commands));
    builder_submission_done(&f->b, n, queue, f->b.begin_ns, f->b.begin_ns, f->b.begin_ns + 1);
    builder_destroy(&f->b, TRACE_COMMAND_BUFFER_DESTROY, commands);
}

static void host_wait(struct fixture *f, uint64_t semaphore, uint64_t value)
{
    builder_semaphore_wait(&f->b, HAL_WAIT_ALL, &(struct trace_semaphore_value){semaphore, value},
                           1, INT64_MAX);
}

static void host_read(struct fixture *f, uint64_t count)
{
    uint8_t bytes[64];
    for (uint64_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(i + 1);
    builder_host_read(&f->b, BUFFER, 0, bytes, count);
}

static void change(struct fixture *f, struct replay_what_if what_if)
{
    if (builder_close(&f->b, NULL) != HAL_OK ||
        replay_plan_load(f->path, &(struct replay_load_options){0}, &f->plan) != HAL_OK ||
        replay_plan_what_if(f->plan, &what_if, &f->info, &f->variant) != HAL_OK)
        fail_msg("%s", hal_message());
}

/* The submissions of the changed plan, in order. */
static const struct trace_submit *submission(const struct fixture *f, size_t index)
{
    for (size_t i = 0; i < f->variant->op_count; i++) {
        if (f->variant->ops[i].action == REPLAY_SUBMIT && index-- == 0)
            return (const void *)f->variant->ops[i].event;
    }
    fail_msg("there are fewer submissions");
    return NULL;
}

static void expect_same_bytes(struct fixture *f, uint64_t reads)
{
    struct hal_device *device;
    struct replay_player *player;
    struct replay_report report;
    if (hal_device_open("cpu?threads=2&queues=2", &device) != HAL_OK ||
        replay_player_create(f->variant, device,
                             &(struct replay_options){.timeout_ns = 20000000000},
                             &player) != HAL_OK)
        fail_msg("%s", hal_message());
    for (uint64_t run = 0; run < 20; run++) {
        player->shuffle = run; /* 0: as they come */
        if (replay_player_run(player, &report) != HAL_OK)
            fail_msg("%s", hal_message());
        assert_int_equal(report.compared_reads, reads);
        assert_int_equal(report.different_reads, 0);
        assert_int_equal(report.different_outcomes, 0);
    }
    replay_player_destroy(player);
    hal_device_release(device);
}

static const struct trace_semaphore_value none;

#define DONE_AT(n)  ((struct trace_semaphore_value){DONE, (n)})
#define OTHER_AT(n) ((struct trace_semaphore_value){OTHER, (n)})

/* ---- Submissions and waits ---- */

TEST_ON(neighbours_become_one_up_to_a_read, struct fixture *f)
{
    for (uint64_t n = 0; n < 6; n++) {
        submit(f, n, 0, none, DONE_AT(n + 1));
        host_wait(f, DONE, n + 1);
        if (n == 2 || n == 5)
            host_read(f, n + 1);
    }
    change(f, (struct replay_what_if){.coalesce_submissions = true});
    assert_int_equal(f->info.before.submissions, 6);
    assert_int_equal(f->info.after.submissions, 2);
    assert_int_equal(f->info.before.host_waits, 6);
    assert_int_equal(f->info.after.host_waits, 2);
    const struct trace_submit *first = submission(f, 0), *second = submission(f, 1);
    assert_int_equal(first->command_buffer_count, 3);
    assert_int_equal(first->wait_count, 0);
    assert_int_equal(first->signal_count, 1);
    assert_int_equal(first->values[0].value, 3);
    assert_int_equal(second->command_buffer_count, 3);
    assert_int_equal(second->values[second->wait_count].value, 6);
    expect_same_bytes(f, 2);
}

TEST_ON(a_dropped_wait_orders_in_the_queue, struct fixture *f)
{
    submit(f, 0, 0, none, DONE_AT(1));
    host_wait(f, DONE, 1);
    submit(f, 1, 1, none, OTHER_AT(1)); /* another queue: nothing else orders it */
    host_wait(f, OTHER, 1);
    host_read(f, 2);
    change(f, (struct replay_what_if){.drop_host_waits = true});
    assert_int_equal(f->info.after.submissions, 2);
    assert_int_equal(f->info.after.host_waits, 1);
    const struct trace_submit *second = submission(f, 1);
    assert_int_equal(second->queue, 1);
    assert_int_equal(second->wait_count, 1);
    assert_int_equal(second->values[0].value, 1);
    assert_int_equal(f->variant->objects[second->values[0].semaphore].id, DONE);
    expect_same_bytes(f, 1);
}

/* #s0 and #s2 on queue 0 may not become one: #s2 waits for #s1 on queue 1, which waits for #s0. */
TEST_ON(what_needs_others_in_between_stays_apart, struct fixture *f)
{
    submit(f, 0, 0, none, DONE_AT(1));
    submit(f, 1, 1, DONE_AT(1), OTHER_AT(1));
    submit(f, 2, 0, OTHER_AT(1), DONE_AT(2));
    host_wait(f, DONE, 2);
    host_read(f, 3);
    change(f, (struct replay_what_if){.coalesce_submissions = true});
    assert_int_equal(f->info.after.submissions, 3);
    expect_same_bytes(f, 1);
}

/* #s1 waits for #s2, on the other queue, which waits for #s0: as one, the first two would wait for
 * themselves. */
TEST_ON(what_waits_for_later_work_stays_apart, struct fixture *f)
{
    submit(f, 0, 0, none, DONE_AT(1));
    submit(f, 1, 0, OTHER_AT(1), DONE_AT(2));
    submit(f, 2, 1, DONE_AT(1), OTHER_AT(1));
    host_wait(f, DONE, 2);
    host_read(f, 3);
    change(f, (struct replay_what_if){.coalesce_submissions = true});
    assert_int_equal(f->info.after.submissions, 3);
    expect_same_bytes(f, 1);
}

/* #s0 waits for #s2, on the other queue, which waits for #s1: as one, the first two would wait for
 * themselves, though #s1 waits for nothing. */
TEST_ON(what_later_work_waits_for_is_not_held_back, struct fixture *f)
{
    submit(f, 0, 0, OTHER_AT(1), DONE_AT(2));
    submit(f, 1, 0, none, DONE_AT(1));
    submit(f, 2, 1, DONE_AT(1), OTHER_AT(1));
    host_wait(f, DONE, 2);
    host_read(f, 3);
    change(f, (struct replay_what_if){.coalesce_submissions = true});
    assert_int_equal(f->info.after.submissions, 3);
    expect_same_bytes(f, 1);
}

/* Nor what the host waits for before it signals what #s0 waits for. */
TEST_ON(what_the_host_waits_for_is_not_held_back, struct fixture *f)
{
    submit(f, 0, 0, (struct trace_semaphore_value){GATE, 1}, DONE_AT(1));
    submit(f, 1, 0, none, OTHER_AT(1));
    host_wait(f, OTHER, 1);
    builder_semaphore(&f->b, TRACE_SEMAPHORE_SIGNAL, GATE, 1, NULL);
    host_wait(f, DONE, 1);
    host_read(f, 2);
    change(f, (struct replay_what_if){.coalesce_submissions = true});
    assert_int_equal(f->info.after.submissions, 2);
    expect_same_bytes(f, 1);
}

/* What #s1 waits for is there, or comes by itself, before #s0 is submitted: they become one. */
TEST_ON(what_was_promised_before_holds_nothing_up, struct fixture *f)
{
    const struct trace_semaphore_value begun = {GATE + 100, 7};
    builder_semaphore_create(&f->b, begun.semaphore, "begun", begun.value);
    submit(f, 0, 0, none, none);
    submit(f, 1, 0, begun, none);
    builder_semaphore(&f->b, TRACE_SEMAPHORE_SIGNAL, GATE, 3, NULL);
    submit(f, 2, 0, none, none);
    submit(f, 3, 0, (struct trace_semaphore_value){GATE, 3}, DONE_AT(1));
    submit(f, 4, 1, none, OTHER_AT(1));
    submit(f, 5, 0, none, none);
    submit(f, 6, 0, OTHER_AT(1), DONE_AT(2));
    host_wait(f, DONE, 2);
    host_read(f, 4);
    change(f, (struct replay_what_if){.coalesce_submissions = true});
    /* #s0 and #s1, the signal, #s2 and #s3, #s4 elsewhere, #s5 and #s6. */
    assert_int_equal(f->info.after.submissions, 4);
    assert_int_equal(submission(f, 0)->command_buffer_count, 2);
    assert_int_equal(submission(f, 1)->command_buffer_count, 2);
    assert_int_equal(submission(f, 2)->queue, 1);
    assert_int_equal(submission(f, 3)->command_buffer_count, 2);
    /* What it waits for it still waits for. */
    assert_int_equal(submission(f, 3)->wait_count, 1);
    assert_int_equal(f->variant->objects[submission(f, 3)->values[0].semaphore].id, OTHER);
}

/* #s0 waits for what the host signals after #s1 was submitted: wait before signal. */
TEST_ON(a_host_signal_is_not_overtaken, struct fixture *f)
{
    submit(f, 0, 0, (struct trace_semaphore_value){GATE, 1}, DONE_AT(1));
    submit(f, 1, 0, DONE_AT(1), DONE_AT(2));
    builder_semaphore(&f->b, TRACE_SEMAPHORE_SIGNAL, GATE, 1, NULL);
    submit(f, 2, 0, DONE_AT(2), DONE_AT(3));
    host_wait(f, DONE, 3);
    host_read(f, 3);
    change(f, (struct replay_what_if){.coalesce_submissions = true});
    assert_int_equal(f->info.after.submissions, 2);
    assert_int_equal(submission(f, 0)->command_buffer_count, 2);
    assert_int_equal(submission(f, 0)->wait_count, 1);
    expect_same_bytes(f, 1);
}

TEST_ON(writes_wait_for_the_work_that_reads, struct fixture *f)
{
    submit(f, 0, 0, none, DONE_AT(1));
    host_wait(f, DONE, 1);
    builder_host_write(&f->b, BUFFER, 1, "\2", 1);
    submit(f, 2, 0, none, DONE_AT(2));
    host_wait(f, DONE, 2);
    host_read(f, 3);
    change(f, (struct replay_what_if){.coalesce_submissions = true});
    assert_int_equal(f->info.after.submissions, 2);
    assert_int_equal(f->info.after.host_waits, 2);
    expect_same_bytes(f, 1);
}

TEST_ON(everything_still_replays_in_every_way, struct fixture *f)
{
    (void)!builder_close(&f->b, NULL);
    builder_open(&f->b, f->path, NULL);
    every_build(&f->b, false);
    change(f, (struct replay_what_if){.coalesce_submissions = true,
                                      .barriers = REPLAY_BARRIERS_NEEDED});
    expect_same_bytes(f, f->plan->info.reads);
}

/* ---- Barriers ---- */

/* Kernel 0 may read its buffer, kernel 1 may write it. */
TEST_ON(barriers_between_readers_go, struct fixture *f)
{
    static const struct trace_entry_binding takes[2] = {{0, 0, 0, 1}, {1, 0, 0, 3}};
    const struct trace_binding whole = {BUFFER, 0, 64};
    const uint64_t commands = FIRST, executable = 900;
    const struct trace_entry_point entries[2] = {
        {.name = builder_string(&f->b, "reads"), .group_size = {1, 1, 1}},
        {.name = builder_string(&f->b, "writes"), .group_size = {1, 1, 1}}};
    f->b.executable = (struct builder_executable){.bindings = takes, .binding_count = 2};
    builder_executable_create(&f->b, executable, NULL, "none", entries, 2);
    builder_command_buffer_create(&f->b, commands, NULL, 0);
    builder_push_descriptor_set(&f->b, 0, &whole, 1);
    builder_dispatch(&f->b, executable, 0, 1, 1, 1);
    builder_barrier(&f->b, NULL, 0);
    builder_dispatch(&f->b, executable, 0, 1, 1, 1);
    builder_barrier(&f->b, NULL, 0);
    builder_dispatch(&f->b, executable, 1, 1, 1, 1);
    builder_end_commands(&f->b, commands);
    builder_submit(&f->b, 0, 0, NO_VALUES, VALUES(DONE_AT(1)), IDS(commands));
    builder_submission_done(&f->b, 0, 0, f->b.begin_ns, f->b.begin_ns, f->b.begin_ns + 1);
    host_wait(f, DONE, 1);
    change(f, (struct replay_what_if){.barriers = REPLAY_BARRIERS_NEEDED});
    assert_int_equal(f->info.before.barriers, 2);
    assert_int_equal(f->info.after.barriers, 1);
}

TEST_ON(needless_barriers_go_and_needed_ones_stay, struct fixture *f)
{
    const uint64_t commands = FIRST;
    builder_command_buffer_create(&f->b, commands, NULL, 0);
    builder_fill(&f->b, BUFFER, 0, 16, 1, 1);
    builder_barrier(&f->b, NULL, 0); /* nothing is shared */
    builder_fill(&f->b, BUFFER, 16, 16, 2, 1);
    builder_barrier(&f->b, NULL, 0); /* orders the copy behind both */
    builder_copy(&f->b, BUFFER, 8, BUFFER, 32, 16);
    builder_end_commands(&f->b, commands);
    builder_submit(&f->b, 0, 0, NO_VALUES, VALUES(DONE_AT(1)), IDS(commands));
    builder_submission_done(&f->b, 0, 0, f->b.begin_ns, f->b.begin_ns, f->b.begin_ns + 1);
    host_wait(f, DONE, 1);
    uint8_t bytes[48];
    memset(bytes, 1, 16);
    memset(bytes + 16, 2, 16);
    memset(bytes + 32, 1, 8);
    memset(bytes + 40, 2, 8);
    builder_host_read(&f->b, BUFFER, 0, bytes, sizeof bytes);
    change(f, (struct replay_what_if){.barriers = REPLAY_BARRIERS_NEEDED});
    assert_int_equal(f->info.before.barriers, 2);
    assert_int_equal(f->info.after.barriers, 1);
    expect_same_bytes(f, 1);
    struct replay_plan *bare;
    struct replay_what_if_info info;
    assert_int_equal(replay_plan_what_if(f->plan,
                                         &(struct replay_what_if){.barriers = REPLAY_BARRIERS_NONE},
                                         &info, &bare),
                     HAL_OK);
    assert_int_equal(info.after.barriers, 0);
    replay_plan_destroy(bare);
}

TEST_ON(one_barrier_goes_by_its_number, struct fixture *f)
{
    const uint64_t commands = FIRST;
    builder_command_buffer_create(&f->b, commands, NULL, 0);
    builder_fill(&f->b, BUFFER, 0, 16, 1, 1);
    builder_barrier(&f->b, NULL, 0); /* 0: nothing is shared */
    builder_fill(&f->b, BUFFER, 16, 16, 2, 1);
    builder_barrier(&f->b, NULL, 0); /* 1: the copy reads both */
    builder_copy(&f->b, BUFFER, 8, BUFFER, 32, 16);
    builder_end_commands(&f->b, commands);
    builder_submit(&f->b, 0, 0, NO_VALUES, VALUES(DONE_AT(1)), IDS(commands));
    change(f, (struct replay_what_if){.barriers = REPLAY_BARRIERS_ONE, .barrier = 0});
    assert_int_equal(f->info.after.barriers, 1);
    assert_int_equal(f->info.dropped_redundant, 1);
    assert_int_equal(f->info.dropped_needed, 0);
    struct replay_plan *other;
    const struct replay_what_if second = {.barriers = REPLAY_BARRIERS_ONE, .barrier = 1};
    assert_int_equal(replay_plan_what_if(f->plan, &second, &f->info, &other), HAL_OK);
    assert_int_equal(f->info.dropped_redundant, 0);
    assert_int_equal(f->info.dropped_needed, 1);
    replay_plan_destroy(other);
    const struct replay_what_if third = {.barriers = REPLAY_BARRIERS_ONE, .barrier = 2};
    assert_int_equal(replay_plan_what_if(f->plan, &third, &f->info, &other), HAL_NOT_FOUND);
    assert_string_equal(hal_message(), "there is no barrier 2: the trace has 2");
}

/* ---- Command buffers and queues ---- */

/* Two command buffers, of which the second reads what the first writes. */
TEST_ON(command_buffers_become_one_in_order, struct fixture *f)
{
    const uint64_t commands[2] = {FIRST, FIRST + 1};
    uint8_t bytes[48];
    memset(bytes, 7, sizeof bytes);
    builder_command_buffer_create(&f->b, commands[0], NULL, HAL_ONE_SHOT);
    builder_fill(&f->b, BUFFER, 0, 16, 7, 1);
    builder_end_commands(&f->b, commands[0]);
    builder_command_buffer_create(&f->b, commands[1], NULL, HAL_REUSABLE);
    builder_copy(&f->b, BUFFER, 0, BUFFER, 16, 16);
    builder_barrier(&f->b, NULL, 0);
    builder_copy(&f->b, BUFFER, 16, BUFFER, 32, 16);
    builder_end_commands(&f->b, commands[1]);
    builder_submit(&f->b, 0, 0, NO_VALUES, VALUES(DONE_AT(1)), builder_ids(commands, 2));
    builder_submit(&f->b, 1, 0, VALUES(DONE_AT(1)), VALUES(DONE_AT(2)),
                   builder_ids(commands + 1, 1));
    builder_submission_done(&f->b, 0, 0, f->b.begin_ns, f->b.begin_ns, f->b.begin_ns + 1);
    builder_submission_done(&f->b, 1, 0, f->b.begin_ns, f->b.begin_ns, f->b.begin_ns + 1);
    host_wait(f, DONE, 2);
    builder_host_read(&f->b, BUFFER, 0, bytes, sizeof bytes);
    change(f, (struct replay_what_if){.merge_dispatches = true});
    assert_int_equal(f->info.before.command_buffers, 3);
    assert_int_equal(f->info.after.command_buffers, 2);
    assert_int_equal(f->info.after.submissions, 2);
    assert_int_equal(f->info.before.barriers, 2);
    assert_int_equal(f->info.after.barriers, 3); /* one between the two */
    assert_int_equal(submission(f, 0)->command_buffer_count, 1);
    size_t recorded = 0;
    for (size_t i = 0; i < f->variant->op_count; i++)
        recorded += f->variant->ops[i].action == REPLAY_RECORD_COMMANDS;
    assert_int_equal(recorded, 2); /* the merged one, and the one that is used alone */
    expect_same_bytes(f, 1);
}

/* The barrier that stands for the end of a command buffer, of which Metal's and Vulkan's drivers
 * take the accesses at their word. */
TEST_ON(merged_command_buffers_have_full_barriers_between, struct fixture *f)
{
    static const uint16_t kinds[] = {TRACE_FILL, TRACE_BARRIER, TRACE_FILL,
                                     TRACE_COPY, TRACE_BARRIER, TRACE_UPDATE};
    const uint64_t commands[3] = {FIRST, FIRST + 1, FIRST + 2};
    for (size_t i = 0; i < 3; i++) {
        builder_command_buffer_create(&f->b, commands[i], NULL, HAL_ONE_SHOT);
        if (i < 2)
            builder_fill(&f->b, BUFFER, 16 * i, 16, 7, 1);
        if (i == 1)
            builder_copy(&f->b, BUFFER, 0, BUFFER, 32, 16);
        if (i == 2)
            builder_update(&f->b, BUFFER, 48, "abcd", 4);
        builder_end_commands(&f->b, commands[i]);
    }
    builder_submit(&f->b, 0, 0, NO_VALUES, NO_VALUES, builder_ids(commands, 3));
    change(f, (struct replay_what_if){.merge_dispatches = true});
    const struct replay_object *merged =
        &f->variant->objects[trace_submit_command_buffers(submission(f, 0))[0]];
    const struct trace_segment *segment = merged->commands.segments;
    assert_int_equal(merged->commands.seal->segment_count, 6);
    for (size_t i = 0; i < 6; i++, segment = trace_next_segment(segment)) {
        const struct trace_barrier *barrier = (const void *)segment;
        assert_int_equal(segment->kind, kinds[i]);
        if (segment->kind != TRACE_BARRIER)
            continue;
        assert_int_equal(barrier->source_stages, HAL_STAGE_ALL);
        assert_int_equal(barrier->target_stages, HAL_STAGE_ALL);
        assert_int_equal(barrier->source_access, HAL_ACCESS_READ | HAL_ACCESS_WRITE);
        assert_int_equal(barrier->target_access, HAL_ACCESS_READ | HAL_ACCESS_WRITE);
        assert_int_equal(barrier->buffer_count, 0);
    }
}

TEST_ON(queues_take_turns, struct fixture *f)
{
    for (uint64_t n = 0; n < 5; n++)
        submit(f, n, 0, n ? DONE_AT(n) : none, DONE_AT(n + 1));
    host_wait(f, DONE, 5);
    host_read(f, 5);
    change(f, (struct replay_what_if){.queues = 2});
    assert_int_equal(f->info.before.queues, 1);
    assert_int_equal(f->info.after.queues, 2);
    for (size_t n = 0; n < 5; n++)
        assert_int_equal(submission(f, n)->queue, n % 2);
    assert_int_equal(f->plan->info.queue_count, 1);
    expect_same_bytes(f, 1);
}

TEST_ON(all_ways_at_once, struct fixture *f)
{
    for (uint64_t n = 0; n < 6; n++) {
        submit(f, n, 0, none, DONE_AT(n + 1));
        host_wait(f, DONE, n + 1);
        if (n == 2 || n == 5)
            host_read(f, n + 1);
    }
    change(f, (struct replay_what_if){.coalesce_submissions = true,
                                      .merge_dispatches = true,
                                      .barriers = REPLAY_BARRIERS_NEEDED,
                                      .queues = 2});
    assert_int_equal(f->info.after.submissions, 2);
    assert_int_equal(f->info.after.command_buffers, 2);
    assert_int_equal(submission(f, 1)->queue, 1);
    expect_same_bytes(f, 2);
}

TEST_FIXTURE(begin, end);
