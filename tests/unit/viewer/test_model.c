/* SPDX-License-Identifier: Apache-2.0 */
/* viewer/model/model.c and what builds it: a trace of three submissions whose numbers were worked
 * out by hand, and traces that contradict themselves. Times are relative to the capture's start. */
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"
#include "tests/support/trace_folder.h"
#include "viewer/describe/describe.h"
#include "viewer/model/model.h"

#include <sys/stat.h>
#include <unistd.h>

enum { START_NS = 1000, SEMAPHORE = 1, KERNELS = 2, FIRST = 10, SECOND = 11, BUFFER = 20 };

/* The next event takes [begin, end). */
static void at(struct trace_builder *b, int64_t begin_ns, int64_t end_ns)
{
    b->begin_ns = START_NS + begin_ns;
    b->step_ns = end_ns - begin_ns;
}

static void done(struct trace_builder *b, uint64_t submission, uint32_t queue, int64_t ready_ns,
                 int64_t begin_ns, int64_t end_ns)
{
    builder_submission_done(b, submission, queue, START_NS + ready_ns, START_NS + begin_ns,
                            START_NS + end_ns);
}

static struct trace_semaphore_value value(uint64_t v)
{
    return (struct trace_semaphore_value){.semaphore = SEMAPHORE, .value = v};
}

static struct view_model *close_and_open(struct trace_builder *b)
{
    struct view_model *model;
    const struct trace_health healthy = {0};
    if (builder_close(b, &healthy) != HAL_OK)
        fail_msg("%s", hal_message());
    if (view_model_open(path, &model) != HAL_OK)
        fail_msg("%s", hal_message());
    return model;
}

/*   0       400..700  800..900      1000........2200          2600..2900 3000 3200 3400....4600
 *   create  record    submit #s1    wait for 1                record     #s2  #s3  wait idle
 *   queue 0                         [1000 #s1 2000]                                [4000 #s3 4500]
 *   queue 1                                                                [3200 #s2 3700] */
static void write_work(struct trace_builder *b)
{
    const uint64_t commands[] = {FIRST, SECOND};
    const struct trace_semaphore_value one = value(1), two = value(2), three = value(3);
    at(b, 400, 500);
    b->categories = TRACE_DISPATCH_COMMANDS;
    builder_command_buffer_create(b, FIRST, "first", 1);
    b->categories = 0;
    builder_dispatch(b, KERNELS, 0, 4, 2, 1);
    builder_barrier(b, NULL, 0);
    builder_dispatch(b, KERNELS, 0, 4, 2, 1);
    at(b, 600, 700);
    builder_end_commands(b, FIRST);
    at(b, 800, 900);
    builder_submit(b, 1, 0, NO_VALUES, VALUES(one), builder_ids(commands, 1));
    done(b, 1, 0, 900, 1000, 2000);
    at(b, 1000, 2200);
    builder_semaphore_wait(b, 0, &one, 1, INT64_MAX);
    at(b, 2400, 2500);
    builder_host_read(b, BUFFER, 0, NULL, 64);
    at(b, 2600, 2700);
    builder_command_buffer_create(b, SECOND, NULL, 0);
    builder_dispatch(b, KERNELS, 0, 1, 1, 1);
    at(b, 2800, 2900);
    builder_end_commands(b, SECOND);
    at(b, 3000, 3100);
    builder_submit(b, 2, 1, VALUES(one), VALUES(two), builder_ids(commands + 1, 1));
    done(b, 2, 1, 3100, 3200, 3700);
    at(b, 3200, 3300);
    builder_submit(b, 3, 0, VALUES(two), VALUES(three), builder_ids(commands, 1));
    done(b, 3, 0, 3700, 4000, 4500);
    at(b, 3400, 4600);
    builder_wait_idle(b, INT64_MAX);
}

static struct view_model *open_tiny(void)
{
    struct trace_builder b;
    const struct trace_entry_point kernel = {.group_size = {64, 1, 1}};
    builder_open(&b, path, NULL);
    at(&b, 0, 100);
    builder_semaphore_create(&b, SEMAPHORE, "done", 0);
    at(&b, 110, 120);
    builder_buffer_create(&b, BUFFER, "out", 64);
    struct trace_entry_point named = kernel;
    named.name = builder_string(&b, "mul_mv");
    at(&b, 200, 300);
    builder_executable_create(&b, KERNELS, "k", "source", &named, 1);
    b.begin_ns = START_NS + 350;
    builder_scope_begin(&b, "token 7");
    write_work(&b);
    b.begin_ns = START_NS + 4700;
    builder_scope_end(&b);
    return close_and_open(&b);
}

