/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is still being written: looked at from time to time, and read anew when it grew, with
 * the same part of it shown as before. One thread at a time. */
#ifndef VIEWER_FOLLOW_H
#define VIEWER_FOLLOW_H

#include "viewer/view.h"

struct view_follow {
    const char *path;
    int64_t bytes, changed_s; /* of the file, when it was read */
    int64_t next_ns;          /* when to look again; hal_clock_ns */
    bool ended;               /* its capture has ended: nothing more will come */
};

/* `model` was just read from the file, which took so long. */
void view_follow_begin(struct view_follow *follow, const char *path, const struct view_model *model,
                       int64_t took_ns);

/* Nanoseconds until the file is to be looked at; -1: never again. */
int64_t view_follow_pause_ns(const struct view_follow *follow);

/* Looks at the file if it is time to. When it grew, replaces model and view; a file that cannot be
 * read just now leaves both and says why. HAL_NO_MEMORY. */
enum hal_status view_follow_look(struct view_follow *follow, struct view_model **model,
                                 struct view **view) HAL_CHECKED;

/* Shows in `view` what `old` showed, of an earlier reading of the same file: window, cursor,
 * selection, lanes, marks, filter, search, panel. What reached the end of the trace still does. */
void view_carry(struct view *view, const struct view *old);

#endif
