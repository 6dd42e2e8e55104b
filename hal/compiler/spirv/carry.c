/* SPDX-License-Identifier: Apache-2.0 */
/* Push constants as a storage buffer, for devices that can push fewer bytes than a module takes.
 * Both have the same layout of their members (std430), so nothing but the storage class changes. */
#include "hal/compiler/spirv/module.h"

#include "hal/base/mem.h"

#include <spirv.h>

static const char storage_extension[] = "SPV_KHR_storage_buffer_storage_class";

enum {
    EXTENSION_WORDS = 1 + sizeof storage_extension / sizeof(uint32_t) + 1,
    DECORATION_WORDS = 4 + 4 + 3, /* set, binding, not written */
    VERSION_1_3 = 0x00010300,
};

static SpvOp op_at(const struct spirv_module *module, size_t at)
{
    return (SpvOp)(module->words[at] & SpvOpCodeMask);
}

static size_t length_at(const struct spirv_module *module, size_t at)
{
    return module->words[at] >> SpvWordCountShift;
}

static bool is_constants(const struct spirv_module *module, size_t at)
{
    return op_at(module, at) == SpvOpVariable && length_at(module, at) >= 4 &&
           module->words[at + 3] == SpvStorageClassPushConstant;
}

static uint32_t first_word(SpvOp op, size_t words)
{
    return (uint32_t)words << SpvWordCountShift | (uint32_t)op;
}

static void add_extension(uint32_t **io_target)
{
    uint32_t *const target = *io_target;
    target[0] = first_word(SpvOpExtension, EXTENSION_WORDS);
    memset(target + 1, 0, (EXTENSION_WORDS - 1) * sizeof *target);
    memcpy(target + 1, storage_extension, sizeof storage_extension);
    *io_target += EXTENSION_WORDS;
}

static void add_decorations(const struct spirv_module *module, uint32_t set, uint32_t binding,
                            uint32_t **io_target)
{
    for (size_t at = SPIRV_HEADER_WORDS; at < module->count; at += length_at(module, at)) {
        if (!is_constants(module, at))
            continue;
        const uint32_t id = module->words[at + 2];
        const uint32_t words[DECORATION_WORDS] = {
            first_word(SpvOpDecorate, 4), id, SpvDecorationDescriptorSet, set,
            first_word(SpvOpDecorate, 4), id, SpvDecorationBinding,       binding,
            first_word(SpvOpDecorate, 3), id, SpvDecorationNonWritable};
        memcpy(*io_target, words, sizeof words);
        *io_target += DECORATION_WORDS;
    }
}

/* The instruction that has just been copied. */
static void change(uint32_t *words, size_t count)
{
    switch ((int)(words[0] & SpvOpCodeMask)) {
    case SpvOpCapability:
        if (count > 1 && words[1] == SpvCapabilityStoragePushConstant16)
            words[1] = SpvCapabilityStorageBuffer16BitAccess;
        else if (count > 1 && words[1] == SpvCapabilityStoragePushConstant8)
            words[1] = SpvCapabilityStorageBuffer8BitAccess;
        break;
    case SpvOpTypePointer:
        if (count > 2 && words[2] == SpvStorageClassPushConstant)
            words[2] = SpvStorageClassStorageBuffer;
        break;
    case SpvOpVariable:
        if (count > 3 && words[3] == SpvStorageClassPushConstant)
            words[3] = SpvStorageClassStorageBuffer;
        break;
    default: break;
    }
}

static bool decorates(SpvOp op)
{
    return op == SpvOpDecorate || op == SpvOpMemberDecorate || op == SpvOpDecorationGroup;
}

/* Sections follow each other (2.4): capabilities, extensions, ..., decorations, types. */
static size_t rewrite(const struct spirv_module *module, uint32_t set, uint32_t binding,
                      uint32_t *target)
{
    uint32_t *const begin = target;
    bool needs_extension = module->words[1] < VERSION_1_3, needs_decorations = true;
    memcpy(target, module->words, SPIRV_HEADER_WORDS * sizeof *target);
    target += SPIRV_HEADER_WORDS;
    for (size_t at = SPIRV_HEADER_WORDS; at < module->count;) {
        const size_t words = length_at(module, at);
        if (needs_extension && op_at(module, at) != SpvOpCapability) {
            add_extension(&target);
            needs_extension = false;
        }
        if (needs_decorations && decorates(op_at(module, at))) {
            add_decorations(module, set, binding, &target);
            needs_decorations = false;
        }
        memcpy(target, module->words + at, words * sizeof *target);
        change(target, words);
        target += words;
        at += words;
    }
    return (size_t)(target - begin);
}

enum hal_status spirv_module_carry_constants(const struct spirv_module *module, uint32_t set,
                                             uint32_t binding, struct spirv_module *out_module)
{
    size_t room = module->count + EXTENSION_WORDS;
    for (size_t at = SPIRV_HEADER_WORDS; at < module->count; at += length_at(module, at))
        room += is_constants(module, at) ? DECORATION_WORDS : 0;
    uint32_t *words = hal_alloc(room, sizeof *words);
    if (!words)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu words", room);
    const size_t count = rewrite(module, set, binding, words);
    const enum hal_status status = spirv_module_init(words, count * sizeof *words, out_module);
    free(words);
    if (status != HAL_OK)
        spirv_module_finish(out_module);
    return status;
}
