/* SPDX-License-Identifier: Apache-2.0 */
/* replay/player/waiting.c, semaphores.c, player.c: waits that fail, for one or several semaphores;
 * work that failed, was lost, or hangs. */
#include "tests/support/test.h"
#include "tests/unit/replay/player_fixture.h"

static const int64_t ms = 1000 * 1000;

TEST_ON(host_failures_are_repeated, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value gate = {1, 1}, done = {2, 1};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_buffer_create(b, 3, NULL, 1);
    play_add_fill(b, 4, 3, 1);
    builder_submit(b, 0, 0, VALUES(gate), VALUES(done), IDS(4));
    b->status = HAL_DEVICE_LOST;
    builder_semaphore(b, TRACE_SEMAPHORE_FAIL, 1, 0, "unplugged");
    play_wait_for(b, &done);
    builder_submission_done(b, 0, 0, 0, 0, 0);
    play_expect_same(fixture, 0);
}

/* The failure may still be on its way when the recording has destroyed the semaphore already. */
TEST_ON(failures_are_awaited_before_the_semaphore_goes, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    builder_buffer_create(b, 1, NULL, 1);
    for (uint64_t i = 0; i < 50; i++) {
        const struct trace_semaphore_value gate = {10 + i, 1}, done = {100 + i, 1};
        builder_semaphore_create(b, gate.semaphore, NULL, 0);
        builder_semaphore_create(b, done.semaphore, NULL, 0);
        builder_command_buffer_create(b, 1000 + i, NULL, 0);
        builder_fill(b, 1, 0, 1, 0, 1);
        builder_end_commands(b, 1000 + i);
        builder_submit(b, i, 0, VALUES(gate), VALUES(done), IDS(1000 + i));
        b->status = HAL_DEVICE_LOST;
        builder_semaphore(b, TRACE_SEMAPHORE_FAIL, gate.semaphore, 0, "unplugged");
        builder_submission_done(b, i, 0, 0, 0, 0);
        b->status = HAL_OK;
        builder_destroy(b, TRACE_SEMAPHORE_DESTROY, done.semaphore);
        builder_destroy(b, TRACE_SEMAPHORE_DESTROY, gate.semaphore);
    }
    play_expect_same(fixture, 0);
}

/* A submission's 2 comes when the host has set 5, which fails the semaphore. The program saw it by
 * a wait, by a query, or not at all; in no case is it a difference. */
TEST_ON(values_that_come_too_late_are_no_difference, struct play_fixture *fixture)
{
    for (int look = 0; look < 3; look++) {
        struct trace_builder *b = play_start(fixture);
        const struct trace_semaphore_value gate = {1, 1}, two = {2, 2}, six = {2, 6};
        builder_semaphore_create(b, 1, "gate", 0);
        builder_semaphore_create(b, 2, "overtaken", 0);
        builder_submit(b, 0, 0, VALUES(gate), VALUES(two), NO_IDS);
        builder_submission_done(b, 0, 0, 10, 10, 20);
        builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 2, 5, NULL);
        builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
        b->status = HAL_INVALID;
        if (look == 1)
            play_wait_for(b, &six);
        if (look == 2)
            builder_semaphore(b, TRACE_SEMAPHORE_QUERY, 2, 0, NULL);
        play_expect_same(fixture, 0);
    }
}

/* A wait for a fill that had failed with that status. */
static void play_failed_fill(struct play_fixture *fixture, enum hal_status failure,
                             struct replay_report *out_report)
{
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value done = {2, 1};
    *out_report = (struct replay_report){0};
    builder_semaphore_create(b, 2, "done", 0);
    builder_buffer_create(b, 3, NULL, 1);
    play_add_fill(b, 4, 3, 1);
    builder_submit(b, 0, 0, NO_VALUES, VALUES(done), IDS(4));
    b->status = failure;
    builder_submission_done(b, 0, 0, 10, 10, 20);
    play_wait_for(b, &done);
    assert_int_equal(play_often(fixture, 1, out_report), HAL_OK);
}

