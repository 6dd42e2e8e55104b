/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace dump: every event, one line each, with the commands of a command buffer below its
 * seal. The fields of a record come from the tables of format/layout.h, so every kind is printed
 * by the same code. */
#include "format/tool/order.h"
#include "format/tool/print.h"
#include "format/tool/tool.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct dump {
    struct trace_reader *reader;
    struct tool_printer out;
    bool with_segments;
    int64_t start_ns;
};

static void put(struct trace_text *text, const char *string)
{
    trace_text_append(text, string, strlen(string));
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

static void event_text(struct dump *dump, const struct trace_event *event)
{
    struct trace_text *text = &dump->out.text;
    const struct trace_thread *thread = trace_reader_find_thread(dump->reader, event->thread);
    const char *name = thread ? trace_reader_string(dump->reader, thread->name) : NULL;
    print_us(text, tool_since(dump->start_ns, event->begin_ns), 13);
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
    struct trace_text *text = &dump->out.text;
    if (event->end_ns != event->begin_ns) {
        put(text, " took ");
        print_us(text, tool_since(event->begin_ns, event->end_ns), 0);
    }
    if (event->status)
        trace_text_printf(text, " status=\"%s\"", hal_status_name((enum hal_status)event->status));
    if (event->stack)
        trace_text_printf(text, " stack=%" PRIu32, event->stack);
    put(text, "\n");
}

static void print_event(struct dump *dump, const struct trace_event *event)
{
    const struct trace_layout *layout = trace_family_layout(&trace_event_family, event->kind);
    if (!layout)
        return;
    const uint8_t *record = (const uint8_t *)event;
    if (dump->out.as_json) {
        dump->out.text.needs_comma = false;
        tool_print_event_json(&dump->out, event);
        trace_text_append(&dump->out.text, "\n", 1);
    } else {
        event_text(dump, event);
        tool_print_record(&dump->out, layout, record);
        event_end_text(dump, event);
    }
}

static void print_segment(struct dump *dump, const struct trace_command_buffer_seal *seal,
                          uint32_t number, const struct trace_segment *segment)
{
    const struct trace_layout *layout = trace_family_layout(&trace_segment_family, segment->kind);
    struct trace_text *text = &dump->out.text;
    if (!layout)
        return;
    if (dump->out.as_json) {
        text->needs_comma = false;
        trace_json_open(text, '{');
        trace_json_key(text, "segment");
        trace_json_text(text, layout->name);
        trace_json_key(text, "command_buffer");
        trace_json_u64(text, seal->command_buffer);
        trace_json_key(text, "number");
        trace_json_u64(text, number);
        tool_print_record(&dump->out, layout, (const uint8_t *)segment);
        put(text, "}\n");
    } else {
        trace_text_printf(text, "    %u: %s", number, layout->name);
        tool_print_record(&dump->out, layout, (const uint8_t *)segment);
        put(text, "\n");
    }
}

static enum hal_status visit(void *user, const struct trace_event *event,
                             const struct trace_segment *segments)
{
    struct dump *dump = user;
    const struct trace_command_buffer_seal *seal = (const void *)event;
    print_event(dump, event);
    for (uint32_t i = 0; segments && dump->with_segments && i < seal->segment_count; i++) {
        print_segment(dump, seal, i, segments);
        HAL_TRY(tool_write(&dump->out.text, false));
        segments = trace_next_segment(segments);
    }
    return tool_write(&dump->out.text, false);
}

static enum hal_status dump_all(struct dump *dump)
{
    const enum hal_status status = tool_each_in_order(dump->reader, visit, dump);
    /* What was read before a damage is still worth printing. */
    char message[HAL_MESSAGE_BYTES];
    memcpy(message, hal_message(), strlen(hal_message()) + 1);
    const enum hal_status written = tool_write(&dump->out.text, true);
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
            dump.out.as_json = true;
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
    dump.out.reader = dump.reader;
    dump.start_ns = trace_reader_header(dump.reader)->start_ns;
    if (*trace_reader_truncated(dump.reader))
        tool_error("'%s' is incomplete: %s", path, trace_reader_truncated(dump.reader));
    status = dump_all(&dump);
    int result = TOOL_OK;
    if (status != HAL_OK) {
        tool_error("%s", hal_message());
        result = status == HAL_CORRUPT || status == HAL_VERSION ? TOOL_UNREADABLE : TOOL_FAILED;
    }
    trace_text_finish(&dump.out.text);
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
