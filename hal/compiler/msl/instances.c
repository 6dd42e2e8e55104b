/* SPDX-License-Identifier: Apache-2.0 */
/* Explicit instantiations of kernels: checks that arguments and parameters match the template. C++
 * would report errors in terms of our internal names. */
#include "hal/compiler/msl/unit.h"

#include <string.h>

static size_t count_parameters(const struct msl_tokens *tokens, size_t open)
{
    const size_t close = tokens->list[open].match;
    size_t count = 0;
    if (!msl_has_parameters(tokens, open))
        return 0;
    for (size_t i = open; i != close; count++)
        i = msl_parameter_end(tokens, msl_next(tokens, i), close);
    return count;
}

/* For a message in the generated source, without the characters that would end it there. */
static const char *sayable(const char *text)
{
    return text && strpbrk(text, "\"\\\n") ? "..." : text;
}

/* "f<int>" */
static const char *name_of(struct msl_unit *unit, const struct msl_kernel *names)
{
    const size_t arguments = names->item->arguments;
    return msl_unit_print(
        unit, "%s%s", msl_unit_join(unit, names->body->name, names->body->name),
        sayable(msl_unit_join(unit, arguments, msl_angle_end(&unit->tokens, arguments))));
}

static enum hal_status check_count(struct msl_unit *unit, const struct msl_kernel *names)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const size_t here = count_parameters(tokens, names->item->parameters);
    const size_t there = count_parameters(tokens, names->body->parameters);
    if (here == there)
        return HAL_OK;
    return hal_fail(
        HAL_INVALID,
        "%s:%u: error: kernel '%s': parameters: %zu here, %zu in its template, in line %u",
        unit->file, tokens->list[names->item->parameters].line, name_of(unit, names), here, there,
        tokens->list[names->body->name].line);
}

/* The parameters stay where they are, each in an assertion around it. */
static void compare_parameters(const struct msl_entry *entry, const struct msl_kernel *names,
                               const char *before)
{
    struct msl_unit *const unit = entry->unit;
    struct msl_token *const list = unit->tokens.list;
    const size_t open = names->item->parameters, close = list[open].match;
    size_t place = 0;
    for (size_t i = open; i != close; place++) {
        const size_t first = msl_next(&unit->tokens, i);
        const char *const begin = msl_unit_print(
            unit, "%s\n#line %u\nstatic_assert(::msl::takes_as<decltype(&%s), %zu, void (*)(",
            before, list[first].line, entry->function, place);
        list[i].replacement = begin;
        i = msl_parameter_end(&unit->tokens, first, close);
        for (size_t kept = first; kept < i; kept++)
            list[kept].replacement = NULL;
        before = msl_unit_print(unit,
                                ")>, \"kernel '%s': parameter %zu is of another type than in its "
                                "template, in line %u\");",
                                name_of(unit, names), place + 1, list[names->body->name].line);
    }
    list[close].replacement = before;
}

/* What is said where C++ finds no template for the arguments, or several. */
static const char *write_misfit(struct msl_unit *unit, const struct msl_kernel *names)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const struct msl_item *const body = names->body;
    const struct msl_item *const other = msl_unit_definition(unit, body, body);
    const uint32_t line = tokens->list[body->template_parameters].line;
    if (other)
        return msl_unit_print(unit,
                              "kernel '%s': several templates have its name (in lines %u and %u), "
                              "and its arguments match none, or more than one",
                              name_of(unit, names), line,
                              tokens->list[other->template_parameters].line);
    return msl_unit_print(unit, "kernel '%s': its arguments do not match 'template %s' in line %u",
                          name_of(unit, names),
                          sayable(msl_unit_join(unit, body->template_parameters,
                                                msl_angle_end(tokens, body->template_parameters))),
                          line);
}

enum hal_status msl_entry_check_instance(const struct msl_entry *entry,
                                         const struct msl_kernel *names)
{
    struct msl_unit *const unit = entry->unit;
    const struct msl_tokens *const tokens = &unit->tokens;
    const struct msl_item *const item = names->item;
    const char *const fits =
        msl_unit_print(unit,
                       "namespace { constexpr bool __msl_fits%zu ="
                       " ::msl::names_one([](auto one) -> decltype(one(&%s)) {}, 0); }\n#line %u\n"
                       "static_assert(__msl_fits%zu, \"%s\");",
                       entry->number, entry->function, tokens->list[item->arguments].line,
                       entry->number, write_misfit(unit, names));
    const size_t open = item->parameters; /* 0: "decltype(f<int>) f<int>" */
    if (open)
        HAL_TRY(check_count(unit, names));
    msl_unit_erase(unit, item->first, item->last);
    if (open && msl_has_parameters(tokens, open))
        compare_parameters(entry, names, fits);
    else
        unit->tokens.list[item->first].replacement = fits;
    return HAL_OK;
}
