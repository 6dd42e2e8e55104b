/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/sized.c: programs that were compiled with shorter and with longer structs than
 * this library has, as the entry points of hal/hal.h meet them. */
#include "tests/support/hal_fixture.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A struct as a later version has it. */
struct later_buffer_desc {
    struct hal_buffer_desc now;
    uint64_t more[3];
};

struct later_executable_desc {
    struct hal_executable_desc now;
    uint64_t more[5];
};

struct later_statistics {
    struct hal_memory_statistics now;
    uint64_t more[2];
};

TEST(numbers_of_versions_agree)
{
    unsigned major, minor, patch;
    assert_int_equal(sscanf(HAL_VERSION_STRING, "%u.%u.%u", &major, &minor, &patch), 3);
    assert_int_equal(major, HAL_VERSION_MAJOR);
    assert_int_equal(minor, HAL_VERSION_MINOR);
    assert_int_equal(patch, HAL_VERSION_PATCH);
    assert_int_equal(hal_version(), major * 1000000 + minor * 1000 + patch);
    assert_true(HAL_MAKE_VERSION(1, 0, 0) > HAL_MAKE_VERSION(0, 999, 999));
}

/* What lies behind the members that the program knows is not looked at. */
TEST(a_shorter_description_means_the_default_for_the_rest)
{
    struct hal_buffer *buffer;
    struct hal_device *device = fixture_device("cpu");
    struct hal_buffer_desc desc = {.struct_size = offsetof(struct hal_buffer_desc, memory),
                                   .label = "early",
                                   .bytes = 64,
                                   .memory = UINT32_MAX,
                                   .usage = UINT32_MAX};
    assert_ok(hal_buffer_create(device, &desc, &buffer));
    assert_int_equal(hal_buffer_bytes(buffer), 64);
    hal_buffer_release(buffer);
    desc.struct_size = sizeof desc;
    assert_fails(hal_buffer_create(device, &desc, &buffer), HAL_INVALID, "early");
    hal_device_release(device);
}

TEST(a_longer_description_may_not_use_what_is_not_known)
{
    struct hal_buffer *buffer;
    struct hal_device *device = fixture_device("cpu");
    struct later_buffer_desc desc = {
        .now = {.struct_size = sizeof desc, .label = "late", .bytes = 64}};
    assert_ok(hal_buffer_create(device, &desc.now, &buffer));
    hal_buffer_release(buffer);
    desc.more[2] = 1;
    assert_fails(hal_buffer_create(device, &desc.now, &buffer), HAL_INVALID,
                 "hal_buffer_desc: the program uses its byte");
    hal_device_release(device);
}

/* Sizes that no struct has: what an uninitialised one holds. */
TEST(what_was_not_initialised_is_refused)
{
    static const size_t sizes[] = {1, 7, 12, 8192, SIZE_MAX, (size_t)0x7ffd12345678};
    struct hal_buffer *buffer;
    struct hal_device *device = fixture_device("cpu");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct hal_buffer_desc desc = {.struct_size = sizes[i], .bytes = 64};
        struct hal_memory_statistics statistics = {.struct_size = sizes[i]};
        assert_fails(hal_buffer_create(device, &desc, &buffer), HAL_INVALID, "struct_size is");
        assert_fails(hal_device_memory_statistics(device, &statistics), HAL_INVALID,
                     "hal_memory_statistics: struct_size is");
    }
    hal_device_release(device);
}

/* Every description that an entry point takes is looked at: a list of the header's own. */
enum { WRONG = 4097 };
#define REFUSED(call, type) assert_fails(call, HAL_INVALID, type ": struct_size is 4097")

