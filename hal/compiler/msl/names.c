/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of a source, and the names by which callers find them. */
#include "hal/compiler/msl/names.h"

#include "hal/base/mem.h"
#include "hal/compiler/msl/unit.h"

/* "a::b::" as it is written in front of the name that ends at token `last`. */
static const char *qualifier_of(struct msl_unit *unit, size_t last)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    size_t first = last;
    while (msl_is(tokens, msl_previous(tokens, first), "::")) {
        const size_t before = msl_previous(tokens, msl_previous(tokens, first));
        if (tokens->list[before].kind != MSL_NAME)
            break;
        first = before;
    }
    return first == last ? "" : msl_unit_join(unit, first, msl_previous(tokens, last));
}

/* The length of the part of `item`'s scope that, with the qualifier, leads to `scope`, plus 1; 0:
 * it is visible otherwise, if at all. */
static size_t nearness(const char *item_scope, const char *qualifier, const char *scope)
{
    const size_t whole = strlen(scope), own = strlen(qualifier);
    if (own > whole || strcmp(scope + whole - own, qualifier) != 0)
        return 0;
    return strncmp(item_scope, scope, whole - own) == 0 ? whole - own + 1 : 0;
}

static bool is_named(const struct msl_unit *unit, const struct msl_item *item,
                     const struct msl_token *name)
{
    const struct msl_token *const own = &unit->tokens.list[item->name];
    return own->length == name->length && memcmp(own->text, name->text, own->length) == 0;
}

/* Not "template <>", which makes one case of a template another one. */
static bool is_template(const struct msl_unit *unit, const struct msl_item *item)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    return item->is_kernel && !item->is_instantiation && item->parameters &&
           item->template_parameters &&
           !msl_is(tokens, msl_next(tokens, item->template_parameters), ">");
}

const struct msl_item *msl_unit_definition(const struct msl_unit *unit,
                                           const struct msl_item *declaration,
                                           const struct msl_item *besides)
{
    const struct msl_token *const name = &unit->tokens.list[declaration->name];
    if (!is_template(unit, declaration))
        return NULL;
    for (size_t i = 0; i < unit->item_count; i++) {
        const struct msl_item *const it = &unit->items[i];
        if (it != besides && it->body && is_template(unit, it) && is_named(unit, it, name) &&
            strcmp(it->scope, declaration->scope) == 0)
            return it;
    }
    return NULL;
}

/* The template that `item` instantiates: of those of that name before it, or announced before it,
 * the one in the innermost namespace around it, else the nearest. */
static const struct msl_item *find_template(struct msl_unit *unit, const struct msl_item *item)
{
    const size_t at = msl_previous(&unit->tokens, item->arguments);
    const struct msl_token *const name = &unit->tokens.list[at];
    const char *const qualifier = qualifier_of(unit, at);
    const struct msl_item *found = NULL;
    size_t best = 0;
    for (const struct msl_item *it = item; it-- > unit->items;) {
        if (!is_template(unit, it) || !is_named(unit, it, name))
            continue;
        const struct msl_item *const body = it->body ? it : msl_unit_definition(unit, it, NULL);
        const size_t near = nearness(item->scope, qualifier, it->scope);
        if (body && (!found || near > best)) {
            found = body;
            best = near;
        }
    }
    return found;
}

/* The kernel that is compiled for `item`: itself, or its template; NULL: none. */
static const struct msl_item *body_of(struct msl_unit *unit, const struct msl_item *item)
{
    if (item->is_instantiation)
        return item->arguments ? find_template(unit, item) : NULL;
    const bool is_entry =
        item->is_kernel && item->body && item->parameters && !item->template_parameters;
    return is_entry ? item : NULL;
}

/* As Metal calls them: with the namespaces, which extern "C" leaves out. */
static const char *name_of(struct msl_unit *unit, const struct msl_item *item,
                           const struct msl_item *body)
{
    if (item->host_name)
        return item->host_name;
    const char *const arguments =
        item->is_instantiation
            ? msl_unit_join(unit, item->arguments, msl_angle_end(&unit->tokens, item->arguments))
            : "";
    return msl_unit_print(unit, "%s%s%s", body->is_foreign ? "" : body->scope,
                          msl_unit_join(unit, body->name, body->name), arguments);
}

static uint32_t line_of(const struct msl_unit *unit, const struct msl_item *item)
{
    return unit->tokens.list[item->is_instantiation ? item->first : item->name].line;
}

static int compare_names(const void *a, const void *b)
{
    const struct msl_kernel *const x = *(const struct msl_kernel *const *)a;
    const struct msl_kernel *const y = *(const struct msl_kernel *const *)b;
    const int order = strcmp(x->name, y->name);
    return order ? order : (x > y) - (x < y);
}

static int compare_to_name(const void *name, const void *kernel)
{
    return strcmp(name, (*(const struct msl_kernel *const *)kernel)->name);
}

static enum hal_status check_unique(const struct msl_unit *unit, struct msl_kernel *const *sorted,
                                    size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            return hal_fail(HAL_INVALID, "%s:%u: error: there is another kernel '%s', in line %u",
                            unit->file, line_of(unit, sorted[i]->item), sorted[i]->name,
                            line_of(unit, sorted[i - 1]->item));
    return HAL_OK;
}

