/* SPDX-License-Identifier: Apache-2.0 */
/* Slices and counters as Perfetto's packets, byte by byte: they are most of what a trace of many
 * submissions holds, and packing them through the generated code took a third of the writer's time.
 * The numbers of the fields are those of trace.proto. */
#ifndef FORMAT_TRACK_EVENT_H
#define FORMAT_TRACK_EVENT_H

#include "format/columns/columns.h"

enum {
    TRACE_TRACK_EVENT_ARGUMENTS = 12,
    TRACE_TRACK_EVENT_TEXT_BYTES = 256, /* longer texts are cut */
};

struct trace_track_event_argument {
    const char *name;
    const char *text; /* NULL: the number */
    uint64_t number;
};

/* Texts stay as long as the slice. */
struct trace_track_event {
    int64_t begin_ns, end_ns;
    const char *name;
    bool has_flow, flow_ends; /* of the submission that it belongs to */
    uint64_t flow;
    struct trace_track_event_argument arguments[TRACE_TRACK_EVENT_ARGUMENTS];
    size_t argument_count;
};

void trace_track_event_number(struct trace_track_event *slice, const char *name, uint64_t value);
void trace_track_event_text(struct trace_track_event *slice, const char *name, const char *text);

/* Beginning and end. */
enum hal_status trace_track_event_append(struct trace_bytes *raw, uint64_t track,
                                         const struct trace_track_event *slice) HAL_CHECKED;
enum hal_status trace_track_event_begin(struct trace_bytes *raw, uint64_t track,
                                        const struct trace_track_event *slice) HAL_CHECKED;
enum hal_status trace_track_event_end(struct trace_bytes *raw, uint64_t track,
                                      int64_t time_ns) HAL_CHECKED;
enum hal_status trace_track_event_counter(struct trace_bytes *raw, uint64_t track, int64_t time_ns,
                                          uint64_t value) HAL_CHECKED;

#endif
