/* SPDX-License-Identifier: Apache-2.0 */
/* Aligns two sequences of numbers by a longest common subsequence: with the fewest insertions and
 * deletions while these are few, and with a good approximation in bounded time else. */
#ifndef FORMAT_ANALYSIS_ALIGN_H
#define FORMAT_ANALYSIS_ALIGN_H

#include "hal/base/status.h"

#include <stddef.h>
#include <stdint.h>

#define TRACE_UNALIGNED SIZE_MAX

/* For each element of `a`, the increasing index of its equal in `b`, or TRACE_UNALIGNED. */
enum hal_status trace_align(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count,
                            size_t *out_match) HAL_CHECKED;

#endif
