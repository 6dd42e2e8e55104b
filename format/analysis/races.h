/* SPDX-License-Identifier: Apache-2.0 */
/* Races of a trace: two accesses to the same bytes, at least one of them a write, that nothing
 * orders. Within a command buffer barriers and events order commands (hazards.h); between
 * submissions, and between these and the host, happens_before.h decides. Command buffers of one
 * submission run one after the other.
 *
 *     trace_races_begin(&races);
 *     trace_races_take(&races, event, segments);    every event, as trace_reader_each_in_order
 *     ... races.list[i] ...
 *     trace_races_finish(&races);
 *
 * A race is *declared* when both sides are declared to access the same bytes: a transfer, a host
 * access, or a dispatch of a kernel whose reflection says that its code reads or writes the
 * binding. It is *possible* when a kernel declares nothing; when a binding extends to the end of
 * its buffer and the dispatch has fewer threads than the buffer has words, so that the accessed
 * part is unknown; and when the host wrote through a persistent mapping, for which a trace records
 * pages rather than bytes. Atomic accesses count as plain reads and writes.
 *
 * Bytes that the host could only observe in a persistent mapping (TRACE_FLAG_OBSERVED) are no
 * access: the host may not have looked. A wait for any of several values counts as one for all of
 * them.
 *
 * Cost: linear in the accesses of executed commands, times the pieces that their ranges are cut
 * into. Memory: a bounded piece list per buffer, the accesses of existing command buffers, and the
 * clocks of happens_before.h. Anything beyond the limits below is not reported but counted in
 * `undecided`; the limits never cause a false report. One thread at a time. */
#ifndef FORMAT_ANALYSIS_RACES_H
#define FORMAT_ANALYSIS_RACES_H

#include "format/analysis/happens_before.h"
#include "format/analysis/hazards.h"
#include "format/analysis/reflection.h"
#include "format/trace.h"

enum {
    TRACE_RACES_KEPT = 4096,     /* kept in the list, per sort; further ones are only counted */
    TRACE_RACE_PIECES = 4096,    /* per buffer */
    TRACE_RACE_EARLIER = 6,      /* earlier accesses to a piece that a new one is compared with */
    TRACE_RACE_VISITS = 1 << 27, /* total piece visits */
    TRACE_RACE_NAME_BYTES = 192,
};

struct trace_race_side {
    uint64_t place;          /* the submission, or the ticket of the host access */
    uint32_t command_buffer; /* index in the submission */
    uint32_t command;  /* in the command buffer; TRACE_NO_COMMAND: the queue's own, or the host's */
    uint32_t dispatch; /* index in the submission; TRACE_NO_COMMAND: no dispatch */
    uint32_t kernel;   /* string; dispatches only */
    uint32_t kind;     /* enum trace_segment_kind; 0: no command */
    uint8_t host, writes, declared, reserved;
};

struct trace_race {
    struct trace_race_side before, after; /* in an order that may happen */
    uint64_t buffer, begin, end;          /* the bytes that both access, or some of them */
    bool declared;
    bool inside; /* both are in the same command buffer */
};

struct trace_race_buffer;
struct trace_race_commands;
struct trace_race_kernels;
struct trace_race_work;

struct trace_races {
    struct trace_race *list;
    size_t list_count;
    uint64_t count, declared_count; /* `count` includes `declared_count` */
    uint64_t undecided;             /* accesses beyond the limits */
    /* Only races within command buffers: incomplete traces may lack a wait between submissions. */
    bool inside_only;
    /* The list keeps only races in which this submission takes part. */
    bool has_suspect;
    uint64_t suspect;
    /* Called for each command buffer with the findings of hazards.h. NULL: no callback. */
    enum hal_status (*ended)(void *user, const struct trace_command_buffer_seal *seal,
                             const struct trace_hazards *hazards);
    void *user;

    /* Private. */
    struct trace_happens_before order;
    struct trace_reflection reflection;
    struct hal_idmap buffer_ids, command_ids, kernel_ids, call_threads;
    struct trace_race_buffer *buffers;
    struct trace_race_commands **commands;
    struct trace_race_kernels *kernels;
    uint32_t *calls; /* nesting of a thread's calls for submissions, by the map's index */
    struct trace_race_work *work; /* submitted and not started */
    size_t buffer_count, buffer_capacity, command_count, command_capacity;
    size_t kernel_count, kernel_capacity, call_count, call_capacity, list_capacity;
    uint64_t kept_possible, visits;
};

void trace_races_begin(struct trace_races *races);
enum hal_status trace_races_take(struct trace_races *races, const struct trace_event *event,
                                 const struct trace_segment *segments) HAL_CHECKED;
void trace_races_finish(struct trace_races *races);

/* Processes a whole trace, after trace_races_begin. */
enum hal_status trace_races_find(struct trace_reader *reader,
                                 struct trace_races *races) HAL_CHECKED;

/* "#s3.d2 (dispatch of 'scale')", "#s3 (fill, command 4)", "the host's write at ticket 40". Returns
 * `out`. */
const char *trace_race_side_name(const struct trace_race_side *side,
                                 const struct trace_reader *reader,
                                 char out[TRACE_RACE_NAME_BYTES]);

/* Whether the side is that submission or, unless `dispatch` is TRACE_NO_COMMAND, that dispatch. */
bool trace_race_side_is(const struct trace_race_side *side, uint64_t submission, uint32_t dispatch);

#endif
