/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is still being written: looked at from time to time, and when it grew read anew
 * beside the screen, with all that the user had made of it, until it can take the place of what is
 * shown. One thread at a time. */
#ifndef VIEWER_FOLLOW_H
#define VIEWER_FOLLOW_H

#include "viewer/ui/view.h"

struct view_growth;

struct view_follow {
    const char *path;
    int64_t bytes, changed_s;   /* of the file, when it was read */
    int64_t next_ns;            /* when to look again; hal_clock_ns */
    int64_t began_ns;           /* when reading began */
    bool reads;                 /* it did */
    struct view_growth *growth; /* what was read, to take the place of what is shown, or NULL */
    bool is_held;               /* by its capture, when it was read */
    bool ended;                 /* its capture has ended, or was killed: nothing more will come */
};

/* `model` was just read from the file, which took so long; no view has been made of it yet: whether
 * it grows is found out. */
void view_follow_begin(struct view_follow *follow, const char *path, struct view_model *model,
                       int64_t took_ns);

/* Nanoseconds until there is something to do; -1: nothing before a key, or before what is done
 * beside the screen has ended. */
int64_t view_follow_pause_ns(const struct view_follow *follow, const struct view *view);

/* Looks at the file if it is time to, and has it read when it grew. Once that is done, replaces
 * model and view, unless something else is done beside the screen, or looked for: that comes to its
 * end first. Takes little time where the view is live. A file that cannot be read just now leaves
 * both, and the view says why. */
void view_follow_look(struct view_follow *follow, struct view_model **model, struct view **view);

/* Frees what was read and not shown. The view that is shown has ended before. */
void view_follow_end(struct view_follow *follow);

#endif
