/* SPDX-License-Identifier: Apache-2.0 */
/* See store.h. An entry's time is that of its last use. An entry that a process has loaded stays
 * loaded when its file is removed. */
#include "hal/base/store.h"

#include "hal/base/directories.h"
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/base/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool hal_make_directories(const char *path)
{
    char part[PATH_MAX];
    const size_t length = strlen(path);
    if (access(path, W_OK | X_OK) == 0)
        return true;
    if (length == 0 || length >= sizeof part)
        return false;
    memcpy(part, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        const char kept = part[i];
        part[i] = '\0';
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return false;
        part[i] = kept;
    }
    return access(path, W_OK | X_OK) == 0;
}

struct entry {
    struct timespec used;
    uint64_t bytes;
    char name[2 * HAL_STORE_KEY_BYTES + HAL_STORE_SUFFIX_BYTES];
};

struct entries {
    struct entry *list;
    size_t count, capacity;
    uint64_t bytes;
};

static bool is_entry(const char *name, const char *suffix)
{
    const size_t length = strlen(name), end = strlen(suffix);
    return end < HAL_STORE_SUFFIX_BYTES && length == 2 * HAL_STORE_KEY_BYTES + end &&
           strcmp(name + length - end, suffix) == 0;
}

/* What disappears meanwhile is skipped: other processes make room, too. */
static enum hal_status list_entries(const char *directory, const char *suffix,
                                    struct entries *entries)
{
    enum hal_status status = HAL_OK;
    DIR *const open = opendir(directory);
    if (!open)
        return hal_fail(HAL_IO, "cannot read '%s': %s", directory, strerror(errno));
    for (struct dirent *found; status == HAL_OK && (found = readdir(open));) {
        struct stat facts;
        if (!is_entry(found->d_name, suffix) ||
            fstatat(dirfd(open), found->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(facts.st_mode))
            continue;
        if (!HAL_GROW(entries->list, &entries->capacity, entries->count + 1)) {
            status = hal_fail(HAL_NO_MEMORY, "no memory for the entries of '%s'", directory);
            break;
        }
        struct entry *entry = &entries->list[entries->count++];
        entry->used = hal_file_written(&facts);
        entry->bytes = (uint64_t)facts.st_size;
        memcpy(entry->name, found->d_name, strlen(found->d_name) + 1);
        entries->bytes += entry->bytes;
    }
    closedir(open);
    return status;
}

static int by_use(const void *left, const void *right)
{
    const struct timespec *a = &((const struct entry *)left)->used;
    const struct timespec *b = &((const struct entry *)right)->used;
    if (a->tv_sec != b->tv_sec)
        return a->tv_sec < b->tv_sec ? -1 : 1;
    return (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

enum hal_status hal_store_open(const char *wanted, const char *kind, char *out_path, size_t bytes)
{
    char real[PATH_MAX], usual[PATH_MAX];
    if (!wanted && !hal_cache_folder(kind, usual, sizeof usual))
        return hal_fail(HAL_IO,
                        "the environment names no folder for compiled kernels (HAL_CACHE_DIR)");
    wanted = wanted ? wanted : usual;
    errno = 0;
    if (!hal_make_directories(wanted) || !realpath(wanted, real))
        return hal_fail(HAL_IO, "cannot store compiled kernels in '%s': %s", wanted,
                        strerror(errno ? errno : EACCES));
    if ((size_t)snprintf(out_path, bytes, "%s", real) >= bytes)
        return hal_fail(HAL_INVALID, "the path '%s' is too long", real);
    return HAL_OK;
}

enum hal_status hal_store_measure(const char *directory, const char *suffix, uint64_t *out_bytes,
                                  uint64_t *out_entries)
{
    struct entries entries = {0};
    const enum hal_status status = list_entries(directory, suffix, &entries);
    *out_bytes = entries.bytes;
    *out_entries = entries.count;
    free(entries.list);
    return status;
}

uint64_t hal_store_limit_bytes(void)
{
    static const uint64_t otherwise = UINT64_C(1) << 30, most_mib = UINT64_C(1) << 30;
    const char *const text = getenv("HAL_CACHE_LIMIT_MIB");
    char *end = NULL;
    if (!text || !*text)
        return otherwise;
    errno = 0;
    const unsigned long long mib = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && mib >= 1 && mib <= most_mib)
        return mib << 20;
    hal_log(HAL_LOG_WARN, "HAL_CACHE_LIMIT_MIB=%s is not in 1 to %llu: using %llu MiB", text,
            (unsigned long long)most_mib, (unsigned long long)(otherwise >> 20));
    return otherwise;
}

enum hal_status hal_store_lock(const char *path, int *out_descriptor)
{
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return hal_fail(HAL_IO, "cannot create '%s': %s", path, strerror(errno));
    while (flock(file, LOCK_EX) != 0) {
        if (errno == EINTR)
            continue;
        const int error = errno;
        close(file);
        return hal_fail(HAL_IO, "cannot lock '%s': %s", path, strerror(error));
    }
    *out_descriptor = file;
    return HAL_OK;
}

void hal_store_trim(const char *directory, const char *suffix, uint64_t limit_bytes)
{
    char lock_path[PATH_MAX + 8], path[PATH_MAX + NAME_MAX];
    struct entries entries = {0};
    int lock;
    snprintf(lock_path, sizeof lock_path, "%s/.trim", directory);
    if (hal_store_lock(lock_path, &lock) != HAL_OK) {
        hal_log(HAL_LOG_INFO, "cannot free space in '%s': %s", directory, hal_message());
        return;
    }
    if (list_entries(directory, suffix, &entries) == HAL_OK && entries.bytes > limit_bytes) {
        qsort(entries.list, entries.count, sizeof *entries.list, by_use);
        /* The newest stays, however large it is: its creator is about to load it. */
        for (size_t i = 0; i + 1 < entries.count && entries.bytes > limit_bytes; i++) {
            snprintf(path, sizeof path, "%s/%s", directory, entries.list[i].name);
            if (unlink(path) == 0 || errno == ENOENT)
                entries.bytes -= entries.list[i].bytes;
        }
    }
    free(entries.list);
    close(lock);
}

void hal_store_used(const char *path)
{
    const char *const scratch = getenv("HAL_CACHE_SCRATCH");
    if (!scratch || !*scratch) /* else the stores are only read */
        (void)utimensat(AT_FDCWD, path, NULL, 0);
}

enum hal_status hal_store_path(const char *directory, const uint8_t key[HAL_STORE_KEY_BYTES],
                               const char *suffix, char *out_path, size_t bytes)
{
    char name[2 * HAL_STORE_KEY_BYTES + 1];
    for (size_t i = 0; i < HAL_STORE_KEY_BYTES; i++)
        snprintf(name + 2 * i, 3, "%02x", key[i]);
    const int length = snprintf(out_path, bytes, "%s/%s%s", directory, name, suffix);
    return length >= 0 && (size_t)length < bytes
               ? HAL_OK
               : hal_fail(HAL_INVALID, "the path of the cache, '%s', is too long", directory);
}

bool hal_store_is_trusted(const char *path)
{
    struct stat facts;
    return lstat(path, &facts) == 0 && S_ISREG(facts.st_mode) &&
           (facts.st_uid == geteuid() || facts.st_uid == 0) &&
           (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}
