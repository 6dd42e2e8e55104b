/* SPDX-License-Identifier: Apache-2.0 */
/* The cache's and temporary directories. */
#ifndef HAL_BASE_DIRECTORIES_H
#define HAL_BASE_DIRECTORIES_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Where what can be made again is kept: $HAL_CACHE_DIR, else $XDG_CACHE_HOME/haltrace, else
 * ~/.cache/haltrace. False: the environment names none, or it is too long. It may not exist. */
HAL_API bool hal_cache_directory(char *out_path, size_t bytes);

/* Where new things of a kind go: the folder of that name in $HAL_CACHE_SCRATCH when that is set
 * (the cache is only to be read then), else in the cache. False: as above. */
HAL_API bool hal_cache_folder(const char *kind, char *out_path, size_t bytes);

/* In $TMPDIR, else /tmp: a new folder "KIND-XXXXXX", or an open file that programs do not inherit,
 * for this user alone. The caller removes it. HAL_IO: the message names the path, which is "". */
HAL_API enum hal_status hal_temporary_folder(const char *kind, char *out_path,
                                             size_t bytes) HAL_CHECKED;
HAL_API enum hal_status hal_temporary_file(const char *kind, char *out_path, size_t bytes,
                                           int *out_file) HAL_CHECKED;

#endif
