/* SPDX-License-Identifier: Apache-2.0 */
/* What the Vulkan driver asks of the device between commands: as much as the application did, and
 * no more. The numbers of masks are those of the Vulkan specification. */
#include "tests/unit/vulkan/vulkan_fixture.h"

enum { /* VkPipelineStageFlagBits, VkAccessFlagBits */
       COMPUTE = 0x800,
       TRANSFER = 0x1000,
       HOST = 0x4000,
       UNIFORM_READ = 0x8,
       SHADER_READ = 0x20,
       SHADER_WRITE = 0x40,
       TRANSFER_READ = 0x800,
       TRANSFER_WRITE = 0x1000,
       HOST_READ = 0x2000,
       HOST_WRITE = 0x4000,
       MEMORY_WRITE = 0x10000,
};

struct rig {
    struct hal_device *device;
    struct hal_executable *increment;
    struct hal_buffer *a, *b;
    struct hal_semaphore *done;
};

static void set_up(struct rig *rig)
{
    rig->device = open_device("vulkan");
    rig->increment = increment_of(rig->device);
    rig->a = buffer_of(rig->device, "a");
    rig->b = buffer_of(rig->device, "b");
    ok(hal_semaphore_create(rig->device, "done", 0, &rig->done));
    atomic_store(&shim->barriers, 0);
    atomic_store(&shim->signals, 0);
    atomic_store(&shim->waits, 0);
    atomic_store(&shim->resets, 0);
}

static void tear_down(struct rig *rig)
{
    int64_t messages = -1;
    ok(hal_device_query(rig->device, "vulkan.validation.messages", &messages));
    assert_int_equal(messages, 0);
    hal_semaphore_release(rig->done);
    hal_buffer_release(rig->a);
    hal_buffer_release(rig->b);
    hal_executable_release(rig->increment);
    hal_device_release(rig->device);
}

static void run(struct rig *rig, struct hal_command_buffer *commands, uint64_t value)
{
    ok(submit(rig->device, &commands, 1, rig->done, value));
    ok(hal_semaphore_wait(rig->done, value, TIMEOUT_NS));
}

static void assert_barrier(size_t i, struct vulkan_shim_barrier wanted)
{
    const struct vulkan_shim_barrier *got = &shim->list[i];
    assert_int_equal(got->source_stages, wanted.source_stages);
    assert_int_equal(got->target_stages, wanted.target_stages);
    assert_int_equal(got->memory_count, wanted.memory_count);
    assert_int_equal(got->buffer_count, wanted.buffer_count);
    assert_int_equal(got->source_access, wanted.source_access);
    assert_int_equal(got->target_access, wanted.target_access);
    assert_int_equal(got->offset, wanted.offset);
    assert_int_equal(got->bytes, wanted.bytes);
}

/* Two barriers of the application's are two of Vulkan's, with their stages and accesses alone. */
TEST(each_barrier_is_one)
{
    struct rig rig;
    set_up(&rig);
    struct hal_command_buffer *commands = list_of(rig.device, "two", HAL_ONE_SHOT);
    const struct hal_buffer_barrier part = {.buffer = rig.b,
                                            .offset = 64,
                                            .bytes = 128,
                                            .source_access = HAL_ACCESS_WRITE,
                                            .target_access = HAL_ACCESS_READ | HAL_ACCESS_WRITE};
    ok(hal_command_fill(commands, rig.a, 0, N_BYTES, 7, 4));
    ok(hal_command_fill(commands, rig.b, 0, N_BYTES, 0, 4));
    ok(hal_command_barrier(
        commands, &(struct hal_barrier_desc){.source_stages = HAL_STAGE_TRANSFER,
                                             .target_stages = HAL_STAGE_DISPATCH,
                                             .source_access = HAL_ACCESS_WRITE,
                                             .target_access = HAL_ACCESS_READ | HAL_ACCESS_WRITE}));
    dispatch(commands, rig.increment, rig.a);
    dispatch(commands, rig.increment, rig.b);
    ok(hal_command_barrier(commands, &(struct hal_barrier_desc){.source_stages = HAL_STAGE_DISPATCH,
                                                                .target_stages = HAL_STAGE_TRANSFER,
                                                                .buffers = &part,
                                                                .buffer_count = 1}));
    ok(hal_command_copy(commands, rig.b, 64, rig.b, 128, 64));
    ok(hal_command_buffer_end(commands));
    assert_int_equal(shim->barriers, 2);
    assert_barrier(0,
                   (struct vulkan_shim_barrier){TRANSFER, COMPUTE, 1, 0, TRANSFER_WRITE,
                                                SHADER_READ | UNIFORM_READ | SHADER_WRITE, 0, 0});
    assert_barrier(1, (struct vulkan_shim_barrier){COMPUTE, TRANSFER, 0, 1, SHADER_WRITE,
                                                   TRANSFER_READ | TRANSFER_WRITE, 64, 128});
    run(&rig, commands, 1);
    holds(rig.a, 8);
    holds(rig.b, 1);
    hal_command_buffer_release(commands);
    tear_down(&rig);
}

