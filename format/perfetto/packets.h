/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a trace that Perfetto reads: tracks for the process, its threads and the device's
 * queues; slices with arguments for scopes, host waits, submissions, device work, timed dispatches
 * and collectives; flows from a submission to its work; a counter of buffer memory. */
#ifndef FORMAT_PACKETS_H
#define FORMAT_PACKETS_H

#include "format/columns/collectives.h"
#include "format/columns/columns.h"
#include "format/columns/tables.h"
#include "format/perfetto/kernels.h"
#include "format/trace.h"
#include "hal/base/idmap.h"

/* Device work of one queue overlaps: slices within a lane do not. */
struct trace_lane {
    int64_t free_ns;
    bool is_described;
};

struct trace_packets {
    uint64_t process_id;
    const struct trace_tables *tables; /* borrowed; for names */
    uint8_t *described_threads;        /* by number: 1 without a name, 2 with one */
    size_t thread_capacity;
    struct trace_lane *lanes;          /* [queue][lane], for work */
    struct trace_lane *dispatch_lanes; /* the same, for timed dispatches */
    /* Receives all records from the writer if dispatches may be timed. */
    struct trace_kernels kernels;
    struct trace_channels channels;
    /* The last collective of each thread: the next submission end there is its end. */
    struct trace_collective *collectives;
    size_t collective_capacity;
    /* Existing buffers. */
    struct hal_idmap buffers;
    uint64_t *sizes; /* by index */
    uint32_t *free_indices;
    size_t size_capacity, free_capacity;
    uint32_t size_count, free_count;
    uint64_t memory_bytes; /* the sum */
    bool counts_memory;    /* its track has been described */
};

enum hal_status trace_packets_init(struct trace_packets *packets, const struct trace_header *header,
                                   const struct trace_tables *tables) HAL_CHECKED;
void trace_packets_finish(struct trace_packets *packets);

/* The initial packets of a file: clocks and process. */
enum hal_status trace_packets_begin(struct trace_packets *packets,
                                    const struct trace_header *header,
                                    struct trace_bytes *raw) HAL_CHECKED;

/* The packets for one event; often none. */
enum hal_status trace_packets_event(struct trace_packets *packets, uint32_t thread,
                                    const struct trace_event *event,
                                    struct trace_bytes *raw) HAL_CHECKED;

#endif
