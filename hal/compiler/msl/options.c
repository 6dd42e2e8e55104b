/* SPDX-License-Identifier: Apache-2.0 */
/* Settings from the environment for compiling kernels. */
#include "hal/compiler/msl/toolchain.h"

#include <stdlib.h>
#include <string.h>

/* True when the variable is `second`, false when it is `first`, empty or unset. */
static enum hal_status choose(const char *variable, const char *first, const char *second,
                              bool *out_second)
{
    const char *const text = getenv(variable);
    *out_second = text && strcmp(text, second) == 0;
    if (!text || !*text || *out_second || strcmp(text, first) == 0)
        return HAL_OK;
    return hal_fail(HAL_INVALID, "%s is '%s'; it must be %s or %s", variable, text, first, second);
}

enum hal_status msl_options_find(struct msl_options *out_options)
{
    bool fast, plain;
    HAL_TRY(choose("HAL_MSL_MATH", "precise", "fast", &fast));
    HAL_TRY(choose("HAL_MSL_OPTIMISE", "3", "0", &plain));
    *out_options =
        (struct msl_options){.math = fast ? MSL_MATH_FAST : MSL_MATH_PRECISE, .optimise = !plain};
    return HAL_OK;
}
