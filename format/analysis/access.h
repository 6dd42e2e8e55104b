/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes one command reads and writes: the one place that says so. It holds for the record of
 * a command, and for the HAL's own struct, which has the record's layout with a pointer where the
 * record has an id (capture/encode_segments.c asserts that); `buffer` is then the pointer. Inline,
 * so that a capture pays for no call per command.
 *
 *     trace_command_accesses(segment, &sink);          what the command itself names
 *     if (trace_runs_kernel(segment))
 *         trace_kernel_accesses(&kernel, &sink);       what its kernel finds bound
 */
#ifndef FORMAT_ANALYSIS_ACCESS_H
#define FORMAT_ANALYSIS_ACCESS_H

#include "format/limits.h"
#include "format/record.h"

#include <string.h>

enum trace_access_mode {
    TRACE_ACCESS_NONE = 0, /* no access: nothing reports it */
    TRACE_ACCESS_READ = 1,
    TRACE_ACCESS_WRITE = 2,
    TRACE_ACCESS_READ_WRITE = 3,
    TRACE_ACCESS_UNKNOWN = 4,    /* reads, writes, both or neither */
    TRACE_ACCESS_MAY_READ = 8,   /* does not write */
    TRACE_ACCESS_MAY_WRITE = 16, /* declared to write; may read, too */
};

/* Whether it reads, or may. */
static inline bool trace_access_reads(enum trace_access_mode mode)
{
    return mode & ~(unsigned)TRACE_ACCESS_WRITE;
}

/* Whether it writes, or may. */
static inline bool trace_access_writes(enum trace_access_mode mode)
{
    return mode & (TRACE_ACCESS_WRITE | TRACE_ACCESS_UNKNOWN | TRACE_ACCESS_MAY_WRITE);
}

/* Bytes [begin, end) of a buffer, which a command accesses. `stage` is one bit of enum hal_stage.
 */
struct trace_access {
    uint32_t command; /* the caller's number; rises */
    uint32_t stage;
    enum trace_access_mode mode;
    uint64_t buffer, begin, end;
};

typedef void trace_access_visit(void *user, const struct trace_access *access);

/* Where accesses are reported. */
struct trace_access_sink {
    trace_access_visit *visit;
    void *user;
    uint32_t command; /* the number that accesses get */
};

/* What a kernel does with what is bound to it; TRACE_ACCESS_NONE: it takes no such binding. `user`
 * is the caller's. */
typedef enum trace_access_mode trace_binding_mode(void *user, uint64_t executable, uint32_t entry,
                                                  uint32_t set, uint32_t binding);

/* A kernel that runs, and what it finds bound. All zero: nothing is bound yet. */
struct trace_bound_kernel {
    uint64_t executable;
    uint32_t entry;
    uint32_t counts[TRACE_MAX_SETS];
    const void *bindings[TRACE_MAX_SETS]; /* of struct trace_binding, or of the HAL's */
    trace_binding_mode *mode;             /* NULL: TRACE_ACCESS_UNKNOWN for all bindings */
    void *user;
};

#define TRACE_INLINE static inline __attribute__((always_inline))

enum { TRACE_STAGE_TRANSFER = 1, TRACE_STAGE_DISPATCH = 2 }; /* enum hal_stage */

TRACE_INLINE void trace_report_access(const struct trace_access_sink *sink, uint32_t stage,
                                      enum trace_access_mode mode, const struct trace_binding *at)
{
    const uint64_t end = at->offset + at->size;
    sink->visit(sink->user, &(struct trace_access){.command = sink->command,
                                                   .stage = stage,
                                                   .mode = mode,
                                                   .buffer = at->buffer,
                                                   .begin = at->offset,
                                                   .end = end < at->offset ? UINT64_MAX : end});
}

TRACE_INLINE void trace_command_accesses(const struct trace_segment *segment,
                                         const struct trace_access_sink *sink)
{
    switch ((enum trace_segment_kind)segment->kind) {
    case TRACE_FILL: {
        struct trace_fill fill;
        memcpy(&fill, segment, sizeof fill);
        trace_report_access(sink, TRACE_STAGE_TRANSFER, TRACE_ACCESS_WRITE,
                            &(struct trace_binding){fill.target, fill.offset, fill.size});
        return;
    }
    case TRACE_COPY: {
        struct trace_copy copy;
        memcpy(&copy, segment, sizeof copy);
        trace_report_access(sink, TRACE_STAGE_TRANSFER, TRACE_ACCESS_READ,
                            &(struct trace_binding){copy.source, copy.source_offset, copy.size});
        trace_report_access(sink, TRACE_STAGE_TRANSFER, TRACE_ACCESS_WRITE,
                            &(struct trace_binding){copy.target, copy.target_offset, copy.size});
        return;
    }
    case TRACE_UPDATE: {
        struct trace_update update;
        memcpy(&update, segment, sizeof update);
        trace_report_access(sink, TRACE_STAGE_TRANSFER, TRACE_ACCESS_WRITE,
                            &(struct trace_binding){update.target, update.offset, update.size});
        return;
    }
    case TRACE_DISPATCH_INDIRECT: {
        struct trace_dispatch_indirect indirect;
        memcpy(&indirect, segment, sizeof indirect);
        trace_report_access(
            sink, TRACE_STAGE_DISPATCH, TRACE_ACCESS_READ,
            &(struct trace_binding){indirect.counts, indirect.offset, TRACE_COUNTS_BYTES});
        return;
    }
    case TRACE_BARRIER:
    case TRACE_EVENT_SIGNAL:
    case TRACE_EVENT_RESET:
    case TRACE_EVENTS_WAIT:
    case TRACE_PUSH_CONSTANTS:
    case TRACE_PUSH_DESCRIPTOR_SET:
    case TRACE_DISPATCH:
    case TRACE_DEBUG_BEGIN:
    case TRACE_DEBUG_END: return;
    }
}

/* False for a dispatch of no workgroups. */
TRACE_INLINE bool trace_runs_kernel(const struct trace_segment *segment)
{
    struct trace_dispatch direct;
    if (segment->kind != TRACE_DISPATCH)
        return segment->kind == TRACE_DISPATCH_INDIRECT;
    memcpy(&direct, segment, sizeof direct);
    return direct.workgroup_count[0] && direct.workgroup_count[1] && direct.workgroup_count[2];
}

/* A kernel may access whatever is bound, unless `mode` says less. */
TRACE_INLINE void trace_kernel_accesses(const struct trace_bound_kernel *kernel,
                                        const struct trace_access_sink *sink)
{
    for (uint32_t set = 0; set < TRACE_MAX_SETS; set++) {
        const uint8_t *at = kernel->bindings[set];
        for (uint32_t i = 0; i < kernel->counts[set]; i++, at += sizeof(struct trace_binding)) {
            struct trace_binding binding;
            memcpy(&binding, at, sizeof binding);
            if (!binding.buffer)
                continue;
            const enum trace_access_mode mode =
                kernel->mode ? kernel->mode(kernel->user, kernel->executable, kernel->entry, set, i)
                             : TRACE_ACCESS_UNKNOWN;
            if (mode != TRACE_ACCESS_NONE)
                trace_report_access(sink, TRACE_STAGE_DISPATCH, mode, &binding);
        }
    }
}

#endif
