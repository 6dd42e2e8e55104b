/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache: where compiled kernels, precompiled headers and facts about compilers lie.
 * Entries are written beside their place and renamed into it, and carry a checksum and their key,
 * so that readers see whole and right ones or none. Private to hal/compiler/msl; free-threaded;
 * several processes may share a directory. */
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

/* The directory, made when it does not exist; a private temporary one, removed when the process
 * ends, when it cannot be written. */
enum hal_status msl_cache_directory(char *out_path, size_t bytes) HAL_CHECKED;

/* "<directory>/<hexadecimal key><suffix>"; a NULL directory is the one above. Where
 * HAL_CACHE_SCRATCH names a directory, new entries go there, and msl_cache_path finds what the
 * cache has already in the cache, which is not written, whichever directory was asked for. */
enum hal_status msl_cache_path(const char *directory, const struct msl_key *key, const char *suffix,
                               char *out_path, size_t bytes) HAL_CHECKED;

/* A file of the directory that nobody else could have written, mapped to be read. */
struct msl_mapped {
    void *bytes;
    size_t length;
};
bool msl_cache_map(const char *path, struct msl_mapped *out_contents);
void msl_cache_unmap(const struct msl_mapped *contents);

/* Whether the file at `path` is a whole entry for `key`, written by this user. */
bool msl_cache_valid(const char *path, const struct msl_key *key);

/* Orders what follows behind the entries that any thread has read: a module may be loaded where one
 * of them was mapped. The thread sanitizer does not see the loader's mappings and would take the
 * module's first reader for a racing one. */
void msl_cache_see_unmapped(void);

/* Puts a copy of the file `built`, which lies in a scratch directory, at `path`. */
enum hal_status msl_cache_publish(const char *built, const char *path,
                                  const struct msl_key *key) HAL_CHECKED;

/* Small contents as an entry of their own; the text has no trailer. HAL_NOT_FOUND: there is no
 * valid one. */
enum hal_status msl_cache_load(const char *path, const struct msl_key *key, char *out_text,
                               size_t bytes) HAL_CHECKED;
/* The same, of any length; appended. */
enum hal_status msl_cache_read(const char *path, const struct msl_key *key,
                               struct msl_text *out_text) HAL_CHECKED;
enum hal_status msl_cache_store(const char *path, const struct msl_key *key,
                                const char *text) HAL_CHECKED;

/* A fresh private directory inside the cache for files on their way; and its removal with all
 * that is in it (one level). */
enum hal_status msl_scratch_create_in(const char *directory, char *out_path,
                                      size_t bytes) HAL_CHECKED;
enum hal_status msl_scratch_create(char *out_path, size_t bytes) HAL_CHECKED;
void msl_scratch_remove(const char *path);
/* Removes what processes that were killed left behind: directories older than an hour. */
void msl_scratch_remove_stale(void);

/* Store.c: removes kernels of the directory, the longest unused first, until they take no more than
 * the limit; one process at a time. The newest stays. */
void msl_directory_trim(const char *directory, uint64_t limit_bytes);

/* Writes a whole file. */
enum hal_status msl_write_file(const char *path, const void *contents, size_t bytes) HAL_CHECKED;

#endif
