/* SPDX-License-Identifier: Apache-2.0 */
/* What the objects, kernels and calls of a plan are called. */
#include "replay/plan/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *replay_kind_name(enum replay_kind kind)
{
    switch (kind) {
    case REPLAY_BUFFER: return "buffer";
    case REPLAY_EXECUTABLE: return "executable";
    case REPLAY_COMMANDS: return "command buffer";
    case REPLAY_SEMAPHORE: return "semaphore";
    case REPLAY_EVENT: return "event";
    case REPLAY_SET_LAYOUT: return "set layout";
    case REPLAY_PIPELINE_LAYOUT: return "pipeline layout";
    }
    return "object";
}

static uint32_t label_of(const struct replay_object *object)
{
    const void *created = object->created;
    switch (object->kind) {
    case REPLAY_BUFFER: return TRACE_AS(trace_buffer_create, created)->label;
    case REPLAY_EXECUTABLE: return TRACE_AS(trace_executable_create, created)->label;
    case REPLAY_COMMANDS: return TRACE_AS(trace_command_buffer_create, created)->label;
    case REPLAY_EVENT: return TRACE_AS(trace_object_event, created)->label;
    case REPLAY_SET_LAYOUT: return TRACE_AS(trace_set_layout_create, created)->label;
    case REPLAY_PIPELINE_LAYOUT: return TRACE_AS(trace_pipeline_layout_create, created)->label;
    case REPLAY_SEMAPHORE: return TRACE_AS(trace_semaphore_create, created)->label;
    }
    return 0;
}

const char *replay_object_label(const struct replay_plan *plan, uint32_t index)
{
    const uint32_t label = label_of(&plan->objects[index]);
    const char *text = label ? trace_reader_string(plan->reader, label) : NULL;
    return text && text[0] ? text : NULL;
}

bool replay_buffer_is_called(const struct replay_plan *plan, uint32_t index, const char *name)
{
    const struct replay_type_rule rule = {name, REPLAY_U8};
    const struct replay_object *object = &plan->objects[index];
    return object->kind == REPLAY_BUFFER &&
           replay_type_of(&rule, 1, replay_object_label(plan, index), object->id) == rule.type;
}

const char *replay_object_name(const struct replay_plan *plan, uint32_t index,
                               char out[REPLAY_NAME_BYTES])
{
    const struct replay_object *object = &plan->objects[index];
    const char *label = replay_object_label(plan, index);
    if (label)
        snprintf(out, REPLAY_NAME_BYTES, "%s '%.100s'", replay_kind_name(object->kind), label);
    else
        snprintf(out, REPLAY_NAME_BYTES, "%s %" PRIu64, replay_kind_name(object->kind), object->id);
    return out;
}

const char *replay_kernel_name(const struct replay_plan *plan, const struct trace_segment *dispatch)
{
    const struct trace_dispatched run = trace_dispatched(dispatch);
    const struct trace_executable_create *created =
        (const void *)plan->objects[run.executable].created;
    return trace_reader_string(plan->reader, created->entry_points[run.entry].name);
}

const char *replay_event_name(const struct trace_event *event, char out[REPLAY_NAME_BYTES])
{
    if (event->kind == TRACE_SUBMIT)
        snprintf(out, REPLAY_NAME_BYTES, "submit #s%" PRIu64 " (ticket %" PRIu64 ")",
                 TRACE_AS(trace_submit, event)->submission, event->ticket);
    else
        snprintf(out, REPLAY_NAME_BYTES, "%s (ticket %" PRIu64 ")", trace_event_name(event->kind),
                 event->ticket);
    return out;
}

static bool is_called(const struct replay_plan *plan, uint32_t object, const char *name)
{
    const struct trace_executable_create *created = (const void *)plan->objects[object].created;
    const char *label = replay_object_label(plan, object);
    char number[32];
    snprintf(number, sizeof number, "#%" PRIu64, plan->objects[object].id);
    bool called = (label && strcmp(label, name) == 0) || strcmp(number, name) == 0;
    for (uint32_t i = 0; i < created->entry_point_count && !called; i++)
        called =
            strcmp(trace_reader_string(plan->reader, created->entry_points[i].name), name) == 0;
    return called;
}

const struct replay_substitute *replay_substitute_of(const struct replay_plan *plan,
                                                     uint32_t object,
                                                     const struct replay_substitute *list,
                                                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_called(plan, object, list[i].kernel))
            return &list[i];
    }
    return NULL;
}
