/* SPDX-License-Identifier: Apache-2.0 */
/* Joining a trace whose capture was killed with the sidecar that the capture left, and removing the
 * sidecars of those that are gone. */
#ifndef FORMAT_RECOVER_H
#define FORMAT_RECOVER_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_recover_options {
    const char *path;
    const char *sidecar; /* NULL: the one that the trace names */
    const char *output; /* NULL: the trace is replaced, and the sidecar removed, when all is well */
    bool force;         /* replace an existing output; the capture counts as ended */
};

struct trace_recovered {
    uint64_t file_events, sidecar_events; /* where they came from */
    uint64_t contents, content_bytes;     /* out of the sidecar */
    bool calls_missing; /* calls were under way whose records were not published */
};

/* Writes a whole trace of everything that was published. Neither input is trusted. Fails with the
 * inputs as they were: HAL_NOT_FOUND: there is no sidecar; HAL_EXISTS: the output, or the capture
 * still goes on; HAL_VERSION, HAL_CORRUPT, HAL_IO, HAL_NO_MEMORY. Blocks. */
enum hal_status trace_recover(const struct trace_recover_options *options,
                              struct trace_recovered *out_recovered) HAL_CHECKED;

/* Whether a recovery need not be asked for: the sidecar is the trace's own, its process has ended,
 * and it was not the file that could not be written. */
struct trace_reader;
bool trace_recover_is_due(const struct trace_reader *reader);

/* Finds out where the trace with that absolute path is now. */
struct trace_sidecar_place;
void trace_sidecar_locate(const char *destination, struct trace_sidecar_place *out_place);

/* One sidecar of this user in the folder of all sidecars, or in `folder`. */
struct trace_sidecar_info {
    char path[4096], destination[4096];
    uint64_t process_id, bytes; /* bytes of memory or disk that it takes */
    bool in_use;                /* its capture goes on */
    bool locked;                /* so it may where the process cannot be seen; or a child is left */
};

/* Calls `visit` for each. Other files are passed over. HAL_IO: the folder cannot be read. */
enum hal_status trace_sidecars_each(const char *folder,
                                    void (*visit)(void *user,
                                                  const struct trace_sidecar_info *info),
                                    void *user) HAL_CHECKED;

/* Removes those that nothing can be recovered with: the capture has ended, nobody holds the
 * sidecar, and its trace was removed or replaced: neither renamed, nor its folder, within the
 * folder that it was in, nor out of sight, on another disk or in another container. Calls `visit`
 * for each that was removed. Any number of processes may do this at the same time. HAL_IO: the
 * folder cannot be read. */
enum hal_status trace_sidecars_discard_gone(const char *folder,
                                            void (*visit)(void *user,
                                                          const struct trace_sidecar_info *info),
                                            void *user) HAL_CHECKED;

#endif
