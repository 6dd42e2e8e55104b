/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace recover: completes the trace of a process that was killed. */
#include "format/file/recover.h"
#include "format/file/orphan.h"
#include "format/tool/support/tool.h"
#include "hal/base/output.h"
#include "hal/base/print.h"
#include "hal/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Lists ---- */

static void print_sidecar(void *user, const struct trace_sidecar_info *info)
{
    size_t *count = user;
    struct trace_text size = {0};
    tool_size(&size, info->bytes);
    hal_print(stdout, "%s: %.*s of %s, process %" PRIu64 "%s\n", info->path, (int)size.bytes,
              size.data ? size.data : "", info->destination, info->process_id,
              info->in_use ? ", which runs" : "");
    trace_text_finish(&size);
    ++*count;
}

static int list(const char *folder)
{
    size_t count = 0;
    const enum hal_status status = trace_sidecars_each(folder, print_sidecar, &count);
    if (status != HAL_OK)
        return tool_fail(status);
    if (!count)
        hal_print(stdout, "no sidecars in %s\n", folder);
    return tool_fail(hal_output_end());
}

static int discard(const char *path, bool force)
{
    struct trace_orphan orphan;
    const enum hal_status status = trace_orphan_open(path, force, &orphan);
    if (status != HAL_OK)
        return tool_fail(status);
    trace_orphan_close(&orphan);
    if (unlink(path) == 0)
        return TOOL_OK;
    tool_error("cannot remove '%s'", path);
    return TOOL_FAILED;
}

/* All that can be discarded; the exit status of the first that cannot. */
static int discard_each(char *const *paths, bool force)
{
    int exit_status = TOOL_OK;
    for (; *paths; paths++) {
        const int done = discard(*paths, force);
        exit_status = exit_status ? exit_status : done;
    }
    return exit_status;
}

struct gone {
    size_t count;
    uint64_t bytes;
};

static void count_gone(void *user, const struct trace_sidecar_info *info)
{
    struct gone *gone = user;
    gone->count++;
    gone->bytes += info->bytes;
}

static int discard_gone(const char *folder)
{
    struct gone gone = {0};
    struct trace_text size = {0};
    const enum hal_status status = trace_sidecars_discard_gone(folder, count_gone, &gone);
    if (status != HAL_OK)
        return tool_fail(status);
    tool_size(&size, gone.bytes);
    hal_print(stdout, "removed %s of %.*s in %s\n",
              hal_count(gone.count, "sidecar", "sidecars").text, (int)size.bytes,
              size.data ? size.data : "", folder);
    trace_text_finish(&size);
    return tool_fail(hal_output_end());
}

/* ---- Recovering ---- */

static bool names_sidecar(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    name += name[0] == '.';
    return strncmp(name, TRACE_SIDECAR_PREFIX, strlen(TRACE_SIDECAR_PREFIX)) == 0;
}

static int recover(const struct trace_recover_options *wanted)
{
    struct trace_recover_options options = *wanted;
    char destination[TRACE_PATH_BYTES];
    struct trace_recovered recovered;
    if (!options.sidecar && names_sidecar(options.path)) {
        struct trace_orphan orphan;
        const enum hal_status status = trace_orphan_open(options.path, options.force, &orphan);
        if (status != HAL_OK)
            return tool_fail(status);
        memcpy(destination, orphan.destination, sizeof destination);
        trace_orphan_close(&orphan);
        options.sidecar = options.path;
        options.path = destination;
    }
    const enum hal_status status = trace_recover(&options, &recovered);
    if (status == HAL_IO && !options.output)
        (void)!hal_add_context(status, "the trace and its sidecar are unchanged (-o OUTPUT writes "
                                       "the complete trace to another file)");
    else if (status == HAL_CORRUPT)
        (void)!hal_add_context(status, "the trace and its sidecar are unchanged");
    if (status != HAL_OK)
        return tool_fail(status);
    if (recovered.was_complete) {
        hal_print(stdout, "%s: already complete; removed its sidecar\n", options.path);
        return tool_fail(hal_output_end());
    }
    hal_print(stdout, "%s: %s from the file, and %s and %s (%s) from the sidecar\n",
              options.output ? options.output : options.path,
              hal_count(recovered.file_events, "event", "events").text,
              hal_count(recovered.sidecar_events, "event", "events").text,
              hal_count(recovered.contents, "content", "contents").text,
              hal_count(recovered.content_bytes, "byte", "bytes").text);
    if (recovered.damaged_records)
        hal_print(stdout, "the sidecar was damaged: %s invalid references, or %s left out\n",
                  hal_count(recovered.damaged_records, "record has", "records have").text,
                  recovered.damaged_records == 1 ? "is" : "are");
    if (recovered.calls_missing)
        hal_print(stdout, "the process ended during calls, which are not recorded\n");
    return tool_fail(hal_output_end());
}

struct arguments {
    struct trace_recover_options recover;
    bool lists, discards, discards_gone;
};

static const struct hal_option options[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .help = "write the complete trace there, and keep trace and sidecar",
     .target = offsetof(struct arguments, recover.output)},
    {.name = "sidecar",
     .letter = 's',
     .argument = "FILE",
     .help = "the sidecar, if it was moved",
     .target = offsetof(struct arguments, recover.sidecar)},
    {.name = "force",
     .letter = 'f',
     .help = "replace an existing output; do not check whether the process is still running",
     .target = offsetof(struct arguments, recover.force)},
    {.name = "list",
     .letter = 'l',
     .help = "list this user's sidecars (in FOLDER; default " TRACE_SIDECAR_FOLDER ")",
     .target = offsetof(struct arguments, lists)},
    {.name = "discard",
     .help = "remove the sidecars and the data that only they have",
     .target = offsetof(struct arguments, discards)},
    {.name = "discard-gone",
     .help =
         "remove this user's sidecars whose capture has ended and whose trace is complete or gone",
     .target = offsetof(struct arguments, discards_gone)},
    {0},
};

static int run(char **argv)
{
    struct arguments a = {0};
    struct tool_words words;
    if (!tool_parse(&tool_recover, argv, &a, &words))
        return words.exit_status;
    if (a.lists + a.discards + a.discards_gone > 1) {
        tool_error("recover: only one of --list, --discard and --discard-gone (see hal-trace "
                   "recover --help)");
        return TOOL_USAGE;
    }
    if (a.discards && words.count)
        return discard_each(words.words, a.recover.force);
    const bool folder = a.lists || a.discards_gone;
    const char *path =
        folder && !words.count ? TRACE_SIDECAR_FOLDER : tool_one_file(&tool_recover, &words);
    if (!path)
        return TOOL_USAGE;
    a.recover.path = path;
    return a.lists ? list(path) : a.discards_gone ? discard_gone(path) : recover(&a.recover);
}

const struct tool_command tool_recover = {
    .name = "recover",
    .group = TOOL_MAKES,
    .summary = "complete the trace of a killed process",
    .usage =
        "usage: hal-trace recover [options] FILE\n"
        "       hal-trace recover --list | --discard-gone [FOLDER]\n"
        "       hal-trace recover --discard SIDECAR...\n"
        "Completes the trace of a process that was killed, aborted or exited without ending the\n"
        "capture, with what it had recorded and not yet written: its sidecar, which the trace "
        "names.\n"
        "FILE is the trace, or the sidecar itself. The trace is replaced and the sidecar "
        "removed.\n",
    .options = options,
    .run = run,
};
