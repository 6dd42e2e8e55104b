/* SPDX-License-Identifier: Apache-2.0 */
/* Showing in a view of a longer reading of a file what a view of an earlier one shows: each part
 * finds again, by its id, what it had. */
#ifndef VIEWER_RESTORE_H
#define VIEWER_RESTORE_H

#include "viewer/ui/view.h"

/* Takes what the view's jobs have done, starts those that make what `old` has and this one lacks,
 * and copies the rest: window, cursor, selection, tracks, bookmarks, search, panel, what is typed
 * just now, what was given up and the message. What reached the end of the trace still does. False:
 * jobs run; it is complete once a later call returns true. */
bool view_restore(struct view *view, const struct view *old);

/* For the parts: what a moment or a buffer of `old` is in the view; VIEW_NO_REF: it is not there.
 */
int64_t view_same_moment(const struct view *view, const struct view *old, int64_t ns);
uint32_t view_same_buffer(const struct view *view, const struct view *old, uint32_t buffer);

#endif
