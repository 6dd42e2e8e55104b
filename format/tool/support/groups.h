/* SPDX-License-Identifier: Apache-2.0 */
/* Renumbers groups of ranks when traces are merged. Each process numbers its groups consistently in
 * all of its traces: traces of one process keep common numbers, and those of another process follow
 * after them. A merged trace contains several processes; the offsets recorded by that merge
 * identify the process of a number.
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

/* The processes of all traces. All zero is empty. */
struct groups_all {
    struct groups_process *processes;
    size_t count, capacity;
    uint64_t stray; /* a number that belongs to none of its trace's captures; 0: none */
};

/* The groups of one trace. All zero is empty. */
struct groups {
    struct groups_all *all;
    struct groups_capture *captures;
    size_t count;
};

/* `header` is borrowed until groups_close. HAL_NO_MEMORY. */
enum hal_status groups_open(struct groups *groups, struct groups_all *all,
                            const struct trace_header *header) HAL_CHECKED;
void groups_note(struct groups *groups, uint64_t number);
/* HAL_UNSUPPORTED: the numbers become too large. HAL_CORRUPT: a number belongs to no capture. */
enum hal_status groups_number(struct groups_all *all) HAL_CHECKED;
/* The new number of a noted one. */
uint64_t groups_new_number(const struct groups *groups, uint64_t number);
/* The offset of the capture's process: its first number now, less 1. */
uint64_t groups_new_base(const struct groups *groups, size_t capture);

void groups_close(struct groups *groups);
void groups_all_finish(struct groups_all *all);

#endif
