/* SPDX-License-Identifier: Apache-2.0 */
/* replay/plan/plan.c: order over threads, what becomes of queries, idle waits and fills, budgets,
 * incomplete and unreadable files. */
#include "replay/plan/plan.h"
#include "tests/support/folder.h"
#include "tests/support/replay_trace.h"
#include "tests/support/test.h"

#include <sys/stat.h>

struct fixture {
    struct test_folder folder;
    char path[PATH_MAX];
    struct trace_builder b;
};

static void open_builder(struct fixture *fixture)
{
    builder_open(&fixture->b, test_folder_file(&fixture->folder, "plan.pb.zst", fixture->path),
                 NULL);
}

static enum hal_status load(struct fixture *fixture, uint64_t limit, struct replay_plan **out_plan)
{
    *out_plan = NULL;
    const struct replay_load_options options = {.memory_limit_bytes = limit};
    return replay_plan_load(fixture->path, &options, out_plan);
}

static struct replay_plan *close_and_load(struct fixture *fixture)
{
    struct replay_plan *plan = NULL;
    if (builder_close(&fixture->b, NULL) != HAL_OK || load(fixture, 0, &plan) != HAL_OK)
        fail_msg("%s", hal_message());
    return plan;
}

static const struct replay_object *find(const struct replay_plan *plan, uint64_t id)
{
    for (size_t i = 1; i < plan->object_count; i++) {
        if (plan->objects[i].id == id)
            return &plan->objects[i];
    }
    fail_msg("object %d is not in the plan", (int)id);
    return NULL;
}

/* ---- What a plan is made of ----------------------------------------------------------------- */

TEST_ON(everything_is_counted, struct fixture *fixture)
{
    open_builder(fixture);
    every_build(&fixture->b, true);
    struct replay_plan *plan = close_and_load(fixture);
    const struct replay_plan_info *info = replay_plan_get_info(plan);
    assert_string_equal(info->incomplete, "");
    assert_string_equal(info->header->program, "/usr/bin/builder");
    assert_int_equal(info->events, 32);
    assert_int_equal(info->replayed_events, 32);
    assert_int_equal(info->submissions, 2);
    assert_int_equal(info->command_buffers, 2);
    assert_int_equal(info->commands, 16);
    assert_int_equal(info->dispatches, 2);
    assert_int_equal(info->reads, 2);
    assert_int_equal(info->read_bytes, 64 + 40);
    assert_int_equal(info->unrecorded_reads, 0);
    assert_int_equal(info->peak_buffer_bytes, 2 * EVERY_BYTES + 16);
    assert_int_equal(info->queue_count, 1);
    assert_int_equal(info->largest_constant_bytes, 4);
    assert_true(info->contents_in_memory);
    assert_true(plan->all_submissions_end);
    replay_plan_destroy(plan);
}

TEST_ON(an_empty_trace_is_an_empty_plan, struct fixture *fixture)
{
    open_builder(fixture);
    struct replay_plan *plan = close_and_load(fixture);
    assert_int_equal(plan->op_count, 0);
    assert_int_equal(replay_plan_get_info(plan)->reads, 0);
    replay_plan_destroy(plan);
}

/* Three threads, each event on the next one, and the file holds one thread after the other. */
TEST_ON(tickets_order_the_threads, struct fixture *fixture)
{
    open_builder(fixture);
    struct trace_builder *b = &fixture->b;
    builder_thread(b, 2, 4712, "second");
    builder_thread(b, 3, 4713, "third");
    for (uint32_t thread = 3; thread >= 1; thread--) {
        b->thread = thread;
        for (uint64_t i = 0; i < 100; i++) {
            b->ticket = 3 * i + thread;
            builder_semaphore_create(b, b->ticket, NULL, 0);
        }
    }
    struct replay_plan *plan = close_and_load(fixture);
    assert_int_equal(plan->op_count, 300);
    for (uint64_t i = 0; i < 300; i++) {
        assert_int_equal(plan->ops[i].event->ticket, i + 1);
        assert_int_equal(plan->objects[plan->ops[i].object].id, i + 1);
    }
    replay_plan_destroy(plan);
}

