/* SPDX-License-Identifier: Apache-2.0 */
/* What the Vulkan driver makes of a device that fails: statuses, and messages with names, values
 * and limits; and what works afterwards. */
#include "tests/unit/vulkan/vulkan_fixture.h"

enum { OUT_OF_DEVICE_MEMORY = -2, DEVICE_LOST = -4, TIMEOUT = 2 }; /* VkResult */

static int end(void **state)
{
    (void)state;
    atomic_store(&shim->allocate_result, 0);
    atomic_store(&shim->submit_result, 0);
    atomic_store(&shim->wait_result, 0);
    atomic_store(&shim->fills_wrongly, 0);
    return 0;
}

/* The validation layer is there and sees a mistake that is made on purpose. */
TEST(validation_is_awake)
{
    struct hal_device *device = open_device("vulkan");
    struct hal_buffer *buffer = buffer_of(device, "target");
    struct hal_command_buffer *commands = list_of(device, "mistaken", HAL_ONE_SHOT);
    int64_t before = -1, after = -1;
    ok(hal_device_query(device, "vulkan.validation.messages", &before));
    assert_int_equal(before, 0);
    ok(hal_command_fill(commands, buffer, 0, 64, 7, 4));
    atomic_store(&shim->fills_wrongly, 1);
    fails(hal_command_buffer_end(commands), HAL_INVALID, "'mistaken'", "validation",
          "vkCmdFillBuffer", "VUID-");
    atomic_store(&shim->fills_wrongly, 0);
    ok(hal_device_query(device, "vulkan.validation.messages", &after));
    assert_true(after > before);
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

/* So does a race: a write and a read of the same bytes without a barrier. */
TEST(validation_sees_races)
{
    struct hal_device *device = open_device("vulkan");
    struct hal_buffer *buffer = buffer_of(device, "shared");
    struct hal_command_buffer *commands = list_of(device, "racing", HAL_ONE_SHOT);
    ok(hal_command_fill(commands, buffer, 0, 64, 7, 4));
    ok(hal_command_copy(commands, buffer, 0, buffer, 512, 64));
    fails(hal_command_buffer_end(commands), HAL_INVALID, "'racing'", "SYNC-HAZARD", "shared");
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

TEST(out_of_device_memory)
{
    struct hal_device *device = open_device("vulkan");
    const struct hal_buffer_desc desc = {.label = "weights", .bytes = 300 << 20};
    struct hal_buffer *buffer = NULL;
    atomic_store(&shim->allocate_result, OUT_OF_DEVICE_MEMORY);
    fails(hal_buffer_create(device, &desc, &buffer), HAL_NO_MEMORY, "'weights'", "314572800",
          "memory");
    assert_null(buffer);
    atomic_store(&shim->allocate_result, 0);
    ok(hal_buffer_create(device, &desc, &buffer));
    hal_buffer_release(buffer);
    hal_device_release(device);
}

struct work {
    struct hal_buffer *buffer;
    struct hal_executable *increment;
    struct hal_command_buffer *commands;
    struct hal_semaphore *done;
};

static void make_work(struct hal_device *device, const char *label, struct work *work)
{
    work->buffer = buffer_of(device, "x");
    work->increment = increment_of(device);
    work->commands = list_of(device, label, HAL_REUSABLE);
    dispatch(work->commands, work->increment, work->buffer);
    ok(hal_command_buffer_end(work->commands));
    ok(hal_semaphore_create(device, "done", 0, &work->done));
}

static void drop_work(struct work *work)
{
    hal_semaphore_release(work->done);
    hal_command_buffer_release(work->commands);
    hal_executable_release(work->increment);
    hal_buffer_release(work->buffer);
}

/* The device is lost for good, and says so: later submissions are refused, and their semaphores
 * fail. */
static void stays_lost(struct hal_device *device, struct hal_semaphore *later, struct work *work)
{
    fails(hal_device_wait_idle(device, TIMEOUT_NS), HAL_DEVICE_LOST, "the device is lost");
    fails(submit(device, &work->commands, 1, later, 1), HAL_DEVICE_LOST, "submission 1",
          "the device is lost");
    fails(hal_semaphore_wait(later, 1, TIMEOUT_NS), HAL_DEVICE_LOST, "the device is lost");
    fails(hal_device_wait_idle(device, TIMEOUT_NS), HAL_DEVICE_LOST, "the device is lost");
    hal_semaphore_release(later);
}

/* A submission that the device refuses fails its semaphore. */
TEST(lost_when_submitted)
{
    struct hal_device *device = open_device("vulkan");
    struct hal_semaphore *later;
    struct work work;
    make_work(device, "decode", &work);
    ok(hal_semaphore_create(device, "later", 0, &later));
    atomic_store(&shim->submit_result, DEVICE_LOST);
    ok(submit(device, &work.commands, 1, work.done, 1));
    fails(hal_semaphore_wait(work.done, 1, TIMEOUT_NS), HAL_DEVICE_LOST, "'decode'", "submission",
          "the device is lost");
    atomic_store(&shim->submit_result, 0);
    stays_lost(device, later, &work);
    drop_work(&work);
    hal_device_release(device);
}

TEST(out_of_memory_when_submitted)
{
    struct hal_device *device = open_device("vulkan");
    struct work work;
    make_work(device, "large", &work);
    struct hal_command_buffer *const twice[2] = {work.commands, work.commands};
    atomic_store(&shim->submit_result, OUT_OF_DEVICE_MEMORY);
    ok(submit(device, twice, 2, work.done, 1));
    fails(hal_semaphore_wait(work.done, 1, TIMEOUT_NS), HAL_NO_MEMORY, "'large' and others",
          "out of device memory");
    atomic_store(&shim->submit_result, 0);
    drop_work(&work);
    hal_device_release(device);
}

TEST(lost_while_running)
{
    struct hal_device *device = open_device("vulkan");
    struct hal_semaphore *later;
    struct work work;
    make_work(device, "attention", &work);
    ok(hal_semaphore_create(device, "later", 0, &later));
    atomic_store(&shim->wait_result, DEVICE_LOST);
    ok(submit(device, &work.commands, 1, work.done, 1));
    fails(hal_semaphore_wait(work.done, 1, TIMEOUT_NS), HAL_DEVICE_LOST, "'attention'",
          "the device is lost", hal_device_get_info(device)->name);
    atomic_store(&shim->wait_result, 0);
    stays_lost(device, later, &work);
    drop_work(&work);
    hal_device_release(device);
}

/* Work that does not end: the device is given up, the process goes on, and so do others. */
TEST(work_without_an_end)
{
    struct hal_device *device = open_device("vulkan?watchdog=20ms");
    struct hal_device *other = open_device("vulkan");
    struct hal_semaphore *late;
    struct work work, fine;
    assert_non_null(strstr(hal_device_get_info(device)->uri, "watchdog=20ms"));
    make_work(device, "for ever", &work);
    make_work(other, "fine", &fine);
    ok(hal_semaphore_create(device, "late", 0, &late));
    atomic_store(&shim->wait_result, TIMEOUT);
    ok(submit(device, &work.commands, 1, work.done, 1));
    fails(hal_semaphore_wait(work.done, 1, TIMEOUT_NS), HAL_DEVICE_LOST, "'for ever'", "20.000 ms",
          "watchdog");
    atomic_store(&shim->wait_result, 0);
    fails(submit(device, &work.commands, 1, late, 1), HAL_DEVICE_LOST, "abandoned", "'for ever'");
    fails(hal_semaphore_wait(late, 1, TIMEOUT_NS), HAL_DEVICE_LOST, "abandoned", "'for ever'");
    fails(hal_device_wait_idle(device, TIMEOUT_NS), HAL_DEVICE_LOST, "abandoned", "'for ever'");
    ok(hal_buffer_write(fine.buffer, 0, (const uint32_t[N_WORDS]){0}, N_BYTES));
    ok(submit(other, &fine.commands, 1, fine.done, 1));
    ok(hal_semaphore_wait(fine.done, 1, TIMEOUT_NS));
    holds(fine.buffer, 1);
    drop_work(&fine);
    hal_device_release(other);
    hal_semaphore_release(late);
    drop_work(&work); /* the device has it still */
    hal_device_release(device);
}

TEST(wrong_watchdogs)
{
    static const char *const wrong[] = {"vulkan?watchdog=0", "vulkan?watchdog=-1",
                                        "vulkan?watchdog=25h", "vulkan?watchdog=86401",
                                        "vulkan?watchdog=99999999999999999999"};
    struct hal_device *device = open_device("vulkan?watchdog=86400s");
    hal_device_release(device);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        fails(hal_device_open(wrong[i], &device), HAL_INVALID, strchr(wrong[i], '?') + 1, "86400s");
}

static int load(void **state)
{
    (void)state;
    return vulkan_fixture_load();
}

TEST_FIXTURE(NULL, end);
TEST_SUITE_FIXTURE(load, NULL);
