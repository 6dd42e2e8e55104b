/* SPDX-License-Identifier: Apache-2.0 */
/* Modules loaded at run time are beside libhal, in our own folder there once installed, or where
 * the environment specifies. */
#include "hal/base/mem.h"
#include "hal/core/core.h"

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

/* Whatever the program does: by the loader's own name for it, since a path relative to the working
 * folder may denote another file. The program itself cannot be opened that way. */
void hal_module_pin(void)
{
    Dl_info own;
    if (dladdr((const void *)(uintptr_t)&hal_module_pin, &own) && own.dli_fname)
        (void)dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* ---- The capture --------------------------------------------------------------------------- */

/* There when a program links libhal and the capture statically. */
extern __attribute__((weak)) hal_layer_begin hal_capture_begin;

/* The module stays loaded: its threads and thread-local data may outlive a capture. */
static enum hal_status find_capture(hal_layer_begin **out_begin)
{
    if (hal_capture_begin) {
        *out_begin = hal_capture_begin;
        return HAL_OK;
    }
    void *symbol;
    HAL_TRY(hal_module_load("capture", "HAL_CAPTURE_MODULE", "libhal_capture.so",
                            HAL_CAPTURE_SYMBOL, &symbol));
    memcpy(out_begin, &symbol, sizeof symbol);
    return HAL_OK;
}

/* A document of the system's tools, where the driver can write it. */
static hal_layer_begin *native_capture(const struct hal_device *device, const char *file)
{
    static const char extension[] = ".gputrace";
    const size_t length = strlen(file), tail = sizeof extension - 1;
    const bool wanted = length > tail && strcmp(file + length - tail, extension) == 0;
    return wanted ? device->driver->ops->native_capture : NULL;
}

enum hal_status hal_capture_find(const struct hal_device *device, const char *file,
                                 hal_layer_begin **out_begin)
{
    *out_begin = native_capture(device, file);
    return *out_begin ? HAL_OK : find_capture(out_begin);
}
