/* SPDX-License-Identifier: Apache-2.0 */
/* Directories of reproducible files, such as compiled kernels: each entry is named by its key (64
 * hexadecimal digits) and a suffix. Measures and limits their size. Several processes and threads
 * may share a directory. Everything blocks. */
#ifndef HAL_BASE_STORE_H
#define HAL_BASE_STORE_H

#include "hal/base/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HAL_STORE_KEY_BYTES = HAL_DIGEST_BYTES, HAL_STORE_SUFFIX_BYTES = 16 };

/* mkdir -p, private to the user; false, with errno: missing or not writable. */
HAL_API bool hal_make_directories(const char *path);

/* Creates the directory (NULL: the default for that kind) and returns its absolute path. HAL_IO: it
 * cannot be created or written, or none is named; HAL_INVALID: the path is too long. */
HAL_API enum hal_status hal_store_open(const char *wanted, const char *kind, char *out_path,
                                       size_t bytes) HAL_CHECKED;

/* The path of the entry with that key. HAL_INVALID: the path is too long. */
HAL_API enum hal_status hal_store_path(const char *directory,
                                       const uint8_t key[HAL_STORE_KEY_BYTES], const char *suffix,
                                       char *out_path, size_t bytes) HAL_CHECKED;

/* Counts the entries with that suffix, and their total size. */
HAL_API enum hal_status hal_store_measure(const char *directory, const char *suffix,
                                          uint64_t *out_bytes, uint64_t *out_entries) HAL_CHECKED;

/* HAL_CACHE_LIMIT_MIB, else 1 GiB. */
HAL_API uint64_t hal_store_limit_bytes(void);

/* Removes the least recently used entries until the rest is within the limit, except the newest;
 * one process at a time. Logs failures. */
HAL_API void hal_store_trim(const char *directory, const char *suffix, uint64_t limit_bytes);

/* Marks the entry as used now. */
HAL_API void hal_store_used(const char *path);

/* Whether only this user (or root) could have written the file. */
HAL_API bool hal_store_is_trusted(const char *path);

/* Waits until this process and thread alone hold the lock file, creating it if needed; close the
 * descriptor to release the lock. */
HAL_API enum hal_status hal_store_lock(const char *path, int *out_descriptor) HAL_CHECKED;

#endif
