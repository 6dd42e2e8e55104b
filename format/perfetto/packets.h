/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a trace that Perfetto reads: tracks for the process, its threads and the device's
 * queues; slices with arguments for scopes, host waits, submissions, device work, timed dispatches
 * and collectives; flows from a submission to its work; a counter of buffer memory. */
#ifndef FORMAT_PACKETS_H
#define FORMAT_PACKETS_H

#include "format/columns/collectives.h"
#include "format/columns/columns.h"
#include "format/columns/tables.h"
#include "format/timeline/timeline.h"
#include "format/trace.h"

struct trace_packets {
    uint64_t process_id;
    /* Is told of all records by the writer, before their packets are asked for. */
    struct trace_timeline timeline;
    struct trace_channels channels;
    bool counts_memory; /* its track is described */
};

/* `tables`, for names, is borrowed. */
void trace_packets_init(struct trace_packets *packets, const struct trace_header *header,
                        const struct trace_tables *tables);
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
