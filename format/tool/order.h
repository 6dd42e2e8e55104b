/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMAT_TOOL_ORDER_H
#define FORMAT_TOOL_ORDER_H

#include "format/trace.h"

/* Only what may be in it is read: frames whose index says otherwise are passed over. Events outside
 * may be visited too. All zero: everything. */
struct tool_window {
    bool has_times, has_submission;
    int64_t first_ns, last_ns;
    uint64_t submission;
};

/* As trace_reader_each, but events of all threads in the order in which they took effect: that of
 * tickets, and of time for those without. One chunk of each thread is in memory. `window` may be
 * NULL.
 */
enum hal_status tool_each_in_order(struct trace_reader *reader, const struct tool_window *window,
                                   trace_visit *visit, void *user) HAL_CHECKED;

#endif
