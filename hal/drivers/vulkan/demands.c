/* SPDX-License-Identifier: Apache-2.0 */
/* What a module needs and the device may lack, of which Vulkan says nothing: it may do anything. */
#include "hal/base/text.h"
#include "hal/compiler/spirv/module.h"
#include "hal/drivers/vulkan/vulkan.h"

#include <inttypes.h>

enum hal_status vulkan_check_demands(const struct vulkan_device *device,
                                     const struct spirv_module *module)
{
    const struct vulkan_features *has = &device->features;
    const VkSubgroupFeatureFlags groups = device->subgroup_operations;
    const struct {
        enum spirv_need need;
        bool is_there;
        const char *name;
    } known[] = {
        {SPIRV_NEEDS_INT8, has->v12.shaderInt8, "Int8"},
        {SPIRV_NEEDS_INT16, has->v10.shaderInt16, "Int16"},
        {SPIRV_NEEDS_INT64, has->v10.shaderInt64, "Int64"},
        {SPIRV_NEEDS_FLOAT16, has->v12.shaderFloat16, "Float16"},
        {SPIRV_NEEDS_STORAGE_BUFFER8_BIT_ACCESS, has->v12.storageBuffer8BitAccess,
         "StorageBuffer8BitAccess"},
        {SPIRV_NEEDS_UNIFORM_AND_STORAGE_BUFFER8_BIT_ACCESS,
         has->v12.uniformAndStorageBuffer8BitAccess, "UniformAndStorageBuffer8BitAccess"},
        {SPIRV_NEEDS_STORAGE_PUSH_CONSTANT8, has->v12.storagePushConstant8, "StoragePushConstant8"},
        {SPIRV_NEEDS_STORAGE_BUFFER16_BIT_ACCESS, has->v11.storageBuffer16BitAccess,
         "StorageBuffer16BitAccess"},
        {SPIRV_NEEDS_UNIFORM_AND_STORAGE_BUFFER16_BIT_ACCESS,
         has->v11.uniformAndStorageBuffer16BitAccess, "UniformAndStorageBuffer16BitAccess"},
        {SPIRV_NEEDS_STORAGE_PUSH_CONSTANT16, has->v11.storagePushConstant16,
         "StoragePushConstant16"},
        {SPIRV_NEEDS_VARIABLE_POINTERS, has->v11.variablePointers, "VariablePointers"},
        {SPIRV_NEEDS_VARIABLE_POINTERS_STORAGE_BUFFER, has->v11.variablePointersStorageBuffer,
         "VariablePointersStorageBuffer"},
        {SPIRV_NEEDS_VULKAN_MEMORY_MODEL, has->v12.vulkanMemoryModel, "VulkanMemoryModel"},
        {SPIRV_NEEDS_VULKAN_MEMORY_MODEL_DEVICE_SCOPE, has->v12.vulkanMemoryModelDeviceScope,
         "VulkanMemoryModelDeviceScope"},
        {SPIRV_NEEDS_GROUP_NON_UNIFORM, groups & VK_SUBGROUP_FEATURE_BASIC_BIT, "GroupNonUniform"},
        {SPIRV_NEEDS_GROUP_NON_UNIFORM_VOTE, groups & VK_SUBGROUP_FEATURE_VOTE_BIT,
         "GroupNonUniformVote"},
        {SPIRV_NEEDS_GROUP_NON_UNIFORM_ARITHMETIC, groups & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT,
         "GroupNonUniformArithmetic"},
        {SPIRV_NEEDS_GROUP_NON_UNIFORM_BALLOT, groups & VK_SUBGROUP_FEATURE_BALLOT_BIT,
         "GroupNonUniformBallot"},
        {SPIRV_NEEDS_GROUP_NON_UNIFORM_SHUFFLE, groups & VK_SUBGROUP_FEATURE_SHUFFLE_BIT,
         "GroupNonUniformShuffle"},
        {SPIRV_NEEDS_GROUP_NON_UNIFORM_SHUFFLE_RELATIVE,
         groups & VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT, "GroupNonUniformShuffleRelative"},
        {SPIRV_NEEDS_GROUP_NON_UNIFORM_CLUSTERED, groups & VK_SUBGROUP_FEATURE_CLUSTERED_BIT,
         "GroupNonUniformClustered"},
        {SPIRV_NEEDS_GROUP_NON_UNIFORM_QUAD, groups & VK_SUBGROUP_FEATURE_QUAD_BIT,
         "GroupNonUniformQuad"},
    };
    const uint64_t needs = spirv_module_needs(module);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (needs >> known[i].need & 1 && !known[i].is_there)
            return hal_fail(HAL_UNSUPPORTED,
                            "the module needs the capability %s, which '%s' does not have",
                            known[i].name, device->properties.deviceName);
    }
    return HAL_OK;
}

enum hal_status vulkan_check_shared(const struct vulkan_device *device,
                                    const struct spirv_module *module, const char *name)
{
    const uint64_t bytes = spirv_module_shared_bytes(module, name);
    if (bytes > device->limits.maxComputeSharedMemorySize)
        return hal_fail(
            HAL_INVALID, "entry point '%s': a workgroup shares %s, the device's limit is %u", name,
            hal_count(bytes, "byte", "bytes").text, device->limits.maxComputeSharedMemorySize);
    return HAL_OK;
}
