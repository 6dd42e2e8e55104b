/* SPDX-License-Identifier: Apache-2.0 */
/* The language's own words become C++, token by token. */
#include "hal/compiler/msl/unit.h"

#include <ctype.h>
#include <string.h>

struct rewriter {
    struct msl_unit *unit;
    unsigned parentheses; /* that are open here */
};

/* "T name [[function_constant(i)]]": a value given by the specialisations before the source. */
static void rewrite_function_constant(struct msl_unit *unit, size_t open, size_t word)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const size_t close = tokens->list[open].match, value = msl_next(tokens, word);
    const struct msl_token *const name = &tokens->list[msl_previous(tokens, open)];
    const char *const index = msl_unit_join(unit, value, tokens->list[value].match);
    msl_unit_erase(unit, open, close);
    unit->tokens.list[open].replacement = msl_unit_print(
        unit,
        "= ::msl::function_constant<%s>::template get<decltype(%.*s)>();"
        " static constexpr bool __msl_defined_%.*s = ::msl::function_constant<%s>::defined;"
        " __MSL_CONSTANTS static constexpr ::msl_abi_constant __msl_constant_%.*s ="
        " {\"%.*s\", uint32_t(%s), ::msl::constant_type<decltype(%.*s)>,"
        " uint32_t(::msl::constant_components<decltype(%.*s)>)};"
        " static_assert(::msl::is_constant_index%s, \"[[function_constant%s]] is out of range:"
        " indices are 0 to 65535\");"
        " static_assert(::msl::may_be_given<decltype(%.*s), %s>,"
        " \"function constant '%.*s' has another number of components than it is given\")",
        index, (int)name->length, name->text, (int)name->length, name->text, index,
        (int)name->length, name->text, (int)name->length, name->text, index, (int)name->length,
        name->text, (int)name->length, name->text, index, index, (int)name->length, name->text,
        index, (int)name->length, name->text);
}

static void rewrite_attribute(struct rewriter *rewriter, size_t open)
{
    struct msl_unit *const unit = rewriter->unit;
    const struct msl_tokens *const tokens = &unit->tokens;
    bool is_kernel = false;
    for (size_t i = msl_next(tokens, open); i < tokens->list[open].match; i = msl_next(tokens, i)) {
        if (msl_is(tokens, i, "function_constant") && !rewriter->parentheses) {
            rewrite_function_constant(unit, open, i);
            return;
        }
        is_kernel |= msl_is(tokens, i, "kernel");
    }
    msl_unit_erase(unit, open, tokens->list[open].match);
    if (is_kernel && !rewriter->parentheses)
        unit->tokens.list[open].replacement = "__MSL_KERNEL";
}

/* is_function_constant_defined(a::name): the associated boolean. */
static void rewrite_defined(struct msl_unit *unit, size_t i)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const size_t open = msl_next(tokens, i);
    if (!msl_is(tokens, open, "("))
        return;
    unit->tokens.list[i].replacement = "";
    const size_t name = msl_previous(tokens, tokens->list[open].match);
    unit->tokens.list[name].replacement = msl_unit_print(
        unit, "__msl_defined_%.*s", (int)tokens->list[name].length, tokens->list[name].text);
}

static bool is_fractional(const char *digits, size_t length)
{
    return memchr(digits, '.', length) || memchr(digits, 'e', length) ||
           memchr(digits, 'E', length);
}

/* 1.0h and 1.0bf; the compiler accepts 1.0f16 only with a point or an exponent. A literal without a
 * suffix is a float: the language has no double. */
