/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a module's instructions; section numbers are those of the SPIR-V specification. */
#include "hal/compiler/spirv/module.h"

#include "hal/base/mem.h"
#include "hal/base/text.h"

#include <math.h>
#include <stdio.h>
#define SPV_ENABLE_UTILITY_CODE
#include <spirv.h>

extern inline void SpvHasResultAndType(SpvOp opcode, bool *, bool *);

enum { HEADER_WORDS = SPIRV_HEADER_WORDS, MAX_IDS = 1 << 22 };

/* ---- Instructions --------------------------------------------------------------------------- */

static SpvOp op_at(const struct spirv_module *module, size_t at)
{
    return (SpvOp)(module->words[at] & SpvOpCodeMask);
}

static size_t length_at(const struct spirv_module *module, size_t at)
{
    return module->words[at] >> SpvWordCountShift;
}

static size_t next(const struct spirv_module *module, size_t at)
{
    return at + length_at(module, at);
}

/* Operand words from the n-th on that hold a whole string. */
static const char *string_at(const struct spirv_module *module, size_t at, size_t n)
{
    const size_t length = length_at(module, at);
    if (n >= length)
        return NULL;
    const char *const text = (const char *)&module->words[at + n];
    return memchr(text, '\0', (length - n) * sizeof *module->words) ? text : NULL;
}

/* The position of the id that the instruction defines; 0: none that matters here. */
static size_t result_index(SpvOp op)
{
    bool has_result, has_type;
    SpvHasResultAndType(op, &has_result, &has_type);
    return has_result ? 1 + (size_t)has_type : 0;
}

static size_t definition(const struct spirv_module *module, uint32_t id)
{
    return id < module->id_bound ? module->defined_at[id] : 0;
}

static void swap_bytes(uint32_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        words[i] = __builtin_bswap32(words[i]);
}

/* Section 2.3: every instruction contains its length. */
static enum hal_status index_instructions(struct spirv_module *module)
{
    for (size_t at = HEADER_WORDS; at < module->count; at = next(module, at)) {
        const size_t length = length_at(module, at);
        if (length == 0 || length > module->count - at)
            return hal_fail(HAL_INVALID, "the instruction at word %zu has %s; %zu are left", at,
                            hal_count(length, "word", "words").text, module->count - at);
        const size_t result = result_index(op_at(module, at));
        if (!result || result >= length)
            continue;
        const uint32_t id = module->words[at + result];
        if (id >= module->id_bound)
            return hal_fail(HAL_INVALID,
                            "the instruction at word %zu defines id %u; the bound is %u", at, id,
                            module->id_bound);
        module->defined_at[id] = (uint32_t)at;
    }
    return HAL_OK;
}

enum hal_status spirv_module_init(const void *data, size_t bytes, struct spirv_module *out_module)
{
    struct spirv_module *const module = out_module;
    *module = (struct spirv_module){.count = bytes / sizeof *module->words};
    if (bytes % sizeof *module->words || module->count < HEADER_WORDS)
        return hal_fail(HAL_INVALID, "%s no SPIR-V: it consists of 32-bit words, %d at least",
                        hal_count(bytes, "byte is", "bytes are").text, HEADER_WORDS);
    module->words = hal_alloc(module->count, sizeof *module->words);
    if (!module->words)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu words", module->count);
    memcpy(module->words, data, bytes);
    if (module->words[0] == __builtin_bswap32(SpvMagicNumber))
        swap_bytes(module->words, module->count);
    if (module->words[0] != SpvMagicNumber)
        return hal_fail(HAL_INVALID, "this is not SPIR-V: it begins with 0x%08x, not with 0x%08x",
                        module->words[0], SpvMagicNumber);
    module->id_bound = module->words[3];
    if (module->id_bound == 0 || module->id_bound > MAX_IDS)
        return hal_fail(HAL_INVALID, "the bound of ids is %u; 1 to %d are allowed",
                        module->id_bound, MAX_IDS);
    module->defined_at = hal_alloc(module->id_bound, sizeof *module->defined_at);
    if (!module->defined_at)
        return hal_fail(HAL_NO_MEMORY, "no memory for %u ids", module->id_bound);
    return index_instructions(module);
}

