/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of a program that failed, those of one kind with one message together. */
#ifndef FORMAT_TOOL_FAILURES_H
#define FORMAT_TOOL_FAILURES_H

#include "format/base/json.h"
#include "format/tool/support/table.h"
#include "format/trace.h"

/* All zero: none. */
struct failures {
    struct tool_table calls; /* in the order of the trace */
    uint64_t total;
};

/* Takes a record of kind TRACE_FAILURE. HAL_NO_MEMORY. */
enum hal_status failures_take(struct failures *failures,
                              const struct trace_failure *record) HAL_CHECKED;
void failures_finish(struct failures *failures);

/* Times count from the begin of the capture. */
void failures_print(const struct failures *failures, const struct trace_reader *reader,
                    struct trace_text *text);
/* As the value "failed_calls" of an open object. */
void failures_json(const struct failures *failures, const struct trace_reader *reader,
                   struct trace_text *text);

#endif
