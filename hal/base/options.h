/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines of a program or of one of its verbs. One table lists the options; parsing, --help
 * and error messages all use it, so that every program accepts the same forms:
 *   --name=VALUE, --name VALUE, -n VALUE, -nVALUE, -n=VALUE; flags in one word: -fq; a name cut
 *   short as long as it is unambiguous; an optional value only behind '='; "--" ends the options;
 *   -h, --help and -V, --version, which no table lists.
 * The module prints only when asked to (hal_command_line_answer); it is reentrant. */
#ifndef HAL_BASE_OPTIONS_H
#define HAL_BASE_OPTIONS_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct hal_option;

/* Takes an option's value, which it may cut into parts and keep; NULL: an optional value is absent,
 * or the option has none. Fails with a message that names the option. */
typedef enum hal_status hal_option_take(void *user, const struct hal_option *option, char *value);

struct hal_option {
    const char *name;      /* without dashes; NULL: `help` is the heading of those that follow */
    const char *argument;  /* of --help: "FILE"; "[=LIST]": optional; NULL: a flag */
    const char *help;      /* one paragraph; --help wraps it */
    const char *alias_of;  /* an old spelling of the option of that name; else NULL */
    hal_option_take *take; /* NULL: stores the value at `target` */
    size_t target;         /* offset in the user's struct: of a bool, or of a const char * */
    int id;                /* for `take` */
    char letter;           /* 0: none */
};

struct hal_command_line {
    const char *program;              /* "hal-trace" */
    const char *verb;                 /* "dump"; NULL: the program itself */
    const char *usage;                /* begins --help */
    const char *notes;                /* ends --help; NULL: nothing */
    const struct hal_option *options; /* the last one is {0}; NULL: none */
    void (*print_version)(void);      /* to standard output */
    void (*print_verbs)(void);        /* to standard output, in front of the options; or NULL */
    bool stops_at_word;               /* the first argument that is no option ends them */
};

enum hal_asked { HAL_ASKED_NOTHING, HAL_ASKED_HELP, HAL_ASKED_VERSION };

/* What is left of a command line. */
struct hal_words {
    char **words; /* in argv, in their order; NULL behind the last */
    int count;
    enum hal_asked asked; /* --help or --version, behind which nothing was looked at */
};

/* Takes the options into `user`, and moves the words together in argv[1...]. HAL_INVALID, or what
 * an option's function returns: the message says what is wrong; it may hold text of the command
 * line and is printed with hal_print. */
HAL_API enum hal_status hal_command_line_parse(const struct hal_command_line *line, char **argv,
                                               void *user, struct hal_words *out_words) HAL_CHECKED;

/* Prints what was asked for. HAL_IO: standard output did not take it. */
HAL_API enum hal_status hal_command_line_answer(const struct hal_command_line *line,
                                                enum hal_asked asked) HAL_CHECKED;

/* The one of the names that differs least from `text`; NULL: none is similar. */
HAL_API const char *hal_nearest_name(const char *text, const char *const *names, size_t count);

#endif
