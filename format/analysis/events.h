/* SPDX-License-Identifier: Apache-2.0 */
/* What a kind of event is about and does to it, for programs that treat many kinds alike. */
#ifndef FORMAT_ANALYSIS_EVENTS_H
#define FORMAT_ANALYSIS_EVENTS_H

#include "format/record.h"

enum trace_subject {
    TRACE_OF_OTHERS, /* of several objects, of any, or of none */
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
    TRACE_TELLS, /* more about it */
    TRACE_CREATES,
    TRACE_DESTROYS,
    TRACE_MAPS, /* or unmaps, flushes, invalidates */
    TRACE_USES,
};

struct trace_event_traits {
    enum trace_subject subject;
    enum trace_deed deed;
    uint32_t object_at; /* where the record has the object's id; 0: it is about no single object */
};

struct trace_event_traits trace_event_traits(uint32_t kind);

/* The id of the object that the event is about; 0: it is about no single object. */
uint64_t trace_event_object(const struct trace_event *event);

#endif
