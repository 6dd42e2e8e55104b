/* SPDX-License-Identifier: Apache-2.0 */
/* Captures whose process ended before they did: hal-capture completes their traces, and removes
 * what is left of those whose trace is gone. Of hal-capture alone. */
#ifndef CAPTURE_ORPHANS_H
#define CAPTURE_ORPHANS_H

#include "format/trace.h"

#include <stdbool.h>

/* When the program has ended: from here on only SIGQUIT ends the process, with traces as they are;
 * what nobody reads any more, or what is too large to be written, is an error of the call. */
void capture_orphans_prepare(void);

/* Of a process that is just ending, as all of a group do at Ctrl-C, waits for its end. True: it may
 * have ended since the trace was opened. */
bool capture_orphan_await(const struct trace_reader *reader);

/* Completes the trace at `path` with its sidecar, if that may be done without asking, and says so,
 * or why not, in a line that calls it `name`. False: it is as it was. */
bool capture_orphan_complete(const char *path, const char *name, const struct trace_reader *reader,
                             bool quiet);

/* Removes the sidecars of this user's traces that are gone, where a capture into `destination` (an
 * absolute path) may leave some, and says so in a line for each folder. */
void capture_orphans_remove(const char *destination, bool quiet);

#endif
