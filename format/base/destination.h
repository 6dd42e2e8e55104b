/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an output file: it grows under a temporary name in the folder of its destination and
 * gets its name when the caller says that it is worth one. Until then an old file stays what it is.
 * It is locked (flock) as long as it is written, and what another one writes is not replaced. */
#ifndef FORMAT_DESTINATION_H
#define FORMAT_DESTINATION_H

#include "hal/base/descriptor.h"
#include "hal/base/status.h"

struct trace_destination {
    struct hal_descriptor file; /* the program around a capture may close it */
    char *path;
    char *temporary;         /* NULL: it has its name */
    bool force, is_nameless; /* nameless: `temporary` does not exist before it is published */
    bool is_empty_unless_published; /* it was open before: "/dev/fd/N" */
};

/* A path "/dev/fd/N" is the open file with that number: it has its name, and is emptied again if it
 * is closed without being published.
 * HAL_EXISTS: there is a file (unless `force`), or another one writes it. HAL_IO: with `force` also
 * what is no regular file, or a link to nothing. HAL_NO_MEMORY. Nothing is to be closed then. */
enum hal_status trace_destination_open(const char *path, bool force,
                                       struct trace_destination *out_destination) HAL_CHECKED;

/* The same for a file that has no name at all until it is published, where the system can do that:
 * nothing is left of it however the process ends. */
enum hal_status trace_destination_open_nameless(
    const char *path, bool force, struct trace_destination *out_destination) HAL_CHECKED;

/* Gives it its name; nothing to do when it has it. HAL_EXISTS, HAL_IO as above. May be called by
 * another thread than the one that writes. */
enum hal_status trace_destination_publish(struct trace_destination *destination) HAL_CHECKED;

/* Closes the file; one that has no name yet is removed. HAL_IO. Accepts a zeroed one. */
enum hal_status trace_destination_close(struct trace_destination *destination);

#endif
