/* SPDX-License-Identifier: Apache-2.0 */
/* Computes what of a trace some of its submissions need: the submissions and host writes whose
 * bytes they may read, the objects that these name, and what orders them.
 *
 *     slice_load(&slice, reader);
 *     slice_want(&slice, submission); ...
 *     slice_find(&slice);
 *     ... slice.events[i].fate, for the i-th event that trace_reader_each visits ...
 *     slice_finish(&slice);
 *
 * Outline. Going backwards in ticket order, the slice keeps the ranges of bytes that are still
 * needed: a submission that may write some of them is included, and what it reads is needed as
 * well; a transfer or host write that covers a range ends the need for it. Other submissions before
 * the first included one are dropped: the initial values of semaphores account for their signals.
 * Later ones become barriers, with waits and signals but no work, so that the order of all others
 * and the host's waits are preserved. Read-backs stay where only the slice has written. */
#ifndef FORMAT_TOOL_SLICE_H
#define FORMAT_TOOL_SLICE_H

#include "format/analysis/reflection.h"
#include "format/base/arena.h"
#include "format/trace.h"

enum slice_fate {
    SLICE_DROPPED,
    SLICE_KEPT,
    SLICE_EMPTIED, /* of a submission: replaced by a barrier */
};

struct slice_event {
    const struct trace_event *record; /* a copy, without segments; numbers are the file's */
    uint64_t call;                    /* the submission whose host call contains it, plus 1 */
    uint64_t scope_end;               /* of a scope's begin: index of its end, plus 1 */
    uint8_t fate;                     /* enum slice_fate */
    bool wanted, ended;               /* ended: of a submission, before or inside the window */
};

struct slice_range {
    uint64_t begin, end; /* empty: end 0 */
};

/* An object of the trace. */
struct slice_object {
    const struct trace_event *created;
    uint64_t size; /* of buffers */
    /* Of buffers: see find_dependencies, check_content, keep_what_is_read_too. */
    struct slice_range needed, wrong, read;
    uint64_t initial, reached, later;  /* of semaphores: see collapse */
    size_t first_access, access_count; /* of command buffers */
    size_t first_name, name_count;     /* of command buffers: rows of the objects they name */
    bool used, touched;
    bool made; /* a submission that stays writes it */
};

struct slice_access {
    uint32_t object; /* row */
    bool reads, writes, covers;
    uint64_t begin, end;
};

struct slice {
    struct trace_arena arena;
    struct trace_reflection reflection;
    struct slice_event *events;        /* in visit order */
    uint32_t *order;                   /* indices of events with tickets, in ticket order */
    struct hal_idmap ids, submissions; /* to rows of objects; to indices of events */
    struct hal_idmap collectives;      /* of submissions, likewise */
    struct slice_object *objects;
    struct slice_access *accesses;
    uint32_t *names;
    size_t event_count, event_capacity, order_count, object_count, object_capacity;
    size_t access_count, access_capacity, name_count, name_capacity;
    uint64_t first_ticket, end_ticket; /* kept: [first, end) */
    int64_t first_ns, end_ns;
    bool out_of_order;                /* something waits for a later submission */
    bool failed;                      /* out of memory */
    uint64_t wanted, needed, emptied; /* submissions */
};

/* Loads all events. HAL_CORRUPT, HAL_NO_MEMORY; always call slice_finish. */
enum hal_status slice_load(struct slice *slice, struct trace_reader *reader) HAL_CHECKED;

/* Selects submissions first to last, inclusive; returns how many exist. */
uint64_t slice_want(struct slice *slice, uint64_t first, uint64_t last);

/* Selects submissions that a thread made inside scopes of that name; returns their number. */
uint64_t slice_want_scope(struct slice *slice, const struct trace_reader *reader, const char *name);

/* Decides all fates. */
void slice_find(struct slice *slice);
void slice_finish(struct slice *slice);

/* ---- Shared between the files of slice ---- */

/* Decides the fate of everything but submissions and contents. */
void slice_keep(struct slice *slice);

/* The event of a submission; NULL: none. */
const struct slice_event *slice_submission(const struct slice *slice, uint64_t submission);

/* The object's row; NULL: none. */
struct slice_object *slice_object(const struct slice *slice, uint64_t id);

#endif
