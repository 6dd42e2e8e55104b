/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of indirect dispatches are known on the device alone. A kernel copies them there and
 * leaves zeros of those that are over a limit; what it refused is read when the work has ended. */
#include "hal/drivers/vulkan/count_check.h"

#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "hal/drivers/vulkan/count_check.comp.h"

enum hal_status vulkan_count_check_create(struct vulkan_device *device)
{
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = sizeof vulkan_count_check_words,
        .pCode = vulkan_count_check_words,
    };
    VkShaderModule module;
    device->count_check = (struct vulkan_entry){
        .constant_bytes = sizeof(struct vulkan_count_check_constants),
        .binding_count = 2,
        .bindings = {{.set = 0, .binding = 0}, {.set = 0, .binding = 1}},
    };
    const VkResult result = vk.CreateShaderModule(device->device, &info, NULL, &module);
    if (result != VK_SUCCESS)
        return vulkan_fail(result, "the kernel for indirect dispatches");
    const enum hal_status status =
        vulkan_entry_create(device, device->pipelines, module, "main", &device->count_check);
    vk.DestroyShaderModule(device->device, module, NULL);
    return status;
}

static uint32_t limit_of(const struct vulkan_device *device, const struct hal_entry_point *entry,
                         size_t dimension)
{
    const uint32_t by_threads = UINT32_MAX / entry->workgroup_size[dimension];
    const uint32_t by_device = device->limits.maxComputeWorkGroupCount[dimension];
    return by_threads < by_device ? by_threads : by_device;
}

struct vulkan_count_check_constants vulkan_count_check_constants_of(
    const struct vulkan_device *device, const struct hal_entry_point *entry, uint32_t word,
    uint32_t index)
{
    struct vulkan_count_check_constants constants = {.word = word, .index = index};
    for (size_t i = 0; i < 3; i++)
        constants.limits[i] = limit_of(device, entry, i);
    return constants;
}

enum hal_status vulkan_check_counts(const struct vulkan_device *device,
                                    const struct hal_entry_point *entry, const uint32_t counts[3])
{
    HAL_TRY(hal_check_workgroups(entry, counts));
    for (size_t i = 0; i < 3; i++) {
        if (counts[i] > device->limits.maxComputeWorkGroupCount[i])
            return hal_fail(HAL_UNSUPPORTED,
                            "dispatch of '%s': %s in dimension %zu, the device's limit is %u",
                            entry->name, hal_count(counts[i], "workgroup", "workgroups").text, i,
                            device->limits.maxComputeWorkGroupCount[i]);
    }
    return HAL_OK;
}

enum hal_status vulkan_program_check(const struct vulkan_device *device,
                                     const struct vulkan_program *program)
{
    char name[HAL_OBJECT_NAME_BYTES];
    for (size_t i = 0; i < program->check_count; i++) {
        struct vulkan_checked_counts checked;
        memcpy(&checked, program->checked.data + i * sizeof checked, sizeof checked);
        if (checked.is_refused)
            return hal_add_context(
                vulkan_check_counts(device, program->checks[i].entry, checked.given),
                "%s, dispatch %u", hal_object_name(&program->commands->object, name),
                program->checks[i].dispatch);
    }
    return HAL_OK;
}
