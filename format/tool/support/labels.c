/* SPDX-License-Identifier: Apache-2.0 */
#include "format/tool/support/labels.h"

struct label {
    uint32_t string;
};

/* The label that the event gives the object in its first column; 0: none. */
static uint32_t string_of(const struct trace_event *event, const struct trace_layout *layout)
{
    if (!layout || !layout->column_count || layout->columns[0].reference != TRACE_REFERENCE_OBJECT)
        return 0;
    for (uint32_t i = 1; i < layout->column_count; i++) {
        const struct trace_column *column = &layout->columns[i];
        if (strcmp(column->member, "label") == 0)
            return (uint32_t)trace_load((const uint8_t *)event + column->member_at, column->width);
    }
    return 0;
}

bool tool_labels_given(const struct trace_event *event)
{
    return string_of(event, trace_family_layout(&trace_event_family, event->kind)) != 0;
}

enum hal_status tool_labels_take(struct tool_labels *labels, const struct trace_event *event)
{
    const struct trace_layout *layout = trace_family_layout(&trace_event_family, event->kind);
    const uint32_t string = string_of(event, layout);
    if (!string)
        return HAL_OK;
    const struct trace_column *object = layout->columns;
    labels->strings.row_bytes = sizeof(struct label);
    struct label *label = tool_table_add(
        &labels->strings, trace_load((const uint8_t *)event + object->member_at, object->width));
    if (!label)
        return hal_fail(HAL_NO_MEMORY, "no memory for the labels of %zu objects",
                        labels->strings.count);
    label->string = string;
    return HAL_OK;
}

void tool_labels_add(const struct tool_labels *labels, const struct trace_reader *reader,
                     uint64_t object, struct trace_text *text)
{
    const struct label *label = tool_table_find(&labels->strings, object);
    const char *string = label ? trace_reader_string(reader, label->string) : NULL;
    if (!string || !*string)
        return;
    trace_text_append(text, " '", 2);
    trace_text_label(text, string, strlen(string));
    trace_text_append(text, "'", 1);
}
