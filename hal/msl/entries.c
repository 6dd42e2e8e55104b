/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels' parameters and attributes become table entries that entry.h expands. */
#include "hal/msl/unit.h"

#include <string.h>

/* Attribute names are also the names of `enum class source` in entry.h. */
static const char *const positions[] = {
    "thread_position_in_grid",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threads_per_grid",
    "threads_per_threadgroup",
    "threadgroups_per_grid",
    "thread_index_in_threadgroup",
    "thread_index_in_simdgroup",
    "simdgroup_index_in_threadgroup",
    "simdgroups_per_threadgroup",
    "threads_per_simdgroup",
    "thread_index_in_quadgroup",
    "quadgroup_index_in_threadgroup",
    "quadgroups_per_threadgroup",
    "grid_origin",
};
static const struct {
    const char *name, *same_as;
} aliases[] = {
    {"dispatch_threads_per_threadgroup", "threads_per_threadgroup"},
    {"dispatch_simdgroups_per_threadgroup", "simdgroups_per_threadgroup"},
    {"dispatch_quadgroups_per_threadgroup", "quadgroups_per_threadgroup"},
    {"thread_execution_width", "threads_per_simdgroup"},
};

struct parameter {
    const char *from; /* NULL: unknown yet */
    const char *index, *enabled;
};

static const char *position_named(const struct msl_tokens *tokens, size_t i)
{
    for (size_t n = 0; n < sizeof positions / sizeof *positions; n++)
        if (msl_is(tokens, i, positions[n]))
            return positions[n];
    for (size_t n = 0; n < sizeof aliases / sizeof *aliases; n++)
        if (msl_is(tokens, i, aliases[n].name))
            return aliases[n].same_as;
    return NULL;
}

static enum hal_status read_attribute(struct msl_unit *unit, size_t open,
                                      struct parameter *parameter)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    for (size_t i = msl_next(tokens, open); i < tokens->list[open].match; i = msl_next(tokens, i)) {
        if (tokens->list[i].kind != MSL_NAME)
            continue;
        const size_t after = msl_next(tokens, i);
        const bool is_buffer = msl_is(tokens, i, "buffer");
        if (msl_is(tokens, after, "(")) {
            const char *const value = msl_unit_join(unit, after, tokens->list[after].match);
            if (is_buffer || msl_is(tokens, i, "threadgroup")) {
                parameter->from = is_buffer ? "buffer" : "group_memory";
                parameter->index = value;
            } else if (msl_is(tokens, i, "function_constant")) {
                parameter->enabled = value;
            } else if (msl_is(tokens, i, "texture") || msl_is(tokens, i, "sampler")) {
                return hal_fail(HAL_UNSUPPORTED,
                                "%s:%u: error: '[[%.*s]]': textures exist on a GPU only",
                                unit->file, tokens->list[i].line, (int)tokens->list[i].length,
                                tokens->list[i].text);
            }
            i = tokens->list[after].match;
        } else if (position_named(tokens, i)) {
            parameter->from = position_named(tokens, i);
        } else if (!parameter->from && !msl_is(tokens, i, "maybe_unused")) {
            return hal_fail(HAL_UNSUPPORTED, "%s:%u: error: unknown kernel attribute '[[%.*s]]'",
                            unit->file, tokens->list[i].line, (int)tokens->list[i].length,
                            tokens->list[i].text);
        }
    }
    return HAL_OK;
}

static enum hal_status write_parameter(struct msl_unit *unit, size_t first, size_t last,
                                       struct msl_text *out_text)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    struct parameter parameter = {.index = "-1", .enabled = "true"};
    bool in_group = false, is_constant = false;
    for (size_t i = first; i < last; i = msl_next(tokens, i)) {
        in_group |= msl_is(tokens, i, "threadgroup");
        is_constant |= msl_is(tokens, i, "constant");
        if (!msl_is(tokens, i, "[["))
            continue;
        HAL_TRY(read_attribute(unit, i, &parameter));
        i = tokens->list[i].match;
    }
    if (!parameter.from)
        parameter.from = in_group ? "group_memory" : "buffer";
    msl_text_print(out_text, "{::msl::source::%s, int(%s), bool(%s), %s}, ", parameter.from,
                   parameter.index, parameter.enabled, is_constant ? "true" : "false");
    return HAL_OK;
}

/* All parameters between `open` and its partner, as initialisers. */
static enum hal_status write_parameters(struct msl_unit *unit, size_t open,
                                        struct msl_text *out_text)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const size_t close = tokens->list[open].match;
    size_t first = msl_next(tokens, open);
    if (first == close || (msl_is(tokens, first, "void") && msl_next(tokens, first) == close))
        return HAL_OK;
    for (size_t i = first; i <= close; i = msl_next(tokens, i)) {
        if (i == close || msl_is(tokens, i, ",")) {
            HAL_TRY(write_parameter(unit, first, i, out_text));
            first = msl_next(tokens, i);
        } else if (msl_is(tokens, i, "<") && msl_angle_end(tokens, i)) {
            i = msl_angle_end(tokens, i);
        } else if (tokens->list[i].match > i) {
            i = tokens->list[i].match;
        }
    }
    return HAL_OK;
}

