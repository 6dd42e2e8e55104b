/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted lists of ranges, one per buffer, in the order of submissions. */
#include "replay/plan/uninitialised.h"

#include "format/analysis/segments.h"
#include "hal/base/mem.h"
#include "hal/base/order.h"
#include "replay/plan/plan.h"

enum { MAX_RANGES = 64 };

void replay_uninitialised_finish(struct replay_uninitialised *uninitialised)
{
    free(uninitialised->covered);
    uninitialised->covered = NULL;
    uninitialised->count = uninitialised->capacity = 0;
}

/* The first covered range that ends at or after `offset`. */
static size_t find(const struct replay_uninitialised *uninitialised, uint64_t offset)
{
    size_t low = 0, high = uninitialised->count;
    HAL_BISECT(low, high, middle, uninitialised->covered[middle].end < offset)
    return low;
}

void replay_uninitialised_write(struct replay_uninitialised *uninitialised, uint64_t offset,
                                uint64_t bytes)
{
    struct replay_range added = {offset, offset + bytes};
    const size_t first = find(uninitialised, offset);
    size_t last = first;
    if (bytes == 0)
        return;
    for (; last < uninitialised->count && uninitialised->covered[last].begin <= added.end; last++) {
        const struct replay_range *joined = &uninitialised->covered[last];
        added.begin = joined->begin < added.begin ? joined->begin : added.begin;
        added.end = joined->end > added.end ? joined->end : added.end;
    }
    if (last == first) {
        if (uninitialised->count == MAX_RANGES ||
            !HAL_GROW(uninitialised->covered, &uninitialised->capacity, uninitialised->count + 1))
            return;
    }
    struct replay_range *at = uninitialised->covered + first;
    const size_t behind = uninitialised->count - last;
    if (behind)
        memmove(at + 1, uninitialised->covered + last, behind * sizeof *at);
    *at = added;
    uninitialised->count = first + 1 + behind;
}

void replay_uninitialised_use(struct replay_uninitialised *uninitialised, uint64_t offset,
                              uint64_t bytes)
{
    const uint64_t end = offset + bytes;
    const size_t first = find(uninitialised, offset);
    struct replay_range *fill = &uninitialised->fill;
    struct replay_range gap = {offset, end};
    if (bytes == 0)
        return;
    if (first < uninitialised->count && uninitialised->covered[first].begin <= offset)
        gap.begin = uninitialised->covered[first].end;
    if (gap.begin >= end)
        return;
    /* Fills the gaps after the first one, up to a covered end. */
    const size_t last = find(uninitialised, end);
    if (last < uninitialised->count && uninitialised->covered[last].begin < end)
        gap.end = uninitialised->covered[last].begin;
    if (gap.begin < gap.end) {
        const bool empty = fill->begin == fill->end;
        fill->begin = empty || gap.begin < fill->begin ? gap.begin : fill->begin;
        fill->end = empty || gap.end > fill->end ? gap.end : fill->end;
    }
    replay_uninitialised_write(uninitialised, offset, bytes);
}

/* ---- Commands ------------------------------------------------------------------------------ */

/* What a kernel may access it may read. */
static void take_access(void *user, const struct trace_access *access)
{
    struct replay_plan *plan = user;
    struct replay_uninitialised *uninitialised =
        &plan->objects[access->buffer].buffer.uninitialised;
    if (access->mode == TRACE_ACCESS_WRITE)
        replay_uninitialised_write(uninitialised, access->begin, access->end - access->begin);
    else
        replay_uninitialised_use(uninitialised, access->begin, access->end - access->begin);
}

void replay_uninitialised_run(struct replay_plan *plan, const struct replay_object *commands)
{
    trace_each_access(commands->commands.seal, commands->commands.segments, NULL, NULL, take_access,
                      plan);
}