TEST(all_queue_operations_look_at_the_size)
{
    struct hal_device *device = fixture_device("cpu");
    struct hal_buffer *made, *x = fixture_buffer(device, "x", 64);
    struct hal_file *file;
    const struct hal_submit_desc submit = {.struct_size = WRONG};
    const struct hal_buffer_desc buffer = {.struct_size = WRONG, .bytes = 64};
    assert_ok(hal_file_open("/proc/self/exe", HAL_FILE_READ, &file));
    REFUSED(hal_queue_alloca(device, NULL, &buffer, &made), "hal_buffer_desc");
    REFUSED(hal_queue_submit(device, &submit), "hal_submit_desc");
    REFUSED(hal_queue_fill(device, &submit, x, 0, 4, 0, 1), "hal_submit_desc");
    REFUSED(hal_queue_copy(device, &submit, x, 0, x, 8, 4), "hal_submit_desc");
    REFUSED(hal_queue_update(device, &submit, "abcd", x, 0, 4), "hal_submit_desc");
    REFUSED(hal_queue_barrier(device, &submit), "hal_submit_desc");
    REFUSED(hal_queue_dispatch(device, &submit, &(struct hal_dispatch_desc){0}), "hal_submit_desc");
    REFUSED(hal_queue_alloca(device, &submit, &(struct hal_buffer_desc){.bytes = 4}, &made),
            "hal_submit_desc");
    REFUSED(hal_queue_dealloca(device, &submit, x), "hal_submit_desc");
    REFUSED(hal_queue_read(device, &submit, file, 0, x, 0, 4), "hal_submit_desc");
    REFUSED(hal_queue_write(device, &submit, x, 0, file, 0, 4), "hal_submit_desc");
    REFUSED(hal_queue_collective(device, &submit, &(struct hal_collective_desc){0}),
            "hal_submit_desc");
    REFUSED(hal_queue_collective(device, NULL, &(struct hal_collective_desc){.struct_size = WRONG}),
            "hal_collective_desc");
    REFUSED(hal_queue_dispatch(device, NULL, &(struct hal_dispatch_desc){.struct_size = WRONG}),
            "hal_dispatch_desc");
    hal_file_release(file);
    hal_buffer_release(x);
    hal_device_release(device);
}

TEST(all_other_entry_points_look_at_the_size)
{
    struct hal_device *device = fixture_device("cpu");
    struct hal_command_buffer *commands = fixture_commands(device, "list", HAL_ONE_SHOT), *other;
    struct hal_buffer *made;
    struct hal_event *event;
    struct hal_executable *executable;
    struct hal_executable_cache *cache;
    struct hal_set_layout *sets;
    struct hal_pipeline_layout *layout;
    struct hal_channel *channel;
    const struct hal_barrier_desc barrier = {.struct_size = WRONG};
    const struct hal_buffer_desc buffer = {.struct_size = WRONG, .bytes = 64};
    const struct hal_executable_desc kernels = {.struct_size = WRONG};
    _Alignas(4096) static uint8_t memory[4096];
    assert_ok(hal_event_create(device, NULL, &event));
    assert_ok(hal_executable_cache_create(device, NULL, &cache));
    REFUSED(hal_buffer_create(device, &buffer, &made), "hal_buffer_desc");
    REFUSED(hal_buffer_import(device, &buffer, memory, NULL, NULL, &made), "hal_buffer_desc");
    REFUSED(hal_command_barrier(commands, &barrier), "hal_barrier_desc");
    REFUSED(hal_command_events_wait(commands, &event, 1, &barrier), "hal_barrier_desc");
    REFUSED(hal_command_buffer_create(
                device, &(struct hal_command_buffer_desc){.struct_size = WRONG}, &other),
            "hal_command_buffer_desc");
    REFUSED(hal_command_push_set(commands, &(struct hal_push_set_desc){.struct_size = WRONG}),
            "hal_push_set_desc");
    REFUSED(
        hal_set_layout_create(device, &(struct hal_set_layout_desc){.struct_size = WRONG}, &sets),
        "hal_set_layout_desc");
    REFUSED(hal_pipeline_layout_create(
                device, &(struct hal_pipeline_layout_desc){.struct_size = WRONG}, &layout),
            "hal_pipeline_layout_desc");
    REFUSED(
        hal_channel_create(&device, 1, &(struct hal_channel_desc){.struct_size = WRONG}, &channel),
        "hal_channel_desc");
    REFUSED(hal_executable_create(device, &kernels, &executable), "hal_executable_desc");
    REFUSED(hal_executable_cache_prepare(cache, &kernels, 1, NULL, &executable, NULL),
            "hal_executable_desc");
    REFUSED(hal_executable_cache_compile(cache, &kernels, 1, NULL, NULL), "hal_executable_desc");
    REFUSED(hal_executable_cache_compile(cache, &(struct hal_executable_desc){0}, 1,
                                         &(struct hal_prepare_options){.struct_size = WRONG}, NULL),
            "hal_prepare_options");
    REFUSED(hal_executable_cache_create(
                device, &(struct hal_executable_cache_desc){.struct_size = WRONG}, &cache),
            "hal_executable_cache_desc");
    REFUSED(hal_device_profiling_begin(device,
                                       &(struct hal_profiling_options){.struct_size = WRONG}, 0),
            "hal_profiling_options");
    hal_executable_cache_release(cache);
    hal_event_release(event);
    hal_command_buffer_release(commands);
    hal_device_release(device);
}
#undef REFUSED

