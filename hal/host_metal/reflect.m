/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters and structs in MSL text. */
#import "hal/host_metal/reflect.h"
#import "hal/host_metal/lexer.h"
#import <Metal/Metal.h>

/* ---- Tokens ------------------------------------------------------------------------------- */

static void copy_token(struct token token, char out[HM_NAME_BYTES])
{
    const size_t length = token.length < HM_NAME_BYTES - 1 ? token.length : HM_NAME_BYTES - 1;
    memcpy(out, token.text, length);
    out[length] = 0;
}

/* ---- Types -------------------------------------------------------------------------------- */

static const struct type {
    const char *name;
    MTLDataType type;
    size_t bytes, alignment;
} types[] = {
    {"float", MTLDataTypeFloat, 4, 4},     {"float2", MTLDataTypeFloat2, 8, 8},
    {"float3", MTLDataTypeFloat3, 16, 16}, {"float4", MTLDataTypeFloat4, 16, 16},
    {"half", MTLDataTypeHalf, 2, 2},       {"half2", MTLDataTypeHalf2, 4, 4},
    {"half3", MTLDataTypeHalf3, 8, 8},     {"half4", MTLDataTypeHalf4, 8, 8},
    {"int", MTLDataTypeInt, 4, 4},         {"int32_t", MTLDataTypeInt, 4, 4},
    {"int2", MTLDataTypeInt2, 8, 8},       {"int3", MTLDataTypeInt3, 16, 16},
    {"int4", MTLDataTypeInt4, 16, 16},     {"uint", MTLDataTypeUInt, 4, 4},
    {"uint32_t", MTLDataTypeUInt, 4, 4},   {"uint2", MTLDataTypeUInt2, 8, 8},
    {"uint3", MTLDataTypeUInt3, 16, 16},   {"uint4", MTLDataTypeUInt4, 16, 16},
    {"short", MTLDataTypeShort, 2, 2},     {"int16_t", MTLDataTypeShort, 2, 2},
    {"ushort", MTLDataTypeUShort, 2, 2},   {"uint16_t", MTLDataTypeUShort, 2, 2},
    {"char", MTLDataTypeChar, 1, 1},       {"int8_t", MTLDataTypeChar, 1, 1},
    {"uchar", MTLDataTypeUChar, 1, 1},     {"uint8_t", MTLDataTypeUChar, 1, 1},
    {"bool", MTLDataTypeBool, 1, 1},       {"long", MTLDataTypeLong, 8, 8},
    {"int64_t", MTLDataTypeLong, 8, 8},    {"ulong", MTLDataTypeULong, 8, 8},
    {"uint64_t", MTLDataTypeULong, 8, 8},  {"bfloat", MTLDataTypeBFloat, 2, 2},
};

static const struct type *find_type(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

size_t hm_data_type_bytes(unsigned data_type)
{
    if (data_type == MTLDataTypePointer)
        return sizeof(uint64_t);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].type == data_type)
            return types[i].bytes;
    return 0;
}

/* ---- Declarations ------------------------------------------------------------------------- */

/* One parameter or member: words, a pointer or not, an array's length, an attribute. */
struct declaration {
    char name[HM_NAME_BYTES], type[HM_NAME_BYTES], attribute[HM_NAME_BYTES];
    bool is_pointer, has_index;
    uint32_t index, count;
};

static bool is_qualifier(struct token token)
{
    static const char *const words[] = {"const",  "device",      "constant", "thread",
                                        "struct", "volatile",    "restrict", "coherent",
                                        "metal",  "threadgroup", "typename"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is(token, words[i]))
            return true;
    return false;
}

/* [[attribute]], [[attribute(3)]] or [3]; the first bracket is read. */
static void read_brackets(const char **position, struct declaration *declaration)
{
    struct token token = next(position);
    const bool is_attribute = is(token, "[");
    if (is_attribute) {
        copy_token(next(position), declaration->attribute);
        token = next(position);
        if (is(token, "(")) {
            token = next(position);
            declaration->has_index = token.length && isdigit((unsigned char)*token.text);
            declaration->index = (uint32_t)strtoul(token.text, NULL, 0);
        }
    } else if (token.length && isdigit((unsigned char)*token.text)) {
        declaration->count = (uint32_t)strtoul(token.text, NULL, 0);
    }
    while (token.length && !is(token, "]"))
        token = next(position);
    if (is_attribute)
        next(position);
}

