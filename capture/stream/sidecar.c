/* SPDX-License-Identifier: Apache-2.0 */
/* The sidecar's file and its mappings. */
#include "capture/stream/sidecar.h"

#include "format/file/recover.h"
#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "hal/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#if !defined(MADV_COLLAPSE) && defined(__linux__)
#define MADV_COLLAPSE 25
#endif

enum { MOST_NAMES = 10000 };

static const char object_name[] = "the capture's memory";

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- The file ---- */

/* Its path: "FOLDER/haltrace-sidecar-UID-PID-N", hidden if beside a destination. */
static char *make_path(const struct capture_sidecar_desc *desc, unsigned number)
{
    const char *slash = strrchr(desc->destination, '/');
    const int folder = slash ? (int)(slash + 1 - desc->destination) : 0;
    char path[TRACE_PATH_BYTES], name[128];
    snprintf(name, sizeof name, TRACE_SIDECAR_PREFIX "%lu-%ld-%u", (unsigned long)geteuid(),
             (long)getpid(), number);
    const int length =
        desc->folder ? snprintf(path, sizeof path, "%s/%s", desc->folder, name)
                     : snprintf(path, sizeof path, "%.*s.%s", folder, desc->destination, name);
    return length > 0 && (size_t)length < sizeof path ? hal_copy_string(path) : NULL;
}

/* Recovery and clean-up check the lock, which ends with the process. A clean-up may have come first
 * and removed the name; where there are no locks, there is no clean-up. */
static bool lock_file(int descriptor, const char *path)
{
    struct stat locked, named;
    while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR)
        continue;
    return fstat(descriptor, &locked) == 0 && lstat(path, &named) == 0 &&
           locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

static enum hal_status create_file(const struct capture_sidecar_desc *desc, char **out_path,
                                   int *out_descriptor)
{
    static _Atomic unsigned last_number;
    for (unsigned tries = 0; tries < MOST_NAMES; tries++) {
        char *path = make_path(desc, atomic_fetch_add(&last_number, 1));
        if (!path)
            return hal_fail(HAL_NO_MEMORY, "no memory for the name of a sidecar");
        const int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (descriptor >= 0 && !lock_file(descriptor, path)) {
            close(descriptor);
            free(path);
            continue;
        }
        if (descriptor >= 0) {
            char *full = realpath(path, NULL); /* the program may change its working folder */
            *out_path = full ? full : path;
            *out_descriptor = descriptor;
            if (full)
                free(path);
            return HAL_OK;
        }
        const int error = errno;
        if (error != EEXIST)
            hal_fail(HAL_IO, "cannot create the sidecar '%s': %s", path, strerror(error));
        free(path);
        if (error != EEXIST)
            return HAL_IO;
    }
    return hal_fail(HAL_IO, "the sidecar folder already has %d sidecars of this process",
                    MOST_NAMES);
}

static enum hal_status check_room(int descriptor, const char *path, uint64_t least)
{
    struct statvfs room;
    if (fstatvfs(descriptor, &room) != 0)
        return HAL_OK; /* committing will report it then */
    const uint64_t bytes = (uint64_t)room.f_bavail * room.f_frsize;
    if (bytes >= least)
        return HAL_OK;
    return hal_fail(HAL_NO_MEMORY, "the sidecar '%s' has room for %s, %llu are needed", path,
                    hal_count((unsigned long long)bytes, "byte", "bytes").text,
                    (unsigned long long)least);
}

