/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace export: a trace for other tools. */
#include "format/tool/export/export.h"

#include "format/base/destination.h"
#include "format/tool/support/tool.h"
#include "hal/base/message.h"
#include "hal/base/os.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OUTPUT_BYTES = 256 << 10 };

enum format { FORMAT_PERFETTO, FORMAT_CHROME, FORMAT_CSV, FORMAT_JSONL, FORMAT_SQLITE };

static const char *const formats[] = {"perfetto", "chrome", "csv", "jsonl", "sqlite"};

struct export
{
    struct trace_reader *reader;
    struct export_sink sink;
    struct trace_destination to; /* no path: standard output */
    struct tool_progress progress;
    uint64_t events;
    enum format format;
};

/* ---- Output ---- */

static enum hal_status flush(struct export_sink *sink, bool is_end)
{
    struct export *e = sink->flush_user;
    struct trace_text *text = &sink->printer.text;
    if (!e->to.path)
        return tool_write_bytes(text, is_end); /* formats of other programs, which escape */
    if (text->is_failed)
        return hal_fail(HAL_NO_MEMORY, "no memory for the output");
    if (!is_end && text->bytes < OUTPUT_BYTES)
        return HAL_OK;
    if (!hal_write_all(e->to.file.number, text->data, text->bytes))
        return hal_fail(HAL_IO, "cannot write '%s': %s", e->to.path, strerror(errno));
    text->bytes = 0;
    return HAL_OK;
}

/* ---- A line per event ---- */

static void put(struct trace_text *text, const char *string)
{
    trace_text_append(text, string, strlen(string));
}

/* As RFC 4180 has it: in quotes, which are doubled inside. */
static void put_quoted(struct trace_text *text, const char *data, size_t bytes)
{
    put(text, "\"");
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] == '"')
            put(text, "\"");
        trace_text_append(text, &data[i], 1);
    }
    put(text, "\"");
}

/* The fields of the record as a JSON object, in quotes. */
static void put_fields(struct export *e, const struct trace_layout *layout, const void *record)
{
    struct trace_text line = e->sink.printer.text;
    e->sink.printer.text = (struct trace_text){0};
    trace_json_open(&e->sink.printer.text, '{');
    tool_print_record(&e->sink.printer, layout, record);
    trace_json_close(&e->sink.printer.text, '}');
    struct trace_text fields = e->sink.printer.text;
    e->sink.printer.text = line;
    put_quoted(&e->sink.printer.text, fields.data ? fields.data : "", fields.bytes);
    e->sink.printer.text.is_failed |= fields.is_failed;
    trace_text_finish(&fields);
}

static void event_csv(struct export *e, const struct trace_event *event)
{
    struct trace_text *text = &e->sink.printer.text;
    const struct trace_thread *thread = trace_reader_find_thread(e->reader, event->thread);
    const char *name = thread ? trace_reader_string(e->reader, thread->name) : NULL;
    struct trace_text label = {0};
    const int64_t origin_ns = e->sink.printer.origin_ns;
    if (!tool_has_no_time(event))
        trace_text_printf(text, "%" PRId64, tool_since(origin_ns, event->begin_ns));
    put(text, ",");
    if (!tool_has_no_time(event))
        trace_text_printf(text, "%" PRId64, tool_since(origin_ns, event->end_ns));
    trace_text_printf(text, ",%" PRIu64 ",%" PRIu32 ",", event->ticket, event->thread);
    trace_text_label(&label, name ? name : "", name ? strlen(name) : 0);
    put_quoted(text, label.data ? label.data : "", label.bytes);
    trace_text_finish(&label);
    trace_text_printf(text, ",%s,\"%s\",%" PRIu32 ",", trace_event_name(event->kind),
                      hal_status_name((enum hal_status)event->status), event->stack);
    put_fields(e, trace_family_layout(&trace_event_family, event->kind), event);
    put(text, "\r\n");
}

static enum hal_status visit_csv(struct export *e, const struct trace_event *event,
                                 const struct trace_segment *segment)
{
    const struct trace_command_buffer_seal *seal = (const void *)event;
    event_csv(e, event);
    for (uint32_t i = 0; segment && i < seal->segment_count; i++) {
        struct trace_text *text = &e->sink.printer.text;
        trace_text_printf(text, ",,,%" PRIu32 ",,command:%s,,,", event->thread,
                          trace_segment_name(segment->kind));
        put_fields(e, trace_family_layout(&trace_segment_family, segment->kind), segment);
        put(text, "\r\n");
        HAL_TRY(flush(&e->sink, false));
        segment = trace_next_segment(segment);
    }
    return HAL_OK;
}

static enum hal_status visit_jsonl(struct export *e, const struct trace_event *event,
                                   const struct trace_segment *segment)
{
    struct trace_text *text = &e->sink.printer.text;
    const struct trace_command_buffer_seal *seal = (const void *)event;
    text->needs_comma = false;
    tool_print_event_json(&e->sink.printer, event);
    put(text, "\n");
    for (uint32_t i = 0; segment && i < seal->segment_count; i++) {
        text->needs_comma = false;
        trace_json_open(text, '{');
        trace_json_member_text(text, "segment", trace_segment_name(segment->kind));
        trace_json_member_u64(text, "command_buffer", seal->command_buffer);
        trace_json_member_u64(text, "number", i);
        tool_print_record(&e->sink.printer,
                          trace_family_layout(&trace_segment_family, segment->kind), segment);
        trace_json_close(text, '}');
        put(text, "\n");
        HAL_TRY(flush(&e->sink, false));
        segment = trace_next_segment(segment);
    }
    return HAL_OK;
}

