/* SPDX-License-Identifier: Apache-2.0 */
/* The capture above a driver that does on the spot what others do in a race: work that is submitted
 * while the host waits for the device was not waited for, hence is not observed by that wait; and a
 * device that waits by itself has run work before the host sees that its wait is over. */
#include "tests/support/captured.h"
#include "tests/support/fake_driver.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"

enum { BYTES = 16384, WRITTEN = 64, STORED = 800, MOST_KEPT = 3 };

static _Alignas(4096) uint8_t memory[BYTES];
static struct hal_buffer buffer;
static struct hal_layer *layer;
static struct hal_semaphore semaphore;
static const struct hal_submission *submit_while_waiting;
static bool runs_ahead; /* the device is done, and the host does not see it: */
static struct hal_submission kept[MOST_KEPT];
static size_t kept_count;

static enum hal_status fake_wait_idle(struct hal_driver_device *self, int64_t timeout_ns)
{
    (void)self;
    (void)timeout_ns;
    const struct hal_submission *submission = submit_while_waiting;
    submit_while_waiting = NULL;
    return submission ? layer->device->ops->queue_submit(layer->device, submission) : HAL_OK;
}

static enum hal_status fake_submit(struct hal_driver_device *self,
                                   const struct hal_submission *submission)
{
    (void)self;
    const struct hal_submission_result result = {.begin_ns = 1, .end_ns = 2};
    if (submission->command_count)
        memset(memory, 0x5a, WRITTEN);
    if (runs_ahead)
        kept[kept_count++] = *submission;
    else
        submission->retired(submission->user, &result);
    return HAL_OK;
}

static void see_the_ends(void)
{
    const struct hal_submission_result result = {.begin_ns = 1, .end_ns = 2};
    for (size_t i = 0; i < kept_count; i++)
        kept[i].retired(kept[i].user, &result);
    kept_count = 0;
}

static enum hal_status fake_semaphore_create(struct hal_driver_device *self, const char *label,
                                             uint64_t value, struct hal_semaphore **out)
{
    (void)self;
    (void)label;
    (void)value;
    semaphore = (struct hal_semaphore){.object = {.kind = HAL_OBJECT_SEMAPHORE, .id = 9}};
    *out = &semaphore;
    return HAL_OK;
}

static enum hal_status fake_create(struct hal_driver_device *self,
                                   const struct hal_buffer_desc *desc, struct hal_buffer **out)
{
    (void)self;
    buffer = (struct hal_buffer){.object = {.kind = HAL_OBJECT_BUFFER, .id = 7},
                                 .bytes = desc->bytes,
                                 .memory = HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT};
    *out = &buffer;
    return HAL_OK;
}

static enum hal_status fake_map(struct hal_driver_device *self, struct hal_buffer *mapped,
                                struct hal_mapping *out)
{
    (void)self;
    (void)mapped;
    out->data = memory;
    return HAL_OK;
}

static enum hal_status fake_unmap(struct hal_driver_device *self, const struct hal_mapping *mapping)
{
    (void)self;
    (void)mapping;
    return HAL_OK;
}

static enum hal_status fake_semaphore_query(struct hal_driver_device *self,
                                            struct hal_semaphore *queried, uint64_t *out_value)
{
    (void)self;
    (void)queried;
    *out_value = 1;
    return HAL_OK;
}

static const struct hal_driver_ops fake_ops = {
    .device_wait_idle = fake_wait_idle,
    .queue_submit = fake_submit,
    .buffer_create = fake_create,
    .buffer_map = fake_map,
    .buffer_unmap = fake_unmap,
    .semaphore_create = fake_semaphore_create,
    .semaphore_query = fake_semaphore_query,
    FAKE_OPS,
};

/* Captures what the function does with a buffer that stays mapped, and commands that fill a part of
 * it. */
static void capture_calls(struct captured *captured,
                          void (*calls)(struct hal_driver_device *top,
                                        const struct hal_submission *submission))
{
    struct hal_command_fill fill = {.head = {.kind = HAL_COMMAND_FILL, .bytes = sizeof fill},
                                    .target = &buffer,
                                    .bytes = WRITTEN,
                                    .pattern_bytes = 4};
    struct hal_command_buffer commands = {.object = {.kind = HAL_OBJECT_COMMAND_BUFFER, .id = 8},
                                          .is_ended = true,
                                          .arena = (uint8_t *)&fill,
                                          .arena_bytes = sizeof fill,
                                          .command_count = 1};
    struct hal_command_buffer *list = &commands;
    const struct hal_submission submission = {.commands = &list, .command_count = 1};
    struct hal_mapping mapping = {.buffer = &buffer,
                                  .bytes = BYTES,
                                  .mode = HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT};
    struct hal_driver_device next = {.ops = &fake_ops};
    struct hal_buffer *created;
    struct test_folder folder;
    char path[PATH_MAX];
    assert_true(test_folder_make(&folder));
    const struct hal_profiling_options options = {.mode = "queue",
                                                  .stacks = "none",
                                                  .contents = "all",
                                                  .outputs = "contents",
                                                  .files = "ranges",
                                                  .file =
                                                      test_folder_file(&folder, "t.pb.zst", path)};
    memset(memory, 0, BYTES);
    assert_ok(hal_capture_begin(&fake_core, NULL, &next, &options, &layer));
    struct hal_driver_device *top = layer->device;
    assert_ok(top->ops->buffer_create(top, &(struct hal_buffer_desc){.bytes = BYTES}, &created));
    assert_ok(top->ops->buffer_map(top, &buffer, &mapping));
    assert_ok(top->ops->command_buffer_prepare(top, &commands));
    calls(top, &submission);
    assert_ok(top->ops->buffer_unmap(top, &mapping));
    top->ops->object_destroy(top, &commands.object);
    top->ops->object_destroy(top, &buffer.object);
    assert_ok(layer->end(layer));
    captured_open(captured, path);
    test_folder_remove(&folder);
}

