/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernel a timed dispatch runs, while a trace is written: the times name a submission, an
 * index in its list, and a number in that command buffer. What is remembered is bounded: old
 * executables, command buffers and submissions are forgotten, and so is what there is no memory
 * for. One thread. */
#ifndef FORMAT_KERNELS_H
#define FORMAT_KERNELS_H

#include "format/record.h"

#include <stdbool.h>

struct trace_kernel {
    uint32_t name;      /* string; 0: unknown */
    uint32_t groups[3]; /* all 0: known to the device alone */
};

struct trace_kernels_slot;
struct trace_kernels {
    struct trace_kernels_slot *slots; /* NULL: nothing is remembered */
    uint64_t bytes;                   /* behind the slots */
    uint32_t hand;                    /* the next slot to be forgotten */
};

/* Nothing is remembered where memory is out. */
void trace_kernels_init(struct trace_kernels *kernels);
void trace_kernels_finish(struct trace_kernels *kernels);

/* Remembers what the record tells; segments in order, behind the seal of their command buffer. */
void trace_kernels_event(struct trace_kernels *kernels, const struct trace_event *event);
void trace_kernels_segment(struct trace_kernels *kernels, uint64_t command_buffer,
                           const struct trace_segment *segment);

/* False: it was forgotten, or never told. */
bool trace_kernels_find(const struct trace_kernels *kernels, uint64_t submission,
                        const struct trace_dispatch_time *time, struct trace_kernel *out);

#endif
