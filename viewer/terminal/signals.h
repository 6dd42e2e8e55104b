/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of a full-screen program. They are blocked except while it waits for input, so handlers
 * only set a flag. For the main thread; other threads start with all signals blocked. */
#ifndef VIEWER_SIGNALS_H
#define VIEWER_SIGNALS_H

#include <signal.h>

struct view_signals {
    volatile sig_atomic_t resized, stopped; /* SIGWINCH or SIGTSTP arrived */
    volatile sig_atomic_t ended;            /* the termination signal, or 0 */
};
extern struct view_signals view_signals;

/* Installs the handlers. */
void view_signals_take(void);

/* The signal mask for pselect while waiting. */
const sigset_t *view_signals_while_waiting(void);

/* Stops the program like SIGTSTP; returns when it is continued. */
void view_signals_stop(void);

/* Ends the program with the termination signal, if one arrived. */
void view_signals_end(void);

#endif