/* An object may be made by one thread and used by another, whose events come first in the file. */
TEST_ON(other_threads_objects_can_be_used, struct fixture *fixture)
{
    open_builder(fixture);
    struct trace_builder *b = &fixture->b;
    builder_thread(b, 2, 4712, "second");
    b->thread = 2;
    b->ticket = 2;
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 5, 1, NULL);
    builder_flush(b);
    b->thread = 1;
    b->ticket = 1;
    builder_semaphore_create(b, 5, "late in the file", 0);
    struct replay_plan *plan = close_and_load(fixture);
    assert_int_equal(plan->op_count, 2);
    assert_int_equal(plan->ops[0].action, REPLAY_CREATE_SEMAPHORE);
    assert_int_equal(plan->ops[1].action, REPLAY_SIGNAL);
    assert_int_equal(plan->ops[1].object, plan->ops[0].object);
    replay_plan_destroy(plan);
}

TEST_ON(pieces_with_one_ticket_stay_in_order, struct fixture *fixture)
{
    const size_t bytes = (9u << 20) + 3;
    uint8_t *data = calloc(1, bytes);
    assert_non_null(data);
    data[bytes - 1] = 1;
    open_builder(fixture);
    builder_buffer_create(&fixture->b, 1, NULL, bytes);
    builder_host_write(&fixture->b, 1, 0, data, bytes);
    struct replay_plan *plan = close_and_load(fixture);
    assert_int_equal(plan->op_count, 4);
    for (size_t i = 1; i < 4; i++) {
        const struct trace_content_event *write = (const void *)plan->ops[i].event;
        assert_int_equal(plan->ops[i].action, REPLAY_WRITE);
        assert_int_equal(write->offset, (i - 1) * (4u << 20));
    }
    assert_int_equal(find(plan, 1)->buffer.uninitialised.fill.end, 0);
    replay_plan_destroy(plan);
    free(data);
}

TEST_ON(a_query_becomes_a_wait, struct fixture *fixture)
{
    open_builder(fixture);
    struct trace_builder *b = &fixture->b;
    builder_semaphore_create(b, 1, NULL, 0);
    builder_submit(b, 0, 0, NO_VALUES, VALUES({1, 8}), NO_IDS);
    builder_semaphore(b, TRACE_SEMAPHORE_QUERY, 1, 8, NULL);
    struct replay_plan *plan = close_and_load(fixture);
    assert_int_equal(plan->op_count, 3);
    assert_int_equal(plan->ops[2].action, REPLAY_WAIT);
    const struct trace_semaphore_wait *wait = (const void *)plan->ops[2].event;
    assert_int_equal(wait->value_count, 1);
    assert_int_equal(wait->values[0].value, 8);
    assert_int_equal(plan->objects[wait->values[0].semaphore].id, 1);
    assert_false(plan->all_submissions_end);
    replay_plan_destroy(plan);
}

static void expect_fill(const struct replay_plan *plan, uint64_t id, uint64_t begin, uint64_t end)
{
    const struct replay_range *fill = &find(plan, id)->buffer.uninitialised.fill;
    assert_int_equal(fill->begin, begin);
    assert_int_equal(fill->end, end);
}

