/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel source on its way from MSL to C++: tokens, declarations, replacements. The steps
 * run in the order of this page. Private to hal/compiler/msl. */
#ifndef HAL_MSL_UNIT_H
#define HAL_MSL_UNIT_H

#include "hal/compiler/msl/lex.h"
#include "hal/compiler/msl/msl.h"
#include "hal/compiler/msl/text.h"

/* A declaration at namespace level; indices are those of tokens, 0 means none. */
struct msl_item {
    size_t first, last;
    size_t name;
    size_t parameters;          /* the '(' of a function */
    size_t body;                /* the '{' */
    size_t arguments;           /* the '<' of an explicit instantiation's name */
    size_t template_parameters; /* the '<' after "template" */
    const char *scope;          /* "a::b::" of its namespaces */
    const char *host_name;
    bool is_kernel, is_instantiation, is_type;
    bool has_variables; /* threadgroup variables of a kernel */
    bool is_foreign;    /* extern "C": by its bare name */
    bool dropped;       /* the same as an earlier one but for address spaces */
    bool needs_sync;    /* calls something that waits for other threads, directly or not */
};

struct msl_unit {
    const char *file; /* in messages */
    struct msl_tokens tokens;
    struct msl_item *items;
    size_t item_count, item_capacity;
    char **strings; /* owned replacements */
    size_t string_count, string_capacity;
    const struct msl_source *source;
    bool needs_sync; /* threads of an entry may wait for each other */
    bool shifts;     /* or divides, by numbers that are not written out */
    bool failed;     /* memory ran out */
};

/* HAL_UNSUPPORTED for what only a GPU has, HAL_INVALID for words that the language has not. */
enum hal_status msl_unit_refuse(const struct msl_unit *unit) HAL_CHECKED;
/* Finds the declarations, once all their words are welcome. */
enum hal_status msl_unit_declare(struct msl_unit *unit) HAL_CHECKED;
/* Functions that differ by address spaces only become one. */
void msl_unit_drop_duplicates(struct msl_unit *unit);
/* The template of a kernel that `declaration` announces: one of its name in its namespace, but not
 * `besides`; NULL: it is no template, or has no body anywhere. */
const struct msl_item *msl_unit_definition(const struct msl_unit *unit,
                                           const struct msl_item *declaration,
                                           const struct msl_item *besides);
/* Gives threadgroup variables their memory, and kernels that have some a parameter for it. */
enum hal_status msl_unit_place_variables(struct msl_unit *unit) HAL_CHECKED;
/* Sets needs_sync. */
void msl_unit_find_sync(struct msl_unit *unit);
/* Sets shifts. Errs on the safe side. */
void msl_unit_find_shifts(struct msl_unit *unit);
/* Puts a table entry after each kernel and in the place of each instantiation. */
enum hal_status msl_unit_add_entries(struct msl_unit *unit) HAL_CHECKED;
/* Something that callers can ask for. */
struct msl_kernel {
    const char *name;                   /* "a::k", or its host_name; the unit's */
    const char *wanted;                 /* what source->group_sizes calls it; NULL: not listed */
    const struct msl_item *item, *body; /* what names it; the function or template it stands for */
};
/* In the order of the source; `*out_kernels` is the caller's to free. HAL_INVALID: two have one
 * name, or of those that are listed one could be either of two; or only these are wanted and one
 * does not exist. */
enum hal_status msl_unit_find_kernels(struct msl_unit *unit, struct msl_kernel **out_kernels,
                                      size_t *out_count) HAL_CHECKED;
/* One kernel's way into the table. */
struct msl_entry {
    struct msl_unit *unit;
    size_t number;        /* of its generated names */
    const char *function; /* "::a::f<float>" */
    struct msl_entry_text {
        struct msl_text list, checks; /* entry.h's list of parameters; assertions about them */
    } * text;
};
/* Appends all parameters between `open` and its partner. HAL_INVALID, HAL_UNSUPPORTED: the message
 * names the parameter, with its line. */
enum hal_status msl_entry_write_parameters(const struct msl_entry *entry, size_t open) HAL_CHECKED;
/* Whether there is something in the list that begins at `open`: not "()" and not "(void)". */
bool msl_has_parameters(const struct msl_tokens *tokens, size_t open);
/* Turns what an instantiation says into assertions that it fits its template. HAL_INVALID: it has
 * another number of parameters. */
enum hal_status msl_entry_check_instance(const struct msl_entry *entry,
                                         const struct msl_kernel *names) HAL_CHECKED;
/* Address spaces, attributes, literals, function constants, pragmas. */
void msl_unit_rewrite(struct msl_unit *unit);

void msl_unit_finish(struct msl_unit *unit);
/* A string that lives as long as the unit; "" and unit->failed when memory is out. */
const char *msl_unit_print(struct msl_unit *unit, const char *format, ...) HAL_PRINTF(2, 3);
/* The tokens [first, last] as one line. */
const char *msl_unit_join(struct msl_unit *unit, size_t first, size_t last);
/* One declaration that begins at `first`, at namespace level or in a class. */
struct msl_item msl_unit_item(struct msl_unit *unit, size_t first, const char *scope);
void msl_unit_erase(struct msl_unit *unit, size_t first, size_t last);
/* "::a::name" or, for a template, "::a::name<T, n, rest...>": what the function calls itself. */
const char *msl_unit_own_name(struct msl_unit *unit, const struct msl_item *item);

/* What the program needs besides a compiler for C++. */
struct msl_demands {
    bool needs_sync; /* threads of a kernel may wait for each other */
    bool shifts; /* it shifts or divides by what may be out of range, which C++ leaves undefined */
};

/* All of the above: preprocessed MSL in, C++ out. `source` is what `text` was before. */
enum hal_status msl_translate(const struct msl_source *source, const struct msl_text *text,
                              const char *file, struct msl_text *out_program,
                              struct msl_demands *out_demands) HAL_CHECKED;

#endif
