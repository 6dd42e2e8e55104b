/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that says which bytes a command reads and writes. It works on the record of a
 * command and on the HAL's own struct, which has the record's layout with a pointer in place of the
 * id (capture/encode_segments.c asserts this); `buffer` is then that pointer. Inline, so that a
 * capture pays no call per command.
 *
 *     if (trace_command_accesses(segment, &sink))
 *         trace_kernel_accesses(&kernel, &sink);
 */
#ifndef FORMAT_ANALYSIS_ACCESS_H
#define FORMAT_ANALYSIS_ACCESS_H

#include "format/limits.h"
#include "format/record.h"

#include <string.h>

enum trace_access_mode {
    TRACE_ACCESS_NONE = 0, /* no access: never reported */
    TRACE_ACCESS_READ = 1,
    TRACE_ACCESS_WRITE = 2,
    TRACE_ACCESS_READ_WRITE = 3,
    TRACE_ACCESS_UNKNOWN = 4,    /* reads, writes, both or neither */
    TRACE_ACCESS_MAY_READ = 8,   /* does not write */
    TRACE_ACCESS_MAY_WRITE = 16, /* declared to write; may read, too */
};

/* Whether the mode includes or may include a read. */
static inline bool trace_access_reads(enum trace_access_mode mode)
{
    return mode & ~(unsigned)TRACE_ACCESS_WRITE;
}

/* Whether the mode includes or may include a write. */
static inline bool trace_access_writes(enum trace_access_mode mode)
{
    return mode & (TRACE_ACCESS_WRITE | TRACE_ACCESS_UNKNOWN | TRACE_ACCESS_MAY_WRITE);
}

/* Bytes [begin, end) of a buffer that a command accesses. `stage` is one bit of enum hal_stage. */
struct trace_access {
    uint32_t command; /* the caller's number; never decreases */
    uint32_t stage;
    enum trace_access_mode mode;
    uint64_t buffer, begin, end;
};

typedef void trace_access_visit(void *user, const struct trace_access *access);

/* Receives the accesses. */
struct trace_access_sink {
    trace_access_visit *visit;
    void *user;
    uint32_t command; /* the number reported with each access */
};

/* How a kernel accesses one binding; TRACE_ACCESS_NONE if it has none. `user` is the caller's. */
typedef enum trace_access_mode trace_binding_mode(void *user, uint64_t executable, uint32_t entry,
                                                  uint32_t set, uint32_t binding);

/* A kernel about to run and its bindings. All zero: nothing is bound yet. */
struct trace_bound_kernel {
    uint64_t executable;
    uint32_t entry;
    uint32_t counts[TRACE_MAX_SETS];
    const void *bindings[TRACE_MAX_SETS]; /* of struct trace_binding or the HAL's struct */
    trace_binding_mode *mode;             /* NULL: TRACE_ACCESS_UNKNOWN for all bindings */
    void *user;
};

#define TRACE_INLINE static inline __attribute__((always_inline))

enum { TRACE_STAGE_TRANSFER = 1, TRACE_STAGE_DISPATCH = 2 }; /* enum hal_stage */

TRACE_INLINE void trace_report_access(const struct trace_access_sink *sink, uint32_t stage,
                                      enum trace_access_mode mode, const struct trace_binding *at)
{
    uint64_t end;
    if (__builtin_add_overflow(at->offset, at->size, &end))
        end = UINT64_MAX;
    sink->visit(sink->user, &(struct trace_access){.command = sink->command,
                                                   .stage = stage,
                                                   .mode = mode,
                                                   .buffer = at->buffer,
                                                   .begin = at->offset,
                                                   .end = end});
}

TRACE_INLINE uint64_t trace_word(const void *record, size_t at)
{
    uint64_t word;
    memcpy(&word, (const uint8_t *)record + at, sizeof word);
    return word;
}

#define TRACE_RANGE(record, type, buffer, offset, size)                                            \
    &(const struct trace_binding)                                                                  \
    {                                                                                              \
        trace_word(record, offsetof(type, buffer)), trace_word(record, offsetof(type, offset)),    \
            size                                                                                   \
    }
#define TRACE_SIZED_RANGE(record, type, buffer, offset)                                            \
    TRACE_RANGE(record, type, buffer, offset, trace_word(record, offsetof(type, size)))

/* Reports the ranges that the command itself names. Returns true if it runs a kernel, whose
 * bindings trace_kernel_accesses reports; a dispatch of zero workgroups runs none. */
TRACE_INLINE bool trace_command_accesses(const struct trace_segment *segment,
                                         const struct trace_access_sink *sink)
{
    switch ((enum trace_segment_kind)segment->kind) {
    case TRACE_FILL:
        trace_report_access(sink, TRACE_STAGE_TRANSFER, TRACE_ACCESS_WRITE,
                            TRACE_SIZED_RANGE(segment, struct trace_fill, target, offset));
        return false;
    case TRACE_COPY:
        trace_report_access(sink, TRACE_STAGE_TRANSFER, TRACE_ACCESS_READ,
                            TRACE_SIZED_RANGE(segment, struct trace_copy, source, source_offset));
        trace_report_access(sink, TRACE_STAGE_TRANSFER, TRACE_ACCESS_WRITE,
                            TRACE_SIZED_RANGE(segment, struct trace_copy, target, target_offset));
        return false;
    case TRACE_UPDATE:
        trace_report_access(sink, TRACE_STAGE_TRANSFER, TRACE_ACCESS_WRITE,
                            TRACE_SIZED_RANGE(segment, struct trace_update, target, offset));
        return false;
    case TRACE_DISPATCH: {
        uint32_t counts[3];
        memcpy(counts, (const uint8_t *)segment + offsetof(struct trace_dispatch, workgroup_count),
               sizeof counts);
        return counts[0] && counts[1] && counts[2];
    }
    case TRACE_DISPATCH_INDIRECT:
        trace_report_access(sink, TRACE_STAGE_DISPATCH, TRACE_ACCESS_READ,
                            TRACE_RANGE(segment, struct trace_dispatch_indirect, counts, offset,
                                        TRACE_COUNTS_BYTES));
        return true;
    case TRACE_BARRIER:
    case TRACE_EVENT_SIGNAL:
    case TRACE_EVENT_RESET:
    case TRACE_EVENTS_WAIT:
    case TRACE_PUSH_CONSTANTS:
    case TRACE_PUSH_DESCRIPTOR_SET:
    case TRACE_DEBUG_BEGIN:
    case TRACE_DEBUG_END: return false;
    }
    return false;
}

/* Reports the kernel's bindings. It may access all of them unless `mode` says less. */
TRACE_INLINE void trace_kernel_accesses(const struct trace_bound_kernel *kernel,
                                        const struct trace_access_sink *sink)
{
    for (uint32_t set = 0; set < TRACE_MAX_SETS; set++) {
        const uint8_t *at = kernel->bindings[set];
        for (uint32_t i = 0; i < kernel->counts[set]; i++, at += sizeof(struct trace_binding)) {
            if (!trace_word(at, offsetof(struct trace_binding, buffer)))
                continue;
            const enum trace_access_mode mode =
                kernel->mode ? kernel->mode(kernel->user, kernel->executable, kernel->entry, set, i)
                             : TRACE_ACCESS_UNKNOWN;
            if (mode != TRACE_ACCESS_NONE)
                trace_report_access(sink, TRACE_STAGE_DISPATCH, mode,
                                    TRACE_SIZED_RANGE(at, struct trace_binding, buffer, offset));
        }
    }
}

#endif