/* C++ could not resolve the ambiguity. */
static enum hal_status check_overloads(struct msl_unit *unit, struct msl_kernel *const *sorted,
                                       size_t count)
{
    for (const struct msl_item *it = unit->items; it < unit->items + unit->item_count; it++) {
        if (it->is_kernel || it->is_type || it->is_instantiation || it->dropped ||
            it->template_parameters || !it->parameters || !it->body)
            continue;
        const char *const name =
            msl_unit_print(unit, "%s%s", it->scope, msl_unit_join(unit, it->name, it->name));
        struct msl_kernel *const *const found =
            bsearch(name, sorted, count, sizeof *sorted, compare_to_name);
        if (found && !(*found)->item->is_instantiation && !(*found)->item->host_name &&
            strcmp((*found)->item->scope, it->scope) == 0)
            return hal_fail(HAL_INVALID,
                            "%s:%u: error: function '%s' has the name of the kernel in line %u",
                            unit->file, line_of(unit, it), name, line_of(unit, (*found)->item));
    }
    return HAL_OK;
}

static enum hal_status unknown(const struct msl_unit *unit, const char *wanted,
                               const struct msl_kernel *kernels, size_t count)
{
    const char **const names = hal_alloc(count, sizeof *names);
    if (!names)
        return hal_fail(HAL_NO_MEMORY, "out of memory for %zu names", count);
    for (size_t i = 0; i < count; i++)
        names[i] = kernels[i].name;
    const enum hal_status status = msl_unknown_name(HAL_INVALID, unit->file, wanted, names, count);
    free(names);
    return status;
}

/* The kernel with that name; `*out_found` stays NULL if there is none. */
static enum hal_status find_wanted(const struct msl_unit *unit, const char *wanted,
                                   struct msl_kernel *kernels, struct msl_kernel *const *sorted,
                                   size_t count, struct msl_kernel **out_found)
{
    struct msl_kernel *const *const exact =
        count ? bsearch(wanted, sorted, count, sizeof *sorted, compare_to_name) : NULL;
    *out_found = exact ? *exact : NULL;
    for (size_t i = 0; i < count && !exact; i++) {
        if (!msl_is_bare_name(kernels[i].name, wanted))
            continue;
        if (*out_found)
            return hal_fail(HAL_INVALID, "'%s': kernel '%s' could be '%s' or '%s'", unit->file,
                            wanted, (*out_found)->name, kernels[i].name);
        *out_found = &kernels[i];
    }
    return HAL_OK;
}

/* Before anything is compiled, which may take long. */
static enum hal_status find_listed(const struct msl_unit *unit, struct msl_kernel *kernels,
                                   struct msl_kernel *const *sorted, size_t count)
{
    const struct msl_source *const source = unit->source;
    for (size_t i = 0; i < source->group_size_count; i++) {
        const char *const wanted = source->group_sizes[i].kernel;
        struct msl_kernel *found = NULL;
        HAL_TRY(find_wanted(unit, wanted, kernels, sorted, count, &found));
        if (!found && source->only_listed)
            return unknown(unit, wanted, kernels, count);
        if (found && (!found->wanted || strcmp(wanted, found->name) == 0))
            found->wanted = wanted;
    }
    return HAL_OK;
}

static enum hal_status check_names(struct msl_unit *unit, struct msl_kernel *kernels, size_t count)
{
    struct msl_kernel **const sorted = hal_alloc(count, sizeof *sorted);
    if (!sorted)
        return hal_fail(HAL_NO_MEMORY, "out of memory for %zu kernels", count);
    for (size_t i = 0; i < count; i++)
        sorted[i] = &kernels[i];
    if (count)
        qsort(sorted, count, sizeof *sorted, compare_names);
    enum hal_status status = check_unique(unit, sorted, count);
    if (status == HAL_OK)
        status = check_overloads(unit, sorted, count);
    if (status == HAL_OK)
        status = find_listed(unit, kernels, sorted, count);
    free(sorted);
    return status;
}

static enum hal_status no_template(const struct msl_unit *unit, const struct msl_item *item)
{
    const struct msl_token *const name =
        &unit->tokens.list[msl_previous(&unit->tokens, item->arguments)];
    return hal_fail(HAL_INVALID,
                    "%s:%u: error: there is no kernel template '%.*s' before its "
                    "instantiation",
                    unit->file, name->line, (int)name->length, name->text);
}

enum hal_status msl_unit_find_kernels(struct msl_unit *unit, struct msl_kernel **out_kernels,
                                      size_t *out_count)
{
    struct msl_kernel *const kernels = hal_alloc(unit->item_count, sizeof *kernels);
    const struct msl_item *lost = NULL;
    size_t count = 0;
    if (!kernels)
        return hal_fail(HAL_NO_MEMORY, "out of memory for %zu declarations", unit->item_count);
    for (size_t i = 0; i < unit->item_count; i++) {
        const struct msl_item *const item = &unit->items[i], *const body = body_of(unit, item);
        if (body)
            kernels[count++] = (struct msl_kernel){name_of(unit, item, body), NULL, item, body};
        else if (!lost && item->is_kernel && item->is_instantiation && item->arguments)
            lost = item;
    }
    enum hal_status status = HAL_OK;
    if (unit->failed)
        status = hal_fail(HAL_NO_MEMORY, "out of memory for the names of %zu kernels", count);
    else if (lost)
        status = no_template(unit, lost);
    else
        status = check_names(unit, kernels, count);
    if (status != HAL_OK) {
        free(kernels);
        return status;
    }
    *out_kernels = kernels;
    *out_count = count;
    return HAL_OK;
}
