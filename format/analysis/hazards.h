/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which commands access the same bytes, which barrier orders them, and which barriers order
 * nothing. Knows neither files nor devices: the caller walks the commands in recording order and
 * reports their accesses and the barriers between them (segments.h does so for a command buffer of
 * a trace).
 *
 *     trace_hazards_begin(&hazards);
 *     trace_hazards_access(&hazards, &(struct trace_access){.command = 3, ...});
 *     trace_hazards_barrier(&hazards, &(struct trace_ordering){.command = 4, ...});
 *     status = trace_hazards_end(&hazards);
 *     ... hazards.barriers[i].need, hazards.races[i] ...
 *     trace_hazards_finish(&hazards);
 *
 * Two accesses conflict when they share bytes and one of them writes. Only the nearest conflicts
 * are examined: where A, B and C write the same bytes, ordering A before B and B before C is
 * enough. A conflict is *certain* when both accesses are known; a kernel need not use a binding
 * that it may write, but two that may only read never conflict. A conflict is *declared* when for
 * both accesses it is known at least whether the kernel has code that writes.
 *
 * What a barrier orders. Stages decide which commands run before which, which is enough for a write
 * after a read. After a write, the source mask must also include writes, which makes them
 * available, and the target mask one of the later command's accesses (hal/hal.h).
 *
 * Verdicts. Barriers are removed as long as every conflict keeps one that orders it, the latest
 * possible one (the fewest sufficient barriers, if all are full ones). NEEDED: kept for a certain
 * conflict. UNKNOWN: kept for uncertain ones only. REDUNDANT: not kept; other barriers order the
 * same conflicts, or there are none. Barriers of different stages order as a chain if each begins
 * at a stage that the previous one has reached; all barriers of a chain are at least UNKNOWN. An
 * exact conflict that nothing orders is a race.
 *
 * Cost: linear in accesses, times the pieces that the accessed range is cut into. Anything beyond
 * the limits below is counted in `undecided` and makes verdicts UNKNOWN, never wrong. */
#ifndef FORMAT_ANALYSIS_HAZARDS_H
#define FORMAT_ANALYSIS_HAZARDS_H

#include "format/analysis/access.h"
#include "hal/base/idmap.h"
#include "hal/base/status.h"

enum {
    TRACE_HAZARD_PIECES = 1024,    /* pieces per buffer; beyond: its bytes are not distinguished */
    TRACE_HAZARD_VISITS = 1 << 24, /* total piece visits; beyond: as above */
    TRACE_HAZARD_LOOK_BACK = 64,   /* barriers examined between two accesses */
    TRACE_HAZARD_RACES = 4096,     /* races kept; further ones are only counted */
};

#define TRACE_NO_COMMAND UINT32_MAX

/* Which accesses are ordered, bits of enum hal_access; 0: all. */
struct trace_access_masks {
    uint32_t source, target;
};

struct trace_ordered_range {
    uint64_t buffer, begin, end;
    struct trace_access_masks masks;
};

/* Commands of the source stages up to `source` precede those of the target stages after `command`.
 * A barrier has source == command; a wait for an event has the signal as its source. */
struct trace_ordering {
    uint32_t command, source;
    uint32_t source_stages, target_stages;
    struct trace_access_masks masks;          /* for all memory; ignored if there are ranges */
    const struct trace_ordered_range *ranges; /* copied; none: all memory */
    size_t range_count;
};

/* The later of two conflicting accesses, and the earlier one. */
struct trace_hazard {
    uint32_t before, after;           /* commands */
    uint64_t buffer, begin, end;      /* the bytes that both access */
    bool before_writes, after_writes; /* at least one */
    bool certain;
    bool exact;    /* the bytes are distinguished, within the limits */
    bool declared; /* both commands declare these accesses; true if certain */
};

enum trace_barrier_need { TRACE_BARRIER_REDUNDANT, TRACE_BARRIER_UNKNOWN, TRACE_BARRIER_NEEDED };

struct trace_barrier_verdict {
    uint32_t command;
    enum trace_barrier_need need;
    struct trace_hazard evidence; /* the conflict it is kept for; zero if REDUNDANT */
};

struct trace_hazard_barrier;
struct trace_hazard_buffer;

struct trace_hazards {
    struct trace_barrier_verdict *barriers; /* one per ordering, in the order reported */
    size_t barrier_count;
    struct trace_hazard *races;
    size_t kept_race_count; /* number in `races` */
    uint64_t race_count, declared_race_count;
    uint64_t undecided; /* accesses whose bytes or barriers exceeded the limits */

    /* Private. */
    struct trace_hazard_barrier *orderings;
    struct trace_ordered_range *ranges;
    struct trace_hazard_buffer *buffers;
    struct hal_idmap buffer_ids;
    size_t barrier_capacity, ordering_capacity, race_capacity;
    size_t range_count, range_capacity, buffer_count, buffer_capacity;
    uint64_t visits;
    bool failed;
};

void trace_hazards_begin(struct trace_hazards *hazards);
void trace_hazards_access(struct trace_hazards *hazards, const struct trace_access *access);
void trace_hazards_barrier(struct trace_hazards *hazards, const struct trace_ordering *ordering);

/* HAL_NO_MEMORY: the results are incomplete. */
enum hal_status trace_hazards_end(struct trace_hazards *hazards) HAL_CHECKED;
void trace_hazards_finish(struct trace_hazards *hazards);

#endif
