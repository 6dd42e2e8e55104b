/* SPDX-License-Identifier: Apache-2.0 */
/* Captures that outlived their process: hal-capture completes their traces, and removes the
 * sidecars of traces that no longer exist. Private to hal-capture. */
#ifndef CAPTURE_ORPHANS_H
#define CAPTURE_ORPHANS_H

#include "format/trace.h"

#include <stdbool.h>

/* Call it after the program has ended. From now on only SIGQUIT ends the process and leaves traces
 * as they are; a closed pipe becomes an error of the writing call. */
void capture_orphans_prepare(void);

/* Waits for the captured process if it is about to end, as a whole process group does at Ctrl-C.
 * True: it may have ended since the trace was opened. */
bool capture_orphan_await(const struct trace_reader *reader);

/* Completes the trace at `path` with its sidecar if that requires no decision by the user, and
 * prints one line that calls it `name`; removes the sidecar of a complete one. False: the trace is
 * unchanged. */
bool capture_orphan_complete(const char *path, const char *name, const struct trace_reader *reader,
                             bool quiet);

/* Removes sidecars of this user's removed and complete traces from the folders that a capture into
 * `destination` (an absolute path) uses, and prints one line for each folder. */
void capture_orphans_remove(const char *destination, bool quiet);

#endif
