/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace dump: every event, one line each, with the commands of a command buffer below its
 * seal. The fields of a record come from the tables of format/layout.h, so every kind is printed
 * by the same code. */
#include "format/layout.h"
#include "format/tool/tool.h"
#include "hal/base/mem.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct dump {
    struct trace_reader *reader;
    struct trace_text text;
    bool as_json, with_segments;
    int64_t start_ns;
};

/* The events of one thread, one chunk at a time. */
struct stream {
    uint32_t thread;
    size_t next_chunk; /* to look at */
    struct trace_chunk chunk;
    const struct trace_event *event; /* NULL: no more */
    uint32_t events_left;
};

/* ---- Fields ------------------------------------------------------------------------------- */

static void put(struct trace_text *text, const char *string)
{
    trace_text_append(text, string, strlen(string));
}

/* "queue", "value", "workgroup_count_x". */
static const char *field_name(const struct trace_column *column)
{
    return strchr(column->member, '[') ? column->name : column->member;
}

static void value_json(struct dump *dump, const struct trace_column *column, uint64_t value)
{
    struct trace_text *text = &dump->text;
    trace_json_key(text, field_name(column));
    const char *string = column->reference == TRACE_REFERENCE_STRING
                             ? trace_reader_string(dump->reader, (uint32_t)value)
                             : NULL;
    if (string)
        trace_json_text(text, string);
    else if (column->is_signed)
        trace_json_i64(text, (int64_t)value);
    else
        trace_json_u64(text, value);
}

static void value_text(struct dump *dump, const struct trace_column *column, uint64_t value)
{
    struct trace_text *text = &dump->text;
    const bool is_string = column->reference == TRACE_REFERENCE_STRING;
    if ((is_string || column->is_rare) && !value)
        return;
    put(text, " ");
    put(text, field_name(column));
    put(text, "=");
    if (is_string) {
        const char *string = trace_reader_string(dump->reader, (uint32_t)value);
        put(text, "\"");
        trace_text_label(text, string ? string : "", string ? strlen(string) : 0);
        put(text, "\"");
    } else if (column->is_signed && (int64_t)value == INT64_MAX) {
        put(text, "forever");
    } else if (column->is_signed) {
        trace_text_i64(text, (int64_t)value);
    } else {
        trace_text_u64(text, value);
    }
}

static void print_fields(struct dump *dump, const struct trace_column *columns, uint32_t count,
                         const uint8_t *record)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t value = trace_load(record + columns[i].member_at, columns[i].width);
        if (dump->as_json)
            value_json(dump, &columns[i], value);
        else
            value_text(dump, &columns[i], value);
    }
}

static void print_bytes(struct dump *dump, const struct trace_part *part, const uint8_t *data,
                        uint64_t count)
{
    enum { SHOWN = 16 };
    if (dump->as_json) {
        trace_json_key(&dump->text, part->name);
        trace_json_hex(&dump->text, data, (size_t)count);
        return;
    }
    trace_text_printf(&dump->text, " %s=", part->name);
    for (uint64_t i = 0; i < count && i < SHOWN; i++)
        trace_text_printf(&dump->text, "%02x", data[i]);
    put(&dump->text, count > SHOWN ? "..." : "");
}

static void print_list(struct dump *dump, const struct trace_part *part, const uint8_t *element,
                       uint64_t count)
{
    struct trace_text *text = &dump->text;
    if (dump->as_json) {
        trace_json_key(text, part->name);
        trace_json_open(text, '[');
    } else {
        trace_text_printf(text, " %s=[", part->name);
    }
    for (uint64_t i = 0; i < count; i++, element += part->element_bytes) {
        const struct trace_column *only = part->columns;
        const bool is_number = part->column_count == 1;
        if (is_number && dump->as_json) {
            trace_json_u64(text, trace_load(element + only->member_at, only->width));
        } else if (is_number) {
            put(text, i ? " " : "");
            trace_text_u64(text, trace_load(element + only->member_at, only->width));
        } else if (dump->as_json) {
            trace_json_open(text, '{');
            print_fields(dump, part->columns, part->column_count, element);
            trace_json_close(text, '}');
        } else {
            /* Every field begins with a space: the first one's becomes the bracket. */
            const size_t begin = text->bytes + (i > 0);
            put(text, i ? "  " : " ");
            text->bytes = begin;
            print_fields(dump, part->columns, part->column_count, element);
            if (!text->is_failed)
                text->data[begin] = '{';
            put(text, "}");
        }
    }
    if (dump->as_json)
        trace_json_close(text, ']');
    else
        put(text, "]");
}

