/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that many cases use: one executable for the whole run. */
#include "tests/conformance/kernels.metal.h"
#include "tests/conformance/runner.h"
#if SUITE_HAS_SPIRV
#include "tests/conformance/cases.comp.h"
#include "tests/conformance/kernels.comp.h"
#include "tests/conformance/spirv.comp.h"
#endif

static const struct hal_entry_point entries[KERNEL_TOTAL] = {
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

uint64_t suite_alignment(struct suite *suite)
{
    struct hal_entry_info info = {0};
    check_ok(suite, hal_executable_get_entry(suite_kernels(suite), KERNEL_BYTES, &info));
    check(suite, info.binding_count == 2);
    return info.bindings[0].alignment ? info.bindings[0].alignment : 1;
}

/* ---- Kernels of a case's own ----------------------------------------------------------------- */

bool suite_runs(const struct suite *suite, enum hal_executable_format format)
{
    const struct hal_device_info *info = suite_info(suite);
    for (uint32_t i = 0; i < info->format_count; i++) {
        if (info->formats[i] == format)
            return true;
    }
    return false;
}

void suite_need(struct suite *suite, enum hal_executable_format format)
{
    if (!suite_runs(suite, format))
        suite_skip(suite, format == HAL_FORMAT_MSL     ? "the device runs no MSL"
                          : format == HAL_FORMAT_SPIRV ? "the device runs no SPIR-V"
                                                       : "the device runs no metallib");
}

struct hal_executable_variant suite_variant(struct suite *suite, const char *msl,
                                            enum suite_module module)
{
    if (suite_runs(suite, HAL_FORMAT_MSL))
        return (struct hal_executable_variant){HAL_FORMAT_MSL, msl, strlen(msl)};
#if SUITE_HAS_SPIRV
    static const struct {
        const void *data;
        size_t bytes;
    } modules[] = {
        [MODULE_ADDER] = {spv_adder, sizeof spv_adder},
        [MODULE_ANSWER] = {spv_answer, sizeof spv_answer},
        [MODULE_CASES] = {cases_spirv, sizeof cases_spirv},
        [MODULE_GREEDY] = {spv_greedy, sizeof spv_greedy},
        [MODULE_LARGEST] = {spv_largest, sizeof spv_largest},
        [MODULE_PLUS_ONE] = {spv_plus_one, sizeof spv_plus_one},
        [MODULE_PLUS_TEN] = {spv_plus_ten, sizeof spv_plus_ten},
        [MODULE_SHOW] = {spv_show, sizeof spv_show},
        [MODULE_TELL] = {spv_tell, sizeof spv_tell},
    };
    suite_need(suite, HAL_FORMAT_SPIRV);
    return (struct hal_executable_variant){HAL_FORMAT_SPIRV, modules[module].data,
                                           modules[module].bytes};
#else
    (void)module;
    suite_skip(suite, "the suite was built without kernels in SPIR-V");
#endif
}

const char *suite_entry(const struct suite *suite, const char *name)
{
    return suite_runs(suite, HAL_FORMAT_MSL) ? name : "main";
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

uint32_t *suite_random_words(struct suite *suite, size_t count)
{
    uint32_t *words = suite_memory(suite, count * 4);
    suite_random_bytes(suite, words, count * 4);
    return words;
}

struct hal_buffer *suite_buffer_with(struct suite *suite, const char *label, const void *data,
                                     uint64_t bytes)
{
    struct hal_buffer *buffer = suite_buffer(suite, label, bytes);
    suite_write(suite, buffer, 0, data, bytes);
    return buffer;
}

void suite_launch_alone(struct suite *suite, const struct suite_launch *launch)
{
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    suite_dispatch(suite, commands, launch);
    suite_run(suite, commands);
}
