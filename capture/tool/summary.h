/* SPDX-License-Identifier: Apache-2.0 */
/* What hal-capture prints to standard error. Private to hal-capture. */
#ifndef CAPTURE_SUMMARY_H
#define CAPTURE_SUMMARY_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Prints a line; returns the exit status. */
int capture_message(int exit_status, const char *format, ...) HAL_PRINTF(2, 3);

/* Prints "1.5 MiB" to standard error. */
void capture_print_size(uint64_t bytes);

struct capture_summary {
    const char *run;     /* path of the run's list */
    const char *output;  /* the requested output, or NULL */
    const char *program; /* as invoked */
    bool quiet;          /* problems only */
    bool is_part;        /* of the run: may have captured nothing */
};

/* Prints a line for every file that a process of the run captured into, with its problems, and
 * completes files that their process left incomplete. Removes the list. False: a capture did not
 * begin, or its file cannot be read. */
bool capture_summarize(const struct capture_summary *wanted);

#endif
