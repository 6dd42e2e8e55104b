/* SPDX-License-Identifier: Apache-2.0 */
/* The list's file: entries that end with a zero byte. */
#include "hal/base/run.h"

#include "hal/base/directories.h"
#include "hal/base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 64 << 20, ENTRY_BYTES = 4096 + 2 };

enum hal_status hal_run_create(char *out_path, size_t bytes)
{
    int descriptor;
    HAL_TRY(hal_temporary_file("haltrace-run", out_path, bytes, &descriptor));
    close(descriptor);
    return HAL_OK;
}

static bool read_all(struct hal_run *run)
{
    struct stat info;
    if (fstat(run->descriptor, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > MOST_BYTES ||
        !(run->text = malloc((size_t)info.st_size + 1)))
        return false;
    const size_t all = (size_t)info.st_size;
    if (hal_read_at(run->descriptor, run->text, all, 0) != info.st_size)
        return false;
    run->bytes = all;
    run->text[all] = '\0';
    return true;
}

void hal_run_open(const char *path, struct hal_run *out_run)
{
    *out_run = (struct hal_run){.descriptor = -1};
    if (!path || !path[0])
        return;
    out_run->descriptor = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    if (out_run->descriptor < 0)
        return;
    while (flock(out_run->descriptor, LOCK_EX) != 0 && errno == EINTR)
        continue;
    if (!read_all(out_run))
        hal_run_close(out_run);
}

void hal_run_unlock(struct hal_run *run)
{
    if (run->descriptor >= 0)
        close(run->descriptor);
    run->descriptor = -1;
}

void hal_run_close(struct hal_run *run)
{
    hal_run_unlock(run);
    free(run->text);
    *run = (struct hal_run){.descriptor = -1};
}

const char *hal_run_next(const struct hal_run *run, const char *entry)
{
    const char *next = entry ? entry + strlen(entry) + 1 : run->text;
    return next && next < run->text + run->bytes ? next : NULL;
}

bool hal_run_has(const struct hal_run *run, enum hal_run_kind kind, const char *text)
{
    for (const char *entry = NULL; (entry = hal_run_next(run, entry));) {
        if (entry[0] == (char)kind && strcmp(entry + 1, text) == 0)
            return true;
    }
    return false;
}

bool hal_run_add(const struct hal_run *run, enum hal_run_kind kind, const char *text)
{
    char entry[ENTRY_BYTES];
    struct hal_size_guard guard;
    if (run->descriptor < 0)
        return false;
    snprintf(entry, sizeof entry, "%c%s", (char)kind, text);
    const size_t bytes = strlen(entry) + 1;
    hal_size_guard_enter(&guard);
    const ssize_t written = write(run->descriptor, entry, bytes);
    hal_size_guard_leave(&guard);
    return written == (ssize_t)bytes;
}

bool hal_run_report(enum hal_run_kind kind, const char *text)
{
    struct hal_run run;
    hal_run_open(getenv(HAL_RUN_VARIABLE), &run);
    const bool added = hal_run_add(&run, kind, text);
    hal_run_close(&run);
    return added;
}