static const struct view_track *find_track(const struct view_model *m, enum view_track_kind kind,
                                           uint32_t object)
{
    for (size_t i = 0; i < m->tracks_count; i++) {
        if (m->tracks[i].kind == kind && m->tracks[i].object == object)
            return &m->tracks[i];
    }
    fail_msg("no track of kind %d for %u", kind, object);
    return NULL;
}

TEST(numbers_are_those_worked_out_by_hand)
{
    struct view_model *m = open_tiny();
    const struct view_summary *s = &m->summary;
    assert_int_equal(m->first_ns, 0);
    assert_int_equal(m->last_ns, 4700);
    assert_int_equal(s->device_begin_ns, 1000);
    assert_int_equal(s->device_end_ns, 4500);
    assert_int_equal(s->device_busy_ns, 1000 + 500 + 500);
    assert_int_equal(s->computing_ns, 2000);
    assert_int_equal(s->submissions, 3);
    assert_int_equal(s->dispatches, 2 + 1 + 2);
    assert_int_equal(s->syncs.count, 2);
    assert_int_equal(s->syncs.ns, 1200 + 1200);
    assert_int_equal(s->polls.count, 0);
    assert_int_equal(s->readbacks.count, 1);
    assert_int_equal(s->readbacks.bytes, 64);
    assert_int_equal(s->uploads.count, 0);
    assert_int_equal(s->failed_calls, 0);
    assert_int_equal(s->implausible, 0);
    view_model_close(m);
}

static struct view_model *open_with_times(void)
{
    struct trace_builder b;
    const uint64_t commands[] = {FIRST, SECOND};
    const struct trace_entry_point kernels[2] = {{.group_size = {64, 1, 1}},
                                                 {.group_size = {64, 1, 1}}};
    /* Out of order, and one of a command buffer that is not there. */
    const struct trace_dispatch_time times[] = {
        {.command_buffer = 1,
         .dispatch = 0,
         .begin_ns = START_NS + 1500,
         .end_ns = START_NS + 1900},
        {.command_buffer = 0,
         .dispatch = 1,
         .begin_ns = START_NS + 1200,
         .end_ns = START_NS + 1500},
        {.command_buffer = 2,
         .dispatch = 0,
         .begin_ns = START_NS + 1200,
         .end_ns = START_NS + 1500},
        {.command_buffer = 0,
         .dispatch = 2,
         .begin_ns = START_NS + 1200,
         .end_ns = START_NS + 1500},
        {.command_buffer = 0,
         .dispatch = 0,
         .begin_ns = START_NS + 1000,
         .end_ns = START_NS + 1100},
    };
    struct trace_header header = builder_default_header();
    header.start_ns = START_NS;
    builder_open(&b, path, &header);
    at(&b, 0, 100);
    builder_executable_create(&b, KERNELS, "kernels", "source", kernels, 2);
    at(&b, 400, 500);
    builder_command_buffer_create(&b, FIRST, "first", 1);
    builder_dispatch(&b, KERNELS, 0, 4, 2, 1);
    builder_barrier(&b, NULL, 0);
    builder_dispatch(&b, KERNELS, 0, 5, 2, 1);
    builder_end_commands(&b, FIRST);
    builder_command_buffer_create(&b, SECOND, "second", 1);
    builder_dispatch(&b, KERNELS, 1, 6, 1, 1);
    builder_end_commands(&b, SECOND);
    builder_submit(&b, 7, 0, NO_VALUES, NO_VALUES, builder_ids(commands, 2));
    builder_dispatch_times(&b, 7, 0, times, sizeof times / sizeof *times);
    done(&b, 7, 0, 900, 1000, 2000);
    return close_and_open(&b);
}

