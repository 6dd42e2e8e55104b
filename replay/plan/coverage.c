/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted lists of ranges, one per buffer, in the order of submissions. */
#include "replay/plan/coverage.h"

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

static struct replay_coverage *coverage_of(struct replay_plan *plan, uint64_t buffer)
{
    return &plan->objects[buffer].buffer.coverage;
}

/* A kernel may read or write whatever is bound. */
static void use_bindings(struct replay_plan *plan, const struct trace_push_descriptor_set *set)
{
    for (uint32_t i = 0; i < set->binding_count; i++) {
        const struct trace_binding *binding = &set->bindings[i];
        if (binding->buffer)
            replay_coverage_use(coverage_of(plan, binding->buffer), binding->offset, binding->size);
    }
}

static void run_segment(struct replay_plan *plan, const struct trace_segment *head)
{
    const void *segment = head;
    switch ((enum trace_segment_kind)head->kind) {
    case TRACE_FILL: {
        const struct trace_fill *fill = segment;
        replay_coverage_write(coverage_of(plan, fill->target), fill->offset, fill->size);
        return;
    }
    case TRACE_COPY: {
        const struct trace_copy *copy = segment;
        replay_coverage_use(coverage_of(plan, copy->source), copy->source_offset, copy->size);
        replay_coverage_write(coverage_of(plan, copy->target), copy->target_offset, copy->size);
        return;
    }
    case TRACE_UPDATE: {
        const struct trace_update *update = segment;
        replay_coverage_write(coverage_of(plan, update->target), update->offset, update->size);
        return;
    }
    case TRACE_DISPATCH_INDIRECT: {
        const struct trace_dispatch_indirect *dispatch = segment;
        replay_coverage_use(coverage_of(plan, dispatch->counts), dispatch->offset,
                            3 * sizeof(uint32_t));
        return;
    }
    case TRACE_BARRIER:
    case TRACE_EVENT_SIGNAL:
    case TRACE_EVENT_RESET:
    case TRACE_EVENTS_WAIT:
    case TRACE_PUSH_CONSTANTS:
    case TRACE_PUSH_DESCRIPTOR_SET:
    case TRACE_DISPATCH:
    case TRACE_DEBUG_BEGIN:
    case TRACE_DEBUG_END: return;
    }
}

void replay_coverage_run(struct replay_plan *plan, const struct replay_object *commands)
{
    /* Pushed, and not looked at since: a set that was in use before adds nothing. */
    const struct trace_push_descriptor_set *sets[HAL_MAX_SETS] = {NULL};
    const struct trace_segment *segment = commands->commands.segments;
    for (uint32_t i = 0; i < commands->commands.seal->segment_count; i++) {
        if (segment->kind == TRACE_PUSH_DESCRIPTOR_SET) {
            const struct trace_push_descriptor_set *set = (const void *)segment;
            sets[set->set] = set;
        }
        for (uint32_t set = 0; set < HAL_MAX_SETS && trace_is_dispatch(segment->kind); set++) {
            if (sets[set])
                use_bindings(plan, sets[set]);
            sets[set] = NULL;
        }
        run_segment(plan, segment);
        segment = trace_next_segment(segment);
    }
}
