/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace has recorded so far, as far as slices need it: the kernels and debug groups of
 * command buffers, the command buffers of submissions, and their collectives. While a trace is
 * written, what is remembered is bounded: the oldest is forgotten, and so is what there is no
 * memory for. One thread. */
#ifndef FORMAT_RECORDED_H
#define FORMAT_RECORDED_H

#include "format/record.h"
#include "hal/base/idmap.h"

struct trace_kernel {
    uint32_t name;      /* string; 0: unknown */
    uint32_t groups[3]; /* all 0: known to the device alone */
};

/* A debug group of a command buffer. */
struct trace_group {
    uint32_t label, depth, parent;         /* index of the one around it */
    uint32_t first_dispatch, end_dispatch; /* UINT32_MAX: it does not end */
    bool is_all;                           /* holds all commands */
};

enum trace_remembered_table {
    TRACE_OF_ENTRY_POINTS, /* of executables: names */
    TRACE_OF_KERNELS,      /* of command buffers: what the dispatches run */
    TRACE_OF_GROUPS,       /* of command buffers */
    TRACE_OF_SUBMISSIONS,  /* their command buffers */
    TRACE_OF_COLLECTIVES,  /* of submissions: one record */
    TRACE_REMEMBERED_TABLES
};

/* Rows of one table, each with a list. */
struct trace_remembered {
    struct hal_idmap ids;
    struct trace_remembered_row *rows;
    size_t count, capacity, bytes; /* bytes: of the lists */
};

struct trace_recorded {
    struct trace_remembered newer[TRACE_REMEMBERED_TABLES], older[TRACE_REMEMBERED_TABLES];
    bool is_bounded, without_commands, without_groups; /* settable; all else zero is nothing */
    bool is_failed; /* memory was out: something is not remembered */
    /* Of the command buffer whose segments come: what has come, and the open group. */
    uint32_t segment, segment_count, dispatch, groups, depth, open;
};

void trace_recorded_finish(struct trace_recorded *recorded);

/* Remembers what the record tells; segments in order, behind the seal of their command buffer. */
void trace_recorded_event(struct trace_recorded *recorded, const struct trace_event *event);
void trace_recorded_segment(struct trace_recorded *recorded, uint64_t command_buffer,
                            const struct trace_segment *segment);

/* Lists are borrowed until more is remembered; NULL: it was forgotten, or never told. */
const struct trace_kernel *trace_recorded_kernel(const struct trace_recorded *recorded,
                                                 uint64_t submission,
                                                 const struct trace_dispatch_time *time);
const struct trace_group *trace_recorded_groups(const struct trace_recorded *recorded,
                                                uint64_t command_buffer, uint32_t *out_count);
const struct trace_collective *trace_recorded_collective(const struct trace_recorded *recorded,
                                                         uint64_t submission);

#endif
