/* SPDX-License-Identifier: Apache-2.0 */
/* Threadgroup variables: "threadgroup T a[n], b;" in a kernel becomes a structure in memory that
 * the kernel gets as an additional argument. Thread-local variables would work as well, except that
 * clang keeps values in the upper AVX-512 registers across __tls_get_addr. */
#include "hal/compiler/msl/unit.h"

/* What one declaration declares. */
struct declaration {
    size_t start, end; /* "threadgroup" and ";" */
    struct msl_text references;
};

static bool is_declarator_end(const struct msl_tokens *tokens, size_t i)
{
    return msl_is(tokens, i, ";") || msl_is(tokens, i, "[") || msl_is(tokens, i, "[[") ||
           msl_is(tokens, i, ",");
}

/* False when this is a pointer, a reference or no declaration. */
static bool read_declaration(const struct msl_tokens *tokens, size_t number,
                             struct declaration *declaration)
{
    size_t last_name = 0, names = 0;
    for (size_t i = msl_next(tokens, declaration->start); i + 1 < tokens->count;
         i = msl_next(tokens, i)) {
        if (tokens->list[i].kind == MSL_NAME) {
            last_name = i;
        } else if (is_declarator_end(tokens, i)) {
            if (msl_previous(tokens, i) == last_name) {
                names++;
                msl_text_print(&declaration->references, " auto &%.*s = __msl_r%zu.%.*s;",
                               (int)tokens->list[last_name].length, tokens->list[last_name].text,
                               number, (int)tokens->list[last_name].length,
                               tokens->list[last_name].text);
            }
            declaration->end = i;
            if (msl_is(tokens, i, ";"))
                return names > 0;
            if (tokens->list[i].match > i)
                i = tokens->list[i].match;
        } else if (msl_is(tokens, i, "<") && msl_angle_end(tokens, i)) {
            i = msl_angle_end(tokens, i);
        } else if (tokens->list[i].match > i) {
            i = tokens->list[i].match;
        } else if (!msl_is(tokens, i, "::")) {
            return false;
        }
    }
    return false;
}

/* The text before "threadgroup" in a declaration applies to its members. */
static const char *take_specifiers(struct msl_unit *unit, size_t start)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    size_t first = start;
    for (size_t i = msl_previous(tokens, start); i > 0; i = msl_previous(tokens, first)) {
        if (msl_is(tokens, i, ")") &&
            msl_is(tokens, msl_previous(tokens, tokens->list[i].match), "alignas"))
            first = msl_previous(tokens, tokens->list[i].match);
        else if (msl_is(tokens, i, "volatile"))
            first = i;
        else
            break;
    }
    if (first == start)
        return "";
    const char *const text = msl_unit_join(unit, first, msl_previous(tokens, start));
    msl_unit_erase(unit, first, msl_previous(tokens, start));
    return text;
}

static void write_declaration(struct msl_unit *unit, const struct msl_item *kernel, size_t number,
                              const struct declaration *declaration)
{
    struct msl_token *const list = unit->tokens.list;
    const char *const specifiers = take_specifiers(unit, declaration->start);
    list[declaration->start].replacement =
        msl_unit_print(unit, "struct __msl_g%zu { %s", number, specifiers);
    list[declaration->end].replacement = msl_unit_print(
        unit,
        "; }; static ::msl_abi_group_variables __MSL_VARIABLES __msl_v%zu ="
        " {&::msl::kernel_tag<&%s>::id, sizeof(__msl_g%zu), alignof(__msl_g%zu), 0};"
        " __msl_g%zu &__msl_r%zu = *(__msl_g%zu *)(__msl_memory + __msl_v%zu.offset);%s",
        number, msl_unit_own_name(unit, kernel), number, number, number, number, number, number,
        declaration->references.bytes);
}

/* One more parameter at the end. */
static void add_parameter(struct msl_unit *unit, const struct msl_item *kernel)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const size_t close = tokens->list[kernel->parameters].match;
    const size_t last = msl_previous(tokens, close);
    const bool is_void =
        msl_is(tokens, last, "void") && msl_previous(tokens, last) == kernel->parameters;
    if (is_void)
        msl_unit_erase(unit, last, last);
    unit->tokens.list[close].replacement =
        is_void || last == kernel->parameters ? "char *__msl_memory)" : ", char *__msl_memory)";
}

static enum hal_status place_variables(struct msl_unit *unit, struct msl_item *item)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    unsigned parentheses = 0;
    for (size_t i = item->body; i < item->last; i = msl_next(tokens, i)) {
        parentheses += msl_is(tokens, i, "(");
        parentheses -= msl_is(tokens, i, ")");
        if (parentheses || tokens->list[i].replacement || !msl_is(tokens, i, "threadgroup"))
            continue;
        struct declaration declaration = {.start = i};
        const bool is_variable = read_declaration(tokens, i, &declaration);
        if (is_variable && item->is_kernel) {
            item->has_variables = true;
            write_declaration(unit, item, i, &declaration);
        }
        unit->failed |= declaration.references.failed;
        msl_text_finish(&declaration.references);
        if (is_variable && !item->is_kernel)
            return hal_fail(HAL_INVALID,
                            "%s:%u: error: only kernels can declare threadgroup variables",
                            unit->file, tokens->list[i].line);
    }
    if (item->has_variables)
        add_parameter(unit, item);
    return HAL_OK;
}

/* Instantiations may come between a template's announcement and definition; others add nothing. */
static void announce(struct msl_unit *unit, const struct msl_item *item)
{
    if (!item->is_kernel || item->body || item->is_instantiation)
        return;
    const struct msl_item *const definition = msl_unit_definition(unit, item, NULL);
    if (!definition)
        msl_unit_erase(unit, item->first, item->last);
    else if (definition->has_variables)
        add_parameter(unit, item);
}

enum hal_status msl_unit_place_variables(struct msl_unit *unit)
{
    for (size_t i = 0; i < unit->item_count; i++) {
        struct msl_item *const item = &unit->items[i];
        if (item->body && item->parameters && !item->is_type && !item->dropped)
            HAL_TRY(place_variables(unit, item));
    }
    for (size_t i = 0; i < unit->item_count; i++)
        announce(unit, &unit->items[i]);
    return HAL_OK;
}