TEST_ON(work_that_no_longer_fails_is_a_difference, struct play_fixture *fixture)
{
    struct replay_report report;
    play_failed_fill(fixture, HAL_FAILED, &report);
    assert_int_equal(report.different_outcomes, 2);
    assert_int_equal(report.unmet_losses, 0);
    assert_non_null(strstr(report.first_outcome, "semaphore_wait (ticket 6)"));
    assert_non_null(strstr(report.first_outcome, "'failed'"));
}

/* A device is not lost on demand: that says nothing about the work. */
TEST_ON(a_loss_that_does_not_come_again_is_no_difference, struct play_fixture *fixture)
{
    struct replay_report report;
    play_failed_fill(fixture, HAL_DEVICE_LOST, &report);
    assert_int_equal(report.different_outcomes, 0);
    assert_int_equal(report.unmet_losses, 2);
}

/* What a lost device left: work that waits for what never comes, and for that; work that it
 * refused. The program waits for each, or looks, or lets go. */
TEST_ON(work_of_a_lost_device_does_not_hang, struct play_fixture *fixture)
{
    for (int look = 0; look < 4; look++) {
        struct replay_report report = {0};
        struct trace_builder *b = play_start(fixture);
        const struct trace_semaphore_value never = {1, 1}, stuck = {2, 5}, next = {3, 1},
                                           refused = {4, 1}, early = {2, 2};
        for (uint64_t id = 1; id <= 4; id++)
            builder_semaphore_create(b, id, id == 4 ? "refused" : NULL, 0);
        builder_submit(b, 0, 0, NO_VALUES, VALUES(early), NO_IDS);
        builder_submit(b, 1, 0, VALUES(never), VALUES(stuck), NO_IDS);
        builder_submit(b, 2, 0, VALUES(stuck), VALUES(next), NO_IDS);
        builder_submit(b, 3, 0, VALUES(never), NO_VALUES, NO_IDS);
        play_wait_for(b, &early);
        builder_submission_done(b, 0, 0, b->begin_ns, b->begin_ns, b->begin_ns);
        b->status = HAL_DEVICE_LOST;
        builder_submission_done(b, 1, 0, 0, 0, look == 3 ? b->begin_ns + 1 : 0);
        builder_submission_done(b, 2, 0, 0, 0, look == 3 ? b->begin_ns + 1 : 0);
        builder_submission_done(b, 3, 0, 0, 0, 0);
        builder_submit(b, 4, 0, NO_VALUES, VALUES(refused), NO_IDS);
        if (look == 0)
            play_wait_for(b, &next);
        if (look < 2)
            play_wait_for(b, &refused);
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

/* A file operation that no thread was left for: it fails when its waits are met, not before, and
 * there is no host call. The program waits for it, or for all, before or after its end, looks, or
 * lets go. */
TEST_ON(host_calls_that_never_begin_fail_as_they_did, struct play_fixture *fixture)
{
    enum { WAIT, IDLE, QUERY, NOTHING, DESTROY, LOOKS };
    for (int look = 0; look < 3 * LOOKS; look++) {
        struct trace_builder *b = play_start(fixture);
        const struct trace_semaphore_value gate = {1, 1}, early = {2, 1}, done = {2, 2};
        builder_semaphore_create(b, 1, "gate", 0);
        builder_semaphore_create(b, 2, "done", 0);
        builder_buffer_create(b, 3, NULL, 16);
        play_add_fill(b, 4, 3, 1);
        b->operation =
            (struct trace_submit){.operation = TRACE_OPERATION_WRITE, .buffer = 3, .size = 16};
        builder_submit(b, 0, 0, VALUES(gate), VALUES(done), NO_IDS);
        play_submit(b, 1, 4, NULL, &early);
        builder_submit(b, 2, 0, VALUES(early), VALUES(gate), NO_IDS);
        builder_submission_done(b, 2, 0, b->begin_ns, b->begin_ns, b->begin_ns);
        b->status = HAL_NO_MEMORY;
        const bool later = look >= LOOKS; /* than the call that waits for it begins */
        builder_submission_done(b, 0, 0, 10, 10, look >= 2 * LOOKS ? 0 : b->begin_ns + later);
        if (look % LOOKS == WAIT)
            play_wait_for(b, &done);
        if (look % LOOKS == QUERY)
            builder_semaphore(b, TRACE_SEMAPHORE_QUERY, 2, 0, NULL);
        b->status = HAL_OK;
        if (look % LOOKS == IDLE)
            builder_wait_idle(b, INT64_MAX);
        if (look % LOOKS == DESTROY)
            builder_destroy(b, TRACE_SEMAPHORE_DESTROY, 2);
        fixture->options.timeout_ns = 5000 * ms;
        play_expect_same(fixture, 0);
        fixture->options.timeout_ns = 0;
    }
}

/* The program waited for one of two, of which the other comes only behind the wait. */
TEST_ON(a_wait_for_any_is_no_wait_for_all, struct play_fixture *fixture)
{
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value values[] = {{1, 1}, {2, 1}};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_buffer_create(b, 3, NULL, 1);
    play_add_fill(b, 4, 3, 0x77);
    play_submit(b, 0, 4, NULL, &values[1]);
    builder_semaphore_wait(b, HAL_WAIT_ANY, values, 2, INT64_MAX);
    builder_host_read(b, 3, 0, "\x77", 1);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    fixture->options.timeout_ns = 20000 * ms;
    play_expect_same(fixture, 1);
}

/* 'gate' fails with one status, the wait had returned another, or the same. */
TEST_ON(a_failed_wait_fails_as_it_did, struct play_fixture *fixture)
{
    static const enum hal_status recorded[] = {HAL_IO, HAL_FAILED};
    for (size_t i = 0; i < 2; i++) {
        struct replay_report report = {0};
        struct trace_builder *b = play_start(fixture);
        const struct trace_semaphore_value gate = {1, 1};
        builder_semaphore_create(b, 1, "gate", 0);
        b->status = HAL_IO;
        builder_semaphore(b, TRACE_SEMAPHORE_FAIL, 1, 0, "unplugged");
        b->status = (uint16_t)recorded[i];
        play_wait_for(b, &gate);
        assert_int_equal(play_often(fixture, 1, &report), HAL_OK);
        assert_int_equal(report.different_outcomes, i);
    }
}

/* 'gate' fails, so 'done' does, and then 'last'. That of 'done' is known from a wait, from one for
 * two that does not tell which, from a query, or from the end of the work. */
TEST_ON(failures_are_known_in_several_ways, struct play_fixture *fixture)
{
    for (int look = 0; look < 4; look++) {
        struct trace_builder *b = play_start(fixture);
        const struct trace_semaphore_value gate = {1, 1}, values[] = {{2, 1}, {3, 1}},
                                           last = {4, 1};
        for (uint64_t id = 1; id <= 4; id++)
            builder_semaphore_create(b, id, NULL, 0);
        builder_submit(b, 0, 0, VALUES(gate), VALUES(values[0]), NO_IDS);
        builder_submit(b, 1, 0, VALUES(values[0]), VALUES(last), NO_IDS);
        b->status = HAL_IO;
        builder_semaphore(b, TRACE_SEMAPHORE_FAIL, 1, 0, "unplugged");
        if (look < 2)
            builder_semaphore_wait(b, HAL_WAIT_ALL, values, look ? 2 : 1, INT64_MAX);
        if (look == 2)
            builder_semaphore(b, TRACE_SEMAPHORE_QUERY, 2, 0, NULL);
        if (look == 3)
            builder_submission_done(b, 0, 0, 0, 0, 0);
        play_wait_for(b, &last);
        play_expect_same(fixture, 0);
    }
}

/* A wait for 'gate', which failed, and 'done', of which the trace says that it did not. */
TEST_ON(a_known_failure_is_no_excuse_for_others, struct play_fixture *fixture)
{
    struct replay_report report = {0};
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value values[] = {{1, 1}, {2, 1}};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_submit(b, 0, 0, VALUES(values[0]), VALUES(values[1]), NO_IDS);
    builder_submission_done(b, 0, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
    b->status = HAL_IO;
    builder_semaphore(b, TRACE_SEMAPHORE_FAIL, 1, 0, "unplugged");
    builder_semaphore_wait(b, HAL_WAIT_ALL, values, 2, INT64_MAX);
    assert_int_equal(play_often(fixture, 1, &report), HAL_OK);
    assert_int_equal(report.different_outcomes, 1);
    assert_non_null(strstr(report.first_outcome, "semaphore 'done' fails, but did not"));
}

/* One of two has failed: a wait for any goes on with the other, a wait for all does not. */
TEST_ON(a_wait_for_any_outlives_a_failure, struct play_fixture *fixture)
{
    for (uint32_t mode = HAL_WAIT_ALL; mode <= HAL_WAIT_ANY; mode++) {
        struct trace_builder *b = play_start(fixture);
        const struct trace_semaphore_value values[] = {{1, 1}, {2, 1}};
        builder_semaphore_create(b, 1, "gate", 0);
        builder_semaphore_create(b, 2, "done", 0);
        b->status = HAL_IO;
        builder_semaphore(b, TRACE_SEMAPHORE_FAIL, 1, 0, "unplugged");
        b->status = HAL_OK;
        builder_submit(b, 0, 0, NO_VALUES, VALUES(values[1]), NO_IDS);
        builder_submission_done(b, 0, 0, b->begin_ns, b->begin_ns, b->begin_ns + 1);
        b->status = mode == HAL_WAIT_ALL ? HAL_IO : HAL_OK;
        builder_semaphore_wait(b, mode, values, 2, INT64_MAX);
        b->status = HAL_OK;
        play_expect_same(fixture, 0);
    }
}

TEST_ON(work_that_hangs_is_named, struct play_fixture *fixture)
{
    struct replay_report report = {0};
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value gate = {1, 1}, done = {2, 5};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 3);
    builder_buffer_create(b, 3, NULL, 1);
    play_add_fill(b, 4, 3, 1);
    play_submit(b, 17, 4, &gate, &done);
    play_wait_for(b, &done);
    builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, 1, 1, NULL);
    fixture->options.timeout_ns = 50 * ms;
    assert_int_equal(play_often(fixture, 1, &report), HAL_TIMEOUT);
    assert_non_null(strstr(hal_message(), "semaphore_wait (ticket 7)"));
    assert_non_null(strstr(hal_message(), "semaphore 'done' is at 3 and should reach 5"));
    assert_non_null(strstr(hal_message(), "#s17"));
}

TEST_ON(an_idle_wait_that_hangs_is_named, struct play_fixture *fixture)
{
    struct replay_report report = {0};
    struct trace_builder *b = play_start(fixture);
    const struct trace_semaphore_value gate = {1, 1}, done = {2, 1};
    builder_semaphore_create(b, 1, "gate", 0);
    builder_semaphore_create(b, 2, "done", 0);
    builder_buffer_create(b, 3, NULL, 1);
    play_add_fill(b, 4, 3, 1);
    play_submit(b, 3, 4, &gate, &done);
    builder_wait_idle(b, INT64_MAX);
    fixture->options.timeout_ns = 50 * ms;
    assert_int_equal(play_often(fixture, 1, &report), HAL_TIMEOUT);
    assert_non_null(strstr(hal_message(), "wait_idle (ticket 7)"));
    assert_non_null(strstr(hal_message(), "#s3"));
    assert_non_null(strstr(hal_message(), "'done'"));
}

TEST_SUITE_FIXTURE(play_set_up, play_tear_down);
