/* SPDX-License-Identifier: Apache-2.0 */
/* hal/drivers/metal and the loading of its module: what the conformance suite, which is the same
 * for every driver, does not ask. */
#include "tests/support/hal_fixture.h"

#include <inttypes.h>

/* ---- The module ----------------------------------------------------------------------------- */

TEST(a_missing_module_is_named)
{
    struct hal_device *device;
    setenv("HAL_METAL_MODULE", "/nowhere/metal.so", 1);
    assert_fails(hal_device_open("metal", &device), HAL_NOT_FOUND, "/nowhere/metal.so");
    setenv("HAL_METAL_MODULE", FAKE_LAYER_PATH, 1);
    assert_fails(hal_device_open("metal", &device), HAL_NOT_FOUND, "no metal module");
    unsetenv("HAL_METAL_MODULE");
    assert_fails(hal_device_open("metals", &device), HAL_NOT_FOUND, "there are: cpu, metal");
}

/* ---- URIs ----------------------------------------------------------------------------------- */

TEST(devices_open_by_registry_id)
{
    struct hal_device *device = fixture_device("metal"), *again;
    const struct hal_device_info *info = hal_device_get_info(device);
    uint64_t id;
    char uri[64], known[32];
    assert_string_equal(info->driver, "metal");
    assert_int_equal(sscanf(info->uri, "metal://%" SCNu64, &id), 1);
    snprintf(uri, sizeof uri, "metal://0x%" PRIX64 "?queues=3&isolate=1&math=fast", id);
    again = fixture_device(uri);
    snprintf(uri, sizeof uri, "metal://%" PRIu64 "?queues=3&isolate=1&math=fast", id);
    assert_string_equal(hal_device_get_info(again)->uri, uri);
    assert_string_equal(hal_device_get_info(again)->name, info->name);
    assert_int_equal(hal_device_get_info(again)->queue_count, 3);
    hal_device_release(again);

    snprintf(uri, sizeof uri, "metal://%" PRIu64, id + 1000);
    snprintf(known, sizeof known, "%" PRIu64 " (", id);
    assert_fails(hal_device_open(uri, &again), HAL_NOT_FOUND, known);
    hal_device_release(device);
}

