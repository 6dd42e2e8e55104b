/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the declarations of a source, and refuses what only a GPU has. */
#include "hal/msl/unit.h"

#include "hal/base/mem.h"

#include <stdlib.h>

static const char *const address_spaces[] = {"device", "constant", "threadgroup", "thread"};

static bool one_of(const struct msl_tokens *tokens, size_t i, const char *const *names,
                   size_t count)
{
    for (size_t n = 0; n < count; n++)
        if (msl_is(tokens, i, names[n]))
            return true;
    return false;
}

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

/* Why the name cannot be used, when it stands for something that does not exist here. */
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
    static const char *const assembly[] = {"asm", "__asm", "__asm__"};
    if (is_texture_type(tokens, i))
        return "textures exist on a GPU only";
    const size_t after = msl_next(tokens, i);
    if (msl_is(tokens, i, "sampler") && tokens->list[after].kind == MSL_NAME)
        return "samplers exist on a GPU only";
    if (one_of(tokens, i, tracing, sizeof tracing / sizeof *tracing))
        return "ray tracing exists on a GPU only";
    if (one_of(tokens, i, tables, sizeof tables / sizeof *tables) && msl_is(tokens, after, "<"))
        return "function tables and pipeline states exist on a GPU only";
    if (one_of(tokens, i, tiles, sizeof tiles / sizeof *tiles))
        return "tile and mesh shading exist on a GPU only";
    if (one_of(tokens, i, assembly, sizeof assembly / sizeof *assembly) &&
        (msl_is(tokens, after, "(") || msl_is(tokens, after, "volatile")))
        return "inline assembly is no part of the language";
    return NULL;
}

/* The bracket that the token stands in. */
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

/* Members of an argument buffer are found by their place, which must be what [[id(n)]] says. */
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

static enum hal_status check_names(const struct msl_unit *unit)
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
    }
    return HAL_OK;
}

/* host_name("a" "b"): the strings joined. */
static const char *read_host_name(struct msl_unit *unit, size_t open)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    struct msl_text text = {0};
    for (size_t i = msl_next(tokens, open); i < tokens->list[open].match; i = msl_next(tokens, i)) {
        const struct msl_token *const token = &tokens->list[i];
        if (token->kind == MSL_STRING && token->length >= 2)
            msl_text_append(&text, token->text + 1, token->length - 2);
    }
    const char *const name = msl_unit_print(unit, "%s", text.bytes ? text.bytes : "");
    msl_text_finish(&text);
    return name;
}

static void read_attributes(struct msl_unit *unit, size_t open, struct msl_item *item)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    for (size_t i = msl_next(tokens, open); i < tokens->list[open].match; i = msl_next(tokens, i)) {
        const size_t after = msl_next(tokens, i);
        if (msl_is(tokens, i, "kernel"))
            item->is_kernel = true;
        else if (msl_is(tokens, i, "host_name") && msl_is(tokens, after, "("))
            item->host_name = read_host_name(unit, after);
    }
}

static bool is_type_keyword(const struct msl_tokens *tokens, size_t i)
{
    static const char *const keywords[] = {"struct", "class", "union", "enum"};
    return one_of(tokens, i, keywords, sizeof keywords / sizeof *keywords);
}

/* "template <...>", possibly repeated, or the "template" of an explicit instantiation. */
static size_t read_template(const struct msl_tokens *tokens, size_t i, struct msl_item *item)
{
    while (msl_is(tokens, i, "template")) {
        const size_t angle = msl_next(tokens, i);
        if (!msl_is(tokens, angle, "<")) {
            item->is_instantiation = true;
            return angle;
        }
        item->template_parameters = angle;
        const size_t end = msl_angle_end(tokens, angle);
        i = msl_next(tokens, end ? end : angle);
    }
    return i;
}

/* What the walk over one declaration has seen so far. */
struct walk {
    size_t last_name, last_angle;
    bool initialised, constructs;
};

/* Handles a name; returns the last token that it took. */
static size_t read_name(struct msl_unit *unit, size_t i, struct walk *walk, struct msl_item *item)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    if (msl_is(tokens, i, "kernel")) {
        item->is_kernel = true;
        return i;
    }
    if (msl_is(tokens, i, "__attribute__") || msl_is(tokens, i, "alignas") ||
        msl_is(tokens, i, "decltype")) {
        const size_t open = msl_next(tokens, i);
        return tokens->list[open].match > open ? tokens->list[open].match : i;
    }
    if (is_type_keyword(tokens, i) && !item->name && !walk->last_name)
        item->is_type = true;
    else if (!one_of(tokens, i, address_spaces, sizeof address_spaces / sizeof *address_spaces))
        walk->last_name = i;
    if (item->is_type && !item->name && walk->last_name == i)
        item->name = i;
    const size_t after = msl_next(tokens, i);
    if (msl_is(tokens, i, "operator")) {
        size_t last = after;
        while (!msl_is(tokens, msl_next(tokens, last), "(") && last + 2 < tokens->count)
            last = msl_next(tokens, last);
        if (msl_is(tokens, after, "("))
            last = tokens->list[after].match;
        walk->last_angle = last;
        return last;
    }
    if (!msl_is(tokens, after, "<") || item->is_type)
        return i;
    const size_t end = msl_angle_end(tokens, after);
    walk->last_angle = end;
    if (item->is_instantiation && end)
        item->arguments = after;
    return end ? end : i;
}

static size_t read_parameters(const struct msl_tokens *tokens, size_t i, const struct walk *walk,
                              struct msl_item *item)
{
    const size_t before = msl_previous(tokens, i);
    const bool after_name = before == walk->last_name || before == walk->last_angle;
    if (!item->parameters && walk->last_name && after_name && !walk->initialised) {
        item->parameters = i;
        if (!item->is_type)
            item->name = walk->last_name;
    }
    return tokens->list[i].match;
}

