/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace recover: completes the trace of a process that was killed. */
#include "format/file/recover.h"
#include "format/file/leftover.h"
#include "format/tool/support/tool.h"
#include "hal/base/output.h"
#include "hal/base/print.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: hal-trace recover [options] FILE\n"
    "       hal-trace recover --list | --discard-gone [FOLDER]\n"
    "       hal-trace recover --discard SIDECAR...\n"
    "Completes a trace whose process was killed, aborted or left without ending the capture, with\n"
    "what it had recorded and not yet written: its sidecar, which the trace names. FILE is the\n"
    "trace, or the sidecar itself. The trace is replaced and the sidecar removed.\n\n"
    "  -o, --output=FILE   write the whole trace there; trace and sidecar stay as they are\n"
    "  -s, --sidecar=FILE  the sidecar, when it was moved\n"
    "  -f, --force         replace an existing output; do not ask whether the process still runs\n"
    "  -l, --list          list this user's sidecars (in FOLDER; default " TRACE_SIDECAR_FOLDER
    ")\n"
    "      --discard       remove the sidecars, with what only they have\n"
    "      --discard-gone  remove this user's sidecars whose capture has ended and whose trace was "
    "removed\n"
    "      --help          this text\n";

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
    struct trace_leftover leftover;
    const enum hal_status status = trace_leftover_open(path, force, &leftover);
    if (status != HAL_OK)
        return tool_fail(status);
    trace_leftover_close(&leftover);
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
    hal_print(stdout, "removed %zu sidecar%s of %.*s in %s\n", gone.count,
              gone.count == 1 ? "" : "s", (int)size.bytes, size.data ? size.data : "", folder);
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
        struct trace_leftover leftover;
        const enum hal_status status = trace_leftover_open(options.path, options.force, &leftover);
        if (status != HAL_OK)
            return tool_fail(status);
        memcpy(destination, leftover.destination, sizeof destination);
        trace_leftover_close(&leftover);
        options.sidecar = options.path;
        options.path = destination;
    }
    const enum hal_status status = trace_recover(&options, &recovered);
    if (status == HAL_IO && !options.output)
        (void)!hal_add_context(status, "the trace and its sidecar are as before (-o OUTPUT writes "
                                       "the whole trace to another place)");
    if (status != HAL_OK)
        return tool_fail(status);
    hal_print(stdout,
              "%s: %" PRIu64 " events that the file had, and %" PRIu64 " events and %" PRIu64
              " contents (%" PRIu64 " bytes) out of the sidecar\n",
              options.output ? options.output : options.path, recovered.file_events,
              recovered.sidecar_events, recovered.contents, recovered.content_bytes);
    if (recovered.calls_missing)
        hal_print(stdout, "the process ended inside calls, which are not recorded\n");
    return tool_fail(hal_output_end());
}

static int run(int argc, char **argv)
{
    static const struct option known[] = {{"output", required_argument, NULL, 'o'},
                                          {"sidecar", required_argument, NULL, 's'},
                                          {"force", no_argument, NULL, 'f'},
                                          {"list", no_argument, NULL, 'l'},
                                          {"discard", no_argument, NULL, 'd'},
                                          {"discard-gone", no_argument, NULL, 'g'},
                                          {0}};
    struct trace_recover_options options = {0};
    int action = 0;
    for (int option; (option = getopt_long(argc, argv, "o:s:fl", known, NULL)) != -1;) {
        switch (option) {
        case 'o': options.output = optarg; break;
        case 's': options.sidecar = optarg; break;
        case 'f': options.force = true; break;
        case 'l':
        case 'g':
        case 'd': action = option; break;
        default: return tool_wrong_option("recover", argv);
        }
    }
    if (action == 'd' && argc > optind)
        return discard_each(argv + optind, options.force);
    const bool folder = action == 'l' || action == 'g';
    options.path =
        folder && argc == optind ? TRACE_SIDECAR_FOLDER : tool_one_file(argc, argv, optind);
    if (!options.path)
        return TOOL_USAGE;
    return action == 'l'   ? list(options.path)
           : action == 'g' ? discard_gone(options.path)
                           : recover(&options);
}

const struct tool_command tool_recover = {
    .name = "recover",
    .group = TOOL_MAKES,
    .summary = "complete the trace of a process that was killed",
    .help = help,
    .run = run,
};
