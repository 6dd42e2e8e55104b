/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's parameters: descriptions for entry.h, and assertions in the user's terms and lines. */
#include "hal/compiler/msl/unit.h"

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
enum { VECTOR_POSITIONS = 6 }; /* the first of them */
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
    size_t attribute; /* the word that said so; 0: none did */
    size_t space;     /* "device", "constant", "threadgroup"; 0: none of them */
    size_t points;    /* '*', '&' or '[': not a value */
    size_t name;
    const char *index, *enabled; /* NULL: the next free one; always */
};

static enum hal_status wrong(const struct msl_unit *unit, enum hal_status status, size_t token,
                             const char *text, const char *why)
{
    return hal_fail(status, "%s:%u: error: %s%s", unit->file, unit->tokens.list[token].line, text,
                    why);
}

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

/* "buffer(1)", "function_constant(name)"; `after` is the '('. */
static enum hal_status read_call(struct msl_unit *unit, size_t i, size_t after,
                                 struct parameter *parameter)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const size_t close = tokens->list[after].match;
    const bool is_buffer = msl_is(tokens, i, "buffer");
    if (is_buffer || msl_is(tokens, i, "threadgroup")) {
        parameter->from = is_buffer ? "buffer" : "group_memory";
        parameter->attribute = i;
        parameter->index = msl_unit_join(unit, after, close);
    } else if (msl_is(tokens, i, "function_constant")) {
        parameter->enabled = msl_unit_join(unit, after, close);
    } else if (msl_is(tokens, i, "texture") || msl_is(tokens, i, "sampler")) {
        return wrong(unit, HAL_UNSUPPORTED, i,
                     msl_unit_print(unit, "'[[%s]]'", msl_unit_join(unit, i, i)),
                     ": textures exist on a GPU only");
    }
    return HAL_OK;
}

static enum hal_status read_attribute(struct msl_unit *unit, size_t open,
                                      struct parameter *parameter)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    for (size_t i = msl_next(tokens, open); i < tokens->list[open].match; i = msl_next(tokens, i)) {
        if (tokens->list[i].kind != MSL_NAME)
            continue;
        const size_t after = msl_next(tokens, i);
        if (msl_is(tokens, after, "(")) {
            HAL_TRY(read_call(unit, i, after, parameter));
            i = tokens->list[after].match;
        } else if (position_named(tokens, i)) {
            parameter->from = position_named(tokens, i);
            parameter->attribute = i;
        } else if (!parameter->from && !msl_is(tokens, i, "maybe_unused")) {
            return wrong(unit, HAL_UNSUPPORTED, i, "unknown kernel attribute ",
                         msl_unit_print(unit, "'[[%s]]'", msl_unit_join(unit, i, i)));
        }
    }
    return HAL_OK;
}

static enum hal_status read_parameter(struct msl_unit *unit, size_t first, size_t last,
                                      struct parameter *parameter)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    for (size_t i = first; i < last; i = msl_next(tokens, i)) {
        if (msl_is(tokens, i, "[[")) {
            HAL_TRY(read_attribute(unit, i, parameter));
        } else if (msl_is(tokens, i, "device") || msl_is(tokens, i, "constant") ||
                   msl_is(tokens, i, "threadgroup")) {
            parameter->space = i;
        } else if (msl_is(tokens, i, "*") || msl_is(tokens, i, "&") || msl_is(tokens, i, "[")) {
            parameter->points = i;
        } else if (tokens->list[i].kind == MSL_NAME) {
            parameter->name = i;
        } else if (msl_is(tokens, i, "<") && msl_angle_end(tokens, i)) {
            i = msl_angle_end(tokens, i);
        }
        if (tokens->list[i].match > i)
            i = tokens->list[i].match;
    }
    return HAL_OK;
}

/* What can be seen without knowing types. */
static enum hal_status check_space(struct msl_unit *unit, const struct parameter *parameter)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const bool in_group = parameter->space && msl_is(tokens, parameter->space, "threadgroup");
    const bool is_memory = !parameter->from || strcmp(parameter->from, "buffer") == 0 ||
                           strcmp(parameter->from, "group_memory") == 0;
    const char *const name = msl_unit_join(unit, parameter->name, parameter->name);
    if (!is_memory)
        return HAL_OK;
    if (parameter->points && !parameter->space)
        return wrong(unit, HAL_INVALID, parameter->points,
                     msl_unit_print(unit, "parameter '%s' has no address space: ", name),
                     "'device', 'constant' or 'threadgroup'");
    if (parameter->from && parameter->space && in_group != (*parameter->from == 'g'))
        return wrong(unit, HAL_INVALID, parameter->attribute,
                     msl_unit_print(unit, "parameter '%s': ", name),
                     in_group ? "[[buffer]] in the threadgroup address space"
                              : "[[threadgroup]] in another address space");
    return HAL_OK;
}

