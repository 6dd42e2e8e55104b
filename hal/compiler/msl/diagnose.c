/* SPDX-License-Identifier: Apache-2.0 */
/* Filters diagnostics: "file:line: severity: text", one per line (no carets, no columns). */
#include "hal/compiler/msl/diagnose.h"

#include "hal/base/mem.h"

#include <ctype.h>

struct diagnostic {
    const char *place; /* "file:line" */
    int place_length;
    const char *text; /* "error: ..." */
    int text_length;
    bool is_error, is_ours;
};

static bool starts(const char *text, int length, const char *prefix)
{
    const size_t wanted = strlen(prefix);
    return (size_t)length >= wanted && memcmp(text, prefix, wanted) == 0;
}

/* Finds ":<digits>: error: " or the like; file names may hold colons. */
static bool parse(const char *line, int length, const char *own_directory, struct diagnostic *out)
{
    for (int i = 0; i + 1 < length; i++) {
        int end = i + 1;
        while (end < length && isdigit((unsigned char)line[end]))
            end++;
        if (line[i] != ':' || end == i + 1 || end + 2 > length || line[end] != ':')
            continue;
        const char *const text = line + end + 2;
        const int rest = length - end - 2;
        const bool is_error = starts(text, rest, "error: ") || starts(text, rest, "fatal error: ");
        if (!is_error && !starts(text, rest, "note: ") && !starts(text, rest, "warning: "))
            continue;
        *out =
            (struct diagnostic){.place = line,
                                .place_length = end,
                                .text = text,
                                .text_length = rest,
                                .is_error = is_error,
                                .is_ours = starts(line, length, own_directory) || line[0] == '<'};
        return true;
    }
    return false;
}

static bool has_own_name(const char *text, size_t length)
{
    return memmem(text, length, "msl::", 5) || memmem(text, length, "__msl_", 6) ||
           memmem(text, length, "msl_abi_", 8);
}

/* The text of one of our assertions: for "static assertion failed due to requirement '...': why" it
 * is "why". NULL: not an assertion. */
static const char *asserted(const struct diagnostic *error)
{
    static const char words[] = "static assertion failed due to requirement '";
    const size_t length = (size_t)error->text_length;
    const char *const found = memmem(error->text, length, words, sizeof words - 1);
    const char *const colon = found ? memmem(error->text, length, "': ", 3) : NULL;
    if (!colon || !(error->is_ours || has_own_name(found, (size_t)(colon - found))))
        return NULL;
    return colon + 3;
}

/* Quotations that hold names of our own become '...'. */
static void append_masked(const char *text, size_t length, struct msl_text *out_message)
{
    const char *const end = text + length;
    while (text < end) {
        const char *const open = memchr(text, '\'', (size_t)(end - text));
        const char *const close = open ? memchr(open + 1, '\'', (size_t)(end - open - 1)) : NULL;
        if (!close) {
            msl_text_append(out_message, text, (size_t)(end - text));
            return;
        }
        const bool own = has_own_name(open, (size_t)(close - open));
        msl_text_append(out_message, text, (size_t)((own ? open : close + 1) - text));
        if (own)
            msl_text_append_string(out_message, "'...'");
        text = close + 1;
    }
}

static void print_error(const struct diagnostic *place, const struct diagnostic *error,
                        const char *file, struct msl_text *out_message)
{
    const char *const why = asserted(error);
    const char *const text = why ? why : error->text;
    if (out_message->length)
        msl_text_append_string(out_message, "\n");
    if (place)
        msl_text_print(out_message, "%.*s: ", place->place_length, place->place);
    else
        msl_text_print(out_message, "%s: ", file);
    if (why)
        msl_text_append_string(out_message, "error: ");
    append_masked(text, (size_t)(error->text + error->text_length - text), out_message);
}

static bool names_our_own(const struct diagnostic *diagnostic)
{
    return !asserted(diagnostic) && has_own_name(diagnostic->text, (size_t)diagnostic->text_length);
}

/* What only follows from an assertion that an instantiation fits its template. */
static bool is_aftermath(const struct diagnostic *diagnostic)
{
    return memmem(diagnostic->text, (size_t)diagnostic->text_length, "overloaded function", 19);
}

/* The linker: "...: undefined reference to `f(int)'". */
static bool print_undefined(const char *line, int length, const char *file,
                            struct msl_text *out_message)
{
    static const char words[] = "undefined reference to `";
    const char *const found = memmem(line, (size_t)length, words, sizeof words - 1);
    if (!found)
        return false;
    const char *const name = found + sizeof words - 1;
    const char *const end = memchr(name, '\'', (size_t)(line + length - name));
    if (!end)
        return false;
    msl_text_print(out_message, "%s%s: error: '%.*s' is declared but not defined",
                   out_message->length ? "\n" : "", file, (int)(end - name), name);
    return true;
}

bool msl_names_our_own(const char *text, size_t length)
{
    return has_own_name(text, length);
}

void msl_diagnose(const char *errors, const char *own_directory, const char *file,
                  struct msl_text *out_message)
{
    struct diagnostic pending = {0}, masked = {0}; /* the latter if there is nothing better */
    bool waits = false, asserts = false;
    for (const char *line = errors; line && *line;) {
        const int length = (int)strcspn(line, "\n");
        struct diagnostic now;
        if (parse(line, length, own_directory, &now) && !(asserts && is_aftermath(&now))) {
            bool said = false;
            asserts |= asserted(&now) != NULL;
            if (waits && (now.is_error || !now.is_ours)) {
                print_error(now.is_error ? NULL : &now, &pending, file, out_message);
                waits = false;
                said = starts(now.text, now.text_length, "note: in instantiation of ");
            }
            if (now.is_error && now.is_ours) {
                pending = now;
                waits = true;
            } else if (!now.is_ours && !said && !names_our_own(&now)) {
                print_error(&now, &now, file, out_message);
            } else if (now.is_error && !masked.place) {
                masked = now;
            }
        } else {
            print_undefined(line, length, file, out_message);
        }
        line += length + (line[length] == '\n');
    }
    if (waits)
        print_error(NULL, &pending, file, out_message);
    if (!out_message->length && masked.place)
        print_error(&masked, &masked, file, out_message);
}
