/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for the findings of a model on a thread of its own. Whoever starts a finder owns it, asks
 * from one thread at a time whether it is done, and ends it before the model is closed. */
#ifndef VIEWER_FINDER_H
#define VIEWER_FINDER_H

#include "viewer/findings.h"

struct view_finder;

/* HAL_NO_MEMORY, or why there is no thread. */
enum hal_status view_finder_start(const struct view_model *model,
                                  struct view_finder **out_finder) HAL_CHECKED;

/* Never blocks. */
bool view_finder_is_done(const struct view_finder *finder);
/* How much is done, in percent. */
unsigned view_finder_percent(const struct view_finder *finder);

/* Ends a finder that is done and gives what it found to the caller, or why it failed; one that is
 * not is waited for. */
enum hal_status view_finder_take(struct view_finder *finder,
                                 struct view_findings *out_findings) HAL_CHECKED;

/* Ends it wherever it is, within milliseconds; NULL does nothing. */
void view_finder_cancel(struct view_finder *finder);

#endif
