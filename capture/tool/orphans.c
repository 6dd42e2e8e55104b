/* SPDX-License-Identifier: Apache-2.0 */
/* Completing and removing what captures left, and telling of it. */
#include "capture/tool/orphans.h"

#include "capture/tool/summary.h"
#include "format/file/recover.h"
#include "format/file/sidecar.h"
#include "hal/base/print.h"
#include "hal/base/text.h"

#include <dirent.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
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
    sigaction(SIGQUIT, &end, NULL);
}

#ifdef __linux__

enum { TIMEOUT_MS = 60000, PROC_BYTES = 4096 };

/* "" of a thread that is not there. */
static void read_proc(uint64_t process, const char *thread, const char *name,
                      char out_text[PROC_BYTES])
{
    char path[128];
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/task/%.20s/%s", process, thread, name);
    FILE *file = fopen(path, "re");
    const size_t got = file ? fread(out_text, 1, PROC_BYTES - 1, file) : 0;
    if (file)
        fclose(file);
    out_text[got] = '\0';
}

/* The kernel tears the process down, which may take long: first memory, then files and locks. */
static bool is_exiting(uint64_t process, const char *thread)
{
    static const unsigned long exiting = 0x4, dumps_core = 0x200, signaled = 0x400;
    enum { FIELDS_BEFORE = 7 }; /* after the name, which may contain any characters */
    char text[PROC_BYTES];
    read_proc(process, thread, "stat", text);
    const char *at = strrchr(text, ')');
    for (int i = 0; at && i < FIELDS_BEFORE; i++)
        at = strchr(at + 1, ' ');
    return at && strtoul(at, NULL, 10) & (exiting | dumps_core | signaled);
}

/* A signal that ends the process is on its way: the kernel sends each thread SIGKILL at once. */
static bool is_being_killed(uint64_t process, const char *thread)
{
    static const char pending[] = "\nSigPnd:";
    char text[PROC_BYTES];
    read_proc(process, thread, "status", text);
    const char *at = strstr(text, pending);
    return at && strtoull(at + sizeof pending - 1, NULL, 16) >> (SIGKILL - 1) & 1;
}

/* A thread that is gone meanwhile has ended. */
static bool thread_ends(uint64_t process, const char *thread)
{
    char text[PROC_BYTES];
    if (is_exiting(process, thread) || is_being_killed(process, thread) ||
        is_exiting(process, thread))
        return true;
    read_proc(process, thread, "stat", text);
    return !text[0];
}

/* All its threads are: of one whose first thread has ended the others may go on. */
static bool is_ending(uint64_t process)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/task", process);
    DIR *threads = opendir(path);
    bool ends = threads != NULL;
    for (const struct dirent *thread; ends && (thread = readdir(threads)) != NULL;)
        ends = thread->d_name[0] == '.' || thread_ends(process, thread->d_name);
    if (threads)
        closedir(threads);
    return ends;
}

bool capture_orphan_await(const struct trace_reader *reader)
{
    const uint64_t process = trace_reader_header(reader)->process_id;
    if ((trace_reader_hold(reader) == TRACE_HOLD_UNSEEN &&
         trace_reader_hold_now(reader) == TRACE_HOLD_UNSEEN) ||
        process > INT32_MAX)
        return false;
    const int descriptor = (int)syscall(SYS_pidfd_open, (pid_t)process, 0);
    const bool ends = descriptor >= 0 && is_ending(process);
    struct pollfd ended = {.fd = descriptor, .events = POLLIN};
    if (ends)
        (void)poll(&ended, 1, TIMEOUT_MS);
    if (descriptor >= 0)
        close(descriptor);
    return ends || descriptor < 0;
}

#else

bool capture_orphan_await(const struct trace_reader *reader)
{
    (void)reader;
    return false;
}

#endif

bool capture_orphan_complete(const char *path, const char *name, const struct trace_reader *reader,
                             bool quiet)
{
    static const uint64_t slow_bytes = 1ull << 30;
    const uint64_t bytes = trace_reader_counts(reader)->file_bytes;
    struct trace_recovered recovered;
    if (trace_reader_health(reader))
        (void)trace_sidecar_discard_complete(trace_reader_header(reader)->sidecar);
    if (!trace_recover_is_due(reader))
        return false;
    if (!quiet && bytes > slow_bytes) {
        hal_print(stderr, "hal-capture: completing %s, ", name);
        capture_print_size(bytes);
        fputs("; Ctrl-\\ leaves it to hal-trace recover\n", stderr);
    }
    if (trace_recover(&(struct trace_recover_options){.path = path}, &recovered) != HAL_OK) {
        capture_message(0, "%s: cannot complete it: %s", name, hal_message());
        return false;
    }
    if (!quiet)
        capture_message(
            0, "%s: its process ended before the capture did; completed with %s from its sidecar",
            name, hal_count(recovered.sidecar_events, "event", "events").text);
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
    hal_print(stderr, "hal-capture: removed %s of ",
              hal_count(removed.count, "sidecar", "sidecars").text);
    capture_print_size(removed.bytes);
    hal_print(stderr,
              " in %s, left by killed captures whose traces are complete or no longer exist\n",
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
