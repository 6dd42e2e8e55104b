/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal: shows screens, delivers keys and pointer events, and is restored however the
 * program ends. There is one, owned by the main thread. */
#ifndef VIEWER_TERM_H
#define VIEWER_TERM_H

#include "viewer/grid/screen.h"
#include "viewer/ui/view.h"

struct view_term_options {
    int colors; /* 0: none, 8, 16, 256, VIEW_TRUE_COLORS; -1: the terminal's */
    bool ascii;
    bool mouse;
};

enum view_term_event_kind {
    VIEW_TERM_NOTHING, /* timeout */
    VIEW_TERM_KEY,
    VIEW_TERM_POINTER,
    VIEW_TERM_REDRAW, /* the size changed, or the program was continued */
    VIEW_TERM_END,    /* hangup, or a termination signal */
};

struct view_term_event {
    enum view_term_event_kind kind;
    int key;
    struct view_pointer pointer;
};

/* HAL_UNSUPPORTED: the terminal cannot show a screen. */
enum hal_status view_term_open(const struct view_term_options *options) HAL_CHECKED;

/* Restores the terminal. Ends the program with the termination signal, if one arrived. */
void view_term_close(void);

void view_term_size(int *out_rows, int *out_columns);

/* Sends the changes since the last frame; everything after a change of size. */
void view_term_draw(const struct view_screen *screen);

/* Forgets the terminal's contents, so that the next frame is sent in full. */
void view_term_forget(void);

/* Waits for the next event, at most that many nanoseconds; -1: without limit. */
struct view_term_event view_term_read(int64_t wait_ns);

void view_term_set_mouse(bool on);

/* Gives the screen to another program: view_shell_run of shell.h. */
int view_term_run(const char *command);

/* Writes text to the clipboard of the terminal's user (OSC 52), if the terminal allows it. */
void view_term_copy(const char *text);

#endif
