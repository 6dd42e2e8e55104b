/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted lists of ranges, one per buffer, in the order of submissions. */
#include "replay/plan/coverage.h"

#include "format/analysis/segments.h"
#include "hal/base/mem.h"
#include "replay/plan/plan.h"

enum { MAX_RANGES = 64 };

void replay_coverage_finish(struct replay_coverage *coverage)
{
    free(coverage->covered);
    coverage->covered = NULL;
    coverage->count = coverage->capacity = 0;
}

/* The first covered range that ends at or behind `offset`. */
static size_t find(const struct replay_coverage *coverage, uint64_t offset)
{
    size_t low = 0, high = coverage->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (coverage->covered[middle].end < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void replay_coverage_write(struct replay_coverage *coverage, uint64_t offset, uint64_t bytes)
{
    struct replay_range added = {offset, offset + bytes};
    const size_t first = find(coverage, offset);
    size_t last = first;
    if (bytes == 0)
        return;
    for (; last < coverage->count && coverage->covered[last].begin <= added.end; last++) {
        const struct replay_range *joined = &coverage->covered[last];
        added.begin = joined->begin < added.begin ? joined->begin : added.begin;
        added.end = joined->end > added.end ? joined->end : added.end;
    }
    if (last == first) {
        void *ranges = coverage->covered;
        if (coverage->count == MAX_RANGES ||
            !hal_grow(&ranges, &coverage->capacity, coverage->count + 1, sizeof added))
            return;
        coverage->covered = ranges;
    }
    struct replay_range *at = coverage->covered + first;
    const size_t behind = coverage->count - last;
    if (behind)
        memmove(at + 1, coverage->covered + last, behind * sizeof *at);
    *at = added;
    coverage->count = first + 1 + behind;
}

void replay_coverage_use(struct replay_coverage *coverage, uint64_t offset, uint64_t bytes)
{
    const uint64_t end = offset + bytes;
    const size_t first = find(coverage, offset);
    struct replay_range *fill = &coverage->fill;
    struct replay_range gap = {offset, end};
    if (bytes == 0)
        return;
    if (first < coverage->count && coverage->covered[first].begin <= offset)
        gap.begin = coverage->covered[first].end;
    if (gap.begin >= end)
        return;
    /* Gaps behind the first are filled with it, up to a covered end. */
    const size_t last = find(coverage, end);
    if (last < coverage->count && coverage->covered[last].begin < end)
        gap.end = coverage->covered[last].begin;
    if (gap.begin < gap.end) {
        const bool empty = fill->begin == fill->end;
        fill->begin = empty || gap.begin < fill->begin ? gap.begin : fill->begin;
        fill->end = empty || gap.end > fill->end ? gap.end : fill->end;
    }
    replay_coverage_write(coverage, offset, bytes);
}

/* ---- Commands ------------------------------------------------------------------------------ */

/* What a kernel may access it may read. */
static void take_access(void *user, const struct trace_access *access)
{
    struct replay_plan *plan = user;
    struct replay_coverage *coverage = &plan->objects[access->buffer].buffer.coverage;
    if (access->mode == TRACE_ACCESS_WRITE)
        replay_coverage_write(coverage, access->begin, access->end - access->begin);
    else
        replay_coverage_use(coverage, access->begin, access->end - access->begin);
}

void replay_coverage_run(struct replay_plan *plan, const struct replay_object *commands)
{
    trace_each_access(commands->commands.seal, commands->commands.segments, NULL, NULL, take_access,
                      plan);
}