/* Commands without barriers have none, however many they are. */
TEST(none_is_none)
{
    struct rig rig;
    set_up(&rig);
    struct hal_command_buffer *commands = list_of(rig.device, "none", HAL_ONE_SHOT);
    for (uint64_t i = 0; i < N_BYTES; i += 64)
        ok(hal_command_fill(commands, rig.a, i + 1, 61, 7, 1)); /* odd ends are copies */
    dispatch(commands, rig.increment, rig.b);
    ok(hal_command_buffer_end(commands));
    assert_int_equal(shim->barriers, 0);
    assert_int_equal(shim->waits, 0);
    hal_command_buffer_release(commands);
    tear_down(&rig);
}

/* A signal and its wait: no barrier; what stands between them is free. A list that runs again puts
 * its events back. */
TEST(events_are_events)
{
    struct rig rig;
    set_up(&rig);
    struct hal_event *event;
    struct hal_command_buffer *commands = list_of(rig.device, "split", HAL_REUSABLE);
    ok(hal_event_create(rig.device, "written", &event));
    dispatch(commands, rig.increment, rig.a);
    ok(hal_command_event_signal(commands, event, HAL_STAGE_DISPATCH));
    dispatch(commands, rig.increment, rig.b);
    ok(hal_command_events_wait(commands, &event, 1, NULL));
    dispatch(commands, rig.increment, rig.a);
    ok(hal_command_event_reset(commands, event));
    ok(hal_command_event_signal(commands, event, 0));
    ok(hal_command_events_wait(commands, &event, 1, NULL));
    dispatch(commands, rig.increment, rig.a);
    ok(hal_command_buffer_end(commands));
    assert_int_equal(shim->signals, 2);
    assert_int_equal(shim->waits, 2);
    assert_int_equal(shim->resets, 2);
    assert_int_equal(shim->barriers, 1); /* before the resets */
    ok(hal_buffer_write(rig.a, 0, (const uint32_t[N_WORDS]){0}, N_BYTES));
    ok(hal_buffer_write(rig.b, 0, (const uint32_t[N_WORDS]){0}, N_BYTES));
    struct hal_command_buffer *const thrice[3] = {commands, commands, commands};
    ok(submit(rig.device, thrice, 3, rig.done, 1));
    ok(submit(rig.device, thrice, 2, rig.done, 2));
    ok(hal_semaphore_wait(rig.done, 2, TIMEOUT_NS));
    holds(rig.a, 15);
    holds(rig.b, 5);
    hal_event_release(event);
    hal_command_buffer_release(commands);
    tear_down(&rig);
}

/* Before and after a submission, and one barrier between each two lists of it. */
TEST(lists_stand_apart_once)
{
    struct rig rig;
    set_up(&rig);
    struct hal_command_buffer *commands[3];
    for (int i = 0; i < 3; i++) {
        commands[i] = list_of(rig.device, "one of three", HAL_ONE_SHOT);
        dispatch(commands[i], rig.increment, rig.a);
        ok(hal_command_buffer_end(commands[i]));
    }
    ok(hal_buffer_write(rig.a, 0, (const uint32_t[N_WORDS]){0}, N_BYTES));
    ok(submit(rig.device, commands, 3, rig.done, 1));
    ok(hal_semaphore_wait(rig.done, 1, TIMEOUT_NS));
    assert_int_equal(shim->last_command_buffers, 1 + 3 + 2 + 1);
    assert_barrier(0, (struct vulkan_shim_barrier){COMPUTE | TRANSFER, HOST, 1, 0, MEMORY_WRITE,
                                                   HOST_READ | HOST_WRITE, 0, 0}); /* at its end */
    holds(rig.a, 3);
    for (int i = 0; i < 3; i++)
        hal_command_buffer_release(commands[i]);
    tear_down(&rig);
}

/* A list that may run again is recorded for the device when it is ended, and never after. */
TEST(lists_are_recorded_once)
{
    struct rig rig;
    set_up(&rig);
    struct hal_command_buffer *commands = list_of(rig.device, "again", HAL_REUSABLE);
    atomic_store(&shim->dispatches, 0);
    dispatch(commands, rig.increment, rig.a);
    ok(hal_command_buffer_end(commands));
    assert_int_equal(shim->dispatches, 1);
    ok(hal_buffer_write(rig.a, 0, (const uint32_t[N_WORDS]){0}, N_BYTES));
    for (uint64_t i = 1; i <= 3; i++)
        run(&rig, commands, i);
    holds(rig.a, 3);
    assert_int_equal(shim->dispatches, 1);
    hal_command_buffer_release(commands);
    tear_down(&rig);
}

