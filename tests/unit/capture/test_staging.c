/* SPDX-License-Identifier: Apache-2.0 */
/* capture/stream/staging.c: claims, release in any order, restart, several threads. */
#include "capture/stream/staging.h"

#include "hal/base/os.h"
#include "tests/support/hal_fixture.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STAGING_BYTES = 1 << 20, KIB = 1024 };

struct setup {
    struct capture_sidecar sidecar;
    struct capture_staging staging;
};

static void open_sized(struct setup *setup, const char *folder, uint64_t staging_bytes,
                       uint64_t rings_bytes)
{
    const struct capture_sidecar_desc desc = {.folder = folder,
                                              .destination = "",
                                              .staging_bytes = staging_bytes,
                                              .rings_bytes = rings_bytes};
    assert_ok(capture_sidecar_open(&desc, &setup->sidecar));
    assert_ok(capture_staging_init(&setup->staging, &setup->sidecar));
}

static void open_staging(struct setup *setup)
{
    open_sized(setup, NULL, STAGING_BYTES, 1 << 16);
}

static void close_staging(struct setup *setup)
{
    capture_staging_finish(&setup->staging);
    capture_sidecar_remove(&setup->sidecar);
    capture_sidecar_close(&setup->sidecar);
}

/* Puts so many times the same byte there. */
static uint8_t *use(struct setup *setup, uint64_t position, uint64_t bytes, int value)
{
    uint8_t *data = malloc(bytes);
    assert_non_null(data);
    memset(data, value, bytes);
    assert_true(capture_staging_ready(&setup->staging, position, bytes));
    assert_ok(capture_staging_put(&setup->staging, position, data, bytes, value % 2));
    uint8_t *there = capture_staging_at(&setup->staging, position);
    assert_memory_equal(there, data, bytes);
    free(data);
    return there;
}

TEST(ranges_do_not_overlap_and_zero_is_no_position)
{
    struct setup setup;
    open_staging(&setup);
    const uint64_t a = capture_staging_claim(&setup.staging, 1);
    const uint64_t b = capture_staging_claim(&setup.staging, 100);
    const uint64_t c = capture_staging_claim(&setup.staging, 64);
    assert_int_not_equal(a, 0);
    assert_true(b >= a + 1);
    assert_true(c >= b + 100);
    use(&setup, a, 1, 1);
    use(&setup, b, 100, 2);
    use(&setup, c, 64, 3);
    assert_int_equal(*capture_staging_at(&setup.staging, a), 1);
    assert_int_equal(capture_staging_at(&setup.staging, b)[99], 2);
    assert_true(capture_staging_used(&setup.staging) >= 165);
    close_staging(&setup);
}

TEST(memory_is_used_again_in_the_order_of_claims)
{
    struct setup setup;
    uint64_t positions[4];
    open_staging(&setup);
    for (unsigned i = 0; i < 4; i++) {
        positions[i] = capture_staging_claim(&setup.staging, 256 * KIB);
        use(&setup, positions[i], 256 * KIB, (int)i);
    }
    const uint64_t fifth = capture_staging_claim(&setup.staging, 256 * KIB);
    assert_false(capture_staging_ready(&setup.staging, fifth, 256 * KIB));

    /* Later ranges first: the oldest still stands in the way. */
    assert_ok(capture_staging_release(&setup.staging, positions[2], 256 * KIB));
    assert_ok(capture_staging_release(&setup.staging, positions[1], 256 * KIB));
    capture_staging_recycle(&setup.staging);
    assert_false(capture_staging_ready(&setup.staging, fifth, 256 * KIB));
    assert_ok(capture_staging_release(&setup.staging, positions[0], 256 * KIB));
    assert_false(capture_staging_ready(&setup.staging, fifth, 256 * KIB));
    capture_staging_recycle(&setup.staging);
    assert_true(capture_staging_ready(&setup.staging, fifth, 256 * KIB));
    assert_int_equal(capture_staging_used(&setup.staging), 2 * 256 * KIB);
    const uint64_t sixth = capture_staging_claim(&setup.staging, 512 * KIB);
    assert_true(capture_staging_ready(&setup.staging, sixth, 512 * KIB));
    const uint64_t seventh = capture_staging_claim(&setup.staging, 64);
    assert_false(capture_staging_ready(&setup.staging, seventh, 64));
    close_staging(&setup);
}

TEST(empty_staging_begins_again_at_the_start)
{
    struct setup setup;
    open_staging(&setup);
    uint8_t *first = NULL;
    for (unsigned i = 0; i < 10; i++) {
        const uint64_t position = capture_staging_claim(&setup.staging, 3 * KIB);
        uint8_t *memory = use(&setup, position, 3 * KIB, 5);
        if (!first)
            first = memory;
        assert_ptr_equal(memory, first);
        assert_ok(capture_staging_release(&setup.staging, position, 3 * KIB));
        capture_staging_recycle(&setup.staging);
    }
    assert_int_equal(capture_staging_used(&setup.staging), 0);
    close_staging(&setup);
}

