/* SPDX-License-Identifier: Apache-2.0 */
/* Counters computed from a trace, which has none of its own: submissions waiting and in flight,
 * bytes per second written and read by the host. */
#ifndef VIEWER_COUNTERS_H
#define VIEWER_COUNTERS_H

#include "viewer/ui/panes.h"

enum view_counter {
    VIEW_COUNTER_WAITING,   /* submissions, from the call until they start */
    VIEW_COUNTER_IN_FLIGHT, /* from the call until they end */
    VIEW_COUNTER_UPLOADS,   /* bytes per second that the host writes into buffers */
    VIEW_COUNTER_READBACKS, /* that it reads from them */
    VIEW_COUNTER_COUNT
};
extern const char *const view_counter_names[VIEW_COUNTER_COUNT]; /* "in flight" */

/* The level from a moment on, and the integral of the level over time before it. */
struct view_knot {
    int64_t ns;
    double level, sum;
};

struct view_counters {
    struct {
        VIEW_TABLE(view_knot, knots); /* in time order */
    } of[VIEW_COUNTER_COUNT];
};

/* `task` may be NULL. HAL_NO_MEMORY; HAL_TIMEOUT when the task was stopped. */
enum hal_status view_counters_find(const struct view_model *model, struct view_task *task,
                                   struct view_counters *out_counters) HAL_CHECKED;
void view_counters_finish(struct view_counters *counters);

/* At a moment; on average over a range. */
double view_counter_at(const struct view_counters *counters, enum view_counter which, int64_t ns);
double view_counter_mean(const struct view_counters *counters, enum view_counter which,
                         int64_t begin_ns, int64_t end_ns);
/* "3", "1.5" or "2.1 GiB/s". */
void view_counter_text(enum view_counter which, double level, char *out, size_t bytes);

/* ---- On the screen: meters.c -------------------------------------------------------------- */

/* How many rows they want; draws them into at most the lower half, and returns the number used. */
int view_meter_rows(const struct view *view);
int view_meters_draw(struct view *view, struct view_area area);
/* The values at the cursor. */
void view_describe_counters(struct view *view, struct view_lines *lines);

#endif
