/* SPDX-License-Identifier: Apache-2.0 */
/* Names and locks of output files. */
#include "format/base/destination.h"

#include "hal/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_TRIES = 1000, NAME_BYTES = 64 };

/* What bears the name now. */
struct holder {
    bool exists;
    int descriptor; /* locked; -1: it cannot be opened, so its state is unknown */
};

static enum hal_status cannot_create(const char *path)
{
    return hal_fail(HAL_IO, "cannot create '%s': %s", path, strerror(errno));
}

static enum hal_status check_kind(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return errno == ENOENT ? hal_fail(HAL_IO, "'%s' is a dangling link", path)
                               : cannot_create(path);
    if (!S_ISREG(info.st_mode))
        return hal_fail(HAL_IO, "'%s' is not a regular file", path);
    return HAL_OK;
}

static enum hal_status find_holder(const char *path, bool force, struct holder *out_holder)
{
    struct stat info;
    *out_holder = (struct holder){.descriptor = -1};
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? HAL_OK : cannot_create(path);
    if (!force)
        return hal_fail(
            HAL_EXISTS,
            "'%s' exists already: --force replaces it (in a capture: --device_profiling_force)",
            path);
    HAL_TRY(check_kind(path));
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(descriptor);
        return hal_fail(HAL_EXISTS, "another capture is writing '%s'", path);
    }
    *out_holder = (struct holder){.exists = true, .descriptor = descriptor};
    return HAL_OK;
}

static void release_holder(const struct holder *holder)
{
    if (holder->descriptor >= 0)
        close(holder->descriptor);
}

/* The lock is on a file, not on its name. */
static bool still_holds(const struct holder *holder, const char *path)
{
    struct stat locked, named;
    return holder->descriptor < 0 ||
           (fstat(holder->descriptor, &locked) == 0 && stat(path, &named) == 0 &&
            locked.st_dev == named.st_dev && locked.st_ino == named.st_ino);
}

/* ---- Opening ---- */

/* Short whatever the destination is called, so that it fits where that fits. */
static char *temporary_name(const char *path)
{
    static _Atomic unsigned names;
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
    char *name = malloc(folder + NAME_BYTES);
    if (!name)
        return NULL;
    memcpy(name, path, folder);
    snprintf(name + folder, NAME_BYTES, ".haltrace-%ld-%u", (long)getpid(),
             atomic_fetch_add(&names, 1));
    return name;
}

/* -1: not where the file is to be. */
static int open_nameless(const char *temporary)
{
#ifdef O_TMPFILE
    char *folder = hal_copy_string(temporary);
    if (!folder)
        return -1;
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    /* Without that folder, or where links are forbidden (a sandbox), it could never get a name. */
    const bool has_links = linkat(AT_FDCWD, "", AT_FDCWD, "", 0) != 0 && errno == ENOENT;
    const int descriptor = has_links && access("/proc/self/fd", X_OK) == 0
                               ? open(slash ? folder : ".", O_WRONLY | O_CLOEXEC | O_TMPFILE, 0666)
                               : -1;
    free(folder);
    return descriptor;
#else
    (void)temporary;
    return -1;
#endif
}

static enum hal_status create(struct trace_destination *destination)
{
    int descriptor = -1;
    if (destination->is_nameless) {
        destination->temporary = temporary_name(destination->path);
        if (destination->temporary)
            descriptor = open_nameless(destination->temporary);
        destination->is_nameless = descriptor >= 0;
    }
    for (unsigned i = 0; i < MOST_TRIES && descriptor < 0; i++) {
        free(destination->temporary);
        destination->temporary = temporary_name(destination->path);
        if (!destination->temporary)
            return hal_fail(HAL_NO_MEMORY, "no memory to write '%s'", destination->path);
        descriptor = open(destination->temporary, O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0666);
        if (descriptor < 0 && errno != EEXIST)
            break;
    }
    if (descriptor < 0)
        return cannot_create(destination->path);
    hal_descriptor_take(descriptor, &destination->file);
    /* On a file system without locks, concurrent writers look like old files. */
    if (flock(destination->file.number, LOCK_EX | LOCK_NB) == 0)
        destination->locked_by = (long)getpid();
    return HAL_OK;
}

static enum hal_status open_given(const char *path, int number,
                                  struct trace_destination *out_destination)
{
    const int descriptor = fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (descriptor < 0)
        return cannot_create(path);
    *out_destination = (struct trace_destination){.is_empty_unless_published = true};
    out_destination->path = hal_copy_string(path);
    hal_descriptor_take(descriptor, &out_destination->file);
    if (out_destination->path)
        return HAL_OK;
    (void)hal_descriptor_close(&out_destination->file);
    return hal_fail(HAL_NO_MEMORY, "no memory to write '%s'", path);
}

