/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto's messages in their wire format, by the numbers of its published schema: the tracks and
 * clocks of any file, and what other messages are written with. */
#ifndef FORMAT_WIRE_H
#define FORMAT_WIRE_H

#include "format/base/json.h"
#include "format/trace.h"

enum trace_wire_number {
    WIRE_TRACE_PACKET = 1,

    WIRE_PACKET_CLOCK_SNAPSHOT = 6,
    WIRE_PACKET_TIMESTAMP = 8,
    WIRE_PACKET_SEQUENCE = 10,
    WIRE_PACKET_TRACK_EVENT = 11,
    WIRE_PACKET_SEQUENCE_FLAGS = 13,
    WIRE_PACKET_CLOCK = 58,
    WIRE_PACKET_TRACK_DESCRIPTOR = 60,

    WIRE_EVENT_ANNOTATIONS = 4,
    WIRE_EVENT_TYPE = 9,
    WIRE_EVENT_TRACK = 11,
    WIRE_EVENT_NAME = 23,
    WIRE_EVENT_COUNTER = 30,
    WIRE_EVENT_FLOWS = 47,
    WIRE_EVENT_ENDS = 48,

    WIRE_ANNOTATION_UINT = 3,
    WIRE_ANNOTATION_INT = 4,
    WIRE_ANNOTATION_STRING = 6,
    WIRE_ANNOTATION_NAME = 10,
    WIRE_ANNOTATION_MEMBERS = 11,
    WIRE_ANNOTATION_ELEMENTS = 12,
};

enum {
    WIRE_TYPE_BEGIN = 1,
    WIRE_TYPE_END = 2,
    WIRE_TYPE_INSTANT = 3,
    WIRE_TYPE_COUNTER = 4,

    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_LENGTH = 2,
    WIRE_VARINT_BYTES = 10, /* at most */

    WIRE_CLOCK = 3, /* monotonic */
    WIRE_SEQUENCE = 1,
    WIRE_PROCESS_TRACK = 1,
};

static inline uint8_t *trace_wire_varint(uint8_t *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    return to;
}

void trace_wire_number(struct trace_text *out, unsigned field, uint64_t value);
void trace_wire_fixed(struct trace_text *out, unsigned field, uint64_t value);
/* Strings of the schema are UTF-8: other bytes become U+FFFD. */
void trace_wire_string(struct trace_text *out, unsigned field, const char *text);
/* What is written between them is the message's. `begin` is what the first one returned. */
size_t trace_wire_begin(struct trace_text *out, unsigned field);
void trace_wire_end(struct trace_text *out, size_t begin);

enum trace_wire_track_kind { WIRE_PROCESS, WIRE_THREAD, WIRE_QUEUE, WIRE_COUNTER };

/* The track of a process is number WIRE_PROCESS_TRACK, and the parent of all others. */
struct trace_wire_track {
    uint64_t id;
    enum trace_wire_track_kind kind;
    const char *name; /* any bytes */
    uint64_t process_id, thread_id;
    bool in_bytes; /* of counters */
};

/* Packets. */
void trace_wire_clocks(struct trace_text *out, const struct trace_header *header);
void trace_wire_track(struct trace_text *out, const struct trace_wire_track *track);

#endif
