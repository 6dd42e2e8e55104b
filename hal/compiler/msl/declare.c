/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the declarations of a source. */
#include "hal/compiler/msl/unit.h"

#include "hal/base/mem.h"

#include <stdlib.h>
#include <string.h>

static const char *const address_spaces[] = {"device", "constant", "threadgroup", "thread"};

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
    return msl_is_one_of(tokens, i, keywords, sizeof keywords / sizeof *keywords);
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
    else if (!msl_is_one_of(tokens, i, address_spaces,
                            sizeof address_spaces / sizeof *address_spaces))
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

struct scope {
    const char *name;
    bool is_foreign; /* extern "C" */
};
struct scopes {
    struct scope *list;
    size_t count, capacity;
};

static bool push_scope(struct scopes *scopes, struct scope scope)
{
    if (!HAL_GROW(scopes->list, &scopes->capacity, scopes->count + 1))
        return false;
    scopes->list[scopes->count++] = scope;
    return true;
}

static bool is_foreign(const struct msl_tokens *tokens, size_t i)
{
    return msl_is(tokens, i, "extern") && tokens->list[msl_next(tokens, i)].kind == MSL_STRING;
}

/* When a namespace (or extern "C") begins at `i`, its '{' or the ';' of an alias; else 0. */
static size_t namespace_start(const struct msl_tokens *tokens, size_t i)
{
    if (msl_is(tokens, i, "inline"))
        i = msl_next(tokens, i);
    if (is_foreign(tokens, i)) {
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
    if (!HAL_GROW(unit->items, &unit->item_capacity, unit->item_count + 1))
        return false;
    unit->items[unit->item_count++] = *item;
    return true;
}

/* "vertex", "[[vertex]]", "[[intersection(triangle)]]" at the beginning of a function. */
static enum hal_status check_stage(const struct msl_unit *unit, const struct msl_item *item)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    static const char *const stages[] = {"vertex", "fragment", "mesh", "object", "intersection"};
    const bool is_attribute = msl_is(tokens, item->first, "[[");
    const size_t first = is_attribute ? msl_next(tokens, item->first) : item->first;
    const size_t count = is_attribute ? sizeof stages / sizeof *stages : 2;
    if (!msl_is_one_of(tokens, first, stages, count))
        return HAL_OK;
    return hal_fail(HAL_UNSUPPORTED, "%s:%u: error: '%.*s': graphics functions exist on a GPU only",
                    unit->file, tokens->list[first].line, (int)tokens->list[first].length,
                    tokens->list[first].text);
}

static bool is_defined(const struct msl_unit *unit, const struct msl_token *name)
{
    for (size_t i = 0; i < unit->item_count; i++) {
        const struct msl_item *const item = &unit->items[i];
        const struct msl_token *const own = &unit->tokens.list[item->name];
        if (item->is_foreign && item->body && own->length == name->length &&
            memcmp(own->text, name->text, name->length) == 0)
            return true;
    }
    return false;
}

/* By its bare name a kernel could call what this process has: abort, system. */
static enum hal_status check_foreign(const struct msl_unit *unit)
{
    for (size_t i = 0; i < unit->item_count; i++) {
        const struct msl_item *const item = &unit->items[i];
        const struct msl_token *const name = &unit->tokens.list[item->name];
        if (item->is_foreign && item->name && !item->is_type && !item->body &&
            !is_defined(unit, name))
            return hal_fail(HAL_INVALID, "%s:%u: error: '%.*s' is declared but not defined",
                            unit->file, name->line, (int)name->length, name->text);
    }
    return HAL_OK;
}

enum hal_status msl_unit_declare(struct msl_unit *unit)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    HAL_TRY(msl_unit_refuse(unit));
    struct scopes scopes = {0};
    struct scope scope = {.name = ""};
    enum hal_status status = HAL_OK;
    size_t i = msl_next(tokens, 0);
    while (i + 1 < tokens->count && status == HAL_OK) {
        const size_t open = namespace_start(tokens, i);
        if (open) {
            if (msl_is(tokens, open, "{")) {
                unit->failed |= !push_scope(&scopes, scope);
                scope.name = inner_scope(unit, scope.name, open);
                scope.is_foreign |= is_foreign(tokens, i);
            }
            i = msl_next(tokens, open);
        } else if (msl_is(tokens, i, "}")) {
            scope = scopes.count ? scopes.list[--scopes.count] : (struct scope){.name = ""};
            i = msl_next(tokens, i);
        } else if (msl_is(tokens, i, ";")) {
            i = msl_next(tokens, i);
        } else {
            struct msl_item item = msl_unit_item(unit, i, scope.name);
            item.is_foreign = scope.is_foreign || is_foreign(tokens, i);
            if (item.is_kernel && is_foreign(tokens, i)) /* which cannot be static as well */
                msl_unit_erase(unit, i, msl_next(tokens, i));
            unit->failed |= !add_item(unit, &item);
            status = check_stage(unit, &item);
            i = msl_next(tokens, item.last);
        }
    }
    free(scopes.list);
    return status == HAL_OK ? check_foreign(unit) : status;
}
