/* SPDX-License-Identifier: Apache-2.0 */
/* hal-capture's summary of the files that a run has left. */
#include "capture/tool/summary.h"

#include "capture/tool/orphans.h"
#include "format/record.h"
#include "format/trace.h"
#include "hal/base/print.h"
#include "hal/base/run.h"
#include "hal/base/text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int capture_message(int exit_status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("hal-capture: ", stderr);
    hal_vprint(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return exit_status;
}

void capture_print_size(uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    double value = (double)bytes;
    for (; value >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1024;
    hal_print(stderr, "%.*f %s", unit ? 1 : 0, value, units[unit]);
}

/* Host writes are missing: a replay cannot begin. */
static enum hal_status find_unrecorded(void *user, const struct trace_event *event,
                                       const struct trace_segment *segments)
{
    const struct trace_content_event *write = (const void *)event;
    bool *found = user;
    (void)segments;
    if (event->kind != TRACE_HOST_WRITE || !write->size)
        return HAL_OK;
    const bool by_reference = write->flags & TRACE_FLAG_FILE && write->file;
    *found = !write->content || (write->flags & TRACE_FLAG_DIGEST && !by_reference);
    return *found ? HAL_NOT_FOUND : HAL_OK; /* which ends the search */
}

/* A budget may have left out only what was read back, so the file is looked through. */
static void print_whether_replayable(struct trace_reader *reader)
{
    const struct trace_header *header = trace_reader_header(reader);
    const struct trace_health *health = trace_reader_health(reader);
    const uint64_t over_budget = health ? health->over_budget_bytes : 0;
    const bool wants_all = !header->contents || strcmp(header->contents, "all") == 0;
    bool found = false;
    if (wants_all && !over_budget)
        return;
    (void)!trace_reader_each(reader, find_unrecorded, &found);
    if (!found)
        return;
    fputs(", cannot be replayed: ", stderr);
    capture_print_size(wants_all ? over_budget : trace_reader_counts(reader)->host_write_bytes);
    hal_print(stderr, "%s",
              !wants_all && strcmp(header->contents, "none") == 0 ? " not recorded"
                                                                  : " as digests only");
}

static const char *what_is_missing(const struct trace_reader *reader)
{
    const struct trace_health *health = trace_reader_health(reader);
    if (health && health->status)
        return health->message && health->message[0] ? health->message : "recording failed";
    return trace_reader_truncated(reader);
}

/* As the user would call it from here. */
static const char *short_path(const struct capture_summary *wanted, const char *path)
{
    char folder[PATH_MAX];
    if (!wanted->output || wanted->output[0] == '/' || !getcwd(folder, sizeof folder))
        return path;
    const size_t bytes = strlen(folder);
    return strncmp(path, folder, bytes) == 0 && path[bytes] == '/' ? path + bytes + 1 : path;
}

/* Anew, after something happened to the file or its process. */
static enum hal_status reopen(const char *path, struct trace_reader **in_out_reader)
{
    trace_reader_close(*in_out_reader);
    return trace_reader_open(path, in_out_reader);
}

static enum hal_status open_completed(const struct capture_summary *wanted, const char *path,
                                      struct trace_reader **out_reader)
{
    HAL_TRY(trace_reader_open(path, out_reader));
    if (capture_orphan_await(*out_reader))
        HAL_TRY(reopen(path, out_reader));
    if (capture_orphan_complete(path, short_path(wanted, path), *out_reader, wanted->quiet))
        HAL_TRY(reopen(path, out_reader));
    return HAL_OK;
}

static bool summarize(const struct capture_summary *wanted, const char *path)
{
    struct trace_reader *reader;
    if (open_completed(wanted, path, &reader) != HAL_OK) {
        capture_message(0, "the trace is not readable: %s", hal_message());
        capture_orphans_remove(path, wanted->quiet);
        return false;
    }
    const char *name = short_path(wanted, path);
    const struct trace_counts *counts = trace_reader_counts(reader);
    const char *missing = what_is_missing(reader);
    if (!wanted->quiet) {
        hal_print(
            stderr, "hal-capture: %s: %s, %s, ", name,
            hal_count((unsigned long long)counts->submissions, "submission", "submissions").text,
            hal_count((unsigned long long)counts->dispatches, "dispatch", "dispatches").text);
        capture_print_size(counts->file_bytes);
        print_whether_replayable(reader);
        fputc('\n', stderr);
    }
    if (missing[0])
        capture_message(0, "%s: the trace is incomplete: %s", name, missing);
    if (trace_reader_recoverable(reader) && !strchr(name, '\''))
        capture_message(0, "hal-trace recover '%s' adds what was recorded and is not in the file",
                        name);
    trace_reader_close(reader);
    return true;
}

/* Every file that a process of the run captured into. */
bool capture_summarize(const struct capture_summary *wanted)
{
    struct hal_run run;
    unsigned traces = 0, missed = 0;
    bool recorded = true;
    hal_run_open(wanted->run, &run);
    hal_run_unlock(&run); /* reading files takes time, and processes may still be running */
    unlink(wanted->run);
    capture_orphans_prepare();
    for (const char *entry = NULL; (entry = hal_run_next(&run, entry));) {
        if (entry[0] == HAL_RUN_CLAIMED && !hal_run_has(&run, HAL_RUN_UNUSED, entry + 1)) {
            recorded &= summarize(wanted, entry + 1);
            traces++;
        } else if (entry[0] == HAL_RUN_FAILED) {
            capture_message(0, "%s", entry + 1);
            recorded = false;
        } else if (entry[0] == HAL_RUN_MISSED) {
            capture_message(0, "%s", hal_shown(entry + 1).text);
            missed++;
        }
    }
    if (!traces && !missed && recorded)
        capture_message(0, "'%s' opened no device%s: there is no trace", wanted->program,
                        wanted->is_part ? ", or did not reach the window" : "");
    hal_run_close(&run);
    return recorded;
}