/* Whether the member only says how long a list is that is printed anyway. */
static bool counts_list(const struct trace_layout *layout, const struct trace_column *column)
{
    for (uint32_t i = 0; i < layout->part_count; i++) {
        if (layout->parts[i].columns && layout->parts[i].count_at == column->member_at)
            return true;
    }
    return false;
}

static void print_record(struct dump *dump, const struct trace_layout *layout,
                         const uint8_t *record)
{
    for (uint32_t i = 0; i < layout->column_count; i++) {
        if (!counts_list(layout, &layout->columns[i]))
            print_fields(dump, &layout->columns[i], 1, record);
    }
    const uint8_t *at = record + layout->record_bytes;
    for (uint32_t i = 0; i < layout->part_count; i++) {
        const struct trace_part *part = &layout->parts[i];
        const uint64_t count = trace_part_count(part, record);
        if (part->columns)
            print_list(dump, part, at, count);
        else
            print_bytes(dump, part, at, count);
        at += count * part->element_bytes;
    }
}

/* ---- Lines -------------------------------------------------------------------------------- */

/* Microseconds with three decimals, at least `width` characters. */
static void print_us(struct trace_text *text, int64_t ns, int width)
{
    char digits[40];
    const uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    snprintf(digits, sizeof digits, "%s%" PRIu64 ".%03u", ns < 0 ? "-" : "", size / 1000,
             (unsigned)(size % 1000));
    trace_text_printf(text, "%*s us", width, digits);
}

/* Hostile times may not fit. */
static int64_t since(int64_t begin_ns, int64_t end_ns)
{
    return (int64_t)((uint64_t)end_ns - (uint64_t)begin_ns);
}

static void event_text(struct dump *dump, const struct trace_event *event)
{
    struct trace_text *text = &dump->text;
    const struct trace_thread *thread = trace_reader_find_thread(dump->reader, event->thread);
    const char *name = thread ? trace_reader_string(dump->reader, thread->name) : NULL;
    print_us(text, since(dump->start_ns, event->begin_ns), 13);
    put(text, " ");
    if (event->ticket)
        trace_text_printf(text, "#%" PRIu64 " ", event->ticket);
    if (name && *name)
        trace_text_label(text, name, strlen(name));
    else
        trace_text_printf(text, "thread-%" PRIu32, event->thread);
    put(text, ": ");
    put(text, trace_event_name(event->kind));
}

static void event_end_text(struct dump *dump, const struct trace_event *event)
{
    struct trace_text *text = &dump->text;
    if (event->end_ns != event->begin_ns) {
        put(text, " took ");
        print_us(text, since(event->begin_ns, event->end_ns), 0);
    }
    if (event->status)
        trace_text_printf(text, " status=\"%s\"", hal_status_name((enum hal_status)event->status));
    if (event->stack)
        trace_text_printf(text, " stack=%" PRIu32, event->stack);
    put(text, "\n");
}

static void event_json(struct dump *dump, const struct trace_event *event)
{
    struct trace_text *text = &dump->text;
    text->needs_comma = false;
    trace_json_open(text, '{');
    trace_json_key(text, "event");
    trace_json_text(text, trace_event_name(event->kind));
    trace_json_key(text, "ticket");
    trace_json_u64(text, event->ticket);
    trace_json_key(text, "thread");
    trace_json_u64(text, event->thread);
    trace_json_key(text, "begin_ns");
    trace_json_i64(text, event->begin_ns);
    trace_json_key(text, "end_ns");
    trace_json_i64(text, event->end_ns);
    trace_json_key(text, "status");
    trace_json_text(text, hal_status_name((enum hal_status)event->status));
    trace_json_key(text, "stack");
    trace_json_u64(text, event->stack);
}

