/* SPDX-License-Identifier: Apache-2.0 */
/* Slices and counters as Perfetto's packets, byte by byte: they are most of what a trace of many
 * submissions holds, and packing them through the generated code took a third of the writer's time.
 * The numbers of the fields are those of trace.proto. */
#ifndef FORMAT_SLICES_H
#define FORMAT_SLICES_H

#include "format/container/frames.h"

enum {
    TRACE_SLICE_SEQUENCE = 1,
    TRACE_SLICE_CLOCK = 3, /* monotonic */
    TRACE_SLICE_ARGUMENTS = 12,
    TRACE_SLICE_TEXT_BYTES = 256, /* longer texts are cut */
};

struct trace_slice_argument {
    const char *name;
    const char *text; /* NULL: the number */
    uint64_t number;
};

/* Texts stay as long as the slice. */
struct trace_slice {
    int64_t begin_ns, end_ns;
    const char *name;
    bool has_flow, flow_ends; /* of the submission that it belongs to */
    uint64_t flow;
    struct trace_slice_argument arguments[TRACE_SLICE_ARGUMENTS];
    size_t argument_count;
};

void trace_slice_number(struct trace_slice *slice, const char *name, uint64_t value);
void trace_slice_text(struct trace_slice *slice, const char *name, const char *text);

/* Beginning and end. */
enum hal_status trace_slice_append(struct trace_bytes *raw, uint64_t track,
                                   const struct trace_slice *slice) HAL_CHECKED;
enum hal_status trace_slice_begin(struct trace_bytes *raw, uint64_t track,
                                  const struct trace_slice *slice) HAL_CHECKED;
enum hal_status trace_slice_end(struct trace_bytes *raw, uint64_t track,
                                int64_t time_ns) HAL_CHECKED;
enum hal_status trace_slice_counter(struct trace_bytes *raw, uint64_t track, int64_t time_ns,
                                    uint64_t value) HAL_CHECKED;

/* Write letters or digits and an end after them, and return where the end is. */
char *trace_slice_letters(char *to, const char *letters);
char *trace_slice_digits(char *to, uint64_t number);

#endif