void spirv_module_finish(struct spirv_module *module)
{
    free(module->words);
    free(module->defined_at);
    *module = (struct spirv_module){0};
}

/* ---- Demands -------------------------------------------------------------------------------- */

enum hal_status spirv_module_check_demands(const struct spirv_module *module)
{
    static const struct {
        SpvCapability capability;
        const char *what;
    } refused[] = {
        {SpvCapabilityKernel, "Kernel: OpenCL's kind of SPIR-V; Vulkan's is supported"},
        {SpvCapabilityFloat64, "Float64: kernels have no double"},
        {SpvCapabilityInt64Atomics, "Int64Atomics"},
        {SpvCapabilityAtomicFloat64AddEXT, "AtomicFloat64AddEXT: kernels have no double"},
        {SpvCapabilityPhysicalStorageBufferAddresses,
         "PhysicalStorageBufferAddresses: buffers have no addresses for kernels"},
        {SpvCapabilityRuntimeDescriptorArray, "RuntimeDescriptorArray"},
        {SpvCapabilityRayQueryKHR, "RayQueryKHR: ray tracing exists on a GPU only"},
        {SpvCapabilityRayTracingKHR, "RayTracingKHR: ray tracing exists on a GPU only"},
    };
    for (size_t at = HEADER_WORDS; at < module->count; at = next(module, at)) {
        if (op_at(module, at) != SpvOpCapability)
            break; /* section 2.4: they come first */
        for (size_t i = 0; length_at(module, at) > 1 && i < sizeof refused / sizeof *refused; i++)
            if (module->words[at + 1] == (uint32_t)refused[i].capability)
                return hal_fail(HAL_UNSUPPORTED, "it requires the capability %s", refused[i].what);
    }
    return HAL_OK;
}

/* ---- Specialization ------------------------------------------------------------------------- */

/* Only for the few rewritten instructions: an operand that validation guarantees. */
static uint32_t operand(const struct spirv_module *module, size_t at, size_t n)
{
    return n < length_at(module, at) ? module->words[at + n] : 0;
}

static bool is_spec_id(const struct spirv_module *module, size_t at)
{
    return op_at(module, at) == SpvOpDecorate && operand(module, at, 2) == SpvDecorationSpecId;
}

static uint32_t integer_type(uint32_t width, bool is_signed)
{
    switch (width) {
    case 8: return is_signed ? SPIRV_INT8 : SPIRV_UINT8;
    case 16: return is_signed ? SPIRV_INT16 : SPIRV_UINT16;
    case 32: return is_signed ? SPIRV_INT32 : SPIRV_UINT32;
    case 64: return is_signed ? SPIRV_INT64 : SPIRV_UINT64;
    default: return 0;
    }
}

/* The type at a constant's definition; 0: a kind that cannot be given values. */
static uint32_t value_type(const struct spirv_module *module, size_t at)
{
    const size_t type = at ? definition(module, operand(module, at, 1)) : 0;
    if (!type)
        return 0;
    const uint32_t width = operand(module, type, 2);
    switch ((int)op_at(module, type)) {
    case SpvOpTypeBool: return SPIRV_BOOL;
    case SpvOpTypeInt: return integer_type(width, operand(module, type, 3) != 0);
    case SpvOpTypeFloat: return width == 16 ? SPIRV_FLOAT16 : width == 32 ? SPIRV_FLOAT32 : 0;
    default: return 0;
    }
}

static void copy_name(const struct spirv_module *module, uint32_t id, char *out_name)
{
    out_name[0] = '\0';
    for (size_t at = HEADER_WORDS; at < module->count; at = next(module, at)) {
        if (op_at(module, at) != SpvOpName || operand(module, at, 1) != id)
            continue;
        const char *const text = string_at(module, at, 2);
        snprintf(out_name, SPIRV_NAME_BYTES, "%s", text ? text : "");
        for (char *c = out_name; *c; c++)
            if ((unsigned char)*c <= ' ' || *c == 127)
                *c = '_';
        return;
    }
}

