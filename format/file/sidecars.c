/* SPDX-License-Identifier: Apache-2.0 */
/* Finding sidecars, and removing those with which nothing can be recovered. */
#include "format/container/index.h"
#include "format/file/orphan.h"
#include "format/file/recover.h"
#include "format/trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Finding ---- */

/* Opens a folder of this user only. True: the caller closes it. */
static bool open_ours(const char *path, struct trace_orphan *orphan,
                      struct trace_sidecar_info *info)
{
    struct stat found;
    if (trace_orphan_peek(path, orphan) != HAL_OK)
        return false;
    if (fstat(orphan->descriptor, &found) != 0 || found.st_uid != geteuid()) {
        trace_orphan_close(orphan);
        return false;
    }
    snprintf(info->path, sizeof info->path, "%s", path);
    memcpy(info->destination, orphan->destination, sizeof info->destination);
    info->process_id = orphan->process_id;
    info->bytes = (uint64_t)found.st_blocks * 512;
    return true;
}

static bool inspect(const char *path, struct trace_sidecar_info *info)
{
    struct trace_orphan orphan;
    if (!open_ours(path, &orphan, info))
        return false;
    info->locked = trace_orphan_locked(&orphan);
    info->in_use = info->locked && trace_orphan_process_runs(&orphan);
    trace_orphan_close(&orphan);
    return true;
}

/* `take` fills in the argument of `visit`; false: skip it. */
static enum hal_status each(const char *folder,
                            bool (*take)(const char *path, struct trace_sidecar_info *info),
                            void (*visit)(void *user, const struct trace_sidecar_info *info),
                            void *user)
{
    DIR *entries = opendir(folder);
    if (!entries)
        return hal_fail(HAL_IO, "cannot read the folder '%s': %s", folder, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char path[TRACE_PATH_BYTES];
        struct trace_sidecar_info info = {0};
        const char *name = entry->d_name + (entry->d_name[0] == '.');
        if (strncmp(name, TRACE_SIDECAR_PREFIX, sizeof TRACE_SIDECAR_PREFIX - 1) != 0)
            continue;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path &&
            take(path, &info))
            visit(user, &info);
    }
    closedir(entries);
    return HAL_OK;
}

enum hal_status trace_sidecars_each(const char *folder,
                                    void (*visit)(void *user,
                                                  const struct trace_sidecar_info *info),
                                    void *user)
{
    return each(folder, inspect, visit, user);
}

/* ---- Where traces are ---- */

/* 0: unknown. Where a system has one name space for all, that is the one. */
static uint64_t own_mounts(void)
{
#ifdef __linux__
    struct stat mounts;
    return stat("/proc/self/ns/mnt", &mounts) == 0 ? mounts.st_ino : 0;
#else
    return 1;
#endif
}

/* Cuts the last name off. False: there was none but the root's. */
static bool cut_to_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash || !path[1])
        return false;
    slash[slash == path] = '\0';
    return true;
}

static bool is_file(const struct stat *found, uint64_t device, uint64_t inode)
{
    return (uint64_t)found->st_dev == device && (uint64_t)found->st_ino == inode;
}

void trace_sidecar_locate(const char *destination, struct trace_sidecar_place *out_place)
{
    char folder[TRACE_PATH_BYTES];
    struct stat found;
    *out_place = (struct trace_sidecar_place){.mounts = own_mounts()};
    snprintf(folder, sizeof folder, "%s", destination);
    if (cut_to_folder(folder) && stat(folder, &found) == 0) {
        out_place->folder_device = (uint64_t)found.st_dev;
        out_place->folder_inode = found.st_ino;
    }
    if (stat(destination, &found) == 0) {
        out_place->file_device = (uint64_t)found.st_dev;
        out_place->file_inode = found.st_ino;
    }
}

static bool is_missing(int error)
{
    return error == ENOENT || error == ENOTDIR;
}

