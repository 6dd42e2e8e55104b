/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of files that can be made again, such as compiled kernels: each entry has the name
 * of its key (64 hexadecimal digits) and a suffix. How much they take, and which of them go when
 * that is too much. Several processes and threads may share a directory. Everything blocks. */
#ifndef HAL_BASE_STORE_H
#define HAL_BASE_STORE_H

#include "hal/base/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HAL_STORE_KEY_BYTES = HAL_DIGEST_BYTES, HAL_STORE_SUFFIX_BYTES = 16 };

/* mkdir -p, for the user alone; false, with errno: it is not there or cannot be written. */
HAL_API bool hal_make_directories(const char *path);

/* Makes the directory (NULL: the usual one of that kind) and gives its absolute path. HAL_IO: it
 * cannot be made or written, or the environment names none; HAL_INVALID: the path is too long. */
HAL_API enum hal_status hal_store_open(const char *wanted, const char *kind, char *out_path,
                                       size_t bytes) HAL_CHECKED;

/* Where the entry of that key lies. HAL_INVALID: the path is too long. */
HAL_API enum hal_status hal_store_path(const char *directory,
                                       const uint8_t key[HAL_STORE_KEY_BYTES], const char *suffix,
                                       char *out_path, size_t bytes) HAL_CHECKED;

/* The entries with that suffix and all their bytes. */
HAL_API enum hal_status hal_store_measure(const char *directory, const char *suffix,
                                          uint64_t *out_bytes, uint64_t *out_entries) HAL_CHECKED;

/* What HAL_CACHE_LIMIT_MIB says, else 1 GiB. */
HAL_API uint64_t hal_store_limit_bytes(void);

/* Removes entries, the longest unused first, until they take no more than the limit; one process at
 * a time. The newest stays. What cannot be done is logged. */
HAL_API void hal_store_trim(const char *directory, const char *suffix, uint64_t limit_bytes);

/* The entry was used now. */
HAL_API void hal_store_used(const char *path);

/* Nobody but this user (or root) could have written the file. */
HAL_API bool hal_store_is_trusted(const char *path);

/* All the bytes, from where the descriptor stands. False, with errno: they cannot be written. */
HAL_API bool hal_store_write(int file, const void *data, size_t bytes);
/* False: there are fewer, or they cannot be read. */
HAL_API bool hal_store_read(int file, void *out_data, size_t bytes);

/* Waits until this process and thread alone hold the lock file, which is made; close the descriptor
 * to let go. */
HAL_API enum hal_status hal_store_lock(const char *path, int *out_descriptor) HAL_CHECKED;

#endif
