/* SPDX-License-Identifier: Apache-2.0 */
/* The list of a run: hal-capture creates it, the processes of its program add the files that they
 * capture into, and hal-capture summarises them. It is a file that processes lock and append to. */
#ifndef HAL_BASE_RUN_H
#define HAL_BASE_RUN_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The environment variable with the list's path. */
#define HAL_RUN_VARIABLE "HAL_DEVICE_PROFILING_RUN"

enum hal_run_kind {
    HAL_RUN_CLAIMED = '+', /* a path: the rest of the run must not use it */
    HAL_RUN_UNUSED = '-',  /* a claimed path that was not used */
    HAL_RUN_FAILED = '!',  /* why a capture could not begin */
    HAL_RUN_MISSED = '~',  /* a device that was not captured: its window never began */
    HAL_RUN_STEERED = '=', /* the number of a process whose capture SIGUSR1 controls */
};

/* The list as of opening, locked until it is closed. One thread at a time. */
struct hal_run {
    int descriptor; /* -1: no list */
    char *text;
    size_t bytes;
};

/* Creates an empty list in the folder for temporary files. The caller removes it. HAL_IO. */
HAL_API enum hal_status hal_run_create(char *out_path, size_t bytes) HAL_CHECKED;

/* `path` may be NULL. If there is no list, or if it cannot be read, `descriptor` is -1. Blocks
 * while another process has it open. */
HAL_API void hal_run_open(const char *path, struct hal_run *out_run);
HAL_API void hal_run_close(struct hal_run *run);

/* Lets others open it from now on; the caller keeps what it has read. */
HAL_API void hal_run_unlock(struct hal_run *run);

/* The entry after `entry` (NULL: the first one): its kind, then text. NULL after the last. */
HAL_API const char *hal_run_next(const struct hal_run *run, const char *entry);

HAL_API bool hal_run_has(const struct hal_run *run, enum hal_run_kind kind, const char *text);

/* Appends an entry for later readers; `text` is truncated at 4 KiB. False: no list, or no space. */
HAL_API bool hal_run_add(const struct hal_run *run, enum hal_run_kind kind, const char *text);

/* Appends an entry to the list of this process's run. False, as above: tell the user yourself. */
HAL_API bool hal_run_report(enum hal_run_kind kind, const char *text);

#endif
