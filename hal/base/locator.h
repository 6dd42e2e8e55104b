/* SPDX-License-Identifier: Apache-2.0 */
/* Locators in a run, in the syntax common to all programs (docs/locators.md): "#s12" is submission
 * 12, "#s12.d40" its dispatch 40, both counted from 0. Input may omit "#s". */
#ifndef HAL_BASE_LOCATOR_H
#define HAL_BASE_LOCATOR_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct hal_locator {
    uint64_t submission;
    bool has_dispatch; /* else the whole submission */
    uint32_t dispatch;
};

/* Both ends are inclusive. */
struct hal_locator_range {
    bool has_first, has_last; /* false: from the begin, to the end; never both */
    struct hal_locator first, last;
};

enum { HAL_LOCATOR_BYTES = 48 };

/* Parses the whole text. HAL_INVALID: the message quotes it and describes the syntax. */
HAL_API enum hal_status hal_locator_parse(const char *text,
                                          struct hal_locator *out_locator) HAL_CHECKED;

/* Parses "#s3", "#s3..#s7.d4", "#s3..", "..#s7", "3-7". The text must end there, unless `out_rest`
 * is not NULL: then a comma may follow, and *out_rest points to it, else to the end. HAL_INVALID:
 * as above. */
HAL_API enum hal_status hal_locator_range_parse(const char *text,
                                                struct hal_locator_range *out_range,
                                                const char **out_rest) HAL_CHECKED;

/* The submissions of a range; a dispatch counts as its submission. */
HAL_API void hal_locator_submissions(const struct hal_locator_range *range, uint64_t *out_first,
                                     uint64_t *out_last);

/* Prints the canonical form. Returns `out`. */
HAL_API const char *hal_locator_print(const struct hal_locator *locator,
                                      char out[HAL_LOCATOR_BYTES]);

#endif
