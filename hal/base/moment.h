/* SPDX-License-Identifier: Apache-2.0 */
/* Times in the syntax common to all programs (docs/locators.md): "12.345ms", "250us"; a moment may
 * begin with '@', as programs print it: "@12.345ms". */
#ifndef HAL_BASE_MOMENT_H
#define HAL_BASE_MOMENT_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Parses the whole text: a number with optional sign, and ns, us, µs, ms or s, or no unit for
 * `unit_ns` nanoseconds. Exact to 2^53 ns, 104 days. False: not a time, or out of range. */
HAL_API bool hal_time_parse(const char *text, int64_t unit_ns, int64_t *out_ns);

/* The same with an optional '@'. */
HAL_API bool hal_moment_parse(const char *text, int64_t unit_ns, int64_t *out_ns);

#endif