/* The file tells when dispatches ran, by their place in a command buffer. */
TEST(dispatches_have_their_times)
{
    struct view_model *m = open_with_times();
    static const uint32_t groups[] = {4, 5, 6};
    static const int64_t begins[] = {1000, 1200, 1500}, ends[] = {1100, 1500, 1900};
    assert_int_equal(m->dispatches_count, 3);
    assert_int_equal(m->summary.implausible, 2);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(m->dispatches[i].index, i);
        assert_int_equal(m->dispatches[i].begin_ns, begins[i]);
        assert_int_equal(m->dispatches[i].end_ns, ends[i]);
        assert_int_equal(m->ops[m->dispatches[i].op].groups[0], groups[i]);
    }
    const struct view_track *track = &m->tracks[m->dispatch_track];
    char text[64];
    assert_int_equal(track->events.count, 3);
    const struct view_span event = view_spans_at(&track->events, 2);
    view_span_locator(m, track, &event, text, sizeof text);
    assert_string_equal(text, "#s7.d2");
    view_model_close(m);
}

TEST(gaps_have_their_causes)
{
    struct view_model *m = open_tiny();
    assert_int_equal(m->gaps_count, 2);
    /* 2000 to 3200: nothing submitted until 3000, its semaphore until 3100, ready until 3200. */
    assert_int_equal(m->gaps[0].begin_ns, 2000);
    assert_int_equal(m->gaps[0].end_ns, 3200);
    assert_int_equal(m->gaps[0].cause, VIEW_GAP_HOST);
    int64_t causes_ns[VIEW_GAP_COUNT];
    view_gap_causes(m, &m->gaps[0], causes_ns);
    assert_int_equal(causes_ns[VIEW_GAP_HOST - VIEW_GAP_HOST], 1000);
    assert_int_equal(causes_ns[VIEW_GAP_SEMAPHORE - VIEW_GAP_HOST], 100);
    assert_int_equal(causes_ns[VIEW_GAP_LAUNCH - VIEW_GAP_HOST], 100);
    assert_int_equal(m->submissions[m->gaps[0].before].number, 1);
    assert_int_equal(m->submissions[m->gaps[0].after].number, 2);
    /* 3700 to 4000: #s3 is ready at 3700. */
    assert_int_equal(m->gaps[1].begin_ns, 3700);
    assert_int_equal(m->gaps[1].end_ns, 4000);
    assert_int_equal(m->gaps[1].cause, VIEW_GAP_LAUNCH);
    assert_int_equal(m->summary.gaps[VIEW_GAP_HOST - VIEW_GAP_HOST].ns, 1000);
    assert_int_equal(m->summary.gaps[VIEW_GAP_SEMAPHORE - VIEW_GAP_HOST].ns, 100);
    assert_int_equal(m->summary.gaps[VIEW_GAP_LAUNCH - VIEW_GAP_HOST].ns, 400);
    assert_int_equal(m->summary.gaps[VIEW_GAP_UNKNOWN - VIEW_GAP_HOST].ns, 0);
    char host[200];
    view_describe_host(m, &m->gaps[0], host, sizeof host);
    /* until the submit call returned: 100 submitting, 300 recording, 200 in the wait's tail */
    assert_string_equal(
        host, "main, outside the HAL 500 ns, recording 300 ns, waiting 200 ns, submitting 100 ns");
    view_model_close(m);
}

TEST(tracks_hold_what_happened)
{
    struct view_model *m = open_tiny();
    const struct view_track *queue = find_track(m, VIEW_TRACK_QUEUE, 0);
    assert_int_equal(queue->events.count, 2);
    assert_int_equal(view_spans_at(&queue->events, 0).begin_ns, 800);
    assert_int_equal(view_spans_at(&queue->events, 0).end_ns, 2000);
    struct view_measure measure;
    /* #s3 on queue 0: submitted 3200, its semaphore 3700, begins 4000 */
    view_series_measure(&queue->series, 3000, 5000, &measure);
    assert_int_equal(measure.busy_ns[VIEW_QUEUED_WAITING], 500);
    assert_int_equal(measure.busy_ns[VIEW_QUEUED_READY], 300);
    assert_int_equal(measure.busy_ns[VIEW_EXECUTE], 500);
    const struct view_track *host = find_track(m, VIEW_TRACK_HOST, 0);
    view_series_measure(&host->series, 0, 5000, &measure);
    assert_int_equal(measure.busy_ns[VIEW_RECORD], 300 + 300);
    assert_int_equal(measure.busy_ns[VIEW_SUBMIT], 300);
    assert_int_equal(measure.busy_ns[VIEW_WAIT], 2400);
    assert_int_equal(measure.busy_ns[VIEW_COMPILE], 100);
    assert_int_equal(measure.begun[VIEW_SUBMIT], 3);
    const struct view_track *semaphore = find_track(m, VIEW_TRACK_SEMAPHORE, 0);
    assert_int_equal(semaphore->events.count, 4); /* created, 1, 2, 3 */
    static const int64_t times[] = {100, 2000, 3700, 4500};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(view_spans_at(&semaphore->events, i).begin_ns, times[i]);
        assert_int_equal(m->steps[view_spans_at(&semaphore->events, i).ref].value, i);
    }
    const struct view_track *scope = find_track(m, VIEW_TRACK_SCOPE, 0);
    assert_int_equal(scope->events.count, 1);
    assert_int_equal(view_spans_at(&scope->events, 0).end_ns, 4700);
    view_model_close(m);
}

