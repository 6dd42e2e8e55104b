/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/command.h"
#include "tests/support/test.h"

#include <limits.h>
#include <sys/wait.h>

char output[1 << 22];
size_t output_bytes;

int command_run(const char *format, ...)
{
    char line[4 * PATH_MAX];
    va_list arguments;
    va_start(arguments, format);
    assert_true(vsnprintf(line, sizeof line, format, arguments) < (int)sizeof line);
    va_end(arguments);
    FILE *pipe = popen(line, "r");
    assert_non_null(pipe);
    output_bytes = fread(output, 1, sizeof output, pipe);
    const int status = pclose(pipe);
    assert_true(output_bytes < sizeof output);
    output[output_bytes] = '\0';
    if (!WIFEXITED(status))
        fail_msg("%s: status %d: %s", line, status, output);
    return WEXITSTATUS(status);
}

void says(const char *text)
{
    if (!strstr(output, text))
        fail_msg("'%s' does not say '%s'", output, text);
}
