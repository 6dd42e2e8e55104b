/* SPDX-License-Identifier: Apache-2.0 */
/* hal/drivers/cpu: how a device's kernels round is a parameter of its URI, which its description
 * keeps. The expected values are IEEE's: with e = 2^-12, (1 + e)^2 is 1 + 2e + e^2, which rounds to
 * 1 + 2e. */
#include "hal/hal.h"
#include "tests/support/test.h"

static const char source[] = "#include <metal_stdlib>\n"
                             "using namespace metal;\n"
                             "kernel void k(device float *o [[buffer(0)]])\n"
                             "{\n"
                             "    o[1] = o[0] * o[0] - (1.0f + 0x1p-11f);\n"
                             "    o[2] = __METAL_FAST_MATH__;\n"
                             "}\n";

static void run(const char *uri, float out[3])
{
    const struct hal_entry_point entry = {.name = "k", .workgroup_size = {1, 1, 1}};
    const struct hal_executable_desc desc = {.label = "k.metal",
                                             .format = HAL_FORMAT_MSL,
                                             .data = source,
                                             .bytes = strlen(source),
                                             .entry_points = &entry,
                                             .entry_point_count = 1};
    const struct hal_buffer_desc bytes = {.label = "o", .bytes = 3 * sizeof(float)};
    const float first = 1.0f + 0x1p-12f;
    const uint32_t one[3] = {1, 1, 1};
    struct hal_device *device;
    struct hal_buffer *buffer;
    struct hal_executable *executable;
    assert_int_equal(hal_device_open(uri, &device), HAL_OK);
    assert_int_equal(hal_executable_create(device, &desc, &executable), HAL_OK);
    assert_int_equal(hal_buffer_create(device, &bytes, &buffer), HAL_OK);
    assert_int_equal(hal_buffer_write(buffer, 0, &first, sizeof first), HAL_OK);
    const struct hal_binding binding = {buffer, 0, HAL_WHOLE_BUFFER};
    struct hal_command_buffer *commands;
    assert_int_equal(hal_command_buffer_create(
                         device, &(struct hal_command_buffer_desc){.label = "c"}, &commands),
                     HAL_OK);
    assert_int_equal(hal_command_push_descriptor_set(commands, 0, &binding, 1), HAL_OK);
    assert_int_equal(hal_command_dispatch(commands, executable, 0, one), HAL_OK);
    assert_int_equal(hal_command_buffer_end(commands), HAL_OK);
    assert_int_equal(hal_queue_submit(device, &(struct hal_submit_desc){.commands = &commands,
                                                                        .command_count = 1}),
                     HAL_OK);
    assert_int_equal(hal_device_wait_idle(device, HAL_FOREVER), HAL_OK);
    assert_int_equal(hal_buffer_read(buffer, 0, out, 3 * sizeof *out), HAL_OK);
    hal_command_buffer_release(commands);
    hal_buffer_release(buffer);
    hal_executable_release(executable);
    hal_device_release(device);
}

TEST(kernels_round_as_the_device_is_told)
{
    float out[3];
    unsetenv("HAL_MSL_MATH");
    run("cpu?math=safe", out);
    assert_true(out[1] == 0 && out[2] == 0);
    run("cpu?math=fast", out); /* the square may keep all its bits, where the processor can */
    assert_true((out[1] == 0 || out[1] == 0x1p-24f) && out[2] == 1);
    run("cpu", out);
    assert_true(out[1] == 0 && out[2] == 0);
    /* The environment speaks for those that say nothing. */
    setenv("HAL_MSL_MATH", "fast", 1);
    run("cpu", out);
    assert_true(out[2] == 1);
    run("cpu?math=safe", out);
    assert_true(out[1] == 0 && out[2] == 0);
    unsetenv("HAL_MSL_MATH");
}

TEST(the_description_says_so)
{
    static const char *const uris[][2] = {
        {"cpu?threads=1&math=fast", "cpu?threads=1&queues=1&math=fast"},
        {"cpu?math=safe&threads=1", "cpu?threads=1&queues=1&math=safe"},
        {"cpu?threads=1", "cpu?threads=1&queues=1"}};
    struct hal_device *device;
    for (size_t i = 0; i < sizeof uris / sizeof *uris; i++) {
        assert_int_equal(hal_device_open(uris[i][0], &device), HAL_OK);
        assert_string_equal(hal_device_get_info(device)->uri, uris[i][1]);
        hal_device_release(device);
    }
    assert_int_equal(hal_device_open("cpu?math=quick", &device), HAL_INVALID);
    assert_non_null(strstr(hal_message(), "math=quick is neither safe nor fast"));
}