TEST(work_is_followed_from_call_to_wait)
{
    struct view_model *m = open_tiny();
    const uint32_t first = view_model_submission(m, 1), second = view_model_submission(m, 2);
    assert_int_equal(m->submissions[first].number, 1);
    assert_int_equal(view_model_submission(m, 99), VIEW_NO_REF);
    assert_int_equal(m->calls[m->submissions[second].call].begin_ns, 3000);
    const uint32_t observer = view_model_observer(m, first);
    assert_int_not_equal(observer, VIEW_NO_REF);
    assert_int_equal(m->calls[observer].begin_ns, 1000);
    assert_int_equal(view_model_consumer(m, first, VIEW_NO_REF), second);
    assert_int_equal(view_model_consumer(m, second, VIEW_NO_REF), view_model_submission(m, 3));
    const uint32_t step = view_model_reached(m, 0, 2);
    assert_int_equal(m->steps[step].submission, second);
    assert_int_equal(view_model_reached(m, 0, 4), VIEW_NO_REF);
    char label[64];
    view_op_label(m, view_model_dispatch(m, &m->submissions[first], 1), label, sizeof label);
    assert_string_equal(label, "mul_mv 4x2x1");
    assert_null(view_model_dispatch(m, &m->submissions[first], 2));
    uint32_t track;
    const uint32_t event = view_model_queue_event(m, second, &track);
    assert_int_equal(view_spans_at(&m->tracks[track].events, event).ref, second);
    view_model_close(m);
}

TEST(scopes_of_one_kind_are_counted_together)
{
    struct view_model *m = open_tiny();
    assert_int_equal(m->families_count, 1);
    assert_string_equal(m->families[0].name, "token #");
    assert_int_equal(m->families[0].count, 1);
    assert_int_equal(m->families[0].total_ns, 4350);
    assert_int_equal(m->families[0].submissions, 3);
    assert_int_equal(m->families[0].syncs, 2);
    assert_int_equal(m->families[0].device_ns, 2000);
    view_model_close(m);
}

/* ---- Odd traces --------------------------------------------------------------------------- */

TEST(a_trace_without_events_opens)
{
    struct trace_builder b;
    builder_open(&b, path, NULL);
    struct view_model *m = close_and_open(&b);
    assert_int_equal(m->tracks_count, 0);
    assert_true(m->last_ns > m->first_ns);
    assert_int_equal(m->gaps_count, 0);
    view_model_close(m);
}

TEST(work_that_never_ends_is_not_invented)
{
    struct trace_builder b;
    const struct trace_semaphore_value one = value(1);
    builder_open(&b, path, NULL);
    at(&b, 0, 100);
    builder_semaphore_create(&b, SEMAPHORE, NULL, 0);
    at(&b, 200, 300);
    builder_submit(&b, 5, 3, NO_VALUES, VALUES(one), NO_IDS);
    at(&b, 1000, 1100);
    builder_semaphore(&b, TRACE_SEMAPHORE_QUERY, SEMAPHORE, 0, NULL);
    builder_scope_begin(&b, "open");
    struct view_model *m = close_and_open(&b);
    assert_int_equal(m->summary.unfinished_submissions, 1);
    assert_int_equal(m->summary.device_busy_ns, 0);
    assert_int_equal(m->summary.polls.count, 1);
    assert_int_equal(m->device_track, VIEW_NO_TRACK);
    const struct view_track *queue = find_track(m, VIEW_TRACK_QUEUE, 3);
    assert_int_equal(view_spans_at(&queue->events, 0).flags, VIEW_SPAN_OPEN);
    assert_int_equal(view_spans_at(&queue->events, 0).end_ns, m->last_ns);
    assert_true(m->scopes[0].open);
    assert_int_equal(view_model_reached(m, 0, 1), VIEW_NO_REF);
    view_model_close(m);
}

