/* SPDX-License-Identifier: Apache-2.0 */
/* Which memory buffers of the Vulkan driver get, what they share, and what is flushed: by a loader
 * that tells of types of memory which the device does not have. */
#include "tests/unit/vulkan/vulkan_fixture.h"

enum { ATOM_BYTES = 256 }; /* no device has larger ones: Vulkan's limit */

static int forget(void **state)
{
    (void)state;
    shim->facts = (struct vulkan_shim_facts){0};
    return 0;
}

static struct hal_buffer *buffer_in(struct hal_device *device, uint32_t memory, uint64_t bytes)
{
    struct hal_buffer *buffer;
    const struct hal_buffer_desc desc = {.label = "x", .memory = memory, .bytes = bytes};
    ok(hal_buffer_create(device, &desc, &buffer));
    return buffer;
}

/* The type that a buffer's memory is of, when it has to be allocated for it. */
static unsigned type_for(struct hal_device *device, uint32_t memory)
{
    atomic_store(&shim->allocations, 0);
    struct hal_buffer *buffer = buffer_in(device, memory, 64 << 20);
    assert_int_equal(shim->allocations, 1);
    hal_buffer_release(buffer);
    return shim->last_type;
}

/* ---- Types ---------------------------------------------------------------------------------- */

TEST(each_gets_what_it_asks_for)
{
    shim->facts.has_more_memory = true;
    struct hal_device *device = open_device("vulkan");
    assert_int_equal(type_for(device, HAL_MEMORY_HOST_VISIBLE), VULKAN_SHIM_LOOSE);
    assert_int_equal(type_for(device, HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_CACHED),
                     VULKAN_SHIM_LOOSE);
    assert_int_equal(type_for(device, HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT),
                     VULKAN_SHIM_FAR);
    assert_true(type_for(device, HAL_MEMORY_DEVICE_LOCAL) >= VULKAN_SHIM_MORE_TYPES);
    hal_device_release(device);
}

/* Whoever says nothing gets memory that is the device's own and that the host sees, where there is
 * such a type; else what the host sees, and no error. */
TEST(the_default_is_near_the_device)
{
    shim->facts.has_more_memory = true;
    struct hal_device *device = open_device("vulkan");
    if (shim->has_local)
        assert_true(type_for(device, 0) >= VULKAN_SHIM_MORE_TYPES);
    hal_device_release(device);
    shim->facts.has_no_local = true;
    device = open_device("vulkan");
    assert_int_equal(type_for(device, 0), VULKAN_SHIM_FAR);
    hal_device_release(device);
}

/* ---- Sharing -------------------------------------------------------------------------------- */

static int64_t allocations_of(struct hal_device *device)
{
    int64_t count = -1;
    ok(hal_device_query(device, "memory.allocation.count", &count));
    return count;
}

enum { SMALL = 1000, SMALL_WORDS = 8 << 10, LARGE_BYTES = 7 << 20, LARGE = 4 };

static struct hal_buffer *small_of(struct hal_device *device, uint32_t word)
{
    static uint32_t words[SMALL_WORDS];
    struct hal_buffer *buffer = buffer_in(device, 0, sizeof words);
    for (uint32_t i = 0; i < SMALL_WORDS; i++)
        words[i] = word;
    ok(hal_buffer_write(buffer, 0, words, sizeof words));
    return buffer;
}

static void is_all(struct hal_buffer *buffer, uint32_t word)
{
    static uint32_t words[SMALL_WORDS];
    ok(hal_buffer_read(buffer, 0, words, sizeof words));
    for (uint32_t i = 0; i < SMALL_WORDS; i++) {
        if (words[i] != word)
            fail_msg("word %u of buffer %u is %u", i, word, words[i]);
    }
}

/* A thousand in one allocation; what is freed is used again, and gaps side by side are one. */
TEST(small_ones_share)
{
    struct hal_device *device = open_device("vulkan");
    struct hal_buffer *buffers[SMALL], *large[LARGE];
    atomic_store(&shim->allocations, 0);
    for (uint32_t i = 0; i < SMALL; i++)
        buffers[i] = small_of(device, i);
    assert_int_equal(shim->allocations, 1);
    for (uint32_t i = 0; i < SMALL; i += 2)
        hal_buffer_release(buffers[i]);
    for (uint32_t i = 0; i < SMALL; i += 2)
        buffers[i] = small_of(device, i); /* where the others were */
    for (uint32_t i = 0; i < SMALL; i++)
        is_all(buffers[i], i);
    for (uint32_t i = 0; i < SMALL; i += 2)
        hal_buffer_release(buffers[i]);
    for (uint32_t i = 1; i < SMALL; i += 2)
        hal_buffer_release(buffers[i]);
    for (uint32_t i = 0; i < LARGE; i++)
        large[i] = buffer_in(device, 0, LARGE_BYTES);
    assert_int_equal(shim->allocations, 1);
    for (uint32_t i = 0; i < LARGE; i++)
        hal_buffer_release(large[i]);
    hal_device_release(device);
}

/* A large one has memory of its own, and gives it back. */
TEST(large_ones_do_not)
{
    struct hal_device *device = open_device("vulkan");
    const int64_t before = allocations_of(device);
    struct hal_buffer *buffer = buffer_in(device, 0, 16 << 20);
    assert_int_equal(allocations_of(device), before + 1);
    hal_buffer_release(buffer);
    assert_int_equal(allocations_of(device), before);
    hal_device_release(device);
}

/* ---- Flushing ------------------------------------------------------------------------------- */

static void forget_flushes(void)
{
    atomic_store(&shim->flushes, 0);
    atomic_store(&shim->invalidations, 0);
}

/* The range has the buffer's bytes [offset, offset + bytes), and at most an atom more at either
 * end. `origin`: where the buffer is in its memory. */
