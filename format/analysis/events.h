/* SPDX-License-Identifier: Apache-2.0 */
/* The subject of each kind of event and what the event does to it, for code common to kinds. */
#ifndef FORMAT_ANALYSIS_EVENTS_H
#define FORMAT_ANALYSIS_EVENTS_H

#include "format/record.h"

enum trace_subject {
    TRACE_OF_OTHERS, /* several objects, any object, or none */
    TRACE_OF_BUFFER,
    TRACE_OF_SUBSPAN,
    TRACE_OF_EXECUTABLE,
    TRACE_OF_COMMAND_BUFFER,
    TRACE_OF_SEMAPHORE,
    TRACE_OF_EVENT,
    TRACE_OF_LAYOUT,
    TRACE_OF_CHANNEL,
};

enum trace_deed {
    TRACE_TELLS, /* adds information */
    TRACE_CREATES,
    TRACE_DESTROYS,
    TRACE_MAPS, /* or unmaps, flushes, invalidates */
    TRACE_USES,
};

struct trace_event_traits {
    enum trace_subject subject;
    enum trace_deed deed;
    uint32_t object_at; /* offset of the object's id in the record; 0: no single object */
};

struct trace_event_traits trace_event_traits(uint32_t kind);

/* The id of the event's object; 0: the event has no single object. */
uint64_t trace_event_object(const struct trace_event *event);

#endif