static void rewrite_number(struct msl_unit *unit, size_t i)
{
    struct msl_token *const token = &unit->tokens.list[i];
    const bool is_hex =
        token->length > 1 && token->text[0] == '0' && tolower((unsigned char)token->text[1]) == 'x';
    const bool has_power =
        memchr(token->text, 'p', token->length) || memchr(token->text, 'P', token->length);
    if (is_hex && !has_power)
        return;
    const int last = tolower((unsigned char)token->text[token->length - 1]);
    const bool is_half = last == 'h';
    const bool is_bfloat = last == 'f' && token->length > 2 &&
                           tolower((unsigned char)token->text[token->length - 2]) == 'b';
    const int length = (int)token->length - (is_half ? 1 : 2);
    if (is_half && is_fractional(token->text, (size_t)length))
        token->replacement = msl_unit_print(unit, "%.*sf16", length, token->text);
    else if (is_half || is_bfloat)
        token->replacement = msl_unit_print(
            unit, "%s(%.*s%s)", is_half ? "_Float16" : "::bfloat", length, token->text,
            has_power || is_fractional(token->text, (size_t)length) ? "f" : "");
    else if ((has_power || is_fractional(token->text, token->length)) &&
             (isdigit(last) || last == '.'))
        token->replacement = msl_unit_print(unit, "%.*sf", (int)token->length, token->text);
}

static bool is_lone_number(const struct msl_tokens *tokens, size_t first, size_t end)
{
    return tokens->list[first].kind == MSL_NUMBER && msl_next(tokens, first) == end;
}

/* The question mark that the ':' belongs to; 0: none. */
static size_t question_of(const struct msl_tokens *tokens, size_t colon)
{
    size_t pending = 1;
    for (size_t i = msl_previous(tokens, colon); i > 0; i = msl_previous(tokens, i)) {
        const size_t match = tokens->list[i].match;
        if (match && match < i)
            i = match;
        else if (match || msl_is(tokens, i, ";"))
            return 0;
        else if (msl_is(tokens, i, ":"))
            pending++;
        else if (msl_is(tokens, i, "?") && --pending == 0)
            return i;
    }
    return 0;
}

static bool ends_operand(const struct msl_tokens *tokens, size_t i)
{
    return msl_is(tokens, i, ";") || msl_is(tokens, i, ")") || msl_is(tokens, i, ",") ||
           msl_is(tokens, i, "]") || msl_is(tokens, i, "}");
}

/* "c ? x : 0" and "c ? 0 : x", where x may be a class here that is a number in the language. */
static void rewrite_choice(struct msl_unit *unit, size_t i)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    struct msl_token *const token = &unit->tokens.list[i];
    const size_t before = msl_previous(tokens, i), after = msl_next(tokens, i);
    bool is_choice = false;
    if (token->length != 1 || (*token->text != '0' && *token->text != '1'))
        return;
    if (msl_is(tokens, before, "?") && msl_is(tokens, after, ":")) {
        const size_t other = msl_next(tokens, after);
        is_choice = tokens->list[other].kind != MSL_NUMBER;
    } else if (msl_is(tokens, before, ":") && ends_operand(tokens, after)) {
        const size_t question = question_of(tokens, before);
        is_choice = question && !is_lone_number(tokens, msl_next(tokens, question), before);
    }
    if (is_choice)
        token->replacement = msl_unit_print(unit, "::msl::choice<%c>()", *token->text);
}

static bool is_plain_number(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isdigit((unsigned char)text[i]) && !isspace((unsigned char)text[i]))
            return false;
    return true;
}

/* Line markers stay, and loop hints that the compiler can read; nothing else. */
static void rewrite_directive(struct msl_unit *unit, size_t i)
{
    struct msl_token *const token = &unit->tokens.list[i];
    const char *const text = token->text, *const end = text + token->length;
    const char *at = text + 1;
    while (at < end && isblank((unsigned char)*at))
        at++;
    if (at < end && isdigit((unsigned char)*at))
        return;
    const char *const loop = memmem(text, token->length, "clang loop", 10);
    const char *const unroll = memmem(text, token->length, "unroll", 6);
    const char *const open = unroll ? memchr(unroll, '(', (size_t)(end - unroll)) : NULL;
    const char *const close = open ? memchr(open, ')', (size_t)(end - open)) : NULL;
    const bool readable =
        unroll &&
        (!open || loop || (close && is_plain_number(open + 1, (size_t)(close - open - 1))));
    if (!loop && !readable)
        token->replacement = "";
}

