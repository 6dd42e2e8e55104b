/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/base/options.h"

#include "hal/base/output.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const struct hal_option usual[] = {
    {.name = "help", .letter = 'h', .help = "this text"},
    {.name = "version", .letter = 'V', .help = "the version"},
    {0},
};

static const struct hal_option none[] = {{0}};

static bool is_end(const struct hal_option *option)
{
    return !option->name && !option->help;
}

/* ---- Names that are nearly right ----------------------------------------------------------- */

enum { NAME_BYTES = 32 }; /* no name is longer; longer text is similar to none */

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* How many letters were added, left out, mistaken, or swapped with their neighbour. */
static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][NAME_BYTES + 1];
    for (unsigned k = 0; k <= b_length; k++)
        rows[0][k] = k;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3], *twice = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t k = 1; k <= b_length; k++) {
            row[k] = least(least(above[k], row[k - 1]) + 1, above[k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                row[k] = least(row[k], twice[k - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

/* Similar: at most a third of the letters is wrong. */
static void consider(const char *text, size_t length, const char *name, const char **io_best,
                     unsigned *io_least)
{
    const size_t bytes = name ? strlen(name) : 0;
    if (!bytes || bytes > NAME_BYTES || length > NAME_BYTES)
        return;
    const unsigned wrong = distance(text, length, name, bytes);
    if (3 * wrong > (bytes > length ? bytes : length) || wrong >= *io_least)
        return;
    *io_least = wrong;
    *io_best = name;
}

const char *hal_nearest_name(const char *text, const char *const *names, size_t count)
{
    const char *best = NULL;
    unsigned fewest = UINT32_MAX;
    for (size_t i = 0; i < count; i++)
        consider(text, strlen(text), names[i], &best, &fewest);
    return best;
}

/* ---- Finding an option --------------------------------------------------------------------- */

/* A command line while it is parsed. */
struct parser {
    const struct hal_command_line *line;
    void *user;
    char **next; /* the argument after the current one */
    struct hal_words *out;
};

/* Goes through all options of a command line, the usual two last. */
static const struct hal_option *following(const struct hal_command_line *line,
                                          const struct hal_option *option)
{
    const struct hal_option *own = line->options ? line->options : none;
    option = option ? option + 1 : own;
    if (is_end(option) && option != usual + 2)
        option = usual;
    return is_end(option) ? NULL : option;
}

static const struct hal_option *real(const struct hal_command_line *line,
                                     const struct hal_option *option)
{
    if (!option->alias_of)
        return option;
    const struct hal_option *other = NULL;
    while ((other = following(line, other)) != NULL) {
        if (other->name && strcmp(other->name, option->alias_of) == 0)
            return other;
    }
    return option;
}

/* NULL, with a message. */
static const struct hal_option *refuse_unknown(const struct hal_command_line *line,
                                               const char *name, size_t length)
{
    const char *best = NULL;
    unsigned fewest = UINT32_MAX;
    for (const struct hal_option *o = NULL; (o = following(line, o)) != NULL;)
        consider(name, length, o->name, &best, &fewest);
    if (best)
        (void)hal_fail(HAL_INVALID, "unknown option '--%.*s' (nearest: '--%s')", (int)length, name,
                       best);
    else
        (void)hal_fail(HAL_INVALID, "unknown option '--%.*s' (see %s%s%s --help)", (int)length,
                       name, line->program, line->verb ? " " : "", line->verb ? line->verb : "");
    return NULL;
}

/* NULL, with a message: none, or several. */
static const struct hal_option *find_name(const struct hal_command_line *line, const char *name,
                                          size_t length)
{
    const struct hal_option *found = NULL, *other = NULL;
    for (const struct hal_option *o = NULL; (o = following(line, o)) != NULL;) {
        if (!o->name || strncmp(o->name, name, length) != 0 || length == 0)
            continue;
        if (!o->name[length])
            return real(line, o);
        if (!found)
            found = o;
        else if (real(line, o) != real(line, found))
            other = o;
    }
    if (!found)
        return refuse_unknown(line, name, length);
    if (!other)
        return real(line, found);
    (void)hal_fail(HAL_INVALID, "option '--%.*s' may be '--%s' or '--%s'", (int)length, name,
                   found->name, other->name);
    return NULL;
}

/* The option with the letter at `at` in `argument`. NULL, with a message: none. */
static const struct hal_option *find_letter(const struct hal_command_line *line,
                                            const char *argument, const char *at)
{
    for (const struct hal_option *o = NULL; (o = following(line, o)) != NULL;) {
        if (o->name && o->letter == *at)
            return real(line, o);
    }
    const char *word = argument[2] ? argument : "";
    (void)hal_fail(HAL_INVALID, "unknown option '-%c'%s%s%s (see %s%s%s --help)", *at,
                   *word ? " in '" : "", word, *word ? "'" : "", line->program,
                   line->verb ? " " : "", line->verb ? line->verb : "");
    return NULL;
}

/* ---- Taking it ----------------------------------------------------------------------------- */

static bool is_optional(const struct hal_option *option)
{
    return option->argument && strncmp(option->argument, "[=", 2) == 0;
}

static enum hal_status store(struct parser *p, const struct hal_option *option, char *value)
{
    if (option == &usual[0] || option == &usual[1]) {
        p->out->asked = option == usual ? HAL_ASKED_HELP : HAL_ASKED_VERSION;
        return HAL_OK;
    }
    if (option->take)
        return option->take(p->user, option, value);
    char *target = (char *)p->user + option->target;
    const bool yes = true;
    if (option->argument)
        memcpy(target, &value, sizeof value);
    else
        memcpy(target, &yes, sizeof yes);
    return HAL_OK;
}

/* `value`: the text after it in the same argument. */
static enum hal_status take(struct parser *p, const struct hal_option *option, const char *written,
                            char *value)
{
    if (value && !option->argument)
        return hal_fail(HAL_INVALID, "option '%s' takes no value, not '%s'", written, value);
    if (!value && option->argument && !is_optional(option)) {
        if (!*p->next || strcmp(*p->next, "--") == 0)
            return hal_fail(HAL_INVALID, "option '%s' needs a value: --%s=%s", written,
                            option->name, option->argument);
        value = *p->next++;
    }
    return store(p, option, value);
}

static enum hal_status take_long(struct parser *p, char *argument)
{
    char *name = argument + 2, *equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const struct hal_option *option = find_name(p->line, name, length);
    char written[NAME_BYTES + 3];
    if (!option)
        return HAL_INVALID;
    snprintf(written, sizeof written, "--%s", option->name);
    return take(p, option, written, equals ? equals + 1 : NULL);
}

/* Flags of one letter each; after a letter that takes a value, the rest is the value. */
static enum hal_status take_letters(struct parser *p, char *argument)
{
    for (char *at = argument + 1; *at && p->out->asked == HAL_ASKED_NOTHING; at++) {
        const struct hal_option *option = find_letter(p->line, argument, at);
        const char written[] = {'-', *at, '\0'};
        if (!option)
            return HAL_INVALID;
        if (at[1] == '=')
            return take(p, option, written, at + 2);
        if (at[1] && option->argument && !is_optional(option))
            return take(p, option, written, at + 1);
        HAL_TRY(take(p, option, written, NULL));
    }
    return HAL_OK;
}

static enum hal_status parse(struct parser *p)
{
    char **end = p->out->words;
    while (*p->next && p->out->asked == HAL_ASKED_NOTHING) {
        char *argument = *p->next++;
        if (strcmp(argument, "--") == 0)
            break;
        if (argument[0] != '-' || !argument[1]) {
            *end++ = argument;
            if (p->line->stops_at_word)
                break;
        } else {
            HAL_TRY(argument[1] == '-' ? take_long(p, argument) : take_letters(p, argument));
        }
    }
    while (*p->next)
        *end++ = *p->next++;
    *end = NULL;
    p->out->count = (int)(end - p->out->words);
    return HAL_OK;
}

enum hal_status hal_command_line_parse(const struct hal_command_line *line, char **argv, void *user,
                                       struct hal_words *out_words)
{
    char **first = argv[0] ? argv + 1 : argv;
    *out_words = (struct hal_words){.words = first};
    struct parser p = {.line = line, .user = user, .next = first, .out = out_words};
    const enum hal_status status = parse(&p);
    return status == HAL_OK || !line->verb ? status : hal_add_context(status, "%s", line->verb);
}

/* ---- Help ---------------------------------------------------------------------------------- */

enum { HELP_COLUMNS = 80, HELP_COLUMN = 28 };

/* Wraps lines to begin at HELP_COLUMN; the first one has reached `column`. */
static void print_wrapped(const char *text, int column)
{
    if (column > HELP_COLUMN - 2) {
        putchar('\n');
        column = 0;
    }
    printf("%*s", HELP_COLUMN - column, "");
    column = HELP_COLUMN;
    while (*text) {
        const int length = (int)strcspn(text, " ");
        if (column > HELP_COLUMN && column + 1 + length > HELP_COLUMNS) {
            printf("\n%*s", HELP_COLUMN, "");
            column = HELP_COLUMN;
        }
        column += printf("%s%.*s", column > HELP_COLUMN ? " " : "", length, text);
        text += length + (text[length] == ' ');
    }
    putchar('\n');
}

static void print_option(const struct hal_option *option)
{
    char name[128], letter[8] = "    ";
    const char *argument = option->argument ? option->argument : "";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    const int length = snprintf(name, sizeof name, "  %s--%s%s%s", letter, option->name,
                                *argument && !is_optional(option) ? "=" : "", argument);
    fputs(name, stdout);
    if (option->alias_of)
        snprintf(name, sizeof name, "old spelling of --%s", option->alias_of);
    print_wrapped(option->alias_of ? name : option->help, length);
}

static void print_help(const struct hal_command_line *line)
{
    fputs(line->usage, stdout);
    if (line->print_verbs)
        line->print_verbs();
    if (!line->options || line->options->name)
        putchar('\n');
    for (const struct hal_option *o = NULL; (o = following(line, o)) != NULL;) {
        if (o->name)
            print_option(o);
        else
            printf("\n%s\n", o->help);
    }
    if (line->notes)
        printf("\n%s", line->notes);
}

enum hal_status hal_command_line_answer(const struct hal_command_line *line, enum hal_asked asked)
{
    if (asked == HAL_ASKED_HELP)
        print_help(line);
    else
        line->print_version();
    return hal_output_end();
}
