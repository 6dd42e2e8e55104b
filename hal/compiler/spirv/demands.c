/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the capabilities that devices may lack a module declares. */
#include "hal/compiler/spirv/module.h"

#include <spirv.h>

static const struct {
    SpvCapability capability;
    enum spirv_need need;
} known[] = {
    {SpvCapabilityInt8, SPIRV_NEEDS_INT8},
    {SpvCapabilityInt16, SPIRV_NEEDS_INT16},
    {SpvCapabilityInt64, SPIRV_NEEDS_INT64},
    {SpvCapabilityFloat16, SPIRV_NEEDS_FLOAT16},
    {SpvCapabilityStorageBuffer8BitAccess, SPIRV_NEEDS_STORAGE_BUFFER8_BIT_ACCESS},
    {SpvCapabilityUniformAndStorageBuffer8BitAccess,
     SPIRV_NEEDS_UNIFORM_AND_STORAGE_BUFFER8_BIT_ACCESS},
    {SpvCapabilityStoragePushConstant8, SPIRV_NEEDS_STORAGE_PUSH_CONSTANT8},
    {SpvCapabilityStorageBuffer16BitAccess, SPIRV_NEEDS_STORAGE_BUFFER16_BIT_ACCESS},
    {SpvCapabilityUniformAndStorageBuffer16BitAccess,
     SPIRV_NEEDS_UNIFORM_AND_STORAGE_BUFFER16_BIT_ACCESS},
    {SpvCapabilityStoragePushConstant16, SPIRV_NEEDS_STORAGE_PUSH_CONSTANT16},
    {SpvCapabilityVariablePointers, SPIRV_NEEDS_VARIABLE_POINTERS},
    {SpvCapabilityVariablePointersStorageBuffer, SPIRV_NEEDS_VARIABLE_POINTERS_STORAGE_BUFFER},
    {SpvCapabilityVulkanMemoryModel, SPIRV_NEEDS_VULKAN_MEMORY_MODEL},
    {SpvCapabilityVulkanMemoryModelDeviceScope, SPIRV_NEEDS_VULKAN_MEMORY_MODEL_DEVICE_SCOPE},
    {SpvCapabilityGroupNonUniform, SPIRV_NEEDS_GROUP_NON_UNIFORM},
    {SpvCapabilityGroupNonUniformVote, SPIRV_NEEDS_GROUP_NON_UNIFORM_VOTE},
    {SpvCapabilityGroupNonUniformArithmetic, SPIRV_NEEDS_GROUP_NON_UNIFORM_ARITHMETIC},
    {SpvCapabilityGroupNonUniformBallot, SPIRV_NEEDS_GROUP_NON_UNIFORM_BALLOT},
    {SpvCapabilityGroupNonUniformShuffle, SPIRV_NEEDS_GROUP_NON_UNIFORM_SHUFFLE},
    {SpvCapabilityGroupNonUniformShuffleRelative, SPIRV_NEEDS_GROUP_NON_UNIFORM_SHUFFLE_RELATIVE},
    {SpvCapabilityGroupNonUniformClustered, SPIRV_NEEDS_GROUP_NON_UNIFORM_CLUSTERED},
    {SpvCapabilityGroupNonUniformQuad, SPIRV_NEEDS_GROUP_NON_UNIFORM_QUAD},
};

uint64_t spirv_module_needs(const struct spirv_module *module)
{
    uint64_t needs = 0;
    for (size_t at = SPIRV_HEADER_WORDS; at < module->count;
         at += module->words[at] >> SpvWordCountShift) {
        if ((module->words[at] & SpvOpCodeMask) != SpvOpCapability)
            break; /* they come first */
        if (module->words[at] >> SpvWordCountShift < 2)
            continue;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            if (module->words[at + 1] == (uint32_t)known[i].capability)
                needs |= (uint64_t)1 << known[i].need;
        }
    }
    return needs;
}
