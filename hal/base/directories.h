/* SPDX-License-Identifier: Apache-2.0 */
/* The cache directory and temporary directories. */
#ifndef HAL_BASE_DIRECTORIES_H
#define HAL_BASE_DIRECTORIES_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* The directory for reproducible data: $HAL_CACHE_DIR, else $XDG_CACHE_HOME/haltrace, else
 * ~/.cache/haltrace. False: the environment names none, or it is too long. It may not exist. */
HAL_API bool hal_cache_directory(char *out_path, size_t bytes);

/* The folder for new entries of a kind: in $HAL_CACHE_SCRATCH if set (the cache is then read-only),
 * else in the cache. False: as above. */
HAL_API bool hal_cache_folder(const char *kind, char *out_path, size_t bytes);

/* In $TMPDIR, else /tmp: a new folder "KIND-XXXXXX", or an open file with close-on-exec set,
 * private to this user. The caller removes it. HAL_IO: the message names it, and the path is "". */
HAL_API enum hal_status hal_temporary_folder(const char *kind, char *out_path,
                                             size_t bytes) HAL_CHECKED;
HAL_API enum hal_status hal_temporary_file(const char *kind, char *out_path, size_t bytes,
                                           int *out_file) HAL_CHECKED;

#endif
