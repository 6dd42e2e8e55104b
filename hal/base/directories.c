/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/base/directories.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hal_cache_directory(char *out_path, size_t bytes)
{
    const char *const own = getenv("HAL_CACHE_DIR");
    const char *const shared = getenv("XDG_CACHE_HOME");
    const char *const home = getenv("HOME");
    int length = -1;
    if (own && *own)
        length = snprintf(out_path, bytes, "%s", own);
    else if (shared && *shared == '/')
        length = snprintf(out_path, bytes, "%s/haltrace", shared);
    else if (home && *home)
        length = snprintf(out_path, bytes, "%s/.cache/haltrace", home);
    return length >= 0 && (size_t)length < bytes;
}

bool hal_cache_folder(const char *kind, char *out_path, size_t bytes)
{
    char base[PATH_MAX];
    const char *place = getenv("HAL_CACHE_SCRATCH");
    if (!place || !*place)
        place = hal_cache_directory(base, sizeof base) ? base : NULL;
    return place && (size_t)snprintf(out_path, bytes, "%s/%s", place, kind) < bytes;
}

static enum hal_status name_temporary(const char *kind, char *out_path, size_t bytes)
{
    const char *const wanted = getenv("TMPDIR");
    const char *const parent = wanted && *wanted ? wanted : "/tmp";
    if ((size_t)snprintf(out_path, bytes, "%s/%s-XXXXXX", parent, kind) < bytes)
        return HAL_OK;
    out_path[0] = '\0';
    return hal_fail(HAL_IO, "the path '%s/%s-XXXXXX' is longer than %zu bytes", parent, kind,
                    bytes - 1);
}

static enum hal_status fail_temporary(const char *what, char *out_path)
{
    const enum hal_status status = hal_fail(HAL_IO, "cannot create the temporary %s '%s': %s", what,
                                            out_path, strerror(errno));
    out_path[0] = '\0';
    return status;
}

enum hal_status hal_temporary_folder(const char *kind, char *out_path, size_t bytes)
{
    HAL_TRY(name_temporary(kind, out_path, bytes));
    return mkdtemp(out_path) ? HAL_OK : fail_temporary("folder", out_path);
}

enum hal_status hal_temporary_file(const char *kind, char *out_path, size_t bytes, int *out_file)
{
    HAL_TRY(name_temporary(kind, out_path, bytes));
    *out_file = mkostemp(out_path, O_CLOEXEC);
    return *out_file >= 0 ? HAL_OK : fail_temporary("file", out_path);
}
