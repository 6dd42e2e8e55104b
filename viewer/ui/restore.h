/* SPDX-License-Identifier: Apache-2.0 */
/* Restores a view's state for a later reading of the file: each part finds its objects by id. */
#ifndef VIEWER_RESTORE_H
#define VIEWER_RESTORE_H

#include "viewer/ui/view.h"

/* Takes the results of the view's jobs, starts jobs for what `old` has and this one lacks, and
 * copies the rest: window, cursor, selection, tracks, bookmarks, search, panel, the prompt,
 * cancellations and the message. What reached the end of the trace still does. False: jobs are
 * running; the view is complete once a later call returns true. */
bool view_restore(struct view *view, const struct view *old);

/* For the parts: converts a moment or a buffer of `old`; VIEW_NO_REF: not found. */
int64_t view_same_moment(const struct view *view, const struct view *old, int64_t ns);
uint32_t view_same_buffer(const struct view *view, const struct view *old, uint32_t buffer);

#endif