/* Members that the program does not know are not written, and those that nobody knows are zero. */
TEST(what_is_filled_in_has_the_size_of_the_program)
{
    struct hal_device *device = fixture_device("cpu");
    struct hal_buffer *x = fixture_buffer(device, "x", 64);
    struct hal_memory_statistics whole = {0}, shorter;
    struct later_statistics later;
    memset(&shorter, 0xEE, sizeof shorter);
    memset(&later, 0xEE, sizeof later);
    shorter.struct_size = offsetof(struct hal_memory_statistics, by_type);
    later.now.struct_size = sizeof later;
    assert_ok(hal_device_memory_statistics(device, &whole));
    assert_ok(hal_device_memory_statistics(device, &shorter));
    assert_ok(hal_device_memory_statistics(device, &later.now));
    assert_int_equal(whole.total.current_bytes, 64);
    assert_int_equal(whole.struct_size, 0);
    assert_memory_equal(&shorter.total, &whole.total, sizeof whole.total);
    for (size_t i = offsetof(struct hal_memory_statistics, by_type); i < sizeof shorter; i++)
        assert_int_equal(((const uint8_t *)&shorter)[i], 0xEE);
    assert_int_equal(later.now.struct_size, sizeof later);
    assert_memory_equal(&later.now.total, &whole.total,
                        sizeof whole - offsetof(struct hal_memory_statistics, total));
    assert_int_equal(later.more[0] | later.more[1], 0);
    hal_buffer_release(x);
    hal_device_release(device);
}

/* A list of longer descriptions is walked in steps of theirs. */
TEST(lists_of_longer_descriptions_are_walked)
{
    static const char source[] = "kernel void f(device uint *x [[buffer(0)]]) { x[0] = 1; }";
    static const struct hal_entry_point entry = {.name = "f", .workgroup_size = {1, 1, 1}};
    enum { COUNT = 3 };
    struct hal_device *device = fixture_device("cpu");
    struct hal_executable_cache *cache;
    struct hal_executable *made[COUNT];
    struct later_executable_desc descs[COUNT];
    fixture_need_compiler(device);
    assert_ok(hal_executable_cache_create(device, NULL, &cache));
    for (size_t i = 0; i < COUNT; i++)
        descs[i] = (struct later_executable_desc){.now = {.struct_size = sizeof descs[i],
                                                          .label = i == 1 ? "second" : "other",
                                                          .data = source,
                                                          .bytes = sizeof source - 1,
                                                          .entry_points = &entry,
                                                          .entry_point_count = 1}};
    assert_ok(hal_executable_cache_prepare(cache, &descs[0].now, COUNT, NULL, made, NULL));
    for (size_t i = 0; i < COUNT; i++) {
        struct hal_executable_info info = {0};
        assert_ok(hal_executable_get_info(made[i], &info));
        assert_string_equal(info.label, i == 1 ? "second" : "other");
        hal_executable_release(made[i]);
    }
    hal_executable_cache_release(cache);
    hal_device_release(device);
}

static bool has_size_of_driver(void *user, const struct hal_driver_info *driver)
{
    *(size_t *)user += driver->struct_size == sizeof *driver;
    return true;
}

static bool has_size_of_entry(void *user, const struct hal_device_entry *entry)
{
    *(size_t *)user += entry->struct_size == sizeof *entry;
    return true;
}

TEST(what_is_shown_says_how_much_of_it_there_is)
{
    struct hal_device *device = fixture_device("cpu");
    size_t drivers = 0, devices = 0;
    hal_drivers_list(has_size_of_driver, &drivers);
    assert_ok(hal_devices_list("cpu", has_size_of_entry, &devices));
    assert_true(drivers >= 1);
    assert_int_equal(devices, 1);
    assert_int_equal(hal_device_get_info(device)->struct_size, sizeof(struct hal_device_info));
    hal_device_release(device);
}
