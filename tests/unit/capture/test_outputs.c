/* SPDX-License-Identifier: Apache-2.0 */
/* capture/track/outputs.c: clearing new buffers above a driver that is slow, or in trouble. */
#include "tests/support/captured.h"
#include "tests/support/fake_driver.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_folder.h"

/* ---- A driver that does as it is told ----------------------------------------------------- */

static struct {
    struct hal_buffer buffer;
    struct hal_semaphore semaphore;
    struct hal_command_buffer *held; /* of the fill that is in flight */
    unsigned interruptions;          /* waits that end too early */
    enum hal_status wait_status;     /* of the one after them */
    uint32_t references;             /* of the buffer, at the last wait */
    unsigned waits;
} fake;

static enum hal_status fake_buffer_create(struct hal_driver_device *self,
                                          const struct hal_buffer_desc *desc,
                                          struct hal_buffer **out)
{
    (void)self;
    fake.buffer =
        (struct hal_buffer){.bytes = desc->bytes, .memory = desc->memory, .usage = desc->usage};
    hal_object_init(&fake.buffer.object, HAL_OBJECT_BUFFER);
    *out = &fake.buffer;
    return HAL_OK;
}

static enum hal_status fake_semaphore_create(struct hal_driver_device *self, const char *label,
                                             uint64_t value, struct hal_semaphore **out)
{
    (void)self;
    (void)label;
    (void)value;
    *out = &fake.semaphore;
    return HAL_OK;
}

/* The fill stays in flight until the test lets go of it; other work is done at once. */
static enum hal_status fake_submit(struct hal_driver_device *self,
                                   const struct hal_submission *submission)
{
    (void)self;
    if (submission->command_count) {
        fake.held = submission->commands[0];
        hal_object_retain(&fake.held->object);
        return HAL_OK;
    }
    submission->retired(submission->user, &(struct hal_submission_result){.status = HAL_OK});
    return HAL_OK;
}

static enum hal_status fake_wait(struct hal_driver_device *self, enum hal_wait_mode mode,
                                 const struct hal_semaphore_value *values, size_t count,
                                 int64_t timeout_ns)
{
    (void)self;
    (void)mode;
    (void)values;
    (void)count;
    (void)timeout_ns;
    fake.references = atomic_load(&fake.buffer.object.references);
    fake.waits++;
    return fake.waits <= fake.interruptions ? HAL_TIMEOUT : fake.wait_status;
}

static const struct hal_driver_ops ops = {
    FAKE_OPS, .queue_submit = fake_submit, .buffer_create = fake_buffer_create,
    .semaphore_create = fake_semaphore_create, .semaphores_wait = fake_wait};
static struct hal_driver_device next = {.ops = &ops};

static struct hal_layer *create_buffer(unsigned interruptions, enum hal_status wait_status)
{
    struct hal_layer *layer;
    struct hal_buffer *buffer;
    const struct hal_profiling_options options = {.mode = "queue",
                                                  .stacks = "none",
                                                  .contents = "digest",
                                                  .outputs = "all",
                                                  .files = "reference",
                                                  .file = path};
    const struct hal_buffer_desc desc = {
        .bytes = 64, .memory = HAL_MEMORY_DEVICE_LOCAL, .usage = HAL_USAGE_TRANSFER};
    memset(&fake, 0, sizeof fake);
    fake.interruptions = interruptions;
    fake.wait_status = wait_status;
    assert_ok(hal_capture_begin(&fake_core, NULL, &next, &options, &layer));
    assert_ok(layer->device->ops->buffer_create(layer->device, &desc, &buffer));
    assert_ptr_equal(buffer, &fake.buffer);
    assert_non_null(fake.held);
    return layer;
}

static void submit_nothing(struct hal_layer *layer)
{
    const struct hal_submission submission = {.id = 0};
    assert_ok(layer->device->ops->queue_submit(layer->device, &submission));
}

static void end(struct hal_layer *layer)
{
    layer->device->ops->object_destroy(layer->device, &fake.buffer.object);
    assert_ok(layer->end(layer));
    unlink(path);
}

static uint32_t references(void)
{
    return atomic_load(&fake.buffer.object.references);
}

/* ---- Clearing ----------------------------------------------------------------------------- */

/* A change of the chain ends all waits at once. */
TEST(interruptions_do_not_hand_out_a_buffer_too_early)
{
    struct hal_layer *layer = create_buffer(3, HAL_OK);
    assert_int_equal(fake.waits, 4);
    assert_int_equal(fake.references, 2);
    assert_int_equal(references(), 1);
    hal_object_release(&fake.held->object);
    end(layer);
}

/* The application may release it meanwhile. */
TEST(a_buffer_lives_while_its_clearing_is_in_flight)
{
    struct hal_layer *layer = create_buffer(0, HAL_FAILED);
    assert_int_equal(references(), 2);
    submit_nothing(layer);
    assert_int_equal(references(), 2);
    hal_object_release(&fake.held->object); /* the driver is done with the fill */
    submit_nothing(layer);
    assert_int_equal(references(), 1);
    end(layer);
}

TEST(it_is_let_go_of_at_the_end)
{
    struct hal_layer *layer = create_buffer(0, HAL_FAILED);
    hal_object_release(&fake.held->object);
    assert_int_equal(references(), 2);
    end(layer);
    assert_int_equal(references(), 1);
}

TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
