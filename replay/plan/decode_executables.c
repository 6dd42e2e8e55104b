/* SPDX-License-Identifier: Apache-2.0 */
/* Executables, and the layouts that their entry points name. */
#include "replay/plan/decode.h"

#include "format/analysis/reflection.h"
#include "format/limits.h"
#include "hal/base/text.h"

/* What the trace asks of its device. */
void replay_decode_note_constants(struct replay_decoder *decoder, uint32_t bytes)
{
    if (bytes > decoder->plan->info.largest_constant_bytes)
        decoder->plan->info.largest_constant_bytes = bytes;
}

static void note_group(struct replay_plan_info *info, const uint32_t size[3])
{
    uint64_t threads = 1;
    for (size_t i = 0; i < 3; i++) {
        if (size[i] > info->largest_group_size[i])
            info->largest_group_size[i] = size[i];
        if (__builtin_mul_overflow(threads, size[i], &threads) || threads > UINT32_MAX)
            threads = UINT32_MAX;
    }
    if (threads > info->largest_group_threads)
        info->largest_group_threads = (uint32_t)threads;
}

static enum hal_status check_format(uint32_t format)
{
    if (format >= HAL_FORMAT_MSL && format <= HAL_FORMAT_SPIRV)
        return HAL_OK;
    return hal_fail(HAL_CORRUPT, "executable format %u does not exist", format);
}

/* Those that the device did not take: another one may. */
static enum hal_status use_variants(struct replay_decoder *decoder,
                                    struct trace_executable_create *event)
{
    struct trace_variant *variants =
        (struct trace_variant *)(void *)(event->entry_points + event->entry_point_count);
    if (event->variant_count >= HAL_MAX_VARIANTS)
        return hal_fail(HAL_CORRUPT, "the executable has %s, the limit is %d",
                        hal_count(event->variant_count, "more variant", "more variants").text,
                        HAL_MAX_VARIANTS - 1);
    for (uint32_t i = 0; i < event->variant_count; i++) {
        HAL_TRY(check_format(variants[i].format));
        HAL_TRY(replay_decode_content(decoder, &variants[i].content, variants[i].size));
    }
    return HAL_OK;
}

enum hal_status replay_decode_executable(struct replay_decoder *decoder,
                                         struct trace_executable_create *event)
{
    HAL_TRY(check_format(event->format));
    if (event->entry_point_count == 0 || event->entry_point_count > TRACE_MAX_ENTRY_POINTS)
        return hal_fail(HAL_CORRUPT, "the executable has %u entry points",
                        event->entry_point_count);
    struct trace_entry_point *points = event->entry_points;
    struct replay_object *layout;
    for (uint32_t i = 0; i < event->entry_point_count; i++) {
        const char *name = trace_reader_string(decoder->plan->reader, points[i].name);
        if (!name || !name[0])
            return hal_fail(HAL_CORRUPT, "entry point %u has no name", i);
        if (!points[i].group_size[0] || !points[i].group_size[1] || !points[i].group_size[2])
            return hal_fail(HAL_CORRUPT, "entry point %u ('%s') has workgroups of 0 threads", i,
                            name);
        if (points[i].constant_bytes > HAL_MAX_CONSTANT_BYTES)
            return hal_fail(HAL_CORRUPT, "entry point %u ('%s') takes %s of constants", i, name,
                            hal_count(points[i].constant_bytes, "byte", "bytes").text);
        if (points[i].layout)
            HAL_TRY(replay_decode_use(decoder, REPLAY_PIPELINE_LAYOUT, &points[i].layout, &layout));
    }
    if (!trace_reflection_is_sound(event))
        return hal_fail(
            HAL_CORRUPT,
            "the %s of the executable's %u entry points are not in order, or beyond the limits",
            hal_count(event->binding_count, "binding", "bindings").text, event->entry_point_count);
    for (uint32_t i = 0; i < event->entry_point_count; i++) {
        note_group(&decoder->plan->info, points[i].group_size);
        replay_decode_note_constants(decoder, points[i].constant_bytes);
    }
    const struct trace_constant *constants = trace_executable_constants(event);
    for (uint32_t i = 0; i < event->constant_count; i++) {
        if (constants[i].type < HAL_CONSTANT_BOOL || constants[i].type > HAL_CONSTANT_UINT64)
            return hal_fail(HAL_CORRUPT, "specialization constant %u has type %u",
                            constants[i].index, constants[i].type);
    }
    HAL_TRY(replay_decode_content(decoder, &event->content, event->size));
    HAL_TRY(use_variants(decoder, event));
    HAL_TRY(replay_decode_add(decoder, REPLAY_EXECUTABLE, &event->executable, &event->head));
    return replay_decode_push(decoder, REPLAY_CREATE_EXECUTABLE, event->executable, &event->head);
}

/* A layout is there before anything else, and lives as long as the plan's player. */
enum hal_status replay_decode_set_layout(struct replay_decoder *decoder,
                                         struct trace_set_layout_create *event)
{
    const uint32_t flags = HAL_BINDING_READ_ONLY | HAL_BINDING_DYNAMIC;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < event->binding_count; i++) {
        const struct trace_layout_binding *binding = &event->bindings[i];
        if (binding->index >= HAL_MAX_BINDINGS || seen >> binding->index & 1)
            return hal_fail(HAL_CORRUPT, "binding %u exists twice, or exceeds the limit of %d",
                            binding->index, HAL_MAX_BINDINGS);
        if ((binding->kind != HAL_BINDING_STORAGE && binding->kind != HAL_BINDING_UNIFORM) ||
            binding->flags & ~flags)
            return hal_fail(HAL_CORRUPT, "binding %u has kind %u and flags 0x%x", binding->index,
                            binding->kind, binding->flags);
        seen |= UINT32_C(1) << binding->index;
    }
    return replay_decode_add(decoder, REPLAY_SET_LAYOUT, &event->layout, &event->head);
}

enum hal_status replay_decode_pipeline_layout(struct replay_decoder *decoder,
                                              struct trace_pipeline_layout_create *event)
{
    struct replay_object *set;
    if (event->constant_bytes > HAL_MAX_CONSTANT_BYTES || event->constant_bytes % 4)
        return hal_fail(HAL_CORRUPT, "%s of constants",
                        hal_count(event->constant_bytes, "byte", "bytes").text);
    for (uint32_t i = 0; i < event->set_count; i++)
        HAL_TRY(replay_decode_use(decoder, REPLAY_SET_LAYOUT, &event->sets[i], &set));
    replay_decode_note_constants(decoder, event->constant_bytes);
    return replay_decode_add(decoder, REPLAY_PIPELINE_LAYOUT, &event->layout, &event->head);
}

enum hal_status replay_decode_layout_destroy(struct replay_decoder *decoder, enum replay_kind kind,
                                             struct trace_object_event *event)
{
    struct replay_object *layout;
    HAL_TRY(replay_decode_use(decoder, kind, &event->object, &layout));
    layout->destroyed = true;
    return HAL_OK;
}
