/* SPDX-License-Identifier: Apache-2.0 */
/* Prints records of all kinds as text or JSON, by the tables of format/columns/layout.h. */
#ifndef FORMAT_TOOL_PRINT_H
#define FORMAT_TOOL_PRINT_H

#include "format/base/json.h"
#include "format/columns/layout.h"
#include "format/columns/names.h"
#include "format/trace.h"

struct tool_printer {
    const struct trace_reader *reader;
    int64_t origin_ns; /* of the reader: times are printed as since then */
    struct trace_text text;
    bool as_json;
    bool brief; /* text: only significant fields, objects by name */
    /* Appends an object's name to the text; NULL: objects are numbered. Text only. */
    void (*name)(void *user, struct trace_text *text, uint64_t object);
    void *user;
    /* Private: the names for each column, by address. */
    struct tool_known_names {
        const struct trace_layout *layout;
        const struct trace_column *column;
        const struct trace_names *names;
    } known[256];
};

/* The fields of a record, as " queue=1 waits=[...]" or as members of an object. */
void tool_print_record(struct tool_printer *printer, const struct trace_layout *layout,
                       const void *record);

/* The first line of events as JSON: the origin that makes their times absolute. */
void tool_print_origin_json(struct tool_printer *printer);

/* One event as a complete JSON object, without its segments. */
void tool_print_event_json(struct tool_printer *printer, const struct trace_event *event);

/* The trace does not say when the event happened. */
static inline bool tool_has_no_time(const struct trace_event *event)
{
    return !event->begin_ns && !event->end_ns;
}

/* Wraps around: hostile times may overflow. */
static inline int64_t tool_since(int64_t begin_ns, int64_t end_ns)
{
    return (int64_t)((uint64_t)end_ns - (uint64_t)begin_ns);
}

#endif
