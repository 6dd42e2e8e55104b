/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the repeating pattern in a sequence: what a program's submissions do over and over.
 * Compares only numbers, equal for equal elements. Any number of threads. */
#ifndef FORMAT_ANALYSIS_ITERATIONS_H
#define FORMAT_ANALYSIS_ITERATIONS_H

#include "hal/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct trace_iterations {
    size_t first;  /* index at which the first iteration begins */
    size_t period; /* elements of an iteration; 0: nothing repeats */
    size_t count;  /* whole iterations, one after the other */
};

/* The pattern that covers most of the sequence when repeated without a difference, at least thrice
 * and over at least a quarter of it; of equal ones, the shortest. HAL_NO_MEMORY. */
enum hal_status trace_iterations_find(const uint64_t *elements, size_t count,
                                      struct trace_iterations *out_iterations) HAL_CHECKED;

#endif
