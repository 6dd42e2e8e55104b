/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a workgroup of an entry point shares. */
#include "hal/compiler/spirv/module.h"

#include <spirv.h>
#include <string.h>

enum { MAX_DEPTH = 16, VERSION_1_4 = 0x00010400 };

static SpvOp op_at(const struct spirv_module *module, size_t at)
{
    return (SpvOp)(module->words[at] & SpvOpCodeMask);
}

static size_t length_at(const struct spirv_module *module, size_t at)
{
    return module->words[at] >> SpvWordCountShift;
}

/* 0 where the instruction is too short: such a module has no size that could be wrong. */
static uint32_t operand(const struct spirv_module *module, size_t at, size_t n)
{
    return n < length_at(module, at) ? module->words[at + n] : 0;
}

static size_t definition(const struct spirv_module *module, uint32_t id)
{
    return id < module->id_bound ? module->defined_at[id] : 0;
}

struct extent {
    uint64_t bytes, alignment;
};

static struct extent of_scalar(uint32_t bits)
{
    const uint64_t bytes = bits >= 8 && bits <= 64 ? bits / 8 : 4;
    return (struct extent){bytes, bytes};
}

static struct extent extent_of(const struct spirv_module *module, uint32_t type, int depth);

static struct extent of_array(const struct spirv_module *module, size_t at, int depth)
{
    const size_t length = definition(module, operand(module, at, 3));
    struct extent extent = extent_of(module, operand(module, at, 2), depth + 1);
    const uint64_t count = length ? operand(module, length, 3) : 0;
    if (extent.bytes && count > UINT32_MAX / extent.bytes)
        extent.bytes = UINT32_MAX; /* over every limit */
    else
        extent.bytes *= count;
    return extent;
}

static struct extent of_struct(const struct spirv_module *module, size_t at, int depth)
{
    struct extent whole = {0, 1};
    for (size_t i = 2; i < length_at(module, at); i++) {
        const struct extent member = extent_of(module, operand(module, at, i), depth + 1);
        whole.bytes = (whole.bytes + member.alignment - 1) / member.alignment * member.alignment;
        whole.bytes += member.bytes;
        if (whole.bytes > UINT32_MAX)
            whole.bytes = UINT32_MAX;
        if (member.alignment > whole.alignment)
            whole.alignment = member.alignment;
    }
    whole.bytes = (whole.bytes + whole.alignment - 1) / whole.alignment * whole.alignment;
    return whole;
}

/* As small as an implementation can make it. */
static struct extent extent_of(const struct spirv_module *module, uint32_t type, int depth)
{
    const size_t at = definition(module, type);
    if (!at || depth > MAX_DEPTH)
        return (struct extent){0, 1};
    switch ((int)op_at(module, at)) {
    case SpvOpTypeInt:
    case SpvOpTypeFloat: return of_scalar(operand(module, at, 2));
    case SpvOpTypeBool: return of_scalar(32);
    case SpvOpTypeVector:
    case SpvOpTypeMatrix: {
        struct extent extent = extent_of(module, operand(module, at, 2), depth + 1);
        extent.bytes *= operand(module, at, 3) & 7; /* 2 to 4 */
        return extent;
    }
    case SpvOpTypeArray: return of_array(module, at, depth);
    case SpvOpTypeStruct: return of_struct(module, at, depth);
    default: return (struct extent){0, 1};
    }
}

static uint64_t bytes_of(const struct spirv_module *module, uint32_t variable)
{
    const size_t at = definition(module, variable);
    if (!at || op_at(module, at) != SpvOpVariable ||
        operand(module, at, 3) != SpvStorageClassWorkgroup)
        return 0;
    const size_t pointer = definition(module, operand(module, at, 1));
    return pointer ? extent_of(module, operand(module, pointer, 3), 0).bytes : 0;
}

/* Words of the name, and the one after it: where the interface begins. */
static size_t interface_of(const struct spirv_module *module, size_t at, const char *name)
{
    const size_t length = length_at(module, at);
    if (op_at(module, at) != SpvOpEntryPoint || length < 4)
        return 0;
    const char *const text = (const char *)&module->words[at + 3];
    const size_t room = (length - 3) * sizeof *module->words;
    if (!memchr(text, '\0', room) || strcmp(text, name) != 0)
        return 0;
    return 3 + strlen(text) / sizeof *module->words + 1;
}

uint64_t spirv_module_shared_bytes(const struct spirv_module *module, const char *name)
{
    uint64_t bytes = 0;
    if (module->words[1] < VERSION_1_4) /* interfaces do not list such variables */
        return 0;
    for (size_t at = SPIRV_HEADER_WORDS; at < module->count; at += length_at(module, at)) {
        const size_t first = interface_of(module, at, name);
        for (size_t i = first; first && i < length_at(module, at); i++)
            bytes += bytes_of(module, module->words[at + i]);
    }
    return bytes;
}
