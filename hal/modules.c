/* SPDX-License-Identifier: Apache-2.0 */
/* What is loaded at run time lies beside libhal, unless the environment says otherwise. */
#include "hal/base/mem.h"
#include "hal/core.h"

#include <dlfcn.h>
#include <limits.h>

static enum hal_status path_beside(const char *name, char *out_path, size_t bytes)
{
    HAL_TRY(hal_module_path((const void *)(uintptr_t)&hal_module_load, out_path, bytes));
    char *slash = strrchr(out_path, '/');
    char *file = slash ? slash + 1 : out_path;
    const size_t length = strlen(name) + 1;
    if ((size_t)(file - out_path) + length > bytes)
        return hal_fail(HAL_INVALID, "the path '%s' is too long", out_path);
    memcpy(file, name, length);
    return HAL_OK;
}

enum hal_status hal_module_load(const char *what, const char *variable, const char *file,
                                const char *symbol, void **out_symbol)
{
    char beside[PATH_MAX];
    const char *path = getenv(variable);
    if (!path || !path[0]) {
        HAL_TRY(path_beside(file, beside, sizeof beside));
        path = beside;
    }
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module)
        return hal_fail(HAL_NOT_FOUND, "cannot load the %s module: %s", what, dlerror());
    *out_symbol = dlsym(module, symbol);
    if (!*out_symbol)
        return hal_fail(HAL_NOT_FOUND, "'%s' is no %s module: it has no %s", path, what, symbol);
    return HAL_OK;
}