static enum hal_status open_destination(const char *path, bool force, bool nameless,
                                        struct trace_destination *out_destination)
{
    const int given = hal_descriptor_of_path(path);
    if (given >= 0)
        return open_given(path, given, out_destination);
    struct holder holder;
    struct trace_destination destination = {.force = force, .is_nameless = nameless};
    HAL_TRY(find_holder(path, force, &holder));
    release_holder(&holder);
    destination.path = hal_copy_string(path);
    enum hal_status status = destination.path
                                 ? create(&destination)
                                 : hal_fail(HAL_NO_MEMORY, "no memory to write '%s'", path);
    if (status == HAL_OK) {
        *out_destination = destination;
        return HAL_OK;
    }
    free(destination.temporary);
    free(destination.path);
    return status;
}

enum hal_status trace_destination_open(const char *path, bool force,
                                       struct trace_destination *out_destination)
{
    return open_destination(path, force, false, out_destination);
}

enum hal_status trace_destination_open_nameless(const char *path, bool force,
                                                struct trace_destination *out_destination)
{
    return open_destination(path, force, true, out_destination);
}

/* ---- Naming ---- */

/* Gives a nameless file its temporary name, which the remaining code handles. */
static enum hal_status appear(struct trace_destination *destination)
{
    char self[NAME_BYTES];
    if (!destination->is_nameless)
        return HAL_OK;
    snprintf(self, sizeof self, "/proc/self/fd/%d", destination->file.number);
    for (unsigned i = 0; i < MOST_TRIES; i++) {
        if (linkat(AT_FDCWD, self, AT_FDCWD, destination->temporary, AT_SYMLINK_FOLLOW) == 0) {
            destination->is_nameless = false;
            return HAL_OK;
        }
        if (errno != EEXIST)
            break;
        free(destination->temporary);
        destination->temporary = temporary_name(destination->path);
        if (!destination->temporary)
            return hal_fail(HAL_NO_MEMORY, "no memory to write '%s'", destination->path);
    }
    return cannot_create(destination->path);
}

/* Takes an unused name. HAL_NOT_FOUND: another process has taken it meanwhile. */
static enum hal_status take_name(struct trace_destination *destination)
{
    if (link(destination->temporary, destination->path) == 0) {
        unlink(destination->temporary);
        return HAL_OK;
    }
    if (errno == EEXIST)
        return HAL_NOT_FOUND;
    /* A file system without links. */
    if ((errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK) &&
        rename(destination->temporary, destination->path) == 0)
        return HAL_OK;
    return cannot_create(destination->path);
}

static enum hal_status try_name(struct trace_destination *destination)
{
    struct holder holder;
    HAL_TRY(find_holder(destination->path, destination->force, &holder));
    if (!holder.exists)
        return take_name(destination);
    enum hal_status status = HAL_OK;
    if (!still_holds(&holder, destination->path))
        status = HAL_NOT_FOUND;
    else if (rename(destination->temporary, destination->path) != 0)
        status = cannot_create(destination->path);
    release_holder(&holder);
    return status;
}

enum hal_status trace_destination_publish(struct trace_destination *destination)
{
    destination->is_empty_unless_published = false;
    if (!destination->temporary)
        return HAL_OK;
    HAL_TRY(appear(destination));
    enum hal_status status = HAL_NOT_FOUND;
    for (unsigned i = 0; i < MOST_TRIES && status == HAL_NOT_FOUND; i++)
        status = try_name(destination);
    if (status == HAL_NOT_FOUND)
        return hal_fail(HAL_EXISTS, "other processes keep creating '%s'", destination->path);
    if (status == HAL_OK) {
        free(destination->temporary);
        destination->temporary = NULL;
    }
    return status;
}

/* Closing the file is not enough: a child of this process may have it open, too. */
static void unlock(const struct trace_destination *destination)
{
    if (destination->locked_by == (long)getpid() && hal_descriptor_holds(&destination->file))
        (void)flock(destination->file.number, LOCK_UN);
}

enum hal_status trace_destination_close(struct trace_destination *destination)
{
    enum hal_status status = HAL_OK;
    if (destination->is_empty_unless_published && hal_descriptor_holds(&destination->file))
        (void)!ftruncate(destination->file.number, 0);
    if (destination->temporary && !destination->is_nameless)
        unlink(destination->temporary);
    unlock(destination);
    const int error = destination->file.is_open ? hal_descriptor_close(&destination->file) : 0;
    if (error)
        status = hal_fail(HAL_IO, "cannot close '%s': %s", destination->path, strerror(error));
    free(destination->temporary);
    free(destination->path);
    *destination = (struct trace_destination){0};
    return status;
}
