/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes slices and counters as Perfetto packets by hand: they make up most of a trace with many
 * submissions, and packing them with the generated code took a third of the writer's time. Field
 * numbers are those of trace.proto. */
#ifndef FORMAT_SLICES_H
#define FORMAT_SLICES_H

#include "format/container/frames.h"

enum {
    TRACE_SLICE_SEQUENCE = 1,
    TRACE_SLICE_CLOCK = 3, /* monotonic */
    TRACE_SLICE_ARGUMENTS = 12,
    TRACE_SLICE_TEXT_BYTES = 256, /* longer texts are truncated */
};

struct trace_slice_argument {
    const char *name;
    const char *text; /* NULL: `number` applies */
    uint64_t number;
};

/* Texts must outlive the slice. */
struct trace_slice {
    int64_t begin_ns, end_ns;
    const char *name;
    bool has_flow, flow_ends; /* of the submission it belongs to */
    uint64_t flow;
    struct trace_slice_argument arguments[TRACE_SLICE_ARGUMENTS];
    size_t argument_count;
};

void trace_slice_number(struct trace_slice *slice, const char *name, uint64_t value);
void trace_slice_text(struct trace_slice *slice, const char *name, const char *text);

/* Appends the begin and the end. */
enum hal_status trace_slice_append(struct trace_bytes *raw, uint64_t track,
                                   const struct trace_slice *slice) HAL_CHECKED;
enum hal_status trace_slice_begin(struct trace_bytes *raw, uint64_t track,
                                  const struct trace_slice *slice) HAL_CHECKED;
enum hal_status trace_slice_end(struct trace_bytes *raw, uint64_t track,
                                int64_t time_ns) HAL_CHECKED;
enum hal_status trace_slice_counter(struct trace_bytes *raw, uint64_t track, int64_t time_ns,
                                    uint64_t value) HAL_CHECKED;

/* Write letters or digits with a terminator, and return its position. */
char *trace_slice_letters(char *to, const char *letters);
char *trace_slice_digits(char *to, uint64_t number);

#endif
