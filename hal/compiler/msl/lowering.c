/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the barrier fission pass, and whether it is wanted. */
#include "hal/compiler/msl/msl.h"
#include "hal/compiler/msl/toolchain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum hal_status read_mode(enum msl_lowering_mode *out_mode)
{
    const char *name = "HAL_MSL_LOWERING", *text = getenv(name);
    if (!text || !*text)
        text = getenv(name = "HAL_MSL_ROAD"); /* the former name */
    if (!text || !*text || strcmp(text, "auto") == 0)
        *out_mode = MSL_LOWERING_AUTO;
    else if (strcmp(text, "fission") == 0)
        *out_mode = MSL_LOWERING_FISSION;
    else if (strcmp(text, "fibers") == 0)
        *out_mode = MSL_LOWERING_FIBERS;
    else
        return hal_fail(HAL_INVALID, "%s is '%s'; it must be auto, fission or fibers", name, text);
    return HAL_OK;
}

enum hal_status msl_lowering_find(bool check_bounds, struct msl_lowering *out_lowering)
{
    *out_lowering = (struct msl_lowering){0};
    HAL_TRY(read_mode(&out_lowering->mode));
    if (!msl_program_find(getenv("HAL_MSL_CC"), "hal-msl-cc", out_lowering->pass,
                          sizeof out_lowering->pass)) {
        out_lowering->pass[0] = '\0';
        if (check_bounds)
            return hal_fail(HAL_NOT_FOUND,
                            "bounds cannot be checked: there is no hal-msl-cc beside "
                            "the library; HAL_MSL_CC may name one");
        if (out_lowering->mode != MSL_LOWERING_FISSION)
            return HAL_OK;
        return hal_fail(HAL_NOT_FOUND, "HAL_MSL_LOWERING is 'fission', but there is no hal-msl-cc "
                                       "beside the library; HAL_MSL_CC may name one");
    }
    return msl_helper_identify(out_lowering->pass, &out_lowering->identity);
}

enum hal_status msl_programs(char *out_paths, size_t bytes)
{
    struct msl_compiler compiler;
    char pass[MSL_PATH_BYTES], translator[MSL_PATH_BYTES];
    HAL_TRY(msl_compiler_find(&compiler));
    if (!msl_program_find(getenv("HAL_MSL_CC"), "hal-msl-cc", pass, sizeof pass))
        pass[0] = '\0';
    if (!msl_program_find(getenv("HAL_SPIRV_CC"), "hal-spirv-cc", translator, sizeof translator))
        translator[0] = '\0';
    const char *const paths[] = {compiler.path, compiler.linker, pass, translator};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const size_t length = strlen(paths[i]) + 1;
        if (length == 1)
            continue;
        if (length >= bytes)
            return hal_fail(HAL_INVALID, "the paths of the compiler's programs are too long");
        memcpy(out_paths, paths[i], length);
        out_paths += length;
        bytes -= length;
    }
    *out_paths = '\0';
    return HAL_OK;
}
