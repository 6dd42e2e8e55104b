/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal: shows screens, gives keys and the pointer, and is left as it was found, whatever
 * ends the program. There is one, and it belongs to the main thread. */
#ifndef VIEWER_TERM_H
#define VIEWER_TERM_H

#include "viewer/grid/screen.h"
#include "viewer/ui/view.h"

struct view_term_options {
    int colors; /* 0: none, 8, 16, 256, VIEW_TRUE_COLORS; -1: what the terminal has */
    bool ascii;
    bool mouse;
};

enum view_term_event_kind {
    VIEW_TERM_NOTHING, /* the wait is over */
    VIEW_TERM_KEY,
    VIEW_TERM_POINTER,
    VIEW_TERM_REDRAW, /* the size changed, or the program was continued */
    VIEW_TERM_END,    /* hung up, or asked to end by a signal */
};

struct view_term_event {
    enum view_term_event_kind kind;
    int key;
    struct view_pointer pointer;
};

/* HAL_UNSUPPORTED: the terminal cannot show a screen. */
enum hal_status view_term_open(const struct view_term_options *options) HAL_CHECKED;

/* Restores the terminal. Ends the program by the signal that asked for its end, if one did. */
void view_term_close(void);

void view_term_size(int *out_rows, int *out_columns);

/* Sends what changed since the last one; everything after a change of size. */
void view_term_draw(const struct view_screen *screen);

/* Forgets what the terminal shows, so that the next frame is sent whole. */
void view_term_forget(void);

/* The next event; waits for one so many nanoseconds, -1: until there is one. */
struct view_term_event view_term_read(int64_t wait_ns);

void view_term_set_mouse(bool on);

/* Leaves the screen to another program: view_shell_run of shell.h. */
int view_term_run(const char *command);

/* Puts text into the clipboard of the terminal's user (OSC 52), if the terminal allows it. */
void view_term_copy(const char *text);

#endif
