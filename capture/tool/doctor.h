/* SPDX-License-Identifier: Apache-2.0 */
/* hal-capture doctor: tries out, on this machine, what capturing, replaying and showing rest on,
 * and says how to mend what does not work. Of hal-capture alone. */
#ifndef CAPTURE_DOCTOR_H
#define CAPTURE_DOCTOR_H

#include "hal/base/status.h"

#include <stdint.h>

/* Looks and prints; the program's exit status. argv[0] is "doctor". The environment says nothing
 * about captures any more afterwards. Blocks while kernels compile and a replay runs. */
int capture_doctor(char **argv, void (*print_version)(void));

enum doctor_verdict {
    DOCTOR_FINE,
    DOCTOR_NOTE,   /* works, but not as well as it could */
    DOCTOR_BROKEN, /* something that users need does not work */
};

/* A line of the report. */
struct doctor_finding {
    const char *subject; /* one word */
    enum doctor_verdict verdict;
    char text[512];
    char mend[512]; /* what to do; "": nothing */
};

/* A kernel is compiled and run on the CPU driver while a capture records it into a trace in
 * `folder`, the trace is read, and hal-replay replays it. One finding each about the compiler, the
 * capture, and the replay; what one needs that failed is not tried, and says so. */
enum { DOCTOR_TRIALS = 3 };
void doctor_try_everything(const char *folder, struct doctor_finding out_findings[DOCTOR_TRIALS]);

/* Fills in text and mend as printf does; `mend` may be NULL. */
void doctor_say(struct doctor_finding *finding, enum doctor_verdict verdict, const char *mend,
                const char *format, ...) HAL_PRINTF(4, 5);

#endif
