/* SPDX-License-Identifier: Apache-2.0 */
/* The iterations of a view, made when they are first asked for. */
#ifndef VIEWER_ITERATION_PANEL_H
#define VIEWER_ITERATION_PANEL_H

#include "viewer/describe/iterations.h"
#include "viewer/ui/view.h"

/* NULL: they are not there yet, were given up, or memory is out, which is said. */
const struct view_iterations *view_iterations_of(struct view *view);

/* The cursor goes to the begin of the next iteration ('t'), or of this one or the one before. */
void view_next_iteration(struct view *view, int key);

#endif