static void covers(struct vulkan_shim_range range, uint64_t origin, uint64_t offset, uint64_t bytes)
{
    const uint64_t begin = origin + offset, end = begin + bytes;
    assert_true(range.offset <= begin);
    assert_true(range.offset + ATOM_BYTES > begin);
    assert_true(range.offset + range.bytes >= end);
    assert_true(range.offset + range.bytes < end + ATOM_BYTES);
}

/* What is not coherent is flushed when it was written and invalidated before it is read: as much
 * as was mapped, in whole atoms, which the validation layer sees to. */
TEST(what_is_not_coherent_is_flushed)
{
    shim->facts.has_more_memory = true;
    struct hal_device *device = open_device("vulkan");
    struct hal_buffer *first = buffer_in(device, HAL_MEMORY_HOST_VISIBLE, 100);
    struct hal_buffer *buffer = buffer_in(device, HAL_MEMORY_HOST_VISIBLE, 4096);
    struct hal_mapping mapping;
    uint8_t byte = 7;
    forget_flushes();
    ok(hal_buffer_map(buffer, HAL_MAP_READ, 0, 4096, &mapping));
    assert_int_equal(shim->invalidations, 1);
    const uint64_t origin = shim->last_invalidation.offset; /* buffers begin with an atom */
    covers(shim->last_invalidation, origin, 0, 4096);
    ok(hal_buffer_unmap(&mapping));
    assert_int_equal(shim->flushes, 0);
    ok(hal_buffer_write(buffer, 1000, &byte, 1));
    assert_int_equal(shim->flushes, 1);
    covers(shim->last_flush, origin, 1000, 1);
    ok(hal_buffer_map(buffer, HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 700, 2000,
                      &mapping));
    forget_flushes();
    ok(hal_mapping_flush(&mapping, 300, 500));
    assert_int_equal(shim->flushes, 1);
    covers(shim->last_flush, origin, 1000, 500);
    ok(hal_mapping_invalidate(&mapping, 1999, 1));
    assert_int_equal(shim->invalidations, 1);
    covers(shim->last_invalidation, origin, 2699, 1);
    assert_int_equal(((const uint8_t *)mapping.data)[300], 7);
    ok(hal_buffer_unmap(&mapping)); /* whoever keeps it mapped flushes it */
    assert_int_equal(shim->flushes, 1);
    hal_buffer_release(buffer);
    hal_buffer_release(first);
    int64_t messages = -1;
    ok(hal_device_query(device, "vulkan.validation.messages", &messages));
    assert_int_equal(messages, 0);
    hal_device_release(device);
}

TEST(what_is_coherent_is_not)
{
    shim->facts.has_more_memory = true;
    struct hal_device *device = open_device("vulkan");
    struct hal_buffer *buffer =
        buffer_in(device, HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT, N_BYTES);
    struct hal_mapping mapping;
    forget_flushes();
    ok(hal_buffer_write(buffer, 0, (const uint32_t[N_WORDS]){0}, N_BYTES));
    holds(buffer, 0);
    ok(hal_buffer_map(buffer, HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0, N_BYTES, &mapping));
    ok(hal_mapping_flush(&mapping, 0, N_BYTES));
    ok(hal_buffer_unmap(&mapping));
    assert_int_equal(shim->flushes, 0);
    assert_int_equal(shim->invalidations, 0);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

/* ---- Imports -------------------------------------------------------------------------------- */

enum { LIMIT_BYTES = 1 << 20, APART_BYTES = 256 }; /* what no device asks more than, for a place */

static enum hal_status import(struct hal_device *device, uint8_t *memory, uint64_t bytes)
{
    struct hal_buffer *buffer = NULL;
    const struct hal_buffer_desc desc = {.label = "lent", .bytes = bytes};
    const enum hal_status status = hal_buffer_import(device, &desc, memory, NULL, NULL, &buffer);
    hal_buffer_release(buffer);
    return status;
}

/* Whole pages are imported: what lies before the buffer in its first one counts, too. */
TEST(imports_are_no_larger_than_an_allocation)
{
    shim->facts.allocation_bytes = LIMIT_BYTES;
    struct hal_device *device = open_device("vulkan");
    uint8_t *memory = aligned_alloc(LIMIT_BYTES, 2 * (size_t)LIMIT_BYTES);
    assert_non_null(memory);
    const enum hal_status status = import(device, memory, LIMIT_BYTES);
    if (status == HAL_UNSUPPORTED) {
        free(memory);
        hal_device_release(device);
        skip(); /* no memory of the host's */
    }
    ok(status);
    ok(import(device, memory + APART_BYTES, LIMIT_BYTES - APART_BYTES));
    assert_int_equal(import(device, memory + APART_BYTES, LIMIT_BYTES - APART_BYTES + 4),
                     HAL_NO_MEMORY);
    assert_string_equal(hal_message(),
                        "buffer 'lent' of 1048324 bytes: the device's limit is 1048576 bytes");
    hal_device_release(device);
    free(memory);
}

TEST(not_every_device_takes_memory_of_the_host)
{
    static _Alignas(4096) uint8_t memory[4096];
    shim->facts.hidden_extension = "VK_EXT_external_memory_host";
    struct hal_device *device = open_device("vulkan");
    assert_int_equal(import(device, memory, sizeof memory), HAL_UNSUPPORTED);
    assert_non_null(strstr(hal_message(), "buffer 'lent'"));
    assert_non_null(strstr(hal_message(), "VK_EXT_external_memory_host"));
    hal_device_release(device);
}

static int load(void **state)
{
    (void)state;
    return vulkan_fixture_load();
}

TEST_FIXTURE(NULL, forget);
TEST_SUITE_FIXTURE(load, NULL);
