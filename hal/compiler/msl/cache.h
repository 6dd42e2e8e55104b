/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache of compiled kernels, precompiled headers and facts about compilers. Entries are
 * written to a temporary file and renamed, and carry a checksum and their key, so readers see
 * complete, correct entries or none. Private to hal/compiler/msl; free-threaded; several processes
 * may share a directory. */
#ifndef HAL_MSL_CACHE_H
#define HAL_MSL_CACHE_H

#include "hal/base/digest.h"
#include "hal/compiler/msl/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MSL_KEY_BYTES = HAL_DIGEST_BYTES, MSL_PATH_BYTES = 4096 };

struct msl_key {
    uint8_t bytes[MSL_KEY_BYTES];
};

/* The directory, created if missing; if it is not writable, a private temporary one, which is
 * removed when the process ends. */
enum hal_status msl_cache_directory(char *out_path, size_t bytes) HAL_CHECKED;

/* "<directory>/<hexadecimal key><suffix>"; a NULL directory is the one above. If HAL_CACHE_SCRATCH
 * names a directory, new entries go there, and msl_cache_path finds existing entries in the
 * read-only cache, whichever directory was given. */
enum hal_status msl_cache_path(const char *directory, const struct msl_key *key, const char *suffix,
                               char *out_path, size_t bytes) HAL_CHECKED;

/* A mapped file of the directory that only this user could have written. */
struct msl_mapped {
    void *bytes;
    size_t length;
};
bool msl_cache_map(const char *path, struct msl_mapped *out_contents);
void msl_cache_unmap(const struct msl_mapped *contents);

/* Whether the file at `path` is a complete entry for `key`, written by this user. */
bool msl_cache_valid(const char *path, const struct msl_key *key);

/* Orders what follows after all entries that any thread has read: a module may be loaded at an
 * address where an entry was mapped. The thread sanitizer does not see the loader's mappings and
 * would report the module's first reader as a race. */
void msl_cache_see_unmapped(void);

/* Moves a copy of the file `built`, in a scratch directory, to `path`. */
enum hal_status msl_cache_publish(const char *built, const char *path,
                                  const struct msl_key *key) HAL_CHECKED;

/* Small contents as an entry of their own; the text has no trailer. HAL_NOT_FOUND: none. */
enum hal_status msl_cache_load(const char *path, const struct msl_key *key, char *out_text,
                               size_t bytes) HAL_CHECKED;
/* The same at any length; appended. */
enum hal_status msl_cache_read(const char *path, const struct msl_key *key,
                               struct msl_text *out_text) HAL_CHECKED;
enum hal_status msl_cache_store(const char *path, const struct msl_key *key,
                                const char *text) HAL_CHECKED;

/* A new private directory in the cache for temporary files; its removal, with its files. */
enum hal_status msl_scratch_create_in(const char *directory, char *out_path,
                                      size_t bytes) HAL_CHECKED;
enum hal_status msl_scratch_create(char *out_path, size_t bytes) HAL_CHECKED;
void msl_scratch_remove(const char *path);
/* Removes directories older than an hour, which killed processes left behind. */
void msl_scratch_remove_stale(void);

/* store.c: removes the least recently used kernels from the directory until the rest is within the
 * limit, except the newest; one process at a time. */
void msl_directory_trim(const char *directory, uint64_t limit_bytes);

/* Writes a complete file. */
enum hal_status msl_write_file(const char *path, const void *contents, size_t bytes) HAL_CHECKED;

#endif
