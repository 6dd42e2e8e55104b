/* SPDX-License-Identifier: Apache-2.0 */
/* The language suite: kernels beside the C that says what they compute.
 *
 * Each `.cases` file is one area of the language, read twice: once for the C, once as a table of
 * texts. An area is compiled as one source in several variants (see suite.c) and every case runs
 * in each of them at each of its shapes.
 *
 * CASE(name, type, shape, (kernel body), (C body)) writes `type o[]`. In both bodies: `o`, inputs
 * `a`, `b` (float; b is never 0), `u` (uint), `s` (int), `w` (uint, 0 to 31), `x` (special
 * floats), all of SUITE_ELEMENTS; `n` threads of the grid, `tn` of a group. The kernel has
 * besides: `i` (position in the grid), `t` (index in the group), `g` (group), `lane`, `sg`,
 * `m` (device uint scratch, zero at first). C has EACH(i), h() and bf() that round to half and
 * bfloat, and LOOSE(i, ulps) and SKIP(i) that say how element i is compared. What C does not
 * write, the kernel must not write.
 * WITH is CASE with declarations before the kernel; KERNEL has the whole source of a kernel
 * `name`, bound as above: buffers 0 o, 1 a, 2 b, 3 u, 4 s, 5 x, 6 w, 7 m; threadgroup(0) and
 * threadgroup(1) have SUITE_GROUP_BYTES each. */
#ifndef TESTS_MSL_SUITE_H
#define TESTS_MSL_SUITE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SUITE_ELEMENTS = 4096, SUITE_GROUP_BYTES = 8192, SUITE_SHAPES = 5 };

/* Groups and threads of each launch; the list ends with zeros. */
struct suite_shape {
    uint32_t groups[3], threads[3];
};

struct suite_launch {
    void *o;
    const float *a, *b, *x;
    const uint32_t *u, *w;
    const int32_t *s;
    uint32_t n, tn;
    struct suite_shape shape;
    int32_t *ulps; /* per element; -1: not compared */
};

struct suite_case {
    const char *name, *type;
    size_t element_bytes;
    const struct suite_shape *shapes;
    const char *declarations; /* with the kernel when `body` is NULL */
    const char *body;
    void (*expect)(const struct suite_launch *launch);
};

struct suite_area {
    const char *name;
    const struct suite_case *cases;
    size_t count;
};
extern const struct suite_area suite_areas[];
extern const size_t suite_area_count;

#define ONE    suite_one    /* a single thread */
#define GRID   suite_grid   /* independent threads */
#define LANES  suite_lanes  /* one simdgroup and less, several */
#define GROUPS suite_groups /* several groups of full simdgroups, and ragged ones */
#define SIMDS  suite_simds  /* full simdgroups only */
#define CUBES  suite_cubes  /* three dimensions */
#define ODD    suite_odd    /* simdgroups of which lanes are missing */
extern const struct suite_shape suite_one[], suite_grid[], suite_lanes[], suite_groups[],
    suite_simds[], suite_cubes[], suite_odd[];

/* Writes the source of a case to *at, which moves behind it; kernels begin with `prelude`. */
void suite_append_case(char **at, const struct suite_case *it, const char *prelude);

/* How the language's types are called in C. */
typedef unsigned char uchar;
typedef uint16_t half;   /* as bits */
typedef uint16_t bfloat; /* as bits */
typedef int64_t i64;
typedef uint64_t u64;

float suite_half(float value); /* rounded to half, to nearest even */
uint16_t suite_half_bits(float value);
float suite_bfloat(float value); /* rounded to bfloat, to nearest even */
/* The same of more digits than a float has: rounded once. */
float suite_half_of_double(double value);
float suite_bfloat_of_double(double value);
float suite_float(uint32_t bits);
uint32_t suite_bits(float value);

#define h(value)        suite_half((float)(value))
#define bf(value)       suite_bfloat((float)(value))
#define EACH(i)         for (uint32_t i = 0; i < n; i++)
#define LOOSE(i, ulp)   (launch->ulps[i] = (ulp))
#define SKIP(i)         (launch->ulps[i] = -1)
#define SUITE_OPEN(...) __VA_ARGS__

#endif
