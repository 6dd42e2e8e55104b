/* SPDX-License-Identifier: Apache-2.0 */
/* What of a trace some of its submissions need: the submissions and host writes whose bytes they
 * may read, the objects that all of those name, and what puts them in order.
 *
 *     slice_load(&slice, reader);
 *     slice_want(&slice, submission); ...
 *     slice_find(&slice);
 *     ... slice.events[i].fate, for the i-th event that trace_reader_each visits ...
 *     slice_finish(&slice);
 *
 * Outline. Backwards, in the order of tickets, the slice keeps ranges of bytes that are still
 * needed: a submission that may write some of them belongs to it, and what it reads is needed as
 * well; a transfer or a host write that covers them ends the need. Submissions that do not belong
 * to it are left out when they come before the first one that does: their signals are in the
 * initial values of semaphores then. Later ones stay as barriers, with waits and signals and
 * without work, so that the order of all others, and what the host waits for, is what it was.
 * Read-backs stay where only the slice had written. */
#ifndef FORMAT_TOOL_SLICE_H
#define FORMAT_TOOL_SLICE_H

#include "format/analysis/reflection.h"
#include "format/base/arena.h"
#include "format/trace.h"

enum slice_fate {
    SLICE_DROPPED,
    SLICE_KEPT,
    SLICE_EMPTIED, /* of a submission: a barrier in its place */
};

struct slice_event {
    const struct trace_event *record; /* a copy, without segments; its numbers are the file's */
    uint64_t call;                    /* the submission whose host call it is inside of, plus 1 */
    uint64_t scope_end;               /* of a scope's begin: number of its end, plus 1 */
    uint8_t fate;                     /* enum slice_fate */
    bool wanted, ended;               /* ended: of a submission, before the window or inside it */
};

struct slice_range {
    uint64_t begin, end; /* empty: end 0 */
};

/* An object of the trace. */
struct slice_object {
    const struct trace_event *created;
    uint64_t size;                    /* of buffers */
    struct slice_range needed, wrong; /* of buffers: see find_dependencies, judge_reads */
    uint64_t created_ticket;
    uint64_t initial, reached, later;  /* of semaphores: see collapse */
    size_t first_access, access_count; /* of command buffers */
    size_t first_name, name_count;     /* of command buffers: objects that it names, as rows */
    bool used, touched;
};

struct slice_access {
    uint32_t object; /* row */
    bool reads, writes, covers;
    uint64_t begin, end;
};

struct slice {
    struct trace_arena arena;
    struct trace_reflection reflection;
    struct slice_event *events;        /* in the order of visits */
    uint32_t *order;                   /* numbers of events with tickets, in that order */
    struct hal_idmap ids, submissions; /* to rows of objects; to numbers of events */
    struct hal_idmap collectives;      /* of submissions, likewise */
    struct slice_object *objects;
    struct slice_access *accesses;
    uint32_t *names;
    size_t event_count, event_capacity, order_count, object_count, object_capacity;
    size_t access_count, access_capacity, name_count, name_capacity;
    uint64_t first_ticket, end_ticket; /* of what is kept: [first, end) */
    int64_t first_ns, end_ns;
    bool out_of_order;                /* something waits for what is submitted later */
    bool failed;                      /* no memory */
    uint64_t wanted, needed, emptied; /* submissions */
};

/* Reads all events. HAL_CORRUPT, HAL_NO_MEMORY; slice_finish is needed in any case. */
enum hal_status slice_load(struct slice *slice, struct trace_reader *reader) HAL_CHECKED;

/* Submissions first to last, both included; how many of them there are. */
uint64_t slice_want(struct slice *slice, uint64_t first, uint64_t last);

/* Submissions that a thread made inside scopes of that name; how many there are. */
uint64_t slice_want_scope(struct slice *slice, const struct trace_reader *reader, const char *name);

/* Decides all fates. */
void slice_find(struct slice *slice);
void slice_finish(struct slice *slice);

/* ---- Between its files ---- */

/* Decides what stays of all but submissions and contents. */
void slice_keep(struct slice *slice);

/* The event of a submission; NULL: there is none. */
const struct slice_event *slice_submission(const struct slice *slice, uint64_t submission);

/* The object's row; NULL: there is none. */
struct slice_object *slice_object(const struct slice *slice, uint64_t id);

#endif
