/* SPDX-License-Identifier: Apache-2.0 */
/* The end of what a program prints. */
#ifndef HAL_BASE_OUTPUT_H
#define HAL_BASE_OUTPUT_H

#include "hal/base/status.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Whether all that was printed to standard output has got there. HAL_IO says why not. */
HAL_CHECKED static inline enum hal_status hal_output_end(void)
{
    const bool is_written = fflush(stdout) == 0 && !ferror(stdout);
    return is_written
               ? HAL_OK
               : hal_fail(HAL_IO, "cannot write the output: %s", strerror(errno ? errno : EIO));
}

#endif
