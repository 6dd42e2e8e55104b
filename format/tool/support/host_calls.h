/* SPDX-License-Identifier: Apache-2.0 */
/* Distinguishes the program's own transfers from events of contents between the begin and the end
 * of a host call on the same thread, which files and collectives caused. */
#ifndef FORMAT_TOOL_HOST_CALLS_H
#define FORMAT_TOOL_HOST_CALLS_H

#include "format/tool/support/table.h"
#include "format/trace.h"

struct host_calls {
    struct tool_table open; /* per thread: nesting depth */
};

static inline void host_calls_init(struct host_calls *calls)
{
    *calls = (struct host_calls){.open = {.row_bytes = sizeof(uint32_t)}};
}

static inline void host_calls_finish(struct host_calls *calls)
{
    tool_table_finish(&calls->open);
}

/* Takes any event, in thread order. HAL_NO_MEMORY. */
HAL_CHECKED static inline enum hal_status host_calls_take(struct host_calls *calls,
                                                          const struct trace_event *event)
{
    if (event->kind != TRACE_HOST_CALL_BEGIN && event->kind != TRACE_HOST_CALL_END)
        return HAL_OK;
    uint32_t *open = tool_table_add(&calls->open, event->thread);
    if (!open)
        return hal_fail(HAL_NO_MEMORY, "no memory for the calls of thread %u", event->thread);
    if (event->kind == TRACE_HOST_CALL_BEGIN)
        ++*open;
    else if (*open)
        --*open;
    return HAL_OK;
}

/* Whether the event is inside a host call. */
static inline bool host_calls_hold(const struct host_calls *calls, const struct trace_event *event)
{
    const uint32_t *open = tool_table_find(&calls->open, event->thread);
    return open && *open;
}

#endif
