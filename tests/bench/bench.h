/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmark programs share: a table of figures, printed as text or, with --json, as
 * {"rows":[{"name","value","unit","better","target","ok"}, ...]}. A missed target is printed, and
 * is no failure: times belong to the machine. One thread. */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench {
    bool json;
    size_t row_count;
    const char *only;    /* NULL: everything */
    const char *subject; /* what the next rows are about: before their names; NULL: nothing */
};

/* Which way a figure is better. */
enum bench_better { BENCH_LOWER, BENCH_HIGHER };

/* Understands --json, --only=NAME, --quick, --help and --version, and ends the program for wrong
 * arguments. */
void bench_begin(struct bench *bench, const char *name, int argc, char **argv);

/* Whether the part of that name is asked for. */
bool bench_wants(const struct bench *bench, const char *name);

/* `target` NAN: none. */
void bench_row(struct bench *bench, const char *what, double value, const char *unit,
               enum bench_better better, double target);

/* --quick is for trying whether the program still works: everything once and small. Its figures say
 * nothing. Valid after bench_begin. */
bool bench_is_quick(void);
/* How often something is repeated: once when quick. */
int bench_repeats(int usual);
/* How large something is. */
uint64_t bench_size(uint64_t usual, uint64_t quick);

/* The exit status of the program: it fails when --only names no part of it. */
int bench_end(struct bench *bench);

/* Sorts the values; NAN when there are none. */
double bench_median(double *values, size_t count);

/* Prints the message and ends the program when a status is not HAL_OK. */
#define bench_try(expression)                                                                      \
    do {                                                                                           \
        if ((expression) != HAL_OK)                                                                \
            bench_die(#expression);                                                                \
    } while (0)
void bench_die(const char *what) __attribute__((noreturn));

#endif
