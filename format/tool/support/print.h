/* SPDX-License-Identifier: Apache-2.0 */
/* Records as text or JSON, by the tables of format/columns/layout.h: every kind by the same code.
 */
#ifndef FORMAT_TOOL_PRINT_H
#define FORMAT_TOOL_PRINT_H

#include "format/base/json.h"
#include "format/columns/layout.h"
#include "format/columns/names.h"
#include "format/trace.h"

struct tool_printer {
    const struct trace_reader *reader;
    struct trace_text text;
    bool as_json;
    bool brief; /* text: only what says something, each object by its name */
    /* How an object is called, appended to the text; NULL: by its number. Text only. */
    void (*name)(void *user, struct trace_text *text, uint64_t object);
    void *user;
    /* Private: which names belong to which column, by their addresses. */
    struct tool_known_names {
        const struct trace_layout *layout;
        const struct trace_column *column;
        const struct trace_names *names;
    } known[256];
};

/* The fields of a record behind each other: " queue=1 waits=[...]", or members of an object. */
void tool_print_record(struct tool_printer *printer, const struct trace_layout *layout,
                       const void *record);

/* One event as a whole JSON object, without its segments. */
void tool_print_event_json(struct tool_printer *printer, const struct trace_event *event);

/* Hostile times may not fit. */
static inline int64_t tool_since(int64_t begin_ns, int64_t end_ns)
{
    return (int64_t)((uint64_t)end_ns - (uint64_t)begin_ns);
}

#endif
