/* SPDX-License-Identifier: Apache-2.0 */
/* A folder per trace for the kernels that were compiled inside the jail, so that the next replay of
 * that trace need not compile them again (docs/decisions/jailed-kernels.md). */
#include "replay/jail_kept.h"
#include "format/trace.h"
#include "hal/base/mem.h"
#include "hal/base/places.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

/* The file itself, whatever is in it: who can bring another file into this place, with the same
 * change time, can change the cache as well. */
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
    if (trace_sha256(identity, sizeof identity, digest) != HAL_OK)
        return false;
    for (size_t i = 0; i < NAME_DIGITS / 2; i++)
        snprintf(out_name + 2 * i, 3, "%02x", digest[i]);
    return true;
}

static bool make_folder(const char *path)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

bool replay_kept_open(const char *trace, char *out_path, size_t bytes)
{
    char cache[PATH_MAX], name[NAME_DIGITS + 1];
    struct stat facts;
    if (!hal_cache_directory(cache, sizeof cache) || !name_folder(trace, name) ||
        !make_folder(cache) || (size_t)snprintf(out_path, bytes, "%s/jail", cache) >= bytes ||
        !make_folder(out_path) ||
        (size_t)snprintf(out_path, bytes, "%s/jail/%s", cache, name) >= bytes ||
        !make_folder(out_path))
        return false;
    /* The most recently used ones stay. */
    return lstat(out_path, &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
           utimensat(AT_FDCWD, out_path, NULL, 0) == 0;
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

void replay_kept_close(const char *path)
{
    char parent[PATH_MAX], oldest[PATH_MAX];
    seen_bytes = 0;
    seen_strange = false;
    nftw(path, look, 16, FTW_PHYS);
    if (seen_strange)
        replay_remove_folder(path);
    snprintf(parent, sizeof parent, "%s", path);
    *strrchr(parent, '/') = '\0';
    for (int i = 0; i < MOST_FOLDERS && find_oldest(parent, oldest, sizeof oldest) > MOST_FOLDERS;
         i++)
        replay_remove_folder(oldest);
}
