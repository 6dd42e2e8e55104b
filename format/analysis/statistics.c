/* SPDX-License-Identifier: Apache-2.0 */
#include "format/analysis/statistics.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARTS = 16,            /* of a sequence, for the interval */
    LEAST_DIFFERENCE = 20, /* a twentieth */
    LEAST_DIFFERENCE_NS = 1000
};

/* ---- Independent values ------------------------------------------------------------------- */

HAL_COMPARE_VALUES(compare_doubles, double)

HAL_COMPARE_VALUES(compare_times, int64_t)

/* How many of the smallest, and of the largest, values the interval excludes: the most for which
 * the median is outside with a probability of at most 5 %. */
static size_t left_out(size_t count)
{
    double below = 0, chance = ldexp(1, -(int)count); /* of exactly k values below the median */
    size_t k = 0;
    while (2 * (below + chance) <= 0.05 && k < count / 2) {
        below += chance;
        chance *= (double)(count - k) / (double)(k + 1);
        k++;
    }
    return k;
}

struct trace_interval trace_interval_of(double *values, size_t count)
{
    if (!count)
        return (struct trace_interval){0};
    qsort(values, count, sizeof *values, compare_doubles);
    const size_t out = left_out(count), first = out ? out - 1 : 0;
    return (struct trace_interval){.low = values[first],
                                   .median = (values[(count - 1) / 2] + values[count / 2]) / 2,
                                   .high = values[count - 1 - first]};
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t trace_sum_within_fence(int64_t *values, size_t count)
{
    int64_t fence = INT64_MAX, sum = 0;
    if (count >= 4) {
        qsort(values, count, sizeof *values, compare_times);
        const int64_t first = values[count / 4], third = values[count - 1 - count / 4];
        fence = plus(third, (third - first) + (third - first) / 2);
    }
    for (size_t i = 0; i < count; i++)
        sum = plus(sum, values[i] < fence ? values[i] : fence);
    return sum;
}

/* ---- Durations ---------------------------------------------------------------------------- */

/* Sorts the array, which has a value. */
static int64_t median_of(int64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_times);
    const int64_t low = values[(count - 1) / 2], high = values[count / 2];
    return low + (high - low) / 2;
}

static size_t count_warm_up(const int64_t *durations_ns, size_t count, int64_t median_ns)
{
    size_t warm_up = 0;
    while (warm_up < count / 4 && durations_ns[warm_up] > plus(median_ns, median_ns / 2))
        warm_up++;
    return warm_up;
}

/* The largest doubles below 2^63 are rounded up to it. */
static int64_t to_ns(double ns)
{
    return ns < 0x1p63 ? (int64_t)ns : INT64_MAX;
}

/* Sorts the parts. The median of all is in it, also where the parts' are all on one side. */
static void find_interval(int64_t *durations_ns, struct trace_typical *typical)
{
    double medians[PARTS];
    const size_t count = (size_t)typical->count, parts = count < PARTS ? count : PARTS;
    for (size_t i = 0; i < parts; i++) {
        const size_t first = count * i / parts, end = count * (i + 1) / parts;
        medians[i] = (double)median_of(durations_ns + first, end - first);
    }
    const struct trace_interval interval = trace_interval_of(medians, parts);
    const int64_t low_ns = to_ns(interval.low), high_ns = to_ns(interval.high);
    typical->low_ns = low_ns < typical->median_ns ? low_ns : typical->median_ns;
    typical->high_ns = high_ns > typical->median_ns ? high_ns : typical->median_ns;
}

enum hal_status trace_typical_of(int64_t *durations_ns, size_t count,
                                 struct trace_typical *out_typical)
{
    struct trace_typical typical = {0};
    *out_typical = typical;
    if (!count)
        return HAL_OK;
    int64_t *sorted = hal_alloc(count, sizeof *sorted);
    if (!sorted)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu durations", count);
    memcpy(sorted, durations_ns, count * sizeof *sorted);
    typical.median_ns = median_of(sorted, count);
    typical.warm_up = count_warm_up(durations_ns, count, typical.median_ns);
    typical.count = count - typical.warm_up;
    if (typical.warm_up) {
        memcpy(sorted, durations_ns + typical.warm_up, typical.count * sizeof *sorted);
        typical.median_ns = median_of(sorted, typical.count);
    }
    typical.min_ns = sorted[0];
    typical.max_ns = sorted[typical.count - 1];
    free(sorted);
    find_interval(durations_ns + typical.warm_up, &typical);
    *out_typical = typical;
    return HAL_OK;
}

bool trace_typical_is_known(const struct trace_typical *typical)
{
    return typical->count >= TRACE_LEAST_VALUES;
}

/* ---- Differences -------------------------------------------------------------------------- */

const char *const trace_change_texts[TRACE_CHANGE_COUNT] = {
    [TRACE_CHANGE_UNKNOWN] = "too few to tell",
    [TRACE_CHANGE_NONE] = "no significant difference",
    [TRACE_CHANGE_SHORTER] = "shorter",
    [TRACE_CHANGE_LONGER] = "longer",
};

const char *const trace_change_names[TRACE_CHANGE_COUNT] = {
    [TRACE_CHANGE_UNKNOWN] = "unknown",
    [TRACE_CHANGE_NONE] = "none",
    [TRACE_CHANGE_SHORTER] = "shorter",
    [TRACE_CHANGE_LONGER] = "longer",
};

static bool is_longer(const struct trace_typical *a, const struct trace_typical *b)
{
    return a->low_ns > plus(b->high_ns, b->high_ns / LEAST_DIFFERENCE) &&
           a->median_ns - b->median_ns > LEAST_DIFFERENCE_NS;
}

enum trace_change trace_typical_compare(const struct trace_typical *first,
                                        const struct trace_typical *second)
{
    if (!trace_typical_is_known(first) || !trace_typical_is_known(second))
        return TRACE_CHANGE_UNKNOWN;
    return is_longer(second, first)   ? TRACE_CHANGE_LONGER
           : is_longer(first, second) ? TRACE_CHANGE_SHORTER
                                      : TRACE_CHANGE_NONE;
}
