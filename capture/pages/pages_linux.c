/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous write protection of Linux. Older headers lack constants of its stable interface. */
#include "capture/pages/pages.h"

#include "hal/base/os.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

enum {
    FEATURE_WP_SHMEM = 1 << 12,
    FEATURE_WP_UNPOPULATED = 1 << 13,
    FEATURE_WP_ASYNC = 1 << 15,
    SCAN_PROTECT = 1 << 0,
    SCAN_CHECK_ASYNC = 1 << 1,
    PAGE_IS_WRITTEN = 1 << 1,
};

struct scan_region {
    uint64_t begin, end, categories;
};

struct scan_argument {
    uint64_t bytes, flags, begin, end, walk_end, regions, region_count, max_pages;
    uint64_t inverted, all_of, any_of, returned;
};

#define SCAN_PAGES _IOWR('f', 16, struct scan_argument)

static bool ask_for_features(int descriptor)
{
    struct uffdio_api api = {.api = UFFD_API,
                             .features = UFFD_FEATURE_PAGEFAULT_FLAG_WP | FEATURE_WP_SHMEM |
                                         FEATURE_WP_UNPOPULATED | FEATURE_WP_ASYNC};
    return ioctl(descriptor, UFFDIO_API, &api) == 0;
}

static bool still_works(const struct capture_pages *pages)
{
    return hal_descriptor_holds(&pages->fault) && hal_descriptor_holds(&pages->pagemap);
}

/* The number of runs, or -1. */
static int scan(const struct capture_pages *pages, const struct capture_page_run *range,
                uint64_t flags, struct scan_region *regions, size_t limit, uint64_t *out_end)
{
    struct scan_argument argument = {
        .bytes = sizeof argument,
        .flags = flags,
        .begin = (uint64_t)(uintptr_t)range->begin,
        .end = (uint64_t)(uintptr_t)range->end,
        .regions = (uint64_t)(uintptr_t)regions,
        .region_count = limit,
        .all_of = PAGE_IS_WRITTEN,
        .returned = PAGE_IS_WRITTEN,
    };
    const int count = still_works(pages) ? ioctl(pages->pagemap.number, SCAN_PAGES, &argument) : -1;
    *out_end = argument.walk_end;
    return count;
}

bool capture_pages_collect(const struct capture_pages *pages, uint8_t **cursor, uint8_t *end,
                           struct capture_page_run *runs, size_t limit, size_t *out_count)
{
    enum { MOST_REGIONS = 64 };
    struct scan_region regions[MOST_REGIONS];
    const struct capture_page_run range = {*cursor, end};
    uint64_t walk_end;
    const int count = scan(pages, &range, SCAN_PROTECT | SCAN_CHECK_ASYNC, regions,
                           limit < MOST_REGIONS ? limit : MOST_REGIONS, &walk_end);
    if (count < 0)
        return false;
    for (int i = 0; i < count; i++)
        runs[i] = (struct capture_page_run){(uint8_t *)(uintptr_t)regions[i].begin,
                                            (uint8_t *)(uintptr_t)regions[i].end};
    *cursor = (uint8_t *)(uintptr_t)walk_end;
    *out_count = (size_t)count;
    return true;
}

bool capture_pages_any(const struct capture_pages *pages, const uint8_t *data, uint64_t bytes)
{
    const uintptr_t begin = (uintptr_t)data / pages->page_bytes * pages->page_bytes;
    const uintptr_t end =
        ((uintptr_t)data + bytes + pages->page_bytes - 1) / pages->page_bytes * pages->page_bytes;
    const struct capture_page_run range = {(uint8_t *)begin, (uint8_t *)end};
    struct scan_region region;
    uint64_t walk_end;
    return scan(pages, &range, SCAN_CHECK_ASYNC, &region, 1, &walk_end) != 0;
}

