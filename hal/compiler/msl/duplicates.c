/* SPDX-License-Identifier: Apache-2.0 */
/* Sources write a function once per address space. Without address spaces those are one. */
#include "hal/compiler/msl/unit.h"

#include "hal/base/mem.h"

struct signature {
    char *text; /* owned: scope and header without address spaces */
    size_t order, first, last;
    struct msl_item *item; /* NULL for a member */
};

struct signatures {
    struct signature *list;
    size_t count, capacity;
};

static bool is_word(const struct msl_token *token, const char *word)
{
    return token->length == strlen(word) && memcmp(token->text, word, token->length) == 0;
}

static bool is_erased(const struct msl_token *token)
{
    return token->replacement && !*token->replacement;
}

/* `constant` is const; "const const" is const. */
static void append_header(struct msl_text *text, const struct msl_tokens *tokens, size_t first,
                          size_t last)
{
    bool was_const = false;
    for (size_t i = first; i <= last; i++) {
        const struct msl_token *const token = &tokens->list[i];
        if (token->kind == MSL_BLANK || token->kind == MSL_DIRECTIVE || is_word(token, "device") ||
            is_word(token, "thread") || is_word(token, "threadgroup") || is_erased(token))
            continue;
        const bool is_const = is_word(token, "const") || is_word(token, "constant");
        if (is_const && !was_const)
            msl_text_append_string(text, "const ");
        was_const = is_const;
        if (is_const)
            continue;
        msl_text_append(text, token->text, token->length);
        msl_text_append_string(text, " ");
    }
}

static void add_signature(struct msl_unit *unit, struct signatures *all, const char *scope,
                          const struct msl_item *declaration, struct msl_item *item)
{
    struct msl_text text = {0};
    msl_text_append_string(&text, scope);
    msl_text_append_string(&text, "|");
    append_header(&text, &unit->tokens, declaration->first,
                  msl_previous(&unit->tokens, declaration->body));
    /* The address-space variants of a member function differ in their qualifiers only. */
    if (text.failed || !HAL_GROW(all->list, &all->capacity, all->count + 1)) {
        msl_text_finish(&text);
        unit->failed = true;
        return;
    }
    all->list[all->count] = (struct signature){.text = text.bytes,
                                               .order = all->count,
                                               .first = declaration->first,
                                               .last = declaration->last,
                                               .item = item};
    all->count++;
}

/* Skips "public:" and the like. */
static size_t member_start(const struct msl_tokens *tokens, size_t i)
{
    while (msl_is(tokens, i, "public") || msl_is(tokens, i, "private") ||
           msl_is(tokens, i, "protected") || msl_is(tokens, i, ":"))
        i = msl_next(tokens, i);
    return i;
}

/* "T() constant": a member function is const then, a constructor must not be. */
static void drop_constructor_space(struct msl_unit *unit, const struct msl_item *type,
                                   const struct msl_item *member)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const struct msl_token *const name = &tokens->list[type->name];
    if (tokens->list[member->name].length != name->length ||
        memcmp(tokens->list[member->name].text, name->text, name->length) != 0)
        return;
    const size_t after = msl_next(tokens, tokens->list[member->parameters].match);
    if (msl_is(tokens, after, "constant"))
        msl_unit_erase(unit, after, after);
}

static void add_members(struct msl_unit *unit, struct signatures *all, const struct msl_item *type)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const size_t end = tokens->list[type->body].match;
    const char *const scope = msl_unit_print(unit, "%s%zu::", type->scope, type->body);
    size_t i = member_start(tokens, msl_next(tokens, type->body));
    while (i < end) {
        if (msl_is(tokens, i, ";")) {
            i = member_start(tokens, msl_next(tokens, i));
            continue;
        }
        const struct msl_item member = msl_unit_item(unit, i, scope);
        if (member.parameters && !member.is_type)
            drop_constructor_space(unit, type, &member);
        if (member.parameters && member.body && !member.is_type)
            add_signature(unit, all, scope, &member, NULL);
        i = member_start(tokens, msl_next(tokens, member.last < end ? member.last : end));
    }
}

static int compare(const void *a, const void *b)
{
    const struct signature *const x = a, *const y = b;
    const int order = strcmp(x->text, y->text);
    return order ? order : x->order < y->order ? -1 : x->order > y->order;
}

static bool has_pointer(const struct msl_tokens *tokens, const struct msl_item *item)
{
    for (size_t i = item->first; i < item->body; i++)
        if (msl_is(tokens, i, "*") || msl_is(tokens, i, "&"))
            return true;
    return false;
}

void msl_unit_drop_duplicates(struct msl_unit *unit)
{
    struct signatures all = {0};
    for (size_t i = 0; i < unit->item_count; i++) {
        struct msl_item *const item = &unit->items[i];
        if (!item->body || item->is_kernel || item->is_instantiation)
            continue;
        const bool is_function = item->parameters && !item->is_type;
        if (is_function || has_pointer(&unit->tokens, item))
            add_signature(unit, &all, item->scope, item, item);
        if (item->is_type)
            add_members(unit, &all, item);
    }
    if (all.count)
        qsort(all.list, all.count, sizeof *all.list, compare);
    for (size_t i = 1; i < all.count; i++) {
        const struct signature *const it = &all.list[i];
        if (strcmp(it->text, all.list[i - 1].text) != 0)
            continue;
        msl_unit_erase(unit, it->first, it->last);
        if (it->item)
            it->item->dropped = true;
    }
    for (size_t i = 0; i < all.count; i++)
        free(all.list[i].text);
    free(all.list);
}