/* Only what somebody may look at before anybody has written it. */
TEST_ON(fills_are_spared_where_they_can_be, struct fixture *fixture)
{
    open_builder(fixture);
    struct trace_builder *b = &fixture->b;
    const struct trace_entry_point point = {builder_string(b, "k"), {1, 1, 1}, 0, 0};
    for (uint64_t id = 1; id <= 6; id++)
        builder_buffer_create(b, id, NULL, 100);
    builder_executable_create(b, 8, NULL, "source", &point, 1);
    builder_host_write(b, 1, 0, "0123", 4);
    builder_host_read(b, 1, 0, "0123....", 8);
    builder_host_write(b, 2, 0, "01234567", 8);
    builder_command_buffer_create(b, 9, NULL, 1);
    builder_copy(b, 2, 0, 3, 10, 8);
    builder_fill(b, 3, 18, 2, 0, 1);
    builder_update(b, 3, 20, "01234567", 8);
    builder_push_descriptor_set(b, 0, (struct trace_binding[]){{3, 10, 18}, {4, 50, 20}}, 2);
    builder_push_descriptor_set(b, 3, (struct trace_binding[]){{4, 80, 10}}, 1);
    builder_dispatch(b, 8, 0, 1, 1, 1);
    builder_copy(b, 4, 60, 5, 0, 25);
    builder_end_commands(b, 9);
    builder_submit(b, 0, 0, NO_VALUES, NO_VALUES, IDS(9));
    builder_submit(b, 1, 0, NO_VALUES, NO_VALUES, IDS(9));
    builder_host_read(b, 5, 5, "0123", 4);
    struct replay_plan *plan = close_and_load(fixture);
    expect_fill(plan, 1, 4, 8);
    expect_fill(plan, 2, 0, 0);
    expect_fill(plan, 3, 0, 0);
    expect_fill(plan, 4, 50, 90);
    expect_fill(plan, 5, 0, 0);
    expect_fill(plan, 6, 0, 0);
    replay_plan_destroy(plan);
}

/* ---- Idle waits ----------------------------------------------------------------------------- */

TEST_ON(an_idle_wait_alone_stays_one, struct fixture *fixture)
{
    open_builder(fixture);
    builder_submit(&fixture->b, 0, 0, NO_VALUES, NO_VALUES, NO_IDS);
    builder_wait_idle(&fixture->b, INT64_MAX);
    struct replay_plan *plan = close_and_load(fixture);
    assert_int_equal(plan->op_count, 2);
    assert_int_equal(plan->ops[1].action, REPLAY_WAIT_IDLE);
    replay_plan_destroy(plan);
}

/* Thread 1 waits for idle from 5000 to 9000 ns. #s0 to #s2 were submitted before; thread 2 submits
 * #s3 during the wait, and that one needs a value that is set after it. The replay must wait for
 * the three and not for #s3; #s1 signals nothing and gets a semaphore of the plan's own. */
TEST_ON(an_idle_wait_covers_only_what_it_covered, struct fixture *fixture)
{
    open_builder(fixture);
    struct trace_builder *b = &fixture->b;
    const struct trace_semaphore_value one = {1, 1}, two = {1, 2}, gate = {2, 1};
    builder_thread(b, 2, 4712, "second");
    builder_semaphore_create(b, 1, NULL, 0);
    builder_semaphore_create(b, 2, NULL, 0);
    builder_command_buffer_create(b, 3, NULL, 0);
    builder_end_commands(b, 3);
    builder_submit(b, 0, 0, NO_VALUES, VALUES(one), NO_IDS);
    builder_submit(b, 1, 0, VALUES(one), NO_VALUES, IDS(3));
    builder_submit(b, 2, 0, NO_VALUES, VALUES(two), NO_IDS);
    b->thread = 2;
    b->begin_ns = 6000;
    builder_submit(b, 3, 0, VALUES(gate), NO_VALUES, NO_IDS);
    b->thread = 1;
    b->begin_ns = 5000;
    b->step_ns = 4000;
    builder_wait_idle(b, INT64_MAX);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 2, 1, NULL);
    struct replay_plan *plan = close_and_load(fixture);
    const struct replay_op *op = &plan->ops[plan->op_count - 2];
    assert_int_equal(op->action, REPLAY_WAIT);
    const struct trace_semaphore_wait *wait = (const void *)op->event;
    assert_int_equal(wait->value_count, 3);
    assert_int_equal(plan->objects[wait->values[0].semaphore].id, 1);
    assert_int_equal(wait->values[0].value, 1);
    assert_int_equal(plan->objects[wait->values[1].semaphore].id, 0);
    assert_int_equal(wait->values[2].value, 2);
    const struct trace_submit *fenced = (const void *)plan->ops[4].event;
    assert_int_equal(fenced->submission, 1);
    assert_int_equal(fenced->wait_count, 1);
    assert_int_equal(fenced->values[0].value, 1);
    assert_int_equal(fenced->signal_count, 1);
    assert_int_equal(fenced->values[1].semaphore, wait->values[1].semaphore);
    assert_int_equal(plan->objects[trace_submit_command_buffers(fenced)[0]].id, 3);
    replay_plan_destroy(plan);
}

