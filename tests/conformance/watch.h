/* SPDX-License-Identifier: Apache-2.0 */
/* Cases that do not come back: before the program ends because one crashes or takes too long, its
 * name is printed, and of a fault which thread it happened on, at which address, and how it came
 * there. A driver that handles faults of kernels hands on all others. */
#ifndef HALTRACE_CONFORMANCE_WATCH_H
#define HALTRACE_CONFORMANCE_WATCH_H

/* Installs handlers; once, before a device is opened. */
void watch_init(void);

/* Around a case, on the main thread. One that takes longer than so many seconds ends the program
 * with exit code 4. */
void watch_begin(const char *name, unsigned seconds);
void watch_end(void);

#endif
