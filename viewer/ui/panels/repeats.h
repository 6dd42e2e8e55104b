/* SPDX-License-Identifier: Apache-2.0 */
/* The iterations of a view, made when they are first asked for. */
#ifndef VIEWER_REPEATS_H
#define VIEWER_REPEATS_H

#include "viewer/describe/iterations.h"
#include "viewer/ui/view.h"

enum hal_status view_repeats_need(struct view *view) HAL_CHECKED; /* HAL_NO_MEMORY */
void view_repeats_destroy(struct view_iterations *iterations);

/* The cursor goes to the begin of the next iteration, or of this one or the one before. */
void view_next_iteration(struct view *view, bool forward);

#endif
