/* SPDX-License-Identifier: Apache-2.0 */
/* Completes a program's output. */
#ifndef HAL_BASE_OUTPUT_H
#define HAL_BASE_OUTPUT_H

#include "hal/base/status.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Checks that everything printed to standard output was written. HAL_IO gives the reason. */
HAL_CHECKED static inline enum hal_status hal_output_end(void)
{
    const bool is_written = fflush(stdout) == 0 && !ferror(stdout);
    return is_written
               ? HAL_OK
               : hal_fail(HAL_IO, "cannot write the output: %s", strerror(errno ? errno : EIO));
}

#endif
