/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto's protobuf messages. The numbers of fields are those of its published schema; the
 * messages are written as they come, a length being four bytes that are filled in at the end. */
#include "format/tool/export/export.h"

#include <string.h>

enum {
    TRACE_PACKET = 1,

    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_CLOCK = 58,
    PACKET_TRACK_DESCRIPTOR = 60,

    SNAPSHOT_CLOCKS = 1,
    SNAPSHOT_PRIMARY = 2,
    CLOCK_ID = 1,
    CLOCK_TIMESTAMP = 2,
    CLOCK_OF_WALL = 1,
    CLOCK_OF_TRACE = 3, /* monotonic */

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

    EVENT_ANNOTATIONS = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_NAME = 23,
    EVENT_COUNTER = 30,
    EVENT_FLOWS = 47,
    EVENT_ENDS = 48,
    TYPE_BEGIN = 1,
    TYPE_END = 2,
    TYPE_INSTANT = 3,
    TYPE_COUNTER = 4,

    ANNOTATION_UINT = 3,
    ANNOTATION_INT = 4,
    ANNOTATION_STRING = 6,
    ANNOTATION_NAME = 10,
    ANNOTATION_MEMBERS = 11,
    ANNOTATION_ELEMENTS = 12,

    SEQUENCE = 1,
    STATE_CLEARED = 1,
    PROCESS_TRACK = 1,
    LENGTH_BYTES = 4,
};

/* ---- The wire format ---- */

static void put_varint(struct trace_text *out, uint64_t value)
{
    char bytes[10];
    size_t count = 0;
    do {
        bytes[count++] = (char)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        value >>= 7;
    } while (value);
    trace_text_append(out, bytes, count);
}

static void put_number(struct trace_text *out, unsigned field, uint64_t value)
{
    put_varint(out, (uint64_t)field << 3);
    put_varint(out, value);
}

static void put_fixed(struct trace_text *out, unsigned field, uint64_t value)
{
    put_varint(out, (uint64_t)field << 3 | 1);
    trace_text_append(out, (const char *)&value, sizeof value);
}

/* Its place is for end_message. */
static size_t begin_message(struct trace_text *out, unsigned field)
{
    put_varint(out, (uint64_t)field << 3 | 2);
    trace_text_append(out, "\0\0\0\0", LENGTH_BYTES);
    return out->bytes;
}

