/* SPDX-License-Identifier: Apache-2.0 */
/* Where a pattern of p elements repeats, each element equals the one p before it. Candidates for p
 * are the distances between equal elements: one that occurs once per iteration recurs after p. */
#include "format/analysis/iterations.h"

#include "hal/base/idmap.h"
#include "hal/base/mem.h"

#include <stdlib.h>

enum { CANDIDATES = 32, LEAST_ITERATIONS = 3 };

/* A distance between equal neighbours, and how often it was seen. */
struct distance {
    size_t period;
    size_t count;
};

/* The elements that it explains: `count` of them were seen again after `period`. An element that
 * occurs once per iteration speaks for the whole iteration. */
static size_t weight(const struct distance *distance)
{
    const size_t most = SIZE_MAX / 2;
    return distance->count > most / distance->period ? most : distance->count * distance->period;
}

static int compare(const void *left, const void *right)
{
    const struct distance *a = left, *b = right;
    const size_t x = weight(a), y = weight(b);
    if (x != y)
        return x > y ? -1 : 1;
    return a->period < b->period ? -1 : a->period > b->period;
}

/* Counts, by distance, how often an element comes again after it. */
static enum hal_status count_distances(const uint64_t *elements, size_t count, uint32_t *counts)
{
    struct hal_idmap ids = {0};
    uint32_t *last = hal_alloc(count, sizeof *last), known = 0;
    enum hal_status status = last ? HAL_OK : HAL_NO_MEMORY;
    for (size_t i = 0; i < count && status == HAL_OK; i++) {
        uint32_t index;
        if (!hal_idmap_add(&ids, elements[i], known, &index)) {
            status = HAL_NO_MEMORY;
            break;
        }
        if (index == known)
            known++;
        else
            counts[i - last[index]]++;
        last[index] = (uint32_t)i;
    }
    hal_idmap_finish(&ids);
    free(last);
    return status;
}

/* The best candidates into `out`; returns how many. */
static size_t choose(const uint32_t *counts, size_t longest, struct distance *out)
{
    size_t kept = 0;
    for (size_t period = 1; period <= longest; period++) {
        const struct distance distance = {.period = period, .count = counts[period]};
        if (!distance.count)
            continue;
        if (kept < CANDIDATES) {
            out[kept++] = distance;
            continue;
        }
        size_t least = 0;
        for (size_t i = 1; i < kept; i++)
            least = compare(&out[i], &out[least]) > 0 ? i : least;
        if (compare(&distance, &out[least]) < 0)
            out[least] = distance;
    }
    qsort(out, kept, sizeof *out, compare);
    return kept;
}

/* The longest stretch in which the pattern of `period` elements repeats. */
static struct trace_iterations longest_run(const uint64_t *elements, size_t count, size_t period)
{
    struct trace_iterations best = {.period = period};
    size_t begin = 0;
    for (size_t i = period; i <= count; i++) {
        if (i < count && elements[i] == elements[i - period])
            continue;
        const size_t iterations = (i - begin) / period;
        if (iterations > best.count) {
            best.count = iterations;
            best.first = begin;
        }
        begin = i + 1 - period;
    }
    return best;
}

enum hal_status trace_iterations_find(const uint64_t *elements, size_t count,
                                      struct trace_iterations *out_iterations)
{
    struct distance candidates[CANDIDATES];
    struct trace_iterations best = {0};
    *out_iterations = best;
    if (count < LEAST_ITERATIONS)
        return HAL_OK;
    if (count >= UINT32_MAX)
        return hal_fail(HAL_UNSUPPORTED, "more than %u submissions", UINT32_MAX - 1);
    uint32_t *counts = hal_alloc(count, sizeof *counts);
    const enum hal_status status =
        counts ? count_distances(elements, count, counts) : HAL_NO_MEMORY;
    if (status != HAL_OK) {
        free(counts);
        return hal_fail(status, "no memory to find iterations among %zu submissions", count);
    }
    const size_t kept = choose(counts, count / LEAST_ITERATIONS, candidates);
    free(counts);
    for (size_t i = 0; i < kept; i++) {
        const struct trace_iterations run = longest_run(elements, count, candidates[i].period);
        const size_t covered = run.count * run.period, so_far = best.count * best.period;
        /* A whole iteration more or less is the luck of where the sequence ends. */
        const bool longer = covered > so_far + run.period;
        const bool shorter = covered + best.period >= so_far && run.period < best.period;
        if (run.count >= LEAST_ITERATIONS && covered >= count / 4 && (longer || shorter))
            best = run;
    }
    *out_iterations = best;
    return HAL_OK;
}
