/* SPDX-License-Identifier: Apache-2.0 */
/* Joins a trace whose capture was killed with its sidecar, and removes useless sidecars. */
#ifndef FORMAT_RECOVER_H
#define FORMAT_RECOVER_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_recover_options {
    const char *path;
    const char *sidecar; /* NULL: the one named by the trace */
    const char *output;  /* NULL: on success, replace the trace and remove the sidecar */
    bool force;          /* replace an existing output; treat the capture as ended */
};

struct trace_recovered {
    uint64_t file_events, sidecar_events; /* by origin */
    uint64_t contents, content_bytes;     /* from the sidecar */
    uint64_t damaged_records;             /* left out, or without what they named */
    bool was_complete;                    /* only its sidecar was left, which is removed */
    bool calls_missing; /* calls were in progress whose records were not published */
};

/* Writes a complete trace of everything that was published. Neither input is trusted. On failure
 * the inputs are unchanged. HAL_NOT_FOUND: no sidecar. HAL_EXISTS: the output exists, or the
 * capture is still running. HAL_VERSION, HAL_CORRUPT, HAL_IO, HAL_NO_MEMORY. Blocks. */
enum hal_status trace_recover(const struct trace_recover_options *options,
                              struct trace_recovered *out_recovered) HAL_CHECKED;

/* Whether to recover without being asked: the sidecar is the trace's own, its process has ended,
 * and recording did not stop because the file could not be written. */
struct trace_reader;
bool trace_recover_is_due(const struct trace_reader *reader);

/* Finds the current place of the trace with that absolute path. */
struct trace_sidecar_place;
void trace_sidecar_locate(const char *destination, struct trace_sidecar_place *out_place);

/* A sidecar of this user in the common folder, or in `folder`. */
struct trace_sidecar_info {
    char path[4096], destination[4096];
    uint64_t process_id, bytes; /* memory or disk space in bytes */
    bool in_use;                /* its capture is running */
    bool locked; /* its capture may be running in a process not visible here, or a child is left */
};

/* Calls `visit` for each sidecar and skips other files. HAL_IO: the folder cannot be read. */
enum hal_status trace_sidecars_each(const char *folder,
                                    void (*visit)(void *user,
                                                  const struct trace_sidecar_info *info),
                                    void *user) HAL_CHECKED;

/* Removes sidecars with which nothing can be recovered: the capture has ended, no process holds the
 * sidecar, and its trace is complete, or was removed or replaced. A trace counts as present if it
 * or its folder was renamed within the parent folder, or if it is out of sight, on another disk or
 * in another container. Calls `visit` for each sidecar removed. Any number of processes may call
 * this concurrently. HAL_IO: the folder cannot be read. */
enum hal_status trace_sidecars_discard_gone(const char *folder,
                                            void (*visit)(void *user,
                                                          const struct trace_sidecar_info *info),
                                            void *user) HAL_CHECKED;

/* The same for one sidecar and a complete trace where it was captured. True: it is removed. */
bool trace_sidecar_discard_complete(const char *path);

#endif
