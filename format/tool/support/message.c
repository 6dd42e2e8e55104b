/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the program, in a file of their own: another program (tests/fuzz) defines them. */
#include "format/tool/support/tool.h"

#include "hal/base/text.h"

#include <stdarg.h>
#include <stdio.h>

void tool_error(const char *format, ...)
{
    va_list arguments;
    char text[HAL_MESSAGE_BYTES];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "hal-trace: %s\n", hal_shown_lines(text).text);
}
