/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace info: what a trace is about, how large it is, and whether it is whole. */
#include "format/tool/support/print.h"
#include "format/tool/support/tool.h"
#include "hal/base/moment.h"
#include "hal/base/text.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* ---- Text --------------------------------------------------------------------------------- */

static void label(struct trace_text *text, const char *string)
{
    trace_text_label(text, string, strlen(string));
}

static void date(struct trace_text *text, int64_t wall_ns)
{
    char digits[40];
    struct tm broken;
    const time_t seconds = (time_t)(wall_ns / 1000000000);
    if (!gmtime_r(&seconds, &broken) ||
        !strftime(digits, sizeof digits, "%Y-%m-%d %H:%M:%S UTC", &broken))
        digits[0] = '\0';
    trace_text_printf(text, "%s", digits);
}

static void print_origin(struct trace_text *text, const struct trace_header *header)
{
    trace_text_printf(text, "program    ");
    label(text, header->program);
    for (size_t i = 1; i < header->argument_count; i++) {
        trace_text_append(text, " ", 1);
        label(text, header->arguments[i]);
    }
    trace_text_printf(text, "\nprocess    %" PRIu64 " on ", header->process_id);
    label(text, header->host);
    trace_text_printf(text, ", ");
    label(text, header->system);
    trace_text_printf(text, "\ncaptured   ");
    date(text, header->start_wall_ns);
    trace_text_printf(text, ", mode ");
    label(text, header->mode);
    trace_text_printf(text, "%s\n", header->late_start ? ", started late" : "");
    for (size_t i = 0; i < header->edit_count; i++) {
        trace_text_printf(text, "changed    ");
        label(text, header->edits[i]);
        trace_text_printf(text, "\n");
    }
    if (header->view_only[0]) {
        trace_text_printf(text, "view only  ");
        label(text, header->view_only);
        trace_text_printf(text, "\n");
    }
}

/* What was requested; older traces do not record it. */
static void print_policy(struct trace_text *text, const struct trace_header *header)
{
    if (!header->contents[0])
        return;
    trace_text_printf(text, "policy     contents ");
    label(text, header->contents);
    trace_text_printf(text, ", outputs ");
    label(text, header->outputs);
    trace_text_printf(text, ", files ");
    label(text, header->files);
    trace_text_printf(text, ", stacks ");
    label(text, header->stacks);
    if (header->budget_bytes) {
        trace_text_printf(text, ", at most ");
        tool_size(text, header->budget_bytes);
    }
    if (header->window[0]) {
        trace_text_printf(text, ", window ");
        label(text, header->window);
    }
    if (header->last_ns)
        trace_text_printf(text, ", the last %s", hal_duration_text((int64_t)header->last_ns).text);
    trace_text_printf(text, "\n");
}

static void print_device(struct trace_text *text, const struct trace_device *device)
{
    trace_text_printf(text, "device     ");
    label(text, device->uri);
    trace_text_printf(text, ": ");
    label(text, device->name);
    trace_text_printf(text,
                      "\n           queues %u, workers %u, SIMD width %u, group %u threads "
                      "(%u x %u x %u), ",
                      device->queue_count, device->worker_count, device->simd_width,
                      device->max_group_threads, device->max_group_size[0],
                      device->max_group_size[1], device->max_group_size[2]);
    tool_size(text, device->max_group_memory_bytes);
    trace_text_printf(text, " group memory\n");
    if (!device->architecture[0])
        return;
    trace_text_printf(text, "           ");
    label(text, device->architecture);
    trace_text_printf(text, device->features[0] ? " with " : "");
    label(text, device->features);
    trace_text_printf(text, "\n");
}

/* For a merged trace: which queues belong to which device. */
static void print_captures(struct trace_text *text, const struct trace_header *header)
{
    for (size_t i = 0; i < header->capture_count; i++) {
        const struct trace_capture *capture = &header->captures[i];
        trace_text_printf(text, i ? "           " : "captures   ");
        label(text, capture->program);
        trace_text_printf(text, " %" PRIu64 " on ", capture->process_id);
        label(text, capture->host);
        trace_text_printf(text, ", ");
        label(text, capture->device.uri);
        trace_text_printf(text, ": queues from %u, submissions from #s%" PRIu64 "\n",
                          capture->queue_base, capture->submission_base);
    }
}

static void print_threads(struct trace_text *text, const struct trace_reader *reader)
{
    const size_t count = trace_reader_thread_count(reader);
    trace_text_printf(text, "threads    %zu", count);
    for (size_t i = 0; i < count && i < 8; i++) {
        const struct trace_thread *thread = trace_reader_thread(reader, i);
        const char *name = trace_reader_string(reader, thread->name);
        trace_text_printf(text, i ? ", " : ": ");
        label(text, name ? name : "");
        trace_text_printf(text, " (%" PRIu64 ")", thread->system_id);
    }
    trace_text_printf(text, "%s\n", count > 8 ? ", ..." : "");
}

