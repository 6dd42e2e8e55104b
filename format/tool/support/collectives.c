/* SPDX-License-Identifier: Apache-2.0 */
#include "format/tool/support/collectives.h"

#include "format/tool/support/tool.h"
#include "hal/base/moment.h"
#include "hal/base/order.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct exchange {
    uint64_t channel, operation; /* tool_table_add_pair finds it by these */
    uint64_t times, failed;
    uint64_t elements, sent_bytes, received_bytes; /* of those that did not fail */
    uint64_t device_ns;
};

static enum hal_status take(struct exchanges *exchanges, const struct trace_collective *collective)
{
    uint32_t unused;
    struct exchange *exchange;
    exchanges->sums.row_bytes = sizeof *exchange;
    exchange = tool_table_add_pair(&exchanges->sums, collective->channel, collective->collective);
    if (!exchange)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu kinds of collectives",
                        exchanges->sums.count);
    exchange->times++;
    if (collective->head.status != HAL_OK) {
        exchange->failed++;
        return HAL_OK;
    }
    exchange->elements += collective->count;
    exchange->sent_bytes += collective->send_size;
    exchange->received_bytes += collective->receive_size;
    if (!hal_idmap_add(&exchanges->submissions, collective->submission,
                       (uint32_t)tool_table_place(&exchanges->sums, exchange), &unused))
        return hal_fail(HAL_NO_MEMORY, "no memory for the submissions of collectives");
    return HAL_OK;
}

enum hal_status exchanges_take(struct exchanges *exchanges, const struct trace_event *event)
{
    const void *typed = event;
    if (event->kind == TRACE_CHANNEL_CREATE)
        return trace_channels_take(&exchanges->channels, typed);
    return event->kind == TRACE_COLLECTIVE ? take(exchanges, typed) : HAL_OK;
}

void exchanges_took(struct exchanges *exchanges, uint64_t submission, int64_t device_ns)
{
    uint32_t place;
    if (!hal_idmap_find(&exchanges->submissions, submission, &place))
        return;
    struct exchange *exchange = tool_table_row(&exchanges->sums, place);
    exchange->device_ns += (uint64_t)device_ns;
}

void exchanges_finish(struct exchanges *exchanges)
{
    trace_channels_finish(&exchanges->channels);
    tool_table_finish(&exchanges->sums);
    hal_idmap_finish(&exchanges->submissions);
    *exchanges = (struct exchanges){0};
}

/* ---- Output ---- */

HAL_COMPARE_2(compare, struct exchange, channel, operation)

/* The places of submissions are not needed any more. */
static void sort(struct exchanges *exchanges)
{
    if (exchanges->sums.count)
        qsort(exchanges->sums.rows, exchanges->sums.count, sizeof(struct exchange), compare);
}

static const char *label_of(const struct trace_reader *reader,
                            const struct trace_channel_create *channel)
{
    const char *label = channel ? trace_reader_string(reader, channel->label) : NULL;
    return label ? label : "";
}

static void print_one(const struct exchanges *exchanges, const struct exchange *exchange,
                      const struct trace_reader *reader, struct trace_text *text)
{
    char name[TRACE_COLLECTIVE_NAME_BYTES];
    const struct trace_channel_create *channel =
        trace_channels_find(&exchanges->channels, exchange->channel);
    const char *label = label_of(reader, channel);
    trace_text_printf(text, "%12" PRIu64 " %14" PRIu64 " %14" PRIu64 " ", exchange->times,
                      exchange->sent_bytes, exchange->received_bytes);
    trace_text_printf(text, "%12s  %s on ", hal_duration_text((int64_t)exchange->device_ns).text,
                      trace_collective_operation_name((uint32_t)exchange->operation, name));
    if (*label)
        trace_text_label(text, label, strlen(label));
    else
        trace_text_printf(text, "channel %" PRIu64, exchange->channel);
    if (channel)
        trace_text_printf(text, " (rank %u of %u)", channel->rank, channel->count);
    if (exchange->failed)
        trace_text_printf(text, ", %" PRIu64 " failed", exchange->failed);
    trace_text_append(text, "\n", 1);
}

void exchanges_print(struct exchanges *exchanges, const struct trace_reader *reader,
                     struct trace_text *text)
{
    if (!exchanges->sums.count)
        return;
    sort(exchanges);
    trace_text_printf(text, "\n%12s %14s %14s %12s  %s\n", "collectives", "bytes sent", "received",
                      "on device", "operation and channel");
    for (size_t i = 0; i < exchanges->sums.count; i++)
        print_one(exchanges, tool_table_row(&exchanges->sums, i), reader, text);
}

static void json_one(const struct exchanges *exchanges, const struct exchange *exchange,
                     const struct trace_reader *reader, struct trace_text *text)
{
    char name[TRACE_COLLECTIVE_NAME_BYTES];
    const struct trace_channel_create *channel =
        trace_channels_find(&exchanges->channels, exchange->channel);
    trace_json_open(text, '{');
    trace_json_member_text(text, "operation",
                           trace_collective_operation_name((uint32_t)exchange->operation, name));
    trace_json_member_u64(text, "channel", exchange->channel);
    if (channel) {
        trace_json_member_text(text, "label", label_of(reader, channel));
        trace_json_member_u64(text, "group", channel->group);
        trace_json_member_u64(text, "rank", channel->rank);
        trace_json_member_u64(text, "ranks", channel->count);
    }
    trace_json_member_u64(text, "count", exchange->times);
    trace_json_member_u64(text, "failed", exchange->failed);
    trace_json_member_u64(text, "elements", exchange->elements);
    trace_json_member_u64(text, "sent_bytes", exchange->sent_bytes);
    trace_json_member_u64(text, "received_bytes", exchange->received_bytes);
    trace_json_member_u64(text, "device_ns", exchange->device_ns);
    trace_json_close(text, '}');
}

void exchanges_json(struct exchanges *exchanges, const struct trace_reader *reader,
                    struct trace_text *text)
{
    sort(exchanges);
    trace_json_member_open(text, "collectives", '[');
    for (size_t i = 0; i < exchanges->sums.count; i++)
        json_one(exchanges, tool_table_row(&exchanges->sums, i), reader, text);
    trace_json_close(text, ']');
}