/* Under what name the folder has that file or folder. False with a name: it cannot be known. */
static bool find_entry(const char *folder, uint64_t device, uint64_t inode,
                       char out_path[TRACE_PATH_BYTES])
{
    DIR *entries = opendir(folder);
    snprintf(out_path, TRACE_PATH_BYTES, "%s", entries || is_missing(errno) ? "" : folder);
    bool found = false;
    for (const struct dirent *entry; entries && !found && (entry = readdir(entries)) != NULL;) {
        struct stat info;
        found = fstatat(dirfd(entries), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                is_file(&info, device, inode);
        if (found && snprintf(out_path, TRACE_PATH_BYTES, "%s/%s", folder, entry->d_name) >=
                         TRACE_PATH_BYTES)
            found = false;
    }
    if (entries)
        closedir(entries);
    return found;
}

/* Numbers of files are used again. What cannot be read may be it. */
static bool may_be_trace(const char *path, struct trace_orphan *orphan)
{
    struct trace_reader *reader;
    const enum hal_status status = trace_reader_open(path, &reader);
    if (status != HAL_OK)
        return status != HAL_CORRUPT;
    const struct trace_header *header = trace_reader_header(reader);
    const bool is_its = trace_orphan_belongs(orphan, header->process_id, header->start_ns);
    trace_reader_close(reader);
    return is_its;
}

/* A capture or a recovery has completed it, and was killed before it removed the sidecar. What
 * other programs make of a trace that was cut off is neither recovered nor names a sidecar. */
static bool is_complete(const char *path, struct trace_orphan *orphan)
{
    struct trace_reader *reader;
    /* Opening a trace that was cut off reads all of it. */
    if (orphan->stopped_by_file || !trace_has_seek_table(path) ||
        trace_reader_open(path, &reader) != HAL_OK)
        return false;
    const struct trace_header *header = trace_reader_header(reader);
    const struct trace_health *health = trace_reader_health(reader);
    const bool is_complete = health && !*trace_reader_truncated(reader) &&
                             (health->recovered || header->sidecar[0]) &&
                             trace_orphan_belongs(orphan, header->process_id, header->start_ns);
    trace_reader_close(reader);
    return is_complete;
}

static bool may_have_trace(const char *folder, struct trace_orphan *orphan)
{
    const struct trace_sidecar_place *place = &orphan->place;
    char path[TRACE_PATH_BYTES];
    if (find_entry(folder, place->file_device, place->file_inode, path))
        return may_be_trace(path, orphan) && !is_complete(path, orphan);
    return path[0] != '\0';
}

/* The folder, which is not there or is another one by now, was on a disk that is still there, among
 * the same mounts, and was not renamed where it was. */
static bool folder_is_gone(char *folder, struct trace_orphan *orphan)
{
    const struct trace_sidecar_place *place = &orphan->place;
    char renamed[TRACE_PATH_BYTES];
    struct stat found;
    if (!place->mounts || place->mounts != own_mounts() || !cut_to_folder(folder))
        return false;
    const bool has = find_entry(folder, place->folder_device, place->folder_inode, renamed);
    if (has ? may_have_trace(renamed, orphan) : renamed[0] != '\0')
        return false;
    while (stat(folder, &found) != 0)
        if (!is_missing(errno) || !cut_to_folder(folder))
            return false;
    return (uint64_t)found.st_dev == place->folder_device;
}

/* Under its name; another capture's trace may have that by now. */
static bool has_name(struct trace_orphan *orphan)
{
    const struct trace_sidecar_place *place = &orphan->place;
    const char *destination = orphan->destination;
    struct stat found;
    if (lstat(destination, &found) != 0)
        return !is_missing(errno);
    return is_file(&found, place->file_device, place->file_inode) ||
           may_be_trace(destination, orphan);
}

/* For certain. */
static bool is_gone(struct trace_orphan *orphan)
{
    const struct trace_sidecar_place *place = &orphan->place;
    const char *destination = orphan->destination;
    char folder[TRACE_PATH_BYTES];
    struct stat found;
    if (destination[0] != '/' || has_name(orphan))
        return false;
    snprintf(folder, sizeof folder, "%s", destination);
    if (!cut_to_folder(folder))
        return false;
    const int error = stat(folder, &found) == 0 ? 0 : errno;
    if (!error && is_file(&found, place->folder_device, place->folder_inode))
        return !may_have_trace(folder, orphan);
    return (!error || is_missing(error)) && folder_is_gone(folder, orphan);
}

/* ---- Removing ---- */

/* Whose lock we have; its name may be another one's by now. */
static bool still_has_name(int descriptor, const char *path)
{
    struct stat locked, named;
    return fstat(descriptor, &locked) == 0 && lstat(path, &named) == 0 &&
           locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

/* A capture holds its lock before there is anything to read; a recovery holds one, too. */
static bool take_lock(int descriptor, const char *path)
{
    return flock(descriptor, LOCK_EX | LOCK_NB) == 0 && still_has_name(descriptor, path);
}

/* A capture that ended before it had begun leaves only a name. */
static uint64_t process_in_name(const char *path)
{
    const char *at = strrchr(path, '/') + 1;
    char *end;
    at += (*at == '.') + sizeof TRACE_SIDECAR_PREFIX - 1;
    (void)strtoul(at, &end, 10);
    return *end == '-' ? strtoul(end + 1, NULL, 10) : 0;
}

static bool has_not_begun(int descriptor, struct trace_sidecar_info *info)
{
    static const char zeros[sizeof TRACE_SIDECAR_MAGIC];
    char magic[sizeof TRACE_SIDECAR_MAGIC] = "";
    struct stat found;
    if (fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != geteuid() ||
        pread(descriptor, magic, sizeof magic - 1, 0) < 0)
        return false;
    info->bytes = (uint64_t)found.st_blocks * 512;
    return memcmp(magic, zeros, sizeof magic) == 0;
}

static bool discard_unbegun(const char *path, struct trace_sidecar_info *info)
{
    const struct trace_orphan of = {.process_id = process_in_name(path)};
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0)
        return false;
    const bool discarded = has_not_begun(descriptor, info) && take_lock(descriptor, path) &&
                           has_not_begun(descriptor, info) && of.process_id &&
                           !trace_orphan_process_runs(&of) && unlink(path) == 0;
    close(descriptor);
    snprintf(info->path, sizeof info->path, "%s", path);
    info->process_id = of.process_id;
    return discarded;
}

static bool is_useless(struct trace_orphan *orphan)
{
    return is_complete(orphan->destination, orphan) || is_gone(orphan);
}

/* Closes it. */
static bool discard_if(bool (*may_go)(struct trace_orphan *orphan), struct trace_orphan *orphan)
{
    const bool discarded = take_lock(orphan->descriptor, orphan->path) &&
                           !trace_orphan_process_runs(orphan) && may_go(orphan) &&
                           unlink(orphan->path) == 0;
    trace_orphan_close(orphan);
    return discarded;
}

static bool discard_if_useless(const char *path, struct trace_sidecar_info *info)
{
    struct trace_orphan orphan;
    return open_ours(path, &orphan, info) ? discard_if(is_useless, &orphan)
                                          : discard_unbegun(path, info);
}

static bool is_of_complete(struct trace_orphan *orphan)
{
    return is_complete(orphan->destination, orphan);
}

bool trace_sidecar_discard_complete(const char *path)
{
    struct trace_orphan orphan;
    struct trace_sidecar_info info;
    return open_ours(path, &orphan, &info) && discard_if(is_of_complete, &orphan);
}

enum hal_status trace_sidecars_discard_gone(const char *folder,
                                            void (*visit)(void *user,
                                                          const struct trace_sidecar_info *info),
                                            void *user)
{
    return each(folder, discard_if_useless, visit, user);
}
