/* SPDX-License-Identifier: Apache-2.0 */
/* Which elements of two sequences belong together: a longest common subsequence of numbers, with
 * the fewest insertions and deletions as long as these are few; for sequences that differ much a
 * good one, in bounded time. */
#ifndef FORMAT_ANALYSIS_ALIGN_H
#define FORMAT_ANALYSIS_ALIGN_H

#include "hal/base/status.h"

#include <stddef.h>
#include <stdint.h>

#define TRACE_UNALIGNED SIZE_MAX

/* For each of `a` the index in `b` of the same number that it is aligned with, or TRACE_UNALIGNED;
 * the indices rise. HAL_NO_MEMORY. */
enum hal_status trace_align(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count,
                            size_t *out_match) HAL_CHECKED;

#endif
