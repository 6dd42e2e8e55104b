/* SPDX-License-Identifier: Apache-2.0 */
/* The labels that the program gave its objects: its authors know these, not the trace's numbers. */
#ifndef FORMAT_TOOL_LABELS_H
#define FORMAT_TOOL_LABELS_H

#include "format/base/json.h"
#include "format/columns/layout.h"
#include "format/tool/support/table.h"
#include "format/trace.h"

struct tool_labels {
    struct tool_table strings; /* by object */
};

/* Keeps the label, if the event gives an object one. */
enum hal_status tool_labels_take(struct tool_labels *labels,
                                 const struct trace_event *event) HAL_CHECKED;

/* The event itself contains the label of its object. */
bool tool_labels_given(const struct trace_event *event);

/* Appends " 'weights'", or nothing if the object has no label. */
void tool_labels_add(const struct tool_labels *labels, const struct trace_reader *reader,
                     uint64_t object, struct trace_text *text);

static inline void tool_labels_finish(struct tool_labels *labels)
{
    tool_table_finish(&labels->strings);
}

#endif