struct msl_item msl_unit_item(struct msl_unit *unit, size_t first, const char *scope)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    struct msl_item item = {.first = first, .scope = scope};
    struct walk walk = {0};
    size_t i = read_template(tokens, first, &item);
    for (; i + 1 < tokens->count; i = msl_next(tokens, i)) {
        if (msl_is(tokens, i, ";") || msl_is(tokens, i, "}"))
            break;
        if (tokens->list[i].kind == MSL_NAME) {
            i = read_name(unit, i, &walk, &item);
        } else if (msl_is(tokens, i, "[[")) {
            read_attributes(unit, i, &item);
            i = tokens->list[i].match;
        } else if (msl_is(tokens, i, "(")) {
            i = read_parameters(tokens, i, &walk, &item);
        } else if (msl_is(tokens, i, "[")) {
            i = tokens->list[i].match;
        } else if (msl_is(tokens, i, "=")) {
            walk.initialised = true;
        } else if (msl_is(tokens, i, ":")) {
            walk.constructs = item.parameters != 0;
        } else if (msl_is(tokens, i, "{")) {
            const size_t before = msl_previous(tokens, i), open = i;
            i = tokens->list[i].match;
            if (walk.initialised || (walk.constructs && tokens->list[before].kind == MSL_NAME))
                continue;
            item.body = open;
            const size_t after = msl_next(tokens, i);
            if (!item.is_type && !msl_is(tokens, after, ";") && !msl_is(tokens, after, ","))
                break;
        }
        if (walk.initialised && !item.name)
            item.name = walk.last_name;
    }
    if (!item.name)
        item.name = walk.last_name;
    item.last = i;
    return item;
}

/* "namespace a::b {" inside `scope`; nameless ones and extern "C" change nothing. */
static const char *inner_scope(struct msl_unit *unit, const char *scope, size_t open)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    size_t first = open;
    while (msl_is(tokens, msl_previous(tokens, first), "::") ||
           tokens->list[msl_previous(tokens, first)].kind == MSL_NAME) {
        if (msl_is(tokens, msl_previous(tokens, first), "namespace"))
            return first == open
                       ? scope
                       : msl_unit_print(unit, "%s%s::", scope,
                                        msl_unit_join(unit, first, msl_previous(tokens, open)));
        first = msl_previous(tokens, first);
    }
    return scope;
}

struct scopes {
    const char **list;
    size_t count, capacity;
};

static bool push_scope(struct scopes *scopes, const char *scope)
{
    if (!hal_grow((void **)&scopes->list, &scopes->capacity, scopes->count + 1,
                  sizeof *scopes->list))
        return false;
    scopes->list[scopes->count++] = scope;
    return true;
}

/* When a namespace (or extern "C") begins at `i`, its '{' or the ';' of an alias; else 0. */
static size_t namespace_start(const struct msl_tokens *tokens, size_t i)
{
    if (msl_is(tokens, i, "inline"))
        i = msl_next(tokens, i);
    if (msl_is(tokens, i, "extern") && tokens->list[msl_next(tokens, i)].kind == MSL_STRING) {
        const size_t open = msl_next(tokens, msl_next(tokens, i));
        return msl_is(tokens, open, "{") ? open : 0;
    }
    if (!msl_is(tokens, i, "namespace"))
        return 0;
    while (i + 1 < tokens->count && !msl_is(tokens, i, "{") && !msl_is(tokens, i, ";"))
        i = msl_next(tokens, i);
    return i;
}

static bool add_item(struct msl_unit *unit, const struct msl_item *item)
{
    if (!hal_grow((void **)&unit->items, &unit->item_capacity, unit->item_count + 1,
                  sizeof *unit->items))
        return false;
    unit->items[unit->item_count++] = *item;
    return true;
}

static enum hal_status check_stage(const struct msl_unit *unit, const struct msl_item *item)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    static const char *const stages[] = {"vertex", "fragment"};
    const size_t first =
        msl_is(tokens, item->first, "[[") ? msl_next(tokens, item->first) : item->first;
    if (!one_of(tokens, first, stages, sizeof stages / sizeof *stages))
        return HAL_OK;
    return hal_fail(HAL_UNSUPPORTED, "%s:%u: error: '%.*s': graphics functions exist on a GPU only",
                    unit->file, tokens->list[first].line, (int)tokens->list[first].length,
                    tokens->list[first].text);
}

enum hal_status msl_unit_declare(struct msl_unit *unit)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    HAL_TRY(check_names(unit));
    struct scopes scopes = {0};
    const char *scope = "";
    enum hal_status status = HAL_OK;
    size_t i = msl_next(tokens, 0);
    while (i + 1 < tokens->count && status == HAL_OK) {
        const size_t open = namespace_start(tokens, i);
        if (open) {
            if (msl_is(tokens, open, "{")) {
                unit->failed |= !push_scope(&scopes, scope);
                scope = inner_scope(unit, scope, open);
            }
            i = msl_next(tokens, open);
        } else if (msl_is(tokens, i, "}")) {
            scope = scopes.count ? scopes.list[--scopes.count] : "";
            i = msl_next(tokens, i);
        } else if (msl_is(tokens, i, ";")) {
            i = msl_next(tokens, i);
        } else {
            const struct msl_item item = msl_unit_item(unit, i, scope);
            unit->failed |= !add_item(unit, &item);
            status = check_stage(unit, &item);
            i = msl_next(tokens, item.last);
        }
    }
    free(scopes.list);
    return status;
}
