/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace races: accesses to the same bytes that nothing orders. */
#include "format/analysis/races.h"

#include "format/tool/support/labels.h"
#include "format/tool/support/tool.h"
#include "hal/base/text.h"

#include <inttypes.h>
#include <string.h>

struct search {
    struct trace_reader *reader;
    struct trace_races races;
    struct tool_labels labels;
    struct tool_progress progress;
};

static enum hal_status visit(void *user, const struct trace_event *event,
                             const struct trace_segment *segments)
{
    struct search *s = user;
    tool_progress(&s->progress, s->progress.done + 1);
    HAL_TRY(tool_labels_take(&s->labels, event));
    return trace_races_take(&s->races, event, segments);
}

static enum hal_status print_race(const struct search *s, const struct trace_race *race,
                                  struct trace_text *text)
{
    char before[TRACE_RACE_NAME_BYTES], after[TRACE_RACE_NAME_BYTES];
    trace_text_printf(text, "%s: %s %s, %s %s: %s at %" PRIu64 " of buffer %" PRIu64,
                      race->declared ? "race" : "possible race",
                      trace_race_side_name(&race->before, s->reader, before),
                      race->before.writes ? "writes" : "reads",
                      trace_race_side_name(&race->after, s->reader, after),
                      race->after.writes ? "writes" : "reads",
                      hal_count(race->end - race->begin, "byte", "bytes").text, race->begin,
                      race->buffer);
    tool_labels_add(&s->labels, s->reader, race->buffer, text);
    trace_text_printf(text, ", no %s between\n",
                      race->inside ? "barrier" : "semaphore or host wait");
    return tool_write(text, false);
}

static enum hal_status print(const struct search *s, const char *path)
{
    const struct trace_races *races = &s->races;
    struct trace_text text = {0};
    enum hal_status status = HAL_OK;
    for (size_t i = 0; i < races->list_count && status == HAL_OK; i++)
        status = print_race(s, &races->list[i], &text);
    trace_text_printf(&text, "%s: %s, %" PRIu64 " more are possible", path,
                      hal_count(races->declared_count, "race", "races").text,
                      races->count - races->declared_count);
    if (races->list_count < races->count)
        trace_text_printf(&text, "; the first %zu are listed", races->list_count);
    if (races->undecided)
        trace_text_printf(&text, "; %s over the limits and not compared",
                          hal_count(races->undecided, "access was", "accesses were").text);
    if (races->inside_only)
        trace_text_printf(&text, "; the trace is incomplete: only command buffers were searched");
    trace_text_printf(&text, "\n");
    if (status == HAL_OK)
        status = tool_write(&text, true);
    trace_text_finish(&text);
    return status;
}

static int search(const char *path)
{
    struct search s = {0};
    enum hal_status status = trace_reader_open(path, &s.reader);
    if (status != HAL_OK)
        return tool_fail(status);
    const struct trace_health *health = trace_reader_health(s.reader);
    trace_races_begin(&s.races);
    s.races.inside_only =
        !health || health->status != HAL_OK || *trace_reader_truncated(s.reader) != '\0';
    tool_progress_begin(&s.progress, "searching", trace_reader_counts(s.reader)->events);
    status = trace_reader_each_in_order(s.reader, &(struct trace_walk){.visit = visit, .user = &s});
    tool_progress_end(&s.progress);
    if (status == HAL_OK)
        status = print(&s, path);
    const bool found = s.races.declared_count > 0;
    const int code = tool_fail(status);
    trace_races_finish(&s.races);
    tool_labels_finish(&s.labels);
    trace_reader_close(s.reader);
    return code == TOOL_OK && found ? TOOL_DIFFERENT : code;
}

static int run(char **argv)
{
    struct tool_words words;
    if (!tool_parse(&tool_races, argv, NULL, &words))
        return words.exit_status;
    const char *path = tool_one_file(&tool_races, &words);
    return path ? search(path) : TOOL_USAGE;
}

const struct tool_command tool_races = {
    .name = "races",
    .summary = "accesses to the same bytes that nothing orders",
    .usage = "usage: hal-trace races FILE\n"
             "\n"
             "Lists pairs of commands, submissions and host accesses to the same bytes, at least "
             "one of\n"
             "them a write, that no barrier, semaphore or host wait orders. A race is only "
             "possible if the\n"
             "trace cannot decide: a kernel declares no accesses, the end of a binding is unknown, "
             "or only\n"
             "the pages that the host wrote are known.\n"
             "Exit status: 1 if there are races, 0 if there are none, or only possible ones.\n",
    .run = run,
};
