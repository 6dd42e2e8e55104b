/* SPDX-License-Identifier: Apache-2.0 */
/* A small lexer over MSL text: words, numbers and single characters. No preprocessing. */
#ifndef HOST_METAL_LEXER_H
#define HOST_METAL_LEXER_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct token {
    const char *text;
    size_t length; /* 0: the end */
};

static inline const char *skip_space(const char *text)
{
    for (;;) {
        if (isspace((unsigned char)*text)) {
            text++;
        } else if (text[0] == '/' && text[1] == '/') {
            text += strcspn(text, "\n");
        } else if (text[0] == '/' && text[1] == '*') {
            const char *const end = strstr(text + 2, "*/");
            text = end ? end + 2 : text + strlen(text);
        } else if (text[0] == '#') {
            text += strcspn(text, "\n");
        } else {
            return text;
        }
    }
}

static inline struct token next(const char **position)
{
    const char *const begin = skip_space(*position);
    const char *end = begin;
    if (isalnum((unsigned char)*end) || *end == '_')
        while (isalnum((unsigned char)*end) || *end == '_')
            end++;
    else if (*end)
        end++;
    *position = end;
    return (struct token){begin, (size_t)(end - begin)};
}

static inline bool is(struct token token, const char *text)
{
    return token.length == strlen(text) && memcmp(token.text, text, token.length) == 0;
}

static inline bool is_word(struct token token)
{
    return token.length && (isalpha((unsigned char)*token.text) || *token.text == '_');
}

#endif
