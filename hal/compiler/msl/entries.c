/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and instantiations of them become table entries that entry.h expands. */
#include "hal/compiler/msl/unit.h"

#include <stdlib.h>
#include <string.h>

/* The lines of what the assertions are about; then those of the source go on. */
static const char *print_entry(struct msl_unit *unit, const struct msl_item *kernel, size_t last,
                               const struct msl_entry *entry, const struct msl_kernel *names,
                               bool side_by_side)
{
    const char *const name = names->name, *const sized = names->wanted ? names->wanted : name;
    const struct msl_token *const list = unit->tokens.list;
    const struct msl_entry_text *const text = entry->text;
    return msl_unit_print(
        unit,
        "namespace { struct __msl_p%zu { static constexpr ::msl::parameter list[] = {%s{}}; };"
        "\n#line %u\nstatic_assert(::msl::returns_nothing<decltype(&%s)>, \"kernel '%s' returns "
        "a value: kernels are void\");%s\n#line %u\n"
        " __MSL_ENTRIES constexpr ::msl_abi_kernel __msl_k%zu ="
        " ::msl::entry<&%s, __msl_p%zu>::template describe<%s, __msl_split,"
        " __msl_size(\"%s\", 0), __msl_size(\"%s\", 1), __msl_size(\"%s\", 2)>(\"%s\", "
        "__msl_lowering); }",
        entry->number, text->list.bytes ? text->list.bytes : "", list[kernel->name].line,
        entry->function, msl_unit_join(unit, kernel->name, kernel->name),
        text->checks.bytes ? text->checks.bytes : "", list[last].line, entry->number,
        entry->function, entry->number, side_by_side ? "true" : "false", sized, sized, sized, name);
}

static enum hal_status write_entry(struct msl_unit *unit, const struct msl_kernel *names,
                                   const char *function, const char **out_text)
{
    const struct msl_item *const item = names->item, *const kernel = names->body;
    const bool side_by_side = kernel->needs_sync || item->needs_sync;
    struct msl_entry_text text = {{0}, {0}};
    const struct msl_entry entry = {
        .unit = unit, .number = (size_t)(item - unit->items), .function = function, .text = &text};
    unit->needs_sync |= side_by_side;
    enum hal_status status = msl_entry_write_parameters(&entry, kernel->parameters);
    if (status == HAL_OK && item->is_instantiation)
        status = msl_entry_check_instance(&entry, names);
    if (kernel->has_variables)
        msl_text_append_string(&text.list,
                               "{::msl::source::group_variables, ::msl::next_free, true, false}, ");
    if (status == HAL_OK)
        *out_text = print_entry(unit, kernel, item->last, &entry, names, side_by_side);
    unit->failed |= text.list.failed || text.checks.failed;
    msl_text_finish(&text.list);
    msl_text_finish(&text.checks);
    return status;
}

static bool is_wanted(const struct msl_unit *unit, const struct msl_kernel *names)
{
    return !unit->source->only_listed || names->wanted;
}

static enum hal_status add_instantiation(struct msl_unit *unit, const struct msl_kernel *names)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const struct msl_item *const item = names->item, *const kernel = names->body;
    const char *const function = msl_unit_print(
        unit, "::%s%s%s", kernel->scope, msl_unit_join(unit, kernel->name, kernel->name),
        msl_unit_join(unit, item->arguments, msl_angle_end(tokens, item->arguments)));
    const char *entry = "";
    if (is_wanted(unit, names))
        HAL_TRY(write_entry(unit, names, function, &entry));
    else
        msl_unit_erase(unit, item->first, item->last);
    unit->tokens.list[item->last].replacement = entry;
    return HAL_OK;
}

static enum hal_status add_kernel(struct msl_unit *unit, const struct msl_kernel *names)
{
    const struct msl_item *const item = names->item;
    const char *entry = "";
    if (!is_wanted(unit, names))
        return HAL_OK;
    HAL_TRY(write_entry(unit, names, msl_unit_own_name(unit, item), &entry));
    const char *const end = msl_unit_join(unit, item->last, item->last);
    unit->tokens.list[item->last].replacement = msl_unit_print(unit, "%s %s", end, entry);
    return HAL_OK;
}

enum hal_status msl_unit_add_entries(struct msl_unit *unit)
{
    struct msl_kernel *kernels = NULL;
    size_t count = 0;
    enum hal_status status = msl_unit_find_kernels(unit, &kernels, &count);
    for (size_t i = 0; i < count && status == HAL_OK; i++)
        status = kernels[i].item->is_instantiation ? add_instantiation(unit, &kernels[i])
                                                   : add_kernel(unit, &kernels[i]);
    free(kernels);
    return status;
}
