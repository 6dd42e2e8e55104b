/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORMAT_TOOL_ORDER_H
#define FORMAT_TOOL_ORDER_H

#include "format/trace.h"

/* As trace_reader_each, but events of all threads in the order in which they took effect: that of
 * tickets, and of time for those without. One chunk of each thread is in memory. */
enum hal_status tool_each_in_order(struct trace_reader *reader, trace_visit *visit,
                                   void *user) HAL_CHECKED;

#endif