static enum hal_status write_entry(struct msl_unit *unit, const struct msl_item *kernel,
                                   size_t number, const char *function, const char *name,
                                   bool side_by_side, const char **out_text)
{
    struct msl_text list = {0};
    unit->waits |= side_by_side;
    const enum hal_status status = write_parameters(unit, kernel->parameters, &list);
    if (kernel->has_variables)
        msl_text_append_string(&list, "{::msl::source::group_variables, -1, true, false}, ");
    if (status == HAL_OK)
        *out_text = msl_unit_print(
            unit,
            "namespace { struct __msl_p%zu { static constexpr ::msl::parameter list[] = {%s{}}; };"
            " __MSL_ENTRIES constexpr ::msl_abi_kernel __msl_k%zu ="
            " ::msl::entry<&%s, __msl_p%zu>::template describe<%s, __msl_split,"
            " __msl_size(\"%s\", 0), __msl_size(\"%s\", 1), __msl_size(\"%s\", 2)>(\"%s\"); }",
            number, list.bytes ? list.bytes : "", number, function, number,
            side_by_side ? "true" : "false", name, name, name, name);
    unit->failed |= list.failed;
    msl_text_finish(&list);
    return status;
}

/* The template that `item` instantiates; the nearest one of that name before it. */
static const struct msl_item *find_template(const struct msl_unit *unit,
                                            const struct msl_item *item)
{
    const struct msl_token *const name =
        &unit->tokens.list[msl_previous(&unit->tokens, item->arguments)];
    for (const struct msl_item *it = item; it-- > unit->items;) {
        const struct msl_token *const own = &unit->tokens.list[it->name];
        if (it->is_kernel && !it->is_instantiation && it->template_parameters && it->body &&
            own->length == name->length && memcmp(own->text, name->text, own->length) == 0)
            return it;
    }
    return NULL;
}

/* The kernel that is compiled for `item`: itself, or its template; NULL: none. */
static const struct msl_item *kernel_of(const struct msl_unit *unit, const struct msl_item *item)
{
    if (item->is_instantiation)
        return item->arguments ? find_template(unit, item) : NULL;
    const bool is_entry =
        item->is_kernel && item->body && item->parameters && !item->template_parameters;
    return is_entry ? item : NULL;
}

/* What callers know it by. */
static const char *entry_name(struct msl_unit *unit, const struct msl_item *item,
                              const struct msl_item *kernel)
{
    if (item->host_name)
        return item->host_name;
    const char *const name = msl_unit_join(unit, kernel->name, kernel->name);
    return item->is_instantiation
               ? msl_unit_print(unit, "%s%s", name,
                                msl_unit_join(unit, item->arguments,
                                              msl_angle_end(&unit->tokens, item->arguments)))
               : name;
}

static bool is_listed(const struct msl_unit *unit, const char *name)
{
    for (size_t i = 0; i < unit->source->group_size_count; i++)
        if (strcmp(unit->source->group_sizes[i].kernel, name) == 0)
            return true;
    return false;
}

/* Every name in the list is a kernel's. */
static bool all_listed_exist(struct msl_unit *unit)
{
    size_t found = 0, wanted = 0;
    const struct msl_group_size *const list = unit->source->group_sizes;
    for (size_t i = 0; i < unit->source->group_size_count; i++) {
        size_t k = 0;
        while (strcmp(list[k].kernel, list[i].kernel) != 0)
            k++;
        wanted += k == i; /* the first of this name */
    }
    for (size_t i = 0; i < unit->item_count; i++) {
        const struct msl_item *const kernel = kernel_of(unit, &unit->items[i]);
        found += kernel && is_listed(unit, entry_name(unit, &unit->items[i], kernel));
    }
    return wanted > 0 && found == wanted;
}

static enum hal_status add_instantiation(struct msl_unit *unit, const struct msl_item *item,
                                         const struct msl_item *kernel, size_t number)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const char *const arguments =
        msl_unit_join(unit, item->arguments, msl_angle_end(tokens, item->arguments));
    const char *const name = msl_unit_join(unit, kernel->name, kernel->name);
    const char *const function = msl_unit_print(unit, "::%s%s%s", kernel->scope, name, arguments);
    const char *const known = entry_name(unit, item, kernel);
    const char *entry = "";
    if (!unit->leaves_out || is_listed(unit, known))
        HAL_TRY(write_entry(unit, kernel, number, function, known,
                            kernel->needs_peers || item->needs_peers, &entry));
    msl_unit_erase(unit, item->first, item->last);
    unit->tokens.list[item->last].replacement = entry;
    return HAL_OK;
}

static enum hal_status add_kernel(struct msl_unit *unit, const struct msl_item *item, size_t number)
{
    const char *const name = entry_name(unit, item, item);
    const char *entry = "";
    if (unit->leaves_out && !is_listed(unit, name))
        return HAL_OK;
    HAL_TRY(write_entry(unit, item, number, msl_unit_own_name(unit, item), name, item->needs_peers,
                        &entry));
    const char *const end = msl_unit_join(unit, item->last, item->last);
    unit->tokens.list[item->last].replacement = msl_unit_print(unit, "%s %s", end, entry);
    return HAL_OK;
}

enum hal_status msl_unit_add_entries(struct msl_unit *unit)
{
    unit->leaves_out = unit->source->only_listed && all_listed_exist(unit);
    for (size_t i = 0; i < unit->item_count; i++) {
        const struct msl_item *const item = &unit->items[i];
        const struct msl_item *const kernel = kernel_of(unit, item);
        if (kernel)
            HAL_TRY(item->is_instantiation ? add_instantiation(unit, item, kernel, i)
                                           : add_kernel(unit, item, i));
    }
    return HAL_OK;
}