static void wait_twice(struct hal_driver_device *top, const struct hal_submission *submission)
{
    submit_while_waiting = submission;
    assert_ok(top->ops->device_wait_idle(top, HAL_FOREVER));
    assert_ok(top->ops->device_wait_idle(top, HAL_FOREVER));
}

TEST(work_submitted_during_a_wait_is_seen_by_the_next)
{
    struct captured captured;
    capture_calls(&captured, wait_twice);
    assert_int_equal(captured_count(&captured, TRACE_WAIT_IDLE), 2);
    assert_int_equal(captured_count(&captured, TRACE_HOST_READ), 1);
    const struct trace_content_event *read = captured_find(&captured, TRACE_HOST_READ, 0);
    const struct trace_event *second = captured_find(&captured, TRACE_WAIT_IDLE, 1);
    assert_true(read->head.ticket > second->ticket);
    assert_int_equal(read->size, WRITTEN);
    captured_close(&captured);
}

/* The fill waits for work whose end the host has not seen, when the next use is submitted. */
static void fill_behind_work(struct hal_driver_device *top, const struct hal_submission *fill)
{
    struct hal_semaphore *created;
    assert_ok(top->ops->semaphore_create(top, NULL, 0, &created));
    const struct hal_semaphore_value done = {created, 1};
    const struct hal_submission first = {.id = 0, .signals = &done, .signal_count = 1};
    struct hal_submission second = *fill, third = *fill;
    second.id = 1;
    second.waits = &done;
    second.wait_count = 1;
    third.id = 2;
    runs_ahead = true;
    assert_ok(top->ops->queue_submit(top, &first));
    assert_ok(top->ops->queue_submit(top, &second));
    memory[STORED] = 9;
    assert_ok(top->ops->queue_submit(top, &third));
    see_the_ends();
    runs_ahead = false;
    top->ops->object_destroy(top, &created->object);
}

TEST(work_that_a_device_runs_by_itself_is_not_taken_for_the_host)
{
    struct captured captured;
    uint8_t stored[BYTES] = {0};
    setenv("HAL_DEVICE_PROFILING_DIRTY", "compare", 1); /* host and device have one mapping here */
    capture_calls(&captured, fill_behind_work);
    unsetenv("HAL_DEVICE_PROFILING_DIRTY");
    const struct trace_event *third = captured_find(&captured, TRACE_SUBMIT, 2);
    captured_replay(&captured, TRACE_HOST_WRITE, 7, third->ticket, stored, BYTES);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(stored[i], i == STORED ? 9 : 0);
    assert_int_equal(captured_count(&captured, TRACE_MAPPED_CHANGE), 1);
    const struct trace_mapped_change *change = captured_find(&captured, TRACE_MAPPED_CHANGE, 0);
    assert_int_equal(change->part.offset, 0);
    assert_int_equal(change->part.size, WRITTEN);
    captured_close(&captured);
}

/* The first fill has ended; the second one waits for other work, which runs or waits for the host.
 */
static void fill_twice(struct hal_driver_device *top, const struct hal_submission *fill, bool held)
{
    struct hal_semaphore *created;
    uint64_t value;
    assert_ok(top->ops->semaphore_create(top, NULL, 0, &created));
    const struct hal_semaphore_value done = {created, 1}, next = {created, 2}, never = {created, 9};
    const struct hal_submission other = {
        .id = 1, .waits = &never, .wait_count = held, .signals = &next, .signal_count = 1};
    struct hal_submission first = *fill, second = *fill;
    first.signals = &done;
    first.signal_count = 1;
    second.id = 2;
    second.waits = &next;
    second.wait_count = 1;
    assert_ok(top->ops->queue_submit(top, &first));
    runs_ahead = true;
    assert_ok(top->ops->queue_submit(top, &other));
    assert_ok(top->ops->queue_submit(top, &second));
    assert_ok(top->ops->semaphore_query(top, created, &value));
    see_the_ends();
    runs_ahead = false;
    top->ops->object_destroy(top, &created->object);
}

static void fill_behind_running_work(struct hal_driver_device *top,
                                     const struct hal_submission *fill)
{
    fill_twice(top, fill, false);
}

static void fill_behind_held_work(struct hal_driver_device *top, const struct hal_submission *fill)
{
    fill_twice(top, fill, true);
}

TEST(what_work_may_be_overwriting_is_left_out)
{
    struct captured captured;
    capture_calls(&captured, fill_behind_running_work);
    assert_int_equal(captured_count(&captured, TRACE_HOST_READ), 0);
    captured_close(&captured);
    capture_calls(&captured, fill_behind_held_work);
    const struct trace_content_event *read = captured_find(&captured, TRACE_HOST_READ, 0);
    assert_non_null(read);
    assert_int_equal(read->size, WRITTEN);
    captured_close(&captured);
}
