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
                        copied ? "copied as it is: this would make it larger" : "");
}

static int run(int argc, char **argv)
{
    static const struct option options[] = {TOOL_OUTPUT_OPTIONS, {0}};
    struct trace_rewrite_options output = {0};
    for (int option;
         (option = getopt_long(argc, argv, TOOL_OUTPUT_LETTERS, options, NULL)) != -1;) {
        if (!tool_output_option("recompress", option, &output))
            return tool_wrong_option("recompress", argv);
    }
    const char *path = tool_one_file(argc, argv, optind);
    if (!path || !tool_output_check("recompress", &output, argv + optind, 1))
        return TOOL_USAGE;
    if (!output.compression_level)
        output.compression_level = 15;
    return recompress(path, &output);
}

const struct tool_command tool_recompress = {
    .name = "recompress",
    .group = TOOL_MAKES,
    .summary = "the same trace in fewer bytes",
    .help = "usage: hal-trace recompress -o OUTPUT [--level=N] [--force] FILE\n\n"
            "Writes the trace again with another compression. Everything else stays, also what\n"
            "newer versions have added to the file. A file that this would make larger is copied "
            "as it\n"
            "is.\n\n"
            "  -o, --output=OUTPUT  the trace to write; needed\n"
            "  -f, --force          replace it if it exists\n"
            "      --level=N        of zstd, 1 to 19; default 15\n",
    .run = run,
};
