/* SPDX-License-Identifier: Apache-2.0 */
/* How much the compiled kernels of a directory take, and which of them go when that is too much:
 * those that were not used for the longest time. An entry's time is that of its last use. What a
 * process has loaded stays loaded when its file goes. */
#include "hal/msl/cache.h"

#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/msl/msl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char kernel_suffix[] = ".so";

struct entry {
    struct timespec used;
    uint64_t bytes;
    char name[2 * MSL_KEY_BYTES + sizeof kernel_suffix];
};

struct entries {
    struct entry *list;
    size_t count, capacity;
    uint64_t bytes;
};

static bool is_kernel(const char *name)
{
    const size_t length = strlen(name), end = sizeof kernel_suffix - 1;
    return length == 2 * MSL_KEY_BYTES + end && strcmp(name + length - end, kernel_suffix) == 0;
}

/* What disappears meanwhile is skipped: other processes make room, too. */
static enum hal_status list_entries(const char *directory, struct entries *entries)
{
    enum hal_status status = HAL_OK;
    DIR *const open = opendir(directory);
    if (!open)
        return hal_fail(HAL_IO, "cannot read '%s': %s", directory, strerror(errno));
    for (struct dirent *found; status == HAL_OK && (found = readdir(open));) {
        struct stat facts;
        if (!is_kernel(found->d_name) ||
            fstatat(dirfd(open), found->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(facts.st_mode))
            continue;
        void *list = entries->list;
        if (!hal_grow(&list, &entries->capacity, entries->count + 1, sizeof *entries->list)) {
            status = hal_fail(HAL_NO_MEMORY, "no memory for the entries of '%s'", directory);
            break;
        }
        entries->list = list;
        struct entry *entry = &entries->list[entries->count++];
        entry->used = facts.st_mtim;
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

enum hal_status msl_directory_open(const char *wanted, char *out_path, size_t bytes)
{
    if (!wanted)
        return msl_cache_directory(out_path, bytes);
    char real[PATH_MAX];
    if (!msl_make_directories(wanted) || !realpath(wanted, real))
        return hal_fail(HAL_IO, "cannot keep compiled kernels in '%s': %s", wanted,
                        strerror(errno ? errno : EACCES));
    if ((size_t)snprintf(out_path, bytes, "%s", real) >= bytes)
        return hal_fail(HAL_INVALID, "the path '%s' is too long", real);
    return HAL_OK;
}

enum hal_status msl_directory_measure(const char *directory, uint64_t *out_bytes,
                                      uint64_t *out_entries)
{
    struct entries entries = {0};
    const enum hal_status status = list_entries(directory, &entries);
    *out_bytes = entries.bytes;
    *out_entries = entries.count;
    free(entries.list);
    return status;
}

uint64_t msl_directory_limit_bytes(void)
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
    hal_log(HAL_LOG_WARN, "HAL_CACHE_LIMIT_MIB=%s is not in 1 to %llu: %llu MiB it is", text,
            (unsigned long long)most_mib, (unsigned long long)(otherwise >> 20));
    return otherwise;
}

void msl_directory_trim(const char *directory, uint64_t limit_bytes)
{
    char lock_path[MSL_PATH_BYTES + 8], path[MSL_PATH_BYTES + NAME_MAX];
    struct entries entries = {0};
    int lock;
    snprintf(lock_path, sizeof lock_path, "%s/.trim", directory);
    if (msl_lock_file(lock_path, &lock) != HAL_OK) {
        hal_log(HAL_LOG_INFO, "msl: no room is made in '%s': %s", directory, hal_message());
        return;
    }
    if (list_entries(directory, &entries) == HAL_OK && entries.bytes > limit_bytes) {
        qsort(entries.list, entries.count, sizeof *entries.list, by_use);
        /* The newest stays, however large it is: somebody is about to load it. */
        for (size_t i = 0; i + 1 < entries.count && entries.bytes > limit_bytes; i++) {
            snprintf(path, sizeof path, "%s/%s", directory, entries.list[i].name);
            if (unlink(path) == 0 || errno == ENOENT)
                entries.bytes -= entries.list[i].bytes;
        }
    }
    free(entries.list);
    close(lock);
}

void msl_entry_used(const char *path)
{
    (void)utimensat(AT_FDCWD, path, NULL, 0);
}
