/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed inside a jail, on its way out: a terminal obeys what it is sent, and the inside,
 * which runs native code of a file's making, could send anything. What is no plain text becomes
 * '?'; ends of lines, tabs and returns to the line's begin pass. Private to replay/.
 *
 * Two outlets hand on beside each other. Who prints to both and cares for the order settles the
 * one before he goes on with the other. */
#ifndef REPLAY_OUTLET_H
#define REPLAY_OUTLET_H

#include "hal/base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay_outlet {
    int inside;   /* what the inside is to have in place of the descriptor below; -1: closed */
    int to;       /* the descriptor of this process that it comes out at */
    int from;     /* private, as is the rest */
    int stops[2]; /* a pipe that says so by its end */
    bool runs;
    pthread_t thread;
    int error;
    bool holds;      /* by the opener: what comes behind a report's begin is kept until the end */
    bool is_holding; /* private, as is the rest */
    char *held;
    size_t held_bytes, held_capacity;
    bool inside_line;          /* what was handed on last did not end one */
    _Atomic uint32_t *settled; /* counts, in memory that the inside sees */
};

/* The thread that hands on is started later: a process with one thread can fork. */
enum hal_status replay_outlet_open(struct replay_outlet *outlet, int to,
                                   _Atomic uint32_t *settled) HAL_CHECKED;

/* Closes the inside's end in this process and hands on what comes from there, in a thread. */
enum hal_status replay_outlet_run(struct replay_outlet *outlet) HAL_CHECKED;

/* Blocks until everything is handed on, or held, that was printed before. Whoever still has the
 * inside's end prints into nothing. */
void replay_outlet_close(struct replay_outlet *outlet);

/* After closing: hands on what is held, or drops it. Returns why something could not be handed on,
 * an error number, or 0. */
int replay_outlet_release(struct replay_outlet *outlet, bool keep);

/* After closing, of a terminal: takes back a line that was not ended, as that of progress is. */
void replay_outlet_clear_line(struct replay_outlet *outlet, int columns);

/* ---- Inside, of what it has in place of the descriptor ---- */

/* Blocks until everything is handed on that was printed before. */
void replay_outlet_settle(int inside, _Atomic uint32_t *settled);

/* What comes from here on is the report. */
void replay_outlet_begin_report(int inside);

#endif
