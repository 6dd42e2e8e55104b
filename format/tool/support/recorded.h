/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace has recorded so far, for tools that show executions: the dispatches and debug groups
 * of command buffers, and kernel names. */
#ifndef FORMAT_TOOL_RECORDED_H
#define FORMAT_TOOL_RECORDED_H

#include "format/base/arena.h"
#include "format/tool/support/table.h"
#include "format/trace.h"

struct recorded_group {
    uint32_t label, depth;
    uint32_t first_dispatch, end_dispatch;
    bool is_all; /* contains all commands */
};

struct recorded_commands {
    struct trace_dispatched *dispatches;
    struct recorded_group *groups;
    uint32_t dispatch_count, group_count;
};

struct recorded {
    struct trace_reader *reader; /* borrowed */
    struct trace_arena arena;
    struct tool_table commands, executables;
};

void recorded_init(struct recorded *recorded, struct trace_reader *reader);
void recorded_finish(struct recorded *recorded);

/* Takes any event. HAL_NO_MEMORY. */
enum hal_status recorded_take(struct recorded *recorded, const struct trace_event *event,
                              const struct trace_segment *segments) HAL_CHECKED;

/* NULL: not recorded. Valid until the next event is taken. */
const struct recorded_commands *recorded_commands(const struct recorded *recorded,
                                                  uint64_t command_buffer);

/* "dispatch" if the kernel has no name. */
const char *recorded_kernel(const struct recorded *recorded,
                            const struct trace_dispatched *dispatch);

#endif
