/* SPDX-License-Identifier: Apache-2.0 */
/* capture/layer/layer.c above a driver that does on the spot what others do in a race: work that is
 * handed in while the host waits for the device was not waited for, hence is not observed by that
 * wait. */
#include "tests/support/captured.h"
#include "tests/support/fake_driver.h"
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"

enum { BYTES = 16384, WRITTEN = 64 };

static _Alignas(4096) uint8_t memory[BYTES];
static struct hal_buffer buffer;
static struct hal_layer *layer;
static const struct hal_submission *submit_while_waiting;

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
    memset(memory, 0x5a, WRITTEN);
    submission->retired(submission->user, &result);
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

static const struct hal_driver_ops fake_ops = {
    .device_wait_idle = fake_wait_idle,
    .queue_submit = fake_submit,
    .buffer_create = fake_create,
    .buffer_map = fake_map,
    .buffer_unmap = fake_unmap,
    FAKE_OPS,
};

static void run_calls(struct hal_driver_device *top)
{
    struct hal_segment_fill fill = {.head = {.kind = HAL_SEGMENT_FILL, .bytes = sizeof fill},
                                    .target = &buffer,
                                    .bytes = WRITTEN,
                                    .pattern_bytes = 4};
    struct hal_command_buffer commands = {.object = {.kind = HAL_OBJECT_COMMAND_BUFFER, .id = 8},
                                          .sealed = true,
                                          .arena = (uint8_t *)&fill,
                                          .arena_bytes = sizeof fill,
                                          .segment_count = 1};
    struct hal_command_buffer *list = &commands;
    const struct hal_submission submission = {.commands = &list, .command_count = 1};
    struct hal_mapping mapping = {
        .buffer = &buffer, .bytes = BYTES, .mode = HAL_MAP_READ | HAL_MAP_PERSISTENT};
    struct hal_buffer *created;
    assert_ok(top->ops->buffer_create(top, &(struct hal_buffer_desc){.bytes = BYTES}, &created));
    assert_ok(top->ops->buffer_map(top, &buffer, &mapping));
    assert_ok(top->ops->command_buffer_prepare(top, &commands));
    submit_while_waiting = &submission;
    assert_ok(top->ops->device_wait_idle(top, HAL_FOREVER));
    assert_ok(top->ops->device_wait_idle(top, HAL_FOREVER));
    assert_ok(top->ops->buffer_unmap(top, &mapping));
    top->ops->object_destroy(top, &commands.object);
    top->ops->object_destroy(top, &buffer.object);
}

TEST(work_handed_in_during_a_wait_is_seen_by_the_next)
{
    struct test_folder folder;
    struct captured captured;
    char path[PATH_MAX];
    struct hal_driver_device next = {.ops = &fake_ops};
    assert_true(test_folder_make(&folder));
    const struct hal_profiling_options options = {.mode = "queue",
                                                  .stacks = "none",
                                                  .contents = "all",
                                                  .outputs = "contents",
                                                  .files = "ranges",
                                                  .file =
                                                      test_folder_file(&folder, "t.pb.zst", path)};
    assert_ok(hal_capture_begin(&fake_core, NULL, &next, &options, &layer));
    run_calls(layer->device);
    assert_ok(layer->end(layer));

    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_WAIT_IDLE), 2);
    assert_int_equal(captured_count(&captured, TRACE_HOST_READ), 1);
    const struct trace_content_event *read = captured_find(&captured, TRACE_HOST_READ, 0);
    const struct trace_event *second = captured_find(&captured, TRACE_WAIT_IDLE, 1);
    assert_true(read->head.ticket > second->ticket);
    assert_int_equal(read->size, WRITTEN);
    captured_close(&captured);
    test_folder_remove(&folder);
}
