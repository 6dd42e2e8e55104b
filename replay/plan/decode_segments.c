/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the commands of an ended command buffer. */
#include "replay/plan/decode.h"

#include "hal/base/mem.h"
#include "hal/base/text.h"

#include <inttypes.h>

static enum hal_status use_range(struct replay_decoder *decoder, uint64_t *buffer, uint64_t offset,
                                 uint64_t size)
{
    struct replay_object *object;
    return replay_decode_range(decoder, buffer, offset, size, &object);
}

static enum hal_status check_access(uint32_t source_access, uint32_t target_access)
{
    const uint32_t bits = HAL_ACCESS_READ | HAL_ACCESS_WRITE;
    if ((source_access | target_access) & ~bits)
        return hal_fail(HAL_CORRUPT, "accesses 0x%x and 0x%x do not exist", source_access,
                        target_access);
    return HAL_OK;
}

static enum hal_status check_stages(uint32_t source_stages, uint32_t target_stages)
{
    if ((source_stages | target_stages) & ~(uint32_t)HAL_STAGE_ALL)
        return hal_fail(HAL_CORRUPT, "stages 0x%x and 0x%x do not exist", source_stages,
                        target_stages);
    return HAL_OK;
}

static enum hal_status decode_buffer_barriers(struct replay_decoder *decoder,
                                              struct trace_buffer_barrier *barriers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        HAL_TRY(check_access(barriers[i].source_access, barriers[i].target_access));
        HAL_TRY(use_range(decoder, &barriers[i].buffer, barriers[i].offset, barriers[i].size));
    }
    if (count > decoder->plan->max_list)
        decoder->plan->max_list = count;
    return HAL_OK;
}

static enum hal_status decode_barrier(struct replay_decoder *decoder, struct trace_barrier *segment)
{
    HAL_TRY(check_stages(segment->source_stages, segment->target_stages));
    HAL_TRY(check_access(segment->source_access, segment->target_access));
    return decode_buffer_barriers(decoder, segment->buffers, segment->buffer_count);
}

/* Recording it again will check that each wait has its signal. */
static enum hal_status decode_events_wait(struct replay_decoder *decoder,
                                          struct trace_events_wait *segment)
{
    struct replay_object *event;
    HAL_TRY(check_stages(segment->source_stages, segment->target_stages));
    HAL_TRY(check_access(segment->source_access, segment->target_access));
    HAL_TRY(decode_buffer_barriers(decoder, segment->buffers, segment->buffer_count));
    for (uint32_t i = 0; i < segment->event_count; i++)
        HAL_TRY(replay_decode_use(decoder, REPLAY_EVENT, &trace_waited_events(segment)[i], &event));
    if (segment->event_count > decoder->plan->max_list)
        decoder->plan->max_list = segment->event_count;
    return HAL_OK;
}

static enum hal_status decode_event_command(struct replay_decoder *decoder,
                                            struct trace_event_command *segment)
{
    struct replay_object *event;
    HAL_TRY(check_stages(segment->source_stages, 0));
    return replay_decode_use(decoder, REPLAY_EVENT, &segment->event, &event);
}

static enum hal_status decode_fill(struct replay_decoder *decoder, struct trace_fill *segment)
{
    const uint32_t width = segment->pattern_bytes;
    if (width != 1 && width != 2 && width != 4)
        return hal_fail(HAL_CORRUPT, "a pattern of %s", hal_count(width, "byte", "bytes").text);
    return use_range(decoder, &segment->target, segment->offset, segment->size);
}

static enum hal_status decode_copy(struct replay_decoder *decoder, struct trace_copy *segment)
{
    HAL_TRY(use_range(decoder, &segment->source, segment->source_offset, segment->size));
    HAL_TRY(use_range(decoder, &segment->target, segment->target_offset, segment->size));
    const uint64_t low = segment->source_offset < segment->target_offset ? segment->source_offset
                                                                         : segment->target_offset;
    const uint64_t apart = segment->source_offset + segment->target_offset - 2 * low;
    if (segment->source == segment->target && apart < segment->size)
        return hal_fail(HAL_CORRUPT,
                        "%s from %" PRIu64 " to %" PRIu64 " of the same buffer overlap",
                        hal_count(segment->size, "byte", "bytes").text, segment->source_offset,
                        segment->target_offset);
    return HAL_OK;
}

static enum hal_status decode_update(struct replay_decoder *decoder, struct trace_update *segment)
{
    if (segment->size > HAL_MAX_UPDATE_BYTES)
        return hal_fail(HAL_CORRUPT, "%s, the limit is %d",
                        hal_count(segment->size, "byte", "bytes").text, HAL_MAX_UPDATE_BYTES);
    return use_range(decoder, &segment->target, segment->offset, segment->size);
}

