/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program under limits, without a shell. Private to hal/compiler/msl. */
#ifndef HAL_MSL_PROCESS_H
#define HAL_MSL_PROCESS_H

#include "hal/compiler/msl/text.h"

#include <stdint.h>

struct msl_process {
    const char *const *arguments; /* NULL-terminated; the first is the program's path */
    const char *input;            /* file for its standard input; NULL: empty */
    const char *temporary;        /* its directory for temporary files; NULL: the system's */
    size_t output_limit;          /* bytes of standard output; exceeding it is an error */
    int64_t time_limit_ns;        /* of processor time; ten times that in real time */
};

/* Blocks until the program and its whole process group have ended or are killed. HAL_NOT_FOUND: it
 * cannot be started; HAL_TIMEOUT: time limit; HAL_INVALID: output limit; HAL_FAILED: ended by a
 * signal. Any exit code is HAL_OK. The texts are appended to. */
enum hal_status msl_process_run(const struct msl_process *process, struct msl_text *out_output,
                                struct msl_text *out_errors, int *out_exit_code) HAL_CHECKED;

#endif
