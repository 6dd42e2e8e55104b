/* SPDX-License-Identifier: Apache-2.0 */
/* Shows only events for which all terms hold, like "name~mul dur>50us queue=0".
 *
 *     name~REGEX, or a bare word   the label matches; name!~REGEX: it does not
 *     dur>50us  >= < <=            how long it took; ns, us, ms, s
 *     queue=0                      of submissions and of the calls that made them
 *     failed                       it failed
 *
 * Memory is always shown: it has no events. One thread at a time. */
#ifndef VIEWER_FILTER_H
#define VIEWER_FILTER_H

#include "viewer/model/model.h"

#include <regex.h>

enum { VIEW_FILTER_BYTES = 128, VIEW_FILTER_TERMS = 8 };

enum view_filter_what {
    VIEW_FILTER_NAME,
    VIEW_FILTER_DURATION,
    VIEW_FILTER_QUEUE,
    VIEW_FILTER_FAILED
};

struct view_filter_term {
    enum view_filter_what what;
    bool negated; /* for names */
    int64_t least_ns, most_ns;
    uint32_t queue;
    regex_t regex; /* for names */
};

struct view_filter {
    const struct view_model *model;
    char text[VIEW_FILTER_BYTES];
    struct view_filter_term terms[VIEW_FILTER_TERMS];
    size_t term_count;
    struct view_series *series; /* by track: the passing events */
    uint64_t passed, of;        /* events, not counting tracks that repeat others */
};

/* Creates a filter, to be applied. HAL_INVALID: the message names the wrong term. HAL_NO_MEMORY. */
enum hal_status view_filter_create(const struct view_model *model, const char *text,
                                   struct view_filter **out_filter) HAL_CHECKED;
/* Examines every event, once. HAL_NO_MEMORY; HAL_TIMEOUT: the task (NULL: none) was stopped. */
enum hal_status view_filter_apply(struct view_filter *filter, struct view_task *task) HAL_CHECKED;
void view_filter_destroy(struct view_filter *filter);

bool view_filter_passes(const struct view_filter *filter, const struct view_track *track,
                        const struct view_span *event);

#endif
