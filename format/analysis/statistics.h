/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics of measured times, for every program that reports them: how long a thing typically
 * takes, how well that is known, and whether two of them differ. docs/decisions/statistics.md says
 * why it is these. Any number of threads. */
#ifndef FORMAT_ANALYSIS_STATISTICS_H
#define FORMAT_ANALYSIS_STATISTICS_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Independent values ---- */

/* A median and its interval. */
struct trace_interval {
    double low, median, high;
};

/* Fewer values have no 95 % interval: both extremes together miss the median with 2^(1-n). */
enum { TRACE_LEAST_VALUES = 6 };

/* The median and its 95 % interval from order statistics (the binomial distribution of how many
 * values lie below the median: no assumption about how times are distributed). Sorts the array.
 * Fewer than TRACE_LEAST_VALUES have no such interval: low and high are the extremes. */
struct trace_interval trace_interval_of(double *values, size_t count);

/* The sum, without what interrupted a few of them: a value above Tukey's upper fence (the third
 * quartile and one and a half times the distance between the quartiles) counts as the fence. Sorts
 * the array. Below four values it is the plain sum. */
int64_t trace_sum_within_fence(int64_t *values, size_t count);

/* ---- Durations of the same thing, again and again ---- */

/* What one of them typically takes. All zero: there are none. */
struct trace_typical {
    uint64_t count;          /* without warm-up, as are all of these */
    int64_t median_ns;       /* what it typically takes */
    int64_t low_ns, high_ns; /* the median's 95 % interval; the extremes where there is none */
    int64_t min_ns, max_ns;  /* without warm-up */
    uint64_t warm_up;        /* left out, at the start */
};

/* Of durations in order of time. The first ones, at most a quarter of all, are warm-up while each
 * is longer than one and a half times the median of all. Durations that follow each other depend on
 * each other, so the interval is that of the medians of up to 16 equal parts of the sequence.
 * Reorders the array. HAL_NO_MEMORY. */
enum hal_status trace_typical_of(int64_t *durations_ns, size_t count,
                                 struct trace_typical *out_typical) HAL_CHECKED;

/* Whether the median is known to within its interval. */
bool trace_typical_is_known(const struct trace_typical *typical);

enum trace_change {
    TRACE_CHANGE_UNKNOWN, /* too few values on one side */
    TRACE_CHANGE_NONE,    /* no significant difference */
    TRACE_CHANGE_SHORTER, /* the second is shorter */
    TRACE_CHANGE_LONGER,
    TRACE_CHANGE_COUNT
};
/* As one reads them: "no significant difference"; and in JSON: "none". */
extern const char *const trace_change_texts[TRACE_CHANGE_COUNT];
extern const char *const trace_change_names[TRACE_CHANGE_COUNT];

/* Significant: the intervals are apart by more than 5 % of the nearer end, and the medians by more
 * than 1 us, which two captures of the same program differ by on an otherwise idle machine. */
enum trace_change trace_typical_compare(const struct trace_typical *first,
                                        const struct trace_typical *second);

#endif
