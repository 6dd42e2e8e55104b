/* SPDX-License-Identifier: Apache-2.0 */
/* What a capture records beyond the work itself: times of dispatches, as a driver told them; and
 * what the header says of what was asked for, and which queues were. */
#include "tests/support/captured.h"
#include "tests/support/fake_driver.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_folder.h"

enum { TIMES = 2500 };

static struct hal_dispatch_time times[TIMES];
static bool asked_for_times;

/* ---- Above a driver that tells what it is told to ----------------------------------------- */

static enum hal_status fake_submit(struct hal_driver_device *self,
                                   const struct hal_submission *submission)
{
    (void)self;
    asked_for_times = submission->time_dispatches;
    const struct hal_submission_result result = {.begin_ns = 100,
                                                 .end_ns = 90000,
                                                 .dispatches = asked_for_times ? times : NULL,
                                                 .dispatch_count = asked_for_times ? TIMES : 0,
                                                 .is_isolated = submission->id == 1};
    submission->retired(submission->user, &result);
    return HAL_OK;
}

static void capture_two_submissions(const char *mode)
{
    static const struct hal_driver_ops ops = {FAKE_OPS, .queue_submit = fake_submit};
    struct hal_driver_device next = {.ops = &ops};
    struct hal_layer *layer;
    const struct hal_profiling_options options = {.mode = mode,
                                                  .stacks = "none",
                                                  .contents = "digest",
                                                  .outputs = "none",
                                                  .files = "reference",
                                                  .budget_bytes = 4096,
                                                  .file = path};
    assert_ok(hal_capture_begin(&fake_core, NULL, &next, &options, &layer));
    for (uint64_t i = 0; i < 2; i++) {
        const struct hal_submission submission = {.id = i, .queue = 3};
        assert_ok(layer->device->ops->queue_submit(layer->device, &submission));
    }
    assert_ok(layer->end(layer));
}

/* Which dispatch ran when, out of order, as a driver may tell it. */
static void make_times(void)
{
    for (uint32_t i = 0; i < TIMES; i++) {
        const uint32_t number = TIMES - 1 - i;
        times[i] = (struct hal_dispatch_time){.command_buffer = number / 100,
                                              .dispatch = number % 100,
                                              .begin_ns = 1000 + 7 * (int64_t)number,
                                              .end_ns = 1000 + 7 * (int64_t)number + number % 13};
    }
}

static void check_times(const struct captured *captured, uint64_t submission)
{
    uint32_t found = 0;
    for (size_t n = 0; n < captured_count(captured, TRACE_DISPATCH_TIMES); n++) {
        const struct trace_dispatch_times *part = captured_find(captured, TRACE_DISPATCH_TIMES, n);
        int64_t first_ns = INT64_MAX, last_ns = 0;
        if (part->submission != submission)
            continue;
        assert_int_equal(part->queue, 3);
        assert_int_equal(part->flags, submission == 1 ? TRACE_TIMES_ISOLATED : 0);
        for (uint32_t i = 0; i < part->time_count; i++, found++) {
            assert_int_equal(part->times[i].command_buffer, times[found].command_buffer);
            assert_int_equal(part->times[i].dispatch, times[found].dispatch);
            assert_int_equal(part->times[i].begin_ns, times[found].begin_ns);
            assert_int_equal(part->times[i].end_ns, times[found].end_ns);
            first_ns = first_ns < times[found].begin_ns ? first_ns : times[found].begin_ns;
            last_ns = last_ns > times[found].end_ns ? last_ns : times[found].end_ns;
        }
        assert_int_equal(part->head.begin_ns, first_ns);
        assert_int_equal(part->head.end_ns, last_ns);
    }
    assert_int_equal(found, TIMES);
}

TEST(times_of_dispatches_are_recorded)
{
    static const char *const modes[] = {"dispatch", "executable"};
    make_times();
    for (size_t i = 0; i < 2; i++) {
        struct captured captured;
        capture_two_submissions(modes[i]);
        captured_open(&captured, path);
        assert_string_equal(trace_reader_header(captured.reader)->mode, modes[i]);
        check_times(&captured, 0);
        check_times(&captured, 1);
        captured_close(&captured);
        unlink(path);
    }
}

TEST(mode_queue_asks_for_no_times)
{
    struct captured captured;
    capture_two_submissions("queue");
    assert_false(asked_for_times);
    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_DISPATCH_TIMES), 0);
    assert_int_equal(captured_count(&captured, TRACE_SUBMISSION_DONE), 2);
    captured_close(&captured);
}

TEST(the_header_says_what_was_asked_for)
{
    struct captured captured;
    capture_two_submissions("queue");
    captured_open(&captured, path);
    const struct trace_header *header = trace_reader_header(captured.reader);
    assert_string_equal(header->mode, "queue");
    assert_string_equal(header->stacks, "none");
    assert_string_equal(header->contents, "digest");
    assert_string_equal(header->outputs, "none");
    assert_string_equal(header->files, "reference");
    assert_int_equal(header->budget_bytes, 4096);
    assert_string_equal(header->window, "");
    assert_int_equal(header->last_ns, 0);
    captured_close(&captured);
}

/* ---- Above a device ----------------------------------------------------------------------- */

TEST(a_choice_of_queues_is_recorded)
{
    static const uint64_t asked[] = {0, 2, 3, 6}, recorded[] = {0, 0, 3, 6};
    struct captured captured;
    struct hal_device *device = fixture_device("cpu?threads=1&queues=3");
    captured_begin(device, path);
    for (size_t i = 0; i < 4; i++)
        assert_ok(hal_queue_submit(device, &(struct hal_submit_desc){.queues = asked[i]}));
    assert_ok(hal_queue_barrier(device, &(struct hal_submit_desc){.queues = 3}));
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    captured_open(&captured, path);
    for (size_t i = 0; i < 4; i++) {
        const struct trace_submit *submit = captured_find(&captured, TRACE_SUBMIT, i);
        assert_int_equal(submit->affinity, recorded[i]);
        assert_true(!asked[i] || asked[i] >> submit->queue & 1);
    }
    const struct trace_submit *barrier = captured_find(&captured, TRACE_SUBMIT, 4);
    assert_int_equal(barrier->affinity, 3);
    captured_close(&captured);
}

TEST_FIXTURE(NULL, remove_trace);
TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
