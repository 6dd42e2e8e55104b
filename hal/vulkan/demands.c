/* SPDX-License-Identifier: Apache-2.0 */
/* What a module needs and the device may lack. Vulkan itself says nothing about either: such a
 * module does anything. */
#include "hal/spirv/module.h"
#include "hal/vulkan/vulkan.h"

#include <inttypes.h>
#include <spirv.h>

/* Capabilities that everything has need no line. */
static enum hal_status check_capability(const struct vulkan_device *device, uint32_t capability)
{
    const struct vulkan_features *has = &device->features;
    const VkSubgroupFeatureFlags groups = device->subgroup_operations;
    const struct {
        SpvCapability capability;
        bool is_there;
        const char *name;
    } known[] = {
        {SpvCapabilityInt8, has->v12.shaderInt8, "Int8"},
        {SpvCapabilityInt16, has->v10.shaderInt16, "Int16"},
        {SpvCapabilityInt64, has->v10.shaderInt64, "Int64"},
        {SpvCapabilityFloat16, has->v12.shaderFloat16, "Float16"},
        {SpvCapabilityStorageBuffer8BitAccess, has->v12.storageBuffer8BitAccess,
         "StorageBuffer8BitAccess"},
        {SpvCapabilityUniformAndStorageBuffer8BitAccess, has->v12.uniformAndStorageBuffer8BitAccess,
         "UniformAndStorageBuffer8BitAccess"},
        {SpvCapabilityStoragePushConstant8, has->v12.storagePushConstant8, "StoragePushConstant8"},
        {SpvCapabilityStorageBuffer16BitAccess, has->v11.storageBuffer16BitAccess,
         "StorageBuffer16BitAccess"},
        {SpvCapabilityUniformAndStorageBuffer16BitAccess,
         has->v11.uniformAndStorageBuffer16BitAccess, "UniformAndStorageBuffer16BitAccess"},
        {SpvCapabilityStoragePushConstant16, has->v11.storagePushConstant16,
         "StoragePushConstant16"},
        {SpvCapabilityVariablePointers, has->v11.variablePointers, "VariablePointers"},
        {SpvCapabilityVariablePointersStorageBuffer, has->v11.variablePointersStorageBuffer,
         "VariablePointersStorageBuffer"},
        {SpvCapabilityVulkanMemoryModel, has->v12.vulkanMemoryModel, "VulkanMemoryModel"},
        {SpvCapabilityVulkanMemoryModelDeviceScope, has->v12.vulkanMemoryModelDeviceScope,
         "VulkanMemoryModelDeviceScope"},
        {SpvCapabilityGroupNonUniform, groups & VK_SUBGROUP_FEATURE_BASIC_BIT, "GroupNonUniform"},
        {SpvCapabilityGroupNonUniformVote, groups & VK_SUBGROUP_FEATURE_VOTE_BIT,
         "GroupNonUniformVote"},
        {SpvCapabilityGroupNonUniformArithmetic, groups & VK_SUBGROUP_FEATURE_ARITHMETIC_BIT,
         "GroupNonUniformArithmetic"},
        {SpvCapabilityGroupNonUniformBallot, groups & VK_SUBGROUP_FEATURE_BALLOT_BIT,
         "GroupNonUniformBallot"},
        {SpvCapabilityGroupNonUniformShuffle, groups & VK_SUBGROUP_FEATURE_SHUFFLE_BIT,
         "GroupNonUniformShuffle"},
        {SpvCapabilityGroupNonUniformShuffleRelative,
         groups & VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT, "GroupNonUniformShuffleRelative"},
        {SpvCapabilityGroupNonUniformClustered, groups & VK_SUBGROUP_FEATURE_CLUSTERED_BIT,
         "GroupNonUniformClustered"},
        {SpvCapabilityGroupNonUniformQuad, groups & VK_SUBGROUP_FEATURE_QUAD_BIT,
         "GroupNonUniformQuad"},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (capability == (uint32_t)known[i].capability && !known[i].is_there)
            return hal_fail(HAL_UNSUPPORTED,
                            "the module needs the capability %s, which '%s' does not have",
                            known[i].name, device->properties.deviceName);
    }
    return HAL_OK;
}

enum hal_status vulkan_check_demands(const struct vulkan_device *device,
                                     const struct spirv_module *module)
{
    for (size_t at = SPIRV_HEADER_WORDS; at < module->count;
         at += module->words[at] >> SpvWordCountShift) {
        if ((module->words[at] & SpvOpCodeMask) != SpvOpCapability)
            break; /* they stand first */
        if (module->words[at] >> SpvWordCountShift > 1)
            HAL_TRY(check_capability(device, module->words[at + 1]));
    }
    return HAL_OK;
}

enum hal_status vulkan_check_shared(const struct vulkan_device *device,
                                    const struct spirv_module *module, const char *name)
{
    const uint64_t bytes = spirv_module_shared_bytes(module, name);
    if (bytes > device->limits.maxComputeSharedMemorySize)
        return hal_fail(HAL_INVALID,
                        "entry point '%s': a workgroup shares %" PRIu64
                        " bytes, the device's limit is %u",
                        name, bytes, device->limits.maxComputeSharedMemorySize);
    return HAL_OK;
}