/* ---- Budgets -------------------------------------------------------------------------------- */

TEST_ON(buffers_have_a_budget, struct fixture *fixture)
{
    struct replay_plan *plan;
    const uint64_t size = 6u << 20;
    open_builder(fixture);
    builder_buffer_create(&fixture->b, 1, "one", size);
    builder_destroy(&fixture->b, TRACE_BUFFER_DESTROY, 1);
    builder_buffer_create(&fixture->b, 2, "two", size);
    builder_buffer_create(&fixture->b, 3, "three", size);
    assert_int_equal(builder_close(&fixture->b, NULL), HAL_OK);
    assert_int_equal(load(fixture, 2 * size - 1, &plan), HAL_NO_MEMORY);
    assert_non_null(strstr(hal_message(), "buffer_create (ticket 4)"));
    assert_non_null(strstr(hal_message(), "6291456 bytes, with 6291456 bytes"));
    assert_int_equal(load(fixture, 2 * size, &plan), HAL_OK);
    assert_int_equal(replay_plan_get_info(plan)->peak_buffer_bytes, 2 * size);
    replay_plan_destroy(plan);
}

TEST_ON(an_impossible_size_is_no_overflow, struct fixture *fixture)
{
    struct replay_plan *plan;
    open_builder(fixture);
    builder_buffer_create(&fixture->b, 1, NULL, 4096);
    builder_buffer_create(&fixture->b, 2, NULL, UINT64_MAX);
    assert_int_equal(builder_close(&fixture->b, NULL), HAL_OK);
    assert_int_equal(load(fixture, 0, &plan), HAL_NO_MEMORY);
}

TEST_ON(contents_over_the_budget_stay_in_the_file, struct fixture *fixture)
{
    struct replay_plan *plan;
    const size_t bytes = 3u << 20;
    uint8_t *data = malloc(bytes);
    assert_non_null(data);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(i * 7 + i / 256);
    open_builder(fixture);
    builder_buffer_create(&fixture->b, 1, NULL, bytes);
    builder_host_write(&fixture->b, 1, 0, data, bytes);
    builder_host_write(&fixture->b, 1, 0, "another", 7);
    assert_int_equal(builder_close(&fixture->b, NULL), HAL_OK);
    for (int fits = 0; fits < 2; fits++) {
        uint8_t *scratch = NULL;
        size_t scratch_bytes = 0;
        const uint8_t *seen;
        assert_int_equal(load(fixture, fits ? 0 : 5u << 20, &plan), HAL_OK);
        assert_int_equal(replay_plan_get_info(plan)->contents_in_memory, fits);
        const struct trace_content_event *write = (const void *)plan->ops[1].event;
        assert_int_equal(replay_plan_content(plan, write->content, &scratch, &scratch_bytes, &seen),
                         HAL_OK);
        assert_memory_equal(seen, data, bytes);
        free(scratch);
        replay_plan_destroy(plan);
    }
    free(data);
}

/* ---- Incomplete and unreadable -------------------------------------------------------------- */

TEST_ON(digests_are_counted, struct fixture *fixture)
{
    open_builder(fixture);
    builder_buffer_create(&fixture->b, 1, NULL, 16);
    builder_host_read(&fixture->b, 1, 0, NULL, 16);
    builder_host_read(&fixture->b, 1, 0, "0123", 4);
    struct replay_plan *plan = close_and_load(fixture);
    assert_int_equal(replay_plan_get_info(plan)->unrecorded_reads, 1);
    assert_int_equal(replay_plan_get_info(plan)->reads, 1);
    replay_plan_destroy(plan);
}

