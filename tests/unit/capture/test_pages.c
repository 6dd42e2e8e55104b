/* SPDX-License-Identifier: Apache-2.0 */
/* capture/pages.c: written pages, whoever writes them. Skipped where the system cannot tell. */
#include "capture/pages/pages.h"

#include "hal/base/os.h"
#include "tests/support/hal_fixture.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 200 };

struct setup {
    struct capture_pages pages;
    uint8_t *memory, *other; /* two mappings of the same bytes */
    size_t page, bytes;
};

static void open_pages(struct setup *setup)
{
    int object;
    capture_pages_open(&setup->pages);
    if (!setup->pages.works) {
        capture_pages_close(&setup->pages);
        skip();
    }
    setup->page = setup->pages.page_bytes;
    setup->bytes = PAGES * setup->page;
    assert_ok(hal_shared_memory("test", setup->bytes, &object));
    setup->memory = mmap(NULL, setup->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0);
    setup->other = mmap(NULL, setup->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0);
    assert_ptr_not_equal(setup->memory, MAP_FAILED);
    assert_ptr_not_equal(setup->other, MAP_FAILED);
    close(object);
    assert_true(capture_pages_watch(&setup->pages, setup->memory, setup->memory + setup->bytes));
}

static void close_pages(struct setup *setup)
{
    capture_pages_unwatch(&setup->pages, setup->memory, setup->memory + setup->bytes);
    capture_pages_close(&setup->pages);
    munmap(setup->memory, setup->bytes);
    munmap(setup->other, setup->bytes);
}

/* Marks the pages that were written; a few runs at a time. */
static size_t collect(struct setup *setup, bool written[PAGES])
{
    uint8_t *cursor = setup->memory, *end = setup->memory + setup->bytes;
    size_t total = 0;
    memset(written, 0, PAGES);
    while (cursor < end) {
        struct capture_page_run runs[3];
        size_t count;
        assert_true(capture_pages_collect(&setup->pages, &cursor, end, runs, 3, &count));
        for (size_t i = 0; i < count; i++) {
            for (uint8_t *at = runs[i].begin; at < runs[i].end; at += setup->page, total++)
                written[(size_t)(at - setup->memory) / setup->page] = true;
        }
    }
    return total;
}

TEST(written_pages_are_found_once)
{
    struct setup setup;
    bool written[PAGES], expected[PAGES] = {false};
    uint64_t random = fixture_seed();
    open_pages(&setup);
    assert_int_equal(collect(&setup, written), 0);
    for (unsigned round = 0; round < 20; round++) {
        memset(expected, 0, sizeof expected);
        for (unsigned i = 0; i < round * 3; i++) {
            const uint32_t at = fixture_random(&random) % (uint32_t)setup.bytes;
            ((volatile uint8_t *)setup.memory)[at] = (uint8_t)i;
            expected[at / setup.page] = true;
        }
        collect(&setup, written);
        assert_memory_equal(written, expected, sizeof expected);
        assert_int_equal(collect(&setup, written), 0);
    }
    close_pages(&setup);
}

TEST(a_glance_forgets_nothing)
{
    struct setup setup;
    bool written[PAGES];
    open_pages(&setup);
    const uint8_t *second = setup.memory + setup.page;
    assert_false(capture_pages_any(&setup.pages, setup.memory, setup.bytes));
    setup.memory[2 * setup.page - 1] = 1;
    assert_true(capture_pages_any(&setup.pages, setup.memory, setup.bytes));
    assert_true(capture_pages_any(&setup.pages, second + 5, 1)); /* the page that it lies in */
    assert_false(capture_pages_any(&setup.pages, setup.memory, setup.page));
    assert_false(capture_pages_any(&setup.pages, second + setup.page, 1));
    assert_int_equal(collect(&setup, written), 1);
    assert_true(written[1]);
    assert_false(capture_pages_any(&setup.pages, setup.memory, setup.bytes));
    close_pages(&setup);
}

TEST(reads_and_other_mappings_do_not_count)
{
    struct setup setup;
    bool written[PAGES];
    open_pages(&setup);
    memset(setup.other, 5, setup.bytes);
    for (size_t i = 0; i < setup.bytes; i += 100)
        assert_int_equal(((volatile uint8_t *)setup.memory)[i], 5);
    assert_int_equal(collect(&setup, written), 0);
    close_pages(&setup);
}

TEST(writes_by_the_system_count)
{
    struct setup setup;
    bool written[PAGES];
    int ends[2];
    open_pages(&setup);
    memset(setup.memory, 1, setup.bytes);
    collect(&setup, written);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "hello", 5), 5);
    assert_int_equal(read(ends[0], setup.memory + 7 * setup.page + 100, 5), 5);
    assert_int_equal(collect(&setup, written), 1);
    assert_true(written[7]);
    assert_memory_equal(setup.memory + 7 * setup.page + 100, "hello", 5);
    close(ends[0]);
    close(ends[1]);
    close_pages(&setup);
}

/* Then nothing is known of the pages, and the new owner's file is neither asked nor closed. */
TEST(descriptors_that_the_program_closed_are_left_alone)
{
    struct setup setup;
    struct capture_page_run runs[3];
    size_t count;
    int ends[2];
    open_pages(&setup);
    assert_int_equal(pipe(ends), 0);
    const int stolen = setup.pages.pagemap.number;
    assert_int_equal(dup2(ends[0], stolen), stolen);
    uint8_t *cursor = setup.memory;
    assert_false(
        capture_pages_collect(&setup.pages, &cursor, setup.memory + setup.bytes, runs, 3, &count));
    close_pages(&setup);
    assert_int_equal(close(stolen), 0);
    close(ends[0]);
    close(ends[1]);
}

/* ---- Whether the system is asked at all ---- */

/* Linux 6.7 has this feature and the means to read it; kernels of some architectures, and
 * containers that forbid it, have not. */
static bool system_offers_it(void)
{
    enum { USER_MODE_ONLY = 1, ASYNCHRONOUS = 1 << 15 };
    struct uffdio_api api = {.api = UFFD_API, .features = ASYNCHRONOUS};
    const int fault = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY);
    const bool offers = fault >= 0 && ioctl(fault, UFFDIO_API, &api) == 0;
    if (fault >= 0)
        close(fault);
    return offers;
}

TEST(what_the_system_offers_is_used)
{
    struct capture_pages pages;
    if (!system_offers_it())
        skip();
    capture_pages_open(&pages);
    assert_true(pages.works);
    capture_pages_close(&pages);
}

/* There are descriptors for the mechanism, and none for trying it out. */
static bool is_used_untried(void)
{
    struct capture_pages pages;
    int ends[2]; /* the lowest two that are unused, between which others may be open */
    if (pipe(ends) != 0 || close(ends[0]) != 0 || close(ends[1]) != 0)
        return true;
    const rlim_t most = (rlim_t)(ends[0] > ends[1] ? ends[0] : ends[1]) + 1;
    if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){most, most}) != 0)
        return true;
    capture_pages_open(&pages);
    const bool untried = !pages.fault.is_open || !pages.pagemap.is_open || pages.works;
    capture_pages_close(&pages);
    return untried;
}

TEST(what_cannot_be_tried_out_is_not_used)
{
    int status;
    if (!system_offers_it())
        skip();
    const pid_t child = fork();
    if (child == 0)
        _exit(is_used_untried());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}
