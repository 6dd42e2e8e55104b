/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that many cases use: one executable for the whole run. */
#include "tests/conformance/kernels.metal.h"
#include "tests/conformance/runner.h"
#if SUITE_HAS_SPIRV
#include "tests/conformance/kernels.comp.h"
#endif

static struct hal_entry_point entries[KERNEL_TOTAL] = {
    [KERNEL_COPY] = {"copy_words", {64, 1, 1}, 0, 0},
    [KERNEL_INCREMENT] = {"increment", {64, 1, 1}, 0, 0},
    [KERNEL_AFFINE] = {"affine", {64, 1, 1}, 8, 4},
    [KERNEL_NUMBER] = {"number", {64, 1, 1}, 4, 1},
    [KERNEL_BOUNDED] = {"bounded", {32, 1, 1}, 4, 1},
    [KERNEL_POSITIONS] = {"positions", {3, 2, 2}, 0, 0},
    [KERNEL_COUNT_THREADS] = {"count_threads", {64, 1, 1}, 0, 0},
    [KERNEL_GATHER] = {"gather", {16, 1, 1}, 0, 0},
    [KERNEL_BYTES] = {"bytes", {16, 1, 1}, 0, 0},
    [KERNEL_ROTATE] = {"rotate_group", {128, 1, 1}, 0, 0},
    [KERNEL_REDUCE] = {"reduce", {256, 1, 1}, 0, 0},
    [KERNEL_TRANSPOSE] = {"transpose_tiles", {16, 16, 1}, 8, 2},
    [KERNEL_SCAN] = {"scan", {256, 1, 1}, 0, 0},
    [KERNEL_HISTOGRAM] = {"histogram", {64, 1, 1}, 0, 0},
    [KERNEL_SIMD] = {"simd_functions", {64, 1, 1}, 0, 0},
    [KERNEL_WORDS] = {"words", {1024, 1, 1}, HAL_MAX_CONSTANT_BYTES, 1},
    [KERNEL_MIXED_TYPES] = {"mixed_types", {32, 1, 1}, 0, 0},
    [KERNEL_WRITE_ONE] = {"write_one", {1, 1, 1}, 8, 1},
    [KERNEL_CHAIN] = {"chain", {1, 1, 1}, 4, 1},
    [KERNEL_SPIN] = {"spin", {64, 1, 1}, 4, 1},
};

void suite_kernels_fit(const struct hal_device_info *info)
{
    enum { ARRAY_BYTES = 128 }; /* in kernels.comp: what each device with Vulkan takes */
    for (uint32_t i = 0; i < info->format_count; i++) {
        if (info->formats[i] == HAL_FORMAT_MSL)
            return;
    }
    entries[KERNEL_WORDS].constant_bytes = ARRAY_BYTES;
}

uint32_t suite_constant_bytes(void)
{
    return entries[KERNEL_WORDS].constant_bytes;
}

const struct hal_executable_desc *suite_kernels_desc(void)
{
    static const struct hal_executable_variant variants[] = {
        {HAL_FORMAT_MSL, kernels_metal, sizeof kernels_metal},
#if SUITE_HAS_SPIRV
        {HAL_FORMAT_SPIRV, kernels_spirv, sizeof kernels_spirv},
#endif
    };
    static const struct hal_executable_desc desc = {
        .label = "kernels.metal",
        .variants = variants,
        .variant_count = SUITE_COUNT(variants),
        .entry_points = entries,
        .entry_point_count = KERNEL_TOTAL,
    };
    return &desc;
}

struct hal_executable *suite_kernels(struct suite *suite)
{
    struct suite_run *run = suite_run_of(suite);
    enum hal_status status = HAL_OK;
    pthread_mutex_lock(&run->lock);
    if (!run->kernels)
        status = hal_executable_create(run->device, suite_kernels_desc(), &run->kernels);
    struct hal_executable *kernels = run->kernels;
    pthread_mutex_unlock(&run->lock);
    check_ok(suite, status);
    return kernels;
}

void suite_dispatch(struct suite *suite, struct hal_command_buffer *commands,
                    const struct suite_launch *launch)
{
    struct hal_binding bindings[SUITE_COUNT(launch->buffers)] = {{0}};
    for (size_t i = 0; i < SUITE_COUNT(bindings); i++)
        bindings[i] = (struct hal_binding){launch->buffers[i], 0, HAL_WHOLE_BUFFER};
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, bindings, SUITE_COUNT(bindings)));
    if (launch->constant_count)
        check_ok(suite, hal_command_push_constants(commands, 0, launch->constants,
                                                   launch->constant_count * 4));
    check_ok(suite,
             hal_command_dispatch(commands, suite_kernels(suite), launch->kernel, launch->groups));
}
