/* SPDX-License-Identifier: Apache-2.0 */
/* What can be counted at every moment from what a trace holds, which has no counters of its own:
 * submissions that wait and that are in flight, bytes per second that the host writes and reads. */
#ifndef VIEWER_COUNTERS_H
#define VIEWER_COUNTERS_H

#include "viewer/ui/panes.h"

enum view_counter {
    VIEW_COUNTER_WAITING,   /* submissions, from the call until they run */
    VIEW_COUNTER_IN_FLIGHT, /* from the call until they have ended */
    VIEW_COUNTER_UPLOADS,   /* bytes per second that the host writes into buffers */
    VIEW_COUNTER_READBACKS, /* that it reads from them */
    VIEW_COUNTER_COUNT
};
extern const char *const view_counter_names[VIEW_COUNTER_COUNT]; /* "in flight" */

/* The level from a moment on, and the sum of level times seconds before it. */
struct view_knot {
    int64_t ns;
    double level, sum;
};

struct view_counters {
    struct {
        VIEW_TABLE(view_knot, knots); /* in order of time */
    } of[VIEW_COUNTER_COUNT];
};

/* `task` may be NULL. HAL_NO_MEMORY; HAL_TIMEOUT when the task was stopped. */
enum hal_status view_counters_find(const struct view_model *model, struct view_task *task,
                                   struct view_counters *out_counters) HAL_CHECKED;
void view_counters_finish(struct view_counters *counters);

/* At a moment, and on average from one to another. */
double view_counter_at(const struct view_counters *counters, enum view_counter which, int64_t ns);
double view_counter_mean(const struct view_counters *counters, enum view_counter which,
                         int64_t begin_ns, int64_t end_ns);
/* "3", "1.5" or "2.1 GiB/s". */
void view_counter_text(enum view_counter which, double level, char *out, size_t bytes);

/* ---- On the screen: meters.c -------------------------------------------------------------- */

/* How many rows they want, and draws them into the last rows of the area, at most half of it.
 * Returns how many it took. */
int view_meter_rows(const struct view *view);
int view_meters_draw(struct view *view, struct view_area area);
/* At the cursor. */
void view_describe_counters(struct view *view, struct view_lines *lines);

#endif
