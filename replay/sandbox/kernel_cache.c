/* SPDX-License-Identifier: Apache-2.0 */
/* A folder per trace for the kernels that were compiled inside the sandbox, so that the next replay
 * of that trace need not compile them again (docs/decisions/sandboxed-kernels.md). */
#include "replay/sandbox/kernel_cache.h"
#include "format/trace.h"
#include "hal/base/digest.h"
#include "hal/base/directories.h"
#include "hal/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FOLDERS = 32, MOST_DEPTH = 6, NAME_DIGITS = 32 };
static const uint64_t most_bytes = UINT64_C(256) << 20;

static int remove_entry(const char *path, const struct stat *facts, int type, struct FTW *position)
{
    (void)facts;
    (void)type;
    (void)position;
    return remove(path);
}

void replay_remove_folder(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The file, whatever it contains: who can fake its change time can change the cache as well. */
static bool name_folder(const char *trace, char out_name[NAME_DIGITS + 1])
{
    struct stat facts;
    uint8_t digest[32];
    if (stat(trace, &facts) != 0)
        return false;
#if defined(__APPLE__)
    const struct timespec changed = facts.st_ctimespec, modified = facts.st_mtimespec;
#else
    const struct timespec changed = facts.st_ctim, modified = facts.st_mtim;
#endif
    const int64_t identity[] = {(int64_t)facts.st_dev,     (int64_t)facts.st_ino,
                                (int64_t)facts.st_size,    (int64_t)modified.tv_sec,
                                (int64_t)modified.tv_nsec, (int64_t)changed.tv_sec,
                                (int64_t)changed.tv_nsec};
    if (hal_sha256(identity, sizeof identity, digest) != HAL_OK)
        return false;
    for (size_t i = 0; i < NAME_DIGITS / 2; i++)
        snprintf(out_name + 2 * i, 3, "%02x", digest[i]);
    return true;
}

static bool make_folder(const char *path)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* Another process may remove the folder before this one has its lock. */
static bool is_still_there(const char *path, int folder)
{
    struct stat named, opened;
    return lstat(path, &named) == 0 && fstat(folder, &opened) == 0 &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino &&
           opened.st_uid == geteuid();
}

/* Shared with other replays of the same trace. */
static int use_folder(const char *path)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES && make_folder(path); i++) {
        const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (folder < 0 && errno != ENOENT)
            return -1;
        if (folder >= 0 && flock(folder, LOCK_SH) == 0 && is_still_there(path, folder))
            return folder;
        if (folder >= 0)
            close(folder);
    }
    return -1;
}

bool replay_kernel_cache_open(const char *trace, struct replay_kernel_cache *out_kept)
{
    char cache[PATH_MAX], name[NAME_DIGITS + 1];
    char *const path = out_kept->path;
    const size_t bytes = sizeof out_kept->path;
    if (!hal_cache_directory(cache, sizeof cache) || !name_folder(trace, name) ||
        !make_folder(cache) || (size_t)snprintf(path, bytes, "%s/sandbox", cache) >= bytes ||
        !make_folder(path) || (size_t)snprintf(path, bytes, "%s/sandbox/%s", cache, name) >= bytes)
        return false;
    out_kept->use = use_folder(path);
    if (out_kept->use < 0)
        return false;
    (void)!futimens(out_kept->use, NULL); /* the most recently used ones stay */
    return true;
}

/* ---- Keeping it small ---------------------------------------------------------------------- */

static uint64_t seen_bytes;
static bool seen_strange;

static int look(const char *path, const struct stat *facts, int type, struct FTW *position)
{
    (void)path;
    seen_bytes += type == FTW_F ? (uint64_t)facts->st_size : 0;
    seen_strange |=
        position->level > MOST_DEPTH || (type != FTW_F && type != FTW_D) || seen_bytes > most_bytes;
    return seen_strange;
}

/* The folder that was used longest ago; returns how many there are. */
static size_t find_oldest(const char *parent, char *out_path, size_t bytes)
{
    DIR *folder = opendir(parent);
    size_t count = 0;
    struct timespec oldest = {0};
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char path[PATH_MAX];
        struct stat facts;
        if (entry->d_name[0] == '.' ||
            snprintf(path, sizeof path, "%.3800s/%.255s", parent, entry->d_name) < 0 ||
            lstat(path, &facts) != 0)
            continue;
#if defined(__APPLE__)
        const struct timespec used = facts.st_mtimespec;
#else
        const struct timespec used = facts.st_mtim;
#endif
        if (count++ == 0 || used.tv_sec < oldest.tv_sec ||
            (used.tv_sec == oldest.tv_sec && used.tv_nsec < oldest.tv_nsec)) {
            oldest = used;
            snprintf(out_path, bytes, "%s", path);
        }
    }
    if (folder)
        closedir(folder);
    return count;
}

/* Not while another replay uses it or is about to. */
static void remove_unused(const char *path)
{
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return;
    if (flock(folder, LOCK_EX | LOCK_NB) == 0)
        replay_remove_folder(path);
    else
        (void)!futimens(folder, NULL); /* others are the oldest now */
    close(folder);
}

void replay_kernel_cache_close(struct replay_kernel_cache *kept)
{
    char parent[PATH_MAX], oldest[PATH_MAX];
    seen_bytes = 0;
    seen_strange = false;
    nftw(kept->path, look, 16, FTW_PHYS);
    close(kept->use);
    if (seen_strange)
        remove_unused(kept->path);
    snprintf(parent, sizeof parent, "%s", kept->path);
    *strrchr(parent, '/') = '\0';
    for (int i = 0; i < MOST_FOLDERS && find_oldest(parent, oldest, sizeof oldest) > MOST_FOLDERS;
         i++)
        remove_unused(oldest);
}
