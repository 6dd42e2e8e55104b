/* SPDX-License-Identifier: Apache-2.0 */
/* Showing in a view of a longer reading of a file what a view of an earlier one showed. What takes
 * long is made first, on any thread, from a list of it; the rest takes no time. */
#ifndef VIEWER_CARRY_H
#define VIEWER_CARRY_H

#include "viewer/ui/filter.h"
#include "viewer/ui/view.h"

/* What of a view takes longer than a frame to make for another model. */
enum view_wish {
    VIEW_WISH_SUBMISSIONS_BY,
    VIEW_WISH_GAPS_BY,
    VIEW_WISH_BUFFERS_BY,
    VIEW_WISH_REPEATS_BY,
    VIEW_WISH_KERNELS_BY,
    VIEW_WISH_FINDINGS_BY,
    VIEW_WISH_KERNELS,
    VIEW_WISH_ITERATIONS,
    VIEW_WISH_FINDINGS,
    VIEW_WISH_PATH,
    VIEW_WISH_COUNTERS,
    VIEW_WISH_RANGE,
    VIEW_WISH_RANGE_BEGIN_NS, /* since the capture's begin */
    VIEW_WISH_RANGE_END_NS,
    VIEW_WISH_COUNT
};

struct view_wishes {
    int64_t of[VIEW_WISH_COUNT];
    char filter[VIEW_FILTER_BYTES]; /* "": everything is shown */
};

void view_wishes_of(const struct view *view, struct view_wishes *out_wishes);
bool view_wishes_equal(const struct view_wishes *a, const struct view_wishes *b);

/* Makes all of it in a new view that nobody shows yet, on the calling thread, until the view's
 * `task` is stopped. */
void view_prepare(struct view *view, const struct view_wishes *wishes);

/* Shows in a view that is so prepared what `old` showed, of an earlier reading of the same file:
 * window, cursor, selection, lanes, marks, search, panel, what is typed just now, what was given up
 * and the message. What reached the end of the trace still does. The other trace that stands below
 * the lanes is taken from `old`. */
void view_carry_prepared(struct view *view, struct view *old);

/* Both. */
void view_carry(struct view *view, struct view *old);

#endif
