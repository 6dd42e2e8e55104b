/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a timeline: buffer bytes by memory type, and submissions in flight. */
#ifndef FORMAT_TOOL_COUNTERS_H
#define FORMAT_TOOL_COUNTERS_H

#include "format/tool/export/export.h"
#include "format/tool/support/table.h"

enum { COUNTER_TYPES = 16, COUNTER_NAME_BYTES = 96 };

struct counters {
    struct export_sink *sink; /* borrowed */
    uint64_t *next_track;     /* borrowed: the number of the next track */
    struct tool_table buffers;
    int64_t memory[COUNTER_TYPES], in_flight; /* bytes by memory type */
    struct export_track memory_tracks[COUNTER_TYPES], flight_track;
    char memory_names[COUNTER_TYPES][COUNTER_NAME_BYTES];
};

void counters_init(struct counters *counters, struct export_sink *sink, uint64_t *next_track);
void counters_finish(struct counters *counters);

/* Takes any event. HAL_NO_MEMORY. */
enum hal_status counters_take(struct counters *counters,
                              const struct trace_event *event) HAL_CHECKED;

/* Adds `change` (1 or -1) to the submissions in flight. */
void counters_flight(struct counters *counters, int64_t ns, int change);

#endif
