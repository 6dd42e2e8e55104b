/* SPDX-License-Identifier: Apache-2.0 */
/* Times as every program takes and prints them (docs/locators.md): a duration is "12.345 ms"; a
 * moment, which counts from the first event of a trace, "@12.345678ms", exact to the nanosecond.
 * Nothing here depends on the locale. */
#ifndef HAL_BASE_MOMENT_H
#define HAL_BASE_MOMENT_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* All of the text: a decimal number, with an optional sign, and ns, us, µs, ms, s, m, min or h, or
 * nothing for `unit_ns` nanoseconds.
 * False: the text is no time, or too large for nanoseconds. */
HAL_API bool hal_time_parse(const char *text, int64_t unit_ns, int64_t *out_ns);

/* The same with an optional '@'. */
HAL_API bool hal_moment_parse(const char *text, int64_t unit_ns, int64_t *out_ns);

/* As hal_time_parse; seconds without a unit. False, too: it is not in `least_ns`...`most_ns`. */
HAL_API bool hal_duration_parse(const char *text, int64_t least_ns, int64_t most_ns,
                                int64_t *out_ns);

/* By value, for use as an argument: printf("%s", hal_duration_text(ns).text). */
struct hal_time_text {
    char text[32];
};

/* "500 ns", "41.234 us", "12.345 ms", "3.210 s". */
HAL_API struct hal_time_text hal_duration_text(int64_t ns);

/* "@12.345678ms". */
HAL_API struct hal_time_text hal_moment_text(int64_t ns);

#endif
