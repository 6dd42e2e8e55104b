/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/plan/touches.h"

#include "hal/base/mem.h"

enum { MERGE_AT = 4096 };

static int compare(const void *left, const void *right)
{
    const struct replay_touch *a = left, *b = right;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

void replay_touches_merge(struct replay_touches *touches)
{
    size_t kept = 0;
    if (touches->count == 0)
        return;
    qsort(touches->list, touches->count, sizeof *touches->list, compare);
    for (size_t i = 1; i < touches->count; i++) {
        struct replay_touch *last = &touches->list[kept];
        const struct replay_touch *next = &touches->list[i];
        if (next->buffer == last->buffer && next->begin <= last->end)
            last->end = next->end > last->end ? next->end : last->end;
        else
            touches->list[++kept] = *next;
    }
    touches->count = kept + 1;
}

void replay_touches_finish(struct replay_touches *touches)
{
    free(touches->list);
    *touches = (struct replay_touches){0};
}

static enum hal_status add(struct replay_touches *touches, uint64_t buffer, uint64_t offset,
                           uint64_t bytes)
{
    void *list = touches->list;
    if (!buffer || !bytes)
        return HAL_OK;
    if (touches->count == touches->capacity && touches->count >= MERGE_AT)
        replay_touches_merge(touches);
    if (!hal_grow(&list, &touches->capacity, touches->count + 1, sizeof *touches->list))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu ranges", touches->count);
    touches->list = list;
    touches->list[touches->count++] = (struct replay_touch){buffer, offset, offset + bytes};
    return HAL_OK;
}

enum hal_status replay_touches_append(struct replay_touches *touches, struct replay_touch touch)
{
    return add(touches, touch.buffer, touch.begin, touch.end - touch.begin);
}

static bool overlap(const struct replay_touch *a, const struct replay_touch *b)
{
    return a->buffer == b->buffer && a->begin < b->end && b->begin < a->end;
}

enum hal_status replay_touches_subtract(struct replay_touches *touches, struct replay_touch touch)
{
    struct replay_touch tail = {0}; /* ranges are apart: at most one goes on behind */
    size_t kept = 0;
    replay_touches_merge(touches);
    for (size_t i = 0; i < touches->count; i++) {
        const struct replay_touch old = touches->list[i];
        if (!overlap(&old, &touch))
            continue;
        touches->list[i].end = old.begin < touch.begin ? touch.begin : old.begin;
        if (old.end > touch.end)
            tail = (struct replay_touch){old.buffer, touch.end, old.end};
    }
    for (size_t i = 0; i < touches->count; i++) {
        if (touches->list[i].begin < touches->list[i].end)
            touches->list[kept++] = touches->list[i];
    }
    touches->count = kept;
    return add(touches, tail.buffer, tail.begin, tail.end - tail.begin);
}

bool replay_touches_meet(const struct replay_touches *touches, const struct replay_touch *touch)
{
    for (size_t i = 0; i < touches->count; i++) {
        if (overlap(&touches->list[i], touch))
            return true;
    }
    return false;
}

struct walk {
    struct replay_touches *touches;
    struct trace_reflection *reflection;
    const struct trace_push_descriptor_set *sets[HAL_MAX_SETS];
    uint32_t kinds;
};

static enum hal_status add_bindings(struct walk *walk, uint64_t executable, uint32_t entry)
{
    for (uint32_t s = 0; s < HAL_MAX_SETS; s++) {
        const struct trace_push_descriptor_set *set = walk->sets[s];
        for (uint32_t i = 0; set && i < set->binding_count; i++) {
            const struct trace_binding *binding = &set->bindings[i];
            uint32_t kinds = 0;
            switch (trace_reflection_mode(walk->reflection, executable, entry, s, i)) {
            case TRACE_ACCESS_NONE: break;
            case TRACE_ACCESS_READ:
            case TRACE_ACCESS_MAY_READ: kinds = REPLAY_READS; break;
            case TRACE_ACCESS_WRITE: kinds = REPLAY_WRITES; break;
            case TRACE_ACCESS_READ_WRITE:
            case TRACE_ACCESS_MAY_WRITE:
            case TRACE_ACCESS_UNKNOWN: kinds = REPLAY_READS | REPLAY_WRITES; break;
            }
            if (kinds & walk->kinds)
                HAL_TRY(add(walk->touches, binding->buffer, binding->offset, binding->size));
        }
    }
    return HAL_OK;
}

static enum hal_status add_segment(struct walk *walk, const struct trace_segment *head)
{
    struct replay_touches *touches = walk->touches;
    const bool reads = walk->kinds & REPLAY_READS, writes = walk->kinds & REPLAY_WRITES;
    const void *segment = head;
    switch ((enum trace_segment_kind)head->kind) {
    case TRACE_FILL: {
        const struct trace_fill *fill = segment;
        return writes ? add(touches, fill->target, fill->offset, fill->size) : HAL_OK;
    }
    case TRACE_COPY: {
        const struct trace_copy *copy = segment;
        if (reads)
            HAL_TRY(add(touches, copy->source, copy->source_offset, copy->size));
        return writes ? add(touches, copy->target, copy->target_offset, copy->size) : HAL_OK;
    }
    case TRACE_UPDATE: {
        const struct trace_update *update = segment;
        return writes ? add(touches, update->target, update->offset, update->size) : HAL_OK;
    }
    case TRACE_DISPATCH: {
        const struct trace_dispatch *dispatch = segment;
        return add_bindings(walk, dispatch->executable, dispatch->entry);
    }
    case TRACE_DISPATCH_INDIRECT: {
        const struct trace_dispatch_indirect *dispatch = segment;
        if (reads)
            HAL_TRY(add(touches, dispatch->counts, dispatch->offset, 3 * sizeof(uint32_t)));
        return add_bindings(walk, dispatch->executable, dispatch->entry);
    }
    case TRACE_PUSH_DESCRIPTOR_SET: {
        const struct trace_push_descriptor_set *set = segment;
        walk->sets[set->set] = set;
        return HAL_OK;
    }
    case TRACE_BARRIER:
    case TRACE_EVENT_SIGNAL:
    case TRACE_EVENT_RESET:
    case TRACE_EVENTS_WAIT:
    case TRACE_PUSH_CONSTANTS:
    case TRACE_DEBUG_BEGIN:
    case TRACE_DEBUG_END: return HAL_OK;
    }
    return HAL_OK;
}

enum hal_status replay_touches_add(struct replay_touches *touches,
                                   struct trace_reflection *reflection,
                                   const struct replay_object *commands, uint32_t kinds)
{
    struct walk walk = {.touches = touches, .reflection = reflection, .kinds = kinds};
    const struct trace_segment *segment = commands->commands.segments;
    for (uint32_t i = 0; i < commands->commands.seal->segment_count; i++) {
        HAL_TRY(add_segment(&walk, segment));
        segment = trace_next_segment(segment);
    }
    return HAL_OK;
}

enum hal_status replay_reflect(const struct replay_plan *plan,
                               struct trace_reflection *out_reflection)
{
    *out_reflection = (struct trace_reflection){0};
    for (size_t i = 1; i < plan->object_count; i++) {
        const struct replay_object *object = &plan->objects[i];
        if (object->kind == REPLAY_EXECUTABLE && object->created)
            HAL_TRY(trace_reflection_add(out_reflection, i, (const void *)object->created));
    }
    return HAL_OK;
}