static void print_event(struct dump *dump, const struct trace_event *event)
{
    const struct trace_layout *layout = trace_family_layout(&trace_event_family, event->kind);
    if (!layout)
        return;
    const uint8_t *record = (const uint8_t *)event;
    if (dump->as_json) {
        event_json(dump, event);
        print_record(dump, layout, record);
        put(&dump->text, "}\n");
    } else {
        event_text(dump, event);
        print_record(dump, layout, record);
        event_end_text(dump, event);
    }
}

static void print_segment(struct dump *dump, const struct trace_command_buffer_seal *seal,
                          uint32_t number, const struct trace_segment *segment)
{
    const struct trace_layout *layout = trace_family_layout(&trace_segment_family, segment->kind);
    struct trace_text *text = &dump->text;
    if (!layout)
        return;
    if (dump->as_json) {
        text->needs_comma = false;
        trace_json_open(text, '{');
        trace_json_key(text, "segment");
        trace_json_text(text, layout->name);
        trace_json_key(text, "command_buffer");
        trace_json_u64(text, seal->command_buffer);
        trace_json_key(text, "number");
        trace_json_u64(text, number);
        print_record(dump, layout, (const uint8_t *)segment);
        put(text, "}\n");
    } else {
        trace_text_printf(text, "    %u: %s", number, layout->name);
        print_record(dump, layout, (const uint8_t *)segment);
        put(text, "\n");
    }
}

/* Prints the event that the stream is at; returns what follows it. */
static enum hal_status print_with_segments(struct dump *dump, const struct trace_event *event,
                                           const struct trace_event **out_next)
{
    const uint8_t *next = (const uint8_t *)event + event->bytes;
    print_event(dump, event);
    if (event->kind == TRACE_COMMAND_BUFFER_SEAL) {
        const struct trace_command_buffer_seal *seal = (const void *)event;
        const struct trace_segment *segment = (const void *)next;
        for (uint32_t i = 0; dump->with_segments && i < seal->segment_count; i++) {
            print_segment(dump, seal, i, segment);
            HAL_TRY(tool_write(&dump->text, false));
            segment = trace_next_segment(segment);
        }
        next += seal->segment_bytes;
    }
    *out_next = (const void *)next;
    return tool_write(&dump->text, false);
}

/* ---- Order -------------------------------------------------------------------------------- */

/* When the event took effect: calls that observe something do so at their end. */
static int64_t effect_ns(const struct trace_event *event)
{
    switch (event->kind) {
    case TRACE_SEMAPHORE_WAIT:
    case TRACE_SEMAPHORE_QUERY:
    case TRACE_WAIT_IDLE:
    case TRACE_BUFFER_MAP:
    case TRACE_HOST_READ:
    case TRACE_HOST_CALL_BEGIN:
    case TRACE_SUBMISSION_DONE: return event->end_ns;
    default: return event->begin_ns;
    }
}

static bool is_before(const struct trace_event *a, const struct trace_event *b)
{
    if (a->ticket && b->ticket && a->ticket != b->ticket)
        return a->ticket < b->ticket;
    return effect_ns(a) < effect_ns(b);
}

/* Loads the stream's next chunk that has events. */
static enum hal_status next_chunk(struct dump *dump, struct stream *stream)
{
    trace_chunk_free(&stream->chunk);
    stream->event = NULL;
    for (; stream->next_chunk < trace_reader_chunk_count(dump->reader); stream->next_chunk++) {
        if (trace_reader_chunk_thread(dump->reader, stream->next_chunk) != stream->thread)
            continue;
        HAL_TRY(trace_reader_chunk(dump->reader, stream->next_chunk, &stream->chunk));
        if (stream->chunk.event_count) {
            stream->event = stream->chunk.events;
            stream->events_left = stream->chunk.event_count;
            stream->next_chunk++;
            return HAL_OK;
        }
        trace_chunk_free(&stream->chunk);
    }
    return HAL_OK;
}