/* Work that waits for work of the device is submitted at once: the device waits, on another queue
 * and on the same one. */
TEST(the_device_waits)
{
    for (uint64_t queue = 0; queue < 2; queue++) {
        struct hal_device *device = open_device("vulkan?queues=2");
        struct hal_executable *increment = increment_of(device);
        struct hal_buffer *buffer = buffer_of(device, "x");
        struct hal_command_buffer *commands = list_of(device, "again", HAL_REUSABLE);
        struct hal_semaphore *order;
        dispatch(commands, increment, buffer);
        ok(hal_command_buffer_end(commands));
        ok(hal_buffer_write(buffer, 0, (const uint32_t[N_WORDS]){0}, N_BYTES));
        ok(hal_semaphore_create(device, "order", 0, &order));
        const unsigned before = atomic_load(&shim->submissions);
        for (uint64_t i = 1; i <= 2; i++) {
            const struct hal_semaphore_value wait = {order, i}, signal = {order, i + 1};
            ok(hal_queue_submit(device,
                                &(struct hal_submit_desc){.queues = i == 1 ? 1 : 1U << queue,
                                                          .waits = &wait,
                                                          .wait_count = 1,
                                                          .signals = &signal,
                                                          .signal_count = 1,
                                                          .commands = &commands,
                                                          .command_count = 1}));
        }
        assert_int_equal(shim->submissions, before);
        atomic_store(&shim->holds_ends, true); /* what is known to have ended is not waited for */
        ok(hal_semaphore_signal(order, 1));    /* submits both */
        const unsigned submitted = shim->submissions - before, waits = shim->last_waits;
        atomic_store(&shim->holds_ends, false);
        assert_int_equal(submitted, 2);
        assert_int_equal(waits, 1);
        ok(hal_semaphore_wait(order, 3, TIMEOUT_NS));
        holds(buffer, 2);
        hal_semaphore_release(order);
        hal_command_buffer_release(commands);
        hal_buffer_release(buffer);
        hal_executable_release(increment);
        hal_device_release(device);
    }
}

/* How many of two submissions of the list are with the device before one is known to have ended. */
static unsigned at_once(struct rig *rig, struct hal_command_buffer *commands, uint64_t value)
{
    const unsigned before = atomic_load(&shim->submissions);
    atomic_store(&shim->holds_ends, true);
    ok(submit(rig->device, &commands, 1, rig->done, value));
    ok(submit(rig->device, &commands, 1, rig->done, value + 1));
    const unsigned count = atomic_load(&shim->submissions) - before;
    atomic_store(&shim->holds_ends, false);
    ok(hal_semaphore_wait(rig->done, value + 1, TIMEOUT_NS));
    return count;
}

/* What the device leaves for the host with each run, counts that it refused, is read before the
 * next run; and events are put back. Other lists may run as often as they like. */
TEST(some_lists_run_once_at_a_time)
{
    struct rig rig;
    struct hal_event *event;
    struct hal_command_buffer *commands[3];
    set_up(&rig);
    ok(hal_event_create(rig.device, "written", &event));
    ok(hal_buffer_write(rig.a, 0, (const uint32_t[N_WORDS]){0}, N_BYTES));
    ok(hal_buffer_write(rig.b, 0, (const uint32_t[3]){N_WORDS / 64, 1, 1}, 12));
    for (int i = 0; i < 3; i++) {
        commands[i] = list_of(rig.device, "again", HAL_REUSABLE);
        dispatch(commands[i], rig.increment, rig.a);
    }
    ok(hal_command_barrier(commands[1], NULL));
    ok(hal_command_dispatch_indirect(commands[1], rig.increment, 0, rig.b, 0));
    ok(hal_command_event_signal(commands[2], event, HAL_STAGE_DISPATCH));
    ok(hal_command_events_wait(commands[2], &event, 1, NULL));
    for (int i = 0; i < 3; i++)
        ok(hal_command_buffer_end(commands[i]));
    assert_int_equal(at_once(&rig, commands[0], 1), 2);
    assert_int_equal(at_once(&rig, commands[1], 3), 1);
    assert_int_equal(at_once(&rig, commands[2], 5), 1);
    holds(rig.a, 2 + 4 + 2);
    for (int i = 0; i < 3; i++)
        hal_command_buffer_release(commands[i]);
    hal_event_release(event);
    tear_down(&rig);
}

static int load(void **state)
{
    (void)state;
    return vulkan_fixture_load();
}

TEST_SUITE_FIXTURE(load, NULL);