bool spirv_module_next_constant(const struct spirv_module *module, size_t *at,
                                struct spirv_module_constant *out_constant)
{
    if (*at == 0)
        *at = HEADER_WORDS;
    while (*at < module->count) {
        const size_t here = *at;
        *at = next(module, here);
        if (!is_spec_id(module, here))
            continue;
        const uint32_t id = operand(module, here, 1);
        out_constant->id = operand(module, here, 3);
        out_constant->type = value_type(module, definition(module, id));
        copy_name(module, id, out_constant->name);
        return true;
    }
    return false;
}

static enum hal_status fail_type(const struct spirv_constant *constant, const char *theirs)
{
    static const char *const ours[] = {"",         "bool",  "int32", "uint32", "float32",
                                       "int8",     "uint8", "int16", "uint16", "float16",
                                       "bfloat16", "int64", "uint64"};
    return hal_fail(HAL_INVALID, "specialization constant %u is a %s; its value is given as %s",
                    constant->id, theirs, ours[constant->type]);
}

static enum hal_status set_boolean(struct spirv_module *module, size_t at,
                                   const struct spirv_constant *constant)
{
    if (constant->type != SPIRV_BOOL)
        return fail_type(constant, "bool");
    const uint32_t op = constant->bits ? SpvOpSpecConstantTrue : SpvOpSpecConstantFalse;
    module->words[at] = (module->words[at] & ~(uint32_t)SpvOpCodeMask) | op;
    return HAL_OK;
}

/* An integer between those that 64 bits hold with a sign and without. */
struct integer {
    uint64_t bits;
    bool is_negative;
};

static uint32_t width_of(enum spirv_constant_type type)
{
    static const uint8_t widths[] = {
        [SPIRV_INT8] = 8,   [SPIRV_UINT8] = 8,   [SPIRV_INT16] = 16, [SPIRV_UINT16] = 16,
        [SPIRV_INT32] = 32, [SPIRV_UINT32] = 32, [SPIRV_INT64] = 64, [SPIRV_UINT64] = 64,
    };
    return (unsigned)type < sizeof widths ? widths[type] : 0;
}

static bool read_integer(const struct spirv_constant *constant, struct integer *out_integer)
{
    const enum spirv_constant_type type = constant->type;
    const uint32_t width = width_of(type);
    if (!width)
        return false;
    const bool is_signed =
        type == SPIRV_INT8 || type == SPIRV_INT16 || type == SPIRV_INT32 || type == SPIRV_INT64;
    const uint64_t above = width < 64 ? UINT64_MAX << width : 0;
    const bool is_negative = is_signed && constant->bits >> (width - 1) & 1;
    *out_integer = (struct integer){is_negative ? constant->bits | above : constant->bits & ~above,
                                    is_negative};
    return true;
}

/* Of the same width, both spellings of a pattern are welcome from 32 bits on, as in other APIs. */
static bool fits(struct integer value, uint32_t width, bool is_signed,
                 enum spirv_constant_type type)
{
    const uint32_t digits = width - (uint32_t)is_signed;
    if (width >= 32 && width == width_of(type))
        return true;
    if (value.is_negative)
        return is_signed && ~value.bits >> digits == 0;
    return digits >= 64 || value.bits >> digits == 0;
}

static enum hal_status set_integer(struct spirv_module *module, size_t at, uint32_t width,
                                   bool is_signed, const struct spirv_constant *constant)
{
    char theirs[32], range[64] = "";
    struct integer value;
    snprintf(theirs, sizeof theirs, "%s%u", is_signed ? "int" : "uint", width);
    if (!read_integer(constant, &value))
        return fail_type(constant, theirs);
    if (!fits(value, width, is_signed, constant->type)) {
        if (width < 64)
            snprintf(range, sizeof range, ", from %lld to %lld",
                     is_signed ? -(1LL << (width - 1)) : 0,
                     (1LL << (width - (uint32_t)is_signed)) - 1);
        return value.is_negative
                   ? hal_fail(HAL_INVALID,
                              "specialization constant %u is a %s%s; its value is given as %lld",
                              constant->id, theirs, range, (long long)value.bits)
                   : hal_fail(HAL_INVALID,
                              "specialization constant %u is a %s%s; its value is given as %llu",
                              constant->id, theirs, range, (unsigned long long)value.bits);
    }
    module->words[at + 3] = (uint32_t)value.bits; /* narrow ones are sign-extended: section 2.2.1 */
    if (width > 32)
        module->words[at + 4] = (uint32_t)(value.bits >> 32);
    return HAL_OK;
}

