/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto's protobuf messages: all fields of a record are annotations of its slice. */
#include "format/tool/export/export.h"

#include <string.h>

/* ---- Annotations ---- */

static size_t begin_annotation(struct trace_text *out, unsigned field, const char *name)
{
    const size_t begin = trace_wire_begin(out, field);
    if (name)
        trace_wire_string(out, WIRE_ANNOTATION_NAME, name);
    return begin;
}

static void annotate_number(struct trace_text *out, unsigned field, const char *name,
                            uint64_t value, bool is_signed)
{
    const size_t begin = begin_annotation(out, field, name);
    trace_wire_number(out, is_signed ? WIRE_ANNOTATION_INT : WIRE_ANNOTATION_UINT, value);
    trace_wire_end(out, begin);
}

static void annotate_string(struct trace_text *out, unsigned field, const char *name,
                            const char *text)
{
    const size_t begin = begin_annotation(out, field, name);
    trace_wire_string(out, WIRE_ANNOTATION_STRING, text);
    trace_wire_end(out, begin);
}

static void annotate_columns(struct tool_printer *p, unsigned field,
                             const struct trace_layout *layout, const struct trace_column *columns,
                             uint32_t count, const uint8_t *base)
{
    char words[128];
    for (uint32_t i = 0; i < count; i++) {
        const struct trace_column *column = &columns[i];
        const uint64_t value = trace_load(base + column->member_at, column->width);
        const bool is_time = column->reference == TRACE_REFERENCE_TIME;
        if (is_time && !value)
            continue;
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
            annotate_number(&p->text, field, column->name,
                            is_time ? value - (uint64_t)p->origin_ns : value, column->is_signed);
    }
}

static void annotate_bytes(struct trace_text *out, unsigned field, const char *name,
                           const uint8_t *data, uint64_t count)
{
    const size_t begin = begin_annotation(out, field, name);
    const size_t text = trace_wire_begin(out, WIRE_ANNOTATION_STRING);
    for (uint64_t i = 0; i < count; i++)
        trace_text_printf(out, "%02x", data[i]);
    trace_wire_end(out, text);
    trace_wire_end(out, begin);
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
            const size_t element = trace_wire_begin(&p->text, WIRE_ANNOTATION_ELEMENTS);
            annotate_columns(p, WIRE_ANNOTATION_MEMBERS, layout, part->columns, part->column_count,
                             at);
            trace_wire_end(&p->text, element);
        }
        trace_wire_end(&p->text, list);
    }
}

static void annotate_event(struct tool_printer *p, const struct trace_event *event)
{
    struct trace_text *out = &p->text;
    const unsigned field = WIRE_EVENT_ANNOTATIONS;
    annotate_string(out, field, "event", trace_event_name(event->kind));
    annotate_number(out, field, "ticket", event->ticket, false);
    annotate_number(out, field, "thread", event->thread, false);
    if (!tool_has_no_time(event)) {
        annotate_number(out, field, "begin_ns", (uint64_t)tool_since(p->origin_ns, event->begin_ns),
                        true);
        annotate_number(out, field, "end_ns", (uint64_t)tool_since(p->origin_ns, event->end_ns),
                        true);
    }
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
    annotate_number(out, WIRE_EVENT_ANNOTATIONS, "command_buffer", slice->command_buffer, false);
    annotate_number(out, WIRE_EVENT_ANNOTATIONS, "first", slice->first, false);
    const size_t list = begin_annotation(out, WIRE_EVENT_ANNOTATIONS, "commands");
    for (uint32_t i = 0; i < slice->segment_count; i++, segment = trace_next_segment(segment)) {
        const size_t element = trace_wire_begin(out, WIRE_ANNOTATION_ELEMENTS);
        annotate_string(out, WIRE_ANNOTATION_MEMBERS, "segment", trace_segment_name(segment->kind));
        const struct trace_layout *layout =
            trace_family_layout(&trace_segment_family, segment->kind);
        if (layout)
            annotate_record(p, WIRE_ANNOTATION_MEMBERS, layout, segment);
        trace_wire_end(out, element);
    }
    trace_wire_end(out, list);
}

/* ---- Packets ---- */

static size_t begin_packet(struct trace_text *out, int64_t ns)
{
    const size_t packet = trace_wire_begin(out, WIRE_TRACE_PACKET);
    trace_wire_number(out, WIRE_PACKET_TIMESTAMP, ns > 0 ? (uint64_t)ns : 0);
    trace_wire_number(out, WIRE_PACKET_CLOCK, WIRE_CLOCK);
    trace_wire_number(out, WIRE_PACKET_SEQUENCE, WIRE_SEQUENCE);
    return packet;
}

static void begin(struct export_sink *sink, const struct trace_header *header)
{
    trace_wire_clocks(&sink->printer.text, header);
}

static void add_track(struct export_sink *sink, const struct trace_wire_track *track)
{
    trace_wire_track(&sink->printer.text, track);
}

static size_t begin_event(struct trace_text *out, uint64_t type, uint64_t track)
{
    const size_t event = trace_wire_begin(out, WIRE_PACKET_TRACK_EVENT);
    trace_wire_number(out, WIRE_EVENT_TYPE, type);
    trace_wire_number(out, WIRE_EVENT_TRACK, track);
    return event;
}

static void add_slice(struct export_sink *sink, const struct export_slice *slice)
{
    struct trace_text *out = &sink->printer.text;
    const bool is_instant = slice->end_ns <= slice->begin_ns;
    const uint64_t type = slice->phase == TRACE_SLICE_ENDS                    ? WIRE_TYPE_END
                          : slice->phase == TRACE_SLICE_BEGINS || !is_instant ? WIRE_TYPE_BEGIN
                                                                              : WIRE_TYPE_INSTANT;
    size_t packet = begin_packet(out, slice->begin_ns);
    size_t event = begin_event(out, type, slice->track);
    if (type != WIRE_TYPE_END)
        trace_wire_string(out, WIRE_EVENT_NAME, slice->name);
    for (size_t i = 0; i < slice->flow_count; i++)
        trace_wire_fixed(out, WIRE_EVENT_FLOWS, slice->flows[i]);
    for (size_t i = 0; i < slice->end_count; i++)
        trace_wire_fixed(out, WIRE_EVENT_ENDS, slice->ends[i]);
    if (slice->event)
        annotate_event(&sink->printer, slice->event);
    if (slice->segments)
        annotate_commands(&sink->printer, slice);
    trace_wire_end(out, event);
    trace_wire_end(out, packet);
    if (type != WIRE_TYPE_BEGIN || slice->phase == TRACE_SLICE_BEGINS)
        return;
    packet = begin_packet(out, slice->end_ns);
    event = begin_event(out, WIRE_TYPE_END, slice->track);
    trace_wire_end(out, event);
    trace_wire_end(out, packet);
}

static void count(struct export_sink *sink, const struct trace_wire_track *track, int64_t ns,
                  int64_t value)
{
    struct trace_text *out = &sink->printer.text;
    const size_t packet = begin_packet(out, ns);
    const size_t event = begin_event(out, WIRE_TYPE_COUNTER, track->id);
    trace_wire_number(out, WIRE_EVENT_COUNTER, (uint64_t)value);
    trace_wire_end(out, event);
    trace_wire_end(out, packet);
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
