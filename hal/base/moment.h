/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and prints times for all programs (docs/locators.md). A duration is "12.345 ms"; a moment
 * counts from the first event of a trace and is exact to the nanosecond: "@12.345678ms". Nothing
 * here depends on the locale. */
#ifndef HAL_BASE_MOMENT_H
#define HAL_BASE_MOMENT_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Parses the whole text: a decimal number with optional sign, and ns, us, µs, ms, s, m, min or h,
 * or no unit for `unit_ns` nanoseconds. False: not a time, or out of range. */
HAL_API bool hal_time_parse(const char *text, int64_t unit_ns, int64_t *out_ns);

/* The same with an optional '@'. */
HAL_API bool hal_moment_parse(const char *text, int64_t unit_ns, int64_t *out_ns);

/* Like hal_time_parse, in seconds if there is no unit. False also if the time is not from
 * `least_ns` to `most_ns`. */
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
