/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/compiler/msl/request.h"

#include "hal/base/text.h"

#include <string.h>

enum {
    MAX_COMPONENTS = 4, /* of a vector */
    MAX_SOURCE_BYTES = 16 << 20,
    MAX_CONSTANTS = 65536 /* as function_constant indices in the language */
};

/* How many of the values that begin at `first` are one constant's. */
static size_t components_from(const struct msl_source *source, size_t first)
{
    const struct msl_constant *const all = source->constants;
    size_t count = 1;
    while (count < MAX_COMPONENTS && first + count < source->constant_count &&
           all[first + count].index == all[first].index &&
           all[first + count].type == all[first].type)
        count++;
    return count;
}

static enum hal_status check_constants(const struct msl_source *source)
{
    uint64_t seen[MAX_CONSTANTS / 64] = {0}; /* a bit per index */
    for (size_t i = 0; i < source->constant_count; i += components_from(source, i)) {
        const uint32_t index = source->constants[i].index;
        if (index >= MAX_CONSTANTS)
            return hal_fail(HAL_INVALID, "function constant index %u; the limit is %d", index,
                            MAX_CONSTANTS - 1);
        if (seen[index / 64] >> index % 64 & 1)
            return hal_fail(HAL_INVALID, "function constant %u has two values", index);
        seen[index / 64] |= (uint64_t)1 << index % 64;
    }
    return HAL_OK;
}

enum hal_status msl_request_check(const struct msl_source *source, const char *file)
{
    if (!source->text || !source->bytes)
        return hal_fail(HAL_INVALID, "'%s' is empty", file);
    if (source->bytes > MAX_SOURCE_BYTES)
        return hal_fail(HAL_INVALID, "'%s' has %s; the limit is %d", file,
                        hal_count(source->bytes, "byte", "bytes").text, MAX_SOURCE_BYTES);
    if (memchr(source->text, '\0', source->bytes))
        return hal_fail(HAL_INVALID, "'%s' is not text: it contains a zero byte", file);
    HAL_TRY(check_constants(source));
    for (size_t i = 0; i < source->group_size_count; i++) {
        const uint32_t *const size = source->group_sizes[i].size;
        if (!size[0] || !size[1] || !size[2] || size[0] > MSL_MAX_GROUP_THREADS ||
            size[1] > MSL_MAX_GROUP_THREADS ||
            (uint64_t)size[0] * size[1] * size[2] > MSL_MAX_GROUP_THREADS)
            return hal_fail(
                HAL_INVALID,
                "kernel '%s': groups of %u x %u x %u threads; 1 to %d in total are allowed",
                source->group_sizes[i].kernel, size[0], size[1], size[2], MSL_MAX_GROUP_THREADS);
    }
    return HAL_OK;
}

enum hal_status msl_request_key(const struct msl_source *source, const char *file,
                                const struct msl_compiler *compiler,
                                const struct msl_lowering *lowering,
                                const struct msl_options *options, struct msl_key *out_key)
{
    struct hal_digest digest = hal_digest_begin();
    msl_toolchain_digest(options, &digest);
    hal_digest_add(&digest, &compiler->identity, sizeof compiler->identity);
    hal_digest_add_string(&digest, compiler->version);
    hal_digest_add_string(&digest, file);
    hal_digest_add(&digest, source->text, source->bytes);
    for (size_t i = 0; i < source->constant_count; i++) {
        const struct msl_constant *const constant = &source->constants[i];
        const uint64_t numbers[] = {constant->index, (uint64_t)constant->type, constant->bits};
        hal_digest_add(&digest, numbers, sizeof numbers);
    }
    const uint32_t mode = (uint32_t)lowering->mode;
    hal_digest_add(&digest, &mode, sizeof mode);
    hal_digest_add(&digest, &lowering->identity, sizeof lowering->identity);
    const uint8_t only_listed = source->only_listed;
    hal_digest_add(&digest, &only_listed, sizeof only_listed);
    for (size_t i = 0; (lowering->pass[0] || only_listed) && i < source->group_size_count; i++) {
        hal_digest_add_string(&digest, source->group_sizes[i].kernel);
        hal_digest_add(&digest, source->group_sizes[i].size, sizeof source->group_sizes[i].size);
    }
    return hal_digest_end(&digest, out_key->bytes);
}

/* How a constant's bits become its value: "TYPE(" or a cast of the bits' type, by type. */
static const char *const constant_casts[] = {
    [MSL_BOOL] = "bool(uint64_t",
    [MSL_INT32] = "int32_t(uint64_t",
    [MSL_UINT32] = "uint32_t(uint64_t",
    [MSL_FLOAT32] = "__builtin_bit_cast(float, uint32_t",
    [MSL_INT8] = "int8_t(uint64_t",
    [MSL_UINT8] = "uint8_t(uint64_t",
    [MSL_INT16] = "int16_t(uint64_t",
    [MSL_UINT16] = "uint16_t(uint64_t",
    [MSL_FLOAT16] = "__builtin_bit_cast(half, uint16_t",
    [MSL_BFLOAT16] = "__builtin_bit_cast(bfloat, uint16_t",
    [MSL_INT64] = "int64_t(uint64_t",
    [MSL_UINT64] = "uint64_t(uint64_t",
};

enum hal_status msl_request_constants(const struct msl_source *source, struct msl_text *program)
{
    enum { COUNT = sizeof constant_casts / sizeof *constant_casts };
    msl_text_append_string(program, "#line 1 \"<constants>\"\n");
    for (size_t i = 0, components; i < source->constant_count; i += components) {
        const struct msl_constant *const constant = &source->constants[i];
        components = components_from(source, i);
        if ((unsigned)constant->type >= COUNT || !constant_casts[constant->type])
            return hal_fail(HAL_INVALID, "function constant %u has the unknown type %d",
                            constant->index, (int)constant->type);
        msl_text_print(program,
                       "template <> struct msl::function_constant<%u> {"
                       " static constexpr bool defined = true;"
                       " static constexpr int components = %zu;"
                       " template <class T> static constexpr T get() {"
                       " if constexpr (::msl::constant_components<T> != components) return T();"
                       " else return ::msl::constant_of<T>(",
                       constant->index, components);
        for (size_t k = 0; k < components; k++)
            msl_text_print(program, "%s%s(%lluull))", k ? ", " : "", constant_casts[constant->type],
                           (unsigned long long)constant[k].bits);
        msl_text_append_string(program, "); } };\n");
    }
    return HAL_OK;
}
