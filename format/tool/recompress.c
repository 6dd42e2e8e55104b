/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace recompress: the same trace in fewer bytes, or sooner. */
#include "format/tool/support/tool.h"

#include <stdio.h>
#include <string.h>

static int recompress(const char *path, const struct trace_rewrite_options *output)
{
    char edit[64];
    bool copied = false;
    struct trace_reader *reader;
    struct tool_progress progress;
    enum hal_status status = trace_reader_open(path, &reader);
    if (status != HAL_OK)
        return tool_fail(status);
    tool_progress_begin(&progress, "recompressing", trace_reader_counts(reader)->frames);
    trace_reader_close(reader);
    snprintf(edit, sizeof edit, "recompress --level=%d", output->compression_level);
    status = trace_recompress(path, output, edit, tool_progress_step, &progress, &copied);
    tool_progress_end(&progress);
    return tool_written(status, output->path,
                        copied ? "copied unchanged: recompression would make it larger" : "");
}

struct output {
    struct trace_rewrite_options rewrite;
};

static const struct hal_option options[] = {
    TOOL_OUTPUT_OPTIONS(struct output, rewrite, "15"),
    {0},
};

static int run(char **argv)
{
    struct output output = {0};
    struct tool_words words;
    if (!tool_parse(&tool_recompress, argv, &output, &words))
        return words.exit_status;
    const char *path = tool_one_file(&tool_recompress, &words);
    if (!path || !tool_output_check("recompress", &output.rewrite, words.words, 1))
        return TOOL_USAGE;
    if (!output.rewrite.compression_level)
        output.rewrite.compression_level = 15;
    return recompress(path, &output.rewrite);
}

const struct tool_command tool_recompress = {
    .name = "recompress",
    .group = TOOL_MAKES,
    .summary = "store the same trace in fewer bytes",
    .usage =
        "usage: hal-trace recompress -o OUTPUT [--level=N] [--force] FILE\n"
        "\n"
        "Writes the trace again with another compression. Everything else stays, including what\n"
        "newer versions have added to the file. A file that would become larger is copied\n"
        "unchanged.\n",
    .options = options,
    .run = run,
};
