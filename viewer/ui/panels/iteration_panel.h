/* SPDX-License-Identifier: Apache-2.0 */
/* The iterations of a view, computed on first use. */
#ifndef VIEWER_ITERATION_PANEL_H
#define VIEWER_ITERATION_PANEL_H

#include "viewer/describe/iterations.h"
#include "viewer/ui/view.h"

/* NULL: not ready, cancelled, or out of memory, with a message. */
const struct view_iterations *view_iterations_of(struct view *view);

/* Moves the cursor to the next iteration's begin ('t'), or to this one's or the previous one's. */
void view_next_iteration(struct view *view, int key);

#endif
