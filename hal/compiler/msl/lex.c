/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of preprocessed kernel source, their lines, and matching brackets. */
#include "hal/compiler/msl/lex.h"

#include "hal/base/mem.h"
#include "hal/base/text.h"

#include <ctype.h>

struct lexer {
    const char *at, *end, *file;
    uint32_t line;
    bool line_start; /* nothing but white space so far */
    struct msl_tokens tokens;
};

static bool name_start(char c)
{
    return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool name_part(char c)
{
    return name_start(c) || isdigit((unsigned char)c);
}

static char peek(const struct lexer *lexer, size_t ahead)
{
    return ahead < (size_t)(lexer->end - lexer->at) ? lexer->at[ahead] : '\0';
}

static bool add(struct lexer *lexer, enum msl_token_kind kind, const char *from)
{
    struct msl_tokens *tokens = &lexer->tokens;
    if (!HAL_GROW(tokens->list, &tokens->capacity, tokens->count + 1))
        return false;
    tokens->list[tokens->count++] = (struct msl_token){
        .kind = kind, .text = from, .length = (uint32_t)(lexer->at - from), .line = lexer->line};
    return true;
}

/* "# 12 "file" 1": the next line is line 12. */
static void follow_line_marker(struct lexer *lexer, const char *from)
{
    const char *digits = from + 1;
    while (digits < lexer->at && isblank((unsigned char)*digits))
        digits++;
    if (digits == lexer->at || !isdigit((unsigned char)*digits))
        return;
    uint32_t line = 0;
    while (digits < lexer->at && isdigit((unsigned char)*digits))
        line = line * 10 + (uint32_t)(*digits++ - '0');
    lexer->line = line - 1; /* the directive's own line end adds one */
}

static void skip_number(struct lexer *lexer)
{
    const bool hexadecimal = peek(lexer, 0) == '0' && tolower((unsigned char)peek(lexer, 1)) == 'x';
    char last = '\0';
    for (;; lexer->at++) {
        const char c = peek(lexer, 0);
        const bool exponent = hexadecimal ? last == 'p' : last == 'e';
        if (!name_part(c) && c != '.' && c != '\'' && !((c == '+' || c == '-') && exponent))
            return;
        last = (char)tolower((unsigned char)c);
    }
}

static void skip_string(struct lexer *lexer)
{
    const char quote = *lexer->at++;
    while (lexer->at < lexer->end && *lexer->at != quote && *lexer->at != '\n') {
        if (*lexer->at == '\\' && lexer->at + 1 < lexer->end)
            lexer->at++;
        lexer->at++;
    }
    if (lexer->at < lexer->end && *lexer->at == quote)
        lexer->at++;
}

static void skip_comment(struct lexer *lexer)
{
    lexer->at += 2;
    while (lexer->at < lexer->end && !(*lexer->at == '*' && peek(lexer, 1) == '/'))
        lexer->at++;
    lexer->at += lexer->end - lexer->at < 2 ? lexer->end - lexer->at : 2;
}

static void skip_line(struct lexer *lexer)
{
    while (lexer->at < lexer->end && *lexer->at != '\n')
        lexer->at++;
}

static uint32_t lines_in(const char *from, const char *to)
{
    uint32_t lines = 0;
    for (; from < to; from++)
        lines += *from == '\n';
    return lines;
}

static enum msl_token_kind scan(struct lexer *lexer)
{
    const char c = *lexer->at, after = peek(lexer, 1);
    if (isspace((unsigned char)c)) {
        while (lexer->at < lexer->end && isspace((unsigned char)*lexer->at))
            lexer->line_start |= *lexer->at++ == '\n';
        return MSL_BLANK;
    }
    if (c == '#' && lexer->line_start) {
        skip_line(lexer);
        return MSL_DIRECTIVE;
    }
    if (c == '/' && after == '*') {
        skip_comment(lexer);
        return MSL_BLANK;
    }
    if (c == '/' && after == '/') {
        skip_line(lexer);
        return MSL_BLANK;
    }
    lexer->line_start = false;
    if (name_start(c)) {
        while (lexer->at < lexer->end && name_part(*lexer->at))
            lexer->at++;
        return MSL_NAME;
    }
    if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)after))) {
        skip_number(lexer);
        return MSL_NUMBER;
    }
    if (c == '"' || c == '\'') {
        skip_string(lexer);
        return MSL_STRING;
    }
    const bool two =
        (c == ':' && after == ':') || (c == '-' && after == '>') || (c == '[' && after == '[');
    lexer->at += two ? 2 : 1;
    return MSL_MARK;
}

struct bracket {
    size_t token;
    char closer;
};

struct open_brackets {
    struct bracket *list;
    size_t count, capacity;
};

static bool open_bracket(struct open_brackets *open, size_t token, char closer)
{
    if (!HAL_GROW(open->list, &open->capacity, open->count + 1))
        return false;
    open->list[open->count++] = (struct bracket){token, closer};
    return true;
}