static bool is_vector(const char *from)
{
    for (size_t n = 0; n < VECTOR_POSITIONS; n++)
        if (strcmp(positions[n], from) == 0)
            return true;
    return strcmp(from, "grid_origin") == 0;
}

/* Facts that only the compiler knows, asserted in the line of the attribute, else of the name. */
static void write_checks(const struct msl_entry *entry, const struct parameter *parameter,
                         size_t place)
{
    struct msl_unit *const unit = entry->unit;
    struct msl_text *const checks = &entry->text->checks;
    const size_t at = parameter->attribute ? parameter->attribute : parameter->name;
    const char *const word = msl_unit_join(unit, at, at);
    const char *const name = msl_unit_join(unit, parameter->name, parameter->name);
    msl_text_print(checks, "\n#line %u\n", unit->tokens.list[at].line);
    if (parameter->from && position_named(&unit->tokens, at))
        msl_text_print(checks,
                       "static_assert(::msl::takes%s<decltype(&%s), %zu>, \"parameter '%s': "
                       "[[%s]] is a ushort or uint%s\");",
                       is_vector(parameter->from) ? "_vector" : "", entry->function, place, name,
                       word, is_vector(parameter->from) ? ", or 2 or 3 of them" : "");
    else
        msl_text_print(checks,
                       "static_assert(::msl::takes_memory<decltype(&%s), %zu>, \"parameter '%s' "
                       "is a value, without an attribute of a position or size\");",
                       entry->function, place, name);
    if (!parameter->index)
        return;
    msl_text_print(checks,
                   "static_assert(::msl::is_index%s, \"parameter '%s': [[%s%s]] is out of range: "
                   "indices are 0 to 30\");"
                   "static_assert(::msl::is_first(__msl_p%zu::list, %zu), \"parameter '%s': "
                   "another one has [[%s%s]] as well\");",
                   parameter->index, name, word, parameter->index, entry->number, place, name, word,
                   parameter->index);
}

static enum hal_status write_parameter(const struct msl_entry *entry, size_t first, size_t last,
                                       size_t place)
{
    struct parameter parameter = {0};
    HAL_TRY(read_parameter(entry->unit, first, last, &parameter));
    HAL_TRY(check_space(entry->unit, &parameter));
    const struct msl_tokens *const tokens = &entry->unit->tokens;
    const bool in_group = parameter.space && msl_is(tokens, parameter.space, "threadgroup");
    const bool is_constant = parameter.space && msl_is(tokens, parameter.space, "constant");
    const char *const usual = in_group ? "group_memory" : "buffer";
    msl_text_print(&entry->text->list, "{::msl::source::%s, %s%s, bool(%s), %s}, ",
                   parameter.from ? parameter.from : usual, parameter.index ? "int" : "",
                   parameter.index ? parameter.index : "::msl::next_free",
                   parameter.enabled ? parameter.enabled : "true", is_constant ? "true" : "false");
    write_checks(entry, &parameter, place);
    return HAL_OK;
}

bool msl_has_parameters(const struct msl_tokens *tokens, size_t open)
{
    const size_t first = msl_next(tokens, open), close = tokens->list[open].match;
    return first != close && !(msl_is(tokens, first, "void") && msl_next(tokens, first) == close);
}

enum hal_status msl_entry_write_parameters(const struct msl_entry *entry, size_t open)
{
    const struct msl_tokens *const tokens = &entry->unit->tokens;
    const size_t close = tokens->list[open].match;
    size_t place = 0;
    if (!msl_has_parameters(tokens, open))
        return HAL_OK;
    for (size_t first = msl_next(tokens, open), end = 0; end != close;
         first = msl_next(tokens, end)) {
        end = msl_parameter_end(tokens, first, close);
        HAL_TRY(write_parameter(entry, first, end, place++));
    }
    return HAL_OK;
}
