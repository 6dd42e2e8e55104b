/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace stats: what was executed how often, in numbers. */
#include "format/tool/stats/stats.h"

#include "hal/base/moment.h"
#include "hal/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void add_time(struct trace_text *text, const char *key, bool is_known, int64_t ns)
{
    trace_json_key(text, key);
    if (is_known)
        trace_json_i64(text, ns);
    else
        trace_json_double(text, NAN); /* null */
}

static void json_typical(struct trace_text *text, const struct trace_typical *typical)
{
    const bool is_known = typical->count > 0;
    add_time(text, "median_ns", is_known, typical->median_ns);
    add_time(text, "low_ns", is_known, typical->low_ns);
    add_time(text, "high_ns", is_known, typical->high_ns);
    add_time(text, "min_ns", is_known, typical->min_ns);
    add_time(text, "max_ns", is_known, typical->max_ns);
    trace_json_member_u64(text, "warm_up", typical->warm_up);
}

static void json_kernels(struct trace_text *text, const struct stats *s)
{
    trace_json_member_open(text, "kernels", '[');
    for (size_t i = 0; i < s->kernels.count; i++) {
        const struct kernel *k = tool_table_row(&s->kernels, i);
        const char *name = trace_reader_string(s->reader, k->name);
        trace_json_open(text, '{');
        trace_json_member_text(text, "name", name);
        trace_json_member_u64(text, "executable", k->executable);
        trace_json_member_u64(text, "entry", k->entry);
        trace_json_member_u64(text, "dispatches", k->dispatches);
        trace_json_member_u64(text, "workgroups", k->groups);
        trace_json_member_u64(text, "threads_per_group",
                              (uint64_t)k->group_size[0] * k->group_size[1] * k->group_size[2]);
        trace_json_member_u64(text, "alone", k->alone);
        trace_json_member_u64(text, "alone_ns", k->alone_ns);
        trace_json_member_u64(text, "timed", k->timed);
        trace_json_member_u64(text, "timed_ns", k->timed_ns);
        json_typical(text, &k->each);
        trace_json_close(text, '}');
    }
    trace_json_close(text, ']');
}

static void json_tally(struct trace_text *text, const char *key, const struct tally *tally)
{
    trace_json_member_open(text, key, '{');
    trace_json_member_u64(text, "count", tally->count);
    trace_json_member_u64(text, "bytes", tally->bytes);
    trace_json_member_u64(text, "ns", (uint64_t)tally->ns);
    trace_json_close(text, '}');
}

static void print_json(struct trace_text *text, const char *path, struct stats *s)
{
    trace_json_open(text, '{');
    trace_json_member_text(text, "file", path);
    trace_json_member_u64(text, "submissions", s->submissions.count);
    trace_json_member_u64(text, "device_ns", (uint64_t)s->device_ns);
    trace_json_member_u64(text, "dispatches", s->total.dispatches);
    trace_json_member_u64(text, "indirect_dispatches", s->total.indirect);
    trace_json_member_u64(text, "barriers", s->total.barriers);
    trace_json_member_u64(text, "fills", s->total.fills);
    trace_json_member_u64(text, "copies", s->total.copies);
    trace_json_member_u64(text, "updates", s->total.updates);
    trace_json_member_u64(text, "transfer_bytes", s->total.transfer_bytes);
    json_tally(text, "submit_calls", &s->submits);
    json_tally(text, "host_waits", &s->waits);
    json_tally(text, "uploads", &s->uploads);
    json_tally(text, "readbacks", &s->readbacks);
    json_kernels(text, s);
    exchanges_json(&s->exchanges, s->reader, text);
    failures_json(&s->failures, s->reader, text);
    trace_json_close(text, '}');
    trace_text_append(text, "\n", 1);
}

static void print_tally(struct trace_text *text, const char *name, const struct tally *tally)
{
    trace_text_printf(text, "%-12s %" PRIu64 " in %s", name, tally->count,
                      hal_duration_text(tally->ns).text);
    if (tally->bytes)
        trace_text_printf(text, ", %s", hal_count(tally->bytes, "byte", "bytes").text);
    trace_text_append(text, "\n", 1);
}

/* The median and its interval, or of few the extremes. */
static void print_typical(struct trace_text *text, const struct trace_typical *typical)
{
    char interval[80];
    snprintf(interval, sizeof interval, "(%s to %s)", hal_duration_text(typical->low_ns).text,
             hal_duration_text(typical->high_ns).text);
    if (typical->count)
        trace_text_printf(text, "%12s  %-24s  ", hal_duration_text(typical->median_ns).text,
                          interval);
    else
        trace_text_printf(text, "%12s  %-24s  ", "-", "");
}

