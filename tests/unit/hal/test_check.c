/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/check/check.c: every rule for arguments is enforced, by name, value and limit. */
#include "hal/core/core.h"
#include "tests/support/hal_fixture.h"

#include <stdlib.h>

static struct hal_device *device, *other;
static struct hal_buffer *buffer, *foreign, *private_buffer, *local_buffer;
static struct hal_command_buffer *commands;
static struct hal_semaphore *semaphore;

static int set_up(void **state)
{
    (void)state;
    device = fixture_device("cpu?threads=1&queues=2");
    other = fixture_device("cpu?threads=1");
    buffer = fixture_buffer(device, "mine", 64);
    foreign = fixture_buffer(other, "theirs", 64);
    const struct hal_buffer_desc desc = {
        .label = "private", .bytes = 64, .memory = HAL_MEMORY_DEVICE_LOCAL};
    assert_ok(hal_buffer_create(device, &desc, &private_buffer));
    const struct hal_buffer_desc local = {
        .label = "local", .bytes = 64, .memory = HAL_MEMORY_DEVICE_LOCAL};
    assert_ok(hal_buffer_create(device, &local, &local_buffer));
    commands = fixture_commands(device, "list", HAL_ONE_SHOT);
    semaphore = fixture_semaphore(device, "sem", 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hal_semaphore_release(semaphore);
    hal_command_buffer_release(commands);
    hal_buffer_release(local_buffer);
    hal_buffer_release(private_buffer);
    hal_buffer_release(foreign);
    hal_buffer_release(buffer);
    hal_device_release(other);
    hal_device_release(device);
    return 0;
}

static enum hal_status create(uint64_t bytes, uint32_t memory, uint32_t usage)
{
    struct hal_buffer *created = NULL;
    const struct hal_buffer_desc desc = {
        .label = "new", .bytes = bytes, .memory = memory, .usage = usage};
    const enum hal_status status = hal_buffer_create(device, &desc, &created);
    hal_buffer_release(created);
    return status;
}

TEST(buffers)
{
    struct hal_buffer *created;
    const struct hal_buffer_desc desc = {.bytes = 1};
    assert_fails(hal_buffer_create(NULL, &desc, &created), HAL_INVALID, "device is NULL");
    assert_fails(hal_buffer_create(device, NULL, &created), HAL_INVALID, "description");
    assert_fails(create(0, 0, 0), HAL_INVALID, "buffer 'new' of 0 bytes");
    assert_fails(create(UINT64_MAX, 0, 0), HAL_NO_MEMORY,
                 "18446744073709551615 bytes (a negative number, -1?)");
    assert_fails(create(1, 16, 0), HAL_INVALID, "memory type 0x10 has unknown bits (known: 0xf)");
    assert_fails(create(1, 0, 8), HAL_INVALID, "usage 0x8 has unknown bits (known: 0x7)");
    assert_fails(create(1, HAL_MEMORY_DEVICE_LOCAL, HAL_USAGE_MAPPING), HAL_INVALID,
                 "not host-visible");
    assert_ok(create(1, HAL_MEMORY_HOST_CACHED, HAL_USAGE_MAPPING));
}

TEST(mappings)
{
    struct hal_mapping mapping;
    uint8_t byte = 0;
    assert_fails(hal_buffer_map(NULL, HAL_MAP_READ, 0, 1, &mapping), HAL_INVALID, "buffer is NULL");
    assert_fails(hal_buffer_map(buffer, HAL_MAP_READ, 0, 1, NULL), HAL_INVALID,
                 "buffer 'mine': the out-parameter");
    assert_fails(hal_buffer_map(buffer, HAL_MAP_READ, 60, 5, &mapping), HAL_INVALID,
                 "buffer 'mine' has 64 bytes: offset 60 + 5");
    assert_fails(hal_buffer_map(buffer, HAL_MAP_READ, 65, HAL_WHOLE_BUFFER, &mapping), HAL_INVALID,
                 "offset 65, to the end, is outside");
    assert_fails(hal_buffer_map(buffer, HAL_MAP_READ, 64, HAL_WHOLE_BUFFER, &mapping), HAL_INVALID,
                 "0 bytes of buffer 'mine'");
    assert_fails(hal_buffer_map(buffer, HAL_MAP_READ, 8, UINT64_MAX - 4, &mapping), HAL_INVALID,
                 "is outside");
    assert_fails(hal_buffer_map(buffer, 0, 0, 1, &mapping), HAL_INVALID, "neither reads nor");
    assert_fails(hal_buffer_map(buffer, 17, 0, 1, &mapping), HAL_INVALID, "mode 0x11");
    assert_fails(hal_buffer_map(buffer, HAL_MAP_READ | HAL_MAP_DISCARD, 0, 1, &mapping),
                 HAL_INVALID, "discards without writing");
    assert_fails(hal_buffer_map(private_buffer, HAL_MAP_READ, 0, 1, &mapping), HAL_INVALID,
                 "buffer 'private' was created with usage 0x3, which lacks 'mapping' (0x4)");
    assert_fails(hal_buffer_write(local_buffer, 0, &byte, 1), HAL_INVALID,
                 "ask for HAL_MEMORY_HOST_VISIBLE");
    assert_fails(hal_buffer_read(buffer, 64, &byte, 1), HAL_INVALID, "offset 64 + 1");
    assert_fails(hal_buffer_write(buffer, 0, NULL, 1), HAL_INVALID, "null pointer");
    assert_ok(hal_buffer_read(buffer, 64, NULL, 0));
    assert_ok(hal_buffer_map(buffer, HAL_MAP_READ, 10, 20, &mapping));
    assert_fails(hal_mapping_flush(&mapping, 15, 6), HAL_INVALID, "has 20 bytes: offset 15 + 6");
    assert_fails(hal_mapping_invalidate(&mapping, 21, 0), HAL_INVALID, "offset 21");
    assert_ok(hal_buffer_unmap(&mapping));
    assert_fails(hal_buffer_unmap(NULL), HAL_INVALID, "not open");
}

static enum hal_status compile(struct hal_executable_desc desc)
{
    struct hal_executable *executable = NULL;
    const enum hal_status status = hal_executable_create(device, &desc, &executable);
    hal_executable_release(executable);
    return status;
}

/* In whatever order; each index once, but for components. */
TEST(constants_are_told_apart)
{
    struct hal_entry_point entry = {.name = "k", .workgroup_size = {1, 1, 1}};
    struct hal_constant *const values = calloc(HAL_MAX_LIST + 1, sizeof *values);
    assert_non_null(values);
    for (uint32_t i = 0; i <= HAL_MAX_LIST; i++)
        values[i] = (struct hal_constant){HAL_MAX_LIST - i, HAL_CONSTANT_UINT32, i};
    struct hal_executable_desc desc = {.label = "exe",
                                       .format = HAL_FORMAT_METALLIB,
                                       .data = "x",
                                       .bytes = 1,
                                       .entry_points = &entry,
                                       .entry_point_count = 1,
                                       .constants = values,
                                       .constant_count = HAL_MAX_LIST};
    assert_int_equal(compile(desc), HAL_UNSUPPORTED); /* the device has its say */
    values[65000].index = values[65001].index;        /* a vector of two */
    assert_int_equal(compile(desc), HAL_UNSUPPORTED);
    values[65000].index = values[17].index;
    assert_fails(compile(desc), HAL_INVALID,
                 "executable 'exe', specialization constant 65519: several values");
    desc.constant_count = 65000;
    assert_int_equal(compile(desc), HAL_UNSUPPORTED);
    desc.constant_count = HAL_MAX_LIST + 1;
    assert_fails(
        compile(desc), HAL_INVALID,
        "executable 'exe' has 65537 values of specialization constants, the limit is 65536");
    free(values);
}

TEST(executables)
{
    const struct hal_entry_point entry = {.name = "k", .workgroup_size = {1, 1, 1}};
    struct hal_constant constant = {.index = 3, .type = HAL_CONSTANT_BOOL, .bits = 2};
    struct hal_executable_desc desc = {.label = "exe",
                                       .format = HAL_FORMAT_MSL,
                                       .data = "x",
                                       .bytes = 1,
                                       .entry_points = &entry,
                                       .entry_point_count = 1};
    struct hal_executable_desc bad = desc;
    bad.format = (enum hal_executable_format)9;
    assert_fails(compile(bad), HAL_INVALID, "executable 'exe': there is no format 9");
    bad = desc;
    bad.bytes = 0;
    assert_fails(compile(bad), HAL_INVALID, "has no data");
    bad = desc;
    bad.entry_point_count = 0;
    assert_fails(compile(bad), HAL_INVALID, "0 entry points");
    bad = desc;
    bad.constants = &constant;
    bad.constant_count = 1;
    assert_fails(compile(bad), HAL_INVALID, "constant 3: there is no value 0x2");
    constant.type = (enum hal_constant_type)13;
    assert_fails(compile(bad), HAL_INVALID, "of type 13");
    constant = (struct hal_constant){4, HAL_CONSTANT_INT8, 256};
    assert_fails(compile(bad), HAL_INVALID, "constant 4: there is no value 0x100 of type 5");
    constant = (struct hal_constant){4, HAL_CONSTANT_BFLOAT16, UINT64_C(0x10000)};
    assert_fails(compile(bad), HAL_INVALID, "no value 0x10000 of type 10");
    constant = (struct hal_constant){4, HAL_CONSTANT_UINT32, UINT64_C(1) << 32};
    assert_fails(compile(bad), HAL_INVALID, "no value 0x100000000 of type 3");
    struct hal_constant vector[5];
    for (size_t i = 0; i < 5; i++)
        vector[i] = (struct hal_constant){6, HAL_CONSTANT_FLOAT32, i};
    bad.constants = vector;
    bad.constant_count = 5;
    assert_fails(compile(bad), HAL_INVALID, "constant 6: several values");
    bad.constant_count = 4;
    vector[3].type = HAL_CONSTANT_UINT32;
    assert_fails(compile(bad), HAL_INVALID, "at most 4, consecutive and of one type");
    vector[1].index = vector[3].index = 7;
    vector[3].type = HAL_CONSTANT_FLOAT32;
    assert_fails(compile(bad), HAL_INVALID, "constant 6: several values");
    desc.format = HAL_FORMAT_METALLIB;
    assert_fails(compile(desc), HAL_UNSUPPORTED,
                 "'exe': the CPU driver runs MSL and SPIR-V, not metallib");
}

TEST(entry_points)
{
    struct hal_entry_point entry = {.name = "", .workgroup_size = {1, 1, 1}};
    const struct hal_executable_desc desc = {.label = "exe",
                                             .format = HAL_FORMAT_MSL,
                                             .data = "x",
                                             .bytes = 1,
                                             .entry_points = &entry,
                                             .entry_point_count = 1};
    assert_fails(compile(desc), HAL_INVALID, "entry point 0 has no name");
    entry.name = "k";
    entry.workgroup_size[1] = 0;
    assert_fails(compile(desc), HAL_INVALID, "size of 0 in dimension 1");
    entry.workgroup_size[1] = 1025;
    assert_fails(compile(desc), HAL_INVALID, "1025 in dimension 1 is not in 1 to 1024");
    entry.workgroup_size[1] = entry.workgroup_size[2] = 64;
    assert_fails(compile(desc), HAL_INVALID, "'k': 4096 threads per workgroup, the limit is 1024");
    entry.workgroup_size[1] = entry.workgroup_size[2] = 1;
    entry.constant_bytes = 6;
    assert_fails(compile(desc), HAL_INVALID, "6 bytes of constants");
    entry.constant_bytes = HAL_MAX_CONSTANT_BYTES + 4;
    assert_fails(compile(desc), HAL_INVALID, "4100 bytes of constants");
    entry.constant_bytes = 4;
    entry.constants_slot = 31;
    assert_fails(compile(desc), HAL_INVALID, "slot 31, the last is 30");
}

/* As on many a device with Vulkan. */
TEST(a_device_may_take_fewer_constants)
{
    const uint32_t most = device->info.max_constant_bytes, few = 128;
    const uint8_t data[132] = {0};
    struct hal_entry_point entry = {
        .name = "k", .workgroup_size = {1, 1, 1}, .constant_bytes = few + 4};
    const struct hal_executable_desc desc = {.label = "exe",
                                             .format = HAL_FORMAT_METALLIB,
                                             .data = "x",
                                             .bytes = 1,
                                             .entry_points = &entry,
                                             .entry_point_count = 1};
    struct hal_pipeline_layout_desc layout_desc = {.label = "P", .constant_bytes = few + 4};
    struct hal_pipeline_layout *layout;
    int64_t value;
    assert_int_equal(most, HAL_MAX_CONSTANT_BYTES);
    device->info.max_constant_bytes = few;
    assert_ok(hal_device_query(device, "constants.max.bytes", &value));
    assert_int_equal(value, few);
    assert_fails(
        compile(desc), HAL_INVALID,
        "executable 'exe', entry point 'k': 132 bytes of constants are not a multiple of 4 up "
        "to 128, the limit of device 'cpu?threads=1&queues=2'");
    entry.constant_bytes = few; /* goes on to the driver */
    assert_fails(compile(desc), HAL_UNSUPPORTED, "metallib");
    assert_fails(hal_pipeline_layout_create(device, &layout_desc, &layout), HAL_INVALID,
                 "pipeline layout 'P': 132 bytes of constants are not a multiple of 4 up to 128");
    layout_desc.constant_bytes = few;
    assert_ok(hal_pipeline_layout_create(device, &layout_desc, &layout));
    hal_pipeline_layout_release(layout);
    assert_fails(hal_command_push_constants(commands, 0, data, 132), HAL_INVALID,
                 "offset 0 + 132 is outside the 128 bytes of device");
    assert_fails(hal_command_push_constants(commands, 124, data, 8), HAL_INVALID, "124 + 8");
    assert_ok(hal_command_push_constants(commands, 124, data, 4));
    device->info.max_constant_bytes = most;
}

TEST(transfers)
{
    assert_fails(hal_command_fill(NULL, buffer, 0, 4, 0, 4), HAL_INVALID, "command buffer is NULL");
    assert_fails(hal_command_fill(commands, NULL, 0, 4, 0, 4), HAL_INVALID, "buffer is NULL");
    assert_fails(hal_command_fill(commands, foreign, 0, 4, 0, 4), HAL_INVALID,
                 "buffer 'theirs' belongs to another device than 'cpu?threads=1&queues=2'");
    assert_fails(hal_command_fill(commands, buffer, 64, 4, 0, 4), HAL_INVALID, "64 + 4");
    assert_fails(hal_command_fill(commands, buffer, 0, 4, 0, 3), HAL_INVALID, "3 bytes: 1, 2 and");
    assert_fails(hal_command_copy(commands, buffer, 60, private_buffer, 0, 5), HAL_INVALID, "60");
    assert_fails(hal_command_copy(commands, private_buffer, 0, buffer, 60, 5), HAL_INVALID, "60");
    assert_fails(hal_command_copy(commands, buffer, 0, buffer, 9, 10), HAL_INVALID,
                 "copy inside buffer 'mine': 10 bytes from offset 0 to 9 overlap");
    assert_fails(hal_command_copy(commands, buffer, 9, buffer, 0, 10), HAL_INVALID, "overlap");
    assert_ok(hal_command_copy(commands, buffer, 0, buffer, 10, 10));
    assert_fails(hal_command_update(commands, NULL, buffer, 0, 4), HAL_INVALID, "from NULL");
    struct hal_buffer *large = fixture_buffer(device, "large", HAL_MAX_UPDATE_BYTES + 1);
    assert_fails(hal_command_update(commands, "", large, 0, HAL_MAX_UPDATE_BYTES + 1), HAL_INVALID,
                 "65537 bytes: the limit is 65536");
    hal_buffer_release(large);
    struct hal_buffer *bound;
    const struct hal_buffer_desc desc = {
        .label = "bound", .bytes = 64, .usage = HAL_USAGE_DISPATCH};
    assert_ok(hal_buffer_create(device, &desc, &bound));
    assert_fails(hal_command_fill(commands, bound, 0, 4, 0, 4), HAL_INVALID, "lacks 'transfer'");
    hal_buffer_release(bound);
}

TEST(barriers)
{
    struct hal_buffer_barrier range = {.buffer = buffer, .offset = 64, .bytes = 1};
    struct hal_barrier_desc desc = {.source_stages = 8};
    assert_fails(hal_command_barrier(commands, &desc), HAL_INVALID,
                 "barrier in command buffer 'list': stages 0x8");
    desc = (struct hal_barrier_desc){.target_access = 4};
    assert_fails(hal_command_barrier(commands, &desc), HAL_INVALID, "accesses 0x4");
    desc = (struct hal_barrier_desc){.buffers = &range, .buffer_count = 1};
    assert_fails(hal_command_barrier(commands, &desc), HAL_INVALID, "64 + 1");
    range.buffer = NULL;
    assert_fails(hal_command_barrier(commands, &desc), HAL_INVALID, "buffer is NULL");
    desc.buffers = NULL;
    assert_fails(hal_command_barrier(commands, &desc), HAL_INVALID, "1 buffer at NULL");
}

TEST(bindings_and_constants)
{
    struct hal_binding bindings[HAL_MAX_BINDINGS + 1] = {{buffer, 0, 4}};
    assert_fails(hal_command_push_descriptor_set(commands, 4, bindings, 1), HAL_INVALID,
                 "set 4: the last is 3");
    assert_fails(hal_command_push_descriptor_set(commands, 0, bindings, HAL_MAX_BINDINGS + 1),
                 HAL_INVALID, "32 bindings: the limit is 31");
    assert_fails(hal_command_push_descriptor_set(commands, 0, NULL, 1), HAL_INVALID, "at NULL");
    bindings[1] = (struct hal_binding){buffer, 64, HAL_WHOLE_BUFFER};
    assert_fails(hal_command_push_descriptor_set(commands, 3, bindings, 2), HAL_INVALID,
                 "descriptor set 3, binding 1: 0 bytes of buffer 'mine'");
    bindings[1] = (struct hal_binding){foreign, 0, 4};
    assert_fails(hal_command_push_descriptor_set(commands, 0, bindings, 2), HAL_INVALID, "theirs");
    assert_fails(hal_command_push_constants(commands, 2, bindings, 4), HAL_INVALID,
                 "offset 2 and size 4");
    assert_fails(hal_command_push_constants(commands, 0, bindings, 6), HAL_INVALID, "size 6");
    assert_fails(hal_command_push_constants(commands, 4092, bindings, 8), HAL_INVALID,
                 "offset 4092 + 8 is outside the 4096");
    assert_fails(hal_command_push_constants(commands, 4294967292U, bindings, 8), HAL_INVALID,
                 "outside");
    assert_fails(hal_command_push_constants(commands, 0, NULL, 4), HAL_INVALID, "from NULL");
    assert_fails(hal_command_dispatch(commands, NULL, 0, (uint32_t[3]){1, 1, 1}), HAL_INVALID,
                 "executable is NULL");
}

static enum hal_status submit(struct hal_submit_desc desc)
{
    return hal_queue_submit(device, &desc);
}

/* What a call may list is what a trace holds: 65536. */
TEST(long_lists)
{
    enum { MANY = 65537 };
    struct hal_semaphore_value *values = malloc(MANY * sizeof *values);
    struct hal_buffer_barrier *ranges = malloc(MANY * sizeof *ranges);
    struct hal_command_buffer **lists = calloc(MANY, sizeof(struct hal_command_buffer *));
    for (unsigned i = 0; i < MANY; i++) {
        values[i] = (struct hal_semaphore_value){semaphore, 0};
        ranges[i] = (struct hal_buffer_barrier){.buffer = buffer, .bytes = 1};
    }
    struct hal_barrier_desc barrier = {.buffers = ranges, .buffer_count = MANY};
    assert_fails(hal_command_barrier(commands, &barrier), HAL_INVALID, "65537 buffers: the limit");
    barrier.buffer_count--;
    assert_ok(hal_command_barrier(commands, &barrier));
    assert_fails(hal_semaphores_wait(device, HAL_WAIT_ALL, values, MANY, 0), HAL_INVALID,
                 "65537 semaphore values to wait: the limit is 65536");
    assert_ok(hal_semaphores_wait(device, HAL_WAIT_ALL, values, MANY - 1, 0));
    assert_fails(submit((struct hal_submit_desc){.waits = values, .wait_count = MANY}), HAL_INVALID,
                 "65537 semaphore values to wait");
    assert_fails(submit((struct hal_submit_desc){.signals = values, .signal_count = MANY}),
                 HAL_INVALID, "65537 semaphore values to signal");
    assert_fails(submit((struct hal_submit_desc){.commands = lists, .command_count = MANY}),
                 HAL_INVALID, "65537 command buffers in one submission: the limit is 65536");
    free(values);
    free(ranges);
    free((void *)lists);
}

TEST(submissions)
{
    struct hal_command_buffer *nothing = NULL;
    struct hal_semaphore *strange = fixture_semaphore(other, "strange", 0);
    struct hal_semaphore_value value = {semaphore, UINT64_MAX};
    assert_fails(hal_queue_submit(device, NULL), HAL_INVALID, "description");
    assert_fails(submit((struct hal_submit_desc){.queues = 4}), HAL_INVALID,
                 "affinity 0x4: device 'cpu?threads=1&queues=2' has 2 queues");
    assert_fails(submit((struct hal_submit_desc){.queues = 5}), HAL_INVALID, "0x5");
    assert_ok(submit((struct hal_submit_desc){.queues = 3}));
    assert_fails(submit((struct hal_submit_desc){.waits = &value, .wait_count = 1}), HAL_INVALID,
                 "semaphore 'sem': the value 2^64-1 is reserved");
    assert_fails(submit((struct hal_submit_desc){.signals = &value, .signal_count = 1}),
                 HAL_INVALID, "reserved");
    value = (struct hal_semaphore_value){strange, 1};
    assert_ok(submit((struct hal_submit_desc){.waits = &value, .wait_count = 1})); /* is shared */
    assert_ok(hal_semaphore_signal(strange, 1));
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    value.semaphore = NULL;
    assert_fails(submit((struct hal_submit_desc){.signals = &value, .signal_count = 1}),
                 HAL_INVALID, "semaphore is NULL");
    assert_fails(submit((struct hal_submit_desc){.wait_count = 1}), HAL_INVALID, "at NULL");
    assert_fails(submit((struct hal_submit_desc){.command_count = 1}), HAL_INVALID, "at NULL");
    assert_fails(submit((struct hal_submit_desc){.commands = &nothing, .command_count = 1}),
                 HAL_INVALID, "command buffer is NULL");
    assert_fails(submit((struct hal_submit_desc){.commands = &commands, .command_count = 1}),
                 HAL_INVALID, "command buffer 'list' has not been ended");
    hal_semaphore_release(strange);
}

TEST(null_is_released_by_doing_nothing)
{
    uint64_t value;
    hal_device_retain(NULL);
    hal_device_release(NULL);
    hal_buffer_release(NULL);
    hal_executable_release(NULL);
    hal_command_buffer_release(NULL);
    hal_semaphore_release(NULL);
    hal_semaphore_fail(NULL, HAL_FAILED, "nobody");
    assert_fails(hal_semaphore_query(NULL, &value), HAL_INVALID, "semaphore is NULL");
    assert_fails(hal_semaphore_wait(NULL, 1, 0), HAL_INVALID, "semaphore is NULL");
    assert_fails(hal_device_wait_idle(NULL, 0), HAL_INVALID, "device is NULL");
    assert_fails(hal_device_query(device, NULL, NULL), HAL_INVALID, "needs a key");
}

TEST_SUITE_FIXTURE(set_up, tear_down);