TEST(what_follows_the_last_work_is_no_gap)
{
    struct trace_builder b;
    builder_open(&b, path, NULL);
    for (uint64_t i = 1; i <= 3; i++) {
        at(&b, (int64_t)i * 1000, (int64_t)i * 1000 + 100);
        builder_submit(&b, i, 0, NO_VALUES, NO_VALUES, NO_IDS);
        if (i < 3)
            done(&b, i, 0, 0, (int64_t)i * 1000 + 200, (int64_t)i * 1000 + 300);
    }
    struct view_model *m = close_and_open(&b);
    assert_int_equal(m->gaps_count, 1); /* times count from the first event, at 1000 */
    assert_int_equal(m->summary.device_end_ns, 1300);
    const struct view_series *parts = &m->tracks[m->gap_track].series;
    assert_int_equal(view_spans_at(&parts->spans, parts->spans.count - 1).end_ns, 1200);
    view_model_close(m);
}

TEST(dispatches_are_counted_over_command_buffers)
{
    struct trace_builder b;
    const uint64_t commands[] = {FIRST, SECOND};
    char label[64];
    builder_open(&b, path, NULL);
    builder_dispatch(&b, KERNELS, 0, 1, 1, 1);
    builder_dispatch(&b, KERNELS, 0, 2, 1, 1);
    builder_end_commands(&b, FIRST);
    builder_fill(&b, BUFFER, 0, 4, 0, 4);
    builder_dispatch(&b, KERNELS, 0, 3, 1, 1);
    builder_end_commands(&b, SECOND);
    builder_submit(&b, 0, 0, NO_VALUES, NO_VALUES, builder_ids(commands, 2));
    struct view_model *m = close_and_open(&b);
    static const char *const expected[] = {"dispatch 1x1x1", "dispatch 2x1x1", "dispatch 3x1x1"};
    for (uint64_t i = 0; i < 3; i++) {
        view_op_label(m, view_model_dispatch(m, &m->submissions[0], i), label, sizeof label);
        assert_string_equal(label, expected[i]);
    }
    assert_null(view_model_dispatch(m, &m->submissions[0], 3));
    view_model_close(m);
}

TEST(a_wait_that_gave_up_saw_nothing)
{
    struct trace_builder b;
    const struct trace_semaphore_value one = value(1);
    builder_open(&b, path, NULL);
    at(&b, 0, 10);
    builder_submit(&b, 1, 0, NO_VALUES, VALUES(one), NO_IDS);
    done(&b, 1, 0, 0, 100, 500);
    b.status = HAL_TIMEOUT;
    at(&b, 20, 120);
    builder_semaphore_wait(&b, 0, &one, 1, 100);
    b.status = HAL_OK;
    at(&b, 400, 600);
    builder_semaphore_wait(&b, 0, &one, 1, INT64_MAX);
    struct view_model *m = close_and_open(&b);
    assert_int_equal(m->calls[view_model_observer(m, 0)].begin_ns, 400);
    assert_int_equal(m->summary.failed_calls, 0);
    view_model_close(m);
}

TEST(impossible_times_are_counted_and_not_drawn)
{
    struct trace_builder b;
    builder_open(&b, path, NULL);
    at(&b, 0, 100);
    builder_buffer_create(&b, 1, "fine", 64);
    b.begin_ns = INT64_MAX - 10;
    b.step_ns = 5;
    builder_buffer_create(&b, 2, "late", 64);
    b.begin_ns = INT64_MIN + 10;
    builder_buffer_create(&b, 3, "early", 64);
    at(&b, 500, 400);
    builder_buffer_create(&b, 4, "backwards", 64);
    struct view_model *m = close_and_open(&b);
    char health[256];
    assert_int_equal(m->summary.implausible, 3);
    assert_int_equal(m->calls_count, 1);
    assert_int_equal(m->first_ns, 0);
    assert_int_equal(m->last_ns, 101); /* from 100 on the buffer is there */
    assert_false(view_health(m, health, sizeof health));
    assert_string_equal(health, "3 events with impossible times, not drawn");
    view_model_close(m);
}