static void print_text(struct trace_text *text, struct stats *s)
{
    trace_text_printf(text, "submissions  %zu, %s on the device\n", s->submissions.count,
                      hal_duration_text(s->device_ns).text);
    trace_text_printf(text, "executed     %s (%" PRIu64 " indirect), %s, %s, %s, %s, %s moved\n",
                      hal_count(s->total.dispatches, "dispatch", "dispatches").text,
                      s->total.indirect, hal_count(s->total.barriers, "barrier", "barriers").text,
                      hal_count(s->total.fills, "fill", "fills").text,
                      hal_count(s->total.copies, "copy", "copies").text,
                      hal_count(s->total.updates, "update", "updates").text,
                      hal_count(s->total.transfer_bytes, "byte", "bytes").text);
    print_tally(text, "submit calls", &s->submits);
    print_tally(text, "host waits", &s->waits);
    print_tally(text, "uploads", &s->uploads);
    print_tally(text, "read-backs", &s->readbacks);
    failures_print(&s->failures, s->reader, text);
    trace_text_printf(text, "\n%12s %14s %12s  %-24s  %s\n", "dispatches", "workgroups",
                      "each, median", "(95 % interval)", "kernel");
    for (size_t i = 0; i < s->kernels.count; i++) {
        const struct kernel *k = tool_table_row(&s->kernels, i);
        const char *name = trace_reader_string(s->reader, k->name);
        trace_text_printf(text, "%12" PRIu64 " %14" PRIu64 " ", k->dispatches, k->groups);
        print_typical(text, &k->each);
        trace_text_label(text, name ? name : "", strlen(name ? name : ""));
        trace_text_printf(text, " (%u x %u x %u, executable %" PRIu64 ")\n", k->group_size[0],
                          k->group_size[1], k->group_size[2], k->executable);
    }
    exchanges_print(&s->exchanges, s->reader, text);
}

/* `out_written`: the output can still be written. */
static int stats(const char *path, bool as_json, bool *out_written)
{
    struct stats s;
    struct trace_reader *reader;
    struct trace_text text = {0};
    enum hal_status status = trace_reader_open(path, &reader);
    if (status != HAL_OK)
        return tool_fail(status);
    if (*trace_reader_truncated(reader))
        tool_error("'%s' is incomplete: %s", path, trace_reader_truncated(reader));
    status = stats_load(&s, reader);
    if (status == HAL_OK) {
        if (as_json)
            print_json(&text, path, &s);
        else
            print_text(&text, &s);
        status = tool_write(&text, true);
        *out_written = status == HAL_OK;
    }
    const int code = tool_fail(status);
    trace_text_finish(&text);
    stats_finish(&s);
    return code;
}

static const struct hal_option options[] = {
    {.name = "json", .help = "print a JSON object per file, one per line; times are nanoseconds"},
    {0},
};

static int run(char **argv)
{
    bool as_json = false, is_written = true;
    struct tool_words words;
    if (!tool_parse(&tool_stats, argv, &as_json, &words))
        return words.exit_status;
    if (words.count < 2 || !as_json) {
        const char *path = tool_one_file(&tool_stats, &words);
        return path ? stats(path, as_json, &is_written) : TOOL_USAGE;
    }
    /* With many traces, one that cannot be read does not exclude the others. */
    int result = TOOL_OK;
    for (int i = 0; i < words.count && is_written; i++) {
        const int code = stats(words.words[i], true, &is_written);
        result = code == TOOL_OK ? result : code;
    }
    return result;
}

const struct tool_command tool_stats = {
    .name = "stats",
    .summary = "how often the trace executed what",
    .usage =
        "usage: hal-trace stats FILE\n"
        "       hal-trace stats --json FILE...\n"
        "\n"
        "Counts what the device executed: submissions, dispatches by kernel, transfers; and what\n"
        "the host did: submit calls, waits, uploads, read-backs. 'alone' is the mean device time\n"
        "of submissions with a single dispatch of the kernel, 'timed' that of dispatches\n"
        "timed by the device (a capture of mode 'dispatch'). For collectives: what this rank sent\n"
        "and received, by channel.\n",
    .options = options,
    .run = run,
};
