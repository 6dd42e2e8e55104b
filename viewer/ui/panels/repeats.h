/* SPDX-License-Identifier: Apache-2.0 */
/* The iterations of a view, made when they are first asked for. */
#ifndef VIEWER_REPEATS_H
#define VIEWER_REPEATS_H

#include "viewer/describe/iterations.h"
#include "viewer/ui/view.h"

/* Makes them now. HAL_NO_MEMORY. */
enum hal_status view_repeats_need(struct view *view,
                                  const struct view_iterations **out_iterations) HAL_CHECKED;

/* The cursor goes to the begin of the next iteration, or of this one or the one before. */
void view_next_iteration(struct view *view, bool forward);

#endif
