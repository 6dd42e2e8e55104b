/* SPDX-License-Identifier: Apache-2.0 */
/* Runs lines of shell, one after the other, and holds what the last one wrote. One thread. */
#ifndef TESTS_SUPPORT_COMMAND_H
#define TESTS_SUPPORT_COMMAND_H

#include <stddef.h>

extern char output[1 << 22];
extern size_t output_bytes;

/* Runs the line that printf makes of these; returns its exit status. Any other end fails the test,
 * as does more output than there is room for. */
__attribute__((format(printf, 1, 2))) int command_run(const char *format, ...);

/* The output contains that, or the test fails. */
void says(const char *text);

#endif
