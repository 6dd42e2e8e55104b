/* SPDX-License-Identifier: Apache-2.0 */
/* Where on the system things are kept. */
#ifndef HAL_BASE_PLACES_H
#define HAL_BASE_PLACES_H

#include "hal/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Where what can be made again is kept: $HAL_CACHE_DIR, else $XDG_CACHE_HOME/haltrace, else
 * ~/.cache/haltrace. False: the environment names none, or it is too long. It may not exist. */
HAL_API bool hal_cache_directory(char *out_path, size_t bytes);

/* Where new things of a kind go: the folder of that name in $HAL_CACHE_SCRATCH when that is set
 * (the cache is only to be read then), else in the cache. False: as above. */
HAL_API bool hal_cache_folder(const char *kind, char *out_path, size_t bytes);

#endif
