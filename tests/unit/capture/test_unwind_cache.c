/* SPDX-License-Identifier: Apache-2.0 */
/* capture/stream/unwind_cache.c: a stack that is taken for another one must be the same one. What
 * the test goes by is the path that it took itself, by functions of several shapes and by several
 * calls in each.
 */
#include "capture/stream/unwind_cache.h"

#include "tests/support/hal_fixture.h"

#define UNW_LOCAL_ONLY
#include <alloca.h>
#include <libunwind.h>

enum { MOST_DEPTH = 5, STEPS = 6, MOST_FRAMES = 128, LOOKS = 3000, KEPT_PATHS = 40, AGAIN = 50 };

static struct capture_unwind_cache *cache;
static uint8_t path[MOST_DEPTH];
static int depth;
static unsigned hits;

/* Different for different paths, and never 0. */
static uint32_t number_of_path(void)
{
    uint32_t number = 1;
    for (int i = 0; i < depth; i++)
        number = number * (STEPS + 1) + path[i] + 1;
    return number;
}

static __attribute__((noinline)) void look(void)
{
    void *frames[MOST_FRAMES];
    const void *frame = __builtin_frame_address(0);
    const uint32_t found = capture_unwind_cache_find(cache, frame);
    hits += found != 0;
    if (found && found != number_of_path())
        fail_msg("path %u was taken for %u", number_of_path(), found);
    if (found)
        return;
    const int count = unw_backtrace(frames, MOST_FRAMES);
    assert_true(count > 0);
    capture_unwind_cache_add(&cache, frame, frames, count, number_of_path());
}

static void go_on(int at);

/* Calls that the compiler must not make one. */
#define GO_ON(at, first)                                                                           \
    do {                                                                                           \
        if (path[(at)-1] == (first)) {                                                             \
            go_on(at);                                                                             \
            __asm__ volatile("# the first call");                                                  \
        } else {                                                                                   \
            go_on(at);                                                                             \
            __asm__ volatile("# the second call");                                                 \
        }                                                                                          \
    } while (0)

static __attribute__((noinline)) uint64_t count_down(int at, uint64_t many)
{
    uint64_t sum = many; /* in registers that are saved */
    for (uint64_t i = 0; i < many % 3; i++)
        sum += i * many;
    GO_ON(at, 0);
    return sum + many;
}

static __attribute__((noinline)) void of_some_size(int at, size_t bytes)
{
    volatile uint8_t *memory = alloca(bytes);
    memory[0] = (uint8_t)at;
    GO_ON(at, 2);
    memory[bytes - 1] = memory[0];
}

static __attribute__((noinline)) void aligned(int at)
{
    _Alignas(64) volatile uint8_t memory[64];
    memory[at] = path[at - 1];
    GO_ON(at, 4);
    memory[at + 1] = memory[at];
}

static __attribute__((noinline)) void go_on(int at)
{
    static volatile uint64_t seen;
    if (at == depth)
        look();
    else if (path[at] < 2)
        seen += count_down(at + 1, seen);
    else if (path[at] < 4)
        of_some_size(at + 1, 16 + 16 * (seen++ % 3));
    else
        aligned(at + 1);
    seen++;
}

TEST(paths_are_not_mistaken_for_each_other)
{
    uint8_t paths[KEPT_PATHS][MOST_DEPTH];
    int depths[KEPT_PATHS];
    uint64_t random = fixture_seed();
    for (int i = 0; i < KEPT_PATHS; i++) {
        depths[i] = 1 + (int)(fixture_random(&random) % MOST_DEPTH);
        for (int k = 0; k < MOST_DEPTH; k++)
            paths[i][k] = (uint8_t)(fixture_random(&random) % STEPS);
    }
    for (int i = 0; i < LOOKS; i++) {
        /* Most often a few of them, as programs do. */
        const uint64_t few = fixture_random(&random) % 4 ? 3 : KEPT_PATHS;
        const size_t chosen = fixture_random(&random) % few;
        depth = depths[chosen];
        memcpy(path, paths[chosen], sizeof path);
        go_on(0);
    }
    capture_unwind_cache_free(cache);
    cache = NULL;
}

/* The same way, all functions of one size: it is known from the second look on. */
TEST(a_path_that_is_taken_again_is_found)
{
    static const uint8_t steps[] = {0, 4, 1, 5, 0};
    depth = sizeof steps;
    memcpy(path, steps, sizeof steps);
    hits = 0;
    for (int i = 0; i < AGAIN; i++)
        go_on(0);
#if defined(__x86_64__) && !defined(__APPLE__)
    assert_int_equal(hits, AGAIN - 1);
#else
    assert_int_equal(hits, 0);
#endif
    capture_unwind_cache_free(cache);
    cache = NULL;
}

TEST(nothing_is_found_where_nothing_was_added)
{
    assert_int_equal(capture_unwind_cache_find(NULL, __builtin_frame_address(0)), 0);
    capture_unwind_cache_free(NULL);
}
