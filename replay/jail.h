/* SPDX-License-Identifier: Apache-2.0 */
/* Does something in a child process that can reach nothing (replay/walls.h), watches it, and cleans
 * up after it. One at a time. */
#ifndef REPLAY_JAIL_H
#define REPLAY_JAIL_H

#include "replay/walls.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
    REPLAY_MOST_OUTPUTS = 8,
    REPLAY_PROGRESS_COLUMNS = 40, /* no line that is printed and taken back is longer */
};

/* What the inside tells the outside, which believes none of it, and what it is told. Lies in memory
 * that both share. */
struct replay_jail_note {
    char outputs[REPLAY_MOST_OUTPUTS][PATH_MAX]; /* where to write the jail's outputs */
    bool is_jailed;                              /* what is printed is handed on by the outside: */
    _Atomic uint32_t settled[2]; /* how often it said so, of standard output and error */
    bool again;      /* go inside once more: what this run found is needed by the next */
    bool is_watched; /* by somebody at a terminal, who likes to see progress */
    bool hung;
    uint64_t submission;           /* that hung */
    _Atomic uint32_t refused_call; /* as replay_walls_seal says */
    char missing[REPLAY_MISSING_BYTES];
    bool refused; /* the inside was never begun, for want of walls: */
    char refusal[HAL_MESSAGE_BYTES];
};

struct replay_jail {
    const char *trace;
    const char *const *given; /* more files and folders to read */
    size_t given_count;
    /* Files that the inside may write, at note->outputs[i]: those that are there in the end are
     * copied to these paths, and replace what is there. */
    const char *outputs[REPLAY_MOST_OUTPUTS];
    size_t output_count;
    uint64_t memory_bytes; /* as in replay_walls */
    int64_t time_ns;       /* of all of it; HAL_FOREVER: no limit */
    bool trusted;          /* no child and no walls */
    bool whole;            /* a report is printed when all is done and well, or not at all */
    int (*inside)(void *user, struct replay_jail_note *note); /* returns the exit status */
    /* Outside, when a signal has ended the inside before it was done, and all is cleaned up; the
     * signal then ends this process, too. NULL: nothing to say. */
    void (*interrupted)(void *user, int signal);
    /* Outside, when the inside has ended, if the walls refused it a system call: the first one's
     * name. NULL: nothing to say. */
    void (*refused)(void *user, const char *call);
    void *user;
};

/* Blocks until the child has ended and nothing that it started is left. HAL_OK: it returned by
 * itself. HAL_UNSUPPORTED: this system has not the walls for it. HAL_TIMEOUT: over the time limit,
 * and stopped. HAL_FAILED: a signal ended it. Others: it was never begun. A signal that asks this
 * process to end does so after everything is cleaned up.
 */
enum hal_status replay_jail_run(const struct replay_jail *jail, int *out_exit) HAL_CHECKED;

/* Inside: blocks until whoever reads has all that was printed, so that what is printed to standard
 * error and output comes in this order. */
void replay_jail_settle(struct replay_jail_note *note);

/* Inside, the same, before the report is printed. */
void replay_jail_begin_report(struct replay_jail_note *note);

#endif
