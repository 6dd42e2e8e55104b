/* SPDX-License-Identifier: Apache-2.0 */
/* Translates one kernel source from MSL to C++: tokens, declarations, replacements. The steps run
 * in the order of this file. Private to hal/compiler/msl. */
#ifndef HAL_MSL_UNIT_H
#define HAL_MSL_UNIT_H

#include "hal/compiler/msl/lex.h"
#include "hal/compiler/msl/msl.h"
#include "hal/compiler/msl/text.h"

/* A declaration at namespace level; indices refer to tokens, 0 means none. */
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
    bool has_variables; /* a kernel's threadgroup variables */
    bool is_foreign;    /* extern "C": known by its bare name */
    bool dropped;       /* a duplicate except for address spaces */
    bool needs_sync;    /* directly or indirectly calls something that waits for other threads */
};

struct msl_unit {
    const char *file; /* name in messages */
    struct msl_tokens tokens;
    struct msl_item *items;
    size_t item_count, item_capacity;
    char **strings; /* replacements, owned */
    size_t string_count, string_capacity;
    const struct msl_source *source;
    bool needs_sync; /* threads of an entry may wait for each other */
    bool shifts;     /* shifts or divides by non-constant numbers */
    bool failed;     /* out of memory */
};

/* HAL_UNSUPPORTED for features of GPUs only, HAL_INVALID for words that are not in the language. */
enum hal_status msl_unit_refuse(const struct msl_unit *unit) HAL_CHECKED;
/* Finds the declarations; call it once all words are accepted. */
enum hal_status msl_unit_declare(struct msl_unit *unit) HAL_CHECKED;
/* Merges functions that differ only by address spaces. */
void msl_unit_drop_duplicates(struct msl_unit *unit);
/* The template of a kernel that `declaration` announces: one of its name in its namespace other
 * than `besides`; NULL: not a template, or no body exists. */
const struct msl_item *msl_unit_definition(const struct msl_unit *unit,
                                           const struct msl_item *declaration,
                                           const struct msl_item *besides);
/* Allocates threadgroup variables, and adds a parameter for them to kernels that have some. */
enum hal_status msl_unit_place_variables(struct msl_unit *unit) HAL_CHECKED;
/* Sets needs_sync. */
void msl_unit_find_sync(struct msl_unit *unit);
/* Sets shifts, conservatively. */
void msl_unit_find_shifts(struct msl_unit *unit);
/* Adds a table entry after each kernel and in place of each instantiation. */
enum hal_status msl_unit_add_entries(struct msl_unit *unit) HAL_CHECKED;
/* A kernel that callers can request. */
struct msl_kernel {
    const char *name;                   /* "a::k", or its host_name; owned by the unit */
    const char *wanted;                 /* its name in source->group_sizes; NULL: not listed */
    const struct msl_item *item, *body; /* what names it; the function or template it refers to */
};
/* In source order; the caller frees `*out_kernels`. HAL_INVALID: two have the same name, or a
 * listed name is ambiguous; or only listed ones are wanted and one does not exist. */
enum hal_status msl_unit_find_kernels(struct msl_unit *unit, struct msl_kernel **out_kernels,
                                      size_t *out_count) HAL_CHECKED;
/* Generates one kernel's table entry. */
struct msl_entry {
    struct msl_unit *unit;
    size_t number;        /* in its generated names */
    const char *function; /* "::a::f<float>" */
    struct msl_entry_text {
        struct msl_text list, checks; /* parameter list for entry.h; assertions about it */
    } * text;
};
/* Appends all parameters between `open` and its partner. HAL_INVALID, HAL_UNSUPPORTED: the message
 * names the parameter and its line. */
enum hal_status msl_entry_write_parameters(const struct msl_entry *entry, size_t open) HAL_CHECKED;
/* Whether the list that begins at `open` is not empty: neither "()" nor "(void)". */
bool msl_has_parameters(const struct msl_tokens *tokens, size_t open);
/* Asserts that an instantiation matches its template. HAL_INVALID: other number of parameters. */
enum hal_status msl_entry_check_instance(const struct msl_entry *entry,
                                         const struct msl_kernel *names) HAL_CHECKED;
/* Rewrites address spaces, attributes, literals, function constants, pragmas. */
void msl_unit_rewrite(struct msl_unit *unit);

void msl_unit_finish(struct msl_unit *unit);
/* A string that lives as long as the unit; "" and unit->failed if out of memory. */
const char *msl_unit_print(struct msl_unit *unit, const char *format, ...) HAL_PRINTF(2, 3);
/* The tokens [first, last] as one line. */
const char *msl_unit_join(struct msl_unit *unit, size_t first, size_t last);
/* The declaration that begins at `first`, at namespace level or in a class. */
struct msl_item msl_unit_item(struct msl_unit *unit, size_t first, const char *scope);
void msl_unit_erase(struct msl_unit *unit, size_t first, size_t last);
/* "::a::name" or, for a template, "::a::name<T, n, rest...>": the function's name for itself. */
const char *msl_unit_own_name(struct msl_unit *unit, const struct msl_item *item);

/* What the program requires besides a C++ compiler. */
struct msl_demands {
    bool needs_sync; /* threads of a kernel may wait for each other */
    bool shifts;     /* or divides by numbers that may be undefined in C++ */
};

/* Performs all of the above: preprocessed MSL in, C++ out. `source` is not preprocessed. */
enum hal_status msl_translate(const struct msl_source *source, const struct msl_text *text,
                              const char *file, struct msl_text *out_program,
                              struct msl_demands *out_demands) HAL_CHECKED;

#endif
