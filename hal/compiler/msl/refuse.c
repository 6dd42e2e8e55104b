/* SPDX-License-Identifier: Apache-2.0 */
/* Words that are not available here: features of GPUs, and of C++ that the language lacks. */
#include "hal/compiler/msl/unit.h"

#include <stdlib.h>
#include <string.h>

static bool has_prefix(const struct msl_token *token, const char *prefix)
{
    const size_t length = strlen(prefix);
    return token->length >= length && memcmp(token->text, prefix, length) == 0;
}

static bool is_texture_type(const struct msl_tokens *tokens, size_t i)
{
    static const char *const shapes[] = {"texture1d",      "texture2d", "texture3d", "texturecube",
                                         "texture_buffer", "depth2d",   "depthcube"};
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++)
        if (has_prefix(&tokens->list[i], shapes[n]))
            return msl_is(tokens, msl_next(tokens, i), "<");
    return false;
}

/* Why the name cannot be used, if it denotes something that does not exist here. */
static const char *missing_here(const struct msl_tokens *tokens, size_t i)
{
    static const char *const tracing[] = {"acceleration_structure",
                                          "instance_acceleration_structure",
                                          "primitive_acceleration_structure",
                                          "intersector",
                                          "intersection_query",
                                          "intersection_function_table",
                                          "raytracing"};
    static const char *const tables[] = {"visible_function_table", "render_pipeline_state",
                                         "compute_pipeline_state", "command_buffer"};
    static const char *const tiles[] = {"imageblock", "threadgroup_imageblock",
                                        "mesh_grid_properties", "object_data", "ray_data"};
    static const char *const tensors[] = {"tensor_handle", "tensor_inline", "tensor_offset",
                                          "tensor_ops", "cooperative_tensor"};
    static const char *const logs[] = {"os_log", "os_log_default"};
    static const char *const assembly[] = {"asm", "__asm", "__asm__"};
    if (is_texture_type(tokens, i))
        return "textures exist on a GPU only";
    const size_t after = msl_next(tokens, i);
    if (msl_is(tokens, i, "sampler") && tokens->list[after].kind == MSL_NAME)
        return "samplers exist on a GPU only";
    if (msl_is_one_of(tokens, i, tracing, sizeof tracing / sizeof *tracing))
        return "ray tracing exists on a GPU only";
    if (msl_is_one_of(tokens, i, tables, sizeof tables / sizeof *tables) &&
        msl_is(tokens, after, "<"))
        return "function tables and pipeline states exist on a GPU only";
    if (msl_is_one_of(tokens, i, tensors, sizeof tensors / sizeof *tensors))
        return "tensors exist on a GPU only";
    if (msl_is_one_of(tokens, i, tiles, sizeof tiles / sizeof *tiles))
        return "tile and mesh shading exist on a GPU only";
    if (msl_is_one_of(tokens, i, logs, sizeof logs / sizeof *logs))
        return "logs exist on a GPU only";
    if (msl_is_one_of(tokens, i, assembly, sizeof assembly / sizeof *assembly) &&
        (msl_is(tokens, after, "(") || msl_is(tokens, after, "volatile")))
        return "inline assembly is not part of the language";
    return NULL;
}

/* The bracket that encloses the token. */
static size_t enclosing(const struct msl_tokens *tokens, size_t i)
{
    for (i--; i > 0; i--) {
        const size_t match = tokens->list[i].match;
        if (match && match < i)
            i = match;
        else if (match)
            return i;
    }
    return 0;
}

/* Members of an argument buffer are found by position, which must equal [[id(n)]]. */
static enum hal_status check_member_id(const struct msl_unit *unit, size_t id)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const size_t open = msl_next(tokens, id), number = msl_next(tokens, open);
    const size_t attribute = enclosing(tokens, id);
    const size_t brace = enclosing(tokens, attribute);
    unsigned long place = 0;
    if (!msl_is(tokens, open, "(") || !msl_is(tokens, attribute, "[[") ||
        !msl_is(tokens, brace, "{") || tokens->list[number].kind != MSL_NUMBER)
        return HAL_OK;
    for (size_t i = msl_next(tokens, brace); i < attribute; i = msl_next(tokens, i)) {
        if (tokens->list[i].match > i)
            i = tokens->list[i].match;
        place += msl_is(tokens, i, ";");
    }
    if (strtoul(tokens->list[number].text, NULL, 0) == place)
        return HAL_OK;
    return hal_fail(HAL_UNSUPPORTED,
                    "%s:%u: error: member %lu of an argument buffer has [[id(%.*s)]]: on a "
                    "processor, ids count the members from 0",
                    unit->file, tokens->list[id].line, place, (int)tokens->list[number].length,
                    tokens->list[number].text);
}

/* The compiler's own names of what the C library does. */
static bool is_library_call(const struct msl_token *token)
{
    static const char prefix[] = "__builtin_";
    static const char *const calls[] = {"abort",
                                        "alloca",
                                        "alloca_with_align",
                                        "calloc",
                                        "exit",
                                        "_exit",
                                        "fprintf",
                                        "fputs",
                                        "free",
                                        "fwrite",
                                        "longjmp",
                                        "malloc",
                                        "printf",
                                        "putchar",
                                        "puts",
                                        "realloc",
                                        "return_address",
                                        "setjmp",
                                        "snprintf",
                                        "sprintf",
                                        "strdup",
                                        "strndup",
                                        "vfprintf",
                                        "vprintf",
                                        "vsnprintf",
                                        "vsprintf",
                                        "frame_address",
                                        "apply",
                                        "eh_return",
                                        "debugtrap",
                                        "operator_new",
                                        "operator_delete",
                                        "unwind_init",
                                        "init_dwarf_reg_size_table",
                                        "extract_return_addr"};
    if (!has_prefix(token, prefix))
        return false;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strlen(calls[i]) == token->length - (sizeof prefix - 1) &&
            memcmp(calls[i], token->text + sizeof prefix - 1, strlen(calls[i])) == 0)
            return true;
    return false;
}

/* What C++ has and the language has not. */
static bool is_left_out(const struct msl_tokens *tokens, size_t i)
{
    static const char *const words[] = {"goto", "virtual", "thread_local", "dynamic_cast", "typeid",
                                        "try",  "throw",   "catch",        "new"};
    return msl_is_one_of(tokens, i, words, sizeof words / sizeof *words) ||
           is_library_call(&tokens->list[i]) ||
           (msl_is(tokens, i, "delete") && !msl_is(tokens, msl_previous(tokens, i), "="));
}

enum hal_status msl_unit_refuse(const struct msl_unit *unit)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    for (size_t i = 1; i + 1 < tokens->count; i++) {
        const struct msl_token *const token = &tokens->list[i];
        if (token->kind != MSL_NAME)
            continue;
        const char *const why = missing_here(tokens, i);
        if (why)
            return hal_fail(HAL_UNSUPPORTED, "%s:%u: error: '%.*s': %s", unit->file, token->line,
                            (int)token->length, token->text, why);
        if (msl_is(tokens, i, "id"))
            HAL_TRY(check_member_id(unit, i));
        if (msl_is(tokens, i, "double"))
            return hal_fail(HAL_INVALID, "%s:%u: error: 'double' is not a type of the language",
                            unit->file, token->line);
        if (is_left_out(tokens, i))
            return hal_fail(HAL_INVALID, "%s:%u: error: '%.*s' is not part of the language",
                            unit->file, token->line, (int)token->length, token->text);
    }
    return HAL_OK;
}