static bool forget_writes(const struct capture_pages *pages, uint8_t *begin, uint8_t *end)
{
    struct capture_page_run runs[64];
    size_t count;
    while (begin < end) {
        if (!capture_pages_collect(pages, &begin, end, runs, sizeof runs / sizeof *runs, &count))
            return false;
    }
    return true;
}

bool capture_pages_watch(const struct capture_pages *pages, uint8_t *begin, uint8_t *end)
{
    struct uffdio_register wanted = {
        .range = {.start = (uint64_t)(uintptr_t)begin, .len = (uint64_t)(end - begin)},
        .mode = UFFDIO_REGISTER_MODE_WP};
    if (!still_works(pages) || ioctl(pages->fault.number, UFFDIO_REGISTER, &wanted) != 0)
        return false;
    if (forget_writes(pages, begin, end))
        return true;
    capture_pages_unwatch(pages, begin, end);
    return false;
}

void capture_pages_unwatch(const struct capture_pages *pages, uint8_t *begin, uint8_t *end)
{
    struct uffdio_range range = {.start = (uint64_t)(uintptr_t)begin,
                                 .len = (uint64_t)(end - begin)};
    /* It fails when the memory is gone, and then there is nothing to undo. */
    if (hal_descriptor_holds(&pages->fault))
        (void)ioctl(pages->fault.number, UFFDIO_UNREGISTER, &range);
}

/* ---- Trying it out ---- */

/* Writes by the processor, by a system call and through another mapping, on three pages. */
static bool sees_what_it_should(const struct capture_pages *pages, uint8_t *memory, uint8_t *other)
{
    const size_t page = pages->page_bytes;
    uint8_t *end = memory + 4 * page, *cursor = memory;
    struct capture_page_run runs[4];
    size_t count = 0;
    int pipe_ends[2];
    if (!capture_pages_watch(pages, memory, end) || pipe(pipe_ends) != 0)
        return false;
    *(volatile uint8_t *)memory = 1;
    const bool moved =
        write(pipe_ends[1], "x", 1) == 1 && read(pipe_ends[0], memory + 2 * page, 1) == 1;
    *(volatile uint8_t *)(other + 3 * page) = 1;
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    const bool right = moved && capture_pages_collect(pages, &cursor, end, runs, 4, &count) &&
                       count == 2 && runs[0].begin == memory && runs[0].end == memory + page &&
                       runs[1].begin == memory + 2 * page && runs[1].end == memory + 3 * page;
    cursor = memory;
    const bool forgets =
        right && capture_pages_collect(pages, &cursor, end, runs, 4, &count) && count == 0;
    capture_pages_unwatch(pages, memory, end);
    return forgets;
}

static bool try_out(const struct capture_pages *pages)
{
    const size_t bytes = 4 * pages->page_bytes;
    int object;
    if (hal_shared_memory("hal-capture-test", bytes, &object) != HAL_OK)
        return false;
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0);
    uint8_t *other = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0);
    const bool works =
        memory != MAP_FAILED && other != MAP_FAILED && sees_what_it_should(pages, memory, other);
    if (memory != MAP_FAILED)
        munmap(memory, bytes);
    if (other != MAP_FAILED)
        munmap(other, bytes);
    close(object);
    return works;
}

void capture_pages_open(struct capture_pages *out_pages)
{
    struct capture_pages pages = {.page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
    hal_descriptor_take((int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY),
                        &pages.fault);
    hal_descriptor_take(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), &pages.pagemap);
    *out_pages = pages;
    if (!pages.fault.is_open || !pages.pagemap.is_open || !ask_for_features(pages.fault.number))
        return;
    out_pages->works = try_out(&pages);
}

void capture_pages_close(struct capture_pages *pages)
{
    if (!pages->page_bytes)
        return;
    hal_descriptor_close(&pages->fault);
    hal_descriptor_close(&pages->pagemap);
    pages->page_bytes = 0;
    pages->works = false;
}
