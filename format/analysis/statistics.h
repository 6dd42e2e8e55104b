/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of measured times, for every program that reports them: the typical duration, its
 * confidence, and whether two durations differ. docs/decisions/statistics.md explains the choice.
 * Any number of threads. */
#ifndef FORMAT_ANALYSIS_STATISTICS_H
#define FORMAT_ANALYSIS_STATISTICS_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Independent values ---- */

/* A median and its confidence interval. */
struct trace_interval {
    double low, median, high;
};

/* Fewer values have no 95 % interval: both extremes miss the median with probability 2^(1-n). */
enum { TRACE_LEAST_VALUES = 6 };

/* The median and its 95 % interval from order statistics (the binomial distribution of the number
 * of values below the median, with no assumption about the distribution of times). Sorts the array.
 * With fewer than TRACE_LEAST_VALUES, low and high are the extremes. */
struct trace_interval trace_interval_of(double *values, size_t count);

/* The sum without outliers: a value above Tukey's upper fence (the third quartile plus one and a
 * half times the interquartile range) counts as the fence. Sorts the array. Below four values it is
 * the plain sum. */
int64_t trace_sum_within_fence(int64_t *values, size_t count);

/* ---- Repeated durations of the same thing ---- */

/* The typical duration. All zero: no values. */
struct trace_typical {
    uint64_t count;          /* excluding warm-up, as all members below */
    int64_t median_ns;       /* the typical duration */
    int64_t low_ns, high_ns; /* the median's 95 % interval, or the extremes if there is none */
    int64_t min_ns, max_ns;
    uint64_t warm_up; /* initial values left out */
};

/* Takes durations in time order. The first ones, at most a quarter of all, are warm-up while each
 * exceeds one and a half times the median of all. Consecutive durations depend on each other, so
 * the interval is that of the medians of up to 16 equal parts of the sequence. Reorders the array.
 * HAL_NO_MEMORY. */
enum hal_status trace_typical_of(int64_t *durations_ns, size_t count,
                                 struct trace_typical *out_typical) HAL_CHECKED;

/* Whether the median has a 95 % interval. */
bool trace_typical_is_known(const struct trace_typical *typical);

enum trace_change {
    TRACE_CHANGE_UNKNOWN, /* too few values on one side */
    TRACE_CHANGE_NONE,    /* no significant difference */
    TRACE_CHANGE_SHORTER, /* the second is shorter */
    TRACE_CHANGE_LONGER,
    TRACE_CHANGE_COUNT
};
/* For people ("no significant difference") and for JSON ("none"). */
extern const char *const trace_change_texts[TRACE_CHANGE_COUNT];
extern const char *const trace_change_names[TRACE_CHANGE_COUNT];

/* Significant means that the intervals are more than 5 % of the nearer end apart, and the medians
 * more than 1 us, by which two captures of the same program differ on an otherwise idle machine. */
enum trace_change trace_typical_compare(const struct trace_typical *first,
                                        const struct trace_typical *second);

#endif
