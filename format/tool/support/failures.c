/* SPDX-License-Identifier: Apache-2.0 */
#include "format/tool/support/failures.h"

#include "format/tool/support/print.h"
#include "format/tool/support/tool.h"
#include "hal/base/moment.h"

#include <inttypes.h>
#include <string.h>

struct failed_calls {
    uint32_t call, message, thread;
    uint16_t status;
    uint64_t count;
    int64_t first_ns;
};

enum hal_status failures_take(struct failures *failures, const struct trace_failure *record)
{
    failures->calls.row_bytes = sizeof(struct failed_calls);
    struct failed_calls *calls =
        tool_table_add(&failures->calls, (uint64_t)record->call << 32 | record->message);
    if (!calls)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu failed calls", failures->calls.count);
    if (!calls->count)
        *calls = (struct failed_calls){.call = record->call,
                                       .message = record->message,
                                       .thread = record->head.thread,
                                       .status = record->head.status,
                                       .first_ns = record->head.begin_ns};
    if (record->head.begin_ns < calls->first_ns) { /* chunks of threads follow each other */
        calls->first_ns = record->head.begin_ns;
        calls->thread = record->head.thread;
    }
    calls->count++;
    failures->total++;
    return HAL_OK;
}

void failures_finish(struct failures *failures)
{
    tool_table_finish(&failures->calls);
    *failures = (struct failures){0};
}

static const char *string_of(const struct trace_reader *reader, uint32_t string)
{
    const char *text = trace_reader_string(reader, string);
    return text ? text : "";
}

void failures_print(const struct failures *failures, const struct trace_reader *reader,
                    struct trace_text *text)
{
    enum { MOST = 20 };
    const int64_t origin_ns = trace_reader_origin_ns(reader);
    if (!failures->total)
        return;
    trace_text_printf(text, "failed calls %" PRIu64 "\n", failures->total);
    for (size_t i = 0; i < failures->calls.count && i < MOST; i++) {
        const struct failed_calls *f = tool_table_row(&failures->calls, i);
        const char *call = string_of(reader, f->call), *message = string_of(reader, f->message);
        trace_text_printf(text, "  %" PRIu64 " × ", f->count);
        trace_text_label(text, call, strlen(call));
        trace_text_printf(text, ", first at %s: %s, ",
                          hal_moment_text(tool_since(origin_ns, f->first_ns)).text,
                          hal_status_name((enum hal_status)f->status));
        trace_text_label(text, message, strlen(message));
        trace_text_append(text, "\n", 1);
    }
    if (failures->calls.count > MOST)
        trace_text_printf(text, "  and %zu more (hal-trace dump --kind=failure)\n",
                          failures->calls.count - MOST);
}

void failures_json(const struct failures *failures, const struct trace_reader *reader,
                   struct trace_text *text)
{
    trace_json_member_open(text, "failed_calls", '[');
    for (size_t i = 0; i < failures->calls.count; i++) {
        const struct failed_calls *f = tool_table_row(&failures->calls, i);
        trace_json_open(text, '{');
        trace_json_member_text(text, "call", string_of(reader, f->call));
        trace_json_member_text(text, "status", hal_status_name((enum hal_status)f->status));
        trace_json_member_text(text, "message", trace_reader_string(reader, f->message));
        trace_json_member_u64(text, "count", f->count);
        trace_json_member_u64(text, "thread", f->thread);
        trace_json_member_i64(text, "first_ns",
                              tool_since(trace_reader_origin_ns(reader), f->first_ns));
        trace_json_close(text, '}');
    }
    trace_json_close(text, ']');
}
