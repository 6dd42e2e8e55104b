/* SPDX-License-Identifier: Apache-2.0 */
/* What programs print. The format is the program's own; what "%s" and "%c" bring is not: labels,
 * names and messages come out of files that others wrote, and are shown as hal/base/text.h says, on
 * one line. A line of their own, or a command for the terminal, can come from the format alone. */
#ifndef HAL_BASE_PRINT_H
#define HAL_BASE_PRINT_H

#include "hal/base/status.h"

#include <stdio.h>

/* As fprintf, with flags, widths and precisions, for %s %c %d %i %u %o %x %X %e %f %g %%. A NULL of
 * %s is "". Whether it was written, the stream knows. */
HAL_API void hal_print(FILE *file, const char *format, ...) HAL_PRINTF(2, 3);
HAL_API void hal_vprint(FILE *file, const char *format, va_list arguments) HAL_PRINTF(2, 0);

/* The same into `write`, in pieces of any length. */
typedef void hal_print_write(void *user, const char *text, size_t bytes);
HAL_API void hal_print_va(hal_print_write *write, void *user, const char *format, va_list arguments)
    HAL_PRINTF(3, 0);

#endif
