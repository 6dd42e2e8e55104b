/* SPDX-License-Identifier: Apache-2.0 */
#include "format/analysis/segments.h"

#include "hal/base/idmap.h"
#include "hal/base/mem.h"

#include <string.h>

/* The last signal of an event; no stages: it was reset since. */
struct signal {
    uint32_t command, stages;
};

struct walk {
    struct trace_hazards *hazards; /* NULL: accesses alone, no orderings */
    struct trace_access_sink sink;
    struct trace_bound_kernel kernel; /* what the pushes so far bound */
    struct hal_idmap events;
    struct signal *signals; /* by the map's index */
    size_t signal_count, signal_capacity;
};

static uint64_t end_of(uint64_t offset, uint64_t size)
{
    uint64_t end;
    return hal_add_u64(offset, size, &end) ? end : UINT64_MAX;
}

/* Tells of the ordering with these ranges. */
static void order(const struct walk *walk, const struct trace_ordering *ordering,
                  const struct trace_buffer_barrier *buffers, uint32_t buffer_count)
{
    struct trace_ordered_range few[16], *ranges = few;
    struct trace_ordering whole = *ordering;
    if (buffer_count > sizeof few / sizeof *few)
        ranges = hal_alloc(buffer_count, sizeof *ranges);
    if (!ranges) {
        walk->hazards->failed = true;
        return;
    }
    for (uint32_t i = 0; i < buffer_count; i++)
        ranges[i] =
            (struct trace_ordered_range){buffers[i].buffer,
                                         buffers[i].offset,
                                         end_of(buffers[i].offset, buffers[i].size),
                                         {buffers[i].source_access, buffers[i].target_access}};
    whole.ranges = ranges;
    whole.range_count = buffer_count;
    trace_hazards_barrier(walk->hazards, &whole);
    if (ranges != few)
        free(ranges);
}

static void barrier(const struct walk *walk, const struct trace_barrier *segment)
{
    const struct trace_ordering ordering = {
        .command = walk->sink.command,
        .source = walk->sink.command,
        .source_stages = segment->source_stages,
        .target_stages = segment->target_stages,
        .masks = {segment->source_access, segment->target_access}};
    order(walk, &ordering, segment->buffers, segment->buffer_count);
}

/* ---- Events ------------------------------------------------------------------------------- */

static struct signal *signal_of(struct walk *walk, uint64_t event)
{
    uint32_t index;
    if (hal_idmap_find(&walk->events, event, &index))
        return &walk->signals[index];
    const bool good = walk->signal_count < UINT32_MAX - 1 &&
                      HAL_GROW(walk->signals, &walk->signal_capacity, walk->signal_count + 1) &&
                      hal_idmap_add(&walk->events, event, (uint32_t)walk->signal_count, &index);
    if (!good) {
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
        *known = (struct signal){.command = walk->sink.command, .stages = segment->source_stages};
}

static void wait_for_events(struct walk *walk, const struct trace_events_wait *segment)
{
    for (uint32_t i = 0; i < segment->event_count; i++) {
        const struct signal *known = signal_of(walk, trace_waited_events(segment)[i]);
        if (!known || !known->stages)
            continue;
        const struct trace_ordering ordering = {
            .command = walk->sink.command,
            .source = known->command,
            .source_stages = known->stages,
            .target_stages = segment->target_stages,
            .masks = {segment->source_access, segment->target_access}};
        order(walk, &ordering, segment->buffers, segment->buffer_count);
    }
}

/* ---- Commands ----------------------------------------------------------------------------- */

static void push(struct walk *walk, const struct trace_push_descriptor_set *segment)
{
    if (segment->set >= TRACE_MAX_SETS)
        return;
    walk->kernel.bindings[segment->set] = segment->bindings;
    walk->kernel.counts[segment->set] = segment->binding_count;
}

static void run_kernel(struct walk *walk, const struct trace_segment *segment)
{
    const struct trace_dispatched dispatched = trace_dispatched(segment);
    walk->kernel.executable = dispatched.executable;
    walk->kernel.entry = dispatched.entry;
    trace_kernel_accesses(&walk->kernel, &walk->sink);
}

static void step(struct walk *walk, const struct trace_segment *segment)
{
    const void *typed = segment;
    if (trace_command_accesses(segment, &walk->sink))
        run_kernel(walk, segment);
    else if (segment->kind == TRACE_PUSH_DESCRIPTOR_SET)
        push(walk, typed);
    else if (!walk->hazards)
        return;
    else if (segment->kind == TRACE_BARRIER)
        barrier(walk, typed);
    else if (segment->kind == TRACE_EVENT_SIGNAL || segment->kind == TRACE_EVENT_RESET)
        note_signal(walk, typed);
    else if (segment->kind == TRACE_EVENTS_WAIT)
        wait_for_events(walk, typed);
}

static void walk_all(struct walk *walk, const struct trace_command_buffer_seal *seal,
                     const struct trace_segment *segment)
{
    for (; walk->sink.command < seal->segment_count; walk->sink.command++) {
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
                        .sink = {.visit = tell_hazards, .user = hazards},
                        .kernel = {.mode = mode, .user = user}};
    walk_all(&walk, seal, segment);
}

void trace_each_access(const struct trace_command_buffer_seal *seal,
                       const struct trace_segment *segment, trace_binding_mode *mode, void *user,
                       trace_access_visit *visit, void *visit_user)
{
    struct walk walk = {.sink = {.visit = visit, .user = visit_user},
                        .kernel = {.mode = mode, .user = user}};
    walk_all(&walk, seal, segment);
}
