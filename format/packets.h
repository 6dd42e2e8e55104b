/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a trace that Perfetto understands: tracks for the process, its threads and the
 * device's queues; slices for scopes, host waits, submissions, device work and dispatches that were
 * timed; flows from a submission to its work. */
#ifndef FORMAT_PACKETS_H
#define FORMAT_PACKETS_H

#include "format/columns.h"
#include "format/tables.h"
#include "format/trace.h"

/* Device work of one queue overlaps: each lane holds slices that do not. */
struct trace_lane {
    int64_t free_ns;
    bool is_described;
};

struct trace_packets {
    uint64_t process_id;
    const struct trace_tables *tables; /* borrowed; for names */
    uint8_t *described_threads;        /* by number: 1 without name, 2 with it */
    size_t thread_capacity;
    struct trace_lane *lanes;          /* [queue][lane], of work */
    struct trace_lane *dispatch_lanes; /* the same, of timed dispatches */
};

enum hal_status trace_packets_init(struct trace_packets *packets, uint64_t process_id,
                                   const struct trace_tables *tables) HAL_CHECKED;
void trace_packets_finish(struct trace_packets *packets);

/* The first packets of a file: clocks and process. */
enum hal_status trace_packets_begin(struct trace_packets *packets,
                                    const struct trace_header *header,
                                    struct trace_bytes *raw) HAL_CHECKED;

/* The packets of one event, often none. */
enum hal_status trace_packets_event(struct trace_packets *packets, uint32_t thread,
                                    const struct trace_event *event,
                                    struct trace_bytes *raw) HAL_CHECKED;

#endif