/* Reads up to and with one of `ends`, at depth 0; returns it. */
static char read_declaration(const char **position, const char *ends,
                             struct declaration *declaration)
{
    *declaration = (struct declaration){.count = 1};
    int depth = 0;
    for (;;) {
        const struct token token = next(position);
        if (token.length == 0)
            return 0;
        if (depth == 0 && token.length == 1 && strchr(ends, *token.text))
            return *token.text;
        if (is(token, "[")) {
            read_brackets(position, declaration);
        } else if (is(token, "*") || is(token, "&")) {
            declaration->is_pointer = true;
        } else if (is(token, "<") || is(token, "(")) {
            depth++;
        } else if (is(token, ">") || is(token, ")")) {
            depth--;
        } else if (isalpha((unsigned char)*token.text) || *token.text == '_') {
            if (is_qualifier(token))
                continue;
            if (!*declaration->type)
                copy_token(token, declaration->type);
            else
                copy_token(token, declaration->name);
        }
    }
}

/* ---- What is looked for ------------------------------------------------------------------- */

/* Behind the opening parenthesis of `void kernel(`; NULL: not there. */
static const char *find_kernel(const char *text, const char *kernel)
{
    const char *position = text;
    struct token token = {text, 0}, before = token;
    for (;;) {
        const struct token two_before = before;
        before = token;
        token = next(&position);
        if (token.length == 0)
            return NULL;
        if (is(token, "(") && is(before, kernel) && is(two_before, "void"))
            return position;
    }
}

bool hm_reflect_parameter(const char *text, const char *kernel, const char *attribute,
                          uint32_t index, struct hm_parameter *out_parameter)
{
    const char *position = find_kernel(text, kernel);
    uint32_t next_free = 0;
    char end = position ? ',' : 0;
    while (end == ',') {
        struct declaration declaration;
        end = read_declaration(&position, ",)", &declaration);
        const bool matches = strcmp(declaration.attribute, attribute) == 0;
        if (!matches && (*declaration.attribute || !declaration.is_pointer))
            continue;
        const uint32_t own = declaration.has_index ? declaration.index : next_free++;
        if (own != index)
            continue;
        const struct type *const type = find_type(declaration.type);
        *out_parameter =
            (struct hm_parameter){.data_type = (unsigned)(type ? type->type : MTLDataTypeStruct),
                                  .bytes = type ? type->bytes : 0};
        memcpy(out_parameter->name, declaration.name, HM_NAME_BYTES);
        memcpy(out_parameter->type, declaration.type, HM_NAME_BYTES);
        return true;
    }
    return false;
}

void hm_layout_add(struct hm_layout *layout, struct hm_member member, size_t alignment)
{
    if (layout->count == HM_MAX_MEMBERS)
        return;
    layout->bytes = (layout->bytes + alignment - 1) / alignment * alignment;
    member.offset = layout->bytes;
    layout->bytes += member.bytes * member.count;
    if (alignment > layout->alignment)
        layout->alignment = alignment;
    layout->members[layout->count++] = member;
}

/* Behind the opening brace of `struct type {`. */
static const char *find_struct(const char *text, const char *type)
{
    const char *position = text;
    for (struct token token = next(&position); token.length; token = next(&position)) {
        if (!is(token, "struct") || !is(next(&position), type))
            continue;
        if (is(next(&position), "{"))
            return position;
    }
    return NULL;
}

bool hm_reflect_struct(const char *text, const char *type, struct hm_layout *out_layout,
                       char reason[HM_NAME_BYTES])
{
    *out_layout = (struct hm_layout){.alignment = 1};
    const char *position = find_struct(text, type);
    if (!position) {
        snprintf(reason, HM_NAME_BYTES, "%.80s", type);
        return false;
    }
    uint32_t next_id = 0;
    for (;;) {
        struct declaration declaration;
        if (read_declaration(&position, ";}", &declaration) != ';')
            return true;
        const struct type *const found = find_type(declaration.type);
        if (!found && !declaration.is_pointer) {
            memcpy(reason, declaration.type, HM_NAME_BYTES);
            return false;
        }
        const uint32_t id = declaration.has_index ? declaration.index : next_id;
        const size_t bytes = declaration.is_pointer ? sizeof(uint64_t) : found->bytes;
        hm_layout_add(
            out_layout,
            (struct hm_member){
                .id = id,
                .count = declaration.count,
                .bytes = bytes,
                .is_pointer = declaration.is_pointer,
                .data_type = (unsigned)(declaration.is_pointer ? MTLDataTypePointer : found->type)},
            declaration.is_pointer ? sizeof(uint64_t) : found->alignment);
        next_id = id + declaration.count;
    }
}