static enum hal_status decode_constants(struct replay_decoder *decoder,
                                        const struct trace_push_constants *segment)
{
    if (segment->offset % 4 || segment->size % 4 ||
        !hal_range_fits(segment->offset, segment->size, HAL_MAX_CONSTANT_BYTES))
        return hal_fail(HAL_CORRUPT, "%s at %u, of %d in units of 4",
                        hal_count(segment->size, "byte", "bytes").text, segment->offset,
                        HAL_MAX_CONSTANT_BYTES);
    replay_decode_note_constants(decoder, segment->offset + segment->size);
    return HAL_OK;
}

static enum hal_status decode_descriptor_set(struct replay_decoder *decoder,
                                             struct trace_push_descriptor_set *segment)
{
    if (segment->set >= HAL_MAX_SETS || segment->binding_count > HAL_MAX_BINDINGS)
        return hal_fail(HAL_CORRUPT, "set %u with %s, the limits are %d and %d", segment->set,
                        hal_count(segment->binding_count, "binding", "bindings").text, HAL_MAX_SETS,
                        HAL_MAX_BINDINGS);
    for (uint32_t i = 0; i < segment->binding_count; i++) {
        struct trace_binding *binding = &segment->bindings[i];
        if (binding->buffer)
            HAL_TRY(hal_add_context(
                use_range(decoder, &binding->buffer, binding->offset, binding->size), "binding %u",
                i));
    }
    return HAL_OK;
}

static enum hal_status decode_kernel(struct replay_decoder *decoder, uint64_t *executable,
                                     uint32_t entry)
{
    struct replay_object *object;
    char name[REPLAY_NAME_BYTES];
    HAL_TRY(replay_decode_use(decoder, REPLAY_EXECUTABLE, executable, &object));
    const struct trace_executable_create *created = (const void *)object->created;
    if (entry >= created->entry_point_count)
        return hal_fail(HAL_CORRUPT, "entry point %u of %s, which has %u", entry,
                        replay_object_name(decoder->plan, (uint32_t)*executable, name),
                        created->entry_point_count);
    return HAL_OK;
}

static enum hal_status decode_dispatch_indirect(struct replay_decoder *decoder,
                                                struct trace_dispatch_indirect *segment)
{
    const uint64_t counts_bytes = 3 * sizeof(uint32_t);
    HAL_TRY(decode_kernel(decoder, &segment->executable, segment->entry));
    if (segment->offset % 4)
        return hal_fail(HAL_CORRUPT, "counts at offset %" PRIu64 ", which is not a multiple of 4",
                        segment->offset);
    return use_range(decoder, &segment->counts, segment->offset, counts_bytes);
}

static enum hal_status decode_segment(struct replay_decoder *decoder, struct trace_segment *head,
                                      uint32_t *debug_depth)
{
    void *segment = head;
    switch ((enum trace_segment_kind)head->kind) {
    case TRACE_BARRIER: return decode_barrier(decoder, segment);
    case TRACE_FILL: return decode_fill(decoder, segment);
    case TRACE_COPY: return decode_copy(decoder, segment);
    case TRACE_UPDATE: return decode_update(decoder, segment);
    case TRACE_PUSH_CONSTANTS: return decode_constants(decoder, segment);
    case TRACE_PUSH_DESCRIPTOR_SET: return decode_descriptor_set(decoder, segment);
    case TRACE_DISPATCH: {
        struct trace_dispatch *dispatch = segment;
        return decode_kernel(decoder, &dispatch->executable, dispatch->entry);
    }
    case TRACE_DISPATCH_INDIRECT: return decode_dispatch_indirect(decoder, segment);
    case TRACE_EVENT_SIGNAL:
    case TRACE_EVENT_RESET: return decode_event_command(decoder, segment);
    case TRACE_EVENTS_WAIT: return decode_events_wait(decoder, segment);
    case TRACE_DEBUG_BEGIN: (*debug_depth)++; return HAL_OK;
    case TRACE_DEBUG_END:
        if ((*debug_depth)-- == 0)
            return hal_fail(HAL_CORRUPT, "no debug group is open");
        return HAL_OK;
    }
    return hal_fail(HAL_CORRUPT, "segment kind %u is unknown", head->kind);
}

enum hal_status replay_decode_segments(struct replay_decoder *decoder,
                                       const struct trace_command_buffer_seal *seal,
                                       struct trace_segment *segments)
{
    struct trace_segment *segment = segments;
    uint32_t debug_depth = 0, dispatches = 0;
    for (uint32_t i = 0; i < seal->segment_count; i++) {
        const enum hal_status status = decode_segment(decoder, segment, &debug_depth);
        if (status != HAL_OK)
            return hal_add_context(status, "segment %u (%s)", i, trace_segment_name(segment->kind));
        dispatches += trace_is_dispatch(segment->kind);
        segment = (void *)((uint8_t *)segment + segment->bytes);
    }
    if (dispatches != seal->dispatch_count)
        return hal_fail(HAL_CORRUPT, "%s, but %u are counted",
                        hal_count(dispatches, "dispatch", "dispatches").text, seal->dispatch_count);
    return HAL_OK;
}
