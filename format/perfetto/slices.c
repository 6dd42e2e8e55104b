/* SPDX-License-Identifier: Apache-2.0 */
/* Packing by hand. */
#include "format/perfetto/slices.h"

#include "format/base/json.h"

#include <string.h>

/* With a fixed bound for everything but texts; lengths of what is nested fit into two bytes. */
enum {
    FIXED_BYTES = 128,
    ARGUMENT_BYTES = 32,
    MOST_BYTES = FIXED_BYTES + TRACE_SLICE_TEXT_BYTES +
                 TRACE_SLICE_ARGUMENTS * (ARGUMENT_BYTES + 2 * TRACE_SLICE_TEXT_BYTES),
};

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2 };

enum {
    PACKET_EVENT = 11,
    PACKET_SEQUENCE = 10,
    PACKET_TIME = 8,
    PACKET_CLOCK = 58,
    EVENT_ARGUMENT = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_NAME = 23,
    EVENT_COUNTER = 30,
    EVENT_FLOW = 47,
    EVENT_FLOW_ENDS = 48,
    ARGUMENT_NUMBER = 3,
    ARGUMENT_TEXT = 6,
    ARGUMENT_NAME = 10,
};

static uint8_t *put_varint(uint8_t *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    return to;
}

static uint8_t *put_number(uint8_t *to, uint32_t field, uint64_t value)
{
    return put_varint(put_varint(to, field << 3 | VARINT), value);
}

static uint8_t *put_bytes(uint8_t *to, uint32_t field, const void *bytes, size_t count)
{
    to = put_varint(put_varint(to, field << 3 | LENGTH), count);
    memcpy(to, bytes, count);
    return to + count;
}

/* Cut between characters. */
static size_t text_bytes(const char *text)
{
    size_t count = strnlen(text, TRACE_SLICE_TEXT_BYTES + 1);
    if (count <= TRACE_SLICE_TEXT_BYTES)
        return count;
    count = TRACE_SLICE_TEXT_BYTES;
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
    to = put_varint(to, field << 3 | FIXED64);
    memcpy(to, &flow, sizeof flow); /* little-endian, as the whole file */
    return to + sizeof flow;
}

static uint8_t *put_argument(uint8_t *to, const struct trace_slice_argument *argument)
{
    uint8_t body[ARGUMENT_BYTES + 2 * TRACE_SLICE_TEXT_BYTES], *end = body;
    if (argument->text)
        end = put_text(end, ARGUMENT_TEXT, argument->text);
    else
        end = put_number(end, ARGUMENT_NUMBER, argument->number);
    end = put_text(end, ARGUMENT_NAME, argument->name);
    return put_bytes(to, EVENT_ARGUMENT, body, (size_t)(end - body));
}

static enum hal_status append(struct trace_bytes *raw, int64_t time_ns, const uint8_t *event,
                              const uint8_t *event_end)
{
    uint8_t packet[MOST_BYTES + FIXED_BYTES], *end = packet;
    if (!trace_bytes_reserve(raw, sizeof packet + FIXED_BYTES))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu bytes", sizeof packet);
    if (time_ns > 0)
        end = put_number(end, PACKET_TIME, (uint64_t)time_ns);
    end = put_number(end, PACKET_SEQUENCE, TRACE_SLICE_SEQUENCE);
    end = put_bytes(end, PACKET_EVENT, event, (size_t)(event_end - event));
    end = put_number(end, PACKET_CLOCK, TRACE_SLICE_CLOCK);
    uint8_t *to = raw->data + raw->count;
    raw->count += (size_t)(put_bytes(to, TRACE_FIELD_PACKET, packet, (size_t)(end - packet)) - to);
    return HAL_OK;
}

void trace_slice_number(struct trace_slice *slice, const char *name, uint64_t value)
{
    slice->arguments[slice->argument_count++] = (struct trace_slice_argument){name, NULL, value};
}

void trace_slice_text(struct trace_slice *slice, const char *name, const char *text)
{
    slice->arguments[slice->argument_count++] = (struct trace_slice_argument){name, text, 0};
}

enum hal_status trace_slice_begin(struct trace_bytes *raw, uint64_t track,
                                  const struct trace_slice *slice)
{
    uint8_t event[MOST_BYTES], *end = event;
    for (size_t i = 0; i < slice->argument_count; i++)
        end = put_argument(end, &slice->arguments[i]);
    end = put_number(end, EVENT_TYPE, HALTRACE__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN);
    end = put_number(end, EVENT_TRACK, track);
    end = put_text(end, EVENT_NAME, slice->name);
    if (slice->has_flow)
        end = put_flow(end, slice->flow_ends ? EVENT_FLOW_ENDS : EVENT_FLOW, slice->flow);
    return append(raw, slice->begin_ns, event, end);
}

enum hal_status trace_slice_end(struct trace_bytes *raw, uint64_t track, int64_t time_ns)
{
    uint8_t event[FIXED_BYTES], *end = event;
    end = put_number(end, EVENT_TYPE, HALTRACE__TRACK_EVENT__TYPE__TYPE_SLICE_END);
    end = put_number(end, EVENT_TRACK, track);
    return append(raw, time_ns, event, end);
}

enum hal_status trace_slice_append(struct trace_bytes *raw, uint64_t track,
                                   const struct trace_slice *slice)
{
    HAL_TRY(trace_slice_begin(raw, track, slice));
    return trace_slice_end(raw, track,
                           slice->end_ns > slice->begin_ns ? slice->end_ns : slice->begin_ns);
}

enum hal_status trace_slice_counter(struct trace_bytes *raw, uint64_t track, int64_t time_ns,
                                    uint64_t value)
{
    uint8_t event[FIXED_BYTES], *end = event;
    end = put_number(end, EVENT_TYPE, HALTRACE__TRACK_EVENT__TYPE__TYPE_COUNTER);
    end = put_number(end, EVENT_TRACK, track);
    if (value)
        end = put_number(end, EVENT_COUNTER, value);
    return append(raw, time_ns, event, end);
}

char *trace_slice_letters(char *to, const char *letters)
{
    const size_t count = strlen(letters);
    memcpy(to, letters, count + 1);
    return to + count;
}

char *trace_slice_digits(char *to, uint64_t number)
{
    char *end = trace_digits(to, number);
    *end = '\0';
    return end;
}
