/* SPDX-License-Identifier: Apache-2.0 */
/* Follows a file that is still being written: checks it periodically, reads it again in the
 * background when it has grown, restores the user's state in the new view, and replaces the old
 * one. One thread at a time. */
#ifndef VIEWER_FOLLOW_H
#define VIEWER_FOLLOW_H

#include "viewer/ui/view.h"

struct view_reload;

struct view_follow {
    const char *path;
    int64_t bytes, changed_s;   /* of the file when it was read */
    int64_t next_ns;            /* next check; hal_clock_ns */
    int64_t began_ns;           /* when reading began */
    bool reads;                 /* reading is in progress */
    struct view_reload *reload; /* the new view that will replace the shown one, or NULL */
    bool is_held;               /* by its capture, when it was read */
    bool ended;                 /* its capture ended or was killed: it will not grow */
};

/* `model` was just read, in that time, and has no view yet: finds out whether the file grows. */
void view_follow_begin(struct view_follow *follow, const char *path, struct view_model *model,
                       int64_t took_ns);

/* Nanoseconds until there is something to do; -1: nothing until a key or a background job. */
int64_t view_follow_pause_ns(const struct view_follow *follow, const struct view *view);

/* Checks the file when it is due, and starts reading it when it has grown. When reading is
 * complete, replaces model and view, unless another job or search is running: that completes first.
 * Takes little time if the view is live. A file that cannot be read replaces neither. */
void view_follow_look(struct view_follow *follow, struct view_model **model, struct view **view);

/* Frees what was read and not shown. The shown view must have ended. */
void view_follow_end(struct view_follow *follow);

#endif