static void print_counts(struct trace_text *text, const struct trace_counts *counts,
                         const char *base)
{
    trace_text_printf(text, "events     %" PRIu64 " in %s", counts->events,
                      hal_duration_text(tool_since(counts->first_ns, counts->last_ns)).text);
    trace_text_printf(text, "\nwork       %s, %s: %s, %s\nhost       %s of ",
                      hal_count(counts->submissions, "submission", "submissions").text,
                      hal_count(counts->segments, "command", "commands").text,
                      hal_count(counts->dispatches, "dispatch", "dispatches").text,
                      hal_count(counts->barriers, "barrier", "barriers").text,
                      hal_count(counts->host_writes, "write", "writes").text);
    tool_size(text, counts->host_write_bytes);
    trace_text_printf(text, ", %s of ", hal_count(counts->host_reads, "read", "reads").text);
    tool_size(text, counts->host_read_bytes);
    trace_text_printf(text, "\ncontents   %" PRIu64 " different, ", counts->contents);
    tool_size(text, counts->content_bytes);
    trace_text_printf(text, ", stored in ");
    tool_size(text, counts->stored_content_bytes);
    trace_text_printf(text, "\n");
    if (!counts->referred_contents)
        return;
    trace_text_printf(text, "refers to  %s, ",
                      hal_count(counts->referred_contents, "content", "contents").text);
    tool_size(text, counts->referred_bytes);
    trace_text_printf(text, ", that are not in this file, but in ");
    label(text, base[0] ? base : "another one");
    trace_text_printf(text, "\n");
}

static void print_health(struct trace_text *text, const struct trace_reader *reader)
{
    const struct trace_health *health = trace_reader_health(reader);
    if (*trace_reader_truncated(reader)) {
        trace_text_printf(text, "incomplete ");
        label(text, trace_reader_truncated(reader));
        trace_text_printf(text, "\n");
    }
    if (!health) {
        trace_text_printf(text,
                          "health     unknown: the capture did not end, or the end is missing\n");
        return;
    }
    trace_text_printf(text, "health     ");
    if (health->status) {
        trace_text_printf(
            text, "recording stopped (%s): ", hal_status_name((enum hal_status)health->status));
        label(text, health->message);
        trace_text_printf(text, "; %s lost",
                          hal_count(health->lost_records, "record", "records").text);
    } else {
        trace_text_printf(text, "complete");
    }
    if (health->ring_stalls) {
        trace_text_printf(text, "; threads waited %s for the writer, %s",
                          hal_count(health->ring_stalls, "time", "times").text,
                          hal_duration_text((int64_t)health->ring_stall_ns).text);
    }
    if (health->digest_only)
        trace_text_printf(text, "; %s as digests only",
                          hal_count(health->digest_only, "read", "reads").text);
    if (health->recovered)
        trace_text_printf(text, "; recovered: the process ended before the capture did");
    if (health->over_budget_bytes) {
        trace_text_printf(text, "; digests only, over the budget: ");
        tool_size(text, health->over_budget_bytes);
    }
    if (health->unsupported_calls)
        trace_text_printf(text, "; %s that cannot be replayed",
                          hal_count(health->unsupported_calls, "call", "calls").text);
    if (health->overhead_ns)
        trace_text_printf(text, "; recording took %s",
                          hal_duration_text((int64_t)health->overhead_ns).text);
    trace_text_printf(text, "\n");
    if (health->clock && health->clock[0])
        trace_text_printf(text, "clock      %s, at most %s from the system's\n", health->clock,
                          hal_duration_text((int64_t)health->clock_error_ns).text);
}

