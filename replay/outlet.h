/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed inside a jail, on its way out: a terminal obeys what it is sent, and the inside,
 * which runs native code of a file's making, could send anything. What is no plain text becomes
 * '?'; ends of lines, tabs and returns to the line's begin pass. Private to replay/. */
#ifndef REPLAY_OUTLET_H
#define REPLAY_OUTLET_H

#include "hal/base/status.h"

#include <pthread.h>
#include <stdbool.h>

struct replay_outlet {
    int inside;   /* what the inside is to have in place of the descriptor below; -1: closed */
    int to;       /* the descriptor of this process that it comes out at */
    int from;     /* private, as is the rest */
    int stops[2]; /* a pipe that says so by its end */
    bool runs;
    pthread_t thread;
    int error;
};

/* The thread that hands on is started later: a process with one thread can fork. */
enum hal_status replay_outlet_open(struct replay_outlet *outlet, int to) HAL_CHECKED;

/* Closes the inside's end in this process and hands on what comes from there, in a thread. */
enum hal_status replay_outlet_run(struct replay_outlet *outlet) HAL_CHECKED;

/* Blocks until everything is handed on that was printed before. Whoever still has the inside's end
 * prints into nothing. Returns why something could not be handed on, an error number, or 0. */
int replay_outlet_close(struct replay_outlet *outlet);

#endif
