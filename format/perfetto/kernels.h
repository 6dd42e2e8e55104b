/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the kernel of a timed dispatch while a trace is written: times name a submission, an index
 * in its list, and a dispatch number in that command buffer. Memory is bounded: old executables,
 * command buffers and submissions are forgotten, as is everything for which there is no memory. One
 * thread. */
#ifndef FORMAT_KERNELS_H
#define FORMAT_KERNELS_H

#include "format/record.h"

#include <stdbool.h>

struct trace_kernel {
    uint32_t name;      /* string; 0: unknown */
    uint32_t groups[3]; /* all 0: known only to the device */
};

struct trace_kernels_slot;
struct trace_kernels {
    struct trace_kernels_slot *slots; /* NULL: remembers nothing */
    uint64_t bytes;                   /* of the slots' data */
    uint32_t hand;                    /* next slot to evict */
};

/* Remembers nothing if out of memory. */
void trace_kernels_init(struct trace_kernels *kernels);
void trace_kernels_finish(struct trace_kernels *kernels);

/* Remembers the record; segments follow in order after the seal of their command buffer. */
void trace_kernels_event(struct trace_kernels *kernels, const struct trace_event *event);
void trace_kernels_segment(struct trace_kernels *kernels, uint64_t command_buffer,
                           const struct trace_segment *segment);

/* False: forgotten, or never recorded. */
bool trace_kernels_find(const struct trace_kernels *kernels, uint64_t submission,
                        const struct trace_dispatch_time *time, struct trace_kernel *out);

#endif
