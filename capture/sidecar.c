/* SPDX-License-Identifier: Apache-2.0 */
/* The sidecar's memory object and its mappings. */
#include "capture/sidecar.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

static const char object_name[] = "the capture's memory";

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static sigset_t size_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

void capture_size_guard_enter(struct capture_size_guard *guard)
{
    const sigset_t limit = size_signal();
    sigset_t pending;
    sigpending(&pending);
    guard->was_pending = sigismember(&pending, SIGXFSZ) == 1;
    pthread_sigmask(SIG_BLOCK, &limit, &guard->before);
}

void capture_size_guard_leave(const struct capture_size_guard *guard)
{
    const sigset_t limit = size_signal();
    if (!guard->was_pending)
        sigtimedwait(&limit, NULL, &(struct timespec){0});
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}

static enum hal_status create_object(uint64_t bytes, int *out_descriptor)
{
    struct capture_size_guard guard;
    capture_size_guard_enter(&guard);
    const enum hal_status status = hal_shared_memory("hal-capture", bytes, out_descriptor);
    capture_size_guard_leave(&guard);
    return status;
}

static void describe(struct capture_sidecar_header *header, const struct capture_sidecar_desc *desc,
                     uint64_t header_bytes)
{
    memcpy(header->magic, CAPTURE_SIDECAR_MAGIC, sizeof header->magic);
    header->version = CAPTURE_SIDECAR_VERSION;
    header->slot_count = CAPTURE_RING_SLOTS;
    header->process_id = (uint64_t)getpid();
    header->start_ns = desc->start_ns;
    snprintf(header->destination, sizeof header->destination, "%s", desc->destination);
    header->staging_offset = header_bytes;
    header->staging_bytes = desc->staging_bytes;
    header->rings_offset = header_bytes + desc->staging_bytes;
    header->rings_bytes = desc->rings_bytes;
}

enum hal_status capture_sidecar_open(const struct capture_sidecar_desc *desc,
                                     struct capture_sidecar *out_sidecar)
{
    const size_t header_bytes = hal_align_up(sizeof(struct capture_sidecar_header), page_bytes());
    uint64_t bytes;
    if (!hal_add_u64(desc->staging_bytes, desc->rings_bytes, &bytes) ||
        !hal_add_u64(bytes, header_bytes, &bytes) || bytes > INT64_MAX)
        return hal_fail(HAL_INVALID, "the capture's staging memory of %llu bytes is too large",
                        (unsigned long long)desc->staging_bytes);
    int descriptor;
    HAL_TRY(create_object(bytes, &descriptor));
    struct capture_sidecar sidecar = {0};
    hal_descriptor_take(descriptor, &sidecar.object);
    const enum hal_status status = capture_sidecar_commit(&sidecar, 0, header_bytes);
    void *header = MAP_FAILED;
    if (status == HAL_OK)
        header =
            mmap(NULL, header_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, sidecar.object.number, 0);
    if (header == MAP_FAILED) {
        const int error = errno;
        hal_descriptor_close(&sidecar.object);
        return status != HAL_OK ? status
                                : hal_fail(HAL_NO_MEMORY, "the capture cannot map its sidecar: %s",
                                           strerror(error));
    }
    describe(header, desc, header_bytes);
    sidecar.header = header;
    *out_sidecar = sidecar;
    return HAL_OK;
}

void capture_sidecar_close(struct capture_sidecar *sidecar)
{
    if (!sidecar->header)
        return;
    munmap(sidecar->header, hal_align_up(sizeof *sidecar->header, page_bytes()));
    hal_descriptor_close(&sidecar->object);
    sidecar->header = NULL;
}

enum hal_status capture_sidecar_commit(const struct capture_sidecar *sidecar, uint64_t offset,
                                       uint64_t bytes)
{
    HAL_TRY(hal_descriptor_check(&sidecar->object, object_name));
    const int error = posix_fallocate(sidecar->object.number, (off_t)offset, (off_t)bytes);
    if (error)
        return hal_fail(HAL_NO_MEMORY, "the capture cannot reserve %llu bytes of memory: %s",
                        (unsigned long long)bytes, strerror(error));
    return HAL_OK;
}

enum hal_status capture_sidecar_map_twice(const struct capture_sidecar *sidecar, uint64_t offset,
                                          uint64_t bytes, uint8_t **out_base)
{
    HAL_TRY(hal_descriptor_check(&sidecar->object, object_name));
    uint8_t *base = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool mapped = base != MAP_FAILED;
    for (unsigned i = 0; mapped && i < 2; i++)
        mapped = mmap(base + i * bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                      sidecar->object.number, (off_t)offset) != MAP_FAILED;
    if (!mapped) {
        const int error = errno;
        if (base != MAP_FAILED)
            munmap(base, 2 * bytes);
        return hal_fail(HAL_NO_MEMORY, "the capture cannot map %llu bytes twice: %s",
                        (unsigned long long)bytes, strerror(error));
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
