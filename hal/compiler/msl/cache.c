/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache. A trailer at the end of an entry holds the key and a SHA-256 of everything before
 * it. Programs that read ELF ignore it. After the last block of precompiled headers, clang
 * continues until an extension block or an end: four zeros at the start of the trailer are that
 * end, since bytes of a key could look like an extension block. */
#include "hal/compiler/msl/cache.h"

#include "hal/base/directories.h"
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "hal/base/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct trailer {
    char magic[16];
    uint8_t key[MSL_KEY_BYTES], checksum[MSL_KEY_BYTES];
};
static const char trailer_magic[16] = "\0\0\0\0haltrace-2";

/* ---- the directory ---- */

static pthread_mutex_t directory_lock = PTHREAD_MUTEX_INITIALIZER;
static char private_directory[MSL_PATH_BYTES]; /* guarded by directory_lock */
static pid_t private_owner;

static void remove_tree(const char *path, int depth)
{
    DIR *const directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char inner[MSL_PATH_BYTES];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) >= (int)sizeof inner)
            continue;
        if (unlink(inner) != 0 && depth > 0)
            remove_tree(inner, depth - 1);
    }
    if (directory)
        closedir(directory);
    rmdir(path);
}

static void remove_private_directory(void)
{
    if (private_owner == getpid())
        remove_tree(private_directory, 3);
}

static bool shared_directory(char *out_path, size_t bytes)
{
    char base[MSL_PATH_BYTES];
    return hal_cache_directory(base, sizeof base) &&
           (size_t)snprintf(out_path, bytes, "%s/msl", base) < bytes;
}

/* Where new entries go when the cache is only to be read; NULL: it is not. */
static const char *scratch_directory(void)
{
    const char *const path = getenv("HAL_CACHE_SCRATCH");
    return path && *path ? path : NULL;
}

static enum hal_status make_private_directory_locked(void)
{
    HAL_TRY(hal_add_context(
        hal_temporary_folder("haltrace-msl", private_directory, sizeof private_directory),
        "there is no folder for compiled kernels"));
    private_owner = getpid();
    atexit(remove_private_directory);
    return HAL_OK;
}

/* Without the requested folder every process compiles all kernels again, which is logged once. */
static void tell_of_private_directory(int error)
{
    const char *const wanted = getenv("HAL_CACHE_DIR");
    const bool was_asked = wanted && *wanted && !scratch_directory();
    hal_log(was_asked ? HAL_LOG_WARN : HAL_LOG_INFO,
            "%s%s is not writable (%s): kernels compiled by this process are deleted when it ends",
            was_asked ? "HAL_CACHE_DIR=" : "the usual folder of compiled kernels",
            was_asked ? wanted : "", strerror(error ? error : EACCES));
}

enum hal_status msl_cache_directory(char *out_path, size_t bytes)
{
    errno = 0;
    if (hal_cache_folder("msl", out_path, bytes) && hal_make_directories(out_path))
        return HAL_OK;
    const int error = errno;
    bool is_new = false;
    pthread_mutex_lock(&directory_lock);
    enum hal_status status = HAL_OK;
    if (private_owner != getpid()) {
        status = make_private_directory_locked();
        is_new = status == HAL_OK;
    }
    if (status == HAL_OK && snprintf(out_path, bytes, "%s", private_directory) >= (int)bytes)
        status = hal_fail(HAL_INVALID, "the path '%s' is too long", private_directory);
    pthread_mutex_unlock(&directory_lock);
    if (is_new)
        tell_of_private_directory(error);
    return status;
}

static enum hal_status path_in(const char *directory, const struct msl_key *key, const char *suffix,
                               char *out_path, size_t bytes)
{
    char usual[MSL_PATH_BYTES];
    if (!directory)
        HAL_TRY(msl_cache_directory(usual, sizeof usual));
    directory = directory ? directory : usual;
    return hal_store_path(directory, key->bytes, suffix, out_path, bytes);
}

/* What has no trailer is checked when it is used. */
static bool is_usable(const char *path, const struct msl_key *key, const char *suffix)
{
    static const char *const checked[] = {".so", ".pch", ".compiler", ".program", ".spirv"};
    for (size_t i = 0; i < sizeof checked / sizeof *checked; i++)
        if (strcmp(suffix, checked[i]) == 0)
            return msl_cache_valid(path, key);
    return strcmp(suffix, ".lock") != 0 && access(path, R_OK) == 0;
}

