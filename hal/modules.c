/* SPDX-License-Identifier: Apache-2.0 */
/* What is loaded at run time lies beside libhal, in a folder of ours there once it is installed, or
 * where the environment says. */
#include "hal/base/mem.h"
#include "hal/core.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

static enum hal_status find_module(const char *name, char *out_path, size_t bytes)
{
    static const char *const folders[] = {"", "haltrace/"};
    char own[PATH_MAX];
    HAL_TRY(hal_module_path((const void *)(uintptr_t)&hal_module_load, own, sizeof own));
    const char *slash = strrchr(own, '/');
    const int length = slash ? (int)(slash + 1 - own) : 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const int printed = snprintf(out_path, bytes, "%.*s%s%s", length, own, folders[i], name);
        if (printed < 0 || (size_t)printed >= bytes)
            return hal_fail(HAL_INVALID, "the path '%s' is too long", own);
        if (access(out_path, F_OK) == 0)
            return HAL_OK;
    }
    return hal_fail(HAL_NOT_FOUND, "there is no '%s' in '%.*s' or its folder '%s'", name,
                    length > 1 ? length - 1 : length, own, "haltrace");
}

enum hal_status hal_module_load(const char *what, const char *variable, const char *file,
                                const char *symbol, void **out_symbol)
{
    char found[PATH_MAX];
    const char *path = getenv(variable);
    if (!path || !path[0]) {
        HAL_TRY(find_module(file, found, sizeof found));
        path = found;
    }
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module)
        return hal_fail(HAL_NOT_FOUND, "cannot load the %s module: %s", what, dlerror());
    *out_symbol = dlsym(module, symbol);
    if (!*out_symbol)
        return hal_fail(HAL_NOT_FOUND, "'%s' is no %s module: it has no %s", path, what, symbol);
    return HAL_OK;
}