TEST(ranges_across_the_end_are_contiguous)
{
    struct setup setup;
    open_staging(&setup);
    const uint64_t most = capture_staging_claim(&setup.staging, 900 * KIB);
    use(&setup, most, 900 * KIB, 7);
    const uint64_t kept = capture_staging_claim(&setup.staging, 64);
    assert_ok(capture_staging_release(&setup.staging, most, 900 * KIB));
    capture_staging_recycle(&setup.staging);
    const uint64_t across = capture_staging_claim(&setup.staging, 512 * KIB);
    use(&setup, across, 512 * KIB, 9);
    assert_int_equal(setup.staging.base[0], 9);
    use(&setup, kept, 64, 8);
    close_staging(&setup);
}

/* ---- Pages that have memory ---- */

enum { PAGE = 4 * KIB };

TEST(what_was_put_has_memory_and_nothing_else)
{
    struct setup setup;
    open_staging(&setup);
    use(&setup, capture_staging_claim(&setup.staging, 64 * PAGE), 64 * PAGE, 2);
    assert_true(atomic_load(&setup.staging.present[0]) == UINT64_MAX);
    use(&setup, capture_staging_claim(&setup.staging, 16 * PAGE), 16 * PAGE, 3);
    assert_true(atomic_load(&setup.staging.present[0]) == UINT64_MAX);
    assert_int_equal(atomic_load(&setup.staging.present[1]), 0xffff);
    assert_int_equal(atomic_load(&setup.staging.present[2]), 0);
    close_staging(&setup);
}

/* ---- Large pages ---- */

enum { LARGE = CAPTURE_LARGE_PAGE_BYTES };

static uint64_t memory_of(const struct capture_sidecar *sidecar)
{
    struct stat info;
    assert_int_equal(fstat(sidecar->object.number, &info), 0);
    return (uint64_t)info.st_blocks * 512;
}

/* Writes to each page; how many bytes of the mappings there the processor then finds in large
 * pages, as proc(5) counts them. */
static uint64_t touch(uint8_t *memory, uint64_t bytes)
{
    const uintptr_t first = (uintptr_t)memory, last = first + bytes - 1;
    char line[512];
    unsigned long begin = 0, end = 0, from, to, kib;
    uint64_t large = 0;
    for (uint64_t at = 0; at < bytes; at += PAGE)
        memory[at] = 1;
    FILE *maps = fopen("/proc/self/smaps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            begin = from, end = to;
        else if (sscanf(line, "ShmemPmdMapped: %lu kB", &kib) == 1 && begin <= last && end > first)
            large += (uint64_t)kib * KIB;
    }
    fclose(maps);
    return large;
}

/* In a file of its own. */
static bool system_has_large_pages(uint64_t bytes)
{
    enum { COLLAPSE = 25 }; /* MADV_COLLAPSE: Linux 6.1 */
    int file;
    assert_ok(hal_shared_memory("test", bytes, &file));
    uint8_t *all = mmap(NULL, bytes + LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(all != MAP_FAILED);
    uint8_t *base = all + (LARGE - (uintptr_t)all % LARGE) % LARGE;
    assert_ptr_equal(mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0),
                     base);
    for (uint64_t at = 0; at < bytes; at += LARGE)
        base[at] = 1;
    const bool has = madvise(base, bytes, COLLAPSE) == 0;
    munmap(all, bytes + LARGE);
    close(file);
    return has;
}

TEST(memory_in_large_pages_is_all_there)
{
    enum { STAGING = 64 << 20, RINGS = 2 * LARGE, READY = 8 << 20 };
    struct setup setup;
    uint8_t *rings;
    open_sized(&setup, TRACE_SIDECAR_FOLDER, STAGING, RINGS);
    const struct trace_sidecar_header *header = setup.sidecar.header;
    const uint64_t before = memory_of(&setup.sidecar);
    /* Others may take what was there a moment ago. */
    bool made = false;
    for (unsigned tries = 0; !made && tries < 10; tries++) {
        if (!system_has_large_pages(RINGS + READY)) {
            close_staging(&setup);
            print_message("the system has no large pages\n");
            skip();
        }
        made = capture_sidecar_commit_large(&setup.sidecar, header->rings_offset, RINGS) &&
               capture_sidecar_commit_large(&setup.sidecar, header->staging_offset, READY);
    }
    assert_true(made);
    assert_int_equal(memory_of(&setup.sidecar), before + RINGS + READY);
    assert_ok(capture_sidecar_map_twice(&setup.sidecar, header->rings_offset, RINGS, &rings));
    assert_int_equal(touch(rings, 2 * RINGS), 2 * RINGS);
    capture_sidecar_unmap_twice(rings, RINGS);

    /* It is there by now: a second time the system may have none left. */
    capture_staging_prepare_large(&setup.staging);
    assert_int_equal(memory_of(&setup.sidecar), before + RINGS + READY);
    assert_int_equal(touch(setup.staging.base, READY), READY);
    for (unsigned i = 0; i < READY / PAGE / 64; i++)
        assert_true(atomic_load(&setup.staging.present[i]) == UINT64_MAX);
    assert_int_equal(atomic_load(&setup.staging.present[READY / PAGE / 64]), 0);
    const uint64_t position = capture_staging_claim(&setup.staging, READY + KIB);
    assert_ptr_equal(use(&setup, position, READY + KIB, 3), setup.staging.base);
    close_staging(&setup);
}