static void end_message(struct trace_text *out, size_t begin)
{
    if (out->is_failed)
        return;
    uint64_t bytes = out->bytes - begin;
    for (unsigned i = 0; i < LENGTH_BYTES; i++, bytes >>= 7)
        out->data[begin - LENGTH_BYTES + i] =
            (char)((bytes & 0x7F) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

/* Strings of the schema are UTF-8: other bytes become U+FFFD. */
static void put_string(struct trace_text *out, unsigned field, const char *text)
{
    const size_t begin = begin_message(out, field);
    for (size_t left = strlen(text); left;) {
        const size_t length = trace_utf8_length(text, left);
        trace_text_append(out, length ? text : "\xEF\xBF\xBD", length ? length : 3);
        text += length ? length : 1;
        left -= length ? length : 1;
    }
    end_message(out, begin);
}

/* ---- Annotations ---- */

static size_t begin_annotation(struct trace_text *out, unsigned field, const char *name)
{
    const size_t begin = begin_message(out, field);
    if (name)
        put_string(out, ANNOTATION_NAME, name);
    return begin;
}

static void annotate_number(struct trace_text *out, unsigned field, const char *name,
                            uint64_t value, bool is_signed)
{
    const size_t begin = begin_annotation(out, field, name);
    put_number(out, is_signed ? ANNOTATION_INT : ANNOTATION_UINT, value);
    end_message(out, begin);
}

static void annotate_string(struct trace_text *out, unsigned field, const char *name,
                            const char *text)
{
    const size_t begin = begin_annotation(out, field, name);
    put_string(out, ANNOTATION_STRING, text);
    end_message(out, begin);
}

static void annotate_columns(struct tool_printer *p, unsigned field,
                             const struct trace_layout *layout, const struct trace_column *columns,
                             uint32_t count, const uint8_t *base)
{
    char words[128];
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_column *column = &columns[i];
        const uint64_t value = trace_load(base + column->member_at, column->width);
        const struct trace_names *names =
            column->width == 8 ? NULL : trace_column_names(layout->name, column);
        const char *text = column->reference == TRACE_REFERENCE_STRING
                               ? trace_reader_string(p->reader, (uint32_t)value)
                               : NULL;
        if (names)
            text = trace_number_text(names, value, words, sizeof words);
        if (text)
            annotate_string(&p->text, field, column->name, text);
        else
            annotate_number(&p->text, field, column->name, value, column->is_signed);
    }
}

static void annotate_bytes(struct trace_text *out, unsigned field, const char *name,
                           const uint8_t *data, uint64_t count)
{
    const size_t begin = begin_annotation(out, field, name);
    const size_t text = begin_message(out, ANNOTATION_STRING);
    for (uint64_t i = 0; i < count; i++)
        trace_text_printf(out, "%02x", data[i]);
    end_message(out, text);
    end_message(out, begin);
}

static void annotate_record(struct tool_printer *p, unsigned field,
                            const struct trace_layout *layout, const void *record)
{
    annotate_columns(p, field, layout, layout->columns, layout->column_count, record);
    const uint8_t *at = (const uint8_t *)record + layout->record_bytes;
    for (uint32_t i = 0; i < layout->part_count; i++) {
        const struct trace_part *part = &layout->parts[i];
        const uint64_t count = trace_part_count(part, record);
        if (!part->columns) {
            annotate_bytes(&p->text, field, part->name, at, count);
            at += count;
            continue;
        }
        const size_t list = begin_annotation(&p->text, field, part->name);
        for (uint64_t k = 0; k < count; k++, at += part->element_bytes) {
            const size_t element = begin_message(&p->text, ANNOTATION_ELEMENTS);
            annotate_columns(p, ANNOTATION_MEMBERS, layout, part->columns, part->column_count, at);
            end_message(&p->text, element);
        }
        end_message(&p->text, list);
    }
}

static void annotate_event(struct tool_printer *p, const struct trace_event *event)
{
    struct trace_text *out = &p->text;
    const unsigned field = EVENT_ANNOTATIONS;
    annotate_string(out, field, "event", trace_event_name(event->kind));
    annotate_number(out, field, "ticket", event->ticket, false);
    annotate_number(out, field, "thread", event->thread, false);
    annotate_number(out, field, "begin_ns", (uint64_t)event->begin_ns, true);
    annotate_number(out, field, "end_ns", (uint64_t)event->end_ns, true);
    annotate_string(out, field, "status", hal_status_name((enum hal_status)event->status));
    annotate_number(out, field, "stack", event->stack, false);
    const struct trace_layout *layout = trace_family_layout(&trace_event_family, event->kind);
    if (layout)
        annotate_record(p, field, layout, event);
}

static void annotate_commands(struct tool_printer *p, const struct export_slice *slice)
{
    struct trace_text *out = &p->text;
    const struct trace_segment *segment = slice->segments;
    annotate_number(out, EVENT_ANNOTATIONS, "command_buffer", slice->command_buffer, false);
    annotate_number(out, EVENT_ANNOTATIONS, "first", slice->first, false);
    const size_t list = begin_annotation(out, EVENT_ANNOTATIONS, "commands");
    for (uint32_t i = 0; i < slice->segment_count; i++, segment = trace_next_segment(segment)) {
        const size_t element = begin_message(out, ANNOTATION_ELEMENTS);
        annotate_string(out, ANNOTATION_MEMBERS, "segment", trace_segment_name(segment->kind));
        const struct trace_layout *layout =
            trace_family_layout(&trace_segment_family, segment->kind);
        if (layout)
            annotate_record(p, ANNOTATION_MEMBERS, layout, segment);
        end_message(out, element);
    }
    end_message(out, list);
}

/* ---- Packets ---- */

static size_t begin_packet(struct trace_text *out, int64_t ns)
{
    const size_t packet = begin_message(out, TRACE_PACKET);
    put_number(out, PACKET_TIMESTAMP, ns > 0 ? (uint64_t)ns : 0);
    put_number(out, PACKET_CLOCK, CLOCK_OF_TRACE);
    put_number(out, PACKET_SEQUENCE, SEQUENCE);
    return packet;
}

static void put_clock(struct trace_text *out, uint64_t id, int64_t ns)
{
    const size_t clock = begin_message(out, SNAPSHOT_CLOCKS);
    put_number(out, CLOCK_ID, id);
    put_number(out, CLOCK_TIMESTAMP, (uint64_t)ns);
    end_message(out, clock);
}

static void begin(struct export_sink *sink, const struct trace_header *header)
{
    struct trace_text *out = &sink->printer.text;
    const size_t packet = begin_packet(out, header->start_ns);
    put_number(out, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
    const size_t snapshot = begin_message(out, PACKET_CLOCK_SNAPSHOT);
    put_clock(out, CLOCK_OF_TRACE, header->start_ns);
    put_clock(out, CLOCK_OF_WALL, header->start_wall_ns);
    put_number(out, SNAPSHOT_PRIMARY, CLOCK_OF_TRACE);
    end_message(out, snapshot);
    end_message(out, packet);
}

static void describe_process(struct export_sink *sink, const struct export_track *track)
{
    struct trace_text *out = &sink->printer.text;
    const size_t process = begin_message(out, DESCRIPTOR_PROCESS);
    put_number(out, PROCESS_PID, (uint64_t)(int32_t)track->system_id);
    put_string(out, PROCESS_NAME, track->name);
    end_message(out, process);
}

static void describe_thread(struct export_sink *sink, const struct export_track *track)
{
    struct trace_text *out = &sink->printer.text;
    const size_t thread = begin_message(out, DESCRIPTOR_THREAD);
    put_number(out, THREAD_PID, (uint64_t)(int32_t)sink->process_id);
    put_number(out, THREAD_TID, (uint64_t)(int32_t)track->system_id);
    put_string(out, THREAD_NAME, track->name);
    end_message(out, thread);
}

static void add_track(struct export_sink *sink, const struct export_track *track)
{
    struct trace_text *out = &sink->printer.text;
    const size_t packet = begin_message(out, TRACE_PACKET);
    put_number(out, PACKET_SEQUENCE, SEQUENCE);
    const size_t descriptor = begin_message(out, PACKET_TRACK_DESCRIPTOR);
    put_number(out, DESCRIPTOR_UUID, track->id);
    if (track->kind == EXPORT_PROCESS) {
        describe_process(sink, track);
    } else {
        put_number(out, DESCRIPTOR_PARENT, PROCESS_TRACK);
        if (track->kind == EXPORT_THREAD)
            describe_thread(sink, track);
        else
            put_string(out, DESCRIPTOR_NAME, track->name);
    }
    if (track->kind == EXPORT_COUNTER) {
        const size_t counter = begin_message(out, DESCRIPTOR_COUNTER);
        put_number(out, COUNTER_UNIT, track->in_bytes ? UNIT_BYTES : UNIT_COUNT);
        end_message(out, counter);
    }
    end_message(out, descriptor);
    end_message(out, packet);
}

static size_t begin_event(struct trace_text *out, uint64_t type, uint64_t track)
{
    const size_t event = begin_message(out, PACKET_TRACK_EVENT);
    put_number(out, EVENT_TYPE, type);
    put_number(out, EVENT_TRACK, track);
    return event;
}

static void add_slice(struct export_sink *sink, const struct export_slice *slice)
{
    struct trace_text *out = &sink->printer.text;
    const bool is_instant = slice->end_ns <= slice->begin_ns;
    const uint64_t type = slice->phase == EXPORT_ENDS                    ? TYPE_END
                          : slice->phase == EXPORT_BEGINS || !is_instant ? TYPE_BEGIN
                                                                         : TYPE_INSTANT;
    size_t packet = begin_packet(out, slice->begin_ns);
    size_t event = begin_event(out, type, slice->track);
    if (type != TYPE_END)
        put_string(out, EVENT_NAME, slice->name);
    for (size_t i = 0; i < slice->flow_count; i++)
        put_fixed(out, EVENT_FLOWS, slice->flows[i]);
    for (size_t i = 0; i < slice->end_count; i++)
        put_fixed(out, EVENT_ENDS, slice->ends[i]);
    if (slice->event)
        annotate_event(&sink->printer, slice->event);
    if (slice->segments)
        annotate_commands(&sink->printer, slice);
    end_message(out, event);
    end_message(out, packet);
    if (type != TYPE_BEGIN || slice->phase == EXPORT_BEGINS)
        return;
    packet = begin_packet(out, slice->end_ns);
    event = begin_event(out, TYPE_END, slice->track);
    end_message(out, event);
    end_message(out, packet);
}

static void count(struct export_sink *sink, const struct export_track *track, int64_t ns,
                  int64_t value)
{
    struct trace_text *out = &sink->printer.text;
    const size_t packet = begin_packet(out, ns);
    const size_t event = begin_event(out, TYPE_COUNTER, track->id);
    put_number(out, EVENT_COUNTER, (uint64_t)value);
    end_message(out, event);
    end_message(out, packet);
}

static void end(struct export_sink *sink)
{
    (void)sink;
}

void export_perfetto(struct export_sink *sink)
{
    sink->begin = begin;
    sink->track = add_track;
    sink->slice = add_slice;
    sink->count = count;
    sink->end = end;
}
