/* SPDX-License-Identifier: Apache-2.0 */
/* An output file that appears under its name only when complete: it is written under a temporary
 * name in the destination's folder and renamed when the caller publishes it. Until then an existing
 * file stays as it is. The file is locked (flock) while it is written, and a file that another
 * process is writing is never replaced. */
#ifndef FORMAT_DESTINATION_H
#define FORMAT_DESTINATION_H

#include "hal/base/descriptor.h"
#include "hal/base/status.h"

struct trace_destination {
    struct hal_descriptor file; /* the program around a capture may close it */
    long locked_by;             /* the process; 0: none */
    char *path;
    char *temporary;                /* NULL: published */
    bool force, is_nameless;        /* nameless: `temporary` does not exist until it is published */
    bool is_empty_unless_published; /* opened by the caller: "/dev/fd/N" */
};

/* A path "/dev/fd/N" means the open file with that number: it already has its name, and is
 * truncated if it is closed without being published. HAL_EXISTS: the file exists (without `force`),
 * or another process is writing it. HAL_IO: with `force` also for anything but a regular file, and
 * for a dangling link. HAL_NO_MEMORY. After a failure there is nothing to close. */
enum hal_status trace_destination_open(const char *path, bool force,
                                       struct trace_destination *out_destination) HAL_CHECKED;

/* The same, where the system supports it, for a file with no name at all until it is published:
 * nothing remains however the process ends. */
enum hal_status trace_destination_open_nameless(
    const char *path, bool force, struct trace_destination *out_destination) HAL_CHECKED;

/* Gives the file its name; does nothing if it has it already. HAL_EXISTS, HAL_IO as above. May be
 * called from another thread than the writer's. */
enum hal_status trace_destination_publish(struct trace_destination *destination) HAL_CHECKED;

/* Closes the file, and removes it unless it is published. HAL_IO. Accepts a zeroed struct. */
enum hal_status trace_destination_close(struct trace_destination *destination);

#endif