/* To nearest, ties to even; the step between neighbours decides. */
static uint32_t half_bits(float value)
{
    const double magnitude = fabs((double)value);
    const uint32_t sign = signbit(value) ? 0x8000 : 0;
    int exponent = 0;
    if (isnan(value))
        return 0x7e00 | sign;
    if (magnitude >= 65520.0)
        return 0x7c00 | sign;
    frexp(magnitude, &exponent);
    exponent = exponent - 1 < -14 || magnitude == 0 ? -14 : exponent - 1;
    const long steps = lrint(ldexp(magnitude, 10 - exponent));
    return sign | (uint32_t)(((exponent + 14) << 10) + steps);
}

static float from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float from_half(uint32_t bits)
{
    const int exponent = (int)(bits >> 10 & 31);
    const uint32_t fraction = bits & 0x3ff, sign = (bits & 0x8000) << 16;
    if (exponent == 31)
        return from_bits(sign | 0x7f800000 | fraction << 13);
    const float size =
        exponent ? ldexpf((float)(fraction | 0x400), exponent - 25) : ldexpf((float)fraction, -24);
    return sign ? -size : size;
}

static enum hal_status set_float(struct spirv_module *module, size_t at, uint32_t width,
                                 const struct spirv_constant *constant)
{
    char theirs[32];
    const uint32_t bits = (uint32_t)constant->bits;
    float value;
    snprintf(theirs, sizeof theirs, "float%u", width);
    if (constant->type == SPIRV_FLOAT32)
        value = from_bits(bits);
    else if (constant->type == SPIRV_FLOAT16)
        value = from_half(bits);
    else if (constant->type == SPIRV_BFLOAT16)
        value = from_bits(bits << 16);
    else
        return fail_type(constant, theirs);
    if (width == 32)
        memcpy(&module->words[at + 3], &value, sizeof value);
    else
        module->words[at + 3] = constant->type == SPIRV_FLOAT16 ? bits : half_bits(value);
    return HAL_OK;
}

static enum hal_status set_scalar(struct spirv_module *module, size_t at,
                                  const struct spirv_constant *constant)
{
    const size_t type = definition(module, operand(module, at, 1));
    const size_t words = length_at(module, at);
    const uint32_t width = type ? operand(module, type, 2) : 0;
    if (type && words >= 4 && op_at(module, type) == SpvOpTypeInt && width && width <= 64 &&
        words == (width > 32 ? 5 : 4))
        return set_integer(module, at, width, operand(module, type, 3) != 0, constant);
    if (type && words == 4 && op_at(module, type) == SpvOpTypeFloat && width <= 32)
        return set_float(module, at, width, constant);
    return hal_fail(HAL_UNSUPPORTED, "specialization constant %u has a type that is not supported",
                    constant->id);
}

static enum hal_status set_value(struct spirv_module *module, uint32_t id,
                                 const struct spirv_constant *constant)
{
    const size_t at = definition(module, id);
    if (!at)
        return HAL_OK;
    const SpvOp op = op_at(module, at);
    if (op == SpvOpSpecConstantTrue || op == SpvOpSpecConstantFalse)
        return set_boolean(module, at, constant);
    return op == SpvOpSpecConstant ? set_scalar(module, at, constant) : HAL_OK;
}

/* Becomes an ordinary constant: what is computed from it, and arrays of that length, are then
 * constant in the translation, too. */
static void freeze(struct spirv_module *module, size_t at)
{
    uint32_t op = module->words[at] & SpvOpCodeMask;
    if (op == SpvOpSpecConstantTrue)
        op = SpvOpConstantTrue;
    else if (op == SpvOpSpecConstantFalse)
        op = SpvOpConstantFalse;
    else if (op == SpvOpSpecConstant)
        op = SpvOpConstant;
    module->words[at] = (module->words[at] & ~(uint32_t)SpvOpCodeMask) | op;
}

