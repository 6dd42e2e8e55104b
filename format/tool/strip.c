/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace strip: replaces contents by digests. The trace can then be viewed and compared, and
 * does not reveal the computed data, except by confirming a guess. */
#include "format/tool/support/tool.h"
#include "hal/base/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGEST_BYTES = 32 };

struct strip {
    bool reads_only, executables;
    enum hal_status status;
};

/* The bytes of an update become those of their digest, again and again. */
static enum hal_status hide_update(struct trace_update *update)
{
    uint8_t digest[DIGEST_BYTES];
    HAL_TRY(hal_sha256(update->data, (size_t)update->size, digest));
    for (uint64_t i = 0; i < update->size; i++)
        update->data[i] = digest[i % DIGEST_BYTES];
    return HAL_OK;
}

static bool hide(void *user, struct trace_event *event, struct trace_segment *segments)
{
    struct strip *strip = user;
    if (event->kind != TRACE_COMMAND_BUFFER_SEAL || strip->reads_only)
        return true;
    const struct trace_command_buffer_seal *seal = (const void *)event;
    for (uint32_t i = 0; i < seal->segment_count && strip->status == HAL_OK; i++) {
        if (segments->kind == TRACE_UPDATE)
            strip->status = hide_update((void *)segments);
        segments = (void *)((uint8_t *)segments + segments->bytes);
    }
    return true;
}

static enum hal_status write_stripped(struct trace_reader *reader, struct strip *strip,
                                      const struct trace_rewrite_options *output)
{
    char message[512], edit[64];
    const char **edits;
    struct trace_rewrite rewrite;
    struct tool_progress progress;
    struct trace_header header = *trace_reader_header(reader);
    snprintf(edit, sizeof edit, "strip%s%s", strip->reads_only ? " --reads-only" : "",
             strip->executables ? " --executables" : "");
    HAL_TRY(tool_add_edit(&header, edit, &edits));
    if (!strip->reads_only && !header.view_only[0])
        header.view_only = "hal-trace strip removed its contents";
    enum hal_status status = trace_rewrite_open(&rewrite, output, &header);
    free(edits);
    HAL_TRY(status);
    tool_progress_begin(&progress, "stripping", trace_reader_chunk_count(reader));
    const enum trace_rewrite_contents hidden =
        strip->reads_only ? TRACE_REWRITE_KEEP : TRACE_REWRITE_DIGEST;
    const struct trace_rewrite_rules rules = {
        .keep = hide,
        .user = strip,
        .writes = hidden,
        .reads = TRACE_REWRITE_DIGEST,
        .executables = strip->executables ? TRACE_REWRITE_DIGEST : TRACE_REWRITE_KEEP,
        .progress = tool_progress_step,
        .progress_user = &progress};
    struct trace_rewrite_source source = {.reader = reader};
    status = trace_rewrite_add(&rewrite, &source, &rules);
    if (status == HAL_OK)
        status = strip->status;
    tool_progress_end(&progress);
    const struct trace_health health = trace_rewrite_health(reader, message, sizeof message);
    return trace_rewrite_close(&rewrite, status, &health);
}

struct arguments {
    struct strip strip;
    struct trace_rewrite_options output;
};

static const struct hal_option options[] = {
    {.name = "reads-only",
     .help =
         "only the bytes that were read back: it can still be replayed, and is verified by digests",
     .target = offsetof(struct arguments, strip.reads_only)},
    {.name = "executables",
     .help = "also remove kernels (their names and bindings stay)",
     .target = offsetof(struct arguments, strip.executables)},
    TOOL_OUTPUT_OPTIONS(struct arguments, output, "3"),
    {0},
};

static int run(char **argv)
{
    struct arguments a = {0};
    struct tool_words words;
    if (!tool_parse(&tool_strip, argv, &a, &words))
        return words.exit_status;
    if (a.strip.reads_only && a.strip.executables) {
        tool_error("strip: either --reads-only or --executables (see hal-trace strip --help)");
        return TOOL_USAGE;
    }
    const char *path = tool_one_file(&tool_strip, &words);
    if (!path || !tool_output_check("strip", &a.output, words.words, 1))
        return TOOL_USAGE;
    struct trace_reader *reader;
    enum hal_status status = trace_reader_open(path, &reader);
    if (status != HAL_OK)
        return tool_fail(status);
    status = write_stripped(reader, &a.strip, &a.output);
    trace_reader_close(reader);
    return tool_written(status, a.output.path, "");
}

const struct tool_command tool_strip = {
    .name = "strip",
    .group = TOOL_MAKES,
    .summary = "replace contents by digests",
    .usage =
        "usage: hal-trace strip -o OUTPUT [--reads-only | --executables] [--force] FILE\n"
        "\n"
        "Writes the trace with SHA-256 digests in place of all bytes that the host wrote, read or\n"
        "sent in updates. It can be viewed and compared with others, but not replayed. Everything\n"
        "else stays: kernels, push constants, labels, the program's path and arguments, the\n"
        "machine's name. A digest confirms a guess: small values can be brute-forced.\n",
    .options = options,
    .run = run,
};
