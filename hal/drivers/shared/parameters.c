/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/drivers/shared/parameters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum hal_status hal_parameter_count(const struct hal_uri_parameter *parameter, uint32_t limit,
                                    uint32_t *out_count)
{
    char *end;
    errno = 0;
    const unsigned long count = strtoul(parameter->value, &end, 10);
    if (parameter->value[0] < '0' || parameter->value[0] > '9' || *end || errno || count < 1 ||
        count > limit)
        return hal_fail(HAL_INVALID, "%s=%s is not in 1 to %u", parameter->name, parameter->value,
                        limit);
    *out_count = (uint32_t)count;
    return HAL_OK;
}

enum hal_status hal_parameter_choice(const struct hal_uri_parameter *parameter, const char *no,
                                     const char *yes, bool *out_yes)
{
    *out_yes = strcmp(parameter->value, yes) == 0;
    if (*out_yes || strcmp(parameter->value, no) == 0)
        return HAL_OK;
    return hal_fail(HAL_INVALID, "%s=%s is neither %s nor %s", parameter->name, parameter->value,
                    no, yes);
}