enum hal_status spirv_module_specialize(struct spirv_module *module,
                                        const struct spirv_constant *constants, size_t count)
{
    for (size_t at = HEADER_WORDS; at < module->count; at = next(module, at))
        for (size_t i = 0; is_spec_id(module, at) && i < count; i++)
            if (constants[i].id == operand(module, at, 3))
                HAL_TRY(set_value(module, operand(module, at, 1), &constants[i]));
    size_t kept = HEADER_WORDS;
    for (size_t at = HEADER_WORDS, after; at < module->count; at = after) {
        after = next(module, at);
        if (is_spec_id(module, at))
            continue; /* for specialization constants alone */
        freeze(module, at);
        memmove(&module->words[kept], &module->words[at], (after - at) * sizeof *module->words);
        kept += after - at;
    }
    module->count = kept;
    memset(module->defined_at, 0, module->id_bound * sizeof *module->defined_at);
    return index_instructions(module);
}

/* ---- Workgroup sizes ------------------------------------------------------------------------ */

static enum hal_status read_u32(const struct spirv_module *module, uint32_t id, uint32_t *out_value)
{
    const size_t at = definition(module, id);
    if (!at || op_at(module, at) != SpvOpConstant || length_at(module, at) != 4)
        return hal_fail(HAL_UNSUPPORTED, "its workgroup size is computed from specialization "
                                         "constants; only the constants themselves are supported");
    *out_value = module->words[at + 3];
    return HAL_OK;
}

static enum hal_status read_ids(const struct spirv_module *module, size_t at, size_t first,
                                uint32_t out_size[3])
{
    for (size_t i = 0; i < 3; i++)
        HAL_TRY(read_u32(module, operand(module, at, first + i), &out_size[i]));
    return HAL_OK;
}

/* Section 3.32: the constant that is decorated as WorkgroupSize counts more than the modes. */
static enum hal_status read_group_size(const struct spirv_module *module, uint32_t function,
                                       uint32_t out_size[3])
{
    enum hal_status status = hal_fail(HAL_INVALID, "it has no workgroup size");
    for (size_t at = HEADER_WORDS; at < module->count; at = next(module, at)) {
        const SpvOp op = op_at(module, at);
        const uint32_t target = operand(module, at, 1), what = operand(module, at, 2);
        if (op == SpvOpExecutionMode && target == function && what == SpvExecutionModeLocalSize &&
            length_at(module, at) == 6) {
            memcpy(out_size, &module->words[at + 3], 3 * sizeof *out_size);
            status = HAL_OK;
        } else if (op == SpvOpExecutionModeId && target == function &&
                   what == SpvExecutionModeLocalSizeId) {
            status = read_ids(module, at, 3, out_size);
        } else if (op == SpvOpDecorate && what == SpvDecorationBuiltIn &&
                   operand(module, at, 3) == SpvBuiltInWorkgroupSize &&
                   definition(module, target)) {
            return read_ids(module, definition(module, target), 3, out_size);
        }
    }
    return status;
}

enum hal_status spirv_module_group_size(const struct spirv_module *module, const char *name,
                                        uint32_t out_size[3])
{
    char others[160] = "";
    size_t length = 0, found = 0;
    for (size_t at = HEADER_WORDS; at < module->count; at = next(module, at)) {
        const char *const text =
            op_at(module, at) == SpvOpEntryPoint ? string_at(module, at, 3) : NULL;
        if (!text || operand(module, at, 1) != SpvExecutionModelGLCompute)
            continue;
        if (strcmp(text, name) == 0)
            return read_group_size(module, operand(module, at, 2), out_size);
        if (length < sizeof others)
            length += (size_t)snprintf(others + length, sizeof others - length, "%s'%s'",
                                       found ? ", " : "", text);
        found++;
    }
    if (length >= sizeof others)
        memcpy(others + sizeof others - 4, "...", 4);
    return hal_fail(HAL_INVALID, "it is not in the module, which has %zu compute entry points%s%s",
                    found, found ? ": " : "", others);
}
