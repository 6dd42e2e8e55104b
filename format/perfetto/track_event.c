/* SPDX-License-Identifier: Apache-2.0 */
/* Packing by hand. */
#include "format/perfetto/track_event.h"

#include "format/perfetto/wire.h"

#include <string.h>

/* With a fixed bound for everything but texts; lengths of what is nested fit into two bytes. */
enum {
    FIXED_BYTES = 128,
    ARGUMENT_BYTES = 32,
    MOST_BYTES = FIXED_BYTES + TRACE_TRACK_EVENT_TEXT_BYTES +
                 TRACE_TRACK_EVENT_ARGUMENTS * (ARGUMENT_BYTES + 2 * TRACE_TRACK_EVENT_TEXT_BYTES),
};

static uint8_t *put_number(uint8_t *to, uint32_t field, uint64_t value)
{
    return trace_wire_varint(trace_wire_varint(to, field << 3 | WIRE_VARINT), value);
}

static uint8_t *put_bytes(uint8_t *to, uint32_t field, const void *bytes, size_t count)
{
    to = trace_wire_varint(trace_wire_varint(to, field << 3 | WIRE_LENGTH), count);
    memcpy(to, bytes, count);
    return to + count;
}

/* Cut between characters. */
static size_t text_bytes(const char *text)
{
    size_t count = strnlen(text, TRACE_TRACK_EVENT_TEXT_BYTES + 1);
    if (count <= TRACE_TRACK_EVENT_TEXT_BYTES)
        return count;
    count = TRACE_TRACK_EVENT_TEXT_BYTES;
    while (count > 0 && ((unsigned char)text[count] & 0xC0) == 0x80)
        count--;
    return count;
}

static uint8_t *put_text(uint8_t *to, uint32_t field, const char *text)
{
    return put_bytes(to, field, text, text_bytes(text));
}

static uint8_t *put_flow(uint8_t *to, uint32_t field, uint64_t flow)
{
    to = trace_wire_varint(to, field << 3 | WIRE_FIXED64);
    memcpy(to, &flow, sizeof flow); /* little-endian, as the whole file */
    return to + sizeof flow;
}

static uint8_t *put_argument(uint8_t *to, const struct trace_track_event_argument *argument)
{
    uint8_t body[ARGUMENT_BYTES + 2 * TRACE_TRACK_EVENT_TEXT_BYTES], *end = body;
    if (argument->text)
        end = put_text(end, WIRE_ANNOTATION_STRING, argument->text);
    else
        end = put_number(end, WIRE_ANNOTATION_UINT, argument->number);
    end = put_text(end, WIRE_ANNOTATION_NAME, argument->name);
    return put_bytes(to, WIRE_EVENT_ANNOTATIONS, body, (size_t)(end - body));
}

static enum hal_status append(struct trace_bytes *raw, int64_t time_ns, const uint8_t *event,
                              const uint8_t *event_end)
{
    uint8_t packet[MOST_BYTES + FIXED_BYTES], *end = packet;
    if (!trace_bytes_reserve(raw, sizeof packet + FIXED_BYTES))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu bytes", sizeof packet);
    if (time_ns > 0)
        end = put_number(end, WIRE_PACKET_TIMESTAMP, (uint64_t)time_ns);
    end = put_number(end, WIRE_PACKET_SEQUENCE, WIRE_SEQUENCE);
    end = put_bytes(end, WIRE_PACKET_TRACK_EVENT, event, (size_t)(event_end - event));
    end = put_number(end, WIRE_PACKET_CLOCK, WIRE_CLOCK);
    uint8_t *to = raw->data + raw->count;
    raw->count += (size_t)(put_bytes(to, WIRE_TRACE_PACKET, packet, (size_t)(end - packet)) - to);
    return HAL_OK;
}

void trace_track_event_number(struct trace_track_event *slice, const char *name, uint64_t value)
{
    slice->arguments[slice->argument_count++] =
        (struct trace_track_event_argument){name, NULL, value};
}

void trace_track_event_text(struct trace_track_event *slice, const char *name, const char *text)
{
    slice->arguments[slice->argument_count++] = (struct trace_track_event_argument){name, text, 0};
}

enum hal_status trace_track_event_begin(struct trace_bytes *raw, uint64_t track,
                                        const struct trace_track_event *slice)
{
    uint8_t event[MOST_BYTES], *end = event;
    for (size_t i = 0; i < slice->argument_count; i++)
        end = put_argument(end, &slice->arguments[i]);
    end = put_number(end, WIRE_EVENT_TYPE, WIRE_TYPE_BEGIN);
    end = put_number(end, WIRE_EVENT_TRACK, track);
    end = put_text(end, WIRE_EVENT_NAME, slice->name);
    if (slice->has_flow)
        end = put_flow(end, slice->flow_ends ? WIRE_EVENT_ENDS : WIRE_EVENT_FLOWS, slice->flow);
    return append(raw, slice->begin_ns, event, end);
}

enum hal_status trace_track_event_end(struct trace_bytes *raw, uint64_t track, int64_t time_ns)
{
    uint8_t event[FIXED_BYTES], *end = event;
    end = put_number(end, WIRE_EVENT_TYPE, WIRE_TYPE_END);
    end = put_number(end, WIRE_EVENT_TRACK, track);
    return append(raw, time_ns, event, end);
}

enum hal_status trace_track_event_append(struct trace_bytes *raw, uint64_t track,
                                         const struct trace_track_event *slice)
{
    HAL_TRY(trace_track_event_begin(raw, track, slice));
    return trace_track_event_end(raw, track,
                                 slice->end_ns > slice->begin_ns ? slice->end_ns : slice->begin_ns);
}

enum hal_status trace_track_event_counter(struct trace_bytes *raw, uint64_t track, int64_t time_ns,
                                          uint64_t value)
{
    uint8_t event[FIXED_BYTES], *end = event;
    end = put_number(end, WIRE_EVENT_TYPE, WIRE_TYPE_COUNTER);
    end = put_number(end, WIRE_EVENT_TRACK, track);
    if (value)
        end = put_number(end, WIRE_EVENT_COUNTER, value);
    return append(raw, time_ns, event, end);
}
