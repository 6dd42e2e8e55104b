/* SPDX-License-Identifier: Apache-2.0 */
#include "format/analysis/segments.h"

#include "hal/base/idmap.h"
#include "hal/base/mem.h"

#include <string.h>

enum { stage_transfer = 1, stage_dispatch = 2 }; /* enum hal_stage */
enum { set_limit = 4 };                          /* HAL_MAX_SETS */

/* The last signal of an event; no stages: it was reset since. */
struct signal {
    uint32_t command, stages;
};

struct walk {
    struct trace_hazards *hazards; /* NULL: nobody wants to know orderings */
    trace_access_visit *visit;
    void *visit_user;
    trace_binding_mode *mode;
    void *user;
    uint32_t command;
    const struct trace_push_descriptor_set *sets[set_limit]; /* NULL: nothing pushed */
    struct hal_idmap events;
    struct signal *signals; /* by the map's index */
    size_t signal_count, signal_capacity;
};

static uint64_t end_of(uint64_t offset, uint64_t size)
{
    uint64_t end;
    return hal_add_u64(offset, size, &end) ? end : UINT64_MAX;
}

static void touch(const struct walk *walk, uint32_t stage, enum trace_access_mode mode,
                  uint64_t buffer, uint64_t offset, uint64_t size)
{
    walk->visit(walk->visit_user, &(struct trace_access){.command = walk->command,
                                                         .stage = stage,
                                                         .mode = mode,
                                                         .buffer = buffer,
                                                         .begin = offset,
                                                         .end = end_of(offset, size)});
}

/* Tells of the ordering with these ranges. */
static void order(const struct walk *walk, const struct trace_ordering *ordering,
                  const struct trace_buffer_barrier *buffers, uint32_t buffer_count)
{
    struct trace_ordered_range few[16], *ranges = few;
    struct trace_ordering whole = *ordering;
    if (!walk->hazards)
        return;
    if (buffer_count > sizeof few / sizeof *few)
        ranges = hal_alloc(buffer_count, sizeof *ranges);
    if (!ranges) {
        walk->hazards->failed = true;
        return;
    }
    for (uint32_t i = 0; i < buffer_count; i++)
        ranges[i] = (struct trace_ordered_range){buffers[i].buffer, buffers[i].offset,
                                                 end_of(buffers[i].offset, buffers[i].size)};
    whole.ranges = ranges;
    whole.range_count = buffer_count;
    trace_hazards_barrier(walk->hazards, &whole);
    if (ranges != few)
        free(ranges);
}

static void barrier(const struct walk *walk, const struct trace_barrier *segment)
{
    const struct trace_ordering ordering = {.command = walk->command,
                                            .source = walk->command,
                                            .source_stages = segment->source_stages,
                                            .target_stages = segment->target_stages};
    order(walk, &ordering, segment->buffers, segment->buffer_count);
}

/* ---- Events ------------------------------------------------------------------------------- */

static struct signal *signal_of(struct walk *walk, uint64_t event)
{
    uint32_t index;
    if (hal_idmap_find(&walk->events, event, &index))
        return &walk->signals[index];
    void *signals = walk->signals;
    const bool good =
        walk->signal_count < UINT32_MAX - 1 &&
        hal_grow(&signals, &walk->signal_capacity, walk->signal_count + 1, sizeof *walk->signals) &&
        hal_idmap_add(&walk->events, event, (uint32_t)walk->signal_count, &index);
    walk->signals = signals;
    if (!good) {
        if (walk->hazards)
            walk->hazards->failed = true;
        return NULL;
    }
    struct signal *const known = &walk->signals[walk->signal_count++];
    *known = (struct signal){0};
    return known;
}

/* A reset has no stages. */
static void note_signal(struct walk *walk, const struct trace_event_command *segment)
{
    struct signal *known = signal_of(walk, segment->event);
    if (known)
        *known = (struct signal){.command = walk->command, .stages = segment->source_stages};
}

static void wait_for_events(struct walk *walk, const struct trace_events_wait *segment)
{
    for (uint32_t i = 0; i < segment->event_count; i++) {
        const struct signal *known = signal_of(walk, trace_waited_events(segment)[i]);
        if (!known || !known->stages)
            continue;
        const struct trace_ordering ordering = {.command = walk->command,
                                                .source = known->command,
                                                .source_stages = known->stages,
                                                .target_stages = segment->target_stages};
        order(walk, &ordering, segment->buffers, segment->buffer_count);
    }
}

