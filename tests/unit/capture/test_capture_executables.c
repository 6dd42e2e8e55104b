/* SPDX-License-Identifier: Apache-2.0 */
/* Executables with several variants in a trace: all of them are there, byte for byte, and which of
 * them the device took, whether the capture saw the creation or began later. */
#include "tests/support/captured.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_folder.h"

enum { JUNK_BYTES = 1001 };

static const char kernel[] = "kernel void k(device uint *x [[buffer(0)]]) { x[0] = 1; }\n";
static const char other[] =
    "kernel void k(device uint *x [[buffer(0)]]) { x[0] = 2; x[0] += 1; }\n";
static uint8_t junk[JUNK_BYTES];

static int set_up(void **state)
{
    if (make_trace_folder(state) != 0)
        return -1;
    for (size_t i = 0; i < JUNK_BYTES; i++)
        junk[i] = (uint8_t)(i * 7);
    return 0;
}

static struct hal_executable *create(struct hal_device *device)
{
    struct hal_executable *executable;
    const struct hal_entry_point entry = {"k", {1, 1, 1}, 0, 0};
    const struct hal_constant constants[4] = {
        {1, HAL_CONSTANT_BOOL, 1},
        {2, HAL_CONSTANT_INT32, 5},
        {2, HAL_CONSTANT_INT32, 6},
        {7, HAL_CONSTANT_INT64, UINT64_C(0x8000000000000009)}};
    const struct hal_executable_variant variants[4] = {
        {HAL_FORMAT_METALLIB, junk, JUNK_BYTES},
        {HAL_FORMAT_MSL, kernel, sizeof kernel - 1},
        {HAL_FORMAT_METALLIB, junk + 1, 1},
        {HAL_FORMAT_MSL, other, sizeof other - 1},
    };
    const struct hal_executable_desc desc = {.label = "four",
                                             .variants = variants,
                                             .variant_count = 4,
                                             .entry_points = &entry,
                                             .entry_point_count = 1,
                                             .constants = constants,
                                             .constant_count = 4};
    assert_ok(hal_executable_create(device, &desc, &executable));
    return executable;
}

static void check_content(const struct captured *captured, uint64_t content, uint64_t size,
                          const void *wanted, size_t bytes)
{
    uint8_t found[JUNK_BYTES];
    assert_int_equal(size, bytes);
    assert_ok(trace_reader_content(captured->reader, content, found, bytes));
    assert_memory_equal(found, wanted, bytes);
}

static void check_trace(uint32_t flags)
{
    struct captured captured;
    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_EXECUTABLE_CREATE), 1);
    const struct trace_executable_create *created =
        captured_find(&captured, TRACE_EXECUTABLE_CREATE, 0);
    assert_int_equal(created->flags, flags);
    assert_int_equal(created->format, HAL_FORMAT_MSL);
    check_content(&captured, created->content, created->size, kernel, sizeof kernel - 1);
    assert_int_equal(created->variant_count, 3);
    const struct trace_variant *variants = trace_executable_variants(created);
    assert_int_equal(variants[0].format, HAL_FORMAT_METALLIB);
    assert_int_equal(variants[1].format, HAL_FORMAT_METALLIB);
    assert_int_equal(variants[2].format, HAL_FORMAT_MSL);
    check_content(&captured, variants[0].content, variants[0].size, junk, JUNK_BYTES);
    check_content(&captured, variants[1].content, variants[1].size, junk + 1, 1);
    check_content(&captured, variants[2].content, variants[2].size, other, sizeof other - 1);
    const struct trace_constant *constants = trace_executable_constants(created);
    assert_int_equal(created->constant_count, 4);
    for (uint32_t i = 1; i < 3; i++) { /* a vector's components */
        assert_int_equal(constants[i].index, 2);
        assert_int_equal(constants[i].type, HAL_CONSTANT_INT32);
        assert_int_equal(constants[i].bits, 4 + i);
    }
    assert_int_equal(constants[3].index, 7);
    assert_int_equal(constants[3].type, HAL_CONSTANT_INT64);
    assert_int_equal(constants[3].bits, UINT64_C(0x8000000000000009));
    captured_close(&captured);
}

TEST(all_variants_are_recorded)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    captured_begin(device, path);
    struct hal_executable *executable = create(device);
    assert_ok(hal_device_profiling_end(device));
    hal_executable_release(executable);
    hal_device_release(device);
    check_trace(TRACE_FLAG_REFLECTED);
}

TEST(a_snapshot_has_all_variants)
{
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct hal_executable *executable = create(device);
    captured_begin(device, path);
    assert_ok(hal_device_profiling_end(device));
    hal_executable_release(executable);
    hal_device_release(device);
    check_trace(TRACE_FLAG_SNAPSHOT | TRACE_FLAG_REFLECTED);
}

static const char takes[] =
    "kernel void none() {}\n"
    "kernel void reads(device const uint *a [[buffer(2)]], constant uint &b [[buffer(5)]],\n"
    "                  device uint *c [[buffer(3)]], constant uint &pushed [[buffer(7)]])\n"
    "{ c[0] = a[0] + b + pushed; }\n"
    "kernel void writes(device uint *x [[buffer(0)]]) { x[0] = 1; }\n";

/* Written down from the source: entry, set, index, access. The push constants are no binding. */
TEST(bindings_are_recorded)
{
    static const struct trace_entry_binding wanted[4] = {
        {1, 0, 2, HAL_ACCESS_READ},
        {1, 0, 3, HAL_ACCESS_READ | HAL_ACCESS_WRITE},
        {1, 0, 5, HAL_ACCESS_READ},
        {2, 0, 0, HAL_ACCESS_READ | HAL_ACCESS_WRITE},
    };
    static const struct hal_entry_point entries[3] = {
        {"none", {1, 1, 1}, 0, 0}, {"reads", {1, 1, 1}, 4, 7}, {"writes", {1, 1, 1}, 0, 0}};
    const struct hal_executable_desc desc = {.format = HAL_FORMAT_MSL,
                                             .data = takes,
                                             .bytes = sizeof takes - 1,
                                             .entry_points = entries,
                                             .entry_point_count = 3};
    struct hal_executable *executable;
    struct captured captured;
    struct hal_device *device = fixture_device("cpu?threads=1");
    captured_begin(device, path);
    assert_ok(hal_executable_create(device, &desc, &executable));
    assert_ok(hal_device_profiling_end(device));
    hal_executable_release(executable);
    hal_device_release(device);
    captured_open(&captured, path);
    const struct trace_executable_create *created =
        captured_find(&captured, TRACE_EXECUTABLE_CREATE, 0);
    assert_int_equal(created->flags, TRACE_FLAG_REFLECTED);
    assert_int_equal(created->binding_count, 4);
    assert_memory_equal(trace_executable_bindings(created), wanted, sizeof wanted);
    captured_close(&captured);
}

/* Far more than the staging memory holds at once: each part is given back. */
TEST(memory_of_variants_is_used_again)
{
    setenv("HAL_DEVICE_PROFILING_STAGING_MIB", "1", 1);
    struct hal_device *device = fixture_device("cpu?threads=1");
    captured_begin(device, path);
    for (int i = 0; i < 1500; i++)
        hal_executable_release(create(device));
    assert_ok(hal_device_profiling_end(device));
    hal_device_release(device);
    unsetenv("HAL_DEVICE_PROFILING_STAGING_MIB");
    struct captured captured;
    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_EXECUTABLE_CREATE), 1500);
    captured_close(&captured);
}

TEST_FIXTURE(NULL, remove_trace);
TEST_SUITE_FIXTURE(set_up, remove_folder);