static enum hal_status list_streams(struct dump *dump, struct stream **streams, size_t *count)
{
    size_t capacity = 0;
    for (size_t i = 0; i < trace_reader_chunk_count(dump->reader); i++) {
        const uint32_t thread = trace_reader_chunk_thread(dump->reader, i);
        size_t at = 0;
        while (at < *count && (*streams)[at].thread != thread)
            at++;
        if (at < *count)
            continue;
        void *grown = *streams;
        if (!hal_grow(&grown, &capacity, *count + 1, sizeof **streams))
            return hal_fail(HAL_NO_MEMORY, "no memory for %zu threads", *count + 1);
        *streams = grown;
        (*streams)[(*count)++] = (struct stream){.thread = thread, .next_chunk = i};
    }
    return HAL_OK;
}

static enum hal_status merge(struct dump *dump, struct stream *streams, size_t count)
{
    for (size_t i = 0; i < count; i++)
        HAL_TRY(next_chunk(dump, &streams[i]));
    for (;;) {
        struct stream *first = NULL;
        for (size_t i = 0; i < count; i++) {
            if (streams[i].event && (!first || is_before(streams[i].event, first->event)))
                first = &streams[i];
        }
        if (!first)
            return HAL_OK;
        HAL_TRY(print_with_segments(dump, first->event, &first->event));
        if (--first->events_left == 0)
            HAL_TRY(next_chunk(dump, first));
    }
}

static enum hal_status dump_all(struct dump *dump)
{
    struct stream *streams = NULL;
    size_t count = 0;
    enum hal_status status = list_streams(dump, &streams, &count);
    if (status == HAL_OK)
        status = merge(dump, streams, count);
    for (size_t i = 0; i < count; i++)
        trace_chunk_free(&streams[i].chunk);
    free(streams);
    /* What was read before a damage is still worth printing. */
    char message[HAL_MESSAGE_BYTES];
    memcpy(message, hal_message(), strlen(hal_message()) + 1);
    const enum hal_status written = tool_write(&dump->text, true);
    return status == HAL_OK ? written : hal_fail(status, "%s", message);
}

/* ---- The subcommand ----------------------------------------------------------------------- */

static int run(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"no-segments", no_argument, NULL, 's'}, {0}};
    struct dump dump = {.with_segments = true};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'j') {
            dump.as_json = true;
        } else if (option == 's') {
            dump.with_segments = false;
        } else {
            tool_error("dump: unknown option '%s'", argv[optind - 1]);
            return TOOL_USAGE;
        }
    }
    const char *path = tool_one_file(argc, argv, optind);
    if (!path)
        return TOOL_USAGE;
    enum hal_status status = trace_reader_open(path, &dump.reader);
    if (status != HAL_OK)
        return tool_fail(status);
    dump.start_ns = trace_reader_header(dump.reader)->start_ns;
    if (*trace_reader_truncated(dump.reader))
        tool_error("'%s' is incomplete: %s", path, trace_reader_truncated(dump.reader));
    status = dump_all(&dump);
    int result = TOOL_OK;
    if (status != HAL_OK) {
        tool_error("%s", hal_message());
        result = status == HAL_CORRUPT || status == HAL_VERSION ? TOOL_UNREADABLE : TOOL_FAILED;
    }
    trace_text_finish(&dump.text);
    trace_reader_close(dump.reader);
    return result;
}

const struct tool_command tool_dump = {
    .name = "dump",
    .summary = "every event, one line each",
    .help =
        "usage: hal-trace dump [--json] [--no-segments] FILE\n\n"
        "Prints every event of the trace in the order in which they took effect, and below each\n"
        "sealed command buffer its commands. Times are microseconds since the capture began.\n\n"
        "  --json          one JSON object per line; times are nanoseconds\n"
        "  --no-segments   leave the commands out\n",
    .run = run,
};
