/* SPDX-License-Identifier: Apache-2.0 */
/* What the subcommands have in common: messages, opening, output, progress. */
#include "format/tool/support/tool.h"

#include "hal/base/os.h"
#include "hal/base/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OUTPUT_BYTES = 256 << 10 };

int tool_fail(enum hal_status status)
{
    if (status == HAL_OK)
        return TOOL_OK;
    tool_error("%s", hal_message());
    return TOOL_FAILED;
}

enum hal_status tool_open(const char *path, const struct tool_bases *bases,
                          struct trace_reader **out_reader)
{
    HAL_TRY(trace_reader_open(path, out_reader));
    for (size_t i = 0; i < bases->count; i++) {
        const enum hal_status status = trace_reader_add_base(*out_reader, bases->paths[i]);
        if (status != HAL_OK) {
            trace_reader_close(*out_reader);
            return hal_add_context(status, "--base");
        }
    }
    return HAL_OK;
}

enum hal_status tool_write_bytes(struct trace_text *text, bool is_end)
{
    if (text->is_failed)
        return hal_fail(HAL_NO_MEMORY, "no memory for the output");
    if (!is_end && text->bytes < OUTPUT_BYTES)
        return HAL_OK;
    if (!hal_write_all(STDOUT_FILENO, text->data, text->bytes))
        return hal_fail(HAL_IO, "cannot write the output: %s", strerror(errno));
    text->bytes = 0;
    return HAL_OK;
}

enum hal_status tool_write(struct trace_text *text, bool is_end)
{
    if (text->bytes && (is_end || text->bytes >= OUTPUT_BYTES))
        hal_text_clean(text->data, text->bytes, true);
    return tool_write_bytes(text, is_end);
}

enum { BAR_COLUMNS = 20, LINE_COLUMNS = 50 };
static const char bar[] = "####################";

void tool_progress_begin(struct tool_progress *progress, const char *name, uint64_t total)
{
    *progress = (struct tool_progress){
        .name = name, .total = total, .shown = UINT_MAX, .on = isatty(STDERR_FILENO) == 1};
}

void tool_progress(struct tool_progress *progress, uint64_t done)
{
    progress->done = done;
    if (!progress->on || !progress->total)
        return;
    const unsigned percent = 2 * (unsigned)(50.0 * (double)done / (double)progress->total);
    if (percent == progress->shown)
        return;
    progress->shown = percent;
    const int filled = (int)(percent < 100 ? percent : 100) * BAR_COLUMNS / 100;
    fprintf(stderr, "\r%s [%.*s%*s] %u %%", progress->name, filled, bar, BAR_COLUMNS - filled, "",
            percent);
    fflush(stderr);
}

void tool_progress_step(void *progress, uint64_t done)
{
    tool_progress(progress, done);
}

void tool_progress_end(struct tool_progress *progress)
{
    if (progress->on && progress->shown != UINT_MAX)
        fprintf(stderr, "\r%*s\r", LINE_COLUMNS, ""); /* also where no sequence is understood */
}

struct counted {
    struct tool_progress *progress;
    trace_visit *visit;
    void *user;
};

static enum hal_status count_visit(void *user, const struct trace_event *event,
                                   const struct trace_segment *segments)
{
    const struct counted *counted = user;
    tool_progress(counted->progress, counted->progress->done + 1);
    return counted->visit(counted->user, event, segments);
}

enum hal_status tool_each(struct trace_reader *reader, struct tool_progress *progress,
                          trace_visit *visit, void *user)
{
    struct counted counted = {progress, visit, user};
    return trace_reader_each(reader, count_visit, &counted);
}

enum hal_status tool_each_in_order(struct trace_reader *reader, struct tool_progress *progress,
                                   trace_visit *visit, void *user)
{
    struct counted counted = {progress, visit, user};
    return trace_reader_each_in_order(reader,
                                      &(struct trace_walk){.visit = count_visit, .user = &counted});
}
