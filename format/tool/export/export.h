/* SPDX-License-Identifier: Apache-2.0 */
/* Exports a trace to other tools: as slices on tracks, flows and counters, which a sink writes in
 * its format, or as one line per event. */
#ifndef FORMAT_TOOL_EXPORT_H
#define FORMAT_TOOL_EXPORT_H

#include "format/perfetto/wire.h"
#include "format/timeline/timeline.h"
#include "format/tool/support/print.h"

/* A slice of the timeline, and what is shown with it. */
struct export_slice {
    uint64_t track;
    enum trace_slice_phase phase;
    int64_t begin_ns, end_ns;
    const char *name;
    const struct trace_event *event; /* whose fields are shown; NULL: none */
    /* Commands of a command buffer; `first` is the number of the first one. */
    const struct trace_segment *segments;
    uint64_t command_buffer;
    uint32_t first, segment_count;
    /* Flows that begin and end here. */
    const uint64_t *flows, *ends;
    size_t flow_count, end_count;
};

struct export_sink {
    struct tool_printer printer; /* its text is the output */
    uint64_t process_id;
    bool is_first; /* JSON: no comma needed */
    void (*begin)(struct export_sink *sink, const struct trace_header *header);
    void (*track)(struct export_sink *sink, const struct trace_wire_track *track);
    void (*slice)(struct export_sink *sink, const struct export_slice *slice);
    void (*count)(struct export_sink *sink, const struct trace_wire_track *track, int64_t ns,
                  int64_t value);
    void (*end)(struct export_sink *sink);
    /* Writes the output once it is large, or at the end. */
    enum hal_status (*flush)(struct export_sink *sink, bool is_end);
    void *flush_user;
};

void export_perfetto(struct export_sink *sink);
void export_chrome(struct export_sink *sink);

/* Passes all events to the sink as slices. HAL_CORRUPT, HAL_NO_MEMORY, and failures of `flush`. */
enum hal_status export_timeline(struct trace_reader *reader, struct export_sink *sink) HAL_CHECKED;

/* Adds the traces to the database at `path`, creating it if missing, and replaces traces that it
 * already has (by absolute path). Reports and skips a trace that cannot be read. Returns the
 * program's exit status. */
int export_sqlite(const char *path, char *const *traces, int count);

#endif
