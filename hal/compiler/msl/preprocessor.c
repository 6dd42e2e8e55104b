/* SPDX-License-Identifier: Apache-2.0 */
/* Finds sources that need no preprocessor: starting one costs most of compiling a small kernel. */
#include "hal/compiler/msl/preprocessor.h"

#include <ctype.h>
#include <string.h>

struct reader {
    const char *at, *end;
};

static char peek(const struct reader *reader, size_t ahead)
{
    return ahead < (size_t)(reader->end - reader->at) ? reader->at[ahead] : '\0';
}

static bool name_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool starts_with(const struct reader *reader, const char *word)
{
    const size_t length = strlen(word);
    return (size_t)(reader->end - reader->at) >= length && memcmp(reader->at, word, length) == 0 &&
           !name_part(peek(reader, length));
}

static void skip_blanks(struct reader *reader)
{
    while (peek(reader, 0) == ' ' || peek(reader, 0) == '\t')
        reader->at++;
}

/* A backslash may continue a line, and then even "//" or a name. */
static bool skip_line(struct reader *reader)
{
    for (; reader->at < reader->end && *reader->at != '\n'; reader->at++)
        if (*reader->at == '\\' || *reader->at == '\r')
            return false;
    return true;
}

static bool skip_comment(struct reader *reader)
{
    for (reader->at += 2; reader->at < reader->end; reader->at++) {
        if (*reader->at == '\\')
            return false;
        if (*reader->at == '*' && peek(reader, 1) == '/') {
            reader->at += 2;
            return true;
        }
    }
    return false;
}

static bool skip_literal(struct reader *reader)
{
    const char quote = *reader->at++;
    for (; reader->at < reader->end && *reader->at != '\n'; reader->at++) {
        if (*reader->at == quote) {
            reader->at++;
            return !name_part(peek(reader, 0)); /* a suffix of the user's own */
        }
        if (*reader->at == '\\' && (isspace((unsigned char)peek(reader, 1)) || !peek(reader, 1)))
            return false;
        if (*reader->at == '\\')
            reader->at++;
    }
    return false;
}

/* "#include <metal_stdlib>", alone or before a comment of one line. */
static bool skip_include(struct reader *reader)
{
    skip_blanks(reader);
    if (peek(reader, 0) != '<')
        return false;
    const char *const name = ++reader->at;
    while (reader->at < reader->end && *reader->at != '>' && *reader->at != '\n')
        reader->at++;
    if (peek(reader, 0) != '>' || !msl_is_includable(name, (size_t)(reader->at - name)))
        return false;
    reader->at++;
    skip_blanks(reader);
    if (peek(reader, 0) == '/' && peek(reader, 1) != '/')
        return false;
    if (reader->at < reader->end && *reader->at != '\n' && *reader->at != '/')
        return false;
    return skip_line(reader);
}

static bool skip_name(struct reader *reader)
{
    const char *const name = reader->at;
    while (name_part(peek(reader, 0)))
        reader->at++;
    const size_t length = (size_t)(reader->at - name);
    const bool is_reserved =
        length > 1 && name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1]));
    const bool is_prefix = peek(reader, 0) == '"' || peek(reader, 0) == '\'';
    return !is_reserved && !is_prefix && !msl_is_macro(name, length);
}

static bool has_sign(const struct reader *reader)
{
    const char c = peek(reader, 0);
    return c && strchr("eEpP", c) && (peek(reader, 1) == '+' || peek(reader, 1) == '-');
}

static void skip_number(struct reader *reader)
{
    while (name_part(peek(reader, 0)) || peek(reader, 0) == '.' ||
           (peek(reader, 0) == '\'' && name_part(peek(reader, 1))))
        reader->at += has_sign(reader) ? 2 : 1;
}

/* Those that the translation reads, or drops, as the preprocessor leaves them. */
static bool skip_pragma(struct reader *reader)
{
    static const char *const harmless[] = {"unroll", "nounroll", "clang loop", "METAL"};
    bool known = false;
    skip_blanks(reader);
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        known |= starts_with(reader, harmless[i]);
    while (known && reader->at < reader->end && *reader->at != '\n') {
        const char c = *reader->at;
        if (c == '/' && peek(reader, 1) == '/')
            return skip_line(reader);
        if (isalpha((unsigned char)c) || c == '_')
            known = skip_name(reader);
        else if (isdigit((unsigned char)c))
            skip_number(reader);
        else if (c && strchr(" \t(),:", c))
            reader->at++;
        else
            known = false;
    }
    return known;
}

static bool skip_directive(struct reader *reader)
{
    reader->at++;
    skip_blanks(reader);
    if (starts_with(reader, "include")) {
        reader->at += strlen("include");
        return skip_include(reader);
    }
    if (starts_with(reader, "pragma")) {
        reader->at += strlen("pragma");
        return skip_pragma(reader);
    }
    return false;
}

/* A token, or a comment. */
static bool skip(struct reader *reader)
{
    const char c = *reader->at, after = peek(reader, 1);
    if (c == '/' && after == '/')
        return skip_line(reader);
    if (c == '/' && after == '*')
        return skip_comment(reader);
    if (c == '"' || c == '\'')
        return skip_literal(reader);
    if (isalpha((unsigned char)c) || c == '_')
        return skip_name(reader);
    if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)after))) {
        skip_number(reader);
        return peek(reader, 0) != '\'' && peek(reader, 0) != '"';
    }
    const bool is_usual = c > ' ' && c < 0x7f && !strchr("\\#@`$", c);
    const bool is_other_spelling = (c == '%' && after == ':') || (c == '?' && after == '?');
    reader->at++;
    return is_usual && !is_other_spelling;
}

bool msl_needs_no_preprocessor(const char *text, size_t bytes)
{
    struct reader reader = {text, text + bytes};
    bool is_line_start = true;
    while (reader.at < reader.end) {
        const char c = *reader.at;
        if (c == ' ' || c == '\t' || c == '\n') {
            is_line_start |= c == '\n';
            reader.at++;
        } else if (c == '#' && is_line_start) {
            if (!skip_directive(&reader))
                return false;
        } else {
            /* A comment may precede '#': then the line is not plain. */
            is_line_start = false;
            if (!skip(&reader))
                return false;
        }
    }
    return true;
}
