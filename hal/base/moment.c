/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/base/moment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool hal_time_parse(const char *text, int64_t unit_ns, int64_t *out_ns)
{
    const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1},   {"us", 1e3}, {"µs", 1e3},
                 {"ms", 1e6}, {"s", 1e9},  {"", (double)unit_ns}};
    char *end;
    errno = 0;
    const double value = strtod(text, &end);
    if (end == text || errno || !isfinite(value))
        return false;
    while (*end == ' ')
        end++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].name) == 0 && fabs(value * units[i].ns) < 9e18) {
            *out_ns = (int64_t)(value * units[i].ns + (value < 0 ? -0.5 : 0.5));
            return true;
        }
    }
    return false;
}

bool hal_moment_parse(const char *text, int64_t unit_ns, int64_t *out_ns)
{
    return hal_time_parse(text + (*text == '@'), unit_ns, out_ns);
}