static void describe(struct trace_sidecar_header *header, const struct capture_sidecar_desc *desc,
                     uint64_t staging_offset)
{
    header->version = TRACE_SIDECAR_VERSION;
    header->slot_count = TRACE_RING_SLOTS;
    header->process_id = (uint64_t)getpid();
    header->start_ns = desc->start_ns;
    char folder[TRACE_PATH_BYTES];
    const bool relative = desc->destination[0] != '/' && getcwd(folder, sizeof folder);
    const int length = snprintf(header->destination, sizeof header->destination, "%s%s%s",
                                relative ? folder : "", relative ? "/" : "", desc->destination);
    if (length < 0 || (size_t)length >= sizeof header->destination)
        header->destination[0] = '\0';
    trace_sidecar_locate(header->destination, &header->place);
    header->staging_offset = staging_offset;
    header->staging_bytes = desc->staging_bytes;
    header->rings_offset = staging_offset + desc->staging_bytes;
    header->rings_bytes = desc->rings_bytes;
    /* Last: what has it is whole. */
    memcpy(header->magic, TRACE_SIDECAR_MAGIC, sizeof header->magic);
}

static enum hal_status map_header(struct capture_sidecar *sidecar, uint64_t bytes)
{
    HAL_TRY(capture_sidecar_commit(sidecar, 0, bytes));
    void *header = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, sidecar->object.number, 0);
    if (header == MAP_FAILED)
        return hal_fail(HAL_NO_MEMORY, "cannot map the capture's sidecar: %s", strerror(errno));
    sidecar->header = header;
    return HAL_OK;
}

enum hal_status capture_sidecar_open(const struct capture_sidecar_desc *desc,
                                     struct capture_sidecar *out_sidecar)
{
    const size_t header_bytes = hal_align_up(sizeof(struct trace_sidecar_header), page_bytes());
    const uint64_t staging_offset = hal_align_up(header_bytes, CAPTURE_LARGE_PAGE_BYTES);
    uint64_t bytes;
    if (!hal_add_u64(desc->staging_bytes, desc->rings_bytes, &bytes) ||
        !hal_add_u64(bytes, staging_offset, &bytes) || bytes > INT64_MAX)
        return hal_fail(HAL_INVALID, "the capture's staging memory of %s is too large",
                        hal_count((unsigned long long)desc->staging_bytes, "byte", "bytes").text);
    int descriptor = -1;
    struct capture_sidecar sidecar = {0};
    HAL_TRY(create_file(desc, &sidecar.path, &descriptor));
    hal_descriptor_take(descriptor, &sidecar.object);
    enum hal_status status = check_room(sidecar.object.number, sidecar.path, desc->least_room);
    if (status == HAL_OK)
        status = hal_file_resize(sidecar.object.number, sidecar.path, bytes);
    if (status == HAL_OK)
        status = map_header(&sidecar, header_bytes);
    if (status != HAL_OK) {
        capture_sidecar_remove(&sidecar);
        capture_sidecar_close(&sidecar);
        return status;
    }
    describe(sidecar.header, desc, staging_offset);
    *out_sidecar = sidecar;
    return HAL_OK;
}

void capture_sidecar_locate(struct capture_sidecar *sidecar)
{
    trace_sidecar_locate(sidecar->header->destination, &sidecar->header->place);
}

void capture_sidecar_remove(struct capture_sidecar *sidecar)
{
    if (sidecar->path)
        unlink(sidecar->path);
    free(sidecar->path);
    sidecar->path = NULL;
}

void capture_sidecar_close(struct capture_sidecar *sidecar)
{
    if (sidecar->header)
        munmap(sidecar->header, hal_align_up(sizeof *sidecar->header, page_bytes()));
    hal_descriptor_close(&sidecar->object);
    free(sidecar->path);
    *sidecar = (struct capture_sidecar){0};
}

enum hal_status capture_sidecar_commit(const struct capture_sidecar *sidecar, uint64_t offset,
                                       uint64_t bytes)
{
    HAL_TRY(hal_descriptor_check(&sidecar->object, object_name));
    const int error = hal_file_reserve(sidecar->object.number, offset, bytes);
    if (error)
        return hal_fail(HAL_NO_MEMORY, "cannot reserve %llu bytes of memory for the capture: %s",
                        (unsigned long long)bytes, strerror(error));
    return HAL_OK;
}

