/* SPDX-License-Identifier: Apache-2.0 */
#include "format/tool/support/recorded.h"

void recorded_init(struct recorded *recorded, struct trace_reader *reader)
{
    *recorded =
        (struct recorded){.reader = reader,
                          .commands = {.row_bytes = sizeof(struct recorded_commands)},
                          .executables = {.row_bytes = sizeof(struct trace_executable_create *)}};
    trace_arena_init(&recorded->arena, SIZE_MAX);
}

void recorded_finish(struct recorded *recorded)
{
    tool_table_finish(&recorded->commands);
    tool_table_finish(&recorded->executables);
    trace_arena_finish(&recorded->arena);
}

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for what the trace has recorded");
}

/* Sizes first, then both lists. */
static void count_commands(const struct trace_command_buffer_seal *seal,
                           const struct trace_segment *segment, struct recorded_commands *commands)
{
    for (uint32_t i = 0; i < seal->segment_count; i++, segment = trace_next_segment(segment)) {
        commands->dispatch_count += trace_is_dispatch(segment->kind);
        commands->group_count += segment->kind == TRACE_DEBUG_BEGIN;
    }
}

static void list_commands(const struct trace_command_buffer_seal *seal,
                          const struct trace_segment *segment, struct recorded_commands *commands,
                          uint32_t *open)
{
    uint32_t dispatches = 0, groups = 0, depth = 0;
    for (uint32_t i = 0; i < seal->segment_count; i++, segment = trace_next_segment(segment)) {
        const void *any = segment;
        if (trace_is_dispatch(segment->kind)) {
            commands->dispatches[dispatches++] = trace_dispatched(segment);
        } else if (segment->kind == TRACE_DEBUG_BEGIN) {
            commands->groups[groups] =
                (struct recorded_group){.label = TRACE_AS(trace_debug, any)->label,
                                        .depth = depth,
                                        .first_dispatch = dispatches,
                                        .end_dispatch = UINT32_MAX,
                                        .is_all = i == depth};
            open[depth++] = groups++;
        } else if (segment->kind == TRACE_DEBUG_END && depth) {
            struct recorded_group *group = &commands->groups[open[--depth]];
            group->end_dispatch = dispatches;
            group->is_all &= i + depth + 1 == seal->segment_count;
        }
    }
}

static enum hal_status take_seal(struct recorded *recorded,
                                 const struct trace_command_buffer_seal *seal,
                                 const struct trace_segment *segments)
{
    struct recorded_commands commands = {0};
    struct recorded_commands *row = tool_table_add(&recorded->commands, seal->command_buffer);
    if (!row)
        return no_memory();
    count_commands(seal, segments, &commands);
    commands.dispatches =
        trace_arena_array(&recorded->arena, commands.dispatch_count, sizeof *commands.dispatches);
    commands.groups =
        trace_arena_array(&recorded->arena, commands.group_count, sizeof *commands.groups);
    uint32_t *open = hal_alloc(commands.group_count, sizeof *open);
    if (!commands.dispatches || !commands.groups || !open) {
        free(open);
        return no_memory();
    }
    list_commands(seal, segments, &commands, open);
    free(open);
    *row = commands;
    return HAL_OK;
}

static enum hal_status take_executable(struct recorded *recorded,
                                       const struct trace_executable_create *made)
{
    const struct trace_executable_create **row =
        tool_table_add(&recorded->executables, made->executable);
    void *copy = trace_arena_alloc(&recorded->arena, made->head.bytes);
    if (!row || !copy)
        return no_memory();
    memcpy(copy, made, made->head.bytes);
    *row = copy;
    return HAL_OK;
}

enum hal_status recorded_take(struct recorded *recorded, const struct trace_event *event,
                              const struct trace_segment *segments)
{
    const void *typed = event;
    if (event->kind == TRACE_COMMAND_BUFFER_SEAL)
        return take_seal(recorded, typed, segments);
    return event->kind == TRACE_EXECUTABLE_CREATE ? take_executable(recorded, typed) : HAL_OK;
}

const struct recorded_commands *recorded_commands(const struct recorded *recorded,
                                                  uint64_t command_buffer)
{
    return tool_table_find(&recorded->commands, command_buffer);
}

const char *recorded_kernel(const struct recorded *recorded,
                            const struct trace_dispatched *dispatch)
{
    const struct trace_executable_create *const *made =
        tool_table_find(&recorded->executables, dispatch->executable);
    const char *name =
        made && dispatch->entry < (*made)->entry_point_count
            ? trace_reader_string(recorded->reader, (*made)->entry_points[dispatch->entry].name)
            : NULL;
    return name && *name ? name : "dispatch";
}
