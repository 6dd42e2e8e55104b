/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/compiler/msl/imports.h"

#include <stddef.h>
#include <string.h>

/* What the compiler makes of assignments and comparisons of memory. */
static const char *const memory[] = {"bcmp", "memcmp", "memcpy", "memmove", "memset"};

/* For double, under their C names. */
static const char *const mathematics[] = {
    "acos",      "acosh",     "asin",      "asinh",    "atan",      "atan2",  "atanh",  "cbrt",
    "ceil",      "cos",       "cosh",      "copysign", "erf",       "erfc",   "exp",    "exp10",
    "exp2",      "expm1",     "fabs",      "fdim",     "floor",     "fma",    "fmax",   "fmin",
    "fmod",      "frexp",     "hypot",     "ilogb",    "ldexp",     "lgamma", "llrint", "llround",
    "log",       "log10",     "log1p",     "log2",     "logb",      "lrint",  "lround", "modf",
    "nan",       "nearbyint", "nextafter", "pow",      "remainder", "remquo", "rint",   "round",
    "roundeven", "scalbln",   "scalbn",    "sin",      "sincos",    "sinh",   "sqrt",   "tan",
    "tanh",      "tgamma",    "trunc"};

static bool is_one_of(const char *name, size_t length, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == length && memcmp(list[i], name, length) == 0)
            return true;
    return false;
}

bool msl_may_import(const char *name)
{
    const size_t length = strlen(name), count = sizeof mathematics / sizeof *mathematics;
    return is_one_of(name, length, memory, sizeof memory / sizeof *memory) ||
           is_one_of(name, length, mathematics, count) ||
           (length && name[length - 1] == 'f' && is_one_of(name, length - 1, mathematics, count));
}

bool msl_may_need(const char *library)
{
    static const char *const libraries[] = {"libc.so.6", "libm.so.6", "libgcc_s.so.1",
                                            "ld-linux-aarch64.so.1", "ld-linux-x86-64.so.2"};
    return is_one_of(library, strlen(library), libraries, sizeof libraries / sizeof *libraries);
}
