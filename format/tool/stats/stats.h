/* SPDX-License-Identifier: Apache-2.0 */
/* How often a trace executed what: counted by stats_load.c, printed by stats.c. */
#ifndef FORMAT_TOOL_STATS_H
#define FORMAT_TOOL_STATS_H

#include "format/analysis/statistics.h"
#include "format/tool/support/collectives.h"
#include "format/tool/support/failures.h"
#include "format/tool/support/host_calls.h"
#include "format/tool/support/table.h"
#include "format/tool/support/tool.h"

/* An entry point of an executable. */
struct kernel {
    uint64_t executable, entry; /* key of tool_table_add_pair */
    uint32_t name;
    uint32_t group_size[3];
    uint64_t dispatches, groups;
    uint64_t alone_ns, alone;  /* device time of submissions with a single dispatch */
    uint64_t timed_ns, timed;  /* of dispatches timed by the device */
    struct trace_typical each; /* per dispatch; a submission of several counts once */
};

/* What one execution of a command buffer adds to the counts. */
struct commands {
    size_t first_use, use_count; /* in `uses` */
    size_t first_dispatch;       /* in `dispatched` */
    uint64_t barriers, fills, copies, updates, transfer_bytes, dispatches, indirect;
};

struct use {
    size_t kernel; /* index in `kernels` */
    uint64_t dispatches, groups;
};

struct submission {
    uint64_t id;
    size_t first_commands, commands_count; /* in `submitted` */
    int64_t begin_ns, device_ns;
    bool is_timed; /* its dispatches are timed */
};

/* The duration of a dispatch. */
struct stats_sample {
    size_t kernel; /* index in `kernels` */
    int64_t begin_ns, ns;
};

struct tally {
    uint64_t count, bytes;
    int64_t ns;
};

struct stats {
    struct trace_reader *reader;
    struct failures failures;
    struct exchanges exchanges;
    struct host_calls host_calls;
    struct tool_table kernels, commands, submissions; /* of structs of that name */
    struct use *uses;
    uint64_t *submitted;  /* command buffer ids */
    uint32_t *dispatched; /* indices in `kernels`, one per dispatch */
    size_t use_count, use_capacity, submitted_count, submitted_capacity;
    size_t dispatched_count, dispatched_capacity;
    struct stats_sample *samples;
    size_t samples_count, samples_capacity;
    struct tally waits, uploads, readbacks, submits;
    struct commands total;
    int64_t device_ns;
};

/* Counts everything in the trace and takes ownership of the reader. Kernels are in order of their
 * dispatches. Always call stats_finish. */
enum hal_status stats_load(struct stats *stats, struct trace_reader *reader) HAL_CHECKED;
void stats_finish(struct stats *stats);

#endif