static uint64_t alignment_for(uint64_t bytes)
{
    return bytes % CAPTURE_LARGE_PAGE_BYTES ? page_bytes() : CAPTURE_LARGE_PAGE_BYTES;
}

/* An unmapped address range, from a multiple of `alignment`. MAP_FAILED: none. */
static uint8_t *reserve_addresses(uint64_t bytes, uint64_t alignment)
{
    const uint64_t more = alignment - page_bytes();
    uint8_t *all = mmap(NULL, bytes + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return all;
    const uint64_t before = hal_align_up((uintptr_t)all, alignment) - (uintptr_t)all;
    if (before)
        munmap(all, before);
    if (more > before)
        munmap(all + before + bytes, more - before);
    return all + before;
}

/* If any part of a large page has memory, the system allocates the whole page. */
bool capture_sidecar_commit_large(const struct capture_sidecar *sidecar, uint64_t offset,
                                  uint64_t bytes)
{
#ifdef MADV_COLLAPSE
    if (offset % CAPTURE_LARGE_PAGE_BYTES || bytes % CAPTURE_LARGE_PAGE_BYTES)
        return false;
    for (uint64_t at = 0; at < bytes; at += CAPTURE_LARGE_PAGE_BYTES)
        if (capture_sidecar_commit(sidecar, offset + at, page_bytes()) != HAL_OK)
            return false;
    uint8_t *base = reserve_addresses(bytes, CAPTURE_LARGE_PAGE_BYTES);
    if (base == MAP_FAILED)
        return false;
    const bool made = mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                           sidecar->object.number, (off_t)offset) != MAP_FAILED &&
                      madvise(base, bytes, MADV_COLLAPSE) == 0;
    munmap(base, bytes);
    return made;
#else
    (void)sidecar, (void)offset, (void)bytes;
    return false;
#endif
}

bool capture_sidecar_write(const struct capture_sidecar *sidecar, uint64_t offset, const void *data,
                           uint64_t bytes)
{
    if (hal_descriptor_check(&sidecar->object, object_name) != HAL_OK)
        return false;
    struct hal_size_guard guard;
    hal_size_guard_enter(&guard);
    const int64_t done = hal_write_at(sidecar->object.number, data, bytes, offset);
    hal_size_guard_leave(&guard);
    return done == (int64_t)bytes;
}

enum hal_status capture_sidecar_map_twice(const struct capture_sidecar *sidecar, uint64_t offset,
                                          uint64_t bytes, uint8_t **out_base)
{
    HAL_TRY(hal_descriptor_check(&sidecar->object, object_name));
    uint8_t *base = reserve_addresses(2 * bytes, alignment_for(bytes));
    bool mapped = base != MAP_FAILED;
    for (unsigned i = 0; mapped && i < 2; i++)
        mapped = mmap(base + i * bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                      sidecar->object.number, (off_t)offset) != MAP_FAILED;
    if (!mapped) {
        const int error = errno;
        if (base != MAP_FAILED)
            munmap(base, 2 * bytes);
        return hal_fail(HAL_NO_MEMORY, "cannot map %s of the capture twice: %s",
                        hal_count((unsigned long long)bytes, "byte", "bytes").text,
                        strerror(error));
    }
    *out_base = base;
    return HAL_OK;
}

void capture_sidecar_unmap_twice(uint8_t *base, uint64_t bytes)
{
    if (base)
        munmap(base, 2 * bytes);
}

void capture_sidecar_prefault(uint8_t *base, uint64_t bytes)
{
    if (madvise(base, bytes, MADV_POPULATE_WRITE) == 0)
        return;
    const size_t page = page_bytes();
    for (uint64_t at = 0; at < bytes; at += page)
        atomic_fetch_add_explicit((_Atomic uint8_t *)(base + at), 0, memory_order_relaxed);
}
