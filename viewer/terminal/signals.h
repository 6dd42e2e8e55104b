/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of a program that shows a screen. They are blocked but while it waits for input, so that
 * handlers need only raise a flag. The main thread's; others are started with all blocked. */
#ifndef VIEWER_SIGNALS_H
#define VIEWER_SIGNALS_H

#include <signal.h>

struct view_signals {
    volatile sig_atomic_t resized, stopped; /* SIGWINCH, SIGTSTP came */
    volatile sig_atomic_t ended;            /* the one that asks for the end, or 0 */
};
extern struct view_signals view_signals;

/* From now on signals are noted. */
void view_signals_take(void);

/* The mask for waiting: what pselect takes. */
const sigset_t *view_signals_while_waiting(void);

/* Stops the program as SIGTSTP does; returns when it is continued. */
void view_signals_stop(void);

/* Ends the program by the signal that asked for that, if one did. */
void view_signals_end(void);

#endif