/* "[[" opens two brackets; its partner is the "]" that closes the outer one. */
static enum hal_status match_brackets(struct lexer *lexer)
{
    struct open_brackets open = {0};
    enum hal_status status = HAL_OK;
    struct msl_token *const list = lexer->tokens.list;
    for (size_t i = 0; i < lexer->tokens.count && status == HAL_OK; i++) {
        if (list[i].kind != MSL_MARK)
            continue;
        const char c = *list[i].text;
        const char closer = c == '(' ? ')' : c == '{' ? '}' : c == '[' ? ']' : '\0';
        bool fits = true;
        if (closer) {
            fits = open_bracket(&open, i, closer) &&
                   (list[i].length == 1 || open_bracket(&open, i, closer));
        } else if (c == ')' || c == '}' || c == ']') {
            if (!open.count || open.list[open.count - 1].closer != c) {
                status = hal_fail(HAL_INVALID, "%s:%u: error: '%c' without an opening bracket",
                                  lexer->file, list[i].line, c);
                break;
            }
            const size_t start = open.list[--open.count].token;
            list[start].match = (uint32_t)i;
            list[i].match = (uint32_t)start;
        }
        if (!fits)
            status = hal_fail(HAL_NO_MEMORY, "out of memory for nested brackets");
    }
    if (status == HAL_OK && open.count) {
        const struct msl_token *token = &list[open.list[open.count - 1].token];
        status = hal_fail(HAL_INVALID, "%s:%u: error: '%.*s' is never closed", lexer->file,
                          token->line, (int)token->length, token->text);
    }
    free(open.list);
    return status;
}

enum hal_status msl_lex(const char *source, size_t bytes, const char *file,
                        struct msl_tokens *out_tokens)
{
    struct lexer lexer = {
        .at = source, .end = source + bytes, .file = file, .line = 1, .line_start = true};
    *out_tokens = (struct msl_tokens){0};
    if (bytes > UINT32_MAX / 2)
        return hal_fail(HAL_INVALID, "a preprocessed source of %s is too long",
                        hal_count(bytes, "byte", "bytes").text);
    bool fits = add(&lexer, MSL_BLANK, source);
    while (fits && lexer.at < lexer.end) {
        const char *const from = lexer.at;
        const enum msl_token_kind kind = scan(&lexer);
        fits = add(&lexer, kind, from);
        if (kind == MSL_DIRECTIVE)
            follow_line_marker(&lexer, from);
        else if (kind == MSL_BLANK)
            lexer.line += lines_in(from, lexer.at);
    }
    fits = fits && add(&lexer, MSL_BLANK, lexer.end);
    const enum hal_status status =
        fits ? match_brackets(&lexer)
             : hal_fail(HAL_NO_MEMORY, "out of memory for %zu tokens", lexer.tokens.count);
    if (status != HAL_OK)
        msl_tokens_finish(&lexer.tokens);
    *out_tokens = lexer.tokens;
    return status;
}

void msl_tokens_finish(struct msl_tokens *tokens)
{
    free(tokens->list);
    *tokens = (struct msl_tokens){0};
}

bool msl_is(const struct msl_tokens *tokens, size_t index, const char *text)
{
    const struct msl_token *const token = &tokens->list[index];
    return strncmp(text, token->text, token->length) == 0 && text[token->length] == '\0' &&
           token->length > 0;
}

bool msl_is_one_of(const struct msl_tokens *tokens, size_t i, const char *const *names,
                   size_t count)
{
    for (size_t n = 0; n < count; n++)
        if (msl_is(tokens, i, names[n]))
            return true;
    return false;
}

static bool stands(const struct msl_token *token)
{
    return token->kind != MSL_BLANK && token->kind != MSL_DIRECTIVE;
}

size_t msl_next(const struct msl_tokens *tokens, size_t index)
{
    do
        index++;
    while (index + 1 < tokens->count && !stands(&tokens->list[index]));
    return index < tokens->count ? index : tokens->count - 1;
}

size_t msl_previous(const struct msl_tokens *tokens, size_t index)
{
    while (index > 0 && !stands(&tokens->list[--index]))
        ;
    return index;
}

size_t msl_angle_end(const struct msl_tokens *tokens, size_t index)
{
    unsigned depth = 0;
    for (; index + 1 < tokens->count; index = msl_next(tokens, index)) {
        if (msl_is(tokens, index, "<"))
            depth++;
        else if (msl_is(tokens, index, ">") && --depth == 0)
            return index;
        else if (msl_is(tokens, index, ";") || msl_is(tokens, index, "{"))
            return 0;
        else if (tokens->list[index].match > index)
            index = tokens->list[index].match;
    }
    return 0;
}

size_t msl_parameter_end(const struct msl_tokens *tokens, size_t index, size_t close)
{
    for (; index < close && !msl_is(tokens, index, ","); index = msl_next(tokens, index)) {
        if (msl_is(tokens, index, "<") && msl_angle_end(tokens, index))
            index = msl_angle_end(tokens, index);
        else if (tokens->list[index].match > index)
            index = tokens->list[index].match;
    }
    return index;
}
