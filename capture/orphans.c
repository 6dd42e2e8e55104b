/* SPDX-License-Identifier: Apache-2.0 */
/* Completing and removing what captures left, and telling of it. */
#include "capture/orphans.h"

#include "capture/summary.h"
#include "format/recover.h"
#include "format/sidecar.h"
#include "hal/base/text.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Completing ---- */

static void leave(int number)
{
    _exit(128 + number); /* as if there were no handler, without a core file */
}

void capture_orphans_prepare(void)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, end = {.sa_handler = leave};
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
    sigaction(SIGQUIT, &end, NULL);
}

bool capture_orphan_complete(const char *path, const char *name, const struct trace_reader *reader,
                             bool quiet)
{
    static const uint64_t slow_bytes = 1ull << 30;
    const uint64_t bytes = trace_reader_counts(reader)->file_bytes;
    struct trace_recovered recovered;
    if (!trace_recover_is_due(reader))
        return false;
    if (!quiet && bytes > slow_bytes) {
        fprintf(stderr, "hal-capture: %s: completing it, ", name);
        capture_print_size(bytes);
        fputs("; Ctrl-\\ leaves that to hal-trace recover\n", stderr);
    }
    if (trace_recover(&(struct trace_recover_options){.path = path}, &recovered) != HAL_OK) {
        capture_complain(0, "%s: cannot be completed: %s", name, hal_message());
        return false;
    }
    if (!quiet)
        capture_complain(0,
                         "%s: its process ended before the capture did; completed, with %" PRIu64
                         " events out of its sidecar",
                         name, recovered.sidecar_events);
    return true;
}

/* ---- Removing ---- */

struct removed {
    size_t count;
    uint64_t bytes;
};

static void count_removed(void *user, const struct trace_sidecar_info *info)
{
    struct removed *removed = user;
    removed->count++;
    removed->bytes += info->bytes;
}

/* A folder that is not there has none. */
static void remove_in(const char *folder, bool quiet)
{
    struct removed removed = {0};
    (void)!trace_sidecars_discard_gone(folder, count_removed, &removed);
    if (!removed.count || quiet)
        return;
    fprintf(stderr, "hal-capture: removed %zu sidecar%s of ", removed.count,
            removed.count == 1 ? "" : "s");
    capture_print_size(removed.bytes);
    fprintf(stderr, " in %s, left by captures that were killed: their traces are gone\n",
            hal_shown(folder).text);
}

void capture_orphans_remove(const char *destination, bool quiet)
{
    char beside[TRACE_PATH_BYTES];
    const char *chosen = getenv("HAL_DEVICE_PROFILING_SIDECAR");
    snprintf(beside, sizeof beside, "%s", destination);
    char *slash = strrchr(beside, '/');
    if (slash)
        slash[slash == beside] = '\0';
    const char *const folders[] = {TRACE_SIDECAR_FOLDER, chosen && chosen[0] ? chosen : NULL,
                                   slash ? beside : NULL};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (folders[i])
            remove_in(folders[i], quiet);
}
