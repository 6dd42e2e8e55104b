/* SPDX-License-Identifier: Apache-2.0 */
/* What hal-capture says on standard error. Of hal-capture alone. */
#ifndef CAPTURE_SUMMARY_H
#define CAPTURE_SUMMARY_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* A line; returns the exit status. */
int capture_complain(int exit_status, const char *format, ...) HAL_PRINTF(2, 3);

/* "1.5 MiB", to standard error. */
void capture_print_size(uint64_t bytes);

struct capture_summary {
    const char *run;     /* path of the run's list */
    const char *output;  /* what was asked for, or NULL */
    const char *program; /* as it was called */
    bool quiet;          /* problems alone */
    bool is_part;        /* of the run: nothing may have been captured */
};

/* A line for every file that a process of the run captured into, and what is wrong with it; what
 * its process did not complete is completed first. Removes the list. False: a capture did not
 * begin, or its file cannot be read. */
bool capture_summarize(const struct capture_summary *wanted);

#endif
