/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of groups of ranks when traces are merged. Each process numbers its groups, and all of
 * its traces name one by the same number: those of one process stay together, those of another
 * begin behind them. A trace that was merged itself has several processes; which of them a number
 * is of follows from what was added to it then.
 *
 *     groups_open(&groups, &all, header);        ... for each trace
 *     groups_note(&groups, number);              ... for each number in it
 *     groups_number(&all);
 *     new = groups_new_number(&groups, number);
 *
 * One thread at a time. */
#ifndef FORMAT_TOOL_GROUPS_H
#define FORMAT_TOOL_GROUPS_H

#include "format/trace.h"

/* The processes of all traces; all zero: none. */
struct groups_all {
    struct groups_process *processes;
    size_t count, capacity;
    uint64_t stray; /* a number that none of its trace's captures has; 0: there is none */
};

/* Those of one trace. All zero: none. */
struct groups {
    struct groups_all *all;
    struct groups_capture *captures;
    size_t count;
};

/* `header` is borrowed until the end. HAL_NO_MEMORY. */
enum hal_status groups_open(struct groups *groups, struct groups_all *all,
                            const struct trace_header *header) HAL_CHECKED;
void groups_note(struct groups *groups, uint64_t number);
/* HAL_UNSUPPORTED: the numbers become too large. HAL_CORRUPT: one was noted that is of none of its
 * trace's captures. */
enum hal_status groups_number(struct groups_all *all) HAL_CHECKED;
/* Of one that was noted. */
uint64_t groups_new_number(const struct groups *groups, uint64_t number);
/* Of the trace's capture with that index: what its process's first number, less 1, is now. */
uint64_t groups_new_base(const struct groups *groups, size_t capture);

void groups_close(struct groups *groups);
void groups_all_finish(struct groups_all *all);

#endif
