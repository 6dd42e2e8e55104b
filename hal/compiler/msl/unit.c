/* SPDX-License-Identifier: Apache-2.0 */
/* A unit's memory, and what all steps do with its tokens. */
#include "hal/compiler/msl/unit.h"

#include "hal/base/mem.h"

#include <stdarg.h>
#include <stdio.h>

static const char *keep(struct msl_unit *unit, char *string)
{
    if (!string || !HAL_GROW(unit->strings, &unit->string_capacity, unit->string_count + 1)) {
        free(string);
        unit->failed = true;
        return "";
    }
    unit->strings[unit->string_count++] = string;
    return string;
}

const char *msl_unit_print(struct msl_unit *unit, const char *format, ...)
{
    char *string = NULL;
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(&string, format, arguments) < 0)
        string = NULL;
    va_end(arguments);
    return keep(unit, string);
}

const char *msl_unit_join(struct msl_unit *unit, size_t first, size_t last)
{
    struct msl_text text = {0};
    msl_text_append(&text, "", 0);
    for (size_t i = first; i <= last && i < unit->tokens.count; i++) {
        const struct msl_token *const token = &unit->tokens.list[i];
        if (token->kind == MSL_BLANK || token->kind == MSL_DIRECTIVE)
            msl_text_append(&text, " ", 1);
        else
            msl_text_append(&text, token->text, token->length);
    }
    if (text.failed) {
        msl_text_finish(&text);
        return keep(unit, NULL);
    }
    return keep(unit, text.bytes);
}

void msl_unit_erase(struct msl_unit *unit, size_t first, size_t last)
{
    for (size_t i = first; i <= last; i++) {
        struct msl_token *const token = &unit->tokens.list[i];
        if (token->kind != MSL_BLANK && token->kind != MSL_DIRECTIVE)
            token->replacement = "";
    }
}

/* "T (*name)(...)", "T (&name)[n]". */
static bool is_named_inside(const struct msl_tokens *tokens, size_t open)
{
    const size_t sign = msl_next(tokens, open);
    return (msl_is(tokens, sign, "*") || msl_is(tokens, sign, "&")) &&
           tokens->list[msl_previous(tokens, tokens->list[open].match)].kind == MSL_NAME;
}

const char *msl_unit_own_name(struct msl_unit *unit, const struct msl_item *item)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const char *const name =
        msl_unit_print(unit, "::%s%.*s", item->scope, (int)tokens->list[item->name].length,
                       tokens->list[item->name].text);
    if (!item->template_parameters)
        return name;
    const size_t end = msl_angle_end(tokens, item->template_parameters);
    struct msl_text text = {0};
    size_t last_name = 0;
    bool past_name = false, is_pack = false;
    for (size_t i = msl_next(tokens, item->template_parameters); end && i <= end;
         i = msl_next(tokens, i)) {
        if (i == end || msl_is(tokens, i, ",")) {
            if (last_name)
                msl_text_print(&text, "%s%.*s%s", text.length ? ", " : "",
                               (int)tokens->list[last_name].length, tokens->list[last_name].text,
                               is_pack ? "..." : "");
            past_name = is_pack = false;
            last_name = 0;
        } else if (msl_is(tokens, i, "=")) {
            past_name = true;
        } else if (msl_is(tokens, i, "<") && msl_angle_end(tokens, i)) {
            i = msl_angle_end(tokens, i);
        } else if (msl_is(tokens, i, "(") && !past_name && is_named_inside(tokens, i)) {
            last_name = msl_previous(tokens, tokens->list[i].match);
            past_name = true; /* the function's own parameters follow */
        } else if (tokens->list[i].match > i) {
            i = tokens->list[i].match;
        } else if (msl_is(tokens, i, ".")) {
            is_pack = true;
        } else if (tokens->list[i].kind == MSL_NAME && !past_name) {
            last_name = i;
        }
    }
    const char *const own = msl_unit_print(unit, "%s<%s>", name, text.bytes ? text.bytes : "");
    unit->failed |= text.failed;
    msl_text_finish(&text);
    return own;
}

void msl_unit_finish(struct msl_unit *unit)
{
    for (size_t i = 0; i < unit->string_count; i++)
        free(unit->strings[i]);
    free(unit->strings);
    free(unit->items);
    msl_tokens_finish(&unit->tokens);
    *unit = (struct msl_unit){0};
}
