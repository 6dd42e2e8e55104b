/* SPDX-License-Identifier: Apache-2.0 */
/* Times as every program that asks for one takes them (docs/locators.md): "12.345ms", "250us"; a
 * moment may have the '@' in front with which programs print it: "@12.345ms". */
#ifndef HAL_BASE_MOMENT_H
#define HAL_BASE_MOMENT_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* All of the text: a number, with an optional sign, and ns, us, µs, ms or s, or nothing for
 * `unit_ns` nanoseconds. Exact to 2^53 ns, 104 days.
 * False: the text is no time, or too large for nanoseconds. */
HAL_API bool hal_time_parse(const char *text, int64_t unit_ns, int64_t *out_ns);

/* The same, with or without '@'. */
HAL_API bool hal_moment_parse(const char *text, int64_t unit_ns, int64_t *out_ns);

#endif
