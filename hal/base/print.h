/* SPDX-License-Identifier: Apache-2.0 */
/* Printing for programs. The format is trusted; text inserted by "%s" and "%c" is not: labels,
 * names and messages come from files that others wrote, and are sanitised as in hal/base/text.h, on
 * one line. Only the format can produce line breaks and terminal commands. */
#ifndef HAL_BASE_PRINT_H
#define HAL_BASE_PRINT_H

#include "hal/base/status.h"

#include <stdio.h>

/* Like fprintf, with flags, widths and precisions, for %s %c %d %i %u %o %x %X %e %f %g %%. A NULL
 * for %s is "". Write errors are in the stream's state. */
HAL_API void hal_print(FILE *file, const char *format, ...) HAL_PRINTF(2, 3);
HAL_API void hal_vprint(FILE *file, const char *format, va_list arguments) HAL_PRINTF(2, 0);

/* The same into `write`, in pieces of any length. */
typedef void hal_print_write(void *user, const char *text, size_t bytes);
HAL_API void hal_print_va(hal_print_write *write, void *user, const char *format, va_list arguments)
    HAL_PRINTF(3, 0);

#endif