/* Where they cannot be had nothing is said to have memory. */
TEST(without_large_pages_memory_comes_as_it_is_needed)
{
    enum { STAGING = 64 << 20 };
    struct setup setup;
    open_sized(&setup, TRACE_SIDECAR_FOLDER, STAGING, 2 * LARGE);
    const uint64_t begin = setup.sidecar.header->rings_offset;
    assert_false(capture_sidecar_commit_large(&setup.sidecar, begin + PAGE, LARGE));
    assert_false(capture_sidecar_commit_large(&setup.sidecar, begin, LARGE + PAGE));
    const int number = setup.sidecar.object.number;
    setup.sidecar.object.number = -1;
    capture_staging_prepare_large(&setup.staging);
    setup.sidecar.object.number = number;
    for (unsigned i = 0; i < STAGING / PAGE / 64; i++)
        assert_int_equal(atomic_load(&setup.staging.present[i]), 0);
    use(&setup, capture_staging_claim(&setup.staging, KIB), KIB, 3);
    close_staging(&setup);
}

/* Half as much staging is a sign of a small file system, which others need too. */
TEST(where_room_is_scarce_none_is_taken_beforehand)
{
    enum { STAGING = 32 << 20 };
    struct setup setup;
    open_sized(&setup, TRACE_SIDECAR_FOLDER, STAGING, 2 * LARGE);
    const uint64_t before = memory_of(&setup.sidecar);
    capture_staging_prepare_large(&setup.staging);
    assert_int_equal(memory_of(&setup.sidecar), before);
    assert_int_equal(atomic_load(&setup.staging.present[0]), 0);
    close_staging(&setup);
}

/* ---- Several threads ---- */

enum { THREADS = 4, ROUNDS = 5000, MOST = 100 * KIB };

struct mailbox {
    struct setup *setup;
    uint32_t number;
    _Atomic uint64_t position; /* 0: taken */
    uint64_t bytes;
};

static void *claim_and_publish(void *argument)
{
    struct mailbox *box = argument;
    uint64_t random = 77 + box->number;
    uint8_t data[MOST];
    for (unsigned round = 0; round < ROUNDS; round++) {
        const uint64_t bytes = 1 + fixture_random(&random) % (round % 16 ? 4000 : MOST);
        const uint64_t position = capture_staging_claim(&box->setup->staging, bytes);
        while (!capture_staging_ready(&box->setup->staging, position, bytes))
            sched_yield();
        memset(data, (int)(box->number + round % 50), bytes);
        if (capture_staging_put(&box->setup->staging, position, data, bytes, round % 3 == 0) !=
            HAL_OK)
            abort();
        while (atomic_load_explicit(&box->position, memory_order_acquire))
            sched_yield();
        box->bytes = bytes;
        atomic_store_explicit(&box->position, position, memory_order_release);
    }
    return NULL;
}

static bool take(struct mailbox *box, unsigned round)
{
    const uint64_t position = atomic_load_explicit(&box->position, memory_order_acquire);
    if (!position)
        return false;
    const uint8_t *data = capture_staging_at(&box->setup->staging, position);
    const uint8_t expected = (uint8_t)(box->number + round % 50);
    for (uint64_t i = 0; i < box->bytes; i++) {
        if (data[i] != expected)
            fail_msg("thread %u, round %u, byte %llu", box->number, round, (unsigned long long)i);
    }
    assert_ok(capture_staging_release(&box->setup->staging, position, box->bytes));
    atomic_store_explicit(&box->position, 0, memory_order_release);
    return true;
}

TEST(threads_do_not_disturb_each_other)
{
    struct setup setup;
    struct mailbox boxes[THREADS];
    pthread_t threads[THREADS];
    unsigned rounds[THREADS] = {0}, taken = 0;
    open_staging(&setup);
    for (unsigned i = 0; i < THREADS; i++) {
        boxes[i] = (struct mailbox){.setup = &setup, .number = 50 * i};
        assert_int_equal(pthread_create(&threads[i], NULL, claim_and_publish, &boxes[i]), 0);
    }
    while (taken < THREADS * ROUNDS) {
        for (unsigned i = 0; i < THREADS; i++) {
            if (rounds[i] < ROUNDS && take(&boxes[i], rounds[i])) {
                rounds[i]++;
                taken++;
            }
        }
        capture_staging_recycle(&setup.staging);
        sched_yield();
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    capture_staging_recycle(&setup.staging);
    assert_int_equal(capture_staging_used(&setup.staging), 0);
    close_staging(&setup);
}