/* Of the file, as every program has it, also where a device says that its work was ready before. */
TEST(times_count_from_the_first_event)
{
    struct trace_builder b;
    const struct trace_semaphore_value one = {5, 1};
    builder_open(&b, path, NULL);
    at(&b, 5000, 5100);
    builder_semaphore_create(&b, 5, "s", 0);
    at(&b, 5200, 5300);
    builder_submit(&b, 0, 0, NO_VALUES, VALUES(one), NO_IDS);
    done(&b, 0, 0, 4990, 5210, 5250);
    struct view_model *m = close_and_open(&b);
    assert_int_equal(m->origin_ns, START_NS + 5000);
    assert_int_equal(m->origin_ns, trace_reader_origin_ns(m->reader));
    assert_int_equal(m->calls[0].begin_ns, 0);
    assert_int_equal(m->submissions[0].ready_ns, -10);
    assert_int_equal(m->submissions[0].begin_ns, 210);
    view_model_close(m);
}

/* The reader says what the file is. */
TEST(what_is_being_recorded_is_not_called_cut_off)
{
    struct trace_builder b;
    builder_open(&b, path, NULL);
    builder_buffer_create(&b, 1, "fine", 64);
    struct view_model *m = close_and_open(&b);
    char health[256];
    m->truncated = "being recorded by process 7";
    assert_false(view_health(m, health, sizeof health));
    assert_string_equal(health, "being recorded by process 7");
    m->truncated = "cut off at byte 9: the rest is missing";
    assert_false(view_health(m, health, sizeof health));
    assert_string_equal(health, "cut off at byte 9: the rest is missing");
    m->truncated = "the index is damaged";
    assert_false(view_health(m, health, sizeof health));
    assert_string_equal(health, "cut off: the index is damaged");
    view_model_close(m);
}

TEST(records_may_name_what_was_never_created)
{
    struct trace_builder b;
    const struct trace_semaphore_value unknown = {.semaphore = 77, .value = 3};
    const uint64_t commands = 88;
    builder_open(&b, path, NULL);
    builder_dispatch(&b, 99, 5, 1, 1, 1);
    builder_end_commands(&b, 88);
    builder_submit(&b, 1, 0, VALUES(unknown), NO_VALUES, IDS(commands));
    builder_submit(&b, 1, 0, VALUES(unknown), NO_VALUES, IDS(commands)); /* the same number again */
    builder_submission_done(&b, 2, 1, 0, 0, 0);
    builder_unmap(&b, 66, 1, 1, 0, 10);
    builder_scope_end(&b);
    struct view_model *m = close_and_open(&b);
    char label[64];
    assert_int_equal(m->submissions_count, 2);
    assert_int_equal(m->submissions[0].dispatch_count, 1);
    view_op_label(m, view_model_dispatch(m, &m->submissions[0], 0), label, sizeof label);
    assert_string_equal(label, "dispatch 1x1x1");
    view_semaphore_name(m, 0, label, sizeof label);
    assert_string_equal(label, "semaphore 77");
    view_model_close(m);
}

TEST(pieces_of_a_transfer_are_one)
{
    struct trace_builder b;
    builder_open(&b, path, NULL);
    at(&b, 0, 100);
    builder_host_write(&b, 1, 0, NULL, 10u << 20); /* three pieces of at most 4 MiB */
    b.flags = TRACE_FLAG_SNAPSHOT;
    builder_host_write(&b, 1, 0, NULL, 100);
    b.flags = TRACE_FLAG_OBSERVED;
    builder_host_read(&b, 1, 0, NULL, 16);
    struct view_model *m = close_and_open(&b);
    assert_int_equal(m->summary.uploads.count, 1);
    assert_int_equal(m->summary.uploads.bytes, 10u << 20);
    assert_int_equal(m->summary.readbacks.count, 0);
    assert_int_equal(m->summary.observed.bytes, 16);
    view_model_close(m);
}