/* "coherent" or "coherent(device)" before a pointer. */
static void rewrite_coherent(struct msl_unit *unit, size_t i)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const size_t after = msl_next(tokens, i);
    if (msl_is(tokens, after, "(") && msl_is(tokens, msl_next(tokens, after), "device"))
        msl_unit_erase(unit, i, tokens->list[after].match);
    else if (msl_is(tokens, after, "device"))
        msl_unit_erase(unit, i, i);
}

static bool is_vector_name(const struct msl_token *token)
{
    static const char *const scalars[] = {"bool", "char", "uchar", "short", "ushort", "int",
                                          "uint", "long", "ulong", "half",  "float",  "bfloat"};
    const char width = token->length ? token->text[token->length - 1] : 0;
    if (token->kind != MSL_NAME || width < '2' || width > '4')
        return false;
    for (size_t n = 0; n < sizeof scalars / sizeof *scalars; n++)
        if (strlen(scalars[n]) == token->length - 1 &&
            memcmp(scalars[n], token->text, token->length - 1) == 0)
            return true;
    return false;
}

/* "(float4)(a, b, c, d)" builds a vector; C++ would take the last one. */
static void rewrite_vector_cast(struct msl_unit *unit, size_t open)
{
    const struct msl_tokens *const tokens = &unit->tokens;
    const size_t before = msl_previous(tokens, open), name = msl_next(tokens, open);
    const size_t close = msl_next(tokens, name);
    const bool is_called =
        tokens->list[before].kind == MSL_NAME && !msl_is(tokens, before, "return");
    if (is_called || !is_vector_name(&tokens->list[name]) || close != tokens->list[open].match ||
        !msl_is(tokens, msl_next(tokens, close), "("))
        return;
    unit->tokens.list[open].replacement = unit->tokens.list[close].replacement = "";
}

static void rewrite_word(struct msl_unit *unit, size_t i)
{
    static const char *const erased[] = {"device", "thread", "threadgroup"};
    const struct msl_tokens *const tokens = &unit->tokens;
    struct msl_token *const token = &unit->tokens.list[i];
    for (size_t n = 0; n < sizeof erased / sizeof *erased; n++)
        if (msl_is(tokens, i, erased[n]))
            token->replacement = "";
    if (msl_is(tokens, i, "constant"))
        token->replacement = "const";
    else if (msl_is(tokens, i, "kernel"))
        token->replacement = "__MSL_KERNEL";
    else if (msl_is(tokens, i, "coherent"))
        rewrite_coherent(unit, i);
    else if (msl_is(tokens, i, "is_function_constant_defined"))
        rewrite_defined(unit, i);
}

void msl_unit_rewrite(struct msl_unit *unit)
{
    struct rewriter rewriter = {.unit = unit};
    const struct msl_tokens *const tokens = &unit->tokens;
    for (size_t i = 1; i + 1 < tokens->count; i++) {
        const struct msl_token *const token = &tokens->list[i];
        if (msl_is(tokens, i, "("))
            rewriter.parentheses++;
        else if (msl_is(tokens, i, ")"))
            rewriter.parentheses--;
        if (token->replacement)
            continue;
        if (token->kind == MSL_DIRECTIVE)
            rewrite_directive(unit, i);
        else if (token->kind == MSL_NUMBER) {
            rewrite_number(unit, i);
            rewrite_choice(unit, i);
        } else if (token->kind == MSL_NAME)
            rewrite_word(unit, i);
        else if (msl_is(tokens, i, "[["))
            rewrite_attribute(&rewriter, i);
        else if (msl_is(tokens, i, "("))
            rewrite_vector_cast(unit, i);
    }
}
