/* SPDX-License-Identifier: Apache-2.0 */
/* Which function constants a kernel needs, read from the source: those that it, or what it uses,
 * names. As Metal has it, one that the source asks for (is_function_constant_defined) may be left
 * out. The source is taken as definitions, each of which has a name and uses words: a variable that
 * is called like a definition counts as its use. */
#import "hal/host_metal/lexer.h"
#import "hal/host_metal/metal.h"
#import "hal/host_metal/reflect.h"

struct definition {
    const char *begin, *end;
    struct token name;
    bool used;
};

struct definitions {
    struct definition *items;
    size_t count, capacity;
};

static void add(struct definitions *all, struct definition definition)
{
    hm_grow((void **)&all->items, all->count, &all->capacity, sizeof *all->items);
    all->items[all->count++] = definition;
}

static bool same(struct token a, struct token b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* The name is the word before the first of `( = { ;`, or before an attribute. */
static bool ends_name(struct token token)
{
    return is(token, "(") || is(token, "=") || is(token, "{") || is(token, "[") || is(token, ";");
}

/* One definition, up to its `;` or `}`. Definitions inside a namespace are separate. False: the
 * end. */
static bool read_definition(const char **position, struct definition *out)
{
    struct token token = next(position), word = {NULL, 0};
    *out = (struct definition){.begin = token.text};
    const bool is_namespace = is(token, "namespace");
    for (int braces = 0, others = 0; token.length; token = next(position)) {
        if (!out->name.length && word.length && others == 0 && ends_name(token))
            out->name = word;
        if (is_word(token))
            word = token;
        braces += is(token, "{") - is(token, "}");
        others += is(token, "(") + is(token, "[") - is(token, ")") - is(token, "]");
        out->end = token.text + token.length;
        if (others <= 0 && braces <= 0 && (is(token, ";") || is(token, "}")))
            return true;
        if (is_namespace && braces == 1)
            return true;
    }
    return false;
}

static void mark_uses(struct definitions *all, const struct definition *user)
{
    const char *position = user->begin;
    while (position < user->end) {
        const struct token token = next(&position);
        if (token.length == 0)
            break;
        for (size_t i = 0; is_word(token) && i < all->count; i++)
            if (same(all->items[i].name, token))
                all->items[i].used = true;
    }
}

static bool asks_for(const struct definition *definition, const char *constant)
{
    const char *position = definition->begin;
    struct token token = next(&position);
    while (token.length && position < definition->end) {
        const bool asks = is(token, "is_function_constant_defined");
        token = next(&position);
        if (!asks || !is(token, "("))
            continue;
        token = next(&position);
        if (is(token, constant))
            return true;
    }
    return false;
}

/* What is used by what is used, until nothing is new. */
static void close_uses(struct definitions *all)
{
    bool *const walked = host_metal_allocate(all->count * sizeof *walked + 1);
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < all->count; i++) {
            if (!all->items[i].used || walked[i])
                continue;
            walked[i] = more = true;
            mark_uses(all, &all->items[i]);
        }
    }
    free(walked);
}

struct hm_uses {
    struct definitions all;
};

struct hm_uses *hm_uses_read(const char *text, const char *kernel)
{
    struct hm_uses *const uses = host_metal_allocate(sizeof *uses);
    const char *position = text;
    struct definition definition;
    while (read_definition(&position, &definition)) {
        definition.used = is(definition.name, kernel);
        add(&uses->all, definition);
    }
    close_uses(&uses->all);
    return uses;
}

enum hm_need hm_uses_need(const struct hm_uses *uses, const char *constant)
{
    bool used = false, asked = false;
    for (size_t i = 0; i < uses->all.count; i++) {
        const struct definition *const definition = &uses->all.items[i];
        used = used || (definition->used && is(definition->name, constant));
        asked = asked || (definition->used && asks_for(definition, constant));
    }
    return !used ? HM_NOT_USED : asked ? HM_OPTIONAL : HM_REQUIRED;
}

void hm_uses_destroy(struct hm_uses *uses)
{
    free(uses->all.items);
    free(uses);
}
