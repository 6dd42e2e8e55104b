/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program, without a shell, under limits. Private to hal/compiler/msl. */
#ifndef HAL_MSL_PROCESS_H
#define HAL_MSL_PROCESS_H

#include "hal/compiler/msl/text.h"

#include <stdint.h>

struct msl_process {
    const char *const *arguments; /* ends with NULL; the first is the program's path */
    const char *input;            /* file that is its standard input; NULL: empty */
    const char *temporary;        /* its directory for temporary files; NULL: the system's */
    size_t output_limit;          /* bytes of standard output; more is an error */
    int64_t time_limit_ns;        /* of processor time; ten times as long by the clock */
};

/* Blocks until the program and its whole process group have ended or are killed. HAL_NOT_FOUND:
 * it cannot be started; HAL_TIMEOUT: it took too long; HAL_INVALID: its output is too long;
 * HAL_FAILED: a signal ended it. Any exit code is HAL_OK. The texts are appended to. */
enum hal_status msl_process_run(const struct msl_process *process, struct msl_text *out_output,
                                struct msl_text *out_errors, int *out_exit_code) HAL_CHECKED;

#endif
