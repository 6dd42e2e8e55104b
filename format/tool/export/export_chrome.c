/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of Chrome's trace viewer: one object per slice, with its time in microseconds. */
#include "format/tool/export/export.h"

#include <inttypes.h>
#include <string.h>

static struct trace_text *begin_object(struct export_sink *sink, const char *phase,
                                       const char *name)
{
    struct trace_text *out = &sink->printer.text;
    trace_text_append(out, sink->is_first ? "\n" : ",\n", sink->is_first ? 1 : 2);
    sink->is_first = false;
    out->needs_comma = false;
    trace_json_open(out, '{');
    trace_json_member_text(out, "ph", phase);
    trace_json_member_text(out, "name", name);
    trace_json_member_u64(out, "pid", sink->process_id);
    return out;
}

/* Exact: three decimals. */
static void put_time(struct trace_text *out, const char *key, uint64_t ns)
{
    trace_json_key(out, key);
    trace_text_printf(out, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
    out->needs_comma = true;
}

static void put_place(struct export_sink *sink, uint64_t track, int64_t ns)
{
    struct trace_text *out = &sink->printer.text;
    const int64_t since_ns = tool_since(sink->printer.origin_ns, ns);
    trace_json_member_u64(out, "tid", track);
    put_time(out, "ts", since_ns > 0 ? (uint64_t)since_ns : 0);
}

static void begin(struct export_sink *sink, const struct trace_header *header)
{
    (void)header;
    sink->is_first = true;
    trace_text_printf(&sink->printer.text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
}

static void add_track(struct export_sink *sink, const struct trace_wire_track *track)
{
    if (track->kind == WIRE_COUNTER)
        return; /* named where they are counted */
    struct trace_text *out =
        begin_object(sink, "M", track->kind == WIRE_PROCESS ? "process_name" : "thread_name");
    trace_json_member_u64(out, "tid", track->id);
    trace_json_member_open(out, "args", '{');
    trace_json_member_text(out, "name", track->name);
    trace_json_close(out, '}');
    trace_json_close(out, '}');
}

static void put_commands(struct export_sink *sink, const struct export_slice *slice)
{
    struct trace_text *out = &sink->printer.text;
    const struct trace_segment *segment = slice->segments;
    trace_json_open(out, '{');
    trace_json_member_u64(out, "command_buffer", slice->command_buffer);
    trace_json_member_u64(out, "first", slice->first);
    trace_json_member_open(out, "commands", '[');
    for (uint32_t i = 0; i < slice->segment_count; i++, segment = trace_next_segment(segment)) {
        const struct trace_layout *layout =
            trace_family_layout(&trace_segment_family, segment->kind);
        trace_json_open(out, '{');
        trace_json_member_text(out, "segment", trace_segment_name(segment->kind));
        if (layout)
            tool_print_record(&sink->printer, layout, segment);
        trace_json_close(out, '}');
    }
    trace_json_close(out, ']');
    trace_json_close(out, '}');
}

static void add_flow(struct export_sink *sink, const struct export_slice *slice, const char *phase,
                     uint64_t flow)
{
    struct trace_text *out = begin_object(sink, phase, "flow");
    put_place(sink, slice->track, slice->begin_ns);
    trace_json_member_text(out, "cat", "flow");
    trace_json_member_u64(out, "id", flow);
    if (*phase == 'f') {
        trace_json_member_text(out, "bp", "e");
    }
    trace_json_close(out, '}');
}

static void add_slice(struct export_sink *sink, const struct export_slice *slice)
{
    const bool is_instant = slice->end_ns <= slice->begin_ns;
    static const char *const phases[] = {
        [TRACE_SLICE_WHOLE] = "X", [TRACE_SLICE_BEGINS] = "B", [TRACE_SLICE_ENDS] = "E"};
    const bool is_whole = slice->phase == TRACE_SLICE_WHOLE;
    struct trace_text *out =
        begin_object(sink, is_whole && is_instant ? "i" : phases[slice->phase], slice->name);
    put_place(sink, slice->track, slice->begin_ns);
    if (is_whole && is_instant) {
        trace_json_member_text(out, "s", "t");
    } else if (is_whole) {
        put_time(out, "dur", (uint64_t)slice->end_ns - (uint64_t)slice->begin_ns);
    }
    if (slice->event || slice->segments)
        trace_json_key(out, "args");
    if (slice->event)
        tool_print_event_json(&sink->printer, slice->event);
    else if (slice->segments)
        put_commands(sink, slice);
    trace_json_close(out, '}');
    for (size_t i = 0; i < slice->flow_count; i++)
        add_flow(sink, slice, "s", slice->flows[i]);
    for (size_t i = 0; i < slice->end_count; i++)
        add_flow(sink, slice, "f", slice->ends[i]);
}

static void count(struct export_sink *sink, const struct trace_wire_track *track, int64_t ns,
                  int64_t value)
{
    struct trace_text *out = begin_object(sink, "C", track->name);
    put_place(sink, track->id, ns);
    trace_json_member_open(out, "args", '{');
    trace_json_member_i64(out, "value", value);
    trace_json_close(out, '}');
    trace_json_close(out, '}');
}

static void end(struct export_sink *sink)
{
    trace_text_printf(&sink->printer.text, "\n]}\n");
}

void export_chrome(struct export_sink *sink)
{
    sink->printer.as_json = true;
    sink->begin = begin;
    sink->track = add_track;
    sink->slice = add_slice;
    sink->count = count;
    sink->end = end;
}
