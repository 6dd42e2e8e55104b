/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a run: hal-capture makes it, the processes of its program enter the files that they
 * capture into, and hal-capture sums them up. A file that processes lock and append to. */
#ifndef HAL_BASE_RUN_H
#define HAL_BASE_RUN_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The environment variable with the list's path. */
#define HAL_RUN_VARIABLE "HAL_DEVICE_PROFILING_RUN"

enum hal_run_kind {
    HAL_RUN_CLAIMED = '+', /* a path: from here on nobody else of the run uses it */
    HAL_RUN_UNUSED = '-',  /* a path that was claimed: nothing came of it */
    HAL_RUN_FAILED = '!',  /* why a capture could not begin */
    HAL_RUN_MISSED = '~',  /* which device was not captured: its window never came */
};

/* As it was when it was opened, and locked until it is closed. One thread at a time. */
struct hal_run {
    int descriptor; /* -1: there is no list */
    char *text;
    size_t bytes;
};

/* A new, empty list in the system's folder for temporary files. The caller removes it. HAL_IO. */
HAL_API enum hal_status hal_run_create(char *out_path, size_t bytes) HAL_CHECKED;

/* `path` may be NULL. Without a list, or when it cannot be read, there is none: `descriptor` is -1.
 * Blocks while another one has it open. */
HAL_API void hal_run_open(const char *path, struct hal_run *out_run);
HAL_API void hal_run_close(struct hal_run *run);

/* Others may open it from here on, who only reads it has what was there. */
HAL_API void hal_run_unlock(struct hal_run *run);

/* The entry after `entry`, the first one after NULL, NULL after the last: its kind, then text. */
HAL_API const char *hal_run_next(const struct hal_run *run, const char *entry);

HAL_API bool hal_run_has(const struct hal_run *run, enum hal_run_kind kind, const char *text);

/* For later openings, `text` cut off at 4 KiB. False: there is no list, or no room in it. */
HAL_API bool hal_run_add(const struct hal_run *run, enum hal_run_kind kind, const char *text);

/* Adds an entry to the list of the run that the process belongs to. False, as above: nobody else
 * tells the user. */
HAL_API bool hal_run_report(enum hal_run_kind kind, const char *text);

#endif
