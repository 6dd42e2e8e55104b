/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/caching.c where memory runs out. The CPU driver counts bytes that nobody touches, so
 * that all of the machine's memory can be asked for without using any. */
#include "tests/support/hal_fixture.h"

static struct hal_memory_statistics statistics(struct hal_device *device)
{
    struct hal_memory_statistics now = {0};
    assert_ok(hal_device_memory_statistics(device, &now));
    return now;
}

static struct hal_device *device_that_keeps_all(void)
{
    return fixture_device("cpu?threads=1&caching=1000000G");
}

static uint64_t most_bytes(struct hal_device *device)
{
    return hal_device_get_info(device)->max_buffer_bytes;
}

TEST(a_creation_empties_the_cache_before_it_fails)
{
    struct hal_device *device = device_that_keeps_all();
    const uint64_t most = most_bytes(device);
    hal_buffer_release(fixture_buffer(device, "first", most / 4));
    hal_buffer_release(fixture_buffer(device, "second", most / 2));
    assert_int_equal(statistics(device).cached_bytes, most / 4 + most / 2);
    struct hal_buffer *third = fixture_buffer(device, "third", most / 2 + 1);
    assert_int_equal(statistics(device).cached_bytes, 0);
    assert_int_equal(statistics(device).reused_count, 0);
    hal_buffer_release(third);
    hal_device_release(device);
}

TEST(what_is_in_use_is_still_too_much)
{
    struct hal_device *device = device_that_keeps_all();
    const uint64_t most = most_bytes(device);
    struct hal_buffer *held = fixture_buffer(device, "held", most / 2), *other;
    hal_buffer_release(fixture_buffer(device, "kept", 1 << 20));
    const struct hal_buffer_desc desc = {.label = "too much", .bytes = most / 2 + most % 2 + 1};
    assert_fails(hal_buffer_create(device, &desc, &other), HAL_NO_MEMORY, "too much");
    assert_int_equal(statistics(device).cached_count, 0);
    hal_buffer_release(held);
    hal_device_release(device);
}

/* A slab of transient memory is a creation like any other. */
TEST(transient_memory_empties_the_cache_too)
{
    struct hal_device *device = device_that_keeps_all();
    struct hal_buffer *buffer;
    hal_buffer_release(fixture_buffer(device, "kept", most_bytes(device) - (1 << 20)));
    assert_ok(hal_queue_alloca(device, NULL, &(struct hal_buffer_desc){.bytes = 4 << 20}, &buffer));
    assert_int_equal(statistics(device).cached_count, 0);
    assert_ok(hal_queue_dealloca(device, NULL, buffer));
    hal_buffer_release(buffer);
    hal_device_release(device);
}

TEST(what_is_kept_counts_as_used_by_the_driver_alone)
{
    struct hal_device *device = device_that_keeps_all();
    int64_t used;
    hal_buffer_release(fixture_buffer(device, "kept", 12345678));
    assert_ok(hal_device_query(device, "memory.used.bytes", &used));
    assert_int_equal(used, 12345678);
    assert_int_equal(statistics(device).total.current_bytes, 0);
    assert_ok(hal_device_memory_trim(device));
    assert_ok(hal_device_query(device, "memory.used.bytes", &used));
    assert_int_equal(used, 0);
    hal_device_release(device);
}