static enum hal_status visit(void *user, const struct trace_event *event,
                             const struct trace_segment *segments)
{
    struct export *e = user;
    HAL_TRY(e->format == FORMAT_CSV ? visit_csv(e, event, segments)
                                    : visit_jsonl(e, event, segments));
    tool_progress(&e->progress, ++e->events);
    return flush(&e->sink, false);
}

static enum hal_status export_lines(struct export *e)
{
    e->sink.printer.reader = e->reader;
    e->sink.printer.origin_ns = trace_reader_origin_ns(e->reader);
    e->sink.printer.as_json = true;
    if (e->format == FORMAT_CSV)
        put(&e->sink.printer.text, "begin_ns,end_ns,ticket,thread,thread_name,event,status,stack,"
                                   "fields\r\n");
    else
        tool_print_origin_json(&e->sink.printer);
    HAL_TRY(trace_reader_each_in_order(e->reader, &(struct trace_walk){.visit = visit, .user = e}));
    return flush(&e->sink, true);
}

/* ---- The subcommand ---- */

static enum hal_status write_format(struct export *e)
{
    if (e->format == FORMAT_CSV || e->format == FORMAT_JSONL)
        return export_lines(e);
    if (e->format == FORMAT_PERFETTO)
        export_perfetto(&e->sink);
    else
        export_chrome(&e->sink);
    return export_timeline(e->reader, &e->sink);
}

static enum hal_status write_output(struct export *e, const struct trace_rewrite_options *output)
{
    if (output->path)
        HAL_TRY(trace_destination_open_nameless(output->path, output->force, &e->to));
    e->sink.flush = flush;
    e->sink.flush_user = e;
    tool_progress_begin(&e->progress, "exporting", trace_reader_counts(e->reader)->events);
    enum hal_status status = write_format(e);
    tool_progress_end(&e->progress);
    if (status == HAL_OK && output->path)
        status = trace_destination_publish(&e->to);
    const struct hal_kept_message kept = hal_keep_message();
    const enum hal_status closed = output->path ? trace_destination_close(&e->to) : HAL_OK;
    return status == HAL_OK ? closed : hal_restore_message(&kept, status);
}

static int export_file(struct export *e, const char *path,
                       const struct trace_rewrite_options *output)
{
    enum hal_status status = trace_reader_open(path, &e->reader);
    if (status != HAL_OK)
        return tool_fail(status);
    if (*trace_reader_truncated(e->reader))
        tool_error("'%s' is incomplete: %s", path, trace_reader_truncated(e->reader));
    const int code = tool_fail(write_output(e, output));
    trace_text_finish(&e->sink.printer.text);
    trace_reader_close(e->reader);
    return code;
}

struct arguments {
    enum format format;
    struct trace_rewrite_options output;
};

static enum hal_status take_format(void *user, const struct hal_option *option, char *value)
{
    struct arguments *a = user;
    (void)option;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(value, formats[i]) == 0) {
            a->format = (enum format)i;
            return HAL_OK;
        }
    }
    return hal_fail(HAL_INVALID, "--format=%s: not perfetto, chrome, csv, jsonl or sqlite", value);
}

static const struct hal_option options[] = {
    {.name = "format",
     .argument = "FORMAT",
     .help = "perfetto (default; for ui.perfetto.dev), chrome (JSON for chrome://tracing), csv, "
             "jsonl (one object per line), sqlite",
     .take = take_format},
    {.name = "output",
     .letter = 'o',
     .argument = "OUTPUT",
     .help = "output file; default: standard output",
     .target = offsetof(struct arguments, output.path)},
    {.name = "force",
     .letter = 'f',
     .help = "replace an existing file",
     .target = offsetof(struct arguments, output.force)},
    {0},
};

static int export_rows(const struct tool_words *words, const struct trace_rewrite_options *output)
{
    if (!output->path || output->force || !words->count) {
        tool_error("export: --format=sqlite needs -o DATABASE, to which it adds, and at least one "
                   "trace (see hal-trace export --help)");
        return TOOL_USAGE;
    }
    if (!tool_output_check("export", output, words->words, words->count))
        return TOOL_USAGE;
    return export_sqlite(output->path, words->words, words->count);
}

static int run(char **argv)
{
    static struct export e; /* large */
    struct arguments a = {0};
    struct tool_words words;
    if (!tool_parse(&tool_export, argv, &a, &words))
        return words.exit_status;
    memset(&e, 0, sizeof e);
    e.format = a.format;
    if (e.format == FORMAT_SQLITE)
        return export_rows(&words, &a.output);
    const char *path = tool_one_file(&tool_export, &words);
    if (!path || (a.output.path && !tool_output_check("export", &a.output, words.words, 1)))
        return TOOL_USAGE;
    if (!a.output.path && e.format == FORMAT_PERFETTO && isatty(STDOUT_FILENO)) {
        tool_error("export: the format perfetto cannot be printed to a terminal: use -o OUTPUT");
        return TOOL_USAGE;
    }
    return export_file(&e, path, &a.output);
}

const struct tool_command tool_export = {
    .name = "export",
    .group = TOOL_CONVERTS,
    .summary = "convert for Perfetto, Chrome's viewer, tables and scripts",
    .usage =
        "usage: hal-trace export [--format=FORMAT] [-o OUTPUT] [--force] FILE\n"
        "       hal-trace export --format=sqlite -o DATABASE FILE...\n"
        "\n"
        "Converts all events to the format of another tool: calls on the tracks of their threads;\n"
        "work, timed dispatches and debug groups on the tracks of queues; arrows from submissions "
        "to\n"
        "their work and from signals to waits; counters of memory and of work in flight. The "
        "format\n"
        "sqlite adds traces to a database for queries over many; docs/fleet.md describes its "
        "tables.\n",
    .options = options,
    .run = run,
};