TEST(wrong_uris_are_refused)
{
    static const char *const no_ids[] = {"gpu", "0x", "0xg", "-1", "99999999999999999999999",
                                         "12 "};
    static const struct {
        const char *uri, *text;
    } wrong[] = {
        {"metal?queues=0", "queues=0 is not in 1 to 64"},
        {"metal?queues=65", "queues=65 is not in 1 to 64"},
        {"metal?queues=1x", "queues=1x is not in 1 to 64"},
        {"metal?isolate=yes", "isolate=yes is neither 0 nor 1"},
        {"metal?math=exact", "math=exact is neither safe nor fast"},
        {"metal?threads=2", "unknown parameter 'threads'"},
    };
    struct hal_device *device;
    char uri[64];
    for (size_t i = 0; i < sizeof no_ids / sizeof no_ids[0]; i++) {
        snprintf(uri, sizeof uri, "metal://%s", no_ids[i]);
        assert_fails(hal_device_open(uri, &device), HAL_NOT_FOUND, "is not a registry id");
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_fails(hal_device_open(wrong[i].uri, &device), HAL_INVALID, wrong[i].text);
}

/* ---- Memory --------------------------------------------------------------------------------- */

static int64_t used_bytes(struct hal_device *device)
{
    int64_t bytes;
    assert_ok(hal_device_query(device, "memory.used.bytes", &bytes));
    return bytes;
}

TEST(small_buffers_share_memory)
{
    enum { COUNT = 64, BYTES = 1000 };
    struct hal_device *device = fixture_device("metal");
    struct hal_buffer *buffers[COUNT];
    const struct hal_buffer_desc desc = {.bytes = BYTES, .memory = HAL_MEMORY_DEVICE_LOCAL};
    assert_ok(hal_buffer_create(device, &desc, &buffers[0]));
    const int64_t with_one = used_bytes(device);
    for (size_t i = 1; i < COUNT; i++)
        assert_ok(hal_buffer_create(device, &desc, &buffers[i]));
    assert_int_equal(used_bytes(device), with_one);
    for (size_t i = 0; i < COUNT; i++)
        hal_buffer_release(buffers[i]);
    assert_int_equal(used_bytes(device), with_one); /* the last heap stays */
    hal_device_release(device);
}

/* More than one heap holds; what they leave empty goes back to Metal. */
TEST(empty_heaps_are_given_back)
{
    enum { COUNT = 200, BYTES = 100 << 10 };
    struct hal_device *device = fixture_device("metal");
    struct hal_buffer *buffers[COUNT];
    const struct hal_buffer_desc desc = {.bytes = BYTES, .memory = HAL_MEMORY_DEVICE_LOCAL};
    assert_ok(hal_buffer_create(device, &desc, &buffers[0]));
    const int64_t with_one = used_bytes(device);
    for (size_t i = 1; i < COUNT; i++)
        assert_ok(hal_buffer_create(device, &desc, &buffers[i]));
    assert_true(used_bytes(device) >= (int64_t)COUNT * BYTES);
    for (size_t i = 0; i < COUNT; i++)
        hal_buffer_release(buffers[i]);
    assert_int_equal(used_bytes(device), with_one);
    hal_device_release(device);
}

TEST(large_buffers_have_their_own)
{
    enum { BYTES = 3 << 20 };
    struct hal_device *device = fixture_device("metal");
    int64_t limit;
    const int64_t before = used_bytes(device);
    struct hal_buffer *buffer = fixture_buffer(device, "large", BYTES);
    assert_true(used_bytes(device) >= before + BYTES);
    hal_buffer_release(buffer);
    assert_int_equal(used_bytes(device), before);
    assert_ok(hal_device_query(device, "memory.working_set.bytes", &limit));
    assert_true(limit > BYTES);
    hal_device_release(device);
}

/* ---- Bindings ------------------------------------------------------------------------------- */

/* Of version 3.1 of the language, as on the CPU. */
TEST(kernels_may_use_bfloat)
{
    struct hal_device *device = fixture_device("metal");
    hal_executable_release(fixture_executable(
        device, "kernel void f(device bfloat *x [[buffer(0)]]) { x[0] = bfloat(1.5f); }\n"));
    hal_device_release(device);
}

/* One thread with a buffer for one word. */
static void run_once(struct hal_device *device, struct hal_executable *executable,
                     uint32_t *out_value)
{
    struct hal_buffer *buffer = fixture_buffer(device, "x", 4);
    struct hal_command_buffer *commands = fixture_commands(device, "c", HAL_ONE_SHOT);
    const struct hal_binding binding = {buffer, 0, 4};
    assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    assert_ok(hal_command_dispatch(commands, executable, 0, (uint32_t[3]){1, 1, 1}));
    fixture_run(device, commands);
    assert_ok(hal_buffer_read(buffer, 0, out_value, sizeof *out_value));
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
}

/* With e = 2^-12, (1 + e)^2 is 1 + 2e + e^2, which rounds to 1 + 2e unless the square is contracted
 * with the difference; 1 is lost beside 2^30 unless the sum is reordered. */
static void round_on(const char *uri, float out[4])
{
    static const char source[] = "#include <metal_stdlib>\n"
                                 "using namespace metal;\n"
                                 "kernel void f(device float *o [[buffer(0)]])\n"
                                 "{\n"
                                 "    o[1] = o[0] * o[0] - (1.0f + 0x1p-11f);\n"
                                 "    o[2] = (o[3] + 0x1p30f) - 0x1p30f;\n"
                                 "    o[3] = __METAL_FAST_MATH__;\n"
                                 "}\n";
    static const float first[] = {1.0f + 0x1p-12f, 7, 7, 1};
    const uint32_t one[3] = {1, 1, 1};
    struct hal_device *device = fixture_device(uri);
    struct hal_buffer *buffer = fixture_buffer(device, "o", sizeof first);
    struct hal_executable *executable = fixture_executable(device, source);
    struct hal_command_buffer *commands = fixture_commands(device, "c", HAL_ONE_SHOT);
    const struct hal_binding binding = {buffer, 0, HAL_WHOLE_BUFFER};
    assert_ok(hal_buffer_write(buffer, 0, first, sizeof first));
    assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    assert_ok(hal_command_dispatch(commands, executable, 0, one));
    fixture_run(device, commands);
    assert_ok(hal_buffer_read(buffer, 0, out, sizeof first));
    hal_command_buffer_release(commands);
    hal_executable_release(executable);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

TEST(kernels_round_as_the_device_is_told)
{
    static const char *const safe[] = {"metal", "metal?math=safe"};
    float out[4];
    for (size_t i = 0; i < sizeof safe / sizeof *safe; i++) {
        round_on(safe[i], out);
        assert_true(out[1] == 0 && out[2] == 0 && out[3] == 0);
    }
    round_on("metal?math=fast", out);
    assert_true(out[1] == 0 || out[1] == 0x1p-24f); /* where the processor can */
    assert_true(out[2] == 1 && out[3] == 1);
}

static enum hal_status try_library(struct hal_device *device, const void *data, size_t bytes,
                                   struct hal_executable **out_executable)
{
    static const struct hal_entry_point entry = {"f", {1, 1, 1}, 0, 0};
    return hal_executable_create(device,
                                 &(struct hal_executable_desc){.label = "library",
                                                               .format = HAL_FORMAT_METALLIB,
                                                               .data = data,
                                                               .bytes = bytes,
                                                               .entry_points = &entry,
                                                               .entry_point_count = 1},
                                 out_executable);
}

/* The emulation's libraries are source; Apple's hold code that it cannot run. */
TEST(libraries_are_executables)
{
    static const char library[] =
        "hostmetallib\nkernel void f(device uint *x [[buffer(0)]]) { x[0] = 42; }\n";
    uint32_t value = 0;
    struct hal_device *device = fixture_device("metal");
    struct hal_executable *executable;
    assert_ok(try_library(device, library, sizeof library - 1, &executable));
    run_once(device, executable, &value);
    assert_int_equal(value, 42);
    hal_executable_release(executable);
    assert_fails(try_library(device, "MTLBxxxx", 8, &executable), HAL_UNSUPPORTED, "Apple's GPUs");
    assert_fails(try_library(device, "nonsense", 8, &executable), HAL_INVALID, "not a metallib");
    assert_fails(try_library(device, library, 20, &executable), HAL_INVALID, "library");
    hal_device_release(device);
}

static enum hal_status try_constant(struct hal_device *device, const struct hal_constant *constant,
                                    uint32_t *out_value)
{
    static const char source[] =
        "constant uint needed [[function_constant(0)]];\n"
        "constant uint optional [[function_constant(1)]];\n"
        "kernel void needs(device uint *x [[buffer(0)]]) { x[0] = needed; }\n"
        "kernel void asks(device uint *x [[buffer(0)]])\n"
        "{ x[0] = is_function_constant_defined(optional) ? optional : 31; }\n";
    const struct hal_entry_point entry = {out_value ? "asks" : "needs", {1, 1, 1}, 0, 0};
    struct hal_executable *executable;
    const enum hal_status status =
        hal_executable_create(device,
                              &(struct hal_executable_desc){.label = "constants",
                                                            .format = HAL_FORMAT_MSL,
                                                            .data = source,
                                                            .bytes = sizeof source - 1,
                                                            .entry_points = &entry,
                                                            .entry_point_count = 1,
                                                            .constants = constant,
                                                            .constant_count = constant ? 1 : 0},
                              &executable);
    if (status != HAL_OK)
        return status;
    if (out_value)
        run_once(device, executable, out_value);
    hal_executable_release(executable);
    return HAL_OK;
}

/* Metal's own rule: what a kernel does not ask for has a value. */
TEST(constants_that_kernels_need_have_values)
{
    static const struct hal_constant needed = {0, HAL_CONSTANT_UINT32, 5},
                                     optional = {1, HAL_CONSTANT_UINT32, 6};
    uint32_t value = 0;
    struct hal_device *device = fixture_device("metal");
    assert_fails(try_constant(device, NULL, NULL), HAL_INVALID, "'needed'");
    assert_fails(try_constant(device, &optional, NULL), HAL_INVALID, "'needed'");
    assert_ok(try_constant(device, &needed, NULL));
    assert_ok(try_constant(device, NULL, &value));
    assert_int_equal(value, 31);
    assert_ok(try_constant(device, &needed, &value));
    assert_int_equal(value, 31);
    assert_ok(try_constant(device, &optional, &value));
    assert_int_equal(value, 6);
    hal_device_release(device);
}

TEST(an_unaligned_binding_is_refused)
{
    static const char source[] = "kernel void f(device uint *words [[buffer(0)]],\n"
                                 "              device uchar *bytes [[buffer(1)]])\n"
                                 "{ words[0] = 1; bytes[0] = 2; }\n";
    struct hal_device *device = fixture_device("metal");
    struct hal_buffer *buffer = fixture_buffer(device, "words", 64);
    struct hal_executable *executable = fixture_executable(device, source);
    for (uint64_t offset = 0; offset < 8; offset++) {
        struct hal_command_buffer *commands = fixture_commands(device, "bound", HAL_ONE_SHOT);
        const struct hal_binding bindings[2] = {{buffer, offset, 4}, {buffer, 33 + offset, 1}};
        assert_ok(hal_command_push_descriptor_set(commands, 0, bindings, 2));
        assert_ok(hal_command_dispatch(commands, executable, 0, (uint32_t[3]){1, 1, 1}));
        if (offset % 4 == 0)
            fixture_run(device, commands);
        else
            assert_fails(hal_command_buffer_end(commands), HAL_INVALID,
                         "needs an offset that is a multiple of 4 bytes");
        hal_command_buffer_release(commands);
    }
    hal_executable_release(executable);
    hal_buffer_release(buffer);
    hal_device_release(device);
}

/* ---- Failure -------------------------------------------------------------------------------- */

/* A submission may wait for one semaphore several times, and it fails once. */
TEST(a_failure_reaches_a_submission_once)
{
    enum { WAITS = 5 };
    struct hal_device *device = fixture_device("metal");
    struct hal_semaphore *never = fixture_semaphore(device, "never", 0);
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_semaphore_value waits[WAITS], signal = {done, 1};
    for (size_t i = 0; i < WAITS; i++)
        waits[i] = (struct hal_semaphore_value){never, i + 1};
    assert_ok(hal_queue_submit(
        device, &(struct hal_submit_desc){
                    .waits = waits, .wait_count = WAITS, .signals = &signal, .signal_count = 1}));
    assert_ok(hal_semaphore_signal(never, 2));
    hal_semaphore_fail(never, HAL_IO, "the disk is full");
    assert_fails(hal_semaphore_wait(done, 1, HAL_FOREVER), HAL_IO, "the disk is full");
    assert_ok(hal_device_wait_idle(device, HAL_FOREVER));
    hal_semaphore_release(done);
    hal_semaphore_release(never);
    hal_device_release(device);
}