/* A kernel may touch whatever is bound. */
static void run_kernel(const struct walk *walk, uint64_t executable, uint32_t entry)
{
    for (uint32_t set = 0; set < set_limit; set++) {
        const struct trace_push_descriptor_set *push = walk->sets[set];
        for (uint32_t i = 0; push && i < push->binding_count; i++) {
            const struct trace_binding *binding = &push->bindings[i];
            if (!binding->buffer)
                continue;
            const enum trace_access_mode mode =
                walk->mode ? walk->mode(walk->user, executable, entry, set, i)
                           : TRACE_ACCESS_UNKNOWN;
            if (mode == TRACE_ACCESS_NONE)
                continue;
            touch(walk, stage_dispatch, mode, binding->buffer, binding->offset, binding->size);
        }
    }
}

static void dispatch(const struct walk *walk, const struct trace_dispatch *segment)
{
    if (segment->workgroup_count[0] && segment->workgroup_count[1] && segment->workgroup_count[2])
        run_kernel(walk, segment->executable, segment->entry);
}

static void dispatch_indirect(const struct walk *walk,
                              const struct trace_dispatch_indirect *segment)
{
    const uint64_t counts_bytes = 3 * sizeof(uint32_t);
    touch(walk, stage_dispatch, TRACE_ACCESS_READ, segment->counts, segment->offset, counts_bytes);
    run_kernel(walk, segment->executable, segment->entry);
}

static void step(struct walk *walk, const struct trace_segment *segment)
{
    const void *typed = segment;
    switch ((enum trace_segment_kind)segment->kind) {
    case TRACE_BARRIER: barrier(walk, typed); break;
    case TRACE_FILL: {
        const struct trace_fill *fill = typed;
        touch(walk, stage_transfer, TRACE_ACCESS_WRITE, fill->target, fill->offset, fill->size);
        break;
    }
    case TRACE_COPY: {
        const struct trace_copy *copy = typed;
        touch(walk, stage_transfer, TRACE_ACCESS_READ, copy->source, copy->source_offset,
              copy->size);
        touch(walk, stage_transfer, TRACE_ACCESS_WRITE, copy->target, copy->target_offset,
              copy->size);
        break;
    }
    case TRACE_UPDATE: {
        const struct trace_update *update = typed;
        touch(walk, stage_transfer, TRACE_ACCESS_WRITE, update->target, update->offset,
              update->size);
        break;
    }
    case TRACE_PUSH_DESCRIPTOR_SET: {
        const struct trace_push_descriptor_set *push = typed;
        if (push->set < set_limit)
            walk->sets[push->set] = push;
        break;
    }
    case TRACE_DISPATCH: dispatch(walk, typed); break;
    case TRACE_DISPATCH_INDIRECT: dispatch_indirect(walk, typed); break;
    case TRACE_EVENT_SIGNAL:
    case TRACE_EVENT_RESET: note_signal(walk, typed); break;
    case TRACE_EVENTS_WAIT: wait_for_events(walk, typed); break;
    case TRACE_PUSH_CONSTANTS:
    case TRACE_DEBUG_BEGIN:
    case TRACE_DEBUG_END: break; /* touch no memory */
    }
}

static void walk_all(struct walk *walk, const struct trace_command_buffer_seal *seal,
                     const struct trace_segment *segment)
{
    for (; walk->command < seal->segment_count; walk->command++) {
        step(walk, segment);
        segment = trace_next_segment(segment);
    }
    hal_idmap_finish(&walk->events);
    free(walk->signals);
}

static void tell_hazards(void *user, const struct trace_access *access)
{
    trace_hazards_access(user, access);
}

void trace_hazards_segments(struct trace_hazards *hazards,
                            const struct trace_command_buffer_seal *seal,
                            const struct trace_segment *segment, trace_binding_mode *mode,
                            void *user)
{
    struct walk walk = {.hazards = hazards,
                        .visit = tell_hazards,
                        .visit_user = hazards,
                        .mode = mode,
                        .user = user};
    walk_all(&walk, seal, segment);
}

void trace_each_access(const struct trace_command_buffer_seal *seal,
                       const struct trace_segment *segment, trace_binding_mode *mode, void *user,
                       trace_access_visit *visit, void *visit_user)
{
    struct walk walk = {.visit = visit, .visit_user = visit_user, .mode = mode, .user = user};
    walk_all(&walk, seal, segment);
}
