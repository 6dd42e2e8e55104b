/* SPDX-License-Identifier: Apache-2.0 */
#include "format/analysis/segments.h"

#include "hal/base/mem.h"

enum { stage_transfer = 1, stage_dispatch = 2 }; /* enum hal_stage */
enum { set_limit = 4 };                          /* HAL_MAX_SETS */

struct walk {
    struct trace_hazards *hazards;
    trace_binding_mode *mode;
    void *user;
    uint32_t command;
    const struct trace_push_descriptor_set *sets[set_limit]; /* NULL: nothing pushed */
};

static uint64_t end_of(uint64_t offset, uint64_t size)
{
    uint64_t end;
    return hal_add_u64(offset, size, &end) ? end : UINT64_MAX;
}

static void touch(const struct walk *walk, uint32_t stage, enum trace_access_mode mode,
                  uint64_t buffer, uint64_t offset, uint64_t size)
{
    trace_hazards_access(walk->hazards, &(struct trace_access){.command = walk->command,
                                                               .stage = stage,
                                                               .mode = mode,
                                                               .buffer = buffer,
                                                               .begin = offset,
                                                               .end = end_of(offset, size)});
}

static void barrier(const struct walk *walk, const struct trace_barrier *segment)
{
    struct trace_ordered_range few[16], *ranges = few;
    if (segment->buffer_count > sizeof few / sizeof *few)
        ranges = hal_alloc(segment->buffer_count, sizeof *ranges);
    if (!ranges) {
        walk->hazards->failed = true;
        return;
    }
    for (uint32_t i = 0; i < segment->buffer_count; i++) {
        const struct trace_buffer_barrier *buffer = &segment->buffers[i];
        ranges[i] = (struct trace_ordered_range){buffer->buffer, buffer->offset,
                                                 end_of(buffer->offset, buffer->size)};
    }
    trace_hazards_barrier(walk->hazards,
                          &(struct trace_ordering){.command = walk->command,
                                                   .source = walk->command,
                                                   .source_stages = segment->source_stages,
                                                   .target_stages = segment->target_stages,
                                                   .ranges = ranges,
                                                   .range_count = segment->buffer_count});
    if (ranges != few)
        free(ranges);
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
    case TRACE_PUSH_CONSTANTS:
    case TRACE_DEBUG_BEGIN:
    case TRACE_DEBUG_END: break; /* touch no memory */
    }
}

void trace_hazards_segments(struct trace_hazards *hazards,
                            const struct trace_command_buffer_seal *seal, trace_binding_mode *mode,
                            void *user)
{
    struct walk walk = {.hazards = hazards, .mode = mode, .user = user};
    const struct trace_segment *segment = (const struct trace_segment *)(const void *)(seal + 1);
    for (; walk.command < seal->segment_count; walk.command++) {
        step(&walk, segment);
        segment = trace_next_segment(segment);
    }
}
