/* SPDX-License-Identifier: Apache-2.0 */
/* Races of a trace: two accesses to the same bytes, at least one of which writes, that nothing
 * orders. Between commands of a command buffer barriers and events order (hazards.h); between
 * submissions, and between them and the host, what happens_before.h says. Command buffers of one
 * submission run one after the other.
 *
 *     trace_races_begin(&races);
 *     trace_races_take(&races, event, segments);    every event, as trace_reader_each_in_order
 *     ... races.list[i] ...
 *     trace_races_finish(&races);
 *
 * A race is *declared* when both sides are declared to touch the same bytes: a transfer, an access
 * of the host, or a dispatch of a kernel whose reflection says that it has code which reads or
 * writes what is bound there. It is *possible* when a kernel declares nothing; when a binding goes
 * to the end of its buffer and the dispatch has fewer threads than it has words, since which part
 * it touches is then unknown; and when the host wrote through a persistent mapping, of which a
 * trace knows pages rather than bytes. Atomic accesses read and write like others.
 *
 * What the host could only see in a persistent mapping (TRACE_FLAG_OBSERVED) is no access: nobody
 * knows whether it looked. A wait for any of several values counts as one for all of them.
 *
 * Cost: linear in the accesses of executed commands, times the pieces that their ranges have been
 * cut into. Memory: a bounded piece list per buffer, the accesses of command buffers that exist,
 * and the clocks of happens_before.h. What goes beyond the limits below is not reported and counted
 * in `undecided`; a race that is reported is never the limits' doing. One thread at a time. */
#ifndef FORMAT_ANALYSIS_RACES_H
#define FORMAT_ANALYSIS_RACES_H

#include "format/analysis/happens_before.h"
#include "format/analysis/hazards.h"
#include "format/analysis/reflection.h"
#include "format/trace.h"

enum {
    TRACE_RACES_KEPT = 4096,     /* of each sort, in the list; more are counted */
    TRACE_RACE_PIECES = 4096,    /* per buffer */
    TRACE_RACE_EARLIER = 6,      /* accesses to a piece that a new one is compared with */
    TRACE_RACE_VISITS = 1 << 27, /* of pieces, in all */
    TRACE_RACE_NAME_BYTES = 192,
};

struct trace_race_side {
    uint64_t place;          /* the submission, or the ticket of the host's access */
    uint32_t command_buffer; /* of the submission: counts from 0 */
    uint32_t command;        /* in it; TRACE_NO_COMMAND: the queue's own operation, or the host */
    uint32_t dispatch;       /* of the submission: counts from 0; TRACE_NO_COMMAND: it is none */
    uint32_t kernel;         /* string, of a dispatch */
    uint32_t kind;           /* enum trace_segment_kind; 0: no command */
    uint8_t host, writes, declared, reserved;
};

struct trace_race {
    struct trace_race_side before, after; /* in an order in which they may happen */
    uint64_t buffer, begin, end;          /* the bytes that both touch, or some of them */
    bool declared;
    bool inside; /* both are in one command buffer */
};

struct trace_race_buffer;
struct trace_race_commands;
struct trace_race_kernels;
struct trace_race_work;

struct trace_races {
    struct trace_race *list;
    size_t list_count;
    uint64_t count, declared_count; /* the latter are part of the former */
    uint64_t undecided;             /* accesses beyond the limits */
    /* Only races inside command buffers: for traces that are not whole, in which a wait may be
     * missing that orders the others. */
    bool inside_only;
    /* The list keeps only those that this submission takes part in. */
    bool has_suspect;
    uint64_t suspect;
    /* Called for each command buffer, with what hazards.h finds in it. NULL: nobody asks. */
    enum hal_status (*sealed)(void *user, const struct trace_command_buffer_seal *seal,
                              const struct trace_hazards *hazards);
    void *user;

    /* Private. */
    struct trace_happens_before order;
    struct trace_reflection reflection;
    struct hal_idmap buffer_ids, command_ids, kernel_ids, call_threads;
    struct trace_race_buffer *buffers;
    struct trace_race_commands **commands;
    struct trace_race_kernels *kernels;
    uint32_t *calls;              /* that a thread makes for submissions, by the map's index */
    struct trace_race_work *work; /* submitted and not started */
    size_t buffer_count, buffer_capacity, command_count, command_capacity;
    size_t kernel_count, kernel_capacity, call_count, call_capacity, list_capacity;
    uint64_t kept_possible, visits;
};

void trace_races_begin(struct trace_races *races);
enum hal_status trace_races_take(struct trace_races *races, const struct trace_event *event,
                                 const struct trace_segment *segments) HAL_CHECKED;
void trace_races_finish(struct trace_races *races);

/* Takes all of a trace, after trace_races_begin. */
enum hal_status trace_races_find(struct trace_reader *reader,
                                 struct trace_races *races) HAL_CHECKED;

/* "#s3.d2 (dispatch of 'scale')", "#s3 (fill, command 4)", "the host's write at ticket 40". Returns
 * `out`. */
const char *trace_race_side_name(const struct trace_race_side *side,
                                 const struct trace_reader *reader,
                                 char out[TRACE_RACE_NAME_BYTES]);

/* Whether the side is that submission, or, if `dispatch` is not TRACE_NO_COMMAND, that dispatch. */
bool trace_race_side_is(const struct trace_race_side *side, uint64_t submission, uint32_t dispatch);

#endif
