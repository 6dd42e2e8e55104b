/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace trim: some submissions of a trace, with everything that they depend on. */
#include "format/tool/support/tool.h"
#include "format/tool/trim/slice.h"
#include "hal/base/locator.h"
#include "hal/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANGES = 256 };

struct trim {
    struct slice slice;
    size_t next; /* event of the rewriting */
    const char *list, *scope;
    struct {
        uint64_t first, last;
    } ranges[MOST_RANGES];
    size_t range_count;
};

/* ---- Which submissions ---- */

/* "#s3..#s5,9". */
static enum hal_status parse_list(struct trim *trim, const char *text)
{
    for (;; text++) {
        struct hal_locator_range range;
        if (trim->range_count == MOST_RANGES)
            return hal_fail(HAL_INVALID, "more than %d ranges", MOST_RANGES);
        HAL_TRY(hal_locator_range_parse(text, &range, &text));
        hal_locator_submissions(&range, &trim->ranges[trim->range_count].first,
                                &trim->ranges[trim->range_count].last);
        trim->range_count++;
        if (!*text)
            return HAL_OK;
    }
}

static enum hal_status choose(struct trim *trim, const struct trace_reader *reader)
{
    for (size_t i = 0; i < trim->range_count; i++) {
        if (!slice_want(&trim->slice, trim->ranges[i].first, trim->ranges[i].last))
            return hal_fail(HAL_NOT_FOUND,
                            "the trace has no submission #s%" PRIu64 " to #s%" PRIu64,
                            trim->ranges[i].first, trim->ranges[i].last);
    }
    if (trim->scope && !slice_want_scope(&trim->slice, reader, trim->scope))
        return hal_fail(HAL_NOT_FOUND, "no thread submitted anything inside a scope '%s'",
                        trim->scope);
    return HAL_OK;
}

/* ---- Writing ---- */

/* The barrier that stays of a submission: its waits and signals. */
static void empty(struct trace_submit *submit)
{
    const size_t values = submit->wait_count + submit->signal_count;
    submit->command_buffer_count = 0;
    submit->operation = TRACE_OPERATION_BARRIER;
    submit->file = 0;
    submit->buffer = submit->offset = submit->size = submit->file_offset = 0;
    submit->head.bytes = (uint32_t)(sizeof *submit + values * sizeof *submit->values);
}

static bool keep(void *user, struct trace_event *event, struct trace_segment *segments)
{
    struct trim *trim = user;
    const struct slice_event *decided = &trim->slice.events[trim->next++];
    struct trace_semaphore_create *semaphore = (void *)event;
    (void)segments;
    if (decided->fate == SLICE_EMPTIED)
        empty((void *)event);
    if (decided->fate == SLICE_KEPT && event->kind == TRACE_SEMAPHORE_CREATE)
        semaphore->initial_value = slice_object(&trim->slice, semaphore->semaphore)->initial;
    return decided->fate != SLICE_DROPPED;
}

static enum hal_status write_slice(struct trim *trim, struct trace_reader *reader,
                                   const struct trace_rewrite_options *output)
{
    char message[512], edit[1280];
    const char **edits;
    struct trace_rewrite rewrite;
    struct tool_progress progress;
    const struct slice *slice = &trim->slice;
    struct trace_header header = *trace_reader_header(reader);
    if (!trace_reader_missing(reader).contents)
        header.base = ""; /* nothing is referred to any more */
    snprintf(edit, sizeof edit, "trim --%s=%.800s: %s, %s, %" PRIu64 " as barriers",
             trim->list ? "submissions" : "scope", trim->list ? trim->list : trim->scope,
             hal_count(slice->wanted, "submission", "submissions").text,
             hal_count(slice->needed, "dependency", "dependencies").text, slice->emptied);
    HAL_TRY(tool_add_edit(&header, edit, &edits));
    enum hal_status status = trace_rewrite_open(&rewrite, output, &header);
    free(edits);
    HAL_TRY(status);
    tool_progress_begin(&progress, "trimming", trace_reader_chunk_count(reader));
    const struct trace_rewrite_rules rules = {
        .keep = keep, .user = trim, .progress = tool_progress_step, .progress_user = &progress};
    struct trace_rewrite_source source = {.reader = reader};
    status = trace_rewrite_add(&rewrite, &source, &rules);
    tool_progress_end(&progress);
    const struct trace_health health = trace_rewrite_health(reader, message, sizeof message);
    return trace_rewrite_close(&rewrite, status, &health);
}

static int trim_file(struct trim *trim, const char *path, const struct tool_bases *bases,
                     const struct trace_rewrite_options *output)
{
    char words[320];
    struct trace_reader *reader;
    enum hal_status status = tool_open(path, bases, &reader);
    if (status != HAL_OK)
        return tool_fail(status);
    status = slice_load(&trim->slice, reader);
    if (status == HAL_OK)
        status = choose(trim, reader);
    if (status == HAL_OK) {
        slice_find(&trim->slice);
        status = write_slice(trim, reader, output);
    }
    snprintf(words, sizeof words, "%s, %s, %" PRIu64 " as barriers",
             hal_count(trim->slice.wanted, "submission", "submissions").text,
             hal_count(trim->slice.needed, "dependency", "dependencies").text, trim->slice.emptied);
    slice_finish(&trim->slice);
    trace_reader_close(reader);
    return tool_written(status, output->path, words);
}

struct arguments {
    struct trim trim;
    struct trace_rewrite_options output;
    struct tool_bases bases;
};

static const struct hal_option options[] = {
    {.name = "submissions",
     .argument = "LIST",
     .help = "locators and ranges of them: #s3, #s3..#s5,#s9.., 3-5; a dispatch (#s12.d40) stands "
             "for its submission",
     .target = offsetof(struct arguments, trim.list)},
    {.name = "scope",
     .argument = "NAME",
     .help = "submissions inside scopes of that name",
     .target = offsetof(struct arguments, trim.scope)},
    TOOL_OUTPUT_OPTIONS(struct arguments, output, "3"),
    TOOL_BASE_OPTION(struct arguments, bases),
    {0},
};

static int run(char **argv)
{
    struct arguments a = {0};
    struct tool_words words;
    if (!tool_parse(&tool_trim, argv, &a, &words))
        return words.exit_status;
    if (!a.trim.list == !a.trim.scope) {
        tool_error("trim: either --submissions=3-5,9 or --scope=NAME is required (see hal-trace "
                   "trim --help)");
        return TOOL_USAGE;
    }
    if (a.trim.list && parse_list(&a.trim, a.trim.list) != HAL_OK) {
        tool_error("trim: --submissions=%s: %s", a.trim.list, hal_message());
        return TOOL_USAGE;
    }
    const char *path = tool_one_file(&tool_trim, &words);
    if (!path || !tool_output_check("trim", &a.output, words.words, 1))
        return TOOL_USAGE;
    return trim_file(&a.trim, path, &a.bases, &a.output);
}

const struct tool_command tool_trim = {
    .name = "trim",
    .group = TOOL_MAKES,
    .summary = "extract some submissions and their dependencies",
    .usage =
        "usage: hal-trace trim -o OUTPUT --submissions=LIST [--force] FILE\n"
        "       hal-trace trim -o OUTPUT --scope=NAME [--force] FILE\n"
        "\n"
        "Writes the submissions with those whose results they read, the bytes that the host wrote\n"
        "for them, and the objects that they use: a smaller trace that can be replayed and is\n"
        "verified by read-backs of their results. Other submissions in between stay as barriers\n"
        "without work, so that the order of waits is preserved.\n",
    .options = options,
    .run = run,
};
