/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/named.h"

#include "hal/base/mem.h"

#include <stdio.h>

static bool is_there(const struct replay_plan *const *plans, size_t count, const char *name)
{
    bool found = false;
    for (size_t k = 0; k < count; k++)
        for (uint32_t i = 1; i < plans[k]->object_count && !found; i++)
            found = replay_buffer_is_called(plans[k], i, name);
    return found;
}

static enum hal_status refuse_name(size_t plans, const char *name)
{
    return hal_fail(HAL_NOT_FOUND, "the %s no buffer '%s'", plans > 1 ? "traces have" : "trace has",
                    name);
}

/* ---- What the host writes -------------------------------------------------------------------- */

static void mark_written(const struct replay_plan *plan, bool *written)
{
    for (size_t i = 0; i < plan->op_count; i++) {
        const struct trace_content_event *event = (const void *)plan->ops[i].event;
        if (plan->ops[i].action == REPLAY_WRITE)
            written[event->buffer] = true;
    }
}

static bool is_any_written(const struct replay_plan *plan, const bool *written, const char *name)
{
    bool found = false;
    for (uint32_t i = 1; i < plan->object_count && !found; i++)
        found = written[i] && replay_buffer_is_called(plan, i, name);
    return found;
}

/* One that the host writes and a command copies into one of that name; 0: none. */
static uint32_t find_source(const struct replay_plan *plan, const bool *written, const char *name)
{
    for (uint32_t i = 1; i < plan->object_count; i++) {
        const struct replay_object *object = &plan->objects[i];
        if (object->kind != REPLAY_COMMANDS || !object->commands.seal)
            continue;
        const struct trace_segment *segment = object->commands.segments;
        for (uint32_t k = 0; k < object->commands.seal->segment_count; k++) {
            const struct trace_copy *copy = (const void *)segment;
            if (segment->kind == TRACE_COPY && written[copy->source] &&
                replay_buffer_is_called(plan, (uint32_t)copy->target, name))
                return (uint32_t)copy->source;
            segment = trace_next_segment(segment);
        }
    }
    return 0;
}

static enum hal_status refuse_unwritten(const struct replay_plan *plan, const bool *written,
                                        const char *name)
{
    char source_name[REPLAY_NAME_BYTES], hint[REPLAY_NAME_BYTES + 64] = "";
    const uint32_t source = find_source(plan, written, name);
    if (source)
        snprintf(hint, sizeof hint, "; it is filled by copies from %s",
                 replay_object_name(plan, source, source_name));
    return hal_fail(HAL_UNSUPPORTED,
                    "the host never writes into buffer '%s', so nothing would be replaced%s", name,
                    hint);
}

static enum hal_status check_written(const struct replay_plan *plan, const char *name)
{
    bool *written = hal_alloc(plan->object_count, sizeof *written);
    if (!written)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu objects", plan->object_count);
    mark_written(plan, written);
    const enum hal_status status =
        is_any_written(plan, written, name) ? HAL_OK : refuse_unwritten(plan, written, name);
    free(written);
    return status;
}

static enum hal_status check_substitute(const struct replay_plan *const *plans, size_t count,
                                        const char *name)
{
    enum hal_status status = HAL_UNSUPPORTED;
    if (!is_there(plans, count, name))
        return refuse_name(count, name);
    for (size_t i = 0; i < count && status == HAL_UNSUPPORTED; i++)
        status = check_written(plans[i], name);
    return status;
}

/* ---- All ------------------------------------------------------------------------------------- */

enum hal_status replay_names_check(const struct replay_plan *const *plans, size_t count,
                                   const struct replay_options *options)
{
    for (size_t i = 0; i < options->type_count; i++) {
        const char *const name = options->types[i].buffer; /* NULL: all */
        if (name && !is_there(plans, count, name))
            return hal_add_context(refuse_name(count, name), "--type");
    }
    for (size_t i = 0; i < options->buffer_count; i++)
        HAL_TRY(hal_add_context(check_substitute(plans, count, options->buffers[i].buffer),
                                "--substitute-buffer"));
    return HAL_OK;
}
