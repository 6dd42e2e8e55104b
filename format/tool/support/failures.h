/* SPDX-License-Identifier: Apache-2.0 */
/* Failed calls of a program, grouped by kind and message. */
#ifndef FORMAT_TOOL_FAILURES_H
#define FORMAT_TOOL_FAILURES_H

#include "format/base/json.h"
#include "format/tool/support/table.h"
#include "format/trace.h"

/* All zero is empty. */
struct failures {
    struct tool_table calls; /* in trace order */
    uint64_t total;
};

/* Takes a TRACE_FAILURE record. HAL_NO_MEMORY. */
enum hal_status failures_take(struct failures *failures,
                              const struct trace_failure *record) HAL_CHECKED;
void failures_finish(struct failures *failures);

/* Times count from the begin of the capture. */
void failures_print(const struct failures *failures, const struct trace_reader *reader,
                    struct trace_text *text);
/* Writes the value of "failed_calls" in an open object. */
void failures_json(const struct failures *failures, const struct trace_reader *reader,
                   struct trace_text *text);

#endif