TEST(failures_show)
{
    struct trace_builder b;
    const struct trace_semaphore_value one = value(1);
    builder_open(&b, path, NULL);
    builder_semaphore_create(&b, SEMAPHORE, "done", 0);
    builder_submit(&b, 1, 0, NO_VALUES, VALUES(one), NO_IDS);
    b.status = HAL_FAILED;
    builder_submission_done(&b, 1, 0, b.begin_ns, b.begin_ns, b.begin_ns + 50);
    builder_semaphore_wait(&b, 0, &one, 1, INT64_MAX);
    struct view_model *m = close_and_open(&b);
    assert_int_equal(m->summary.failed_submissions, 1);
    assert_int_equal(m->summary.failed_calls, 1);
    const struct view_track *device = &m->tracks[m->device_track];
    assert_int_equal(view_spans_at(&device->events, 0).flags & VIEW_SPAN_FAILED, VIEW_SPAN_FAILED);
    assert_int_equal(m->steps[m->steps_count - 1].status, HAL_FAILED);
    struct view_measure measure;
    view_series_measure(&device->series, m->first_ns, m->last_ns, &measure);
    assert_int_equal(measure.failed, 1);
    struct view_lines lines = {0};
    const struct view_span event = view_spans_at(&device->events, 0);
    view_describe(m, device, &event, &lines);
    assert_non_null(strstr(lines.text, "returned\tfailed\n"));
    view_lines_finish(&lines);
    view_model_close(m);
}

/* What the two command buffers were made for. */
TEST(recordings_are_described)
{
    static const char *const wanted[2] = {"made for\tmany submissions, dispatches alone\n",
                                          "made for\tone submission, any commands\n"};
    struct view_model *m = open_tiny();
    size_t found = 0;
    for (size_t i = 0; i < m->tracks_count; i++) {
        const struct view_track *track = &m->tracks[i];
        for (size_t k = 0; track->kind == VIEW_TRACK_HOST && k < track->events.count; k++) {
            struct view_lines lines = {0};
            if (view_spans_at(&track->events, k).class != VIEW_RECORD)
                continue;
            const struct view_span event = view_spans_at(&track->events, k);
            view_describe(m, track, &event, &lines);
            assert_true(found < 2);
            if (!strstr(lines.text, wanted[found]))
                fail_msg("'%s' is not in: %s", wanted[found], lines.text);
            found++;
            view_lines_finish(&lines);
        }
    }
    assert_int_equal(found, 2);
    view_model_close(m);
}

/* Bytes that this process has read so far. */
static uint64_t bytes_read(void)
{
    unsigned long long bytes = 0;
    FILE *file = fopen("/proc/self/io", "re");
    if (!file || fscanf(file, "rchar: %llu", &bytes) != 1)
        skip();
    fclose(file);
    return bytes;
}

/* However much the buffers hold, only what happened is read. */
TEST(what_buffers_hold_is_not_read)
{
    enum { BYTES = 8 << 20 };
    struct trace_builder b;
    struct trace_header header = builder_default_header();
    uint8_t *data = malloc(BYTES);
    uint64_t random = 7;
    struct stat file;
    assert_non_null(data);
    for (size_t i = 0; i < BYTES; i++) {
        random ^= random << 13; /* xorshift: no compressor makes less of it */
        random ^= random >> 7;
        random ^= random << 17;
        data[i] = (uint8_t)(random >> 32);
    }
    builder_open(&b, path, &header);
    builder_buffer_create(&b, 1, "weights", BYTES);
    builder_host_write(&b, 1, 0, data, BYTES);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
    free(data);
    assert_int_equal(stat(path, &file), 0);
    assert_true(file.st_size > BYTES);
    const uint64_t before = bytes_read();
    struct view_model *model;
    assert_int_equal(view_model_open(path, &model), HAL_OK);
    const uint64_t read = bytes_read() - before;
    if (read > BYTES / 4) /* it is read in pieces of up to a MiB */
        fail_msg("%llu bytes of %llu were read", (unsigned long long)read,
                 (unsigned long long)file.st_size);
    assert_int_equal(model->summary.uploads.bytes, BYTES);
    view_model_close(model);
}

TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