enum hal_status msl_cache_path(const char *directory, const struct msl_key *key, const char *suffix,
                               char *out_path, size_t bytes)
{
    char shared[MSL_PATH_BYTES];
    if (scratch_directory() && shared_directory(shared, sizeof shared) &&
        path_in(shared, key, suffix, out_path, bytes) == HAL_OK && is_usable(out_path, key, suffix))
        return HAL_OK;
    return path_in(directory, key, suffix, out_path, bytes);
}

/* ---- entries ---- */

/* Only files that no other user could have written: the compiler's output is in a folder of ours,
 * with whatever mode the compiler gave it. */
static bool map_file(const char *path, bool in_own_folder, struct msl_mapped *out_contents)
{
    struct stat facts;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return false;
    const bool usable = fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0 &&
                        (facts.st_uid == geteuid() || facts.st_uid == 0) &&
                        (in_own_folder || (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0);
    void *const bytes =
        usable ? mmap(NULL, (size_t)facts.st_size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    if (bytes == MAP_FAILED)
        return false;
    *out_contents = (struct msl_mapped){bytes, (size_t)facts.st_size};
    return true;
}

static _Atomic uint32_t unmapped_count;

bool msl_cache_map(const char *path, struct msl_mapped *out_contents)
{
    return map_file(path, false, out_contents);
}

void msl_cache_unmap(const struct msl_mapped *contents)
{
    atomic_fetch_add_explicit(&unmapped_count, 1, memory_order_release);
    munmap(contents->bytes, contents->length);
}

void msl_cache_see_unmapped(void)
{
    (void)atomic_load_explicit(&unmapped_count, memory_order_acquire);
}

static bool entry_is_whole(const struct msl_mapped *entry, const struct msl_key *key)
{
    struct trailer trailer;
    uint8_t sum[MSL_KEY_BYTES];
    if (entry->length < sizeof trailer)
        return false;
    const size_t length = entry->length - sizeof trailer;
    memcpy(&trailer, (const char *)entry->bytes + length, sizeof trailer);
    return memcmp(trailer.magic, trailer_magic, sizeof trailer_magic) == 0 &&
           memcmp(trailer.key, key->bytes, sizeof key->bytes) == 0 &&
           hal_sha256(entry->bytes, length, sum) == HAL_OK &&
           memcmp(sum, trailer.checksum, sizeof sum) == 0;
}

bool msl_cache_valid(const char *path, const struct msl_key *key)
{
    struct msl_mapped entry;
    if (!msl_cache_map(path, &entry))
        return false;
    const bool whole = entry_is_whole(&entry, key);
    msl_cache_unmap(&entry);
    if (!whole)
        hal_log(HAL_LOG_INFO, "msl: the cache entry '%s' is damaged or of another origin", path);
    return whole;
}

enum hal_status msl_write_file(const char *path, const void *contents, size_t bytes)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return hal_fail(HAL_IO, "cannot create '%s': %s", path, strerror(errno));
    const bool written = hal_write_all(file, contents, bytes);
    const int error = errno;
    if (close(file) == 0 && written)
        return HAL_OK;
    return hal_fail(HAL_IO, "cannot write '%s': %s", path, strerror(written ? errno : error));
}

/* A copy, with the trailer and readable only by its owner, whatever mode the compiler gave it,
 * which a sandbox does not allow to change. */
static bool write_entry(const struct msl_mapped *built, const char *path, const struct msl_key *key)
{
    struct trailer trailer = {0};
    memcpy(trailer.key, key->bytes, sizeof trailer.key);
    memcpy(trailer.magic, trailer_magic, sizeof trailer.magic);
    if (hal_sha256(built->bytes, built->length, trailer.checksum) != HAL_OK)
        return false;
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    const bool written = file >= 0 && hal_write_all(file, built->bytes, built->length) &&
                         hal_write_all(file, &trailer, sizeof trailer);
    return file >= 0 && close(file) == 0 && written;
}

enum hal_status msl_cache_publish(const char *built, const char *path, const struct msl_key *key)
{
    char entry[MSL_PATH_BYTES + 16];
    struct msl_mapped contents;
    snprintf(entry, sizeof entry, "%s.entry", built);
    bool written = map_file(built, true, &contents);
    if (written) {
        written = write_entry(&contents, entry, key) && rename(entry, path) == 0;
        const int error = errno;
        msl_cache_unmap(&contents);
        errno = error;
    }
    return written ? HAL_OK
                   : hal_fail(HAL_IO, "cannot store '%s' in the cache: %s", path, strerror(errno));
}

enum hal_status msl_cache_load(const char *path, const struct msl_key *key, char *out_text,
                               size_t bytes)
{
    struct msl_mapped entry;
    if (!msl_cache_map(path, &entry))
        return hal_fail(HAL_NOT_FOUND, "there is no '%s'", path);
    const bool fits = entry_is_whole(&entry, key) && entry.length - sizeof(struct trailer) < bytes;
    if (fits) {
        const size_t length = entry.length - sizeof(struct trailer);
        memcpy(out_text, entry.bytes, length);
        out_text[length] = '\0';
    }
    msl_cache_unmap(&entry);
    return fits ? HAL_OK : hal_fail(HAL_NOT_FOUND, "'%s' is not a complete entry", path);
}

enum hal_status msl_cache_read(const char *path, const struct msl_key *key,
                               struct msl_text *out_text)
{
    struct msl_mapped entry;
    if (!msl_cache_map(path, &entry))
        return hal_fail(HAL_NOT_FOUND, "there is no '%s'", path);
    const bool whole = entry_is_whole(&entry, key);
    if (whole)
        msl_text_append(out_text, entry.bytes, entry.length - sizeof(struct trailer));
    msl_cache_unmap(&entry);
    if (!whole)
        return hal_fail(HAL_NOT_FOUND, "'%s' is not a complete entry", path);
    return msl_text_check(out_text);
}

enum hal_status msl_cache_store(const char *path, const struct msl_key *key, const char *text)
{
    char scratch[MSL_PATH_BYTES], built[MSL_PATH_BYTES + 8];
    HAL_TRY(msl_scratch_create(scratch, sizeof scratch));
    snprintf(built, sizeof built, "%s/entry", scratch);
    enum hal_status status = msl_write_file(built, text, strlen(text));
    if (status == HAL_OK)
        status = msl_cache_publish(built, path, key);
    msl_scratch_remove(scratch);
    return status;
}

/* ---- files on their way ---- */

static const char scratch_prefix[] = "tmp-";

enum hal_status msl_scratch_create(char *out_path, size_t bytes)
{
    return msl_scratch_create_in(NULL, out_path, bytes);
}

enum hal_status msl_scratch_create_in(const char *directory, char *out_path, size_t bytes)
{
    char usual[MSL_PATH_BYTES];
    if (!directory)
        HAL_TRY(msl_cache_directory(usual, sizeof usual));
    directory = directory ? directory : usual;
    const int length = snprintf(out_path, bytes, "%s/%sXXXXXX", directory, scratch_prefix);
    if (length < 0 || (size_t)length >= bytes)
        return hal_fail(HAL_INVALID, "the path of the cache, '%s', is too long", directory);
    if (!mkdtemp(out_path))
        return hal_fail(HAL_IO, "cannot create a directory in '%s': %s", directory,
                        strerror(errno));
    return HAL_OK;
}

void msl_scratch_remove(const char *path)
{
    remove_tree(path, 1);
}

void msl_scratch_remove_stale(void)
{
    enum { STALE_SECONDS = 3600 };
    char directory[MSL_PATH_BYTES], path[MSL_PATH_BYTES];
    struct stat facts;
    if (msl_cache_directory(directory, sizeof directory) != HAL_OK)
        return;
    DIR *const entries = opendir(directory);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        if (strncmp(entry->d_name, scratch_prefix, sizeof scratch_prefix - 1) != 0 ||
            snprintf(path, sizeof path, "%s/%s", directory, entry->d_name) >= (int)sizeof path)
            continue;
        if (lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode) &&
            facts.st_mtime + STALE_SECONDS < time(NULL))
            msl_scratch_remove(path);
    }
    if (entries)
        closedir(entries);
}
