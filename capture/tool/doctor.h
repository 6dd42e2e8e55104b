/* SPDX-License-Identifier: Apache-2.0 */
/* hal-capture doctor: tests what capturing, replaying and viewing need on this machine, and says
 * how to repair what does not work. Private to hal-capture. */
#ifndef CAPTURE_DOCTOR_H
#define CAPTURE_DOCTOR_H

#include "hal/base/status.h"

#include <stdint.h>

/* Runs and prints all checks; returns the program's exit status. argv[0] is "doctor". Removes
 * settings about captures from the environment. Blocks while kernels compile and a replay runs. */
int capture_doctor(char **argv, void (*print_version)(void));

enum doctor_verdict {
    DOCTOR_FINE,
    DOCTOR_NOTE,   /* works, but suboptimally */
    DOCTOR_BROKEN, /* something that users need does not work */
};

/* One line of the report. */
struct doctor_finding {
    const char *subject; /* one word */
    enum doctor_verdict verdict;
    char text[512];
    char fix[512]; /* what to do; "": nothing */
};

/* Compiles and runs a kernel on the CPU driver while a capture records it into a trace in `folder`,
 * reads the trace, and replays it with hal-replay. One finding each for the compiler, the capture
 * and the replay; a step whose predecessor failed is skipped and says so. */
enum { DOCTOR_TRIALS = 3 };
void doctor_try_everything(const char *folder, struct doctor_finding out_findings[DOCTOR_TRIALS]);

/* Fills in text and fix as printf does; `fix` may be NULL. */
void doctor_say(struct doctor_finding *finding, enum doctor_verdict verdict, const char *fix,
                const char *format, ...) HAL_PRINTF(4, 5);

#endif