TEST_ON(a_sick_capture_says_so, struct fixture *fixture)
{
    struct replay_plan *plan;
    const struct trace_health health = {
        .status = HAL_IO, .message = "disk full", .lost_records = 17};
    open_builder(fixture);
    builder_buffer_create(&fixture->b, 1, NULL, 16);
    builder_buffer_create(&fixture->b, 2, NULL, 16);
    builder_host_write(&fixture->b, 99, 0, "x", 1); /* its buffer was lost */
    builder_buffer_create(&fixture->b, 3, NULL, 16);
    assert_int_equal(builder_close(&fixture->b, &health), HAL_OK);
    assert_int_equal(load(fixture, 0, &plan), HAL_OK);
    const struct replay_plan_info *info = replay_plan_get_info(plan);
    assert_non_null(strstr(info->incomplete, "disk full"));
    assert_non_null(strstr(info->incomplete, "17 events were lost"));
    assert_non_null(strstr(info->incomplete, "buffer 99 does not exist"));
    assert_non_null(strstr(info->incomplete, "first 2 of 4 events"));
    assert_int_equal(info->replayed_events, 2);
    assert_int_equal(plan->op_count, 2);
    replay_plan_destroy(plan);
}

/* Behind a gap in the tickets of an incomplete file, anything may be missing. */
TEST_ON(an_incomplete_file_ends_at_a_gap, struct fixture *fixture)
{
    struct replay_plan *plan;
    const struct trace_health health = {.status = HAL_IO, .message = "disk full"};
    for (int sick = 0; sick < 2; sick++) {
        open_builder(fixture);
        builder_buffer_create(&fixture->b, 1, NULL, 16);
        fixture->b.ticket++;
        builder_buffer_create(&fixture->b, 2, NULL, 16);
        assert_int_equal(builder_close(&fixture->b, sick ? &health : NULL), HAL_OK);
        assert_int_equal(load(fixture, 0, &plan), HAL_OK);
        assert_int_equal(replay_plan_get_info(plan)->replayed_events, sick ? 1 : 2);
        replay_plan_destroy(plan);
    }
}

TEST_ON(a_file_cut_off_loads_up_to_there, struct fixture *fixture)
{
    struct replay_plan *plan;
    struct stat status;
    open_builder(fixture);
    builder_buffer_create(&fixture->b, 1, NULL, 16);
    builder_host_write(&fixture->b, 1, 0, "0123", 4);
    builder_flush(&fixture->b);
    assert_int_equal(stat(fixture->path, &status), 0);
    for (uint64_t id = 2; id < 100; id++)
        builder_buffer_create(&fixture->b, id, "behind the cut", 16);
    assert_int_equal(builder_close(&fixture->b, NULL), HAL_OK);
    assert_int_equal(truncate(fixture->path, status.st_size + 1), 0);
    assert_int_equal(load(fixture, 0, &plan), HAL_OK);
    assert_string_not_equal(replay_plan_get_info(plan)->incomplete, "");
    assert_int_equal(plan->op_count, 2);
    replay_plan_destroy(plan);
}

TEST_ON(unreadable_files_are_named, struct fixture *fixture)
{
    struct replay_plan *plan;
    test_folder_file(&fixture->folder, "missing.pb.zst", fixture->path);
    assert_int_equal(load(fixture, 0, &plan), HAL_IO);
    assert_non_null(strstr(hal_message(), "missing.pb.zst"));
    test_folder_file(&fixture->folder, "foreign.pb.zst", fixture->path);
    FILE *file = fopen(fixture->path, "w");
    assert_non_null(file);
    fputs("no trace at all", file);
    fclose(file);
    assert_int_equal(load(fixture, 0, &plan), HAL_CORRUPT);
    assert_non_null(strstr(hal_message(), "foreign.pb.zst"));
}

static int make_folder(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    return test_folder_make(&fixture.folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    test_folder_remove(&((struct fixture *)*state)->folder);
    return 0;
}

TEST_SUITE_FIXTURE(make_folder, remove_folder);
