/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes messages in one pass: a length is known only after its payload, which moves for it. */
#include "format/perfetto/wire.h"

#include <string.h>

enum {
    SNAPSHOT_CLOCKS = 1,
    SNAPSHOT_PRIMARY = 2,
    CLOCK_ID = 1,
    CLOCK_TIMESTAMP = 2,
    CLOCK_OF_WALL = 1,

    DESCRIPTOR_UUID = 1,
    DESCRIPTOR_NAME = 2,
    DESCRIPTOR_PROCESS = 3,
    DESCRIPTOR_THREAD = 4,
    DESCRIPTOR_PARENT = 5,
    DESCRIPTOR_COUNTER = 8,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
    COUNTER_UNIT = 3,
    UNIT_COUNT = 2,
    UNIT_BYTES = 3,

    STATE_CLEARED = 1,
};

/* A field's key, and a number behind it. */
static void put_field(struct trace_text *out, unsigned field, unsigned type, uint64_t value)
{
    uint8_t *to = (uint8_t *)trace_text_room(out, (size_t)2 * WIRE_VARINT_BYTES);
    if (to)
        out->bytes +=
            (size_t)(trace_wire_varint(trace_wire_varint(to, (uint64_t)field << 3 | type), value) -
                     to);
}

void trace_wire_number(struct trace_text *out, unsigned field, uint64_t value)
{
    put_field(out, field, WIRE_VARINT, value);
}

void trace_wire_fixed(struct trace_text *out, unsigned field, uint64_t value)
{
    uint8_t *to = (uint8_t *)trace_text_room(out, WIRE_VARINT_BYTES + sizeof value);
    if (!to)
        return;
    uint8_t *end = trace_wire_varint(to, (uint64_t)field << 3 | WIRE_FIXED64);
    memcpy(end, &value, sizeof value);
    out->bytes += (size_t)(end + sizeof value - to);
}

size_t trace_wire_begin(struct trace_text *out, unsigned field)
{
    put_field(out, field, WIRE_LENGTH, 0); /* which most lengths fit into */
    return out->bytes;
}

void trace_wire_end(struct trace_text *out, size_t begin)
{
    uint8_t length[WIRE_VARINT_BYTES];
    const size_t bytes = out->bytes - begin;
    const size_t more = (size_t)(trace_wire_varint(length, bytes) - length) - 1;
    if (out->is_failed || !trace_text_room(out, more))
        return;
    if (more)
        memmove(out->data + begin + more, out->data + begin, bytes);
    memcpy(out->data + begin - 1, length, more + 1);
    out->bytes += more;
}

void trace_wire_string(struct trace_text *out, unsigned field, const char *text)
{
    const size_t begin = trace_wire_begin(out, field);
    for (size_t left = strlen(text); left;) {
        size_t valid = 0, length;
        while (valid < left && (length = trace_utf8_length(text + valid, left - valid)))
            valid += length;
        trace_text_append(out, text, valid);
        if (valid < left)
            trace_text_append(out, "\xEF\xBF\xBD", 3);
        text += valid + (valid < left);
        left -= valid + (valid < left);
    }
    trace_wire_end(out, begin);
}

/* ---- Packets ------------------------------------------------------------------------------- */

/* What is not there is 0. */
static void put_nonzero(struct trace_text *out, unsigned field, uint64_t value)
{
    if (value)
        trace_wire_number(out, field, value);
}

static void put_clock(struct trace_text *out, uint64_t id, int64_t ns)
{
    const size_t clock = trace_wire_begin(out, SNAPSHOT_CLOCKS);
    trace_wire_number(out, CLOCK_ID, id);
    put_nonzero(out, CLOCK_TIMESTAMP, (uint64_t)ns);
    trace_wire_end(out, clock);
}

void trace_wire_clocks(struct trace_text *out, const struct trace_header *header)
{
    const size_t packet = trace_wire_begin(out, WIRE_TRACE_PACKET);
    const size_t snapshot = trace_wire_begin(out, WIRE_PACKET_CLOCK_SNAPSHOT);
    put_clock(out, WIRE_CLOCK, header->start_ns);
    put_clock(out, CLOCK_OF_WALL, header->start_wall_ns);
    trace_wire_number(out, SNAPSHOT_PRIMARY, WIRE_CLOCK);
    trace_wire_end(out, snapshot);
    put_nonzero(out, WIRE_PACKET_TIMESTAMP, header->start_ns > 0 ? (uint64_t)header->start_ns : 0);
    trace_wire_number(out, WIRE_PACKET_SEQUENCE, WIRE_SEQUENCE);
    trace_wire_number(out, WIRE_PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
    trace_wire_number(out, WIRE_PACKET_CLOCK, WIRE_CLOCK);
    trace_wire_end(out, packet);
}

static void put_process(struct trace_text *out, const struct trace_wire_track *track)
{
    const size_t process = trace_wire_begin(out, DESCRIPTOR_PROCESS);
    put_nonzero(out, PROCESS_PID, (uint64_t)(int32_t)track->process_id);
    if (*track->name)
        trace_wire_string(out, PROCESS_NAME, track->name);
    trace_wire_end(out, process);
}

static void put_thread(struct trace_text *out, const struct trace_wire_track *track)
{
    const size_t thread = trace_wire_begin(out, DESCRIPTOR_THREAD);
    put_nonzero(out, THREAD_PID, (uint64_t)(int32_t)track->process_id);
    put_nonzero(out, THREAD_TID, (uint64_t)(int32_t)track->thread_id);
    if (*track->name)
        trace_wire_string(out, THREAD_NAME, track->name);
    trace_wire_end(out, thread);
}

static void put_counter(struct trace_text *out, const struct trace_wire_track *track)
{
    const size_t counter = trace_wire_begin(out, DESCRIPTOR_COUNTER);
    trace_wire_number(out, COUNTER_UNIT, track->in_bytes ? UNIT_BYTES : UNIT_COUNT);
    trace_wire_end(out, counter);
}

void trace_wire_track(struct trace_text *out, const struct trace_wire_track *track)
{
    const size_t packet = trace_wire_begin(out, WIRE_TRACE_PACKET);
    trace_wire_number(out, WIRE_PACKET_SEQUENCE, WIRE_SEQUENCE);
    const size_t descriptor = trace_wire_begin(out, WIRE_PACKET_TRACK_DESCRIPTOR);
    trace_wire_number(out, DESCRIPTOR_UUID, track->id);
    if (track->kind == WIRE_PROCESS)
        put_process(out, track);
    else if (track->kind == WIRE_THREAD)
        put_thread(out, track);
    else
        trace_wire_string(out, DESCRIPTOR_NAME, track->name);
    if (track->kind != WIRE_PROCESS)
        trace_wire_number(out, DESCRIPTOR_PARENT, WIRE_PROCESS_TRACK);
    if (track->kind == WIRE_COUNTER)
        put_counter(out, track);
    trace_wire_end(out, descriptor);
    trace_wire_end(out, packet);
}
