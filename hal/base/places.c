/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/base/places.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

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