static void print_text(struct trace_text *text, const char *path, const struct trace_reader *reader)
{
    const struct trace_header *header = trace_reader_header(reader);
    const struct trace_counts *counts = trace_reader_counts(reader);
    trace_text_printf(text, "trace      ");
    label(text, path);
    trace_text_printf(text, ", ");
    tool_size(text, counts->file_bytes);
    trace_text_printf(text, " in %s, format %u.%u, written by ",
                      hal_count(counts->frames, "frame", "frames").text, header->version_major,
                      header->version_minor);
    label(text, header->writer);
    trace_text_printf(text, "\n");
    print_origin(text, header);
    print_policy(text, header);
    print_device(text, &header->device);
    print_captures(text, header);
    print_threads(text, reader);
    print_counts(text, counts, header->base);
    print_health(text, reader);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static void json_header(struct trace_text *text, const struct trace_header *header,
                        int64_t origin_ns)
{
    trace_json_member_open(text, "format_version", '[');
    trace_json_u64(text, header->version_major);
    trace_json_u64(text, header->version_minor);
    trace_json_close(text, ']');
    trace_json_member_text(text, "writer", header->writer);
    trace_json_member_text(text, "program", header->program);
    trace_json_member_open(text, "arguments", '[');
    for (size_t i = 0; i < header->argument_count; i++)
        trace_json_text(text, header->arguments[i]);
    trace_json_close(text, ']');
    trace_json_member_u64(text, "process_id", header->process_id);
    trace_json_member_text(text, "host", header->host);
    trace_json_member_text(text, "system", header->system);
    trace_json_member_text(text, "mode", header->mode);
    trace_json_member_text(text, "stacks", header->stacks);
    trace_json_member_text(text, "contents", header->contents);
    trace_json_member_text(text, "outputs", header->outputs);
    trace_json_member_text(text, "files", header->files);
    trace_json_member_text(text, "window", header->window);
    trace_json_member_u64(text, "budget_bytes", header->budget_bytes);
    trace_json_member_u64(text, "last_ns", header->last_ns);
    trace_json_member_i64(text, "origin_ns", origin_ns);
    trace_json_member_i64(text, "start_ns", tool_since(origin_ns, header->start_ns));
    trace_json_member_i64(text, "start_wall_ns", header->start_wall_ns);
    trace_json_member_bool(text, "late_start", header->late_start);
    trace_json_member_open(text, "edits", '[');
    for (size_t i = 0; i < header->edit_count; i++)
        trace_json_text(text, header->edits[i]);
    trace_json_close(text, ']');
    trace_json_member_text(text, "view_only", header->view_only);
    trace_json_member_text(text, "base", header->base);
}

static void json_device(struct trace_text *text, const struct trace_device *device)
{
    trace_json_member_open(text, "device", '{');
    trace_json_member_text(text, "uri", device->uri);
    trace_json_member_text(text, "driver", device->driver);
    trace_json_member_text(text, "name", device->name);
    trace_json_member_u64(text, "queue_count", device->queue_count);
    trace_json_member_u64(text, "worker_count", device->worker_count);
    trace_json_member_u64(text, "simd_width", device->simd_width);
    trace_json_member_u64(text, "max_group_threads", device->max_group_threads);
    trace_json_member_open(text, "max_group_size", '[');
    for (int i = 0; i < 3; i++)
        trace_json_u64(text, device->max_group_size[i]);
    trace_json_close(text, ']');
    trace_json_member_u64(text, "max_group_memory_bytes", device->max_group_memory_bytes);
    trace_json_member_u64(text, "max_buffer_bytes", device->max_buffer_bytes);
    if (device->max_constant_bytes)
        trace_json_member_u64(text, "max_constant_bytes", device->max_constant_bytes);
    trace_json_member_text(text, "architecture", device->architecture);
    trace_json_member_text(text, "features", device->features);
    trace_json_member_open(text, "formats", '[');
    for (uint32_t i = 0; i < device->format_count; i++)
        trace_json_u64(text, device->formats[i]);
    trace_json_close(text, ']');
    trace_json_close(text, '}');
}

static void json_captures(struct trace_text *text, const struct trace_header *header)
{
    trace_json_member_open(text, "captures", '[');
    for (size_t i = 0; i < header->capture_count; i++) {
        const struct trace_capture *capture = &header->captures[i];
        trace_json_open(text, '{');
        trace_json_member_text(text, "program", capture->program);
        trace_json_member_u64(text, "process_id", capture->process_id);
        trace_json_member_text(text, "host", capture->host);
        json_device(text, &capture->device);
        trace_json_member_u64(text, "queue_base", capture->queue_base);
        trace_json_member_u64(text, "thread_base", capture->thread_base);
        trace_json_member_u64(text, "object_base", capture->object_base);
        trace_json_member_u64(text, "submission_base", capture->submission_base);
        trace_json_member_u64(text, "group_base", capture->group_base);
        trace_json_close(text, '}');
    }
    trace_json_close(text, ']');
}

static void json_threads(struct trace_text *text, const struct trace_reader *reader)
{
    trace_json_member_open(text, "threads", '[');
    for (size_t i = 0; i < trace_reader_thread_count(reader); i++) {
        const struct trace_thread *thread = trace_reader_thread(reader, i);
        const char *name = trace_reader_string(reader, thread->name);
        trace_json_open(text, '{');
        trace_json_member_u64(text, "thread", thread->id);
        trace_json_member_u64(text, "system_id", thread->system_id);
        trace_json_member_text(text, "name", name);
        trace_json_close(text, '}');
    }
    trace_json_close(text, ']');
}

static void json_counts(struct trace_text *text, const struct trace_counts *counts,
                        int64_t origin_ns)
{
    const int64_t first_ns = counts->first_ns ? counts->first_ns : origin_ns;
    const int64_t last_ns = counts->last_ns ? counts->last_ns : origin_ns;
    trace_json_member_open(text, "counts", '{');
    trace_json_member_u64(text, "file_bytes", counts->file_bytes);
    trace_json_member_u64(text, "frames", counts->frames);
    trace_json_member_u64(text, "events", counts->events);
    trace_json_member_u64(text, "segments", counts->segments);
    trace_json_member_u64(text, "submissions", counts->submissions);
    trace_json_member_u64(text, "dispatches", counts->dispatches);
    trace_json_member_u64(text, "barriers", counts->barriers);
    trace_json_member_u64(text, "contents", counts->contents);
    trace_json_member_u64(text, "content_bytes", counts->content_bytes);
    trace_json_member_u64(text, "stored_content_bytes", counts->stored_content_bytes);
    trace_json_member_u64(text, "referred_contents", counts->referred_contents);
    trace_json_member_u64(text, "referred_bytes", counts->referred_bytes);
    trace_json_member_u64(text, "host_writes", counts->host_writes);
    trace_json_member_u64(text, "host_write_bytes", counts->host_write_bytes);
    trace_json_member_u64(text, "host_reads", counts->host_reads);
    trace_json_member_u64(text, "host_read_bytes", counts->host_read_bytes);
    trace_json_member_i64(text, "first_ns", tool_since(origin_ns, first_ns));
    trace_json_member_i64(text, "last_ns", tool_since(origin_ns, last_ns));
    trace_json_close(text, '}');
}

static void json_health(struct trace_text *text, const struct trace_health *health)
{
    trace_json_key(text, "health");
    if (!health) {
        trace_text_append(text, "null", 4);
        text->needs_comma = true;
        return;
    }
    trace_json_open(text, '{');
    trace_json_member_text(text, "status", hal_status_name((enum hal_status)health->status));
    trace_json_member_text(text, "message", health->message);
    trace_json_member_u64(text, "lost_records", health->lost_records);
    trace_json_member_u64(text, "ring_stalls", health->ring_stalls);
    trace_json_member_u64(text, "ring_stall_ns", health->ring_stall_ns);
    trace_json_member_u64(text, "digest_only", health->digest_only);
    trace_json_member_u64(text, "overhead_ns", health->overhead_ns);
    trace_json_member_bool(text, "recovered", health->recovered);
    trace_json_member_text(text, "clock", health->clock);
    trace_json_member_u64(text, "clock_error_ns", health->clock_error_ns);
    trace_json_member_u64(text, "over_budget_bytes", health->over_budget_bytes);
    trace_json_member_u64(text, "unsupported_calls", health->unsupported_calls);
    trace_json_close(text, '}');
}

static void print_json(struct trace_text *text, const char *path, const struct trace_reader *reader)
{
    trace_json_open(text, '{');
    trace_json_member_text(text, "file", path);
    const int64_t origin_ns = trace_reader_origin_ns(reader);
    json_header(text, trace_reader_header(reader), origin_ns);
    json_device(text, &trace_reader_header(reader)->device);
    if (trace_reader_header(reader)->capture_count)
        json_captures(text, trace_reader_header(reader));
    json_threads(text, reader);
    json_counts(text, trace_reader_counts(reader), origin_ns);
    trace_json_member_text(text, "truncated", trace_reader_truncated(reader));
    json_health(text, trace_reader_health(reader));
    trace_json_close(text, '}');
    trace_text_append(text, "\n", 1);
}

/* ---- The subcommand ----------------------------------------------------------------------- */

static const struct hal_option options[] = {
    {.name = "json", .help = "print one JSON object"},
    {0},
};

static int run(char **argv)
{
    bool as_json = false;
    struct tool_words words;
    if (!tool_parse(&tool_info, argv, &as_json, &words))
        return words.exit_status;
    const char *path = tool_one_file(&tool_info, &words);
    if (!path)
        return TOOL_USAGE;
    struct trace_reader *reader;
    const enum hal_status status = trace_reader_open(path, &reader);
    if (status != HAL_OK)
        return tool_fail(status);
    struct trace_text text = {0};
    (as_json ? print_json : print_text)(&text, path, reader);
    const enum hal_status written = tool_write(&text, true);
    if (written != HAL_OK)
        tool_error("%s", hal_message());
    trace_text_finish(&text);
    trace_reader_close(reader);
    return written == HAL_OK ? TOOL_OK : TOOL_FAILED;
}

const struct tool_command tool_info = {
    .name = "info",
    .summary = "what the trace is about, how large it is, whether it is complete",
    .usage =
        "usage: hal-trace info [--json] FILE\n"
        "\n"
        "Prints where and when the trace was captured, on which device, what it contains, and how\n"
        "the capture went.\n",
    .options = options,
    .run = run,
};
